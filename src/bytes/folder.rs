//! [`Folder`]: sources that are found by name.

use std::fmt::Debug;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::{LocalFile, ReadAt, retry_interrupted};
use crate::error::{Error, Result};

/// A place where sources of bytes are found by name, such as the parts of a stack.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
/// use std::path::PathBuf;
/// use std::sync::Arc;
///
/// use ndarray_io::bytes::{Folder, InMemory, ReadAt};
/// use ndarray_io::{Error, Result};
///
/// /// Files in memory.
/// #[derive(Debug)]
/// struct Memory(BTreeMap<String, Vec<u8>>);
///
/// impl Folder for Memory {
///     fn names(&self) -> Result<Vec<String>> {
///         Ok(self.0.keys().cloned().collect())
///     }
///
///     fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>> {
///         let bytes = self.0.get(name).ok_or(std::io::Error::from(std::io::ErrorKind::NotFound))?;
///         Ok(Arc::new(InMemory(bytes.clone())))
///     }
///
///     fn path(&self) -> PathBuf {
///         "memory".into()
///     }
/// }
///
/// let folder = Memory(BTreeMap::from([("0.npy".into(), vec![0; 10])]));
/// assert_eq!(folder.open("0.npy")?.size()?, 10);
/// assert!(folder.open("1.npy").unwrap_err().is_not_found());
/// # Ok::<(), Error>(())
/// ```
pub trait Folder: Debug + Send + Sync {
    /// Returns the names of the sources in the folder, in any order.
    ///
    /// # Errors
    ///
    /// Any.
    fn names(&self) -> Result<Vec<String>>;

    /// Opens a source by name.
    ///
    /// The same source may be opened several times.
    ///
    /// # Errors
    ///
    /// If it does not exist, an error of kind [`Io`](crate::error::ErrorKind::Io) that wraps
    /// [`NotFound`](std::io::ErrorKind::NotFound); or any other.
    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>>;

    /// Returns the path of the folder for error messages. It need not exist.
    fn path(&self) -> PathBuf;

    /// Returns the path of a source for error messages. It need not exist.
    fn path_of(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// A folder of the file system.
///
/// # Examples
///
/// ```
/// use ndarray_io::bytes::{Folder, LocalFolder, ReadAt};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path();
/// std::fs::write(path.join("a"), b"123")?;
/// let folder = LocalFolder(path.into());
/// assert_eq!(folder.names()?, ["a"]);
/// assert_eq!(folder.open("a")?.size()?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LocalFolder(pub PathBuf);

impl Folder for LocalFolder {
    /// Returns the names of everything in the folder that has a name in Unicode.
    fn names(&self) -> Result<Vec<String>> {
        let list = || -> Result<Vec<String>> {
            let entries = retry_interrupted(|| std::fs::read_dir(&self.0))?;
            let mut names = Vec::new();
            for entry in entries {
                names.extend(entry?.file_name().into_string());
            }
            Ok(names)
        };
        list().map_err(|error: Error| error.at_path(&self.0))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(LocalFile(File::open(self.0.join(name))?)))
    }

    fn path(&self) -> PathBuf {
        self.0.clone()
    }
}
