//! One-line error messages: the library's description, with help in terms of this program's flags.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use ndarray_io::blocks::Block;
use ndarray_io::error::ErrorKind;
use serde_json::{Map, Value, json};

use super::terminal::StdoutError;

/// Any error of the program.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The flags of the verb that runs, which remedies may name.
static VERB_FLAGS: OnceLock<Vec<String>> = OnceLock::new();

/// Whether errors are printed as JSON.
static IS_JSON: OnceLock<bool> = OnceLock::new();

/// Sets the flags of the verb that runs, and whether it prints JSON.
pub(crate) fn set_verb_flags(flags: Vec<String>, is_json: bool) {
    VERB_FLAGS.get_or_init(|| flags);
    IS_JSON.get_or_init(|| is_json);
}

/// Returns a name as messages have it.
fn display_name(path: &Path) -> String {
    escape_for_terminal(&path.to_string_lossy().replace('\n', " "))
}

/// A message with its place.
#[derive(Debug)]
struct LocatedMessage {
    text: String,
    is_read_failure: bool,
    kind: Option<ErrorKind>,
    place: Map<String, Value>,
}

impl LocatedMessage {
    /// Replaces the text of an error. What is known of its place is kept.
    fn replacing(failure: &Failure, text: String) -> Self {
        let (is_read_failure, kind) = (is_read_failure(failure), kind_of(failure));
        Self { text, is_read_failure, kind, place: place_of(failure) }
    }

    /// Names the file, unless a name is known.
    fn in_file(mut self, name: &Path) -> Failure {
        self.place.entry("file").or_insert_with(|| name.to_string_lossy().into());
        self.into()
    }
}

/// Returns the kind of an error of the library.
fn kind_of(failure: &Failure) -> Option<ErrorKind> {
    let of_library = || Some(failure.downcast_ref::<ndarray_io::Error>()?.kind());
    failure.downcast_ref::<LocatedMessage>().map_or_else(of_library, |known| known.kind)
}

/// Returns what kind of error it is, and its file, member and index, as far as they are known.
fn place_of(failure: &Failure) -> Map<String, Value> {
    if let Some(known) = failure.downcast_ref::<LocatedMessage>() {
        return known.place.clone();
    }
    let mut place = Map::new();
    let Some(error) = failure.downcast_ref::<ndarray_io::Error>() else {
        let kind = if failure.is::<io::Error>() { "io" } else { "other" };
        place.insert("kind".into(), kind.into());
        return place;
    };
    place.insert("kind".into(), kind_name(error.kind()).into());
    place.extend(error.path().map(|path| ("file".into(), path.to_string_lossy().into())));
    place.extend(error.member().map(|name| ("member".into(), name.into())));
    // Of one axis, the number of an element is its index.
    let index = error.index().map(<[usize]>::to_vec).or_else(|| Some(vec![error.element()?]));
    place.extend(index.map(|index| ("index".into(), index.into())));
    place
}

/// Returns the name of a kind in lower case, with hyphens between its words.
fn kind_name(kind: ErrorKind) -> String {
    let (mut name, mut is_after_small) = (String::new(), false);
    for char in format!("{kind:?}").chars() {
        if char.is_uppercase() && is_after_small {
            name.push('-');
        }
        is_after_small = char.is_lowercase();
        name.extend(char.to_lowercase());
    }
    name
}

/// Returns an error for programs.
pub(crate) fn failure_json(failure: &Failure) -> Value {
    let mut facts = place_of(failure);
    facts.insert("message".into(), one_line_message(failure).into());
    facts.into()
}

impl fmt::Display for LocatedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for LocatedMessage {}

/// Adds the file name to an error, unless its message begins with it.
pub(crate) fn at(path: &Path, failure: Failure) -> Failure {
    if is_broken_pipe(&*failure) || is_stdout_error(&*failure) {
        return failure; // the fault of no file
    }
    let (text, name) = (one_line_message(&failure), display_name(path));
    let has_name =
        text.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(": ") || rest.starts_with('/'));
    let text = if has_name { text } else { format!("{name}: {text}") };
    LocatedMessage::replacing(&failure, text).in_file(path)
}

