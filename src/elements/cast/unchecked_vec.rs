//! Memory that is being filled with elements, and the parts of it, which can be loaded separately.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::Pod;

use super::super::transform::ByteTransform;
use super::Bitwise;
use crate::bytes::ReadBuf;
use crate::error::{Error, Fault, Result};

/// Memory for elements, which becomes a `Vec` once every byte has been loaded and checked.
///
/// Only this type knows the type of the elements: [`Loading`] and [`MemoryPart`] are compiled once.
pub(crate) struct UncheckedVec<T> {
    memory: UncheckedMemory,
    items: PhantomData<T>,
}

impl<T> UncheckedVec<T> {
    /// Returns memory for no elements yet.
    pub(crate) fn new(bitwise: &Bitwise<T>) -> Self {
        let item_layout = Layout::new::<T>();
        let memory = Memory::none(Layout::new::<[T; 0]>());
        let transform = bitwise.transform.clone();
        let checked_bytes = AtomicUsize::new(0);
        Self {
            memory: UncheckedMemory {
                memory,
                len: 0,
                item_layout,
                transform,
                is_cleared: false,
                checked_bytes,
            },
            items: PhantomData,
        }
    }

    /// Returns what loads the memory.
    pub(crate) fn loading(&mut self) -> Loading<'_> {
        Loading(&mut self.memory)
    }

    /// Returns the elements. All bytes must have been loaded.
    pub(crate) fn finish(self) -> Vec<T> {
        let (first, len) = self.memory.into_raw_parts();
        // SAFETY: the memory comes from the global allocator with the layout of `len` elements, or is none, and nothing else frees it.
        // Every byte has passed the check, so by the proof in Bitwise<T> the bytes are valid elements.
        unsafe { Vec::from_raw_parts(first.cast::<T>().as_ptr(), len, len) }
    }
}

/// Memory of the global allocator.
struct Memory {
    /// What was allocated, unless the size of `layout` is 0.
    first: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// Returns memory of 0 bytes, at an address that is not null and aligned for an element.
    fn none(layout: Layout) -> Self {
        let first = std::ptr::without_provenance_mut(layout.align());
        Self { first: NonNull::new(first).expect("an alignment is not 0"), layout } // by the contract of `Layout`
    }

    /// Allocates memory, cleared on request, or returns `None` if there is not as much.
    fn allocate(layout: Layout, is_cleared: bool) -> Option<Self> {
        if layout.size() == 0 {
            return Some(Self::none(layout));
        }
        let allocate: unsafe fn(Layout) -> *mut u8 = if is_cleared { alloc_zeroed } else { alloc };
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { allocate(layout) }).map(|first| Self { first, layout })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: it was allocated with this layout, and is freed only here.
            unsafe { dealloc(self.first.as_ptr(), self.layout) };
        }
    }
}

/// Memory for elements of any type.
struct UncheckedMemory {
    memory: Memory,
    len: usize,
    item_layout: Layout,
    transform: ByteTransform,
    /// Whether the memory was cleared when it was allocated.
    is_cleared: bool,
    /// The number of bytes that have passed the check. It is atomic because parts are loaded concurrently.
    checked_bytes: AtomicUsize,
}

impl UncheckedMemory {
    /// Replaces the memory by some for `len` elements, and returns what it was.
    ///
    /// If it `needs_cleared`, the system provides large memory as pages that are cleared on first access. Smaller memory
    /// is left to the reader, who clears it block by block, in the cache.
    fn replace(&mut self, len: usize, needs_cleared: bool) -> Result<Memory> {
        /// Smaller memory may be recycled, so that clearing it takes time. (glibc: its largest threshold for pages.)
        const LARGE_ALLOCATION_BYTES: usize = 32 << 20;
        // The length comes from a file and can be arbitrary: return an error where `vec![]` would abort.
        let no_memory = |bytes: usize| Error::from(Fault::OutOfMemory { bytes: bytes as u64 });
        let bytes = self.item_layout.size().checked_mul(len);
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, self.item_layout.align()).ok());
        let layout = layout.ok_or_else(|| no_memory(usize::MAX))?;
        let is_cleared = needs_cleared && layout.size() >= LARGE_ALLOCATION_BYTES;
        let memory = Memory::allocate(layout, is_cleared).ok_or_else(|| no_memory(layout.size()))?;
        (self.len, self.is_cleared, self.checked_bytes) = (len, is_cleared, AtomicUsize::new(0));
        Ok(std::mem::replace(&mut self.memory, memory))
    }

    fn byte_len(&self) -> usize {
        self.memory.layout.size()
    }

    fn is_loaded(&self) -> bool {
        self.checked_bytes.load(Ordering::Acquire) == self.byte_len()
    }

    fn bytes_from(&mut self, from: usize) -> MemoryPart<'_> {
        let (first, length) = (self.memory.first.as_ptr().cast::<MaybeUninit<u8>>(), self.byte_len());
        // SAFETY: the memory has this length, and bytes that may not be initialized are valid with any content.
        // Only initialized bytes are written to it. The slice borrows self.
        let bytes = unsafe { slice::from_raw_parts_mut(first, length) };
        MemoryPart {
            rest: &mut bytes[from..],
            position: from,
            transform: &self.transform,
            is_cleared: self.is_cleared,
            checked_bytes: Some(&self.checked_bytes),
        }
    }

    /// Returns where the elements are, and how many, for the caller to free. All bytes must have been loaded.
    fn into_raw_parts(self) -> (NonNull<u8>, usize) {
        assert!(self.is_loaded(), "only fully loaded memory holds elements");
        (ManuallyDrop::new(self.memory).first, self.len)
    }
}

