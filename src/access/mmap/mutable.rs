//! Memory maps for changing elements.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use memmap2::MmapMut;
use ndarray::{ArrayView, ArrayViewMut, Dimension, ShapeBuilder};

#[cfg(unix)]
use super::advice;
use super::{MapAdvice, MappedLayout};
use crate::dtype::{ByteOrder, DType};
use crate::elements::{ViewMutElement, WritableElement};
use crate::error::{Error, Fault, Result};
use crate::header::Extent;
use crate::io::change::{self, LockPurpose, Locked};
use crate::io::{self, Format};
use crate::npy_format::NpyHeader;
use crate::options::{ReadOptions, Verb, WriteOptions};
use crate::ra_format::RaHeader;
use crate::shape::Order;

/// A memory map of an NPY or RA file, for changing the file in place or a private copy of it.
///
/// [`create`](NpyMmapMut::create) creates a file of zeros and maps it, [`open`](NpyMmapMut::open) maps an
/// existing file, and [`map_cow`](ReadOptions::map_cow) maps a private copy, whose changes stay in memory.
/// [`view_mut`](NpyMmapMut::view_mut) returns an `ArrayViewMut`. Other processes see changes to the file
/// immediately. The system writes them to disk later; [`sync`](NpyMmapMut::sync) waits for that.
///
/// A map that writes to the file locks it: programs that use this library can neither append to the file nor
/// replace it. The lock does not exclude other mutable maps or
/// [`NpyFileMut`](crate::NpyFileMut).
///
/// # Safety
///
/// Opening is `unsafe`: while the map exists, nothing else in this process or another may access the file's
/// elements or shorten the file. A private copy only requires that the file does not change, as for
/// [`NpyMmap`](super::NpyMmap).
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
/// map.sync()?;
/// drop(map);
/// assert_eq!(ndarray_io::read_npy::<_, Array1<f64>>(&path)?, arr1(&[0.0, 2.5, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyMmapMut<A, D> {
    map: MmapMut,
    mapped: MappedLayout<A, D>,
    /// The lock for changing elements: see `io::change`. A private copy does not need one.
    _locked: Option<Locked>,
}

// Bounds on functions that make maps are their own: so the compiler says which type has which fault.
impl<A, D: Dimension> NpyMmapMut<A, D> {
    /// Maps a file for reading and writing: changes go to the file.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has locked the file.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    ///
    /// # Safety
    ///
    /// From this call on, while the map exists, nothing else in this process or another may truncate the file or
    /// access its elements, through another map or otherwise.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self>
    where
        A: ViewMutElement,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { Self::map(path.as_ref(), None, &ReadOptions::new()) }
    }

    /// Creates a file of zeros and maps it, replacing an existing file.
    ///
    /// The new file appears at its path only with its full length, so no process can map a shorter one. On
    /// file systems with sparse files, it occupies no disk space until elements are written. If the disk is
    /// full at that time, the process is killed (SIGBUS); [`WriteOptions::preallocate`] allocates the space
    /// in advance.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or [`Limit`](crate::error::ErrorKind::Limit) if the
    ///   shape is too large or has too many axes.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format cannot represent the header.
    /// - A [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced.
    ///
    /// # Safety
    ///
    /// As for [`NpyMmapMut::open`].
    pub unsafe fn create<P, Sh>(path: P, shape: Sh) -> Result<Self>
    where
        A: ViewMutElement,
        P: AsRef<Path>,
        Sh: ShapeBuilder<Dim = D>,
        A: WritableElement,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { WriteOptions::new().create_map(path, shape) }
    }

    /// Maps a range of the slowest-varying axis of a file for reading and writing.
    ///
    /// This is the first axis, or the last in Fortran order. Several processes can fill a file together, each
    /// through a map of a different part.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer has locked the file.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file, or the range ends before it starts.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the range ends beyond the axis, or the array has no axes.
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
    /// // SAFETY: nothing else uses these rows while they are mapped.
    /// let mut part = unsafe { NpyMmapMut::<f32, Ix2>::open_slab(&path, 20..30)? };
    /// part.view_mut().fill(1.0);
    /// part.sync()?;
    /// assert_eq!(ndarray_io::read_npy::<_, Array2<f32>>(&path)?.sum(), 30.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// While the map exists, nothing else in this process or another may access these elements or truncate
    /// the file. Other elements may be mapped and changed concurrently, even in the same page.
    pub unsafe fn open_slab<P: AsRef<Path>>(path: P, range: Range<usize>) -> Result<Self>
    where
        A: ViewMutElement,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { Self::map(path.as_ref(), Some(range), &ReadOptions::new()) }
    }
}

