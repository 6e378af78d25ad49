//! [`MemberContent`]: the content of a member, which is verified once it has been read.

use std::io::{self, Read};
use std::ops::Range;

use super::archive::{ArchiveBytes, ReadSeek};
use super::member::{Decoder, check_ratio, content_offset, decoder_for};
#[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
use super::zip_crate;
use crate::bytes::{ReadAt, ReadHints, Region, Runs};
use crate::codec::UnorderedCrc;
use crate::error::{Error, Fault, FilePart, Result};
use crate::options::ReadOptions;
use crate::transfer::{self, PackedBlocks, Source, UnpackReader, truncated_archive};
use crate::zip::{self, Member};

/// A member whose local header has been checked.
pub(super) struct MemberContent<'a> {
    pub(super) archive_bytes: ArchiveBytes<'a>,
    member: &'a Member,
    options: &'a ReadOptions,
    /// Where the content begins in the archive.
    pub(super) start: u64,
    pub(super) decoder: Decoder,
}

impl<'a> MemberContent<'a> {
    /// Opens a member. A small one is read into `small`, together with its local header.
    pub(super) fn open(
        archive_bytes: &'a mut ArchiveBytes<'_>,
        member: &'a Member,
        options: &'a ReadOptions,
        small: &'a mut Vec<u8>,
    ) -> Result<Self> {
        const MAX_SMALL_MEMBER: u64 = 64 << 10;
        let mut archive_bytes = archive_bytes.reborrow();
        let len = member.next_record_offset - member.offset;
        if len <= MAX_SMALL_MEMBER && !archive_bytes.is_in_memory() {
            *small = archive_bytes.read(member.offset..member.next_record_offset)?;
            archive_bytes = ArchiveBytes::part(small, member.offset);
        }
        let start = content_offset(&mut archive_bytes, member)?;
        check_ratio(member, options)?;
        if let Some((archive, start)) = archive_bytes.region_at(start) {
            archive.check(&Runs::of_range(start..start.saturating_add(member.packed)))?;
        }
        let decoder = decoder_for(member)?;
        Ok(Self { archive_bytes, member, options, start, decoder })
    }

    /// Opens a member, reads its content with `read`, and verifies its size and checksum.
    ///
    /// `read` may be called twice: if the block index turns out to be wrong, the content is read again as a stream.
    pub(super) fn read<T>(
        mut archive_bytes: ArchiveBytes<'_>,
        member: &Member,
        options: &ReadOptions,
        mut read: impl FnMut(&mut Source<'_>) -> Result<T>,
    ) -> Result<T> {
        let named = |error: Error| error.at_member(&member.name);
        let mut small = Vec::new();
        let mut content =
            MemberContent::open(&mut archive_bytes, member, options, &mut small).map_err(named)?;
        if let Some(blocks) = content.blocks() {
            let made = read(&mut Source::region(Region::of(&blocks).part(0..blocks.len())));
            if blocks_are_right(&blocks, made.as_ref().err(), options).map_err(named)? {
                return made.map_err(named);
            }
            // The index does not match the content, so decode the stream from its beginning. What was made is dropped, before
            // another one takes as much memory.
        }
        content.read_sequentially(read).map(|(made, _)| made).map_err(named)
    }

    /// Reads the content with `read`, decompressed from its beginning, and verifies its size and checksum.
    ///
    /// Also returns whether the content consists of several frames.
    pub(super) fn read_sequentially<T>(
        &mut self,
        read: impl FnOnce(&mut Source<'_>) -> Result<T>,
    ) -> Result<(T, bool)> {
        #[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
        if let Decoder::ZipCrate = self.decoder {
            let made = zip_crate::read_verified(
                &mut self.archive_bytes,
                (self.member, self.start),
                self.options,
                read,
            )?;
            return Ok((made, false));
        }
        let (member, options) = (self.member, self.options);
        let mut reader = self.reader()?;
        let made = read(&mut reader.source())?;
        Ok((made, reader.finish(member, options)?))
    }

    /// Returns the blocks of a member that has a block index, if the archive allows random access.
    ///
    /// With the feature `libdeflate`, a small member without an index is treated as a single block.
    fn blocks(&self) -> Option<PackedBlocks<'a>> {
        let Decoder::Own(make) = self.decoder else { return None };
        let (archive, start) = self.archive_bytes.region_at(self.start)?;
        let index = zip::block_index(self.member).ok().or_else(|| single_block_index(self.member))?;
        Some(PackedBlocks::new(Box::new(archive), start, index, make, self.options.get_threads()))
    }

    fn reader(&mut self) -> Result<VerifyingReader<'_>> {
        let packed = self.start..self.start + self.member.packed;
        Ok(match self.decoder {
            Decoder::Own(make) => {
                let unpack = UnpackReader::new(self.archive_bytes.source(packed)?, make()?);
                VerifyingReader::Unpacked(SummedReader::new(unpack))
            }
            _ => match self.archive_bytes.range(packed.clone())? {
                Ok(region) => VerifyingReader::Region(SummedReader::new(region)),
                Err(stream) => VerifyingReader::Stream(SummedReader::new(stream), packed),
            },
        })
    }
}

/// Returns whether the content that was read is that of the stream, or an error if that cannot be said of what has not been read.
fn blocks_are_right(
    blocks: &PackedBlocks<'_>,
    failed: Option<&Error>,
    options: &ReadOptions,
) -> Result<bool> {
    let checked = match failed {
        None => blocks.check_unread_blocks(options.get_threads()),
        Some(_) => Ok(()),
    };
    if blocks.has_mismatch() && !failed.is_some_and(Error::is_cancelled) {
        return Ok(false);
    }
    checked.map(|()| true)
}

