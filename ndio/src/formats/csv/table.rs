//! The rows of a CSV file, parsed in pieces of complete lines and in parallel, into the rows of an NPY file. Memory depends on the longest
//! line, or cell in quotes, but not on the size of the file.

use std::fs::File;
use std::io::{Read, Seek};

use csv::{ReaderBuilder, StringRecord};
use ndarray::{ArrayView, IxDyn};
use ndarray_io::blocks::map_in_order;
use ndarray_io::{ByteOrder, DType, NpyWriter, ReadOptions, WritableElement, WriteOptions};

use super::read::NOT_A_NUMBER_REASON;
use super::{CsvDialect, with_point};
use crate::failure::Failure;
use crate::growth;
use crate::list::plural;
use crate::progress::Progress;

/// What takes the values of a piece, and the number of columns.
type PutRows<'a, T> = dyn FnMut(Vec<T>, usize) -> Result<(), Failure> + 'a;

/// What appends the value of a cell of a column, or says why there is none.
type ParseCell<'a, T> = dyn Fn(usize, &str, &mut Vec<T>) -> Result<(), String> + 'a;

/// What lines begin with that are not part of a table of numbers, as for NumPy.
pub(super) const COMMENT: u8 = b'#';

/// A CSV file that is being read.
pub(super) struct TableReader {
    input: PieceReader,
    dialect: CsvDialect,
    position: TablePosition,
}

/// The text of a CSV file, in pieces.
struct PieceReader {
    file: File,
    total_bytes: u64,
    /// Bytes that have been read but not parsed.
    rest: Vec<u8>,
    is_end: bool,
    progress: Progress,
}

/// The number of lines so far, and the number of columns in each.
#[derive(Default)]
struct TablePosition {
    lines: u64,
    columns: Option<usize>,
}

/// The values of a piece.
struct ParsedPiece<T> {
    values: Vec<T>,
    lines: u64,
    columns: Option<usize>,
    /// The first line with values.
    first_line: u64,
    /// The error at which parsing stopped.
    line_error: Option<LineError>,
}

impl<T> ParsedPiece<T> {
    fn new(lines: u64, columns: Option<usize>) -> Self {
        Self { values: Vec::new(), lines, columns, first_line: 1, line_error: None }
    }
}

/// An error, with its line number counted from the start of the piece.
struct LineError {
    line: u64,
    text: String,
    /// Whether the line may be the names of the columns: none of its cells is a number.
    may_be_header: bool,
}

impl LineError {
    fn new(line: u64, text: String) -> Self {
        Self { line, text, may_be_header: false }
    }
}

impl PieceReader {
    /// Returns the next piece, which ends at the end of a line.
    ///
    /// Returns `None` at the end of the file, or if the data has quotes, since quoted cells may contain line
    /// breaks.
    fn next_piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        const PIECE_BYTES: u64 = 1 << 20;
        loop {
            // Data from the previous round has neither a quote nor a line break: search only the new bytes.
            let before = self.rest.len();
            let read = (&self.file).take(PIECE_BYTES).read_to_end(&mut self.rest)?;
            self.is_end |= read == 0;
            self.progress.add(read as u64, self.total_bytes);
            if self.rest[before..].contains(&b'"') {
                return Ok(None);
            }
            let end = match self.rest[before..].iter().rposition(|byte| *byte == b'\n') {
                Some(last) if !self.is_end => before + last + 1,
                None if !self.is_end => continue, // one long line
                _ => self.rest.len(),
            };
            let after = self.rest.split_off(end);
            let piece = std::mem::replace(&mut self.rest, after);
            return Ok(Some(piece).filter(|piece| !piece.is_empty()));
        }
    }
}