/// Adds what to do to an error.
pub(crate) fn with_advice(failure: Failure, advice: &str) -> Failure {
    LocatedMessage::replacing(&failure, format!("{}; {advice}", one_line_message(&failure))).into()
}

/// Adds the name of a file and that of a part of it to an error.
pub(crate) fn at_part(path: &Path, part: &str, failure: Failure) -> Failure {
    let (text, name) = (one_line_message(&failure), display_name(path));
    let text = text.strip_prefix(&format!("{name}: ")).unwrap_or(&text);
    LocatedMessage::replacing(&failure, format!("{name}: {part}: {text}")).in_file(path)
}

/// Whether an error says that a file could not be read or is not an array file, rather than what is wrong with it.
pub(crate) fn is_read_failure(failure: &Failure) -> bool {
    let of_library = |error: &ndarray_io::Error| {
        // What is known by one byte, or not at all, may be what is left of an array file.
        let is_of_another_kind = error.member().is_none()
            && error.help().is_some_and(|help| {
                help.id().starts_with("file-") && !matches!(help.id(), "file-text" | "file-json")
            });
        error.is_io() || error.is_conflict() || is_of_another_kind
    };
    failure.downcast_ref::<ndarray_io::Error>().is_some_and(of_library)
        || failure.downcast_ref::<LocatedMessage>().is_some_and(|placed| placed.is_read_failure)
        || failure.is::<io::Error>()
}

/// Whether an error says that what was read is damaged.
pub(crate) fn is_damage(failure: &Failure) -> bool {
    matches!(kind_of(failure), Some(ErrorKind::Malformed | ErrorKind::Truncated | ErrorKind::BadMagic))
}

