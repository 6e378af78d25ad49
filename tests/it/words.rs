//! The words that documentation, comments and messages do not use: a private idiom, for which the field has terms that readers know;
//! and names that explain nothing.
//!
//! A line that fails is rewritten in the terms of the second column, or in a simpler sentence. The test sees the words only: whether the
//! sentence is good is for its author to judge.

use std::fs;
use std::path::{Path, PathBuf};

/// What is not written, and what to write instead. A phrase is searched for as entire words.
const AVOIDED_PHRASES: &[(&str, &str)] = &[
    ("behind", "after; following"),
    ("stand", "is; is stored"),
    ("stands", "is; is stored"),
    ("stood", "was; was stored"),
    ("lies", "is stored; is laid out"),
    ("lying", "stored; laid out"),
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
const ALLOWED_NEXT_WORDS: &[(&str, &[&str])] = &[
    ("is no", &["longer", "more", "less"]),
    ("are no", &["longer", "more", "less"]),
    ("is cut", &["into"]),
    ("are cut", &["into"]),
];
const ALLOWED_PREVIOUS_WORDS: &[(&str, &[&str])] = &[("is no", &["there"]), ("are no", &["there"])];

/// The words of a text, in lower case, without what is code.
fn prose_words(text: &str) -> Vec<String> {
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

/// The phrases of the table in some lines: the line (from 0), the phrase, and its replacement. A phrase may go on in the next line.
fn find_phrases<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'static str, &'static str)> {
    let words: Vec<(String, usize)> = lines
        .into_iter()
        .enumerate()
        .flat_map(|(number, line)| prose_words(line).into_iter().map(move |word| (word, number)))
        .collect();
    let is_in = |list: &[(&str, &[&str])], phrase: &str, word: Option<&(String, usize)>| {
        list.iter()
            .any(|(of, allowed)| *of == phrase && word.is_some_and(|(word, _)| allowed.contains(&&**word)))
    };
    let mut all = Vec::new();
    for (phrase, instead) in AVOIDED_PHRASES {
        let parts: Vec<&str> = phrase.split(' ').collect();
        for at in 0..words.len() {
            let end = at + parts.len();
            let occurs = end <= words.len() && words[at..end].iter().map(|(word, _)| word).eq(parts.iter());
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            if occurs
                && !is_in(ALLOWED_NEXT_WORDS, phrase, words.get(end))
                && !is_in(ALLOWED_PREVIOUS_WORDS, phrase, before)
            {
                all.push((words[at].1, *phrase, *instead));
            }
        }
    }
    all
}

/// What Rust code says to people, line by line: comments and string literals. (Names in the code are another matter.)
fn prose_of_rust(code: &str) -> Vec<String> {
    enum LexerState {
        Code,
        Comment,
        /// Literals end with a quote and this many `#`; only those that are not raw have escapes.
        Literal {
            hashes: usize,
            is_raw: bool,
        },
    }
    let mut place = LexerState::Code;
    let mut lines = vec![String::new()];
    let mut rest = code;
    while let Some(char) = rest.chars().next() {
        let mut used = char.len_utf8();
        let line = lines.last_mut().expect("there is a first line");
        match place {
            _ if char == '\n' => {
                lines.push(String::new());
                place = if matches!(place, LexerState::Comment) { LexerState::Code } else { place };
            }
            LexerState::Comment => line.push(char),
            LexerState::Literal { hashes, is_raw } => match char {
                '\\' if !is_raw && !rest[1..].starts_with('\n') => {
                    line.push(' ');
                    used += rest[1..].chars().next().map_or(0, char::len_utf8);
                }
                '"' if rest[1..].bytes().take_while(|byte| *byte == b'#').count() >= hashes => {
                    line.push('|');
                    place = LexerState::Code;
                }
                _ => line.push(char),
            },
            LexerState::Code if rest.starts_with("//") => place = LexerState::Comment,
            LexerState::Code if rest.starts_with("'\"'") || rest.starts_with("'\\") => used = 3,
            LexerState::Code if char == 'r' => {
                let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
                if rest[1 + hashes..].starts_with('"') {
                    used = 2 + hashes;
                    place = LexerState::Literal { hashes, is_raw: true };
                }
            }
            LexerState::Code if char == '"' => place = LexerState::Literal { hashes: 0, is_raw: false },
            LexerState::Code => {}
        }
        rest = &rest[used..];
    }
    lines
}

fn collect_text_files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        if entry.is_dir() && !["target", "node_modules", "corpus", "pkg"].contains(&name) {
            collect_text_files(&entry, all);
        } else if [".rs", ".md", ".py"].iter().any(|ending| name.ends_with(ending)) {
            all.push(entry);
        }
    }
}

