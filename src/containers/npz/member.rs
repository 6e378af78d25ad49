//! The content of a member: read directly, decompressed as a stream or block by block, and verified.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;

use super::archive::{Archive, ArchiveBytes, NpzMember};
use super::content::MemberContent;
#[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
use super::zip_crate;
use crate::bytes::{ReadAt, Region};
use crate::codec::{NoIndex, Unpacker};
use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::dynamic::fill;
use crate::error::{Error, Fault, FilePart, Result};
use crate::header::Header;
use crate::io::change::{create_unnamed_file, temporary_folder};
use crate::io::{self, Expected, NpyReader, ReadArray};
use crate::npy_format::{self, NpyHeader};
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;
use crate::shape::Order;
use crate::transfer::{self, PackedBlocks, Source, UnpackReader, truncated_archive};
use crate::zip::{self, Member, Method};

/// Reads a member as an array.
pub(super) fn read<T: ReadArray>(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
) -> Result<T> {
    // If the content has to be read again, what the callback has been told remains true.
    let progress_options = options.with_monotonic_progress();
    let read = |source: &mut Source<'_>| {
        io::begin_whole_source(source, &progress_options, T::inner_ndim())?.read(T::from_payload)
    };
    MemberContent::read(archive_bytes, member, options, read)
}

/// Reads the elements of a member into memory.
pub(super) fn read_into_bytes(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
    into: &mut [u8],
    byte_order: Option<ByteOrder>,
) -> Result<()> {
    let progress_options = options.with_monotonic_progress();
    MemberContent::read(archive_bytes, member, options, |source| {
        io::begin_whole_source(source, &progress_options, 0)?.read(|payload| fill(payload, into, byte_order))
    })
}

/// Reads a member's header, usually with a single read of the archive. Also returns where the elements begin.
pub(super) fn peek(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
) -> Result<(NpyHeader, usize)> {
    with_beginning(archive_bytes, member, options, &|source| io::read_npy_header(source, options))
}

/// Returns whether a member's content begins as NPY files do.
pub(super) fn begins_as_npy(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
) -> Result<bool> {
    with_beginning(archive_bytes, member, options, &|source| {
        let mut magic = [0; npy_format::MAGIC.len()];
        let filled = source.fill(&mut magic)?;
        match filled < magic.len() && source.position() < member.size {
            true => Err(truncated_archive()), // more of the archive is needed
            false => Ok(magic == *npy_format::MAGIC),
        }
    })
}

