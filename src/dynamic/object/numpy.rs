//! NumPy's own objects within a pickle: dtypes, arrays, scalars.

use std::sync::Arc;

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
    (module, name): (&str, &str),
    args: &[PyValue],
    state: Option<&PyValue>,
) -> Result<Option<PyValue>> {
    match (name, args, state) {
        ("_reconstruct", [PyValue::Global(class), ..], Some(PyValue::Tuple(state)))
            if is_reconstruct((module, name)) && (&*class.module, &*class.name) == ("numpy", "ndarray") =>
        {
            let Some(state) = State::of(state)? else { return Ok(None) };
            Ok(Some(PyValue::Array(Arc::new(state.into_array()?))))
        }
        ("scalar", [dtype, value], None)
            if matches!(module, "numpy._core.multiarray" | "numpy.core.multiarray") =>
        {
            match (dtype_of(dtype), latin1(value)) {
                (Some(dtype), Some(bytes)) if !dtype.has_object() => {
                    Ok(Some(PyValue::Scalar(Arc::new(native(array(dtype, Vec::new(), Order::C, &bytes)?)?))))
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
            match (dtype_of(dtype), bytes, shape(dims)) {
                (Some(dtype), Some(bytes), Some(dims)) if !dtype.has_object() => {
                    Ok(Some(PyValue::Array(Arc::new(array(dtype, dims, order, &bytes)?))))
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
    dtype: DType,
    order: Order,
    data: &'a PyValue,
}

impl<'a> State<'a> {
    /// `None` if the dtype is one that is not known here.
    fn of(state: &'a [PyValue]) -> Result<Option<Self>> {
        let [_, dims, dtype, is_fortran, data] = state else {
            return Err(bad("the state of an array has not its five parts"));
        };
        let Some(dtype) = dtype_of(dtype) else { return Ok(None) };
        let (dims, order) = shape_and_order(dims, is_fortran)?;
        Ok(Some(Self { dims, dtype, order, data }))
    }

    fn into_array(self) -> Result<DynArray> {
        let Self { dims, dtype, order, data } = self;
        match data {
            PyValue::List(items) if dtype.has_object() => {
                // The list is in C order, whatever the array was.
                let in_c = Header::new(dtype.clone(), Order::C, dims.clone().into())?;
                check_count(items.len(), &in_c)?;
                let items = rearranged(items, &in_c, order);
                Ok(DynArray::of_objects(Header::new(dtype, order, dims.into())?, items))
            }
            _ if dtype.has_object() => Err(bad("the elements of an array of objects are no list")),
            data => match latin1(data) {
                Some(bytes) => native(array(dtype, dims, order, &bytes)?),
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

/// In this machine's byte order, as NumPy makes all arrays but those of protocol 5.
fn native(array: DynArray) -> Result<DynArray> {
    let dtype = array.dtype().with_byte_order(ByteOrder::NATIVE);
    if array.dtype() == &dtype { Ok(array) } else { array.cast_to(&dtype, Casting::Safe) }
}

/// The dtype that an object is.
pub(super) fn dtype_of(value: &PyValue) -> Option<DType> {
    dtype_within(value, 0)
}

fn dtype_within(value: &PyValue, depth: usize) -> Option<DType> {
    /// Records within records, as in headers.
    const MOST: usize = 32;
    let PyValue::Object(object) = value else { return None };
    let PyObject { args: PyValue::Tuple(args), state, .. } = &**object else { return None };
    let global = object.global().filter(|_| depth < MOST)?;
    if global.name == "_convert_to_stringdtype_kwargs" {
        return Some(DType::Object); // `StringDType`, whose elements are texts in a list
    }
    if (&*global.module, &*global.name) != ("numpy", "dtype") {
        return None;
    }
    let format = format_of(args.first()?, depth + 1);
    let Some(PyValue::Tuple(state)) = state else { return format };
    let [_, order, subarray, names, fields, size, ..] = &state[..] else { return None };
    if let PyValue::Tuple(subarray) = subarray {
        let [base, dims] = &subarray[..] else { return None };
        return subarray_of(dtype_within(base, depth + 1)?, dims);
    }
    if let (PyValue::Tuple(names), PyValue::Dict(fields)) = (names, fields) {
        let size = usize::try_from(int(size)?).ok()?;
        let of = |name: &PyValue| fields.iter().find(|(key, _)| key == name).map(|(_, field)| field);
        let field = |name: &PyValue| {
            let PyValue::Tuple(field) = of(name)? else { return None };
            let (dtype, rest) = field.split_first()?;
            Some((text(name)?, dtype_within(dtype, depth + 1)?, int(rest.first()?)?, rest.get(1).cloned()))
        };
        return record(names.iter().map(field).collect::<Option<_>>()?, size);
    }
    let dtype = match (format?, state.get(8)) {
        (DType::Scalar(scalar), Some(PyValue::Tuple(metadata))) => timed(scalar, metadata)?.into(),
        (dtype, _) => dtype,
    };
    match text(order)?.as_str() {
        "<" => Some(dtype.with_byte_order(ByteOrder::Little)),
        ">" => Some(dtype.with_byte_order(ByteOrder::Big)),
        _ => Some(dtype),
    }
}

/// What `numpy.dtype` makes of its argument: a name, the parts of a record, a type with a shape.
fn format_of(value: &PyValue, depth: usize) -> Option<DType> {
    match value {
        PyValue::Str(_) | PyValue::Bytes(_) => npy::named(&text(value)?),
        PyValue::Object(_) => dtype_within(value, depth),
        PyValue::Tuple(parts) => match &parts[..] {
            [base, dims] => subarray_of(format_of(base, depth + 1)?, dims),
            _ => None,
        },
        PyValue::Dict(parts) => {
            let part =
                |name: &str| parts.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, part)| part);
            let list = |name: &str| part(name).and_then(PyValue::as_slice);
            let (names, formats, offsets) = (list("names")?, list("formats")?, list("offsets")?);
            if names.len() != formats.len() || names.len() != offsets.len() || depth > 32 {
                return None;
            }
            let field = |index: usize| {
                let title = list("titles").and_then(|titles| titles.get(index)).cloned();
                Some((
                    text(&names[index])?,
                    format_of(&formats[index], depth + 1)?,
                    int(&offsets[index])?,
                    title,
                ))
            };
            let size = usize::try_from(int(part("itemsize")?)?).ok()?;
            record((0..names.len()).map(field).collect::<Option<_>>()?, size)
        }
        _ => None,
    }
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

fn record(mut fields: Vec<Field>, size: usize) -> Option<DType> {
    fields.sort_by_key(|field| field.2);
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
