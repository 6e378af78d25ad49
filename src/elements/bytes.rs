//! Byte strings of fixed length (`S`), padded with NULs, as `Bytes` and as `Vec<u8>`.

use std::fmt;
use std::str::FromStr;

use super::cast::ElementBuf;
use super::fixed::{ScalarElement, elements};
use super::record::FileLayout;
use super::{ItemDecoder, ItemEncoder, ReadPlan, ReadableElement, WritableElement, WritePlan, convert};
use crate::dtype::{ByteOrder, DType, Kind, MAX_ITEM_SIZE, Scalar};
use crate::error::{Error, Fault, Remedy, Result};
use crate::options::{ReadOptions, WriteOptions};

/// A string of at most `N` bytes, padded with NULs as in the file (`|S5` is `Bytes<5>`).
///
/// As in NumPy, trailing NULs are not part of the string. The dtype in the file may be narrower than `N`, but
/// not wider.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::element::Bytes;
/// use ndarray_io::{ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[Bytes::<5>::new(b"abc").unwrap()]).write_npy(&mut file)?;
/// let read = Array1::<Bytes<5>>::read_npy(&file[..])?;
/// assert_eq!(read[0].as_bytes(), b"abc");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Bytes<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Bytes<N> {
    /// Creates a string from these bytes; returns `None` if there are more than `N`.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut all = [0; N];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self(all))
    }

    /// Returns the bytes without the trailing NULs.
    ///
    /// ```
    /// # use ndarray_io::element::Bytes;
    /// assert_eq!(Bytes::<4>::new(b"a\0b\0").unwrap().as_bytes(), b"a\0b");
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        without_trailing_nuls(&self.0)
    }

    /// Returns all `N` bytes, including the trailing NULs.
    ///
    /// ```
    /// # use ndarray_io::element::Bytes;
    /// assert_eq!(Bytes::<4>::new(b"ab").unwrap().as_array(), b"ab\0\0");
    /// ```
    pub fn as_array(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Formats the string as a byte string literal.
impl<const N: usize> fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// Formats the string as text, if it is UTF-8, and otherwise with the escapes of a byte string literal.
impl<const N: usize> fmt::Display for Bytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => f.pad(text),
            Err(_) => f.pad(&self.as_bytes().escape_ascii().to_string()),
        }
    }
}

impl<const N: usize> AsRef<[u8]> for Bytes<N> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Fails with [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if there are more than `N` bytes.
impl<const N: usize> TryFrom<&[u8]> for Bytes<N> {
    type Error = Error;

    fn try_from(bytes: &[u8]) -> Result<Self> {
        let (length, width) = (bytes.len() as u64, N as u64);
        let too_long = || Error::from(Fault::TextTooLong { length, width }).with_help(Remedy::WidenField);
        Self::new(bytes).ok_or_else(too_long)
    }
}

/// Fails with [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the text has more than `N` bytes in UTF-8.
impl<const N: usize> TryFrom<&str> for Bytes<N> {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        text.as_bytes().try_into()
    }
}

impl<const N: usize> FromStr for Bytes<N> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.try_into()
    }
}

impl<const N: usize> ScalarElement for Bytes<N> {
    const SWAP_UNIT: usize = 1;

    fn scalar(order: ByteOrder) -> Scalar {
        const { assert!(N <= MAX_ITEM_SIZE, "NumPy limits elements to 2147483647 bytes") };
        Scalar::new(Kind::Bytes, N, order).expect("the size has been checked") // above
    }

    // Narrower texts are decoded one by one.
    const IS_READ_AS_BYTES: bool = false;

    fn implicit_read_plan(found: &DType, _: &ReadOptions) -> Option<ReadPlan<Self>> {
        width(found)
            .filter(|width| *width < N)
            .map(|width| ReadPlan::PerItem(Box::new(BytesDecoder { width }) as _))
    }
}

elements! {
    [const N: usize] Bytes<N>;
}

