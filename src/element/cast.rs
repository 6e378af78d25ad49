//! Bytes into elements, and elements into bytes: the only place that does so.
//!
//! Two tokens say what is known of a type. They are made only where `bytemuck`'s traits prove it, and everything else
//! here trusts them: [`Plain`] (memory that has passed the check is elements) and [`PlainOut`] (elements are bytes
//! through and through). [`Room`] is memory for elements on its way: it is zeroed, its bytes are loaded and checked
//! block by block, and only when every byte has passed does it become a `Vec`.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};

use super::swap::swap_units;
use super::time::units::Unit;
use super::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void};
use crate::error::{Error, ErrorKind, Result};

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

/// What is done to bytes before they are elements.
#[derive(Clone, Copy)]
struct Fix {
    item: usize,
    unit: usize,
    swap: bool,
    check: Option<Check>,
}

/// Says which item of a block is the first that is invalid, and why.
type Check = fn(&[u8], Explain) -> Result<(), (usize, ErrorKind)>;
/// Why the bytes of an item are invalid.
type Explain = fn(&[u8]) -> ErrorKind;

impl Fix {
    /// Turns the bytes of whole items into this machine's order and checks them. An error names the item.
    fn apply(&self, bytes: &mut [u8], explain: Explain) -> Result<(), (usize, ErrorKind)> {
        if self.swap {
            swap_units(bytes, self.unit);
        }
        match self.check {
            Some(check) => check(bytes, explain),
            None => Ok(()),
        }
    }

    fn is_nothing(&self) -> bool {
        !self.swap && self.check.is_none()
    }
}

/// The proof that bytes which pass the check (if there is one) are elements of type `T`.
#[doc(hidden)]
pub struct Plain<T> {
    fix: Fix,
    explain: Explain,
    /// Whether `T` is `Pod`, so that its memory may be written as bytes, too.
    is_pod: bool,
    type_: PhantomData<fn() -> T>,
}

impl<T> Plain<T> {
    /// For types that any bytes are valid for, made of units in the file's byte order.
    pub(super) fn pod(unit: usize, swap: bool) -> Self
    where
        T: Pod,
    {
        let fix = Fix { item: size_of::<T>(), unit, swap: swap && unit > 1, check: None };
        Self { fix, explain: |_| unreachable!("any bytes are valid"), is_pod: true, type_: PhantomData }
    }

    /// For types that only some bytes are valid for.
    pub(super) fn checked(explain: Explain) -> Self
    where
        T: CheckedBitPattern,
    {
        let fix = Fix { item: size_of::<T>(), unit: 1, swap: false, check: Some(check::<T>) };
        Self { fix, explain, is_pod: false, type_: PhantomData }
    }

    /// Whether the bytes stand in the other order, so that they have to be copied.
    pub(crate) fn swaps(&self) -> bool {
        self.fix.swap
    }

    /// Whether blocks should be small enough for the cache, because they are touched again after loading.
    pub(crate) fn touches(&self) -> bool {
        !self.fix.is_nothing()
    }

    /// The memory of elements, to be loaded anew; `None` if it must not hold unchecked bytes for a moment.
    pub(crate) fn part_over<'a>(&self, items: &'a mut [T]) -> Option<Part<'a>> {
        if !self.is_pod {
            return None;
        }
        let length = size_of_val(items);
        // SAFETY: T is Pod (is_pod is set in `pod` alone), so that its memory is initialised bytes and may hold any
        // others. The slice is borrowed for as long as the bytes are.
        let rest = unsafe { slice::from_raw_parts_mut(items.as_mut_ptr().cast::<u8>(), length) };
        Some(Part { rest, at: 0, fix: self.fix, explain: self.explain, good: None })
    }
}

/// Whether the bytes of each item are valid for `T`. It has no early exit, so that it runs at the speed of the cache.
fn check<T: CheckedBitPattern>(bytes: &[u8], explain: Explain) -> Result<(), (usize, ErrorKind)> {
    let size = size_of::<T>().max(1);
    let is_valid = |item: &[u8]| T::is_valid_bit_pattern(&bytemuck::pod_read_unaligned::<T::Bits>(item));
    if bytes.chunks_exact(size).fold(true, |all, item| all & is_valid(item)) {
        return Ok(());
    }
    match bytes.chunks_exact(size).position(|item| !is_valid(item)) {
        Some(index) => Err((index, explain(&bytes[index * size..][..size]))),
        None => Ok(()),
    }
}

/// Zeroed memory for elements, which becomes a `Vec` when every byte has been loaded and has passed the check.
pub(crate) struct Room<T> {
    items: Vec<MaybeUninit<T>>,
    fix: Fix,
    explain: Explain,
    /// How many bytes have passed.
    good: AtomicUsize,
}

