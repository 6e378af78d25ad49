//! Most element types: those whose dtype does not depend on values, and for which any bytes are valid.

use bytemuck::Pod;

use super::cast::Bitwise;
use super::{ReadPlan, convert};
use crate::dtype::{ByteOrder, DType, Scalar};
use crate::error::Result;
use crate::options::ReadOptions;

/// A type that corresponds to one scalar dtype, in either byte order.
pub(super) trait ScalarElement: Pod + Send + Sync {
    /// The size in bytes of the unit that is swapped.
    ///
    /// This is the size of the element, except for complex numbers (half of the element), text (one code
    /// point), and byte strings and raw bytes (1, because they have no byte order).
    const SWAP_UNIT: usize;
    /// [`ReadableElement::IS_READ_AS_BYTES`](super::ReadableElement::IS_READ_AS_BYTES).
    const IS_READ_AS_BYTES: bool = size_of::<Self>() > 0;

    /// Returns the dtype that corresponds to the type.
    fn scalar(order: ByteOrder) -> Scalar;

    /// Returns the plan for reading another dtype that the type reads without being asked, such as narrower text.
    fn implicit_read_plan(_: &DType, _: &ReadOptions) -> Option<ReadPlan<Self>> {
        None
    }
}

pub(super) fn read_plan<T: ScalarElement>(found: &DType, options: &ReadOptions) -> Result<ReadPlan<T>> {
    match found {
        // Compare without byte order: a file may have either.
        DType::Scalar(scalar) if scalar.with_order(ByteOrder::NATIVE) == T::scalar(ByteOrder::NATIVE) => {
            Ok(ReadPlan::Bitwise(Bitwise::pod(T::SWAP_UNIT, scalar.is_foreign())))
        }
        _ => match T::implicit_read_plan(found, options) {
            Some(plan) => Ok(plan),
            None => {
                let token = Bitwise::pod(T::SWAP_UNIT, false);
                convert::read_plan(found, T::scalar(ByteOrder::NATIVE), token, options)
            }
        },
    }
}

/// Implements the four element traits for types that implement `ScalarElement`.
macro_rules! elements {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> $crate::elements::ReadableElement for $type {
            const IS_READ_AS_BYTES: bool = <Self as $crate::elements::fixed::ScalarElement>::IS_READ_AS_BYTES;

            fn read_plan(
                dtype: &$crate::dtype::DType,
                options: &$crate::options::ReadOptions,
            ) -> $crate::error::Result<$crate::elements::ReadPlan<Self>> {
                $crate::elements::fixed::read_plan(dtype, options)
            }
        }

        impl<$($generics)*> $crate::elements::WritableElement for $type {
            fn dtype_for(
                _: &mut dyn Iterator<Item = &Self>,
                options: &$crate::options::WriteOptions,
            ) -> $crate::error::Result<$crate::dtype::DType> {
                use $crate::elements::fixed::ScalarElement;
                Ok(Self::scalar(options.get_byte_order()).into())
            }

            const IS_ALWAYS_BITWISE: bool = true;

            fn write_plan(dtype: &$crate::dtype::DType) -> $crate::elements::WritePlan<Self> {
                use $crate::elements::fixed::ScalarElement;
                let swap = dtype.as_scalar().is_some_and($crate::dtype::Scalar::is_foreign);
                $crate::elements::WritePlan::Bitwise($crate::elements::cast::BitwiseOut::new(Self::SWAP_UNIT, swap))
            }
        }

        impl<$($generics)*> $crate::elements::ViewElement for $type {}
        impl<$($generics)*> $crate::elements::ViewMutElement for $type {}
    )*};
}
pub(super) use elements;
