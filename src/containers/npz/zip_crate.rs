//! Members that the `zip` crate decodes: those that are encrypted or use a rare compression method.
//!
//! The crate is given an archive that contains only this member: the member's own bytes, followed by a
//! directory with one record. Thus only this library parses the real directory, and members with the same
//! name stay distinct. The size and checksum of the content are verified here, as for all other members.

use std::io::{self, Read, Seek, SeekFrom};

use ::zip::ZipArchive;
use ::zip::read::ZipReadOptions;
use ::zip::result::ZipError;

use super::archive::ArchiveBytes;
use super::content::{SummedReader, check_size};
use crate::codec::{UnorderedCrc, xz};
use crate::error::{Error, Fault, FilePart, Remedy, Result};
use crate::options::ReadOptions;
use crate::transfer::Source;
use crate::zip::{self, Member, Method};

/// A virtual archive that consists of one member.
struct SingleMemberArchive<'a, 'p> {
    archive_bytes: &'a mut ArchiveBytes<'p>,
    member: &'a Member,
    /// The offset in the file at which the member's own bytes end.
    end: u64,
    /// The directory, which follows the member's bytes.
    directory: Vec<u8>,
    at: u64,
    /// The number of the member's own bytes that have been read.
    reached: &'a std::cell::Cell<u64>,
}

impl SingleMemberArchive<'_, '_> {
    fn member_len(&self) -> u64 {
        self.end - self.member.offset
    }
}

