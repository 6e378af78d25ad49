//! Objects as array elements: the payload is a single pickle.

use super::{Object, decode, encode};
use crate::dtype::DType;
use crate::element::{
    DecodeOpaque, EncodeOpaque, ReadPlan, ReadableElement, WritableElement, WritePlan, mismatch,
};
use crate::error::Result;
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

struct Pickle;

impl ReadableElement for Object {
    fn accept(found: &DType, _: &ReadOptions) -> Result<ReadPlan<Self>> {
        match found.has_object() {
            true => Ok(ReadPlan::Opaque(Box::new(Pickle))),
            false => Err(mismatch(found, DType::Object, false)),
        }
    }
}

impl WritableElement for Object {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, _: &WriteOptions) -> Result<DType> {
        Ok(DType::Object)
    }

    fn emit(_: &DType) -> WritePlan<Self> {
        WritePlan::Opaque(Box::new(Pickle))
    }
}

impl DecodeOpaque<Object> for Pickle {
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<Object>, usize)> {
        decode(payload, header, options)
    }

    fn taken(&self, items: &dyn std::any::Any) -> Option<Vec<Object>> {
        items.downcast_ref::<Vec<Object>>().cloned()
    }

    fn read_one(&self, more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>) -> Result<Option<Vec<u8>>> {
        crate::pickle::read_one(more).map(Some)
    }
}

impl EncodeOpaque<Object> for Pickle {
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &Object>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>> {
        encode(items, header, options)
    }
}
