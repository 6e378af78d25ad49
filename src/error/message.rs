//! The sentences that errors show. They may change; the kinds do not.

use std::fmt;

use super::{ErrorKind, FileSection, LimitKind};
use crate::shape::Shape;

/// What was found, what was expected, and where. What to do about it is [`help`](crate::Error::help).
impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => write!(f, "out of memory: the array needs {bytes} bytes"),
            Self::BadMagic { format, found } if found.is_empty() => {
                write!(f, "expected an {format} file, found nothing")
            }
            Self::BadMagic { format, found } => {
                write!(f, "expected an {format} file, found \"{}\"", found.escape_ascii())
            }
            Self::UnknownFlags { flags } => write!(f, "unknown flags {flags:#x} in the header"),
            Self::BadPacking { reason } => write!(f, "malformed packed data: {reason}"),
            Self::BadPickle { reason, offset: None } => write!(f, "malformed pickle: {reason}"),
            Self::BadPickle { reason, offset: Some(offset) } => {
                write!(f, "malformed pickle at byte {offset}: {reason}")
            }
            Self::UnsupportedPickle { reason } => write!(f, "unsupported pickle: {reason}"),
            Self::BadStack { reason } => write!(f, "malformed stack: {reason}"),
            Self::UnsupportedPacking { reason } => write!(f, "unsupported packing: {reason}"),
            Self::Packed => f.write_str("the data are packed: they can only be read as a whole"),
            Self::NotExpressible { format, dtype, reason } => {
                write!(f, "{format} cannot represent elements of {}: {reason}", Short(dtype))
            }
            Self::BadVersion { major, minor } => {
                write!(f, "expected format version 1.0, 2.0 or 3.0, found {major}.{minor}")
            }
            Self::Truncated { part: FileSection::Preamble, need, have } => {
                write!(f, "truncated: a header starts with {need} fixed bytes, found {have}")
            }
            Self::Truncated { part: FileSection::Header, need, have } => {
                write!(f, "truncated: the header ends at byte {need}, the file at byte {have}")
            }
            Self::Truncated { part: FileSection::Payload { shape, dtype }, need, have } => {
                let (shape, dtype) = (Times(shape), Short(dtype));
                write!(
                    f,
                    "truncated: the header declares {shape} elements of {dtype} ({need} bytes), {have} bytes remain"
                )
            }
            Self::BadHeader { reason, offset: None } => write!(f, "malformed header: {reason}"),
            Self::BadHeader { reason, offset: Some(offset) } => {
                write!(f, "malformed header at byte {offset}: {reason}")
            }
            Self::UnsupportedDType { descr, reason } => {
                write!(f, "unsupported dtype {}: {reason}", Short(descr))
            }
            Self::Overflow { what } => write!(f, "{what}: more than this machine can address"),
            Self::Trailing { bytes, at_least, rows } => {
                let least = if *at_least { "at least " } else { "" };
                write!(f, "found {least}{}{} after the array", Count(*bytes, "byte"), Rows(*rows))
            }
            Self::Encrypted { has_password: false } => {
                f.write_str("the member is encrypted, and there is no password")
            }
            Self::Encrypted { .. } => f.write_str("the member is encrypted by another password"),
            Self::NoVariant { found, of, .. } => {
                write!(f, "expected a variant of the enum {of}, found {found}")
            }
            Self::BadBool { found } => write!(f, "expected a bool of 0 or 1, found {found}"),
            Self::BadUnicode { code } => write!(f, "expected a Unicode character, found {code:#X}"),
            Self::BadUtf8 { valid_up_to } => write!(f, "invalid UTF-8 at byte {valid_up_to} of the string"),
            Self::DTypeMismatch { found, wanted } => {
                write!(f, "expected elements of {}, found {}", Short(wanted), Short(found))
            }
            Self::Objects { found } => {
                write!(f, "the array contains Python objects (dtype {})", Short(found))
            }
            Self::MissingField { field, found } => {
                let field = field.escape_debug();
                write!(f, "expected a field '{field}', found records of {}", Short(found))
            }
            Self::ExtraField { field } => {
                let field = field.escape_debug();
                write!(f, "the records have a field '{field}' that the struct does not have")
            }
            Self::RankMismatch { found, wanted } => {
                write!(f, "expected an array of {}, found the shape {found}", Axes(*wanted))
            }
            Self::ShapeMismatch { found, wanted } => write!(f, "expected the shape {wanted}, found {found}"),
            Self::ForeignByteOrder { found } => {
                write!(f, "{} is not in this machine's byte order, as a view needs it", Short(found))
            }
            Self::NotViewable { found } => {
                write!(f, "{} is laid out otherwise than the type to view", Short(found))
            }
            Self::NotStored { packed, size } => {
                write!(f, "expected a stored member, found {size} bytes compressed to {packed}")
            }
            Self::Misaligned { wanted, off_by } => {
                write!(
                    f,
                    "a view needs its data at a multiple of {wanted} bytes, found them {off_by} past one"
                )
            }
            Self::Limit { limit_kind, found, limit } => limit_kind.describe(f, *found, *limit),
            Self::VersionTooLow { wanted, needed } => write!(
                f,
                "the header needs format version {}.{}, and {}.{} was asked for",
                needed.0, needed.1, wanted.0, wanted.1
            ),
            Self::AlreadyExists => f.write_str("the file already exists"),
            Self::CannotReplace { reason } => {
                write!(f, "the file cannot be replaced atomically: {reason}")
            }
            Self::TextTooLong { length, width } => {
                write!(f, "text of length {length} does not fit a width of {width}")
            }
            Self::BadZip { reason } => write!(f, "malformed archive: {reason}"),
            Self::UnsupportedZip { reason } => write!(f, "unsupported archive: {reason}"),
            Self::BadCrc { found, wanted } => {
                write!(f, "corrupt content: the archive records the checksum {wanted:08x}, found {found:08x}")
            }
            Self::BadDeflate { reason } => write!(f, "corrupt compressed content: {reason}"),
            Self::NoSuchMember { name, there } => {
                let listed: Vec<String> =
                    there.iter().map(|name| format!("'{}'", name.escape_debug())).collect();
                let name = name.escape_debug();
                write!(f, "the archive has no member '{name}'; it contains {}", Short(Listed(&listed)))
            }
            Self::AmbiguousName { name, indices } => {
                let (name, count) = (name.escape_debug(), indices.len());
                write!(f, "the archive has {count} members named '{name}': numbers {indices:?}")
            }
            Self::NameTaken { name } => {
                write!(f, "the archive already has a member named '{}'", name.escape_debug())
            }
            Self::WrongCount { found, wanted } => {
                write!(f, "expected {}, found {found}", Count(*wanted, "element"))
            }
            Self::Cancelled => f.write_str("cancelled"),
            Self::Locked => f.write_str("locked by another writer"),
            Self::ChangedByOther { found, wanted } => {
                write!(
                    f,
                    "changed by another writer: this one has made the file {wanted} bytes long, found {found}"
                )
            }
            Self::ArrayChanged { reason } => write!(f, "changed by another writer: {reason}"),
            Self::RowMismatch { found, row } => {
                write!(f, "expected rows of the shape {row}, found the shape {found}")
            }
            Self::NoRoom { header } => {
                write!(f, "the header of {header} bytes has no room for a larger length")
            }
            Self::TornHeader { header } => write!(
                f,
                "the length in the header of {header} bytes crosses a sector: a loss of power could leave it partially written"
            ),
            Self::UncommittedRows { bytes, rows } => {
                let bytes = Count(*bytes, "byte");
                write!(f, "found {bytes}{} of an interrupted append after the array", Rows(*rows))
            }
            Self::NotConvertible { reason } | Self::BadOption { reason } => f.write_str(reason),
        }
    }
}

