//! Hints about how a map will be accessed.

#[cfg(unix)]
use crate::error::Result;

/// A hint to the operating system about how the elements of a map will be accessed.
///
/// Hints have an effect only on Unix. See [`NpyMmap::advise`](super::NpyMmap::advise).
///
/// # Examples
///
/// ```
/// use ndarray::{arr1, Ix1};
/// use ndarray_io::file::MapAdvice;
/// use ndarray_io::NpyMmap;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr1(&[1.0, 2.0, 3.0]))?;
/// // SAFETY: nothing changes the file while it is mapped.
/// let map = unsafe { NpyMmap::<f64, Ix1>::open(&path)? };
/// map.advise(MapAdvice::Random)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapAdvice {
    /// No known pattern: the system's default.
    Normal,
    /// From start to end: the system reads further ahead.
    Sequential,
    /// In random order: the system does not read ahead.
    Random,
    /// Use larger pages. This has an effect only on Linux, if the file system supports them.
    HugePages,
    /// Load all elements: before the call returns on Linux 5.14 and later, otherwise in the background.
    Populate,
}

#[cfg(unix)]
pub(super) fn advise(call: impl Fn(memmap2::Advice) -> std::io::Result<()>, advice: MapAdvice) -> Result<()> {
    use memmap2::Advice;
    let advised = match advice {
        MapAdvice::Normal => call(Advice::Normal),
        MapAdvice::Sequential => call(Advice::Sequential),
        MapAdvice::Random => call(Advice::Random),
        #[cfg(target_os = "linux")]
        MapAdvice::HugePages => call(Advice::HugePage),
        #[cfg(target_os = "linux")]
        MapAdvice::Populate => call(Advice::PopulateRead).or_else(|_| call(Advice::WillNeed)), // `PopulateRead` needs Linux 5.14
        #[cfg(not(target_os = "linux"))]
        MapAdvice::HugePages => Ok(()),
        #[cfg(not(target_os = "linux"))]
        MapAdvice::Populate => call(Advice::WillNeed),
    };
    match advised {
        // The kernel does not support this advice.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
        advised => Ok(advised?),
    }
}
