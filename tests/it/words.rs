//! The words that documentation, comments and messages do not use: a private idiom, for which the field has terms that readers know.
//!
//! A line that fails is rewritten in the terms of the second column, or in a simpler sentence. The test sees the words only: whether the
//! sentence is good is for its author to judge.

use std::fs;
use std::path::{Path, PathBuf};

/// What is not written, and what to write instead. `*` is any letters; a phrase is looked for as entire words.
const WORDS: &[(&str, &str)] = &[
    ("behind", "after; following"),
    ("stand", "is; is stored"),
    ("stands", "is; is stored"),
    ("stood", "was; was stored"),
    ("lies", "is stored; is laid out"),
    ("lying", "stored; laid out"),
    ("it lies", "it is stored"),
    ("they lie", "they are stored"),
    ("is there already", "already exists"),
    ("are there already", "already exist"),
    ("that is there", "existing"),
    ("that are there", "existing"),
    ("is no", "is not a"),
    ("are no", "are not"),
    ("so many", "the number of; exactly N"),
    ("so long", "the length; exactly N"),
    ("somebody", "another process; the caller"),
    ("nobody", "no process; no caller"),
    ("whoever", "the process that; users who"),
    ("whom", "which process; which user"),
    ("who asks", "the caller"),
    ("whatever", "any"),
    ("leave to read", "permission to read"),
    ("leave to write", "permission to write"),
    ("out of files", "conversions; from files"),
    ("one behind the other", "concatenated"),
    ("as many threads as like", "shareable across threads"),
    ("is cut", "is truncated"),
    ("are cut", "are truncated"),
    ("torn", "partially written"),
    ("whole or not at all", "replaced atomically"),
    ("no word for", "cannot represent"),
    ("again and again", "repeatedly"),
    ("calls with", "invokes the callback"),
    ("those who", "users who"),
    ("on its way", "in progress"),
    ("on their way", "in progress"),
    ("meanwhile", "while"),
    ("first plan", "(leave it out)"),
];
/// Good English in which a phrase of the table occurs: after it, or before it.
const AFTER: &[(&str, &[&str])] = &[
    ("is no", &["longer", "more", "less"]),
    ("are no", &["longer", "more", "less"]),
    ("is cut", &["into"]),
    ("are cut", &["into"]),
];
const BEFORE: &[(&str, &[&str])] = &[("is no", &["there"]), ("are no", &["there"])];

/// The words of a text, in lower case, without what is code.
fn words(text: &str) -> Vec<String> {
    let mut prose = String::new();
    for (number, part) in text.split('`').enumerate() {
        prose.push_str(if number % 2 == 0 { part } else { " code " });
    }
    prose
        .split(|char: char| !char.is_alphanumeric() && char != '\'' && char != '-')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The phrases of the table in a text, with their replacements.
fn found(text: &str) -> Vec<(&'static str, &'static str)> {
    let words = words(text);
    let is_in = |list: &[(&str, &[&str])], phrase: &str, word: Option<&String>| {
        list.iter().any(|(of, allowed)| *of == phrase && word.is_some_and(|word| allowed.contains(&&**word)))
    };
    let mut all = Vec::new();
    for (phrase, instead) in WORDS {
        let parts: Vec<&str> = phrase.split(' ').collect();
        for at in 0..words.len() {
            let end = at + parts.len();
            let occurs = end <= words.len() && words[at..end].iter().eq(parts.iter());
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            if occurs && !is_in(AFTER, phrase, words.get(end)) && !is_in(BEFORE, phrase, before) {
                all.push((*phrase, *instead));
            }
        }
    }
    all
}

/// What a line of Rust says to people: its comment and its string literals. (Names in the code are another matter.)
fn said(line: &str) -> String {
    let mut said = String::new();
    let mut rest = line;
    loop {
        let comment = rest.find("//");
        match (comment, rest.find('"')) {
            (Some(comment), quote) if quote.is_none_or(|quote| comment < quote) => {
                said.push_str(&rest[comment..]);
                return said;
            }
            (_, Some(quote)) => {
                let text = &rest[quote + 1..];
                let end = text.replace("\\\"", "__").find('"').unwrap_or(text.len());
                said.push_str(&text[..end]);
                said.push('|');
                rest = text.get(end + 1..).unwrap_or_default();
            }
            _ => return said,
        }
    }
}

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        if entry.is_dir() && !["target", "node_modules", "corpus", "pkg"].contains(&name) {
            files(&entry, all);
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            all.push(entry);
        }
    }
}

#[test]
fn documentation_uses_the_terms_of_the_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["src", "derive", "docs", "examples", "benches"] {
        let folder = root.join(folder);
        if folder.exists() {
            files(&folder, &mut paths); // a package has no `benches`
        }
    }
    paths
        .extend(["README.md", "MIGRATING.md", "CHANGELOG.md", "ARCHITECTURE.md"].map(|name| root.join(name)));
    let contributing = root.join("CONTRIBUTING.md");
    paths.extend(contributing.exists().then_some(contributing));
    assert!(paths.len() > 150, "only {} files were found", paths.len());

    let mut wrong = Vec::new();
    for path in paths {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let mut is_example = false;
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            if !is_rust && line.trim_start().starts_with("```") {
                is_example = !is_example;
            }
            let text = if is_rust || is_example { said(line) } else { line.to_owned() };
            for (phrase, instead) in found(&text) {
                let inner = path.strip_prefix(root).unwrap().display();
                wrong.push(format!("{inner}:{}: '{phrase}' → {instead}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn phrases_are_found_in_prose_alone() {
    let phrases = |text: &str| found(text).into_iter().map(|(phrase, _)| phrase).collect::<Vec<_>>();
    assert_eq!(phrases("The bytes behind the array."), ["behind"]);
    assert_eq!(phrases("A pipe is no file; there is no file; it is no longer a file."), ["is no"]);
    assert_eq!(phrases("`behind` is a name, \"so many\" are words"), ["so many"]);
    assert_eq!(phrases("The file is cut into tiles, or it is cut."), ["is cut"]);
    assert_eq!(said("let behind = 1; // stands here"), "// stands here");
    assert_eq!(said(r#"write!(f, "a \"quoted\" word {}", behind)"#), r#"a \"quoted\" word {}|"#);
}
