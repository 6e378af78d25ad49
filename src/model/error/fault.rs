//! What went wrong, with its values; and the kinds and categories of that.

use std::io;

use super::{ErrorKind, FileKind, Remedy};
use crate::dtype::DType;
use crate::shape::Shape;

/// What went wrong, with what was found and what was expected.
#[derive(Debug)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum Fault {
    /// An I/O operation failed.
    Io(io::Error),
    /// A source of bytes did not do what it is for: a reader was shorter than the caller had said, or reported more
    /// bytes than it was asked for; a server ignored the range of a request.
    BadSource {
        /// A description of the fault.
        reason: String,
    },
    /// An allocation failed.
    OutOfMemory {
        /// The number of bytes that were requested.
        bytes: u64,
    },

    /// The file does not start with the magic bytes of the format.
    BadMagic {
        /// The format: `NPY`, `NPZ` or `RA`.
        format: &'static str,
        /// The first bytes of the file, at most 16.
        found: Vec<u8>,
    },
    /// The file or stream is truncated.
    Truncated {
        /// The section that is incomplete.
        part: FileSection,
        /// The number of bytes that are needed: a payload's length, or the position where a header ends.
        need: u64,
        /// The number of bytes that were found, counted in the same way.
        have: u64,
    },
    /// A part of the file is malformed, contradicts another part, or does not match its checksum.
    ///
    /// An NPY header must be valid text in the encoding of its version: a dict literal that has the three
    /// required keys, and values of the right types.
    Malformed {
        /// The part.
        part: FilePart,
        /// A description of the fault.
        reason: String,
        /// The position of the fault, if it is known: in bytes from the start of the array or of the pickle.
        offset: Option<u64>,
    },
    /// A part of the file is well-formed, but uses something that is not supported: another version of the format, a dtype that NumPy
    /// does not have, a pickle that is not an array, a compression or encryption.
    ///
    /// Some methods of archives are supported with the Cargo features `zip-methods` and `zip-encryption`.
    Unsupported {
        /// The part.
        part: FilePart,
        /// A description of what is not supported.
        reason: String,
    },
    /// A shape, size or number is too large for this machine or for the format.
    Overflow {
        /// What is too large, such as an array of a shape and dtype, or a number in the header.
        what: String,
    },
    /// Bytes follow an array that must be at the end of the file.
    Trailing {
        /// The number of bytes.
        bytes: u64,
        /// Whether there may be more: in a stream, only the first bytes are counted.
        at_least: bool,
        /// The number of complete rows of the array that the bytes could form.
        rows: u64,
    },

    /// An element has a value that its type does not have.
    InvalidElement(ElementFault),
    /// A member of an archive is encrypted, and the password is missing or wrong.
    Encrypted {
        /// Whether a password was given.
        has_password: bool,
    },

    /// The Rust type or the target cannot hold elements of the dtype.
    DTypeMismatch {
        /// The file's dtype.
        found: DType,
        /// The expected dtype, usually that of the Rust type.
        wanted: DType,
    },
    /// The array contains Python objects, which this call does not support.
    Objects {
        /// The file's dtype.
        found: DType,
    },
    /// The struct has a field that the file's records do not have.
    MissingField {
        /// The name of the field.
        field: String,
        /// The dtype of the file's records.
        found: DType,
    },
    /// The file's records have a field that the struct does not have.
    ExtraField {
        /// The name of the field.
        field: String,
    },
    /// The shape, or the number of axes, differs from the expected one.
    ///
    /// Examples are reading into an array of a different shape, appending rows of another shape, and joining files of incompatible shapes.
    ShapeMismatch {
        /// The shape of the file, or of the appended array.
        found: Shape,
        /// What was expected.
        wanted: WantedShape,
    },
    /// The elements cannot be used where they are: viewed, mapped, or read or written in parts. They can be read as a whole.
    NeedsCopy(CopyReason),
    /// A value cannot be converted to the requested type.
    ///
    /// Examples are a time that is out of range, text that is not a number, and a Python object of another
    /// class.
    NotConvertible {
        /// A description of the reason.
        reason: String,
    },

    /// A limit was exceeded.
    Limit {
        /// The limit that was exceeded.
        limit_kind: LimitKind,
        /// The amount that the file requires, or a lower bound if counting stopped early.
        found: u64,
        /// The limit.
        limit: u64,
    },

    /// A format cannot represent elements of a dtype.
    NotRepresentable {
        /// The format: `NPY`, `RA` or `Zarr`.
        format: &'static str,
        /// The dtype.
        dtype: DType,
        /// A description of the reason.
        reason: String,
    },

    /// The header cannot be written in the requested format version.
    VersionTooLow {
        /// The requested version.
        wanted: (u8, u8),
        /// The lowest version that can represent the header.
        needed: (u8, u8),
    },
    /// The file to be created already exists.
    AlreadyExists,
    /// A file cannot be replaced atomically, or replacing it would lose something that belongs to it.
    CannotReplace {
        /// A description of the reason.
        reason: String,
    },
    /// A text element is longer than the width of its dtype.
    TextTooLong {
        /// The length in the dtype's unit: bytes or code points.
        length: u64,
        /// The width, in the same unit.
        width: u64,
    },
    /// The archive has no member of this name.
    NoSuchMember {
        /// The requested name.
        name: String,
        /// The names of the members, at most 100 of them.
        available: Vec<String>,
    },
    /// The archive has several members of this name.
    AmbiguousName {
        /// The name.
        name: String,
        /// The indices of the members with this name.
        indices: Vec<usize>,
    },
    /// The archive being written already has a member of this name.
    NameTaken {
        /// The name.
        name: String,
    },
    /// The number of elements written does not match the declared shape, or does not form complete rows.
    WrongCount {
        /// The number of elements, including those that would exceed the shape.
        found: u64,
        /// The expected number: that of the shape, or that of the complete rows if the array can grow.
        wanted: u64,
    },
    /// The progress callback cancelled the operation.
    Cancelled,
    /// A [source](crate::bytes::ReadAt) does not have these bytes yet.
    ///
    /// Sources return this error where someone else does the I/O: the read fails, the caller fetches the bytes,
    /// and repeats it. Iterators are begun again.
    NotLoaded {
        /// The ranges of the source that are missing.
        missing: Vec<std::ops::Range<u64>>,
    },
    /// Another writer holds the lock: it is appending to the file, updating it, or has mapped it for writing.
    Locked,
    /// An array or file has changed since it was opened, or while it was being written; or another process has changed the length of a file.
    ArrayChanged {
        /// A description of the change.
        reason: String,
    },
    /// The header cannot be rewritten with the length that the array might grow to.
    HeaderCannotGrow {
        /// The length of the header in bytes.
        header: u64,
        /// Whether a loss of power could leave the header partially written, because the length in it crosses a sector boundary:
        /// an error only with [`WriteOptions::sync`](crate::WriteOptions::sync). Otherwise it has too little padding.
        crosses_sector: bool,
    },
    /// There is more than the header or the `info` of a stack counts. An append was probably interrupted before it committed that.
    Uncommitted {
        /// The number of bytes after the array.
        bytes: u64,
        /// The number of complete rows in these bytes.
        rows: u64,
        /// The number of parts of a stack.
        parts: u64,
    },
    /// An index, or an end of a slice, is not within the axis; or there are fewer members or parts.
    OutOfBounds {
        /// The index as it was given: a negative one counts from the end.
        index: i128,
        /// The length of the axis, or the number of members or parts.
        length: u64,
        /// The axis, if an index or a slice of an array is at fault.
        axis: Option<usize>,
    },
    /// The array does not have this axis.
    NoSuchAxis {
        /// The axis, counted from 0.
        axis: usize,
        /// The shape of the array.
        shape: Shape,
    },
    /// The array has no such field.
    NoSuchField {
        /// The name or path of the field.
        field: String,
        /// The names of the first 20 fields; none if the elements are not records.
        available: Vec<String>,
    },
    /// The call is not possible now: the array has already been read, or an earlier error has left it incomplete.
    OutOfTurn {
        /// A description of what has happened before.
        reason: String,
    },
    /// The path names a pipe, a folder or a device, which this call cannot use.
    NotRegularFile {
        /// A description of what needs a regular file.
        reason: String,
    },
    /// The options or arguments are invalid, contradict each other, or do not apply to this call: as writing over an input.
    BadOption {
        /// A description of the fault.
        reason: String,
    },
    /// What someone else has found: a source, a store, another format.
    Other {
        /// What a program can act upon.
        kind: ErrorKind,
        /// What happened.
        text: String,
    },
}

