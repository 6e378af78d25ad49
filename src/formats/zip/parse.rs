//! Decoding of an archive's records.

use super::{
    BLOCK_INDEX_FIELD, DESCRIPTOR_FLAG, DESCRIPTOR_SIGNATURE, DIRECTORY_RECORD_SIGNATURE, ENCRYPTED_FLAG,
    END_SIGNATURE, END64_SIGNATURE, LOCAL_HEADER_SIGNATURE, LOCATOR64_SIGNATURE, Member, Method,
    PADDING_FIELD, PATCH_FLAG, STRONGLY_ENCRYPTED_FLAG, UNICODE_NAME_FIELD, UTF8_FLAG, ZIP64_FIELD, name,
};
use crate::codec::{BlockIndex, ContentInfo, NoIndex};
use crate::error::{Fault, FilePart, Result};

/// The number of bytes at the end of a file that [`find_end`] needs.
///
/// This is the size of an end record with the longest comment (22 + 65,535), and of the Zip64 locator (20)
/// and the Zip64 end record (56) before it.
pub(crate) const MAX_TAIL_LEN: u64 = 22 + 65_535 + 20 + 56;
/// The longest data descriptor: a signature, the checksum, and two sizes.
#[cfg(feature = "object")]
pub(crate) const MAX_DESCRIPTOR_LEN: u64 = 24;
/// The fixed size of a local header.
pub(crate) const LOCAL_HEADER_SIZE: usize = 30;
pub(super) const DIRECTORY_RECORD_SIZE: usize = 46;
/// What is wrong if the directory begins before the offset that the end record states.
pub(crate) const MISSING_BYTES: &str = "bytes are missing before its directory";
/// The size of an end record without its comment.
const END_RECORD_SIZE: usize = 22;
/// The size of a Zip64 end record without fields that are unknown.
const MIN_END64_SIZE: usize = 56;
const END_SIGNATURE_BYTES: [u8; 4] = END_SIGNATURE.to_le_bytes();

/// The position of the central directory, as recorded in the end record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndRecord {
    count: u64,
    /// The offset of the central directory in the file.
    pub(crate) directory_start: u64,
    pub(crate) directory_len: u64,
    /// The number of bytes before the archive. The offsets in the archive do not include them.
    prefix_len: u64,
    /// The archive's comment.
    pub(crate) comment: Vec<u8>,
    /// Where other programs look for a record first, its signature, and what it is: if it exists, they read another archive.
    pub(crate) other_places: Vec<(u64, u32, &'static str)>,
}

fn malformed(reason: impl Into<String>) -> crate::error::Error {
    Fault::Malformed { part: FilePart::Archive, reason: reason.into(), offset: None }.into()
}

/// A cursor over little-endian integers.
struct RecordCursor<'a>(&'a [u8]);

impl<'a> RecordCursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| malformed("a record is truncated"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("exactly N bytes were taken"))
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}

/// Finds the central directory from the last bytes of a file, which start at `tail_at`; `None` if there is no end record.
///
/// Some programs take the last signature of an end record, others the record whose comment ends with the file. Unless that is the
/// same one, the archive is refused.
pub(crate) fn find_end(tail: &[u8], tail_at: u64) -> Result<Option<EndRecord>> {
    let mut places: Vec<usize> = memchr::memmem::find_iter(tail, &END_SIGNATURE_BYTES)
        .filter(|at| tail.len() - at >= END_RECORD_SIZE)
        .collect();
    let Some(last) = places.pop() else { return Ok(None) };
    let end_of = |at: usize| at + END_RECORD_SIZE + usize::from(comment_len(tail, at));
    // Content before the end record may have signatures, too: those of an archive within the archive.
    let other = places.into_iter().find(|at| end_of(*at) == tail.len());
    if let Some(other) = other {
        let (outer, inner) = (tail_at + other as u64, tail_at + last as u64);
        return Err(malformed(format!(
            "it has two end records, at byte {outer} and, in its comment, at byte {inner}"
        )));
    }
    match tail.len().checked_sub(end_of(last)) {
        Some(0) => parse_end(tail, tail_at, last).map(Some),
        Some(more) => Err(malformed(format!("{more} bytes follow its end record"))),
        None => Err(malformed("the comment of its end record is truncated")),
    }
}

