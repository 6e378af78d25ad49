//! Bytes in memory.

use std::fmt::{self, Debug};

use super::ReadAt;
use crate::error::Result;

impl ReadAt for [u8] {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.len() as u64)
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// Bytes in memory that someone else owns, such as a `Vec<u8>` or a map.
///
/// # Examples
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::bytes::InMemory;
/// use ndarray_io::{NpyFile, WriteNpyExt};
///
/// let mut bytes = Vec::new();
/// arr1(&[1, 2, 3]).write_npy(&mut bytes)?;
/// let file = NpyFile::from_source(InMemory(bytes))?;
/// assert_eq!(file.take::<Array1<i32>>(0, &[2, 0])?, arr1(&[3, 1]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct InMemory<T>(pub T);

impl<T: AsRef<[u8]>> Debug for InMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in memory", self.0.as_ref().len())
    }
}

impl<T: AsRef<[u8]> + Send + Sync> ReadAt for InMemory<T> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.0.as_ref().read_at(into, offset)
    }

    fn size(&self) -> Result<u64> {
        self.0.as_ref().size()
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }
}
