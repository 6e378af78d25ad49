//! The sentences that errors show. They may change; the kinds do not.

use std::fmt;

use super::{ErrorKind, Limited, Part};
use crate::shape::Shape;

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::OutOfMemory { bytes } => write!(
                f,
                "the system has no {bytes} bytes of memory for the array; map the file instead of reading it"
            ),
            Self::BadMagic { format, found } => write!(
                f,
                "no {format} file: it begins with \"{}\", and not with \"{}\"",
                found.escape_ascii(),
                if *format == "RA" { "rawarray" } else { "\\x93NUMPY" }
            ),
            Self::UnknownFlags { flags } => write!(
                f,
                "the header has the flags {flags:#x}, of which nothing is known; ReadOptions::ignore_ra_flags(true) reads \
                 the data as if they were not there"
            ),
            Self::BadPacking { reason } => write!(f, "the packed data are malformed: {reason}"),
            Self::BadPickle { reason, offset: None } => write!(f, "the pickle is malformed: {reason}"),
            Self::BadPickle { reason, offset: Some(offset) } => {
                write!(f, "the pickle is malformed at its byte {offset}: {reason}")
            }
            Self::UnsupportedPickle { reason } => {
                write!(f, "the pickle cannot be read: {reason}; NpyReader::read_bytes gives its bytes")
            }
            Self::UnsupportedPacking { reason } => write!(f, "the data are {reason}, which is not read here"),
            Self::Packed => f.write_str(
                "the data are packed, so that no part of them can be read or mapped; read_ra and RaReader read all of them",
            ),
            Self::NotExpressible { format, dtype, advice } => {
                write!(f, "{format} has no word for elements of {}; {advice}", Short(dtype))
            }
            Self::BadVersion { major, minor } => write!(
                f,
                "format version {major}.{minor} is unknown; NPY files have 1.0, 2.0 or 3.0, so either the file is \
                 damaged or it was made by something newer than this library"
            ),
            Self::Truncated { part: Part::Preamble, need, have } => {
                write!(
                    f,
                    "the file is cut: its header begins with {need} fixed bytes, but there are only {have}"
                )
            }
            Self::Truncated { part: Part::Header, need, have } => {
                write!(
                    f,
                    "the file is cut: the header should end at byte {need}, but the file ends at byte {have}"
                )
            }
            Self::Truncated { part: Part::Payload { shape, dtype }, need, have } => write!(
                f,
                "the header promises {} elements of {} ({need} bytes), but only {have} bytes follow",
                Times(shape),
                Short(dtype)
            ),
            Self::BadHeader { reason, offset: None } => write!(f, "the header is malformed: {reason}"),
            Self::BadHeader { reason, offset: Some(offset) } => {
                write!(f, "the header is malformed at byte {offset}: {reason}")
            }
            Self::UnsupportedDType { descr, reason } => {
                write!(f, "the header's dtype {} is none of NumPy's: {reason}", Short(descr))
            }
            Self::Overflow { what } => write!(f, "{what}: that is more than this machine can address"),
            Self::Trailing { bytes, at_least, rows } => {
                let least = if *at_least { "at least " } else { "" };
                write!(f, "{least}{bytes} bytes ")?;
                if *rows > 0 {
                    write!(f, "({rows} whole {}) ", if *rows == 1 { "row" } else { "rows" })?;
                }
                f.write_str(
                    "follow the array, where it should end; ReadOptions::allow_trailing(true) passes over them",
                )?;
                match rows {
                    0 => Ok(()),
                    _ => f.write_str(
                        ", and if an append was cut off, NpyWriter::append_with takes them up or removes them",
                    ),
                }
            }
            Self::BadBool { found } => {
                write!(f, "a bool is 0 or 1, but the file has {found}; u8 reads it as it is")
            }
            Self::BadUnicode { code } => {
                write!(f, "{code:#X} is no character of Unicode; Chars reads a text's numbers as they are")
            }
            Self::BadUtf8 { valid_up_to } => write!(
                f,
                "the string is no UTF-8 from its byte {valid_up_to} on; Vec<u8> and Bytes read it as it is"
            ),
            Self::DTypeMismatch { found, wanted, advice } => {
                write!(f, "the file has {}, but the type to read holds {wanted}; {advice}", Short(found))
            }
            Self::MissingField { field, found } => write!(
                f,
                "the struct has a field '{}' that the file has not, whose records are {}; #[record(rename = \"…\")] gives \
                 a field the name that it has in the file",
                field.escape_debug(),
                Short(found)
            ),
            Self::ExtraField { field } => write!(
                f,
                "the file has a field '{}' that the struct has not; add it, or let \
                 ReadOptions::ignore_extra_fields(true) pass over it",
                field.escape_debug()
            ),
            Self::RankMismatch { found, wanted } => write!(
                f,
                "the file's array has the shape {found}, but the type to read has {}; ArrayD takes any number",
                Axes(*wanted)
            ),
            Self::ShapeMismatch { found, wanted } => {
                write!(f, "the array has the shape {found}, but {wanted} is wanted")
            }
            Self::ForeignByteOrder { found } => write!(
                f,
                "{found} has the other byte order than this machine, so that it cannot be viewed; read it instead"
            ),
            Self::NotViewable { found } => write!(
                f,
                "{} does not lie as this type does in memory, so that it cannot be viewed as it; read it instead",
                Short(found)
            ),
            Self::NotStored { packed, size } => write!(
                f,
                "its {size} bytes are compressed to {packed}, so that it cannot be viewed; NpzMmap::cow reads it"
            ),
            Self::Misaligned { wanted, off_by } => write!(
                f,
                "a view needs its data at a multiple of {wanted} bytes, but they stand {off_by} bytes behind one; read \
                 the array instead, or copy the file into aligned memory"
            ),
            Self::Limit { limited, found, limit } => limited.describe(f, *found, *limit),
            Self::VersionTooLow { wanted, needed } => write!(
                f,
                "the header does not fit format version {}.{}; it needs {}.{}",
                wanted.0, wanted.1, needed.0, needed.1
            ),
            Self::AlreadyExists => f.write_str("the file is there already; write_npy replaces it"),
            Self::CannotReplace { reason } => write!(
                f,
                "the file cannot be replaced as a whole: {reason}; WriteOptions::in_place(true) overwrites it where it \
                 is, which a crash can leave half done"
            ),
            Self::TextTooLong { length, width } => write!(
                f,
                "the text has a length of {length}, and there is room for {width} (WriteOptions::text_width, or the dtype)"
            ),
            Self::BadZip { reason } => write!(f, "the archive is malformed: {reason}"),
            Self::UnsupportedZip { reason } => write!(f, "{reason}, which this library does not read"),
            Self::BadCrc { found, wanted } => write!(
                f,
                "the content is damaged: its checksum is {found:08x}, and the archive says {wanted:08x}"
            ),
            Self::BadDeflate { reason } => write!(f, "the compressed content is malformed: {reason}"),
            Self::NoSuchMember { name, there } => {
                let listed: Vec<String> =
                    there.iter().map(|name| format!("'{}'", name.escape_debug())).collect();
                let name = name.escape_debug();
                write!(f, "the archive has no member '{name}'; it has {}", Short(Listed(&listed)))
            }
            Self::AmbiguousName { name, indices } => write!(
                f,
                "the archive has {} members named '{}'; by_index takes one of {indices:?}",
                indices.len(),
                name.escape_debug()
            ),
            Self::NameTaken { name } => write!(
                f,
                "the archive has a member named '{}' already; NpzUpdate::replace puts another in its place",
                name.escape_debug()
            ),
            Self::WrongCount { found, wanted } => write!(
                f,
                "{found} elements came, and the array has {wanted}; push all of its rows, and no more, before finish()"
            ),
            Self::Cancelled => f.write_str("cancelled by the progress callback"),
            Self::Locked => f.write_str("locked by another writer"),
            Self::ChangedByOther { found, wanted } => write!(
                f,
                "the file has {found} bytes, and this writer has made it {wanted} long: another one has changed it"
            ),
            Self::RowMismatch { found, row } => {
                write!(f, "the rows to append have the shape {found}, and a row of the array has {row}")
            }
            Self::NoRoom { header } => write!(
                f,
                "the file's header of {header} bytes has no room for a greater length; make_room rewrites the file with some"
            ),
            Self::TornHeader { header } => write!(
                f,
                "a loss of power could tear the length in the file's header of {header} bytes, which crosses a sector, and sync \
                 is to prevent that; make_room rewrites the file with it in one"
            ),
            Self::Surplus { bytes, rows } => write!(
                f,
                "{bytes} bytes ({rows} whole rows) follow the array, which an append has left that was cut off; \
                 Surplus::Recover counts the rows, and Surplus::Cut removes them"
            ),
            Self::TimeRange { reason } | Self::BadOption { reason } => f.write_str(reason),
        }
    }
}

