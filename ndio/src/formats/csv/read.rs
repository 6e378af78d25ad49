//! Converts CSV to NPY: how cells are read as numbers.

use std::fs::File;

use ndarray_io::DType;
use ndarray_io::dtype::Kind;
use num_complex::Complex;

use super::CsvDialect;
use super::table::TableReader;
use crate::failure::Failure;

/// The message for a cell that should be a number.
pub(super) const NOT_A_NUMBER_REASON: &str = "it is not a number";

/// Explains why a cell is not an integer.
fn integer_error(text: &str, error: &std::num::ParseIntError) -> String {
    match text.parse::<f64>() {
        Ok(_) if *error.kind() == std::num::IntErrorKind::InvalidDigit => {
            "it is not an integer; --dtype f8 reads it".into()
        }
        Ok(_) => error.to_string(),
        Err(_) => NOT_A_NUMBER_REASON.into(),
    }
}

/// Returns the least number that does not fit a float of this size: halfway between its largest number and the next. NumPy reads infinity for a
/// text that is more than a double has.
fn overflow_threshold(size: usize) -> Option<f64> {
    match size {
        2 => Some(65520.0),
        4 => Some(2f64.powi(128) - 2f64.powi(103)),
        _ => None,
    }
}

/// Parses a cell; an empty one is NaN. A number that would become infinite in a float of `size` bytes is an error.
fn parse_float_cell(text: &str, size: usize) -> Result<f64, String> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    parse_float(text, size)
}

fn parse_float(text: &str, size: usize) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|_| NOT_A_NUMBER_REASON)?;
    let is_literal_infinity = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']); // a literal infinity
    if overflow_threshold(size).is_some_and(|least| number.abs() >= least) && !is_literal_infinity {
        return Err(format!("the number is too large for a float of {} bits", 8 * size));
    }
    Ok(number)
}

/// Like `parse_float_cell`, but for the default dtype: an integer that `f64` cannot represent exactly is an error.
fn parse_default_number(text: &str) -> Result<f64, String> {
    let number = parse_float_cell(text, 8)?;
    match text.parse::<i128>() {
        Ok(integer) if number as i128 != integer => {
            Err("the number has more digits than a float; --dtype i8 or u8 reads integers, --dtype f8 rounds"
                .into())
        }
        _ => Ok(number),
    }
}

/// Parses a complex number in the notation of Python and NumPy: `1.5+2j`, with or without parentheses, or a
/// real number.
fn parse_complex(text: &str, size: usize) -> Result<Complex<f64>, String> {
    if text.is_empty() {
        return Ok(f64::NAN.into());
    }
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let Some(inner) = inner.strip_suffix(['j', 'i']) else { return Ok(parse_float(inner, size)?.into()) };
    // Split at the last sign that is neither at the beginning nor part of an exponent.
    let bytes = inner.as_bytes();
    let sign = (1..bytes.len())
        .rev()
        .find(|at| matches!(bytes[*at], b'+' | b'-') && !matches!(bytes[*at - 1], b'e' | b'E'));
    let (real, imaginary) = inner.split_at(sign.unwrap_or(0));
    let real = if real.is_empty() { 0.0 } else { parse_float(real.trim(), size)? };
    let imaginary = match imaginary.trim() {
        "" | "+" => 1.0,
        "-" => -1.0,
        imaginary => parse_float(imaginary, size)?,
    };
    Ok(Complex::new(real, imaginary))
}

/// Converts CSV to an NPY file: of text for a dtype of text, else of the widest dtype of the same kind, or of `f64` if there is none.
pub(super) fn read(
    input: File,
    dialect: CsvDialect,
    dtype: Option<DType>,
    out: &File,
) -> Result<(), Failure> {
    let mut table = TableReader::new(input, dialect)?;
    let Some(dtype) = dtype else {
        return table.write_numbers(out, parse_default_number);
    };
    let kind = dtype.as_scalar().map(ndarray_io::dtype::Scalar::kind);
    if dtype
        .as_scalar()
        .is_some_and(|scalar| scalar.size() > if scalar.kind() == Kind::Complex { 16 } else { 8 })
        && kind != Some(Kind::Text)
    {
        return Err(format!("numbers in CSV have at most 64 bits; {dtype} has more").into());
    }
    if kind == Some(Kind::Text) {
        return table.write_texts(&dtype, out);
    }
    // Parsed as the widest type of the kind; the caller converts it. The closures report numbers that do not fit the final type.
    let bits = 8 * dtype.item_size() as u32;
    match kind {
        Some(Kind::Float) => {
            let size = dtype.item_size();
            table.write_numbers(out, |text| parse_float_cell(text, size))?
        }
        Some(Kind::Complex) => {
            let size = dtype.item_size() / 2;
            table.write_numbers(out, |text| parse_complex(text, size))?
        }
        Some(Kind::Int) => table.write_numbers(out, |text| {
            let number = text.parse::<i64>().map_err(|error| integer_error(text, &error))?;
            let fits = bits >= 64 || (-(1i64 << (bits - 1))..1 << (bits - 1)).contains(&number);
            if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
        })?,
        Some(Kind::Uint) => table.write_numbers(out, |text| {
            let number = text.parse::<u64>().map_err(|error| integer_error(text, &error))?;
            let fits = bits >= 64 || number >> bits == 0;
            if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
        })?,
        Some(Kind::Narrow(narrow)) => match narrow.limits() {
            Some((least, most)) => table.write_numbers(out, |text| {
                let number = text.parse::<i64>().map_err(|error| integer_error(text, &error))?;
                let fits = (i64::from(least)..=i64::from(most)).contains(&number);
                if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
            })?,
            None => table.write_numbers(out, |text| parse_float_cell(text, 8))?,
        },
        Some(Kind::Bool) => table.write_numbers(out, |text| match text {
            "true" | "True" | "1" => Ok(true),
            "false" | "False" | "0" => Ok(false),
            _ => Err("it is neither true nor false".into()),
        })?,
        _ => return Err("CSV is read as numbers, bools or text: --dtype str reads all cells as text".into()),
    }
    Ok(())
}
