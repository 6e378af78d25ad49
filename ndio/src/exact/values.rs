//! Formats the content of arrays in the form of the oracle's manifest.

use std::cell::Cell;

use ndarray_io::dtype::{Kind, Scalar, Title};
use ndarray_io::header::Order;
use ndarray_io::object::{Items, ObjectRef, View};
use ndarray_io::{ByteOrder, DType, DynArray};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Fault;

/// Describes an array and its contents.
pub(super) fn describe_array(array: &DynArray) -> Result<Value, Fault> {
    let mut line = json!({
        "fortran_order": array.order() == Order::Fortran,
        "shape": array.shape(),
        "n": array.len(),
    });
    let ordered = array.in_order(Order::C)?;
    if let Some(objects) = ordered.objects() {
        let budget = &OutputBudget { remaining: Cell::new(64 << 20), depth: Cell::new(0) };
        let values: Result<Vec<Value>, Fault> =
            objects.iter().map(|object| object_value(ordered.dtype(), object.as_ref(), budget)).collect();
        line["object_values"] = json!(values?);
        return Ok(line);
    }
    let (dtype, bytes) = (ordered.dtype(), ordered.bytes());
    line["itemsize"] = json!(dtype.item_size());
    line["dtype"] = dtype_value(dtype);
    line["sha256"] = json!(sha256(bytes));
    line["values"] = match values(&ordered)? {
        values if values.len() <= MAX_VALUES => json!(values),
        _ => Value::Null,
    };
    Ok(line)
}

/// Arrays with more elements are printed without values.
const MAX_VALUES: usize = 4096;

/// Formats the values. If there are more than `MAX_VALUES`, only checks them, and returns nulls.
fn values(array: &DynArray) -> Result<Vec<Value>, Fault> {
    let size = array.dtype().item_size();
    if array.len() > MAX_VALUES {
        for item in array.bytes().chunks_exact(size.max(1)) {
            check_element(array.dtype(), item)?;
        }
        return Ok(vec![Value::Null; MAX_VALUES + 1]);
    }
    (0..array.len()).map(|index| value(array.dtype(), &array.bytes()[index * size..][..size])).collect()
}

/// Returns an error if an element is invalid.
fn check_element(dtype: &DType, bytes: &[u8]) -> Result<(), Fault> {
    match dtype {
        DType::Scalar(scalar) if scalar.kind() == Kind::Bool => value(dtype, bytes).map(drop),
        DType::Record(_) | DType::Subarray(_) => value(dtype, bytes).map(drop),
        _ => Ok(()),
    }
}

/// Formats one element in the manifest's form.
fn value(dtype: &DType, bytes: &[u8]) -> Result<Value, Fault> {
    match dtype {
        DType::Scalar(scalar) => scalar_value(scalar, bytes),
        DType::Record(record) => {
            let field = |field: &ndarray_io::dtype::Field| {
                value(field.dtype(), &bytes[field.offset()..][..field.dtype().item_size()])
            };
            record.fields().iter().map(field).collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        DType::Subarray(subarray) => subarray_value(subarray.base(), subarray.shape(), bytes),
        _ => Ok(Value::Null),
    }
}

fn subarray_value(base: &DType, dims: &[usize], bytes: &[u8]) -> Result<Value, Fault> {
    let Some((count, inner)) = dims.split_first() else { return value(base, bytes) };
    let part = bytes.len() / (*count).max(1);
    (0..*count)
        .map(|index| subarray_value(base, inner, &bytes[index * part..][..part]))
        .collect::<Result<Vec<_>, _>>()
        .map(Value::Array)
}

fn scalar_value(scalar: &Scalar, bytes: &[u8]) -> Result<Value, Fault> {
    let is_big = scalar.byte_order() == Some(ByteOrder::Big);
    let big_endian = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        if !is_big {
            bytes.reverse();
        }
        bytes
    };
    let unsigned = || big_endian(bytes).iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let signed = || {
        let unused = 64 - 8 * bytes.len() as u32;
        (unsigned() as i64) << unused >> unused
    };
    Ok(match scalar.kind() {
        Kind::Bool if bytes[0] > 1 => {
            let message = format!("a bool is 0 or 1, but the file has {}", bytes[0]);
            return Err(Fault { class: "bad_bool", message });
        }
        Kind::Bool => json!(bytes[0] == 1),
        Kind::Int => json!(signed().to_string()),
        Kind::Uint => json!(unsigned().to_string()),
        Kind::Float => json!(hex(&big_endian(bytes))),
        Kind::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            json!([hex(&big_endian(re)), hex(&big_endian(im))])
        }
        Kind::Bytes => {
            let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            json!(hex(&bytes[..len]))
        }
        Kind::Text => {
            let code = |unit: &[u8]| {
                big_endian(unit).iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte))
            };
            let mut codes: Vec<u32> = bytes.chunks_exact(4).map(code).collect();
            codes.truncate(codes.iter().rposition(|code| *code != 0).map_or(0, |last| last + 1));
            text(&codes)
        }
        Kind::Datetime(step) | Kind::Timedelta(step) => match signed() {
            i64::MIN => json!("NaT"),
            ticks => json!({"ticks": ticks.to_string(), "unit": step.unit.symbol(), "step": step.count}),
        },
        Kind::Void | Kind::Narrow(_) => json!(hex(bytes)),
        _ => json!(hex(bytes)), // what this program does not know
    })
}

