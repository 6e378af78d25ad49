//! `bfloat16` as `ml_dtypes` and JAX store it: two raw bytes in little-endian order.
//!
//! The header does not identify them as `bfloat16`, so they are read as such only if the caller asks for it.

use half::bf16;

use super::cast::{Bitwise, BitwiseOut};
use super::{ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement, WritePlan, convert};
use crate::dtype::{ByteOrder, DType, Narrow};
use crate::error::{Fault, Result};
use crate::options::{ReadOptions, WriteOptions};

/// Whether this machine's byte order differs from that of the bytes, which are little-endian.
const IS_FOREIGN: bool = cfg!(target_endian = "big");

fn dtype() -> DType {
    Narrow::BFloat16.into()
}

impl ReadableElement for bf16 {
    const IS_READ_AS_BYTES: bool = true;

    fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        let token = Bitwise::pod(2, IS_FOREIGN); // what is converted is little-endian, too
        match found.stored() == dtype().stored() {
            true => Ok(ReadPlan::Bitwise(token)),
            false => convert::read_plan(found, Narrow::BFloat16.into(), token, options),
        }
    }
}

impl WritableElement for bf16 {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        // On big-endian machines, a request for big-endian order cannot be distinguished from the
        // default, which is native order.
        if options.get_byte_order() != ByteOrder::NATIVE && !IS_FOREIGN {
            let reason = "bf16 is stored as raw bytes, which have no byte order to choose".into();
            return Err(Fault::BadOption { reason }.into());
        }
        Ok(dtype())
    }

    const IS_ALWAYS_BITWISE: bool = true;

    fn write_plan(_: &DType) -> WritePlan<Self> {
        WritePlan::Bitwise(BitwiseOut::new(2, IS_FOREIGN))
    }
}

impl ViewElement for bf16 {}
impl ViewMutElement for bf16 {}
