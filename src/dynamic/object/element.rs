//! Objects as elements: the payload is one pickle.

use super::{PyValue, decode, encode};
use crate::dtype::DType;
use crate::element::{DecodeWhole, Emit, EncodeWhole, How, ReadableElement, WritableElement, mismatch};
use crate::error::Result;
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

struct Pickle;

impl ReadableElement for PyValue {
    fn accept(found: &DType, _: &ReadOptions) -> Result<How<Self>> {
        match found.has_object() {
            true => Ok(How::Whole(Box::new(Pickle))),
            false => Err(mismatch(found, DType::Object, false)),
        }
    }
}

impl WritableElement for PyValue {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, _: &WriteOptions) -> Result<DType> {
        Ok(DType::Object)
    }

    fn emit(_: &DType) -> Emit<Self> {
        Emit::Whole(Box::new(Pickle))
    }
}

impl DecodeWhole<PyValue> for Pickle {
    fn decode(
        &self,
        payload: &[u8],
        header: &Header,
        options: &ReadOptions,
    ) -> Result<(Vec<PyValue>, usize)> {
        decode(payload, header, options)
    }
}

impl EncodeWhole<PyValue> for Pickle {
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &PyValue>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>> {
        encode(items, header, options)
    }
}
