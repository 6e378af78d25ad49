//! Memory maps of files: arrays whose elements are loaded from the disk when they are accessed.
#![allow(unsafe_code)]

mod advice;

use std::fs::File;
use std::io::Seek;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

pub use advice::MapAdvice;
use memmap2::{Mmap, MmapOptions};
use ndarray::{ArrayView, Dimension, ShapeBuilder};

use crate::array::{ViewLocation, dimension, locate, viewable_as};
use crate::dtype::DType;
use crate::element::ViewElement;
use crate::element::cast;
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::io::change::{self};
use crate::io::{self, ArrayFormat, Npy, Ra};
use crate::npy_format::Version;
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer::{self, Source};

/// The array of a map: its type, and its location in the map and in the file.
#[derive(Debug)]
struct Mapped<A, D, F: ArrayFormat> {
    place: ViewLocation<A, D, F>,
    /// The offset of the map in the file, in bytes.
    start: u64,
    /// The length of the map in bytes.
    len: usize,
    /// Makes a map `Send` and `Sync` only if its elements are.
    elements: PhantomData<Vec<A>>,
}

impl<A: ViewElement, D: Dimension, F: ArrayFormat> Mapped<A, D, F> {
    fn check(bytes: &[u8], options: &ReadOptions) -> Result<Self> {
        // A file that is being appended to may have bytes after its array: `trailing_len` reports them.
        let options = options.clone().allow_trailing(true);
        let place = locate::<A, D, F>(bytes, &options)?;
        // Check alignment and element values once, so that views need no checks.
        cast::view(&place.plain, &bytes[place.payload.clone()], place.len())?;
        Ok(Self { place, start: 0, len: bytes.len(), elements: PhantomData })
    }

    /// Locates a range of the slowest-varying axis in a file, to be mapped without the header.
    fn slab(mut file: &File, range: Range<usize>, options: &ReadOptions) -> Result<Self> {
        file.rewind()?;
        let mut source = Source::of(&mut file);
        let (found, start) = io::read_header_of_file::<F>(&mut source, options.get_limits())?;
        let header = F::header(&found);
        F::check_plain(&found, options)?;
        // Check the length before mapping: accessing a page past the end of the file would be a fault.
        transfer::check_length(&source, header, options)?;
        let (header, _, plain): (Header, D, _) = viewable_as::<A, D>(header, &F::gate(&found, options))?;
        let mut dims = header.shape().to_vec();
        let slowest = if header.order() == Order::C { dims.first_mut() } else { dims.last_mut() };
        let length = slowest.as_deref().copied().unwrap_or(0);
        let Some(slowest) = slowest.filter(|length| range.start <= range.end && range.end <= **length) else {
            let (reason, shape) = (format!("indices {range:?} of the slowest axis"), header.shape_ref());
            let reason = format!("there are no {reason} in an array of shape {shape}");
            return Err(ErrorKind::BadOption { reason }.into());
        };
        *slowest = range.len();
        let slab = Header::new(header.dtype().clone(), header.order(), dims.into())?;
        let (_, bytes) = slab.in_memory()?;
        // `check_length` has verified that the bytes of all elements are in the file.
        let row = header.payload_len().unwrap_or_default() / length.max(1) as u64;
        let place = ViewLocation {
            dim: dimension(slab.shape_ref())?,
            is_fortran: slab.order() == Order::Fortran,
            payload: 0..bytes,
            plain,
            header: slab,
            found,
        };
        Ok(Self { place, start: start as u64 + range.start as u64 * row, len: bytes, elements: PhantomData })
    }

    /// Checks that the elements of a mapped slab are aligned and valid.
    fn check_slab(&self, bytes: &[u8]) -> Result<()> {
        cast::view(&self.place.plain, bytes, self.place.len()).map(drop)
    }

    /// Returns an error if changing elements could write uninitialized bytes to the file.
    ///
    /// `IS_FULL` reports this at compile time, with a clear message, but the token is authoritative.
    fn check_full(&self) -> Result<()> {
        match self.place.plain.is_full() {
            true => Ok(()),
            false => Err(ErrorKind::NotViewable { found: self.place.header.dtype().clone() }.into()),
        }
    }

