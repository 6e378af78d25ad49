//! Detects the format of a file, and opens the array that the user asked for.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ndarray_io::dask::NpyStack;
use ndarray_io::ra::{RaFile, RaReader};
use ndarray_io::store::Remote;
use ndarray_io::{DynArray, NpyFile, NpyReader, NpzFile, ReadOptions};

use super::Failure;
use super::input::shown;

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Npz,
    Ra,
    /// A folder of NPY files that form one array.
    Stack,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Ra => "ra",
            Self::Stack => "npy-stack",
        }
    }
}

/// The remote object, if the path is a URL.
pub(crate) fn remote(path: &Path) -> Result<Option<Remote>, Failure> {
    match path.to_str().filter(|text| Remote::is_url(text)) {
        Some(url) => Ok(Some(Remote::parse(url)?)),
        None => Ok(None),
    }
}

/// Opens an NPY file for partial reads.
pub(crate) fn npy(path: &Path, options: &ReadOptions) -> Result<NpyFile, Failure> {
    Ok(match remote(path)? {
        Some(remote) => remote.open_npy_with(options)?,
        None => NpyFile::open_with(path, options)?,
    })
}

/// Opens an RA file for partial reads.
pub(crate) fn ra_file(path: &Path, options: &ReadOptions) -> Result<RaFile, Failure> {
    Ok(match remote(path)? {
        Some(remote) => remote.open_ra_with(options)?,
        None => RaFile::open_with(path, options)?,
    })
}

/// Opens an archive.
pub(crate) fn npz(path: &Path, options: &ReadOptions) -> Result<NpzFile, Failure> {
    Ok(match remote(path)? {
        Some(remote) => remote.open_npz_with(options)?,
        None => NpzFile::open_with(path, options)?,
    })
}

/// Facts about a remote object, from its first bytes.
#[derive(Clone, Copy)]
struct Looked {
    format: Option<Format>,
    size: u64,
    /// The object must be read completely: it has Python objects, compressed RA data, or more than one array.
    is_one_piece: bool,
}

/// Inspects the first bytes of a remote object, once per object.
fn look(path: &Path, remote: &Remote) -> Result<Looked, Failure> {
    static KNOWN: Mutex<Vec<(PathBuf, Looked)>> = Mutex::new(Vec::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, looked)) = known().iter().find(|(known, _)| known == path) {
        return Ok(*looked);
    }
    let (first, version) = match remote.first_bytes() {
        // Stores do not have folders, only objects with a common prefix: this may be a stack.
        Err(error) if error.is_not_found() && NpyStack::open_remote(remote, &ReadOptions::new()).is_ok() => {
            let looked = Looked { format: Some(Format::Stack), size: 0, is_one_piece: false };
            known().push((path.to_owned(), looked));
            return Ok(looked);
        }
        first => first?,
    };
    let (format, size) = (told_by(&first), version.size());
    let bytes = io::Cursor::new(&first);
    let is_one_piece = match format {
        Some(Format::Npy) => NpyReader::new(bytes).is_ok_and(|reader| {
            let end = reader.payload_len().map(|len| reader.data_offset().saturating_add(len));
            end.is_none_or(|end| end < size)
        }),
        Some(Format::Ra) => RaReader::new(bytes).is_ok_and(|reader| reader.ra_header().flags & !1 != 0),
        _ => false,
    };
    let looked = Looked { format, size, is_one_piece };
    known().push((path.to_owned(), looked));
    Ok(looked)
}

/// Whether an object must be downloaded completely before it can be read.
pub(crate) fn is_one_piece(path: &Path, remote: &Remote) -> bool {
    look(path, remote).is_ok_and(|looked| looked.is_one_piece) // the reader reports the error
}

/// Opens a stack: a folder of NPY files that form one array.
pub(crate) fn stack(path: &Path, options: &ReadOptions) -> Result<NpyStack, Failure> {
    Ok(match remote(path)? {
        Some(remote) => NpyStack::open_remote(&remote, options)?,
        None => NpyStack::open_with(path, options)?,
    })
}

/// Returns the size of a file in bytes.
pub(crate) fn size_of(path: &Path) -> Result<u64, Failure> {
    Ok(match remote(path)? {
        Some(remote) => look(path, &remote)?.size,
        None => fs::metadata(path)?.len(),
    })
}

/// Returns an error if an output is a URL.
pub(crate) fn refuse_url(output: &Path) -> Result<(), Failure> {
    match remote(output)? {
        None => Ok(()),
        Some(remote) => Err(format!("{}: only ndio convert writes to a store", remote.name()).into()),
    }
}

