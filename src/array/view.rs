//! Views of arrays in the bytes of a file.

use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeBuilder};

use super::private::Sealed;
use super::{dimension, group_inner_axes};
use crate::elements::cast::{self, Bitwise};
use crate::elements::{self, ViewElement, ViewMutElement};
use crate::error::{CopyReason, ErrorKind, Result};
use crate::header::{GroupedHeader, Header};
use crate::io::{self, ArrayFormat, Npy};
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
        Self::view_npy_with(bytes, &ReadOptions::new())
    }

    /// Views an entire file, with options.
    ///
    /// A view never converts elements, so [`ReadOptions::casting`] has no effect.
    ///
    /// # Errors
    ///
    /// As for [`view_npy`](Self::view_npy), except that bytes after the array are accepted with
    /// [`ReadOptions::allow_trailing`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, ArrayView1};
    /// # use ndarray_io::{ReadOptions, ViewNpyExt, WriteNpyExt};
    /// let mut bytes = Vec::new();
    /// arr1(&[1u8, 2, 3]).write_npy(&mut bytes)?;
    /// bytes.extend(b"more");
    /// let view = ArrayView1::<u8>::view_npy_with(&bytes, &ReadOptions::new().allow_trailing(true))?;
    /// assert_eq!(view.len(), 3);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    fn view_npy_with(bytes: &'a [u8], options: &ReadOptions) -> Result<Self>;
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
        Self::view_mut_npy_with(bytes, &ReadOptions::new())
    }

    /// Views an entire file, with options.
    ///
    /// A view never converts elements, so [`ReadOptions::casting`] has no effect.
    ///
    /// # Errors
    ///
    /// As for [`view_mut_npy`](Self::view_mut_npy), except that bytes after the array are accepted with
    /// [`ReadOptions::allow_trailing`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, ArrayViewMut1};
    /// # use ndarray_io::{ReadOptions, ViewMutNpyExt, WriteNpyExt};
    /// # let mut bytes = Vec::new();
    /// # arr1(&[1u8, 2, 3]).write_npy(&mut bytes)?;
    /// # bytes.extend(b"more");
    /// let options = ReadOptions::new().allow_trailing(true);
    /// ArrayViewMut1::<u8>::view_mut_npy_with(&mut bytes, &options)?.fill(0);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    fn view_mut_npy_with(bytes: &'a mut [u8], options: &ReadOptions) -> Result<Self>;
}

impl<'a, A: ViewElement, D: Dimension> ViewNpyExt<'a> for ArrayView<'a, A, D> {
    fn view_npy_with(bytes: &'a [u8], options: &ReadOptions) -> Result<Self> {
        view::<A, D, Npy>(bytes, options)
    }
}

impl<'a, A: ViewMutElement, D: Dimension> ViewMutNpyExt<'a> for ArrayViewMut<'a, A, D> {
    fn view_mut_npy_with(bytes: &'a mut [u8], options: &ReadOptions) -> Result<Self> {
        view_mut::<A, D, Npy>(bytes, options)
    }
}

/// Views the bytes of a file of any format.
pub(super) fn view<'a, A: ViewElement, D: Dimension, F: ArrayFormat>(
    bytes: &'a [u8],
    options: &ReadOptions,
) -> Result<ArrayView<'a, A, D>> {
    let place = locate::<A, D, F>(bytes, options)?;
    let items = cast::view(&place.bitwise, &bytes[place.payload.clone()], place.header.count());
    let items = items.map_err(|error| place.header.add_axis_indices(error, 0, false))?;
    // `locate` has checked the number of items, and the header satisfies ndarray's limits for shapes.
    Ok(ArrayView::from_shape(place.shape(), items).expect("a checked shape with exactly its number of items"))
}

/// Views the bytes of a file of any format mutably.
pub(super) fn view_mut<'a, A: ViewMutElement, D: Dimension, F: ArrayFormat>(
    bytes: &'a mut [u8],
    options: &ReadOptions,
) -> Result<ArrayViewMut<'a, A, D>> {
    let place = locate::<A, D, F>(bytes, options)?;
    place.bitwise.check_no_padding(place.header.dtype())?;
    let items = cast::view_mut(&place.bitwise, &mut bytes[place.payload.clone()], place.header.count());
    let items = items.map_err(|error| place.header.add_axis_indices(error, 0, false))?;
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
fn locate<A: ViewElement, D: Dimension, F: ArrayFormat>(
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<ViewLocation<A, D>> {
    let mut rest = bytes;
    let mut source = Source::of(&mut rest);
    let (found, start) = io::read_header::<F>(&mut source, options)?;
    let header = F::header(&found);
    F::check_uncompressed(&found, options)?;
    // As for reading, the number of axes and the dtype are checked before the payload.
    let (elements, dim, bitwise) = prepare_view::<A, D>(header, &F::dispatch_options(&found, options))?;
    transfer::check_length(&source, header, options)?;
    let (_, length) = header.len_and_bytes_in_memory()?;
    source.advance(length as u64);
    match F::ALLOWS_TRAILING {
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
    let GroupedHeader { header: elements, is_scattered } = group_inner_axes::<A, D>(header, options)?;
    if is_scattered {
        // The parts of an element are not contiguous in the file, so they cannot be viewed without a copy.
        return Err(ErrorKind::NeedsCopy(CopyReason::Layout { found: elements.dtype().clone() }).into());
    }
    let dim = dimension(elements.shape_ref())?;
    let bitwise = elements::view_token(elements.dtype(), options)?;
    Ok((elements.into_owned(), dim, bitwise))
}