/// Returns the length of the comment of the end record at `at`, whose fixed part is within `tail`.
fn comment_len(tail: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([tail[at + 20], tail[at + 21]])
}

fn parse_end(tail: &[u8], tail_at: u64, at: usize) -> Result<EndRecord> {
    let mut numbers = RecordCursor(&tail[at + 4..]);
    let disks = (numbers.u16()?, numbers.u16()?);
    let counts = (numbers.u16()?, numbers.u16()?);
    let (len, offset) = (numbers.u32()?, numbers.u32()?);
    let (mut count, mut len, mut offset) = (u64::from(counts.1), u64::from(len), u64::from(offset));
    let mut directory_end = at;
    let mut end64 = None;
    if let Some((place, stated)) = find_zip64_end(tail, tail_at, at)? {
        end64 = Some((tail_at + place as u64, stated));
        let mut numbers = RecordCursor(&tail[place + 4..at]);
        let (_size, _versions) = (numbers.u64()?, numbers.u32()?);
        let disks64 = (numbers.u32()?, numbers.u32()?);
        let counts64 = (numbers.u64()?, numbers.u64()?);
        let (len64, offset64) = (numbers.u64()?, numbers.u64()?);
        // A short number must match the Zip64 number, or be all ones if only the Zip64 record contains it.
        let agrees = |short: u64, most: u64, long: u64| short == most || short == long;
        if disks64 != (0, 0) || counts64.0 != counts64.1 {
            return Err(malformed("it is spread over several disks"));
        }
        if !agrees(count, 0xFFFF, counts64.1)
            || !agrees(len, 0xFFFF_FFFF, len64)
            || !agrees(offset, 0xFFFF_FFFF, offset64)
        {
            return Err(malformed("its two end records contradict each other"));
        }
        (count, len, offset, directory_end) = (counts64.1, len64, offset64, place);
    } else if disks != (0, 0) || counts.0 != counts.1 {
        return Err(malformed("it is spread over several disks"));
    }
    let directory_end = tail_at + directory_end as u64;
    // Derive the position from the end, since offsets are wrong if something was put before the archive.
    let start =
        directory_end.checked_sub(len).ok_or_else(|| malformed("its directory is longer than the file"))?;
    let prefix_len = start.checked_sub(offset).ok_or_else(|| malformed(MISSING_BYTES))?;
    // Reject an impossible count before the directory is read.
    if count.checked_mul(DIRECTORY_RECORD_SIZE as u64).is_none_or(|least| least > len) {
        return Err(malformed(format!("{count} members do not fit a directory of {len} bytes")));
    }
    // Offsets do not include the bytes before the archive, but some programs first look where they say.
    let mut other_places = Vec::new();
    if let Some((place, stated)) = end64.filter(|(place, stated)| place != stated) {
        if stated.checked_add(prefix_len) != Some(place) {
            return Err(malformed(format!(
                "its locator says that the ZIP64 end record is at byte {stated}, and it is at byte {place}"
            )));
        }
        other_places.push((stated, END64_SIGNATURE, "ZIP64 end record"));
    }
    if prefix_len > 0 && count > 0 {
        other_places.push((offset, DIRECTORY_RECORD_SIGNATURE, "directory"));
    }
    Ok(EndRecord {
        count,
        directory_start: start,
        directory_len: len,
        prefix_len,
        comment: tail[at + END_RECORD_SIZE..].to_vec(),
        other_places,
    })
}

