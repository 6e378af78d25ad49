//! The functions that `derive(Element)` calls, for newtypes and for enums.

use super::cast::{ElementBuf, Enumeration, Newtype, decode_to_vec, inner_slice};
use super::record::FileLayout;
use super::{
    ItemDecoder, ItemEncoder, OpaqueDecoder, OpaqueEncoder, ReadPlan, ReadableElement, WritableElement,
    WritePlan, mismatch,
};
use crate::dtype::DType;
use crate::error::Result;
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

/// Appends the axes of the element that a newtype wraps.
pub fn newtype_axes<O: Newtype>(axes: &mut Vec<usize>) {
    O::Inner::inner_axes(axes);
}

/// Returns the plan for reading newtypes.
///
/// # Errors
///
/// Those of the wrapped element type.
pub fn newtype_read_plan<O: Newtype>(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<O>> {
    Ok(match O::Inner::read_plan(dtype, options)? {
        ReadPlan::Bitwise(bitwise) => ReadPlan::Bitwise(bitwise.wrapped()),
        ReadPlan::Converted(token, conversion) => ReadPlan::Converted(token.wrapped(), conversion),
        ReadPlan::PerItem(decode) => ReadPlan::PerItem(Box::new(NewtypeCodec(decode))),
        ReadPlan::Opaque(decode) => ReadPlan::Opaque(Box::new(NewtypeCodec(decode))),
    })
}

/// Returns the layout of a newtype in a file.
pub const fn newtype_file_layout<O: Newtype>() -> FileLayout {
    <O::Inner as WritableElement>::FILE_LAYOUT
}

/// Returns whether a newtype is always read as bytes.
pub const fn newtype_is_read_as_bytes<O: Newtype>() -> bool {
    <O::Inner as ReadableElement>::IS_READ_AS_BYTES
}

/// Returns whether a newtype is always written as its bytes are.
pub const fn newtype_is_always_bitwise<O: Newtype>() -> bool {
    <O::Inner as WritableElement>::IS_ALWAYS_BITWISE
}

/// Returns the dtype to write newtypes as.
///
/// # Errors
///
/// Those of the wrapped element type.
pub fn newtype_dtype<O: Newtype>(
    items: &mut dyn Iterator<Item = &O>,
    options: &WriteOptions,
) -> Result<DType> {
    O::Inner::dtype_for(&mut items.map(O::inner), options)
}

/// Returns the plan for writing newtypes as this dtype.
pub fn newtype_write_plan<O: Newtype>(dtype: &DType) -> WritePlan<O> {
    match O::Inner::write_plan(dtype) {
        WritePlan::Bitwise(out) => WritePlan::Bitwise(out.wrapped()),
        WritePlan::PerItem(encode) => WritePlan::PerItem(Box::new(NewtypeCodec(encode))),
        WritePlan::Opaque(encode) => WritePlan::Opaque(Box::new(NewtypeCodec(encode))),
    }
}

/// Decodes and encodes newtypes with the code for the elements that they wrap.
struct NewtypeCodec<T: ?Sized>(Box<T>);

impl<O: Newtype> ItemDecoder<O> for NewtypeCodec<dyn ItemDecoder<O::Inner>> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, O>) -> Result<()> {
        out.extend(decode_to_vec(&*self.0, items, count)?.into_iter().map(O::wrap));
        Ok(())
    }

    fn nanos_per_element(&self) -> u64 {
        self.0.nanos_per_element()
    }
}

impl<O: Newtype> OpaqueDecoder<O> for NewtypeCodec<dyn OpaqueDecoder<O::Inner>> {
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<O>, usize)> {
        let (items, used) = self.0.decode(payload, header, options)?;
        Ok((wrapped(items), used))
    }

    fn downcast_items(&self, items: &dyn std::any::Any) -> Option<Vec<O>> {
        self.0.downcast_items(items).map(wrapped)
    }

    fn read_self_delimited(
        &self,
        more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>,
    ) -> Result<Option<Vec<u8>>> {
        self.0.read_self_delimited(more)
    }
}

impl<O: Newtype> ItemEncoder<O> for NewtypeCodec<dyn ItemEncoder<O::Inner>> {
    fn encode(&self, item: &O, into: &mut [u8]) -> Result<()> {
        self.0.encode(item.inner(), into)
    }

    fn encode_all(&self, items: &[O], size: usize, into: &mut [u8]) -> Result<()> {
        self.0.encode_all(inner_slice(items), size, into)
    }
}

impl<O: Newtype> OpaqueEncoder<O> for NewtypeCodec<dyn OpaqueEncoder<O::Inner>> {
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &O>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>> {
        self.0.encode(&mut items.map(O::inner), header, options)
    }
}

/// Wraps elements. The standard library usually reuses their memory.
fn wrapped<O: Newtype>(items: Vec<O::Inner>) -> Vec<O> {
    items.into_iter().map(O::wrap).collect()
}

/// Returns the plan for reading an enum.
///
/// # Errors
///
/// Those of the integer type. Numbers without a variant are detected while the elements are read.
pub fn enum_read_plan<E: Enumeration>(dtype: &DType, options: &ReadOptions) -> Result<ReadPlan<E>> {
    Ok(match E::Number::read_plan(dtype, options)? {
        ReadPlan::Bitwise(bitwise) => ReadPlan::Bitwise(bitwise.enumerated()),
        ReadPlan::Converted(token, conversion) => ReadPlan::Converted(token.enumerated(), conversion),
        ReadPlan::PerItem(_) | ReadPlan::Opaque(_) => {
            return Err(mismatch(dtype, DType::of::<E::Number>()?, false));
        }
    })
}

/// Returns the layout of an enum in a file.
pub const fn enum_file_layout<E: Enumeration>() -> FileLayout {
    FileLayout::of_enum::<E>(E::HAS_ZERO)
}

/// Returns the dtype to write an enum as.
///
/// # Errors
///
/// None, since every integer type has a dtype.
pub fn enum_dtype<E: Enumeration>(options: &WriteOptions) -> Result<DType> {
    E::Number::dtype_for(&mut std::iter::empty(), options)
}

/// Returns the plan for writing an enum as this dtype.
pub fn enum_write_plan<E: Enumeration>(dtype: &DType) -> WritePlan<E> {
    match E::Number::write_plan(dtype) {
        WritePlan::Bitwise(out) => WritePlan::Bitwise(out.enumerated()),
        WritePlan::PerItem(_) | WritePlan::Opaque(_) => unreachable!("numbers are bitwise"),
    }
}