/// Whether an error is of writing to standard output, and says so.
pub(crate) fn is_stdout_error(failure: &(dyn std::error::Error + 'static)) -> bool {
    let is_of_stdout = |error: &io::Error| error.get_ref().is_some_and(|inner| inner.is::<StdoutError>());
    let of_library = |error: &ndarray_io::Error| error.as_io().is_some_and(is_of_stdout);
    failure.downcast_ref::<io::Error>().is_some_and(is_of_stdout)
        || failure.downcast_ref::<ndarray_io::Error>().is_some_and(of_library)
}

/// Prints a remark on standard error.
pub(crate) fn report(failure: &Failure) {
    let line = match IS_JSON.get() {
        Some(true) => json!({"error": failure_json(failure)}).to_string(),
        _ => format!("ndio: {}", one_line_message(failure)),
    };
    let _ = writeln!(io::stderr(), "{line}"); // nothing can be done if stderr fails
}

/// Adds the place of a block to an error of the library.
pub(crate) fn in_block<T>(block: &Block<T>, failure: Failure) -> Failure {
    match failure.downcast::<ndarray_io::Error>() {
        Ok(error) => block.located(*error).into(),
        Err(other) => other,
    }
}

/// Formats an error as one line.
pub(crate) fn one_line_message(failure: &Failure) -> String {
    let help = failure.downcast_ref::<ndarray_io::Error>().and_then(ndarray_io::Error::help);
    let text = match help.and_then(|help| help_text(help.id())).filter(|text| verb_has_flags_of(text)) {
        Some(help) => format!("{failure}; {help}"),
        None => failure.to_string(),
    };
    escape_for_terminal(&text.replace('\n', " "))
}

/// Whether the verb that runs has all flags that a remedy names, or it names another verb.
fn verb_has_flags_of(text: &str) -> bool {
    let Some(flags) = VERB_FLAGS.get() else { return true };
    let named = text.split([' ', ',']).filter_map(|word| word.strip_prefix("--"));
    text.contains("ndio ") || named.into_iter().all(|name| flags.iter().any(|flag| flag == name))
}

/// Escapes text for a terminal.
pub(crate) fn escape_for_terminal(text: &str) -> String {
    ndarray_io::error::escape_invisible(text).into_owned()
}

/// Returns the help text in terms of this program's flags, if there is one.
///
/// A test of the library (`programs_consider_all_remedies`) fails for one that is not named here.
fn help_text(id: &str) -> Option<&'static str> {
    Some(match id {
        "password" => "set it with --password-file, --password-env or --ask-password",
        "allow-objects" => "--allow-objects reads them as data",
        "cast-safe" => "--casting safe allows it",
        "cast-same-kind" => "--casting same-kind allows it",
        "cast-unsafe" => "--casting unsafe allows it",
        "one-dtype" => "convert them to one dtype with ndio convert --dtype",
        "drop-trailing" => "--drop-trailing drops them",
        "fortran-order" => "use --order fortran",
        "long-double-format" => {
            "--long-double x87, quad or double-double states their format (f16 is a long double of 16 bytes; half precision is f2)"
        }
        "take-field" => "--field selects one",
        "ignore-ra-flags" => "--ignore-ra-flags ignores them",
        "version" => "without --version, the lowest sufficient version is written",
        "file-pickle" | "file-torch" => "ndio scan lists what Python would do to load it",
        "file-gzip" => "decompress it first, with gunzip",
        "file-zstd" => "decompress it first, with unzstd",
        "file-xz" => "decompress it first, with unxz",
        "file-bzip2" => "decompress it first, with bunzip2",
        "file-lz4" => "decompress it first, with unlz4",
        "file-hdf5" => "save its arrays in Python: np.save(path, h5py.File(file)[name][...])",
        "file-matlab" => "save its arrays in Python: np.save(path, scipy.io.loadmat(file)[name])",
        "file-parquet" => "save its columns in Python: np.save(path, pandas.read_parquet(file)[name])",
        "file-arrow" => "save its columns in Python: np.save(path, pandas.read_feather(file)[name])",
        "file-safetensors" => "make an archive of it: ndio convert FILE.safetensors OUT.npz",
        "file-git-lfs" => "fetch the file itself: git lfs pull",
        "file-html" => "look at what it says: a download may have failed",
        "file-text" => "make an array of a table of numbers: ndio convert FILE OUT.npy --from csv",
        // The message says which file it is, and the program reads the first three by their content.
        "file-npy" | "file-ra" | "file-zip" | "file-picture" | "file-json" => return None,
        // For programs that call the library.
        "finish-archive"
        | "map"
        | "read"
        | "read-whole"
        | "read-as"
        | "read-records"
        | "read-dynamic"
        | "any-rank"
        | "take-bytes"
        | "take-copy"
        | "cast-array"
        | "read-pickle"
        | "write-as"
        | "dtype-of-file"
        | "rename-field"
        | "ignore-extra-fields"
        | "widen-field"
        | "text-width"
        | "push-all-rows"
        | "next-array"
        | "pickle-protocol"
        | "raise-header-limit"
        | "raise-payload-limit"
        | "raise-objects-limit"
        | "raise-object-height-limit"
        | "raise-expansion-limit" => return None,
        // What the verbs say themselves, with their options, or have none for.
        "open-url" | "ra-bool" | "c-order" | "use-npy" | "allow-trailing" | "recover-trailing"
        | "recover-rows" | "recover-parts" | "keep-trailing" | "replace" | "in-place" | "by-index"
        | "replace-member" | "grow-header" | "array-follows" | "wait-for-lock" | "feature" => return None,
        _ => return None,
    })
}

/// Whether the reader of the output has closed the pipe (`ndio show x.npy | head`).
pub(crate) fn is_broken_pipe(failure: &(dyn std::error::Error + 'static)) -> bool {
    let is_broken_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    let by_table = failure.downcast_ref::<::csv::Error>().map(::csv::Error::kind);
    let of_library =
        |error: &ndarray_io::Error| error.path().is_none() && error.as_io().is_some_and(is_broken_pipe);
    failure.downcast_ref::<io::Error>().is_some_and(is_broken_pipe)
        || failure.downcast_ref::<ndarray_io::Error>().is_some_and(of_library)
        || matches!(by_table, Some(::csv::ErrorKind::Io(error)) if is_broken_pipe(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_one_escaped_line() {
        let error = ndarray_io::Error::from(io::Error::other("bell \u{7} and\nline"));
        assert_eq!(one_line_message(&error.at_path("a.npy").into()), r"a.npy: bell \u{7} and line");
    }
}