/// Returns the position of the Zip64 end record in the tail, and the offset that its locator states, if there is one.
fn find_zip64_end(tail: &[u8], tail_at: u64, at: usize) -> Result<Option<(usize, u64)>> {
    let Some(locator_at) = at.checked_sub(20) else { return Ok(None) };
    let mut numbers = RecordCursor(&tail[locator_at..at]);
    if numbers.u32()? != LOCATOR64_SIGNATURE {
        return Ok(None);
    }
    let (disk, stated, disks) = (numbers.u32()?, numbers.u64()?, numbers.u32()?);
    if disk != 0 || disks != 1 {
        return Err(malformed("it is spread over several disks"));
    }
    // Some programs use the stated offset, as the record may have unknown fields and thus be longer. Others use the
    // position of a record of minimal size, as the archive may not start at offset 0. Either way, the record must end
    // at its locator, according to its own length.
    let by_offset = stated.checked_sub(tail_at).and_then(|place| usize::try_from(place).ok());
    let places = [by_offset, locator_at.checked_sub(MIN_END64_SIZE)];
    let is_record = |place: &usize| {
        let record = tail.get(*place..locator_at).unwrap_or_default();
        record.starts_with(&END64_SIGNATURE.to_le_bytes())
    };
    let mut records = places.into_iter().flatten().filter(is_record);
    let (Some(place), next) = (records.next(), records.next()) else {
        return Err(malformed("the ZIP64 end record is not at the position in its locator"));
    };
    if let Some(next) = next.filter(|next| *next != place) {
        let (named, adjacent) = (tail_at + place as u64, tail_at + next as u64);
        return Err(malformed(format!(
            "it has two ZIP64 end records: its locator names byte {named}, and another one is right before the locator, at byte {adjacent}"
        )));
    }
    let size = RecordCursor(&tail[place + 4..]).u64()?;
    match size >= 44 && size.checked_add(place as u64 + 12) == Some(locator_at as u64) {
        true => Ok(Some((place, stated))),
        false => Err(malformed("its ZIP64 end record does not end at its locator")),
    }
}

/// Decodes the central directory, and returns the members in the same order.
pub(crate) fn directory(bytes: &[u8], end: &EndRecord) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    let mut numbers = RecordCursor(bytes);
    while !numbers.0.is_empty() {
        let central_offset = end.directory_start + (bytes.len() - numbers.0.len()) as u64;
        members.push(Member { central_offset, ..parse_member(&mut numbers, end)? });
    }
    if members.len() as u64 != end.count {
        let found = members.len();
        return Err(malformed(format!(
            "its directory has {found} members, and its end record says {}",
            end.count
        )));
    }
    // Members must not overlap: the limit of each is the start of the next.
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&index| members[index].offset);
    let mut limit = end.directory_start;
    for &index in order.iter().rev() {
        let member = &mut members[index];
        let least = LOCAL_HEADER_SIZE as u64 + member.raw_name().len() as u64;
        let ends = member.offset.checked_add(least).and_then(|start| start.checked_add(member.packed));
        if ends.is_none_or(|ends| ends > limit) {
            let name = member.name.escape_debug();
            return Err(malformed(format!("its member '{name}' overlaps the next record")));
        }
        member.next_record_offset = limit;
        limit = member.offset;
    }
    Ok(members)
}

/// Decodes the fixed part and the name of a local header that is not in a directory; `None` if it cannot be one, or does not say
/// how long its content is.
pub(crate) fn local_member(record: &[u8], offset: u64) -> Option<Member> {
    let mut numbers = RecordCursor(record.strip_prefix(&LOCAL_HEADER_SIGNATURE.to_le_bytes())?);
    let version_needed = numbers.u16().ok()?;
    let (flags, method) = (numbers.u16().ok()?, numbers.u16().ok()?);
    let (dos_timestamp, crc) = (numbers.u32().ok()?, numbers.u32().ok()?);
    let (packed, size) = (numbers.u32().ok()?, numbers.u32().ok()?);
    let (name_len, extra_len) = (numbers.u16().ok()?, numbers.u16().ok()?);
    let raw_name = numbers.take(name_len.into()).ok()?;
    let extra = numbers.take(extra_len.into()).ok()?;
    let mut large = RecordCursor(zip64_field(extra));
    let mut number = |short: u32| if short == u32::MAX { large.u64().ok() } else { Some(short.into()) };
    let (size, packed) = (number(size)?, number(packed)?);
    let name = name::decode(raw_name, flags).filter(|name| !name.is_empty())?;
    let content = offset + (LOCAL_HEADER_SIZE + raw_name.len() + extra.len()) as u64;
    (flags & DESCRIPTOR_FLAG == 0).then_some(())?;
    Some(Member {
        stored_name: (name.as_bytes() != raw_name).then(|| raw_name.into()),
        name,
        flags,
        method: Method::from_number(method),
        crc,
        packed,
        size,
        offset,
        next_record_offset: content.checked_add(packed)?,
        central_offset: 0,
        dos_timestamp,
        attributes: 0,
        made_by: 0,
        version_needed,
        internal_attributes: 0,
        extra: preserved_fields(extra),
        comment: Vec::new(),
    })
}

