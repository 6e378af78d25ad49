//! Blocks of LZ4 without a frame. They are unpacked by safe code, into memory that has been set.

use crate::error::{ErrorKind, Result};

/// The most that LZ4's own programs take for one block: their sizes are signed numbers of 32 bits.
const MOST: usize = 2_113_929_216;

/// Packs bytes as one block.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes.len() > MOST {
        let reason = format!("{} bytes do not go into one block of LZ4, which holds {MOST}", bytes.len());
        return Err(ErrorKind::BadOption { reason }.into());
    }
    let mut packed = vec![0; lz4_flex::block::get_maximum_output_size(bytes.len())];
    // There is room for whatever the bytes are, so that this cannot fail.
    let len = lz4_flex::block::compress_into(bytes, &mut packed).expect("room for the worst case");
    packed.truncate(len);
    Ok(packed)
}

/// Unpacks a block that has to fill just all of `into`.
pub(crate) fn unpack(packed: &[u8], into: &mut [u8]) -> Result<()> {
    let wanted = into.len();
    let reason = match lz4_flex::block::decompress_into(packed, into) {
        Ok(len) if len == wanted => return Ok(()),
        Ok(len) => format!("the block of LZ4 holds {len} bytes, and the array takes {wanted}"),
        Err(error) => format!("it is no block of LZ4 that fits the array: {error}"),
    };
    Err(ErrorKind::BadPacking { reason }.into())
}
