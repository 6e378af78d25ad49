//! The kinds of errors, and who has to act on each.

use std::io;

use super::Help;
use crate::dtype::DType;
use crate::shape::Shape;

/// What went wrong. The variants carry what was found and what was wanted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system failed.
    Io(io::Error),
    /// The allocator has no room for the array.
    #[non_exhaustive]
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: u64,
    },

    /// The first bytes are not those of a file of the format.
    #[non_exhaustive]
    BadMagic {
        /// The format: `NPY` or `RA`.
        format: &'static str,
        /// The first bytes, as many as the format's own.
        found: Vec<u8>,
    },
    /// A format version that is none of 1.0, 2.0 and 3.0.
    #[non_exhaustive]
    BadVersion {
        /// The number before the dot.
        major: u8,
        /// The number behind it.
        minor: u8,
    },
    /// The file or stream ends too early.
    #[non_exhaustive]
    Truncated {
        /// In which part it ends.
        part: FileSection,
        /// How many bytes the part has to have.
        need: u64,
        /// How many there are.
        have: u64,
    },
    /// The header is no text in the encoding of its version, or not the literal of a dict with the three keys and
    /// values of the right types.
    #[non_exhaustive]
    BadHeader {
        /// What is wrong, in words.
        reason: String,
        /// Where in the file it is, in bytes from the beginning of the array, if that can be said.
        offset: Option<u64>,
    },
    /// An RA file has flags that have no meaning here.
    #[non_exhaustive]
    UnknownFlags {
        /// The bits that are not known.
        flags: u64,
    },
    /// The packed data of an RA file are not what they should be.
    #[non_exhaustive]
    BadPacking {
        /// What is wrong, in words.
        reason: String,
    },
    /// The data of an RA file are packed in a way that is not read.
    #[non_exhaustive]
    UnsupportedPacking {
        /// Which, in words.
        reason: String,
    },
    /// A pickle is malformed, or does not fit the header in front of it.
    #[non_exhaustive]
    BadPickle {
        /// What is wrong, in words.
        reason: String,
        /// Where in the pickle the opcode stands, in bytes, if it is one.
        offset: Option<u64>,
    },
    /// A pickle that is sound holds what is not read here.
    #[non_exhaustive]
    UnsupportedPickle {
        /// What, in words.
        reason: String,
    },
    /// The `info` file of a stack is not what Dask writes, or the parts do not fit it.
    #[non_exhaustive]
    BadStack {
        /// What is wrong, in words.
        reason: String,
    },
    /// The header is sound, but its `descr` names no type of NumPy's.
    #[non_exhaustive]
    UnsupportedDType {
        /// The text of `descr`, or the part of it that is at fault.
        descr: String,
        /// What is wrong with it, in words.
        reason: String,
    },
    /// The shape or the size of the payload passes what this machine can address.
    #[non_exhaustive]
    Overflow {
        /// What overflows: the header's shape with its dtype, or a number in the header.
        what: String,
    },
    /// More bytes follow where the array should be the last thing.
    #[non_exhaustive]
    Trailing {
        /// How many.
        bytes: u64,
        /// Whether there may be more: of a stream only the first ones are counted.
        at_least: bool,
        /// How many whole rows of the array they would be.
        rows: u64,
    },
    /// A bool that is neither 0 nor 1.
    #[non_exhaustive]
    BadBool {
        /// The byte.
        found: u8,
    },
    /// A number that no variant of an enum has.
    #[non_exhaustive]
    NoVariant {
        /// The number.
        found: i128,
        /// The name of the enum.
        of: &'static str,
        /// The type of the number.
        number: &'static str,
    },

    /// A number in a text that is no character: beyond U+10FFFF, or a surrogate.
    #[non_exhaustive]
    BadUnicode {
        /// The number.
        code: u32,
    },
    /// A string of bytes that is no UTF-8.
    #[non_exhaustive]
    BadUtf8 {
        /// How many of its bytes are.
        valid_up_to: u64,
    },

    /// An archive's own records are malformed or contradict each other.
    #[non_exhaustive]
    BadZip {
        /// What is wrong, in words.
        reason: String,
    },
    /// A member of an archive is encrypted or compressed by a method that is not known here, or needs the feature `zip-methods`.
    #[non_exhaustive]
    UnsupportedZip {
        /// What it is, in words.
        reason: String,
    },
    /// A member of an archive is encrypted, and there is no password, or it is the wrong one.
    #[non_exhaustive]
    Encrypted {
        /// Whether there is a password.
        has_password: bool,
    },
    /// The content of a member does not match its checksum.
    #[non_exhaustive]
    BadCrc {
        /// The CRC-32 of what is there.
        found: u32,
        /// The CRC-32 that the archive states.
        wanted: u32,
    },
    /// The compressed content of a member is malformed.
    #[non_exhaustive]
    BadDeflate {
        /// What is wrong, in words.
        reason: String,
    },

    /// The file's dtype is none that the Rust type can hold.
    #[non_exhaustive]
    DTypeMismatch {
        /// The file's dtype.
        found: DType,
        /// The dtype that the Rust type stands for.
        wanted: DType,
    },
    /// The array contains Python objects, which this call does not read or change.
    #[non_exhaustive]
    Objects {
        /// The file's dtype.
        found: DType,
    },
    /// The struct has a field that the file's records have not.
    #[non_exhaustive]
    MissingField {
        /// Its name.
        field: String,
        /// The dtype of the file's records.
        found: DType,
    },
    /// The file's records have a field that the struct has not.
    #[non_exhaustive]
    ExtraField {
        /// Its name.
        field: String,
    },
    /// The file's array has another number of axes than the Rust type.
    #[non_exhaustive]
    RankMismatch {
        /// The file's shape.
        found: Shape,
        /// The number of axes of the Rust type.
        wanted: usize,
    },
    /// The file's array has another shape than the array that it should be read into.
    #[non_exhaustive]
    ShapeMismatch {
        /// The file's shape.
        found: Shape,
        /// The shape of the array that is there.
        wanted: Shape,
    },
    /// A view needs the other byte order.
    #[non_exhaustive]
    ForeignByteOrder {
        /// The file's dtype.
        found: DType,
    },
    /// A value has no counterpart in the other type: a time beyond its range, text that is not a number, a Python object of another
    /// class.
    #[non_exhaustive]
    NotConvertible {
        /// Why, in words.
        reason: String,
    },
    /// The type can hold the elements, but their memory layout in the file is another.
    #[non_exhaustive]
    NotViewable {
        /// The file's dtype.
        found: DType,
    },
    /// A view needs a member that is stored as it is, and it is compressed.
    #[non_exhaustive]
    NotStored {
        /// How many bytes it takes in the archive.
        packed: u64,
        /// How many it has.
        size: u64,
    },
    /// A view needs its data at a multiple of its alignment, and they are not.
    #[non_exhaustive]
    Misaligned {
        /// The alignment that the type needs, in bytes.
        wanted: usize,
        /// How many bytes the data stand behind a multiple of it.
        off_by: u64,
    },

    /// A limit was passed.
    #[non_exhaustive]
    Limit {
        /// Which one.
        limit_kind: LimitKind,
        /// What the file asks for; at least, where counting stopped early.
        found: u64,
        /// The limit.
        limit: u64,
    },

    /// The data of an RA file are packed, so that they can be read only as a whole.
    Packed,
    /// A format cannot represent elements of a dtype.
    #[non_exhaustive]
    NotExpressible {
        /// The format: `NPY` or `RA`.
        format: &'static str,
        /// The dtype.
        dtype: DType,
        /// Why, in words.
        reason: String,
    },

    /// The header does not fit the format version that was asked for.
    #[non_exhaustive]
    VersionTooLow {
        /// The version that was asked for.
        wanted: (u8, u8),
        /// The lowest version that can hold the header.
        needed: (u8, u8),
    },
    /// The file that should be made is there already.
    AlreadyExists,
    /// A file cannot be replaced as a whole without losing something that belongs to it.
    #[non_exhaustive]
    CannotReplace {
        /// What stands in the way, in words.
        reason: String,
    },
    /// A text is longer than the width that was asked for.
    #[non_exhaustive]
    TextTooLong {
        /// Its length, in bytes or code points, whichever the dtype counts.
        length: u64,
        /// The width.
        width: u64,
    },
    /// The archive has no member of this name.
    #[non_exhaustive]
    NoSuchMember {
        /// The name that was asked for.
        name: String,
        /// The names that there are.
        there: Vec<String>,
    },
    /// The archive has several members of this name.
    #[non_exhaustive]
    AmbiguousName {
        /// The name.
        name: String,
        /// The numbers of the members that have it.
        indices: Vec<usize>,
    },
    /// The archive that is written has a member of this name already.
    #[non_exhaustive]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Too few or too many elements came for the shape that was promised.
    #[non_exhaustive]
    WrongCount {
        /// How many came; of too many, how many there would be.
        found: u64,
        /// How many the shape has; of an array that grows, those of its whole rows.
        wanted: u64,
    },
    /// The caller cancelled it.
    Cancelled,
    /// Another writer has the file locked: it appends to it, updates it, or has mapped it.
    Locked,
    /// A file is not as long as its writer has made it: something else has changed it.
    #[non_exhaustive]
    ChangedByOther {
        /// How long the file is.
        found: u64,
        /// How long the writer has made it.
        wanted: u64,
    },
    /// The file holds another array than when it was opened, or something else has changed it.
    #[non_exhaustive]
    ArrayChanged {
        /// Since when, in words.
        reason: String,
    },
    /// What is appended has another shape than a row of the array.
    #[non_exhaustive]
    RowMismatch {
        /// The shape of what is appended.
        found: Shape,
        /// The shape of a row.
        row: Shape,
    },
    /// The file's header has no room for the length that the array might grow to.
    #[non_exhaustive]
    NoRoom {
        /// How long the header is.
        header: u64,
    },
    /// A loss of power could tear the file's header when a new length is written to it, and
    /// [`WriteOptions::sync`](crate::WriteOptions::sync) is to prevent that.
    #[non_exhaustive]
    TornHeader {
        /// How long the header is.
        header: u64,
    },
    /// Bytes follow the array to which something is to be appended: an append was cut off before it counted them.
    #[non_exhaustive]
    UncommittedRows {
        /// How many.
        bytes: u64,
        /// How many whole rows are in them.
        rows: u64,
    },
    /// Options that contradict each other, or the call.
    #[non_exhaustive]
    BadOption {
        /// What is wrong, in words.
        reason: String,
    },
}

