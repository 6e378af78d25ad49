//! The RA format: how its flags affect the reading of elements.

use std::borrow::Cow;

use crate::codec::{self, leb128};
use crate::dtype::{ByteOrder, Kind, Scalar};
use crate::error::{CopyReason, Error, Fault, FilePart, FileSection, Remedy, Result};
use crate::header::Header;
use crate::limits;
use crate::options::ReadOptions;
use crate::ra_format::{Packing, RaHeader};
use crate::shape::Order;
use crate::transfer::{self, Source, WholeBlockReader};

/// Returns the header as the options say.
pub(super) fn apply_options(mut found: RaHeader, options: &ReadOptions) -> Result<RaHeader> {
    if options.ra_bytes_are_bools {
        found = found.with_bools()?;
    }
    // `ml_dtypes` has no complex numbers of two bytes.
    if let Some(narrow) = options.raw_bytes_type.filter(|_| found.eltype != 4) {
        found.header = found.header.with_raw_bytes_as(narrow)?;
    }
    found.header.check_empty_items()?;
    Ok(found)
}

pub(super) fn check_uncompressed(found: &RaHeader, options: &ReadOptions) -> Result<()> {
    check_flags(found, options)?;
    match found.packing() {
        Packing::None => Ok(()),
        _ => Err(Fault::NeedsCopy(CopyReason::Packed).into()),
    }
}

pub(super) fn check_representable_in_npy(found: &RaHeader) -> Result<()> {
    let dtype = found.header.dtype();
    let is_void = dtype.as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Void);
    if matches!(found.eltype, 1..=4) && is_void {
        let reason = format!("it is a number of {} bytes in the RA file", found.elbyte);
        return Err(Fault::NotRepresentable { format: "NPY", dtype: dtype.clone(), reason }.into());
    }
    Ok(())
}

pub(super) fn stored_len(found: &RaHeader) -> Option<u64> {
    (found.packing() != Packing::Ambiguous).then_some(found.size)
}

/// Returns the options with the byte order of what the file does not describe.
pub(super) fn dispatch_options<'o>(found: &RaHeader, options: &'o ReadOptions) -> Cow<'o, ReadOptions> {
    match found.eltype {
        0 => {
            let order = if found.is_big_endian() { ByteOrder::Big } else { ByteOrder::Little };
            Cow::Owned(options.clone().with_raw_records(order))
        }
        _ => Cow::Borrowed(options),
    }
}

pub(super) fn unpack<'u>(
    found: &RaHeader,
    source: &mut Source<'_>,
    options: &ReadOptions,
) -> Result<Option<Source<'u>>> {
    check_flags(found, options)?;
    let Some(unpack) = prepare_unpacking(source, found, options)? else { return Ok(None) };
    let (_, len) = found.header.len_and_bytes_in_memory()?;
    Ok(Some(Source::of_owned(Box::new(WholeBlockReader::new(len, unpack)), len as u64)))
}

fn check_flags(found: &RaHeader, options: &ReadOptions) -> Result<()> {
    let flags = found.unknown_flags();
    if flags != 0 && !options.ignore_ra_flags {
        let reason = format!("unknown flags {flags:#x}");
        let error = Error::from(Fault::Unsupported { part: FilePart::Header, reason });
        return Err(error.with_help(Remedy::IgnoreRaFlags));
    }
    if found.is_big_endian() && (found.eltype, found.elbyte) == (5, 2) {
        let reason = "bfloat16 in big-endian byte order".into();
        return Err(Fault::Unsupported { part: FilePart::Data, reason }.into());
    }
    Ok(())
}

/// Fills a buffer with the uncompressed bytes of all elements.
type UnpackFn = Box<dyn FnMut(&mut [u8]) -> Result<()>>;

/// Returns how the elements are decompressed; `None` if they are stored uncompressed.
fn prepare_unpacking(
    source: &mut Source<'_>,
    found: &RaHeader,
    options: &ReadOptions,
) -> Result<Option<UnpackFn>> {
    match found.packing() {
        Packing::None => Ok(None),
        Packing::Bits => {
            let (words, is_big) = (read_stored(source, found, options)?, found.is_big_endian());
            Ok(Some(Box::new(move |into| {
                codec::bits::unpack(&words, is_big, into);
                Ok(())
            })))
        }
        Packing::Lz4 => {
            // Checked before the data is read, so that a small file cannot make the caller allocate a
            // disproportionately large array.
            check_lz4_ratio(found.size, found)?;
            let packed = read_stored(source, found, options)?;
            Ok(Some(Box::new(move |into| unpack_lz4(&packed, into))))
        }
        packing @ (Packing::SameSize | Packing::Ambiguous) => {
            let bytes = match packing {
                Packing::SameSize => unpack_same_size(read_stored(source, found, options)?, found, options)?,
                _ => unpack_ambiguous(transfer::read_rest(source, options)?, found, options)?,
            };
            Ok(Some(Box::new(move |into| {
                into.copy_from_slice(&bytes);
                Ok(())
            })))
        }
    }
}

/// Reads the data as stored: exactly the number of bytes that the header declares.
fn read_stored(source: &mut Source<'_>, found: &RaHeader, options: &ReadOptions) -> Result<Vec<u8>> {
    let bytes = Scalar::new(Kind::Uint, 1, ByteOrder::NATIVE).expect("unsigned bytes are a valid dtype"); // see Kind::allows
    let size = usize::try_from(found.size).map_err(|_| {
        Error::from(Fault::Overflow { what: format!("{} bytes of compressed data", found.size) })
    })?;
    let header = Header::new(bytes.into(), Order::C, [size].into())?;
    transfer::read_bytes(source, &header, options).map_err(|error| match *error.fault() {
        Fault::Truncated { need, have, .. } => packed_truncated_error(need, have),
        _ => error,
    })
}

