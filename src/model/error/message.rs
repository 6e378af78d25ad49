//! The messages of errors. Their wording may change; the kinds are the stable interface.

use std::fmt;
use std::ops::Range;

use super::{
    CopyReason, ElementFault, ErrorKind, Fault, FileKind, FilePart, FileSection, LimitKind, WantedShape,
};
use crate::dtype::{DType, Field, Record};
use crate::shape::Shape;

/// Describes what was found, what was expected, and where. Remedies are in [`help`](crate::Error::help).
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "out of memory: cannot allocate {bytes} bytes"),
            Self::BadMagic { format, found } => fmt_bad_magic(f, format, found),
            Self::NotRepresentable { format, dtype, reason } => {
                write!(f, "{format} cannot represent elements of {}: {reason}", Shortened(dtype))
            }
            Self::Truncated { part, need, have } => fmt_truncated(f, part, *need, *have),
            Self::Malformed { part, reason, offset } => {
                let place = offset.map_or_else(String::new, |offset| format!(" at byte {offset}"));
                write!(f, "{}{place}: {reason}", malformed_part(part))
            }
            Self::Unsupported { part, reason } => write!(f, "{}{reason}", unsupported_part(part)),
            Self::InvalidElement(fault) => fault.fmt(f),
            Self::ShapeMismatch { found, wanted } => fmt_shape_mismatch(f, found, wanted),
            Self::NeedsCopy(reason) => reason.fmt(f),
            Self::HeaderCannotGrow { header, crosses_sector } => f.write_str(&match crosses_sector {
                true => format!("the length in the header of {header} bytes crosses a sector boundary: a loss of power could leave it partially written"),
                false => format!("the header of {header} bytes has too little padding for a larger length"),
            }),
            Self::Uncommitted { bytes, rows, parts } => fmt_uncommitted(f, *bytes, *rows, *parts),
            Self::Trailing { bytes, at_least, rows } => {
                let least = if *at_least { "at least " } else { "" };
                write!(f, "found {least}{}{} after the array", Count(*bytes, "byte"), RowsInParentheses(*rows))
            }
            Self::Overflow { what } => write!(f, "{what} is too large"),
            Self::Encrypted { has_password: false } => f.write_str("the member is encrypted, and no password was given"),
            Self::Encrypted { .. } => f.write_str("wrong password for the encrypted member"),
            Self::DTypeMismatch { found, wanted } => {
                write!(f, "expected elements of {}, found {}", Shortened(wanted), Shortened(found))
            }
            Self::Objects { found } => write!(f, "the array contains Python objects (dtype {})", Shortened(found)),
            // Names come from files: control characters in them must not reach a terminal or a log.
            Self::MissingField { field, found } => fmt_missing_field(f, field, found),
            Self::ExtraField { field } => write!(f, "unexpected field '{}' in the records", field.escape_debug()),
            Self::NoSuchField { field, available } => fmt_no_such_field(f, field, available),
            Self::NoSuchMember { name, available } => {
                let listed = Shortened(NameList::of(available, "no members", name));
                write!(f, "the archive has no member '{}'; it contains {listed}", name.escape_debug())
            }
            Self::AmbiguousName { name, indices } => {
                let (name, count) = (name.escape_debug(), indices.len());
                write!(f, "the archive has {count} members named '{name}', at indices {indices:?}")
            }
            Self::NameTaken { name } => write!(f, "the archive already has a member named '{}'", name.escape_debug()),
            Self::Limit { limit_kind, found, limit } => limit_kind.describe(f, *found, *limit),
            Self::VersionTooLow { wanted, needed } => write!(
                f,
                "the header needs format version {}.{}, requested was {}.{}",
                needed.0, needed.1, wanted.0, wanted.1
            ),
            Self::CannotReplace { reason } => write!(f, "the file cannot be replaced atomically: {reason}"),
            Self::TextTooLong { length, width } => write!(f, "text of length {length} exceeds the width of {width}"),
            Self::WrongCount { found, wanted } => write!(f, "expected {}, found {found}", Count(*wanted, "element")),
            Self::NotLoaded { missing } => fmt_not_loaded(f, missing),
            Self::ArrayChanged { reason } | Self::Other { kind: ErrorKind::Changed, text: reason } => {
                write!(f, "concurrent change: {reason}")
            }
            Self::OutOfBounds { index, length, axis: Some(axis) } => {
                write!(f, "index {index} is out of bounds for axis {axis} of length {length}")
            }
            Self::OutOfBounds { index, length, axis: None } => {
                write!(f, "index {index} is out of bounds for length {length}")
            }
            Self::NoSuchAxis { axis, shape } => write!(f, "an array of shape {shape} has no axis {axis}"),
            Self::AlreadyExists | Self::Locked | Self::Cancelled => self.kind().fmt(f),
            Self::NotConvertible { reason }
            | Self::BadSource { reason }
            | Self::OutOfTurn { reason }
            | Self::NotRegularFile { reason }
            | Self::BadOption { reason } => f.write_str(reason),
            Self::Other { text, .. } => f.write_str(text),
        }
    }
}

