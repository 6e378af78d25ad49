//! The only place that reinterprets bytes as elements and elements as bytes, but for maps, which keep the views that they have checked here.
//!
//! Two tokens are proofs about a type: [`Bitwise`] (bytes that pass the check are valid elements) and
//! [`BitwiseOut`] (all bytes of an element are initialized). They are created only where `bytemuck`'s traits
//! prove it, or from the tokens of a struct's fields, or of the element that a newtype or an enum has in memory; everything else here trusts them. [`UncheckedVec`] is
//! memory that is being filled with elements: its bytes are loaded and checked block by block, and it becomes a `Vec` only when every byte has passed the check.
//! [`ElementBuf`] is memory for elements that are made one after another, and [`StructAssembler`] makes structs field by field.
#![allow(unsafe_code)]

mod element_buf;
mod strided_bytes;
mod unchecked_vec;
mod view;
mod wrapped;

use std::marker::PhantomData;
use std::slice;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
pub(crate) use element_buf::ElementBuf;
pub(crate) use element_buf::append;
pub(super) use element_buf::{FieldOffset, FieldReader, StructAssembler, decode_to_vec};
pub(crate) use strided_bytes::{StridedBlockMut, StridedBytes};
pub(crate) use unchecked_vec::{Loading, MemoryPart, UncheckedVec};
pub(crate) use view::{StridedLayout, view, view_mut, view_strided, view_strided_mut};
pub(super) use wrapped::inner_slice;
pub use wrapped::{Enumeration, Markers, Newtype};

use super::record::{FieldsRead, FieldsWritten, RecordSpec};
use super::time::units::Unit;
use super::transform::{ByteTransform, ExplainFn};
use super::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, ViewMutElement, Void};
use crate::bytes::ReadBuf;
use crate::dtype::DType;
use crate::error::{CopyReason, Fault, Result};
use crate::options::WriteOptions;

// What bytemuck cannot know by itself: any bytes are valid for the library's own types.

// SAFETY: transparent over an array of bytes, for which any bit pattern is valid.
unsafe impl<const N: usize> Zeroable for Void<N> {}
// SAFETY: as above, and without padding.
unsafe impl<const N: usize> Pod for Void<N> {}
// SAFETY: as for Void.
unsafe impl<const N: usize> Zeroable for Bytes<N> {}
// SAFETY: as for Void.
unsafe impl<const N: usize> Pod for Bytes<N> {}
// SAFETY: transparent over an array of integers, for which any bit pattern is valid.
unsafe impl<const N: usize> Zeroable for Chars<N> {}
// SAFETY: as above, and without padding.
unsafe impl<const N: usize> Pod for Chars<N> {}
// SAFETY: transparent over an array of bytes.
unsafe impl Zeroable for LongDouble {}
// SAFETY: as above, and without padding.
unsafe impl Pod for LongDouble {}
/// Declares types that are transparent over a byte.
#[cfg(feature = "narrow")]
macro_rules! bytes {
    ($($type:ident)*) => {$(
        // SAFETY: transparent over a byte, for which any bit pattern is valid.
        unsafe impl Zeroable for super::narrow::$type {}
        // SAFETY: as above, and without padding.
        unsafe impl Pod for super::narrow::$type {}
    )*};
}

#[cfg(feature = "narrow")]
bytes! {
    Float8E3M4 Float8E4M3 Float8E4M3B11Fnuz Float8E4M3Fn Float8E4M3Fnuz Float8E5M2 Float8E5M2Fnuz Float8E8M0Fnu
    Float6E2M3Fn Float6E3M2Fn Float4E2M1Fn Int1 Int2 Int4 Uint1 Uint2 Uint4
}

// SAFETY: transparent over an integer; the unit is a marker without size or alignment.
unsafe impl<U: Unit> Zeroable for Datetime64<U> {}
// SAFETY: as above, and without padding.
unsafe impl<U: Unit> Pod for Datetime64<U> {}
// SAFETY: as for Datetime64.
unsafe impl<U: Unit> Zeroable for Timedelta64<U> {}
// SAFETY: as for Datetime64.
unsafe impl<U: Unit> Pod for Timedelta64<U> {}

