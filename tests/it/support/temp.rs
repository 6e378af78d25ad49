//! Temporary files and folders for tests.

use std::path::PathBuf;

/// Returns the folder for temporary files. WASI has none of its own, so its runner must provide `/tmp`.
fn temp_root() -> PathBuf {
    if cfg!(target_os = "wasi") { "/tmp".into() } else { std::env::temp_dir() }
}

pub(crate) fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(temp_root())
}

pub(crate) fn file() -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new_in(temp_root())
}

pub(crate) fn unnamed_file() -> std::io::Result<std::fs::File> {
    tempfile::tempfile_in(temp_root())
}

/// An empty file that is closed: some systems cannot replace an open file.
pub(crate) struct ClosedTempFile(tempfile::TempPath);

impl ClosedTempFile {
    pub(crate) fn new() -> Self {
        Self(file().unwrap().into_temp_path())
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }
}
