//! Reading into arrays that are there.

use std::io::Read;

use ndarray::{ArrayRef, Dimension};

use super::private::Sealed;
use super::{shape_of, with_grouped};
use crate::element::ReadableElement;
use crate::error::{ErrorKind, Result};
use crate::io::{self, Payload};
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer::{self, Source, Target};

/// Reading NPY files into arrays and views that are there already, so that a loop allocates once.
///
/// ```
/// use ndarray::{arr2, s, Array2};
/// use ndarray_io::{ReadNpyIntoExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr2(&[[1, 2], [3, 4]]).write_npy(&mut file)?;
///
/// let mut image = Array2::<i32>::zeros((2, 4));
/// image.slice_mut(s![.., ..;2]).read_npy_into(&file[..])?;
/// assert_eq!(image, arr2(&[[1, 0, 2, 0], [3, 0, 4, 0]]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub trait ReadNpyIntoExt: Sealed {
    /// Reads exactly one array, which has to have the shape of this one, whatever the strides of either.
    ///
    /// After an error in the elements themselves (a cut file, a bad bool) some of them may have been replaced.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if its shape is another; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback. After an error in the elements themselves, some of
    /// those in the array may have been replaced.
    fn read_npy_into<R: Read>(&mut self, reader: R) -> Result<()> {
        self.read_npy_into_with(reader, &ReadOptions::new())
    }

    /// Reads exactly one array, with options.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if its shape is another; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits);
    /// [`Cancelled`](crate::error::ErrorKind::Cancelled) by the progress callback. After an error in the elements themselves, some of
    /// those in the array may have been replaced.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Array1};
    /// # use ndarray_io::{Casting, ReadNpyIntoExt, ReadOptions, WriteNpyExt};
    /// # let mut file = Vec::new();
    /// # arr1(&[1u8, 2]).write_npy(&mut file)?;
    /// let mut row = Array1::<f64>::zeros(2);
    /// row.read_npy_into_with(&file[..], &ReadOptions::new().casting(Casting::Safe))?;
    /// # assert_eq!(row, arr1(&[1.0, 2.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    fn read_npy_into_with<R: Read>(&mut self, reader: R, options: &ReadOptions) -> Result<()>;
}

impl<A: ReadableElement, D: Dimension> ReadNpyIntoExt for ArrayRef<A, D> {
    fn read_npy_into_with<R: Read>(&mut self, mut reader: R, options: &ReadOptions) -> Result<()> {
        let mut source = Source::of(&mut reader);
        let (found, _) = io::read_header::<io::Npy>(&mut source, options.get_limits())?;
        let result = read_into(self, Payload { source: &mut source, header: &found.header, options });
        source.settle()?;
        result
    }
}

pub(crate) fn read_into<A: ReadableElement, D: Dimension>(
    array: &mut ArrayRef<A, D>,
    payload: Payload<'_, '_>,
) -> Result<()> {
    with_grouped::<A, D, _>(payload, |payload| read_items(array, payload))
}

fn read_items<A: ReadableElement, D: Dimension>(
    array: &mut ArrayRef<A, D>,
    payload: Payload<'_, '_>,
) -> Result<()> {
    let Payload { source, header, options } = payload;
    let shape = shape_of(&array.raw_dim());
    if *header.the_shape() != shape {
        return Err(ErrorKind::ShapeMismatch { found: header.the_shape().clone(), wanted: shape }.into());
    }
    let how = A::accept(header.dtype(), options)?;
    // In Fortran order, the elements follow one another as those of the reversed axes in C order.
    let mut view = array.view_mut();
    if header.order() == Order::Fortran {
        view = view.reversed_axes();
    }
    let target = if view.is_standard_layout() {
        let items = view.into_slice().expect("what has the standard layout is a slice"); // ndarray's own rule
        Target::Contiguous(items)
    } else {
        Target::Strided(view.into_iter())
    };
    transfer::read_into(source, header, how, target, options)
}
