//! Types whose dtype is known without looking at values, and whose memory any bytes may be: the bulk of the elements.

use bytemuck::Pod;

use super::cast::Bitwise;
use super::{ReadPlan, mismatch};
use crate::dtype::{ByteOrder, DType, Scalar};
use crate::error::Result;
use crate::options::ReadOptions;

/// A type that stands for one scalar dtype, in either byte order.
pub(super) trait Fixed: Pod + Send + Sync {
    /// The size of what is swapped: the whole for most, but half of a complex number, or one character of a text.
    const UNIT: usize;

    /// The dtype that the type stands for.
    fn scalar(order: ByteOrder) -> Scalar;

    /// How another dtype is read, if it is.
    fn otherwise(found: &DType, _: &ReadOptions) -> Result<ReadPlan<Self>> {
        Err(mismatch(found, Self::scalar(ByteOrder::NATIVE).into(), false))
    }
}

pub(super) fn accept<T: Fixed>(found: &DType, options: &ReadOptions) -> Result<ReadPlan<T>> {
    match found {
        DType::Scalar(scalar) if scalar.with_order(ByteOrder::NATIVE) == T::scalar(ByteOrder::NATIVE) => {
            Ok(ReadPlan::Bitwise(Bitwise::pod(T::UNIT, scalar.is_foreign())))
        }
        _ => T::otherwise(found, options),
    }
}

/// Gives such types the four traits.
macro_rules! elements {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> $crate::element::ReadableElement for $type {
            fn accept(
                dtype: &$crate::dtype::DType,
                options: &$crate::options::ReadOptions,
            ) -> $crate::error::Result<$crate::element::ReadPlan<Self>> {
                $crate::element::fixed::accept(dtype, options)
            }
        }

        impl<$($generics)*> $crate::element::WritableElement for $type {
            fn dtype_for(
                _: &mut dyn Iterator<Item = &Self>,
                options: &$crate::options::WriteOptions,
            ) -> $crate::error::Result<$crate::dtype::DType> {
                use $crate::element::fixed::Fixed;
                Ok(Self::scalar(options.get_byte_order()).into())
            }

            fn emit(dtype: &$crate::dtype::DType) -> $crate::element::WritePlan<Self> {
                use $crate::element::fixed::Fixed;
                let swap = dtype.as_scalar().is_some_and($crate::dtype::Scalar::is_foreign);
                $crate::element::WritePlan::Bitwise($crate::element::cast::BitwiseOut::new(Self::UNIT, swap))
            }
        }

        impl<$($generics)*> $crate::element::ViewElement for $type {}
        // SAFETY: the types are `Pod`, as `cast` needs for `Bitwise::pod`: they have no padding.
        #[allow(unsafe_code)]
        unsafe impl<$($generics)*> $crate::element::ViewMutElement for $type {}
    )*};
}
pub(super) use elements;
