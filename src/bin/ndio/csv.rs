//! Tables of text, a row a line.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim, WriterBuilder};
use ndarray::SliceInfoElem;
use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::dtype::{ByteOrder, Kind};
use ndarray_io::object::{Object, View};
use ndarray_io::{Casting, DType, DynArray, NpyWriter, WritableElement, WriteOptions};

use super::Failure;
use super::blocks::Source;
use super::convert::temporary;

/// Writes an array of one or two axes; of records a column for each field, with its name above.
pub(crate) fn write(path: &Path, delimiter: u8, out: &mut dyn Write) -> Result<(), Failure> {
    const BLOCK: usize = 1 << 20;
    let source = Source::open_all(path, None, &crate::password::options().allow_objects(true))?;
    let mut table = WriterBuilder::new().delimiter(delimiter).from_writer(out);
    let names = columns(source.dtype());
    if names.len() > 1 && source.shape().len() != 1 || source.shape().len() > 2 {
        let shape = ndarray_io::header::Shape::from(source.shape().to_vec());
        return Err(format!(
            "CSV has rows and columns, and the array the shape {shape}; ndio show --slice shows a part"
        )
        .into());
    }
    if names.len() > 1 {
        table.write_record(&names)?;
    }
    let row: usize = source.shape().iter().skip(1).product();
    let count = source.shape().first().copied().unwrap_or(1);
    let step = (BLOCK / (row * source.dtype().item_size()).max(1)).max(1);
    for from in (0..count).step_by(step) {
        let rows = SliceInfoElem::Slice {
            start: from as isize,
            end: Some((from + step).min(count) as isize),
            step: 1,
        };
        let mut slice = source.all();
        if let Some(first) = slice.first_mut() {
            *first = rows;
        }
        let array = source.slice(&slice)?;
        let texts = match names.len() {
            0 | 1 => texts_of(&array)?,
            _ => {
                let column = |name: &String| match array.field(name)? {
                    field if field.shape().len() == 1 => texts_of(&field),
                    _ => {
                        Err(format!("the field '{name}' is an array itself, which has no form in a table")
                            .into())
                    }
                };
                let columns = names.iter().map(column).collect::<Result<Vec<_>, _>>()?;
                (0..array.len())
                    .flat_map(|row| columns.iter().map(move |column| column[row].clone()))
                    .collect()
            }
        };
        let width = match (names.len(), array.shape()) {
            (0 | 1, [_, width]) => *width,
            (0 | 1, _) => 1,
            (fields, _) => fields,
        };
        for row in texts.chunks(width.max(1)) {
            table.write_record(row)?;
        }
    }
    Ok(table.flush()?)
}

/// The paths of the fields that are no records themselves.
fn columns(dtype: &DType) -> Vec<String> {
    let DType::Record(record) = dtype else { return Vec::new() };
    let fields = record.fields().iter();
    fields
        .flat_map(|field| match columns(field.dtype()) {
            within if within.is_empty() => vec![field.name().to_owned()],
            within => within.iter().map(|name| format!("{}.{name}", field.name())).collect(),
        })
        .collect()
}

