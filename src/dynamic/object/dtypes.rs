//! Decoding of `numpy.dtype` within pickles.

use std::collections::HashMap;
use std::sync::Arc;

use super::ObjectRef;
use super::budget::CopyBudget;
use super::graph::{CallParts, Slot};
use super::graph_view::GraphView;
use super::source::PickleSource;
use crate::dtype::{
    ByteOrder, DType, Kind, MAX_NESTING, Record, Scalar, Subarray, TimeStep, TimeUnit, Title,
};
use crate::error::Result;
use crate::npy_format as npy;

/// Decodes the dtype that an object of a complete graph represents.
pub(super) fn decode_in_graph(view: GraphView<'_>, slot: Slot) -> Option<DType> {
    let decoded = decode_with_cache(view, slot, &mut HashMap::new(), &CopyBudget::of(0));
    decoded.ok()?.map(|dtype| (*dtype).clone())
}

/// Decodes the dtype that an object represents, with those that were decoded before, by the index of the object.
pub(super) fn decode_with_cache(
    view: GraphView<'_>,
    slot: Slot,
    decoded: &mut HashMap<u32, Option<Arc<DType>>>,
    budget: &CopyBudget,
) -> DecodedDType {
    DTypeDecoder { view, decoded, budget }.decode(slot, 0)
}

/// Decodes the dtype that an object represents.
pub(super) fn decode_dtype_object(object: ObjectRef<'_>) -> Option<DType> {
    decode_in_graph(GraphView::new(object.graph?, PickleSource::EMPTY), *object.slot)
}

struct DTypeDecoder<'a, 'b> {
    view: GraphView<'a>,
    decoded: &'b mut HashMap<u32, Option<Arc<DType>>>,
    budget: &'b CopyBudget,
}

pub(super) type DecodedDType = Result<Option<Arc<DType>>>;

impl DTypeDecoder<'_, '_> {
    fn decode_once(
        &mut self,
        slot: Slot,
        make: impl FnOnce(&mut Self) -> Result<Option<DType>>,
    ) -> DecodedDType {
        let Some(number) = slot.node() else { return Ok(None) };
        if let Some(decoded) = self.decoded.get(&number) {
            return Ok(decoded.clone());
        }
        let decoded = make(self)?.map(Arc::new);
        // A record includes the fields of all records within it, and each use of the record visits all of
        // them. Each field costs 64 bytes of the budget, so nesting cannot multiply fields beyond it.
        if let Some(DType::Record(record)) = decoded.as_deref() {
            const FIELD_COST: usize = 64;
            self.budget.spend(FIELD_COST.saturating_mul(record.nested_field_count() as usize))?;
        }
        self.decoded.insert(number, decoded.clone());
        Ok(decoded)
    }

    fn decode(&mut self, slot: Slot, depth: usize) -> DecodedDType {
        let Some(call) = self.view.call(slot) else { return Ok(None) };
        self.decode_once(slot, |this| this.decode_call(call, depth))
    }

    fn decode_call(&mut self, call: &CallParts, depth: usize) -> Result<Option<DType>> {
        let view = self.view;
        let Some(args) = view.tuple(call.args) else { return Ok(None) };
        let Some(name) = view.global_name(call.callable).filter(|_| depth <= MAX_NESTING) else {
            return Ok(None);
        };
        if name.1 == "_convert_to_stringdtype_kwargs" {
            return Ok(Some(DType::Object)); // `StringDType`: its elements are strings in a list
        }
        if name != ("numpy", "dtype") {
            return Ok(None);
        }
        let Some(format) = args.first() else { return Ok(None) };
        let format = self.decode_format(*format, depth + 1)?.map(|format| (*format).clone());
        let Some(state) = view.tuple(call.state) else { return Ok(format) };
        let [_, order, subarray, names, fields, size, ..] = *state else { return Ok(None) };
        if let Some(subarray) = view.tuple(subarray) {
            let [base, dims] = *subarray else { return Ok(None) };
            let base = self.decode(base, depth + 1)?;
            return Ok(base.and_then(|base| subarray_of(view, &base, dims)));
        }
        if let Some((names, fields)) = view.tuple(names).zip(view.dict(fields)) {
            // A field with a title has two entries.
            self.budget.spend(64 * names.len().max(fields.len() / 2))?;
            // Of equal names, the last one is used, as in a dict.
            let mut places = HashMap::with_capacity(fields.len());
            for [name, field] in fields {
                if let Some(name) = view.text_or_old_name(*name) {
                    self.budget.spend(name.len())?;
                    places.insert(name.into_owned(), *field);
                }
            }
            let mut all = Vec::with_capacity(names.len());
            for name in names {
                let Some(name) = view.text_or_old_name(*name).map(std::borrow::Cow::into_owned) else {
                    return Ok(None);
                };
                self.budget.spend(name.len())?;
                let field = places.get(&name).and_then(|field| view.tuple(*field));
                let Some([dtype, offset, rest @ ..]) = field else { return Ok(None) };
                let (Some(dtype), Some(offset)) = (self.decode(*dtype, depth + 1)?, view.int(*offset)) else {
                    return Ok(None);
                };
                all.push((name, (*dtype).clone(), offset, rest.first().copied()));
            }
            return Ok(non_negative_int(view, size).and_then(|size| record(view, all, size)));
        }
        let dtype = match (format, state.get(8).and_then(|metadata| view.tuple(*metadata))) {
            (Some(DType::Scalar(scalar)), Some(metadata)) => {
                with_time_unit(view, scalar, metadata).map(DType::from)
            }
            (dtype, _) => dtype,
        };
        let (Some(dtype), Some(order)) = (dtype, view.text_or_old_name(order)) else { return Ok(None) };
        Ok(Some(match &*order {
            "<" => dtype.with_byte_order(ByteOrder::Little),
            ">" => dtype.with_byte_order(ByteOrder::Big),
            _ => dtype,
        }))
    }

