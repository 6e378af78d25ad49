//! Objects as array elements: the payload is a single pickle.

use std::sync::{Arc, OnceLock};

use super::load_effects::LoadEffects;
use super::{Object, View, decode, encode};
use crate::dtype::DType;
use crate::elements::{
    ElementBuf, ItemDecoder, OpaqueDecoder, OpaqueEncoder, ReadPlan, ReadableElement, WritableElement,
    WritePlan, append, mismatch,
};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};

struct ObjectCodec;

/// Like [`ObjectCodec`], and remembers what Python would do to load the array, unless that is plain data.
struct LoadEffectsDecoder(LoadEffectsCell);

/// What loading an array does, as soon as the array has been read.
type LoadEffectsCell = Arc<OnceLock<Arc<LoadEffects>>>;

/// Returns how the objects of an array are read, and where it is said afterwards what loading them would do.
pub(in super::super) fn read_plan_with_load_effects(
    found: &DType,
    options: &ReadOptions,
) -> Result<(ReadPlan<Object>, LoadEffectsCell)> {
    Object::read_plan(found, options)?;
    let load_effects = Arc::default();
    Ok((ReadPlan::Opaque(Box::new(LoadEffectsDecoder(Arc::clone(&load_effects)))), load_effects))
}

impl OpaqueDecoder<Object> for LoadEffectsDecoder {
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<Object>, usize)> {
        let (items, load_effects, used) = decode(payload, header, options)?;
        if !load_effects.is_plain() {
            self.0.get_or_init(|| Arc::new(load_effects));
        }
        Ok((items, used))
    }

    fn read_self_delimited(
        &self,
        more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>,
    ) -> Result<Option<Vec<u8>>> {
        ObjectCodec.read_self_delimited(more)
    }
}

impl ReadableElement for Object {
    fn read_plan(found: &DType, _: &ReadOptions) -> Result<ReadPlan<Self>> {
        match found.has_object() {
            true => Ok(ReadPlan::Opaque(Box::new(ObjectCodec))),
            false => Err(mismatch(found, DType::Object, false)),
        }
    }
}

impl WritableElement for Object {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, _: &WriteOptions) -> Result<DType> {
        Ok(DType::Object)
    }

    fn write_plan(_: &DType) -> WritePlan<Self> {
        WritePlan::Opaque(Box::new(ObjectCodec))
    }
}

impl OpaqueDecoder<Object> for ObjectCodec {
    fn decode(&self, payload: &[u8], header: &Header, options: &ReadOptions) -> Result<(Vec<Object>, usize)> {
        let (items, _, used) = decode(payload, header, options)?;
        Ok((items, used))
    }

    fn downcast_items(&self, items: &dyn std::any::Any) -> Option<Vec<Object>> {
        items.downcast_ref::<Vec<Object>>().cloned()
    }

    fn read_self_delimited(
        &self,
        more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>,
    ) -> Result<Option<Vec<u8>>> {
        crate::pickle::read_one(more).map(Some)
    }
}

impl OpaqueEncoder<Object> for ObjectCodec {
    fn encode(
        &self,
        items: &mut dyn Iterator<Item = &Object>,
        header: &Header,
        options: &WriteOptions,
    ) -> Result<Vec<u8>> {
        encode(items, header, options)
    }
}

/// Text that may be missing: what an array of NumPy's `StringDType` has, which is saved as objects.
///
/// Python's `None` and NaN are `None`. Any other object that is not a `str` is an error. Arrays of text (`U`, `S`) are
/// read as well; none of theirs is missing.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::object::Object;
/// use ndarray_io::{ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[Object::from("a"), Object::none()]).write_npy(&mut file)?;
/// let texts = Array1::<Option<String>>::read_npy(&file[..])?;
/// assert_eq!(texts, arr1(&[Some("a".to_owned()), None]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
impl ReadableElement for Option<String> {
    fn read_plan(found: &DType, options: &ReadOptions) -> Result<ReadPlan<Self>> {
        match (found, String::read_plan(found, options)) {
            (DType::Object, _) => Ok(ReadPlan::Opaque(Box::new(ObjectTextDecoder))),
            (_, Ok(ReadPlan::PerItem(texts))) => Ok(ReadPlan::PerItem(Box::new(PresentTextDecoder(texts)))),
            (_, texts) => Err(texts.err().unwrap_or_else(|| mismatch(found, DType::Object, false))),
        }
    }
}

/// Objects that are text.
struct ObjectTextDecoder;

impl OpaqueDecoder<Option<String>> for ObjectTextDecoder {
    fn decode(
        &self,
        payload: &[u8],
        header: &Header,
        options: &ReadOptions,
    ) -> Result<(Vec<Option<String>>, usize)> {
        let (objects, _, taken) = decode(payload, header, options)?;
        let text = |(index, object): (usize, Object)| match object.view() {
            View::None => Ok(None),
            View::Float(number) if number.is_nan() => Ok(None),
            _ => String::try_from(&object).map(Some).map_err(|error: Error| error.at_element(index)),
        };
        Ok((objects.into_iter().enumerate().map(text).collect::<Result<_>>()?, taken))
    }

    fn read_self_delimited(
        &self,
        more: &mut dyn FnMut(&mut Vec<u8>, u64) -> Result<u64>,
    ) -> Result<Option<Vec<u8>>> {
        crate::pickle::read_one(more).map(Some)
    }
}

/// Text of which none is missing.
struct PresentTextDecoder(Box<dyn ItemDecoder<String>>);

impl ItemDecoder<Option<String>> for PresentTextDecoder {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, Option<String>>) -> Result<()> {
        let mut texts = Vec::new();
        append(&mut texts, count, &mut |places| self.0.decode(items, count, places))?;
        out.extend(texts.into_iter().map(Some));
        Ok(())
    }

    fn nanos_per_element(&self) -> u64 {
        self.0.nanos_per_element()
    }
}
