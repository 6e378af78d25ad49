//! Bytes into elements, and elements into bytes: the only place that does so.
//!
//! Two tokens say what is known of a type. They are made only where `bytemuck`'s traits prove it, or of the tokens of a
//! struct's fields, and everything else here trusts them: [`Bitwise`] (memory that has passed the check is elements) and [`BitwiseOut`] (elements are bytes
//! through and through). [`UncheckedVec`] is memory for elements on its way: it is zeroed, its bytes are loaded and checked
//! block by block, and only when every byte has passed does it become a `Vec`.
#![allow(unsafe_code)]

mod unchecked;
mod view;
mod wrapped;

use std::marker::PhantomData;
use std::slice;

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use ndarray::ArrayView2;
pub(crate) use unchecked::{Part, UncheckedVec};
pub(crate) use view::{StridedLayout, view, view_mut, view_spread, view_spread_mut};
pub use wrapped::{Enumeration, Newtype};
pub(super) use wrapped::{inner, inner_slice, unwrap, variants, wrap};

use super::record::{FieldsRead, FieldsWritten, RecordSpec};
use super::time::units::Unit;
use super::transform::{ByteTransform, Explain};
use super::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void};
use crate::error::Result;
use crate::options::WriteOptions;

// What bytemuck cannot see for itself: that the library's own types are nothing but bytes.

// SAFETY: transparent over an array of bytes, which any bytes are valid for.
unsafe impl<const N: usize> Zeroable for Void<N> {}
// SAFETY: as above; and without padding.
unsafe impl<const N: usize> Pod for Void<N> {}
// SAFETY: as for Void.
unsafe impl<const N: usize> Zeroable for Bytes<N> {}
// SAFETY: as for Void.
unsafe impl<const N: usize> Pod for Bytes<N> {}
// SAFETY: transparent over an array of numbers, which any bytes are valid for.
unsafe impl<const N: usize> Zeroable for Chars<N> {}
// SAFETY: as above; and without padding.
unsafe impl<const N: usize> Pod for Chars<N> {}
// SAFETY: transparent over an array of bytes.
unsafe impl Zeroable for LongDouble {}
// SAFETY: as above; and without padding.
unsafe impl Pod for LongDouble {}
// SAFETY: transparent over a number; the unit is a marker without size or alignment.
unsafe impl<U: Unit> Zeroable for Datetime64<U> {}
// SAFETY: as above; and without padding.
unsafe impl<U: Unit> Pod for Datetime64<U> {}
// SAFETY: as for Datetime64.
unsafe impl<U: Unit> Zeroable for Timedelta64<U> {}
// SAFETY: as for Datetime64.
unsafe impl<U: Unit> Pod for Timedelta64<U> {}

