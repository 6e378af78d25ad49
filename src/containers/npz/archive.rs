//! Access to an archive's bytes, and its central directory with lookup by member name.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::OnceLock;

use crate::bytes::Region;
use crate::codec::NoIndex;
use crate::error::{Error, Fault, FileKind, FilePart, Remedy, Result};
use crate::progress::ProgressReporter;
use crate::transfer::{Effort, Source, append, truncated_archive};
use crate::zip::{self, Member, Method};

/// Any seekable reader.
pub(super) trait ReadSeek: Read + Seek {
    fn as_read(&mut self) -> &mut dyn Read;
}
impl<R: Read + Seek> ReadSeek for R {
    fn as_read(&mut self) -> &mut dyn Read {
        self
    }
}

/// The bytes of an archive, or of a part of it, borrowed for one operation.
pub(super) struct ArchiveBytes<'a> {
    from: Backing<'a>,
    /// The offset of the first byte in the archive.
    start: u64,
}

enum Backing<'a> {
    Region(Region<'a>),
    Stream(&'a mut dyn ReadSeek),
}

impl<'a> ArchiveBytes<'a> {
    pub(super) fn of(region: Region<'a>) -> Self {
        Self { from: Backing::Region(region), start: 0 }
    }

    /// Returns a part of an archive that has been read, and begins at `start`.
    pub(super) fn part(bytes: &'a [u8], start: u64) -> Self {
        Self { from: Backing::Region(Region::of_memory(bytes)), start }
    }

    pub(super) fn of_stream(stream: &'a mut dyn ReadSeek) -> Self {
        Self { from: Backing::Stream(stream), start: 0 }
    }

    pub(super) fn reborrow(&mut self) -> ArchiveBytes<'_> {
        let from = match &mut self.from {
            Backing::Region(region) => Backing::Region(*region),
            Backing::Stream(stream) => Backing::Stream(*stream),
        };
        ArchiveBytes { from, start: self.start }
    }

    pub(super) fn len(&mut self) -> Result<u64> {
        Ok(match &mut self.from {
            Backing::Region(region) => self.start + region.len()?,
            Backing::Stream(stream) => stream.seek(SeekFrom::End(0))?,
        })
    }

    pub(super) fn is_in_memory(&self) -> bool {
        matches!(&self.from, Backing::Region(region) if region.bytes().is_some())
    }

    /// Returns the bytes, and the position there of an offset of the archive; `None` for a stream.
    pub(super) fn region_at(&self, at: u64) -> Option<(Region<'a>, u64)> {
        match self.from {
            Backing::Region(region) => Some((region, at.checked_sub(self.start)?)),
            Backing::Stream(_) => None,
        }
    }

    /// Returns a source of these bytes.
    pub(super) fn source(&mut self, range: Range<u64>) -> Result<Source<'_>> {
        let len = range.end - range.start;
        Ok(match self.range(range)? {
            Ok(region) => Source::region(region),
            Err(stream) => Source::part_of_stream(stream.as_read(), len),
        })
    }

    /// Returns these bytes, or the stream where they come next.
    pub(super) fn range(&mut self, range: Range<u64>) -> Result<Result<Region<'a>, &mut dyn ReadSeek>> {
        Ok(match &mut self.from {
            Backing::Region(region) => Ok(part(*region, self.start, range)?),
            Backing::Stream(stream) => {
                stream.seek(SeekFrom::Start(range.start))?;
                Err(&mut **stream)
            }
        })
    }

    /// Fills a buffer from an offset. Returns fewer bytes only at the end of the archive.
    #[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
    pub(super) fn fill_at(&mut self, at: u64, into: &mut [u8]) -> Result<usize> {
        match &mut self.from {
            Backing::Region(region) => region.fill_at(into, at.saturating_sub(self.start)),
            Backing::Stream(stream) => {
                stream.seek(SeekFrom::Start(at))?;
                crate::bytes::fill(into, stream)
            }
        }
    }

    /// Reads exactly `range`, which may span the entire archive.
    pub(super) fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        match append(&mut self.source(range)?, &mut bytes, len, &ProgressReporter::default())? {
            came if came < len => Err(truncated_archive()),
            _ => Ok(bytes),
        }
    }
}

