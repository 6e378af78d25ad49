//! Memory maps of files: arrays whose elements are loaded from the disk when they are accessed.
#![allow(unsafe_code)]

mod advice;
mod scattered;

use std::fs::File;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

pub use advice::MapAdvice;
use memmap2::{Mmap, MmapOptions};
use ndarray::{ArrayView, Dimension, ShapeBuilder};

use crate::array::{dimension, prepare_view};
use crate::bytes::{self, Region};
use crate::dtype::DType;
use crate::elements::ViewElement;
use crate::elements::cast::{self, Bitwise};
use crate::error::{Error, Fault, Result};
use crate::header::{Extent, Header};
use crate::io::{self, Expected, FormatHeader};
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::ra_format::RaHeader;
use crate::shape::{Order, Shape};
use crate::transfer::{self, Source};

/// The array of a map: its type, and its location in the file.
///
/// The header is read through the file, and only the elements are mapped: a reference to the bytes of a header
/// must not exist while another process can write it, as appending rows does.
#[derive(Debug)]
struct MappedLayout<A, D> {
    found: FormatHeader,
    /// The header of what is mapped. Inner axes that belong to the elements are part of the dtype.
    header: Header,
    dim: D,
    bitwise: Bitwise<A>,
    /// The offset of the map in the file, in bytes.
    file_offset: u64,
    /// The length of the map in bytes.
    byte_len: usize,
    /// The shape of the array in the file, and the number of the first mapped element in it.
    whole: (Shape, usize),
    /// What followed the array when the file was opened; nothing for a map of a part.
    extent: Extent,
    /// Makes a map `Send` and `Sync` only if its elements are.
    elements: PhantomData<Vec<A>>,
}

impl<A: ViewElement, D: Dimension> MappedLayout<A, D> {
    /// Locates the elements in a file, or those of a range of the slowest-varying axis.
    fn locate(file: &File, rows: Option<Range<usize>>, options: &ReadOptions) -> Result<Self> {
        options.refuse_trailing_check()?;
        if bytes::len_of_regular(file).is_none() {
            return Err(not_regular());
        }
        let mut source = Source::region(Region::of_file(file).with_known_end()?);
        let (found, start) = io::read_header_of_file(&mut source, Expected::Any, options)?;
        let whole = found.header();
        found.check_uncompressed(options)?;
        let (mut header, _, bitwise): (Header, D, _) =
            prepare_view::<A, D>(whole, &found.dispatch_options(options))?;
        // Check the length before mapping: accessing a page past the end of the file would be a fault.
        let payload = transfer::check_length(&source, whole, options)?;
        let after = source.remaining().unwrap_or_default().saturating_sub(payload);
        let mut mapped_at = start as u64;
        let whole_shape = header.shape_ref().clone();
        let mut first = 0;
        if let Some(rows) = &rows {
            let length = slowest_axis_len(&header);
            check_rows(rows, length)?;
            let mut dims = header.shape().to_vec();
            let Some(axis) = slowest_axis(&header) else {
                return Err(Fault::NoSuchAxis { axis: 0, shape: header.shape_ref().clone() }.into());
            };
            dims[axis] = rows.len();
            first = rows.start * (header.count() / length.max(1));
            mapped_at += rows.start as u64 * (payload / length.max(1) as u64);
            header = header.with_shape(dims.into())?;
        }
        Ok(Self {
            dim: dimension(header.shape_ref())?,
            byte_len: header.len_and_bytes_in_memory()?.1,
            extent: if rows.is_some() { Extent::Whole } else { Extent::of(after, 0) },
            file_offset: mapped_at,
            whole: (whole_shape, first),
            found,
            header,
            bitwise,
            elements: PhantomData,
        })
    }

    /// Returns the options for mapping these bytes of the file.
    fn mmap_options(&self) -> MmapOptions {
        let mut mmap_options = MmapOptions::new();
        mmap_options.offset(self.file_offset).len(self.byte_len);
        mmap_options
    }

    /// Checks the alignment of the mapped elements and their values, once, so that views need no checks.
    fn check_elements(&self, bytes: &[u8]) -> Result<()> {
        let checked = cast::view(&self.bitwise, bytes, self.header.count());
        let (shape, first) = &self.whole;
        checked
            .map(drop)
            .map_err(|error| error.offset_element(*first).with_axis_indices(shape, self.header.order()))
    }

