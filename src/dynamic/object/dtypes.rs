//! Decoding of `numpy.dtype` within pickles.

use std::collections::HashMap;
use std::sync::Arc;

use super::ObjectRef;
use super::budget::Budget;
use super::graph::{CallParts, Slot, StoredDType};
use super::known::GraphView;
use super::machine::Unpickler;
use super::source::Source;
use crate::dtype::{
    ByteOrder, DType, Kind, MAX_NESTING, Record, Scalar, Subarray, TimeStep, TimeUnit, Title,
};
use crate::error::Result;
use crate::npy_format as npy;

/// The indices of a dtype in the graph's table: as stored in the pickle, and in native byte order.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) stored: u32,
    pub(super) native: u32,
}

/// A cache of the dtypes of a pickle: each is decoded once, no matter how many objects refer to it.
#[derive(Default)]
pub(super) struct Memo {
    /// The dtypes, by the index of the object; `None` if the object is not a known dtype.
    made: HashMap<u32, Option<Arc<DType>>>,
    /// The table indices of the dtypes of arrays and scalars, by the index of the object.
    used: HashMap<u32, Known>,
}

impl Memo {
    /// Removes the dtype of an object that has changed.
    pub(super) fn forget(&mut self, number: u32) {
        if self.made.remove(&number).is_some() {
            self.used.remove(&number);
        }
    }
}

/// Decodes the dtype that an object represents, and adds it to the table.
pub(super) fn of(machine: &mut Unpickler<'_>, slot: Slot) -> Result<Option<Known>> {
    let Some(number) = slot.node() else { return Ok(None) };
    if let Some(known) = machine.dtypes.used.get(&number) {
        return Ok(Some(*known));
    }
    let look = GraphView::new(&machine.graph, machine.source);
    let mut decoder = Decoder { look, made: &mut machine.dtypes.made, budget: &machine.budget };
    let Some(stored) = decoder.within(slot, 0)? else { return Ok(None) };
    // NumPy converts numbers, strings and times to native byte order, and leaves records unchanged.
    let native = match &*stored {
        DType::Scalar(_) => Arc::new((*stored).clone().with_byte_order(ByteOrder::NATIVE)),
        _ => Arc::clone(&stored),
    };
    let dtypes = &mut machine.graph.rest_mut().dtypes;
    let mut push = |dtype: Arc<DType>, origin: Slot| {
        dtypes.push(StoredDType { dtype, origin });
        dtypes.len() as u32 - 1
    };
    let is_native = native == stored;
    let stored = push(stored, slot);
    let native = if is_native { stored } else { push(native, Slot::ABSENT) };
    let known = Known { stored, native };
    machine.dtypes.used.insert(number, known);
    Ok(Some(known))
}

/// Decodes the dtype that an object of a complete graph represents.
pub(super) fn in_graph(look: GraphView<'_>, slot: Slot) -> Option<DType> {
    let mut decoder = Decoder { look, made: &mut HashMap::new(), budget: &Budget::of(0) };
    decoder.within(slot, 0).ok()?.map(|dtype| (*dtype).clone())
}

/// Decodes the dtype that an object represents.
pub(super) fn of_object(object: ObjectRef<'_>) -> Option<DType> {
    in_graph(GraphView::new(object.graph?, Source::NONE), *object.slot)
}

struct Decoder<'a, 'b> {
    look: GraphView<'a>,
    made: &'b mut HashMap<u32, Option<Arc<DType>>>,
    budget: &'b Budget,
}

type Made = Result<Option<Arc<DType>>>;

impl Decoder<'_, '_> {
    fn once(&mut self, slot: Slot, make: impl FnOnce(&mut Self) -> Result<Option<DType>>) -> Made {
        let Some(number) = slot.node() else { return Ok(None) };
        if let Some(made) = self.made.get(&number) {
            return Ok(made.clone());
        }
        let made = make(self)?.map(Arc::new);
        // A record includes the fields of all records within it, and each use of the record visits all of
        // them. Each field costs 64 bytes of the budget, so nesting cannot multiply fields beyond it.
        if let Some(DType::Record(record)) = made.as_deref() {
            const FIELD: usize = 64;
            self.budget.spend(FIELD.saturating_mul(record.nested_field_count() as usize))?;
        }
        self.made.insert(number, made.clone());
        Ok(made)
    }

