//! [`NpzFile`]: an archive that several threads read at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::archive::{Archive, Holder, NpzMember};
use super::member;
use crate::dynamic::DynArray;
use crate::error::{Error, Result};
use crate::io::FromPayload;
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::parts::{FileBytes, NpyFile};
use crate::transfer;

/// An archive in a file, which is read by position: as many threads as like can read from it at once.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{NpzFile, write_npz};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// write_npz(&path, &[("a", &arr1(&[1, 2])), ("b", &arr1(&[3, 4]))])?;
/// let npz = NpzFile::open(&path)?;
/// let sum = |name| npz.read::<Array1<i32>>(name).map(|array| array.sum());
/// let sums = std::thread::scope(|scope| {
///     let (a, b) = (scope.spawn(|| sum("a")), scope.spawn(|| sum("b")));
///     (a.join().unwrap(), b.join().unwrap())
/// });
/// assert_eq!((sums.0?, sums.1?), (3, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpzFile {
    holder: Holder,
    path: Option<PathBuf>,
    archive: Archive,
    options: ReadOptions,
}

impl NpzFile {
    /// Opens an archive by its path. Members are not touched.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// Opens an archive by its path, with options for all that is read from it.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated.
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::new_with(File::open(path)?, options);
        let opened = open().map_err(|error| error.at_path(path))?;
        Ok(Self { path: Some(path.to_owned()), ..opened })
    }

    /// The archive in a file that is open.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated.
    pub fn new(file: File) -> Result<Self> {
        Self::new_with(file, &ReadOptions::new())
    }

    /// The same with options.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated.
    pub fn new_with(file: File, options: &ReadOptions) -> Result<Self> {
        Self::of(Holder::File(Arc::new(file)), options)
    }

    pub(crate) fn of(holder: Holder, options: &ReadOptions) -> Result<Self> {
        let archive = Archive::load(&mut holder.place())?;
        Ok(Self { holder, path: None, archive, options: options.clone() })
    }

    /// The same archive with the name of what it is in, for errors.
    #[cfg(feature = "object-store-0_14")]
    pub(crate) fn called(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.archive.members().len()
    }

    /// The names of all members, in the order of the directory, each without one suffix `.npy`.
    pub fn names(&self) -> Vec<String> {
        self.archive.names()
    }

    /// What the archive says of its members.
    pub fn members(&self) -> &[NpzMember] {
        self.archive.members()
    }

    /// Reads an array by its name.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged; a
    /// [mismatch](crate::Error::is_mismatch) if its elements or axes are not those of the type;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn read<T: FromPayload>(&self, name: &str) -> Result<T> {
        let read = || member::read(self.holder.place(), self.archive.find(name)?, &self.options);
        read().map_err(|error| self.at_path(error))
    }

    /// The number in the directory of the member with this name; the suffix `.npy` may be left away.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// # ndarray_io::write_npz(&path, &[("a", &arr1(&[1.5])), ("b", &arr1(&[2.5]))])?;
    /// assert_eq!(ndarray_io::NpzFile::open(&path)?.index_of("b")?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_of(&self, name: &str) -> Result<usize> {
        self.archive.find_if(name, |_| true).map_err(|error| self.at_path(error))
    }

    /// Reads an array by its number in the directory.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged; a [mismatch](crate::Error::is_mismatch) if its elements or axes are
    /// not those of the type; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn read_index<T: FromPayload>(&self, index: usize) -> Result<T> {
        self.read_index_with(index, &self.options)
    }

    fn read_index_with<T: FromPayload>(&self, index: usize, options: &ReadOptions) -> Result<T> {
        let read = || member::read(self.holder.place(), self.archive.at(index)?, options);
        read().map_err(|error| self.at_path(error))
    }

    /// Opens an array as [`NpyFile::open`] opens a file: for slices, chunks and walks in bounded memory.
    ///
    /// A stored member is read where it is in the archive, and so is a large one that this library has compressed: it has an index of
    /// blocks of 1 MiB, of which those that a part needs are unpacked, and each compared with its own checksum. (If reading goes to and
    /// fro until most blocks have been unpacked several times, it is treated as follows from then on.) Any other compressed
    /// member is unpacked once, into a file without a name in the system's folder for temporary files, which takes as much room there
    /// as the array; its checksum is compared then. That of a stored member is not, since not all of it may be read:
    /// [`NpzFile::verify`] does that.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged;
    /// [`Objects`](crate::error::ErrorKind::Objects) of Python objects, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, arr2, s};
    /// use ndarray_io::{NpzFile, write_npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// write_npz(&path, &[("a", &arr2(&[[1, 2], [3, 4]]))])?;
    /// let array = NpzFile::open(&path)?.open_member("a")?;
    /// assert_eq!(array.slice::<i32, _>(s![.., 1])?, arr1(&[2, 4]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_member(&self, name: &str) -> Result<NpyFile> {
        let open = || self.open_found(self.archive.find(name)?);
        open().map_err(|error| self.at_path(error))
    }

    /// Opens an array by the number of its member in the directory. See [`NpzFile::open_member`].
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number; [`Io`](crate::error::ErrorKind::Io) if
    /// the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is
    /// damaged; [`Objects`](crate::error::ErrorKind::Objects) of Python objects, which cannot be read in parts;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn open_member_index(&self, index: usize) -> Result<NpyFile> {
        let open = || self.open_found(self.archive.at(index)?);
        open().map_err(|error| self.at_path(error))
    }

    fn open_found(&self, member: &crate::zip::Member) -> Result<NpyFile> {
        let named = |error: Error| error.at_member(&member.name);
        let bytes = if member.method == crate::zip::Method::Stored && !member.is_encrypted() {
            let content = member::content(&mut self.holder.place(), member).map_err(named)?;
            self.holder.part(content..content + member.packed)
        } else if let Some(blocks) =
            member::blocks_within(&self.holder, member, &self.options).map_err(named)?
        {
            FileBytes::Blocks(Box::new(blocks))
        } else {
            // What the header promises and the member has not is found out before there is a file.
            let found = member::peek(self.holder.place(), member, &self.options)?.header;
            let payload = found.payload_len().unwrap_or_default();
            if payload > member.size {
                return Err(named(transfer::truncated(&found, member.size)));
            }
            let (file, len) = member::unpacked(self.holder.place(), member, &self.options)?;
            FileBytes::Range(Arc::new(file), 0..len)
        };
        NpyFile::member(self.path.as_deref(), &member.name, bytes, &self.options)
    }

    /// Reads a member, be it an array or not, and compares its size and checksum.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged.
    pub fn verify_index(&self, index: usize) -> Result<()> {
        let verify = || member::verify(self.holder.place(), self.archive.at(index)?, &self.options);
        verify().map_err(|error| self.at_path(error))
    }

    /// The header of an array, without its elements.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the
    /// [format](crate::Error::is_format) if the file is malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the
    /// [`Limits`](crate::Limits).
    pub fn peek(&self, name: &str) -> Result<NpyHeader> {
        let peek = || member::peek(self.holder.place(), self.archive.find(name)?, &self.options);
        peek().map_err(|error| self.at_path(error))
    }

    /// What the header of an array says, by the number of its member.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number; [`Io`](crate::error::ErrorKind::Io) if
    /// the system fails; an error of the [format](crate::Error::is_format) if the file is malformed or truncated;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn peek_index(&self, index: usize) -> Result<NpyHeader> {
        let peek = || member::peek(self.holder.place(), self.archive.at(index)?, &self.options);
        peek().map_err(|error| self.at_path(error))
    }

    /// The bytes of a member, be it an array or not.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn read_raw(&self, name: &str) -> Result<Vec<u8>> {
        let read = || member::read_raw(self.holder.place(), self.archive.find(name)?, &self.options);
        read().map_err(|error| self.at_path(error))
    }

    /// Writes the bytes of a member, be it an array or not, block by block; says how many there are. That the checksum is
    /// another is known only behind the last of them.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](crate::error::ErrorKind::NoSuchMember) or [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if not
    /// exactly one member has the name; [`Io`](crate::error::ErrorKind::Io) if the system fails;
    /// [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the [format](crate::Error::is_format) if it is damaged;
    /// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// # ndarray_io::write_npz(&path, &[("a", &arr1(&[1.5]))])?;
    /// let mut file = Vec::new();
    /// assert_eq!(ndarray_io::NpzFile::open(&path)?.copy_raw("a.npy", &mut file)?, 136);
    /// assert!(file.starts_with(b"\x93NUMPY"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_raw<W: Write>(&self, name: &str, mut writer: W) -> Result<u64> {
        let mut copy =
            || member::copy_raw(self.holder.place(), self.archive.find(name)?, &self.options, &mut writer);
        copy().map_err(|error| self.at_path(error))
    }

    /// The bytes of a member by its number.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if there is no member of this number;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged; [`Limit`](crate::error::ErrorKind::Limit) beyond the
    /// [`Limits`](crate::Limits).
    pub fn read_raw_index(&self, index: usize) -> Result<Vec<u8>> {
        let read = || member::read_raw(self.holder.place(), self.archive.at(index)?, &self.options);
        read().map_err(|error| self.at_path(error))
    }

    /// Reads all arrays, several at once: every member whose name ends in `.npy`, in the order of the directory.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged; a [mismatch](crate::Error::is_mismatch) if its elements or axes are
    /// not those of the type; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{DynArray, NpzFile, write_npz};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// # write_npz(&path, &[("a", &arr1(&[1, 2]))])?;
    /// for (name, array) in NpzFile::open(&path)?.read_all::<DynArray>()? {
    ///     println!("{name}: {} {:?}", array.dtype(), array.shape());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_all<T: FromPayload + Send>(&self) -> Result<Vec<(String, T)>> {
        let members = self.members();
        let arrays: Vec<usize> = (0..members.len()).filter(|&index| members[index].is_array()).collect();
        // Either members are read at the same time, or parts of one member.
        let threads = self.options.get_threads().min(arrays.len());
        let options = if threads > 1 { self.options.clone().threads(1) } else { self.options.clone() };
        let next = AtomicUsize::new(0);
        let work = || {
            let mut read = Vec::new();
            while let Some(&index) = arrays.get(next.fetch_add(1, Ordering::Relaxed)) {
                let array = self.read_index_with::<T>(index, &options);
                if array.is_err() {
                    next.store(arrays.len(), Ordering::Relaxed); // the others need not go on
                }
                read.push((index, array));
            }
            read
        };
        let mut all = thread::scope(|scope| {
            let spawn = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (1..threads).map_while(spawn).collect();
            let mut all = work();
            for helper in helpers {
                all.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            all
        });
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(index, array)| Ok((members[index].name().to_owned(), array?))).collect()
    }

    /// Reads each member and compares its size and checksum; the first that is damaged is named.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error
    /// of the [format](crate::Error::is_format) if it is damaged.
    pub fn verify(&self) -> Result<()> {
        (0..self.len()).try_for_each(|index| self.verify_index(index))
    }

    fn at_path(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.at_path(path),
            None => error,
        }
    }
}

