//! Input files. Data from a pipe is copied to a temporary file first, so that every subcommand accepts it.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempPath;

use super::Failure;
use super::convert::temporary;
use super::open::{is_one_piece, remote};

/// Temporary files, with the names that the user gave for their sources.
static MADE: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

/// Replaces standard input (`-`), pipes, and remote objects that are not read in parts, with temporary files.
///
/// The files are deleted when the returned paths are dropped.
pub(crate) fn without_pipes(paths: Vec<&mut PathBuf>, reads_parts: bool) -> Result<Vec<TempPath>, Failure> {
    let mut files = Vec::new();
    let mut has_standard = false;
    for path in paths {
        let is_standard = *path == Path::new("-");
        let mut remote = if is_standard { None } else { remote(path)? };
        if let Some(remote) = &remote {
            // Errors show the URL without its query, which may contain a signature.
            let given = remote.name();
            MADE.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), given));
        }
        remote = remote.filter(|remote| !reads_parts || is_one_piece(path, remote));
        if !is_standard && remote.is_none() && !is_pipe(path) {
            continue;
        }
        if is_standard && has_standard {
            return Err("standard input can be used only once".into());
        }
        has_standard |= is_standard;
        let made = temporary(&std::env::temp_dir())?;
        let mut file = File::options().write(true).open(&made)?;
        let copied = match (remote, is_standard) {
            (Some(remote), _) => Ok(remote.copy_to(&mut file)?),
            (_, true) => io::copy(&mut io::stdin().lock(), &mut file),
            (_, false) => File::open(&*path).and_then(|mut pipe| io::copy(&mut pipe, &mut file)),
        };
        copied.map_err(|error| format!("{}: {error}", path.display()))?;
        is_called(&made, &*path);
        *path = made.to_path_buf();
        files.push(made);
    }
    Ok(files)
}

/// Makes messages show `given` instead of the name of the temporary file.
pub(crate) fn is_called(made: &Path, given: &Path) {
    let given = shown(given).into_owned();
    MADE.lock().unwrap_or_else(PoisonError::into_inner).push((made.to_owned(), given));
}

/// Returns the name of a file as the user knows it.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    match made.iter().find(|(file, _)| file == path) {
        Some((_, given)) => given.clone().into(),
        None => path.to_string_lossy(),
    }
}

/// Replaces the names of temporary files in a text with the names that the user knows.
pub(crate) fn named(text: &str) -> String {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let rename =
        |text: String, (file, given): &(PathBuf, String)| text.replace(&*file.to_string_lossy(), given);
    made.iter().fold(text.to_owned(), rename)
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}