fn fmt_bad_magic(f: &mut fmt::Formatter<'_>, format: &str, found: &[u8]) -> fmt::Result {
    write!(f, "expected an {format} file, found ")?;
    match FileKind::of(found) {
        _ if found.is_empty() => f.write_str("nothing"),
        Some(FileKind::Text) => write!(f, "text: \"{}\"", found.escape_ascii()),
        Some(kind) => write!(f, "{kind}"),
        None => write!(f, "\"{}\"", found.escape_ascii()),
    }
}

fn fmt_truncated(f: &mut fmt::Formatter<'_>, part: &FileSection, need: u64, have: u64) -> fmt::Result {
    f.write_str("truncated: ")?;
    match part {
        FileSection::Preamble if have == 0 => write!(
            f,
            "expected a header of at least {need} bytes, found nothing: it is empty, or was read to its end before"
        ),
        FileSection::Preamble => write!(f, "expected a header of at least {need} bytes, found {have}"),
        FileSection::Header => write!(f, "expected {need} bytes of header, found {have}"),
        FileSection::Payload { shape, dtype } => {
            let (shape, dtype) = (ShapeText(shape), Shortened(dtype));
            write!(f, "the header declares {shape} elements of {dtype} ({need} bytes), {have} bytes remain")
        }
        FileSection::Packed => {
            write!(f, "the compressed data has at least {}, {have} remain", Count(need, "byte"))
        }
    }
}

fn malformed_part(part: &FilePart) -> &'static str {
    match part {
        FilePart::Version => "malformed version",
        FilePart::Header => "malformed header",
        FilePart::DType => "malformed dtype",
        FilePart::Data => "malformed compressed data",
        FilePart::Pickle => "malformed pickle",
        FilePart::Stack => "malformed stack",
        FilePart::Archive => "malformed archive",
        FilePart::Content => "malformed compressed content",
        FilePart::Checksum => "checksum mismatch",
    }
}

fn unsupported_part(part: &FilePart) -> &'static str {
    match part {
        FilePart::Header => "unsupported header: ",
        // The reason begins with the version or the dtype.
        FilePart::Version => "unsupported format version ",
        FilePart::DType => "unsupported dtype ",
        FilePart::Data => "unsupported encoding: ",
        FilePart::Pickle => "unsupported pickle: ",
        FilePart::Stack => "unsupported stack: ",
        FilePart::Archive => "unsupported archive: ",
        FilePart::Content | FilePart::Checksum => "unsupported content: ",
    }
}

fn fmt_shape_mismatch(f: &mut fmt::Formatter<'_>, found: &Shape, wanted: &WantedShape) -> fmt::Result {
    match wanted {
        WantedShape::Axes(count) => {
            write!(f, "expected an array of {}, found shape {found}", AxisCount(*count))
        }
        WantedShape::Sliced(parts) => {
            let (axes, parts) = (AxisCount(found.ndim()), AxisCount(*parts));
            write!(f, "the array of shape {found} has {axes}, the slice is of {parts}")
        }
        WantedShape::Exactly(shape) => write!(f, "expected shape {shape}, found {found}"),
        WantedShape::Rows(row) => write!(f, "expected rows of shape {row}, found shape {found}"),
    }
}