#[test]
fn documentation_avoids_listed_phrases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in [
        "src",
        "compute/src",
        "derive",
        "formats",
        "matrices/src",
        "ndio/src",
        "refs/src",
        "store/src",
        "docs",
        "examples",
        "benches",
        "python",
    ] {
        let folder = root.join(folder);
        if folder.exists() {
            collect_text_files(&folder, &mut paths); // a package has neither `benches` nor other members
        }
    }
    paths
        .extend(["README.md", "MIGRATING.md", "CHANGELOG.md", "ARCHITECTURE.md"].map(|name| root.join(name)));
    // A package does not have these.
    let of_repository =
        ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "POLICIES.md", "SECURITY.md"].map(|name| root.join(name));
    paths.extend(of_repository.into_iter().filter(|path| path.exists()));
    assert!(paths.len() > 150, "only {} files were found", paths.len());

    let mut wrong = Vec::new();
    for path in paths {
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<String> =
            if is_rust { prose_of_rust(&text) } else { text.lines().map(str::to_owned).collect() };
        for (number, phrase, instead) in find_phrases(lines.iter().map(String::as_str)) {
            let inner = path.strip_prefix(root).unwrap().display();
            wrong.push(format!("{inner}:{}: '{phrase}' → {instead}: {}", number + 1, lines[number].trim()));
        }
    }
    assert!(wrong.is_empty(), "{} lines:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn phrases_are_found_in_prose_alone() {
    let phrases =
        |text: &str| find_phrases(text.lines()).into_iter().map(|(_, phrase, _)| phrase).collect::<Vec<_>>();
    assert_eq!(phrases("The bytes behind the array."), ["behind"]);
    assert_eq!(phrases("There\nare no files, which lie one after another: so\nmany files."), ["so many"]);
    assert_eq!(phrases("A pipe is no file; there is no file; it is no longer a file."), ["is no"]);
    assert_eq!(phrases("`behind` is a name, \"so many\" are words"), ["so many"]);
    assert_eq!(phrases("The file is cut into tiles, or it is cut."), ["is cut"]);
    assert_eq!(prose_of_rust("let behind = 1; // stands here"), ["/ stands here"]);
    assert_eq!(prose_of_rust(r#"write!(f, "a \"quoted\" word {}", behind)"#), ["a  quoted  word {}|"]);
    assert_eq!(
        prose_of_rust("let a = '\"'; \"two\\\n  lines\"; r#\"raw \" text\"#"),
        ["two\\", "  lines|raw \" text|"]
    );
}

/// How tests do not begin: they are named by what is tested and what is expected, not by a sentence.
const REFUSED_FIRST_WORDS_OF_TESTS: &[&str] = &[
    "a", "an", "the", "this", "that", "those", "it", "they", "what", "who", "where", "when", "how", "if",
    "is", "nobody", "nothing", "no", "not", "some", "many", "all", "any", "each", "every", "there", "as",
];
/// Names of items that say nothing to those who have not seen the code, and what they were replaced by.
const UNCLEAR_NAMES: &[(&str, &str)] = &[
    ("again", "retried; second"),
    ("alone", "single"),
    ("cut", "truncated; split"),
    ("found", "a noun: header, dtype, matches"),
    ("go_on", "check_cancelled"),
    ("home", "origin; owner"),
    ("is_called", "register"),
    ("is_there", "exists; is_present"),
    ("kept", "retained; cached"),
    ("known", "a noun: what is known"),
    ("lately", "recent"),
    ("least", "min"),
    ("made", "create_…; a noun"),
    ("most", "max"),
    ("other_way", "reversed"),
    ("place", "offset; position; location"),
    ("room", "buffer; capacity"),
    ("saw", "observe"),
    ("seams", "boundaries"),
    ("seen_by", "with_observer"),
    ("settle", "sync_position"),
    ("taken", "selected; acquired"),
    ("tally", "counts; reporter"),
    ("tell", "report"),
    ("told", "reported"),
    ("turn", "permute_axes; permit"),
    ("unclear", "ambiguous"),
    ("unread", "remaining"),
    ("way", "direction; decoder"),
    ("witness", "observer"),
];
/// Items that have such a name all the same, and why.
const NAME_EXCEPTIONS: &[(&str, &str)] = &[
    (
        "src/elements/cast/element_buf.rs: place",
        "puts fields into structs: what the memory of an element is about",
    ),
    (
        "src/elements/record/read.rs: made",
        "called by what the derive generates: a field whose value is made, not read",
    ),
];

/// The name of an item that is defined in a line.
fn defined_item(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let line =
        line.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")).map_or(line, |(_, item)| item);
    let mut words =
        line.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word {
            "pub" | "crate" | "super" | "in" | "self" | "async" | "unsafe" | "extern" | "default" => {}
            "const" | "fn" | "struct" | "enum" | "trait" | "type" | "mod" | "static" | "macro_rules" => {
                let name = words.next()?;
                // `const fn`
                return if name == "fn" { Some((name, words.next()?)) } else { Some((word, name)) };
            }
            _ => return None,
        }
    }
    None
}

/// `SomeName` and `SOME_NAME` as `some_name`.
fn snake_case(name: &str) -> String {
    if !name.contains(char::is_lowercase) {
        return name.to_lowercase();
    }
    let mut snake = String::new();
    for char in name.chars() {
        if char.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(char.to_lowercase());
    }
    snake
}

#[test]
fn item_and_test_names_avoid_unclear_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in [
        "src",
        "compute",
        "derive",
        "formats",
        "matrices",
        "ndio",
        "python/src",
        "refs",
        "store",
        "tests",
        "benches",
    ] {
        let folder = root.join(folder);
        if folder.exists() {
            collect_text_files(&folder, &mut paths); // a package has no other members
        }
    }
    let (mut wrong, mut tests, mut used) = (Vec::new(), 0, Vec::new());
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let inner = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        if inner.starts_with("tests/ui/") {
            continue; // mistakes, some of them in names
        }
        let text = fs::read_to_string(path).unwrap();
        let is_test_code = inner.contains("tests/");
        let mut is_test = false;
        for (number, line) in text.lines().enumerate() {
            is_test |= line.trim() == "#[test]";
            is_test &= !line.contains('$'); // a macro makes the name
            let Some((keyword, name)) = defined_item(line) else { continue };
            if std::mem::take(&mut is_test) && keyword == "fn" {
                tests += 1;
                let first = name.split('_').next().unwrap();
                if REFUSED_FIRST_WORDS_OF_TESTS.contains(&first) || !name.contains('_') {
                    wrong.push(format!(
                        "{inner}:{}: {name}: name what is tested, and what is expected",
                        number + 1
                    ));
                }
            } else if !is_test_code
                && let Some((_, instead)) = UNCLEAR_NAMES.iter().find(|(word, _)| *word == snake_case(name))
            {
                match NAME_EXCEPTIONS.iter().position(|(item, _)| *item == format!("{inner}: {name}")) {
                    Some(exception) => used.push(exception),
                    None => wrong.push(format!("{inner}:{}: {keyword} {name} → {instead}", number + 1)),
                }
            }
        }
    }
    assert!(tests > 200, "only {tests} tests were found");
    assert!(wrong.is_empty(), "{} names:\n{}", wrong.len(), wrong.join("\n"));
    let unused: Vec<_> = (0..NAME_EXCEPTIONS.len())
        .filter(|number| !used.contains(number))
        .map(|at| NAME_EXCEPTIONS[at].0)
        .collect();
    assert!(unused.is_empty(), "exceptions that are not needed: {unused:?}");
}