impl TablePosition {
    /// Checks and writes the values of a piece.
    fn check_and_put<T>(&mut self, parsed: ParsedPiece<T>, put: &mut PutRows<'_, T>) -> Result<(), Failure> {
        let line_error = match (self.columns, parsed.columns) {
            (Some(old), Some(new)) if old != new => {
                Some(LineError::new(parsed.first_line, width_error_text(new, old)))
            }
            _ => parsed.line_error,
        };
        if let Some(LineError { line, text, may_be_header }) = line_error {
            return Err(match self.lines + line {
                1 if may_be_header => {
                    format!("line 1{text}; if it has the names of the columns, --header skips it")
                }
                line => format!("line {line}{text}"),
            }
            .into());
        }
        self.columns = self.columns.or(parsed.columns);
        self.lines += parsed.lines;
        match self.columns {
            Some(columns) => put(parsed.values, columns),
            None => Ok(()),
        }
    }
}

impl TableReader {
    pub(super) fn new(file: File, dialect: CsvDialect) -> Result<Self, Failure> {
        let (rest, progress) = (Vec::new(), Progress::new());
        let total_bytes = file.metadata()?.len();
        let input = PieceReader { file, total_bytes, rest, is_end: false, progress };
        Ok(Self { input, dialect, position: TablePosition::default() })
    }

    /// Writes the rows to a new file as they are parsed.
    pub(super) fn write_numbers<T: WritableElement + Clone + Send>(
        &mut self,
        out: &File,
        parse: impl Fn(&str) -> Result<T, String> + Sync,
    ) -> Result<(), Failure> {
        let mut rows = RowWriter { out, writer: None, options: WriteOptions::new() };
        let dialect = self.dialect;
        let push = |_, cell: &str, values: &mut Vec<T>| {
            values.push(parse(&with_point(cell.trim(), dialect.decimal))?);
            Ok(())
        };
        self.for_each_piece(push, &mut |values, columns| rows.put(values, columns))?;
        rows.finish()
    }

    /// Passes what is parsed of the cells of each piece, and the number of columns, to `put`: in order, while other threads parse the next ones.
    pub(super) fn for_each_piece<T: Send>(
        &mut self,
        parse: impl Fn(usize, &str, &mut Vec<T>) -> Result<(), String> + Sync,
        put: &mut PutRows<'_, T>,
    ) -> Result<(), Failure> {
        let mut has_header = self.dialect.has_header;
        let Self { input, position, .. } = self;
        let pieces = std::iter::from_fn(|| {
            let dialect = CsvDialect { has_header: std::mem::take(&mut has_header), ..self.dialect };
            input.next_piece().map(|piece| piece.map(|piece| (piece, dialect))).transpose()
        });
        map_in_order(
            pieces,
            ReadOptions::new().get_threads(),
            |piece| piece.map(|(piece, dialect)| parse_piece(&piece, dialect, &parse)),
            |parsed| position.check_and_put(parsed?, put),
        )?;
        self.put_rest(true, &parse, put)
    }

