//! Memory for elements on its way, and the parts of it that are loaded.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed};
use std::mem::MaybeUninit;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::transform::ByteTransform;
use super::Bitwise;
use crate::error::{Error, ErrorKind, Result};

/// Zeroed memory for elements, which becomes a `Vec` when every byte has been loaded and has passed the check.
pub(crate) struct UncheckedVec<T> {
    items: Vec<MaybeUninit<T>>,
    fix: ByteTransform,
    /// How many bytes have passed.
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
        // byte has passed, so that by the proof in Bitwise<T> they are elements.
        unsafe { Vec::from_raw_parts(items.as_mut_ptr().cast::<T>(), items.len(), items.capacity()) }
    }
}

/// Fresh zeroed memory, which large allocations get from the system without anybody touching it.
#[expect(clippy::uninit_vec, reason = "of items without size there is nothing to be initialised")]
fn zeroed<T>(len: usize) -> Result<Vec<MaybeUninit<T>>> {
    let no_memory = |bytes: usize| Error::from(ErrorKind::OutOfMemory { bytes: bytes as u64 });
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
    fix: &'a ByteTransform,
    good: Option<&'a AtomicUsize>,
}

impl<'a> Part<'a> {
    /// Memory that may hold any bytes at any time.
    pub(super) fn over(rest: &'a mut [u8], fix: &'a ByteTransform) -> Self {
        Self { rest, at: 0, fix, good: None }
    }

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

    /// The same memory in pieces that can be loaded at the same time: the first of about `first` bytes, the others of `piece`.
    pub(crate) fn split(self, first: usize, piece: usize) -> Vec<Self> {
        let item = self.fix.item().max(1);
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