/// An [`UncheckedVec`] of any type, to allocate and load its memory.
pub(crate) struct Loading<'a>(&'a mut UncheckedMemory);

impl Loading<'_> {
    /// Returns the size of an element.
    pub(crate) fn item_size(&self) -> usize {
        self.0.item_layout.size()
    }

    /// Allocates memory for `len` elements, and returns all of it, to be loaded. Anything loaded before is discarded.
    ///
    /// `needs_cleared` says that it will be filled by a reader that needs initialized bytes.
    pub(crate) fn start(&mut self, len: usize, needs_cleared: bool) -> Result<MemoryPart<'_>> {
        drop(self.0.replace(len, needs_cleared)?);
        Ok(self.0.bytes_from(0))
    }

    /// Grows to `len` elements and returns the part to load next. All bytes must have been loaded.
    pub(crate) fn grow(&mut self, len: usize) -> Result<MemoryPart<'_>> {
        assert!(self.0.is_loaded(), "only fully loaded memory can grow");
        let old_len = self.0.byte_len();
        if len > self.0.len {
            let old = self.0.replace(len, true)?;
            // SAFETY: both have at least old_len bytes and do not overlap, and all bytes of the old one are initialized.
            unsafe { old.first.copy_to_nonoverlapping(self.0.memory.first, old_len) };
            self.0.checked_bytes = AtomicUsize::new(old_len);
        }
        Ok(self.0.bytes_from(old_len))
    }
}

impl<T> Bitwise<T> {
    /// Makes elements of the first `len` bytes of words, without a copy.
    ///
    /// Returns the words unchanged if their memory is not that of elements, if an element is invalid, or if elements
    /// would have to be both swapped and checked.
    pub(crate) fn reuse_words<W: Pod>(&self, mut words: Vec<W>, len: usize) -> Result<Vec<T>, Vec<W>> {
        let (bytes, capacity_bytes) = (size_of_val(&words[..]), words.capacity() * size_of::<W>());
        let is_whole = |bytes: usize| bytes.checked_rem(size_of::<T>()) == Some(0);
        let is_memory =
            align_of::<W>() == align_of::<T>() && bytes == len && is_whole(bytes) && is_whole(capacity_bytes);
        // If it swapped before it finds an invalid element, the words would have changed.
        let stays = !(self.transform.needs_check() && self.transform.needs_swap());
        if !is_memory || !stays || self.transform.apply(bytemuck::cast_slice_mut(&mut words)).is_err() {
            return Err(words);
        }
        let mut words = std::mem::ManuallyDrop::new(words);
        let (len, capacity) = (bytes / size_of::<T>(), capacity_bytes / size_of::<T>());
        // SAFETY: the words come from a Vec, which is not dropped; `len` and `capacity` elements have exactly the
        // size of its content and of its memory, and the same alignment. By the proof in Bitwise<T>, bytes that have
        // passed the check are valid elements.
        Ok(unsafe { Vec::from_raw_parts(words.as_mut_ptr().cast::<T>(), len, capacity) })
    }
}

/// A range of memory that is being loaded.
pub(crate) struct MemoryPart<'a> {
    rest: &'a mut [MaybeUninit<u8>],
    position: usize,
    transform: &'a ByteTransform,
    /// Whether all bytes of `rest` are initialized.
    is_cleared: bool,
    checked_bytes: Option<&'a AtomicUsize>,
}

