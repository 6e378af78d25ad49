//! The content of a member: read where it is stored, unpacked, or unpacked block by block, and compared with its checksum.

use std::fs::File;
use std::io::{Read, Write};
#[cfg(feature = "object-store-0_14")]
use std::sync::Arc;

use super::archive::{Holder, Place};
#[cfg(feature = "zip-methods")]
use super::foreign;
use crate::codec::{Pieces, Unpacker};
use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::error::{ErrorKind, Result};
use crate::header::Header;
use crate::io::change::{temporary_folder, unnamed};
use crate::io::{self, FromPayload, Npy};
use crate::npy_format::NpyHeader;
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer::{self, Home, Observer, PackedBlocks, Source, Unpack, cut};
use crate::zip::{self, Member, Method};

/// Reads a member as an array.
pub(super) fn read<T: FromPayload>(place: Place<'_>, member: &Member, options: &ReadOptions) -> Result<T> {
    open(place, member, options, |source| io::read_whole(source, options))
}

/// Reads a member's header, and nothing after it but what comes with it.
pub(super) fn peek(mut place: Place<'_>, member: &Member, options: &ReadOptions) -> Result<NpyHeader> {
    /// In so many bytes nearly every header ends, with the record in front of it: one read and not several.
    const HEAD: u64 = 1024;
    let end = member.limit.min(member.offset.saturating_add(HEAD));
    if !matches!(place, Place::Bytes(..))
        && let Ok(bytes) = place.read(member.offset..end)
        && let Ok(found) = peek_before(end, Place::Bytes(&bytes, member.offset), member, options)
    {
        return Ok(found);
    }
    peek_before(u64::MAX, place, member, options).map_err(|error| error.at_member(&member.name))
}

/// The same of the bytes before a place.
fn peek_before(end: u64, mut place: Place<'_>, member: &Member, options: &ReadOptions) -> Result<NpyHeader> {
    let content = any_content(&mut place, member)?;
    let unpacker = match way(member)? {
        Way::Stored => None,
        Way::Own(make) => Some(make()?),
        #[cfg(feature = "zip-methods")]
        Way::Crate => {
            let head = |source: &mut Source<'_>| io::read_header::<Npy>(source, options.get_limits());
            return foreign::peek(&mut place, (member, content), options, head).map(|(found, _)| found);
        }
    };
    let packed = content..(content + member.packed).min(end);
    if packed.start > packed.end || packed.is_empty() && member.packed > 0 {
        return Err(cut()); // of what has been read: the caller reads more
    }
    let found = place.with(packed, |mut source| match unpacker {
        Some(unpacker) => {
            let mut unpack = Unpack::new(source, unpacker);
            io::read_header::<Npy>(&mut Source::of(&mut unpack), options.get_limits())
        }
        None => io::read_header::<Npy>(&mut source, options.get_limits()),
    });
    found.map(|(found, _)| found)
}

/// Reads all bytes of a member, whatever they are.
pub(super) fn read_raw(place: Place<'_>, member: &Member, options: &ReadOptions) -> Result<Vec<u8>> {
    open(place, member, options, |source| {
        let byte = Scalar::new(Kind::Uint, 1, ByteOrder::NATIVE).map(DType::from);
        let len = usize::try_from(member.size).map_err(|_| ErrorKind::OutOfMemory { bytes: member.size })?;
        // There is a number of one byte.
        let header = Header::new(byte.expect("u1 is a dtype"), Order::C, [len].into())?;
        transfer::read_bytes(source, &header, options)
    })
}

/// Hands on all bytes of a member, block by block; says how many there are.
pub(super) fn copy_raw(
    place: Place<'_>,
    member: &Member,
    options: &ReadOptions,
    writer: &mut dyn Write,
) -> Result<u64> {
    options.get_limits().check_payload(member.size).map_err(|error| error.at_member(&member.name))?;
    let mut written = 0;
    open(place, member, options, |source| {
        source.skip(written)?; // by an earlier call
        let mut block = vec![0; transfer::BLOCK];
        while written < member.size {
            // No more than the archive says, whatever the content unpacks to: that is found out by who opened it.
            let most = usize::try_from(member.size - written).unwrap_or(usize::MAX).min(block.len());
            let count = source.fill(&mut block[..most])?;
            if count == 0 {
                break;
            }
            writer.write_all(&block[..count])?;
            written += count as u64;
        }
        Ok(written)
    })
}

/// Reads a member and compares its checksum, keeping nothing.
pub(super) fn verify(place: Place<'_>, member: &Member, options: &ReadOptions) -> Result<()> {
    open(place, member, &options.clone().allow_trailing(true), |_| Ok(()))
}

/// Where a member's content begins, after a look at the record in front of it.
fn any_content(place: &mut Place<'_>, member: &Member) -> Result<u64> {
    local_record(place, member).and_then(|record| zip::check_local(&record, member))
}

