//! The functions that `derive(Element)` calls for types that are read and written through another element type.

use std::fmt;

use super::cast::{Bitwise, BitwiseOut, Places, decoded};
use super::{
    Decode, DecodeOpaque, Encode, EncodeOpaque, ReadPlan, ReadableElement, WritableElement, WritePlan,
    reading,
};
use crate::dtype::DType;
use crate::error::{ErrorKind, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

/// Returns the plan for reading elements of the type `S`, each of which is made from one of type `T`.
///
/// # Errors
///
/// Those of `T`.
pub fn accept_from<T, S>(
    dtype: &DType,
    options: &ReadOptions,
    make: fn(T) -> Result<S>,
) -> Result<ReadPlan<S>>
where
    T: ReadableElement + 'static,
    S: Send + Sync + 'static,
{
    Ok(match reading::<T>(dtype, options)? {
        ReadPlan::Bitwise(plain) => ReadPlan::PerItem(Box::new(From { inner: plain, make })),
        ReadPlan::PerItem(decode) => ReadPlan::PerItem(Box::new(From { inner: decode, make })),
        ReadPlan::Opaque(decode) => ReadPlan::Opaque(Box::new(From { inner: decode, make })),
    })
}

/// Returns the result of a conversion, with the reason if it has failed.
///
/// # Errors
///
/// [`NotConvertible`](ErrorKind::NotConvertible) if the conversion has failed.
pub fn converted<S, E: fmt::Display>(made: Result<S, E>) -> Result<S> {
    made.map_err(|error| ErrorKind::NotConvertible { reason: error.to_string() }.into())
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
    match T::FILE_LAYOUT.varies() {
        true => T::dtype_for(&mut items.cloned().map(Into::into).collect::<Vec<T>>().iter(), options),
        false => T::dtype_for(&mut std::iter::empty(), options),
    }
}

/// Returns the plan for writing elements of the type `S`, each of which becomes one of type `T`.
pub fn emit_into<S, T>(dtype: &DType) -> WritePlan<S>
where
    S: Clone + Into<T> + 'static,
    T: WritableElement + 'static,
{
    let make = |item: &S| item.clone().into();
    match T::emit(dtype) {
        WritePlan::Bitwise(out) => WritePlan::PerItem(Box::new(To { inner: out, make })),
        WritePlan::PerItem(encode) => WritePlan::PerItem(Box::new(To { inner: encode, make })),
        WritePlan::Opaque(encode) => WritePlan::Opaque(Box::new(To { inner: encode, make })),
    }
}

/// Makes each element from one of another type.
struct From<D, T, S> {
    inner: D,
    make: fn(T) -> Result<S>,
}

impl<D, T, S> From<D, T, S> {
    fn all(&self, items: Vec<T>, out: &mut Places<'_, S>) -> Result<()> {
        for (index, item) in items.into_iter().enumerate() {
            out.push((self.make)(item).map_err(|error| error.at_element(index))?);
        }
        Ok(())
    }
}

impl<T, S> Decode<S> for From<Bitwise<T>, T, S> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut Places<'_, S>) -> Result<()> {
        let load = |room: &mut crate::bytes::Room<'_>| {
            room.copy(items);
            Ok(())
        };
        self.all(self.inner.make(count, load)?, out)
    }
}

impl<T, S> Decode<S> for From<Box<dyn Decode<T>>, T, S> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut Places<'_, S>) -> Result<()> {
        self.all(decoded(&*self.inner, items, count)?, out)
    }

    fn cost(&self) -> u64 {
        self.inner.cost().saturating_add(10)
    }
}

impl<T, S> DecodeOpaque<S> for From<Box<dyn DecodeOpaque<T>>, T, S> {
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<S>, usize)> {
        let (items, used) = self.inner.decode(payload, header, options)?;
        let make = |(index, item)| (self.make)(item).map_err(|error| error.at_element(index));
        Ok((items.into_iter().enumerate().map(make).collect::<Result<_>>()?, used))
    }

    fn taken(&self, items: &dyn std::any::Any) -> Option<Vec<S>> {
        self.inner.taken(items)?.into_iter().map(|item| (self.make)(item).ok()).collect()
    }

    fn read_one(&self, more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>) -> Result<Option<Vec<u8>>> {
        self.inner.read_one(more)
    }
}

/// Makes an element of another type from each.
struct To<E, S, T> {
    inner: E,
    make: fn(&S) -> T,
}

impl<S, T> Encode<S> for To<BitwiseOut<T>, S, T> {
    fn encode(&self, item: &S, into: &mut [u8]) -> Result<()> {
        into.copy_from_slice(self.inner.bytes(&[(self.make)(item)]));
        self.inner.turn(into);
        Ok(())
    }

    fn encode_all(&self, items: &[S], _: usize, into: &mut [u8]) -> Result<()> {
        let items: Vec<T> = items.iter().map(self.make).collect();
        into.copy_from_slice(self.inner.bytes(&items));
        self.inner.turn(into);
        Ok(())
    }
}

impl<S, T> Encode<S> for To<Box<dyn Encode<T>>, S, T> {
    fn encode(&self, item: &S, into: &mut [u8]) -> Result<()> {
        self.inner.encode(&(self.make)(item), into)
    }

    fn encode_all(&self, items: &[S], size: usize, into: &mut [u8]) -> Result<()> {
        let items: Vec<T> = items.iter().map(self.make).collect();
        self.inner.encode_all(&items, size, into)
    }
}

impl<S, T> EncodeOpaque<S> for To<Box<dyn EncodeOpaque<T>>, S, T> {
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
