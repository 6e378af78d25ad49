//! The headers of tar files, which old versions of PyTorch wrote.

/// The unit of which a tar file consists.
pub(super) const BLOCK_LEN: usize = 512;

/// What a header of a tar file says of the bytes that follow it.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) len: u64,
}

/// Decodes a header; `None` if it is not one. The checksum is that of all known dialects.
pub(super) fn entry(block: &[u8]) -> Option<Entry> {
    const CHECKSUM: std::ops::Range<usize> = 148..156;
    let block = block.get(..BLOCK_LEN)?;
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let stored: u64 = block[CHECKSUM].iter().map(|byte| u64::from(*byte)).sum();
    let spaces = CHECKSUM.len() as u64 * u64::from(b' ');
    if number(&block[CHECKSUM])? != sum - stored + spaces {
        return None;
    }
    let text = |range: std::ops::Range<usize>| {
        let bytes = &block[range];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let (prefix, name) = (text(345..500), text(0..100));
    let has_prefix = block[257..].starts_with(b"ustar") && !prefix.is_empty();
    let name = if has_prefix { format!("{prefix}/{name}") } else { name };
    Some(Entry { name, len: number(&block[124..136])? })
}

/// Decodes an octal number, or a binary one of large files.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, rest @ ..] = field {
        return rest.iter().try_fold(0_u64, |number, byte| Some(number.checked_mul(256)? + u64::from(*byte)));
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    u64::from_str_radix(text, 8).ok()
}
