//! `ndio pack`: creates archives, and changes members of existing ones.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::error::ErrorKind;
use ndarray_io::npz::NpzMember;
use ndarray_io::{NpzUpdate, WriteOptions};

use super::failure::{Failure, at};
use super::formats::{
    CompressionName, Format, compression_of, options_like, refuse_bytes_after, write_archive,
};
use super::input::{Input, SequentialReader, is_pipe_or_device};
use super::output::{Content, Output};
use super::progress::{Progress, ProgressReader};
use super::remote;
use super::select::Arrays;
use super::unpack::member_path;

/// Create an NPZ archive from NPY files, or change members of one
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio pack all.npz x.npy other=y.npy --deflate\n  ndio pack --update all.npz x.npy --remove other --rename x=y"
)]
pub(crate) struct Pack {
    /// Deflate the members
    #[arg(long, short, short_alias = 'z', alias = "compress", conflicts_with = "compression")]
    deflate: bool,
    /// Compress the members; without this, --update compresses what it writes as the first member is
    #[arg(long, value_enum)]
    compression: Option<CompressionName>,
    /// How well: deflate from 0 to 9 (default: 6), zstd from 1 to 22 (3)
    #[arg(long, value_name = "NUMBER")]
    level: Option<u8>,
    /// Replace an existing file: all of its members
    #[arg(long, conflicts_with = "update")]
    force: bool,
    /// Change an existing archive: files are added, or replace the members of their names; all other members stay as they are.
    /// New members are in memory until they are written
    #[arg(long)]
    update: bool,
    /// Remove a member, with --update
    #[arg(long, value_name = "NAME", requires = "update")]
    remove: Vec<String>,
    /// Remove a member by its number, counted from 0 in the archive as it is: one of several of a name
    #[arg(long, value_name = "N", requires = "update")]
    remove_index: Vec<usize>,
    /// Rename a member, with --update
    #[arg(long, value_name = "OLD=NEW", requires = "update", value_parser = parse_renaming)]
    rename: Vec<(String, String)>,
    /// Accept any name for the archive
    #[arg(long)]
    any_name: bool,
    /// The archive, named .npz; - is standard output
    archive: PathBuf,
    /// The files; NAME=FILE sets the member's name, and standard input (-) requires it
    #[arg(required_unless_present_any = ["remove", "remove_index", "rename"])]
    files: Vec<OsString>,
}

fn parse_renaming(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.to_owned(), new.to_owned())),
        _ => Err("expected OLD=NEW".into()),
    }
}

/// A member to be written: the bytes of an NPY file up to the end of its array.
struct Member {
    name: String,
    input: Input,
    len: u64,
}

pub(crate) fn pack(arguments: &Pack, out: &mut dyn Write) -> Result<u8, Failure> {
    let compression = if arguments.deflate { Some(CompressionName::Deflate) } else { arguments.compression };
    check_archive_name(arguments)?;
    if arguments.update {
        return update(arguments, compression);
    }
    let options = WriteOptions::new().compression(compression_of(compression, arguments.level)?);
    let mut output = Output::new(&arguments.archive, arguments.force)?;
    let members = members_of(&arguments.files, |path| output.open_input(path))?;
    let mut progress = Progress::new();
    let total = members.iter().map(|member| member.len).sum();
    output.write(out, Content::Binary, |sink| {
        write_archive(sink, |archive| {
            members.into_iter().try_for_each(|Member { name, input, len }| {
                let bytes = SequentialReader::new(input.bytes()?).take(len);
                archive.add_raw(
                    name,
                    ProgressReader { input: bytes, progress: &mut progress, total_bytes: total },
                    len,
                    &options,
                )
            })
        })
    })?;
    Ok(0)
}

/// Opens the files and checks each.
fn members_of(
    files: &[OsString],
    mut open: impl FnMut(&Path) -> Result<Input, Failure>,
) -> Result<Vec<Member>, Failure> {
    let mut members: Vec<Member> = Vec::new();
    for argument in files {
        let (name, path) = name_and_path(argument)?;
        member_path(&name)?; // what could not be unpacked
        if let Some(Member { input, .. }) = members.iter().find(|member| member.name == name) {
            return Err(format!(
                "{} and {} would both be the member '{name}'; NAME=FILE sets another name",
                input.name().display(),
                path.display()
            )
            .into());
        }
        let input = open(&path)?;
        let len = checked_len(&input)?;
        members.push(Member { name, input, len });
    }
    Ok(members)
}

/// Returns the old name, the new one and the bytes of each member that gets another name. An array stays one: its name ends in `.npy`.
fn renamed_contents(arguments: &Pack) -> Result<Vec<(String, String, Vec<u8>)>, Failure> {
    if arguments.rename.is_empty() {
        return Ok(Vec::new());
    }
    let archive = Input::open(&arguments.archive)?.npz(&crate::reading::options())?;
    let content = |(old, new): &(String, String)| {
        let index = archive.index_of(old.as_str())?;
        let is_array = archive.members()[index].file_name().ends_with(".npy");
        let ending = if is_array && !new.ends_with(".npy") { ".npy" } else { "" };
        member_path(new)?;
        Ok((old.clone(), format!("{new}{ending}"), archive.read_raw(index)?))
    };
    arguments.rename.iter().map(content).collect()
}

