//! [`Help`]: what to do about errors.

use std::fmt;

use super::FileKind;
use crate::dtype::Casting;

/// What to do about an error; see [`Error::help`](crate::Error::help).
///
/// `Display` says it in terms of this library. A front end that has a command-line flag or a control for it recognizes it by its id.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::{ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[1.5]).write_npy(&mut file)?;
/// let error = Array1::<i32>::read_npy(&file[..]).unwrap_err();
/// assert_eq!(error.to_string(), "expected elements of '<i4', found '<f8'");
/// let help = error.help().unwrap();
/// assert_eq!(help.to_string(), "read it as f64, or convert it with ReadOptions::casting");
/// assert_eq!(help.id(), "read-as");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Help(pub(super) Remedy);

impl Help {
    /// Returns the name of the remedy, which stays the same while its text may change: `password`, `cast-safe`, `file-gzip`.
    pub fn id(&self) -> &'static str {
        self.0.id()
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The remedies that there are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum Remedy {
    /// Read a file of another kind in another way.
    OtherFile(FileKind),
    /// Open a URL with another crate than this one.
    OpenUrl,
    /// Call `finish` on the writer of the archive, or copy the whole file.
    FinishArchive,
    /// Map the file instead of reading it.
    Map,
    /// Read the array instead: it cannot be viewed or mapped.
    Read,
    /// Read the entire array: it cannot be read in parts.
    ReadWhole,
    /// Read the array as another Rust type, or convert the elements while reading.
    ReadAs {
        /// The Rust type that can hold the elements; there may be several, as in `String or Chars<4>`.
        rust_type: String,
        /// Whether the elements can be converted to the requested type instead.
        can_convert: bool,
    },
    /// Take the field: a slice selects along axes.
    TakeField,
    /// Take the bytes as they are with [`DynArray::bytes`](crate::DynArray::bytes).
    TakeBytes,
    /// Copy the elements of an array that has been read, with [`DynArray::into_array`](crate::DynArray::into_array) or
    /// [`DynArray::cast`](crate::DynArray::cast): they cannot be viewed as they are in memory.
    TakeCopy,
    /// Take the array as this type, or convert it with [`DynArray::cast`](crate::DynArray::cast).
    CastArray {
        /// The Rust type.
        rust_type: String,
    },
    /// Allow the conversion with this casting rule.
    Cast(Casting),
    /// Say which format the `longdouble`s of the file have.
    LongDoubleFormat,
    /// Read the records as a struct that derives `Record`, or as a [`DynArray`](crate::DynArray).
    ReadRecords,
    /// Read the array as a [`DynArray`](crate::DynArray), which can have any dtype.
    ReadDynamic,
    /// Read the array as an `ArrayD`, which can have any number of axes.
    AnyRank,
    /// Allow Python objects, which are then read as data.
    AllowObjects,
    /// Read the raw bytes of the pickle.
    ReadPickle,
    /// Convert all files to one dtype.
    OneDType,
    /// Write the elements as another Rust type.
    WriteAs {
        /// The Rust type.
        rust_type: &'static str,
    },
    /// Write elements of the file's dtype.
    FileDType,
    /// Write bools to an RA file as element type 5, which some programs do not read as bool.
    RaBool,
    /// Use Fortran (column-major) order for the array.
    FortranOrder,
    /// Convert the file to C order: in Fortran order, it grows along its last axis.
    COrder,
    /// Write the array as an NPY file.
    UseNpy,
    /// Use a later pickle protocol.
    PickleProtocol {
        /// The lowest protocol that is sufficient.
        protocol: u8,
    },
    /// Write a later version of the NPY format.
    Version {
        /// The lowest version that is sufficient.
        version: (u8, u8),
    },
    /// Ignore flags of an RA file that are unknown or do not match its data.
    IgnoreRaFlags,
    /// Ignore the bytes after the array.
    AllowTrailing {
        /// Whether the bytes may be rows of an interrupted append, which can be recovered.
        may_recover: bool,
    },
    /// Recover the rows of an interrupted append, or discard them.
    RecoverRows,
    /// Decide about parts that a stack does not count.
    RecoverParts,
    /// Drop the bytes after the array of an RA file.
    DropTrailing,
    /// Choose what happens to the bytes after the array of an existing RA file.
    KeepTrailing,
    /// Rename the struct's field to match the file.
    RenameField,
    /// Add the field to the struct, or ignore fields that the struct does not have.
    IgnoreExtraFields,
    /// Raise a limit.
    RaiseLimit {
        /// The id.
        id: &'static str,
        /// The method that raises it.
        method: &'static str,
    },
    /// Replace the existing file.
    Replace,
    /// Overwrite the file in place; a crash can then leave it partially written.
    InPlace,
    /// Set the width of text elements.
    TextWidth,
    /// Give the text, or the struct's field with it, a wider type.
    WidenField,
    /// Select one of several members by its index.
    ByIndex,
    /// Give the member another name, or replace the one that there is.
    ReplaceMember,
    /// Push all rows that the shape declares, each of them whole.
    PushAllRows,
    /// Rewrite the file with more padding in its header, so that the length can grow.
    GrowHeader,
    /// Advance to the next array in the stream.
    NextArray,
    /// Read the arrays of the file one after the other.
    ArrayFollows,
    /// Wait for the lock.
    WaitForLock,
    /// Provide the right password for an encrypted member.
    Password,
    /// Enable a Cargo feature of this library.
    Feature {
        /// The name of the feature.
        name: &'static str,
    },
}

impl Remedy {
    fn id(&self) -> &'static str {
        match self {
            Self::OtherFile(kind) => kind.id(),
            Self::OpenUrl => "open-url",
            Self::FinishArchive => "finish-archive",
            Self::Map => "map",
            Self::Read => "read",
            Self::ReadWhole => "read-whole",
            Self::ReadAs { .. } => "read-as",
            Self::TakeField => "take-field",
            Self::TakeBytes => "take-bytes",
            Self::TakeCopy => "take-copy",
            Self::CastArray { .. } => "cast-array",
            Self::Cast(Casting::Safe) => "cast-safe",
            Self::Cast(Casting::SameKind) => "cast-same-kind",
            Self::Cast(_) => "cast-unsafe",
            Self::LongDoubleFormat => "long-double-format",
            Self::ReadRecords => "read-records",
            Self::ReadDynamic => "read-dynamic",
            Self::AnyRank => "any-rank",
            Self::AllowObjects => "allow-objects",
            Self::ReadPickle => "read-pickle",
            Self::OneDType => "one-dtype",
            Self::WriteAs { .. } => "write-as",
            Self::FileDType => "dtype-of-file",
            Self::RaBool => "ra-bool",
            Self::FortranOrder => "fortran-order",
            Self::COrder => "c-order",
            Self::UseNpy => "use-npy",
            Self::PickleProtocol { .. } => "pickle-protocol",
            Self::Version { .. } => "version",
            Self::IgnoreRaFlags => "ignore-ra-flags",
            Self::AllowTrailing { may_recover: true } => "recover-trailing",
            Self::AllowTrailing { .. } => "allow-trailing",
            Self::RecoverRows => "recover-rows",
            Self::RecoverParts => "recover-parts",
            Self::DropTrailing => "drop-trailing",
            Self::KeepTrailing => "keep-trailing",
            Self::RenameField => "rename-field",
            Self::IgnoreExtraFields => "ignore-extra-fields",
            Self::RaiseLimit { id, .. } => id,
            Self::Replace => "replace",
            Self::InPlace => "in-place",
            Self::TextWidth => "text-width",
            Self::WidenField => "widen-field",
            Self::ByIndex => "by-index",
            Self::ReplaceMember => "replace-member",
            Self::PushAllRows => "push-all-rows",
            Self::GrowHeader => "grow-header",
            Self::NextArray => "next-array",
            Self::ArrayFollows => "array-follows",
            Self::WaitForLock => "wait-for-lock",
            Self::Password => "password",
            Self::Feature { .. } => "feature",
        }
    }
}

