//! Reads records: in bulk if their layout is the same in the file and in memory, otherwise column by column.

use std::vec;

use super::super::cast::{Bitwise, RecordType};
use super::super::transform::{ByteTransform, FieldTransform};
use super::super::{Decode, ReadPlan, mismatch};
use super::RecordField;
use super::spec::RecordSpec;
use crate::dtype::{DType, Record};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{ReadOptions, WriteOptions};

/// Returns the plan for reading records of this dtype.
///
/// # Errors
///
/// A [mismatch](crate::Error::is_mismatch), such as:
///
/// - [`ErrorKind::DTypeMismatch`]: the elements are not records, or a field has another type.
/// - [`ErrorKind::MissingField`]: the file lacks a field of the struct.
/// - [`ErrorKind::ExtraField`]: the file has a field that the struct lacks, and the options do not ignore
///   extra fields.
pub fn accept<R: RecordType>(found: &DType, options: &ReadOptions) -> Result<ReadPlan<R>> {
    let own;
    let record = match (found, options.composite_order()) {
        (DType::Record(record), _) => record,
        // Some formats store records as raw bytes. For these, only the size can be compared.
        (_, Some(order)) if found.item_size() == R::SPEC.file_layout().size => {
            own = R::SPEC.dtype(&WriteOptions::new())?.with_byte_order(order);
            let DType::Record(record) = &own else { unreachable!("the dtype of a record") };
            record
        }
        _ => return Err(mismatch(found, R::SPEC.dtype(&WriteOptions::new())?, false)),
    };
    let mut fields = FieldsRead {
        record,
        spec: R::SPEC,
        options,
        next: 0,
        base: 0,
        taken: vec![false; record.fields().len()],
        fixes: Some(Vec::new()),
        filled: Some(0),
    };
    let columns = R::columns(&mut fields)?;
    fields.check_rest()?;
    Ok(match Bitwise::record(fields) {
        Some(plain) => ReadPlan::Bitwise(plain),
        None => ReadPlan::PerItem(Box::new(Columns::<R> { columns, record: record.size() })),
    })
}

/// A file's record while a struct's fields are being looked up in it.
pub struct FieldsRead<'a> {
    record: &'a Record,
    spec: &'static RecordSpec,
    options: &'a ReadOptions,
    next: usize,
    /// The offset of the struct in memory, within the struct that it is flattened into.
    base: usize,
    /// Whether each field of the file has been found.
    taken: Vec<bool>,
    /// The transforms of the fields so far, if all are bitwise and have the same offsets in both layouts.
    fixes: Option<Vec<FieldTransform>>,
    /// The number of bytes that the fields so far occupy in memory, if none of them has padding.
    filled: Option<usize>,
}

