//! Formats elements for other programs: as CSV cells, and as JSON.

use std::io::Write;
use std::sync::{LazyLock, OnceLock};

use ndarray::Dimension;
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::header::Order;
use ndarray_io::object::{ObjectRef, View};
use ndarray_io::{ByteOrder, DType, DynArray};
use serde_json::json;

use super::failure::Failure;
use super::growth::{self, TextBuffer};
use super::source::Source;

/// Whether the text of a dtype may contain any character, unlike that of a number.
pub(crate) fn may_need_quotes(dtype: &DType) -> bool {
    let kind = dtype.as_scalar().map(Scalar::kind);
    !matches!(kind, Some(Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Narrow(_)))
}

/// Returns the number of scalars within each element: cells of CSV.
pub(crate) fn scalar_count(dtype: &DType) -> u64 {
    match dtype {
        DType::Record(record) => {
            let counts = record.fields().iter().map(|field| scalar_count(field.dtype()));
            counts.fold(0, u64::saturating_add)
        }
        DType::Subarray(subarray) => {
            let count = scalar_count(subarray.base());
            subarray.shape().iter().fold(count, |all, length| all.saturating_mul(*length as u64))
        }
        _ => 1,
    }
}

/// What takes a scalar: its dtype and its bytes.
type TakeScalar<'a> = dyn FnMut(&DType, &[u8]) -> Result<(), Failure> + 'a;

/// Calls a function with each scalar of an element, in order.
pub(crate) fn for_each_scalar(dtype: &DType, bytes: &[u8], call: &mut TakeScalar<'_>) -> Result<(), Failure> {
    match dtype {
        DType::Record(record) => record.fields().iter().try_for_each(|field| {
            for_each_scalar(field.dtype(), &bytes[field.offset()..][..field.dtype().item_size()], call)
        }),
        DType::Subarray(subarray) => {
            let (base, size) = (subarray.base(), subarray.base().item_size());
            let count: usize = subarray.shape().iter().product();
            (0..count).try_for_each(|number| for_each_scalar(base, &bytes[number * size..][..size], call))
        }
        _ => call(dtype, bytes),
    }
}

/// Calls a function with the name of each scalar of an element, in order: the names of fields and the indices within subarrays that lead
/// to it.
pub(crate) fn for_each_scalar_name(
    dtype: &DType,
    name: &str,
    call: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let within = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match dtype {
        DType::Record(record) => record
            .fields()
            .iter()
            .try_for_each(|field| for_each_scalar_name(field.dtype(), &within(field.name()), call)),
        DType::Subarray(subarray) => {
            for index in ndarray::indices(subarray.shape()) {
                let text: Vec<String> = index.slice().iter().map(usize::to_string).collect();
                for_each_scalar_name(subarray.base(), &within(&text.join(".")), call)?;
            }
            Ok(())
        }
        _ => call(name),
    }
}

