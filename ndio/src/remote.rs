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

    use std::io::Write;
    use std::sync::OnceLock;

    use ndarray_io::ReadOptions;
    use ndarray_io::bytes::{LocalFile, ReadAt, ReadHints, Runs};
    use ndarray_io::dask::NpyStack;
    use ndarray_io::error::ErrorKind;
    use ndarray_io_store::{Remote, UploadOptions};

    use super::{Arc, Failure, File, Path, PathBuf, RemoteObject};
    use crate::failure::{at, escape_for_terminal};
    use crate::input::SequentialReader;
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
            Ok(bytes) => {
                let bytes = CopiedIfNeeded { bytes, name: remote.name().into(), copy: OnceLock::new() };
                Ok((name, RemoteObject::Bytes(Arc::new(bytes))))
            }
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

    /// An object that is copied before parts of it are read, if its server has no ranges.
    #[derive(Debug)]
    struct CopiedIfNeeded {
        bytes: Arc<dyn ReadAt>,
        name: PathBuf,
        copy: OnceLock<LocalFile>,
    }

    impl CopiedIfNeeded {
        fn source(&self) -> &dyn ReadAt {
            self.copy.get().map_or(&self.bytes, |copy| copy as &dyn ReadAt)
        }
    }

    impl ReadAt for CopiedIfNeeded {
        fn read_at(&self, into: &mut [u8], offset: u64) -> ndarray_io::Result<usize> {
            self.source().read_at(into, offset)
        }

        fn size(&self) -> ndarray_io::Result<u64> {
            self.bytes.size()
        }

        fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> ndarray_io::Result<usize> {
            self.source().read_parts(parts)
        }

        fn check(&self, runs: &Runs) -> ndarray_io::Result<()> {
            match self.source().check(runs) {
                Err(error) if error.kind() == ErrorKind::BadSource => {
                    let name = escape_for_terminal(&self.name.to_string_lossy());
                    let len = self.size()?;
                    let remark =
                        format!("{name}: the server has no ranges: all {len} bytes are copied first");
                    let _ = writeln!(io::stderr(), "ndio: {remark}"); // nothing can be done if stderr fails
                    let copy = tempfile::tempfile()?;
                    let all = SequentialReader::new(Arc::clone(&self.bytes));
                    io::copy(&mut io::BufReader::with_capacity(1 << 20, all), &mut &copy)?;
                    self.copy.get_or_init(|| LocalFile(copy));
                    Ok(())
                }
                checked => checked,
            }
        }

        fn hints(&self) -> ReadHints {
            self.source().hints()
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