impl LimitKind {
    fn describe(self, f: &mut fmt::Formatter<'_>, found: u64, limit: u64) -> fmt::Result {
        match self {
            Self::HeaderBytes => write!(f, "the header has {found} bytes, over the limit of {limit}"),
            Self::PayloadBytes => write!(f, "the elements take {found} bytes, over the limit of {limit}"),
            Self::Nesting => write!(f, "the header nests brackets deeper than the limit of {limit}"),
            Self::RecordNesting => write!(f, "the dtype nests records deeper than the limit of {limit}"),
            Self::Dimensions => write!(f, "the array has {found} axes, over NumPy's limit of {limit}"),
            Self::Objects => {
                write!(f, "the pickle has {found} objects with parts or more, over the limit of {limit}")
            }
            Self::ObjectNesting => write!(f, "the pickle nests objects deeper than the limit of {limit}"),
            Self::Copies => write!(
                f,
                "the pickle refers to its parts so often that {found} bytes or more would be copied, over the limit of {limit}"
            ),
            Self::Digits => {
                write!(f, "an integer has {found} decimal digits, over Python's limit of {limit}")
            }
            Self::EmptyItems => write!(
                f,
                "the array has {found} elements that take memory and no bytes of the file, over the limit of {limit}"
            ),
        }
    }
}

/// A number of things.
struct Count(u64, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// How many whole rows some bytes are, if they are any.
struct Rows(u64);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            rows => write!(f, " ({})", Count(rows, "whole row")),
        }
    }
}

/// A number of axes.
struct Axes(usize);

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 axis"),
            number => write!(f, "{number} axes"),
        }
    }
}

/// Names as a sentence has them.
struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("none") } else { f.write_str(&self.0.join(", ")) }
    }
}

/// A shape as a sentence has it: `3 × 4`.
struct Times<'a>(&'a Shape);

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.0.dims().iter().map(ToString::to_string).collect();
        if dims.is_empty() { f.write_str("1") } else { f.write_str(&dims.join(" × ")) }
    }
}

/// What may be long (a record of hundreds of fields), cut to a length that a terminal shows.
struct Short<T>(T);

impl<T: fmt::Display> fmt::Display for Short<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 200;
        let text = self.0.to_string();
        match text.char_indices().nth(LONGEST) {
            None => f.write_str(&text),
            Some((end, _)) => write!(f, "{}…", &text[..end]),
        }
    }
}
