//! The program as a user runs it. Each `*.console` file in this folder is a shell session, run in a folder of
//! its own, in which `data` links to `testdata`. A line that starts with `$ ` is a command, one that starts
//! with `## ` a comment; the lines that follow are the output on stdout and stderr, and `[exit 2]` is the
//! exit code if it is not 0. With NDARRAY_IO_UPDATE set, the files are rewritten, for review. Where no such
//! shell exists, only the commands that do not need one are run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Seek;
use std::path::Path;

#[path = "../../../tests/it/support/program.rs"]
mod program;
use program::program;

mod follow;
mod pages;

#[cfg(unix)]
mod shell;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ndio");
/// The folder of the workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Commands that run on any system print what the sessions show.
#[test]
fn plain_commands_match_sessions_without_a_shell() {
    let root = Path::new(ROOT);
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&root.join("testdata"), &folder.path().join("data"));
    let mut count = 0;
    for (name, session) in sessions() {
        let is_of_64_bits = ["verify_bad.console", "verify_ra.console"].contains(&&*name);
        if name == "password.console" || is_of_64_bits && usize::BITS < 64 {
            continue;
        }
        for (number, part) in session.split("\n$ ").enumerate() {
            let (command, wanted) = part.split_once('\n').unwrap_or((part, ""));
            let words: Vec<&str> = command.trim_start_matches("$ ").split(' ').collect();
            let is_plain = words.iter().all(|word| {
                word.chars().all(|char| char.is_ascii_alphanumeric() || "_./,:=-".contains(char))
            });
            let reads =
                ["info", "show", "verify", "diff", "query", "json"].contains(words.get(1).unwrap_or(&""));
            let is_of_testdata = words[2.min(words.len())..].iter().any(|word| word.starts_with("data/"))
                && !words.iter().any(|word| word.contains('.') && !word.starts_with("data/"));
            if !(words[0] == "ndio" && is_plain && reads && is_of_testdata) {
                continue;
            }
            let wanted = wanted.split("\n## ").next().unwrap();
            // Only data in this machine's byte order can be mapped.
            if cfg!(target_endian = "big")
                && (wanted.contains("mappable") || wanted.contains("can_be_mapped"))
            {
                continue;
            }
            let said = tempfile::tempfile().unwrap();
            let status = program(PROGRAM)
                .args(&words[1..])
                .current_dir(folder.path())
                .env_remove("COLORTERM")
                .env_remove("COLUMNS")
                .stdin(std::process::Stdio::null())
                .stdout(said.try_clone().unwrap())
                .stderr(said.try_clone().unwrap())
                .status()
                .unwrap();
            let mut said = said;
            said.rewind().unwrap();
            let mut found = std::io::read_to_string(said).unwrap().trim_end().to_owned();
            if status.code() != Some(0) {
                found += &format!("\n[exit {}]", status.code().unwrap_or(-1));
            }
            assert_eq!(found.trim_start(), wanted.trim(), "{name}, command {number}: {command}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let to = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_folder(&entry, &to);
        } else {
            fs::copy(&entry, to).unwrap();
        }
    }
}

/// Returns the sessions with the names of their files.
fn sessions() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sessions = paths.filter(|path| path.extension().is_some_and(|extension| extension == "console"));
    sessions
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// Each session has a test of its own.
#[test]
fn session_files_all_have_tests() {
    let lists: Vec<&str> = include_str!("shell.rs").split("\nsessions!(").skip(1).collect();
    let listed = |name: &str| {
        let of_list = |list: &&str| list.split(");").next().unwrap().split(' ').any(|word| word == name);
        lists.iter().any(of_list)
    };
    for (name, _) in sessions() {
        let name = name.trim_end_matches(".console");
        assert!(listed(name), "{name}.console is not played: add `{name}` to `sessions!` in shell.rs");
    }
}

/// What `testdata/ra/ra.jsonl` expects of a file, and what the session records of it, agree.
#[test]
fn session_of_damaged_ra_files_agrees_with_expected_errors() {
    let session = include_str!("verify_ra.console");
    let (_, answers) = session.split_once("$ ndio verify data/ra/bad-*.ra\n").unwrap();
    let (answers, _) = answers.split_once("\n[exit").unwrap();
    let answers: BTreeMap<&str, &str> = answers
        .lines()
        .filter_map(|line| line.strip_prefix("data/ra/")?.split_once(".ra: "))
        .filter(|(_, message)| !message.starts_with("sound"))
        .collect();
    let lines = fs::read_to_string(Path::new(ROOT).join("testdata/ra/ra.jsonl")).unwrap();
    let mut refused = BTreeSet::new();
    for line in lines.lines() {
        let text = |name: &str| {
            let (_, rest) = line.split_once(&format!("\"{name}\": \"")).unwrap();
            rest.split_once('"').unwrap().0
        };
        let id = text("id");
        if !id.starts_with("bad-") {
            continue; // other commands of the session show these
        }
        let part_of_message = match text("expect") {
            "ok" => continue,
            "truncated" => "truncated: ",
            "bad_magic" => "expected an RA file",
            "bad_header" => "malformed header",
            "limit" => " over ",
            "overflow" => "too large",
            "bad_packing" => "malformed compressed data",
            other => panic!("{other} has no message here: add it"),
        };
        let answer = answers.get(id).unwrap_or_else(|| panic!("verify_ra.console does not refuse {id}"));
        assert!(answer.contains(part_of_message), "{id}: ra.jsonl says {}: {answer}", text("expect"));
        refused.insert(id);
    }
    let others: Vec<_> = answers.keys().filter(|id| !refused.contains(*id)).collect();
    assert!(others.is_empty(), "verify_ra.console refuses {others:?}, which ra.jsonl lists as ok");
}
