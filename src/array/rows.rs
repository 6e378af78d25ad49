//! What [`NpyWriter::push`] takes.

use std::io::Write;

use ndarray::{ArrayBase, ArrayRef, Data, Dimension};

use super::flat::one_axis_view;
use super::{FlatArray, FlatView, Sealed};
use crate::elements::WritableElement;
use crate::error::Result;
use crate::io::NpyWriter;
use crate::shape::Order;
use crate::transfer::Items;

/// One or several rows that [`NpyWriter::push`] takes.
///
/// The trait is implemented for arrays and views with any strides, for [`FlatArray`] and [`FlatView`], and for slices, arrays `[T; N]` and vectors, which have
/// one axis: they are one row, or several rows of one element each. A writer that takes the dtype of its file
/// ([`append_dyn`](crate::WriteOptions::append_dyn)) takes [`DynArray`](crate::DynArray) and [`DynView`](crate::DynView).
///
/// Elements that are arrays themselves are written `[[1.0, 2.0], [3.0, 4.0]]`; several rows of numbers are `arr2(&[[1.0, 2.0], [3.0, 4.0]])`.
///
/// ```
/// use ndarray_io::NpyWriter;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// let mut log = NpyWriter::create(&path, &[2])?;
/// log.push(&[1.0, 2.0])?;
/// log.push(&vec![3.0, 4.0])?;
/// log.finish()?;
/// # assert_eq!(ndarray_io::read_npy::<_, ndarray::Array2<f64>>(&path)?, ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not rows of `{A}`",
    label = "not rows of the elements that this writer has",
    note = "a writer takes elements of one type: arrays and views of ndarray 0.17, slices, vectors and `FlatView` of it; a writer of \
            `DynArray`, from `append_dyn`, takes `DynArray::new(&rows)?` and `DynView`; of an `Arc` or a guard, push `&*rows`"
)]
pub trait Rows<A>: Sealed {
    /// Appends these rows to a writer: see [`NpyWriter::push`].
    ///
    /// # Errors
    ///
    /// Those of [`NpyWriter::push`].
    fn push_to<W: Write>(&self, writer: &mut NpyWriter<A, W>) -> Result<()>;
}

macro_rules! rows {
    ($([$($generics:tt)*] $type:ty: |$self:ident, $writer:ident| $push:expr;)*) => {$(
        impl<A: WritableElement, $($generics)*> Rows<A> for $type {
            fn push_to<W: Write>(&self, $writer: &mut NpyWriter<A, W>) -> Result<()> {
                let $self = self;
                $push
            }
        }
    )*};
}

rows! {
    [D: Dimension] ArrayRef<A, D>: |rows, writer| writer.push_array(rows);
    [S: Data<Elem = A>, D: Dimension] ArrayBase<S, D>: |rows, writer| writer.push_array(rows);
    [] [A]: |rows, writer| writer.push_array(&one_axis_view(rows)?);
    [const N: usize] [A; N]: |rows, writer| writer.push_array(&one_axis_view(rows)?);
    [] Vec<A>: |rows, writer| writer.push_array(&one_axis_view(rows)?);
    [] FlatArray<A>: |rows, writer| rows.view().push_to(writer);
    [] FlatView<'_, A>: |rows, writer| writer.push_array(&rows.array());
}

macro_rules! rows_through {
    ($($pointer:ty),*) => {$(
        impl<A, T: Rows<A> + ?Sized> Rows<A> for $pointer {
            fn push_to<W: Write>(&self, writer: &mut NpyWriter<A, W>) -> Result<()> {
                (**self).push_to(writer)
            }
        }
    )*};
}

rows_through!(&T, &mut T, Box<T>);

impl<T: Sealed + ?Sized> Sealed for &mut T {}

impl<A, W: Write> NpyWriter<A, W> {
    /// Appends one or several rows.
    ///
    /// `rows` has either the shape of one row, or an additional axis along which the array grows; what types it may have is in [`Rows`].
    /// Rows are buffered; call [`commit`](NpyWriter::commit) to make them visible to readers.
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the rows have a different shape.
    /// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if a [`DynArray`](crate::DynArray) or a [`DynView`](crate::DynView) does not have exactly the dtype of the file.
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if the array would have more elements than its declared shape, or after an
    ///   earlier error, or if [`extend`](NpyWriter::extend) has left a row incomplete.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a text exceeds the width.
    /// - [`Io`](crate::error::ErrorKind::Io) if writing fails.
    pub fn push<T: Rows<A> + ?Sized>(&mut self, rows: &T) -> Result<()> {
        rows.push_to(self)
    }

    /// Appends one or several rows and finishes the array.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push) and of [`finish`](Self::finish).
    pub fn push_and_finish<T: Rows<A> + ?Sized>(mut self, rows: &T) -> Result<W> {
        self.push(rows)?;
        self.finish()
    }
}

impl<A: WritableElement, W: Write> NpyWriter<A, W> {
    /// Appends the elements of rows in the order of the file.
    fn push_array<D: Dimension>(&mut self, rows: &ArrayRef<A, D>) -> Result<()> {
        self.row_writer.check_rows_and_count_empty(rows.shape())?;
        // With at most one axis, both orders are the same.
        if let Some(items) = rows.as_slice().filter(|_| rows.ndim() < 2) {
            return self.put(Items::Contiguous(items), items.len());
        }
        // The elements in Fortran order are those of the reversed axes in C order.
        let view = if self.row_writer.order == Order::Fortran { rows.t() } else { rows.view() };
        match view.to_slice() {
            Some(items) => self.put(Items::Contiguous(items), items.len()),
            None => {
                let len = view.len();
                self.put(Items::Strided(view.into_dyn()), len)
            }
        }
    }
}
