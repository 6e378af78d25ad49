//! Memory that is being filled with elements, and the parts of it, which can be loaded separately.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::transform::ByteTransform;
use super::Bitwise;
use crate::error::{Error, ErrorKind, Result};

/// Zeroed memory for elements, which becomes a `Vec` once every byte has been loaded and checked.
pub(crate) struct UncheckedVec<T> {
    items: Vec<MaybeUninit<T>>,
    fix: ByteTransform,
    /// The number of bytes that have passed the check. It is atomic because parts are loaded concurrently.
    good: AtomicUsize,
}

impl<T> UncheckedVec<T> {
    pub(crate) fn new(plain: &Bitwise<T>, len: usize) -> Result<Self> {
        let items = zeroed(len)?;
        Ok(Self { items, fix: plain.fix.clone(), good: AtomicUsize::new(0) })
    }

    fn byte_len(&self) -> usize {
        size_of_val(self.items.as_slice())
    }

    fn is_full(&self) -> bool {
        self.good.load(Ordering::Acquire) == self.byte_len()
    }

    /// Returns all of the memory, to be loaded. Anything loaded before is discarded.
    pub(crate) fn all(&mut self) -> Part<'_> {
        self.good = AtomicUsize::new(0);
        self.part_from(0)
    }

    fn part_from(&mut self, from: usize) -> Part<'_> {
        let length = self.byte_len();
        // SAFETY: the memory was zeroed on allocation and has only been written as bytes, so each byte is
        // initialized. It is not accessed as T before all bytes have passed the check. The slice borrows
        // self.
        let bytes = unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast::<u8>(), length) };
        Part { rest: &mut bytes[from..], at: from, fix: &self.fix, good: Some(&self.good) }
    }

    /// Grows to `len` elements and returns the part to load next. All bytes must have been loaded.
    pub(crate) fn grow(&mut self, len: usize) -> Result<Part<'_>> {
        assert!(self.is_full(), "only fully loaded memory can grow");
        let old_len = self.byte_len();
        if len > self.items.len() {
            // Not `realloc`: the new bytes have to be zeroed.
            let mut items = zeroed::<T>(len)?;
            let source = self.items.as_ptr().cast::<u8>();
            let target = items.as_mut_ptr().cast::<u8>();
            // SAFETY: both allocations have at least old_len bytes and do not overlap, and all bytes of the
            // old one are initialized.
            unsafe { std::ptr::copy_nonoverlapping(source, target, old_len) };
            self.items = items;
        }
        Ok(self.part_from(old_len))
    }

    /// Returns the elements. All bytes must have been loaded.
    pub(crate) fn finish(self) -> Vec<T> {
        assert!(self.is_full(), "only fully loaded memory holds elements");
        let mut items = std::mem::ManuallyDrop::new(self.items);
        // SAFETY: pointer, length and capacity come from a Vec of the same layout, which is not dropped.
        // Every byte has passed the check, so by the proof in Bitwise<T> the bytes are valid elements.
        unsafe { Vec::from_raw_parts(items.as_mut_ptr().cast::<T>(), items.len(), items.capacity()) }
    }
}

/// Allocates zeroed memory. For large allocations, the system provides zeroed pages on first access.
#[expect(clippy::uninit_vec, reason = "items of size 0 need no initialization")]
fn zeroed<T>(len: usize) -> Result<Vec<MaybeUninit<T>>> {
    // The length comes from a file and can be arbitrary: return an error where `vec![]` would abort.
    let no_memory = |bytes: usize| Error::from(ErrorKind::OutOfMemory { bytes: bytes as u64 });
    let layout = Layout::array::<T>(len).map_err(|_| no_memory(usize::MAX))?;
    if layout.size() == 0 {
        let mut items = Vec::new();
        // SAFETY: either there are no items, or the items have no size and any number of them fits. A
        // MaybeUninit may contain anything.
        unsafe { items.set_len(len) };
        return Ok(items);
    }
    // SAFETY: the size is not 0.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return Err(no_memory(layout.size()));
    }
    // SAFETY: the memory comes from the global allocator with the layout of `len` items, and a MaybeUninit
    // may contain anything.
    Ok(unsafe { Vec::from_raw_parts(memory.cast(), len, len) })
}

/// A range of memory that is being loaded.
pub(crate) struct Part<'a> {
    rest: &'a mut [u8],
    at: usize,
    fix: &'a ByteTransform,
    good: Option<&'a AtomicUsize>,
}

impl<'a> Part<'a> {
    /// Creates a part from memory for which any bytes are valid at any time.
    pub(super) fn over(rest: &'a mut [u8], fix: &'a ByteTransform) -> Self {
        Self { rest, at: 0, fix, good: None }
    }

    /// Shortens the part to end at `to`, counted from the start of the entire memory.
    ///
    /// The remaining bytes stay zero and count as loaded. This is sound only for types for which any bytes
    /// are valid.
    pub(crate) fn limited(mut self, to: usize) -> Self {
        let length = to.saturating_sub(self.at);
        if length < self.rest.len() {
            assert!(!self.fix.checks(), "only types without a check may keep zeroed bytes");
            let left_out = self.rest.len() - length;
            self.rest = &mut std::mem::take(&mut self.rest)[..length];
            if let Some(good) = self.good {
                good.fetch_add(left_out, Ordering::Release);
            }
        }
        self
    }

    /// Splits the part into pieces that can be loaded concurrently.
    ///
    /// The first piece ends about `first` bytes from the start of the memory. Each of the other pieces has
    /// about `piece` bytes.
    pub(crate) fn split(self, first: usize, piece: usize) -> Vec<Self> {
        let item = self.fix.item().max(1);
        // Pieces consist of complete elements, because each piece is checked separately.
        let whole = |bytes: usize| (bytes / item).max(1).saturating_mul(item);
        let Self { mut rest, mut at, fix, good } = self;
        let mut parts = Vec::new();
        let mut end = first;
        while !rest.is_empty() {
            let taken = whole(end.saturating_sub(at)).min(rest.len());
            let (part, others) = rest.split_at_mut(taken);
            parts.push(Part { rest: part, at, fix, good });
            (rest, at, end) = (others, at + taken, end.saturating_add(piece));
        }
        parts
    }

    /// Returns the address and length of the memory, for advice to the operating system.
    pub(crate) fn memory(&self) -> (*const u8, usize) {
        (self.rest.as_ptr(), self.rest.len())
    }

    /// Returns the position of the next byte to load, in bytes from the start of the memory.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Loads about `most` more bytes. `read` must fill its buffer or fail.
    pub(crate) fn load(&mut self, most: usize, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let item = self.fix.item().max(1);
        let most = (most / item).max(1).saturating_mul(item).min(self.rest.len());
        let (block, rest) = std::mem::take(&mut self.rest).split_at_mut(most);
        read(block)?;
        // A block counts as loaded only after its check has passed: `finish` relies on that.
        self.fix.apply(block).map_err(|error| error.offset_element(self.at / item))?;
        self.rest = rest;
        self.at += most;
        if let Some(good) = self.good {
            good.fetch_add(most, Ordering::Release);
        }
        Ok(())
    }
}
