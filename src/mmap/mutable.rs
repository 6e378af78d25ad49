//! Maps that are written through.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::{MmapMut, MmapOptions};
use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeBuilder};

#[cfg(unix)]
use super::advice;
use super::{MapAdvice, Mapped, NpyMmapMut};
use crate::dtype::{ByteOrder, DType};
use crate::element::{ViewMutElement, WritableElement};
use crate::error::{Error, ErrorKind, Result};
use crate::io::change::{self, Locked, Purpose};
use crate::io::{self, ArrayFormat};
use crate::npy_format::Version;
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::Order;

/// A map of a file for changing it in place, or for changing a private copy of it: [`NpyMmapMut`] and
/// [`RaMmapMut`](crate::ra::RaMmapMut) are its names.
///
/// ```
/// use ndarray::{Ix2, ShapeBuilder};
/// use ndarray_io::NpyMmapMut;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("large.npy");
/// // SAFETY: nobody else uses the file as long as the map is there.
/// let mut map = unsafe { NpyMmapMut::<f64, Ix2>::create(&path, (1000, 20).f())? };
/// map.view_mut().column_mut(3).fill(1.0);
/// map.flush()?;
/// drop(map);
/// let sum = ndarray_io::read_npy::<_, ndarray::Array2<f64>>(&path)?.sum();
/// assert_eq!(sum, 1000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ArrayMmapMut<A, D, F: ArrayFormat> {
    map: MmapMut,
    mapped: Mapped<A, D, F>,
    /// Holds the lock of who changes some elements: see `io::change`. A private copy needs none.
    _locked: Option<Locked>,
}