fn parse_member(numbers: &mut RecordCursor<'_>, end: &EndRecord) -> Result<Member> {
    if numbers.u32()? != DIRECTORY_RECORD_SIGNATURE {
        return Err(malformed("a record of its directory has another signature"));
    }
    let (made_by, version_needed) = (numbers.u16()?, numbers.u16()?);
    let (flags, method, dos_timestamp, crc) =
        (numbers.u16()?, numbers.u16()?, numbers.u32()?, numbers.u32()?);
    let (packed, size) = (numbers.u32()?, numbers.u32()?);
    let (name_len, extra_len, comment_len) = (numbers.u16()?, numbers.u16()?, numbers.u16()?);
    let (disk, internal_attributes, attributes, offset) =
        (numbers.u16()?, numbers.u16()?, numbers.u32()?, numbers.u32()?);
    let raw_name = numbers.take(name_len.into())?;
    let extra = numbers.take(extra_len.into())?;
    let comment = numbers.take(comment_len.into())?.to_vec();

    let name = name::decode(raw_name, flags)
        .ok_or_else(|| malformed(format!("the name \"{}\" is not valid text", raw_name.escape_ascii())))?;
    if !extra.is_empty() {
        check_extra(extra, raw_name, &name)?;
    }
    let mut large = RecordCursor(zip64_field(extra));
    let mut number = |short: u32| match short {
        u32::MAX => large.u64().map_err(|_| malformed("a record lacks its ZIP64 sizes")),
        short => Ok(short.into()),
    };
    let (size, packed, offset) = (number(size)?, number(packed)?, number(offset)?);
    if disk != 0 && disk != u16::MAX {
        return Err(malformed("it is spread over several disks"));
    }
    if name.ends_with('/') && size > 0 {
        // Some programs unpack the content, others make a folder.
        return Err(malformed(format!("its folder '{}' has {size} bytes of content", name.escape_debug())));
    }
    let offset = offset.checked_add(end.prefix_len).filter(|offset| *offset < end.directory_start);
    let offset = offset.ok_or_else(|| {
        malformed(format!("its member '{}' starts outside of the archive", name.escape_debug()))
    })?;
    let method = Method::from_number(method);
    if method == Method::Stored && flags & ENCRYPTED_FLAG == 0 && packed != size {
        let name = name.escape_debug();
        return Err(malformed(format!("its member '{name}' is stored in {packed} bytes and has {size}")));
    }
    Ok(Member {
        stored_name: (name.as_bytes() != raw_name).then(|| raw_name.into()),
        name,
        flags,
        method,
        crc,
        packed,
        size,
        offset,
        next_record_offset: 0,
        central_offset: 0,
        dos_timestamp,
        attributes,
        made_by,
        version_needed,
        internal_attributes,
        extra: preserved_fields(extra),
        comment,
    })
}

/// Returns the content of the Zip64 extra field, or an empty slice.
fn zip64_field(extra: &[u8]) -> &[u8] {
    field(extra, ZIP64_FIELD).unwrap_or_default()
}

/// Returns the content of the first extra field with this identifier.
pub(super) fn field(extra: &[u8], id: u16) -> Option<&[u8]> {
    fields(extra, id).next()
}

/// Returns the contents of all extra fields with this identifier.
fn fields(mut extra: &[u8], id: u16) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        while let Some((head, rest)) = extra.split_first_chunk::<4>() {
            let len = usize::from(u16::from_le_bytes([head[2], head[3]])).min(rest.len());
            let content;
            (content, extra) = rest.split_at(len);
            if [head[0], head[1]] == id.to_le_bytes() {
                return Some(content);
            }
        }
        None
    })
}

