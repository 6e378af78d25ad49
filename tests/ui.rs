//! The compiler errors that users of the derive see: each file of `tests/ui` is compiled, and its errors are
//! compared with the `.stderr` file next to it; a file without one must compile. With NDARRAY_IO_UPDATE set,
//! the `.stderr` files are rewritten, for review.
//!
//! The files of `tests/refused` are attacks, which would be undefined behavior if they compiled. Each is
//! compiled twice: with `--cfg attack` it must be refused with the errors that it names, and without it, as its
//! harmless twin, accepted.
//!
//! The files are linked against the same library as this test, so nothing is built twice.
#![allow(clippy::incompatible_msrv, reason = "tests need a newer compiler than the library")]

use std::collections::BTreeSet;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
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
    // What affects which dependencies are built.
    match (cfg!(feature = "num-complex-0_4"), cfg!(feature = "full")) {
        // No feature but all of them together enables this old name.
        (true, _) => {
            if is_run_for_workspace() {
                cargo.arg("--workspace");
            }
            cargo.arg("--all-features")
        }
        (false, true) => cargo.args(["--features", "full"]),
        (false, false) => &mut cargo,
    };
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

/// Whether the tests are those of all packages, whose dependencies have more features. A wrong answer costs only time: that of a build.
fn is_run_for_workspace() -> bool {
    #[cfg(unix)]
    if let Ok(cargo) = fs::read(format!("/proc/{}/cmdline", std::os::unix::process::parent_id())) {
        return cargo.split(|byte| *byte == 0).any(|argument| argument == b"--workspace");
    }
    true
}

fn compiler() -> Command {
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.current_dir(env!("CARGO_MANIFEST_DIR"));
    compiler
}

/// The command that compiles a file.
fn compile_command(path: &Path, [library, ndarray]: &[PathBuf; 2], out: &Path) -> Command {
    let deps = library.parent().unwrap();
    let deps = if deps.ends_with("deps") { deps.to_owned() } else { deps.join("deps") };
    let mut compile_command = compiler();
    compile_command
        .args(["--crate-type=bin", "--emit=obj", "-Cdebuginfo=0"])
        .arg(format!("--extern=ndarray_io={}", library.display()))
        .arg(format!("--extern=ndarray={}", ndarray.display()))
        .arg(format!("-Ldependency={}", deps.display()))
        .arg("-o")
        .arg(out)
        .arg(path);
    compile_command
}

/// The errors of a file, one a line. Other compiler output differs between versions.
fn compile_errors(path: &Path, libraries: &[PathBuf; 2], out: &Path, others: &[&str]) -> String {
    let compiled =
        compile_command(path, libraries, out).arg("--error-format=short").args(others).output().unwrap();
    let printed = String::from_utf8(compiled.stderr).unwrap().replace('\\', "/");
    let errors: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains(": error") && !line.starts_with("error: aborting"))
        .collect();
    assert_eq!(compiled.status.success(), errors.is_empty(), "{}: {printed}", path.display());
    errors.iter().map(|line| without_library_position(line) + "\n").collect()
}

/// Where in a file of the library an error is changes with that file, and is of no interest.
fn without_library_position(line: &str) -> String {
    match line.split_once(".rs:") {
        Some((file, rest)) if file.starts_with("src/") => {
            let message = rest.splitn(3, ':').nth(2).unwrap_or(rest);
            format!("{file}.rs:{message}")
        }
        _ => line.to_owned(),
    }
}

/// The Rust files of a folder, relative to the package.
fn rust_files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let names = entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name()));
    names.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Compares the errors of a file with those that are expected, or rewrites these.
fn check_stderr(path: &Path, printed: &str) {
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join(path).with_extension("stderr");
    if std::env::var_os("NDARRAY_IO_UPDATE").is_some() && !printed.is_empty() {
        fs::write(&wanted, printed).unwrap();
    }
    let wanted = if wanted.exists() { fs::read_to_string(wanted).unwrap() } else { String::new() };
    assert!(printed == wanted, "{}, expected:\n{wanted}\nfound:\n{printed}", path.display());
}

