//! What these formats mean for [`scan`](mod@ndarray_io::scan): they have numbers, and no objects.

use std::sync::Arc;

use ndarray_io::bytes::{ReadAt, fill_at};
use ndarray_io::scan::Recognizer;
use ndarray_io::{NpzFile, ReadOptions, Result};

/// Recognizes the files of safetensors and GGUF, and the members of PyTorch's archives that have the elements.
///
/// ```
/// use ndarray_io::ReadOptions;
/// use ndarray_io::bytes::InMemory;
/// use ndarray_io_formats::scan::KnownFormats;
///
/// let file = InMemory(b"\x80\x04N.".to_vec());
/// let scan = ndarray_io::scan::scan(file, &ReadOptions::new(), &[&KnownFormats])?;
/// assert!(scan.is_complete());
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KnownFormats;

impl Recognizer for KnownFormats {
    fn has_no_objects(&self, source: &Arc<dyn ReadAt>) -> Result<bool> {
        let mut first = [0; 9];
        let came = fill_at(source, &mut first, 0)?;
        let options = ReadOptions::new();
        Ok(match &first[..came] {
            #[cfg(feature = "gguf")]
            [b'G', b'G', b'U', b'F', ..] => {
                crate::gguf::Gguf::from_source_with(Arc::clone(source), &options).is_ok()
            }
            #[cfg(feature = "safetensors")]
            [.., b'{'] => {
                crate::safetensors::SafeTensors::from_source_with(Arc::clone(source), &options).is_ok()
            }
            _ => {
                let _ = options;
                false
            }
        })
    }

    fn is_member_of_numbers(&self, archive: &NpzFile, index: usize) -> bool {
        // "model/data/0" is of the pickle "model/data.pkl".
        let name = archive.members()[index].file_name();
        let Some((folder, number)) = name.rsplit_once('/') else { return false };
        number.bytes().all(|digit| digit.is_ascii_digit())
            && folder.ends_with("data")
            && archive.index_of(&format!("{folder}.pkl")).is_ok()
    }
}
