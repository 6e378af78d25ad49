//! The kinds of errors, and their categories.

use std::io;

use super::Help;
use crate::dtype::DType;
use crate::shape::Shape;

/// What went wrong, with what was found and what was expected.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An I/O operation failed.
    Io(io::Error),
    /// A source of bytes did not do what it is for: a reader was shorter than the caller had said, or reported more
    /// bytes than it was asked for; a server ignored the range of a request.
    #[non_exhaustive]
    BadSource {
        /// A description of the fault.
        reason: String,
    },
    /// An allocation failed.
    #[non_exhaustive]
    OutOfMemory {
        /// The number of bytes that were requested.
        bytes: u64,
    },

    /// The file does not start with the magic bytes of the format.
    #[non_exhaustive]
    BadMagic {
        /// The format: `NPY` or `RA`.
        format: &'static str,
        /// The first bytes of the file, at most the length of the magic.
        found: Vec<u8>,
    },
    /// The NPY version is not 1.0, 2.0 or 3.0.
    #[non_exhaustive]
    BadVersion {
        /// The major version.
        major: u8,
        /// The minor version.
        minor: u8,
    },
    /// The file or stream is truncated.
    #[non_exhaustive]
    Truncated {
        /// The section that is incomplete.
        part: FileSection,
        /// The number of bytes that are needed: a payload's length, or the position where a header ends.
        need: u64,
        /// The number of bytes that were found, counted in the same way.
        have: u64,
    },
    /// The header is malformed.
    ///
    /// An NPY header must be valid text in the encoding of its version: a dict literal that has the three
    /// required keys, and values of the right types.
    #[non_exhaustive]
    BadHeader {
        /// A description of the fault.
        reason: String,
        /// The position of the fault, in bytes from the start of the array, if it is known.
        offset: Option<u64>,
    },
    /// An RA file has unknown flags.
    #[non_exhaustive]
    UnknownFlags {
        /// The unknown bits.
        flags: u64,
    },
    /// The compressed data of an RA file is malformed.
    #[non_exhaustive]
    BadPacking {
        /// A description of the fault.
        reason: String,
    },
    /// The data of an RA file is encoded in a way that is not supported.
    #[non_exhaustive]
    UnsupportedPacking {
        /// A description of the encoding.
        reason: String,
    },
    /// A pickle is malformed or does not match the header before it.
    #[non_exhaustive]
    BadPickle {
        /// A description of the fault.
        reason: String,
        /// The position of the faulty opcode, in bytes from the start of the pickle, if there is one.
        offset: Option<u64>,
    },
    /// A valid pickle contains something that is not supported.
    #[non_exhaustive]
    UnsupportedPickle {
        /// A description of what is not supported.
        reason: String,
    },
    /// The `info` file of a stack is not in the form that Dask writes, or does not match the parts.
    #[non_exhaustive]
    BadStack {
        /// A description of the fault.
        reason: String,
    },
    /// The header is well-formed, but its `descr` is not a supported NumPy dtype.
    #[non_exhaustive]
    UnsupportedDType {
        /// The text of `descr`, or the part at fault.
        descr: String,
        /// A description of the fault.
        reason: String,
    },
    /// A shape, size or number is too large for this machine or for the format.
    #[non_exhaustive]
    Overflow {
        /// What is too large, such as an array of a shape and dtype, or a number in the header.
        what: String,
    },
    /// Bytes follow an array that must be at the end of the file.
    #[non_exhaustive]
    Trailing {
        /// The number of bytes.
        bytes: u64,
        /// Whether there may be more: in a stream, only the first bytes are counted.
        at_least: bool,
        /// The number of complete rows of the array that the bytes could form.
        rows: u64,
    },
    /// A bool has a value other than 0 and 1.
    #[non_exhaustive]
    BadBool {
        /// The byte.
        found: u8,
    },
    /// A number does not correspond to any variant of an enum.
    #[non_exhaustive]
    NoVariant {
        /// The number.
        found: i128,
        /// The name of the enum's type.
        of: &'static str,
        /// The name of the number's type.
        number: &'static str,
    },

    /// A code point in text is not a Unicode character: it is above U+10FFFF, or a surrogate.
    #[non_exhaustive]
    BadUnicode {
        /// The code point.
        code: u32,
    },
    /// A byte string is not valid UTF-8.
    #[non_exhaustive]
    BadUtf8 {
        /// The number of valid bytes before the first invalid one.
        valid_up_to: u64,
    },

    /// The records of an archive are malformed or contradict each other.
    #[non_exhaustive]
    BadZip {
        /// A description of the fault.
        reason: String,
    },
    /// A member of an archive uses an encryption, compression or feature that is not supported.
    ///
    /// Some of them are supported with the Cargo features `zip-methods` and `zip-encryption`.
    #[non_exhaustive]
    UnsupportedZip {
        /// A description of what is not supported.
        reason: String,
    },
    /// A member of an archive is encrypted, and the password is missing or wrong.
    #[non_exhaustive]
    Encrypted {
        /// Whether a password was given.
        has_password: bool,
    },
    /// The content of an archive's member does not match its checksum.
    #[non_exhaustive]
    BadCrc {
        /// The CRC-32 of the content.
        found: u32,
        /// The CRC-32 that the archive records.
        wanted: u32,
    },
    /// The compressed content of an archive's member is malformed.
    #[non_exhaustive]
    BadDeflate {
        /// A description of the fault.
        reason: String,
    },

    /// The Rust type or the target cannot hold elements of the dtype.
    #[non_exhaustive]
    DTypeMismatch {
        /// The file's dtype.
        found: DType,
        /// The expected dtype, usually that of the Rust type.
        wanted: DType,
    },
    /// The array contains Python objects, which this call does not support.
    #[non_exhaustive]
    Objects {
        /// The file's dtype.
        found: DType,
    },
    /// The struct has a field that the file's records do not have.
    #[non_exhaustive]
    MissingField {
        /// The name of the field.
        field: String,
        /// The dtype of the file's records.
        found: DType,
    },
    /// The file's records have a field that the struct does not have.
    #[non_exhaustive]
    ExtraField {
        /// The name of the field.
        field: String,
    },
    /// The number of axes differs from that of the Rust type.
    #[non_exhaustive]
    RankMismatch {
        /// The file's shape.
        found: Shape,
        /// The number of axes of the Rust type.
        wanted: usize,
    },
    /// The shape differs from the expected one.
    ///
    /// Examples are reading into an array of a different shape, and joining files of incompatible shapes.
    #[non_exhaustive]
    ShapeMismatch {
        /// The file's shape.
        found: Shape,
        /// The expected shape.
        wanted: Shape,
    },
    /// The file's byte order is not native, so the elements cannot be viewed.
    #[non_exhaustive]
    ForeignByteOrder {
        /// The file's dtype.
        found: DType,
    },
    /// A value cannot be converted to the requested type.
    ///
    /// Examples are a time that is out of range, text that is not a number, and a Python object of another
    /// class.
    #[non_exhaustive]
    NotConvertible {
        /// A description of the reason.
        reason: String,
    },
    /// The Rust type can hold the elements, but their layout in the file differs from that in memory.
    #[non_exhaustive]
    NotViewable {
        /// The file's dtype.
        found: DType,
    },
    /// An archive member is compressed, so it cannot be viewed.
    #[non_exhaustive]
    NotStored {
        /// The compressed size in bytes.
        packed: u64,
        /// The uncompressed size in bytes.
        size: u64,
    },
    /// The data or its strides are not aligned, so the elements cannot be viewed.
    #[non_exhaustive]
    Misaligned {
        /// The number of bytes that the address or stride must be a multiple of.
        wanted: usize,
        /// The remainder of the address or stride, in bytes.
        off_by: u64,
    },

    /// A limit was exceeded.
    #[non_exhaustive]
    Limit {
        /// The limit that was exceeded.
        limit_kind: LimitKind,
        /// The amount that the file requires, or a lower bound if counting stopped early.
        found: u64,
        /// The limit.
        limit: u64,
    },

    /// The data of an RA file is compressed or stored as single bits, so it can be read only as a whole.
    Packed,
    /// A format cannot represent elements of a dtype.
    #[non_exhaustive]
    NotRepresentable {
        /// The format: `NPY`, `RA` or `Zarr`.
        format: &'static str,
        /// The dtype.
        dtype: DType,
        /// A description of the reason.
        reason: String,
    },

    /// The header cannot be written in the requested format version.
    #[non_exhaustive]
    VersionTooLow {
        /// The requested version.
        wanted: (u8, u8),
        /// The lowest version that can represent the header.
        needed: (u8, u8),
    },
    /// The file to be created already exists.
    AlreadyExists,
    /// A file cannot be replaced atomically, or replacing it would lose something that belongs to it.
    #[non_exhaustive]
    CannotReplace {
        /// A description of the reason.
        reason: String,
    },
    /// A text element is longer than the width of its dtype.
    #[non_exhaustive]
    TextTooLong {
        /// The length in the dtype's unit: bytes or code points.
        length: u64,
        /// The width, in the same unit.
        width: u64,
    },
    /// The archive has no member of this name.
    #[non_exhaustive]
    NoSuchMember {
        /// The requested name.
        name: String,
        /// The names of the members, at most 100 of them.
        available: Vec<String>,
    },
    /// The archive has several members of this name.
    #[non_exhaustive]
    AmbiguousName {
        /// The name.
        name: String,
        /// The indices of the members with this name.
        indices: Vec<usize>,
    },
    /// The archive being written already has a member of this name.
    #[non_exhaustive]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The number of elements written does not match the declared shape, or does not form complete rows.
    #[non_exhaustive]
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
    /// The length of a file differs from what its writer expects: another process has changed the file.
    #[non_exhaustive]
    ChangedByOther {
        /// The length of the file in bytes.
        found: u64,
        /// The expected length in bytes.
        wanted: u64,
    },
    /// An array or file has changed since it was opened, or while it was being written.
    #[non_exhaustive]
    ArrayChanged {
        /// A description of the change.
        reason: String,
    },
    /// The appended array does not have the shape of a row.
    #[non_exhaustive]
    RowMismatch {
        /// The shape of the appended array.
        found: Shape,
        /// The shape of a row.
        row: Shape,
    },
    /// The header does not have enough padding for the length that the array might grow to.
    #[non_exhaustive]
    HeaderTooSmall {
        /// The length of the header in bytes.
        header: u64,
    },
    /// A loss of power could leave the header partially written when its length is updated.
    ///
    /// This is an error only with [`WriteOptions::sync`](crate::WriteOptions::sync).
    #[non_exhaustive]
    HeaderCrossesSector {
        /// The length of the header in bytes.
        header: u64,
    },
    /// Bytes follow an array that is appended to or replaced by its own conversion.
    ///
    /// An append was probably interrupted before it updated the header.
    #[non_exhaustive]
    UncommittedRows {
        /// The number of bytes.
        bytes: u64,
        /// The number of complete rows in these bytes.
        rows: u64,
    },
    /// A stack has parts that its `info` does not count.
    ///
    /// An append was probably interrupted before it committed them.
    #[non_exhaustive]
    UncommittedParts {
        /// The number of parts.
        parts: u64,
    },
    /// An index, or an end of a slice, is not within the axis; or there are fewer members or parts.
    #[non_exhaustive]
    OutOfBounds {
        /// The index as it was given: a negative one counts from the end.
        index: i128,
        /// The length of the axis, or the number of members or parts.
        length: u64,
    },
    /// The array does not have this axis.
    #[non_exhaustive]
    NoSuchAxis {
        /// The axis, counted from 0.
        axis: usize,
        /// The shape of the array.
        shape: Shape,
    },
    /// The array has no such field.
    #[non_exhaustive]
    NoSuchField {
        /// The name or path of the field.
        field: String,
        /// The names of the first 20 fields; none if the elements are not records.
        available: Vec<String>,
    },
    /// The call is not possible now: the array has already been read, or an earlier error has left it incomplete.
    #[non_exhaustive]
    OutOfTurn {
        /// A description of what has happened before.
        reason: String,
    },
    /// The file was opened for reading only.
    ReadOnly,
    /// The path names a pipe, a folder or a device, which this call cannot use.
    #[non_exhaustive]
    NotRegularFile {
        /// A description of what needs a regular file.
        reason: String,
    },
    /// The output is one of the inputs, and would be overwritten before it is read.
    OutputIsInput,
    /// The options or arguments are invalid, contradict each other, or do not apply to this call.
    #[non_exhaustive]
    BadOption {
        /// A description of the fault.
        reason: String,
    },
}

