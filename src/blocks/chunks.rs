//! [`Chunks`]: iterates over an array in pieces along an axis, optionally reading ahead on another thread.

use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, PoisonError};

use ndarray::{Array, ArrayView, Axis, Dimension, RemoveAxis};

use super::cuts::Cuts;
use crate::element::ReadableElement;
use crate::error::{Error, ErrorKind, Result};
use crate::io::ArrayFormat;
use crate::parts::{ArrayFile, Axes};
use crate::shape::{Order, Shape};
use crate::transfer;

/// An iterator over the pieces of an array along an axis, returned by [`ArrayFile::chunks`].
///
/// Each piece is read into a new array when the iterator advances. [`Chunks::for_each_view`] reuses one array
/// instead, and [`Chunks::for_each_ahead`] reads the next piece on another thread. An error ends the
/// iteration.
#[derive(Debug)]
pub struct Chunks<'a, A, D, F: ArrayFormat> {
    file: &'a ArrayFile<F>,
    axis: usize,
    cuts: Cuts,
    pieces: PhantomData<fn() -> Array<A, D>>,
}

impl<F: ArrayFormat> ArrayFile<F> {
    /// Returns an iterator over pieces of `length` indices along an axis.
    ///
    /// Each piece is read when the iterator advances, so memory use does not depend on the size of the file.
    /// The last piece may be shorter. Reading is fastest along the slowest-varying axis, which is the first,
    /// or the last in Fortran order.
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the axis does not exist or `length` is 0.
    /// - [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the number of axes does not match.
    ///
    /// A mismatch of the element type is reported with the first piece.
    pub fn chunks<A: ReadableElement, D: Dimension>(
        &self,
        axis: usize,
        length: usize,
    ) -> Result<Chunks<'_, A, D, F>> {
        Chunks::new(self, axis, length).map_err(|error| self.at_path(error))
    }

    /// Returns an iterator over the rows of the array, along the slowest-varying axis.
    ///
    /// The rows do not include that axis. About 1 MiB is read at a time, and each row is copied from it.
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the array has no axes.
    /// - [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the number of axes does not match.
    ///
    /// A mismatch of the element type is reported with the first row.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, Array2, Ix2};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<f32>::ones((100, 3)))?;
    /// let file = NpyFile::open(&path)?;
    /// let rows: Vec<Array1<f32>> = file.rows::<f32, Ix2>()?.collect::<Result<_, _>>()?;
    /// assert_eq!(rows.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows<A, D>(&self) -> Result<impl Iterator<Item = Result<Array<A, D::Smaller>>>>
    where
        A: ReadableElement + Clone,
        D: RemoveAxis,
    {
        /// The number of bytes of rows to read at a time.
        const AT_A_TIME: u64 = 1 << 20;
        let shape = self.axes::<A>().map_err(|error| self.at_path(error))?.shape;
        let axis = slowest(self.order(), &shape);
        let rows = shape.dims().get(axis).copied().unwrap_or(0);
        let bytes = self.header().payload_len().unwrap_or_default() / rows.max(1) as u64;
        let chunks = self.chunks::<A, D>(axis, (AT_A_TIME / bytes.max(1)).max(1) as usize)?;
        Ok(chunks.flat_map(move |chunk| {
            let (rows, error) = match chunk {
                Ok(chunk) => {
                    let rows = chunk.axis_iter(Axis(axis)).map(|row| Ok(row.to_owned()));
                    (rows.collect::<Vec<_>>(), None)
                }
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().chain(error)
        }))
    }
}

impl<'a, A: ReadableElement, D: Dimension, F: ArrayFormat> Chunks<'a, A, D, F> {
    fn new(file: &'a ArrayFile<F>, axis: usize, length: usize) -> Result<Self> {
        let Axes { shape, .. } = &file.axes::<A>()?;
        if D::NDIM.is_some_and(|wanted| wanted != shape.ndim()) {
            let wanted = D::NDIM.unwrap_or_default();
            return Err(ErrorKind::RankMismatch { found: shape.clone(), wanted }.into());
        }
        if axis >= shape.ndim() || length == 0 {
            let reason = format!(
                "an array of shape {shape} cannot be divided into pieces of {length} along axis {axis}"
            );
            return Err(ErrorKind::BadOption { reason }.into());
        }
        // If another axis has length 0, there are pieces all the same.
        let all = shape.dims().iter().map(|length| 0..*length).collect();
        let cuts = Cuts::along(all, axis, length);
        Ok(Self { file, axis, cuts, pieces: PhantomData })
    }

    /// Reads a piece, reusing `array` if it has the length of the piece along the axis.
    fn read(&self, ranges: &[Range<usize>], array: Option<Array<A, D>>) -> Result<Array<A, D>> {
        match array.filter(|array| array.len_of(Axis(self.axis)) == ranges[self.axis].len()) {
            Some(mut array) => self.file.read_ranges_into(ranges, &mut array).map(|()| array),
            None => self.file.read_ranges(ranges, self.file.the_options()),
        }
    }

    fn next_into(&mut self, array: Option<Array<A, D>>) -> Option<Result<Array<A, D>>> {
        let ranges = self.cuts.next()?;
        let piece = self.read(&ranges, array);
        if piece.is_err() {
            self.cuts.stop(); // an error ends the iteration
        }
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
    /// use std::ops::{ControlFlow, Range};
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
    /// At most three pieces are in memory. If no thread can be started, the pieces are read on the current
    /// thread.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    pub fn for_each_ahead(self, mut call: impl FnMut(ArrayView<'_, A, D>) -> ControlFlow<()>) -> Result<()> {
        /// Why the work ends early.
        enum End {
            Broken,
            Failed(Error),
        }
        impl From<Error> for End {
            fn from(error: Error) -> Self {
                Self::Failed(error)
            }
        }
        // Arrays that the callback has seen are read into again.
        let used = Mutex::new(Vec::new());
        let lock = || used.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |ranges: Vec<Range<usize>>| {
            let array = lock().pop();
            self.read(&ranges, array)
        };
        let done = transfer::map_in(self.cuts.clone(), (2, 3), read, |piece| {
            let piece = piece?;
            if call(piece.view()).is_break() {
                return Err(End::Broken);
            }
            lock().push(piece);
            Ok(())
        });
        match done {
            Err(End::Failed(error)) => Err(error),
            Ok(()) | Err(End::Broken) => Ok(()),
        }
    }
}

impl<A: ReadableElement, D: Dimension, F: ArrayFormat> Iterator for Chunks<'_, A, D, F> {
    type Item = Result<Array<A, D>>;

    /// Reads the next piece. Returns `None` after the last piece or after an error.
    fn next(&mut self) -> Option<Self::Item> {
        self.next_into(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.cuts.left();
        // The lower bound is not `left`, because an error ends the iteration early.
        (usize::from(left > 0), Some(left))
    }
}

/// Returns the axis that varies slowest.
fn slowest(order: Order, shape: &Shape) -> usize {
    match order {
        Order::C => 0,
        Order::Fortran => shape.ndim().saturating_sub(1),
    }
}