/// Returns a range of an archive, of which the region has the bytes from `start` on.
fn part(region: Region<'_>, start: u64, range: Range<u64>) -> Result<Region<'_>> {
    let (from, to) = (range.start.checked_sub(start), range.end.checked_sub(start));
    let (from, to) = from.zip(to).ok_or_else(truncated_archive)?;
    // What is not in memory may be shorter than the archive's records say, which shows when it is read.
    match region.bytes() {
        Some(bytes) if to > bytes.len() as u64 => Err(truncated_archive()),
        _ => Ok(region.part(from..to)),
    }
}

/// The metadata of one member, as recorded in the central directory.
#[derive(Clone, Debug)]
pub struct NpzMember(Member);

impl NpzMember {
    /// Returns the array's name as NumPy shows it: the member's name, with one `.npy` suffix removed, if any.
    pub fn name(&self) -> &str {
        array_name(&self.0.name)
    }

    /// Returns the member's full name, including any suffix.
    pub fn file_name(&self) -> &str {
        &self.0.name
    }

    /// Returns whether the name ends in `.npy`, as the names of arrays do. The content of a member with another name may
    /// nevertheless be an array (see [`NpzFile::holds_array`](crate::NpzFile::holds_array)).
    pub fn is_array(&self) -> bool {
        self.0.name.ends_with(".npy")
    }

    /// Returns the uncompressed size in bytes. For an array, the size includes the NPY header.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns how much work it is to read the member.
    pub(super) fn effort(&self) -> Effort {
        let size = self.size();
        match self.method() {
            Method::Stored => Effort::moving(size).and(Effort::system_calls(2)),
            _ => Effort::each(size, 1).and(Effort::system_calls(10)),
        }
    }

    /// Returns the compressed size in bytes: the size of the content as stored in the archive.
    pub fn compressed_size(&self) -> u64 {
        self.0.packed
    }

    /// Returns the range of the archive that has the member: its local header, and its content as it is stored.
    pub fn range(&self) -> Range<u64> {
        self.0.offset..self.0.next_record_offset
    }

    /// Returns the compression method. Archives do not record the level.
    pub fn method(&self) -> Method {
        self.0.method_inside_aes().unwrap_or(self.0.method)
    }

    /// Returns whether a password is needed to read the member.
    pub fn is_encrypted(&self) -> bool {
        self.0.is_encrypted()
    }

    /// Returns whether the member has a block index, as members have that this library has compressed in blocks, and whether it is used:
    /// reading a part then decompresses only the blocks that contain it (see [`NpzFile::open_member`](crate::NpzFile::open_member)).
    ///
    /// Whether the blocks match the index shows when they are read, or verified (see [`Remark`](super::Remark)).
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndarray_io::npz::IndexState;
    /// use ndarray_io::{NpzReader, NpzWriter};
    ///
    /// let mut npz = NpzWriter::new_compressed(Vec::new());
    /// npz.add("large", &Array1::<f64>::zeros(400_000))?;
    /// npz.add("small", &Array1::<f64>::zeros(4))?;
    /// let npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// let states: Vec<_> = npz.members().iter().map(|member| member.index_state()).collect();
    /// assert_eq!(states, [IndexState::Used { block: 1 << 20, count: 4 }, IndexState::Absent]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn index_state(&self) -> IndexState {
        match zip::block_index(&self.0) {
            Ok(index) => IndexState::Used { block: index.block_size(), count: index.len() },
            Err(NoIndex::Absent) => IndexState::Absent,
            Err(NoIndex::Stale) => IndexState::Stale,
            Err(NoIndex::Ignored) => IndexState::Ignored,
        }
    }

    /// Returns the CRC-32 of the uncompressed content.
    ///
    /// It is 0 for some encrypted members, which have an authentication code instead.
    pub fn crc32(&self) -> u32 {
        self.0.crc
    }
}

/// Returns the name of an array's member, which has a suffix, as NumPy's have.
pub(super) fn name_in_archive(name: String) -> String {
    name + ".npy"
}

