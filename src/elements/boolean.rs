//! Bools: one byte each, checked to be 0 or 1. Any other byte would be undefined behavior in Rust.

use super::cast::{Bitwise, BitwiseOut};
use super::{ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement, WritePlan, convert};
use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::error::{ElementFault, Fault, Result};
use crate::options::{ReadOptions, WriteOptions};

/// The Rust type for bools, for messages.
pub(super) const RUST_TYPES: &[(Kind, usize, &str)] = &[(Kind::Bool, 1, "bool")];

pub(super) fn scalar() -> Scalar {
    // `Kind::allows_size` accepts a bool of one byte; the tests write and read bools.
    Scalar::new(Kind::Bool, 1, ByteOrder::NATIVE).expect("a bool has one byte")
}

fn dtype() -> DType {
    scalar().into()
}

impl ReadableElement for bool {
    const IS_READ_AS_BYTES: bool = true;

    fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        let token = Bitwise::checked(|item| {
            let found = item.first().copied().unwrap_or_default();
            Fault::InvalidElement(ElementFault::Bool { found })
        });
        match found.as_scalar() {
            Some(scalar) if scalar.kind() == Kind::Bool => Ok(ReadPlan::Bitwise(token)),
            _ => convert::read_plan(found, scalar(), token, options),
        }
    }
}

impl WritableElement for bool {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, _: &WriteOptions) -> Result<DType> {
        Ok(dtype())
    }

    const IS_ALWAYS_BITWISE: bool = true;

    fn write_plan(_: &DType) -> WritePlan<Self> {
        WritePlan::Bitwise(BitwiseOut::new(1, false))
    }
}

impl ViewElement for bool {}
impl ViewMutElement for bool {}
