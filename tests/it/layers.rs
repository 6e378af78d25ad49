//! The layers of `ARCHITECTURE.md`: a file imports only from layers below its own, or from its own module.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of each layer, from the lowest up.
const LAYERS: &[&[&str]] = &[
    &["shape"],
    &["dtype"],
    &["error"],
    &["limits", "progress"],
    &["bytes"],
    &["header"],
    &["codec"],
    &["npy_format", "ra_format", "zip", "pickle"],
    &["options"],
    &["element"],
    &["transfer"],
    &["io"],
    &["array"],
    &["path", "parts"],
    &["mmap"],
    &["dynamic"],
    &["blocks"],
    &["npz", "convert"],
    &["store"],
    &["stack"],
    &["refs"],
    &["lib"],
];

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|modules| modules.contains(&module))
        .unwrap_or_else(|| panic!("'{module}' is in no layer"))
}

/// The files of a folder and those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn imports_point_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in
        files(&source).iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
    {
        let inner = path.strip_prefix(&source).unwrap();
        let module = inner.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "bin" {
            continue; // the program is a crate of its own
        }
        for line in fs::read_to_string(path).unwrap().lines() {
            let Some((_, import)) =
                line.split_once("crate::").filter(|_| !line.trim_start().starts_with("//"))
            else {
                continue;
            };
            let target: String =
                import.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
            let is_macro = import[target.len()..].starts_with('!');
            if target.is_empty() || target.starts_with(char::is_uppercase) || is_macro {
                continue; // a list (rustfmt gives each module its own line), or a name that lib.rs exports
            }
            seen += 1;
            if module != target && layer(&target) >= layer(module) {
                wrong.push(format!("{}: {}", inner.display(), line.trim()));
            }
        }
    }
    assert!(seen > 50, "the test has found only {seen} imports");
    assert!(wrong.is_empty(), "imports from the same or a higher layer:\n{}", wrong.join("\n"));
}

/// Calls that change a file in a way that another process could notice are in one place: `io::change`.
#[test]
fn one_place_changes_files() {
    const CALLS: &[&str] = &[
        "rename(",
        "hard_link(",
        ".set_len(",
        "File::create",
        ".create(true)",
        ".create_new(true)",
        ".truncate(true)",
        ".truncate(false)",
        ".append(true)",
        ".try_lock",
        ".lock_shared(",
        "sync_all(",
        "sync_data(",
        ".persist(",
    ];
    // Vectors, mutexes and options have functions of the same names.
    const OTHERS: &[&str] = &[
        "items.set_len(",
        "free.try_lock()",
        "change::set_len(",
        "WriteOptions::new().create_new(",
        "options.clone().create_new(",
    ];
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let own = source.join("io/change");
    let mut wrong = Vec::new();
    for path in files(&source).iter().filter(|path| !path.starts_with(&own)) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod").next().unwrap();
        let code = code.split("#[cfg(all(test").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let calls = CALLS.iter().any(|call| line.contains(call));
            if calls && !OTHERS.iter().any(|other| line.contains(other)) {
                wrong.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "files are changed outside of io::change:\n{}", wrong.join("\n"));
}

/// `docs/safety.md` lists every function and implementation with unsafe code, and no other; the tests that it names
/// exist.
#[test]
fn unsafe_code_is_where_the_guide_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/safety.md")).unwrap();
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let (mut listed, mut sources, mut tests) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    for row in guide.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        match quoted(cells[0]) {
            files if cells[0].contains("**") => sources = files,
            places if cells.len() == 4 && !sources.is_empty() => {
                let places = places.into_iter();
                listed.extend(
                    places.flat_map(|place| sources.iter().map(move |file| format!("{file}: {place}"))),
                );
                tests.extend(quoted(cells[3]));
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    let folders = ["src", "derive/src"].map(|folder| files(&root.join(folder)));
    for path in folders.iter().flatten() {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let inner = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let mut function = String::new();
        for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
            let word_after = |what: &str| {
                let name = line.split_once(what)?.1;
                Some(name.split(|char: char| !char.is_alphanumeric() && char != '_').next()?.to_owned())
            };
            if let Some(name) = word_after("fn ").filter(|name| !name.is_empty()) {
                function = name;
            }
            let item = if line.contains("unsafe impl") {
                // The name of the trait: after the generics, and the last part of a path.
                let line = line.replace("#implemented ", "").replace("#private::", "");
                let rest = line.split_once("unsafe impl").unwrap().1;
                let rest = rest.strip_prefix('<').map_or(rest, |rest| rest.split_once("> ").unwrap().1);
                rest.trim_start().split(' ').next().map(str::to_owned)
            } else if line.contains("unsafe trait ") {
                word_after("unsafe trait ")
            } else {
                (line.contains("unsafe {") || line.contains("unsafe fn ")).then(|| function.clone())
            };
            found.extend(item.map(|item| format!("{inner}: {item}")));
        }
    }
    let missing: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not listed: {missing:#?}, without unsafe code: {gone:#?}"
    );
    assert!(found.len() > 30, "{found:?}");
    let texts: String = ["src", "tests"]
        .iter()
        .flat_map(|folder| files(&root.join(folder)))
        .map(|path| fs::read_to_string(path).unwrap_or_default())
        .collect();
    for test in tests.iter().filter(|test| !test.contains('/')) {
        let name = test.rsplit("::").next().unwrap();
        assert!(texts.contains(&format!("fn {name}(")), "there is no test {test}");
    }
}
