//! Reading of headers and of entire files, of any format.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use super::change;
use super::format::{Expected, FormatHeader};
use super::payload::{FollowUp, PendingPayload, ReadArray};
use crate::bytes::Region;
use crate::error::{Error, Fault, FileSection, Remedy, Result};
use crate::header::{Header, Parsed};
use crate::npy_format::{MAGIC, MIN_PREAMBLE_LEN, NpyHeader};
use crate::options::ReadOptions;
use crate::transfer::Source;

/// Reads a header and returns it with its length, leaving the source directly after the header.
pub(crate) fn read_npy_header(source: &mut Source<'_>, options: &ReadOptions) -> Result<(NpyHeader, usize)> {
    match read_header(source, Expected::NPY, options)? {
        (FormatHeader::Npy(found), used) => Ok((found, used)),
        (FormatHeader::Ra(_), _) => unreachable!("only NPY was expected"),
    }
}

pub(crate) fn read_header(
    source: &mut Source<'_>,
    expected: Expected,
    options: &ReadOptions,
) -> Result<(FormatHeader, usize)> {
    match read_next_header(source, expected, options)? {
        Some(found) => Ok(found),
        None => match expected.parse(&[], options)? {
            Parsed::NeedMore(need) => Err(expected.truncated(&[], need)),
            Parsed::Done(..) => unreachable!("a header has bytes"),
        },
    }
}

/// Reads the header of a file that another process may be appending to.
///
/// A header that matches the length of the file is accepted. Any other header may have been read while it was
/// being written, so it is read again under the header lock.
pub(crate) fn read_header_of_file(
    source: &mut Source<'_>,
    expected: Expected,
    options: &ReadOptions,
) -> Result<(FormatHeader, usize)> {
    let first = read_header(source, expected, options);
    let Some(file) = source.lock_file() else { return first };
    match &first {
        // If the format allows trailing bytes, the length proves nothing; such files (RA) are never appended
        // to.
        Ok((found, _)) if found.allows_trailing() || surplus_of(source, found) == Some(0) => first,
        Err(error) if !error.is_format() => first,
        _ => read_header_again(source, file, expected, options),
    }
}

fn read_header_again(
    source: &mut Source<'_>,
    file: &File,
    expected: Expected,
    options: &ReadOptions,
) -> Result<(FormatHeader, usize)> {
    let lock = change::lock_header(file, change::LockMode::Shared, &mut change::LockTimeout::default());
    source.restart();
    let again = read_header(source, expected, options);
    drop(lock);
    source.update_length(); // after the header has been read: it counts only rows that were written before it
    again
}

/// Returns the number of bytes after the array; `None` if it is unknown or the array is truncated.
fn surplus_of(source: &Source<'_>, found: &FormatHeader) -> Option<u64> {
    source.remaining()?.checked_sub(found.stored_len()?)
}

/// Reads the only array of a file; rows that another process is appending are not included.
pub(crate) fn read_file<T: ReadArray>(path: &Path, expected: Expected, options: &ReadOptions) -> Result<T> {
    let mut file = File::open(path)?;
    // The file has just been opened, so its position is known to be 0 and need not be queried.
    let (mut small, mut source) = (Vec::new(), Source::of_opened(&mut file));
    let pending = begin_file(&mut source, &mut small, expected, options, T::inner_ndim())?;
    pending.read(T::from_payload)
}

fn begin_file<'p, 's>(
    source: &'p mut Source<'s>,
    small: &'s mut Vec<u8>,
    expected: Expected,
    options: &'p ReadOptions,
    inner: usize,
) -> Result<PendingPayload<'p, 's>> {
    if let Some((found, used)) = read_small_file(source, small, expected, options) {
        source.advance(small.len() as u64);
        let stored = Source::region(Region::of_memory(&small[used..]));
        return PendingPayload::new(source, Some(stored), Cow::Owned(found), (options, inner), FollowUp::End);
    }
    let (mut found, _) = read_header_of_file(source, expected, options)?;
    let is_refused = !found.allows_trailing()
        && !options.allows_trailing()
        && surplus_of(source, &found).is_some_and(|bytes| bytes > 0);
    if let Some(file) = source.lock_file().filter(|_| is_refused) {
        // Between the two checks, one append may finish or another may start.
        for _ in 0..3 {
            if change::is_being_changed(file) {
                let (found, after) = (Cow::Owned(found), FollowUp::End);
                return Ok(
                    PendingPayload::new(source, None, found, (options, inner), after)?.allow_trailing()
                );
            }
            (found, _) = read_header_again(source, file, expected, options)?;
            if surplus_of(source, &found) == Some(0) {
                break;
            }
        }
    }
    begin_payload(source, found, options, inner)
}

