//! Objects in stores, whose URLs are given in place of paths. Without the feature `remote`, they are refused.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray_io::bytes::{Folder, ReadAt};

use super::failure::Failure;

/// What a URL leads to.
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "no URL leads anywhere"))]
pub(crate) enum RemoteObject {
    Bytes(Arc<dyn ReadAt>),
    /// Stores have no folders, only objects with a common prefix.
    Folder(Arc<dyn Folder>),
}

/// Whether an argument is the URL of an object.
pub(crate) fn is_url(path: &Path) -> bool {
    const SCHEMES: [&str; 10] = ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https"];
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)))
}

/// Returns what messages call a path: that of a URL without credentials and query, which may be a signature.
pub(crate) fn display_name(path: &Path) -> String {
    match is_url(path) {
        true => redacted_url(path).map_or_else(|_| "the URL".to_owned(), |name| name.display().to_string()),
        false => path.display().to_string(),
    }
}

#[cfg(feature = "remote")]
mod store {
    use std::io;

    use ndarray_io::ReadOptions;
    use ndarray_io::dask::NpyStack;
    use ndarray_io_store::{Remote, UploadOptions};

    use super::{Arc, Failure, File, Path, PathBuf, RemoteObject};
    use crate::failure::at;
    use crate::progress::{Progress, ProgressReader};

    fn remote(url: &Path) -> Result<Remote, Failure> {
        Ok(Remote::parse(&url.to_string_lossy())?)
    }

    /// Returns the name of an object in messages: its URL without credentials and query.
    pub(crate) fn redacted_url(url: &Path) -> Result<PathBuf, Failure> {
        Ok(remote(url)?.name().into())
    }

    /// Opens an object, or a folder of objects that form one array.
    pub(crate) fn open(url: &Path) -> Result<(PathBuf, RemoteObject), Failure> {
        let remote = remote(url)?;
        let name = remote.name().into();
        match remote.source() {
            Ok(bytes) => Ok((name, RemoteObject::Bytes(bytes))),
            Err(error) if error.is_not_found() => {
                let folder = Arc::new(remote);
                match NpyStack::from_folder(Arc::clone(&folder), &ReadOptions::new()) {
                    Ok(_) => Ok((name, RemoteObject::Folder(folder))),
                    Err(_) => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file as an object, which becomes visible when it is complete. One that exists is replaced only if `force` says so.
    pub(crate) fn write(url: &Path, force: bool, mut file: &File) -> Result<(), Failure> {
        let remote = remote(url)?;
        let len = file.metadata()?.len();
        let options = UploadOptions::new().len(len);
        let mut upload = remote.upload(&if force { options } else { options.create_new() })?;
        let mut progress = Progress::new();
        io::copy(
            &mut ProgressReader { input: &mut file, progress: &mut progress, total_bytes: len },
            &mut upload,
        )
        .map_err(|error| at(&PathBuf::from(remote.name()), error.into()))?;
        upload.finish()?;
        Ok(())
    }
}

#[cfg(not(feature = "remote"))]
mod store {
    use super::{Failure, File, Path, PathBuf, RemoteObject};

    fn no_store_support() -> Failure {
        "this ndio was built without object stores; cargo install ndio --features remote builds it with them"
            .into()
    }

    pub(crate) fn redacted_url(_: &Path) -> Result<PathBuf, Failure> {
        Err(no_store_support())
    }

    pub(crate) fn open(_: &Path) -> Result<(PathBuf, RemoteObject), Failure> {
        Err(no_store_support())
    }

    pub(crate) fn write(_: &Path, _: bool, _: &File) -> Result<(), Failure> {
        Err(no_store_support())
    }
}

pub(crate) use store::{open, redacted_url, write};