fn fmt_uncommitted(f: &mut fmt::Formatter<'_>, bytes: u64, rows: u64, parts: u64) -> fmt::Result {
    match parts {
        0 => write!(f, "found {}{} after the array", Count(bytes, "byte"), RowsInParentheses(rows))?,
        parts => write!(f, "found {} that the info does not count", Count(parts, "part"))?,
    }
    f.write_str(", perhaps of an interrupted append")
}

fn fmt_missing_field(f: &mut fmt::Formatter<'_>, field: &str, found: &DType) -> fmt::Result {
    let fields = found.as_record().map_or(&[][..], Record::fields);
    let names: Vec<&str> = fields.iter().map(Field::name).collect();
    let listed = Shortened(NameList::of(&names, "none", field));
    write!(f, "expected a field '{}'; the fields of the file are {listed}", field.escape_debug())
}

fn fmt_no_such_field(f: &mut fmt::Formatter<'_>, field: &str, available: &[String]) -> fmt::Result {
    write!(f, "the array has no field '{}'", field.escape_debug())?;
    match available.is_empty() {
        true => f.write_str(": its elements are not records"),
        false => write!(f, "; its fields are {}", Shortened(NameList::of(available, "none", field))),
    }
}

fn fmt_not_loaded(f: &mut fmt::Formatter<'_>, missing: &[Range<u64>]) -> fmt::Result {
    let bytes = missing.iter().map(|range| range.end.saturating_sub(range.start));
    let bytes = bytes.fold(0, u64::saturating_add);
    let first = missing.iter().map(|range| range.start).min().unwrap_or_default();
    write!(f, "{bytes} bytes have not been loaded, the first at {first}")
}

impl fmt::Display for ElementFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool { found } => write!(f, "expected a bool (0 or 1), found {found}"),
            Self::Variant { found, of, .. } => write!(f, "expected a variant of enum {of}, found {found}"),
            Self::Unicode { code } => write!(f, "expected a Unicode character, found {code:#X}"),
            Self::Utf8 { valid_up_to } => write!(f, "invalid UTF-8 at byte {valid_up_to} of the string"),
        }
    }
}

impl fmt::Display for CopyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrder { found } => {
                write!(f, "expected this machine's byte order, found {}", Shortened(found))
            }
            Self::Layout { found } => {
                write!(f, "{} does not have the memory layout of the Rust type", Shortened(found))
            }
            Self::Compressed { packed, size } => {
                write!(f, "expected an uncompressed member, found {size} bytes compressed to {packed}")
            }
            Self::Misaligned { wanted, off_by } => {
                write!(f, "misaligned: expected a multiple of {wanted} bytes, found a remainder of {off_by}")
            }
            Self::Packed => {
                f.write_str("the data is compressed or stored as single bits: it cannot be viewed, mapped or read in parts")
            }
        }
    }
}

impl LimitKind {
    fn describe(self, f: &mut fmt::Formatter<'_>, found: u64, limit: u64) -> fmt::Result {
        match self {
            Self::HeaderBytes => write!(f, "the header has {found} bytes, over the limit of {limit}"),
            Self::PayloadBytes => write!(f, "the data takes {found} bytes, over the limit of {limit}"),
            Self::Nesting => write!(f, "the header nests brackets deeper than the limit of {limit}"),
            Self::RecordNesting => write!(f, "the dtype nests records deeper than the limit of {limit}"),
            Self::Dimensions => write!(f, "the array has {found} axes, over NumPy's limit of {limit}"),
            Self::Objects => {
                write!(f, "the pickle has at least {found} objects with parts, over the limit of {limit}")
            }
            Self::Nodes => write!(f, "the pickle has at least {found} objects, over the limit of {limit}"),
            Self::ObjectNesting => write!(f, "the pickle nests objects deeper than the limit of {limit}"),
            Self::Copies => write!(
                f,
                "copying shared parts of the pickle takes at least {found} bytes, over the limit of {limit}"
            ),
            Self::Digits => {
                write!(f, "an integer has {found} decimal digits, over Python's limit of {limit}")
            }
            Self::EmptyItems => {
                write!(f, "the array has {found} elements of zero bytes, over the limit of {limit}")
            }
            Self::Expansion => write!(
                f,
                "the content is {found} times as large as its compressed bytes, over the limit of {limit}"
            ),
        }
    }
}