/// Reads a small file with one system call, and returns its header and the header's length; `None` unless it is exactly one array, as most
/// are.
fn read_small_file(
    source: &mut Source<'_>,
    bytes: &mut Vec<u8>,
    expected: Expected,
    options: &ReadOptions,
) -> Option<(FormatHeader, usize)> {
    /// Up to this size, an additional system call costs more than an additional copy of the bytes.
    const MAX_SMALL_FILE_LEN: u64 = 16 << 10;
    let length =
        source.remaining().filter(|length| source.lock_file().is_some() && *length <= MAX_SMALL_FILE_LEN)?;
    bytes.resize(length as usize, 0);
    let filled = source.positioned()?.fill_at(bytes, 0).ok()?;
    let Ok(Parsed::Done(found, used)) = expected.parse(bytes, options) else { return None };
    // Otherwise, the general path reports the error.
    (filled == bytes.len() && found.stored_len() == Some(length - used as u64)).then_some((found, used))
}

/// What comes after an array.
pub(crate) enum Next<T> {
    Nothing,
    /// Another array, whose header has been read.
    Array(T),
    /// Bytes that do not begin as an array does; the source has moved by some of them.
    Other(Error),
}

/// Reads what follows an array, up to the end of the next header. A header that is damaged is still one.
pub(crate) fn read_next(
    source: &mut Source<'_>,
    options: &ReadOptions,
) -> Result<Next<(FormatHeader, usize)>> {
    let error = match read_next_header(source, Expected::NPY, options) {
        Ok(None) => return Ok(Next::Nothing),
        Ok(Some(found)) => return Ok(Next::Array(found)),
        Err(error) => error,
    };
    match error.fault() {
        Fault::BadMagic { found, .. } => {
            let bytes = found.len() as u64;
            Ok(Next::Other(Fault::Trailing { bytes, at_least: true, rows: 0 }.into()))
        }
        // This may also be all that came of another array.
        Fault::Truncated { part: FileSection::Preamble, have, .. } if *have < MAGIC.len() as u64 => {
            Ok(Next::Other(error))
        }
        _ => Err(error),
    }
}

/// Reads the header of the next array; `None` if the source ends here.
fn read_next_header(
    source: &mut Source<'_>,
    expected: Expected,
    options: &ReadOptions,
) -> Result<Option<(FormatHeader, usize)>> {
    if let Some(bytes) = source.positioned().and_then(|source| source.bytes()) {
        return match expected.parse(bytes, options)? {
            Parsed::NeedMore(_) if bytes.is_empty() => Ok(None),
            Parsed::NeedMore(need) => Err(expected.truncated(bytes, need)),
            Parsed::Done(header, used) => {
                source.advance(used as u64);
                Ok(Some((header, used)))
            }
        };
    }
    /// A header's declared length is untrusted, so the buffer grows by at most this many bytes per read.
    const MAX_READ_LEN: usize = 64 << 10;
    /// The length of NumPy's header for nearly every array. Of a stream, no byte is read that may not belong to the header.
    const USUAL_LEN: usize = 128;
    let mut ahead = source.lookahead();
    let mut head = Vec::with_capacity(USUAL_LEN);
    let mut has_ended = false;
    loop {
        let need = match expected.parse(&head, options)? {
            Parsed::Done(header, used) => {
                if ahead.is_some() {
                    source.advance(used as u64);
                }
                return Ok(Some((header, used)));
            }
            Parsed::NeedMore(_) if has_ended && head.is_empty() => return Ok(None),
            Parsed::NeedMore(need) if has_ended => return Err(expected.truncated(&head, need)),
            Parsed::NeedMore(need) => need,
        };
        let have = head.len();
        let need = if ahead.is_some() { need.max(USUAL_LEN) } else { need };
        head.resize(need.min(have + MAX_READ_LEN), 0);
        let came = ahead.as_mut().unwrap_or(source).fill(&mut head[have..])?;
        has_ended = have + came < head.len();
        head.truncate(have + came);
    }
}

