//! Arrays `[T; N]`: the innermost axis of a file's array, or a NumPy subarray in a record.
//!
//! The first axis of a subarray is the outermost array.

use std::array;

use super::cast::{ElementBuf, decode_to_vec};
use super::convert::converting_decoder;
use super::record::FileLayout;
use super::{
    ItemDecoder, ItemEncoder, ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement,
    WritePlan, mismatch,
};
use crate::dtype::{DType, Subarray};
use crate::error::{Fault, Result};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::Shape;

impl<T: ReadableElement + 'static, const N: usize> ReadableElement for [T; N] {
    fn inner_axes(axes: &mut Vec<usize>) {
        axes.push(N);
        T::inner_axes(axes);
    }

    fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        let inner = match outermost_axis(found) {
            Some((length, inner)) if length == N => inner,
            outermost_axis => {
                return Err(wrong_rows::<T>(found, outermost_axis.map(|(_, inner)| inner), N, options));
            }
        };
        Ok(match T::read_plan(&inner, options)? {
            ReadPlan::Bitwise(bitwise) => ReadPlan::Bitwise(bitwise.repeated()),
            ReadPlan::Converted(token, conversion) => {
                ReadPlan::PerItem(Box::new(ArrayDecoder(converting_decoder(token, conversion))))
            }
            ReadPlan::PerItem(decode) => ReadPlan::PerItem(Box::new(ArrayDecoder(decode))),
            ReadPlan::Opaque(_) => return Err(mismatch(found, inner, false)),
        })
    }
}

impl<T: WritableElement + 'static, const N: usize> WritableElement for [T; N] {
    const FILE_LAYOUT: FileLayout = T::FILE_LAYOUT.repeated(N);
    const IS_ALWAYS_BITWISE: bool = T::IS_ALWAYS_BITWISE;

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        let row = T::dtype_for(&mut items.flatten(), options);
        subarray(row.map_err(|error| error.divide_element_index(N))?, N)
    }

    fn write_plan(dtype: &DType) -> WritePlan<Self> {
        let Some((_, inner)) = outermost_axis(dtype) else { unreachable!("`dtype_for` gives a subarray") };
        match T::write_plan(&inner) {
            WritePlan::Bitwise(out) => WritePlan::Bitwise(out.repeated()),
            WritePlan::PerItem(encode) => {
                WritePlan::PerItem(Box::new(ArrayEncoder { encode, inner_size: inner.item_size() }))
            }
            WritePlan::Opaque(_) => unreachable!("`subarray` takes no objects"),
        }
    }
}

impl<T: ViewElement + 'static, const N: usize> ViewElement for [T; N] {}

impl<T: ViewMutElement + 'static, const N: usize> ViewMutElement for [T; N] {
    const IS_FULL: () = T::IS_FULL;
}

/// Returns the subarray dtype for `count` elements of `row`, which may itself be a subarray.
fn subarray(row: DType, count: usize) -> Result<DType> {
    if row.has_object() {
        let reason = "Python objects cannot be elements of an inner array".into();
        return Err(Fault::BadOption { reason }.into());
    }
    match Subarray::with_merged_axes(row, Shape::from([count])) {
        Some(subarray) => Ok(subarray.into()),
        None => Err(Fault::Overflow { what: format!("a subarray of {count} elements") }.into()),
    }
}

/// Returns the length of a subarray's outermost axis and the dtype of each of its rows.
fn outermost_axis(dtype: &DType) -> Option<(usize, DType)> {
    let DType::Subarray(subarray) = dtype else { return None };
    let (length, rest) = subarray.shape().split_first()?;
    let row = match rest {
        [] => subarray.base().clone(),
        rest => Subarray::new(subarray.base().clone(), Shape::from(rest))?.into(),
    };
    Some((*length, row))
}

/// Returns the error for a dtype that is not a subarray of `count` rows.
fn wrong_rows<T: ReadableElement>(
    found: &DType,
    row: Option<DType>,
    count: usize,
    options: &ReadOptions,
) -> crate::error::Error {
    let row = row.unwrap_or_else(|| found.clone());
    // Ask `T` which dtype it would accept, so that the error states the dtype of the entire array.
    let wanted = match T::read_plan(&row, options) {
        Err(error) => match error.fault() {
            Fault::DTypeMismatch { wanted, .. } => wanted.clone(),
            _ => return error,
        },
        Ok(_) => row,
    };
    match subarray(wanted, count) {
        Ok(wanted) => mismatch(found, wanted, false),
        Err(error) => error,
    }
}

/// Decodes arrays from their elements, which are stored contiguously.
struct ArrayDecoder<T>(Box<dyn ItemDecoder<T>>);

impl<T: Send + Sync, const N: usize> ItemDecoder<[T; N]> for ArrayDecoder<T> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, [T; N]>) -> Result<()> {
        // An error of the inner decoder contains the index of an inner element; `divide_element_index` converts it to the
        // index of the array.
        let all = decode_to_vec(&*self.0, items, count * N).map_err(|error| error.divide_element_index(N))?;
        let mut all = all.into_iter();
        let mut next = || all.next().expect("a decoder returns the requested number of elements");
        out.extend((0..count).map(|_| array::from_fn(|_| next())));
        Ok(())
    }

    fn nanos_per_element(&self) -> u64 {
        self.0.nanos_per_element().saturating_mul(N as u64)
    }
}

struct ArrayEncoder<T> {
    encode: Box<dyn ItemEncoder<T>>,
    inner_size: usize,
}

impl<T: Send + Sync, const N: usize> ItemEncoder<[T; N]> for ArrayEncoder<T> {
    fn encode(&self, item: &[T; N], into: &mut [u8]) -> Result<()> {
        self.encode.encode_all(item, self.inner_size, into)
    }
}