/// A reader of content that computes the checksum of what is read, while it is in the cache.
enum VerifyingReader<'c> {
    Unpacked(SummedReader<UnpackReader<'c>>),
    /// Stored content.
    Region(SummedReader<Region<'c>>),
    /// Stored content, and where it is.
    Stream(SummedReader<&'c mut dyn ReadSeek>, Range<u64>),
}

impl VerifyingReader<'_> {
    fn source(&mut self) -> Source<'_> {
        match self {
            Self::Unpacked(unpack) => Source::of(unpack),
            Self::Region(stored) => {
                let len = stored.inner.given_len();
                Source::region(Region::of(stored).part(0..len))
            }
            Self::Stream(stored, range) => Source::part_of_stream(stored, range.end - range.start),
        }
    }

    /// Verifies size and checksum, and returns whether the content consists of several frames.
    fn finish(self, member: &Member, options: &ReadOptions) -> Result<bool> {
        let mut has_more_frames = false;
        let found = match self {
            Self::Unpacked(mut content) => {
                let position = content.position;
                check_size(&mut content, position, member, options)?;
                if !content.inner.is_at_end() {
                    let reason = format!("the compressed stream ends before its {} bytes", member.packed);
                    return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
                }
                has_more_frames = content.inner.has_more_frames();
                content.sum.finish(member.size, &mut |_, _| Ok(()))? // all bytes have been read
            }
            // Bytes that were skipped, or used in place, are read for the checksum.
            Self::Region(stored) => stored.sum.finish(member.size, &mut |missing, add| {
                add_all(Source::region(stored.inner.part(missing)), add)
            })?,
            Self::Stream(stored, range) => stored.sum.finish(member.size, &mut |missing, add| {
                stored.inner.seek(io::SeekFrom::Start(range.start + missing.start))?;
                add_all(Source::part_of_stream(stored.inner.as_read(), missing.end - missing.start), add)
            })?,
        };
        match found == member.crc {
            true => Ok(has_more_frames),
            false => Err(Fault::wrong_checksum(found, member.crc).into()),
        }
    }
}

fn add_all(mut source: Source<'_>, add: &mut dyn FnMut(&[u8])) -> Result<()> {
    const BLOCK_LEN: u64 = 256 << 10;
    while let Some(left @ 1..) = source.remaining() {
        let mut block = vec![0; left.min(BLOCK_LEN) as usize];
        if source.fill(&mut block)? < block.len() {
            return Err(truncated_archive());
        }
        add(&block);
    }
    Ok(())
}

/// Fails unless content, of which `position` bytes have been read, has exactly the stated size.
pub(super) fn check_size(
    mut content: &mut dyn Read,
    position: u64,
    member: &Member,
    options: &ReadOptions,
) -> Result<()> {
    let mut rest = Source::of(&mut content);
    // With trailing bytes allowed, reading may have stopped early. Read the rest, so that the size can be verified.
    if options.allows_trailing() {
        rest.skip(member.size.saturating_sub(position))?;
    }
    // Try to read one more byte, to detect content that is too long.
    let is_longer = rest.skip(1)? > 0;
    let made = position + rest.position();
    if is_longer || made != member.size {
        let more = if is_longer { "or more " } else { "" };
        let (packed, size) = (member.packed, member.size);
        let reason =
            format!("expected {size} bytes of content, found {made} {more}in {packed} compressed bytes");
        return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
    }
    Ok(())
}

/// A reader, or a source, that computes the checksum of what is read; of a source on any thread and in any order.
pub(super) struct SummedReader<R> {
    pub(super) inner: R,
    pub(super) sum: UnorderedCrc,
    /// Of a reader.
    pub(super) position: u64,
}

impl<R> SummedReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, sum: UnorderedCrc::default(), position: 0 }
    }
}

impl<R: std::fmt::Debug> std::fmt::Debug for SummedReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl<R: Read> Read for SummedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        if let Some(bytes) = into.get(..count) {
            self.sum.add(self.position, bytes);
            self.position += count as u64;
        }
        Ok(count)
    }
}

impl ReadAt for SummedReader<Region<'_>> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let count = self.inner.fill_at(into, offset)?;
        self.sum.add(offset, &into[..count]);
        Ok(count)
    }

    fn size(&self) -> Result<u64> {
        self.inner.len()
    }

    /// Reads in blocks that are still in the cache when their checksum is computed, unless the source has another size.
    fn hints(&self) -> ReadHints {
        let hints = self.inner.hints();
        ReadHints { block: hints.block.or(Some(transfer::BLOCK_LEN)), ..hints }
    }
}

/// Returns a one-block index for a member that is small enough for `libdeflate`.
///
/// `libdeflate` decompresses only in memory.
#[cfg(feature = "libdeflate")]
fn single_block_index(member: &Member) -> Option<crate::codec::BlockIndex> {
    /// The maximum memory for the compressed and the uncompressed content, in addition to the array.
    const MAX_SINGLE_BLOCK_MEMORY: u64 = 8 << 20;
    let takes = member.size.saturating_add(member.packed);
    let fits = member.method == zip::Method::Deflated && member.size > 0 && takes <= MAX_SINGLE_BLOCK_MEMORY;
    fits.then(|| crate::codec::BlockIndex::of_single_block(member.crc, member.size, member.packed))
}

#[cfg(not(feature = "libdeflate"))]
fn single_block_index(_: &Member) -> Option<crate::codec::BlockIndex> {
    None
}