impl<A: ViewMutElement, D: Dimension, F: ArrayFormat> ArrayMmapMut<A, D, F> {
    /// Maps a file for reading and writing: changes go to the file.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Locked`](crate::error::ErrorKind::Locked) while another writer has
    /// the file; an error of the [format](crate::Error::is_format) if the file is malformed or truncated; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they cannot be viewed: they are
    /// in the other byte order, misaligned, compressed or not laid out as in memory; [`Limit`](crate::error::ErrorKind::Limit) beyond
    /// the [`Limits`](crate::Limits).
    ///
    /// # Safety
    ///
    /// As long as the map is there, nobody else may use the file's elements, in this process or another, neither
    /// through another map nor by writing or cutting the file.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller promises the same.
        unsafe { Self::open_with(path, &ReadOptions::new()) }
    }

    /// Maps a file for reading and writing, with options: of them, the limits have an effect.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Locked`](crate::error::ErrorKind::Locked) while another writer has
    /// the file; an error of the [format](crate::Error::is_format) if the file is malformed or truncated; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they cannot be viewed: they are
    /// in the other byte order, misaligned, compressed or not laid out as in memory; [`Limit`](crate::error::ErrorKind::Limit) beyond
    /// the [`Limits`](crate::Limits).
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmapMut::open`].
    pub unsafe fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = change::open_locked(path, Purpose::Map, change::AT_ONCE)?;
            // SAFETY: the caller promises that nobody else uses the file.
            let map = unsafe { MmapMut::map_mut(&*file)? };
            Self::over(map, Some(file), options)
        };
        map().map_err(|error| error.at_path(path))
    }

    /// Maps a file copy-on-write: it can be changed in memory, and the file stays as it is. Leave to read the file is
    /// enough.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they
    /// cannot be viewed: they are in the other byte order, misaligned, compressed or not laid out as in memory;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1, Ix1};
    /// use ndarray_io::NpyMmapMut;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &arr1(&[1, 2, 3]))?;
    /// // SAFETY: nobody changes the file as long as the map is there.
    /// let mut map = unsafe { NpyMmapMut::<i32, Ix1>::open_cow(&path)? };
    /// map.view_mut()[0] = 10;
    /// assert_eq!(map.view(), arr1(&[10, 2, 3]));
    /// assert_eq!(ndarray_io::read_npy::<_, Array1<i32>>(&path)?, arr1(&[1, 2, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmap::open`](super::ArrayMmap::open): nobody may change or cut the file. Other maps may read it.
    pub unsafe fn open_cow<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller promises the same.
        unsafe { Self::open_cow_with(path, &ReadOptions::new()) }
    }

    /// Maps a file copy-on-write, with options: of them, the limits have an effect.
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
    /// As for [`ArrayMmapMut::open_cow`].
    pub unsafe fn open_cow_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            // SAFETY: the caller promises that the file does not change; what is changed here is private.
            let map = unsafe { MmapOptions::new().map_copy(&file)? };
            Self::over(map, None, options)
        };
        map().map_err(|error| error.at_path(path))
    }

    /// Makes a file full of zeros and maps it. Where the file system can, it takes no room on the disk before it is
    /// filled; if there is none when it is, the process is killed (SIGBUS), as with every sparse file. A file that is
    /// there is replaced; under its name the new one appears at its full length, so that nobody maps a shorter one.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Overflow`](crate::error::ErrorKind::Overflow) or
    /// [`Limit`](crate::error::ErrorKind::Limit) if the shape is too large; [`NotExpressible`](crate::error::ErrorKind::NotExpressible)
    /// or [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the format cannot hold the header; a
    /// [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the options ask for the other byte order, or an RA file would be in C
    /// order.
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmapMut::open`].
    pub unsafe fn create<P, Sh>(path: P, shape: Sh) -> Result<Self>
    where
        P: AsRef<Path>,
        Sh: ShapeBuilder<Dim = D>,
        A: WritableElement,
    {
        // SAFETY: the caller promises the same.
        unsafe { Self::create_with(path, shape, &WriteOptions::new()) }
    }

    /// Makes a file full of zeros and maps it, with options. The byte order has to be this machine's.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Overflow`](crate::error::ErrorKind::Overflow) or
    /// [`Limit`](crate::error::ErrorKind::Limit) if the shape is too large; [`NotExpressible`](crate::error::ErrorKind::NotExpressible)
    /// or [`VersionTooLow`](crate::error::ErrorKind::VersionTooLow) if the format cannot hold the header; a
    /// [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the options ask for the other byte order, or an RA file would be in C
    /// order.
    ///
    /// # Safety
    ///
    /// As for [`ArrayMmapMut::open`].
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub unsafe fn create_with<P, Sh>(path: P, shape: Sh, options: &WriteOptions) -> Result<Self>
    where
        P: AsRef<Path>,
        Sh: ShapeBuilder<Dim = D>,
        A: WritableElement,
    {
        let path = path.as_ref();
        if options.get_byte_order() != ByteOrder::NATIVE {
            let reason = "a map is in this machine's byte order".into();
            return Err(Error::from(ErrorKind::BadOption { reason }).at_path(path));
        }
        let mut made = None;
        let make = |file: &File| {
            io::write_zeroed::<A, D, F>(file, shape.into_shape_with_order(), options)?;
            // SAFETY: the caller promises that nobody else uses the file.
            let map = unsafe { MmapMut::map_mut(file)? };
            // The handle shares the lock that is taken before anybody else can open the file.
            let locked = Locked::new(file.try_clone()?, Purpose::Map, options.get_wait_for_lock())?;
            made = Some(Self::over(map, Some(locked), &ReadOptions::new())?);
            Ok(())
        };
        change::replace(path, options, make).map_err(|error| error.at_path(path))?;
        // `replace` calls `make` once unless it fails.
        let made = made.expect("the file was made");
        match &made._locked {
            // A file system that could not name the file has copied it: the map would be one of a file without a name.
            Some(file)
                if !change::leads_to(path, file).map_err(|error| Error::from(error).at_path(path))? =>
            {
                let reason = "the file system gives no name to a file that is mapped".into();
                Err(Error::from(ErrorKind::CannotReplace { reason }).at_path(path))
            }
            _ => Ok(made),
        }
    }

    /// Maps a part of a file for reading and writing: these indices of the axis that varies slowest (the first, in Fortran
    /// order the last). So several processes fill one file together, each its own part.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`Locked`](crate::error::ErrorKind::Locked) while another writer has
    /// the file; an error of the [format](crate::Error::is_format) if the file is malformed or truncated; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they cannot be viewed: they are
    /// in the other byte order, misaligned, compressed or not laid out as in memory; [`BadOption`](crate::error::ErrorKind::BadOption)
    /// if the axis does not have the indices; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, Ix2};
    /// use ndarray_io::NpyMmapMut;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("shared.npy");
    /// let file = std::fs::File::create(&path)?;
    /// ndarray_io::write_zeroed_npy::<f32, _>(&file, (100, 3))?;
    /// // SAFETY: nobody else uses these rows as long as the map is there.
    /// let mut part = unsafe { NpyMmapMut::<f32, Ix2>::open_slab(&path, 20..30)? };
    /// part.view_mut().fill(1.0);
    /// part.flush()?;
    /// assert_eq!(ndarray_io::read_npy::<_, Array2<f32>>(&path)?.sum(), 30.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As long as the map is there, nobody else may use these elements, in this process or another, and nobody may cut the
    /// file. Other elements of it may be mapped and changed by others, even where they lie in the same page.
    pub unsafe fn open_slab<P: AsRef<Path>>(path: P, range: Range<usize>) -> Result<Self> {
        const { A::IS_FULL };
        let path = path.as_ref();
        let map = || {
            let file = change::open_locked(path, Purpose::Map, change::AT_ONCE)?;
            let mapped = Mapped::<A, D, F>::slab(&file, range, &ReadOptions::new())?;
            // SAFETY: the caller promises that nobody else uses these bytes.
            let map =
                unsafe { MmapOptions::new().offset(mapped.start as u64).len(mapped.len).map_mut(&*file)? };
            mapped.check_slab(&map)?;
            mapped.check_full()?;
            Ok(Self { map, mapped, _locked: Some(file) })
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    fn over(map: MmapMut, locked: Option<Locked>, options: &ReadOptions) -> Result<Self> {
        const { A::IS_FULL };
        let mapped = Mapped::check(&map, options)?;
        mapped.check_full()?;
        Ok(Self { map, mapped, _locked: locked })
    }

    /// The array, for reading. This costs nothing.
    pub fn view(&self) -> ArrayView<'_, A, D> {
        let first = self.mapped.first(self.map.as_ptr());
        // SAFETY: as for NpyMmap; what has been changed since through `view_mut` are elements.
        unsafe { ArrayView::from_shape_ptr(self.mapped.shape(), first) }
    }

    /// The array, for changing it. This costs nothing.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, A, D> {
        let first = self.mapped.first(self.map.as_mut_ptr()).cast_mut();
        // SAFETY: as in `view`; the view borrows the map mutably, A has no bytes that could leave the map uninitialised
        // (it is ViewMutElement), and the pointer comes from `as_mut_ptr`.
        unsafe { ArrayViewMut::from_shape_ptr(self.mapped.shape(), first) }
    }

    /// Waits until all changes are on the disk. Without it, the system writes them when it sees fit; those of a
    /// copy-on-write map, never.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn flush(&self) -> Result<()> {
        Ok(self.map.flush()?)
    }

    /// The same for some indices of the axis that varies slowest, of those that are mapped.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the axis does not have the indices;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn flush_range(&self, range: Range<usize>) -> Result<()> {
        let (start, len) = self.mapped.bytes_of(range)?;
        Ok(self.map.flush_range(start, len)?)
    }

    description!();
}

impl<A: ViewMutElement, D: Dimension> NpyMmapMut<A, D> {
    /// The version of the format.
    pub fn version(&self) -> Version {
        self.mapped.place.found.version
    }
}