    fn within(&mut self, slot: Slot, depth: usize) -> Made {
        let Some(call) = self.look.call(slot) else { return Ok(None) };
        self.once(slot, |this| this.of_call(call, depth))
    }

    fn of_call(&mut self, call: &CallParts, depth: usize) -> Result<Option<DType>> {
        let look = self.look;
        let Some(args) = look.tuple(call.args) else { return Ok(None) };
        let Some(name) = look.name(call.callable).filter(|_| depth <= MAX_NESTING) else { return Ok(None) };
        if name.1 == "_convert_to_stringdtype_kwargs" {
            return Ok(Some(DType::Object)); // `StringDType`: its elements are strings in a list
        }
        if name != ("numpy", "dtype") {
            return Ok(None);
        }
        let Some(format) = args.first() else { return Ok(None) };
        let format = self.of_format(*format, depth + 1)?.map(|format| (*format).clone());
        let Some(state) = look.tuple(call.state) else { return Ok(format) };
        let [_, order, subarray, names, fields, size, ..] = *state else { return Ok(None) };
        if let Some(subarray) = look.tuple(subarray) {
            let [base, dims] = *subarray else { return Ok(None) };
            let base = self.within(base, depth + 1)?;
            return Ok(base.and_then(|base| subarray_of(look, &base, dims)));
        }
        if let Some((names, fields)) = look.tuple(names).zip(look.dict(fields)) {
            // A field with a title has two entries.
            self.budget.spend(64 * names.len().max(fields.len() / 2))?;
            // Of equal names, the last one is used, as in a dict.
            let mut places = HashMap::with_capacity(fields.len());
            for [name, field] in fields {
                if let Some(name) = look.text(*name) {
                    self.budget.spend(name.len())?;
                    places.insert(name.into_owned(), *field);
                }
            }
            let mut all = Vec::with_capacity(names.len());
            for name in names {
                let Some(name) = look.text(*name).map(std::borrow::Cow::into_owned) else { return Ok(None) };
                self.budget.spend(name.len())?;
                let field = places.get(&name).and_then(|field| look.tuple(*field));
                let Some([dtype, offset, rest @ ..]) = field else { return Ok(None) };
                let (Some(dtype), Some(offset)) = (self.within(*dtype, depth + 1)?, look.int(*offset)) else {
                    return Ok(None);
                };
                all.push((name, (*dtype).clone(), offset, rest.first().copied()));
            }
            return Ok(length(look, size).and_then(|size| record(look, all, size)));
        }
        let dtype = match (format, state.get(8).and_then(|metadata| look.tuple(*metadata))) {
            (Some(DType::Scalar(scalar)), Some(metadata)) => timed(look, scalar, metadata).map(DType::from),
            (dtype, _) => dtype,
        };
        let (Some(dtype), Some(order)) = (dtype, look.text(order)) else { return Ok(None) };
        Ok(Some(match &*order {
            "<" => dtype.with_byte_order(ByteOrder::Little),
            ">" => dtype.with_byte_order(ByteOrder::Big),
            _ => dtype,
        }))
    }

