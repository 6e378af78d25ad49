//! Writes records: in bulk if their layout is the same in memory and in the file and has no padding,
//! otherwise field by field.

use super::super::cast::{BitwiseOut, FieldOffset, RecordType};
use super::super::transform::{ByteTransform, FieldTransform};
use super::super::{ItemEncoder, WritePlan};
use super::{RecordField, records_per_block};
use crate::dtype::{DType, Record};
use crate::error::{Fault, Result};
use crate::options::WriteOptions;

/// Returns the dtype to write these records as.
///
/// # Errors
///
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible): a text does not fit its field.
/// - [`Malformed`](crate::error::ErrorKind::Malformed): the record would take 2³¹ bytes or more.
/// - [`BadOption`](crate::error::ErrorKind::BadOption): a field is a Python object.
pub fn dtype_for<R: RecordType>(
    items: &mut dyn Iterator<Item = &R>,
    options: &WriteOptions,
) -> Result<DType> {
    // Only values of fields with a declared width can fail to fit, so other structs are not checked.
    if R::SPEC.file_layout().may_not_fit() {
        for (index, item) in items.enumerate() {
            item.check(options).map_err(|error| error.at_element(index))?;
        }
    }
    let dtype = R::SPEC.dtype(options)?;
    match dtype.has_object() {
        false => Ok(dtype),
        true => {
            let reason = "a struct cannot have Python objects as fields".into();
            Err(Fault::BadOption { reason }.into())
        }
    }
}

/// Checks that a value fits the declared width of the field at `index`.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a text does not fit its field.
pub fn check_field<R: RecordType, F: RecordField>(
    index: usize,
    value: &F,
    options: &WriteOptions,
) -> Result<()> {
    if !F::FILE_LAYOUT.may_not_fit() {
        return Ok(());
    }
    let spec = &R::SPEC.fields[index];
    F::dtype_for(&mut std::iter::once(value), &options.for_field(spec.len))
        .map(drop)
        .map_err(|error| error.at_field(spec.name))
}

/// Returns the plan for writing records as this dtype.
pub fn write_plan<R: RecordType>(dtype: &DType) -> WritePlan<R> {
    let DType::Record(record) = dtype else { unreachable!("`dtype_for` gives a record") };
    let mut fields = FieldsWritten::<R> {
        record,
        next: 0,
        memory_base: 0,
        transforms: Some(Vec::new()),
        unpadded_size: Some(0),
        slots: Vec::new(),
    };
    R::slots(&mut fields);
    let slots = std::mem::take(&mut fields.slots);
    // Bytes that no field covers are padding, which is written as zeros.
    let field_bytes: usize = record.fields().iter().map(|field| field.dtype().item_size()).sum();
    match BitwiseOut::record(fields) {
        Some(out) => WritePlan::Bitwise(out),
        None => WritePlan::PerItem(Box::new(RecordEncoder::<R> {
            slots,
            has_padding: field_bytes < record.size(),
        })),
    }
}

/// The dtype of the struct `R` while its fields are being assigned their positions.
pub struct FieldsWritten<'a, R> {
    record: &'a Record,
    next: usize,
    /// The offset of the struct in memory, within the struct that it is flattened into.
    memory_base: usize,
    /// The transforms of the fields so far, if all are bitwise and have the same offsets in both layouts.
    transforms: Option<Vec<FieldTransform>>,
    /// The number of bytes that the fields so far occupy in memory.
    unpadded_size: Option<usize>,
    /// The fields so far.
    slots: Vec<Box<dyn FieldWriter<R>>>,
}

impl<R: 'static> FieldsWritten<'_, R> {
    /// Assigns the struct's next field its position. `address` returns its address from that of the struct, and `write`
    /// writes it by [`Slot::each`].
    #[inline(never)] // there may be hundreds of fields
    pub fn slot<F: RecordField>(&mut self, address: fn(*const R) -> *const F, write: WriteFieldFn<R, F>) {
        let field = &self.record.fields()[self.next];
        self.next += 1;
        let write_plan = F::write_plan(field.dtype());
        let offset = self.memory_base + FieldOffset::of(address).offset();
        match (&write_plan, &mut self.transforms) {
            (WritePlan::Bitwise(out), Some(transforms)) if field.offset() == offset => {
                transforms.push(FieldTransform {
                    name: "",
                    offset,
                    size: size_of::<F>(),
                    transform: out.transform().clone(),
                });
                self.unpadded_size = self.unpadded_size.map(|unpadded_size| unpadded_size + size_of::<F>());
            }
            _ => self.transforms = None,
        }
        let slot = Slot { offset: field.offset(), size: field.dtype().item_size(), write_plan };
        self.slots.push(Box::new((slot, write)));
    }

