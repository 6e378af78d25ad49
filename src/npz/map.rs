//! [`NpzMmap`]: archives that are mapped, so that their stored members are arrays where they lie.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::{Mmap, MmapMut};
use ndarray::{Array, ArrayView, ArrayViewMut, CowArray, Dimension};

use super::archive::{Archive, NpzMember, Place};
use super::member;
use crate::array::{ViewMutNpyExt, ViewNpyExt};
use crate::codec::Sum;
use crate::element::{ViewElement, ViewMutElement};
use crate::error::{Error, ErrorKind, Result};
use crate::io::change::{self, Locked, Purpose};
use crate::options::ReadOptions;
use crate::zip::{Member, Method};

/// A map of an archive for reading. Opening it reads the directory alone; what is touched is loaded.
///
/// A member that is stored, aligned and in this machine's byte order is viewed without copying. [`NpzWriter`] writes
/// members in this way; NumPy's are not always aligned, and compressed ones have to be read: [`NpzMmap::cow`] does either.
///
/// Checksums are not compared when something is viewed, since that would load all of it: see [`NpzMmap::verify`].
///
/// [`NpzWriter`]: crate::NpzWriter
///
/// ```
/// use ndarray::{arr1, Ix1};
/// use ndarray_io::npz::NpzMmap;
/// use ndarray_io::write_npz;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// write_npz(&path, &[("a", &arr1(&[1.5, 2.5])), ("b", &arr1(&[true]))])?;
/// // SAFETY: nobody changes the file as long as the map is there.
/// let npz = unsafe { NpzMmap::open(&path)? };
/// assert_eq!(npz.view::<f64, Ix1>("a")?.sum(), 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzMmap {
    map: Mmap,
    archive: Archive,
    options: ReadOptions,
}