/// Formats a text, or its code points if not all of them are characters.
fn text(codes: &[u32]) -> Value {
    let text: Option<String> = codes.iter().map(|code| char::from_u32(*code)).collect();
    text.map_or_else(|| json!(codes), |text| json!(text))
}

/// The remaining budget for objects, which is an upper bound on the output.
///
/// Shared objects are printed each time, so the output of a small malicious file could be enormous.
struct OutputBudget {
    remaining: Cell<usize>,
    /// The current nesting depth.
    depth: Cell<usize>,
}

impl OutputBudget {
    fn take(&self, count: usize) -> Result<(), Fault> {
        let budget = self.remaining.get().checked_sub(count);
        self.remaining.set(budget.ok_or_else(|| Fault {
            class: "unsupported_pickle",
            message: "if shared objects are repeated, there are more than 64 million".into(),
        })?);
        Ok(())
    }

    /// Formats a part of an object, or returns an error if the parts contain each other or are nested too
    /// deep.
    fn descend<T>(&self, format_part: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        const MAX_DEPTH: usize = 1000;
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() > MAX_DEPTH {
            let message = "an object contains itself, or is nested more than 1000 deep".into();
            return Err(Fault { class: "unsupported_pickle", message });
        }
        let formatted = format_part();
        self.depth.set(self.depth.get() - 1);
        formatted
    }

    fn hex(&self, bytes: &[u8]) -> Result<String, Fault> {
        self.take(bytes.len())?;
        Ok(hex(bytes))
    }
}

fn object_value(dtype: &DType, object: ObjectRef<'_>, budget: &OutputBudget) -> Result<Value, Fault> {
    match (dtype, object.view()) {
        (DType::Record(record), View::Tuple(parts)) if parts.len() == record.fields().len() => record
            .fields()
            .iter()
            .zip(parts.iter())
            .map(|(field, part)| object_value(field.dtype(), part, budget))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array),
        (DType::Object, _) => tagged_value(object, budget),
        _ => Ok(match tagged_value(object, budget)? {
            Value::Object(mut tagged) => tagged.remove("v").unwrap_or(Value::Null),
            other => other,
        }),
    }
}

fn tagged_value(object: ObjectRef<'_>, budget: &OutputBudget) -> Result<Value, Fault> {
    budget.take(1)?;
    budget.descend(|| tagged_parts(object, budget))
}

