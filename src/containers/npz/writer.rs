//! [`NpzWriter`]: writes archives, one member after another.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::archive::name_in_archive;
use super::member::LocalFields;
use crate::array::{WriteArray, store_npy};
use crate::codec::{BlockIndex, Crc, PackMethod};
use crate::error::{Error, Fault, FilePart, Result};
use crate::io::change;
use crate::options::{Compression, Verb, WriteOptions};
use crate::transfer::{self, PackWriter, PackerPool, Sink, os, streams};
use crate::zip::{self, Member, Method};

/// Arrays up to this size are encoded in memory and written together with other small members.
const MAX_SMALL_ARRAY: usize = 64 << 10;
/// The size at which the buffer of small members is written, so that one system call writes many members.
const BUFFER_SIZE: usize = 256 << 10;

/// Writes NPZ archives to any writer, one member after another.
///
/// Each array becomes a member whose name gets the suffix `.npy`, as in NumPy. [`NpzWriter::finish`] writes
/// the central directory. If the writer is dropped without this call, the result is a truncated archive,
/// which readers reject.
///
/// Arrays of more than 64 KiB are streamed to the writer. Smaller ones are encoded in memory first and
/// collected in a buffer of 256 KiB. Unless the writer is a regular `File` that is not open for appending,
/// [`add`](Self::add) encodes uncompressed arrays of more than 64 KiB twice: their checksum
/// precedes the data, so it is computed first.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use ndarray_io::NpzWriter;
/// use std::fs::File;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// let mut npz = NpzWriter::new(File::create(&path)?);
/// npz.add("a", &arr1(&[1, 2, 3]))?;
/// npz.add("b", &arr2(&[[1.5], [2.5]]))?;
/// npz.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// To write to a path, use [`write_npz`], which replaces an existing file atomically.
#[derive(Debug)]
#[must_use = "nothing is complete before `finish`"]
pub struct NpzWriter<W> {
    writer: W,
    pub(super) options: WriteOptions,
    state: ArchiveState,
    names: HashSet<String>,
    /// Whether an error has left an incomplete member in the archive.
    is_broken: bool,
}

/// What has been written, and what is still buffered.
#[derive(Debug, Default)]
struct ArchiveState {
    /// The offset of the archive in its file.
    start: u64,
    /// Whether earlier records can be patched.
    can_patch: bool,
    /// The length of the archive so far, including buffered bytes.
    len: u64,
    buffer: Vec<u8>,
    /// Each member, and whether a data descriptor follows its content.
    members: Vec<(Member, bool)>,
    comment: Vec<u8>,
    packers: Option<PackerPool>,
}

impl<W: Write> NpzWriter<W> {
    pub(super) fn of(mut writer: W, options: &WriteOptions) -> Self {
        let mut state = ArchiveState::default();
        // In a file, sizes and checksums can be patched into a member's local header after its content is
        // written.
        if let Some((start, can_patch)) = streams::as_file(&mut writer).and_then(os::write_position) {
            (state.start, state.can_patch) = (start, can_patch);
        }
        Self { writer, options: options.clone(), state, names: HashSet::new(), is_broken: false }
    }

    /// Creates a writer that does not compress arrays.
    pub fn new(writer: W) -> Self {
        Self::of(writer, &WriteOptions::new())
    }

    /// Creates a writer that compresses arrays with Deflate at the usual level, 6.
    ///
    /// Large arrays are compressed by several threads: by default one for each available core, but at most 4.
    #[doc(hidden)]
    pub fn new_compressed(writer: W) -> Self {
        Self::of(writer, &WriteOptions::new().compression(Compression::DEFLATE))
    }