/// Reads the header of an array that occupies an entire source, and whose elements have `inner` axes.
#[cfg(feature = "npz")]
pub(crate) fn begin_whole_source<'p, 's>(
    source: &'p mut Source<'s>,
    options: &'p ReadOptions,
    inner: usize,
) -> Result<PendingPayload<'p, 's>> {
    let (found, _) = read_header(source, Expected::NPY, options)?;
    begin_payload(source, found, options, inner)
}

/// Returns the elements after a header, after which nothing may follow, unless that is allowed.
fn begin_payload<'p, 's>(
    source: &'p mut Source<'s>,
    found: FormatHeader,
    options: &'p ReadOptions,
    inner: usize,
) -> Result<PendingPayload<'p, 's>> {
    let header = found.header();
    // If the length is known, trailing bytes are reported before any element is read.
    if let (false, Some((have, need))) =
        (found.allows_trailing(), source.remaining().zip(header.payload_len()))
    {
        let checked = check_surplus(have.saturating_sub(need), false, header.row_bytes(), options);
        checked.map_err(|error| match source.skip(need) {
            Ok(_) => add_help_if_array_follows(error, source),
            Err(_) => error,
        })?;
    }
    PendingPayload::new(source, None, Cow::Owned(found), (options, inner), FollowUp::End)
}

/// Returns an error if bytes follow the array, unless the options allow trailing bytes.
pub(crate) fn check_end(source: &mut Source<'_>, header: &Header, options: &ReadOptions) -> Result<()> {
    /// A stream may never end, so counting stops here.
    const MAX_COUNTED_BYTES: u64 = 64 << 10;
    let surplus = match source.remaining() {
        Some(bytes) => bytes,
        None if options.allows_trailing() => 0,
        None => {
            let bytes = source.skip(MAX_COUNTED_BYTES)?;
            return check_surplus(bytes, bytes == MAX_COUNTED_BYTES, header.row_bytes(), options);
        }
    };
    let checked = check_surplus(surplus, false, header.row_bytes(), options);
    checked.map_err(|error| add_help_if_array_follows(error, source))
}

/// Says of an error for bytes after an array, which come next in the source, that they are another array, if they begin like one.
fn add_help_if_array_follows(error: Error, source: &mut Source<'_>) -> Error {
    let Fault::Trailing { bytes, at_least, .. } = *error.fault() else { return error };
    let follows = check_no_array_follows(bytes, at_least, |head| source.fill(head));
    follows.err().filter(Error::is_format).unwrap_or(error)
}

/// Returns an error if the bytes after an array, which `fill` reads, are another array, and no rows of the first.
///
/// Rows may begin with the same six bytes, so there has to be the beginning of a header as well.
pub(super) fn check_no_array_follows(
    bytes: u64,
    at_least: bool,
    fill: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<()> {
    let mut head = [0; 1024];
    let filled = fill(&mut head)?;
    let head = &head[..filled];
    if head.len() < MIN_PREAMBLE_LEN || Expected::NPY.parse(head, &ReadOptions::new()).is_err() {
        return Ok(());
    }
    Err(Error::from(Fault::Trailing { bytes, at_least, rows: 0 }).with_help(Remedy::ArrayFollows))
}

fn check_surplus(bytes: u64, at_least: bool, row: u64, options: &ReadOptions) -> Result<()> {
    if bytes > 0 && !options.allows_trailing() {
        let rows = bytes.checked_div(row).unwrap_or(0);
        return Err(Fault::Trailing { bytes, at_least, rows }.into());
    }
    Ok(())
}
