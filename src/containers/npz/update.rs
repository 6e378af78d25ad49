//! [`NpzUpdate`]: replaces an archive with a changed copy.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::NpzWriter;
use super::archive::{Archive, ArchiveBytes, MemberKey, NpzMember, name_in_archive};
use super::member;
use super::writer::{Content, PackedContent};
use crate::array::WriteArray;
use crate::bytes::Region;
use crate::error::{Error, Fault, FilePart, Result};
use crate::io::change::{self, LockPurpose, Locked};
use crate::options::{Verb, WriteOptions};
use crate::transfer::truncated_archive;
use crate::zip::Member;

/// Adds, replaces and removes members of an archive.
///
/// Unchanged members are copied without decompressing them; encrypted ones remain so, and need no password. The new archive is written to a temporary file in
/// the same directory, which replaces the old one atomically when it is complete. So the time and disk space
/// for an update are proportional to the size of the entire archive: members that are added one at a time take
/// quadratic time. Add many members in one update, or write them to an archive of their own.
///
/// Members are not added in place, as Python's `zipfile` does: that overwrites the central directory, so a process
/// that is killed before it has written the new one leaves a file that is not an archive.
///
/// The methods only record the changes; [`NpzUpdate::finish`] applies them. A change that fails leaves the others as they are.
/// Without `finish`, nothing happens.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{NpzFile, NpzUpdate, write_npz};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// write_npz(&path, &[("a", &arr1(&[1])), ("b", &arr1(&[2])), ("c", &arr1(&[3]))])?;
/// let (new_b, d) = (arr1(&[20, 21]), arr1(&[4.0]));
/// NpzUpdate::open(&path)?.replace("b", &new_b)?.remove("c")?.add("d", &d)?.finish()?;
///
/// let npz = NpzFile::open(&path)?;
/// assert_eq!(npz.names()?, ["a", "b", "d"]);
/// assert_eq!(npz.read::<Array1<i32>>("b")?, new_b);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is complete before `finish`"]
pub struct NpzUpdate<'a> {
    path: PathBuf,
    /// The locked archive, until the update is finished.
    file: Option<Locked>,
    archive: Archive,
    options: WriteOptions,
    /// The changes by member index: `Some` replaces the member, `None` removes it.
    changes: HashMap<usize, Option<NewContent<'a>>>,
    /// The added members, by their names in the archive.
    added: Vec<(String, NewContent<'a>)>,
    added_names: HashSet<String>,
}