/// The section of a file that is truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileSection {
    /// The fixed-size bytes at the start, before the rest of the header.
    Preamble,
    /// The header.
    Header,
    /// The elements.
    Payload {
        /// The shape that the header declares.
        shape: Shape,
        /// The dtype that the header declares.
        dtype: DType,
    },
    /// The elements, which are compressed.
    Packed,
}

/// The part of a file that is malformed or not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum FilePart {
    /// The version of a format.
    Version,
    /// The header of a file.
    Header,
    /// A dtype.
    DType,
    /// The elements of a file: the compressed data of an RA file, or numbers in a form that is not read.
    Data,
    /// A pickle of Python objects.
    Pickle,
    /// The `info` of a stack, or its parts.
    Stack,
    /// The records of an archive.
    Archive,
    /// The compressed content of a member of an archive.
    Content,
    /// The checksum of a member of an archive: its content is another one.
    Checksum,
}

/// What is wrong with the value of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ElementFault {
    /// A bool has a value other than 0 and 1.
    Bool {
        /// The byte.
        found: u8,
    },
    /// A number does not correspond to any variant of an enum.
    Variant {
        /// The number.
        found: i128,
        /// The name of the enum's type.
        of: &'static str,
        /// The name of the number's type.
        number: &'static str,
    },
    /// A code point in text is not a Unicode character: it is above U+10FFFF, or a surrogate.
    Unicode {
        /// The code point.
        code: u32,
    },
    /// A byte string is not valid UTF-8.
    Utf8 {
        /// The number of valid bytes before the first invalid one.
        valid_up_to: u64,
    },
}