    /// Parses the rest, which may have quotes, in one thread.
    fn put_rest<T>(
        &mut self,
        are_numbers: bool,
        parse: &ParseCell<'_, T>,
        put: &mut PutRows<'_, T>,
    ) -> Result<(), Failure> {
        const MAX_BATCH_ROWS: usize = 1000;
        /// Rows may be of any length.
        const MAX_BATCH_CELLS: usize = 1 << 17;
        if self.dialect.delimiter == b' ' && (!are_numbers || self.input.rest.contains(&b'"')) {
            return Err("a space as delimiter is supported only for numbers without quotes".into());
        }
        let rest = std::mem::take(&mut self.input.rest);
        let has_header = self.dialect.has_header && self.position.lines == 0;
        let input = self.input.file.try_clone()?;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.dialect.delimiter)
            .comment(are_numbers.then_some(COMMENT))
            .from_reader(std::io::Cursor::new(rest).chain(input));
        let before = self.position.lines;
        let mut record = StringRecord::new();
        let mut is_header = has_header;
        loop {
            let mut parsed = ParsedPiece::new(0, self.position.columns);
            for _ in 0..MAX_BATCH_ROWS {
                if parsed.values.len() >= MAX_BATCH_CELLS {
                    break;
                }
                if !reader.read_record(&mut record).map_err(|error| parser_error_text(&error, before))? {
                    break;
                }
                parsed.lines = record.position().map_or(0, csv::Position::line);
                if std::mem::take(&mut is_header) {
                    continue;
                }
                // As above, spaces alone are an empty line, but not a cell in quotes.
                let is_blank = |cell: &str| !cell.is_empty() && cell.trim_matches(' ').is_empty();
                if are_numbers && record.len() == 1 && record.get(0).is_some_and(is_blank) {
                    continue;
                }
                let line = parsed.lines;
                if let Err(found) = parse_cells(line, record.iter(), &mut parsed, parse) {
                    parsed.line_error = Some(found);
                    break;
                }
            }
            let is_end = parsed.lines == 0;
            self.position.lines = before; // the parser counts lines from here
            self.position.check_and_put(ParsedPiece { lines: 0, ..parsed }, put)?;
            if is_end {
                return Ok(());
            }
        }
    }

    /// Converts text. Without a width in the dtype, a first pass finds the longest cell.
    pub(super) fn write_texts(&mut self, dtype: &DType, out: &File) -> Result<(), Failure> {
        let order = dtype.as_scalar().and_then(|scalar| scalar.byte_order()).unwrap_or(ByteOrder::NATIVE);
        let options = WriteOptions::new().byte_order(order);
        let width = match dtype.item_size() / 4 {
            0 => self.longest_cell_len()?,
            width => width,
        };
        let parse = |_, cell: &str, values: &mut Vec<String>| match cell.chars().count() {
            length if length > width => {
                Err(format!("it has {length} characters, but the maximum of {dtype} is {width}"))
            }
            _ => {
                values.push(cell.to_owned());
                Ok(())
            }
        };
        let mut rows = RowWriter { out, writer: None, options: options.text_width(width) };
        // Spaces are part of the text.
        self.put_rest(false, &parse, &mut |values, columns| rows.put(values, columns))?;
        rows.finish()
    }

    /// Returns the number of characters in the longest cell.
    fn longest_cell_len(&mut self) -> Result<usize, Failure> {
        let mut reader = ReaderBuilder::new()
            .has_headers(self.dialect.has_header)
            .flexible(true)
            .delimiter(self.dialect.delimiter)
            .from_reader(&self.input.file);
        let mut record = StringRecord::new();
        let (mut width, mut cells) = (1, 0_u64);
        while reader.read_record(&mut record).map_err(|error| parser_error_text(&error, 0))? {
            width = record.iter().map(|cell| cell.chars().count()).fold(width, usize::max);
            cells += record.len() as u64;
        }
        growth::add_output(cells.saturating_mul(4 * width as u64))?;
        self.input.file.rewind()?;
        Ok(width)
    }
}

/// Parses a piece without quotes.
fn parse_piece<T>(
    piece: &[u8],
    dialect: CsvDialect,
    parse: impl Fn(usize, &str, &mut Vec<T>) -> Result<(), String>,
) -> ParsedPiece<T> {
    let lines_of = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut parsed = ParsedPiece::new(lines_of(piece), None);
    let text = match std::str::from_utf8(piece) {
        // Some editors write a byte order mark.
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = lines_of(&piece[..error.valid_up_to()]) + 1;
            parsed.line_error = Some(LineError::new(line, ": it is not UTF-8".into()));
            return parsed;
        }
    };
    let mut has_header = dialect.has_header;
    for (number, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_comment = line.as_bytes().first() == Some(&COMMENT);
        if is_comment || line.trim_matches(' ').is_empty() || std::mem::take(&mut has_header) {
            continue;
        }
        let line_error = parse_cells(number as u64 + 1, cells(line, dialect.delimiter), &mut parsed, &parse);
        if let Err(line_error) = line_error {
            parsed.line_error = Some(line_error);
            break;
        }
    }
    parsed
}

/// Formats an error of the CSV parser, which started after `before` lines.
fn parser_error_text(error: &csv::Error, before: u64) -> String {
    let line = error.position().map_or(0, csv::Position::line) + before;
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => format!("line {line}: it is not UTF-8"),
        _ => format!("line {line}: {error}"),
    }
}