    /// Adds an array as the member `name` with the suffix `.npy`.
    ///
    /// # Errors
    ///
    /// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if a member of this name already exists.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the member's name is longer than 65,535 bytes
    ///   or contains a NUL, if the options contradict the call.
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) after an earlier error left an incomplete member.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format or the options cannot
    ///   represent the elements.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Changed`](crate::error::ErrorKind::Changed) if the array changes while it is written to
    ///   a stream.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    pub fn add<N, T>(&mut self, name: N, array: &T) -> Result<()>
    where
        N: Into<String>,
        T: WriteArray + ?Sized,
    {
        let options = self.options.clone();
        self.add_member(name_in_archive(name.into()), Content::Array(&array), &options)
    }

    /// Adds an array: [`add`](Self::add), under the name that `ndarray-npy` uses.
    ///
    /// # Errors
    ///
    /// As for [`add`](Self::add).
    #[doc(hidden)]
    pub fn add_array<N, T>(&mut self, name: N, array: &T) -> Result<()>
    where
        N: Into<String>,
        T: WriteArray + ?Sized,
    {
        self.add(name, array)
    }

    /// Adds an array with its own options, such as a different compression.
    ///
    /// # Errors
    ///
    /// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if a member of this name already exists.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the member's name is longer than 65,535 bytes
    ///   or contains a NUL, if the options contradict the call.
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) after an earlier error left an incomplete member.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format or the options cannot
    ///   represent the elements.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Changed`](crate::error::ErrorKind::Changed) if the array changes while it is written to
    ///   a stream.
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::{Compression, NpzWriter, WriteOptions};
    /// let mut npz = NpzWriter::new(Vec::new());
    /// let small = WriteOptions::new().compression(Compression::Deflated(9));
    /// npz.add_with("zeros", &ndarray::Array1::<f64>::zeros(100_000), &small)?;
    /// assert!(npz.finish()?.len() < 2000);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn add_with<N, T>(&mut self, name: N, array: &T, options: &WriteOptions) -> Result<()>
    where
        N: Into<String>,
        T: WriteArray + ?Sized,
    {
        options.check_for(Verb::AddWith)?;
        self.add_member(name_in_archive(name.into()), Content::Array(&array), options)
    }

    /// Adds a member under exactly this name.
    ///
    /// Not generic over the array, so that programs do not compile it again for each type that they write.
    pub(super) fn add_member(
        &mut self,
        name: String,
        content: Content<'_>,
        options: &WriteOptions,
    ) -> Result<()> {
        self.check_new_member(&name)?;
        let mut member = new_member(&name, options.compression)?;
        let added = match content.byte_len() {
            len if len <= MAX_SMALL_ARRAY => self.add_small(&mut member, content, options),
            _ => self.add_large(&mut member, content, options),
        };
        let has_descriptor = added.map_err(|error| error.at_member(&name))?;
        self.state.members.push((member, has_descriptor));
        self.names.insert(name);
        Ok(())
    }

    /// Copies a member from another archive without decompressing it, and keeps its metadata.
    ///
    /// `local` is what its local header has.
    pub(super) fn copy(
        &mut self,
        old: &Member,
        local: &LocalFields,
        content: PackedContent<'_>,
    ) -> Result<()> {
        self.check_not_broken()?;
        let extra = &local.extra;
        if !zip::extra_fields_fit(old, extra) {
            let reason = "the extra fields of the member are too long to be copied".into();
            return Err(Fault::Unsupported { part: FilePart::Archive, reason }.into());
        }
        self.is_broken = true;
        let member = Member { offset: self.state.len, next_record_offset: 0, ..old.clone() };
        // The first bytes of a member encrypted in the traditional way are checked against its checksum, or against its
        // time if a descriptor follows: so one must follow where it did.
        let has_descriptor = member.is_encrypted() && member.has_descriptor();
        let sizes = match member.size.max(member.packed) < u64::from(u32::MAX) {
            _ if !has_descriptor => zip::SizesLocation::LocalHeader,
            true => zip::SizesLocation::Descriptor32,
            false => zip::SizesLocation::Descriptor64,
        };
        let own = Member { dos_timestamp: local.dos_timestamp, ..member.clone() };
        let record = zip::local_record(&own, extra, self.state.start + self.state.len, sizes);
        self.write_buffered(&record)?;
        match content {
            PackedContent::Bytes(bytes) => self.write_buffered(bytes)?,
            PackedContent::At(mut file, start) => {
                self.flush_buffer()?;
                file.seek(SeekFrom::Start(start))?;
                let copied = std::io::copy(&mut file.take(old.packed), &mut self.writer)?;
                if copied < old.packed {
                    let reason = "the archive was truncated while a member was being copied".into();
                    return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
                }
                self.state.len += copied;
            }
        }
        if has_descriptor {
            self.write_buffered(&zip::descriptor(&member, sizes))?;
        }
        self.names.insert(member.name.clone());
        self.state.members.push((member, has_descriptor));
        self.is_broken = false;
        Ok(())
    }

    /// Sets the comment of the archive.
    pub(super) fn set_comment(&mut self, comment: Vec<u8>) {
        self.state.comment = comment;
    }

    fn check_new_member(&mut self, name: &str) -> Result<()> {
        self.check_not_broken()?;
        change::check_can_sync(&mut self.writer, &self.options)?;
        if self.names.contains(name) {
            return Err(Fault::NameTaken { name: name.to_owned() }.into());
        }
        if u16::try_from(name.len()).is_err() || name.contains('\0') {
            let reason = "the name of a member is limited to 65,535 bytes and must not contain NUL".into();
            return Err(Fault::BadOption { reason }.into());
        }
        Ok(())
    }

    fn check_not_broken(&self) -> Result<()> {
        match self.is_broken {
            false => Ok(()),
            true => {
                let reason = "an earlier error has left an incomplete member in the archive".into();
                Err(Fault::OutOfTurn { reason }.into())
            }
        }
    }

    fn add_small(
        &mut self,
        member: &mut Member,
        content: Content<'_>,
        options: &WriteOptions,
    ) -> Result<bool> {
        // Encoding into memory first keeps the archive intact if the array cannot be encoded.
        let mut bytes = Vec::new();
        content.store(Sink::of(&mut bytes), options)?;
        if let (_, Some(packing)) = packing(options.compression)? {
            let mut packed = Vec::new();
            let mut sink = Sink::of(&mut packed);
            let mut packer = PackWriter::new(&mut sink, self.state.packers(packing), options.get_threads());
            packer.write_all(&bytes)?;
            set_packed_metadata(member, &packer.finish()?);
            bytes = packed;
        } else {
            let mut sum = Crc::default();
            sum.add(&bytes);
            set_stored_metadata(member, &sum);
        }
        member.offset = self.state.len;
        let record = zip::local_record(
            member,
            &[],
            self.state.start + self.state.len,
            zip::SizesLocation::LocalHeader,
        );
        self.is_broken = true; // in case writing the buffer fails
        self.write_buffered(&record)?;
        self.write_buffered(&bytes)?;
        self.is_broken = false;
        Ok(false)
    }

    fn add_large(
        &mut self,
        member: &mut Member,
        content: Content<'_>,
        options: &WriteOptions,
    ) -> Result<bool> {
        /// The reserve below 4 GiB for the NPY header and for the growth of incompressible data.
        const GROWTH_RESERVE: u64 = 64 << 20;
        // A streaming reader cannot find the end of a stored member whose sizes follow it. So the sizes are
        // computed first, by a pass that writes nothing and therefore costs little.
        let is_unknown = self.state.can_patch || member.method != Method::Stored;
        let first_pass = if is_unknown { None } else { content.repeated() };
        let is_known = first_pass.is_some();
        if let Some(content) = first_pass {
            let mut sum = Crc::default();
            let mut see = |bytes: &[u8]| sum.add(bytes);
            let sink = &mut std::io::sink();
            content.store(Sink::of(sink).with_observer(&mut see), &options.without_progress())?;
            set_stored_metadata(member, &sum);
        }
        let is_short = |len: u64| len < u64::from(u32::MAX) - GROWTH_RESERVE;
        let sizes = if self.state.can_patch || is_known {
            zip::SizesLocation::LocalHeader
        } else if content.len(options).is_some_and(is_short) {
            zip::SizesLocation::Descriptor32
        } else {
            zip::SizesLocation::Descriptor64
        };
        let has_descriptor = sizes != zip::SizesLocation::LocalHeader;
        self.is_broken = true; // until the member is complete
        member.offset = self.state.len;
        let record = zip::local_record(member, &[], self.state.start + self.state.len, sizes);
        self.write_buffered(&record)?;
        self.flush_buffer()?;
        let known = is_known.then_some((member.crc, member.size, member.packed));
        let mut sink = Sink::of(&mut self.writer);
        if let (_, Some(packing)) = packing(options.compression)? {
            let mut packer = PackWriter::new(&mut sink, self.state.packers(packing), options.get_threads());
            content.store(Sink::of(&mut packer), options)?;
            set_packed_metadata(member, &packer.finish()?);
        } else {
            let mut sum = Crc::default();
            let mut see = |bytes: &[u8]| sum.add(bytes);
            content.store(sink.with_observer(&mut see), options)?;
            set_stored_metadata(member, &sum);
        }
        self.state.len += member.packed;
        // The local header contains the values of the first pass and cannot be patched.
        if let Some(known) = known {
            if known != (member.crc, member.size, member.packed) {
                let reason = "the array changed while it was being written".into();
                return Err(Fault::ArrayChanged { reason }.into());
            }
        } else if has_descriptor {
            if sizes == zip::SizesLocation::Descriptor32 && member.size.max(member.packed) >= u32::MAX.into()
            {
                return Err(Fault::Overflow {
                    what: "a member that was declared to be shorter than 4 GiB".into(),
                }
                .into());
            }
            self.write_buffered(&zip::descriptor(member, sizes))?;
        } else if let Some(file) = streams::as_file(&mut self.writer) {
            for (place, bytes) in zip::local_record_patches(member) {
                os::write_all_at(file, &bytes, self.state.start + member.offset + place)
                    .map_err(|error| Error::from(error).while_writing())?;
            }
        }
        self.is_broken = false;
        Ok(has_descriptor)
    }

    /// Buffers bytes, and writes the buffer once it is large.
    fn write_buffered(&mut self, bytes: &[u8]) -> Result<()> {
        self.state.len += bytes.len() as u64;
        self.state.buffer.extend_from_slice(bytes);
        if self.state.buffer.len() >= BUFFER_SIZE { self.flush_buffer() } else { Ok(()) }
    }

    fn flush_buffer(&mut self) -> Result<()> {
        Sink::of(&mut self.writer).write(&self.state.buffer)?;
        self.state.buffer.clear();
        Ok(())
    }

    /// Writes the central directory, flushes the writer, and returns it.
    ///
    /// The archive is incomplete without this call.
    ///
    /// # Errors
    ///
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) after an earlier error left an incomplete member.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options request a sync and the writer is not a file. (Adding a
    ///   member fails already.)
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    pub fn finish(mut self) -> Result<W> {
        self.check_not_broken()?;
        let start = self.state.len;
        let count = self.state.members.len() as u64;
        for (member, has_descriptor) in std::mem::take(&mut self.state.members) {
            self.write_buffered(&zip::directory_record(&member, has_descriptor))?;
        }
        let end = zip::directory_end(count, start, self.state.len - start, &self.state.comment);
        self.write_buffered(&end)?;
        self.flush_buffer()?;
        Sink::of(&mut self.writer).flush()?;
        change::sync_writer(&mut self.writer, &self.options)?;
        Ok(self.writer)
    }
}

