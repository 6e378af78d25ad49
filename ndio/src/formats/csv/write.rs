//! Converts arrays to CSV.

use std::io::Write;

use ndarray_io::blocks::Block;
use ndarray_io::header::Order;
use ndarray_io::object::{ObjectRef, View};
use ndarray_io::{DType, DynArray};

use crate::cells::{Leaf, leaves, put_object, put_scalar};
use crate::failure::{Failure, in_block};
use crate::progress::Progress;
use crate::source::Source;

/// Writes an array of up to two axes. A record gets a column for each field, and the file a header line with
/// the names of the fields.
pub(super) fn write(source: &Source, delimiter: u8, out: &mut dyn Write) -> Result<(), Failure> {
    const BLOCK: usize = 1 << 20;
    let is_record = matches!(source.dtype(), DType::Record(_));
    if source.shape().len() > if is_record { 1 } else { 2 } {
        let shape = source.shape_text();
        return Err(
            format!("CSV holds at most two axes, but the shape is {shape}; --slice selects a part").into()
        );
    }
    let table = Table { leaves: leaves(source.dtype()), delimiter };
    if is_record {
        out.write_all(&table.head())?;
    }
    let width: usize = source.shape().iter().skip(1).product();
    let count = source.shape().first().copied().unwrap_or(1);
    if width == 0 && count > 1 << 20 {
        return Err(format!(
            "{}: {count} rows without columns cannot be written as CSV",
            source.name().display()
        )
        .into());
    }
    let all = source.byte_len();
    let mut progress = Progress::new();
    // A row that is longer than a block is divided among several.
    source.blocks().order(Order::C).bytes(BLOCK).map(
        |block| {
            let text = table.rows(&block, width);
            Ok((text.map_err(|failure| in_block(&block, failure))?, block.array().bytes().len() as u64))
        },
        |made: Result<_, Failure>| {
            let (text, bytes) = made?;
            out.write_all(&text)?;
            progress.add(bytes, all);
            Ok(())
        },
    )
}

struct Table {
    leaves: Vec<Leaf>,
    delimiter: u8,
}

impl Table {
    /// Formats the header line.
    fn head(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, leaf) in self.leaves.iter().enumerate() {
            self.begin(number, &mut out);
            let at = out.len();
            out.extend_from_slice(leaf.name.as_bytes());
            self.quote(at, &mut out);
        }
        self.end(&mut out);
        out
    }

    /// Formats the rows of a block, which may begin or end within a row of the table.
    fn rows(&self, block: &Block<DynArray>, width: usize) -> Result<Vec<u8>, Failure> {
        let columns = block.ranges().get(1).cloned().unwrap_or(0..1);
        let array: &DynArray = &*block.array().in_order(Order::C)?;
        let size = array.dtype().item_size();
        let (bytes, objects) = (array.bytes(), array.objects());
        let mut out = Vec::with_capacity(2 * bytes.len());
        for row in 0..array.shape().first().copied().unwrap_or(1) {
            let mut column = columns.start * self.leaves.len();
            for item in row * columns.len()..(row + 1) * columns.len() {
                for (number, leaf) in self.leaves.iter().enumerate() {
                    self.begin(column, &mut out);
                    column += 1;
                    let at = out.len();
                    match objects {
                        Some(objects) => put_part(objects[item].as_ref(), number, &self.leaves, &mut out)?,
                        None => {
                            let bytes = &bytes[item * size + leaf.offset..][..leaf.size];
                            put_scalar(&leaf.dtype, bytes, &mut out)?;
                        }
                    }
                    if leaf.is_text() {
                        self.quote(at, &mut out);
                    }
                }
            }
            if columns.end < width {
                continue; // the next block has the rest of the row
            }
            // Readers skip empty lines, so an empty cell is quoted if it is the only one of its line.
            if column == 1 && matches!(out.last(), None | Some(b'\n')) {
                out.extend_from_slice(b"\"\"");
            }
            self.end(&mut out);
        }
        Ok(out)
    }

    fn begin(&self, column: usize, out: &mut Vec<u8>) {
        if column > 0 {
            out.push(self.delimiter);
        }
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }

    /// Quotes the cell that starts at `at`, if it contains a delimiter, a quote or a line break.
    fn quote(&self, at: usize, out: &mut Vec<u8>) {
        let is_odd = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == self.delimiter;
        if !out[at..].iter().any(is_odd) {
            return;
        }
        let cell = out.split_off(at);
        out.push(b'"');
        for byte in cell {
            if byte == b'"' {
                out.push(b'"');
            }
            out.push(byte);
        }
        out.push(b'"');
    }
}

/// Appends a Python object. For a record with objects, which is a tuple, appends one of its fields.
fn put_part(
    element: ObjectRef<'_>,
    number: usize,
    leaves: &[Leaf],
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    if leaves[number].name.is_empty() {
        return put_object(element, out);
    }
    match element.view() {
        // A field that is a record or an array has several leaves, so the numbers do not match.
        View::Tuple(parts) if parts.len() == leaves.len() => match parts.iter().nth(number) {
            Some(part) => put_object(part, out),
            None => Ok(()),
        },
        _ => Err("Python objects in nested records or subarrays cannot be written as CSV".into()),
    }
}
