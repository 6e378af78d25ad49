//! Files and folders for tests, which are gone after them.

use std::path::PathBuf;

/// (WASI has no such folder of its own: whoever runs a program there gives it this one.)
fn place() -> PathBuf {
    if cfg!(target_os = "wasi") { "/tmp".into() } else { std::env::temp_dir() }
}

pub(crate) fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(place())
}

pub(crate) fn file() -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new_in(place())
}

pub(crate) fn unnamed() -> std::io::Result<std::fs::File> {
    tempfile::tempfile_in(place())
}

/// An empty file. Nobody has it open: some systems do not put another file in the place of one that is.
pub(crate) struct Temp(tempfile::TempPath);

impl Temp {
    pub(crate) fn new() -> Self {
        Self(file().unwrap().into_temp_path())
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }
}
