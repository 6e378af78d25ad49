//! [`Chunks`]: an array piece by piece, if asked for with the next piece read while this one is worked on.

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

/// The pieces of an array along an axis, as [`ArrayFile::chunks`] gives them.
#[derive(Debug)]
pub struct Chunks<'a, A, D, F: ArrayFormat> {
    file: &'a ArrayFile<F>,
    axis: usize,
    length: usize,
    /// Where the next piece begins, and where the last ends.
    next: usize,
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
            let reason = format!("an array of shape {shape} has no pieces of {length} along its axis {axis}");
            return Err(ErrorKind::BadOption { reason }.into());
        };
        Ok(Self { file, axis, length, next: 0, end, pieces: PhantomData })
    }

    /// The next piece, read into an array that has been one, whose memory is used again.
    fn next_into(&mut self, array: Option<Array<A, D>>) -> Option<Result<Array<A, D>>> {
        let start = Some(self.next).filter(|start| *start < self.end)?;
        let count = self.length.min(self.end - start);
        let axes = Axes::of::<A>(self.file.header(), &self.file.options);
        let selection = axes.expect("`new` has seen the axes").along(self.axis, start, count);
        let piece = match array.filter(|array| array.len_of(Axis(self.axis)) == count) {
            Some(mut array) => self.file.select_into(&selection, &mut array).map(|()| array),
            None => self.file.select(&selection),
        };
        // After an error there are no more pieces.
        self.next = if piece.is_ok() { start + count } else { self.end };
        Some(piece)
    }

    /// Calls with each piece; the memory of one is used for the next, which is faster than the iterator. Ends when the call
    /// breaks off.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
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

    /// The same, while another thread reads the next piece. At most three are in memory.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback.
    pub fn for_each_ahead(self, mut call: impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>) -> Result<()> {
        thread::scope(|scope| {
            let (ready, pieces) = mpsc::sync_channel(1);
            let (give_back, used) = mpsc::channel();
            let mut ahead = Self { ..self };
            let read = move || {
                while let Some(piece) = ahead.next_into(used.try_recv().ok()) {
                    if ready.send(piece).is_err() {
                        break; // nobody wants more
                    }
                }
            };
            if thread::Builder::new().spawn_scoped(scope, read).is_err() {
                return self.for_each_view(call); // the system gives no thread
            }
            for piece in pieces {
                let piece = piece?;
                if call(piece.view()).is_break() {
                    break;
                }
                let _ = give_back.send(piece); // the last has been read perhaps
            }
            Ok(())
        })
    }
}

impl<A: ReadableElement, D: Dimension, F: ArrayFormat> Iterator for Chunks<'_, A, D, F> {
    type Item = Result<Array<A, D>>;

    /// After an error there are no more pieces.
    fn next(&mut self) -> Option<Self::Item> {
        self.next_into(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next).div_ceil(self.length);
        (usize::from(left > 0), Some(left))
    }
}
