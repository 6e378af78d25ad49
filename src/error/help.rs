//! What to do about an error.

use std::fmt;

use super::LimitKind;
use crate::dtype::Casting;

/// What to do about an error, apart from what went wrong: see [`Error::help`](crate::Error::help).
///
/// A front end words it in its own terms, as a flag of a program or a control of a window. `Display` words it in terms of this library.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::error::Help;
/// use ndarray_io::{ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[1.5]).write_npy(&mut file)?;
/// let error = Array1::<i32>::read_npy(&file[..]).unwrap_err();
/// assert_eq!(error.to_string(), "expected elements of '<i4', found '<f8'");
/// assert_eq!(error.help().unwrap().to_string(), "read it as f64, or convert it with ReadOptions::casting");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Help {
    /// Map the file instead of reading it.
    Map,
    /// Read the array: it cannot be viewed or mapped.
    Read,
    /// Read all of the array: it cannot be read in parts.
    ReadWhole,
    /// Read it as another Rust type, or convert it on reading.
    #[non_exhaustive]
    ReadAs {
        /// The Rust type.
        rust_type: String,
        /// Whether the elements can be converted on reading.
        can_convert: bool,
    },
    /// Allow a conversion by this rule.
    Cast(Casting),
    /// Read the records as a struct, or as an array of any dtype.
    ReadRecords,
    /// Read it as an array of any dtype.
    ReadDynamic,
    /// Read it as an array of any number of axes.
    AnyRank,
    /// Allow Python objects, which are read as data.
    AllowObjects,
    /// Read the bytes of the pickle.
    ReadPickle,
    /// Convert all files to one dtype.
    OneDType,
    /// Write the elements as another Rust type.
    #[non_exhaustive]
    WriteAs {
        /// The Rust type.
        rust_type: &'static str,
    },
    /// Write elements of the file's own dtype.
    FileDType,
    /// Write the bools of an RA file as its element type 5, which not every program reads as bool.
    RaBool,
    /// Give the array Fortran order.
    FortranOrder,
    /// Write it as an NPY file.
    UseNpy,
    /// Use a later protocol of pickles.
    #[non_exhaustive]
    PickleProtocol {
        /// The lowest that will do.
        protocol: u8,
    },
    /// Write a later version of the format.
    #[non_exhaustive]
    Version {
        /// The lowest that will do.
        version: (u8, u8),
    },
    /// Ignore unknown flags of an RA file.
    IgnoreRaFlags,
    /// Ignore the bytes after the array.
    #[non_exhaustive]
    AllowTrailing {
        /// Whether they may be rows of an interrupted append, which can be recovered.
        may_recover: bool,
    },
    /// Take the rows of an interrupted append as rows of the array, or discard them.
    RecoverRows,
    /// Leave out the bytes after the array of an RA file.
    DropTrailing,
    /// Say what becomes of the bytes after the array of an existing RA file.
    KeepTrailing,
    /// Give the struct's field the name that it has in the file.
    RenameField,
    /// Add the field to the struct, or ignore fields that the struct does not have.
    IgnoreExtraFields,
    /// Raise a limit.
    RaiseLimit(LimitKind),
    /// Replace the existing file.
    Replace,
    /// Overwrite the file in place, which a crash can leave half done.
    InPlace,
    /// Say how wide the text is to be.
    TextWidth,
    /// Make the field of the struct wider.
    WidenField,
    /// Take one of several members by its number.
    ByIndex,
    /// Replace the member.
    ReplaceMember,
    /// Push exactly the rows that the shape declares.
    PushAllRows,
    /// Rewrite the file with room for a larger length in its header.
    GrowHeader,
    /// Go on to the array that follows in the stream.
    NextArray,
    /// Open the file for writing.
    OpenToWrite,
    /// Give the password of an encrypted member.
    Password,
    /// Build with a feature of this library.
    #[non_exhaustive]
    Feature {
        /// Its name.
        name: &'static str,
    },
}

/// In terms of this library.
impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Map => "map the file with NpyMmap",
            Self::Password => "give the right password by ReadOptions::password",
            Self::Read => "read the array instead of viewing it",
            Self::ReadWhole => "read all of it with read_ra or RaReader",
            Self::ReadAs { rust_type, can_convert: true } => {
                return write!(f, "read it as {rust_type}, or convert it with ReadOptions::casting");
            }
            Self::ReadAs { rust_type, .. } => return write!(f, "read it as {rust_type}"),
            Self::Cast(casting) => return write!(f, "allow it with Casting::{casting:?}"),
            Self::ReadRecords => "derive Record for a struct with its fields, or read it as a DynArray",
            Self::ReadDynamic => "read it as a DynArray",
            Self::AnyRank => "read it as an ArrayD",
            Self::AllowObjects => {
                "read it as an array of object::Object, or as a DynArray with ReadOptions::allow_objects"
            }
            Self::ReadPickle => "get the bytes of the pickle with NpyReader::read_bytes",
            Self::OneDType => "convert all files to one dtype with Conversion::dtype",
            Self::WriteAs { rust_type } => return write!(f, "write the elements as {rust_type}"),
            Self::FileDType => "write elements of the file's own type",
            Self::RaBool => {
                "write the elements as u8, or with RaOptions::eltype_5, which not every program reads as bool"
            }
            Self::FortranOrder => "give the array Fortran order, as with (3, 4).f()",
            Self::UseNpy => "write it as an NPY file",
            Self::PickleProtocol { protocol } => {
                return write!(f, "set WriteOptions::pickle_protocol to {protocol}");
            }
            Self::Version { version } => {
                return write!(
                    f,
                    "leave WriteOptions::version unset, or set it to {}.{}",
                    version.0, version.1
                );
            }
            Self::IgnoreRaFlags => "ignore them with ReadOptions::ignore_ra_flags",
            Self::AllowTrailing { may_recover: true } => {
                "ignore them with ReadOptions::allow_trailing, or, if they are of an interrupted append, take them as rows or discard \
                 them with NpyWriter::append_with and UncommittedRows"
            }
            Self::AllowTrailing { .. } => "ignore them with ReadOptions::allow_trailing",
            Self::RecoverRows => {
                "take them as rows or discard them with NpyWriter::append_with and UncommittedRows"
            }
            Self::DropTrailing => "leave them out with Conversion::drop_trailing",
            Self::KeepTrailing => "say what becomes of them with RaOptions::trailing",
            Self::RenameField => "name the field as in the file with #[record(rename = \"…\")]",
            Self::IgnoreExtraFields => {
                "add the field to the struct, or ignore it with ReadOptions::ignore_extra_fields"
            }
            Self::RaiseLimit(kind) => match kind.method() {
                Some(method) => return write!(f, "raise the limit with {method}"),
                None => "the limit cannot be raised",
            },
            Self::Replace => "replace it with write_npy",
            Self::InPlace => {
                "overwrite the file with WriteOptions::in_place, which a crash can leave half done"
            }
            Self::TextWidth => "set WriteOptions::text_width",
            Self::WidenField => "give the struct's field a wider type",
            Self::ByIndex => "take one of them with by_index",
            Self::ReplaceMember => "replace it with NpzUpdate::replace",
            Self::PushAllRows => "push exactly the declared rows before finish",
            Self::GrowHeader => "rewrite the file with grow_header",
            Self::NextArray => "go on to the array that follows with NpyReader::next_array",
            Self::OpenToWrite => "open it with NpyFile::open_to_write",
            Self::Feature { name } => return write!(f, "build with the feature `{name}`"),
        })
    }
}