impl Read for SingleMemberArchive<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match self.member_len().checked_sub(self.at) {
            None | Some(0) => {
                let from = usize::try_from(self.at - self.member_len()).unwrap_or(usize::MAX);
                self.directory.get(from..).unwrap_or_default().read(into)?
            }
            Some(left) => {
                let max_len = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
                let count = self.archive_bytes.fill_at(self.member.offset + self.at, &mut into[..max_len])?;
                if count == 0 && max_len > 0 {
                    return Err(crate::transfer::truncated_archive().into());
                }
                self.reached.set(self.reached.get().max(self.at + count as u64));
                count
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for SingleMemberArchive<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::End(by) => (self.member_len() + self.directory.len() as u64).checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Reads the decoded content of a member with `read`, and verifies its size and checksum.
///
/// `content` is the offset of the encoded content in the file.
pub(super) fn read_verified<T>(
    archive_bytes: &mut ArchiveBytes<'_>,
    (member, content): (&Member, u64),
    options: &ReadOptions,
    read: impl FnOnce(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    let ((made, sum), is_authenticated) =
        with_decoded(archive_bytes, (member, content), options, |decoded| {
            let mut summed = SummedReader::new(decoded);
            let made = read(&mut Source::of(&mut summed))?;
            let position = summed.position;
            check_size(&mut summed, position, member, options)?;
            Ok((made, summed.sum))
        })?;
    check_decoded(sum, is_authenticated, member)?;
    Ok(made)
}

fn check_decoded(sum: UnorderedCrc, is_authenticated: bool, member: &Member) -> Result<()> {
    let found = sum.finish(member.size, &mut |_, _| Ok(()))?; // all bytes have been read
    if member.method_inside_aes().is_some() && !is_authenticated {
        let reason = "its content ends before its authentication code".into();
        return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
    }
    // AE-2 members may have no CRC (0): the authentication code replaces the CRC.
    match found == member.crc || is_authenticated && member.crc == 0 {
        true => Ok(()),
        false => Err(Fault::wrong_checksum(found, member.crc).into()),
    }
}

/// Invokes `call` with the beginning of the decoded content, without verifying anything.
pub(super) fn read_unverified<T>(
    archive_bytes: &mut ArchiveBytes<'_>,
    (member, content): (&Member, u64),
    options: &ReadOptions,
    call: impl FnOnce(&mut Source<'_>) -> Result<T>,
) -> Result<T> {
    let authenticated =
        with_decoded(archive_bytes, (member, content), options, |stream| call(&mut Source::of(stream)));
    authenticated.map(|(found, _)| found)
}

/// Invokes `call` with the decoded content, and also returns whether an authentication code was verified.
fn with_decoded<T>(
    archive_bytes: &mut ArchiveBytes<'_>,
    (member, content): (&Member, u64),
    options: &ReadOptions,
    call: impl FnOnce(&mut DecodedContent<'_>) -> Result<T>,
) -> Result<(T, bool)> {
    let aes = member.method_inside_aes();
    let method = aes.unwrap_or(member.method);
    let is_known = match method {
        Method::Stored | Method::Deflated => member.is_encrypted(),
        Method::Deflate64 | Method::Bzip2 | Method::Lzma | Method::Xz => true,
        Method::Zstd | Method::Other(_) => false,
    };
    if !is_known {
        return Err(unsupported(method));
    }
    // Check before the crate decodes the member, so that it cannot allocate more than the limits allow.
    check_decoder_memory(archive_bytes, (member, content), method, options)?;
    if member.is_encrypted() && options.get_password().is_none() {
        return Err(Error::from(Fault::Encrypted { has_password: false }).with_help(Remedy::Password));
    }
    let reached = std::cell::Cell::new(0);
    let end = content + member.packed;
    // The real offset is irrelevant here: in the virtual archive the member starts at 0.
    let alone = Member { offset: 0, ..member.clone() };
    let record = zip::directory_record(&alone, member.has_descriptor());
    let directory =
        [&record[..], &zip::directory_end(1, end - member.offset, record.len() as u64, b"")].concat();
    let one = SingleMemberArchive { archive_bytes, member, end, directory, at: 0, reached: &reached };
    let mut archive = ZipArchive::new(one).map_err(convert_zip_error)?;
    let options = ZipReadOptions::new().password(options.get_password()).ignore_crc32(true); // this module verifies the CRC
    let file = archive.by_index_with_options(0, options).map_err(convert_zip_error)?;
    reached.set(0); // finding the end record has already read the last bytes
    let mut unpacked = DecodedContent(Box::new(file));
    let output = call(&mut unpacked)?;
    drop(unpacked);
    drop(archive);
    // The authentication code is at the very end, and the crate reads it only to verify it. So the code has
    // been verified if and only if the last byte has been read.
    Ok((output, aes.is_some() && reached.get() == end - member.offset))
}

/// The decoded content. Errors of the crate become errors about the member.
struct DecodedContent<'a>(Box<dyn Read + 'a>);

impl Read for DecodedContent<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into).map_err(|error| {
            let is_own = error.get_ref().is_some_and(|inner| inner.is::<Error>());
            let is_systems = error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted;
            match is_own || is_systems {
                true => error,
                false => malformed(&error).into(),
            }
        })
    }
}

fn malformed(error: &dyn std::fmt::Display) -> Error {
    Fault::Malformed {
        part: FilePart::Archive,
        reason: format!("its compressed content is malformed: {error}"),
        offset: None,
    }
    .into()
}

fn convert_zip_error(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => match error.downcast::<Error>() {
            Ok(own) => own,
            Err(error) if error.raw_os_error().is_some() => error.into(),
            Err(error) => malformed(&error),
        },
        ZipError::InvalidPassword => {
            Error::from(Fault::Encrypted { has_password: true }).with_help(Remedy::Password)
        }
        error => malformed(&error),
    }
}

fn unsupported(method: Method) -> Error {
    Fault::Unsupported {
        part: FilePart::Archive,
        reason: format!("the member is encrypted and compressed as {method}"),
    }
    .into()
}

/// Fails if decompressing a member needs more memory than the payload limit allows.
fn check_decoder_memory(
    archive_bytes: &mut ArchiveBytes<'_>,
    (member, content): (&Member, u64),
    method: Method,
    options: &ReadOptions,
) -> Result<()> {
    let largest = match method {
        // The decoder itself allocates no more than the uncompressed size.
        Method::Lzma => member.size,
        Method::Xz if member.is_encrypted() => {
            // The block headers, which contain the dictionary sizes, are also encrypted.
            let reason = "the member is encrypted and compressed as xz: the memory required is unknown";
            return Err(Fault::Unsupported { part: FilePart::Archive, reason: reason.into() }.into());
        }
        Method::Xz => xz::largest_dictionary(&mut |at, into| {
            let left = member.packed.saturating_sub(at);
            let max_len = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
            archive_bytes.fill_at(content.saturating_add(at), &mut into[..max_len])
        })?,
        _ => 0,
    };
    options.get_limits().check_payload(largest)
}