/// The section of a file that is truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSection {
    /// The fixed-size bytes at the start, before the rest of the header.
    Preamble,
    /// The header.
    Header,
    /// The elements.
    #[non_exhaustive]
    Payload {
        /// The shape that the header declares.
        shape: Shape,
        /// The dtype that the header declares.
        dtype: DType,
    },
    /// The elements, which are compressed.
    Packed,
}

/// What a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
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
    pub(super) fn class(&self) -> Class {
        match self {
            Self::Io(_) | Self::BadSource { .. } | Self::OutOfMemory { .. } => Class::Io,
            Self::BadMagic { .. }
            | Self::BadVersion { .. }
            | Self::Truncated { .. }
            | Self::BadHeader { .. }
            | Self::UnsupportedDType { .. }
            | Self::Overflow { .. }
            | Self::Trailing { .. }
            | Self::BadBool { .. }
            | Self::NoVariant { .. }
            | Self::BadUnicode { .. }
            | Self::BadUtf8 { .. }
            | Self::BadZip { .. }
            | Self::UnsupportedZip { .. }
            | Self::BadCrc { .. }
            | Self::BadDeflate { .. }
            | Self::UnknownFlags { .. }
            | Self::BadPacking { .. }
            | Self::BadPickle { .. }
            | Self::UnsupportedPickle { .. }
            | Self::BadStack { .. }
            | Self::UnsupportedPacking { .. } => Class::Format,
            Self::DTypeMismatch { .. }
            | Self::Objects { .. }
            | Self::MissingField { .. }
            | Self::ExtraField { .. }
            | Self::RankMismatch { .. }
            | Self::ShapeMismatch { .. }
            | Self::RowMismatch { .. }
            | Self::ForeignByteOrder { .. }
            | Self::NotConvertible { .. }
            | Self::TextTooLong { .. }
            | Self::NotViewable { .. }
            | Self::NotStored { .. }
            | Self::Packed
            | Self::NotRepresentable { .. }
            | Self::Misaligned { .. } => Class::Mismatch,
            Self::Limit { .. } => Class::Limit,
            Self::NoSuchMember { .. } => Class::NotFound,
            Self::AlreadyExists
            | Self::CannotReplace { .. }
            | Self::Locked
            | Self::ChangedByOther { .. }
            | Self::ArrayChanged { .. }
            | Self::HeaderTooSmall { .. }
            | Self::HeaderCrossesSector { .. }
            | Self::UncommittedRows { .. }
            | Self::UncommittedParts { .. } => Class::Conflict,
            Self::Cancelled => Class::Cancelled,
            Self::NotLoaded { .. } => Class::Io,
            Self::VersionTooLow { .. }
            | Self::AmbiguousName { .. }
            | Self::NameTaken { .. }
            | Self::WrongCount { .. }
            // The caller has to provide another password; the file itself is valid.
            | Self::Encrypted { .. }
            | Self::OutOfBounds { .. }
            | Self::NoSuchAxis { .. }
            | Self::NoSuchField { .. }
            | Self::OutOfTurn { .. }
            | Self::ReadOnly
            | Self::NotRegularFile { .. }
            | Self::OutputIsInput
            | Self::BadOption { .. } => Class::Usage,
        }
    }

    /// Returns the remedy, if it depends only on the kind.
    pub(super) fn help(&self) -> Option<Help> {
        let read_as = |rust_type: &str| Help::ReadAs { rust_type: rust_type.to_owned(), can_convert: false };
        Some(match self {
            Self::OutOfMemory { .. } => Help::Map,
            Self::UnknownFlags { .. } => Help::IgnoreRaFlags,
            Self::UnsupportedPickle { .. } => Help::ReadPickle,
            Self::Packed => Help::ReadWhole,
            // An incomplete row cannot be recovered.
            Self::Trailing { rows, .. } => Help::AllowTrailing { may_recover: *rows > 0 },
            Self::UncommittedRows { .. } => Help::RecoverRows,
            Self::UncommittedParts { .. } => Help::RecoverParts,
            Self::BadBool { .. } => read_as("u8"),
            Self::NoVariant { number, .. } => read_as(number),
            Self::BadUnicode { .. } => read_as("Chars"),
            Self::BadUtf8 { .. } => read_as("Vec<u8> or Bytes"),
            Self::MissingField { .. } => Help::RenameField,
            Self::ExtraField { .. } => Help::IgnoreExtraFields,
            Self::RankMismatch { .. } => Help::AnyRank,
            // Without the feature, no type can represent Python objects, so the remedy is to enable it.
            Self::Objects { .. } if cfg!(feature = "object") => Help::AllowObjects,
            Self::Objects { .. } => Help::Feature { name: "object" },
            Self::ForeignByteOrder { .. }
            | Self::NotViewable { .. }
            | Self::NotStored { .. }
            | Self::Misaligned { .. } => Help::Read,

            Self::Limit { limit_kind, .. } if limit_kind.method().is_some() => Help::RaiseLimit(*limit_kind),
            Self::VersionTooLow { needed, .. } => Help::Version { version: *needed },
            Self::ReadOnly => Help::OpenToWrite,
            Self::Locked => Help::WaitForLock,
            Self::AlreadyExists => Help::Replace,
            Self::CannotReplace { .. } => Help::InPlace,
            Self::TextTooLong { .. } => Help::TextWidth,
            Self::AmbiguousName { .. } => Help::ByIndex,
            Self::NameTaken { .. } => Help::ReplaceMember,
            Self::WrongCount { .. } => Help::PushAllRows,
            Self::HeaderTooSmall { .. } | Self::HeaderCrossesSector { .. } => Help::GrowHeader,
            _ => return None,
        })
    }
}

impl LimitKind {
    /// Returns the name of the method that raises the limit, if there is one.
    pub(super) fn method(self) -> Option<&'static str> {
        match self {
            Self::HeaderBytes => Some("Limits::header"),
            Self::PayloadBytes => Some("Limits::payload"),
            Self::Objects => Some("Limits::objects"),
            Self::ObjectNesting => Some("Limits::object_height"),
            Self::Expansion => Some("Limits::expansion"),
            _ => None,
        }
    }
}
