//! Encoding of an archive's records.
//!
//! Local headers reserve space for 64-bit sizes, as those of NumPy do, so sizes need not be known before a
//! member is written. The exception is a member whose 32-bit sizes follow in a data descriptor.

use super::{
    BLOCK_INDEX_FIELD, DESCRIPTOR_FLAG, DIRECTORY_RECORD_SIGNATURE, END_SIGNATURE, END64_SIGNATURE,
    LOCAL_HEADER_SIGNATURE, LOCATOR64_SIGNATURE, Member, PADDING_FIELD, ZIP64_FIELD,
};
use crate::codec::BlockIndex;

/// The alignment of contents in the file, in bytes. It makes elements aligned in a memory map.
const CONTENT_ALIGNMENT: u64 = 64;
/// The version needed to read the archive: 4.5, which is required for Zip64.
pub(crate) const ZIP64_VERSION: u16 = 45;
/// The value of "version made by": Unix (3), since the attributes are Unix permissions, and the version.
pub(crate) const MADE_BY: u16 = 3 << 8 | ZIP64_VERSION;

/// The length of the Zip64 field of the central directory: a header of four bytes, and three numbers.
const ZIP64_FIELD_LEN: usize = 4 + 3 * 8;

/// Returns whether a member's extra fields still fit into a record together with the Zip64 field.
pub(crate) fn extra_fields_fit(member: &Member, extra: &[u8]) -> bool {
    extra.len().max(member.extra.len()) + ZIP64_FIELD_LEN <= usize::from(u16::MAX)
}

/// The location of a member's sizes and checksum.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizesLocation {
    /// In the local header.
    LocalHeader,
    /// In a data descriptor with 32-bit sizes, which streaming readers expect for members below 4 GiB.
    Descriptor32,
    /// In a data descriptor with 64-bit sizes.
    Descriptor64,
}

/// A builder for records of little-endian integers.
#[derive(Default)]
struct RecordBuilder(Vec<u8>);

impl RecordBuilder {
    fn u16(mut self, number: u16) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }
}

/// Returns the extra field with the block index, or no bytes if the member needs no index, or has no room for it.
///
/// Some programs refuse a record of the directory that is longer than 65,535 bytes in all.
pub(crate) fn block_index_field(index: &BlockIndex, name_len: usize) -> Vec<u8> {
    let room =
        usize::from(u16::MAX).saturating_sub(super::DIRECTORY_RECORD_SIZE + name_len + ZIP64_FIELD_LEN + 4);
    let Some(field) = index.to_field(room) else { return Vec::new() };
    let mut record = RecordBuilder::default().u16(BLOCK_INDEX_FIELD).u16(saturating_u16(field.len()));
    record.0.extend(field);
    record.0
}