/// A struct whose fields are elements, as described by `derive(Record)`.
///
/// # Safety
///
/// For each field of the struct, `columns` calls [`FieldsRead::column`], [`FieldsRead::column_or`],
/// [`FieldsRead::flat`] or, if it is not stored in files, [`FieldsRead::made`], exactly once before it returns `Ok`, with
/// the type of the field and a function that returns its address. `slots` calls [`FieldsWritten::slot`] or [`FieldsWritten::flat`] in the same way, and
/// `skip` if a field is not stored.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    label = "not a struct that derives Record",
    note = "only a struct that derives Record can be flattened"
)]
pub unsafe trait RecordType: Sized + Send + Sync + 'static {
    /// The layout of the record in a file.
    const SPEC: &'static RecordSpec;

    /// Looks up the fields in a file's record, in the order of the struct.
    fn columns(fields: &mut FieldsRead<'_, Self>) -> Result<()>;

    /// Fails if a text does not fit its field.
    fn check(&self, options: &WriteOptions) -> Result<()>;

    /// Assigns each field its position in the file's record, in the order of the struct.
    fn slots(fields: &mut FieldsWritten<'_, Self>);
}

/// The proof that bytes are valid elements of type `T` once they have passed the check, if one is needed.
#[doc(hidden)]
pub struct Bitwise<T> {
    transform: ByteTransform,
    /// Whether `T` has no padding. Only then may its memory be changed as bytes.
    has_no_padding: bool,
    type_: PhantomData<fn() -> T>,
}

impl<T> Bitwise<T> {
    /// Creates the token for a type for which any bytes are valid. With `swap`, each unit is reversed.
    pub(super) fn pod(unit: usize, swap: bool) -> Self
    where
        T: Pod,
    {
        Self {
            transform: ByteTransform::units(size_of::<T>(), unit, swap),
            has_no_padding: true,
            type_: PhantomData,
        }
    }

    /// Creates the token for a type for which some bytes are invalid.
    pub(super) fn checked(explain: ExplainFn) -> Self
    where
        T: CheckedBitPattern + NoUninit,
    {
        Self { transform: ByteTransform::check::<T>(explain), has_no_padding: true, type_: PhantomData }
    }

    /// Returns the token for arrays of such elements.
    pub(super) fn repeated<const N: usize>(&self) -> Bitwise<[T; N]> {
        // The elements of an array are contiguous, without padding between them.
        Bitwise {
            transform: self.transform.repeated(size_of::<[T; N]>()),
            has_no_padding: self.has_no_padding,
            type_: PhantomData,
        }
    }

    /// Creates the token for records whose fields have the same offsets in the file as in memory.
    pub(super) fn record(fields: FieldsRead<'_, T>) -> Option<Self>
    where
        T: RecordType,
    {
        let (transform, unpadded_size) = fields.into_transform(size_of::<T>())?;
        // By the contract of RecordType, these are all fields of T. If they are valid elements, so is the T,
        // since padding may contain any bytes.
        Some(Self { transform, has_no_padding: unpadded_size == Some(size_of::<T>()), type_: PhantomData })
    }

    pub(super) fn transform(&self) -> &ByteTransform {
        &self.transform
    }

    /// Returns the same token once more.
    #[cfg(feature = "mmap")]
    pub(crate) fn duplicate(&self) -> Self {
        Self { transform: self.transform.clone(), ..*self }
    }

    /// Returns the size of an element if it has no padding, or `None`.
    pub(super) fn unpadded_size(&self) -> Option<usize> {
        self.has_no_padding.then_some(size_of::<T>())
    }

    /// Fails if changing elements of this dtype in place could write uninitialized bytes.
    ///
    /// `IS_FULL` reports padding at compile time, with a clear message, but any crate can implement its trait:
    /// the token is authoritative.
    pub(crate) fn check_no_padding(&self, found: &DType) -> Result<()>
    where
        T: ViewMutElement,
    {
        const { T::IS_FULL };
        match self.has_no_padding {
            true => Ok(()),
            false => Err(Fault::NeedsCopy(CopyReason::Layout { found: found.clone() }).into()),
        }
    }

    /// Returns whether the file has the other byte order, which means that the elements must be copied.
    pub(crate) fn needs_swap(&self) -> bool {
        self.transform.needs_swap()
    }

    /// Returns whether blocks are processed again after loading, and should therefore fit the cache.
    pub(crate) fn needs_transform(&self) -> bool {
        self.transform.is_needed()
    }

    /// Creates `count` elements from the bytes that `load` fills in.
    pub(crate) fn make(
        &self,
        count: usize,
        load: &mut dyn FnMut(&mut ReadBuf<'_>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let mut items = UncheckedVec::new(self);
        let mut loading = items.loading();
        let mut part = loading.start(count, false)?;
        let mut block = part.next_block(usize::MAX);
        load(block.buf())?;
        block.commit()?;
        Ok(items.finish())
    }

    /// Returns the memory of existing elements as a part, to load new elements into.
    ///
    /// Returns `None` if the elements have padding, need a check (they would contain unchecked bytes during
    /// loading), or need to be dropped.
    pub(crate) fn as_part<'a>(&'a self, items: &'a mut [T]) -> Option<MemoryPart<'a>> {
        if !self.has_no_padding || self.transform.needs_check() || std::mem::needs_drop::<T>() {
            return None;
        }
        let length = size_of_val(items);
        // SAFETY: T has no padding and needs no check, so its bytes are initialized and may be overwritten
        // with any others, of which a part writes only initialized ones. The slice is borrowed for as long as the
        // bytes are.
        let rest = unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast(), length) };
        // SAFETY: as above, all bytes are initialized.
        Some(unsafe { MemoryPart::from_init(rest, &self.transform) })
    }
}

impl<T> std::fmt::Debug for Bitwise<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bitwise")
    }
}

