//! [`NpzFile`]: an archive that several threads can read concurrently.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::{Archive, MemberKey, NpzMember};
use super::member::{self, Remark};
use crate::bytes::{LocalFile, ReadAt, SharedRegion};
use crate::dtype::ByteOrder;
use crate::dynamic::DynArray;
use crate::error::{Error, Fault, FileKind, FilePart, Remedy, Result};
use crate::header::Header;
use crate::io::{NpyReader, ReadArray};
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::parts::NpyFile;
use crate::transfer::{self, Effort};

/// An NPZ archive in a file, shareable across threads.
///
/// Members are read by position, so no method needs `&mut self`. [`NpzFile::open`] reads only the central
/// directory. Members are not cached: each call reads the bytes of its member from the file. Use
/// [`NpzReader`](crate::NpzReader) for any other seekable reader.
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
    source: Arc<dyn ReadAt>,
    path: Option<PathBuf>,
    archive: Arc<Archive>,
    options: ReadOptions,
}

impl NpzFile {
    /// Opens an archive by path, and reads its central directory but no members.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        ReadOptions::new().open_npz(path)
    }

    /// Opens an archive in a [source](ReadAt) of bytes, and reads its directory.
    ///
    /// # Errors
    ///
    /// - Those of the source.
    /// - A [format error](crate::Error::is_format) if it is not an archive, or if its directory is malformed.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpzFile, NpzWriter};
    ///
    /// let mut npz = NpzWriter::new(Vec::new());
    /// npz.add("x", &arr1(&[1.0, 2.0]))?;
    /// let npz = NpzFile::from_source(InMemory(npz.finish()?))?;
    /// assert_eq!(npz.read::<Array1<f64>>("x")?, arr1(&[1.0, 2.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn from_source<S: ReadAt + 'static>(source: S) -> Result<Self> {
        ReadOptions::new().open_npz_source(source)
    }

    /// Opens what is left of an archive whose directory is damaged: members are found by their own headers.
    ///
    /// Reading a member verifies its checksum, as always. Members may be damaged, a member may be
    /// [within](NpzMember::range) another one, as that of an archive in an archive, and those whose sizes follow their content
    /// are not found.
    ///
    /// # Errors
    ///
    /// - Those of the source.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{NpzFile, NpzWriter, ReadOptions};
    ///
    /// let mut npz = NpzWriter::new(std::io::Cursor::new(Vec::new()));
    /// npz.add("x", &arr1(&[1.0, 2.0]))?;
    /// let mut bytes = npz.finish()?.into_inner();
    /// bytes.truncate(bytes.len() - 1);
    /// assert!(NpzFile::from_source(InMemory(bytes.clone())).is_err());
    /// let npz = NpzFile::salvage(InMemory(bytes), &ReadOptions::new())?;
    /// assert_eq!(npz.read::<Array1<f64>>("x")?, arr1(&[1.0, 2.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn salvage<S: ReadAt + 'static>(source: S, options: &ReadOptions) -> Result<Self> {
        let source: Arc<dyn ReadAt> = Arc::new(source);
        let archive = Arc::new(Archive::of_local_headers(&mut member::whole_archive(&source))?);
        Ok(Self { source, path: None, archive, options: options.clone() })
    }

    fn of(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Self> {
        let archive = Arc::new(Archive::load(&mut member::whole_archive(&source))?);
        Ok(Self { source, path: None, archive, options: options.clone() })
    }

    /// Sets the path that errors report, for an archive that was not opened by path.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{DynArray, NpzFile, NpzWriter};
    ///
    /// let empty = NpzWriter::new(Vec::new()).finish()?;
    /// let archive = NpzFile::from_source(InMemory(empty))?.with_path("cache:weights");
    /// let error = archive.read::<DynArray>("x").unwrap_err();
    /// assert!(error.to_string().starts_with("cache:weights: "));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn with_path<P: Into<PathBuf>>(self, path: P) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Returns another handle to the same archive, for reads with other options: see [`NpyFile::with_options`](crate::NpyFile::with_options).
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::{Limits, NpzFile, NpzWriter, ReadOptions};
    ///
    /// let mut writer = NpzWriter::new(Vec::new());
    /// writer.add_array("x", &arr1(&[1.0, 2.0]))?;
    /// let archive = NpzFile::from_source(InMemory(writer.finish()?))?;
    /// let careful = archive.with_options(&ReadOptions::new().limits(Limits::new().payload(8)));
    /// assert!(careful.read::<Array1<f64>>("x").unwrap_err().is_limit());
    /// assert_eq!(archive.read::<Array1<f64>>("x")?.len(), 2);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(&self, options: &ReadOptions) -> Self {
        Self {
            source: Arc::clone(&self.source),
            path: self.path.clone(),
            archive: Arc::clone(&self.archive),
            options: options.clone(),
        }
    }

    /// Returns whether the archive has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of members, including those that are not arrays.
    pub fn len(&self) -> usize {
        self.archive.members().len()
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

    /// Reads an array by name or index, and verifies its checksum.
    ///
    /// The name may be given with or without the suffix `.npy`; an exact match is preferred.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type.
    pub fn read<T: ReadArray>(&self, member: impl MemberKey) -> Result<T> {
        let read = match self.archive.get(member) {
            Ok(member) => member::read(member::whole_archive(&self.source), member, &self.options),
            Err(error) => Err(error),
        };
        read.map_err(|error| self.at_path(error))
    }

    /// Returns the index of a member in the central directory. The suffix `.npy` may be omitted.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member matches `name`.
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

    /// Reads the elements of an array into memory of the caller: see [`NpyReader::read_into_bytes`].
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the memory has another size.
    /// - Those of [`read`](Self::read).
    pub fn read_into_bytes(
        &self,
        member: impl MemberKey,
        into: &mut [u8],
        byte_order: Option<ByteOrder>,
    ) -> Result<()> {
        let read = || {
            let (archive_bytes, member) = (member::whole_archive(&self.source), self.archive.get(member)?);
            member::read_into_bytes(archive_bytes, member, &self.options, into, byte_order)
        };
        read().map_err(|error| self.at_path(error))
    }

    /// Reads an array in pieces, in order: see [`NpzReader::stream`](crate::NpzReader::stream).
    ///
    /// Unlike [`open_member`](Self::open_member), this verifies the checksum, and decompresses a member without a temporary file.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), and of the function.
    pub fn stream<O>(
        &self,
        member: impl MemberKey,
        call: impl FnOnce(&mut NpyReader<&mut dyn Read>) -> Result<O>,
    ) -> Result<O> {
        let stream = || {
            member::stream(
                member::whole_archive(&self.source),
                self.archive.get(member)?,
                &self.options,
                call,
            )
        };
        stream().map_err(|error| self.at_path(error))
    }

    /// Opens an array for reading slices and chunks in bounded memory, like [`NpyFile::open`].
    ///
    /// The source of the data depends on how the member is stored:
    ///
    /// - Uncompressed members that are not encrypted are read directly from the archive. Their checksums are not verified, since
    ///   members may be read only in part. Use [`NpzFile::verify`] to verify them.
    /// - Members with a [block index](NpzMember::index_state) (members above 1 MiB that this library has
    ///   compressed) are decompressed block by block. A block is usually 1 MiB, and is checked against its
    ///   own checksum. If random access decompresses each block more than about three times on average, the
    ///   entire member is decompressed into a temporary file.
    /// - All other members are decompressed once, into an unnamed file in the system's temporary directory.
    ///   The file is as large as the uncompressed member, whose checksum is verified at the same time.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the array contains Python objects, which cannot be
    ///   read in parts.
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
    pub fn open_member(&self, member: impl MemberKey) -> Result<NpyFile> {
        let open = || self.open_as_npy(self.archive.get(member)?);
        open().map_err(|error| self.at_path(error))
    }

    /// Opens a member that has no header of NPY as the array of these elements: see [`ReadOptions::open_elements`].
    ///
    /// # Errors
    ///
    /// Those of [`open_member`](Self::open_member); and [`Truncated`](crate::error::ErrorKind::Truncated) if the member has fewer bytes
    /// than the elements.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::header::{Header, Order};
    /// use ndarray_io::{NpzFile, NpzWriter};
    ///
    /// # let file = tempfile::NamedTempFile::new()?;
    /// let mut npz = NpzWriter::new(file.reopen()?);
    /// npz.add_raw("storage", &[1, 0, 2, 0][..], 4)?;
    /// npz.finish()?;
    /// let header = Header::new("<i2".parse()?, Order::C, [2].into())?;
    /// let array = NpzFile::open(file.path())?.open_elements("storage", header)?;
    /// assert_eq!(array.read::<Array1<i16>>()?, arr1(&[1, 2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_elements(&self, member: impl MemberKey, header: Header) -> Result<NpyFile> {
        let open = || {
            let member = self.archive.get(member)?;
            let opened = || {
                self.options.refuse_trailing_check()?;
                let need = header.declared_payload_len()?;
                if need > member.size {
                    return Err(transfer::truncated(&header, member.size));
                }
                NpyFile::of_elements(self.open_content(member, || Ok(()))?, header, &self.options)
            };
            let file = opened().map_err(|error| error.at_member(&member.name))?;
            Ok(file.with_member(&member.name))
        };
        let file: Result<NpyFile> = open();
        match (file, &self.path) {
            (Ok(file), Some(path)) => Ok(file.with_path(path)),
            (Ok(file), None) => Ok(file),
            (Err(error), _) => Err(self.at_path(error)),
        }
    }

    fn open_as_npy(&self, member: &crate::zip::Member) -> Result<NpyFile> {
        let named = |error: Error| error.at_member(&member.name);
        self.options.refuse_trailing_check().map_err(named)?;
        let check = || {
            let (found, _) = member::peek(member::whole_archive(&self.source), member, &self.options)?;
            let found = found.header;
            let payload = found.payload_len().unwrap_or_default();
            if payload > member.size { Err(transfer::truncated(&found, member.size)) } else { Ok(()) }
        };
        let bytes = self.open_content(member, check).map_err(named)?;
        NpyFile::of_member(self.path.as_deref(), &member.name, bytes, &self.options)
    }

    /// Returns the content of a member, of which any part can be read. `check` is called before a temporary file is written.
    fn open_content(
        &self,
        member: &crate::zip::Member,
        check: impl FnOnce() -> Result<()>,
    ) -> Result<SharedRegion> {
        if member.method == crate::zip::Method::Stored && !member.is_encrypted() {
            let content =
                member::unencrypted_content_offset(&mut member::whole_archive(&self.source), member)?;
            return Ok(SharedRegion::part(&self.source, content..content + member.packed));
        }
        let (source, len): (Arc<dyn ReadAt>, u64) =
            match member::indexed_blocks(&self.source, member, &self.options)? {
                Some(blocks) => {
                    let len = blocks.len();
                    (Arc::new(blocks), len)
                }
                None => {
                    check()?;
                    let (file, len) = member::unpack_to_temporary_file(
                        member::whole_archive(&self.source),
                        member,
                        &self.options,
                    )?;
                    (Arc::new(LocalFile(file)), len)
                }
            };
        Ok(SharedRegion::part(&source, 0..len))
    }

    /// Reads a member, whether or not it is an array, and verifies its size and checksum.
    ///
    /// The content is discarded. Returns what is not damage.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the content is larger, or decompressing an LZMA or XZ member needs
    ///   more memory, than the [`Limits`](crate::Limits) allow.
    pub fn verify_member(&self, member: impl MemberKey) -> Result<Vec<Remark>> {
        let verify =
            || member::verify(member::whole_archive(&self.source), self.archive.get(member)?, &self.options);
        verify().map_err(|error| self.at_path(error))
    }

    /// Reads the header of an array, without its elements.
    ///
    /// The checksum is not verified.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [format error](crate::Error::is_format) if the member is malformed, truncated or compressed by an
    ///   unsupported method.
    pub fn peek(&self, member: impl MemberKey) -> Result<NpyHeader> {
        self.peek_with_offset(member).map(|(header, _)| header)
    }

    /// Reads the header of an array, and returns where its elements begin in the member.
    pub(crate) fn peek_with_offset(&self, member: impl MemberKey) -> Result<(NpyHeader, usize)> {
        let peek =
            || member::peek(member::whole_archive(&self.source), self.archive.get(member)?, &self.options);
        peek().map_err(|error| self.at_path(error))
    }

    /// Returns whether a member is an array: its name ends in `.npy`, or its content begins as an NPY file does.
    ///
    /// NumPy goes by the content alone: it returns the bytes of a member `a.npy` that is not an NPY file, as
    /// [`read_raw`](Self::read_raw) does. Here, reading such a member is an error. The content of a member that
    /// cannot be decompressed, for instance for lack of a password, is not looked at.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) or
    ///   [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) unless exactly one member has the name;
    ///   [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there are fewer members than the index.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{NpzFile, NpzWriter, WriteNpyExt};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("arrays.npz");
    /// let mut npy = Vec::new();
    /// arr1(&[1.5]).write_npy(&mut npy)?;
    /// let mut npz = NpzWriter::new(std::fs::File::create(&path)?);
    /// npz.add_raw("weights", &npy[..], npy.len() as u64)?;
    /// npz.add_raw("read.me", &b"text"[..], 4)?;
    /// npz.finish()?;
    /// let npz = NpzFile::open(&path)?;
    /// assert!(npz.holds_array(0)? && !npz.holds_array(1)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holds_array(&self, member: impl MemberKey) -> Result<bool> {
        let look = || {
            let member = self.archive.get(member)?;
            match member.name.ends_with(".npy") {
                true => Ok(true),
                false => member::begins_as_npy(member::whole_archive(&self.source), member, &self.options),
            }
        };
        match look() {
            // What cannot be decompressed goes by its name.
            Err(error)
                if error.is_format()
                    || error.is_limit()
                    || matches!(error.fault(), Fault::Encrypted { .. }) =>
            {
                Ok(false)
            }
            looked => looked.map_err(|error| self.at_path(error)),
        }
    }

    /// Reads all bytes of a member, whether or not it is an array, and verifies its checksum.
    ///
    /// For an array, the result is a complete NPY file.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
    pub fn read_raw(&self, member: impl MemberKey) -> Result<Vec<u8>> {
        let read = || {
            member::read_raw(member::whole_archive(&self.source), self.archive.get(member)?, &self.options)
        };
        read().map_err(|error| self.at_path(error))
    }

    /// Copies the bytes of a member to a writer, and returns their number.
    ///
    /// The member need not be an array. Its content is copied block by block, so little memory is used. A
    /// wrong checksum is detected only after the last byte has been written.
    ///
    /// # Errors
    ///
    /// - The [errors of members](crate::npz#errors-of-members).
    /// - The [errors of reading](crate::error#errors-of-reading).
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
    pub fn copy_raw<W: Write>(&self, member: impl MemberKey, mut writer: W) -> Result<u64> {
        let copy = || {
            member::copy_raw(
                member::whole_archive(&self.source),
                self.archive.get(member)?,
                &self.options,
                &mut writer,
            )
        };
        copy().map_err(|error| self.at_path(error))
    }

    /// Reads all arrays, using several threads if that is worth it.
    ///
    /// They are returned in the order of the central directory. Which members are arrays, [`holds_array`](Self::holds_array) says.
    /// [`ReadOptions::threads`] sets the largest number of threads. All arrays are in memory at the end.
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or another [format error](crate::Error::is_format) if
    ///   a member is damaged or cannot be decompressed.
    /// - [`Encrypted`](crate::error::ErrorKind::Encrypted) if a member is encrypted and the password is
    ///   missing or wrong (with the feature `zip-encryption`).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements or axes do not match the requested type.
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
    pub fn read_all<T: ReadArray + Send>(&self) -> Result<Vec<(String, T)>> {
        let arrays = self.read_arrays()?;
        Ok(arrays
            .into_iter()
            .map(|(index, array)| (self.members()[index].name().to_owned(), array))
            .collect())
    }

    /// Reads all arrays, each with the index of its member.
    fn read_arrays<T: ReadArray + Send>(&self) -> Result<Vec<(usize, T)>> {
        let members = self.members();
        let mut arrays = Vec::new();
        for index in 0..members.len() {
            if self.holds_array(index)? {
                arrays.push(index);
            }
        }
        member::check_total_expansion(arrays.iter().map(|index| &members[*index]), &self.options)
            .map_err(|error| self.at_path(error))?;
        // Use threads either across members or within one, but not both: `threads` is the total.
        let wanted = || self.options.get_threads();
        let effort = arrays.iter().map(|&index| members[index].effort()).fold(Effort::default(), Effort::and);
        let threads = if self.source.hints().is_remote() { wanted() } else { effort.threads(wanted) };
        let threads = threads.min(arrays.len());
        let options = if threads > 1 { self.options.clone().threads(1) } else { self.options.clone() };
        let mut all = Vec::new();
        let archive = || member::whole_archive(&self.source);
        let read = |index: usize| {
            (index, self.archive.get(index).and_then(|member| member::read::<T>(archive(), member, &options)))
        };
        transfer::map_in_order(arrays.into_iter(), threads, read, |(index, array)| {
            all.push((index, array.map_err(|error| self.at_path(error))?));
            Ok::<(), Error>(())
        })?;
        Ok(all)
    }

    /// Reads every member and verifies its size and checksum.
    ///
    /// A member with an index of its blocks is decompressed from its beginning, as other programs do, and its blocks are
    /// compared with that. Stops at the first damaged member, which the error names. Returns what is not damage, each
    /// remark with the index of its member.
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
        let archive_bytes = || member::whole_archive(&self.source);
        member::verify_all(&self.archive, &self.options, archive_bytes).map_err(|error| self.at_path(error))
    }

    /// Returns how many bytes between a member and the next record belong to neither.
    #[cfg(feature = "object")]
    pub(crate) fn unaccounted_len(&self, index: usize) -> Result<u64> {
        member::unaccounted_len(member::whole_archive(&self.source), self.archive.at(index)?)
    }

    /// Returns the number of bytes before the first record.
    #[cfg(feature = "object")]
    pub(crate) fn prefix_len(&self) -> u64 {
        self.archive.prefix_len()
    }

    fn at_path(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.at_path(path),
            None => error,
        }
    }
}

