//! [`NpzMmap`] and [`NpzMmapMut`]: memory-mapped archives, whose stored members are used in place.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapMut};
use ndarray::{Array, ArrayView, ArrayViewMut, CowArray, Dimension};

use super::archive::{Archive, ArchiveBytes, MemberKey, NpzMember};
use super::member::{self, Remark};
use crate::array::ViewMutNpyExt;
use crate::codec::Crc;
use crate::elements::{ViewElement, ViewMutElement};
use crate::error::{CopyReason, Error, Fault, Result};
use crate::io::change::{self, LockPurpose, Locked};
use crate::mmap::not_regular;
use crate::options::ReadOptions;
use crate::zip::{Member, Method};

/// A read-only memory map of an archive.
///
/// Opening a map reads only the central directory. Pages of members are loaded when they are accessed.
///
/// [`NpzMmap::view`] borrows a member without copying if it is stored uncompressed, aligned, and in native
/// byte order. [`NpzWriter`] writes such members. Members that NumPy writes are not always aligned;
/// [`NpzMmap::cow`] copies them if necessary.
///
/// Views do not verify checksums, since that would load the entire member. Use [`NpzMmap::verify`].
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
/// // SAFETY: no process changes the file while the map exists.
/// let npz = unsafe { NpzMmap::open(&path)? };
/// assert_eq!(npz.view::<f64, Ix1>("a")?.sum(), 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzMmap {
    path: PathBuf,
    map: Mmap,
    archive: Archive,
    options: ReadOptions,
}

impl NpzMmap {
    /// Maps an archive for reading.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file.
    ///
    /// # Safety
    ///
    /// While the map exists, the file must not be modified or truncated, by this process or another.
    /// Replacing it as [`write_npz`](crate::write_npz) does is safe: the map still refers to the old file.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        // SAFETY: the caller upholds the same contract.
        unsafe { ReadOptions::new().map_npz(path) }
    }

    /// Returns the names of all members, in the order of the central directory.
    ///
    /// If a name ends in `.npy`, this suffix is removed once.
    ///
    /// # Errors
    ///
    /// None at present. The return type matches `ndarray-npy`.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.archive.names())
    }

    /// Returns the metadata of all members, in the order of the central directory.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// Returns a stored member as an array view.
    ///
    /// The data is not copied, and the checksum is not verified.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
    ///   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
    /// - A [format error](crate::Error::is_format) if the member is malformed, truncated, longer than its
    ///   array, or encrypted.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type, or
    ///   if the member cannot be viewed: it is compressed, misaligned, in the other byte order, or not laid
    ///   out as in memory.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the [`Limits`](crate::Limits) are exceeded.
    pub fn view<A: ViewElement, D: Dimension>(&self, member: impl MemberKey) -> Result<ArrayView<'_, A, D>> {
        let at_path = |error: Error| error.at_path(&self.path);
        let member = self.archive.get(member).map_err(at_path)?;
        let view = || self.options.view_npy(&self.map[stored_range(&self.map, member)?]);
        view().map_err(|error: Error| at_path(error.at_member(&member.name)))
    }

    /// Returns a member as an array: a view if possible, otherwise a copy whose checksum is verified.
    ///
    /// An encrypted member is copied, if the options contain its password.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type.
    /// - The [errors of reading](crate::error#errors-of-reading).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Ix1};
    /// # use ndarray_io::npz::NpzMmap;
    /// # use ndarray_io::{Compression, WriteOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// let options = WriteOptions::new().compression(Compression::DEFLATE);
    /// options.write_npz(&path, &[("a", &arr1(&[1.5, 2.5]))])?;
    /// // SAFETY: no process changes the file while the map exists.
    /// let npz = unsafe { NpzMmap::open(&path)? };
    /// assert!(npz.view::<f64, Ix1>("a").is_err());
    /// assert!(npz.cow::<f64, Ix1>("a")?.is_owned());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cow<A: ViewElement, D: Dimension>(&self, member: impl MemberKey) -> Result<CowArray<'_, A, D>> {
        let at_path = |error: Error| error.at_path(&self.path);
        let index = self.archive.find_if(member, |_| true).map_err(at_path)?;
        let member = self.archive.at(index)?;
        if !member.is_encrypted() {
            match self.view(index) {
                Ok(view) => return Ok(view.into()),
                Err(error) if needs_copy(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let array: Array<A, D> =
            member::read(whole_archive(&self.map), member, &self.options).map_err(at_path)?;
        Ok(array.into())
    }

    /// Reads every member and verifies its size and checksum.
    ///
    /// Stops at the first damaged member, which the error names. Returns what is not damage, each remark with the index of its
    /// member.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or another [format error](crate::Error::is_format) if
    ///   a member is damaged or cannot be decompressed.
    /// - [`Encrypted`](crate::error::ErrorKind::Encrypted) if a member is encrypted and the password is
    ///   missing or wrong (with the feature `zip-encryption`).
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the content is larger, or decompressing an LZMA or XZ member needs
    ///   more memory, than the [`Limits`](crate::Limits) allow.
    pub fn verify(&self) -> Result<Vec<(usize, Remark)>> {
        member::verify_all(&self.archive, &self.options, || whole_archive(&self.map))
            .map_err(|error| error.at_path(&self.path))
    }
}

/// Returns the mapped bytes of an archive.
fn whole_archive(map: &[u8]) -> ArchiveBytes<'_> {
    ArchiveBytes::part(map, 0)
}

