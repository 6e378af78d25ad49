//! Reading arrays from readers.

use std::io::Read;

use ndarray::{ArrayBase, DataOwned, Dimension, ShapeBuilder};

use super::private::Sealed;
use super::{dimension, with_inner_axes_grouped};
use crate::elements::{self, ReadableElement};
use crate::error::Result;
use crate::io::{NpyReader, Payload, PayloadRef, ReadArray, output_of};
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer;

/// Reads arrays from NPY files.
///
/// The trait is implemented for every owned array (`Array`, `ArcArray`, `CowArray`) with a fixed or dynamic
/// number of axes, and for [`DynArray`](crate::DynArray), which can have any dtype. An array in Fortran order
/// has Fortran strides; nothing is transposed.
///
/// ```
/// use std::fs::File;
/// use ndarray::Array2;
/// use ndarray_io::ReadNpyExt;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # ndarray_io::write_npy(&path, &ndarray::arr2(&[[1.0, 2.0]]))?;
/// let array = Array2::<f64>::read_npy(File::open(&path)?)?;
/// # assert_eq!(array, ndarray::arr2(&[[1.0, 2.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To read a file by its path, prefer [`read_npy`](crate::read_npy), whose errors include the path.
pub trait ReadNpyExt: ReadArray + Sealed {
    /// Reads exactly one array, and leaves the bytes after it in the reader.
    ///
    /// A `File` is read at explicit positions and by several threads. Do not wrap it in a `BufReader`, which
    /// would only slow down reading.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type or number of axes.
    fn read_npy<R: Read>(reader: R) -> Result<Self> {
        Self::read_npy_with(reader, &ReadOptions::new())
    }

    /// Reads exactly one array, with options.
    ///
    /// # Errors
    ///
    /// As for [`read_npy`](Self::read_npy).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::{Casting, ReadNpyExt, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[1.5f32]).write_npy(&mut file)?;
    /// let array = Array1::<f64>::read_npy_with(&file[..], &ReadOptions::new().casting(Casting::Safe))?;
    /// assert_eq!(array, arr1(&[1.5]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    fn read_npy_with<R: Read>(reader: R, options: &ReadOptions) -> Result<Self> {
        NpyReader::new_with(reader, options)?.read()
    }
}

impl<S: DataOwned, D: Dimension> ReadNpyExt for ArrayBase<S, D> where Self: ReadArray {}

impl<A, S, D> ReadArray for ArrayBase<S, D>
where
    A: ReadableElement,
    S: DataOwned<Elem = A>,
    D: Dimension,
{
    fn inner_ndim() -> usize {
        elements::inner_axes_of::<A>().len()
    }

    fn from_payload(PayloadRef(payload): PayloadRef<'_, '_>) -> Result<Self> {
        let (dim, order, items) = read_items::<A, D>(payload)?;
        let shape = dim.set_f(order == Order::Fortran);
        // `transfer` returns exactly the header's number of items, and the header satisfies ndarray's
        // limits for shapes.
        Ok(Self::from_shape_vec(shape, items).expect("a checked shape with exactly its number of items"))
    }
}

/// Reads all elements, and returns their dimension, their order, and them.
pub(super) fn read_items<A: ReadableElement, D: Dimension>(
    payload: Payload<'_, '_>,
) -> Result<(D, Order, Vec<A>)> {
    if const { A::IS_READ_AS_BYTES } {
        return read_ungrouped(payload); // there are no inner axes
    }
    let read = |PayloadRef(payload): PayloadRef<'_, '_>| read_ungrouped(payload);
    output_of(read, |read| with_inner_axes_grouped::<A, D>(payload, read))
}

fn read_ungrouped<A: ReadableElement, D: Dimension>(
    Payload { source, header, options }: Payload<'_, '_>,
) -> Result<(D, Order, Vec<A>)> {
    let dim: D = dimension(header.shape_ref())?;
    let plan = elements::read_plan_for::<A>(header.dtype(), options)?;
    Ok((dim, header.order(), transfer::read(source, header, plan, options)?))
}