impl<A: ViewMutElement, D: Dimension> NpyMmapMut<A, D> {
    /// Maps all rows of a file, or some of them.
    ///
    /// # Safety
    ///
    /// As for [`NpyMmapMut::open`], for the elements that are mapped.
    unsafe fn map(path: &Path, rows: Option<Range<usize>>, options: &ReadOptions) -> Result<Self> {
        let map = || {
            // Lock before reading the header, so that the file is neither appended to nor replaced in between.
            // Do not wait: a writer may hold its lock for hours.
            let file = change::open_locked(path, LockPurpose::Map, change::NO_WAIT)?;
            let mapped = MappedLayout::locate(&file, rows, options)?;
            // SAFETY: the caller guarantees that nothing else uses these bytes.
            let map = unsafe { mapped.mmap_options().map_mut(&*file)? };
            Self::new_checked(map, mapped, Some(file))
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    fn new_checked(map: MmapMut, mapped: MappedLayout<A, D>, locked: Option<Locked>) -> Result<Self> {
        mapped.bitwise.check_no_padding(mapped.header.dtype())?; // padding would be written to the file
        mapped.check_elements(&map)?;
        Ok(Self { map, mapped, _locked: locked })
    }

    /// Returns a view of the array, in constant time.
    pub fn view(&self) -> ArrayView<'_, A, D> {
        let first = self.mapped.first(self.map.as_ptr());
        // SAFETY: as for `NpyMmap::view`. Changes through `view_mut` have left the elements valid.
        unsafe { ArrayView::from_shape_ptr(self.mapped.shape(), first) }
    }

    /// Returns a mutable view of the array, in constant time.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, A, D> {
        let first = self.mapped.first(self.map.as_mut_ptr()).cast_mut();
        // SAFETY: as in `view`. The view borrows the map mutably, writing an `A` leaves no byte of the map
        // uninitialized (`check_no_padding`), and the pointer comes from `as_mut_ptr`.
        unsafe { ArrayViewMut::from_shape_ptr(self.mapped.shape(), first) }
    }

    /// Waits until all changes are on the disk.
    ///
    /// Without this, the system writes the changes at some later time. Changes to a copy-on-write map are
    /// never written.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn sync(&self) -> Result<()> {
        self.map.flush().map_err(|error| Error::from(error).while_writing())
    }

    /// Waits until the changes to a range of the slowest-varying axis are on the disk.
    ///
    /// The range is relative to the mapped part.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the range ends beyond the axis, [`BadOption`](crate::error::ErrorKind::BadOption) if
    ///   it ends before it starts.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn sync_range(&self, range: Range<usize>) -> Result<()> {
        let (start, len) = self.mapped.byte_offset_and_len(range)?;
        self.map.flush_range(start, len).map_err(|error| Error::from(error).while_writing())
    }

    shared_accessors!();
}

impl ReadOptions {
    /// Maps a file for reading and writing. See [`NpyMmapMut::open`].
    ///
    /// The limits apply and, for RA files, `ignore_ra_flags`.
    ///
    /// # Errors
    ///
    /// Those of [`NpyMmapMut::open`].
    ///
    /// # Safety
    ///
    /// As for [`NpyMmapMut::open`].
    pub unsafe fn map_mut<A, D>(&self, path: impl AsRef<Path>) -> Result<NpyMmapMut<A, D>>
    where
        A: ViewMutElement,
        D: Dimension,
    {
        // SAFETY: the caller upholds the same contract.
        unsafe { NpyMmapMut::map(path.as_ref(), None, self) }
    }