impl<T> Room<T> {
    pub(crate) fn new(plain: &Plain<T>, len: usize) -> Result<Self> {
        let items = zeroed(len)?;
        Ok(Self { items, fix: plain.fix, explain: plain.explain, good: AtomicUsize::new(0) })
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
        Part {
            rest: &mut bytes[from..],
            at: from,
            fix: self.fix,
            explain: self.explain,
            good: Some(&self.good),
        }
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
    fix: Fix,
    explain: Explain,
    good: Option<&'a AtomicUsize>,
}

impl<'a> Part<'a> {
    /// The same memory up to a place, counted from the beginning of all. What is behind it stays as it is, zeros, and
    /// counts as loaded: only types that any bytes are valid for allow that.
    pub(crate) fn limited(mut self, to: usize) -> Self {
        let length = to.saturating_sub(self.at);
        if length < self.rest.len() {
            assert!(self.fix.check.is_none(), "only what needs no check may stay as it is");
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
        let item = self.fix.item.max(1);
        let piece = (piece / item).max(1).saturating_mul(item);
        let Self { rest, at, fix, explain, good } = self;
        let pieces = rest.chunks_mut(piece).enumerate();
        pieces.map(|(index, rest)| Part { rest, at: at + index * piece, fix, explain, good }).collect()
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
        let item = self.fix.item.max(1);
        let most = (most / item).max(1).saturating_mul(item).min(self.rest.len());
        let (block, rest) = std::mem::take(&mut self.rest).split_at_mut(most);
        read(block)?;
        self.fix
            .apply(block, self.explain)
            .map_err(|(index, kind)| Error::from(kind).at_element(self.at / item + index))?;
        self.rest = rest;
        self.at += most;
        if let Some(good) = self.good {
            good.fetch_add(most, Ordering::Release);
        }
        Ok(())
    }
}

/// The bytes of `len` elements in this machine's order, as elements.
pub(super) fn view<'a, T>(plain: &Plain<T>, bytes: &'a [u8], len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]); // wherever the bytes are, that is aligned
    }
    check_view(plain, bytes, len)?;
    // SAFETY: length and alignment have been checked, and that the bytes are elements by the proof in Plain<T>.
    Ok(unsafe { slice::from_raw_parts(bytes.as_ptr().cast::<T>(), len) })
}

/// The bytes of `len` elements in this machine's order, as elements that can be changed.
pub(super) fn view_mut<'a, T: NoUninit>(
    plain: &Plain<T>,
    bytes: &'a mut [u8],
    len: usize,
) -> Result<&'a mut [T]> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_view(plain, bytes, len)?;
    // SAFETY: as in `view`; and T has no uninitialised bytes that could be written into the buffer.
    Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<T>(), len) })
}

fn check_view<T>(plain: &Plain<T>, bytes: &[u8], len: usize) -> Result<()> {
    assert!(!plain.fix.swap, "the caller has seen to the byte order");
    assert_eq!(
        size_of::<T>().checked_mul(len),
        Some(bytes.len()),
        "the caller gives just the elements' bytes"
    );
    let off_by = bytes.as_ptr().addr() % align_of::<T>();
    if off_by != 0 {
        return Err(ErrorKind::Misaligned { wanted: align_of::<T>(), off_by }.into());
    }
    match plain.fix.check {
        Some(check) => {
            check(bytes, plain.explain).map_err(|(index, kind)| Error::from(kind).at_element(index))
        }
        None => Ok(()),
    }
}

/// The proof that elements of type `T` are initialised bytes through and through.
#[doc(hidden)]
pub struct PlainOut<T> {
    unit: usize,
    swap: bool,
    type_: PhantomData<fn(T)>,
}

impl<T> Clone for PlainOut<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PlainOut<T> {}

impl<T> PlainOut<T> {
    pub(super) fn new(unit: usize, swap: bool) -> Self
    where
        T: NoUninit,
    {
        Self { unit, swap: swap && unit > 1, type_: PhantomData }
    }

    /// The memory of elements.
    #[inline]
    pub(crate) fn bytes(self, items: &[T]) -> &[u8] {
        // SAFETY: T has no uninitialised bytes and no interior mutability (it is NoUninit, see `new`).
        unsafe { slice::from_raw_parts(items.as_ptr().cast::<u8>(), size_of_val(items)) }
    }

    /// Whether bytes have to be turned before they are written.
    pub(crate) fn swaps(self) -> bool {
        self.swap
    }

    /// Turns the bytes of elements into the order of the file.
    pub(crate) fn fix(self, bytes: &mut [u8]) {
        if self.swap {
            swap_units(bytes, self.unit);
        }
    }
}
