//! NumPy's own objects within a pickle: dtypes, arrays, scalars.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::budget::Budget;
use super::read::{bad, latin1};
use super::{PyObject, PyValue, rearranged};
use crate::dtype::{ByteOrder, DType, Kind, Record, Scalar, Subarray, TimeStep, TimeUnit, Title};
use crate::dynamic::DynArray;
use crate::error::Result;
use crate::header::Header;
use crate::npy;
use crate::options::Casting;
use crate::shape::{Order, Shape};

/// Whether a name is that of the function which an array is made by.
pub(super) fn is_reconstruct((module, name): (&str, &str)) -> bool {
    const MODULES: [&str; 4] =
        ["numpy._core.multiarray", "numpy.core.multiarray", "numpy.core._internal", "numpy._core._internal"];
    name == "_reconstruct" && MODULES.contains(&module)
}

/// An array or a scalar, if a call makes one.
pub(super) fn known(
    dtypes: &DTypes,
    (module, name): (&str, &str),
    args: &[PyValue],
    state: Option<&PyValue>,
) -> Result<Option<PyValue>> {
    match (name, args, state) {
        ("_reconstruct", [PyValue::Global(class), ..], Some(PyValue::Tuple(state)))
            if is_reconstruct((module, name)) && (&*class.module, &*class.name) == ("numpy", "ndarray") =>
        {
            let Some(state) = State::of(dtypes, state)? else { return Ok(None) };
            dtypes.budget.spend(state.data.as_bytes().map_or(0, <[u8]>::len))?;
            Ok(Some(PyValue::Array(Arc::new(state.into_array()?))))
        }
        ("scalar", [dtype, value], None)
            if matches!(module, "numpy._core.multiarray" | "numpy.core.multiarray") =>
        {
            match (dtypes.of(dtype)?, latin1(value)) {
                (Some(dtype), Some(bytes)) if !dtype.stored.has_object() => {
                    Ok(Some(PyValue::Scalar(Arc::new(native(&dtype, Vec::new(), Order::C, &bytes)?))))
                }
                _ => Ok(None),
            }
        }
        ("_frombuffer", [buffer, dtype, PyValue::Tuple(dims), PyValue::Str(order)], None)
            if matches!(module, "numpy._core.numeric" | "numpy.core.numeric") =>
        {
            let bytes = match buffer {
                PyValue::ByteArray(bytes) => Some(bytes.to_vec()),
                other => latin1(other),
            };
            let order = if order.as_str() == Some("F") { Order::Fortran } else { Order::C };
            match (dtypes.of(dtype)?, bytes, shape(dims)) {
                (Some(dtype), Some(bytes), Some(dims)) if !dtype.stored.has_object() => {
                    Ok(Some(PyValue::Array(Arc::new(array(dtype.stored, dims, order, &bytes)?))))
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// What an array is given when it is made.
struct State<'a> {
    dims: Vec<usize>,
    dtype: Known,
    order: Order,
    data: &'a PyValue,
}

impl<'a> State<'a> {
    /// `None` if the dtype is one that is not known here.
    fn of(dtypes: &DTypes, state: &'a [PyValue]) -> Result<Option<Self>> {
        let [_, dims, dtype, is_fortran, data] = state else {
            return Err(bad("the state of an array has not its five parts"));
        };
        let Some(dtype) = dtypes.of(dtype)? else { return Ok(None) };
        let (dims, order) = shape_and_order(dims, is_fortran)?;
        Ok(Some(Self { dims, dtype, order, data }))
    }

    fn into_array(self) -> Result<DynArray> {
        let Self { dims, dtype, order, data } = self;
        match data {
            PyValue::List(items) if dtype.stored.has_object() => {
                let dtype = dtype.stored;
                // The list is in C order, whatever the array was.
                let in_c = Header::new(dtype.clone(), Order::C, dims.clone().into())?;
                check_count(items.len(), &in_c)?;
                let items = rearranged(items, &in_c, order);
                Ok(DynArray::of_objects(Header::new(dtype, order, dims.into())?, items))
            }
            _ if dtype.stored.has_object() => Err(bad("the elements of an array of objects are no list")),
            data => match latin1(data) {
                Some(bytes) => native(&dtype, dims, order, &bytes),
                None => Err(bad("the elements of an array are no bytes")),
            },
        }
    }
}

/// The shape and order in an array's state.
pub(super) fn shape_and_order(dims: &PyValue, is_fortran: &PyValue) -> Result<(Vec<usize>, Order)> {
    let PyValue::Tuple(dims) = dims else { return Err(bad("the shape of an array is no tuple")) };
    let dims = shape(dims).ok_or_else(|| bad("the shape of an array has a length that is none"))?;
    let order = match is_fortran {
        PyValue::Bool(true) => Order::Fortran,
        PyValue::Int(number) if i64::try_from(number).is_ok_and(|number| number != 0) => Order::Fortran,
        PyValue::Bool(false) | PyValue::Int(_) => Order::C,
        _ => return Err(bad("whether an array is in Fortran order is no bool")),
    };
    Ok((dims, order))
}

pub(super) fn check_count(found: usize, header: &Header) -> Result<()> {
    match found == header.len() {
        true => Ok(()),
        false => Err(bad(format!("an array of shape {} has {found} elements", header.shape()))),
    }
}

fn shape(dims: &[PyValue]) -> Option<Vec<usize>> {
    dims.iter().map(int).map(|dim| dim.and_then(|dim| usize::try_from(dim).ok())).collect()
}

/// The array of these bytes.
fn array(dtype: DType, dims: Vec<usize>, order: Order, bytes: &[u8]) -> Result<DynArray> {
    let header = Header::new(dtype, order, Shape::from(dims))?;
    if header.payload_len() != Some(bytes.len()) {
        let (shape, dtype) = (header.shape(), header.dtype());
        return Err(bad(format!("{} bytes are no array of {dtype} of shape {shape}", bytes.len())));
    }
    DynArray::from_bytes(header, bytes)
}

/// The array of these bytes in this machine's byte order, as NumPy makes all arrays but those of protocol 5.
fn native(dtype: &Known, dims: Vec<usize>, order: Order, bytes: &[u8]) -> Result<DynArray> {
    match bytes.is_empty() || dtype.stored == dtype.native {
        true => array(dtype.native.clone(), dims, order, bytes),
        false => array(dtype.stored.clone(), dims, order, bytes)?.cast_to(&dtype.native, Casting::Safe),
    }
}

/// A dtype as it is in the pickle, and in this machine's byte order.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) stored: DType,
    native: DType,
}

/// The dtypes of a pickle, each of which is made once, however many arrays and other dtypes have it.
pub(super) struct DTypes {
    /// By where the values are that they are made of, which live as long as the reader. None if it is no dtype that is known here.
    made: Mutex<HashMap<usize, Option<Known>>>,
    pub(super) budget: Budget,
}

impl DTypes {
    pub(super) fn new(budget: Budget) -> Self {
        Self { made: Mutex::default(), budget }
    }

    fn made(&self) -> MutexGuard<'_, HashMap<usize, Option<Known>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The dtype that an object is.
    pub(super) fn of(&self, value: &PyValue) -> Result<Option<Known>> {
        self.within(value, 0)
    }

    fn once(&self, place: usize, make: impl FnOnce() -> Result<Option<DType>>) -> Result<Option<Known>> {
        if let Some(made) = self.made().get(&place) {
            return Ok(made.clone());
        }
        let made = make()?.map(|stored| Known { native: stored.with_byte_order(ByteOrder::NATIVE), stored });
        // What is made of others has all of their fields in it, and whoever looks at it goes through them.
        if let Some(Known { stored: DType::Record(record), .. }) = &made {
            const FIELD: usize = 64;
            self.budget.spend(FIELD.saturating_mul(record.fields_within() as usize))?;
        }
        self.made().insert(place, made.clone());
        Ok(made)
    }

    fn within(&self, value: &PyValue, depth: usize) -> Result<Option<Known>> {
        let PyValue::Object(object) = value else { return Ok(None) };
        self.once(Arc::as_ptr(object).addr(), || self.of_object(object, depth))
    }

    fn of_object(&self, object: &PyObject, depth: usize) -> Result<Option<DType>> {
        let PyObject { args: PyValue::Tuple(args), state, .. } = object else { return Ok(None) };
        let Some(global) = object.global().filter(|_| depth < MOST) else { return Ok(None) };
        if global.name == "_convert_to_stringdtype_kwargs" {
            return Ok(Some(DType::Object)); // `StringDType`, whose elements are texts in a list
        }
        if (&*global.module, &*global.name) != ("numpy", "dtype") {
            return Ok(None);
        }
        let Some(format) = args.first() else { return Ok(None) };
        let format = self.of_format(format, depth + 1)?;
        let Some(PyValue::Tuple(state)) = state else { return Ok(format) };
        let [_, order, subarray, names, fields, size, ..] = &state[..] else { return Ok(None) };
        if let PyValue::Tuple(subarray) = subarray {
            let [base, dims] = &subarray[..] else { return Ok(None) };
            let base = self.within(base, depth + 1)?;
            return Ok(base.and_then(|base| subarray_of(base.stored, dims)));
        }
        if let (PyValue::Tuple(names), PyValue::Dict(fields)) = (names, fields) {
            self.budget.spend(64 * names.len())?;
            // Of equal names the last counts, as in a dict.
            let places: HashMap<String, &PyValue> =
                fields.iter().filter_map(|(name, field)| Some((text(name)?, field))).collect();
            let mut all = Vec::with_capacity(names.len());
            for name in names.iter() {
                let Some(name) = text(name) else { return Ok(None) };
                let Some(PyValue::Tuple(field)) = places.get(&name) else { return Ok(None) };
                let [dtype, offset, rest @ ..] = &field[..] else { return Ok(None) };
                let (Some(dtype), Some(offset)) = (self.within(dtype, depth + 1)?, int(offset)) else {
                    return Ok(None);
                };
                all.push((name, dtype.stored, offset, rest.first().cloned()));
            }
            return Ok(length(size).and_then(|size| record(all, size)));
        }
        let dtype = match (format, state.get(8)) {
            (Some(DType::Scalar(scalar)), Some(PyValue::Tuple(metadata))) => {
                timed(scalar, metadata).map(DType::from)
            }
            (dtype, _) => dtype,
        };
        let (Some(dtype), Some(order)) = (dtype, text(order)) else { return Ok(None) };
        Ok(Some(match order.as_str() {
            "<" => dtype.with_byte_order(ByteOrder::Little),
            ">" => dtype.with_byte_order(ByteOrder::Big),
            _ => dtype,
        }))
    }

    /// What `numpy.dtype` makes of its argument: a name, the parts of a record, a type with a shape.
    fn of_format(&self, value: &PyValue, depth: usize) -> Result<Option<DType>> {
        let made = match value {
            PyValue::Str(_) | PyValue::Bytes(_) => {
                let Some(name) = text(value) else { return Ok(None) };
                return Ok(npy::named(&name));
            }
            _ if depth > MOST => return Ok(None),
            PyValue::Object(_) => self.within(value, depth)?,
            PyValue::Tuple(parts) => self.once(Arc::as_ptr(parts).addr(), || match &parts[..] {
                [base, dims] => {
                    let base = self.of_format(base, depth + 1)?;
                    Ok(base.and_then(|base| subarray_of(base, dims)))
                }
                _ => Ok(None),
            })?,
            PyValue::Dict(parts) => self.once(Arc::as_ptr(parts).addr(), || self.of_parts(parts, depth))?,
            _ => None,
        };
        Ok(made.map(|made| made.stored))
    }

    /// The dtype of a dict with names, formats and offsets.
    fn of_parts(&self, parts: &[(PyValue, PyValue)], depth: usize) -> Result<Option<DType>> {
        let part =
            |name: &str| parts.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, part)| part);
        let list = |name: &str| part(name).and_then(PyValue::as_slice);
        let (Some(names), Some(formats), Some(offsets)) = (list("names"), list("formats"), list("offsets"))
        else {
            return Ok(None);
        };
        if names.len() != formats.len() || names.len() != offsets.len() {
            return Ok(None);
        }
        self.budget.spend(64 * names.len())?;
        let mut all = Vec::with_capacity(names.len());
        for index in 0..names.len() {
            let title = list("titles").and_then(|titles| titles.get(index)).cloned();
            let dtype = self.of_format(&formats[index], depth + 1)?;
            let (Some(name), Some(dtype), Some(offset)) = (text(&names[index]), dtype, int(&offsets[index]))
            else {
                return Ok(None);
            };
            all.push((name, dtype, offset, title));
        }
        Ok(part("itemsize").and_then(length).and_then(|size| record(all, size)))
    }
}

/// Records within records, as in headers.
const MOST: usize = 32;

fn length(value: &PyValue) -> Option<usize> {
    usize::try_from(int(value)?).ok()
}

fn subarray_of(base: DType, dims: &PyValue) -> Option<DType> {
    let dims = match dims {
        PyValue::Tuple(dims) => shape(dims)?,
        length => vec![usize::try_from(int(length)?).ok()?],
    };
    Subarray::new(base, dims.into()).map(DType::from)
}

/// A field: name, type, offset, title.
type Field = (String, DType, i64, Option<PyValue>);

/// `None` if the fields overlap or are not in the order of their offsets: then nothing here says which value is whose.
fn record(fields: Vec<Field>, size: usize) -> Option<DType> {
    let mut record = Record::default();
    for (name, dtype, offset, title) in fields {
        let gap = usize::try_from(offset).ok()?.checked_sub(record.size())?; // overlapping fields are not known here
        record.pad(gap)?;
        let title = match title {
            None | Some(PyValue::None) => None,
            Some(title) => Some(Title::Text(text(&title)?)),
        };
        record.push(name, title, dtype)?;
    }
    record.pad(size.checked_sub(record.size())?)?;
    Some(record.into())
}

/// A time with the unit that its metadata say: `({}, (b"ns", 1, 1, 1))`.
fn timed(scalar: Scalar, metadata: &[PyValue]) -> Option<Scalar> {
    let [_, PyValue::Tuple(step)] = metadata else { return None };
    let [unit, count, ..] = &step[..] else { return None };
    let unit = String::from_utf8(latin1(unit)?).ok()?;
    let unit = TimeUnit::ALL.into_iter().find(|known| known.symbol() == unit)?;
    let step = TimeStep::new(u32::try_from(int(count)?).ok()?, unit);
    let kind = match scalar.kind() {
        Kind::Datetime(_) => Kind::Datetime(step),
        Kind::Timedelta(_) => Kind::Timedelta(step),
        _ => return None,
    };
    Scalar::new(kind, scalar.size(), ByteOrder::NATIVE)
}

fn int(value: &PyValue) -> Option<i64> {
    match value {
        PyValue::Int(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

fn text(value: &PyValue) -> Option<String> {
    match value {
        PyValue::Bytes(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        value => value.as_str().map(str::to_owned),
    }
}
