//! Text of fixed length (`U`), in four-byte code points padded with NULs, as `Chars` and as `String`.

use std::fmt;
use std::str::FromStr;

use super::bytes::{self, width_for, without_trailing_nuls};
use super::cast::ElementBuf;
use super::fixed::{ScalarElement, elements};
use super::record::FileLayout;
use super::swap::swap_units;
use super::{ItemDecoder, ItemEncoder, ReadPlan, ReadableElement, WritableElement, WritePlan, convert};
use crate::bytes::AsChunks;
use crate::dtype::{ByteOrder, DType, Kind, MAX_ITEM_SIZE, Scalar};
use crate::error::{ElementFault, Error, Fault, Remedy, Result};
use crate::options::{ReadOptions, WriteOptions};

/// Text of at most `N` code points, padded with NULs as in the file (`<U5` is `Chars<5>`).
///
/// All code points in the file are kept, even invalid ones; [`Chars::try_to_string`] checks them. As in
/// NumPy, trailing NULs are not part of the text. The dtype in the file may be narrower than `N`, but not
/// wider.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::element::Chars;
/// use ndarray_io::{ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[Chars::<5>::new("λx").unwrap()]).write_npy(&mut file)?;
/// let read = Array1::<Chars<5>>::read_npy(&file[..])?;
/// assert_eq!(read[0].code_points(), [0x3BB, 0x78]);
/// assert_eq!(read[0].try_to_string()?, "λx");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Chars<const N: usize>(pub(super) [u32; N]);

impl<const N: usize> Chars<N> {
    /// Creates a text from a string; returns `None` if the string has more than `N` characters.
    pub fn new(text: &str) -> Option<Self> {
        let mut all = [0; N];
        for (index, char) in text.chars().enumerate() {
            *all.get_mut(index)? = char.into();
        }
        Some(Self(all))
    }

    /// Returns the code points without the trailing NULs.
    ///
    /// ```
    /// # use ndarray_io::element::Chars;
    /// assert_eq!(Chars::<4>::new("a").unwrap().code_points(), [0x61]);
    /// ```
    pub fn code_points(&self) -> &[u32] {
        without_trailing_nuls(&self.0)
    }

    /// Converts the text to a `String`.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::error::ErrorKind::Malformed) if a code point is a surrogate or beyond U+10FFFF.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray_io::element::Chars;
    /// assert_eq!(Chars::<4>::new("añ").unwrap().try_to_string()?, "añ");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn try_to_string(&self) -> Result<String> {
        text(self.code_points().iter().copied())
    }

    fn to_string_lossy(self) -> String {
        let codes = self.code_points().iter();
        codes.map(|code| char::from_u32(*code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }
}

impl<const N: usize> Default for Chars<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Formats the text as a string literal, with U+FFFD in place of invalid code points.
impl<const N: usize> fmt::Debug for Chars<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}

/// Formats the text, with U+FFFD in place of invalid code points.
impl<const N: usize> fmt::Display for Chars<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

/// Fails with [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the text has more than `N` characters.
impl<const N: usize> TryFrom<&str> for Chars<N> {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self> {
        let too_long = || Fault::TextTooLong { length: text.chars().count() as u64, width: N as u64 };
        Self::new(text).ok_or_else(|| Error::from(too_long()).with_help(Remedy::WidenField))
    }
}

impl<const N: usize> FromStr for Chars<N> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.try_into()
    }
}

pub(super) fn text(codes: impl Iterator<Item = u32>) -> Result<String> {
    codes
        .map(|code| {
            char::from_u32(code).ok_or_else(|| Fault::InvalidElement(ElementFault::Unicode { code }).into())
        })
        .collect()
}

impl<const N: usize> ScalarElement for Chars<N> {
    const SWAP_UNIT: usize = 4;

    fn scalar(order: ByteOrder) -> Scalar {
        const { assert!(N <= MAX_ITEM_SIZE / 4, "NumPy limits elements to 2147483647 bytes") };
        Scalar::new(Kind::Text, 4 * N, order).expect("the size has been checked") // above
    }

    // Narrower texts are decoded one by one.
    const IS_READ_AS_BYTES: bool = false;

    fn implicit_read_plan(found: &DType, _: &ReadOptions) -> Option<ReadPlan<Self>> {
        TextDecoder::of(found)
            .filter(|items| items.item_size < 4 * N)
            .map(|items| ReadPlan::PerItem(Box::new(items) as _))
    }
}

elements! {
    [const N: usize] Chars<N>;
}

/// Decodes texts of equal width.
struct TextDecoder {
    item_size: usize,
    swap: bool,
}

impl TextDecoder {
    fn of(dtype: &DType) -> Option<Self> {
        let scalar = dtype.as_scalar().filter(|scalar| scalar.kind() == Kind::Text)?;
        Some(Self { item_size: scalar.size(), swap: scalar.is_foreign() })
    }

