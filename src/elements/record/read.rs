//! Reads records: in bulk if their layout is the same in the file and in memory, otherwise field by field, for a group of records
//! at a time.

use super::super::cast::{
    Bitwise, ElementBuf, FieldOffset, FieldReader, RecordType, StructAssembler, append, decode_to_vec,
};
use super::super::transform::{ByteTransform, FieldTransform};
use super::super::{ItemDecoder, ReadPlan, mismatch};
use super::spec::RecordSpec;
use super::{RecordField, records_per_block};
use crate::dtype::{DType, Record};
use crate::error::{Fault, Result};
use crate::options::{ReadOptions, WriteOptions};

/// Returns the plan for reading records of this dtype.
///
/// # Errors
///
/// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the elements are not records, a field has another type, the file lacks a field of
/// the struct, or the struct one of the file, and the options do not ignore extra fields.
pub fn read_plan<R: RecordType>(found: &DType, options: &ReadOptions) -> Result<ReadPlan<R>> {
    let own;
    let record = match (found, options.raw_record_byte_order) {
        (DType::Record(record), _) => record,
        // Some formats store records as raw bytes. For these, only the size can be compared.
        (_, Some(order))
            if found.item_size() == R::SPEC.file_layout().size && !R::SPEC.file_layout().lacks_len =>
        {
            own = R::SPEC.dtype(&WriteOptions::new())?.with_byte_order(order);
            let DType::Record(record) = &own else { unreachable!("the dtype of a record") };
            record
        }
        _ => return Err(mismatch(found, R::SPEC.dtype(&WriteOptions::for_dtype_display())?, false)),
    };
    let mut fields = FieldsRead::<R> {
        record,
        spec: R::SPEC,
        options,
        next_field: 0,
        base_offset: 0,
        is_found: vec![false; record.fields().len()],
        transforms: Some(Vec::new()),
        unpadded_size: Some(0),
        columns: Vec::new(),
    };
    R::columns(&mut fields)?;
    fields.check_extra_fields()?;
    let columns = std::mem::take(&mut fields.columns);
    Ok(match Bitwise::record(fields) {
        Some(bitwise) => ReadPlan::Bitwise(bitwise),
        None => ReadPlan::PerItem(Box::new(RecordDecoder::<R> { columns, record_size: record.size() })),
    })
}

/// A file's record while the fields of the struct `R` are being looked up in it.
pub struct FieldsRead<'a, R> {
    record: &'a Record,
    spec: &'static RecordSpec,
    options: &'a ReadOptions,
    next_field: usize,
    /// The offset of the struct in memory, within the struct that it is flattened into.
    base_offset: usize,
    /// Whether each field of the file has been found.
    is_found: Vec<bool>,
    /// The transforms of the fields so far, if all are bitwise and have the same offsets in both layouts.
    transforms: Option<Vec<FieldTransform>>,
    /// The number of bytes that the fields so far occupy in memory, if none of them has padding.
    unpadded_size: Option<usize>,
    /// The fields so far.
    columns: Vec<Box<dyn FieldReader<R>>>,
}

impl<R: 'static> FieldsRead<'_, R> {
    /// Looks up the struct's next field. `address` returns its address from that of the struct.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the file lacks the field or the file's field has another
    /// type.
    #[inline(never)] // there may be hundreds of fields
    pub fn column<F: RecordField>(&mut self, address: fn(*const R) -> *const F) -> Result<()> {
        let name = self.spec.fields[self.next_field].name;
        match self.add_if_found(FieldOffset::of(address))? {
            true => Ok(()),
            false => {
                Err(Fault::MissingField { field: name.into(), found: self.record.clone().into() }.into())
            }
        }
    }

    /// Looks up a field that the file may lack. If it does, `make` creates the values.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the file's field has another type.
    #[inline(never)]
    pub fn column_or<F: RecordField>(
        &mut self,
        address: fn(*const R) -> *const F,
        make: fn() -> F,
    ) -> Result<()> {
        if !self.add_if_found(FieldOffset::of(address))? {
            self.made(address, make);
        }
        Ok(())
    }

