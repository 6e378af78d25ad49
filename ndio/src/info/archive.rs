//! Describes archives, member by member.

use std::io::Write;

use ndarray_io::blocks::map_in_order;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Order, Shape};
use ndarray_io::npy::NpyHeader;
use ndarray_io::npz::{IndexState, NpzMember};
use ndarray_io::{NpzFile, ReadOptions};
use ndarray_io_formats::sparse::SparseInfo;
use serde::Serialize;

use super::facts::{FileFacts, HeaderFacts, JsonList, SparseFacts};
use super::stats_of_opened;
use crate::failure::{Failure, escape_for_terminal, one_line_message};
use crate::formats::Format;
use crate::input::Input;
use crate::source::Source;
use crate::summary::Summary;

/// A member of an archive, and what could be read of it.
struct MemberInfo<'a> {
    member: &'a NpzMember,
    npy_header: Option<Result<NpyHeader, String>>,
    stats: Option<Summary>,
}

impl MemberInfo<'_> {
    /// Returns whether the member has what its header declares, as far as it was read.
    fn is_sound(&self) -> bool {
        // Without its password, nothing is known of a member.
        let has_header = self.member.is_encrypted() || !matches!(self.npy_header, Some(Err(_)));
        has_header && !self.is_truncated() && !self.stats.as_ref().is_some_and(Summary::has_failed)
    }

    /// Returns whether the member is in any case too small for the elements that its header declares.
    fn is_truncated(&self) -> bool {
        let declared =
            self.npy_header.as_ref().and_then(|npy_header| npy_header.as_ref().ok()?.header.payload_len());
        declared.is_some_and(|bytes| bytes > self.member.size())
    }
}

/// Passes what is known of each member to `take`, in the order of the archive.
fn for_each_member<'a>(
    archive: &'a NpzFile,
    input: &Input,
    stats: bool,
    mut take: impl FnMut(MemberInfo<'a>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// How many headers a thread reads at a time: for fewer, it would wait longer than it works.
    const HEADERS_PER_TASK: usize = 500;
    let threads = ReadOptions::new().get_threads().min(4).min(archive.len().div_ceil(HEADERS_PER_TASK));
    let parts = archive.members().chunks(HEADERS_PER_TASK).enumerate();
    let look = |(number, members): (usize, &'a [NpzMember])| -> Vec<_> {
        let known =
            |(index, member)| member_info(archive, input, number * HEADERS_PER_TASK + index, member, stats);
        members.iter().enumerate().map(known).collect()
    };
    map_in_order(parts, threads, look, |known| known.into_iter().try_for_each(&mut take))
}

fn member_info<'a>(
    archive: &NpzFile,
    input: &Input,
    index: usize,
    member: &'a NpzMember,
    stats: bool,
) -> MemberInfo<'a> {
    let npy_header = match archive.holds_array(index) {
        Ok(true) => Some(archive.peek(index).map_err(short_error)),
        Ok(false) => None,
        Err(error) => Some(Err(short_error(error))),
    };
    let stats = match &npy_header {
        Some(Ok(_)) if stats => Some(stats_of_opened(Source::open_member(archive, index, input, true))),
        _ => None,
    };
    MemberInfo { member, npy_header, stats }
}

/// Shortens the error for a member whose header cannot be read. The column `how` already shows
/// that the member is encrypted.
fn short_error(error: ndarray_io::Error) -> String {
    match error.kind() {
        ErrorKind::Encrypted if crate::password::get().is_some() => "has another password".into(),
        ErrorKind::Encrypted => "needs a password".into(),
        _ => one_line_message(&error.into()),
    }
}

/// What is known of a member, for programs.
#[derive(Serialize)]
struct MemberFacts<'a> {
    member: &'a str,
    #[serde(flatten)]
    header: Option<HeaderFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_whole: Option<bool>,
    size: u64,
    compressed_size: u64,
    packed: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    encrypted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_index: Option<IndexFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Summary>,
}

#[derive(Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum IndexFacts {
    Used { block_size: u64, blocks: u64 },
    Stale,
    Ignored,
}