fn array_name(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

/// Whether a member has an index of independent blocks, and whether reading uses it.
///
/// See [the guide](crate::guide::block_index).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexState {
    /// The member has no index.
    Absent,
    /// The member can be read in parts.
    Used {
        /// How many bytes of content each block has, except the last one.
        block: u64,
        /// How many blocks there are.
        count: usize,
    },
    /// The index describes other content: another program has replaced the content, and kept the field with the index.
    Stale,
    /// The index is not used, because its version is not known, it contradicts itself, or the member is encrypted or
    /// compressed by a method that has no blocks.
    Ignored,
}

/// The central directory of an archive.
#[derive(Debug)]
pub(super) struct Archive {
    members: Vec<NpzMember>,
    /// Indices of the members, sorted by name; computed at the first lookup.
    indices_by_name: OnceLock<Vec<usize>>,
    end: zip::EndRecord,
}

/// Returns whether the line ends of an archive have been converted, judging by its beginning: all line feeds follow a carriage
/// return, or, if bytes are missing, none does.
fn has_converted_lines(archive_bytes: &mut ArchiveBytes<'_>, is_shorter: bool) -> Result<bool> {
    const MAX_LEN: u64 = 1 << 20;
    /// This number of line feeds rarely all follow a carriage return by chance.
    const ENOUGH_FEEDS: usize = 3;
    let len = archive_bytes.len()?.min(MAX_LEN);
    let bytes = archive_bytes.read(0..len)?;
    let feeds = memchr::memchr_iter(b'\n', &bytes).count();
    let pairs = memchr::memmem::find_iter(&bytes, b"\r\n").count();
    let is_longer = feeds >= ENOUGH_FEEDS && pairs == feeds;
    Ok(FileKind::of(&bytes) == Some(FileKind::Zip) && (is_longer || is_shorter && feeds > 0 && pairs == 0))
}

/// Returns the error for a file without an end record, by its first bytes.
fn not_an_archive(first: &[u8]) -> Error {
    if first.is_empty() {
        return Fault::bad_magic("NPZ", first).with_help(Remedy::FinishArchive);
    }
    if FileKind::of(first) != Some(FileKind::Zip) {
        return Fault::bad_magic("NPZ", first);
    }
    let reason = "it has no end record: it is truncated, or its writer did not finish".into();
    let error = Error::from(Fault::Malformed { part: FilePart::Archive, reason, offset: None });
    error.with_help(Remedy::FinishArchive)
}

/// What reading finds in archives of which a program has converted the line ends.
const CONVERTED_LINES: &str = ", as after a conversion of line ends";

impl Archive {
    pub(super) fn load(archive_bytes: &mut ArchiveBytes<'_>) -> Result<Self> {
        Self::load_consistent(archive_bytes).map_err(|error| match error.fault() {
            Fault::Malformed { part: FilePart::Archive, reason, offset }
                if has_converted_lines(archive_bytes, reason == zip::MISSING_BYTES).unwrap_or(false) =>
            {
                let reason = format!("{reason}{CONVERTED_LINES}");
                Fault::Malformed { part: FilePart::Archive, reason, offset: *offset }.into()
            }
            _ => error,
        })
    }

    fn load_consistent(archive_bytes: &mut ArchiveBytes<'_>) -> Result<Self> {
        // The last `MAX_TAIL_LEN` bytes contain the end record, even if the comment has the maximum length. A small
        // central directory is usually among these bytes too, so one read is enough.
        let len = archive_bytes.len()?;
        let tail_at = len.saturating_sub(zip::MAX_TAIL_LEN);
        let tail = archive_bytes.read(tail_at..len)?;
        let end = match zip::find_end(&tail, tail_at)? {
            Some(end) => end,
            None => {
                return Err(not_an_archive(&archive_bytes.read(0..len.min(FileKind::PREFIX_LEN as u64))?));
            }
        };
        let range = end.directory_start..end.directory_start + end.directory_len;
        let members = match range.start.checked_sub(tail_at).and_then(|from| usize::try_from(from).ok()) {
            Some(from) => zip::directory(&tail[from..][..end.directory_len as usize], &end)?, // the directory is within the tail
            None => zip::directory(&archive_bytes.read(range)?, &end)?,
        };
        let archive = Self::of(members, end);
        archive.check_other_places(archive_bytes, len)?;
        Ok(archive)
    }

