//! The functions that `derive(Element)` calls for types that are read and written through another element type.

use std::fmt;

use super::cast::{Bitwise, BitwiseOut, ElementBuf, decode_to_vec};
use super::convert::converting_decoder;
use super::{
    ItemDecoder, ItemEncoder, OpaqueDecoder, OpaqueEncoder, ReadPlan, ReadableElement, WritableElement,
    WritePlan, read_plan_for,
};
use crate::dtype::DType;
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

/// Returns the plan for reading elements of the type `S`, each of which is made from one of type `T`.
///
/// # Errors
///
/// Those of `T`.
pub fn read_plan_from<T, S>(
    dtype: &DType,
    options: &ReadOptions,
    make: fn(T) -> Result<S>,
) -> Result<ReadPlan<S>>
where
    T: ReadableElement + 'static,
    S: Send + Sync + 'static,
{
    Ok(match read_plan_for::<T>(dtype, options)? {
        ReadPlan::Bitwise(bitwise) => ReadPlan::PerItem(Box::new(FromDecoder { inner: bitwise, make })),
        ReadPlan::Converted(token, conversion) => {
            let inner = converting_decoder(token, conversion);
            ReadPlan::PerItem(Box::new(FromDecoder { inner, make }))
        }
        ReadPlan::PerItem(decode) => ReadPlan::PerItem(Box::new(FromDecoder { inner: decode, make })),
        ReadPlan::Opaque(decode) => ReadPlan::Opaque(Box::new(FromDecoder { inner: decode, make })),
    })
}

/// Returns the result of a conversion, with the reason if it has failed.
///
/// # Errors
///
/// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the conversion has failed.
pub fn converted<S, E: fmt::Display>(made: Result<S, E>) -> Result<S> {
    made.map_err(|error| Fault::NotConvertible { reason: error.to_string() }.into())
}

/// Returns the dtype to write elements as, each of which becomes one of type `T`.
///
/// # Errors
///
/// Those of `T`.
pub fn dtype_into<S, T>(items: &mut dyn Iterator<Item = &S>, options: &WriteOptions) -> Result<DType>
where
    S: Clone + Into<T>,
    T: WritableElement,
{
    match T::FILE_LAYOUT.may_not_fit() {
        true => T::dtype_for(&mut items.cloned().map(Into::into).collect::<Vec<T>>().iter(), options),
        false => T::dtype_for(&mut std::iter::empty(), options),
    }
}

/// Returns the plan for writing elements of the type `S`, each of which becomes one of type `T`.
pub fn write_plan_into<S, T>(dtype: &DType) -> WritePlan<S>
where
    S: Clone + Into<T> + 'static,
    T: WritableElement + 'static,
{
    let make = |item: &S| item.clone().into();
    match T::write_plan(dtype) {
        WritePlan::Bitwise(out) => WritePlan::PerItem(Box::new(IntoEncoder { inner: out, make })),
        WritePlan::PerItem(encode) => WritePlan::PerItem(Box::new(IntoEncoder { inner: encode, make })),
        WritePlan::Opaque(encode) => WritePlan::Opaque(Box::new(IntoEncoder { inner: encode, make })),
    }
}

/// Makes each element from one of another type.
struct FromDecoder<D, T, S> {
    inner: D,
    make: fn(T) -> Result<S>,
}

impl<D, T, S> FromDecoder<D, T, S> {
    fn make_all(&self, items: Vec<T>, out: &mut ElementBuf<'_, S>) -> Result<()> {
        for (index, item) in items.into_iter().enumerate() {
            out.push((self.make)(item).map_err(|error| error.at_element(index))?);
        }
        Ok(())
    }
}

impl<T, S> ItemDecoder<S> for FromDecoder<Bitwise<T>, T, S> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, S>) -> Result<()> {
        let load = &mut |buf: &mut crate::bytes::ReadBuf<'_>| {
            buf.copy(items);
            Ok(())
        };
        self.make_all(self.inner.make(count, load)?, out)
    }
}

impl<T, S> ItemDecoder<S> for FromDecoder<Box<dyn ItemDecoder<T>>, T, S> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, S>) -> Result<()> {
        self.make_all(decode_to_vec(&*self.inner, items, count)?, out)
    }

    fn nanos_per_element(&self) -> u64 {
        self.inner.nanos_per_element().saturating_add(10)
    }
}

impl<T, S> OpaqueDecoder<S> for FromDecoder<Box<dyn OpaqueDecoder<T>>, T, S> {
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<S>, usize)> {
        let (items, used) = self.inner.decode(payload, header, options)?;
        let make = |(index, item)| (self.make)(item).map_err(|error| error.at_element(index));
        Ok((items.into_iter().enumerate().map(make).collect::<Result<_>>()?, used))
    }

    fn downcast_items(&self, items: &dyn std::any::Any) -> Option<Vec<S>> {
        self.inner.downcast_items(items)?.into_iter().map(|item| (self.make)(item).ok()).collect()
    }

    fn read_self_delimited(
        &self,
        more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>,
    ) -> Result<Option<Vec<u8>>> {
        self.inner.read_self_delimited(more)
    }
}

/// Makes an element of another type from each.
struct IntoEncoder<E, S, T> {
    inner: E,
    make: fn(&S) -> T,
}

impl<S, T> ItemEncoder<S> for IntoEncoder<BitwiseOut<T>, S, T> {
    fn encode(&self, item: &S, into: &mut [u8]) -> Result<()> {
        into.copy_from_slice(self.inner.bytes(&[(self.make)(item)]));
        self.inner.transform().swap(into);
        Ok(())
    }

    fn encode_all(&self, items: &[S], _: usize, into: &mut [u8]) -> Result<()> {
        let items: Vec<T> = items.iter().map(self.make).collect();
        into.copy_from_slice(self.inner.bytes(&items));
        self.inner.transform().swap(into);
        Ok(())
    }
}

impl<S, T> ItemEncoder<S> for IntoEncoder<Box<dyn ItemEncoder<T>>, S, T> {
    fn encode(&self, item: &S, into: &mut [u8]) -> Result<()> {
        self.inner.encode(&(self.make)(item), into)
    }

    fn encode_all(&self, items: &[S], size: usize, into: &mut [u8]) -> Result<()> {
        let items: Vec<T> = items.iter().map(self.make).collect();
        self.inner.encode_all(&items, size, into)
    }
}

impl<S, T> OpaqueEncoder<S> for IntoEncoder<Box<dyn OpaqueEncoder<T>>, S, T> {
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &S>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>> {
        let items: Vec<T> = items.map(self.make).collect();
        self.inner.encode(&mut items.iter(), header, options)
    }
}
