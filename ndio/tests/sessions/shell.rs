//! Sessions in a shell, signals, and the examples in the guide and the help.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{PROGRAM, ROOT, program};

fn run_session(session: &str) -> String {
    let root = Path::new(ROOT);
    let folder = tempfile::tempdir().unwrap();
    for (name, target) in [("data", "testdata"), ("docs", "docs")] {
        std::os::unix::fs::symlink(root.join(target), folder.path().join(name)).unwrap();
    }
    let bin = tempfile::tempdir().unwrap();
    let program = program(PROGRAM);
    let words: Vec<String> = [program.get_program()]
        .into_iter()
        .chain(program.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" "));
    fs::write(bin.path().join("ndio"), script).unwrap();
    fs::set_permissions(bin.path().join("ndio"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut played = String::new();
    for line in session.lines() {
        let Some(command) = line.strip_prefix("$ ") else {
            if let Some(comment) = line.strip_prefix("## ") {
                writeln!(played, "## {comment}").unwrap();
            }
            continue;
        };
        let done = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env_remove("COLORTERM")
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        writeln!(played, "{line}\n{}", String::from_utf8_lossy(&done.stdout).trim_end()).unwrap();
        if played.ends_with("\n\n") {
            played.pop();
        }
        match done.status.code() {
            Some(0) => {}
            code => writeln!(played, "[exit {}]", code.unwrap_or(-1)).unwrap(),
        }
    }
    played
}

fn check_session(name: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions").join(name).with_extension("console");
    let session = fs::read_to_string(&path).unwrap();
    let played = run_session(&session);
    if std::env::var_os("NDARRAY_IO_UPDATE").is_some() {
        fs::write(&path, played).unwrap();
    } else if played != session {
        let differing = played.lines().zip(session.lines()).position(|(one, two)| one != two);
        panic!("{name}.console differs from line {} on:\n{played}", differing.map_or(0, |line| line + 1));
    }
}

macro_rules! sessions {
    ($(#[$when:meta])* $($name:ident)*) => {sessions!(@ [$(#[$when])*] $($name)*);};
    (@ $when:tt $($name:ident)*) => {$(sessions!(@ one $when $name);)*};
    (@ one [$(#[$when:meta])*] $name:ident) => {
        #[test]
        $(#[$when])*
        fn $name() {
            check_session(stringify!($name));
        }
    };
}

sessions!(password show verify scan join pack query questions json plot manual stacks);

// They write and show dtypes without a byte order, for which this machine's is used.
sessions!(#[cfg(target_endian = "little")] info select found convert neighbors tables diff hostile streams made repair habits tasks);

#[cfg(target_pointer_width = "64")]
sessions!(verify_bad verify_ra);

/// A signal that arrives while the program waits for input ends it and removes its partial output.
#[test]
fn terminated_run_leaves_no_files() {
    // A shell ignores SIGINT in what it runs in the background, tests among them.
    for signal in ["TERM", "KILL"] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = program(PROGRAM)
            .args(["convert", "-", "out.npz"])
            .current_dir(folder.path())
            .env("TMPDIR", folder.path())
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // A pipe holds less: when all has been written, the program is copying its input.
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, &vec![0; 8 << 20]).unwrap();
        while child.try_wait().unwrap().is_none() {
            let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(sent.is_ok());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{signal}");
        assert_ne!(child.wait().unwrap().code(), Some(0));
    }
}

/// Plays the blocks of `console` in the guide's page about the program.
#[cfg(target_endian = "little")]
#[test]
fn guide_sessions_print_what_they_show() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/ndio.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 5);
    // The later ones have the files of the earlier ones.
    assert_eq!(run_session(&blocks.concat()), blocks.concat());
}

/// The examples in `ndio help VERB` work when they are run in order, with an array and an archive.
#[test]
fn help_examples_run_without_errors() {
    let text = |arguments: &[&str]| {
        let done = program(PROGRAM).args(arguments).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let list = text(&["--help"]);
    let (_, verbs) = list.split_once("Commands:\n").unwrap();
    let (verbs, _) = verbs.split_once("\n\n").unwrap();
    let names = verbs.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut count = 0;
    let mut session = String::from(
        "$ seq 24 | paste -sd ',,,,,\\n' | ndio convert - x.npy --from csv && cp x.npy y.npy && ndio pack a.npz x.npy && cp data/joblib/nothing.pkl model.pkl\n",
    );
    for verb in names.map(|line| line.split_whitespace().next().unwrap()) {
        let help = text(&["help", verb]);
        let Some((_, examples)) = help.split_once("Example") else {
            assert!(["completions", "man", "help"].contains(&verb), "{verb} has no example");
            continue;
        };
        for example in examples.lines().filter_map(|line| line.strip_prefix("  ndio ")) {
            count += 1;
            session += &format!("$ (ndio {example}) > out\n");
        }
    }
    assert!(count >= 26, "{count}");
    assert_eq!(run_session(&session), session);
}

/// Each mistake in `tests/mistakes/program.txt` has a message that says how to mend it.
#[cfg(target_endian = "little")]
#[test]
fn program_messages_name_the_remedy() {
    let text = fs::read_to_string(Path::new(ROOT).join("tests/mistakes/program.txt")).unwrap();
    let setup = "$ seq 24 | paste -sd ',,,,,\\n' | ndio convert - x.npy --from csv; printf '1\\n2\\n3\\n' | ndio convert - y.npy --from csv; \
        ndio pack a.npz x.npy y.npy; ndio split x.npy --parts 3 -o parts; head -c 50 /dev/zero > raw.bin; printf 'a,b\\n1,2\\n' > t.csv; cp data/joblib/model.xz z.xz; cp data/joblib/model.pkl p.pkl; \
        mkdir e; cp data/record-aligned.npy r.npy\n";
    let rows: Vec<&str> = text.split("\n# ").skip(1).collect();
    let command = |row: &str| row.lines().find(|line| line.starts_with("$ ")).unwrap().to_owned();
    let session: String = rows.iter().map(|row| command(row) + "\n").collect();
    let played = run_session(&(setup.to_owned() + &session));
    let mut answers = played.split("\n$ ").skip(1);
    let (mut mended, mut wrong) = (0, Vec::new());
    for row in &rows {
        let said = answers.next().unwrap();
        let parts: Vec<&str> = row.lines().filter_map(|line| line.strip_prefix("> ")).collect();
        let is_known = parts.iter().any(|part| part.starts_with('!'));
        let has_all =
            said.contains("[exit ") && parts.iter().all(|part| said.contains(part.trim_start_matches('!')));
        if has_all == is_known {
            wrong.push(format!("{row}\n{said}"));
        }
        mended += usize::from(has_all);
    }
    assert!(wrong.is_empty() && rows.len() > 30, "{}", wrong.join("\n\n"));
    println!("program: {mended} of {} mistakes are mended by their messages", rows.len());
}