    /// Returns where a range of the slowest-varying axis is in the map: its offset and length in bytes.
    fn bytes_of(&self, range: Range<usize>) -> Result<(usize, usize)> {
        let (dims, place) = (self.place.header.shape(), &self.place);
        let slowest = if place.header.order() == Order::C { dims.first() } else { dims.last() };
        let length = slowest.copied().unwrap_or(0);
        if range.start > range.end || range.end > length {
            let reason = format!("there are no indices {range:?} along an axis of length {length}");
            return Err(ErrorKind::BadOption { reason }.into());
        }
        let row = place.payload.len() / length.max(1);
        Ok((place.payload.start + range.start * row, range.len() * row))
    }

    fn shape(&self) -> ndarray::Shape<D> {
        self.place.dim.clone().set_f(self.place.is_fortran)
    }

    /// Returns a pointer to the first element, for a map that begins at `start`.
    fn first(&self, start: *const u8) -> *const A {
        // The offset of an empty payload need not be aligned.
        if self.place.payload.is_empty() {
            return std::ptr::dangling();
        }
        start.wrapping_add(self.place.payload.start).cast()
    }
}

/// The accessors that both kinds of maps share.
macro_rules! description {
    () => {
        /// Returns the type of the elements.
        pub fn dtype(&self) -> &DType {
            self.mapped.place.header.dtype()
        }

        /// Returns the lengths of the axes.
        pub fn shape(&self) -> &[usize] {
            self.mapped.place.header.shape()
        }

        /// Returns the order in which the elements are stored.
        pub fn order(&self) -> Order {
            self.mapped.place.header.order()
        }

        /// Returns the offset of the first mapped element in the file, in bytes.
        pub fn data_offset(&self) -> u64 {
            self.mapped.start + self.mapped.place.payload.start as u64
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

        /// Asks the operating system to start loading a range of the slowest-varying axis.
        ///
        /// The range is relative to the mapped part. This is a hint, and has an effect only on Unix.
        ///
        /// # Errors
        ///
        /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the range is out of bounds.
        /// - [`Io`](crate::error::ErrorKind::Io) if the system call fails.
        pub fn will_need(&self, range: Range<usize>) -> Result<()> {
            let (start, len) = self.mapped.bytes_of(range)?;
            #[cfg(unix)]
            self.map.advise_range(memmap2::Advice::WillNeed, start, len)?;
            #[cfg(not(unix))]
            let _ = (start, len);
            Ok(())
        }

        /// Returns the number of bytes after the array when the file was mapped, such as rows being appended.
        ///
        /// For a map of a part of the file, this is 0.
        pub fn trailing_len(&self) -> usize {
            self.mapped.len - self.mapped.place.payload.end
        }
    };
}

/// A read-only memory map of an NPY file, whose elements are viewed in place.
///
/// Opening reads only the header, regardless of the size of the file. Pages are loaded when they are
/// accessed, and shared with other processes that map the file. [`view`](ArrayMmap::view) returns an
/// `ArrayView`. [`open_slab`](ArrayMmap::open_slab) maps only some rows, and [`advise`](ArrayMmap::advise)
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
pub type NpyMmap<A, D> = ArrayMmap<A, D, Npy>;
/// A memory map of an NPY file, for changing the file in place or a private copy of it.
///
/// [`create`](ArrayMmapMut::create) creates a file of zeros and maps it, [`open`](ArrayMmapMut::open) maps an
/// existing file, and [`open_cow`](ArrayMmapMut::open_cow) maps a private copy, whose changes stay in memory.
/// [`view_mut`](ArrayMmapMut::view_mut) returns an `ArrayViewMut`. Other processes see changes to the file
/// immediately. The system writes them to disk later; [`flush`](ArrayMmapMut::flush) waits for that.
///
/// A map that writes to the file locks it: programs that use this library can neither append to the file nor
/// replace it. The lock does not exclude other mutable maps or
/// [`NpyFile::write_slice`](crate::NpyFile::write_slice).
///
/// # Safety
///
/// Opening is `unsafe`: while the map exists, nothing else in this process or another may access the file's
/// elements or shorten the file. A private copy only requires that the file does not change, as for
/// [`NpyMmap`].
///
/// # Examples
///
/// ```
/// use ndarray::{Array1, Ix1, arr1};
/// use ndarray_io::NpyMmapMut;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npy");
/// // SAFETY: nothing else uses this file.
/// let mut map = unsafe { NpyMmapMut::<f64, Ix1>::create(&path, 3)? };
/// map.view_mut()[1] = 2.5;
/// map.flush()?;
/// drop(map);
/// assert_eq!(ndarray_io::read_npy::<_, Array1<f64>>(&path)?, arr1(&[0.0, 2.5, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NpyMmapMut<A, D> = ArrayMmapMut<A, D, Npy>;

/// A read-only memory map of an RA file. See [`NpyMmap`].
///
/// The data must not be compressed or stored as single bits.
pub type RaMmap<A, D> = ArrayMmap<A, D, Ra>;
/// A memory map of an RA file, for changing the file in place or a private copy of it.
///
/// See [`NpyMmapMut`]. New files are in Fortran order, so [`create`](ArrayMmapMut::create) requires a shape
/// such as `(3, 4).f()`.
pub type RaMmapMut<A, D> = ArrayMmapMut<A, D, Ra>;

/// A read-only memory map of an array: see [`NpyMmap`] and [`RaMmap`](crate::ra::RaMmap).
///
/// Opening reads only the header, unless the element type has invalid bit patterns, as `bool` does: then all
/// elements are checked. Pages are loaded when they are accessed.
///
/// # Examples
///
/// ```
/// use ndarray::{arr2, Ix2};
/// use ndarray_io::NpyMmap;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
/// // SAFETY: nothing changes the file while it is mapped.
/// let map = unsafe { NpyMmap::<f64, Ix2>::open(&path)? };
/// assert_eq!(map.view().row(1).sum(), 7.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrayMmap<A, D, F: ArrayFormat> {
    map: Mmap,
    mapped: Mapped<A, D, F>,
}

