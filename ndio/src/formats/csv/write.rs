//! Converts arrays to CSV.

use std::io::Write;

use ndarray_io::blocks::Block;
use ndarray_io::header::Order;
use ndarray_io::object::{ObjectRef, View};
use ndarray_io::{DType, DynArray};

use super::CsvDialect;
use crate::cells::{
    for_each_scalar, for_each_scalar_name, may_need_quotes, put_object, put_scalar, scalar_count,
};
use crate::failure::{Failure, at, in_block};
use crate::growth::{self, TextBuffer};
use crate::progress::Progress;
use crate::source::Source;

/// Writes an array of up to two axes. A record gets a column for each field, and the file a header line with
/// the names of the fields.
pub(super) fn write(source: &Source, dialect: CsvDialect, out: &mut dyn Write) -> Result<(), Failure> {
    const BLOCK_BYTES: usize = 1 << 20;
    let is_record = matches!(source.dtype(), DType::Record(_));
    if source.shape().len() > if is_record { 1 } else { 2 } {
        let shape = source.display_shape();
        let text = format!("CSV holds at most two axes, but the shape is {shape}; --slice selects a part");
        return Err(at(source.name(), text.into()));
    }
    let elements_per_row: usize = source.shape().iter().skip(1).product();
    let count = source.shape().first().copied().unwrap_or(1);
    if elements_per_row == 0 && count > 1 << 20 {
        return Err(format!(
            "{}: {count} rows without columns cannot be written as CSV",
            source.name().display()
        )
        .into());
    }
    let dtype = source.dtype();
    let table = TableWriter { dtype, dialect, elements_per_row, cells_per_element: scalar_count(dtype) };
    source.check_complete()?;
    if is_record {
        table.write_header_line(out)?;
    }
    let all = source.byte_len();
    let mut progress = Progress::new();
    let has_invalid = dtype.has_invalid_bytes();
    let put = |block: &Block<DynArray>, text: &mut TextBuffer<'_>| -> Result<(), Failure> {
        // Text that has no characters would be lost.
        if has_invalid {
            block.array().check().map_err(|error| source.name_error(block.located(error)))?;
        }
        table.put_rows(block, text).map_err(|failure| at(source.name(), in_block(block, failure)))
    };
    // A row that is longer than a block is divided among several.
    let blocks = source.blocks().order(Order::C).bytes(BLOCK_BYTES);
    if dtype.item_size() > BLOCK_BYTES || dtype.item_size() == 0 || dtype.has_object() {
        // The text of a block may be any number of times as long: it is written as it is made.
        return blocks.threads(1).read_ahead(|block| {
            let bytes = block.array().bytes().len() as u64;
            growth::add_decoded(bytes);
            let mut text = TextBuffer::new(out);
            put(&block, &mut text)?;
            text.flush()?;
            progress.add(bytes, all);
            Ok(())
        });
    }
    blocks.par_map(
        |block| {
            let text = Vec::with_capacity(2 * block.array().bytes().len());
            let mut text = TextBuffer::of(text);
            put(&block, &mut text)?;
            Ok((text.text, block.array().bytes().len() as u64))
        },
        |made: Result<_, Failure>| {
            let (text, bytes) = made?;
            growth::add_decoded(bytes);
            growth::add_output(text.len() as u64)?;
            out.write_all(&text)?;
            progress.add(bytes, all);
            Ok(())
        },
    )
}

struct TableWriter<'a> {
    dtype: &'a DType,
    dialect: CsvDialect,
    /// The number of elements in a row.
    elements_per_row: usize,
    /// The number of cells of an element.
    cells_per_element: u64,
}

impl TableWriter<'_> {
    /// Writes the header line.
    fn write_header_line(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut text = TextBuffer::new(out);
        let mut is_first = true;
        for_each_scalar_name(self.dtype, "", &mut |name| {
            if !std::mem::take(&mut is_first) {
                text.text.push(self.dialect.delimiter);
            }
            let at = text.text.len();
            text.text.extend_from_slice(name.as_bytes());
            self.finish_cell(at, &mut text.text);
            text.flush_if_full()
        })?;
        text.text.push(b'\n');
        text.flush()
    }

    /// Formats the rows of a block, which may begin or end within a row of the table.
    fn put_rows(&self, block: &Block<DynArray>, out: &mut TextBuffer<'_>) -> Result<(), Failure> {
        let columns = block.ranges().get(1).cloned().unwrap_or(0..1);
        let array: &DynArray = &*block.array().in_order(Order::C)?;
        let size = self.dtype.item_size();
        let (bytes, objects) = (array.bytes(), array.objects());
        for row in 0..array.shape().first().copied().unwrap_or(1) {
            let mut is_first = columns.start == 0;
            let begin = out.len();
            for item in row * columns.len()..(row + 1) * columns.len() {
                match objects {
                    Some(objects) => {
                        self.put_objects(objects[item].as_ref(), &mut is_first, &mut out.text)?;
                        out.flush_if_full()?;
                    }
                    None => {
                        for_each_scalar(self.dtype, &bytes[item * size..][..size], &mut |dtype, bytes| {
                            self.put_delimiter_unless_first(&mut is_first, &mut out.text);
                            let at = out.text.len();
                            put_scalar(dtype, bytes, &mut out.text)?;
                            if may_need_quotes(dtype) {
                                self.finish_cell(at, &mut out.text);
                            }
                            out.flush_if_full()
                        })?
                    }
                }
            }
            if columns.end < self.elements_per_row {
                continue; // the next block has the rest of the row
            }
            // Readers skip empty lines, so an empty cell is quoted if it is the only one of its line.
            let is_only = self.cells_per_element == 1 && self.elements_per_row <= 1;
            if is_only && out.len() == begin {
                out.text.extend_from_slice(b"\"\"");
            }
            out.text.push(b'\n');
        }
        Ok(())
    }

    /// Formats a Python object; or each of the fields of a record with objects, which is a tuple.
    fn put_objects(
        &self,
        element: ObjectRef<'_>,
        is_first: &mut bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let mut put = |object| {
            self.put_delimiter_unless_first(is_first, out);
            let at = out.len();
            put_object(object, out)?;
            self.finish_cell(at, out);
            Ok(())
        };
        match (self.dtype, element.view()) {
            (DType::Record(_), View::Tuple(parts)) if parts.len() as u64 == self.cells_per_element => {
                parts.iter().try_for_each(put)
            }
            // A field that is a record or an array has several cells, so the numbers do not match.
            (DType::Record(_), _) => {
                Err("Python objects in nested records or subarrays cannot be written as CSV".into())
            }
            _ => put(element),
        }
    }

    fn put_delimiter_unless_first(&self, is_first: &mut bool, out: &mut Vec<u8>) {
        if !std::mem::take(is_first) {
            out.push(self.dialect.delimiter);
        }
    }

    /// Quotes the text that starts at `at`, if it contains a delimiter, a quote or a line break.
    fn finish_cell(&self, at: usize, out: &mut Vec<u8>) {
        // What the program for spreadsheets of any maker begins a formula with, also in the full width of Asian text.
        const FORMULA_STARTS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];
        let is_formula = |start: &char| out[at..].starts_with(start.encode_utf8(&mut [0; 4]).as_bytes());
        if self.dialect.has_no_formulas && FORMULA_STARTS.iter().any(is_formula) {
            out.insert(at, b'\'');
        }
        let needs_quotes =
            |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || *byte == self.dialect.delimiter;
        // A byte order mark at the beginning of a file would not be read as text.
        if !out[at..].iter().any(needs_quotes) && !out[at..].starts_with("\u{feff}".as_bytes()) {
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
