//! Reading arrays from readers.

use std::io::Read;

use ndarray::{ArrayBase, DataOwned, Dimension, ShapeBuilder};

use super::private::Sealed;
use super::{GroupedPayload, dimension};
use crate::elements::{self, ReadableElement};
use crate::error::Result;
use crate::io::{Expected, NpyReader, Payload, ReadArray};
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
        ReadOptions::new().read_from(reader)
    }
}

impl ReadOptions {
    /// Reads an NPY array from a reader. See [`ReadNpyExt::read_npy`].
    ///
    /// # Errors
    ///
    /// Those of [`ReadNpyExt::read_npy`], except that bytes after the array are accepted with
    /// [`allow_trailing`](Self::allow_trailing).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::{Casting, ReadOptions, WriteNpyExt};
    ///
    /// let mut file = Vec::new();
    /// arr1(&[1u8, 2]).write_npy(&mut file)?;
    /// let options = ReadOptions::new().casting(Casting::Safe);
    /// assert_eq!(options.read_from::<Array1<f64>>(&file[..])?, arr1(&[1.0, 2.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_from<T: ReadArray>(&self, reader: impl Read) -> Result<T> {
        NpyReader::expecting(reader, Expected::NPY, self)?.read()
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

    fn from_payload(payload: Payload<'_, '_>) -> Result<Self> {
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
    let mut grouped = GroupedPayload::of::<A, D>(payload)?;
    let Payload { source, header, options } = grouped.payload();
    // The type first: a caller that tries one type after the other asks for it.
    let plan = elements::read_plan_for::<A>(header.dtype(), options)?;
    let (dim, order) = (dimension(header.shape_ref())?, header.order());
    match transfer::read(source, header, plan, options) {
        Ok(items) => Ok((dim, order, items)),
        Err(error) => Err(grouped.name_element(error)),
    }
}