/// Returns an error if programs could read the extra fields of a record in several ways.
fn check_extra(extra: &[u8], raw_name: &[u8], name: &str) -> Result<()> {
    let mut rest = extra;
    // Fewer than 4 bytes are padding.
    while let Some((head, fields)) = rest.split_first_chunk::<4>() {
        let len = u16::from_le_bytes([head[2], head[3]]);
        rest = fields.get(len.into()..).ok_or_else(|| {
            let (name, remaining) = (name.escape_debug(), fields.len());
            malformed(format!(
                "an extra field of its member '{name}' declares {len} bytes, {remaining} remain"
            ))
        })?;
    }
    if fields(extra, ZIP64_FIELD).nth(1).is_some() {
        return Err(malformed(format!("its member '{}' has two fields of ZIP64 sizes", name.escape_debug())));
    }
    // A version, the checksum of the name that the field replaces, and the name. A field of another name is stale.
    for field in fields(extra, UNICODE_NAME_FIELD) {
        let checksum = crc32fast::hash(raw_name).to_le_bytes();
        let Some(other) = field.strip_prefix(&[1]).and_then(|field| field.strip_prefix(&checksum)) else {
            continue;
        };
        if other != name.as_bytes() {
            let (one, other) = (name.escape_debug(), other.escape_ascii());
            return Err(malformed(format!(
                "a member has two names: '{one}', and \"{other}\" in a field for Unicode"
            )));
        }
    }
    Ok(())
}

/// Returns the first block index of a member that can be used, or says why there is none.
pub(crate) fn block_index(member: &Member) -> Result<BlockIndex, NoIndex> {
    // Nothing can be that dense, so an index that is not allowed is ignored, unless it is stale.
    let ratio = match member.method.highest_ratio() {
        Some(ratio) if member.method.can_have_index() && !member.is_encrypted() => ratio,
        _ => 0,
    };
    let described = ContentInfo { crc: member.crc, size: member.size, packed: member.packed };
    let mut found = NoIndex::Absent;
    for field in fields(&member.extra, BLOCK_INDEX_FIELD) {
        match BlockIndex::of_field(field, &described, ratio) {
            Ok(index) => return Ok(index),
            Err(reason) if found == NoIndex::Absent => found = reason,
            Err(_) => {}
        }
    }
    Err(found)
}

/// Returns the extra fields of a record, except those that are regenerated when it is written.
pub(crate) fn preserved_fields(mut extra: &[u8]) -> Vec<u8> {
    let mut own = Vec::new();
    while let Some((head, rest)) = extra.split_first_chunk::<4>() {
        let id = u16::from_le_bytes([head[0], head[1]]);
        let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
        if len > rest.len() {
            break; // a malformed field: ignore the rest
        }
        if id != ZIP64_FIELD && id != PADDING_FIELD {
            own.extend_from_slice(head);
            own.extend_from_slice(&rest[..len]);
        }
        extra = &rest[len..];
    }
    own
}

/// Returns the length of the extra fields, from a local header that must include its fixed part.
pub(crate) fn extra_len(record: &[u8]) -> usize {
    match record.get(28..30) {
        Some(len) => usize::from(u16::from_le_bytes([len[0], len[1]])),
        None => 0,
    }
}

