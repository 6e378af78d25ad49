//! Records: structs that derive `Record`, whose fields are elements.
//!
//! The plan for a record follows from its fields: each field is looked up by name in the file's dtype, and
//! its type returns a plan. If all fields are bitwise and have the same offsets in the file as in memory, the
//! record is also bitwise and is copied in bulk. Otherwise it is read per item: for a group of records that fits the
//! cache, one field after another is moved from all records to all structs, as it is or read like an array of its
//! type. Records that are not bitwise are written field by field.
//!
//! The derive macro only describes a struct ([`RecordType`]); everything else is done here.

mod read;
mod spec;
mod view;
mod write;

pub use read::{FieldsRead, read_plan};
pub use spec::{FieldSpec, FileLayout, RecordSpec};
pub use view::{Of, ViewField, ViewMutField, fills};
pub use write::{FieldsWritten, Slot, WriteFieldFn, check_field, dtype_for, write_plan};

pub use super::cast::RecordType;
use super::{ReadPlan, ReadableElement, WritableElement, WritePlan};
use crate::dtype::DType;
use crate::error::Result;
use crate::options::{ReadOptions, WriteOptions};

/// A type that can be a field of a record: any element, including arrays `[T; N]` and other records.
///
/// The methods are those of [`ReadableElement`] and [`WritableElement`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a record",
    label = "not a type that a file can hold",
    note = "fields are numbers of a fixed size (not usize), bool, Complex, text, times, arrays `[T; N]` of fields, and \
            structs that derive Record; a type that derives Element needs both `from` and `into`"
)]
pub trait RecordField: Sized + Send + Sync + 'static {
    /// The size and alignment of a field in a file.
    const FILE_LAYOUT: FileLayout;

    /// Returns the plan for reading fields of this dtype.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if fields of this dtype cannot be read as the type.
    fn read_plan(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>>;

    /// Returns the dtype to write these fields as.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotConvertible`](crate::error::ErrorKind::NotConvertible) if a text does not fit.
    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType>;

    /// Returns the plan for writing fields as this dtype.
    fn write_plan(dtype: &DType) -> WritePlan<Self>;
}

/// Returns how many records to move at a time, if one takes this many bytes in both forms.
///
/// Each field passes over them once, so they should stay in the nearest cache.
fn records_per_block(size: usize) -> usize {
    ((16 << 10) / size.max(1)).max(4)
}

/// A type that can be copied out of a packed struct, whose fields cannot be borrowed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a field of a packed struct and has to be `Copy`",
    label = "not `Copy`",
    note = "a field that may be misaligned cannot be referred to, and is copied to be written"
)]
pub trait PackedField: Copy {}

impl<T: Copy> PackedField for T {}

/// Returns a copy of a field.
pub fn copied<T: PackedField>(field: T) -> T {
    field
}

#[diagnostic::do_not_recommend] // show the trait's own message once, not one for each bound
impl<T: ReadableElement + WritableElement + 'static> RecordField for T {
    const FILE_LAYOUT: FileLayout = <T as WritableElement>::FILE_LAYOUT;

    fn read_plan(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        super::read_plan_for(dtype, options)
    }

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        WritableElement::dtype_for(items, options)
    }

    fn write_plan(dtype: &DType) -> WritePlan<Self> {
        WritableElement::write_plan(dtype)
    }
}