/// What shape was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WantedShape {
    /// Any shape with this number of axes: that of the Rust type, or of the strides.
    Axes(usize),
    /// Any shape with as many axes as the slice has parts.
    Sliced(usize),
    /// This shape.
    Exactly(Shape),
    /// Rows of this shape.
    Rows(Shape),
}

/// Why elements cannot be used where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum CopyReason {
    /// The file's byte order is not that of this machine.
    ByteOrder {
        /// The file's dtype.
        found: DType,
    },
    /// The layout of the elements in the file differs from that in memory.
    Layout {
        /// The file's dtype.
        found: DType,
    },
    /// An archive member is compressed.
    Compressed {
        /// The compressed size in bytes.
        packed: u64,
        /// The uncompressed size in bytes.
        size: u64,
    },
    /// The data or its strides are not aligned.
    Misaligned {
        /// The number of bytes that the address or stride must be a multiple of.
        wanted: usize,
        /// The remainder of the address or stride, in bytes.
        off_by: u64,
    },
    /// The data of an RA file is compressed or stored as single bits, so it can be read only as a whole.
    Packed,
}

/// What a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum LimitKind {
    /// The length of the header in bytes: [`Limits::header`](crate::Limits::header).
    HeaderBytes,
    /// The bytes of the elements: [`Limits::payload`](crate::Limits::payload).
    PayloadBytes,
    /// The nesting depth of brackets in the header. The limit of 128 cannot be raised.
    Nesting,
    /// The nesting depth of records in a dtype. The limit of 32 cannot be raised.
    RecordNesting,
    /// The number of axes. The limit of 64 is NumPy's and cannot be raised.
    Dimensions,
    /// The number of containers and other objects with parts in a pickle:
    /// [`Limits::objects`](crate::Limits::objects).
    Objects,
    /// The number of all objects in a pickle, including those without parts. The limit of 4,294,967,291 cannot
    /// be raised.
    Nodes,
    /// The nesting depth of objects in a pickle: [`Limits::object_height`](crate::Limits::object_height).
    ObjectNesting,
    /// The bytes that are copied because a pickle refers to the same part many times, and the fields of
    /// dtypes that are built from one another.
    ///
    /// The limit is 1 MiB plus 16 times the length of the pickle. It cannot be raised.
    Copies,
    /// The digits of a decimal integer in a pickle. The limit of 4300 is Python's and cannot be raised.
    Digits,
    /// The number of elements that occupy no bytes in the file, but do in memory.
    ///
    /// The limit of 1,048,576 cannot be raised.
    EmptyItems,
    /// How many times larger the content of a compressed member is than its compressed bytes:
    /// [`Limits::expansion`](crate::Limits::expansion).
    Expansion,
}

