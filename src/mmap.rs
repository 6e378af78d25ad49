//! Maps of files: arrays that are read from and written to the disk as they are touched.
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

use crate::array::{Place, dimension, locate, viewable_as};
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

/// What a map's array is, and where in the map.
#[derive(Debug)]
struct Mapped<A, D, F: ArrayFormat> {
    place: Place<A, D, F>,
    /// Where in the file the map begins, and how long it is.
    start: u64,
    len: usize,
    /// A map gives out elements, and they go where the map goes.
    elements: PhantomData<Vec<A>>,
}

impl<A: ViewElement, D: Dimension, F: ArrayFormat> Mapped<A, D, F> {
    fn check(bytes: &[u8], options: &ReadOptions) -> Result<Self> {
        // A map of a file that is being appended to has a surplus: it is reported, not refused.
        let options = options.clone().allow_trailing(true);
        let place = locate::<A, D, F>(bytes, &options)?;
        // Alignment and, where there are any, invalid elements are found now; after that, views are free.
        cast::view(&place.plain, &bytes[place.payload.clone()], place.len())?;
        Ok(Self { place, start: 0, len: bytes.len(), elements: PhantomData })
    }

    /// What a part of a file along its slowest axis is: the part has no header of its own.
    fn slab(mut file: &File, range: Range<usize>, options: &ReadOptions) -> Result<Self> {
        file.rewind()?;
        let mut source = Source::of(&mut file);
        let (found, start) = io::read_header_of_file::<F>(&mut source, options.get_limits())?;
        let header = F::header(&found);
        F::check_plain(&found, options)?;
        transfer::check_length(&source, header, options)?;
        let (header, _, plain): (Header, D, _) = viewable_as::<A, D>(header, &F::gate(&found, options))?;
        let mut dims = header.shape().to_vec();
        let slowest = if header.order() == Order::C { dims.first_mut() } else { dims.last_mut() };
        let length = slowest.as_deref().copied().unwrap_or(0);
        let Some(slowest) = slowest.filter(|length| range.start <= range.end && range.end <= **length) else {
            let (reason, shape) = (format!("indices {range:?} of the slowest axis"), header.the_shape());
            let reason = format!("there are no {reason} in an array of shape {shape}");
            return Err(ErrorKind::BadOption { reason }.into());
        };
        *slowest = range.len();
        let slab = Header::new(header.dtype().clone(), header.order(), dims.into())?;
        let (_, bytes) = slab.in_memory()?;
        // All of the elements' bytes are in the file, as has been checked.
        let row = header.payload_len().unwrap_or_default() / length.max(1) as u64;
        let place = Place {
            dim: dimension(slab.the_shape())?,
            is_fortran: slab.order() == Order::Fortran,
            payload: 0..bytes,
            plain,
            header: slab,
            found,
        };
        Ok(Self { place, start: start as u64 + range.start as u64 * row, len: bytes, elements: PhantomData })
    }

    /// What a mapped slab still has to hold for: that its elements lie aligned and are valid.
    fn check_slab(&self, bytes: &[u8]) -> Result<()> {
        cast::view(&self.place.plain, bytes, self.place.len()).map(drop)
    }

    /// An error if changing elements would write bytes into the file that nobody has set. `IS_FULL` says so at compile time,
    /// in words; what counts is what the token knows.
    fn check_full(&self) -> Result<()> {
        match self.place.plain.is_full() {
            true => Ok(()),
            false => Err(ErrorKind::NotViewable { found: self.place.header.dtype().clone() }.into()),
        }
    }

    /// Where in the map some indices of the slowest axis are, and how many bytes they have.
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

    /// The first element in a map that begins at `start`.
    fn first(&self, start: *const u8) -> *const A {
        if self.place.payload.is_empty() {
            return std::ptr::dangling();
        }
        start.wrapping_add(self.place.payload.start).cast()
    }
}

/// What maps of either kind tell of themselves.
macro_rules! description {
    () => {
        /// What the elements are.
        pub fn dtype(&self) -> &DType {
            self.mapped.place.header.dtype()
        }

        /// The lengths of the axes.
        pub fn shape(&self) -> &[usize] {
            self.mapped.place.header.shape()
        }

        /// How the elements follow one another.
        pub fn order(&self) -> Order {
            self.mapped.place.header.order()
        }

        /// Where in the file the elements begin, in bytes.
        pub fn data_offset(&self) -> u64 {
            self.mapped.start + self.mapped.place.payload.start as u64
        }

        /// Tells the system how the elements are going to be used. It is advice: where a system knows none, nothing happens.
        ///
        /// # Errors
        ///
        /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
        pub fn advise(&self, advice: MapAdvice) -> Result<()> {
            #[cfg(unix)]
            advice::advise(|with| self.map.advise(with), advice)?;
            let _ = advice;
            Ok(())
        }

        /// Tells the system that some indices of the axis that varies slowest are going to be used, so that it begins to load them.
        ///
        /// # Errors
        ///
        /// [`BadOption`](crate::error::ErrorKind::BadOption) if the axis does not have the indices;
        /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
        pub fn will_need(&self, range: Range<usize>) -> Result<()> {
            let (start, len) = self.mapped.bytes_of(range)?;
            #[cfg(unix)]
            self.map.advise_range(memmap2::Advice::WillNeed, start, len)?;
            #[cfg(not(unix))]
            let _ = (start, len);
            Ok(())
        }

        /// How many bytes follow the array: a file that is being appended to has some.
        pub fn trailing_len(&self) -> usize {
            self.mapped.len - self.mapped.place.payload.end
        }
    };
}