#[test]
fn derive_errors_equal_expected_stderr() {
    let libraries = libraries();
    let out = tempfile::NamedTempFile::new().unwrap();
    let files = rust_files("tests/ui");
    for path in &files {
        let printed = compile_errors(path, &libraries, out.path(), &["--edition=2024"]);
        check_stderr(path, &printed);
        // What compiles does so in the edition before as well.
        if printed.is_empty() {
            assert_eq!(
                compile_errors(path, &libraries, out.path(), &["--edition=2021"]),
                "",
                "{}",
                path.display()
            );
        }
    }
    assert_eq!(files.len(), 16);
}

#[test]
fn unsound_programs_are_refused_and_their_twins_compile() {
    let libraries = libraries();
    let folder = tempfile::tempdir().unwrap();
    let (out, meddle) =
        (folder.path().join("out"), folder.path().join(format!("{DLL_PREFIX}meddle{DLL_SUFFIX}")));
    let mut made = compiler();
    made.args(["--edition=2024", "--crate-name=meddle", "tests/refused/macros/meddle.rs", "-o"]).arg(&meddle);
    assert!(made.status().unwrap().success());
    let meddle = format!("--extern=meddle={}", meddle.display());
    let files = rust_files("tests/refused");
    for path in &files {
        let twin = compile_errors(path, &libraries, &out, &["--edition=2024", &meddle]);
        assert_eq!(twin, "", "{}", path.display());
        let attack = compile_errors(path, &libraries, &out, &["--edition=2024", "--cfg=attack", &meddle]);
        let codes: BTreeSet<_> =
            attack.lines().filter_map(|line| line.split_once("error[")?.1.split(']').next()).collect();
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let wanted = text.lines().find_map(|line| line.strip_prefix("// refused with "));
        let wanted = wanted.expect("an attack names its errors");
        // An error of a pattern that is within a macro has no code.
        match wanted.strip_prefix("the text ") {
            Some(text) => assert!(attack.contains(&format!("error: {text}")), "{}: {attack}", path.display()),
            None => assert_eq!(codes, wanted.split(' ').collect(), "{}: {attack}", path.display()),
        }
    }
    assert_eq!(files.len(), 20);
}

/// Each mistake in `tests/mistakes/compile.rs` has a message that says how to mend it.
#[test]
fn compiler_messages_say_how_to_fix_mistakes() {
    let path = Path::new("tests/mistakes/compile.rs");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let out = tempfile::NamedTempFile::new().unwrap();
    let printed = errors_by_line(path, &libraries(), out.path());
    // The lines of a mistake, from its comment to the next one.
    let is_row = |line: &str| line.starts_with("// ") && line.contains(" => ");
    let starts: Vec<usize> =
        text.lines().enumerate().filter(|(_, line)| is_row(line)).map(|(at, _)| at + 1).collect();
    let (mut mended, mut wrong) = (0, Vec::new());
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(usize::MAX);
        let row = text.lines().nth(start - 1).unwrap();
        let said: String = printed
            .iter()
            .filter(|(line, _)| (*start..end).contains(line))
            .map(|(_, said)| &**said)
            .collect();
        let mut parts = row.split(" => ").skip(1);
        let is_known = parts.clone().any(|part| part.starts_with('!'));
        let has_all = parts.all(|part| said.contains(part.trim_start_matches('!')));
        if has_all == is_known {
            wrong.push(format!(
                "{row}
{said}"
            ));
        }
        mended += usize::from(has_all);
    }
    assert!(wrong.is_empty() && starts.len() >= 18, "{}", wrong.join("\n\n"));
    println!("compiler: {mended} of {} mistakes are mended by their messages", starts.len());
}

/// The errors of a file with all that is printed of each, and the line of each.
fn errors_by_line(path: &Path, libraries: &[PathBuf; 2], out: &Path) -> Vec<(usize, String)> {
    let compiled = compile_command(path, libraries, out)
        .args(["--edition=2024", "--error-format=json"])
        .output()
        .unwrap();
    let printed = String::from_utf8(compiled.stderr).unwrap();
    let messages = printed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let errors = messages.filter(|message| message["level"] == "error" && message["spans"][0].is_object());
    let of = |error: serde_json::Value| {
        let spans = error["spans"].as_array().unwrap();
        let primary = spans.iter().find(|span| span["is_primary"] == true).unwrap();
        (primary["line_start"].as_u64().unwrap() as usize, error["rendered"].as_str().unwrap().to_owned())
    };
    errors.map(of).collect()
}