impl ArchiveState {
    /// Returns the compressors of the previous member if method and level are the same, since setting up compressors takes time.
    fn packers(&mut self, packing: PackMethod) -> &mut PackerPool {
        let packers = match self.packers.take() {
            Some(packers) if packers.packing() == packing => packers,
            _ => PackerPool::new(packing),
        };
        self.packers.insert(packers)
    }
}

/// What a new member contains.
pub(super) enum Content<'a> {
    Array(&'a dyn WriteArray),
    /// The bytes of a file.
    Bytes(&'a [u8]),
    /// What is made while it is written, which is possible only once.
    Once {
        /// In memory.
        byte_len: usize,
        /// In the file.
        len: Option<u64>,
        write: WriteOnce<'a>,
    },
}

type WriteOnce<'a> = Box<dyn FnOnce(&mut dyn Write, &WriteOptions) -> Result<()> + 'a>;

impl<'a> Content<'a> {
    fn byte_len(&self) -> usize {
        match self {
            Self::Array(array) => array.byte_len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Once { byte_len, .. } => *byte_len,
        }
    }

    /// Returns the number of bytes without a header, if it is known before they are written.
    fn len(&self, options: &WriteOptions) -> Option<u64> {
        match self {
            Self::Array(array) => array.payload_len(options),
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Once { len, .. } => *len,
        }
    }

    /// Returns the same content, if it can be stored twice.
    fn repeated(&self) -> Option<Self> {
        match self {
            Self::Array(array) => Some(Self::Array(*array)),
            Self::Bytes(bytes) => Some(Self::Bytes(bytes)),
            Self::Once { .. } => None,
        }
    }

    fn store(self, mut sink: Sink<'_>, options: &WriteOptions) -> Result<()> {
        match self {
            Self::Array(array) => store_npy(array, sink, options),
            Self::Bytes(bytes) => transfer::write_bytes(&mut sink, Vec::new(), bytes, options),
            Self::Once { write, .. } => write(&mut sink, options),
        }
    }
}

/// The content of a member as it is stored in another archive.
pub(super) enum PackedContent<'a> {
    Bytes(&'a [u8]),
    /// In a file, from this offset on.
    At(&'a File, u64),
}

/// Returns the method of a compression, and what compresses, if anything does.
fn packing(compression: Compression) -> Result<(Method, Option<PackMethod>)> {
    Ok(match compression {
        Compression::Stored => (Method::Stored, None),
        Compression::Deflated(level) => (Method::Deflated, Some(PackMethod::Deflate(level))),
        #[cfg(feature = "zstd")]
        Compression::Zstd(level) => (Method::Zstd, Some(PackMethod::Zstd(level))),
        #[cfg(not(feature = "zstd"))]
        Compression::Zstd(_) => return Err(Error::missing_feature("Compression::Zstd", "zstd")),
        Compression::Lz4 => {
            let reason = "members of archives are not compressed with LZ4".into();
            return Err(Fault::BadOption { reason }.into());
        }
    })
}

/// Records the checksum and sizes of a stored member.
fn set_stored_metadata(member: &mut Member, sum: &Crc) {
    (member.crc, member.size, member.packed) = (sum.get(), sum.len(), sum.len());
}

/// Records the checksum, the sizes and the block index of a compressed member.
fn set_packed_metadata(member: &mut Member, index: &BlockIndex) {
    (member.crc, member.size, member.packed) = (index.sum().get(), index.sum().len(), index.packed_len());
    member.extra = zip::block_index_field(index, member.raw_name().len());
}

/// Returns the metadata of a new member.
fn new_member(name: &str, compression: Compression) -> Result<Member> {
    /// Midnight on January 1, 1980: the earliest DOS timestamp. A fixed time makes archives reproducible.
    const DOS_EPOCH: u32 = 0x0021_0000;
    /// Unix permissions: a regular file that its owner can write and everyone can read.
    const ATTRIBUTES: u32 = 0o100_644 << 16;
    let (method, _) = packing(compression)?;
    Ok(Member {
        name: name.to_owned(),
        stored_name: None,
        flags: if name.is_ascii() { 0 } else { zip::UTF8_FLAG },
        method,
        crc: 0,
        packed: 0,
        size: 0,
        offset: 0,
        next_record_offset: 0,
        central_offset: 0,
        dos_timestamp: DOS_EPOCH,
        attributes: ATTRIBUTES,
        made_by: zip::MADE_BY,
        version_needed: zip::ZIP64_VERSION,
        internal_attributes: 0,
        extra: Vec::new(),
        comment: Vec::new(),
    })
}

/// Writes arrays to an archive at a path, without compression.
///
/// An existing file is replaced atomically, as by [`write_npy`](crate::write_npy).
///
/// # Errors
///
/// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if two arrays have the same name.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options contradict the call, or a name is
///   longer than 65,535 bytes or contains a NUL.
/// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) or
///   [`BadOption`](crate::error::ErrorKind::BadOption) if the format or the options cannot represent
///   the elements.
/// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
/// - A [conflict](crate::Error::is_conflict) if the existing file is locked or cannot be replaced.
///
/// # Examples
///
/// ```
/// use ndarray::{arr1, arr2};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arrays.npz");
/// let (a, b) = (arr1(&[1, 2, 3]), arr2(&[[1.5], [2.5]]));
/// ndarray_io::write_npz(&path, &[("a", &a), ("b", &b)])?;
/// # assert_eq!(ndarray_io::read_npz(&path)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_npz<P: AsRef<Path>>(path: P, arrays: &[(&str, &dyn WriteArray)]) -> Result<()> {
    WriteOptions::new().write_npz(path, arrays)
}

impl WriteOptions {
    /// Writes arrays to an archive. See [`write_npz`].
    ///
    /// # Errors
    ///
    /// Those of [`write_npz`], and [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with each other or with the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{Compression, WriteOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// WriteOptions::new().compression(Compression::DEFLATE).write_npz(&path, &[("a", &arr1(&[1, 2]))])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_npz(&self, path: impl AsRef<Path>, arrays: &[(&str, &dyn WriteArray)]) -> Result<()> {
        self.write_npz_from(path, arrays.iter().copied())
    }

    /// Writes arrays that are made while the archive is written.
    ///
    /// # Errors
    ///
    /// Those of [`write_npz`](Self::write_npz).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::WriteOptions;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let layers = (0..3).map(|layer| (format!("layer_{layer}"), Array1::<f32>::zeros(1000)));
    /// WriteOptions::new().write_npz_from(&path, layers)?; // one in memory at a time
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_npz_from<I, N, T>(&self, path: impl AsRef<Path>, arrays: I) -> Result<()>
    where
        I: IntoIterator<Item = (N, T)>,
        N: AsRef<str>,
        T: WriteArray,
    {
        let path = path.as_ref();
        let write = |file: &File| {
            let mut npz = NpzWriter::of(file, self);
            for (name, array) in arrays {
                npz.add(name.as_ref(), &array)?;
            }
            npz.finish().map(drop)
        };
        let replace = || {
            self.check_for(Verb::WriteNpz)?;
            change::replace(path, self, write)
        };
        replace().map_err(|error| error.at_path(path))
    }

    /// Starts an archive in any writer. See [`NpzWriter::new`].
    ///
    /// # Errors
    ///
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) for options that only files with a path have.
    pub fn npz_writer<W: Write>(&self, writer: W) -> Result<NpzWriter<W>> {
        self.check_for(Verb::NpzWriter)?;
        Ok(NpzWriter::of(writer, self))
    }
}