/// The category of an error, as the `is_…` methods of [`Error`](crate::Error) report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Io,
    Format,
    Mismatch,
    Limit,
    Usage,
    NotFound,
    Conflict,
    Cancelled,
}

impl ErrorKind {
    #[deny(clippy::wildcard_enum_match_arm)] // a new kind has to be considered
    pub(super) fn class(self) -> Class {
        match self {
            Self::Io | Self::BadSource | Self::NotLoaded | Self::OutOfMemory => Class::Io,
            Self::BadMagic | Self::Truncated | Self::Malformed | Self::Unsupported | Self::Trailing => {
                Class::Format
            }
            Self::DTypeMismatch
            | Self::Objects
            | Self::ShapeMismatch
            | Self::NeedsCopy
            | Self::NotConvertible => Class::Mismatch,
            Self::Limit => Class::Limit,
            Self::NoSuchName => Class::NotFound,
            Self::AlreadyExists | Self::CannotChange | Self::Locked | Self::Changed | Self::Uncommitted => {
                Class::Conflict
            }
            Self::Cancelled => Class::Cancelled,
            // The caller has to provide another password; the file itself is valid.
            Self::Encrypted | Self::AmbiguousName | Self::OutOfBounds | Self::OutOfTurn | Self::BadOption => {
                Class::Usage
            }
        }
    }
}