    /// Returns where a range of the slowest-varying axis is in the map: its offset and length in bytes.
    fn byte_offset_and_len(&self, rows: Range<usize>) -> Result<(usize, usize)> {
        let length = slowest_axis_len(&self.header);
        check_rows(&rows, length)?;
        let row = self.byte_len / length.max(1);
        Ok((rows.start * row, rows.len() * row))
    }

    fn shape(&self) -> ndarray::Shape<D> {
        self.dim.clone().set_f(self.header.order() == Order::Fortran)
    }

    /// Returns a pointer to the first element, for a map that begins at `start`.
    fn first(&self, start: *const u8) -> *const A {
        // The offset of an empty payload need not be aligned.
        if self.byte_len == 0 { std::ptr::dangling() } else { start.cast() }
    }
}

/// Returns the slowest-varying axis; `None` for an array without axes.
fn slowest_axis(header: &Header) -> Option<usize> {
    let last = header.shape().len().checked_sub(1)?;
    Some(if header.order() == Order::C { 0 } else { last })
}

/// Returns the length of the slowest-varying axis; 0 for an array without axes.
fn slowest_axis_len(header: &Header) -> usize {
    slowest_axis(header).map_or(0, |axis| header.shape()[axis])
}

/// Returns the error for a file that cannot be mapped.
pub(crate) fn not_regular() -> Error {
    let reason = "it is not a regular file: only regular files can be mapped".into();
    Fault::NotRegularFile { reason }.into()
}

fn check_rows(rows: &Range<usize>, length: usize) -> Result<()> {
    if rows.end > length {
        let (index, length) = (rows.end as i128, length as u64);
        return Err(Fault::OutOfBounds { index, length, axis: None }.into());
    }
    if rows.start > rows.end {
        let reason = format!("there are no indices {rows:?} along an axis of length {length}");
        return Err(Fault::BadOption { reason }.into());
    }
    Ok(())
}

/// The accessors that both kinds of maps share.
macro_rules! shared_accessors {
    () => {
        /// Returns the type of the elements.
        pub fn dtype(&self) -> &DType {
            self.mapped.header.dtype()
        }

        /// Returns the lengths of the axes.
        pub fn shape(&self) -> &[usize] {
            self.mapped.header.shape()
        }

        /// Returns the header of an NPY file, with the version of the format.
        pub fn npy_header(&self) -> Option<&NpyHeader> {
            self.mapped.found.npy()
        }

        /// Returns the header of an RA file.
        pub fn ra_header(&self) -> Option<&RaHeader> {
            self.mapped.found.ra()
        }

        /// Returns the order in which the elements are stored.
        pub fn order(&self) -> Order {
            self.mapped.header.order()
        }

        /// Returns the offset of the first mapped element in the file, in bytes.
        pub fn data_offset(&self) -> u64 {
            self.mapped.file_offset
        }

        /// Tells the operating system how the elements will be accessed.
        ///
        /// This is a hint. It has no effect where the system does not support it.
        ///
        /// # Errors
        ///
        /// - [`Io`](crate::error::ErrorKind::Io) if the system call fails.
        pub fn advise(&self, advice: MapAdvice) -> Result<()> {
            #[cfg(unix)]
            advice::advise(|with| self.map.advise(with), advice)?;
            let _ = advice;
            Ok(())
        }

        /// Returns whether bytes followed the array when the file was opened, such as rows being appended.
        ///
        /// A map of a part of the file does not know what follows the array.
        pub fn extent(&self) -> Extent {
            self.mapped.extent
        }
    };
}

/// A read-only memory map of an NPY or RA file, whose elements are viewed in place.
///
/// Opening reads only the header, regardless of the size of the file. Pages are loaded when they are
/// accessed, and shared with other processes that map the file. [`view`](NpyMmap::view) returns an
/// `ArrayView`. [`open_slab`](NpyMmap::open_slab) maps only some rows, and [`advise`](NpyMmap::advise)
/// tells the operating system how the elements will be accessed.
///
/// The elements must have the requested type, be in native byte order and be aligned, as in the files that
/// NumPy writes. Otherwise opening fails with a [mismatch](crate::Error::is_mismatch), and the file can be
/// read instead. If the element type has invalid bit patterns, as `bool` does, opening checks all elements.
///
/// # Safety
///
/// Opening is `unsafe`: while the map exists, nothing in this process or another may shorten the file or
/// change its elements. Appending rows is allowed.
///
/// # Examples
///
/// ```
/// use ndarray::{Ix2, arr2};
/// use ndarray_io::NpyMmap;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr2(&[[1.0f32, 2.0], [3.0, 4.0]]))?;
///
/// // SAFETY: nothing else changes this file.
/// let map = unsafe { NpyMmap::<f32, Ix2>::open(&path)? };
/// assert_eq!(map.view().sum(), 10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyMmap<A, D> {
    map: Mmap,
    mapped: MappedLayout<A, D>,
}