/// Returns whether an error means that the type matches, and only the member's storage prevents a view.
fn needs_copy(error: &Error) -> bool {
    matches!(error.fault(), Fault::NeedsCopy(_))
}

/// Returns the range of a stored member's content in the map.
fn stored_range(map: &[u8], member: &Member) -> Result<Range<usize>> {
    let content = member::unencrypted_content_offset(&mut whole_archive(map), member)?;
    if member.method != Method::Stored {
        return Err(
            Fault::NeedsCopy(CopyReason::Compressed { packed: member.packed, size: member.size }).into()
        );
    }
    // `member::unencrypted_content_offset` has checked that the content ends within the map, whose length is a `usize`.
    Ok(content as usize..(content + member.packed) as usize)
}

/// A writable memory map of an archive, for changing stored members in place.
///
/// Changes are written to the file. The archive is locked while the map exists, and [`NpzMmapMut::sync`]
/// must be called to update the checksums of changed members.
///
/// ```
/// use ndarray::{arr1, Array1, Ix1};
/// use ndarray_io::npz::NpzMmapMut;
/// use ndarray_io::{NpzFile, write_npz};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// write_npz(&path, &[("a", &arr1(&[1.5, 2.5]))])?;
/// // SAFETY: the file is not used elsewhere while the map exists.
/// let mut npz = unsafe { NpzMmapMut::open(&path)? };
/// npz.view_mut::<f64, Ix1>("a")?[0] = 10.0;
/// npz.sync()?; // updates the checksums
/// drop(npz);
/// assert_eq!(NpzFile::open(&path)?.read::<Array1<f64>>("a")?, arr1(&[10.0, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzMmapMut {
    map: MmapMut,
    archive: Archive,
    /// The full names of the members whose checksums may be out of date.
    changed: BTreeSet<String>,
    /// Holds the lock: two maps would overwrite each other's checksums.
    _locked: Locked,
}

