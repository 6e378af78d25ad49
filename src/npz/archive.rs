//! Access to an archive's bytes, and its central directory with lookup by member name.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::error::{ErrorKind, Result};
#[cfg(feature = "object-store-0_14")]
use crate::limits;
use crate::parts::FileBytes;
#[cfg(feature = "object-store-0_14")]
use crate::transfer::ReadAt;
use crate::transfer::{BlockStorage, Observer, Source, cut};
use crate::zip::{self, Member, Method};

/// Any seekable reader.
pub(super) trait Stream: Read + Seek {}
impl<R: Read + Seek> Stream for R {}

/// The bytes of an archive, borrowed for one operation.
pub(super) enum ArchiveBytes<'a> {
    File(&'a File),
    /// A slice of the archive, and its offset in the file.
    Bytes(&'a [u8], u64),
    Stream(&'a mut dyn Stream),
    /// Any other random-access source.
    #[cfg(feature = "object-store-0_14")]
    Other(&'a Arc<dyn ReadAt>),
}

/// The owned bytes of an archive, shareable across threads.
#[derive(Clone, Debug)]
pub(crate) enum SharedArchive {
    File(Arc<File>),
    #[cfg(feature = "object-store-0_14")]
    Other(Arc<dyn ReadAt>),
}

impl SharedArchive {
    pub(super) fn place(&self) -> ArchiveBytes<'_> {
        match self {
            Self::File(file) => ArchiveBytes::File(file),
            #[cfg(feature = "object-store-0_14")]
            Self::Other(bytes) => ArchiveBytes::Other(bytes),
        }
    }

    /// Returns a byte range of the archive as the storage of an array.
    pub(super) fn part(&self, range: Range<u64>) -> FileBytes {
        match self {
            Self::File(file) => FileBytes::Range(Arc::clone(file), range),
            #[cfg(feature = "object-store-0_14")]
            Self::Other(bytes) => FileBytes::Other(Arc::clone(bytes), range),
        }
    }

    /// Returns the archive as the storage of a member's compressed blocks.
    pub(super) fn home(&self) -> BlockStorage<'static> {
        match self {
            Self::File(file) => BlockStorage::Own(Arc::clone(file)),
            #[cfg(feature = "object-store-0_14")]
            Self::Other(bytes) => BlockStorage::Other(Arc::clone(bytes)),
        }
    }
}

impl ArchiveBytes<'_> {
    pub(super) fn again(&mut self) -> ArchiveBytes<'_> {
        match self {
            Self::File(file) => ArchiveBytes::File(file),
            Self::Bytes(bytes, at) => ArchiveBytes::Bytes(bytes, *at),
            Self::Stream(stream) => ArchiveBytes::Stream(*stream),
            #[cfg(feature = "object-store-0_14")]
            Self::Other(bytes) => ArchiveBytes::Other(bytes),
        }
    }

    pub(super) fn len(&mut self) -> Result<u64> {
        Ok(match self {
            Self::File(file) => file.metadata()?.len(),
            Self::Bytes(bytes, at) => *at + bytes.len() as u64,
            Self::Stream(stream) => stream.seek(SeekFrom::End(0))?,
            #[cfg(feature = "object-store-0_14")]
            Self::Other(bytes) => bytes.len(),
        })
    }

    /// Invokes `call` with a source that is limited to `range`.
    pub(super) fn with<T>(
        &mut self,
        range: Range<u64>,
        call: impl FnOnce(Source<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_seen(range, None, call)
    }

    /// Like `ArchiveBytes::with`, but also reports the bytes that are read to an observer.
    pub(super) fn with_seen<T>(
        &mut self,
        range: Range<u64>,
        witness: Option<&dyn Observer>,
        call: impl FnOnce(Source<'_>) -> Result<T>,
    ) -> Result<T> {
        let len = range.end - range.start;
        match self {
            Self::File(file) => call(Source::part_of_file(file, range).seen_by(witness)),
            Self::Bytes(bytes, at) => {
                let place = |offset: u64| usize::try_from(offset - *at).unwrap_or(usize::MAX);
                let mut part = bytes.get(place(range.start)..place(range.end)).ok_or_else(cut)?;
                call(Source::of(&mut part).seen_by(witness))
            }
            Self::Stream(stream) => {
                stream.seek(SeekFrom::Start(range.start))?;
                call(Source::part_of_stream(*stream, len).seen_by(witness))
            }
            #[cfg(feature = "object-store-0_14")]
            Self::Other(bytes) => call(Source::part_of(&***bytes, range).seen_by(witness)),
        }
    }

    /// Fills a buffer from an offset. Returns fewer bytes only at the end of the archive.
    #[cfg(feature = "zip-methods")]
    pub(super) fn fill_at(&mut self, at: u64, into: &mut [u8]) -> Result<usize> {
        let end = at.saturating_add(into.len() as u64);
        let end =
            if let Self::Bytes(bytes, start) = self { end.min(*start + bytes.len() as u64) } else { end };
        self.with(at.min(end)..end, |mut source| source.fill(into))
    }

    /// Reads exactly `range`, which may span the entire archive.
    pub(super) fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        #[cfg(feature = "object-store-0_14")]
        if let Self::Other(from) = self {
            // The archive's length is only claimed by the server, so the buffer grows as bytes arrive.
            while bytes.len() < len {
                let (arrived, room) = (bytes.len(), limits::room_for(bytes.len(), len));
                bytes
                    .try_reserve_exact(room - arrived)
                    .map_err(|_| ErrorKind::OutOfMemory { bytes: len as u64 })?;
                bytes.resize(room, 0);
                if from.fill_at(&mut bytes[arrived..], range.start + arrived as u64)? < room - arrived {
                    return Err(cut());
                }
            }
            return Ok(bytes);
        }
        bytes.try_reserve_exact(len).map_err(|_| ErrorKind::OutOfMemory { bytes: len as u64 })?;
        bytes.resize(len, 0);
        match self.with(range, |mut source| source.fill(&mut bytes))? {
            filled if filled < len => Err(cut()),
            _ => Ok(bytes),
        }
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

    /// Returns whether the name ends in `.npy`, as the names of arrays do.
    pub fn is_array(&self) -> bool {
        self.0.name.ends_with(".npy")
    }

    /// Returns the uncompressed size in bytes. For an array, the size includes the NPY header.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// Returns the compressed size in bytes: the size of the content as stored in the archive.
    pub fn packed_size(&self) -> u64 {
        self.0.packed
    }

    /// Returns the compression method. Archives do not record the level.
    pub fn method(&self) -> Method {
        self.0.aes_method().unwrap_or(self.0.method)
    }

    /// Returns whether a password is needed to read the member.
    pub fn is_encrypted(&self) -> bool {
        self.0.is_encrypted()
    }

    /// Returns whether the member can be decompressed in parts.
    ///
    /// This is the case for members that are compressed in blocks and have a block index in the archive, as
    /// this library writes them. Reading a part of such a member decompresses only the blocks that contain
    /// the part (see [`NpzFile::open_member`](crate::NpzFile::open_member)).
    pub fn has_index(&self) -> bool {
        !self.0.is_encrypted() && zip::block_index(&self.0).is_some()
    }

    /// Returns the CRC-32 of the uncompressed content.
    ///
    /// It is 0 for some encrypted members, which have an authentication code instead.
    pub fn crc32(&self) -> u32 {
        self.0.crc
    }
}

fn array_name(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

/// The central directory of an archive.
#[derive(Debug)]
pub(super) struct Archive {
    members: Vec<NpzMember>,
    /// Indices of the members, sorted by name; computed at the first lookup.
    by_name: OnceLock<Vec<usize>>,
    end: zip::End,
}

impl Archive {
    pub(super) fn load(place: &mut ArchiveBytes<'_>) -> Result<Self> {
        // The last `TAIL` bytes contain the end record, even if the comment has the maximum length. A small
        // central directory is usually among these bytes too, so one read is enough.
        let len = place.len()?;
        let tail_at = len.saturating_sub(zip::TAIL);
        let tail = place.read(tail_at..len)?;
        let end = zip::find_end(&tail, tail_at)?;
        let range = end.start..end.start + end.len;
        let members = match range.start.checked_sub(tail_at).and_then(|from| usize::try_from(from).ok()) {
            Some(from) => zip::directory(&tail[from..][..end.len as usize], &end)?, // the directory is within the tail
            None => zip::directory(&place.read(range)?, &end)?,
        };
        Ok(Self { members: members.into_iter().map(NpzMember).collect(), by_name: OnceLock::new(), end })
    }

    pub(super) fn members(&self) -> &[NpzMember] {
        &self.members
    }

    /// Returns the number of bytes before the first record. These bytes belong to another program.
    pub(super) fn prefix_len(&self) -> u64 {
        self.members.iter().map(|member| member.0.offset).min().unwrap_or(self.end.start)
    }

    pub(super) fn comment(&self) -> &[u8] {
        &self.end.comment
    }

    /// Returns whether two directories agree in everything that an update depends on.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let facts = |archive: &Self| -> Vec<_> {
            let members = archive.members.iter().map(|NpzMember(member)| member);
            members.map(|member| (member.name.clone(), member.offset, member.crc, member.packed)).collect()
        };
        self.end == other.end && facts(self) == facts(other)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name().to_owned()).collect()
    }

    /// Finds a member by NumPy's rule: the exact name, or else the name with the suffix `.npy`.
    pub(super) fn find(&self, name: &str) -> Result<&Member> {
        self.find_if(name, |_| true).map(|index| &self.members[index].0)
    }

    /// Returns the index of the only member that matches `name` and satisfies the predicate `passes`.
    ///
    /// Members with exactly this name are preferred to those with the suffix `.npy`.
    pub(super) fn find_if(&self, name: &str, passes: impl Fn(usize) -> bool) -> Result<usize> {
        let with_suffix = format!("{name}.npy");
        let mut named =
            [name, &with_suffix].into_iter().map(|name| self.named(name).filter(|index| passes(*index)));
        let found =
            named.find_map(|indices| Some(indices.collect::<Vec<_>>()).filter(|found| !found.is_empty()));
        match found.as_deref() {
            Some([index]) => Ok(*index),
            Some(indices) => {
                Err(ErrorKind::AmbiguousName { name: name.to_owned(), indices: indices.to_vec() }.into())
            }
            None => {
                // An archive may have millions of members, so the error lists at most this many.
                const MOST: usize = 100;
                let available =
                    self.members.iter().take(MOST).map(|member| member.name().to_owned()).collect();
                Err(ErrorKind::NoSuchMember { name: name.to_owned(), available }.into())
            }
        }
    }

    /// Returns the indices of all members with exactly this file name.
    pub(super) fn named(&self, file_name: &str) -> impl Iterator<Item = usize> + use<'_> {
        let name = |index: &usize| self.members[*index].0.name.as_str();
        let sorted = self.by_name.get_or_init(|| {
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
        for index in self.named(file_name).collect::<Vec<_>>() {
            self.members[index].0.crc = crc;
        }
    }

    pub(super) fn at(&self, index: usize) -> Result<&Member> {
        self.members.get(index).map(|member| &member.0).ok_or_else(|| {
            let reason =
                format!("index {index} is out of range: the archive has {} members", self.members.len());
            ErrorKind::BadOption { reason }.into()
        })
    }
}