impl<'a> From<MemberInfo<'a>> for MemberFacts<'a> {
    fn from(known: MemberInfo<'a>) -> Self {
        let (is_truncated, member) = (known.is_truncated(), known.member);
        let (header, error) = match known.npy_header.transpose() {
            Ok(npy_header) => (npy_header.map(|npy_header| header_facts(&npy_header)), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            member: member.file_name(),
            header,
            error,
            is_whole: is_truncated.then_some(false),
            size: member.size(),
            compressed_size: member.compressed_size(),
            packed: member.method().to_string(),
            encrypted: member.is_encrypted(),
            block_index: match member.index_state() {
                IndexState::Absent => None,
                IndexState::Used { block, count } => {
                    Some(IndexFacts::Used { block_size: block, blocks: count as u64 })
                }
                IndexState::Stale => Some(IndexFacts::Stale),
                _ => Some(IndexFacts::Ignored),
            },
            stats: known.stats,
        }
    }
}

fn header_facts(npy_header: &NpyHeader) -> HeaderFacts {
    HeaderFacts::of(npy_header.header.dtype(), npy_header.header.order(), npy_header.header.shape())
}

/// Describes the archive itself. What is wrong with a sparse matrix is said when it is read.
fn file_facts(input: &Input, archive: &NpzFile) -> Result<FileFacts, Failure> {
    let sparse = SparseInfo::of(archive).ok().flatten().map(SparseFacts::of);
    Ok(FileFacts { sparse, ..FileFacts::of(input, Format::Npz)? })
}

/// Writes an archive as a line of JSON, and returns whether all members are sound.
pub(super) fn print_archive_json(input: &Input, stats: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let archive = input.npz(&crate::reading::options().allow_objects(true))?;
    let mut list = JsonList::begin(&file_facts(input, &archive)?, "members", out)?;
    let mut are_sound = true;
    for_each_member(&archive, input, stats, |known| {
        are_sound &= known.is_sound();
        list.push(&MemberFacts::from(known), out)
    })?;
    list.end(out)?;
    Ok(are_sound)
}

/// Returns how a member is compressed, whether it is encrypted, and whether it can be read in parts.
fn storage_text(member: &NpzMember) -> String {
    let encrypted = if member.is_encrypted() { ", encrypted" } else { "" };
    let index = match member.index_state() {
        IndexState::Absent => String::new(),
        IndexState::Used { block, count } if block < 1 << 20 => {
            format!(", {count} blocks of {} KiB", block >> 10)
        }
        IndexState::Used { block, count } => format!(", {count} blocks of {} MiB", block >> 20),
        IndexState::Stale => ", stale index".into(),
        _ => ", ignored index".into(),
    };
    format!("{}{encrypted}{index}", member.method())
}

/// Prints an archive as a table, and returns whether all members are sound.
pub(super) fn print_archive_table(input: &Input, stats: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let archive = input.npz(&crate::reading::options().allow_objects(true))?;
    file_facts(input, &archive)?.print(None, out)?;
    let mut rows = vec![(["member", "array", "bytes", "packed", "method"].map(str::to_owned), None)];
    let mut are_sound = true;
    for_each_member(&archive, input, stats, |known| {
        let is_truncated = known.is_truncated();
        are_sound &= known.is_sound();
        let what = match known.npy_header {
            Some(Ok(npy_header)) => {
                let (dtype, shape) =
                    (header_facts(&npy_header).dtype, Shape::from(npy_header.header.shape()));
                let is_fortran = npy_header.header.order() == Order::Fortran && shape.ndim() > 1;
                let order = if is_fortran { ", Fortran order" } else { "" };
                format!("{dtype} {shape}{order}{}", if is_truncated { ", truncated" } else { "" })
            }
            Some(Err(error)) => error,
            None => "no array".to_owned(),
        };
        let name = escape_for_terminal(known.member.file_name());
        let (size, packed) = (known.member.size().to_string(), known.member.compressed_size().to_string());
        rows.push(([name, what, size, packed, storage_text(known.member)], known.stats));
        Ok(())
    })?;
    let width =
        |column: usize| rows.iter().map(|(row, _)| row[column].chars().count().min(60)).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    for ([name, what, size, packed, how], stats) in &rows {
        writeln!(out, "  {name:<a$}  {what:<b$}  {size:>c$}  {packed:>d$}  {how}")?;
        stats.as_ref().map_or(Ok(()), |stats| stats.print(out))?;
    }
    Ok(are_sound)
}