/// Splits a line without quotes into cells. If the delimiter is a space, consecutive ones count as one.
fn cells(line: &str, delimiter: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    let by_blanks = delimiter == b' ';
    std::iter::from_fn(move || {
        if by_blanks {
            rest = rest.map(|rest| rest.trim_start_matches(' ')).filter(|rest| !rest.is_empty());
        }
        let line = rest?;
        match line.bytes().position(|byte| byte == delimiter) {
            Some(end) => {
                rest = Some(&line[end + 1..]);
                Some(&line[..end])
            }
            None => rest.take(),
        }
    })
}

/// Parses the cells of a line, and checks that their number is right.
fn parse_cells<'a, T>(
    line: u64,
    mut cells: impl Iterator<Item = &'a str>,
    parsed: &mut ParsedPiece<T>,
    parse: impl Fn(usize, &str, &mut Vec<T>) -> Result<(), String>,
) -> Result<(), LineError> {
    let (mut count, mut has_numbers) = (0, false);
    while let Some(cell) = cells.next() {
        match parse(count, cell, &mut parsed.values) {
            Ok(()) => count += 1,
            Err(reason) => {
                let advice = match cell.trim() {
                    _ if reason != NOT_A_NUMBER_REASON => String::new(),
                    "true" | "True" | "false" | "False" => "; --dtype bool reads it".into(),
                    cell => delimiter_advice(cell),
                };
                let is_word = cell.trim().starts_with(char::is_alphabetic) && cell.trim() != "nan";
                let advice = match reason == NOT_A_NUMBER_REASON && advice.is_empty() && line > 1 && is_word {
                    true => "; --dtype str reads all cells as text".into(),
                    false => advice,
                };
                let is_number =
                    |cell: &str| !cell.trim().is_empty() && parse(count, cell, &mut Vec::new()).is_ok();
                let may_be_header = reason == NOT_A_NUMBER_REASON
                    && advice.is_empty()
                    && !has_numbers
                    && !cells.any(is_number);
                let text = format!(", column {}: '{}': {reason}{advice}", count + 1, truncated_cell(cell));
                return Err(LineError { line, text, may_be_header });
            }
        }
        has_numbers |= !cell.trim().is_empty();
    }
    let columns = *parsed.columns.get_or_insert_with(|| {
        parsed.first_line = line;
        count
    });
    match count == columns {
        true => Ok(()),
        false => Err(LineError::new(line, width_error_text(count, columns))),
    }
}

/// Names the delimiter of a cell that is several numbers.
fn delimiter_advice(cell: &str) -> String {
    let divides = |delimiter: &&char| {
        let parts: Vec<&str> =
            cell.split(**delimiter).map(str::trim).filter(|part| !part.is_empty()).collect();
        parts.len() > 1 && parts.iter().all(|part| part.replace(',', ".").parse::<f64>().is_ok())
    };
    match [';', '\t', '|', ' '].iter().find(divides) {
        Some('\t') => "; --delimiter tab may be what is meant".into(),
        Some(delimiter) => format!("; --delimiter '{delimiter}' may be what is meant"),
        None => String::new(),
    }
}

/// Returns a cell as messages have it: a quote that is not closed makes a cell of the rest of the file.
fn truncated_cell(cell: &str) -> String {
    const MAX_CHARS: usize = 60;
    match cell.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

fn width_error_text(found: usize, before: usize) -> String {
    format!(": expected {}, found {}", plural(before, "column"), plural(found, "column"))
}

/// The rows of the new file.
struct RowWriter<'a, T: WritableElement> {
    out: &'a File,
    writer: Option<NpyWriter<T, &'a File>>,
    options: WriteOptions,
}

impl<T: WritableElement + Clone> RowWriter<'_, T> {
    fn put(&mut self, values: Vec<T>, columns: usize) -> Result<(), Failure> {
        // A single column becomes an array of one axis.
        let within: &[usize] = if columns == 1 { &[] } else { &[columns] };
        if self.writer.is_none() {
            self.writer = Some(self.options.writer(self.out, within)?);
        }
        if let Some(writer) = &mut self.writer {
            let mut shape = vec![values.len() / columns.max(1)];
            shape.extend(within);
            writer.push(&ArrayView::from_shape(IxDyn(&shape), &values)?)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        match self.writer {
            Some(writer) => Ok(writer.finish().map(drop)?),
            None => Err("the table has no rows".into()),
        }
    }
}
