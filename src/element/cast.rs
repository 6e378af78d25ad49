//! Bytes into elements, and elements into bytes: the only place that does so.
//!
//! Two tokens say what is known of a type. They are made only where `bytemuck`'s traits prove it, or of the tokens of a
//! struct's fields, and everything else here trusts them: [`Plain`] (memory that has passed the check is elements) and [`PlainOut`] (elements are bytes
//! through and through). [`Room`] is memory for elements on its way: it is zeroed, its bytes are loaded and checked
//! block by block, and only when every byte has passed does it become a `Vec`.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::fix::{Explain, Fix};
use super::record::{FieldsRead, FieldsWritten, RecordSpec};
use super::time::units::Unit;
use super::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, ViewMutElement, Void};
use crate::error::{Error, ErrorKind, Result};
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

    /// Puts the fields in their places.
    fn encode(&self, slots: &Self::Slots, into: &mut [u8]) -> Result<()>;
}

/// The proof that bytes which pass the check (if there is one) are elements of type `T`.
#[doc(hidden)]
pub struct Plain<T> {
    fix: Fix,
    /// Whether `T` has no byte that is padding, so that its memory may be changed as bytes, too.
    is_full: bool,
    type_: PhantomData<fn() -> T>,
}

impl<T> Plain<T> {
    /// For types that any bytes are valid for, made of units in the file's byte order.
    pub(super) fn pod(unit: usize, swap: bool) -> Self
    where
        T: Pod,
    {
        Self { fix: Fix::units(size_of::<T>(), unit, swap), is_full: true, type_: PhantomData }
    }

    /// For types that only some bytes are valid for.
    pub(super) fn checked(explain: Explain) -> Self
    where
        T: CheckedBitPattern + NoUninit,
    {
        Self { fix: Fix::check::<T>(explain), is_full: true, type_: PhantomData }
    }

    /// For arrays of such elements.
    pub(super) fn repeated<const N: usize>(&self) -> Plain<[T; N]> {
        // An array is its elements, one behind the other.
        Plain { fix: self.fix.repeated(size_of::<[T; N]>()), is_full: self.is_full, type_: PhantomData }
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

    pub(super) fn fix(&self) -> &Fix {
        &self.fix
    }

    /// How many bytes of an element are no padding, if that is all of them.
    pub(super) fn filled(&self) -> Option<usize> {
        self.is_full.then_some(size_of::<T>())
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
        let mut room = Room::new(self, count)?;
        room.all().load(usize::MAX, |bytes| {
            load(bytes);
            Ok(())
        })?;
        Ok(room.finish())
    }

    /// The memory of elements, to be loaded anew; `None` if it must not hold unchecked bytes for a moment, or has
    /// padding.
    pub(crate) fn part_over<'a>(&'a self, items: &'a mut [T]) -> Option<Part<'a>> {
        if !self.is_full || self.fix.checks() {
            return None;
        }
        let length = size_of_val(items);
        // SAFETY: T has no padding and needs no check, so that its memory is initialised bytes and may hold any others.
        // The slice is borrowed for as long as the bytes are.
        let rest = unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast::<u8>(), length) };
        Some(Part { rest, at: 0, fix: &self.fix, good: None })
    }
}

impl<T> std::fmt::Debug for Plain<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Plain")
    }
}

/// Zeroed memory for elements, which becomes a `Vec` when every byte has been loaded and has passed the check.
pub(crate) struct Room<T> {
    items: Vec<MaybeUninit<T>>,
    fix: Fix,
    /// How many bytes have passed.
    good: AtomicUsize,
}

impl<T> Room<T> {
    pub(crate) fn new(plain: &Plain<T>, len: usize) -> Result<Self> {
        let items = zeroed(len)?;
        Ok(Self { items, fix: plain.fix.clone(), good: AtomicUsize::new(0) })
    }

    fn byte_len(&self) -> usize {
        size_of_val(self.items.as_slice())
    }

    fn is_full(&self) -> bool {
        self.good.load(Ordering::Acquire) == self.byte_len()
    }