/// Reads all arrays of an archive, by their names: every member whose name ends in `.npy`.
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the
/// [format](crate::Error::is_format) if it is damaged; [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if two members have
/// one name; [`Objects`](crate::error::ErrorKind::Objects) of Python objects that the options do not allow;
/// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits); [`Cancelled`](crate::error::ErrorKind::Cancelled) by
/// the progress callback.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// ndarray_io::write_npz(&path, &[("a", &arr1(&[1.5])), ("b", &arr1(&[true]))])?;
/// let arrays = ndarray_io::read_npz(&path)?;
/// assert_eq!(arrays["b"].dtype().to_string(), "'|b1'");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_npz<P: AsRef<Path>>(path: P) -> Result<BTreeMap<String, DynArray>> {
    read_npz_with(path, &ReadOptions::new())
}

/// Reads all arrays of an archive with options. See [`read_npz`].
///
/// # Errors
///
/// [`Io`](crate::error::ErrorKind::Io) if the system fails; [`BadCrc`](crate::error::ErrorKind::BadCrc) or another error of the
/// [format](crate::Error::is_format) if it is damaged; [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if two members have
/// one name; [`Objects`](crate::error::ErrorKind::Objects) of Python objects that the options do not allow;
/// [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits); [`Cancelled`](crate::error::ErrorKind::Cancelled) by
/// the progress callback.
pub fn read_npz_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<BTreeMap<String, DynArray>> {
    let npz = NpzFile::open_with(path, options)?;
    let twice = npz.members().iter().find_map(|member| npz.archive.find(member.file_name()).err());
    match twice {
        Some(error) => Err(npz.at_path(error)),
        None => Ok(npz.read_all()?.into_iter().collect()),
    }
}
