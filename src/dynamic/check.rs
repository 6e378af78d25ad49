//! Validation of the elements of a [`DynArray`].

use super::DynArray;
use crate::bytes::AsChunks;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::error::{ElementFault, Error, Fault, Result};

impl DynArray {
    /// Checks that every element is valid: bools are 0 or 1, and text consists of Unicode characters.
    ///
    /// A `DynArray` may contain any bytes; typed arrays are checked when they are read.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::error::ErrorKind::Malformed) for the first invalid element, with its number in the order of the file and its field.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::header::Order;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::from_bytes("|b1".parse()?, [3], Order::C, &[0, 1, 2])?;
    /// assert_eq!(array.check().unwrap_err().to_string(), "element 2: expected a bool (0 or 1), found 2");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        check_items(self.dtype(), self.bytes()).map_err(|error| self.element_error(error))
    }
}

/// Checks the elements that these bytes consist of.
pub(super) fn check_items(dtype: &DType, bytes: &[u8]) -> Result<()> {
    let size = dtype.item_size();
    // Elements without bytes are skipped, since `chunks_exact` panics for a length of 0.
    if dtype.has_object() || size == 0 || !dtype.has_invalid_bytes() {
        return Ok(());
    }
    let mut items = bytes.chunks_exact(size).enumerate();
    items.try_for_each(|(index, item)| check_item(dtype, item).map_err(|error| error.at_element(index)))
}

fn check_item(dtype: &DType, bytes: &[u8]) -> Result<()> {
    match dtype {
        DType::Scalar(scalar) if scalar.kind() == Kind::Bool => match bytes {
            [0 | 1] => Ok(()),
            _ => Err(Fault::InvalidElement(ElementFault::Bool {
                found: bytes.first().copied().unwrap_or_default(),
            })
            .into()),
        },
        DType::Scalar(scalar) if scalar.kind() == Kind::Text => {
            let is_big = scalar.byte_order() == Some(ByteOrder::Big);
            let code =
                |unit: &[u8; 4]| if is_big { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
            let mut codes = bytes.chunks_of::<4>().iter().map(code);
            match codes.find(|code| char::from_u32(*code).is_none()) {
                Some(code) => Err(Fault::InvalidElement(ElementFault::Unicode { code }).into()),
                None => Ok(()),
            }
        }
        DType::Subarray(subarray) => {
            let size = subarray.base().item_size();
            bytes.chunks_exact(size.max(1)).try_for_each(|item| check_item(subarray.base(), item))
        }
        DType::Record(record) => record.fields().iter().try_for_each(|field| {
            let item = &bytes[field.offset()..][..field.dtype().item_size()];
            check_item(field.dtype(), item).map_err(|error: Error| error.at_field(field.name()))
        }),
        _ => Ok(()),
    }
}