/// The part of a file that is truncated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileSection {
    /// The first bytes, up to the length of the header.
    Preamble,
    /// The header.
    Header,
    /// The elements.
    #[non_exhaustive]
    Payload {
        /// The shape that the header promises.
        shape: Shape,
        /// The dtype that the header promises.
        dtype: DType,
    },
}

/// What a limit limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// The length of the header in bytes: [`Limits::header`](crate::Limits::header).
    HeaderBytes,
    /// The bytes of the elements: [`Limits::payload`](crate::Limits::payload).
    PayloadBytes,
    /// Brackets within brackets in the header. It cannot be raised.
    Nesting,
    /// Records within records. It cannot be raised.
    RecordNesting,
    /// The number of axes. It cannot be raised: NumPy has the same.
    Dimensions,
    /// Objects with parts in a pickle: [`Limits::objects`](crate::Limits::objects).
    Objects,
    /// Objects within objects: [`Limits::object_height`](crate::Limits::object_height).
    ObjectNesting,
    /// The bytes that are copied of what a pickle has once and refers to many times, and the fields of dtypes that are made of one
    /// another: in proportion to the pickle. It cannot be raised.
    Copies,
    /// The digits of a decimal number in a pickle. It cannot be raised: Python has the same.
    Digits,
    /// The number of elements that take no bytes in the file, but do in memory. It cannot be raised.
    EmptyItems,
}