impl Fault {
    #[deny(clippy::wildcard_enum_match_arm)] // as above
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(_) => ErrorKind::Io,
            Self::BadSource { .. } => ErrorKind::BadSource,
            Self::NotLoaded { .. } => ErrorKind::NotLoaded,
            Self::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            Self::BadMagic { .. } => ErrorKind::BadMagic,
            Self::Truncated { .. } => ErrorKind::Truncated,
            Self::Malformed { .. } | Self::Overflow { .. } | Self::InvalidElement(_) => ErrorKind::Malformed,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Trailing { .. } => ErrorKind::Trailing,
            Self::DTypeMismatch { .. } | Self::MissingField { .. } | Self::ExtraField { .. } => {
                ErrorKind::DTypeMismatch
            }
            Self::Objects { .. } => ErrorKind::Objects,
            Self::ShapeMismatch { .. } => ErrorKind::ShapeMismatch,
            Self::NeedsCopy(_) => ErrorKind::NeedsCopy,
            Self::NotConvertible { .. } | Self::TextTooLong { .. } | Self::NotRepresentable { .. } => {
                ErrorKind::NotConvertible
            }
            Self::Limit { .. } => ErrorKind::Limit,
            Self::NoSuchMember { .. } | Self::NoSuchField { .. } => ErrorKind::NoSuchName,
            Self::AmbiguousName { .. } | Self::NameTaken { .. } => ErrorKind::AmbiguousName,
            Self::Encrypted { .. } => ErrorKind::Encrypted,
            Self::OutOfBounds { .. } | Self::NoSuchAxis { .. } => ErrorKind::OutOfBounds,
            Self::AlreadyExists => ErrorKind::AlreadyExists,
            Self::CannotReplace { .. } | Self::HeaderCannotGrow { .. } => ErrorKind::CannotChange,
            Self::Locked => ErrorKind::Locked,
            Self::ArrayChanged { .. } => ErrorKind::Changed,
            Self::Uncommitted { .. } => ErrorKind::Uncommitted,
            Self::OutOfTurn { .. } | Self::WrongCount { .. } => ErrorKind::OutOfTurn,
            Self::VersionTooLow { .. } | Self::NotRegularFile { .. } | Self::BadOption { .. } => {
                ErrorKind::BadOption
            }
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Other { kind, .. } => *kind,
        }
    }

    /// Returns the remedy, if it depends only on the kind.
    #[deny(clippy::wildcard_enum_match_arm)] // as above
    pub(super) fn help(&self) -> Option<Remedy> {
        let read_as =
            |rust_type: &str| Remedy::ReadAs { rust_type: rust_type.to_owned(), can_convert: false };
        Some(match self {
            Self::OutOfMemory { .. } => Remedy::Map,
            Self::BadMagic { found, .. } => Remedy::OtherFile(FileKind::of(found)?),
            Self::Unsupported { part: FilePart::Pickle, .. } => Remedy::ReadPickle,
            // An incomplete row cannot be recovered.
            Self::Trailing { rows, .. } => Remedy::AllowTrailing { may_recover: *rows > 0 },
            Self::Uncommitted { parts: 0, .. } => Remedy::RecoverRows,
            Self::Uncommitted { .. } => Remedy::RecoverParts,
            Self::InvalidElement(fault) => match fault {
                // Not as a `u8`, which has another dtype; and casts check bools, too.
                ElementFault::Bool { .. } => Remedy::ReadDynamic,
                ElementFault::Variant { number, .. } => read_as(number),
                ElementFault::Unicode { .. } => read_as("Chars"),
                ElementFault::Utf8 { .. } => read_as("Vec<u8> or Bytes"),
            },
            Self::MissingField { .. } => Remedy::RenameField,
            Self::ExtraField { .. } => Remedy::IgnoreExtraFields,
            Self::ShapeMismatch { wanted: WantedShape::Axes(_), found } if found.ndim() == 0 => {
                read_as("Array0")
            }
            Self::ShapeMismatch { wanted: WantedShape::Axes(_), .. } => Remedy::AnyRank,
            Self::NeedsCopy(CopyReason::Packed) => Remedy::ReadWhole,
            Self::NeedsCopy(_) => Remedy::Read,
            // Without the feature, no type can represent Python objects, so the remedy is to enable it.
            Self::Objects { .. } if cfg!(feature = "object") => Remedy::AllowObjects,
            Self::Objects { .. } => Remedy::Feature { name: "object" },
            Self::Limit { limit_kind, .. } => {
                let (id, method) = limit_kind.raised_by()?;
                Remedy::RaiseLimit { id, method }
            }
            Self::VersionTooLow { needed, .. } => Remedy::Version { version: *needed },
            Self::Locked => Remedy::WaitForLock,
            Self::AlreadyExists => Remedy::Replace,
            Self::CannotReplace { .. } => Remedy::InPlace,
            Self::TextTooLong { .. } => Remedy::TextWidth,
            Self::AmbiguousName { .. } => Remedy::ByIndex,
            Self::NameTaken { .. } => Remedy::ReplaceMember,
            Self::WrongCount { .. } => Remedy::PushAllRows,
            Self::HeaderCannotGrow { .. } => Remedy::GrowHeader,
            // The remedy depends on the call, which adds it, or there is none.
            Self::Io(_)
            | Self::BadSource { .. }
            | Self::Truncated { .. }
            | Self::Malformed { .. }
            | Self::Unsupported { .. }
            | Self::Overflow { .. }
            | Self::Encrypted { .. }
            | Self::DTypeMismatch { .. }
            | Self::ShapeMismatch { .. }
            | Self::NotConvertible { .. }
            | Self::NotRepresentable { .. }
            | Self::NoSuchMember { .. }
            | Self::Cancelled
            | Self::NotLoaded { .. }
            | Self::ArrayChanged { .. }
            | Self::OutOfBounds { .. }
            | Self::NoSuchAxis { .. }
            | Self::NoSuchField { .. }
            | Self::OutOfTurn { .. }
            | Self::NotRegularFile { .. }
            | Self::BadOption { .. }
            | Self::Other { .. } => return None,
        })
    }
}

impl LimitKind {
    /// Returns the id of the remedy, and the name of the method that raises the limit, if there is one.
    #[deny(clippy::wildcard_enum_match_arm)] // as above
    fn raised_by(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::HeaderBytes => Some(("raise-header-limit", "Limits::header")),
            Self::PayloadBytes => Some(("raise-payload-limit", "Limits::payload")),
            Self::Objects => Some(("raise-objects-limit", "Limits::objects")),
            Self::ObjectNesting => Some(("raise-object-height-limit", "Limits::object_height")),
            Self::Expansion => Some(("raise-expansion-limit", "Limits::expansion")),
            Self::Nesting
            | Self::RecordNesting
            | Self::Dimensions
            | Self::Nodes
            | Self::Copies
            | Self::Digits
            | Self::EmptyItems => None,
        }
    }
}
