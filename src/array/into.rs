//! Reading into existing arrays.

use std::io::Read;

use ndarray::{ArrayRef, Dimension};

use super::{GroupedPayload, shape_of};
use crate::elements::{self, ReadableElement};
use crate::error::{Fault, Result, WantedShape};
use crate::io::{self, Payload};
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer::{self, Source, Target};

impl ReadOptions {
    /// Reads exactly one NPY array from a reader into an existing array or view of the same shape; the strides may differ.
    ///
    /// Bytes after the array are left in the reader.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated, or an element is
    ///   invalid.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the file has a different shape.
    /// - Another [mismatch](crate::Error::is_mismatch) if its elements have a different type.
    ///
    /// After an error while the elements are being read, such as truncation, some elements of the array may have
    /// been overwritten.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, arr2, s};
    /// use ndarray_io::{ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr2(&[[1, 2], [3, 4]]).write_npy(&mut file)?;
    ///
    /// let mut image = Array2::<i32>::zeros((2, 4));
    /// ReadOptions::new().read_into(&file[..], &mut image.slice_mut(s![.., ..;2]))?;
    /// assert_eq!(image, arr2(&[[1, 0, 2, 0], [3, 0, 4, 0]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_into<A: ReadableElement, D: Dimension>(
        &self,
        mut reader: impl Read,
        array: &mut ArrayRef<A, D>,
    ) -> Result<()> {
        self.refuse_trailing_check()?;
        let mut source = Source::of(&mut reader);
        let (found, _) = io::read_npy_header(&mut source, self)?;
        let result = read_into(array, Payload { source: &mut source, header: &found.header, options: self });
        // Also after an error, so that the position of a file is where reading stopped.
        source.sync_file_position()?;
        result
    }
}

pub(crate) fn read_into<A: ReadableElement, D: Dimension>(
    array: &mut ArrayRef<A, D>,
    payload: Payload<'_, '_>,
) -> Result<()> {
    let header = payload.header;
    let mut grouped = GroupedPayload::of::<A, D>(payload)?;
    fill_array(array, grouped.payload()).map_err(|error| {
        let error = grouped.name_element(error);
        header.add_axis_indices(error, elements::inner_axes_of::<A>().len())
    })
}

/// Fills an array with a payload whose inner axes have been moved into its dtype.
fn fill_array<A: ReadableElement, D: Dimension>(
    array: &mut ArrayRef<A, D>,
    payload: Payload<'_, '_>,
) -> Result<()> {
    let Payload { source, header, options } = payload;
    let plan = elements::read_plan_for::<A>(header.dtype(), options)?;
    let shape = shape_of(&array.raw_dim());
    if *header.shape_ref() != shape {
        return Err(Fault::ShapeMismatch {
            found: header.shape_ref().clone(),
            wanted: WantedShape::Exactly(shape),
        }
        .into());
    }
    // Fortran order is C order with the axes reversed.
    let mut view = array.view_mut();
    if header.order() == Order::Fortran {
        view = view.reversed_axes();
    }
    let target = if view.is_standard_layout() {
        let items = view.into_slice().expect("an array in standard layout is a slice"); // guaranteed by ndarray
        Target::Contiguous(items)
    } else {
        Target::Strided(view.into_dyn())
    };
    transfer::read_into(source, header, plan, target, options)
}
