//! Raw elements without a header.

use std::io::{self, Read, Write};
use std::path::Path;

use ndarray_io::header::{Order, Shape};
use ndarray_io::{DType, DynArray};

use super::Failure;
use super::convert::write_header;
use super::progress::Progress;
use super::source::Source;

/// Writes the elements of an array, by default in the order of the file.
pub(crate) fn write(path: &Path, order: Option<Order>, out: &mut dyn Write) -> Result<(), Failure> {
    const BLOCK: usize = 4 << 20;
    let source = Source::open_all(path, None, &crate::reading::options())?;
    if source.dtype().has_object() {
        return Err("Python objects have no raw bytes".into());
    }
    let order = order.unwrap_or(source.order());
    let all = source.byte_len();
    let mut progress = Progress::new();
    source.blocks().order(order).bytes(BLOCK).for_each(|block| {
        put(block.array(), order, out)?;
        progress.add(block.array().bytes().len() as u64, all);
        Ok(())
    })
}

/// Writes the elements in this order, and rearranges them if necessary.
pub(crate) fn put(array: &DynArray, order: Order, out: &mut dyn Write) -> Result<(), Failure> {
    Ok(out.write_all(array.in_order(order)?.bytes())?)
}

/// Converts raw elements to an NPY file.
pub(crate) fn read(
    input: &mut dyn Read,
    offset: u64,
    dtype: DType,
    shape: &str,
    order: Order,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let lengths = shape.split([',', 'x']).map(str::trim).filter(|length| !length.is_empty());
    let lengths = lengths.map(|length| {
        length.parse::<usize>().map_err(|_| format!("'{length}' is not the length of an axis"))
    });
    let dims = lengths.collect::<Result<Vec<_>, _>>()?;
    let shape = Shape::from(dims.clone());
    let wanted =
        shape.byte_len(dtype.item_size()).ok_or_else(|| format!("an array of shape {shape} is too large"))?;
    if dtype.has_object() {
        return Err("Python objects have no raw bytes".into());
    }
    write_header(dtype.clone(), order, dims, out)?;
    io::copy(&mut input.take(offset), &mut io::sink())?;
    let copied = io::copy(&mut input.take(wanted), out)?;
    if copied < wanted {
        return Err(format!(
            "an array of shape {shape} and dtype {dtype} needs {wanted} bytes, found {copied}"
        )
        .into());
    }
    let mut more = [0];
    match input.read(&mut more)? {
        0 => Ok(()),
        _ => {
            Err(format!("an array of shape {shape} and dtype {dtype} needs {wanted} bytes, found more")
                .into())
        }
    }
}