/// Invokes `look` with the beginning of a member's content, usually with a single read of the archive.
fn with_beginning<T>(
    mut archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
    look: &dyn Fn(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    /// Nearly always enough for the local header and the NPY header, so one read suffices.
    const FIRST_READ_LEN: u64 = 1024;
    let end = member.next_record_offset.min(member.offset.saturating_add(FIRST_READ_LEN));
    // In memory, there is no read to save. Elsewhere, an error may only mean that these bytes were too few, and the full read below
    // decides; but not an error of the source itself, which may say something only once.
    if !archive_bytes.is_in_memory() {
        match archive_bytes.read(member.offset..end) {
            Ok(bytes) => {
                let archive_bytes = ArchiveBytes::part(&bytes, member.offset);
                if let Ok(found) = with_content_before(end, archive_bytes, member, options, look) {
                    return Ok(found);
                }
            }
            Err(error) if error.is_io() => return Err(error.at_member(&member.name)),
            Err(_) => {}
        }
    }
    with_content_before(u64::MAX, archive_bytes, member, options, look)
        .map_err(|error| error.at_member(&member.name))
}

/// Invokes `look` with the content that comes from the bytes before the offset `end`.
fn with_content_before<T>(
    end: u64,
    mut archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
    look: &dyn Fn(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    // What follows the content is of interest once the content is read.
    let record = read_local_record(&mut archive_bytes, member)?;
    let content = zip::checked_content_offset(&record, member)?;
    let unpacker = match decoder_for(member)? {
        Decoder::Stored => None,
        Decoder::Own(make) => Some(make()?),
        #[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
        Decoder::ZipCrate => {
            return zip_crate::read_unverified(&mut archive_bytes, (member, content), options, look);
        }
    };
    #[cfg(not(any(feature = "zip-methods", feature = "zip-encryption")))]
    let _ = options;
    let packed = content..(content + member.packed).min(end);
    if packed.start > packed.end || packed.is_empty() && member.packed > 0 {
        return Err(truncated_archive()); // these bytes are not enough: the caller reads more
    }
    let mut source = archive_bytes.source(packed)?;
    match unpacker {
        Some(unpacker) => look(&mut Source::of(&mut UnpackReader::new(source, unpacker))),
        None => look(&mut source),
    }
}

/// Reads all bytes of a member, without interpreting them as an array.
pub(super) fn read_raw(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
) -> Result<Vec<u8>> {
    let progress_options = options.with_monotonic_progress();
    let read = |source: &mut Source<'_>| {
        // Read the bytes as an array of `u8`, which uses the fast path of elements and respects the limits.
        let byte = Scalar::new(Kind::Uint, 1, ByteOrder::NATIVE).map(DType::from);
        let len = usize::try_from(member.size).map_err(|_| Fault::OutOfMemory { bytes: member.size })?;
        // A one-byte unsigned integer is a valid dtype.
        let header = Header::new(byte.expect("u1 is a dtype"), Order::C, [len].into())?;
        transfer::read_bytes(source, &header, &progress_options)
    };
    MemberContent::read(archive_bytes, member, options, read)
}

/// Calls a function with a reader of a member, which is decompressed from its beginning, and verifies its checksum.
pub(super) fn stream<T>(
    mut archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
    call: impl FnOnce(&mut NpyReader<&mut dyn Read>) -> Result<T>,
) -> Result<T> {
    let mut small = Vec::new();
    let read = || {
        // Of a compressed member, nothing can be read without all before it.
        if member.is_encrypted() || member.method != Method::Stored {
            options.get_limits().check_payload(member.size)?;
        }
        let mut content = MemberContent::open(&mut archive_bytes, member, options, &mut small)?;
        let (output, _) = content.read_sequentially(|source| {
            let mut content = SourceAsRead(&mut *source);
            let mut reader = NpyReader::of(&mut content as &mut dyn Read, Expected::NPY, options)?;
            let output = call(&mut reader)?;
            match reader.skip_rest()?.cloned() {
                Some(header) => io::check_end(source, &header, options)?,
                None => drop(source.skip(member.size.saturating_sub(source.position()))?),
            }
            Ok(output)
        })?;
        Ok(output)
    };
    read().map_err(|error: Error| error.at_member(&member.name))
}

/// A source as a reader.
struct SourceAsRead<'a, 's>(&'a mut Source<'s>);

impl Read for SourceAsRead<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        Ok(self.0.fill(into)?)
    }
}

/// Copies all bytes of a member to a writer, block by block. Returns the number of bytes.
pub(super) fn copy_raw(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
    writer: &mut dyn Write,
) -> Result<u64> {
    options.get_limits().check_payload(member.size).map_err(|error| error.at_member(&member.name))?;
    let options = options.with_monotonic_progress();
    // `read_verified` may invoke the closure twice, so the count is kept outside of it, and the second call skips what
    // the first one has written.
    let mut written = 0;
    let progress = ProgressReporter::new(options.get_progress(), member.size);
    let mut copy = |source: &mut Source<'_>| {
        source.skip(written)?; // skip what an earlier call has written
        let mut block = vec![0; transfer::BLOCK_LEN];
        while written < member.size {
            // Never write more than the stated size. If the content is longer, `read_verified` reports it.
            let most = usize::try_from(member.size - written).unwrap_or(usize::MAX).min(block.len());
            let count = source.fill(&mut block[..most])?;
            if count == 0 {
                break;
            }
            writer.write_all(&block[..count])?;
            written += count as u64;
            progress.add(count)?;
        }
        Ok(())
    };
    MemberContent::read(archive_bytes, member, &options, &mut copy)?;
    Ok(written)
}

