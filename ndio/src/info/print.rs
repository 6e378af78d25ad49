//! Prints what is known of arrays.

use std::io::Write;

use ndarray_io::header::Shape;
use serde_json::Value;

use crate::failure::{Failure, one_line};

/// Formats the lengths of the parts of a stack in one line.
fn parts(facts: &Value) -> String {
    let lengths: Vec<u64> = facts.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let count = lengths.len();
    match (lengths.first(), lengths.iter().min(), lengths.iter().max()) {
        (Some(first), _, Some(longest)) if lengths[..count - 1].iter().all(|length| length == longest) => {
            let last = if lengths.last() == Some(first) {
                String::new()
            } else {
                format!(", the last {}", lengths[count - 1])
            };
            format!("{count} of length {first}{last}")
        }
        (_, Some(shortest), Some(longest)) => format!("{count} of lengths {shortest} to {longest}"),
        _ => "none".into(),
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Prints a file of one array, or of a list of them.
pub(super) fn print(facts: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    print_head(facts, out)?;
    let Some(arrays) = facts["arrays"].as_array() else { return print_array(facts, out) };
    arrays.iter().enumerate().try_for_each(|(number, facts)| print_one(number, facts, out))
}

/// Prints what is known of the file itself.
pub(super) fn print_head(facts: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    write!(out, "{}: {}", one_line(&text(&facts["file"])), text(&facts["format"]).to_uppercase())?;
    if let Some(version) = facts["version"].as_str() {
        write!(out, " {version}")?;
    }
    if let Some(bytes) = facts["file_size"].as_u64() {
        write!(out, ", {bytes} bytes")?;
    }
    Ok(writeln!(out)?)
}

/// Prints one of several arrays.
pub(super) fn print_one(number: usize, facts: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "  array {number}, NPY {}", text(&facts["version"]))?;
    print_array(facts, out)
}

fn print_array(facts: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "  dtype   {}", text(&facts["dtype"]))?;
    for field in facts["fields"].as_array().into_iter().flatten() {
        writeln!(out, "    {:>6}  {}  {}", field["offset"], text(&field["name"]), text(&field["dtype"]))?;
    }
    writeln!(out, "  shape   {}, {} order", shape(&facts["shape"]), text(&facts["order"]))?;
    if !facts["flags"].is_null() {
        writeln!(
            out,
            "  flags   {}, eltype {}, elbyte {}",
            facts["flags"], facts["eltype"], facts["elbyte"]
        )?;
    }
    let size =
        facts["bytes"].as_u64().map_or_else(|| "a pickle".to_owned(), |bytes| format!("{bytes} bytes"));
    if !facts["parts"].is_null() {
        writeln!(out, "  parts   {}, along axis {}", parts(&facts["parts"]), facts["axis"])?;
        writeln!(out, "  data    {size}")?;
        return print_stats(&facts["stats"], out);
    }
    let offset = facts["data_offset"].as_u64().unwrap_or_default();
    let align = 1u64 << offset.trailing_zeros().min(12);
    let size = match facts["stored_bytes"].as_u64() {
        Some(stored) => format!("{stored} bytes, {size} when unpacked"),
        None => size,
    };
    writeln!(out, "  data    {size}, at byte {offset} (a multiple of {align})")?;
    match facts["trailing"].as_u64() {
        Some(0) | None => {}
        Some(bytes) => writeln!(out, "  after   {bytes} bytes that are not part of the array")?,
    }
    if facts["is_whole"] == false {
        writeln!(out, "  truncated  bytes that are missing: {}", facts["missing"])?;
    }
    let mapped = if facts["can_be_mapped"] == true { "yes" } else { "no" };
    writeln!(out, "  mapped  {mapped}")?;
    print_stats(&facts["stats"], out)?;
    Ok(())
}

pub(super) fn print_stats(stats: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    if stats.is_null() {
        return Ok(());
    }
    if let Some(error) = stats["error"].as_str() {
        return Ok(writeln!(out, "  stats   {error}")?);
    }
    for field in stats["fields"].as_array().into_iter().flatten() {
        writeln!(out, "  field   {}", one_line(&text(&field["name"])))?;
        print_stats(field, out)?;
    }
    if !stats["fields"].is_null() {
        return Ok(());
    }
    if let Some(none) = stats["nat"].as_u64() {
        if !stats["min"].is_null() {
            writeln!(out, "  range   {} to {}", text(&stats["min"]), text(&stats["max"]))?;
            writeln!(out, "  mean    {}", text(&stats["mean"]))?;
        }
        return Ok(writeln!(out, "  counts  {none} NaT")?);
    }
    if let Some([low, high]) = stats["magnitude"].as_array().map(Vec::as_slice) {
        writeln!(out, "  range   {low} to {high} in magnitude")?;
        let (real, imaginary) = (stats["mean"][0].as_f64(), stats["mean"][1].as_f64());
        let mean = num_complex::Complex::new(real.unwrap_or_default(), imaginary.unwrap_or_default());
        writeln!(out, "  mean    {:?}{:+?}i, standard deviation {}", mean.re, mean.im, stats["std"])?;
    } else if !stats["min"].is_null() {
        writeln!(out, "  range   {} to {}", stats["min"], stats["max"])?;
        writeln!(out, "  mean    {}, standard deviation {}", stats["mean"], stats["std"])?;
    }
    writeln!(out, "  counts  {} NaN, {} infinite, {} zero", stats["nan"], stats["inf"], stats["zero"])?;
    Ok(())
}

/// Formats a shape like a Python tuple.
fn shape(dims: &Value) -> String {
    let dims: Vec<usize> = dims
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|dim| dim.as_u64())
        .map(|dim| dim as usize)
        .collect();
    Shape::from(dims).to_string()
}