/// Reads all arrays of an archive into a map by name.
///
/// Which members are arrays, [`NpzFile::holds_array`] says; the suffix `.npy` is not part of the key. All arrays are in
/// memory at the same time.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - [`Malformed`](crate::error::ErrorKind::Malformed) or another [format error](crate::Error::is_format) if a
///   member is damaged or cannot be decompressed.
/// - [`BadMagic`](crate::error::ErrorKind::BadMagic) if the file is not an archive, and
///   [`Unsupported`](crate::error::ErrorKind::Unsupported) if it has members of which none is an array, as the archives of PyTorch.
/// - [`Encrypted`](crate::error::ErrorKind::Encrypted) if a member is encrypted (with the feature `zip-encryption`).
/// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if two members have the same name.
/// - [`Objects`](crate::error::ErrorKind::Objects) if an array contains Python objects and the options do not
///   allow them.
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
    ReadOptions::new().read_npz(path)
}

/// Returns the error for an archive of which no member is an array.
fn no_arrays(members: &[NpzMember]) -> Error {
    let is_of_torch = members.iter().any(|member| member.file_name().ends_with("/data.pkl"));
    let reason = match is_of_torch {
        true => "it is an archive of PyTorch, whose elements are described by a pickle".to_owned(),
        false => format!("none of its {} members is an array", members.len()),
    };
    let error = Error::from(Fault::Unsupported { part: FilePart::Archive, reason });
    if is_of_torch { error.with_help(Remedy::OtherFile(FileKind::Torch)) } else { error }
}