/// The elements as text, in C order.
fn texts_of(array: &DynArray) -> Result<Vec<String>, Failure> {
    if let Some(objects) = array.objects() {
        return objects.iter().map(text_of).collect();
    }
    let kind = array.dtype().as_scalar().map(ndarray_io::dtype::Scalar::kind);
    let flat = |texts: ndarray::ArrayD<String>| texts.iter().cloned().collect();
    Ok(match kind {
        Some(Kind::Bool) => flat(array.cast::<bool, _>(Casting::Unsafe)?.mapv(|bool| bool.to_string())),
        Some(Kind::Int) => flat(array.cast::<i64, _>(Casting::Unsafe)?.mapv(|number| number.to_string())),
        Some(Kind::Uint) => flat(array.cast::<u64, _>(Casting::Unsafe)?.mapv(|number| number.to_string())),
        // As few digits as mean the same number of that size.
        Some(Kind::Float) if array.dtype().item_size() <= 4 => {
            flat(array.cast::<f32, _>(Casting::Unsafe)?.mapv(|number| format!("{number:?}")))
        }
        Some(Kind::Float) => {
            flat(array.cast::<f64, _>(Casting::Unsafe)?.mapv(|number| format!("{number:?}")))
        }
        Some(Kind::Text) => flat(array.cast::<String, _>(Casting::Unsafe)?),
        _ => {
            let one = |index: usize| array.slice(&[ndarray::SliceInfoElem::Index(index as isize)][..]);
            match array.shape() {
                [length] => {
                    (0..*length).map(|index| Ok(one(index)?.to_string())).collect::<Result<_, Failure>>()?
                }
                _ => {
                    return Err(
                        format!("elements of the dtype {} have no form in a table", array.dtype()).into()
                    );
                }
            }
        }
    })
}

/// An object that has a form in a table.
fn text_of(object: &Object) -> Result<String, Failure> {
    match object.view() {
        View::None => Ok(String::new()),
        View::Str(text) if text.as_str().is_some() => Ok(text.as_str().unwrap_or_default().to_owned()),
        View::Bool(_) | View::Int(_) | View::Float(_) => Ok(object.to_string()),
        View::Decimal(digits) => Ok(digits.to_owned()),
        View::Date(date) => Ok(date.to_string()),
        _ => Err("tables have texts and numbers, and among the objects are others".into()),
    }
}

/// What a table looks like.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) has_header: bool,
    pub(crate) delimiter: u8,
}

/// A number as a float, nothing as none. It is an error if it is a larger one than `most`, the largest of its type.
fn float(text: &str, most: f64) -> Result<f64, String> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    let number = text.parse::<f64>().map_err(|error| error.to_string())?;
    let is_meant = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']); // as infinity is written
    if number.abs() > most && !is_meant {
        return Err(format!("the number is larger than {most:?}, the largest of its type"));
    }
    Ok(number)
}

/// The same where nothing says that floats are wanted: integers with more digits than a float has would become others.
fn float_or_integer(text: &str) -> Result<f64, String> {
    let number = float(text, f64::MAX)?;
    match text.parse::<i128>() {
        Ok(integer) if number as i128 != integer => {
            Err("the number has more digits than a float; --dtype i8 or u8 reads integers, --dtype f8 rounds"
                .into())
        }
        _ => Ok(number),
    }
}

/// Reads a table of numbers, or of text if that is asked for, into an NPY file: floats, if nothing is. What is in memory does not
/// depend on its size.
pub(crate) fn read(
    input: &mut dyn Read,
    form: Form,
    dtype: Option<DType>,
    out: &Path,
) -> Result<(), Failure> {
    let is_text =
        dtype.as_ref().and_then(DType::as_scalar).is_some_and(|scalar| matches!(scalar.kind(), Kind::Text));
    let rows = ReaderBuilder::new()
        .has_headers(form.has_header)
        .delimiter(form.delimiter)
        .trim(if is_text { Trim::None } else { Trim::All }) // blanks are a part of a text
        .from_reader(input);
    let Some(dtype) = dtype else { return table(rows, open(out)?, &WriteOptions::new(), float_or_integer) };
    let scalar = dtype.as_scalar().copied().ok_or("CSV is read as numbers, bools or text")?;
    if scalar.kind() == Kind::Text {
        return texts(rows, &dtype, out);
    }
    // The widest type of the kind first; what does not fit the one that is wanted is told here.
    let made = temporary(&std::env::temp_dir())?;
    let wide = open(&made)?;
    let bits = 8 * scalar.size() as u32;
    let options = WriteOptions::new();
    match scalar.kind() {
        Kind::Float => {
            let most = match scalar.size() {
                2 => 65504.0,
                4 => f32::MAX.into(),
                _ => f64::MAX,
            };
            table(rows, wide, &options, |text| float(text, most))?
        }
        Kind::Int => table(rows, wide, &options, |text| {
            let number = text.parse::<i64>().map_err(|error| error.to_string())?;
            let fits = bits >= 64 || (-(1i64 << (bits - 1))..1 << (bits - 1)).contains(&number);
            if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
        })?,
        Kind::Uint => table(rows, wide, &options, |text| {
            let number = text.parse::<u64>().map_err(|error| error.to_string())?;
            if bits >= 64 || number >> bits == 0 {
                Ok(number)
            } else {
                Err(format!("the number does not fit {dtype}"))
            }
        })?,
        Kind::Bool => table(rows, wide, &options, |text| match text {
            "true" | "True" | "1" => Ok(true),
            "false" | "False" | "0" => Ok(false),
            _ => Err("it is neither true nor false"),
        })?,
        _ => return Err("CSV is read as numbers, bools or text".into()),
    }
    Ok(convert_npy(&made, out, Conversion::new().dtype(dtype, Casting::Unsafe))?)
}