/// Returns the width of a byte string dtype, or `None` for any other dtype.
pub(super) fn width(dtype: &DType) -> Option<usize> {
    dtype.as_scalar().filter(|scalar| scalar.kind() == Kind::Bytes).map(Scalar::size)
}

/// Returns the items (bytes or code points) without the trailing NULs.
pub(crate) fn without_trailing_nuls<T: PartialEq + Default>(items: &[T]) -> &[T] {
    let nul = T::default();
    let length = items.iter().rposition(|item| *item != nul).map_or(0, |last| last + 1);
    &items[..length]
}

/// Decodes byte strings of equal width.
pub(super) struct BytesDecoder {
    pub(super) width: usize,
}

impl<const N: usize> ItemDecoder<Bytes<N>> for BytesDecoder {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, Bytes<N>>) -> Result<()> {
        // Indices instead of `chunks_exact`, which panics for strings with a width of 0.
        out.extend((0..count).map(|index| {
            let mut all = [0; N];
            all[..self.width].copy_from_slice(&items[index * self.width..][..self.width]);
            Bytes(all)
        }));
        Ok(())
    }
}

impl ItemDecoder<Vec<u8>> for BytesDecoder {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, Vec<u8>>) -> Result<()> {
        out.extend(
            (0..count)
                .map(|index| without_trailing_nuls(&items[index * self.width..][..self.width]).to_vec()),
        );
        Ok(())
    }
}

impl ReadableElement for Vec<u8> {
    fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        match width(found) {
            Some(width) => Ok(ReadPlan::PerItem(Box::new(BytesDecoder { width }))),
            None => convert::text_read_plan(found, Kind::Bytes, options, |wanted| {
                Box::new(BytesDecoder { width: wanted.size() })
            }),
        }
    }
}

impl WritableElement for Vec<u8> {
    const FILE_LAYOUT: FileLayout = FileLayout::text(1);

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        dtype_of_width(width_for(&mut items.map(Vec::len), options)?)
    }

    fn write_plan(_: &DType) -> WritePlan<Self> {
        WritePlan::PerItem(Box::new(PaddedEncoder))
    }
}

fn dtype_of_width(width: usize) -> Result<DType> {
    match Scalar::new(Kind::Bytes, width, ByteOrder::NATIVE) {
        Some(scalar) => Ok(scalar.into()),
        None => Err(Fault::Overflow { what: format!("a string of {width} bytes") }.into()),
    }
}

/// Returns the width for strings of these lengths.
///
/// This is the width that the options set, or an error if a string is longer. If they set none, it is the
/// longest length, and at least 1, as in NumPy. The error contains the index of the first of the longest
/// strings.
pub(super) fn width_for(lengths: &mut dyn Iterator<Item = usize>, options: &WriteOptions) -> Result<usize> {
    // `Reverse` makes `max_by_key` return the first of equally long strings.
    let longest = lengths.enumerate().max_by_key(|(index, length)| (*length, std::cmp::Reverse(*index)));
    match (longest, options.text_width) {
        (Some((index, length)), Some(width)) if length > width => {
            Err(crate::error::Error::from(Fault::TextTooLong { length: length as u64, width: width as u64 })
                .at_element(index))
        }
        (_, Some(width)) => Ok(width),
        (longest, None) => Ok(longest.map_or(1, |(_, length)| length.max(1))),
    }
}

struct PaddedEncoder;

impl ItemEncoder<Vec<u8>> for PaddedEncoder {
    fn encode(&self, item: &Vec<u8>, into: &mut [u8]) -> Result<()> {
        // As for text, the width is that of what was looked at before.
        let (length, width) = (item.len() as u64, into.len() as u64);
        if length > width {
            return Err(Fault::TextTooLong { length, width }.into());
        }
        write_padded(item, into);
        Ok(())
    }
}

/// Writes a byte string to `into`, padded with NULs. The string must fit.
pub(super) fn write_padded(string: &[u8], into: &mut [u8]) {
    let (text, rest) = into.split_at_mut(string.len());
    text.copy_from_slice(string);
    rest.fill(0);
}
