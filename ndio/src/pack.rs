//! `ndio pack`, `ndio unpack`: creates and extracts archives.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use ndarray_io::file::Extent;
use ndarray_io::npz::{Compression, NpzOptions};
use ndarray_io::{NpyReader, NpzFile, NpzWriter};

use super::Failure;
use super::convert::{Watched, folder_of, replace};
use super::failure::escaped;
use super::input::{shown, without_pipes};
use super::join::refuse_old;
use super::open::{remote, some_names};
use super::progress::Progress;
use super::source::refuse_several;

/// Create an NPZ archive from NPY files
#[derive(Args)]
#[command(after_help = "Example:\n  ndio pack all.npz x.npy other=y.npy --deflate")]
pub(crate) struct Pack {
    /// Deflate the members
    #[arg(long, short)]
    deflate: bool,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// The archive
    archive: PathBuf,
    /// The files; NAME=FILE sets the member's name, and standard input (-) requires it
    #[arg(required = true)]
    files: Vec<String>,
}

/// Extract the members of an archive
#[derive(Args)]
#[command(after_help = "Examples:\n  ndio unpack a.npz -o members\n  ndio unpack a.npz x -o members --force")]
pub(crate) struct Unpack {
    /// The output folder
    #[arg(long, short, default_value = ".")]
    output: PathBuf,
    /// Replace existing files
    #[arg(long, alias = "replace")]
    force: bool,
    /// The archive
    archive: PathBuf,
    /// Only these members
    members: Vec<String>,
}

pub(crate) fn pack(arguments: &Pack) -> Result<u8, Failure> {
    let compression = if arguments.deflate { Compression::deflated() } else { Compression::Stored };
    if !arguments.force {
        refuse_old(&arguments.archive, "--force")?;
    }
    let mut progress = Progress::new();
    let (mut inputs, mut made) = (Vec::new(), Vec::new());
    for argument in &arguments.files {
        let (name, mut path) = match argument.split_once('=') {
            Some((name, path)) if !name.contains("://") && !Path::new(argument).exists() => {
                (format!("{name}.npy"), PathBuf::from(path))
            }
            _ => {
                let path = PathBuf::from(argument);
                // The member's name must not contain the query of a URL, which may be a signature.
                let called = remote(&path)?.map_or_else(|| path.clone(), |remote| remote.name().into());
                let name = called.file_name().map(|name| name.to_string_lossy().into_owned());
                (name.ok_or_else(|| format!("{argument}: not a file"))?, path)
            }
        };
        if path == Path::new("-") && name == "-" {
            return Err("standard input needs a name: NAME=-".into());
        }
        made.extend(without_pipes(vec![&mut path], false)?);
        let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // Refuse files that NumPy could not read from the archive.
        let mut reader = NpyReader::new(&file).map_err(|error| format!("{}: {error}", shown(&path)))?;
        let is_whole = reader.dtype().has_object() || reader.extent() == Some(Extent::Whole);
        refuse_several(&path, "ndio convert --array extracts one")?;
        if !is_whole {
            let what = "truncated, or with data after its array; see ndio verify";
            return Err(format!("{}: {what}", shown(&path)).into());
        }
        let len = file.metadata()?.len();
        inputs.push((name, path, len));
    }
    let all = inputs.iter().map(|(_, _, len)| len).sum();
    replace(&arguments.archive, |file| {
        let mut archive = NpzWriter::new_with(file, &NpzOptions::new().compression(compression));
        for (name, path, len) in inputs {
            archive.add_raw(name, Watched { input: File::open(path)?, progress: &mut progress, all }, len)?;
        }
        archive.finish()?;
        Ok(())
    })?;
    Ok(0)
}

impl Pack {
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        vec![&self.archive]
    }
}

impl Unpack {
    pub(crate) fn outputs(&self) -> Vec<&Path> {
        vec![&self.output]
    }

    pub(crate) fn inputs(&mut self) -> Vec<&mut PathBuf> {
        vec![&mut self.archive]
    }
}

pub(crate) fn unpack(arguments: &Unpack, out: &mut dyn Write) -> Result<u8, Failure> {
    let archive = NpzFile::open_with(&arguments.archive, &crate::reading::options())?;
    let all = archive.members().iter().fold(0, |all: u64, member| all.saturating_add(member.size()));
    let mut progress = Progress::new();
    for wanted in &arguments.members {
        if !archive.members().iter().any(|member| is_named(member, wanted)) {
            let names = some_names(&archive);
            return Err(format!(
                "{}: there is no member '{wanted}'; the members are {names}",
                arguments.archive.display()
            )
            .into());
        }
    }
    for member in archive.members() {
        if !arguments.members.is_empty() && !arguments.members.iter().any(|wanted| is_named(member, wanted)) {
            continue;
        }
        let path = arguments.output.join(inside(member.file_name())?);
        // Archivers store a folder as an empty member.
        if member.file_name().ends_with('/') && member.size() == 0 {
            fs::create_dir_all(&path)?;
            continue;
        }
        if !arguments.force {
            refuse_old(&path, "--force")?;
        }
        fs::create_dir_all(folder_of(&path))?;
        replace(&path, |file| {
            archive.copy_raw(member.file_name(), file)?;
            Ok(())
        })?;
        progress.add(member.size(), all);
        writeln!(out, "{}", escaped(&path.display().to_string()))?;
    }
    Ok(0)
}

fn is_named(member: &ndarray_io::npz::NpzMember, wanted: &str) -> bool {
    member.name() == wanted || member.file_name() == wanted
}

/// Returns the path of a member, or an error if it would be outside the output folder.
fn inside(name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let is_somewhere = path.components().any(|part| matches!(part, Component::Normal(_)));
    match is_inside && is_somewhere && !name.contains('\\') {
        true => Ok(path.components().filter(|part| *part != Component::CurDir).collect()),
        false => {
            Err(format!("the member '{}' would be outside the output folder", name.escape_debug()).into())
        }
    }
}
