//! Text of another width, and strings of bytes as text and back.

use ndarray::ArrayD;

use super::DynArray;
use crate::dtype::{DType, Kind, Scalar};
use crate::error::{ErrorKind, Result};
use crate::options::{Casting, ReadOptions, WriteOptions};

/// Whether a dtype is text or strings of bytes: how many characters wide, and whether characters have four bytes.
fn width(dtype: &DType) -> Option<(usize, bool)> {
    let of = |scalar: &Scalar| match scalar.kind() {
        Kind::Text => Some((scalar.size() / 4, true)),
        Kind::Bytes => Some((scalar.size(), false)),
        _ => None,
    };
    dtype.as_scalar().and_then(of)
}

impl DynArray {
    /// Text as text of another dtype; `None` if it is none. What does not fit is an error whatever the casting.
    pub(super) fn cast_text(&self, dtype: &DType, casting: Casting) -> Option<Result<Self>> {
        let ((from, is_wide), (to, to_wide)) = (width(self.dtype())?, width(dtype)?);
        let needed = match (from <= to, is_wide && !to_wide) {
            (true, false) => Casting::Safe,
            (false, false) => Casting::SameKind,
            (_, true) => Casting::Unsafe,
        };
        if casting < needed {
            let advice = format!(
                "Casting::{needed:?} tries it, and what does not fit is an error even then, never cut"
            );
            let (found, wanted) = (self.dtype().clone(), dtype.clone());
            return Some(Err(ErrorKind::DTypeMismatch { found, wanted, advice }.into()));
        }
        let options = WriteOptions::new().text_width(to);
        Some(match to_wide {
            true => self.text().and_then(|texts| Self::new_with(&texts, &options)),
            false => self.strings(is_wide).and_then(|strings| Self::new_with(&strings, &options)),
        })
    }

    fn text(&self) -> Result<ArrayD<String>> {
        self.to_array_with(&ReadOptions::new())
    }

    /// Strings of bytes; out of text only where it is ASCII, as with NumPy.
    fn strings(&self, is_text: bool) -> Result<ArrayD<Vec<u8>>> {
        if !is_text {
            return self.to_array_with(&ReadOptions::new());
        }
        let texts = self.text()?;
        for (index, text) in texts.iter().enumerate() {
            if let Some(char) = text.chars().find(|char| !char.is_ascii()) {
                let reason = format!(
                    "the text {text:?} has {char:?}, which is no ASCII: strings of bytes hold that only"
                );
                return Err(crate::Error::from(ErrorKind::BadOption { reason }).behind(index));
            }
        }
        Ok(texts.mapv(String::into_bytes))
    }
}