/// A struct whose fields are elements: what `derive(Record)` says of it, and all that it says.
///
/// # Safety
///
/// `columns` calls [`FieldsRead::column`], and `slots` [`FieldsWritten::slot`], once for each field of the struct, with the
/// field's type and its true offset.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    label = "not a struct that derives Record",
    note = "only a struct that derives Record can be flattened"
)]
pub unsafe trait RecordType: Sized + Send + Sync + 'static {
    /// What the file looks like.
    const SPEC: &'static RecordSpec;
    /// A [`Column`](super::record::Column) for each field.
    type Columns: Send + Sync;
    /// A [`Slot`](super::record::Slot) for each field.
    type Slots: Send + Sync;

    /// Looks up the fields in a file's record, in the order of the struct.
    fn columns(fields: &mut FieldsRead<'_>) -> Result<Self::Columns>;

    /// Puts structs together from the columns of `count` records of so many bytes.
    fn decode(
        columns: &Self::Columns,
        records: &[u8],
        record: usize,
        count: usize,
        out: &mut Vec<Self>,
    ) -> Result<()>;

    /// An error if a text does not fit its field.
    fn check(&self, options: &WriteOptions) -> Result<()>;

    /// The places of the fields in the struct's record, in the order of the struct.
    fn slots(fields: &mut FieldsWritten<'_>) -> Self::Slots;

    /// Puts the fields in their places, in records of so many bytes.
    fn encode(items: &[Self], slots: &Self::Slots, record: usize, into: &mut [u8]) -> Result<()>;
}

/// The proof that bytes which pass the check (if there is one) are elements of type `T`.
#[doc(hidden)]
pub struct Bitwise<T> {
    fix: ByteTransform,
    /// Whether `T` has no byte that is padding, so that its memory may be changed as bytes, too.
    is_full: bool,
    type_: PhantomData<fn() -> T>,
}

impl<T> Bitwise<T> {
    /// For types that any bytes are valid for, made of units in the file's byte order.
    pub(super) fn pod(unit: usize, swap: bool) -> Self
    where
        T: Pod,
    {
        Self { fix: ByteTransform::units(size_of::<T>(), unit, swap), is_full: true, type_: PhantomData }
    }

    /// For types that only some bytes are valid for.
    pub(super) fn checked(explain: Explain) -> Self
    where
        T: CheckedBitPattern + NoUninit,
    {
        Self { fix: ByteTransform::check::<T>(explain), is_full: true, type_: PhantomData }
    }

    /// For arrays of such elements.
    pub(super) fn repeated<const N: usize>(&self) -> Bitwise<[T; N]> {
        // An array is its elements, one behind the other.
        Bitwise { fix: self.fix.repeated(size_of::<[T; N]>()), is_full: self.is_full, type_: PhantomData }
    }

    /// For records whose fields lie in the file as they do in memory.
    pub(super) fn record(fields: FieldsRead<'_>) -> Option<Self>
    where
        T: RecordType,
    {
        let (fix, filled) = fields.into_fix(size_of::<T>())?;
        // By the contract of RecordType, the fields are all of T; where they are elements, and whatever is in the
        // padding, so is T.
        Some(Self { fix, is_full: filled == Some(size_of::<T>()), type_: PhantomData })
    }

    pub(super) fn fix(&self) -> &ByteTransform {
        &self.fix
    }

    /// How many bytes of an element are no padding, if that is all of them.
    pub(super) fn filled(&self) -> Option<usize> {
        self.is_full.then_some(size_of::<T>())
    }

    /// Whether an element has no padding, so that changing it in place writes nothing but what it is.
    #[cfg(feature = "mmap")]
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether the bytes stand in the other order, so that they have to be copied.
    pub(crate) fn swaps(&self) -> bool {
        self.fix.swaps()
    }

    /// Whether blocks should be small enough for the cache, because they are touched again after loading.
    pub(crate) fn touches(&self) -> bool {
        self.fix.is_needed()
    }

    /// `count` elements of which `load` gives the bytes.
    pub(crate) fn make(&self, count: usize, load: impl FnOnce(&mut [u8])) -> Result<Vec<T>> {
        let mut room = UncheckedVec::new(self, count)?;
        room.all().load(usize::MAX, |bytes| {
            load(bytes);
            Ok(())
        })?;
        Ok(room.finish())
    }

    /// The memory of elements, to be loaded anew; `None` if it must not hold unchecked bytes for a moment, has padding, or if
    /// the old elements have to be dropped.
    pub(crate) fn part_over<'a>(&'a self, items: &'a mut [T]) -> Option<Part<'a>> {
        if !self.is_full || self.fix.checks() || std::mem::needs_drop::<T>() {
            return None;
        }
        let length = size_of_val(items);
        // SAFETY: T has no padding and needs no check, so that its memory is initialised bytes and may hold any others.
        // The slice is borrowed for as long as the bytes are.
        let rest = unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast::<u8>(), length) };
        Some(Part::over(rest, &self.fix))
    }
}

impl<T> std::fmt::Debug for Bitwise<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plain")
    }
}

/// The proof that elements of type `T` are initialised bytes through and through.
#[doc(hidden)]
pub struct BitwiseOut<T> {
    fix: ByteTransform,
    type_: PhantomData<fn(T)>,
}

impl<T> BitwiseOut<T> {
    pub(super) fn new(unit: usize, swap: bool) -> Self
    where
        T: NoUninit,
    {
        Self { fix: ByteTransform::units(size_of::<T>(), unit, swap), type_: PhantomData }
    }

    /// For arrays of such elements.
    pub(super) fn repeated<const N: usize>(&self) -> BitwiseOut<[T; N]> {
        BitwiseOut { fix: self.fix.repeated(size_of::<[T; N]>()), type_: PhantomData }
    }

    /// For records whose fields lie in the file as they do in memory, without padding.
    pub(super) fn record(fields: FieldsWritten<'_>) -> Option<Self>
    where
        T: RecordType,
    {
        let (fix, filled) = fields.into_fix(size_of::<T>())?;
        // By the contract of RecordType, the fields are all of T, and they fill it.
        (filled == Some(size_of::<T>())).then_some(Self { fix, type_: PhantomData })
    }

    pub(super) fn fix(&self) -> &ByteTransform {
        &self.fix
    }

    /// The memory of elements.
    #[inline]
    pub(crate) fn bytes<'a>(&self, items: &'a [T]) -> &'a [u8] {
        // SAFETY: T has no uninitialised bytes and no interior mutability (it is NoUninit, see `new`, or made of such).
        unsafe { slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) }
    }

    /// Elements as units of their size, so that moving them is compiled once for each size and not for each type.
    pub(crate) fn units<'a, const SIZE: usize>(
        &self,
        plane: &ArrayView2<'a, T>,
    ) -> ArrayView2<'a, [u8; SIZE]> {
        assert_eq!(size_of::<T>(), SIZE);
        let units = plane.raw_view().cast::<[u8; SIZE]>();
        // SAFETY: the same elements at the same places, of the same size; as in `bytes`, each is SIZE initialised bytes,
        // which need no alignment. They are borrowed for as long as the view that this one is made of.
        unsafe { units.deref_into_view() }
    }

    /// Whether bytes have to be turned before they are written.
    pub(crate) fn swaps(&self) -> bool {
        self.fix.swaps()
    }

    /// Turns the bytes of elements into the order of the file.
    pub(crate) fn turn(&self, bytes: &mut [u8]) {
        self.fix.swap(bytes);
    }
}