fn tagged_parts(object: ObjectRef<'_>, budget: &OutputBudget) -> Result<Value, Fault> {
    let all =
        |items: Items<'_>| items.iter().map(|item| tagged_value(item, budget)).collect::<Result<Vec<_>, _>>();
    let sorted = |items: Items<'_>| {
        let mut items = all(items)?;
        items.sort_by_key(sort_key);
        Ok::<_, Fault>(items)
    };
    Ok(match object.view() {
        View::None => json!({"t": "none"}),
        View::Bool(value) => json!({"t": "bool", "v": value}),
        View::Int(number) => json!({"t": "int", "v": number.to_string()}),
        View::Float(number) => json!({"t": "float", "v": hex(&number.to_be_bytes())}),
        View::Complex(number) => {
            json!({"t": "complex", "v": [hex(&number.re.to_be_bytes()), hex(&number.im.to_be_bytes())]})
        }
        View::Str(string) => {
            let codes: Vec<u32> = string.code_points().collect();
            budget.take(codes.len())?;
            json!({"t": "str", "v": text(&codes)})
        }
        View::Bytes(bytes) => json!({"t": "bytes", "v": budget.hex(bytes)?}),
        View::ByteArray(bytes) => json!({"t": "bytearray", "v": budget.hex(bytes)?}),
        View::List(items) => json!({"t": "list", "v": all(items)?}),
        View::Tuple(items) => json!({"t": "tuple", "v": all(items)?}),
        View::Set(items) => json!({"t": "set", "v": sorted(items)?}),
        View::FrozenSet(items) => json!({"t": "frozenset", "v": sorted(items)?}),
        View::Dict(pairs) => {
            let pair = |(key, value): (ObjectRef<'_>, ObjectRef<'_>)| {
                Ok::<_, Fault>(json!([tagged_value(key, budget)?, tagged_value(value, budget)?]))
            };
            json!({"t": "dict", "v": pairs.iter().map(pair).collect::<Result<Vec<_>, _>>()?})
        }
        View::Scalar(scalar) => {
            let values = values(&scalar.to_dyn()?)?;
            json!({"t": "npscalar", "descr": little_endian_descr(scalar.dtype()), "v": values.first()})
        }
        View::Array(array) => {
            budget.take(array.bytes().len())?;
            let values = match array.objects() {
                Some(objects) => objects
                    .iter()
                    .map(|object| object_value(array.dtype(), object, budget))
                    .collect::<Result<Vec<_>, _>>()?,
                None => values(&*array.to_dyn()?.in_order(Order::C)?)?,
            };
            json!({"t": "ndarray", "descr": little_endian_descr(array.dtype()), "shape": array.shape(), "v": values})
        }
        _ => {
            let shown: String = object.to_string().chars().take(200).collect();
            let message = format!("the object {shown} has no form here");
            return Err(Fault { class: "unsupported_pickle", message });
        }
    })
}

/// Returns the key by which sets are sorted: integers by their value, other objects by their JSON text.
fn sort_key(value: &Value) -> (Option<i128>, String) {
    let number = value["v"].as_str().filter(|_| value["t"] == "int").and_then(|digits| digits.parse().ok());
    (number, value.to_string())
}

/// Formats the dtype of a NumPy scalar or array among the objects.
///
/// The manifest states all such dtypes as little-endian, because NumPy byte-swaps most arrays when it
/// unpickles them, but not records.
fn little_endian_descr(dtype: &DType) -> String {
    dtype.with_byte_order(ByteOrder::Little).to_string()
}

/// Returns a dtype in the manifest's form.
fn dtype_value(dtype: &DType) -> Value {
    match dtype {
        DType::Scalar(scalar) => {
            let order = match scalar.byte_order() {
                None => "|",
                Some(ByteOrder::Little) => "<",
                Some(ByteOrder::Big) => ">",
            };
            let mut json =
                json!({"kind": scalar.kind().letter().to_string(), "order": order, "size": scalar.size()});
            if let Kind::Datetime(step) | Kind::Timedelta(step) = scalar.kind() {
                json["unit"] = json!(step.unit.symbol());
                json["step"] = json!(step.count);
            }
            json
        }
        DType::Subarray(subarray) => json!({"kind": "subarray", "size": subarray.size(),
            "shape": subarray.shape(), "base": dtype_value(subarray.base())}),
        DType::Record(record) => {
            let fields = record.fields().iter().map(|field| {
                let title = match field.title() {
                    Some(Title::Text(text)) => json!(text),
                    Some(Title::Int(number)) => json!(number),
                    _ => Value::Null,
                };
                json!({"name": field.name(), "title": title, "offset": field.offset(), "dtype": dtype_value(field.dtype())})
            });
            json!({"kind": "record", "size": record.size(), "fields": fields.collect::<Vec<_>>()})
        }
        _ => json!({"kind": "O", "order": "|", "size": 8}),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
