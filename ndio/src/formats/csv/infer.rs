//! CSV whose columns have different types: its dialect, and its two passes.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use super::table::{COMMENT, TableReader};
use super::{CsvDialect, has_tabs};
use crate::failure::Failure;
use crate::formats::columns::{Column, Layout, cell_types, types};
use crate::list::plural;

/// The delimiter that a table has most probably: that of its name, or the one that its first line has most of.
fn delimiter_of(name: &Path, first_line: &[u8]) -> u8 {
    if has_tabs(name) {
        return b'\t';
    }
    let count = |delimiter: &u8| first_line.iter().filter(|byte| *byte == delimiter).count();
    // The last of equals is taken, which is the comma if there is none of them.
    [b'|', b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// How a table is read; what is not given is found.
#[derive(Clone, Copy, Default)]
pub(crate) struct InferOptions {
    pub(crate) has_header: bool,
    pub(crate) delimiter: Option<u8>,
    pub(crate) decimal: Option<u8>,
}

/// Returns a file at its beginning.
fn rewound(file: &File) -> Result<File, Failure> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(file)
}

/// Opens a file as a table, and returns its dialect and the cells of its first line.
fn dialect_of(
    input: &File,
    name: &Path,
    options: InferOptions,
) -> Result<(CsvDialect, StringRecord), Failure> {
    let (mut lines, mut first_line) = (BufReader::new(rewound(input)?), Vec::new());
    while lines.read_until(b'\n', &mut first_line)? > 0 && first_line.first() == Some(&COMMENT) {
        first_line.clear();
    }
    let delimiter = options.delimiter.unwrap_or_else(|| delimiter_of(name, &first_line));
    let decimal = options.decimal.unwrap_or(b'.');
    let mut dialect =
        CsvDialect { has_header: options.has_header, delimiter, has_no_formulas: false, decimal };
    let mut header = StringRecord::new();
    ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .comment(Some(COMMENT))
        .from_reader(BufReader::new(rewound(input)?))
        .read_record(&mut header)?;
    // A line of words, none of which is a number, names the columns.
    let is_word = |cell: &str| cell_types(cell, dialect.decimal).0 == types::TEXT;
    let are_names = header.iter().all(|cell| cell.trim().is_empty() || is_word(cell));
    dialect.has_header |= are_names && header.iter().any(is_word);
    Ok((dialect, header))
}

/// Whether the first line of a table has the names of its columns, and rows follow.
pub(super) fn has_names(input: &File, name: &Path, options: InferOptions) -> Result<bool, Failure> {
    let (dialect, header) = dialect_of(input, name, options)?;
    let mut lines = BufReader::new(rewound(input)?).lines().take(2);
    Ok(dialect.has_header && !header.is_empty() && lines.nth(1).is_some())
}

/// Converts a table to an NPY file, with the types that its columns have: records, or an array of two axes where there are no names and one
/// type has room for all. Returns the columns, and how many values each lacks.
pub(super) fn infer(input: &File, name: &Path, options: InferOptions, out: &File) -> Result<String, Failure> {
    let (dialect, header) = dialect_of(input, name, options)?;
    let mut columns: Vec<Column> = Vec::new();
    let add = |number: usize, cell: &str, columns: &mut Vec<Column>| {
        if columns.len() <= number {
            columns.resize(number + 1, Column::default());
        }
        columns[number].add(cell, cell_types(cell, dialect.decimal));
        Ok(())
    };
    TableReader::new(rewound(input)?, dialect)?.for_each_piece(add, &mut |found, count| {
        columns.resize(count, Column::default());
        columns.iter_mut().zip(&found).for_each(|(column, found)| column.merge(found));
        Ok(())
    })?;
    if columns.is_empty() {
        columns.resize(header.len(), Column::default());
    }
    if dialect.has_header && columns.len() != header.len() {
        let text = format!(
            "the first line has {}, and the others have {}",
            plural(header.len(), "name"),
            plural(columns.len(), "column")
        );
        return Err(text.into());
    }
    let names: Vec<&str> = header.iter().collect();
    let layout = Layout::of(&columns, dialect.has_header.then_some(&names[..]), dialect.decimal)?;
    let mut out = BufWriter::new(out);
    layout.write_header(&mut out)?;
    let put = |column: usize, cell: &str, row: &mut Vec<u8>| layout.put(column, cell, row);
    TableReader::new(rewound(input)?, dialect)?
        .for_each_piece(put, &mut |rows, _| Ok(out.write_all(&rows)?))?;
    out.flush()?;
    Ok(layout.into_text())
}