    /// Swaps `count` texts to native byte order in place, and returns the code points of each.
    fn native_code_points<'a>(
        &self,
        items: &'a mut [u8],
        count: usize,
    ) -> impl Iterator<Item = &'a [[u8; 4]]> + use<'a> {
        if self.swap {
            swap_units(items, 4);
        }
        let size = self.item_size;
        let items: &'a [u8] = items;
        (0..count).map(move |index| items[index * size..][..size].chunks_of())
    }
}

impl<const N: usize> ItemDecoder<Chars<N>> for TextDecoder {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, Chars<N>>) -> Result<()> {
        out.extend(self.native_code_points(items, count).map(|codes| {
            let mut all = [0; N];
            all.iter_mut().zip(codes).for_each(|(slot, code)| *slot = u32::from_ne_bytes(*code));
            Chars(all)
        }));
        Ok(())
    }
}

impl ItemDecoder<String> for TextDecoder {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, String>) -> Result<()> {
        for (index, codes) in self.native_code_points(items, count).enumerate() {
            let codes = without_trailing_nuls(codes);
            let length = codes.len();
            let codes = || codes.iter().map(|code| u32::from_ne_bytes(*code));
            // Most texts are ASCII and can be copied without encoding each character as UTF-8.
            let is_ascii = codes().fold(0, |all, code| all | code) < 0x80;
            out.push(if is_ascii {
                let mut text = String::with_capacity(length);
                text.extend(codes().map(|code| char::from(code as u8)));
                text
            } else {
                text(codes()).map_err(|error| error.at_element(index))?
            });
        }
        Ok(())
    }
}

/// Decodes byte strings as UTF-8.
struct Utf8Decoder(bytes::BytesDecoder);

impl ItemDecoder<String> for Utf8Decoder {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, String>) -> Result<()> {
        let width = self.0.width;
        for index in 0..count {
            let text =
                trimmed_utf8(&items[index * width..][..width]).map_err(|error| error.at_element(index))?;
            out.push(text.to_owned());
        }
        Ok(())
    }
}

/// Returns a byte string as UTF-8 text, without its trailing NULs.
pub(super) fn trimmed_utf8(item: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(without_trailing_nuls(item));
    text.map_err(|error| {
        Error::from(Fault::InvalidElement(ElementFault::Utf8 { valid_up_to: error.valid_up_to() as u64 }))
    })
}

impl ReadableElement for String {
    fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        if let Some(width) = bytes::width(found) {
            return Ok(ReadPlan::PerItem(Box::new(Utf8Decoder(bytes::BytesDecoder { width }))));
        }
        match TextDecoder::of(found) {
            Some(items) => Ok(ReadPlan::PerItem(Box::new(items))),
            None => convert::text_read_plan(found, Kind::Text, options, |wanted| {
                Box::new(TextDecoder { item_size: wanted.size(), swap: false })
            }),
        }
    }
}

impl WritableElement for String {
    const FILE_LAYOUT: FileLayout = FileLayout::text(4);

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        let width = width_for(&mut items.map(|item| item.chars().count()), options)?;
        dtype_of_width(width, options.get_byte_order())
    }

    fn write_plan(dtype: &DType) -> WritePlan<Self> {
        WritePlan::PerItem(Box::new(CodePointEncoder {
            swap: dtype.as_scalar().is_some_and(Scalar::is_foreign),
        }))
    }
}

fn dtype_of_width(width: usize, order: ByteOrder) -> Result<DType> {
    match width.checked_mul(4).and_then(|size| Scalar::new(Kind::Text, size, order)) {
        Some(scalar) => Ok(scalar.into()),
        None => Err(Fault::Overflow { what: format!("a text of {width} characters") }.into()),
    }
}

struct CodePointEncoder {
    swap: bool,
}

impl ItemEncoder<String> for CodePointEncoder {
    fn encode(&self, item: &String, into: &mut [u8]) -> Result<()> {
        match write_code_points(item, self.swap, into) {
            true => Ok(()),
            // The width suffices for what was looked at before; a conversion of someone else may give another text now.
            false => {
                let (length, width) = (item.chars().count() as u64, into.len() as u64 / 4);
                Err(Fault::TextTooLong { length, width }.into())
            }
        }
    }
}

/// Writes a text to `into` as code points, padded with NULs. Returns whether all of it fits.
pub(super) fn write_code_points(text: &str, swap: bool, into: &mut [u8]) -> bool {
    let mut chars = text.chars();
    for slot in into.chunks_of_mut() {
        *slot = chars.next().map_or(0, u32::from).to_ne_bytes();
    }
    if swap {
        swap_units(into, 4);
    }
    chars.next().is_none()
}