/// The proof that all bytes of elements of type `T` are initialized.
#[doc(hidden)]
pub struct BitwiseOut<T> {
    transform: ByteTransform,
    type_: PhantomData<fn(T)>,
}

impl<T> BitwiseOut<T> {
    pub(super) fn new(unit: usize, swap: bool) -> Self
    where
        T: NoUninit,
    {
        Self { transform: ByteTransform::units(size_of::<T>(), unit, swap), type_: PhantomData }
    }

    /// Returns the token for arrays of such elements.
    pub(super) fn repeated<const N: usize>(&self) -> BitwiseOut<[T; N]> {
        BitwiseOut { transform: self.transform.repeated(size_of::<[T; N]>()), type_: PhantomData }
    }

    /// Creates the token for records without padding that have the same layout in the file as in memory.
    pub(super) fn record(fields: FieldsWritten<'_, T>) -> Option<Self>
    where
        T: RecordType,
    {
        let (transform, unpadded_size) = fields.into_transform(size_of::<T>())?;
        // By the contract of RecordType, these are all fields of T; without padding, they fill it.
        (unpadded_size == Some(size_of::<T>())).then_some(Self { transform, type_: PhantomData })
    }

    /// Returns what puts the bytes into the order of the file.
    pub(crate) fn transform(&self) -> &ByteTransform {
        &self.transform
    }

    /// Returns the memory of elements as bytes.
    #[inline]
    pub(crate) fn bytes<'a>(&self, items: &'a [T]) -> &'a [u8] {
        // SAFETY: T has no uninitialized bytes and no interior mutability: it is NoUninit (see `new`) or made
        // of such types.
        unsafe { slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) }
    }
}

#[cfg(test)]
mod tests {
    use super::Bitwise;

    #[test]
    #[should_panic(expected = "all of this memory must be filled")]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn memory_that_is_not_filled_gives_no_elements() {
        let _ = Bitwise::<u32>::pod(4, false).make(2, &mut |made| {
            made.copy(&[1; 7]);
            Ok(())
        });
    }
}
