//! Parts that are written with the file: `ck.npz:layer2.weight[17, 190:210]`, `rec.npy:pos.x`, `stack.npy[5]`, `several.npy:2`.
//!
//! An existing file of the entire name comes first, then the longest member of an archive, then a field. Of URLs, the part follows `#`.

use std::path::{Path, PathBuf};

use super::Selection;
use crate::failure::Failure;
use crate::formats::{Format, as_array};
use crate::input::Input;
use crate::remote;

/// A file, and the part of it that its name continues with.
#[derive(Debug, PartialEq)]
struct Operand {
    path: PathBuf,
    /// What follows the colon: a member, a field, or both.
    name: Option<String>,
    slice: Option<String>,
}

impl Selection {
    /// Opens what an argument names: a file, and the part of it that is chosen by the argument, or by options.
    pub(crate) fn open(&self, path: &Path) -> Result<(Input, Self), Failure> {
        self.open_with(path, |path| as_array(Input::open(path)?))
    }

    /// Like [`open`](Self::open), where the file is opened by `open`.
    pub(crate) fn open_with(
        &self,
        path: &Path,
        mut open: impl FnMut(&Path) -> Result<Input, Failure>,
    ) -> Result<(Input, Self), Failure> {
        let operand = operand_of(path);
        // The name of an object may have any character, and that of a web page ends before `#`.
        let is_object = operand.path != path
            && remote::is_url(path)
            && !path.starts_with("http:")
            && !path.starts_with("https:");
        let whole = is_object.then(|| open(path)).and_then(Result::ok);
        let operand = if whole.is_some() {
            Operand { path: path.to_owned(), name: None, slice: None }
        } else {
            operand
        };
        let input = whole.map_or_else(|| open(&operand.path), Ok)?;
        let mut selection = self.clone();
        let given = |option: &str| Err(input.at(format!("a part is given with its name, and by {option}")));
        let is_archive = input.format() == Format::Npz;
        let archive = match is_archive && operand.name.is_some() {
            true => Some(input.npz(&crate::reading::options())?),
            false => None,
        };
        let is_member = |name: &str| archive.as_ref().is_some_and(|archive| archive.index_of(name).is_ok());
        // A name may end with brackets of its own.
        let all =
            operand.name.as_ref().zip(operand.slice.as_ref()).map(|(name, slice)| format!("{name}[{slice}]"));
        let operand = match all.filter(|all| is_member(all)) {
            Some(name) => Operand { name: Some(name), slice: None, ..operand },
            None => operand,
        };
        if let Some(slice) = operand.slice {
            if selection.slice.is_some() {
                return given("--slice");
            }
            selection.slice = Some(slice);
        }
        let Some(name) = operand.name else { return Ok((input, selection)) };
        if is_archive && selection.selects_array() || !is_archive && selection.array.is_some() {
            return given(if is_archive { "--member" } else { "--array" });
        }
        let (member, field) = match is_archive {
            true => member_and_field(&name, &is_member),
            false => (None, Some(name)),
        };
        if field.is_some() && selection.field.is_some() {
            return given("--field");
        }
        match field {
            // Fields are seldom numbers: the arrays of a file are.
            Some(number) if !is_archive && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                selection.array =
                    Some(number.parse().map_err(|_| input.at(format!("there is no array {number}")))?);
            }
            Some(field) => selection.field = Some(field),
            None => {}
        }
        selection.member = member.or(selection.member);
        Ok((input, selection))
    }
}

/// Returns the file that an argument names, with a part of it or without.
pub(crate) fn file_of(argument: &Path) -> PathBuf {
    operand_of(argument).path
}