    fn of(members: Vec<Member>, end: zip::EndRecord) -> Self {
        let members = members.into_iter().map(NpzMember).collect();
        Self { members, indices_by_name: OnceLock::new(), end }
    }

    /// Returns an error if another program would take other records for those of the archive.
    fn check_other_places(&self, archive_bytes: &mut ArchiveBytes<'_>, len: u64) -> Result<()> {
        let refuse = |what: &str, place: u64| {
            let start = self.end.directory_start;
            let reason = format!(
                "programs disagree on what it has: its directory is at byte {start}, and a {what} that does not belong to it is at byte {place}"
            );
            Err(Fault::Malformed { part: FilePart::Archive, reason, offset: Some(place) }.into())
        };
        for &(place, signature, what) in &self.end.other_places {
            let is_within = place.checked_add(4).is_some_and(|end| end <= len);
            if is_within && archive_bytes.read(place..place + 4)? == signature.to_le_bytes() {
                return refuse(what, place);
            }
        }
        /// Programs that read archives as they come search for the first member about so far.
        const MAX_SEARCHED_LEN: u64 = 256 << 10;
        let before = archive_bytes.read(0..self.prefix_len().min(MAX_SEARCHED_LEN))?;
        match zip::find_record(&before) {
            Some(place) => refuse("record", place as u64),
            None => Ok(()),
        }
    }

    /// Finds members by their local headers, in an archive whose directory is damaged.
    pub(super) fn of_local_headers(archive_bytes: &mut ArchiveBytes<'_>) -> Result<Self> {
        /// The largest local header: names and extra fields have at most 65,535 bytes each.
        const MAX_HEADER_LEN: u64 = zip::LOCAL_HEADER_SIZE as u64 + 2 * 0xFFFF;
        const WINDOW_LEN: u64 = 1 << 20;
        let len = archive_bytes.len()?;
        let (mut members, mut start): (Vec<Member>, u64) = (Vec::new(), 0);
        let signature = zip::LOCAL_HEADER_SIGNATURE.to_le_bytes();
        while start < len {
            let window = archive_bytes.read(start..len.min(start + WINDOW_LEN + MAX_HEADER_LEN))?;
            // What begins in the next window is found there.
            let places = memchr::memmem::find_iter(&window, &signature);
            for place in places.take_while(|place| (*place as u64) < WINDOW_LEN) {
                let found = zip::local_member(&window[place..], start + place as u64);
                members.extend(found.filter(|found| found.next_record_offset <= len));
            }
            start += WINDOW_LEN;
        }
        Ok(Self::of(members, zip::EndRecord::default()))
    }

    pub(super) fn members(&self) -> &[NpzMember] {
        &self.members
    }

    /// Returns the number of bytes before the first record. These bytes belong to another program.
    pub(super) fn prefix_len(&self) -> u64 {
        self.members.iter().map(|member| member.0.offset).min().unwrap_or(self.end.directory_start)
    }

    pub(super) fn comment(&self) -> &[u8] {
        &self.end.comment
    }