/// The same of a member whose bytes are what the archive says: an error if they are encrypted.
pub(super) fn content(place: &mut Place<'_>, member: &Member) -> Result<u64> {
    let content = any_content(place, member)?;
    match member.is_encrypted() {
        true => Err(ErrorKind::UnsupportedZip { reason: "the member is encrypted".into() }.into()),
        false => Ok(content),
    }
}

/// The record in front of a member, with its extra fields.
pub(super) fn local_record(place: &mut Place<'_>, member: &Member) -> Result<Vec<u8>> {
    /// Nearly all records have no more extra fields than this: what most writers put there, and the filling to a multiple of 64.
    const EXTRA: u64 = 92;
    let fixed = (zip::LOCAL_SIZE + member.raw_name().len()) as u64;
    let end = |extra: u64| member.offset.saturating_add(fixed + extra).min(member.limit);
    let record = place.read(member.offset..end(EXTRA))?;
    match zip::extra_len(&record) as u64 {
        extra @ 0..=EXTRA => Ok(record[..(end(extra) - member.offset) as usize].to_vec()),
        extra => place.read(member.offset..end(extra)),
    }
}

/// What the record in front of a member has of extra fields, but those that are made anew.
pub(super) fn own_fields(place: &mut Place<'_>, member: &Member) -> Result<Vec<u8>> {
    let record = local_record(place, member)?;
    Ok(zip::own_fields(record.get(zip::LOCAL_SIZE + member.raw_name().len()..).unwrap_or_default()))
}

/// Who unpacks a member.
enum Way {
    /// It is stored as it is.
    Stored,
    /// This library, by what this makes.
    Own(fn() -> Result<Unpacker>),
    /// The crate `zip`.
    #[cfg(feature = "zip-methods")]
    Crate,
}

fn way(member: &Member) -> Result<Way> {
    if member.is_encrypted() {
        return other_way("the member is encrypted");
    }
    Ok(match member.method {
        Method::Stored => Way::Stored,
        Method::Deflated => Way::Own(|| Ok(Unpacker::deflate())),
        #[cfg(feature = "zstd")]
        Method::Zstd => Way::Own(Unpacker::zstd),
        Method::Deflate64 | Method::Bzip2 | Method::Lzma | Method::Xz => {
            return other_way(&format!("the member is compressed as {}", member.method));
        }
        method => {
            let reason = format!("the member is compressed as {method}");
            return Err(ErrorKind::UnsupportedZip { reason }.into());
        }
    })
}

/// The blocks of a member that has an index of them, if the archive can be read anywhere.
fn blocks<'a>(
    place: &Place<'a>,
    member: &Member,
    content: u64,
    make: fn() -> Result<Unpacker>,
    options: &ReadOptions,
) -> Option<PackedBlocks<'a>> {
    let (home, start) = match place {
        Place::File(file) => (Home::Shared(file), content),
        Place::Bytes(bytes, at) => (Home::Bytes(bytes), content - at),
        Place::Stream(_) => return None,
        #[cfg(feature = "object-store-0_14")]
        Place::Other(bytes) => (Home::Other(Arc::clone(bytes)), content),
    };
    let index = zip::block_index(member).or_else(|| at_once(member))?;
    Some(PackedBlocks::new(home, start, index, make, options.get_threads()))
}

/// A member that is small enough to be unpacked in memory, by what can do it only there.
#[cfg(feature = "libdeflate")]
fn at_once(member: &Member) -> Option<crate::codec::BlockIndex> {
    /// Compressed and unpacked, it takes memory beside the array.
    const MOST: u64 = 8 << 20;
    let takes = member.size.saturating_add(member.packed);
    let fits = member.method == Method::Deflated && member.size > 0 && takes <= MOST;
    fits.then(|| crate::codec::BlockIndex::of_one(member.crc, member.size, member.packed))
}

#[cfg(not(feature = "libdeflate"))]
fn at_once(_: &Member) -> Option<crate::codec::BlockIndex> {
    None
}

/// The blocks of a member, for reading parts of it; `None` if it has no index of them.
pub(super) fn blocks_within(
    archive: &Holder,
    member: &Member,
    options: &ReadOptions,
) -> Result<Option<PackedBlocks<'static>>> {
    let Some(index) = zip::block_index(member) else { return Ok(None) };
    let Way::Own(make) = way(member)? else { return Ok(None) };
    let content = any_content(&mut archive.place(), member)?;
    let blocks = PackedBlocks::new(archive.home(), content, index, make, options.get_threads());
    // The limit is for what is read of the member, and not for the file that it may be unpacked to.
    let limits = options.get_limits().payload(u64::MAX);
    let (archive, member, options) =
        (archive.clone(), member.clone(), options.without_progress().limits(limits));
    let unpack = move || Ok(unpacked(archive.place(), &member, &options)?.0);
    Ok(Some(blocks.with_fallback(Box::new(unpack))))
}