impl<A: ViewElement, D: Dimension, F: ArrayFormat> ArrayMmap<A, D, F> {
    /// Maps a file for reading.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    ///
    /// # Safety
    ///
    /// While the map exists, nothing in this process or another may change the file's elements or truncate
    /// the file. Otherwise, views would change under safe code, and accessing pages past the end of a
    /// truncated file would raise SIGBUS. Replacing the file as [`write_npy`](crate::write_npy) does is
    /// harmless: the map keeps the old file.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller upholds the same contract.
        unsafe { Self::open_with(path, &ReadOptions::new()) }
    }

    /// Maps a file for reading, with options.
    ///
    /// The limits apply and, for RA files, `ignore_ra_flags`.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmap::open`].
    pub unsafe fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            let map = || -> Result<Self> {
                // SAFETY: the caller guarantees that the file does not change.
                let map = unsafe { Mmap::map(&file)? };
                let mapped = Mapped::check(&map, options)?;
                Ok(Self { map, mapped })
            };
            match map() {
                // Another process may have been writing the header, or may have finished an append since the
                // file was mapped. Try again under a lock that prevents it from writing the header.
                Err(error) if error.is_format() => change::with_header_lock(&file, change::Mode::Shared, map),
                Ok(found) if !F::HAS_TRAILING && found.trailing_len() > 0 => {
                    change::with_header_lock(&file, change::Mode::Shared, map)
                }
                found => found,
            }
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// Maps a range of the slowest-varying axis of a file for reading.
    ///
    /// This is the first axis, or the last in Fortran order. Other processes may change the rest of the file.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the range is out of bounds.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmap::open`], except that elements outside the mapped range may change.
    pub unsafe fn open_slab<P: AsRef<Path>>(path: P, range: Range<usize>) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            let mapped = Mapped::<A, D, F>::slab(&file, range, &ReadOptions::new())?;
            // SAFETY: the caller guarantees that these bytes do not change.
            let map = unsafe { MmapOptions::new().offset(mapped.start).len(mapped.len).map(&file)? };
            mapped.check_slab(&map)?;
            Ok(Self { map, mapped })
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// Returns a view of the array, in constant time.
    pub fn view(&self) -> ArrayView<'_, A, D> {
        let first = self.mapped.first(self.map.as_ptr());
        // SAFETY: opening has checked that the map contains aligned and valid elements of this shape, and its
        // caller has guaranteed that the file does not change. The view borrows the map.
        unsafe { ArrayView::from_shape_ptr(self.mapped.shape(), first) }
    }

    description!();
}

impl<A: ViewElement, D: Dimension> NpyMmap<A, D> {
    /// Returns the version of the format.
    pub fn version(&self) -> Version {
        self.mapped.place.found.version
    }
}

mod mutable;

pub use mutable::ArrayMmapMut;
