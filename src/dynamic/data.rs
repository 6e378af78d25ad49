//! [`AlignedBytes`]: the bytes of a [`DynArray`](super::DynArray), in memory that can become that of a typed array.

use crate::dtype::{DType, Kind};
use crate::elements::cast::{Bitwise, UncheckedVec};
use crate::elements::{raw_words, swap_unit_of};
use crate::error::Result;
use crate::header::Header;
use crate::io::Payload;
use crate::transfer;

/// Bytes that are aligned for the elements of a dtype.
#[derive(Clone)]
pub(super) struct AlignedBytes {
    words: Words,
    len: usize,
}

/// Words of the alignment of the elements: a vector can only become one of elements with the same alignment.
#[derive(Clone)]
enum Words {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
    /// For records, whose fields need no more than this, objects, and long doubles.
    Sixteen(Vec<u128>),
}

/// Evaluates an expression with the words of any size.
macro_rules! match_words {
    ($words:expr, $name:ident => $body:expr) => {
        match $words {
            Words::One($name) => $body,
            Words::Two($name) => $body,
            Words::Four($name) => $body,
            Words::Eight($name) => $body,
            Words::Sixteen($name) => $body,
        }
    };
}

/// Makes words for elements of a dtype with a generic function.
macro_rules! make_words {
    ($dtype:expr, $make:ident($($argument:expr),*)) => {
        match alignment($dtype) {
            1 => Words::One($make($($argument),*)?),
            2 => Words::Two($make($($argument),*)?),
            4 => Words::Four($make($($argument),*)?),
            8 => Words::Eight($make($($argument),*)?),
            _ => Words::Sixteen($make($($argument),*)?),
        }
    };
}

/// Returns the alignment that elements of a dtype need at most.
fn alignment(dtype: &DType) -> usize {
    match dtype {
        DType::Scalar(scalar) if matches!(scalar.kind(), Kind::Bytes | Kind::Void) => 1,
        DType::Scalar(scalar) => swap_unit_of(scalar),
        DType::Subarray(subarray) => alignment(subarray.base()),
        DType::Record(_) | DType::Object => 16,
    }
}

fn zeroed_words<W: bytemuck::Pod>(len: usize) -> Result<Vec<W>> {
    let mut words = UncheckedVec::new(&raw_words::<W>());
    let mut loading = words.loading();
    let mut part = loading.start(len.div_ceil(size_of::<W>()), true)?;
    // Huge pages make the first access to the memory cheaper, so they are requested before it.
    transfer::os::advise_huge_pages(part.memory());
    let mut block = part.next_block(usize::MAX);
    block.buf().read_with(usize::MAX, |bytes| Ok(bytes.len()))?;
    block.commit()?;
    Ok(words.finish())
}

fn read<W: bytemuck::Pod>(payload: Payload<'_, '_>) -> Result<Vec<W>> {
    transfer::read_words(payload.source, payload.header, &raw_words::<W>(), payload.options)
}

impl AlignedBytes {
    /// Allocates memory for the elements of an array; it consists of zeros.
    pub(super) fn new(header: &Header) -> Result<Self> {
        let (_, len) = header.len_and_bytes_in_memory()?;
        Ok(Self { words: make_words!(header.dtype(), zeroed_words(len)), len })
    }

    pub(super) fn read(payload: Payload<'_, '_>) -> Result<Self> {
        let (_, len) = payload.header.len_and_bytes_in_memory()?;
        Ok(Self { words: make_words!(payload.header.dtype(), read(payload)), len })
    }

    #[cfg(feature = "object")]
    pub(super) fn empty() -> Self {
        Self { words: Words::One(Vec::new()), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &match_words!(&self.words, words => bytemuck::cast_slice(words))[..self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut match_words!(&mut self.words, words => bytemuck::cast_slice_mut(words))[..self.len]
    }

    /// Returns the memory as that of elements; unchanged if it cannot be, or if an element is invalid.
    pub(super) fn into_elements<T>(self, bitwise: &Bitwise<T>) -> Result<Vec<T>, Self> {
        let len = self.len;
        match self.words {
            Words::One(words) => bitwise.reuse_words(words, len).map_err(Words::One),
            Words::Two(words) => bitwise.reuse_words(words, len).map_err(Words::Two),
            Words::Four(words) => bitwise.reuse_words(words, len).map_err(Words::Four),
            Words::Eight(words) => bitwise.reuse_words(words, len).map_err(Words::Eight),
            Words::Sixteen(words) => bitwise.reuse_words(words, len).map_err(Words::Sixteen),
        }
        .map_err(|words| Self { words, len })
    }
}

impl PartialEq for AlignedBytes {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl std::fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len)
    }
}
