//! Records: structs that derive `Record`, whose fields are elements themselves.
//!
//! A record goes through the gate by its fields: each is looked up by name in the file's dtype and asks its own type.
//! If all are plain and lie where they lie in memory, so is the record, and moves in bulk. Else it is coded: blocks of
//! records are taken apart into columns, each column is read as an array of its type is, and the structs are put
//! together from them; they are written field by field.
//!
//! The derive says what a struct is ([`RecordType`]) and nothing else; what follows from it is said here.

mod read;
mod spec;
mod view;
mod write;

pub use read::{Column, FieldsRead, accept};
pub use spec::{FieldSpec, FileLayout, RecordSpec};
pub use view::{Of, ViewField, ViewMutField, fills};
pub use write::{FieldsWritten, Slot, check_field, dtype_for, emit};

pub use super::cast::RecordType;
use super::{ReadPlan, ReadableElement, WritableElement, WritePlan};
use crate::dtype::DType;
use crate::error::Result;
use crate::options::{ReadOptions, WriteOptions};

/// What can stand in a record: every element, and arrays `[T; N]` of what can. The methods are those of the elements'
/// traits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record",
    label = "no type that a file can hold",
    note = "fields are numbers of a fixed size (not usize), bool, Complex, text, times, arrays `[T; N]` of fields, and \
            structs that derive Record"
)]
pub trait RecordField: Sized + Send + Sync + 'static {
    /// What it takes in a file.
    const FILE_LAYOUT: FileLayout;

    /// How fields of this dtype are read, or why not.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the type cannot hold it.
    fn accept(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>>;

    /// The dtype to write these fields as.
    ///
    /// # Errors
    ///
    /// A text does not fit.
    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType>;

    /// How fields are written as this dtype.
    fn emit(dtype: &DType) -> WritePlan<Self>;
}

/// What can be copied out of a packed struct, where it may not be referred to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a field of a packed struct and has to be `Copy`",
    label = "not `Copy`",
    note = "a field that may be misaligned cannot be referred to, and is copied to be written"
)]
pub trait PackedField: Copy {}

impl<T: Copy> PackedField for T {}

/// A field that has been copied.
pub fn copied<T: PackedField>(field: T) -> T {
    field
}

#[diagnostic::do_not_recommend] // the message is that of the trait, once, and not of both bounds
impl<T: ReadableElement + WritableElement + 'static> RecordField for T {
    const FILE_LAYOUT: FileLayout = <T as WritableElement>::FILE_LAYOUT;

    fn accept(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        ReadableElement::accept(dtype, options)
    }

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        WritableElement::dtype_for(items, options)
    }

    fn emit(dtype: &DType) -> WritePlan<Self> {
        WritableElement::emit(dtype)
    }
}
