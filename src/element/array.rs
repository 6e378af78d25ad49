//! Arrays `[T; N]`: the innermost axis of a file's array, and in a record NumPy's subarray, of which the first axis is the
//! outermost.

use std::array;

use super::record::FileLayout;
use super::{
    Decode, Encode, ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement, WritePlan,
    mismatch,
};
use crate::dtype::{DType, Subarray};
use crate::error::{ErrorKind, Result};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::Shape;

impl<T: ReadableElement + 'static, const N: usize> ReadableElement for [T; N] {
    fn inner_axes(axes: &mut Vec<usize>) {
        axes.push(N);
        T::inner_axes(axes);
    }

    fn accept(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        let inner = match rows(found) {
            Some((length, inner)) if length == N => inner,
            rows => return Err(other_rows::<T>(found, rows.map(|(_, inner)| inner), N, options)),
        };
        Ok(match T::accept(&inner, options)? {
            ReadPlan::Bitwise(plain) => ReadPlan::Bitwise(plain.repeated()),
            ReadPlan::PerItem(decode) => ReadPlan::PerItem(Box::new(Each(decode))),
            ReadPlan::Opaque(_) => return Err(mismatch(found, inner, false)),
        })
    }
}

impl<T: WritableElement + 'static, const N: usize> WritableElement for [T; N] {
    const FILE_LAYOUT: FileLayout = T::FILE_LAYOUT.repeated(N);

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        let row = T::dtype_for(&mut items.flatten(), options);
        subarray(row.map_err(|error| error.within(N))?, N)
    }

    fn emit(dtype: &DType) -> WritePlan<Self> {
        let Some((_, inner)) = rows(dtype) else { unreachable!("`dtype_for` gives a subarray") };
        match T::emit(&inner) {
            WritePlan::Bitwise(out) => WritePlan::Bitwise(out.repeated()),
            WritePlan::PerItem(encode) => {
                WritePlan::PerItem(Box::new(EachOut { encode, size: inner.item_size() }))
            }
            WritePlan::Opaque(_) => unreachable!("`subarray` takes no objects"),
        }
    }
}

impl<T: ViewElement + 'static, const N: usize> ViewElement for [T; N] {}

// SAFETY: between the elements of an array there is nothing, and they have no padding themselves.
#[allow(unsafe_code)]
unsafe impl<T: ViewMutElement + 'static, const N: usize> ViewMutElement for [T; N] {
    const IS_FULL: () = T::IS_FULL;
}

/// So many of a dtype, which may be a subarray itself.
fn subarray(row: DType, count: usize) -> Result<DType> {
    if row.has_object() {
        let reason = "an array of Python objects has no bytes of its own in another array".into();
        return Err(ErrorKind::BadOption { reason }.into());
    }
    let (base, mut dims) = match row {
        DType::Subarray(inner) => (inner.base().clone(), inner.shape().to_vec()),
        base => (base, Vec::new()),
    };
    dims.insert(0, count);
    match Subarray::new(base, dims.into()) {
        Some(subarray) => Ok(subarray.into()),
        None => Err(ErrorKind::Overflow { what: format!("a subarray of {count} elements") }.into()),
    }
}

/// How many rows a subarray has, and what each is.
fn rows(dtype: &DType) -> Option<(usize, DType)> {
    let DType::Subarray(subarray) = dtype else { return None };
    let (length, rest) = subarray.shape().split_first()?;
    let row = match rest {
        [] => subarray.base().clone(),
        rest => Subarray::new(subarray.base().clone(), Shape::from(rest))?.into(),
    };
    Some((*length, row))
}

/// The error for a dtype that has not so many rows.
fn other_rows<T: ReadableElement>(
    found: &DType,
    row: Option<DType>,
    count: usize,
    options: &ReadOptions,
) -> crate::error::Error {
    let row = row.unwrap_or_else(|| found.clone());
    // What a row has to be is what its own type says.
    let wanted = match T::accept(&row, options) {
        Err(error) => match error.kind() {
            ErrorKind::DTypeMismatch { wanted, .. } => wanted.clone(),
            _ => return error,
        },
        Ok(_) => row,
    };
    match subarray(wanted, count) {
        Ok(wanted) => mismatch(found, wanted, false),
        Err(error) => error,
    }
}

/// The elements of arrays, one behind the other.
struct Each<T>(Box<dyn Decode<T>>);

impl<T: Send + Sync, const N: usize> Decode<[T; N]> for Each<T> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut Vec<[T; N]>) -> Result<()> {
        let mut all = Vec::new();
        self.0.decode(items, count * N, &mut all).map_err(|error| error.within(N))?;
        let mut all = all.into_iter();
        let mut next = || all.next().expect("a decoder gives as many elements as it was asked for");
        out.extend((0..count).map(|_| array::from_fn(|_| next())));
        Ok(())
    }
}

struct EachOut<T> {
    encode: Box<dyn Encode<T>>,
    size: usize,
}

impl<T: Send + Sync, const N: usize> Encode<[T; N]> for EachOut<T> {
    fn encode(&self, item: &[T; N], into: &mut [u8]) -> Result<()> {
        self.encode.encode_all(item, self.size, into)
    }
}