/// Detects the format of a file from its first bytes.
///
/// If they are truncated or unknown, the extension decides, so that the reader of that format can report the
/// error.
pub(crate) fn format_of(path: &Path) -> Result<Format, Failure> {
    Ok(by_content(path)?.unwrap_or(match path.extension().and_then(|extension| extension.to_str()) {
        Some("npz") => Format::Npz,
        Some("ra") => Format::Ra,
        _ => Format::Npy,
    }))
}

/// Whether a folder is a stack: it has an `info` file, or at least the first part.
fn is_stack(path: &Path) -> bool {
    path.is_dir() && (has_info(path) || path.join("0.npy").is_file())
}

/// Whether a folder has a file `info` that begins like a pickle of protocol 2 or later.
fn has_info(path: &Path) -> bool {
    let mut first = [0];
    File::open(path.join("info")).is_ok_and(|mut file| file.read_exact(&mut first).is_ok()) && first == [0x80]
}

/// Detects the format from the first bytes; `None` if they are unknown.
pub(crate) fn by_content(path: &Path) -> Result<Option<Format>, Failure> {
    if let Some(remote) = remote(path)? {
        return look(path, &remote).map(|looked| looked.format);
    }
    if is_stack(path) {
        return Ok(Some(Format::Stack));
    }
    let mut file = File::open(path).map_err(|error| format!("{}: {error}", shown(path)))?;
    let mut first = [0; 8];
    let mut have = 0;
    while have < first.len() {
        match file.read(&mut first[have..]) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("{}: {error}", shown(path)).into()),
        }
    }
    Ok(told_by(&first[..have]))
}

fn told_by(first: &[u8]) -> Option<Format> {
    match first {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
        [b'r', b'a', b'w', b'a', b'r', b'r', b'a', b'y', ..]
        | [b'y', b'a', b'r', b'r', b'a', b'w', b'a', b'r', ..] => Some(Format::Ra),
        [b'P', b'K', 3 | 5 | 7, 4 | 6 | 8, ..] => Some(Format::Npz),
        _ => None,
    }
}

/// Reads one array of a file or archive.
pub(crate) fn read(path: &Path, member: Option<&str>, options: &ReadOptions) -> Result<DynArray, Failure> {
    match format_of(path)? {
        Format::Npy | Format::Stack if member.is_some() => {
            Err(format!("{}: not an archive with members", shown(path)).into())
        }
        Format::Npy if remote(path)?.is_some() => Ok(npy(path, options)?.read()?),
        Format::Ra if remote(path)?.is_some() => Ok(ra_file(path, options)?.read()?),
        Format::Npy => Ok(ndarray_io::npy::read_npy_with(path, options)?),
        Format::Stack => Ok(stack(path, options)?.read()?),
        Format::Ra => Ok(ndarray_io::ra::read_ra_with(path, options)?),
        Format::Npz => {
            let archive = npz(path, options)?;
            Ok(archive.read(member_index(&archive, path, member)?)?)
        }
    }
}

/// Returns the index of the requested member, or of the only one.
pub(crate) fn member_index(archive: &NpzFile, path: &Path, member: Option<&str>) -> Result<usize, Failure> {
    match (member, archive.len()) {
        (Some(name), _) => Ok(archive.index_of(name)?),
        (None, 1) => Ok(0),
        (None, _) => {
            let names = some_names(archive);
            Err(format!("{}: the archive has several members; --member selects one: {names}", shown(path))
                .into())
        }
    }
}

/// Lists the names of an archive's members for an error message, at most the first 20.
pub(crate) fn some_names(archive: &NpzFile) -> String {
    const MOST: usize = 20;
    let names: Vec<&str> = archive.members().iter().take(MOST).map(|member| member.name()).collect();
    match archive.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Opens an RA file.
pub(crate) fn ra(path: &Path, options: &ReadOptions) -> Result<RaReader<File>, Failure> {
    let mut file = File::open(path)?;
    file.rewind()?;
    Ok(RaReader::new_with(file, options)?)
}

/// Expands folders to the array files in them. A folder with the `info` of a stack counts as one file.
pub(crate) fn array_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut open: Vec<(PathBuf, bool)> = paths.iter().rev().map(|path| (path.clone(), true)).collect();
    while let Some((path, is_asked_for)) = open.pop() {
        if has_info(&path) || is_asked_for && path.to_str().is_some_and(Remote::is_url) {
            files.push(path);
        } else if fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            let mut entries = Vec::new();
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                // Links to folders are not followed: they may form a cycle.
                if !entry.file_type()?.is_symlink() || fs::metadata(entry.path()).is_ok_and(|to| to.is_file())
                {
                    entries.push(entry.path());
                }
            }
            entries.sort();
            open.extend(entries.into_iter().rev().map(|path| (path, false)));
        } else if is_asked_for || is_array_file(&path) {
            files.push(path);
        }
    }
    Ok(files)
}

fn is_array_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["npy", "npz", "ra"].iter().any(|known| extension == *known))
}