    /// All of the memory, to be loaded. What was loaded before is forgotten.
    pub(crate) fn all(&mut self) -> Part<'_> {
        self.good = AtomicUsize::new(0);
        self.part_from(0)
    }

    fn part_from(&mut self, from: usize) -> Part<'_> {
        let length = self.byte_len();
        // SAFETY: the memory was zeroed when it was allocated and has only ever been written as bytes, so that each of
        // them is initialised; T is not touched as such before all have passed. It is borrowed for as long as self.
        let bytes = unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast::<u8>(), length) };
        Part { rest: &mut bytes[from..], at: from, fix: &self.fix, good: Some(&self.good) }
    }

    /// The same elements with room for `len`. The room has to be full. Returns what is to be loaded next.
    pub(crate) fn grow(&mut self, len: usize) -> Result<Part<'_>> {
        assert!(self.is_full(), "only a full room grows");
        let old_len = self.byte_len();
        if len > self.items.len() {
            let mut items = zeroed::<T>(len)?;
            let source = self.items.as_ptr().cast::<u8>();
            let target = items.as_mut_ptr().cast::<u8>();
            // SAFETY: both are allocations of at least old_len bytes, the old one all initialised, and they are apart.
            unsafe { std::ptr::copy_nonoverlapping(source, target, old_len) };
            self.items = items;
        }
        Ok(self.part_from(old_len))
    }

    /// The elements. The room has to be full.
    pub(crate) fn finish(self) -> Vec<T> {
        assert!(self.is_full(), "only a full room holds elements");
        let mut items = std::mem::ManuallyDrop::new(self.items);
        // SAFETY: the pointer, length and capacity are those of a Vec of the same layout, which is forgotten. Every
        // byte has passed, so that by the proof in Plain<T> they are elements.
        unsafe { Vec::from_raw_parts(items.as_mut_ptr().cast::<T>(), items.len(), items.capacity()) }
    }
}

/// Fresh zeroed memory, which large allocations get from the system without anybody touching it.
#[expect(clippy::uninit_vec, reason = "of items without size there is nothing to be initialised")]
fn zeroed<T>(len: usize) -> Result<Vec<MaybeUninit<T>>> {
    let no_memory = |bytes| Error::from(ErrorKind::OutOfMemory { bytes });
    let layout = Layout::array::<T>(len).map_err(|_| no_memory(usize::MAX))?;
    if layout.size() == 0 {
        let mut items = Vec::new();
        // SAFETY: either there are no items, or they have no size, so that any number of them has room. And a MaybeUninit
        // may hold anything.
        unsafe { items.set_len(len) };
        return Ok(items);
    }
    // SAFETY: the size is not 0.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return Err(no_memory(layout.size()));
    }
    // SAFETY: the memory comes from the global allocator with the layout of `len` items, and a MaybeUninit may hold
    // anything.
    Ok(unsafe { Vec::from_raw_parts(memory.cast(), len, len) })
}

/// A stretch of memory that is being loaded.
pub(crate) struct Part<'a> {
    rest: &'a mut [u8],
    at: usize,
    fix: &'a Fix,
    good: Option<&'a AtomicUsize>,
}

impl<'a> Part<'a> {
    /// The same memory up to a place, counted from the beginning of all. What is behind it stays as it is, zeros, and
    /// counts as loaded: only types that any bytes are valid for allow that.
    pub(crate) fn limited(mut self, to: usize) -> Self {
        let length = to.saturating_sub(self.at);
        if length < self.rest.len() {
            assert!(!self.fix.checks(), "only what needs no check may stay as it is");
            let left_out = self.rest.len() - length;
            self.rest = &mut std::mem::take(&mut self.rest)[..length];
            if let Some(good) = self.good {
                good.fetch_add(left_out, Ordering::Release);
            }
        }
        self
    }

