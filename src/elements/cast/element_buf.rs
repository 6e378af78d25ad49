//! [`ElementBuf`]: memory for elements that are made one after another, and [`StructAssembler`]: structs that are made field by field.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::slice;

use super::super::ItemDecoder;
use super::{Bitwise, RecordType};
use crate::error::{Fault, Result};

/// Memory that is filled with elements, from its beginning.
///
/// Unless they are taken over, the elements are dropped with it, as after an error or a panic.
#[derive(Debug)]
pub struct ElementBuf<'a, T> {
    memory: &'a mut [MaybeUninit<T>],
    /// How many places at the beginning have an element.
    count: usize,
}

impl<'a, T> ElementBuf<'a, T> {
    pub(crate) fn new(memory: &'a mut [MaybeUninit<T>]) -> Self {
        Self { memory, count: 0 }
    }

    /// Returns how many places are left.
    pub fn left(&self) -> usize {
        self.memory.len() - self.count
    }

    /// Fills the next place.
    ///
    /// # Panics
    ///
    /// If none is left.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.memory[self.count].write(item);
        self.count += 1;
    }

    /// Fills the next places with elements, until there are no more of one or the other.
    #[inline]
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        let rest = &mut self.memory[self.count..];
        if needs_drop::<T>() {
            // Counted one by one, because `items` may panic.
            for (place, item) in rest.iter_mut().zip(items) {
                place.write(item);
                self.count += 1;
            }
        } else {
            let mut filled = 0;
            for (place, item) in rest.iter_mut().zip(items) {
                place.write(item);
                filled += 1;
            }
            self.count += filled;
        }
    }

    /// Assembles structs from the fields of `count` records of `record` bytes.
    pub(in crate::elements) fn assemble(
        &mut self,
        columns: &[Box<dyn FieldReader<T>>],
        records: &[u8],
        record: usize,
        count: usize,
    ) -> Result<()>
    where
        T: RecordType,
    {
        assert!(records.len() >= count.saturating_mul(record), "records of this size");
        let memory = &mut self.memory[self.count..][..count];
        let mut structs = StructAssembler {
            memory: memory.as_mut_ptr().cast(),
            records: (records.as_ptr(), record),
            count,
            placed: Vec::new(),
            borrowed: PhantomData,
        };
        columns.iter().try_for_each(|column| column.read_into(&mut structs))?;
        structs.placed.clear(); // the fields belong to the structs now
        // By the contract of `RecordType`, these columns are those of all fields.
        self.count += count;
        Ok(())
    }

    /// Fills all places in parts of `part` places; `fill` has to fill each of them.
    ///
    /// # Panics
    ///
    /// If a part has not been filled.
    pub(crate) fn fill_parts(
        &mut self,
        part: usize,
        fill: impl FnOnce(&mut [ElementBuf<'_, T>]) -> Result<()>,
    ) -> Result<()> {
        let rest = &mut self.memory[self.count..];
        let (total, starts) = (rest.len(), rest.as_ptr());
        let mut parts: Vec<ElementBuf<'_, T>> = rest.chunks_mut(part).map(ElementBuf::new).collect();
        fill(&mut parts)?;
        let is_next = |(number, places): (usize, &ElementBuf<'_, T>)| {
            places.left() == 0 && places.memory.as_ptr() == starts.wrapping_add(number * part)
        };
        assert!(parts.iter().enumerate().all(is_next), "an element for each place");
        // Until here, each part drops its elements, as after an error or a panic.
        for places in parts {
            let _ = places.into_raw_parts();
        }
        self.count += total;
        Ok(())
    }

    /// Leaves the elements to the owner of the memory, and returns how many there are, and where.
    pub(crate) fn into_raw_parts(self) -> (*const T, usize) {
        let this = ManuallyDrop::new(self);
        (this.memory.as_ptr().cast(), this.count)
    }
}

impl<T> Drop for ElementBuf<'_, T> {
    fn drop(&mut self) {
        for place in &mut self.memory[..self.count] {
            // SAFETY: the first `count` places have elements, and nothing else drops them.
            unsafe { place.assume_init_drop() };
        }
    }
}