    /// Decodes the argument of `numpy.dtype`: a name, the parts of a record, or a type with a shape.
    fn decode_format(&mut self, slot: Slot, depth: usize) -> DecodedDType {
        let view = self.view;
        if let Some(name) = view.text_or_old_name(slot) {
            self.budget.spend(name.len())?;
            return Ok(npy::dtype_from_code(&name).map(Arc::new));
        }
        if depth > MAX_NESTING {
            return Ok(None);
        }
        if view.call(slot).is_some() {
            return self.decode(slot, depth);
        }
        if let Some(parts) = view.tuple(slot) {
            return self.decode_once(slot, |this| match *parts {
                // A Python class, such as `numpy.record`, does not describe the bytes; the other item does.
                [class, dtype] if view.global_name(class).is_some() => {
                    Ok(this.decode_format(dtype, depth + 1)?.map(|dtype| (*dtype).clone()))
                }
                [base, dims] => {
                    let base = this.decode_format(base, depth + 1)?;
                    Ok(base.and_then(|base| subarray_of(view, &base, dims)))
                }
                _ => Ok(None),
            });
        }
        match view.dict(slot) {
            Some(parts) => self.decode_once(slot, |this| this.decode_format_dict(parts, depth)),
            None => Ok(None),
        }
    }

    /// Decodes a dict of names, formats and offsets.
    fn decode_format_dict(&mut self, parts: &[[Slot; 2]], depth: usize) -> Result<Option<DType>> {
        let view = self.view;
        let part = |name: &str| {
            let named = |key: Slot| view.text_or_old_name(key).is_some_and(|key| key == name);
            // The search starts from the end, because the last of equal keys is used.
            parts.iter().rev().find(|[key, _]| named(*key)).map(|[_, part]| *part)
        };
        let list = |name: &str| part(name).and_then(|part| view.list_or_tuple(part));
        let (Some(names), Some(formats), Some(offsets)) = (list("names"), list("formats"), list("offsets"))
        else {
            return Ok(None);
        };
        if names.len() != formats.len() || names.len() != offsets.len() {
            return Ok(None);
        }
        self.budget.spend(64 * names.len())?;
        let titles = list("titles").unwrap_or_default();
        let mut all = Vec::with_capacity(names.len());
        for ((name, format), offset) in names.iter().zip(formats).zip(offsets) {
            let title = titles.get(all.len()).copied();
            let dtype = self.decode_format(*format, depth + 1)?;
            let (Some(name), Some(dtype), Some(offset)) =
                (view.text_or_old_name(*name), dtype, view.int(*offset))
            else {
                return Ok(None);
            };
            self.budget.spend(name.len())?;
            all.push((name.into_owned(), (*dtype).clone(), offset, title));
        }
        let size = part("itemsize").and_then(|size| non_negative_int(view, size));
        Ok(size.and_then(|size| record(view, all, size)))
    }
}

/// Maximum length of a title in bytes: it is copied for each field that has it.
const MAX_TITLE_LEN: usize = 1024;

fn non_negative_int(view: GraphView<'_>, slot: Slot) -> Option<usize> {
    usize::try_from(view.int(slot)?).ok()
}

fn subarray_of(view: GraphView<'_>, base: &DType, dims: Slot) -> Option<DType> {
    let dims = match view.tuple(dims) {
        Some(_) => view.dims(dims)?,
        None => vec![non_negative_int(view, dims)?],
    };
    Subarray::new(base.clone(), dims.into()).map(DType::from)
}

/// The name, dtype, offset and title of a field.
type DecodedField = (String, DType, i64, Option<Slot>);

/// Builds a record; `None` if fields overlap, are not in order of their offsets, or have an invalid title.
///
/// The fields of a [`Record`] are laid out one after another. A title must be text of limited length.
fn record(view: GraphView<'_>, fields: Vec<DecodedField>, size: usize) -> Option<DType> {
    let mut record = Record::default();
    for (name, dtype, offset, title) in fields {
        record.pad_to(usize::try_from(offset).ok()?).ok()?; // overlapping fields are not supported
        let title = match title {
            None | Some(Slot::NONE) => None,
            Some(title) => Some(Title::Text(
                view.text_or_old_name(title).filter(|title| title.len() <= MAX_TITLE_LEN)?.into_owned(),
            )),
        };
        record.push(name, title, dtype).ok()?;
    }
    record.pad_to(size).ok()?;
    Some(record.into())
}

/// Applies the unit in the metadata of a time dtype: `({}, (b"ns", 1, 1, 1))`.
fn with_time_unit(view: GraphView<'_>, scalar: Scalar, metadata: &[Slot]) -> Option<Scalar> {
    let [_, step] = *metadata else { return None };
    let [unit, count, ..] = *view.tuple(step)? else { return None };
    let unit = view.text_or_old_name(unit)?;
    let unit = TimeUnit::ALL.into_iter().find(|known| known.symbol() == unit)?;
    let step = TimeStep::new(u32::try_from(view.int(count)?).ok()?, unit);
    let kind = match scalar.kind() {
        Kind::Datetime(_) => Kind::Datetime(step),
        Kind::Timedelta(_) => Kind::Timedelta(step),
        _ => return None,
    };
    Scalar::new(kind, scalar.size(), ByteOrder::NATIVE)
}
