//! [`Chunks`]: iterates over an array in pieces along an axis, optionally reading ahead on another thread.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;

use ndarray::{Array, ArrayView, Axis, Dimension};

use super::ArrayFile;
use super::select::Axes;
use crate::element::ReadableElement;
use crate::error::{ErrorKind, Result};
use crate::io::ArrayFormat;

/// An iterator over the pieces of an array along an axis, returned by [`ArrayFile::chunks`].
///
/// Each piece is read into a new array when the iterator advances. [`Chunks::for_each_view`] reuses one array
/// instead, and [`Chunks::for_each_ahead`] reads the next piece on another thread. An error ends the
/// iteration.
#[derive(Debug)]
pub struct Chunks<'a, A, D, F: ArrayFormat> {
    file: &'a ArrayFile<F>,
    axis: usize,
    length: usize,
    /// The index along the axis at which the next piece starts.
    next: usize,
    /// The index along the axis at which the last piece ends (exclusive).
    end: usize,
    pieces: PhantomData<fn() -> Array<A, D>>,
}

impl<'a, A: ReadableElement, D: Dimension, F: ArrayFormat> Chunks<'a, A, D, F> {
    pub(super) fn new(file: &'a ArrayFile<F>, axis: usize, length: usize) -> Result<Self> {
        let shape = &Axes::of::<A>(file.header(), &file.options)?.shape;
        if D::NDIM.is_some_and(|wanted| wanted != shape.ndim()) {
            let wanted = D::NDIM.unwrap_or_default();
            return Err(ErrorKind::RankMismatch { found: shape.clone(), wanted }.into());
        }
        let Some(&end) = shape.dims().get(axis).filter(|_| length > 0) else {
            let reason = format!(
                "an array of shape {shape} cannot be divided into pieces of {length} along axis {axis}"
            );
            return Err(ErrorKind::BadOption { reason }.into());
        };
        Ok(Self { file, axis, length, next: 0, end, pieces: PhantomData })
    }

    /// Reads the next piece, reusing `array` if it has the length of the piece along the axis.
    fn next_into(&mut self, array: Option<Array<A, D>>) -> Option<Result<Array<A, D>>> {
        let start = Some(self.next).filter(|start| *start < self.end)?;
        let count = self.length.min(self.end - start);
        let axes = Axes::of::<A>(self.file.header(), &self.file.options);
        let selection = axes.expect("`new` has checked the axes").along(self.axis, start, count);
        let piece = match array.filter(|array| array.len_of(Axis(self.axis)) == count) {
            Some(mut array) => self.file.select_into(&selection, &mut array).map(|()| array),
            None => self.file.select(&selection),
        };
        // An error ends the iteration.
        self.next = if piece.is_ok() { start + count } else { self.end };
        Some(piece)
    }

    /// Invokes the callback with a view of each piece, until it returns `ControlFlow::Break`.
    ///
    /// Pieces of equal length are read into the same array, so this is faster than the iterator.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, Ix2};
    /// use ndarray_io::NpyFile;
    /// use std::ops::ControlFlow;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f32>::ones((100, 3)))?;
    /// let mut sum = 0.0;
    /// NpyFile::open(&path)?.chunks::<f32, Ix2>(0, 10)?.for_each_view(|chunk| {
    ///     sum += chunk.sum();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(sum, 300.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_view(
        mut self,
        mut call: impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut used = None;
        while let Some(piece) = self.next_into(used.take()) {
            let piece = piece?;
            if call(piece.view()).is_break() {
                break;
            }
            used = Some(piece);
        }
        Ok(())
    }

    /// Invokes the callback with each piece while another thread reads the next one.
    ///
    /// At most three pieces are in memory: one in the callback, one waiting for it and one being read. If no
    /// thread can be started, the pieces are read on the current thread.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    pub fn for_each_ahead(self, mut call: impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>) -> Result<()> {
        thread::scope(|scope| {
            // A capacity of one bounds memory: only one finished piece waits while the next is being read.
            let (ready, pieces) = mpsc::sync_channel(1);
            // Returns used arrays to the reading thread. Unbounded, so that the callback's thread never
            // blocks here.
            let (give_back, used) = mpsc::channel();
            // A copy: `self` is still needed if no thread can be started.
            let mut ahead = Self { ..self };
            let read = move || {
                while let Some(piece) = ahead.next_into(used.try_recv().ok()) {
                    if ready.send(piece).is_err() {
                        break; // the callback has ended the loop
                    }
                }
            };
            if thread::Builder::new().spawn_scoped(scope, read).is_err() {
                return self.for_each_view(call); // no thread could be started
            }
            for piece in pieces {
                let piece = piece?;
                if call(piece.view()).is_break() {
                    break;
                }
                let _ = give_back.send(piece); // fails if the reading thread has finished
            }
            Ok(())
        })
    }
}

impl<A: ReadableElement, D: Dimension, F: ArrayFormat> Iterator for Chunks<'_, A, D, F> {
    type Item = Result<Array<A, D>>;

    /// Reads the next piece. Returns `None` after the last piece or after an error.
    fn next(&mut self) -> Option<Self::Item> {
        self.next_into(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next).div_ceil(self.length);
        // The lower bound is not `left`, because an error ends the iteration early.
        (usize::from(left > 0), Some(left))
    }
}