    /// Maps a file copy-on-write: changes stay in memory, and the file is not modified.
    ///
    /// The file only needs to be readable, and it is not locked.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file.
    /// - A [mismatch](crate::Error::is_mismatch) if the element type or the number of axes does not match, or
    ///   if the elements cannot be viewed in place because they are compressed, stored as single bits,
    ///   misaligned, not in native byte order, or laid out differently in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1, Ix1};
    /// use ndarray_io::ReadOptions;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &arr1(&[1, 2, 3]))?;
    /// // SAFETY: nothing changes the file while it is mapped.
    /// let mut map = unsafe { ReadOptions::new().map_cow::<i32, Ix1>(&path)? };
    /// map.view_mut()[0] = 10;
    /// assert_eq!(map.view(), arr1(&[10, 2, 3]));
    /// assert_eq!(ndarray_io::read_npy::<_, Array1<i32>>(&path)?, arr1(&[1, 2, 3]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As for [`NpyMmap::open`](super::NpyMmap::open): nothing may change its elements or truncate the file. Reading
    /// the file, including through other maps, is allowed.
    pub unsafe fn map_cow<A, D>(&self, path: impl AsRef<Path>) -> Result<NpyMmapMut<A, D>>
    where
        A: ViewMutElement,
        D: Dimension,
    {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            let mapped = MappedLayout::locate(&file, None, self)?;
            // SAFETY: the caller guarantees that the file does not change; changes made here are private.
            let map = unsafe { mapped.mmap_options().map_copy(&file)? };
            NpyMmapMut::new_checked(map, mapped, None)
        };
        map().map_err(|error: Error| error.at_path(path))
    }
}

impl WriteOptions {
    /// Creates an NPY file of zeros and maps it. See [`NpyMmapMut::create`].
    ///
    /// The byte order must be native.
    ///
    /// # Errors
    ///
    /// Those of [`NpyMmapMut::create`], and [`BadOption`](crate::error::ErrorKind::BadOption) for a byte order that is not native.
    ///
    /// # Safety
    ///
    /// As for [`NpyMmapMut::open`].
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub unsafe fn create_map<A, Sh>(
        &self,
        path: impl AsRef<Path>,
        shape: Sh,
    ) -> Result<NpyMmapMut<A, Sh::Dim>>
    where
        A: ViewMutElement + WritableElement,
        Sh: ShapeBuilder,
    {
        let path = path.as_ref();
        self.check_at_path(Verb::CreateMap, path)?;
        if self.get_byte_order() != ByteOrder::NATIVE {
            let reason = "a memory map requires this machine's byte order".into();
            return Err(Error::from(Fault::BadOption { reason }).at_path(path));
        }
        let mut made = None;
        let make = |file: &File| {
            io::write_zeroed::<A, Sh::Dim>(file, shape.into_shape_with_order(), Format::Npy, self)?;
            let end = { file }.stream_position()?;
            let mapped = MappedLayout::<A, Sh::Dim>::locate(file, None, &ReadOptions::new())?;
            { file }.seek(SeekFrom::Start(end))?; // `replace` shortens the file to its position
            // SAFETY: the caller guarantees that nothing else uses the file.
            let map = unsafe { mapped.mmap_options().map_mut(file)? };
            // Lock through a second handle before the file gets its name, so that no other process can lock
            // it first.
            let locked = Locked::new(file.try_clone()?, LockPurpose::Map, self.wait_for_lock)?;
            made = Some(NpyMmapMut::new_checked(map, mapped, Some(locked))?);
            Ok(())
        };
        change::replace(path, self, make).map_err(|error| error.at_path(path))?;
        // `replace` calls `make` exactly once unless it fails.
        let made = made.expect("the file was made");
        match &made._locked {
            // If the file system could not give the new file a name, the file was copied: the map would be of
            // the unnamed original.
            Some(file)
                if !change::path_refers_to(path, file)
                    .map_err(|error| Error::from(error).at_path(path))? =>
            {
                let reason = "the file system cannot give a name to a mapped file".into();
                Err(Error::from(Fault::CannotReplace { reason }).at_path(path))
            }
            _ => Ok(made),
        }
    }
}