/// A memory map of an NPY file, whose elements are viewed where they are.
///
/// Opening a file takes the time of its header, whatever its size; what is looked at is read by the system then, and shared with other processes
/// that map it. [`view`](ArrayMmap::view) gives an `ArrayView`. [`open_slab`](ArrayMmap::open_slab) maps some rows only, and
/// [`advise`](ArrayMmap::advise) tells the system what is going to be looked at.
///
/// The elements have to be of the type, in this machine's byte order and aligned, as NumPy's files are: a mismatch is an error, and the file can
/// be read then. Bools and other types for which not all bytes are valid are checked when the file is opened.
///
/// # Safety
///
/// Opening is `unsafe`: as long as the map lives, no other process may shorten the file or change its elements. Appending rows is allowed.
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
/// A memory map of an NPY file for changing it in place, or for changing a private copy of it.
///
/// [`create`](ArrayMmapMut::create) makes a file of zeros and maps it, [`open`](ArrayMmapMut::open) maps an existing one, and
/// [`open_cow`](ArrayMmapMut::open_cow) maps a private copy, whose changes stay in memory. [`view_mut`](ArrayMmapMut::view_mut) gives an
/// `ArrayViewMut`. Changes reach other processes at once, and the disk when the system writes them:
/// [`flush`](ArrayMmapMut::flush) waits for that.
///
/// # Safety
///
/// As of [`NpyMmap`]. While a file is mapped for writing, it is locked against other writers that use this library.
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

/// A map of an RA file for reading. Its data must not be packed.
pub type RaMmap<A, D> = ArrayMmap<A, D, Ra>;
/// A map of an RA file for changing it in place, or for changing a private copy of it. A file that is made is in Fortran order:
/// `(3, 4).f()`.
pub type RaMmapMut<A, D> = ArrayMmapMut<A, D, Ra>;

/// A map of a file for reading: [`NpyMmap`] and [`RaMmap`](crate::ra::RaMmap) are its names. Opening it takes no time, whatever the size; what is touched is loaded.
///
/// ```
/// use ndarray::{arr2, Ix2};
/// use ndarray_io::NpyMmap;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr2(&[[1.0, 2.0], [3.0, 4.0]]))?;
/// // SAFETY: nobody changes the file as long as the map is there.
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
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they
    /// cannot be viewed: they are in the other byte order, misaligned, compressed or not laid out as in memory;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Safety
    ///
    /// As long as the map is there, nobody may change the file's elements or cut the file, in this process or another:
    /// views would change under safe code, and what lies beyond the end of a cut file faults (SIGBUS). Replacing the
    /// file as [`write_npy`](crate::write_npy) does is harmless: the map keeps the old one.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller promises the same.
        unsafe { Self::open_with(path, &ReadOptions::new()) }
    }

    /// Maps a file for reading, with options: of them, the limits have an effect.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they
    /// cannot be viewed: they are in the other byte order, misaligned, compressed or not laid out as in memory;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmap::open`].
    pub unsafe fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            let map = || -> Result<Self> {
                // SAFETY: the caller promises that the file does not change.
                let map = unsafe { Mmap::map(&file)? };
                let mapped = Mapped::check(&map, options)?;
                Ok(Self { map, mapped })
            };
            match map() {
                // Another process may have been writing the header, or may have finished since the file was mapped.
                Err(error) if error.is_format() => change::with_header_lock(&file, change::Mode::Shared, map),
                Ok(found) if !F::HAS_TRAILING && found.trailing_len() > 0 => {
                    change::with_header_lock(&file, change::Mode::Shared, map)
                }
                found => found,
            }
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// Maps a part of a file for reading: these indices of the axis that varies slowest (the first, in Fortran order the
    /// last). The rest of the file may be anybody's.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they
    /// cannot be viewed: they are in the other byte order, misaligned, compressed or not laid out as in memory;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the axis does not have the indices;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmap::open`], but of these elements alone; and the file must not be cut.
    pub unsafe fn open_slab<P: AsRef<Path>>(path: P, range: Range<usize>) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            let mapped = Mapped::<A, D, F>::slab(&file, range, &ReadOptions::new())?;
            // SAFETY: the caller promises that these bytes do not change.
            let map = unsafe { MmapOptions::new().offset(mapped.start).len(mapped.len).map(&file)? };
            mapped.check_slab(&map)?;
            Ok(Self { map, mapped })
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// The array. This costs nothing.
    pub fn view(&self) -> ArrayView<'_, A, D> {
        let first = self.mapped.first(self.map.as_ptr());
        // SAFETY: when the map was opened it was checked that the elements of this shape lie there, aligned and valid,
        // and whoever opened it promised that the file does not change. The view borrows the map.
        unsafe { ArrayView::from_shape_ptr(self.mapped.shape(), first) }
    }

    description!();
}

impl<A: ViewElement, D: Dimension> NpyMmap<A, D> {
    /// The version of the format.
    pub fn version(&self) -> Version {
        self.mapped.place.found.version
    }
}

mod mutable;

pub use mutable::ArrayMmapMut;
