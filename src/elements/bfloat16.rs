//! `bfloat16` and `bcomplex32` as `ml_dtypes` and JAX store them: raw bytes in little-endian order.
//!
//! The header does not say what they are, so they are read as such only if the caller asks for it.

use half::{bf16, f16};
use num_complex::Complex;

use super::cast::{Bitwise, BitwiseOut};
use super::fixed::ScalarElement;
use super::{ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement, WritePlan, convert};
use crate::dtype::{ByteOrder, DType, Narrow, Scalar};
use crate::error::{Fault, Result};
use crate::options::{ReadOptions, WriteOptions};

/// Whether this machine's byte order differs from that of the bytes, which are little-endian.
const IS_FOREIGN: bool = cfg!(target_endian = "big");

/// Whether a file says of its raw bytes that they are big-endian; those of `ml_dtypes` never are.
fn is_big_endian(options: &ReadOptions) -> bool {
    options.raw_record_byte_order == Some(ByteOrder::Big)
}

macro_rules! raw_numbers {
    ($($type:ty, $scalar:expr;)*) => {$(
        impl ReadableElement for $type {
            const IS_READ_AS_BYTES: bool = true;

            fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
                let token = Bitwise::pod(2, IS_FOREIGN); // what is converted is little-endian, too
                match found.stored() == DType::from($scalar).stored() && !is_big_endian(options) {
                    true => Ok(ReadPlan::Bitwise(token)),
                    false => convert::read_plan(found, $scalar, token, options),
                }
            }
        }

        impl WritableElement for $type {
            fn dtype_for(_: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
                // On big-endian machines, a request for big-endian order cannot be distinguished from the
                // default, which is native order.
                if options.get_byte_order() != ByteOrder::NATIVE && !IS_FOREIGN {
                    let reason = "such numbers are stored as raw bytes, which have no byte order to choose".into();
                    return Err(Fault::BadOption { reason }.into());
                }
                Ok($scalar.into())
            }

            const IS_ALWAYS_BITWISE: bool = true;

            fn write_plan(_: &DType) -> WritePlan<Self> {
                WritePlan::Bitwise(BitwiseOut::new(2, IS_FOREIGN))
            }
        }

        impl ViewElement for $type {}
        impl ViewMutElement for $type {}
    )*};
}

raw_numbers! {
    bf16, Scalar::from(Narrow::BFloat16);
    Complex<bf16>, Scalar::raw(4);
}

/// Returns how `complex32` is read, which files store as raw bytes.
pub(super) fn complex_read_plan(found: &DType, options: &ReadOptions) -> Option<ReadPlan<Complex<f16>>> {
    let is_raw = *found == Scalar::raw(size_of::<Complex<f16>>()).into() && !is_big_endian(options);
    is_raw.then(|| ReadPlan::Bitwise(Bitwise::pod(Complex::<f16>::SWAP_UNIT, IS_FOREIGN)))
}
