//! [`Chunks`]: an array piece by piece, if asked for with the next piece read while this one is worked on.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;

use ndarray::{Array, Dimension};

use super::NpyFile;
use super::select::Selection;
use crate::element::ReadableElement;
use crate::error::{ErrorKind, Result};

/// The pieces of an array along an axis, as [`NpyFile::chunks`] gives them.
#[derive(Debug)]
pub struct Chunks<'a, A, D> {
    file: &'a NpyFile,
    axis: usize,
    length: usize,
    /// Where the next piece begins, and where the last ends.
    next: usize,
    end: usize,
    pieces: PhantomData<fn() -> Array<A, D>>,
}

impl<'a, A: ReadableElement, D: Dimension> Chunks<'a, A, D> {
    pub(super) fn new(file: &'a NpyFile, axis: usize, length: usize) -> Result<Self> {
        let shape = file.shape();
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

    fn read(&self, start: usize) -> Result<Array<A, D>> {
        let count = self.length.min(self.end - start);
        self.file.select(&Selection::along(self.file.shape(), self.axis, start, count))
    }

    /// Calls with each piece, while another thread reads the next one. At most three pieces are in memory. Ends when the
    /// call breaks off.
    ///
    /// ```
    /// use ndarray::{Array2, Ix2};
    /// use ndarray_io::NpyFile;
    /// use std::ops::ControlFlow;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f32>::ones((100, 3)))?;
    /// let mut sum = 0.0;
    /// NpyFile::open(&path)?.chunks::<f32, Ix2>(0, 10)?.for_each_ahead(|chunk| {
    ///     sum += chunk.sum();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(sum, 300.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_ahead(self, mut call: impl FnMut(Array<A, D>) -> ControlFlow<()>) -> Result<()> {
        thread::scope(|scope| {
            let (ready, pieces) = mpsc::sync_channel(1);
            let ahead = Self { ..self };
            let read = move || {
                for piece in ahead {
                    if ready.send(piece).is_err() {
                        break; // nobody wants more
                    }
                }
            };
            let pieces: Box<dyn Iterator<Item = Result<Array<A, D>>>> =
                match thread::Builder::new().spawn_scoped(scope, read) {
                    Ok(_) => Box::new(pieces.into_iter()),
                    Err(_) => Box::new(self), // the system gives no thread
                };
            for piece in pieces {
                if call(piece?).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }
}

impl<A: ReadableElement, D: Dimension> Iterator for Chunks<'_, A, D> {
    type Item = Result<Array<A, D>>;

    /// After an error there are no more pieces.
    fn next(&mut self) -> Option<Self::Item> {
        let start = Some(self.next).filter(|start| *start < self.end)?;
        let piece = self.read(start);
        self.next = if piece.is_ok() { (start.saturating_add(self.length)).min(self.end) } else { self.end };
        Some(piece)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next).div_ceil(self.length);
        (usize::from(left > 0), Some(left))
    }
}