/// Reads a member and verifies its size and checksum, discarding the content.
///
/// A member with a block index is decompressed from its beginning, as a program does that does not know the index, and each
/// block is compared with what comes out.
pub(super) fn verify(
    mut archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
) -> Result<Vec<Remark>> {
    let options = options.with_monotonic_progress().allow_trailing(true);
    options.get_limits().check_payload(member.size).map_err(|error| error.at_member(&member.name))?;
    let progress = ProgressReporter::new(options.get_progress(), member.size);
    let (mut remarks, index) = match zip::block_index(member) {
        Ok(index) => (vec![], Some(index)),
        Err(NoIndex::Absent) => (vec![], None),
        Err(NoIndex::Stale) => (vec![Remark::StaleIndex], None),
        Err(NoIndex::Ignored) => (vec![Remark::UnusableIndex], None),
    };
    if index.is_none() && member.method != Method::Zstd {
        MemberContent::read(archive_bytes, member, &options, |source| discard(source, &progress))?;
        return Ok(remarks);
    }
    let mut small = Vec::new();
    let verify = || -> Result<Vec<Remark>> {
        let mut content = MemberContent::open(&mut archive_bytes, member, &options, &mut small)?;
        let threads = options.get_threads();
        let blocks = match (content.decoder, index, content.archive_bytes.region_at(content.start)) {
            (Decoder::Own(make), Some(index), Some((archive, start))) => {
                Some(PackedBlocks::new(Box::new(archive), start, index, make, threads))
            }
            _ => None,
        };
        let ((), has_more_frames) = content.read_sequentially(|source| match &blocks {
            Some(blocks) => blocks.compare(source, threads).and_then(|()| progress.add(member.size as usize)),
            None => discard(source, &progress),
        })?;
        if blocks.is_some_and(|blocks| blocks.has_mismatch()) {
            remarks.push(Remark::UnusableIndex);
        }
        if has_more_frames {
            remarks.push(Remark::SeveralFrames);
        }
        Ok(remarks)
    };
    verify().map_err(|error| error.at_member(&member.name))
}

/// Reads a source to its end, and says how far it is.
fn discard(source: &mut Source<'_>, progress: &ProgressReporter) -> Result<()> {
    if !progress.is_enabled() {
        return Ok(()); // what is not read here is read when the checksum is computed
    }
    let mut block = vec![0; transfer::BLOCK_LEN];
    loop {
        match source.fill(&mut block)? {
            0 => return Ok(()),
            count => progress.add(count)?,
        }
    }
}

/// Verifies all members, and returns each remark with the index of its member.
pub(super) fn verify_all<'a>(
    archive: &Archive,
    options: &ReadOptions,
    archive_bytes: impl Fn() -> ArchiveBytes<'a>,
) -> Result<Vec<(usize, Remark)>> {
    check_total_expansion(archive.members().iter(), options)?;
    let all = archive.members().iter().fold(0, |all: u64, member| all.saturating_add(member.size()));
    let (mut remarks, mut before) = (Vec::new(), 0);
    for index in 0..archive.members().len() {
        let member = archive.at(index)?;
        let found = verify(archive_bytes(), member, &options.with_progress_of_part(before, all))?;
        before += member.size;
        remarks.extend(found.into_iter().map(|remark| (index, remark)));
    }
    Ok(remarks)
}

/// What verifying a member found that is not damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// Another program has replaced the content and kept the [block index](super::IndexState) of the earlier content, which
    /// readers ignore. So parts of the member cannot be read alone.
    StaleIndex,
    /// The block index contradicts itself or the content, its blocks are not independent, or its version is not known.
    /// Readers ignore it.
    UnusableIndex,
    /// The content consists of several Zstandard frames, of which some programs read only the first. Python 3.14 is one.
    SeveralFrames,
}

impl std::fmt::Display for Remark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::StaleIndex => "its block index is that of other content, and is ignored",
            Self::UnusableIndex => {
                "its block index does not match it, or is of an unknown kind, and is ignored"
            }
            Self::SeveralFrames => {
                "it consists of several Zstandard frames, of which some programs read only the first"
            }
        })
    }
}

/// Returns an error if so few compressed bytes cannot contain so much, or if the limits do not allow it.
pub(super) fn check_ratio(member: &Member, options: &ReadOptions) -> Result<()> {
    let method = member.method_inside_aes().unwrap_or(member.method);
    match method.highest_ratio() {
        Some(most) if member.size > member.packed.saturating_mul(most) => {
            let (size, packed) = (member.size, member.packed);
            let reason =
                format!("{packed} bytes that are {method} cannot contain the {size} bytes that are declared");
            Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into())
        }
        _ => options.get_limits().check_expansion(member.size, member.packed),
    }
}