    /// Notes that a field of the struct is not in the file, so records cannot be copied in bulk.
    pub fn skip(&mut self) {
        self.transforms = None;
    }

    /// Assigns the fields of a flattened struct, which are fields of the record itself, their positions.
    pub fn flat<F: RecordType>(&mut self, address: fn(*const R) -> *const F, write: WriteFieldFn<R, F>) {
        let mut fields = FieldsWritten::<F> {
            record: self.record,
            next: self.next,
            memory_base: self.memory_base + FieldOffset::of(address).offset(),
            transforms: self.transforms.take(),
            unpadded_size: self.unpadded_size,
            slots: Vec::new(),
        };
        F::slots(&mut fields);
        (self.next, self.transforms, self.unpadded_size) =
            (fields.next, fields.transforms, fields.unpadded_size);
        // The outer record zeroes all padding. Zeroing here would overwrite fields that are already written.
        let write_plan =
            WritePlan::PerItem(Box::new(RecordEncoder::<F> { slots: fields.slots, has_padding: false }));
        self.slots.push(Box::new((Slot { offset: 0, size: self.record.size(), write_plan }, write)));
    }

    /// Returns the transform for records of `size` bytes, or `None` if they cannot be copied in bulk.
    ///
    /// The second value is the total size of the fields.
    pub(in crate::elements) fn into_transform(self, size: usize) -> Option<(ByteTransform, Option<usize>)> {
        let transforms = self.transforms.filter(|_| self.record.size() == size)?;
        Some((ByteTransform::fields(size, transforms), self.unpadded_size))
    }
}

/// The position of a field in a record.
pub struct Slot<F> {
    offset: usize,
    size: usize,
    write_plan: WritePlan<F>,
}

/// Writes a field of each struct to records of this size.
pub type WriteFieldFn<R, F> = fn(&Slot<F>, &[R], usize, &mut [u8]) -> Result<()>;

/// A field of the structs `R` and its position.
trait FieldWriter<R>: Send + Sync {
    fn write(&self, items: &[R], record: usize, into: &mut [u8]) -> Result<()>;
}

impl<R, F> FieldWriter<R> for (Slot<F>, WriteFieldFn<R, F>) {
    fn write(&self, items: &[R], record: usize, into: &mut [u8]) -> Result<()> {
        self.1(&self.0, items, record, into)
    }
}

impl<F> Slot<F> {
    /// Calls `put` with each struct and its record.
    ///
    /// # Errors
    ///
    /// Those of `put`.
    #[inline(never)]
    pub fn each<R>(
        items: &[R],
        record: usize,
        into: &mut [u8],
        put: impl Fn(&R, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        items.iter().zip(into.chunks_exact_mut(record)).try_for_each(|(item, record)| put(item, record))
    }

    /// Writes a value to its position in a record.
    ///
    /// # Errors
    ///
    /// None from the library's own encoders. `dtype_for` must have rejected text that does not fit its field.
    #[inline(always)]
    pub fn put(&self, value: &F, record: &mut [u8]) -> Result<()> {
        let into = &mut record[self.offset..][..self.size];
        match &self.write_plan {
            WritePlan::Bitwise(out) => {
                into.copy_from_slice(out.bytes(std::slice::from_ref(value)));
                out.transform().swap(into);
                Ok(())
            }
            WritePlan::PerItem(encode) => encode.encode(value, into),
            WritePlan::Opaque(_) => unreachable!("a record's dtype has no objects"),
        }
    }
}

/// Encodes records one by one.
struct RecordEncoder<R> {
    slots: Vec<Box<dyn FieldWriter<R>>>,
    has_padding: bool,
}

impl<R: RecordType> ItemEncoder<R> for RecordEncoder<R> {
    fn encode(&self, item: &R, into: &mut [u8]) -> Result<()> {
        self.encode_all(std::slice::from_ref(item), into.len(), into)
    }

    fn encode_all(&self, items: &[R], size: usize, into: &mut [u8]) -> Result<()> {
        if self.has_padding {
            into.fill(0);
        }
        if size == 0 {
            return Ok(());
        }
        let group = records_per_block(size + size_of::<R>());
        let records = into.chunks_mut(group * size);
        for (items, records) in items.chunks(group).zip(records) {
            self.slots.iter().try_for_each(|slot| slot.write(items, size, records))?;
        }
        Ok(())
    }
}