    /// Decodes the argument of `numpy.dtype`: a name, the parts of a record, or a type with a shape.
    fn of_format(&mut self, slot: Slot, depth: usize) -> Made {
        let look = self.look;
        if let Some(name) = look.text(slot) {
            self.budget.spend(name.len())?;
            return Ok(npy::dtype_by_name(&name).map(Arc::new));
        }
        if depth > MAX_NESTING {
            return Ok(None);
        }
        if look.call(slot).is_some() {
            return self.within(slot, depth);
        }
        if let Some(parts) = look.tuple(slot) {
            return self.once(slot, |this| match *parts {
                // A Python class, such as `numpy.record`, does not describe the bytes; the other item does.
                [class, dtype] if look.name(class).is_some() => {
                    Ok(this.of_format(dtype, depth + 1)?.map(|dtype| (*dtype).clone()))
                }
                [base, dims] => {
                    let base = this.of_format(base, depth + 1)?;
                    Ok(base.and_then(|base| subarray_of(look, &base, dims)))
                }
                _ => Ok(None),
            });
        }
        match look.dict(slot) {
            Some(parts) => self.once(slot, |this| this.of_parts(parts, depth)),
            None => Ok(None),
        }
    }

    /// Decodes a dict of names, formats and offsets.
    fn of_parts(&mut self, parts: &[[Slot; 2]], depth: usize) -> Result<Option<DType>> {
        let look = self.look;
        let part = |name: &str| {
            let named = |key: Slot| look.text(key).is_some_and(|key| key == name);
            // The search starts from the end, because the last of equal keys is used.
            parts.iter().rev().find(|[key, _]| named(*key)).map(|[_, part]| *part)
        };
        let list = |name: &str| part(name).and_then(|part| look.list(part));
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
            let dtype = self.of_format(*format, depth + 1)?;
            let (Some(name), Some(dtype), Some(offset)) = (look.text(*name), dtype, look.int(*offset)) else {
                return Ok(None);
            };
            self.budget.spend(name.len())?;
            all.push((name.into_owned(), (*dtype).clone(), offset, title));
        }
        let size = part("itemsize").and_then(|size| length(look, size));
        Ok(size.and_then(|size| record(look, all, size)))
    }
}

/// Maximum length of a title in bytes: it is copied for each field that has it.
const MOST_TITLE: usize = 1024;

fn length(look: GraphView<'_>, slot: Slot) -> Option<usize> {
    usize::try_from(look.int(slot)?).ok()
}

fn subarray_of(look: GraphView<'_>, base: &DType, dims: Slot) -> Option<DType> {
    let dims = match look.tuple(dims) {
        Some(_) => look.dims(dims)?,
        None => vec![length(look, dims)?],
    };
    Subarray::new(base.clone(), dims.into()).map(DType::from)
}

/// The name, dtype, offset and title of a field.
type Field = (String, DType, i64, Option<Slot>);

/// Builds a record; `None` if fields overlap, are not in order of their offsets, or have an invalid title.
///
/// The fields of a [`Record`] are laid out one after another. A title must be text of limited length.
fn record(look: GraphView<'_>, fields: Vec<Field>, size: usize) -> Option<DType> {
    let mut record = Record::default();
    for (name, dtype, offset, title) in fields {
        record.pad_to(usize::try_from(offset).ok()?).ok()?; // overlapping fields are not supported
        let title = match title {
            None | Some(Slot::NONE) => None,
            Some(title) => {
                Some(Title::Text(look.text(title).filter(|title| title.len() <= MOST_TITLE)?.into_owned()))
            }
        };
        record.push(name, title, dtype).ok()?;
    }
    record.pad_to(size).ok()?;
    Some(record.into())
}

/// Applies the unit in the metadata of a time dtype: `({}, (b"ns", 1, 1, 1))`.
fn timed(look: GraphView<'_>, scalar: Scalar, metadata: &[Slot]) -> Option<Scalar> {
    let [_, step] = *metadata else { return None };
    let [unit, count, ..] = *look.tuple(step)? else { return None };
    let unit = look.text(unit)?;
    let unit = TimeUnit::ALL.into_iter().find(|known| known.symbol() == unit)?;
    let step = TimeStep::new(u32::try_from(look.int(count)?).ok()?, unit);
    let kind = match scalar.kind() {
        Kind::Datetime(_) => Kind::Datetime(step),
        Kind::Timedelta(_) => Kind::Timedelta(step),
        _ => return None,
    };
    Scalar::new(kind, scalar.size(), ByteOrder::NATIVE)
}