/// Adds, replaces, renames and removes members of an existing archive. Names mean what they mean to readers.
fn update(arguments: &Pack, compression: Option<CompressionName>) -> Result<u8, Failure> {
    let path = &arguments.archive;
    if path == Path::new("-") || remote::is_url(path) {
        return Err("--update changes a file".into());
    }
    let mut contents = Vec::new();
    for Member { name, input, len } in members_of(&arguments.files, Input::open)? {
        let mut bytes = Vec::new();
        SequentialReader::new(input.bytes()?).take(len).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != len {
            return Err(input.at("it has become shorter while it was read"));
        }
        contents.push((name, bytes));
    }
    let mut update = NpzUpdate::open(path)?;
    // Read under the lock, so that no other process changes what gets another name.
    let renamed = renamed_contents(arguments)?;
    if !(contents.is_empty() && renamed.is_empty()) && update.members().iter().any(NpzMember::is_encrypted) {
        return Err(at(path, "it has encrypted members, and new ones would not be encrypted".into()));
    }
    let options = options_like(compression, arguments.level, update.members().first())?;
    update = update.with_options(&options);
    for index in &arguments.remove_index {
        update.remove(*index)?;
    }
    for name in &arguments.remove {
        update.remove(name.as_str()).map_err(|error| match error.kind() {
            ErrorKind::AmbiguousName => {
                Failure::from(format!("{error}; --remove-index removes one, counted from 0"))
            }
            _ => error.into(),
        })?;
    }
    for (old, name, bytes) in &renamed {
        update.remove(old.as_str())?.add_raw(name.as_str(), bytes)?;
    }
    for (name, bytes) in &contents {
        match update.index_of(name.strip_suffix(".npy").unwrap_or(name)) {
            Ok(index) => update.replace_raw(index, bytes)?,
            Err(error) if error.is_not_found() => update.add_raw(name.as_str(), bytes)?,
            Err(error) => return Err(format!("{error}; --remove-index removes one, counted from 0").into()),
        };
    }
    update.finish()?;
    Ok(0)
}

/// Returns an error if the first path does not look like an archive: then it may be the first of the files, which would be replaced.
fn check_archive_name(arguments: &Pack) -> Result<(), Failure> {
    let path = &arguments.archive;
    let is_stream = path == Path::new("-") || is_pipe_or_device(path);
    if arguments.any_name || is_stream || Format::of_extension(path) == Some(Format::Npz) {
        return Ok(());
    }
    let name = remote::display_name(path);
    Err(format!("{name}: the archive comes first, and its name ends in .npz: ndio pack ARCHIVE.npz FILES; --any-name accepts others").into())
}

/// Returns the name of the member and the path of the file that an argument names.
fn name_and_path(argument: &OsStr) -> Result<(String, PathBuf), Failure> {
    let path = PathBuf::from(argument);
    // A file or a URL may have the sign in its own name.
    if !remote::is_url(&path)
        && !path.exists()
        && let Some((name, path)) = split_at_equals(argument)
    {
        if name.is_empty() {
            return Err("NAME=FILE needs a name".into());
        }
        return Ok((format!("{name}.npy"), path));
    }
    if path == Path::new("-") {
        return Err("standard input needs a name: NAME=-".into());
    }
    // The member's name must not contain the query of a URL, which may be a signature.
    let called = if remote::is_url(&path) { remote::redacted_url(&path)? } else { path.clone() };
    let name = called.file_name().ok_or_else(|| format!("{}: not a file", path.display()))?;
    match name.to_str() {
        Some(name) => Ok((name.to_owned(), path)),
        None => {
            let path = path.display();
            Err(format!(
                "{path}: names of members are Unicode, and that of the file is not; NAME=FILE sets one"
            )
            .into())
        }
    }
}

/// Splits NAME=FILE, where the path may not be Unicode.
fn split_at_equals(argument: &OsStr) -> Option<(String, PathBuf)> {
    let bytes = argument.as_encoded_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let name = std::str::from_utf8(&bytes[..at]).ok()?.to_owned();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some((name, PathBuf::from(OsStr::from_bytes(&bytes[at + 1..]))))
    }
    #[cfg(not(unix))]
    return Some((name, PathBuf::from(argument.to_str()?.get(at + 1..)?))); // only Unicode can be divided here
}

/// Checks that a file has one whole array, and returns the length up to its end: NumPy refuses members with more.
fn checked_len(input: &Input) -> Result<u64, Failure> {
    let options = crate::reading::options().allow_objects(true);
    if input.format() != Format::Npy {
        return Err(input.at("not an NPY file; ndio convert makes one"));
    }
    let mut arrays = Arrays::of(input, &options);
    arrays.next().ok_or_else(|| input.at("there is no array"))??;
    if arrays.has_more() {
        return Err(input.at("more arrays follow its first; ndio convert --array extracts one"));
    }
    let end = arrays.last_byte_range().end;
    if input.size()? < end {
        return Err(input.at("truncated; see ndio verify"));
    }
    refuse_bytes_after(input, &arrays, 1, "; ndio convert --drop-trailing drops them")?;
    Ok(end)
}
