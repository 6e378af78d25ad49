//! The layers of `ARCHITECTURE.md`: a file imports only from layers below its own, or from its own module.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of each layer, from the lowest up.
const LAYERS: &[&[&str]] = &[
    &["shape"],
    &["dtype"],
    &["error"],
    &["limits", "progress"],
    &["header"],
    &["codec"],
    &["npy_format", "ra_format", "zip", "pickle"],
    &["options"],
    &["element"],
    &["transfer"],
    &["io"],
    &["array"],
    &["path", "mmap", "parts"],
    &["dynamic"],
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
    // Vectors and mutexes have functions of the same names.
    const OTHERS: &[&str] = &["items.set_len(", "free.try_lock()", "change::set_len("];
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

/// `docs/safety.md` lists every file with unsafe code, and no other.
#[test]
fn unsafe_code_is_where_the_guide_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/safety.md")).unwrap();
    let mut count = 0;
    for path in files(&root.join("src")) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_unsafe = |line: &str| {
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait"].iter().any(|what| line.contains(what))
        };
        let has_unsafe = code.any(is_unsafe);
        let inner = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        assert_eq!(guide.contains(&format!("`{inner}`")), has_unsafe, "{inner}");
        count += usize::from(has_unsafe);
    }
    assert!(count > 10, "only {count} files were found");
}
