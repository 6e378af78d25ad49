//! Describes archives, member by member.

use std::io::Write;
use std::path::Path;

use ndarray_io::blocks::map_in_order;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Shape;
use ndarray_io::npy::NpyHeader;
use ndarray_io::npz::{IndexState, NpzMember};
use ndarray_io::{NpzFile, ReadOptions};
use serde_json::{Value, json};

use super::print::print_stats;
use super::{add_file, array, stats_of};
use crate::cells::dtype_text;
use crate::failure::{Failure, one_line, told};
use crate::formats::Format;
use crate::input::Input;
use crate::source::Source;

/// A member of an archive, and what could be read of it.
struct Known<'a> {
    member: &'a NpzMember,
    found: Option<Result<NpyHeader, String>>,
    stats: Value,
}

impl Known<'_> {
    /// Returns whether the member is in any case too small for the elements that its header declares.
    fn is_short(&self) -> bool {
        let declared = self.found.as_ref().and_then(|found| found.as_ref().ok()?.header.payload_len());
        declared.is_some_and(|bytes| bytes > self.member.size())
    }
}

/// Passes what is known of each member to `take`, in the order of the archive.
fn each_known<'a>(
    archive: &'a NpzFile,
    name: &Path,
    stats: bool,
    mut take: impl FnMut(Known<'a>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// How many headers a thread reads at a time: for fewer, it would wait longer than it works.
    const EACH: usize = 500;
    let threads = ReadOptions::new().get_threads().min(4).min(archive.len().div_ceil(EACH));
    let parts = archive.members().chunks(EACH).enumerate();
    let look = |(number, members): (usize, &'a [NpzMember])| -> Vec<_> {
        let known = |(index, member)| known_at(archive, name, number * EACH + index, member, stats);
        members.iter().enumerate().map(known).collect()
    };
    map_in_order(parts, threads, look, |known| known.into_iter().try_for_each(&mut take))
}

fn known_at<'a>(
    archive: &NpzFile,
    name: &Path,
    index: usize,
    member: &'a NpzMember,
    stats: bool,
) -> Known<'a> {
    let found = match archive.holds_array(index) {
        Ok(true) => Some(archive.peek(index).map_err(short)),
        Ok(false) => None,
        Err(error) => Some(Err(short(error))),
    };
    let stats = match &found {
        Some(Ok(_)) if stats => match Source::member(archive, index, name, true).and_then(Source::readable) {
            Ok(source) => stats_of(&source),
            Err(failure) => json!({"error": told(&failure)}),
        },
        _ => Value::Null,
    };
    Known { member, found, stats }
}

/// Shortens the error for a member whose header cannot be read. The column `how` already shows
/// that the member is encrypted.
fn short(error: ndarray_io::Error) -> String {
    match error.kind() {
        ErrorKind::Encrypted { has_password: false, .. } => "needs a password".into(),
        ErrorKind::Encrypted { .. } => "has another password".into(),
        _ => told(&error.into()),
    }
}

/// Writes an archive as a line of JSON, member by member: there may be millions.
///
/// Returns whether all members have what their headers declare.
pub(super) fn write_npz(input: &Input, stats: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let archive = input.npz(&crate::reading::options())?;
    let mut file = json!({});
    add_file(&mut file, input, Format::Npz)?;
    let file = file.to_string();
    write!(out, "{},\"members\":[", file.trim_end_matches('}'))?;
    let (mut is_first, mut are_whole) = (true, true);
    each_known(&archive, input.name(), stats, |known| {
        let is_short = known.is_short();
        are_whole &= !is_short;
        let mut facts = match &known.found {
            Some(Ok(found)) => array(found.header.dtype(), found.header.order(), found.header.shape()),
            Some(Err(error)) => json!({"error": error}),
            None => json!({}),
        };
        if !known.stats.is_null() {
            facts["stats"] = known.stats;
        }
        if is_short {
            facts["is_whole"] = json!(false);
        }
        facts["member"] = json!(known.member.file_name());
        facts["size"] = json!(known.member.size());
        facts["compressed_size"] = json!(known.member.compressed_size());
        facts["packed"] = json!(known.member.method().to_string());
        if known.member.is_encrypted() {
            facts["encrypted"] = json!(true);
        }
        match known.member.index_state() {
            IndexState::Absent => {}
            IndexState::Used { block, count } => {
                facts["block_index"] = json!({"state": "used", "block_size": block, "blocks": count});
            }
            IndexState::Stale => facts["block_index"] = json!({"state": "stale"}),
            _ => facts["block_index"] = json!({"state": "ignored"}),
        }
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        Ok(serde_json::to_writer(&mut *out, &facts)?)
    })?;
    writeln!(out, "]}}")?;
    Ok(are_whole)
}

/// Returns how a member is compressed, whether it is encrypted, and whether it can be read in parts.
fn how(member: &NpzMember) -> String {
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

/// Prints an archive as a table, and returns whether all members have what their headers declare.
pub(super) fn print_npz(input: &Input, stats: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    let archive = input.npz(&crate::reading::options())?;
    writeln!(out, "{}: NPZ, {} bytes", one_line(&input.name().to_string_lossy()), input.size()?)?;
    let mut all_stats = Vec::new();
    let mut rows = vec![["member", "array", "bytes", "packed", "method"].map(str::to_owned)];
    let mut are_whole = true;
    each_known(&archive, input.name(), stats, |known| {
        let is_short = known.is_short();
        are_whole &= !is_short;
        let what = match known.found {
            Some(Ok(found)) => {
                let (dtype, shape) = (dtype_text(found.header.dtype()), Shape::from(found.header.shape()));
                format!("{dtype} {shape}{}", if is_short { ", truncated" } else { "" })
            }
            Some(Err(error)) => error,
            None => "no array".to_owned(),
        };
        let name = one_line(known.member.file_name());
        if !known.stats.is_null() {
            all_stats.push((name.clone(), known.stats));
        }
        rows.push([
            name,
            what,
            known.member.size().to_string(),
            known.member.compressed_size().to_string(),
            how(known.member),
        ]);
        Ok(())
    })?;
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count().min(60)).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    for [name, what, size, packed, how] in &rows {
        writeln!(out, "  {name:<a$}  {what:<b$}  {size:>c$}  {packed:>d$}  {how}")?;
    }
    for (name, stats) in all_stats {
        writeln!(out, "  {name}")?;
        print_stats(&stats, out)?;
    }
    Ok(are_whole)
}