impl Limited {
    fn describe(self, f: &mut fmt::Formatter<'_>, found: u64, limit: u64) -> fmt::Result {
        match self {
            Self::HeaderBytes => {
                write!(f, "the header has {found} bytes, over the limit of {limit}; Limits::header raises it")
            }
            Self::PayloadBytes => write!(
                f,
                "the elements take {found} bytes, over the limit of {limit}; Limits::payload raises it"
            ),
            Self::Nesting => write!(f, "the header nests brackets deeper than {limit}, as no dtype does"),
            Self::RecordNesting => write!(f, "the dtype nests records deeper than {limit}"),
            Self::Dimensions => {
                write!(f, "the array has {found} axes; NumPy and this library go up to {limit}")
            }
            Self::Objects => write!(
                f,
                "the pickle has {found} objects with parts or more, over the limit of {limit}; Limits::objects raises it"
            ),
            Self::ObjectNesting => write!(f, "the pickle nests objects deeper than {limit}"),
            Self::Copies => write!(
                f,
                "the pickle refers to its parts so often that reading it would copy {found} bytes or more, and up to {limit} are \
                 copied of one as long"
            ),
            Self::Digits => {
                write!(f, "an integer has {found} decimal digits; up to {limit} are read, as by Python")
            }
            Self::EmptyItems => write!(
                f,
                "the array has {found} elements without a byte in the file, which would take memory all the same; up to \
                 {limit} are read"
            ),
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
