//! WASI: the identity of files.

use std::fs::File;
use std::io;

use super::FileId;

pub(crate) fn id_of(file: &File) -> io::Result<Option<FileId>> {
    let found = rustix::fs::fstat(file)?;
    Ok(Some(FileId { volume: found.st_dev, number: found.st_ino }))
}

pub(crate) fn hard_link_count(file: &File, _: &std::fs::Metadata) -> io::Result<u64> {
    Ok(rustix::fs::fstat(file)?.st_nlink)
}