fn saturating_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Converts a length that is known to fit.
fn saturating_u16(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Returns the flags to write: the member's own, with the data descriptor flag set as needed.
fn flags(member: &Member, has_descriptor: bool) -> u16 {
    member.flags & !DESCRIPTOR_FLAG | if has_descriptor { DESCRIPTOR_FLAG } else { 0 }
}

/// Encodes a local header for the offset `file_at`, padded so that the content is aligned.
///
/// Sizes and checksum that are not yet known follow in a data descriptor, or are patched later.
pub(crate) fn local_record(member: &Member, extra: &[u8], file_at: u64, sizes: SizesLocation) -> Vec<u8> {
    let has_descriptor = sizes != SizesLocation::LocalHeader;
    let large = if sizes == SizesLocation::Descriptor32 { 0 } else { 20 };
    let fixed = (super::LOCAL_HEADER_SIZE + member.raw_name().len() + large + extra.len()) as u64;
    let mut fill = (file_at + fixed).next_multiple_of(CONTENT_ALIGNMENT) - file_at - fixed;
    if (1..4).contains(&fill) {
        fill += CONTENT_ALIGNMENT; // the field's own header takes four bytes
    }
    // Drop the padding if another program's extra fields leave no space for it. `extra_fields_fit` has checked the rest.
    let fill = if large + extra.len() + fill as usize <= usize::from(u16::MAX) { fill as usize } else { 0 };
    let (crc, packed, size) =
        if has_descriptor { (0, 0, 0) } else { (member.crc, member.packed, member.size) };
    let mut record = RecordBuilder::default()
        .u32(LOCAL_HEADER_SIGNATURE)
        .u16(member.version_needed.max(ZIP64_VERSION))
        .u16(flags(member, has_descriptor))
        .u16(member.method.number())
        .u32(member.dos_timestamp)
        .u32(crc)
        .u32(if large > 0 { u32::MAX } else { 0 })
        .u32(if large > 0 { u32::MAX } else { 0 })
        .u16(saturating_u16(member.raw_name().len()))
        .u16(saturating_u16(large + extra.len() + fill));
    record.0.extend(member.raw_name());
    if large > 0 {
        record = record.u16(ZIP64_FIELD).u16(16).u64(size).u64(packed);
    }
    record.0.extend(extra);
    if fill > 0 {
        record = record.u16(PADDING_FIELD).u16(saturating_u16(fill - 4));
        record.0.resize(record.0.len() + fill - 4, 0);
    }
    record.0
}

/// Returns the patches of a local header once sizes and checksum are known, each with its offset.
pub(crate) fn local_record_patches(member: &Member) -> [(u64, Vec<u8>); 2] {
    let sizes = RecordBuilder::default().u64(member.size).u64(member.packed).0;
    // Both positions are fixed: the checksum is at 14, and the sizes are in the Zip64 field, which is first.
    let sizes_at = (super::LOCAL_HEADER_SIZE + member.raw_name().len() + 4) as u64;
    [(14, member.crc.to_le_bytes().to_vec()), (sizes_at, sizes)]
}

/// Encodes the data descriptor that follows a member's content.
pub(crate) fn descriptor(member: &Member, sizes: SizesLocation) -> Vec<u8> {
    let record = RecordBuilder::default().u32(super::DESCRIPTOR_SIGNATURE).u32(member.crc);
    match sizes {
        SizesLocation::Descriptor32 => {
            record.u32(saturating_u32(member.packed)).u32(saturating_u32(member.size)).0
        }
        _ => record.u64(member.packed).u64(member.size).0,
    }
}

/// Encodes a member's record in the central directory.
pub(crate) fn directory_record(member: &Member, has_descriptor: bool) -> Vec<u8> {
    let mut large = RecordBuilder::default();
    // The ZIP specification fixes the order. Only numbers that do not fit into 32 bits are present.
    for number in [member.size, member.packed, member.offset] {
        if saturating_u32(number) == u32::MAX {
            large = large.u64(number);
        }
    }
    let large_len = if large.0.is_empty() { 0 } else { 4 + large.0.len() };
    let mut record = RecordBuilder::default()
        .u32(DIRECTORY_RECORD_SIGNATURE)
        .u16(member.made_by)
        .u16(member.version_needed.max(ZIP64_VERSION))
        .u16(flags(member, has_descriptor))
        .u16(member.method.number())
        .u32(member.dos_timestamp)
        .u32(member.crc)
        .u32(saturating_u32(member.packed))
        .u32(saturating_u32(member.size))
        .u16(saturating_u16(member.raw_name().len()))
        .u16(saturating_u16(large_len + member.extra.len()))
        .u16(saturating_u16(member.comment.len()))
        .u16(0) // disk number
        .u16(member.internal_attributes)
        .u32(member.attributes)
        .u32(saturating_u32(member.offset));
    record.0.extend(member.raw_name());
    if large_len > 0 {
        record = record.u16(ZIP64_FIELD).u16(saturating_u16(large.0.len()));
        record.0.extend(large.0);
    }
    record.0.extend(&member.extra);
    record.0.extend(&member.comment);
    record.0
}

/// Encodes what follows the central directory: the Zip64 records, if they are needed, and the end record.
pub(crate) fn directory_end(count: u64, offset: u64, len: u64, comment: &[u8]) -> Vec<u8> {
    let is_large = count >= 0xFFFF || saturating_u32(offset) == u32::MAX || saturating_u32(len) == u32::MAX;
    let mut record = RecordBuilder::default();
    if is_large {
        record = record
            .u32(END64_SIGNATURE)
            .u64(44)
            .u16(MADE_BY)
            .u16(ZIP64_VERSION)
            .u32(0)
            .u32(0)
            .u64(count)
            .u64(count);
        record = record.u64(len).u64(offset);
        record = record.u32(LOCATOR64_SIGNATURE).u32(0).u64(offset + len).u32(1);
    }
    let short_count = u16::try_from(count).unwrap_or(u16::MAX);
    record = record.u32(END_SIGNATURE).u16(0).u16(0).u16(short_count).u16(short_count);
    record = record.u32(saturating_u32(len)).u32(saturating_u32(offset)).u16(saturating_u16(comment.len()));
    record.0.extend(comment);
    record.0
}