/// Appends exactly `count` elements, which `make` makes, to a vector.
///
/// If it fails, the vector stays as it is.
///
/// # Panics
///
/// If `make` makes fewer.
pub(crate) fn append<T>(
    items: &mut Vec<T>,
    count: usize,
    make: &mut dyn FnMut(&mut ElementBuf<'_, T>) -> Result<()>,
) -> Result<()> {
    let bytes = count.saturating_mul(size_of::<T>());
    items.try_reserve(count).map_err(|_| Fault::OutOfMemory { bytes: bytes as u64 })?;
    let total = items.len() + count;
    let memory = &mut items.spare_capacity_mut()[..count];
    let first = memory.as_ptr().cast();
    let mut places = ElementBuf::new(memory);
    make(&mut places)?;
    assert_eq!(places.left(), 0, "an element for each place");
    assert_eq!(places.into_raw_parts(), (first, count), "it is the memory of the vector");
    // SAFETY: the capacity has been reserved, and each of the places has an element.
    unsafe { items.set_len(total) };
    Ok(())
}

/// Returns the elements of `count` items.
pub(in crate::elements) fn decode_to_vec<T>(
    decode: &dyn ItemDecoder<T>,
    items: &mut [u8],
    count: usize,
) -> Result<Vec<T>> {
    let mut made = Vec::new();
    append(&mut made, count, &mut |places| decode.decode(items, count, places))?;
    Ok(made)
}

/// A field of the structs `R`, with the type and the place that it has there.
///
/// It is implemented only by the column of a field, which is made from its address.
pub(in crate::elements) trait FieldReader<R>: Send + Sync {
    /// Gives the field of each struct its value, which it has not got yet.
    ///
    /// # Errors
    ///
    /// An error such as [`Malformed`](crate::error::ErrorKind::Malformed) if the bytes of a field are invalid. It names the field and the element.
    fn read_into(&self, structs: &mut StructAssembler<'_, R>) -> Result<()>;
}

/// Structs that are assembled from records, field by field, and the records.
#[derive(Debug)]
pub(in crate::elements) struct StructAssembler<'a, R> {
    memory: *mut u8,
    /// The first record, and the size of each.
    records: (*const u8, usize),
    count: usize,
    /// The fields that have to be dropped if another one fails.
    placed: Vec<PlacedField>,
    borrowed: PhantomData<(&'a mut [MaybeUninit<R>], &'a [u8])>,
}

/// A field that has a value in each struct, and that needs to be dropped.
#[derive(Debug)]
struct PlacedField {
    /// Its offset in the struct.
    offset: usize,
    drop_field: unsafe fn(*mut u8),
}

/// Where a field of type `F` is in the struct `R`.
pub(in crate::elements) struct FieldOffset<R, F> {
    offset: usize,
    types: PhantomData<fn(R, F)>,
}

impl<R, F> FieldOffset<R, F> {
    /// Finds it from the function that returns the address of the field from that of the struct.
    ///
    /// By the contract of [`RecordType`], the function does that.
    pub(in crate::elements) fn of(address: fn(*const R) -> *const F) -> Self {
        let record = Box::<R>::new_uninit(); // not on the stack, for which a struct can be too large
        let offset = address(record.as_ptr()).addr() - record.as_ptr().addr();
        Self { offset, types: PhantomData }
    }

    pub(in crate::elements) fn offset(&self) -> usize {
        self.offset
    }
}

impl<R> StructAssembler<'_, R> {
    pub(in crate::elements) fn count(&self) -> usize {
        self.count
    }

    /// Returns the records and the size of each.
    pub(in crate::elements) fn records(&self) -> (&[u8], usize) {
        let (first, record) = self.records;
        // SAFETY: there are as many records, which are borrowed for as long as this.
        (unsafe { slice::from_raw_parts(first, self.count * record) }, record)
    }

    /// Moves values into a field of the structs, which by the contract of [`RecordType`] is placed only once.
    ///
    /// # Panics
    ///
    /// If there is not one for each struct.
    pub(in crate::elements) fn place<F>(&mut self, to: &FieldOffset<R, F>, mut items: Vec<F>) {
        assert_eq!(items.len(), self.count, "a decoder returns the requested number of elements");
        // Moved as bytes, because a value may be too large for the stack.
        for (index, value) in items.iter().enumerate() {
            let (value, field) =
                (std::ptr::from_ref(value).cast::<u8>(), self.field_address(to.offset, index));
            // SAFETY: the struct is one of those in the memory, and the field is within it.
            unsafe { field.copy_from_nonoverlapping(value, size_of::<F>()) };
        }
        // SAFETY: the values belong to the structs now, and the vector must not drop them.
        unsafe { items.set_len(0) };
        self.register_drop(to);
    }

    /// Notes that each struct has a value in this field.
    fn register_drop<F>(&mut self, placed: &FieldOffset<R, F>) {
        if needs_drop::<F>() {
            // SAFETY: called with the address of a field that has been placed.
            let drop_field = |field: *mut u8| drop(unsafe { field.cast::<F>().read_unaligned() });
            self.placed.push(PlacedField { offset: placed.offset, drop_field });
        }
    }

    /// Returns the address of what is at an offset of a struct.
    fn field_address(&self, offset: usize, index: usize) -> *mut u8 {
        self.memory.wrapping_add(index * size_of::<R>() + offset)
    }

    /// Copies a field of each record into its struct.
    ///
    /// Returns `false`, without copying, if the bytes need more than to be reversed, or have to be reversed and are not 2, 4,
    /// 8 or 16.
    ///
    /// # Panics
    ///
    /// If the field is not within the record.
    pub(in crate::elements) fn try_copy<F>(
        &mut self,
        from: usize,
        to: &FieldOffset<R, F>,
        bitwise: &Bitwise<F>,
    ) -> bool {
        let (size, swap) = match bitwise.transform.as_identity_or_reversal() {
            Some(swap) => (size_of::<F>(), swap),
            None => return false,
        };
        assert!(self.records.1.checked_sub(from).is_some_and(|rest| size <= rest), "a field of the record");
        match (size, swap) {
            (0, _) => {}
            (1, _) => self.copy_units::<1, false>(from, to.offset),
            (2, false) => self.copy_units::<2, false>(from, to.offset),
            (4, false) => self.copy_units::<4, false>(from, to.offset),
            (8, false) => self.copy_units::<8, false>(from, to.offset),
            (16, false) => self.copy_units::<16, false>(from, to.offset),
            (2, true) => self.copy_units::<2, true>(from, to.offset),
            (4, true) => self.copy_units::<4, true>(from, to.offset),
            (8, true) => self.copy_units::<8, true>(from, to.offset),
            (16, true) => self.copy_units::<16, true>(from, to.offset),
            (_, true) => return false,
            (size, false) => {
                let (first, record) = self.records;
                for index in 0..self.count {
                    let source = first.wrapping_add(index * record + from);
                    // SAFETY: both fields have this size, and are within the record and the struct.
                    unsafe { self.field_address(to.offset, index).copy_from_nonoverlapping(source, size) };
                }
            }
        }
        self.register_drop(to);
        true
    }

    /// Copies fields of a size that is known when this is compiled, so that each takes a load and a store.
    fn copy_units<const SIZE: usize, const SWAP: bool>(&mut self, from: usize, to: usize) {
        let (first, record) = self.records;
        for index in 0..self.count {
            let source = first.wrapping_add(index * record + from).cast::<[u8; SIZE]>();
            // SAFETY: as in `try_copy`, its only caller. An array of bytes needs no alignment.
            let mut unit = unsafe { source.read() };
            if SWAP {
                unit.reverse();
            }
            // SAFETY: as above.
            unsafe { self.field_address(to, index).cast::<[u8; SIZE]>().write(unit) };
        }
    }
}