/// Returns an error if the limits do not allow so much content of several members together, even if they allow each.
pub(super) fn check_total_expansion<'m>(
    members: impl Iterator<Item = &'m NpzMember>,
    options: &ReadOptions,
) -> Result<()> {
    let add = |(size, packed): (u64, u64), member: &NpzMember| {
        (size.saturating_add(member.size()), packed.saturating_add(member.compressed_size()))
    };
    let (size, packed) = members.fold((0, 0), add);
    options.get_limits().check_expansion(size, packed)
}

/// Checks a member's local header and what follows its content, and returns the offset of the content.
pub(super) fn content_offset(archive_bytes: &mut ArchiveBytes<'_>, member: &Member) -> Result<u64> {
    let record = read_local_record(archive_bytes, member)?;
    let content = zip::checked_content_offset(&record, member)?;
    /// More than a data descriptor has.
    const WINDOW_LEN: u64 = 64 << 10;
    let mut start = content + member.packed;
    while start < member.next_record_offset {
        let end = member.next_record_offset.min(start + WINDOW_LEN);
        let rest = archive_bytes.read(start..end)?;
        let is_first = start == content + member.packed;
        zip::check_after_content(if is_first { &record } else { &[] }, &rest, member)?;
        // A signature may be in two windows.
        start = if end == member.next_record_offset { end } else { end - 3 };
    }
    Ok(content)
}

/// Returns how many bytes between a member and the next record belong to neither.
#[cfg(feature = "object")]
pub(super) fn unaccounted_len(mut archive_bytes: ArchiveBytes<'_>, member: &Member) -> Result<u64> {
    let read = |archive_bytes: &mut ArchiveBytes<'_>| {
        let content = content_offset(archive_bytes, member)?;
        let record = read_local_record(archive_bytes, member)?;
        let (start, end) = (content + member.packed, member.next_record_offset);
        let rest = archive_bytes.read(start..end.min(start + zip::MAX_DESCRIPTOR_LEN))?;
        let after = zip::after_content(&record, &rest, member)?.len();
        Ok(end - start - (rest.len() - after) as u64)
    };
    read(&mut archive_bytes).map_err(|error: crate::error::Error| error.at_member(&member.name))
}

/// Like `content_offset`, but fails if the member is encrypted.
pub(super) fn unencrypted_content_offset(
    archive_bytes: &mut ArchiveBytes<'_>,
    member: &Member,
) -> Result<u64> {
    let content = content_offset(archive_bytes, member)?;
    if member.is_encrypted() {
        return Err(
            Fault::Unsupported { part: FilePart::Archive, reason: "the member is encrypted".into() }.into()
        );
    }
    Ok(content)
}

/// What a copy of a member keeps of its local header.
pub(super) struct LocalFields {
    /// The DOS timestamp, against which the password of a member may be checked.
    pub(super) dos_timestamp: u32,
    /// The extra fields, except those that are regenerated.
    pub(super) extra: Vec<u8>,
}

/// Returns what a copy of a member keeps of its local header, and the offset of the content.
pub(super) fn local_fields(
    archive_bytes: &mut ArchiveBytes<'_>,
    member: &Member,
) -> Result<(LocalFields, u64)> {
    let record = read_local_record(archive_bytes, member)?;
    let content = zip::checked_content_offset(&record, member)?;
    let fields = record.get(zip::LOCAL_HEADER_SIZE + member.raw_name().len()..).unwrap_or_default();
    // `checked_content_offset` has found a complete header.
    let dos_timestamp = record.get(10..14).and_then(<[u8]>::first_chunk::<4>);
    let dos_timestamp =
        dos_timestamp.map_or(member.dos_timestamp, |dos_timestamp| u32::from_le_bytes(*dos_timestamp));
    Ok((LocalFields { dos_timestamp, extra: zip::preserved_fields(fields) }, content))
}

/// Reads the local header of a member, with its extra fields.
pub(super) fn read_local_record(archive_bytes: &mut ArchiveBytes<'_>, member: &Member) -> Result<Vec<u8>> {
    /// Nearly always enough for the extra fields: those of common writers, and padding to a multiple of 64.
    const USUAL_EXTRA_LEN: u64 = 92;
    let fixed = (zip::LOCAL_HEADER_SIZE + member.raw_name().len()) as u64;
    let end = |extra: u64| member.offset.saturating_add(fixed + extra).min(member.next_record_offset);
    let record = archive_bytes.read(member.offset..end(USUAL_EXTRA_LEN))?;
    match zip::extra_len(&record) as u64 {
        extra @ 0..=USUAL_EXTRA_LEN => Ok(record[..(end(extra) - member.offset) as usize].to_vec()),
        extra => archive_bytes.read(member.offset..end(extra)),
    }
}

