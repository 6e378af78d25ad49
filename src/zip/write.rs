//! Writing an archive's records. Every member has room for sizes of 64 bits in front of it, as NumPy's have, so that
//! nothing has to be known before it is written.

use super::{CENTRAL, DESCRIPTOR, END, END64, EXTRA64, FILL, INDEX, LOCAL, LOCATOR64, Member};
use crate::codec::BlockIndex;

/// Members begin at multiples of this, so that they can be mapped.
const ALIGN: u64 = 64;
/// What a reader has to know: numbers of 64 bits.
pub(crate) const VERSION: u16 = 45;
/// The same, on Unix, whose permissions the attributes hold.
pub(crate) const MADE_BY: u16 = 3 << 8 | VERSION;

/// Whether a member's fields can be written again, with those for numbers of 64 bits.
pub(crate) fn fits(member: &Member, extra: &[u8]) -> bool {
    const LARGE: usize = 4 + 3 * 8;
    extra.len().max(member.extra.len()) + LARGE <= usize::from(u16::MAX)
}

/// Where a member's sizes and checksum are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// In the record before the content.
    Here,
    /// After the content, in 32 bits each: programs that read streams expect that of all that is shorter than 4 GiB.
    FollowShort,
    /// After the content, in 64 bits each.
    FollowLong,
}

/// Numbers one after another.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
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

/// The extra field with the index of a member's blocks; nothing of a member that needs none.
pub(crate) fn index_field(index: &BlockIndex) -> Vec<u8> {
    let Some(field) = index.to_field() else { return Vec::new() };
    let mut record = Record::default().u16(INDEX).u16(short(field.len()));
    record.0.extend(field);
    record.0
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A length that has been checked to fit.
fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// The flags of a member that is written: its own, and whether what is not known before it follows it.
fn flags(member: &Member, follows: bool) -> u16 {
    member.flags & !DESCRIPTOR | if follows { DESCRIPTOR } else { 0 }
}

/// The record in front of a member, which is going to stand at this place in the file. If its sizes and checksum are not
/// known yet, they follow it, or the record is patched.
pub(crate) fn local_record(member: &Member, extra: &[u8], file_at: u64, sizes: Sizes) -> Vec<u8> {
    let follows = sizes != Sizes::Here;
    let large = if sizes == Sizes::FollowShort { 0 } else { 20 };
    let fixed = (super::LOCAL_SIZE + member.raw_name().len() + large + extra.len()) as u64;
    let mut fill = (file_at + fixed).next_multiple_of(ALIGN) - file_at - fixed;
    if (1..4).contains(&fill) {
        fill += ALIGN; // the field's own head takes four
    }
    // Of fields that another program has made so long, nothing is moved; that they fit, `fits` has looked at.
    let fill = if large + extra.len() + fill as usize <= usize::from(u16::MAX) { fill as usize } else { 0 };
    let (crc, packed, size) = if follows { (0, 0, 0) } else { (member.crc, member.packed, member.size) };
    let mut record = Record::default()
        .u32(LOCAL)
        .u16(member.needed.max(VERSION))
        .u16(flags(member, follows))
        .u16(member.method.number())
        .u32(member.stamp)
        .u32(crc)
        .u32(if large > 0 { u32::MAX } else { 0 })
        .u32(if large > 0 { u32::MAX } else { 0 })
        .u16(short(member.raw_name().len()))
        .u16(short(large + extra.len() + fill));
    record.0.extend(member.raw_name());
    if large > 0 {
        record = record.u16(EXTRA64).u16(16).u64(size).u64(packed);
    }
    record.0.extend(extra);
    if fill > 0 {
        record = record.u16(FILL).u16(short(fill - 4));
        record.0.resize(record.0.len() + fill - 4, 0);
    }
    record.0
}

/// What stands in a member's local record when it is known: each with its place behind the record's beginning.
pub(crate) fn patch(member: &Member) -> [(u64, Vec<u8>); 2] {
    let sizes = Record::default().u64(member.size).u64(member.packed).0;
    let sizes_at = (super::LOCAL_SIZE + member.raw_name().len() + 4) as u64;
    [(14, member.crc.to_le_bytes().to_vec()), (sizes_at, sizes)]
}

/// What follows a member whose local record could not know it.
pub(crate) fn descriptor(member: &Member, sizes: Sizes) -> Vec<u8> {
    let record = Record::default().u32(0x0807_4B50).u32(member.crc);
    match sizes {
        Sizes::FollowShort => record.u32(saturated(member.packed)).u32(saturated(member.size)).0,
        _ => record.u64(member.packed).u64(member.size).0,
    }
}

/// A member's record in the directory.
pub(crate) fn directory_record(member: &Member, follows: bool) -> Vec<u8> {
    let mut large = Record::default();
    for number in [member.size, member.packed, member.offset] {
        if saturated(number) == u32::MAX {
            large = large.u64(number);
        }
    }
    let large_len = if large.0.is_empty() { 0 } else { 4 + large.0.len() };
    let mut record = Record::default()
        .u32(CENTRAL)
        .u16(member.made_by)
        .u16(member.needed.max(VERSION))
        .u16(flags(member, follows))
        .u16(member.method.number())
        .u32(member.stamp)
        .u32(member.crc)
        .u32(saturated(member.packed))
        .u32(saturated(member.size))
        .u16(short(member.raw_name().len()))
        .u16(short(large_len + member.extra.len()))
        .u16(short(member.comment.len()))
        .u16(0) // on the first disk
        .u16(member.internal)
        .u32(member.attributes)
        .u32(saturated(member.offset));
    record.0.extend(member.raw_name());
    if large_len > 0 {
        record = record.u16(EXTRA64).u16(short(large.0.len()));
        record.0.extend(large.0);
    }
    record.0.extend(&member.extra);
    record.0.extend(&member.comment);
    record.0
}

/// What follows the directory.
pub(crate) fn directory_end(count: u64, offset: u64, len: u64, comment: &[u8]) -> Vec<u8> {
    let is_large = count >= 0xFFFF || saturated(offset) == u32::MAX || saturated(len) == u32::MAX;
    let mut record = Record::default();
    if is_large {
        record = record.u32(END64).u64(44).u16(MADE_BY).u16(VERSION).u32(0).u32(0).u64(count).u64(count);
        record = record.u64(len).u64(offset);
        record = record.u32(LOCATOR64).u32(0).u64(offset + len).u32(1);
    }
    let short_count = u16::try_from(count).unwrap_or(u16::MAX);
    record = record.u32(END).u16(0).u16(0).u16(short_count).u16(short_count);
    record = record.u32(saturated(len)).u32(saturated(offset)).u16(short(comment.len()));
    record.0.extend(comment);
    record.0
}