fn open(path: &Path) -> Result<File, Failure> {
    Ok(File::options().write(true).open(path)?)
}

/// Row by row, so that a table of any size is converted.
fn table<T, E>(
    rows: csv::Reader<&mut dyn Read>,
    out: File,
    options: &WriteOptions,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<(), Failure>
where
    T: WritableElement + Clone,
    E: std::fmt::Display,
{
    let mut writer: Option<NpyWriter<T, File>> = None;
    let mut out = Some(out);
    let mut record = StringRecord::new();
    let mut rows = rows;
    while rows.read_record(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        let row = record.iter().enumerate().map(|(column, text)| {
            parse(text).map_err(|error| {
                let advice = if line == 1 && text.parse::<f64>().is_err() {
                    "; if the line has the names of the columns, --header leaves it out"
                } else {
                    ""
                };
                format!("line {line}, column {}: '{text}': {error}{advice}", column + 1).into()
            })
        });
        let row = row.collect::<Result<Vec<T>, Failure>>()?;
        if writer.is_none()
            && let Some(out) = out.take()
        {
            // A table of one column is a list.
            let within: &[usize] = if row.len() == 1 { &[] } else { &[row.len()] };
            writer = Some(NpyWriter::new_with(out, within, options)?);
        }
        let Some(writer) = &mut writer else { continue };
        writer.extend(row)?;
    }
    match writer {
        Some(writer) => writer.finish().map(drop)?,
        None => return Err("the table has no rows".into()),
    }
    Ok(())
}

/// Texts of the width that the dtype has, or of that of the widest of them, which is known when all have been seen.
fn texts(mut rows: csv::Reader<&mut dyn Read>, dtype: &DType, out: &Path) -> Result<(), Failure> {
    let order = dtype.as_scalar().and_then(|scalar| scalar.byte_order()).unwrap_or(ByteOrder::NATIVE);
    let options = WriteOptions::new().byte_order(order);
    let text = |text: &str| Ok::<_, String>(text.to_owned());
    if dtype.item_size() > 0 {
        let width = dtype.item_size() / 4;
        let fitting = |cell: &str| match cell.chars().count() {
            length if length > width => Err(format!("it has {length} characters, and {dtype} holds {width}")),
            _ => text(cell),
        };
        return table(rows, open(out)?, &options.text_width(width), fitting);
    }
    let seen = tempfile::tempfile()?;
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(&seen);
    let mut record = StringRecord::new();
    let mut width = 1;
    while rows.read_record(&mut record)? {
        width = record.iter().map(|cell| cell.chars().count()).fold(width, usize::max);
        writer.write_record(&record)?;
    }
    writer.flush()?;
    drop(writer);
    (&seen).rewind()?;
    let mut again: &mut dyn Read = &mut &seen;
    let rows = ReaderBuilder::new().has_headers(false).from_reader(&mut again as &mut dyn Read);
    table(rows, open(out)?, &options.text_width(width), text)
}