fn packed_truncated_error(need: u64, have: u64) -> Error {
    Fault::Truncated { part: FileSection::Packed, need, have }.into()
}

/// Returns an error if the compressed size is too small for the elements.
fn check_lz4_ratio(packed: u64, found: &RaHeader) -> Result<()> {
    /// Each LZ4 length byte adds at most 255 bytes. This constant allows for the rest of the block.
    const BLOCK_END_ALLOWANCE: u64 = 64;
    match found.unpacked_size() <= packed.saturating_mul(255).saturating_add(BLOCK_END_ALLOWANCE) {
        true => Ok(()),
        false => {
            let reason = format!(
                "an LZ4 block of {packed} bytes cannot decompress to {} bytes",
                found.unpacked_size()
            );
            Err(Fault::Malformed { part: FilePart::Data, reason, offset: None }.into())
        }
    }
}

#[cfg(feature = "lz4")]
fn unpack_lz4(packed: &[u8], into: &mut [u8]) -> Result<()> {
    codec::lz4::unpack(packed, into)
}

#[cfg(not(feature = "lz4"))]
fn unpack_lz4(_: &[u8], _: &mut [u8]) -> Result<()> {
    let error = Error::from(Fault::Unsupported { part: FilePart::Data, reason: "an LZ4 block".into() });
    Err(error.with_help(Remedy::Feature { name: "lz4" }))
}

/// Decompresses data that is marked as compressed although its declared size is that of the elements.
///
/// `stored` is as long as the elements. If it decodes as an LZ4 block to exactly that size, it is one. Otherwise it is
/// not compressed: RawArray.jl marks floats and complex numbers as if they were, and its bools of variable length have
/// one byte each, with which no block begins.
fn unpack_same_size(stored: Vec<u8>, found: &RaHeader, options: &ReadOptions) -> Result<Vec<u8>> {
    if let Some(bytes) = try_unpack_lz4(&stored)? {
        return Ok(bytes);
    }
    match found.header.dtype().as_scalar().map(Scalar::kind) {
        _ if options.ignore_ra_flags => Ok(stored),
        Some(Kind::Bool) if stored.iter().all(|byte| *byte <= 1) => Ok(stored),
        Some(Kind::Float | Kind::Complex) if cfg!(feature = "lz4") => Ok(stored),
        // Without the feature, floats may be a block.
        Some(Kind::Float | Kind::Complex) => unpack_lz4(&stored, &mut []).map(|()| stored),
        _ => Err(not_packed_error()),
    }
}

/// Decompresses integers, of which the declared size is that of the elements.
///
/// They may be an LZ4 block that happens to have this length; numbers of variable length, which extend to the end of
/// the file; or not compressed. `rest` is everything after the header. What both of these could be is decided by what is
/// likelier: if the file ends exactly after the declared size, LZ4 is tried first, because numbers would have this
/// length by chance. Those of one byte have it always, so they are tried first: it is unlikely that a block has only
/// bytes below 128.
fn unpack_ambiguous(rest: Vec<u8>, found: &RaHeader, options: &ReadOptions) -> Result<Vec<u8>> {
    let have = rest.len() as u64;
    options.get_limits().check_payload(found.unpacked_size())?;
    let (_, len) = found.header.len_and_bytes_in_memory()?;
    let stored = rest.get(..len); // here the stored size equals the uncompressed size
    let unpacked = match have == found.size && found.elbyte > 1 {
        true => match stored.map(try_unpack_lz4).transpose()?.flatten() {
            None => try_unpack_leb128(&rest, found, len)?,
            block => block,
        },
        false => match try_unpack_leb128(&rest, found, len)? {
            None => stored.map(try_unpack_lz4).transpose()?.flatten(),
            numbers => numbers,
        },
    };
    match (unpacked, stored) {
        (Some(bytes), _) => Ok(bytes),
        // Each number has at least one byte.
        (None, None) if have < found.header.len() => Err(packed_truncated_error(found.header.len(), have)),
        (None, None) => Err(transfer::truncated(&found.header, have)),
        (None, Some(stored)) if options.ignore_ra_flags => Ok(stored.to_vec()),
        (None, Some(_)) => Err(not_packed_error()),
    }
}

fn not_packed_error() -> Error {
    let reason = "neither an LZ4 block nor numbers of variable length; perhaps not compressed".into();
    Error::from(Fault::Malformed { part: FilePart::Data, reason, offset: None })
        .with_help(Remedy::IgnoreRaFlags)
}

/// Decompresses an LZ4 block to as many bytes as it has; `None` if it is none.
fn try_unpack_lz4(stored: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    limits::resize(&mut bytes, stored.len())?;
    Ok(unpack_lz4(stored, &mut bytes).is_ok().then_some(bytes))
}

/// Decodes integers of variable length; `None` if these are none.
fn try_unpack_leb128(rest: &[u8], found: &RaHeader, len: usize) -> Result<Option<Vec<u8>>> {
    if (rest.len() as u64) < found.header.len() {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    limits::resize(&mut numbers, len)?;
    let (is_signed, is_big) = (found.eltype == 1, found.is_big_endian());
    let is_right = leb128::unpack(rest, found.elbyte as usize, is_signed, is_big, &mut numbers);
    Ok(is_right.then_some(numbers))
}