/// Phrases the remedy in terms of this library's API.
impl fmt::Display for Remedy {
    #[expect(clippy::too_many_lines, reason = "a list of texts")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherFile(kind) => kind.advice(),
            Self::OpenUrl => "a path has no scheme; URLs of s3, gs, az and https are opened with Remote of the crate `ndarray-io-store`",
            Self::FinishArchive => "call finish on the NpzWriter that makes it, or copy all of the file",
            Self::Map => "map the file with NpyMmap",
            Self::Password => "set the right password with ReadOptions::password",
            Self::Read => "read the array instead of viewing it",
            Self::ReadWhole => "read the entire array with read_ra or ReadOptions::ra_reader",
            Self::ReadAs { rust_type, can_convert: true } => {
                return write!(f, "read it as {rust_type}, or convert it with ReadOptions::casting");
            }
            Self::ReadAs { rust_type, .. } => return write!(f, "read it as {rust_type}"),
            Self::TakeField => "take the field with DynArray::field",
            Self::TakeBytes => "take its bytes with DynArray::bytes",
            Self::TakeCopy => "take a copy with DynArray::into_array or DynArray::cast",
            Self::CastArray { rust_type } => {
                return write!(f, "take it as {rust_type}, or convert it with DynArray::cast");
            }
            Self::Cast(Casting::Unsafe) => "allow it with Casting::Unsafe, which wraps integers, and truncates fractions and drops imaginary parts",
            Self::Cast(casting) => return write!(f, "allow it with Casting::{casting:?}"),
            Self::ReadRecords => "derive Record for a struct with its fields, or read it as a DynArray",
            Self::ReadDynamic => "read it as a DynArray",
            Self::AnyRank => "read it as an ArrayD",
            Self::AllowObjects => {
                "read it as an array of object::Object (only texts: of Option<String>), or as a DynArray with ReadOptions::allow_objects"
            }
            Self::ReadPickle => "read the bytes of the pickle with NpyReader::read_bytes",
            Self::OneDType => "convert all files to one dtype with Conversion::dtype",
            Self::WriteAs { rust_type } => return write!(f, "write the elements as {rust_type}"),
            Self::FileDType => "write elements of the file's dtype",
            Self::RaBool => {
                "write the elements as u8, or with WriteOptions::ra_bools, which some programs do not read as bool"
            }
            Self::FortranOrder => "use Fortran order, for example with (3, 4).f()",
            Self::COrder => "in Fortran order, the array grows along its last axis: create the file in C order, or convert it with convert_npy",
            Self::UseNpy => "write it as an NPY file",
            Self::PickleProtocol { protocol } => {
                return write!(f, "set WriteOptions::pickle_protocol to {protocol}");
            }
            Self::Version { version } => {
                return write!(
                    f,
                    "do not set WriteOptions::version, or set it to {}.{} or later",
                    version.0, version.1
                );
            }
            Self::LongDoubleFormat => "state their format with ReadOptions::long_double",
            Self::IgnoreRaFlags => "ignore them with ReadOptions::ignore_ra_flags",
            Self::AllowTrailing { may_recover: true } => {
                "call finish or commit on the NpyWriter that writes them; if it was interrupted, recover or discard them with \
                 WriteOptions::uncommitted, and append or append_or_create; or ignore them with ReadOptions::allow_trailing"
            }
            Self::AllowTrailing { .. } => "ignore them with ReadOptions::allow_trailing",
            Self::RecoverRows => {
                "if they belong to an interrupted append, recover or discard them with WriteOptions::uncommitted, and append or \
                 append_or_create"
            }
            Self::RecoverParts => {
                "if they belong to an interrupted append, recover or discard them with WriteOptions::uncommitted, and append_stack"
            }
            Self::DropTrailing => "drop them with Conversion::drop_trailing",
            Self::KeepTrailing => "choose what happens to the trailing bytes with WriteOptions::trailing",
            Self::RenameField => {
                "rename the field to match the file with #[record(rename = \"…\")], or give it a value without one with #[record(default)]"
            }
            Self::IgnoreExtraFields => {
                "add the field to the struct, or ignore it with ReadOptions::ignore_extra_fields"
            }
            Self::RaiseLimit { method, .. } => return write!(f, "raise the limit with {method}"),
            Self::Replace => "use a function that replaces the file, such as write_npy",
            Self::InPlace => {
                "overwrite the file with WriteOptions::in_place; a crash can then leave it partially written"
            }
            Self::TextWidth => "set WriteOptions::text_width",
            Self::WidenField => "use a wider type for the text",
            Self::ByIndex => "select one of the members by its index",
            Self::ReplaceMember => "give it another name, or replace it with NpzUpdate::replace",
            Self::PushAllRows => "push all rows that are declared, and each of them whole, before finish",
            Self::GrowHeader => "rewrite the file with WriteOptions::grow_header, which adds padding to its header",
            Self::NextArray => "advance to the next array with NpyReader::next_array",
            Self::ArrayFollows => "another array follows: read one after the other with NpyReader and its next_array",
            Self::WaitForLock => "finish or drop the writer, map or update, if it is of this program; otherwise try again later: calls that take \
                 WriteOptions can wait, with WriteOptions::wait_for_lock",
            Self::Feature { name } => return write!(f, "enable the Cargo feature `{name}`"),
        })
    }
}