/// Checks a local header, with its extra fields, against the central directory.
///
/// Returns the offset of the content in the file. What follows the content is checked by [`check_after_content`].
pub(crate) fn checked_content_offset(record: &[u8], member: &Member) -> Result<u64> {
    let mut numbers = RecordCursor(record);
    if numbers.u32()? != LOCAL_HEADER_SIGNATURE {
        return Err(malformed("its local header has a different signature"));
    }
    let _version = numbers.u16()?;
    let (flags, method, _stamp, crc) = (numbers.u16()?, numbers.u16()?, numbers.u32()?, numbers.u32()?);
    let (packed, size) = (numbers.u32()?, numbers.u32()?);
    let (name_len, extra_len) = (numbers.u16()?, numbers.u16()?);
    if (flags ^ member.flags) & ENCRYPTED_FLAG != 0 {
        return Err(malformed("its local header and the directory disagree on whether it is encrypted"));
    }
    if (flags | member.flags) & STRONGLY_ENCRYPTED_FLAG != 0 {
        let reason = "the member is encrypted by PKZIP's strong encryption".into();
        return Err(Fault::Unsupported { part: FilePart::Archive, reason }.into());
    }
    if (flags | member.flags) & PATCH_FLAG != 0 {
        return Err(Fault::Unsupported {
            part: FilePart::Archive,
            reason: "the member is a patch of another file".into(),
        }
        .into());
    }
    let same_name =
        usize::from(name_len) == member.raw_name().len() && numbers.0.starts_with(member.raw_name());
    let is_same_text = member.name.is_ascii() || (flags ^ member.flags) & UTF8_FLAG == 0;
    if !same_name || !is_same_text || Method::from_number(method) != member.method {
        return Err(malformed("the record in front of it contradicts the directory"));
    }
    let extra = numbers.0.get(member.raw_name().len()..).unwrap_or_default();
    check_extra(extra, member.raw_name(), &member.name)?;
    // With a data descriptor, these may be zeros. All ones mean that the number is in the Zip64 field.
    let has_sizes = flags & DESCRIPTOR_FLAG == 0;
    let is_wrong = |found: u64, wanted: u64| found != wanted && (has_sizes || found != 0);
    let is_wrong_size = |short: u32, wanted: u64| short != u32::MAX && is_wrong(short.into(), wanted);
    if is_wrong(crc.into(), member.crc.into())
        || is_wrong_size(packed, member.packed)
        || is_wrong_size(size, member.size)
    {
        return Err(malformed(
            "the record in front of it states another size or checksum than the directory",
        ));
    }
    let mut large = RecordCursor(zip64_field(extra));
    for (short, wanted) in [(size, member.size), (packed, member.packed)] {
        if short == u32::MAX && large.u64().ok().map_or(has_sizes, |found| is_wrong(found, wanted)) {
            return Err(malformed("its local header and the directory record different sizes"));
        }
    }
    let start = member.offset + (LOCAL_HEADER_SIZE + member.raw_name().len()) as u64 + u64::from(extra_len);
    match start.checked_add(member.packed) {
        Some(end) if end <= member.next_record_offset => Ok(start),
        _ => Err(malformed("it overlaps the next record")),
    }
}

/// Checks the bytes between a member's content and the next record, of which `rest` are the first: there must be no record that
/// is not in the directory, and a data descriptor, which the local header announces, has to agree with the directory.
pub(crate) fn check_after_content(local_header: &[u8], rest: &[u8], member: &Member) -> Result<()> {
    let after = after_content(local_header, rest, member)?;
    match find_record(after) {
        Some(_) => Err(malformed("a record that does not belong to the directory follows it")),
        None => Ok(()),
    }
}

/// Returns where the first record begins that programs search for when they read an archive as it comes.
pub(crate) fn find_record(bytes: &[u8]) -> Option<usize> {
    let signatures = [LOCAL_HEADER_SIGNATURE, DIRECTORY_RECORD_SIGNATURE, END_SIGNATURE];
    signatures.iter().filter_map(|signature| memchr::memmem::find(bytes, &signature.to_le_bytes())).min()
}

/// Returns the bytes of `rest`, which follow a member's content, that come after its data descriptor, if it has one.
pub(crate) fn after_content<'a>(local_header: &[u8], rest: &'a [u8], member: &Member) -> Result<&'a [u8]> {
    let has_descriptor = local_header.get(6).is_some_and(|flags| u16::from(*flags) & DESCRIPTOR_FLAG != 0);
    match has_descriptor && !rest.is_empty() {
        true => after_descriptor(rest, member).ok_or_else(|| {
            malformed("its data descriptor states another size or checksum than the directory")
        }),
        false => Ok(rest),
    }
}

/// Returns what follows a data descriptor that agrees with the directory: its signature may be left out, and its sizes may have
/// 4 or 8 bytes.
fn after_descriptor<'a>(rest: &'a [u8], member: &Member) -> Option<&'a [u8]> {
    let unsigned = rest.strip_prefix(&DESCRIPTOR_SIGNATURE.to_le_bytes());
    let sizes = |numbers: &'a [u8]| {
        let rest = numbers.strip_prefix(&member.crc.to_le_bytes())?;
        let long = [member.packed.to_le_bytes(), member.size.to_le_bytes()].concat();
        let short = [member.packed as u32, member.size as u32].map(u32::to_le_bytes).concat(); // the lower half
        rest.strip_prefix(&long[..]).or_else(|| rest.strip_prefix(&short[..]))
    };
    unsigned.and_then(sizes).or_else(|| sizes(rest))
}