impl NpzMmap {
    /// Maps an archive for reading.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated.
    ///
    /// # Safety
    ///
    /// As long as the map is there, nobody may change or cut the file, in this process or another. Replacing it as
    /// [`write_npz`](crate::write_npz) does is harmless: the map keeps the old one.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller promises the same.
        unsafe { Self::open_with(path, &ReadOptions::new()) }
    }

    /// Maps an archive for reading, with options for what is read from it.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated.
    ///
    /// # Safety
    ///
    /// As for [`NpzMmap::open`].
    pub unsafe fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            // SAFETY: the caller promises that the file does not change.
            let map = unsafe { Mmap::map(&file)? };
            let archive = Archive::load(&mut Place::Bytes(&map, 0))?;
            Ok(Self { map, archive, options: options.clone() })
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// The names of all members, in the order of the directory, each without one suffix `.npy`.
    pub fn names(&self) -> Vec<String> {
        self.archive.names()
    }

    /// What the archive says of its members.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// A stored member as an array, without copying it.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; an error of the [format](crate::Error::is_format) if the file is malformed, truncated, or
    /// longer than its array; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type, or if they
    /// cannot be viewed: they are in the other byte order, misaligned, compressed or not laid out as in memory.
    pub fn view<A: ViewElement, D: Dimension>(&self, name: &str) -> Result<ArrayView<'_, A, D>> {
        let member = self.archive.find(name)?;
        let view = || ArrayView::view_npy_with(&self.map[stored(&self.map, member)?], &self.options);
        view().map_err(|error: Error| error.at_member(&member.name))
    }

    /// A member as an array: borrowed if it can be viewed, else read (and its checksum compared).
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the
    /// [format](crate::Error::is_format) if it is damaged; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not
    /// those of the type.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Ix1};
    /// # use ndarray_io::npz::{Compression, NpzMmap, NpzOptions, write_npz_with};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// let options = NpzOptions::new().compression(Compression::deflated());
    /// write_npz_with(&path, &[("a", &arr1(&[1.5, 2.5]))], &options)?;
    /// // SAFETY: nobody changes the file as long as the map is there.
    /// let npz = unsafe { NpzMmap::open(&path)? };
    /// assert!(npz.view::<f64, Ix1>("a").is_err());
    /// assert!(npz.cow::<f64, Ix1>("a")?.is_owned());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cow<A: ViewElement, D: Dimension>(&self, name: &str) -> Result<CowArray<'_, A, D>> {
        match self.view(name) {
            Ok(view) => Ok(view.into()),
            Err(error) if needs_copy(&error) => {
                let place = Place::Bytes(&self.map, 0);
                let array: Array<A, D> = member::read(place, self.archive.find(name)?, &self.options)?;
                Ok(array.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Reads each member and compares its size and checksum; the first that is damaged is named.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged.
    pub fn verify(&self) -> Result<()> {
        (0..self.members().len()).try_for_each(|index| {
            member::verify(Place::Bytes(&self.map, 0), self.archive.at(index)?, &self.options)
        })
    }
}

/// Whether a member is what was asked for, and only how it lies is in the way.
fn needs_copy(error: &Error) -> bool {
    use ErrorKind::{ForeignByteOrder, Misaligned, NotStored, NotViewable};
    matches!(
        error.kind(),
        ForeignByteOrder { .. } | Misaligned { .. } | NotStored { .. } | NotViewable { .. }
    )
}

/// Where a stored member's content lies in a map.
fn stored(map: &[u8], member: &Member) -> Result<Range<usize>> {
    let content = member::content(&mut Place::Bytes(map, 0), member)?;
    if member.method != Method::Stored {
        return Err(ErrorKind::NotStored { packed: member.packed, size: member.size }.into());
    }
    // It lies within the map, whose length is a usize.
    Ok(content as usize..(content + member.packed) as usize)
}

/// A map of an archive for changing its stored members in place.
///
/// ```
/// use ndarray::{arr1, Array1, Ix1};
/// use ndarray_io::npz::NpzMmapMut;
/// use ndarray_io::{NpzFile, write_npz};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// write_npz(&path, &[("a", &arr1(&[1.5, 2.5]))])?;
/// // SAFETY: nobody else uses the file as long as the map is there.
/// let mut npz = unsafe { NpzMmapMut::open(&path)? };
/// npz.view_mut::<f64, Ix1>("a")?[0] = 10.0;
/// npz.flush()?; // brings the checksums up to date
/// drop(npz);
/// assert_eq!(NpzFile::open(&path)?.read::<Array1<f64>>("a")?, arr1(&[10.0, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzMmapMut {
    map: MmapMut,
    archive: Archive,
    /// The members whose checksums may be out of date, by their whole names.
    changed: BTreeSet<String>,
    /// Holds the lock: two maps would not know of each other's checksums.
    _locked: Locked,
}

impl NpzMmapMut {
    /// Maps an archive for reading and writing: changes go to the file.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; [`Locked`](crate::error::ErrorKind::Locked) while another writer has the file.
    ///
    /// # Safety
    ///
    /// As long as the map is there, nobody else may use the file, in this process or another.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            let file = change::open_locked(path, Purpose::Change, change::AT_ONCE)?;
            // SAFETY: the caller promises that nobody else uses the file.
            let map = unsafe { MmapMut::map_mut(&*file)? };
            let archive = Archive::load(&mut Place::Bytes(&map, 0))?;
            Ok(Self { map, archive, changed: BTreeSet::new(), _locked: file })
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// The names of all members, in the order of the directory, each without one suffix `.npy`.
    pub fn names(&self) -> Vec<String> {
        self.archive.names()
    }

    /// What the archive says of its members.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// A stored member as an array, for changing it. Its checksum is out of date until [`NpzMmapMut::flush`]; the first time,
    /// it is compared, so that damage that is there already is not signed with a new one.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the
    /// [format](crate::Error::is_format) if it is damaged; a [mismatch](crate::Error::is_mismatch) if its elements or axes are not
    /// those of the type, or if they cannot be viewed: they are in the other byte order, misaligned or compressed;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn view_mut<A: ViewMutElement, D: Dimension>(
        &mut self,
        name: &str,
    ) -> Result<ArrayViewMut<'_, A, D>> {
        let member = self.archive.find(name)?.clone();
        let at_member = |error: Error| error.at_member(&member.name);
        let range = stored(&self.map, &member).map_err(at_member)?;
        if !self.changed.contains(&member.name) {
            member::verify(Place::Bytes(&self.map, 0), &member, &ReadOptions::new())?;
            // What cannot be viewed has not been changed.
            ArrayViewMut::<A, D>::view_mut_npy(&mut self.map[range.clone()]).map_err(at_member)?;
            self.changed.insert(member.name.clone());
        }
        ArrayViewMut::view_mut_npy(&mut self.map[range]).map_err(at_member)
    }

    /// Brings the checksums of members that were changed up to date, and waits until all is on the disk.
    ///
    /// A map that is dropped without it leaves the changes, but old checksums: whoever reads these members is told that
    /// they are damaged.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails.
    pub fn flush(&mut self) -> Result<()> {
        for name in std::mem::take(&mut self.changed) {
            let member = self.archive.find(&name)?.clone();
            let range = stored(&self.map, &member)?;
            let content = range.start as u64;
            let mut sum = Sum::default();
            sum.add(&self.map[range]);
            for place in member.crc_places(content, self.map.get(member.offset as usize..)) {
                // Both lie within the archive: in records that were parsed, or behind the content.
                let bytes = self.map.get_mut(place as usize..).and_then(|rest| rest.first_chunk_mut::<4>());
                if let Some(bytes) = bytes.filter(|bytes| **bytes == member.crc.to_le_bytes()) {
                    *bytes = sum.get().to_le_bytes();
                }
            }
            self.archive.set_crc(&name, sum.get());
        }
        Ok(self.map.flush()?)
    }
}
