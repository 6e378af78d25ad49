//! Arrays `[T; N]` in records: NumPy's subarrays, of which the first axis is the outermost.

use std::array;

use super::super::{Decode, Emit, Encode, How, mismatch};
use super::{Filed, RecordField};
use crate::dtype::{DType, Subarray};
use crate::error::{ErrorKind, Result};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::Shape;

impl<T: RecordField, const N: usize> RecordField for [T; N] {
    const FILED: Filed = T::FILED.times(N);

    fn accept(found: &DType, options: &ReadOptions) -> Result<How<Self>> {
        let inner = match rows(found) {
            Some((length, inner)) if length == N => inner,
            _ => {
                let wanted = Self::dtype_for(&mut std::iter::empty(), &WriteOptions::new())?;
                return Err(mismatch(found, wanted, false));
            }
        };
        Ok(match T::accept(&inner, options)? {
            How::Plain(plain) => How::Plain(plain.repeated()),
            How::Coded(decode) => How::Coded(Box::new(Each(decode))),
            How::Whole(_) => return Err(mismatch(found, inner, false)),
        })
    }

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        let (base, mut dims) = match T::dtype_for(&mut items.flatten(), options)? {
            DType::Subarray(inner) => (inner.base().clone(), inner.shape().to_vec()),
            base => (base, Vec::new()),
        };
        dims.insert(0, N);
        match Subarray::new(base, dims.into()) {
            Some(subarray) => Ok(subarray.into()),
            None => Err(ErrorKind::Overflow { what: format!("a subarray of {N} elements") }.into()),
        }
    }

    fn emit(dtype: &DType) -> Emit<Self> {
        let Some((_, inner)) = rows(dtype) else { unreachable!("`dtype_for` gives a subarray") };
        match T::emit(&inner) {
            Emit::Plain(out) => Emit::Plain(out.repeated()),
            Emit::Coded(encode) => Emit::Coded(Box::new(EachOut { encode, size: inner.item_size() })),
            Emit::Whole(_) => unreachable!("a record's dtype has no objects"),
        }
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
