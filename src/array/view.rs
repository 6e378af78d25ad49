//! Views of arrays in the bytes of a file.

use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeBuilder};

use super::private::Sealed;
use super::{dimension, group_inner_axes};
use crate::elements::cast::{self, Bitwise};
use crate::elements::{self, ViewElement, ViewMutElement};
use crate::error::{CopyReason, Fault, Result};
use crate::header::{GroupedHeader, Header};
use crate::io::{self, Expected};
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer::{self, Source};

/// Views the bytes of an NPY file as an array, without copying them.
///
/// ```
/// use ndarray::{arr1, ArrayView1};
/// use ndarray_io::{ViewNpyExt, WriteNpyExt};
///
/// let mut bytes = Vec::new();
/// arr1(&[1u8, 2, 3]).write_npy(&mut bytes)?;
/// assert_eq!(ArrayView1::<u8>::view_npy(&bytes)?, arr1(&[1, 2, 3]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// The elements must be aligned and in this machine's byte order. To view a file, map it with `NpyMmap`,
/// which owns the mapping, or with another crate.
pub trait ViewNpyExt<'a>: Sized + Sealed {
    /// Views an entire file; bytes after the array are an error.
    ///
    /// The time does not depend on the number of elements, unless the type has invalid bit patterns, like
    /// `bool`: every element is then checked.
    ///
    /// # Errors
    ///
    /// - A [format error](crate::Error::is_format) if the file is malformed, truncated, or longer than its
    ///   array, or if an element is invalid.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, number of axes, byte
    ///   order or memory layout, or are misaligned.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    fn view_npy(bytes: &'a [u8]) -> Result<Self> {
        ReadOptions::new().view_npy(bytes)
    }

    #[doc(hidden)]
    fn view_file(bytes: &'a [u8], expected: Expected, options: &ReadOptions) -> Result<Self>;
}

/// Views the bytes of an NPY file as a mutable array, to change them in place.
///
/// ```
/// use ndarray::{arr1, Array1, ArrayViewMut1};
/// use ndarray_io::{ReadNpyExt, ViewMutNpyExt, WriteNpyExt};
///
/// let mut bytes = Vec::new();
/// arr1(&[1u8, 2, 3]).write_npy(&mut bytes)?;
/// ArrayViewMut1::<u8>::view_mut_npy(&mut bytes)?[1] = 20;
/// assert_eq!(Array1::<u8>::read_npy(&bytes[..])?, arr1(&[1, 20, 3]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub trait ViewMutNpyExt<'a>: Sized + Sealed {
    /// Views an entire file; bytes after the array are an error.
    ///
    /// # Errors
    ///
    /// - A [format error](crate::Error::is_format) if the file is malformed, truncated, or longer than its
    ///   array, or if an element is invalid.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, number of axes, byte
    ///   order or memory layout, or are misaligned.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    fn view_mut_npy(bytes: &'a mut [u8]) -> Result<Self> {
        ReadOptions::new().view_mut_npy(bytes)
    }

    #[doc(hidden)]
    fn view_file_mut(bytes: &'a mut [u8], expected: Expected, options: &ReadOptions) -> Result<Self>;
}

impl ReadOptions {
    /// Views the bytes of an NPY file as an array. See [`ViewNpyExt::view_npy`]. A view never converts elements, so casting has no effect.
    ///
    /// # Errors
    ///
    /// Those of [`ViewNpyExt::view_npy`], except that bytes after the array are accepted with
    /// [`allow_trailing`](Self::allow_trailing).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{ArrayView1, arr1};
    /// use ndarray_io::{ReadOptions, WriteNpyExt};
    ///
    /// let mut bytes = Vec::new();
    /// arr1(&[1u8, 2, 3]).write_npy(&mut bytes)?;
    /// bytes.extend(b"more");
    /// let view: ArrayView1<u8> = ReadOptions::new().allow_trailing(true).view_npy(&bytes)?;
    /// assert_eq!(view, arr1(&[1, 2, 3]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn view_npy<'a, V: ViewNpyExt<'a>>(&self, bytes: &'a [u8]) -> Result<V> {
        V::view_file(bytes, Expected::NPY, self)
    }

    /// Views the bytes of an NPY file as an array that can be changed. See [`ViewMutNpyExt::view_mut_npy`].
    ///
    /// # Errors
    ///
    /// Those of [`ViewMutNpyExt::view_mut_npy`], except that bytes after the array are accepted with
    /// [`allow_trailing`](Self::allow_trailing).
    pub fn view_mut_npy<'a, V: ViewMutNpyExt<'a>>(&self, bytes: &'a mut [u8]) -> Result<V> {
        V::view_file_mut(bytes, Expected::NPY, self)
    }

    /// Views the bytes of an RA file as an array. See [`ViewRaExt::view_ra`](crate::ra::ViewRaExt::view_ra).
    ///
    /// # Errors
    ///
    /// Those of [`ViewRaExt::view_ra`](crate::ra::ViewRaExt::view_ra).
    pub fn view_ra<'a, V: ViewNpyExt<'a>>(&self, bytes: &'a [u8]) -> Result<V> {
        V::view_file(bytes, Expected::RA, self)
    }

    /// Views the bytes of an RA file as an array that can be changed. See [`ViewMutRaExt::view_mut_ra`](crate::ra::ViewMutRaExt::view_mut_ra).
    ///
    /// # Errors
    ///
    /// Those of [`ViewMutRaExt::view_mut_ra`](crate::ra::ViewMutRaExt::view_mut_ra).
    pub fn view_mut_ra<'a, V: ViewMutNpyExt<'a>>(&self, bytes: &'a mut [u8]) -> Result<V> {
        V::view_file_mut(bytes, Expected::RA, self)
    }
}

