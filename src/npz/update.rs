//! [`NpzUpdate`]: another archive in the place of an old one.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::archive::{Archive, Place};
use super::member;
use super::{NpzOptions, NpzWriter};
use crate::array::WriteArray;
use crate::error::{ErrorKind, Result};
use crate::io::change::{self, Locked, Purpose};
use crate::zip::Member;

/// Adds, replaces and removes members of an archive. What is not touched is copied as it is, without unpacking it; the
/// new archive is written beside the old one and takes its place when it is complete.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::npz::NpzUpdate;
/// use ndarray_io::{NpzFile, write_npz};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// write_npz(&path, &[("a", &arr1(&[1])), ("b", &arr1(&[2])), ("c", &arr1(&[3]))])?;
/// let (new_b, d) = (arr1(&[20, 21]), arr1(&[4.0]));
/// NpzUpdate::open(&path)?.replace("b", &new_b)?.remove("c")?.add("d", &d)?.finish()?;
///
/// let npz = NpzFile::open(&path)?;
/// assert_eq!(npz.names(), ["a", "b", "d"]);
/// assert_eq!(npz.read::<Array1<i32>>("b")?, new_b);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NpzUpdate<'a> {
    path: PathBuf,
    file: Locked,
    archive: Archive,
    options: NpzOptions,
    /// What becomes of the members that do not stay, by their numbers.
    changes: HashMap<usize, Option<&'a (dyn WriteArray + Sync)>>,
    added: Vec<(String, &'a (dyn WriteArray + Sync))>,
    /// Their names.
    names: HashSet<String>,
}

impl<'a> NpzUpdate<'a> {
    /// Opens an archive, and locks it until the update is finished or dropped: another update fails with
    /// [`ErrorKind::Locked`]. Nothing is changed before [`NpzUpdate::finish`].
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; [`Locked`](crate::error::ErrorKind::Locked) while another writer has the file;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the options ask for writing in place.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &NpzOptions::new())
    }

    /// Opens an archive, with options for the members that are written.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the
    /// file is malformed or truncated; [`Locked`](crate::error::ErrorKind::Locked) while another writer has the file;
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the options ask for writing in place.
    pub fn open_with<P: AsRef<Path>>(path: P, options: &NpzOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || {
            if options.get_write().get_in_place() {
                let reason =
                    "an archive is read while its successor is written, so that it cannot be in its place";
                return Err(ErrorKind::BadOption { reason: reason.into() }.into());
            }
            let file = change::open_locked(path, Purpose::Change, options.get_write().get_wait_for_lock())?;
            let archive = Archive::load(&mut Place::File(&file))?;
            let (changes, added, names) = Default::default();
            let options = options.clone();
            Ok(Self { path: path.to_owned(), file, archive, options, changes, added, names })
        };
        open().map_err(|error: crate::error::Error| error.at_path(path))
    }

    /// Adds an array, whose name must not be there yet.
    ///
    /// # Errors
    ///
    /// [`NameTaken`](crate::error::ErrorKind::NameTaken) if a member has the name.
    pub fn add(mut self, name: &str, array: &'a (dyn WriteArray + Sync)) -> Result<Self> {
        let member = format!("{name}.npy");
        let is_old = self.archive.named(&member).any(|index| self.stays(index));
        if is_old || !self.names.insert(name.to_owned()) {
            return Err(ErrorKind::NameTaken { name: member }.into());
        }
        self.added.push((name.to_owned(), array));
        Ok(self)
    }

    /// Puts an array in the place of a member, whose name stays as it is.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name.
    pub fn replace(mut self, name: &str, array: &'a (dyn WriteArray + Sync)) -> Result<Self> {
        let index = self.archive.find_if(name, |index| self.stays(index))?;
        self.changes.insert(index, Some(array));
        Ok(self)
    }

    /// Removes a member.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name.
    pub fn remove(mut self, name: &str) -> Result<Self> {
        let index = self.archive.find_if(name, |index| self.stays(index))?;
        self.changes.insert(index, None);
        Ok(self)
    }

    /// Removes a member by its number: one of several that have the same name.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number.
    pub fn remove_index(mut self, index: usize) -> Result<Self> {
        self.archive.at(index)?;
        self.changes.insert(index, None);
        Ok(self)
    }

    fn stays(&self, index: usize) -> bool {
        !matches!(self.changes.get(&index), Some(None))
    }

    /// Writes the new archive and puts it in the place of the old one.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the record of a
    /// member that stays contradicts the directory (its content is copied without a look at the checksum); those of
    /// [`NpzWriter::add_array`](crate::NpzWriter::add_array) for new arrays; a [conflict](crate::Error::is_conflict) if the existing
    /// file is locked or cannot be replaced.
    pub fn finish(self) -> Result<()> {
        let Self { path, file: old, archive, options, changes, added, names: _ } = self;
        let write = |old: &File, mut file: &File| {
            // What another program has put before the archive stays there.
            let mut before = old;
            before.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut before.take(archive.prefix_len()), &mut file)?;
            let mut npz = NpzWriter::new_with_options(file, &options);
            npz.set_comment(archive.comment().to_vec());
            for index in 0..archive.members().len() {
                let member = archive.at(index)?;
                match changes.get(&index) {
                    Some(None) => {}
                    Some(Some(array)) => npz.add_member(member.name.clone(), *array, &options)?,
                    None => copy(&mut npz, old, member).map_err(|error| error.at_member(&member.name))?,
                }
            }
            for (name, array) in added {
                npz.add(name, array, &options)?;
            }
            // Where there are no locks, another program may have changed the archive since it was opened.
            match Archive::load(&mut Place::File(old)) {
                Ok(now) if now.is_like(&archive) => npz.finish().map(drop),
                _ => Err(ErrorKind::Locked.into()),
            }
        };
        change::replace_locked(&path, old, options.get_write(), write).map_err(|error| error.at_path(&path))
    }
}

fn copy(npz: &mut NpzWriter<&File>, old: &File, member: &Member) -> Result<()> {
    let extra = member::own_fields(&mut Place::File(old), member)?;
    let content = member::content(&mut Place::File(old), member)?;
    npz.copy(old, member, &extra, content)
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