// Bounds on functions that make maps are their own: so the compiler says which type has which fault.
impl<A, D: Dimension> NpyMmap<A, D> {
    /// Maps a file for reading.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    ///
    /// # Safety
    ///
    /// From this call on, while the map exists, nothing in this process or another may change the file's elements
    /// or truncate the file. Otherwise, views would change under safe code, and accessing pages past the end of a
    /// truncated file would raise SIGBUS. Replacing the file as [`write_npy`](crate::write_npy) does is
    /// harmless: the map keeps the old file.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self>
    where
        A: ViewElement,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { Self::map(path.as_ref(), None, &ReadOptions::new()) }
    }

    /// Maps an open file for reading, regardless of its position (which Windows moves).
    ///
    /// # Errors
    ///
    /// As for [`NpyMmap::open`].
    ///
    /// # Safety
    ///
    /// As for [`NpyMmap::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Ix1, arr1};
    /// use ndarray_io::{NpyMmap, WriteNpyExt};
    ///
    /// let mut file = tempfile::tempfile()?;
    /// arr1(&[1.5, 2.5]).write_npy(&mut file)?;
    /// // SAFETY: this file has no name by which others could change it.
    /// let map = unsafe { NpyMmap::<f64, Ix1>::new(&file)? };
    /// assert_eq!(map.view(), arr1(&[1.5, 2.5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn new(file: &File) -> Result<Self>
    where
        A: ViewElement,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { Self::map_file(file, None, &ReadOptions::new()) }
    }

    /// Maps a range of the slowest-varying axis of a file for reading.
    ///
    /// This is the first axis, or the last in Fortran order. Other processes may change the rest of the file.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file, or the range ends before it starts.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the range ends beyond the axis, or the array has no axes.
    ///
    /// # Safety
    ///
    /// As for [`NpyMmap::open`], except that elements outside the mapped range may change.
    pub unsafe fn open_slab<P: AsRef<Path>>(path: P, range: Range<usize>) -> Result<Self>
    where
        A: ViewElement,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { Self::map(path.as_ref(), Some(range), &ReadOptions::new()) }
    }
}

impl<A: ViewElement, D: Dimension> NpyMmap<A, D> {
    /// Maps all rows of a file, or some of them.
    ///
    /// # Safety
    ///
    /// As for [`NpyMmap::open`], for the elements that are mapped.
    unsafe fn map(path: &Path, rows: Option<Range<usize>>, options: &ReadOptions) -> Result<Self> {
        let map = || {
            // SAFETY: the caller upholds the same contract.
            unsafe { Self::map_file(&File::open(path)?, rows, options) }
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// Maps all rows of an open file, or some of them.
    ///
    /// # Safety
    ///
    /// As for [`NpyMmap::open`], for the elements that are mapped.
    unsafe fn map_file(file: &File, rows: Option<Range<usize>>, options: &ReadOptions) -> Result<Self> {
        let mapped = MappedLayout::locate(file, rows, options)?;
        // SAFETY: the caller guarantees that these bytes do not change.
        let map = unsafe { mapped.mmap_options().map(file)? };
        mapped.check_elements(&map)?;
        Ok(Self { map, mapped })
    }

    /// Returns a view of the array, in constant time.
    pub fn view(&self) -> ArrayView<'_, A, D> {
        let first = self.mapped.first(self.map.as_ptr());
        // SAFETY: opening has checked that the map contains aligned and valid elements of this shape, and its
        // caller has guaranteed that the file does not change. The view borrows the map.
        unsafe { ArrayView::from_shape_ptr(self.mapped.shape(), first) }
    }

    shared_accessors!();
}

impl ReadOptions {
    /// Maps a file for reading. See [`NpyMmap::open`].
    ///
    /// The limits apply and, for RA files, `ignore_ra_flags`; `allow_trailing(false)` is refused.
    ///
    /// # Errors
    ///
    /// Those of [`NpyMmap::open`].
    ///
    /// # Safety
    ///
    /// As for [`NpyMmap::open`].
    pub unsafe fn map<A, D>(&self, path: impl AsRef<Path>) -> Result<NpyMmap<A, D>>
    where
        A: ViewElement,
        D: Dimension,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { NpyMmap::map(path.as_ref(), None, self) }
    }
}

mod mutable;

pub use mutable::NpyMmapMut;
