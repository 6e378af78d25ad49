//! Recognizes files and slices in generic readers and writers.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::BufWriter;

/// Returns the file of a reader or writer that is a `File`, or a reference to one or to a `&File`.
pub(crate) fn as_file<R>(stream: &mut R) -> Option<&File> {
    let id = typeid::of::<R>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<File>() {
        // SAFETY: R is File: a type without lifetimes has a unique id.
        Some(unsafe { &*pointer.cast::<File>() })
    } else if id == typeid::of::<&File>() {
        // SAFETY: R is a reference to a File, of any lifetime. It lives at least as long as the borrow of the
        // stream, to which the result is bound.
        Some(unsafe { *pointer.cast::<&File>() })
    } else if id == typeid::of::<&mut File>() {
        // SAFETY: as above; the mutable borrow of the stream ensures that nothing else uses the File.
        Some(unsafe { &**pointer.cast::<&mut File>() })
    } else if id == typeid::of::<&mut &File>() {
        // SAFETY: as above; what is returned is the inner reference, which lives longer than the stream.
        Some(unsafe { **pointer.cast::<&mut &File>() })
    } else {
        None
    }
}

/// Returns the file of a writer, which may be a [`BufWriter`] on a file.
pub(crate) fn as_file_or_buffered<W>(stream: &mut W) -> Option<&File> {
    let id = typeid::of::<W>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<BufWriter<File>>() {
        // SAFETY: W is BufWriter<File>, a type without lifetimes.
        Some(unsafe { &*pointer.cast::<BufWriter<File>>() }.get_ref())
    } else if id == typeid::of::<&mut BufWriter<File>>() {
        // SAFETY: W is a mutable reference, of any lifetime; the stream is borrowed for as long as the
        // result.
        Some(unsafe { &**pointer.cast::<&mut BufWriter<File>>() }.get_ref())
    } else if id == typeid::of::<BufWriter<&File>>() {
        // SAFETY: W contains a reference that lives at least as long as the borrow of the stream.
        Some(unsafe { &*pointer.cast::<BufWriter<&File>>() }.get_ref())
    } else {
        as_file(stream)
    }
}

/// Returns whether a reader is a slice of bytes.
pub(super) fn is_slice<R>() -> bool {
    let id = typeid::of::<R>();
    id == typeid::of::<&[u8]>() || id == typeid::of::<&mut &[u8]>()
}

/// Returns a reader's bytes, if the reader is a slice of bytes.
pub(super) fn as_slice<R>(stream: &mut R) -> Option<SliceReader<'_>> {
    let id = typeid::of::<R>();
    let pointer = std::ptr::from_mut(stream);
    if id == typeid::of::<&[u8]>() {
        // SAFETY: R is a slice, whose lifetime is at least as long as the borrow of the stream. Shortening
        // the lifetime is sound, because a SliceReader only ever shortens the slice.
        Some(SliceReader(unsafe { &mut *pointer.cast::<&[u8]>() }))
    } else if id == typeid::of::<&mut &[u8]>() {
        // SAFETY: as above; the stream is borrowed mutably, and so is the slice that it refers to.
        Some(SliceReader(unsafe { &mut **pointer.cast::<&mut &[u8]>() }))
    } else {
        None
    }
}

/// A slice that is read by shortening it.
pub(crate) struct SliceReader<'a>(&'a mut &'a [u8]);

impl<'a> SliceReader<'a> {
    /// Returns the remaining bytes.
    pub(super) fn get(&self) -> &'a [u8] {
        self.0
    }

    /// Skips up to `bytes` bytes.
    pub(super) fn advance(&mut self, bytes: usize) {
        *self.0 = &self.0[bytes.min(self.0.len())..];
    }
}