impl FieldsRead<'_> {
    /// Looks up the struct's next field. `address` returns its address from that of the struct.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the file lacks the field or the file's field has another
    /// type.
    pub fn column<R, F: RecordField>(&mut self, address: fn(*const R) -> *const F) -> Result<Column<F>> {
        let name = self.spec.fields[self.next].name;
        let missing = || ErrorKind::MissingField { field: name.into(), found: self.record.clone().into() };
        let missing = Error::from(missing());
        self.found(offset_of(address)).and_then(|column| column.ok_or(missing))
    }

    /// Looks up a field that the file may lack. If it does, `make` creates the values.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the file's field has another type.
    pub fn column_or<R, F: RecordField>(
        &mut self,
        address: fn(*const R) -> *const F,
        make: fn() -> F,
    ) -> Result<Column<F>> {
        let name = self.spec.fields[self.next].name;
        if let Some(column) = self.found(offset_of(address))? {
            return Ok(column);
        }
        self.skip();
        Ok(Column { name, offset: 0, size: 0, origin: Origin::Made(make) })
    }

    /// Notes that a field of the struct is not in the file, so records cannot be copied in bulk.
    pub fn skip(&mut self) {
        self.fixes = None;
    }

    /// Looks up the fields of a flattened struct, which are fields of the record itself.
    ///
    /// # Errors
    ///
    /// A [mismatch](crate::Error::is_mismatch) if the file lacks a field or one of its fields has another
    /// type.
    pub fn flat<O, R: RecordType>(&mut self, address: fn(*const O) -> *const R) -> Result<Column<R>> {
        self.next += 1;
        let mut fields = FieldsRead {
            record: self.record,
            spec: R::SPEC,
            options: self.options,
            next: 0,
            base: self.base + offset_of(address),
            taken: std::mem::take(&mut self.taken),
            fixes: self.fixes.take(),
            filled: self.filled,
        };
        let columns = R::columns(&mut fields)?;
        (self.taken, self.fixes, self.filled) = (fields.taken, fields.fixes, fields.filled);
        let size = self.record.size();
        let how = ReadPlan::PerItem(Box::new(Columns::<R> { columns, record: size }));
        Ok(Column { name: "", offset: 0, size, origin: Origin::Stored(how) })
    }

    fn found<F: RecordField>(&mut self, offset: usize) -> Result<Option<Column<F>>> {
        let spec = &self.spec.fields[self.next];
        self.next += 1;
        let name = spec.name;
        let place = |name: &str| self.record.fields().iter().position(|field| field.name() == name);
        let Some(index) = place(name).or_else(|| spec.aliases.iter().copied().find_map(place)) else {
            return Ok(None);
        };
        self.taken[index] = true;
        let found = &self.record.fields()[index];
        let how = F::accept(found.dtype(), self.options).map_err(|error| error.at_field(name))?;
        if matches!(how, ReadPlan::Opaque(_)) {
            return Err(mismatch(found.dtype(), found.dtype().clone(), false).at_field(name));
        }
        let offset = self.base + offset;
        match (&how, &mut self.fixes) {
            (ReadPlan::Bitwise(plain), Some(fixes)) if found.offset() == offset => {
                fixes.push(FieldTransform { name, offset, size: size_of::<F>(), fix: plain.fix().clone() });
                self.filled = self.filled.zip(plain.filled()).map(|(filled, more)| filled + more);
            }
            _ => self.fixes = None,
        }
        let (offset, size) = (found.offset(), found.dtype().item_size());
        Ok(Some(Column { name, offset, size, origin: Origin::Stored(how) }))
    }

    /// Fails if the file has fields that the struct lacks, unless the options ignore them.
    fn check_rest(&self) -> Result<()> {
        let mut rest = self.record.fields().iter().zip(&self.taken).filter(|(_, is_taken)| !**is_taken);
        match rest.next() {
            Some((field, _)) if !self.options.get_ignore_extra_fields() => {
                Err(ErrorKind::ExtraField { field: field.name().to_owned() }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the transform for records of `size` bytes, or `None` if they cannot be copied in bulk.
    ///
    /// The second value is the total size of the fields, or `None` if one of them has padding.
    pub(in crate::element) fn into_fix(self, size: usize) -> Option<(ByteTransform, Option<usize>)> {
        let fixes = self.fixes.filter(|_| self.record.size() == size)?;
        Some((ByteTransform::fields(size, fixes), self.filled))
    }
}

/// Returns the offset of a field in memory, from the function that returns its address.
pub(super) fn offset_of<R, F>(address: fn(*const R) -> *const F) -> usize {
    let record = Box::<R>::new_uninit(); // not on the stack, for which a struct can be too large
    address(record.as_ptr()).addr() - record.as_ptr().addr()
}

/// A field of a file's records.
pub struct Column<F> {
    name: &'static str,
    offset: usize,
    size: usize,
    origin: Origin<F>,
}

/// The source of a field's values.
enum Origin<F> {
    Stored(ReadPlan<F>),
    Made(fn() -> F),
}

impl<F> Column<F> {
    /// Reads the field from `count` records of `record` bytes each.
    ///
    /// # Errors
    ///
    /// An error such as [`ErrorKind::BadBool`] if the bytes of a field are invalid. It names the field and
    /// the element.
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn read(&self, records: &[u8], record: usize, count: usize) -> Result<vec::IntoIter<F>> {
        let how = match &self.origin {
            Origin::Stored(how) => how,
            Origin::Made(make) => return Ok((0..count).map(|_| make()).collect::<Vec<_>>().into_iter()),
        };
        let fields = match how {
            ReadPlan::Bitwise(plain) => plain.make(count, |room| {
                let gather = |into: &mut [u8]| {
                    self.gather(records, record, into);
                    Ok(into.len())
                };
                room.read_with(usize::MAX, gather).map(drop)
            }),
            ReadPlan::PerItem(decode) => {
                let mut column = vec![0; count * self.size];
                self.gather(records, record, &mut column);
                let mut fields = Vec::with_capacity(count);
                decode.decode(&mut column, count, &mut fields).map(|()| fields)
            }
            ReadPlan::Opaque(_) => unreachable!("`column` takes none"),
        };
        let fields = fields.map_err(|error| error.at_field(self.name))?;
        assert_eq!(fields.len(), count, "a decoder returns the requested number of elements");
        Ok(fields.into_iter())
    }

    /// Copies the field from each record.
    fn gather(&self, records: &[u8], record: usize, into: &mut [u8]) {
        // With a constant size, the copy of a field compiles to one load and one store.
        match self.size {
            1 => gather::<1>(records, record, self.offset, into),
            2 => gather::<2>(records, record, self.offset, into),
            4 => gather::<4>(records, record, self.offset, into),
            8 => gather::<8>(records, record, self.offset, into),
            16 => gather::<16>(records, record, self.offset, into),
            0 => {}
            size => {
                for (record, into) in records.chunks_exact(record).zip(into.chunks_exact_mut(size)) {
                    into.copy_from_slice(&record[self.offset..][..size]);
                }
            }
        }
    }
}

/// Copies a field whose size is known at compile time.
fn gather<const N: usize>(records: &[u8], record: usize, offset: usize, into: &mut [u8]) {
    for (record, into) in records.chunks_exact(record).zip(into.as_chunks_mut::<N>().0) {
        if let Some(field) = record[offset..].first_chunk() {
            *into = *field;
        }
    }
}

/// Decodes records whose layout differs from that of the struct.
struct Columns<R: RecordType> {
    columns: R::Columns,
    record: usize,
}

impl<R: RecordType> Decode<R> for Columns<R> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut Vec<R>) -> Result<()> {
        let Err(mut first) = R::decode(&self.columns, items, self.record, count, out) else { return Ok(()) };
        // Columns are read one by one: a later column may have an earlier fault.
        while let Some(before @ 1..) = first.element().filter(|element| *element < count) {
            let items = &items[..before * self.record];
            match R::decode(&self.columns, items, self.record, before, &mut Vec::new()) {
                Err(error) if error.element().is_some_and(|element| element < before) => first = error,
                _ => break,
            }
        }
        Err(first)
    }
}