impl ReadOptions {
    /// Reads all arrays of an archive. See [`read_npz`].
    ///
    /// # Errors
    ///
    /// Those of [`read_npz`].
    pub fn read_npz(&self, path: impl AsRef<Path>) -> Result<BTreeMap<String, DynArray>> {
        let npz = self.open_npz(path)?;
        let mut arrays = BTreeMap::new();
        let members = npz.members();
        if !members.is_empty() && !(0..members.len()).any(|index| npz.holds_array(index).unwrap_or(true)) {
            return Err(npz.at_path(no_arrays(members)));
        }
        for (index, array) in npz.read_arrays()? {
            // A map cannot represent two members with the same name: return an error instead of losing an array.
            let name = npz.members()[index].name().to_owned();
            if let Some((first, _)) = arrays.insert(name.clone(), (index, array)) {
                let error = Fault::AmbiguousName { name, indices: vec![first, index] };
                return Err(npz.at_path(error.into()));
            }
        }
        Ok(arrays.into_iter().map(|(name, (_, array))| (name, array)).collect())
    }

    /// Opens an archive. See [`NpzFile::open`]. The options apply to all members.
    ///
    /// # Errors
    ///
    /// Those of [`NpzFile::open`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::{Casting, ReadOptions, write_npz};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// write_npz(&path, &[("a", &arr1(&[1u8, 2]))])?;
    /// let npz = ReadOptions::new().casting(Casting::Safe).open_npz(&path)?;
    /// assert_eq!(npz.read::<Array1<f64>>("a")?, arr1(&[1.0, 2.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_npz(&self, path: impl AsRef<Path>) -> Result<NpzFile> {
        let path = path.as_ref();
        let open = || self.open_npz_file(File::open(path)?);
        let opened = open().map_err(|error| error.at_path(path))?;
        Ok(NpzFile { path: Some(path.to_owned()), ..opened })
    }

    /// Opens an archive in an open file. See [`open_npz`](Self::open_npz).
    ///
    /// # Errors
    ///
    /// Those of [`open_npz`](Self::open_npz).
    pub fn open_npz_file(&self, file: File) -> Result<NpzFile> {
        NpzFile::of(Arc::new(LocalFile(file)), self)
    }

    /// Opens an archive in a [source](ReadAt) of bytes. See [`NpzFile::from_source`].
    ///
    /// # Errors
    ///
    /// Those of [`NpzFile::from_source`].
    pub fn open_npz_source<S: ReadAt + 'static>(&self, source: S) -> Result<NpzFile> {
        NpzFile::of(Arc::new(source), self)
    }
}