/// Appends the text of a scalar. Floats get the fewest digits that round-trip.
#[inline]
pub(crate) fn put_scalar(dtype: &DType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let Some(scalar) = dtype.as_scalar() else {
        return Err(format!("elements of dtype {dtype} cannot be written as CSV").into());
    };
    let is_big = scalar.byte_order() == Some(ByteOrder::Big);
    match (scalar.kind(), bytes.len()) {
        (Kind::Bool, _) => out.extend_from_slice(if bytes == [0] { b"false" } else { b"true" }),
        (Kind::Int, size) => {
            let unused = 64 - 8 * size as u32;
            let number = (bits(bytes, is_big) as i64) << unused >> unused;
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        (Kind::Uint, _) => out.extend_from_slice(itoa::Buffer::new().format(bits(bytes, is_big)).as_bytes()),
        (Kind::Float, 4 | 8) => put_float(bytes, is_big, out),
        (Kind::Float, 2) => out.extend_from_slice(half_text(bits(bytes, is_big) as u16)?.as_bytes()),
        (Kind::Complex, 8 | 16) => {
            // In Python's notation.
            let (real, imaginary) = bytes.split_at(bytes.len() / 2);
            put_float(real, is_big, out);
            let at = out.len();
            put_float(imaginary, is_big, out);
            if !out[at..].starts_with(b"-") {
                out.insert(at, b'+');
            }
            out.push(b'j');
        }
        (Kind::Text, _) => {
            let codes = bytes.as_chunks::<4>().0.iter();
            let code =
                |unit: &[u8; 4]| if is_big { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
            let text: String =
                codes.map(|unit| char::from_u32(code(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            out.extend_from_slice(text.trim_end_matches('\0').as_bytes());
        }
        (Kind::Bytes, _) => {
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            match std::str::from_utf8(&bytes[..end]) {
                Ok(text) => out.extend_from_slice(text.as_bytes()),
                Err(_) => write!(out, "{}", bytes[..end].escape_ascii())?,
            }
        }
        // The library formats times, raw bytes and long doubles.
        _ => {
            let text = display_text(dtype, bytes)?;
            // Complex numbers in Python's notation, as above.
            let is_complex = scalar.kind() == Kind::Complex;
            out.extend_from_slice(if is_complex { text.trim_end_matches('i') } else { &text }.as_bytes());
            out.extend_from_slice(if is_complex { b"j" } else { b"" });
        }
    }
    Ok(())
}

/// Returns an element as the library shows it.
fn display_text(dtype: &DType, bytes: &[u8]) -> Result<String, Failure> {
    let one = DynArray::from_bytes(dtype.clone(), Vec::new(), Order::C, bytes)?;
    Ok(one.display_with(&crate::reading::display_options()).to_string())
}

/// Returns a float of 16 bits as the library shows it. There are few of them: each is formatted once.
fn half_text(bits: u16) -> Result<&'static str, Failure> {
    static HALF_TEXTS: LazyLock<Box<[OnceLock<String>]>> =
        LazyLock::new(|| std::iter::repeat_with(OnceLock::new).take(1 << 16).collect());
    let half_text = &HALF_TEXTS[usize::from(bits)];
    if let Some(text) = half_text.get() {
        return Ok(text);
    }
    let dtype = Scalar::new(Kind::Float, 2, ByteOrder::NATIVE).ok_or("there are floats of 16 bits")?;
    let text = display_text(&dtype.into(), &bits.to_ne_bytes())?;
    Ok(half_text.get_or_init(|| text))
}

fn bits(bytes: &[u8], is_big: bool) -> u64 {
    let mut all = [0; 8];
    if is_big {
        all[8 - bytes.len()..].copy_from_slice(bytes);
        return u64::from_be_bytes(all);
    }
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

fn put_float(bytes: &[u8], is_big: bool, out: &mut Vec<u8>) {
    let bits = bits(bytes, is_big);
    let mut buffer = zmij::Buffer::new();
    let text = match bytes.len() {
        4 => buffer.format(f32::from_bits(bits as u32)),
        8 => buffer.format(f64::from_bits(bits)),
        size => unreachable!("the library formats floats of {size} bytes"),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends the text of a Python object, if it fits in a cell.
pub(crate) fn put_object(object: ObjectRef<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
    match object.view() {
        View::None => {}
        View::Str(text) if text.as_str().is_some() => {
            out.extend_from_slice(text.as_str().unwrap_or_default().as_bytes());
        }
        View::Bool(_) | View::Int(_) | View::Float(_) => write!(out, "{object}")?,
        View::Decimal(digits) => out.extend_from_slice(digits.as_bytes()),
        View::Date(date) => write!(out, "{date}")?,
        // Tuples and other containers do not fit in a cell.
        _ => {
            return Err(
                "only text, numbers and dates can be written as CSV; the objects include others".into()
            );
        }
    }
    Ok(())
}

/// Writes an array as one line of JSON, block by block: `dtype`, `shape`, and `values` in nested lists.
///
/// Records become objects, and complex numbers become lists of two numbers. Of what JSON lacks, NaN and NaT become `null`, and infinities strings.
pub(crate) fn write_json(source: &Source, file: &mut dyn Write) -> Result<(), Failure> {
    source.check_complete()?;
    let (dtype, shape) = (source.dtype(), source.shape());
    let mut out = TextBuffer::new(file);
    write!(out.text, "{{\"dtype\":{},\"shape\":{},\"values\":", json!(dtype_text(dtype)), json!(shape))?;
    // The other axes of an empty array may be of any length: print one empty list instead of millions.
    let lists = shape.iter().take_while(|length| **length > 0);
    let is_large = lists.fold(1, |all: usize, length| all.saturating_mul(*length)) > 1 << 20;
    let shape = if source.len() == 0 && is_large { &[0] } else { shape };
    put_nested_lists(shape, &mut out, &mut put_elements(source))?;
    out.text.extend_from_slice(b"}\n");
    out.flush()
}

/// Writes what each index of the first axis has as a line of JSON.
pub(crate) fn write_json_lines(source: &Source, file: &mut dyn Write) -> Result<(), Failure> {
    source.check_complete()?;
    let (count, within) = source.shape().split_first().ok_or("a single element has no rows")?;
    let (mut out, mut put) = (TextBuffer::new(file), put_elements(source));
    if source.len() == 0 && *count > 1 << 20 {
        return Err(format!("{count} rows without elements cannot be written as JSON lines").into());
    }
    for _ in 0..*count {
        put_nested_lists(within, &mut out, &mut put)?;
        out.text.push(b'\n');
        out.flush_if_full()?;
    }
    out.flush()
}

/// Returns a function that appends the elements, one after another.
fn put_elements(source: &Source) -> impl FnMut(&mut TextBuffer<'_>) -> Result<(), Failure> {
    let dtype = source.dtype();
    let (mut blocks, mut block, mut number) = (source.blocks().order(Order::C), None, 0);
    move |out| {
        let array = match block.take() {
            Some(array) => array,
            None => {
                number = 0;
                let next = blocks.next().ok_or("the array has fewer elements than its shape")??;
                growth::add_decoded(next.array().bytes().len() as u64);
                next.array().in_order(Order::C)?.into_owned()
            }
        };
        match array.objects() {
            Some(objects) => serde_json::to_writer(&mut out.text, &objects[number])?,
            None => put_json(dtype, &array.bytes()[number * dtype.item_size()..][..dtype.item_size()], out)?,
        }
        number += 1;
        block = (number < array.len()).then_some(array);
        Ok(())
    }
}

/// Formats a dtype in NumPy's notation, without quotes if it is only a name.
pub(crate) fn dtype_text(dtype: &DType) -> String {
    let text = dtype.to_string();
    match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(name) => name.to_owned(),
        None => text,
    }
}

/// Appends nested lists of this shape; `item` appends each element.
fn put_nested_lists(
    shape: &[usize],
    out: &mut TextBuffer<'_>,
    item: &mut dyn FnMut(&mut TextBuffer<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some((length, within)) = shape.split_first() else { return item(out) };
    out.text.push(b'[');
    for index in 0..*length {
        if index > 0 {
            out.text.push(b',');
        }
        put_nested_lists(within, out, item)?;
        out.flush_if_full()?;
    }
    out.text.push(b']');
    Ok(())
}

fn put_json(dtype: &DType, bytes: &[u8], out: &mut TextBuffer<'_>) -> Result<(), Failure> {
    match dtype {
        DType::Record(record) => {
            for (number, field) in record.fields().iter().enumerate() {
                out.text.push(if number == 0 { b'{' } else { b',' });
                serde_json::to_writer(&mut out.text, field.name())?;
                out.text.push(b':');
                put_json(field.dtype(), &bytes[field.offset()..][..field.dtype().item_size()], out)?;
                out.flush_if_full()?;
            }
            out.text.extend_from_slice(if record.fields().is_empty() { b"{}" } else { b"}" });
            Ok(())
        }
        DType::Subarray(subarray) => {
            let (base, size) = (subarray.base(), subarray.base().item_size());
            let mut number = 0;
            put_nested_lists(subarray.shape(), out, &mut |out| {
                number += 1;
                put_json(base, &bytes[(number - 1) * size..][..size], out)
            })
        }
        _ => put_json_scalar(dtype, bytes, &mut out.text),
    }
}

fn put_json_scalar(dtype: &DType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let scalar = dtype.as_scalar().ok_or("Python objects within records cannot be written as JSON")?;
    match scalar.kind() {
        Kind::Complex if matches!(bytes.len(), 8 | 16) => {
            let is_big = scalar.byte_order() == Some(ByteOrder::Big);
            let (real, imaginary) = bytes.split_at(bytes.len() / 2);
            out.push(b'[');
            put_json_float(real, is_big, out);
            out.push(b',');
            put_json_float(imaginary, is_big, out);
            out.push(b']');
        }
        Kind::Float if matches!(bytes.len(), 4 | 8) => {
            put_json_float(bytes, scalar.byte_order() == Some(ByteOrder::Big), out);
        }
        _ if is_json_literal(scalar) => put_scalar(dtype, bytes, out)?,
        Kind::Complex if is_displayed_as_number(scalar) => {
            let part =
                Scalar::new(Kind::Float, bytes.len() / 2, scalar.byte_order().unwrap_or(ByteOrder::NATIVE));
            let part = DType::from(part.ok_or("a complex number has two floats")?);
            let (real, imaginary) = bytes.split_at(bytes.len() / 2);
            out.push(b'[');
            for (bytes, end) in [(real, b','), (imaginary, b']')] {
                put_json_scalar(&part, bytes, out)?;
                out.push(end);
            }
        }
        _ if is_displayed_as_number(scalar) => {
            let at = out.len();
            put_scalar(dtype, bytes, out)?;
            replace_not_finite(out, at);
        }
        _ => {
            let mut text = Vec::new();
            put_scalar(dtype, bytes, &mut text)?;
            let is_time = matches!(scalar.kind(), Kind::Datetime(_) | Kind::Timedelta(_));
            if is_time && text == b"NaT" {
                out.extend_from_slice(b"null");
                return Ok(());
            }
            serde_json::to_writer(out, &String::from_utf8_lossy(&text))?;
        }
    }
    Ok(())
}

/// Whether the library formats a scalar as a number.
fn is_displayed_as_number(scalar: &Scalar) -> bool {
    matches!((scalar.kind(), scalar.size()), (Kind::Narrow(_), _) | (Kind::Float, 2) | (Kind::Complex, 4))
        || crate::reading::long_double_format_of(scalar).is_some()
}

/// Whether the text of a scalar is also valid JSON.
fn is_json_literal(scalar: &Scalar) -> bool {
    matches!(scalar.kind(), Kind::Bool | Kind::Int | Kind::Uint)
}

fn put_json_float(bytes: &[u8], is_big: bool, out: &mut Vec<u8>) {
    let at = out.len();
    put_float(bytes, is_big, out);
    replace_not_finite(out, at);
}

/// Makes `null` of NaN, which JSON does not have, and a text of infinity.
fn replace_not_finite(out: &mut Vec<u8>, at: usize) {
    match &out[at..] {
        b"NaN" | b"nan" => {
            out.truncate(at);
            out.extend_from_slice(b"null");
        }
        text if text.iter().any(|byte| matches!(byte, b'N' | b'n')) => {
            out.insert(at, b'"');
            out.push(b'"');
        }
        _ => {}
    }
}
