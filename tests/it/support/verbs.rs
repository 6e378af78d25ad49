//! The verbs of options, as the sources of the library have them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the files of the library's sources, with their paths below `src`. Unsafe functions are shown as others.
pub(crate) fn sources() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut folders) = (Vec::new(), vec![source.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&source).unwrap().display().to_string().replace('\\', "/");
            files.push((name, fs::read_to_string(&path).unwrap().replace("pub unsafe fn", "pub fn")));
        }
    }
    files
}

/// Returns the setters of a struct of options in a file, and the public methods that it has in other files: its verbs.
pub(crate) fn setters_and_verbs(options: &str, file: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut setters, mut verbs) = (BTreeSet::new(), BTreeSet::new());
    for (name, text) in sources() {
        if name == file {
            let functions = text.lines().filter_map(|line| line.trim().strip_prefix("pub fn "));
            setters.extend(functions.filter_map(|line| Some(line.split_once("(mut self")?.0.to_owned())));
            continue;
        }
        for block in text.split(&format!("\nimpl {options} {{")).skip(1) {
            let block = block.split("\n}\n").next().unwrap();
            let names = block.split("    pub fn ").skip(1).filter_map(|verb| verb.split(['<', '(']).next());
            verbs.extend(names.map(str::to_owned));
        }
    }
    (setters, verbs)
}
