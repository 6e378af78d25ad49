//! How a map is going to be used.

#[cfg(unix)]
use crate::error::Result;

/// How the elements of a map are going to be used, which the system may make something of.
///
/// ```
/// use ndarray::{arr1, Ix1};
/// use ndarray_io::file::MapAdvice;
/// use ndarray_io::NpyMmap;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// ndarray_io::write_npy(&path, &arr1(&[1.0, 2.0, 3.0]))?;
/// // SAFETY: nobody changes the file as long as the map is there.
/// let map = unsafe { NpyMmap::<f64, Ix1>::open(&path)? };
/// map.advise(MapAdvice::Random)?;
/// map.will_need(1..3)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapAdvice {
    /// In no way that is known: what a system does without advice.
    Normal,
    /// From the beginning to the end: the system reads further ahead.
    Sequential,
    /// Here and there: the system reads nothing but what is touched.
    Random,
    /// In larger pages, where the system has them for files.
    HugePages,
    /// All of it, which is loaded now (on Linux; elsewhere it is begun).
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
        MapAdvice::Populate => call(Advice::PopulateRead).or_else(|_| call(Advice::WillNeed)), // before Linux 5.14
        #[cfg(not(target_os = "linux"))]
        MapAdvice::HugePages => Ok(()),
        #[cfg(not(target_os = "linux"))]
        MapAdvice::Populate => call(Advice::WillNeed),
    };
    match advised {
        // A kernel without it.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
        advised => Ok(advised?),
    }
}