impl<R> Drop for StructAssembler<'_, R> {
    fn drop(&mut self) {
        for PlacedField { offset, drop_field } in std::mem::take(&mut self.placed) {
            for index in 0..self.count {
                // SAFETY: this field of each struct has been placed, and no struct was made of it.
                unsafe { drop_field(self.field_address(offset, index)) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::append;
    use crate::error::{Error, Fault};

    #[test]
    fn elements_are_appended_all_or_none() {
        let counted = Arc::new(());
        let mut items = vec![Arc::clone(&counted)];
        append(&mut items, 3, &mut |places| {
            places.push(Arc::clone(&counted));
            places.extend(std::iter::repeat(Arc::clone(&counted)));
            Ok(())
        })
        .unwrap();
        assert_eq!((items.len(), Arc::strong_count(&counted)), (4, 5));
        let failed = append(&mut items, 3, &mut |places| {
            places.push(Arc::clone(&counted));
            Err(Error::from(Fault::Cancelled))
        });
        assert!(failed.is_err());
        assert_eq!((items.len(), Arc::strong_count(&counted)), (4, 5));
    }

    #[test]
    #[should_panic(expected = "an element for each place")]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn append_of_too_few_elements_panics() {
        let _ = append(&mut Vec::new(), 2, &mut |places| {
            places.push(String::new());
            Ok(())
        });
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn append_of_too_many_elements_panics() {
        let _ = append(&mut Vec::new(), 1, &mut |places| {
            places.extend(["first".to_owned()]);
            places.push(String::new());
            Ok(())
        });
    }
}