/// Divides an argument into a file and a part.
fn operand_of(path: &Path) -> Operand {
    let whole = || Operand { path: path.to_owned(), name: None, slice: None };
    let Some(text) = path.to_str() else { return whole() };
    if remote::is_url(path) {
        let Some((url, part)) = text.split_once('#') else { return whole() };
        let (name, slice) = name_and_slice(part);
        return Operand { path: url.into(), name, slice };
    }
    let is_file = |text: &str| text == "-" || Path::new(text).exists();
    if is_file(text) {
        return whole();
    }
    // Fields as NumPy writes them: x.npy['pos']['x'], in a shell also without quotes.
    let (mut file, mut fields) = (text, Vec::new());
    while let Some((before, name)) =
        bracketed(file).and_then(|(before, name)| Some((before, field_name(name)?)))
    {
        (file, _) = (before, fields.insert(0, name));
    }
    if !fields.is_empty() && is_file(file) {
        return Operand { path: file.into(), name: Some(fields.join(".")), slice: None };
    }
    if let Some((file, slice)) = bracketed(text)
        && is_file(file)
    {
        return Operand { path: file.into(), name: None, slice: Some(slice.to_owned()) };
    }
    // A colon after one letter is that of a drive.
    let mut colons = text
        .match_indices(':')
        .map(|(at, _)| at)
        .filter(|at| *at != 1 || !text[2..].starts_with(['\\', '/']));
    match colons.rfind(|at| is_file(&text[..*at])) {
        Some(at) => {
            let (name, slice) = name_and_slice(&text[at + 1..]);
            Operand { path: text[..at].into(), name, slice }
        }
        None => whole(),
    }
}

fn name_and_slice(part: &str) -> (Option<String>, Option<String>) {
    match bracketed(part) {
        Some(("", slice)) => (None, Some(slice.to_owned())),
        Some((name, slice)) => (Some(name.to_owned()), Some(slice.to_owned())),
        None if part.is_empty() => (None, None),
        None => (Some(part.to_owned()), None),
    }
}

/// Returns the name of a field in brackets; what is not a name is a slice.
fn field_name(text: &str) -> Option<&str> {
    let name = text.trim_matches(['\'', '"']);
    let is_name = name.starts_with(|char: char| char.is_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_alphanumeric() || char == '_');
    is_name.then_some(name)
}

/// Divides `x[0, 1]` into `x` and `0, 1`.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(']')?.rsplit_once('[')
}

/// Divides a name into the longest one that is a member, and a field of it. Without any, all of it is taken for a member, so that the error
/// lists the members.
fn member_and_field(name: &str, is_member: &dyn Fn(&str) -> bool) -> (Option<String>, Option<String>) {
    if is_member(name) {
        return (Some(name.to_owned()), None);
    }
    let mut dots = name.match_indices('.').map(|(at, _)| at).rev();
    match dots.find(|at| is_member(&name[..*at])) {
        Some(at) => (Some(name[..at].to_owned()), Some(name[at + 1..].to_owned())),
        None => (Some(name.to_owned()), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_files_come_before_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("{}/{name}", folder.path().display());
        for name in ["a.npz", "a.npz:w", "x[0].npy", "x.npy"] {
            std::fs::write(path(name), "").unwrap();
        }
        let found = |text: &str| {
            let operand = operand_of(Path::new(&path(text)));
            (
                operand.path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned(),
                operand.name,
                operand.slice,
            )
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(found("a.npz"), ("a.npz".into(), None, None));
        assert_eq!(found("a.npz:w"), ("a.npz:w".into(), None, None));
        assert_eq!(found("a.npz:v.x[1, :2]"), ("a.npz".into(), some("v.x"), some("1, :2")));
        assert_eq!(found("a.npz:w[3]"), ("a.npz:w".into(), None, some("3")));
        assert_eq!(found("a.npz:w:y"), ("a.npz:w".into(), some("y"), None));
        assert_eq!(found("x[0].npy"), ("x[0].npy".into(), None, None));
        assert_eq!(found("x[0].npy[5]"), ("x[0].npy".into(), None, some("5")));
        assert_eq!(found("x.npy:2"), ("x.npy".into(), some("2"), None));
        assert_eq!(found("x.npy['pos'][x]"), ("x.npy".into(), some("pos.x"), None));
        assert_eq!(found("none.npy:2"), ("none.npy:2".into(), None, None));
        assert_eq!(operand_of(Path::new("https://host:8000/a:b.npz#w.x[0]")).name, some("w.x"));
        assert_eq!(operand_of(Path::new("-:w")), Operand { path: "-".into(), name: some("w"), slice: None });
    }

    #[test]
    fn longest_member_is_chosen() {
        let is_member = |name: &str| ["a", "a.b", "layer.w"].contains(&name);
        let found = |name: &str| member_and_field(name, &is_member);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(found("a"), (some("a"), None));
        assert_eq!(found("a.b"), (some("a.b"), None));
        assert_eq!(found("a.b.c.d"), (some("a.b"), some("c.d")));
        assert_eq!(found("a.c"), (some("a"), some("c")));
        assert_eq!(found("layer.w"), (some("layer.w"), None));
        assert_eq!(found("none.x"), (some("none.x"), None));
    }
}