impl<'a, A: ViewElement, D: Dimension> ViewNpyExt<'a> for ArrayView<'a, A, D> {
    fn view_file(bytes: &'a [u8], expected: Expected, options: &ReadOptions) -> Result<Self> {
        view::<A, D>(bytes, expected, options)
    }
}

impl<'a, A: ViewMutElement, D: Dimension> ViewMutNpyExt<'a> for ArrayViewMut<'a, A, D> {
    fn view_file_mut(bytes: &'a mut [u8], expected: Expected, options: &ReadOptions) -> Result<Self> {
        view_mut::<A, D>(bytes, expected, options)
    }
}

/// Views the bytes of a file of any format.
pub(super) fn view<'a, A: ViewElement, D: Dimension>(
    bytes: &'a [u8],
    expected: Expected,
    options: &ReadOptions,
) -> Result<ArrayView<'a, A, D>> {
    let place = locate::<A, D>(bytes, expected, options)?;
    let items = cast::view(&place.bitwise, &bytes[place.payload.clone()], place.header.count());
    let items = items.map_err(|error| place.header.add_axis_indices(error, 0))?;
    // `locate` has checked the number of items, and the header satisfies ndarray's limits for shapes.
    Ok(ArrayView::from_shape(place.shape(), items).expect("a checked shape with exactly its number of items"))
}

/// Views the bytes of a file of any format mutably.
pub(super) fn view_mut<'a, A: ViewMutElement, D: Dimension>(
    bytes: &'a mut [u8],
    expected: Expected,
    options: &ReadOptions,
) -> Result<ArrayViewMut<'a, A, D>> {
    let place = locate::<A, D>(bytes, expected, options)?;
    place.bitwise.check_no_padding(place.header.dtype())?;
    let items = cast::view_mut(&place.bitwise, &mut bytes[place.payload.clone()], place.header.count());
    let items = items.map_err(|error| place.header.add_axis_indices(error, 0))?;
    // As in `view`.
    Ok(ArrayViewMut::from_shape(place.shape(), items)
        .expect("a checked shape with exactly its number of items"))
}

/// The position and the type of an array that can be viewed in the bytes of a file.
struct ViewLocation<A, D> {
    header: Header,
    dim: D,
    payload: std::ops::Range<usize>,
    bitwise: Bitwise<A>,
}

impl<A, D: Dimension> ViewLocation<A, D> {
    fn shape(self) -> ndarray::Shape<D> {
        self.dim.set_f(self.header.order() == Order::Fortran)
    }
}

/// Checks everything about a file that does not depend on the values of its elements.
fn locate<A: ViewElement, D: Dimension>(
    bytes: &[u8],
    expected: Expected,
    options: &ReadOptions,
) -> Result<ViewLocation<A, D>> {
    let mut rest = bytes;
    let mut source = Source::of(&mut rest);
    let (found, start) = io::read_header(&mut source, expected, options)?;
    let header = found.header();
    found.check_uncompressed(options)?;
    // As for reading, the number of axes and the dtype are checked before the payload.
    let (elements, dim, bitwise) = prepare_view::<A, D>(header, &found.dispatch_options(options))?;
    transfer::check_length(&source, header, options)?;
    let (_, length) = header.len_and_bytes_in_memory()?;
    source.advance(length as u64);
    match found.allows_trailing() {
        true => options.refuse_trailing_check()?,
        false => io::check_end(&mut source, header, options)?,
    }
    Ok(ViewLocation { header: elements, dim, payload: start..start + length, bitwise })
}

/// Returns the header, the shape and the type's token for viewing an array, or fails if it cannot be viewed.
pub(crate) fn prepare_view<A: ViewElement, D: Dimension>(
    header: &Header,
    options: &ReadOptions,
) -> Result<(Header, D, Bitwise<A>)> {
    let GroupedHeader { header: elements, is_scattered } = group_inner_axes::<A, D>(header)?;
    if is_scattered {
        // The parts of an element are not contiguous in the file, so they cannot be viewed without a copy.
        return Err(Fault::NeedsCopy(CopyReason::Layout { found: elements.dtype().clone() }).into());
    }
    let bitwise = elements::view_token(elements.dtype(), options)?;
    let dim = dimension(elements.shape_ref())?;
    Ok((elements.into_owned(), dim, bitwise))
}