    /// The same memory in pieces of about so many bytes, which can be loaded at the same time.
    pub(crate) fn split(self, piece: usize) -> Vec<Self> {
        let item = self.fix.item().max(1);
        let piece = (piece / item).max(1).saturating_mul(item);
        let Self { rest, at, fix, good } = self;
        let pieces = rest.chunks_mut(piece).enumerate();
        pieces.map(|(index, rest)| Part { rest, at: at + index * piece, fix, good }).collect()
    }

    /// Where the memory is, for advice to the system.
    pub(crate) fn memory(&self) -> (*const u8, usize) {
        (self.rest.as_ptr(), self.rest.len())
    }

    /// Where the part goes on, in bytes from the beginning of the memory.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Loads the next bytes, about `most` of them: `read` has to fill its buffer or fail.
    pub(crate) fn load(&mut self, most: usize, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let item = self.fix.item().max(1);
        let most = (most / item).max(1).saturating_mul(item).min(self.rest.len());
        let (block, rest) = std::mem::take(&mut self.rest).split_at_mut(most);
        read(block)?;
        self.fix.apply(block).map_err(|error| error.behind(self.at / item))?;
        self.rest = rest;
        self.at += most;
        if let Some(good) = self.good {
            good.fetch_add(most, Ordering::Release);
        }
        Ok(())
    }
}

/// The bytes of `len` elements in this machine's order, as elements: an error if they are misaligned or invalid.
pub(crate) fn view<'a, T>(plain: &Plain<T>, bytes: &'a [u8], len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]); // wherever the bytes are, that is aligned
    }
    check_view(plain, bytes, len)?;
    // SAFETY: length and alignment have been checked, and that the bytes are elements by the proof in Plain<T>.
    Ok(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<T>(), len) })
}

/// The bytes of `len` elements in this machine's order, as elements that can be changed.
pub(crate) fn view_mut<'a, T: ViewMutElement>(
    plain: &Plain<T>,
    bytes: &'a mut [u8],
    len: usize,
) -> Result<&'a mut [T]> {
    const { T::IS_FULL };
    // That is for words at compile time; what counts is what the token knows.
    assert!(plain.is_full, "padding would write uninitialised bytes into the buffer");
    if len == 0 {
        return Ok(&mut []);
    }
    check_view(plain, bytes, len)?;
    // SAFETY: as in `view`; and T has no uninitialised bytes that could be written into the buffer.
    Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<T>(), len) })
}

fn check_view<T>(plain: &Plain<T>, bytes: &[u8], len: usize) -> Result<()> {
    assert_eq!(
        size_of::<T>().checked_mul(len),
        Some(bytes.len()),
        "the caller gives just the elements' bytes"
    );
    check_alignment::<T>(bytes.as_ptr())?;
    assert!(!plain.swaps(), "the caller has seen to the byte order");
    plain.fix.check_all(bytes)
}

fn check_alignment<T>(first: *const u8) -> Result<()> {
    match first.addr() % align_of::<T>() {
        0 => Ok(()),
        off_by => Err(ErrorKind::Misaligned { wanted: align_of::<T>(), off_by }.into()),
    }
}

/// The proof that elements of type `T` are initialised bytes through and through.
#[doc(hidden)]
pub struct PlainOut<T> {
    fix: Fix,
    type_: PhantomData<fn(T)>,
}

impl<T> PlainOut<T> {
    pub(super) fn new(unit: usize, swap: bool) -> Self
    where
        T: NoUninit,
    {
        Self { fix: Fix::units(size_of::<T>(), unit, swap), type_: PhantomData }
    }

    /// For arrays of such elements.
    pub(super) fn repeated<const N: usize>(&self) -> PlainOut<[T; N]> {
        PlainOut { fix: self.fix.repeated(size_of::<[T; N]>()), type_: PhantomData }
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

    pub(super) fn fix(&self) -> &Fix {
        &self.fix
    }

    /// The memory of elements.
    #[inline]
    pub(crate) fn bytes<'a>(&self, items: &'a [T]) -> &'a [u8] {
        // SAFETY: T has no uninitialised bytes and no interior mutability (it is NoUninit, see `new`, or made of such).
        unsafe { slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) }
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