    /// Returns whether two directories agree in everything that an update depends on.
    pub(super) fn has_same_members(&self, other: &Self) -> bool {
        let facts = |NpzMember(member): &NpzMember| (member.offset, member.crc, member.packed);
        let has_same_members =
            |(one, other): (&NpzMember, &NpzMember)| one.0.name == other.0.name && facts(one) == facts(other);
        self.end == other.end
            && self.members.len() == other.members.len()
            && self.members.iter().zip(&other.members).all(has_same_members)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name().to_owned()).collect()
    }

    /// Returns the member that a key denotes.
    pub(super) fn get(&self, key: impl MemberKey) -> Result<&Member> {
        self.at(self.find_if(key, |_| true)?)
    }

    /// Returns the index of the only member that a key denotes and that satisfies the predicate `passes`.
    pub(super) fn find_if(&self, key: impl MemberKey, passes: impl Fn(usize) -> bool) -> Result<usize> {
        match key.as_key() {
            KeyRef::Name(name) => self.find_name_if(name, passes),
            KeyRef::Index(index) => match self.at(index) {
                Ok(member) if !passes(index) => {
                    let name = member.name.clone();
                    Err(Fault::NoSuchMember { name, available: Vec::new() }.into())
                }
                found => found.map(|_| index),
            },
        }
    }

    /// Finds a member by NumPy's rule: the exact name, or else the name with the suffix `.npy`.
    fn find_name_if(&self, name: &str, passes: impl Fn(usize) -> bool) -> Result<usize> {
        let with_suffix = name_in_archive(name.into());
        let mut named = [name, &with_suffix]
            .into_iter()
            .map(|name| self.indices_of_name(name).filter(|index| passes(*index)));
        let found =
            named.find_map(|indices| Some(indices.collect::<Vec<_>>()).filter(|found| !found.is_empty()));
        match found.as_deref() {
            Some([index]) => Ok(*index),
            Some(indices) => {
                Err(Fault::AmbiguousName { name: name.to_owned(), indices: indices.to_vec() }.into())
            }
            None => {
                let names = self.members.iter().map(NpzMember::name);
                Err(Error::no_such_member(name, names))
            }
        }
    }

    /// Returns the indices of all members with exactly this file name.
    pub(super) fn indices_of_name(&self, file_name: &str) -> impl Iterator<Item = usize> + use<'_> {
        let name = |index: &usize| self.members[*index].0.name.as_str();
        let sorted = self.indices_by_name.get_or_init(|| {
            let mut numbers: Vec<usize> = (0..self.members.len()).collect();
            numbers.sort_unstable_by(|one, two| (name(one), one).cmp(&(name(two), two)));
            numbers
        });
        let start = sorted.partition_point(|index| name(index) < file_name);
        let count = sorted[start..].partition_point(|index| name(index) == file_name);
        sorted[start..start + count].iter().copied()
    }

    /// Records a new checksum for the members with this name.
    #[cfg(feature = "mmap")]
    pub(super) fn set_crc(&mut self, file_name: &str, crc: u32) {
        for index in self.indices_of_name(file_name).collect::<Vec<_>>() {
            self.members[index].0.crc = crc;
        }
    }

    pub(super) fn at(&self, index: usize) -> Result<&Member> {
        let length = self.members.len() as u64;
        let member = self.members.get(index).map(|member| &member.0);
        member.ok_or_else(|| Fault::OutOfBounds { index: index as i128, length, axis: None }.into())
    }
}

/// What denotes a member of an archive: its name, with or without the suffix `.npy` (an exact match is preferred), or its
/// index in the central directory.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::NpzFile;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npz(&path, &[("a", &arr1(&[1.5]))])?;
/// let npz = NpzFile::open(&path)?;
/// let [by_name, by_index] = [npz.read::<Array1<f64>>("a")?, npz.read(0)?];
/// assert_eq!(by_name, by_index);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is implemented for `str`, `String`, `usize`, and references to these.
pub trait MemberKey: private::Sealed {
    #[doc(hidden)]
    fn as_key(&self) -> KeyRef<'_>;
}

/// What a [`MemberKey`] consists of.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum KeyRef<'a> {
    Name(&'a str),
    Index(usize),
}

impl MemberKey for str {
    fn as_key(&self) -> KeyRef<'_> {
        KeyRef::Name(self)
    }
}

impl MemberKey for String {
    fn as_key(&self) -> KeyRef<'_> {
        KeyRef::Name(self)
    }
}

impl MemberKey for usize {
    fn as_key(&self) -> KeyRef<'_> {
        KeyRef::Index(*self)
    }
}

impl<K: MemberKey + ?Sized> MemberKey for &K {
    fn as_key(&self) -> KeyRef<'_> {
        (**self).as_key()
    }
}

mod private {
    /// Restricts the trait to names and indices.
    pub trait Sealed {}

    impl Sealed for str {}
    impl Sealed for String {}
    impl Sealed for usize {}
    impl<K: Sealed + ?Sized> Sealed for &K {}
}