/// The decoder of a member.
#[derive(Clone, Copy)]
pub(super) enum Decoder {
    /// No decoder: the member is stored.
    Stored,
    /// A decoder of this library, which the function creates.
    Own(fn() -> Result<Unpacker>),
    /// The `zip` crate.
    #[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
    ZipCrate,
}

pub(super) fn decoder_for(member: &Member) -> Result<Decoder> {
    if member.is_encrypted() {
        return zip_crate_decoder(member);
    }
    Ok(match member.method {
        Method::Stored => Decoder::Stored,
        Method::Deflated => Decoder::Own(|| Ok(Unpacker::deflate())),
        #[cfg(feature = "zstd")]
        Method::Zstd => Decoder::Own(Unpacker::zstd),
        Method::Deflate64 | Method::Bzip2 | Method::Lzma | Method::Xz => {
            return zip_crate_decoder(member);
        }
        method => {
            let reason = format!("the member is compressed as {method}");
            let error = crate::error::Error::from(Fault::Unsupported { part: FilePart::Archive, reason });
            let is_zstd = method == Method::Zstd;
            return Err(if is_zstd {
                error.with_help(crate::error::Remedy::Feature { name: "zstd" })
            } else {
                error
            });
        }
    })
}

/// Returns the blocks of a member for reading parts of it, or `None` if it has no block index.
pub(super) fn indexed_blocks(
    archive: &Arc<dyn ReadAt>,
    member: &Member,
    options: &ReadOptions,
) -> Result<Option<PackedBlocks<'static>>> {
    let Ok(index) = zip::block_index(member) else { return Ok(None) };
    check_ratio(member, options)?;
    let Decoder::Own(make) = decoder_for(member)? else { return Ok(None) };
    let content = content_offset(&mut whole_archive(archive), member)?;
    let source = Box::new(Arc::clone(archive));
    let blocks = PackedBlocks::new(source, content, index, make, options.get_threads());
    // The payload limit applies to the parts that are read, not to the temporary file that the fallback may
    // write.
    let limits = options.get_limits().payload(u64::MAX);
    let (archive, member, options) =
        (Arc::clone(archive), member.clone(), options.without_progress().limits(limits));
    let unpack = move || Ok(unpack_to_temporary_file(whole_archive(&archive), &member, &options)?.0);
    Ok(Some(blocks.with_fallback(Box::new(unpack))))
}

/// Returns the bytes of an entire archive.
pub(super) fn whole_archive(archive: &Arc<dyn ReadAt>) -> ArchiveBytes<'_> {
    ArchiveBytes::of(Region::of(&**archive))
}

/// Decompresses a member into an unnamed temporary file. Returns the file and its length.
pub(super) fn unpack_to_temporary_file(
    archive_bytes: ArchiveBytes<'_>,
    member: &Member,
    options: &ReadOptions,
) -> Result<(File, u64)> {
    let unpacked = create_unnamed_file(&temporary_folder())?;
    let len = copy_raw(archive_bytes, member, options, &mut &unpacked)?;
    Ok((unpacked, len))
}

/// Returns the decoder for a member that the crate `zip` decodes, or an error that names the feature that it needs.
fn zip_crate_decoder(member: &Member) -> Result<Decoder> {
    let method = member.method_inside_aes().unwrap_or(member.method);
    let is_rare = matches!(method, Method::Deflate64 | Method::Bzip2 | Method::Lzma | Method::Xz);
    let (reason, name) = if member.is_encrypted() && !cfg!(feature = "zip-encryption") {
        ("the member is encrypted".to_owned(), "zip-encryption")
    } else if is_rare && !cfg!(feature = "zip-methods") {
        (format!("the member is compressed as {method}"), "zip-methods")
    } else {
        #[cfg(any(feature = "zip-methods", feature = "zip-encryption"))]
        return Ok(Decoder::ZipCrate);
        #[cfg(not(any(feature = "zip-methods", feature = "zip-encryption")))]
        unreachable!("the crate decodes what is encrypted or compressed by a rare method")
    };
    let error = crate::error::Error::from(Fault::Unsupported { part: FilePart::Archive, reason });
    Err(error.with_help(crate::error::Remedy::Feature { name }))
}