/// A count with its noun, in the singular or plural.
struct Count(u64, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// The number of complete rows, in parentheses; empty if there are none.
struct RowsInParentheses(u64);

impl fmt::Display for RowsInParentheses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            rows => write!(f, " ({})", Count(rows, "complete row")),
        }
    }
}

/// A number of axes, in the singular or plural.
struct AxisCount(usize);

impl fmt::Display for AxisCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 axis"),
            number => write!(f, "{number} axes"),
        }
    }
}

/// A list of names, separated by commas; or what to say if there are none.
struct NameList<'a>(Vec<&'a str>, &'static str);

impl<'a> NameList<'a> {
    /// Lists names that are similar to the one that was wanted first, and otherwise in their order.
    fn of(names: &'a [impl AsRef<str>], none: &'static str, wanted: &str) -> Self {
        let mut names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        sort_similar_first(wanted, &mut names);
        Self(names, none)
    }
}

impl fmt::Display for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(self.1);
        }
        // What is shown is shortened, so more names are not needed.
        const MAX_NAMES: usize = 100;
        let names: Vec<String> =
            self.0.iter().take(MAX_NAMES).map(|name| format!("'{}'", name.escape_debug())).collect();
        f.write_str(&names.join(", "))
    }
}

/// Moves the names that are similar to the one that was wanted to the front.
pub(super) fn sort_similar_first(wanted: &str, names: &mut [&str]) {
    names.sort_by_cached_key(|name| bounded_edit_distance(wanted, name));
}

/// Returns how many characters have to be changed in a short name, regardless of case, or a large number if that is more than 3.
fn bounded_edit_distance(wanted: &str, name: &str) -> usize {
    const MAX_DISTANCE: usize = 3;
    const MAX_COMPARED_CHARS: usize = 64;
    let chars =
        |name: &str| name.chars().take(MAX_COMPARED_CHARS).flat_map(char::to_lowercase).collect::<Vec<_>>();
    if wanted.len().abs_diff(name.len()) > 4 * MAX_DISTANCE {
        return usize::MAX;
    }
    let (wanted, name) = (chars(wanted), chars(name));
    // The row of Levenshtein's table for each prefix of one name.
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (number, char) in wanted.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], number + 1);
        for (at, other) in name.iter().enumerate() {
            let changed = diagonal + usize::from(char != other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(diagonal + 1).min(row[at] + 1);
        }
    }
    // Of a name of two letters, one has to be the same.
    let max_distance = MAX_DISTANCE.min(wanted.len() / 2);
    row.last().copied().filter(|edit_distance| *edit_distance <= max_distance).unwrap_or(usize::MAX)
}

/// A shape in prose: `3 × 4`.
struct ShapeText<'a>(&'a Shape);

impl fmt::Display for ShapeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.0.dims().iter().map(ToString::to_string).collect();
        if dims.is_empty() { f.write_str("1") } else { f.write_str(&dims.join(" × ")) }
    }
}

/// Text of any length (such as the dtype of a record of hundreds of fields), truncated to 200 characters.
pub(super) struct Shortened<T>(pub(super) T);

impl<T: fmt::Display> fmt::Display for Shortened<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In characters, not bytes, so that the text is always truncated at a character boundary.
        const MAX_LEN: usize = 200;
        let text = self.0.to_string();
        match text.char_indices().nth(MAX_LEN) {
            None => f.write_str(&text),
            Some((end, _)) => write!(f, "{}…", &text[..end]),
        }
    }
}