/// Who has to act on an error.
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
            Self::Io(_) | Self::OutOfMemory { .. } => Class::Io,
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
            | Self::NotExpressible { .. }
            | Self::Misaligned { .. } => Class::Mismatch,
            Self::Limit { .. } => Class::Limit,
            Self::NoSuchMember { .. } => Class::NotFound,
            Self::AlreadyExists
            | Self::CannotReplace { .. }
            | Self::Locked
            | Self::ChangedByOther { .. }
            | Self::ArrayChanged { .. }
            | Self::NoRoom { .. }
            | Self::TornHeader { .. }
            | Self::UncommittedRows { .. } => Class::Conflict,
            Self::Cancelled => Class::Cancelled,
            Self::VersionTooLow { .. }
            | Self::AmbiguousName { .. }
            | Self::NameTaken { .. }
            | Self::WrongCount { .. }
            | Self::Encrypted { .. }
            | Self::BadOption { .. } => Class::Usage,
        }
    }

    /// What to do about it, as far as the kind alone says it.
    pub(super) fn help(&self) -> Option<Help> {
        let read_as = |rust_type: &str| Help::ReadAs { rust_type: rust_type.to_owned(), can_convert: false };
        Some(match self {
            Self::OutOfMemory { .. } => Help::Map,
            Self::UnknownFlags { .. } => Help::IgnoreRaFlags,
            Self::UnsupportedPickle { .. } => Help::ReadPickle,
            Self::Packed => Help::ReadWhole,
            Self::Trailing { rows, .. } => Help::AllowTrailing { may_recover: *rows > 0 },
            Self::UncommittedRows { .. } => Help::RecoverRows,
            Self::BadBool { .. } => read_as("u8"),
            Self::NoVariant { number, .. } => read_as(number),
            Self::BadUnicode { .. } => read_as("Chars"),
            Self::BadUtf8 { .. } => read_as("Vec<u8> or Bytes"),
            Self::MissingField { .. } => Help::RenameField,
            Self::ExtraField { .. } => Help::IgnoreExtraFields,
            Self::RankMismatch { .. } => Help::AnyRank,
            Self::Objects { .. } if cfg!(feature = "object") => Help::AllowObjects,
            Self::Objects { .. } => Help::Feature { name: "object" },
            Self::ForeignByteOrder { .. }
            | Self::NotViewable { .. }
            | Self::NotStored { .. }
            | Self::Misaligned { .. } => Help::Read,

            Self::Limit { limit_kind, .. } if limit_kind.method().is_some() => Help::RaiseLimit(*limit_kind),
            Self::VersionTooLow { needed, .. } => Help::Version { version: *needed },
            Self::AlreadyExists => Help::Replace,
            Self::CannotReplace { .. } => Help::InPlace,
            Self::TextTooLong { .. } => Help::TextWidth,
            Self::AmbiguousName { .. } => Help::ByIndex,
            Self::NameTaken { .. } => Help::ReplaceMember,
            Self::WrongCount { .. } => Help::PushAllRows,
            Self::NoRoom { .. } | Self::TornHeader { .. } => Help::GrowHeader,
            _ => return None,
        })
    }
}

impl LimitKind {
    /// What raises it, if anything does.
    pub(super) fn method(self) -> Option<&'static str> {
        match self {
            Self::HeaderBytes => Some("Limits::header"),
            Self::PayloadBytes => Some("Limits::payload"),
            Self::Objects => Some("Limits::objects"),
            Self::ObjectNesting => Some("Limits::object_height"),
            _ => None,
        }
    }
}