impl NpzMmapMut {
    /// Maps an archive for reading and writing. Changes are written to the file.
    ///
    /// Fails immediately if the archive is locked.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer holds the lock.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file.
    ///
    /// # Safety
    ///
    /// While the map exists, the file must not be used elsewhere, in this process or another.
    pub unsafe fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        let path = path.as_ref();
        let map = || {
            // Lock before mapping, so that no other writer changes the directory after it is read.
            let file = change::open_locked(path, LockPurpose::Change, change::NO_WAIT)?;
            // SAFETY: the caller guarantees that the file is not used elsewhere.
            let map = unsafe { MmapMut::map_mut(&*file)? };
            let archive = Archive::load(&mut whole_archive(&map))?;
            Ok(Self { map, archive, changed: BTreeSet::new(), _locked: file })
        };
        map().map_err(|error: Error| error.at_path(path))
    }

    /// Returns the names of all members, in the order of the central directory.
    ///
    /// If a name ends in `.npy`, this suffix is removed once.
    ///
    /// # Errors
    ///
    /// None at present. The return type matches `ndarray-npy`.
    pub fn names(&self) -> Result<Vec<String>> {
        Ok(self.archive.names())
    }

    /// Returns the metadata of all members, in the order of the central directory.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// Returns a stored member as a mutable array view.
    ///
    /// The first call for a member reads all of it to verify its checksum, so that [`NpzMmapMut::sync`] does
    /// not record a valid checksum for damaged data. After this call, the checksum is out of date until the
    /// next [`sync`](NpzMmapMut::sync).
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
    ///   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or another [format error](crate::Error::is_format) if
    ///   the member is damaged or encrypted.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type, or
    ///   if the member cannot be viewed: it is compressed, misaligned, in the other byte order, or not laid out
    ///   as in memory.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the [`Limits`](crate::Limits) are exceeded.
    pub fn view_mut<A: ViewMutElement, D: Dimension>(
        &mut self,
        member: impl MemberKey,
    ) -> Result<ArrayViewMut<'_, A, D>> {
        let member = self.archive.get(member)?.clone();
        let at_member = |error: Error| error.at_member(&member.name);
        let range = stored_range(&self.map, &member).map_err(at_member)?;
        if !self.changed.contains(&member.name) {
            member::verify(whole_archive(&self.map), &member, &ReadOptions::new())?;
            // A member is marked as changed only if it can be viewed.
            ArrayViewMut::<A, D>::view_mut_npy(&mut self.map[range.clone()]).map_err(at_member)?;
            self.changed.insert(member.name.clone());
        }
        ArrayViewMut::view_mut_npy(&mut self.map[range]).map_err(at_member)
    }

    /// Updates the checksums of changed members, and waits until all changes are on disk.
    ///
    /// Each changed member is read in full. If the map is dropped without it, the changes are kept, but
    /// the checksums are out of date, and readers report these members as damaged.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn sync(&mut self) -> Result<()> {
        // A member is forgotten only once its checksums are written, so that a failed call can be repeated.
        while let Some(name) = self.changed.first().cloned() {
            let member = self.archive.get(&name)?.clone();
            let range = stored_range(&self.map, &member)?;
            let content = range.start as u64;
            let mut sum = Crc::default();
            sum.add(&self.map[range]);
            for place in member.crc_offsets(content, self.map.get(member.offset as usize..)) {
                // Both places are within the archive: in parsed records, or directly after the content.
                let bytes = self.map.get_mut(place as usize..).and_then(|rest| rest.first_chunk_mut::<4>());
                // Overwrite only the old checksum: not every writer puts a signature before its data
                // descriptor, so this place may contain something else.
                if let Some(bytes) = bytes.filter(|bytes| **bytes == member.crc.to_le_bytes()) {
                    *bytes = sum.get().to_le_bytes();
                }
            }
            self.archive.set_crc(&name, sum.get());
            self.changed.remove(&name);
        }
        self.map.flush().map_err(|error| Error::from(error).while_writing())
    }
}

impl ReadOptions {
    /// Maps an archive. See [`NpzMmap::open`].
    ///
    /// # Errors
    ///
    /// Those of [`NpzMmap::open`].
    ///
    /// # Safety
    ///
    /// As for [`NpzMmap::open`].
    pub unsafe fn map_npz(&self, path: impl AsRef<Path>) -> Result<NpzMmap> {
        let path = path.as_ref();
        let map = || {
            let file = File::open(path)?;
            if crate::bytes::len_of_regular(&file).is_none() {
                return Err(not_regular());
            }
            // SAFETY: the caller guarantees that the file does not change.
            let map = unsafe { Mmap::map(&file)? };
            let archive = Archive::load(&mut whole_archive(&map))?;
            Ok(NpzMmap { path: path.to_owned(), map, archive, options: self.clone() })
        };
        map().map_err(|error: Error| error.at_path(path))
    }
}
