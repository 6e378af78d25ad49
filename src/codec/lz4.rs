//! Raw LZ4 blocks, without a frame. Only safe code is used, on initialized memory.

use crate::error::{Fault, FilePart, Result};

/// The maximum input of a block in the reference implementation, where sizes are signed 32-bit integers.
const MAX_INPUT: usize = 2_113_929_216;

/// Compresses bytes as one block.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes.len() > MAX_INPUT {
        let reason = format!("{} bytes exceed the limit of one LZ4 block, {MAX_INPUT}", bytes.len());
        return Err(Fault::BadOption { reason }.into());
    }
    let mut packed = vec![0; lz4_flex::block::get_maximum_output_size(bytes.len())];
    // The buffer has the worst-case size, so this cannot fail.
    let len = lz4_flex::block::compress_into(bytes, &mut packed).expect("room for the worst case");
    packed.truncate(len);
    Ok(packed)
}

/// Decompresses a block, which must fill `into` exactly.
pub(crate) fn unpack(packed: &[u8], into: &mut [u8]) -> Result<()> {
    let wanted = into.len();
    let reason = match lz4_flex::block::decompress_into(packed, into) {
        Ok(len) if len == wanted => return Ok(()),
        Ok(len) => format!("expected {wanted} bytes in the LZ4 block, found {len}"),
        Err(error) => format!("malformed LZ4 block: {error}"),
    };
    Err(Fault::Malformed { part: FilePart::Data, reason, offset: None }.into())
}

/// Returns the first of several LZ4 frames; `None` if it has no end, or is not one.
#[cfg(feature = "object")]
#[allow(clippy::incompatible_msrv, reason = "the feature needs a newer compiler")]
pub(crate) fn first_frame(frames: &[u8]) -> Option<&[u8]> {
    let mut rest = frames;
    let mut skip = |count: usize| rest.split_off(..count);
    let [.., flags] = *skip(5)? else { return None };
    let has = |bit: u8| usize::from(flags & bit != 0);
    // What blocks are like, the size of the content, the number of a dictionary, and a checksum of this.
    skip(1 + 8 * has(0x08) + 4 * has(0x01) + 1)?;
    loop {
        let len = u32::from_le_bytes(*skip(4)?.first_chunk()?);
        if len == 0 {
            skip(4 * has(0x04))?;
            return Some(&frames[..frames.len() - rest.len()]);
        }
        // The highest bit says that the block is not compressed.
        skip((len & 0x7FFF_FFFF) as usize + 4 * has(0x10))?;
    }
}