/// What a member is to contain. An update can be shared with other threads.
enum NewContent<'a> {
    Array(&'a (dyn WriteArray + Sync)),
    Bytes(&'a [u8]),
}

impl NewContent<'_> {
    fn get(&self) -> Content<'_> {
        match self {
            Self::Array(array) => Content::Array(*array),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}

impl<'a> NpzUpdate<'a> {
    /// Opens and locks an archive.
    ///
    /// The lock is held until the update is finished or dropped; until then, any other update fails with
    /// [`Locked`](crate::error::ErrorKind::Locked). The archive does not change before [`NpzUpdate::finish`].
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Locked`](crate::error::ErrorKind::Locked) if another writer holds the lock.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not that of a regular file.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        WriteOptions::new().update_npz(path)
    }

    /// Sets the options for the members that are written, instead of those with which the archive was opened.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::npz::Method;
    /// use ndarray_io::{Compression, NpzFile, NpzUpdate, WriteOptions, write_npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// write_npz(&path, &[("a", &arr1(&[1]))])?;
    /// let options = WriteOptions::new().compression(Compression::DEFLATE);
    /// NpzUpdate::open(&path)?.with_options(&options).add("b", &arr1(&[2]))?.finish()?;
    /// assert_eq!(NpzFile::open(&path)?.members()[1].method(), Method::Deflated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_options(self, options: &WriteOptions) -> Self {
        Self { options: options.clone(), ..self }
    }

    /// Returns the members that the archive had when it was opened. They stay as they are as long as the update has its lock.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{NpzUpdate, write_npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// write_npz(&path, &[("mean", &arr1(&[1.0])), ("log", &arr1(&[0.0; 100_000]))])?;
    /// let mut update = NpzUpdate::open(&path)?;
    /// let large: Vec<_> = (0..2).filter(|&index| update.members()[index].size() > 10_000).collect();
    /// for index in large {
    ///     update.remove(index)?;
    /// }
    /// update.finish()?;
    /// # assert_eq!(ndarray_io::NpzFile::open(&path)?.names()?, ["mean"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// Returns the index of a member that is not removed.
    ///
    /// # Errors
    ///
    /// [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly
    /// one member has the name; [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{NpzUpdate, write_npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// write_npz(&path, &[("a", &arr1(&[1])), ("b", &arr1(&[2]))])?;
    /// let mut update = NpzUpdate::open(&path)?;
    /// update.remove("a")?;
    /// assert_eq!(update.index_of("b")?, 1);
    /// assert!(update.index_of("a").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_of(&self, member: impl MemberKey) -> Result<usize> {
        let found = self.archive.find_if(member, |index| self.is_not_removed(index));
        found.map_err(|error| error.at_path(&self.path))
    }

    /// Adds an array as the member `name` with the suffix `.npy`.
    ///
    /// # Errors
    ///
    /// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if a member of this name already exists.
    pub fn add(&mut self, name: impl Into<String>, array: &'a (dyn WriteArray + Sync)) -> Result<&mut Self> {
        self.add_content(name_in_archive(name.into()), NewContent::Array(array))
    }

    /// Adds a member of exactly this name with these bytes: an existing NPY file, or any other. No suffix is added.
    ///
    /// # Errors
    ///
    /// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if a member of this name already exists.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{NpzFile, NpzUpdate, write_npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// write_npz(&path, &[("a", &arr1(&[1]))])?;
    /// NpzUpdate::open(&path)?.add_raw("about.txt", b"a run")?.finish()?;
    /// NpzUpdate::open(&path)?.replace_raw("about.txt", b"the second run")?.finish()?;
    /// assert_eq!(NpzFile::open(&path)?.read_raw("about.txt")?, b"the second run");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_raw(&mut self, name: impl Into<String>, bytes: &'a [u8]) -> Result<&mut Self> {
        self.add_content(name.into(), NewContent::Bytes(bytes))
    }

    fn add_content(&mut self, name: String, content: NewContent<'a>) -> Result<&mut Self> {
        let is_old = self.archive.indices_of_name(&name).any(|index| self.is_not_removed(index));
        if is_old || !self.added_names.insert(name.clone()) {
            return Err(Error::from(Fault::NameTaken { name }).at_path(&self.path));
        }
        self.added.push((name, content));
        Ok(self)
    }

    /// Replaces the content of a member with an array. The member keeps its name.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::error::ErrorKind::Unsupported) if the member is encrypted: the new content would not be.
    ///   Remove it and add the array, if that is meant.
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
    ///   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
    pub fn replace(
        &mut self,
        member: impl MemberKey,
        array: &'a (dyn WriteArray + Sync),
    ) -> Result<&mut Self> {
        self.replace_content(member, NewContent::Array(array))
    }

    /// Replaces the content of a member with these bytes: see [`add_raw`](Self::add_raw). The member keeps its name.
    ///
    /// # Errors
    ///
    /// As for [`replace`](Self::replace).
    pub fn replace_raw(&mut self, member: impl MemberKey, bytes: &'a [u8]) -> Result<&mut Self> {
        self.replace_content(member, NewContent::Bytes(bytes))
    }

    fn replace_content(&mut self, member: impl MemberKey, content: NewContent<'a>) -> Result<&mut Self> {
        let index = self.index_of(member)?;
        let member = self.archive.at(index)?;
        if member.is_encrypted() {
            let reason = "the member is encrypted, and its new content would not be".into();
            return Err(Error::from(Fault::Unsupported { part: FilePart::Archive, reason })
                .at_member(&member.name)
                .at_path(&self.path));
        }
        self.changes.insert(index, Some(content));
        Ok(self)
    }

    /// Removes a member, by name or index. An index can tell several members of the same name apart.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
    ///   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
    pub fn remove(&mut self, member: impl MemberKey) -> Result<&mut Self> {
        let index = self.index_of(member)?;
        self.changes.insert(index, None);
        Ok(self)
    }

    fn is_not_removed(&self, index: usize) -> bool {
        !matches!(self.changes.get(&index), Some(None))
    }

    /// Writes the new archive and replaces the old one with it.
    ///
    /// The content of unchanged members is copied without verifying its checksum.
    ///
    /// # Errors
    ///
    /// - A [format error](crate::Error::is_format) if the extra fields of an unchanged member are too long to be copied, or if
    ///   its local header contradicts the central directory.
    /// - Any error of [`NpzWriter::add`](crate::NpzWriter::add) for new arrays.
    /// - A [conflict](crate::Error::is_conflict) if the existing file is locked, was changed, or cannot be
    ///   replaced.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the path is not a regular file, or refers to an
    ///   open file descriptor.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) if it has been called before, even if it failed: the lock is released then.
    pub fn finish(&mut self) -> Result<()> {
        let Self { path, file, archive, options, changes, added, added_names: _ } = self;
        let Some(old) = file.take() else {
            let reason = "`finish` has been called before: open the archive again".into();
            return Err(Error::from(Fault::OutOfTurn { reason }).at_path(path));
        };
        options.check_at_path(Verb::UpdateNpz, path)?;
        let write = |old: &File, mut file: &File| {
            // Keep any bytes that another program has put before the archive.
            let mut before = old;
            before.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut before.take(archive.prefix_len()), &mut file)?;
            let mut npz = NpzWriter::of(file, options);
            npz.set_comment(archive.comment().to_vec());
            let mut records = RecordBuffer { file: old, bytes: Vec::new(), start: 0, bytes_since_jump: 0 };
            for index in 0..archive.members().len() {
                let member = archive.at(index)?;
                match changes.get(&index) {
                    Some(None) => {}
                    Some(Some(content)) => npz.add_member(member.name.clone(), content.get(), options)?,
                    None => {
                        copy(&mut npz, &mut records, member).map_err(|error| error.at_member(&member.name))?
                    }
                }
            }
            for (name, content) in added {
                npz.add_member(name.clone(), content.get(), options)?;
            }
            // On systems without locks, another program may have changed the archive since it was opened.
            // Check this before the central directory makes the copy a valid archive.
            match Archive::load(&mut ArchiveBytes::of(Region::of_file(old))) {
                Ok(now) if now.has_same_members(archive) => npz.finish().map(drop),
                _ => Err(Fault::Locked.into()),
            }
        };
        change::replace_locked(path, old, options, write).map_err(|error| error.at_path(path))
    }
}

fn copy(npz: &mut NpzWriter<&File>, old: &mut RecordBuffer<'_>, member: &Member) -> Result<()> {
    /// Members of up to this length are copied through memory, together with their neighbors.
    const MAX_SMALL_MEMBER: u64 = 64 << 10;
    if member.next_record_offset - member.offset > MAX_SMALL_MEMBER {
        let mut archive = ArchiveBytes::of(Region::of_file(old.file));
        let (local, content) = member::local_fields(&mut archive, member)?;
        return npz.copy(member, &local, PackedContent::At(old.file, content));
    }
    let record = old.get(member.offset..member.next_record_offset)?;
    let (local, content) = member::local_fields(&mut ArchiveBytes::part(record, member.offset), member)?;
    // The local header has been checked: the content ends before the limit.
    let packed = &record[(content - member.offset) as usize..][..member.packed as usize];
    npz.copy(member, &local, PackedContent::Bytes(packed))
}

/// The records of small members, read many at a time.
struct RecordBuffer<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    /// The offset of these bytes.
    start: u64,
    /// How many bytes of members were asked for since the last jump.
    bytes_since_jump: u64,
}

impl RecordBuffer<'_> {
    fn get(&mut self, range: Range<u64>) -> Result<&[u8]> {
        const MAX_READ_AHEAD: u64 = 1 << 20;
        let end = self.start + self.bytes.len() as u64;
        if range.start < self.start || range.end > end {
            // Members may be in any order in the file: after a jump, little is read ahead, and more with each member that
            // follows.
            if !(self.start..=end + MAX_READ_AHEAD).contains(&range.start) {
                self.bytes_since_jump = 0;
            }
            let wanted = (range.end - range.start).max(MAX_READ_AHEAD.min(16 * self.bytes_since_jump));
            self.bytes.resize(wanted as usize, 0);
            let filled = Region::of_file(self.file).fill_at(&mut self.bytes, range.start)?;
            self.bytes.truncate(filled);
            self.start = range.start;
        }
        self.bytes_since_jump += range.end - range.start;
        let from = (range.start - self.start) as usize;
        self.bytes.get(from..from + (range.end - range.start) as usize).ok_or_else(truncated_archive)
    }
}

impl std::fmt::Debug for NpzUpdate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let added: Vec<&str> = self.added.iter().map(|(name, _)| name.as_str()).collect();
        let changed: Vec<&usize> = self.changes.keys().collect();
        f.debug_struct("NpzUpdate")
            .field("path", &self.path)
            .field("added", &added)
            .field("changed", &changed)
            .finish()
    }
}

impl WriteOptions {
    /// Opens and locks an archive, to change its members. See [`NpzUpdate::open`].
    ///
    /// # Errors
    ///
    /// Those of [`NpzUpdate::open`], and [`BadOption`](crate::error::ErrorKind::BadOption) for options about new files.
    pub fn update_npz<'a>(&self, path: impl AsRef<Path>) -> Result<NpzUpdate<'a>> {
        let path = path.as_ref();
        let open = || {
            self.check_for(Verb::UpdateNpz)?;
            // Lock before reading the directory, which must still be valid when the members are copied.
            let file = change::open_locked(path, LockPurpose::Change, self.wait_for_lock)?;
            let archive = Archive::load(&mut ArchiveBytes::of(Region::of_file(&file)))?;
            let (changes, added, added_names) = Default::default();
            let options = self.clone();
            Ok(NpzUpdate {
                path: path.to_owned(),
                file: Some(file),
                archive,
                options,
                changes,
                added,
                added_names,
            })
        };
        open().map_err(|error: Error| error.at_path(path))
    }
}