/// A file without a name with all that a member unpacks to, and how much that is.
pub(super) fn unpacked(place: Place<'_>, member: &Member, options: &ReadOptions) -> Result<(File, u64)> {
    let unpacked = unnamed(&temporary_folder())?;
    let len = copy_raw(place, member, options, &mut &unpacked)?;
    Ok((unpacked, len))
}

#[cfg(feature = "zip-methods")]
fn other_way(_: &str) -> Result<Way> {
    Ok(Way::Crate)
}

#[cfg(not(feature = "zip-methods"))]
fn other_way(reason: &str) -> Result<Way> {
    let error = crate::error::Error::from(ErrorKind::UnsupportedZip { reason: reason.to_owned() });
    Err(error.with_help(crate::error::Help::Feature { name: "zip-methods" }))
}

/// Calls with what a member unpacks to: an error if that is not just the bytes that the archive states.
pub(super) fn exactly<T>(
    stream: &mut impl Read,
    member: &Member,
    options: &ReadOptions,
    seen: &Pieces,
    call: impl FnOnce(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    let mut source = Source::of(stream).seen_by(Some(seen));
    let taken = call(&mut source)?;
    if options.get_allow_trailing() {
        source.skip(member.size.saturating_sub(source.passed()))?;
    }
    // The end has to be seen, too.
    let is_longer = source.skip(1)? > 0;
    let made = source.passed();
    if is_longer || made != member.size {
        let more = if is_longer { "or more " } else { "" };
        let (packed, size) = (member.packed, member.size);
        let reason = format!("it inflates to {made} bytes {more}out of {packed}, and should to {size}");
        return Err(ErrorKind::BadZip { reason }.into());
    }
    Ok(taken)
}

impl Observer for Pieces {
    fn saw(&self, at: u64, bytes: &[u8]) {
        self.add(at, bytes);
    }
}

/// Opens a member, calls with its unpacked bytes, and compares size and checksum.
///
/// It may call twice, if it finds out only afterwards that what came was wrong.
fn open<T>(
    mut place: Place<'_>,
    member: &Member,
    options: &ReadOptions,
    call: impl FnMut(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    /// Up to this size, a member is read at once with the record in front of it.
    const SMALL: u64 = 64 << 10;
    let opened = match member.limit - member.offset {
        len if len <= SMALL && !matches!(place, Place::Bytes(..)) => {
            match place.read(member.offset..member.limit) {
                Ok(bytes) => open_at(Place::Bytes(&bytes, member.offset), member, options, call),
                Err(error) => Err(error),
            }
        }
        _ => open_at(place, member, options, call),
    };
    opened.map_err(|error| error.at_member(&member.name))
}

fn open_at<T>(
    mut place: Place<'_>,
    member: &Member,
    options: &ReadOptions,
    mut call: impl FnMut(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    let content = any_content(&mut place, member)?;
    let make = match way(member)? {
        Way::Stored => None,
        Way::Own(make) => Some(make),
        #[cfg(feature = "zip-methods")]
        Way::Crate => return foreign::open(&mut place, (member, content), options, call),
    };
    if let Some(blocks) = make.and_then(|make| blocks(&place, member, content, make, options)) {
        let taken = call(&mut Source::of_blocks(&blocks));
        let checked = match &taken {
            Ok(_) => blocks.check_rest(options.get_threads()),
            Err(_) => Ok(()),
        };
        let is_cancelled = taken.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::Cancelled));
        if !blocks.is_wrong() || is_cancelled {
            return checked.and(taken);
        }
        // The index does not belong to this content. Only the content itself counts.
    }
    let unpacker = make.map(|make| make()).transpose()?;
    let packed = content..content + member.packed;
    let seen = Pieces::default();
    let taken = match unpacker {
        Some(unpacker) => place.again().with(packed, |source| {
            let mut unpack = Unpack::new(source, unpacker);
            let taken = exactly(&mut unpack, member, options, &seen, call)?;
            match unpack.is_at_end() {
                true => Ok(taken),
                false => {
                    let reason = format!("what it inflates from ends before its {} bytes", member.packed);
                    Err(ErrorKind::BadZip { reason }.into())
                }
            }
        })?,
        None => place.again().with_seen(packed, Some(&seen), |mut source| call(&mut source))?,
    };
    // What was parsed where it lies, or passed over, is looked at now.
    let found = seen.finish(member.size, |missing, add| {
        let missing = content + missing.start..content + missing.end;
        place.with(missing, |mut source| {
            const BLOCK: u64 = 256 << 10;
            while let Some(left @ 1..) = source.remaining() {
                let mut block = vec![0; left.min(BLOCK) as usize];
                if source.fill(&mut block)? < block.len() {
                    return Err(cut());
                }
                add(&block);
            }
            Ok(())
        })
    })?;
    match found == member.crc {
        true => Ok(taken),
        false => Err(ErrorKind::BadCrc { found, wanted: member.crc }.into()),
    }
}