impl<'a> MemoryPart<'a> {
    /// Creates a part from memory for which any bytes are valid at any time.
    ///
    /// # Safety
    ///
    /// All of it is initialized.
    pub(super) unsafe fn from_init(rest: &'a mut [MaybeUninit<u8>], transform: &'a ByteTransform) -> Self {
        Self { rest, position: 0, transform, is_cleared: true, checked_bytes: None }
    }

    /// Shortens the part to end at `to`, counted from the start of the entire memory.
    ///
    /// The remaining bytes become zero and count as loaded. This is sound only for types for which any bytes
    /// are valid.
    pub(crate) fn with_zeros_from(mut self, to: usize) -> Self {
        let length = to.saturating_sub(self.position);
        if length < self.rest.len() {
            assert!(!self.transform.needs_check(), "only types without a check may have cleared bytes");
            let (rest, left_out) = std::mem::take(&mut self.rest).split_at_mut(length);
            self.rest = rest;
            left_out.fill(MaybeUninit::new(0));
            if let Some(checked_bytes) = self.checked_bytes {
                checked_bytes.fetch_add(left_out.len(), Ordering::Release);
            }
        }
        self
    }

    /// Splits the part into pieces that can be loaded concurrently.
    ///
    /// The first piece ends about `first` bytes from the start of the memory. Each of the other pieces has
    /// about `piece` bytes.
    pub(crate) fn split(self, first: usize, piece: usize) -> Vec<Self> {
        let item = self.transform.item_size().max(1);
        // Pieces consist of complete elements, because each piece is checked separately.
        let whole = |bytes: usize| (bytes / item).max(1).saturating_mul(item);
        let Self { mut rest, mut position, transform, is_cleared, checked_bytes } = self;
        let mut parts = Vec::new();
        let mut end = first;
        while !rest.is_empty() {
            let taken = whole(end.saturating_sub(position)).min(rest.len());
            let (part, others) = rest.split_at_mut(taken);
            parts.push(MemoryPart { rest: part, position, transform, is_cleared, checked_bytes });
            (rest, position, end) = (others, position + taken, end.saturating_add(piece));
        }
        parts
    }

    /// Returns the address and length of the memory, for advice to the operating system.
    pub(crate) fn memory(&self) -> (*const u8, usize) {
        (self.rest.as_ptr().cast(), self.rest.len())
    }

    /// Returns the position of the next byte to load, in bytes from the start of the memory.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns whether the memory is initialized, so that clearing it costs nothing.
    pub(crate) fn is_cleared(&self) -> bool {
        self.is_cleared
    }

    /// Takes about `max_len` bytes from the part. Until they are committed, nothing remains in it.
    pub(crate) fn next_block(&mut self, max_len: usize) -> Block<'_, 'a> {
        let item = self.transform.item_size().max(1);
        let max_len = (max_len / item).max(1).saturating_mul(item).min(self.rest.len());
        let (block, rest) = std::mem::take(&mut self.rest).split_at_mut(max_len);
        let memory = (block.as_ptr().cast::<u8>(), block.len());
        // SAFETY: `is_cleared` is what is known of all of the memory.
        let buf = unsafe { ReadBuf::maybe_init(block, self.is_cleared) };
        Block { part: self, memory, buf, rest }
    }
}

/// The memory of some elements of a part, which count as loaded once they are committed.
pub(crate) struct Block<'p, 'a> {
    part: &'p mut MemoryPart<'a>,
    memory: (*const u8, usize),
    buf: ReadBuf<'a>,
    /// What is left of the part.
    rest: &'a mut [MaybeUninit<u8>],
}

impl<'a> Block<'_, 'a> {
    /// Returns the memory, all of which has to be filled.
    pub(crate) fn buf(&mut self) -> &mut ReadBuf<'a> {
        &mut self.buf
    }

    /// Checks the bytes, and goes on to the rest of the part.
    pub(crate) fn commit(self) -> Result<()> {
        let Self { part, memory, buf, rest } = self;
        let block = buf.into_filled();
        assert!((block.as_ptr(), block.len()) == memory, "all of this memory must be filled");
        // A block counts as loaded only after its check has passed: `finish` relies on that.
        let item = part.transform.item_size().max(1);
        part.transform.apply(block).map_err(|error| error.offset_element(part.position / item))?;
        part.rest = rest;
        part.position += memory.1;
        if let Some(checked_bytes) = part.checked_bytes {
            checked_bytes.fetch_add(memory.1, Ordering::Release);
        }
        Ok(())
    }
}
