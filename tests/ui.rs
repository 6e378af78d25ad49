//! The compiler errors that users of the derive see: each file of `tests/ui` is compiled, and its errors are
//! compared with the `.stderr` file next to it; a file without one must compile. With NDARRAY_IO_UPDATE set,
//! the `.stderr` files are rewritten, for review.
//!
//! The files are linked against the same library as this test, so nothing is built twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library files of this crate and of `ndarray`. They are already built: cargo only looks up their paths.
fn libraries() -> [PathBuf; 2] {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--no-run", "--test", "ui", "--message-format", "json"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // The features that affect which dependencies are built.
    for (feature, is_on) in [("cli", cfg!(feature = "cli")), ("full", cfg!(feature = "full"))] {
        if is_on {
            cargo.args(["--features", feature]);
        }
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8(built.stdout).unwrap();
    let file_of = |name: &str| {
        messages
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter(|message| message["target"]["name"] == name && message["target"]["kind"][0] == "lib")
            .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
            .filter_map(|name| name.as_str().map(PathBuf::from))
            .find(|path| path.extension().is_some_and(|extension| extension == "rlib"))
            .expect("cargo names the library")
    };
    ["ndarray_io", "ndarray"].map(file_of)
}

/// The errors of a file, one a line. Other compiler output differs between versions.
fn compile(path: &Path, [library, ndarray]: &[PathBuf; 2], out: &Path) -> String {
    let deps = library.parent().unwrap();
    let deps = if deps.ends_with("deps") { deps.to_owned() } else { deps.join("deps") };
    let compiled = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=bin", "--emit=obj", "--error-format=short", "-Cdebuginfo=0"])
        .arg(format!("--extern=ndarray_io={}", library.display()))
        .arg(format!("--extern=ndarray={}", ndarray.display()))
        .arg(format!("-Ldependency={}", deps.display()))
        .arg("-o")
        .arg(out)
        .arg(path)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let printed = String::from_utf8(compiled.stderr).unwrap().replace('\\', "/");
    let errors: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains(": error") && !line.starts_with("error: aborting"))
        .collect();
    assert_eq!(compiled.status.success(), errors.is_empty(), "{}: {printed}", path.display());
    errors.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn errors_point_at_the_field() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let libraries = libraries();
    let out = tempfile::NamedTempFile::new().unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let file = Path::new("tests/ui").join(path.file_name().unwrap());
        let printed = compile(&file, &libraries, out.path());
        let wanted = path.with_extension("stderr");
        if std::env::var_os("NDARRAY_IO_UPDATE").is_some() && !printed.is_empty() {
            fs::write(&wanted, &printed).unwrap();
        }
        let wanted = if wanted.exists() { fs::read_to_string(wanted).unwrap() } else { String::new() };
        assert!(printed == wanted, "{}, expected:\n{wanted}\nfound:\n{printed}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 13);
}