    /// Adds a field that is not in the file, whose values `make` creates.
    #[inline(never)]
    pub fn made<F: 'static>(&mut self, address: fn(*const R) -> *const F, make: fn() -> F) {
        self.transforms = None; // records cannot be copied in bulk
        self.add("", (0, 0), FieldOffset::of(address), Origin::Made(make));
    }

    /// Looks up the fields of a flattened struct, which are fields of the record itself.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the file lacks a field or one of its fields has another
    /// type.
    pub fn flat<F: RecordType>(&mut self, address: fn(*const R) -> *const F) -> Result<()> {
        self.next_field += 1;
        let to = FieldOffset::of(address);
        let mut fields = FieldsRead::<F> {
            record: self.record,
            spec: F::SPEC,
            options: self.options,
            next_field: 0,
            base_offset: self.base_offset + to.offset(),
            is_found: std::mem::take(&mut self.is_found),
            transforms: self.transforms.take(),
            unpadded_size: self.unpadded_size,
            columns: Vec::new(),
        };
        F::columns(&mut fields)?;
        (self.is_found, self.transforms, self.unpadded_size) =
            (fields.is_found, fields.transforms, fields.unpadded_size);
        let size = self.record.size();
        let plan =
            ReadPlan::PerItem(Box::new(RecordDecoder::<F> { columns: fields.columns, record_size: size }));
        self.add("", (0, size), to, Origin::Stored(plan));
        Ok(())
    }

    /// Looks up the next field, and returns whether the file has it.
    fn add_if_found<F: RecordField>(&mut self, to: FieldOffset<R, F>) -> Result<bool> {
        let spec = &self.spec.fields[self.next_field];
        self.next_field += 1;
        let name = spec.name;
        let named = |name: &str| self.record.index_of_name(name);
        let Some(index) = named(name).or_else(|| spec.aliases.iter().copied().find_map(named)) else {
            return Ok(false);
        };
        self.is_found[index] = true;
        let found = &self.record.fields()[index];
        let plan = F::read_plan(found.dtype(), self.options).map_err(|error| error.at_field(name))?;
        if matches!(plan, ReadPlan::Opaque(_)) {
            return Err(mismatch(found.dtype(), found.dtype().clone(), false).at_field(name));
        }
        let offset = self.base_offset + to.offset();
        match (&plan, &mut self.transforms) {
            (ReadPlan::Bitwise(bitwise), Some(transforms)) if found.offset() == offset => {
                transforms.push(FieldTransform {
                    name,
                    offset,
                    size: size_of::<F>(),
                    transform: bitwise.transform().clone(),
                });
                self.unpadded_size = self
                    .unpadded_size
                    .zip(bitwise.unpadded_size())
                    .map(|(unpadded_size, more)| unpadded_size + more);
            }
            _ => self.transforms = None,
        }
        self.add(name, (found.offset(), found.dtype().item_size()), to, Origin::Stored(plan));
        Ok(true)
    }

    fn add<F: 'static>(
        &mut self,
        name: &'static str,
        (offset, size): (usize, usize),
        to: FieldOffset<R, F>,
        origin: Origin<F>,
    ) {
        self.columns.push(Box::new(Column { name, offset, size, target: to, origin }));
    }

    /// Fails if the file has fields that the struct lacks, unless the options ignore them.
    fn check_extra_fields(&self) -> Result<()> {
        let mut rest = self.record.fields().iter().zip(&self.is_found).filter(|(_, is_taken)| !**is_taken);
        match rest.next() {
            Some((field, _)) if !self.options.ignore_extra_fields => {
                Err(Fault::ExtraField { field: field.name().to_owned() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the transform for records of `size` bytes, or `None` if they cannot be copied in bulk.
    ///
    /// The second value is the total size of the fields, or `None` if one of them has padding.
    pub(in crate::elements) fn into_transform(self, size: usize) -> Option<(ByteTransform, Option<usize>)> {
        let transforms = self.transforms.filter(|_| self.record.size() == size)?;
        Some((ByteTransform::fields(size, transforms), self.unpadded_size))
    }
}

/// A field of the struct `R`: where its values come from, and where they go.
struct Column<R, F> {
    name: &'static str,
    offset: usize,
    size: usize,
    target: FieldOffset<R, F>,
    origin: Origin<F>,
}

/// The source of a field's values.
enum Origin<F> {
    Stored(ReadPlan<F>),
    Made(fn() -> F),
}

/// A function of its own, because its frame has one of the values, which may be too large for the stack.
#[inline(never)]
fn create_items<F>(make: fn() -> F, count: usize) -> Vec<F> {
    (0..count).map(|_| make()).collect()
}

impl<R, F> FieldReader<R> for Column<R, F> {
    fn read_into(&self, structs: &mut StructAssembler<'_, R>) -> Result<()> {
        let count = structs.count();
        let values = match &self.origin {
            Origin::Made(make) => Ok(create_items(*make, count)),
            Origin::Stored(ReadPlan::Bitwise(bitwise)) => {
                if structs.try_copy(self.offset, &self.target, bitwise) {
                    return Ok(());
                }
                bitwise.make(count, &mut |buf| {
                    let gather = |into: &mut [u8]| {
                        self.gather(structs.records(), into);
                        Ok(into.len())
                    };
                    buf.read_with(usize::MAX, gather).map(drop)
                })
            }
            Origin::Stored(ReadPlan::Converted(token, conversion)) => {
                let mut column = self.gathered(structs, count);
                token.make(count, &mut |made| conversion.convert(&mut column, count, made))
            }
            Origin::Stored(ReadPlan::PerItem(decode)) => {
                decode_to_vec(&**decode, &mut self.gathered(structs, count), count)
            }
            Origin::Stored(ReadPlan::Opaque(_)) => unreachable!("`column` takes none"),
        };
        structs.place(&self.target, values.map_err(|error| error.at_field(self.name))?);
        Ok(())
    }
}

impl<R, F> Column<R, F> {
    /// Returns the field of each record.
    fn gathered(&self, structs: &StructAssembler<'_, R>, count: usize) -> Vec<u8> {
        let mut column = vec![0; count * self.size];
        self.gather(structs.records(), &mut column);
        column
    }

    /// Copies the field from each record.
    fn gather(&self, (records, record): (&[u8], usize), into: &mut [u8]) {
        // Both sizes are at least 1, or there is nothing to copy.
        for (record, into) in records.chunks_exact(record.max(1)).zip(into.chunks_exact_mut(self.size.max(1)))
        {
            into.copy_from_slice(&record[self.offset..][..self.size]);
        }
    }
}

/// Decodes records whose layout differs from that of the struct.
struct RecordDecoder<R> {
    columns: Vec<Box<dyn FieldReader<R>>>,
    record_size: usize,
}

impl<R: RecordType> RecordDecoder<R> {
    fn decode(&self, records: &[u8], count: usize, out: &mut ElementBuf<'_, R>) -> Result<()> {
        let Err(mut first) = out.assemble(&self.columns, records, self.record_size, count) else {
            return Ok(());
        };
        // Fields are placed one after another: a later field may have a fault in an earlier record.
        while let Some(before @ 1..) = first.element().filter(|element| *element < count) {
            let mut read =
                |out: &mut ElementBuf<'_, R>| out.assemble(&self.columns, records, self.record_size, before);
            match append(&mut Vec::new(), before, &mut read) {
                Err(error) if error.element().is_some_and(|element| element < before) => first = error,
                _ => break,
            }
        }
        Err(first)
    }
}

impl<R: RecordType> ItemDecoder<R> for RecordDecoder<R> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, R>) -> Result<()> {
        let group = records_per_block(self.record_size + size_of::<R>());
        for first in (0..count).step_by(group) {
            let more = group.min(count - first);
            let records = &items[first * self.record_size..][..more * self.record_size];
            self.decode(records, more, out).map_err(|error| error.offset_element(first))?;
        }
        Ok(())
    }

    fn nanos_per_element(&self) -> u64 {
        2 * self.columns.len() as u64
    }
}
