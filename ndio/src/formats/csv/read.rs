//! Converts CSV to NPY, in pieces of complete lines that are parsed in parallel. Memory does not depend on
//! the file's size.

use std::fs::File;
use std::io::{Read, Seek};

use csv::{ReaderBuilder, StringRecord, Trim};
use ndarray::{ArrayView, IxDyn};
use ndarray_io::blocks::map_in_order;
use ndarray_io::dtype::{ByteOrder, Kind};
use ndarray_io::{DType, NpyWriter, ReadOptions, WritableElement, WriteOptions};
use num_complex::Complex;

use super::Form;
use crate::failure::Failure;
use crate::progress::Progress;

/// The message for a cell that should be a number.
const NO_NUMBER: &str = "it is not a number";

/// Explains why a cell is not an integer.
fn whole(text: &str, error: &std::num::ParseIntError) -> String {
    match text.parse::<f64>() {
        Ok(_) => error.to_string(),
        Err(_) => NO_NUMBER.into(),
    }
}

/// Returns the least number that becomes infinite in a float of this size: halfway between its largest number and the next.
fn beyond(size: usize) -> f64 {
    match size {
        2 => 65520.0,
        4 => 2f64.powi(128) - 2f64.powi(103),
        _ => f64::INFINITY,
    }
}

/// Parses a cell; an empty one is NaN. A number that would become infinite in a float of `size` bytes is an error.
fn float(text: &str, size: usize) -> Result<f64, String> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    number(text, size)
}

fn number(text: &str, size: usize) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|_| NO_NUMBER)?;
    let is_meant = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']); // a literal infinity
    if number.abs() >= beyond(size) && !is_meant {
        return Err(format!("the number is too large for a float of {} bits", 8 * size));
    }
    Ok(number)
}

/// Like `float`, but for the default dtype: an integer that `f64` cannot represent exactly is an error.
fn float_or_integer(text: &str) -> Result<f64, String> {
    let number = float(text, 8)?;
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
fn complex(text: &str, size: usize) -> Result<Complex<f64>, String> {
    if text.is_empty() {
        return Ok(f64::NAN.into());
    }
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let Some(inner) = inner.strip_suffix(['j', 'i']) else { return Ok(number(inner, size)?.into()) };
    // Split at the last sign that is neither at the beginning nor part of an exponent.
    let bytes = inner.as_bytes();
    let sign = (1..bytes.len())
        .rev()
        .find(|at| matches!(bytes[*at], b'+' | b'-') && !matches!(bytes[*at - 1], b'e' | b'E'));
    let (real, imaginary) = inner.split_at(sign.unwrap_or(0));
    let real = if real.is_empty() { 0.0 } else { number(real.trim(), size)? };
    let imaginary = match imaginary.trim() {
        "" | "+" => 1.0,
        "-" => -1.0,
        imaginary => number(imaginary, size)?,
    };
    Ok(Complex::new(real, imaginary))
}

/// Converts CSV to an NPY file: of text for a dtype of text, else of the widest dtype of the same kind, or of `f64` if there is none.
pub(super) fn read(input: File, form: Form, dtype: Option<DType>, out: &File) -> Result<(), Failure> {
    let mut table = Table { form, ..Table::new(input)? };
    let Some(dtype) = dtype else {
        return table.numbers(out, float_or_integer);
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
        return table.texts(&dtype, out);
    }
    // Parsed as the widest type of the kind; the caller converts it. The closures report numbers that do not fit the final type.
    let bits = 8 * dtype.item_size() as u32;
    match kind {
        Some(Kind::Float) => {
            let size = dtype.item_size();
            table.numbers(out, |text| float(text, size))?
        }
        Some(Kind::Complex) => {
            let size = dtype.item_size() / 2;
            table.numbers(out, |text| complex(text, size))?
        }
        Some(Kind::Int) => table.numbers(out, |text| {
            let number = text.parse::<i64>().map_err(|error| whole(text, &error))?;
            let fits = bits >= 64 || (-(1i64 << (bits - 1))..1 << (bits - 1)).contains(&number);
            if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
        })?,
        Some(Kind::Uint) => table.numbers(out, |text| {
            let number = text.parse::<u64>().map_err(|error| whole(text, &error))?;
            let fits = bits >= 64 || number >> bits == 0;
            if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
        })?,
        Some(Kind::Narrow(narrow)) => match narrow.limits() {
            Some((least, most)) => table.numbers(out, |text| {
                let number = text.parse::<i64>().map_err(|error| whole(text, &error))?;
                let fits = (least.into()..=most.into()).contains(&number);
                if fits { Ok(number) } else { Err(format!("the number does not fit {dtype}")) }
            })?,
            None => table.numbers(out, |text| float(text, 8))?,
        },
        Some(Kind::Bool) => table.numbers(out, |text| match text {
            "true" | "True" | "1" => Ok(true),
            "false" | "False" | "0" => Ok(false),
            _ => Err("it is neither true nor false".into()),
        })?,
        _ => return Err("CSV is read as numbers, bools or text".into()),
    }
    Ok(())
}

/// A CSV file that is being read.
struct Table {
    input: Input,
    form: Form,
    counts: Counts,
}

/// The text of a CSV file, in pieces.
struct Input {
    file: File,
    all: u64,
    /// Bytes that have been read but not parsed.
    rest: Vec<u8>,
    is_end: bool,
    progress: Progress,
}

/// The number of lines so far, and the number of columns in each.
#[derive(Default)]
struct Counts {
    lines: u64,
    columns: Option<usize>,
}

/// The values of a piece.
struct Parsed<T> {
    values: Vec<T>,
    lines: u64,
    columns: Option<usize>,
    /// The first line with values.
    first: u64,
    /// The error at which parsing stopped.
    wrong: Option<Wrong>,
}

impl<T> Parsed<T> {
    fn new(lines: u64, columns: Option<usize>) -> Self {
        Self { values: Vec::new(), lines, columns, first: 1, wrong: None }
    }
}

/// An error, with its line number counted from the start of the piece.
struct Wrong {
    line: u64,
    text: String,
}

impl Input {
    /// Returns the next piece, which ends at the end of a line.
    ///
    /// Returns `None` at the end of the file, or if the data has quotes, since quoted cells may contain line
    /// breaks.
    fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        const PIECE: u64 = 1 << 20;
        loop {
            // Data from the previous round has neither a quote nor a line break: search only the new bytes.
            let before = self.rest.len();
            let read = (&self.file).take(PIECE).read_to_end(&mut self.rest)?;
            self.is_end |= read == 0;
            self.progress.add(read as u64, self.all);
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

impl Counts {
    /// Checks and writes the values of a piece.
    fn put<T: WritableElement + Clone>(
        &mut self,
        parsed: Parsed<T>,
        rows: &mut Rows<'_, T>,
    ) -> Result<(), Failure> {
        let wrong = match (self.columns, parsed.columns) {
            (Some(old), Some(new)) if old != new => {
                Some(Wrong { line: parsed.first, text: other_width(new, old) })
            }
            _ => parsed.wrong,
        };
        if let Some(Wrong { line, text }) = wrong {
            return Err(match self.lines + line {
                1 if text.ends_with(NO_NUMBER) => {
                    format!("line 1{text}; if it has the names of the columns, --header skips it")
                }
                line => format!("line {line}{text}"),
            }
            .into());
        }
        self.columns = self.columns.or(parsed.columns);
        self.lines += parsed.lines;
        match self.columns {
            Some(columns) => rows.put(parsed.values, columns),
            None => Ok(()),
        }
    }
}

impl Table {
    fn new(file: File) -> Result<Self, Failure> {
        let form = Form { has_header: false, delimiter: b',' };
        let (rest, progress) = (Vec::new(), Progress::new());
        let all = file.metadata()?.len();
        let input = Input { file, all, rest, is_end: false, progress };
        Ok(Self { input, form, counts: Counts::default() })
    }

    /// Writes the rows to a new file as they are parsed.
    fn numbers<T: WritableElement + Clone + Send>(
        &mut self,
        out: &File,
        parse: impl Fn(&str) -> Result<T, String> + Sync,
    ) -> Result<(), Failure> {
        let mut rows = Rows { out, writer: None, options: WriteOptions::new() };
        let mut has_header = self.form.has_header;
        let delimiter = self.form.delimiter;
        let Self { input, counts, .. } = self;
        let pieces = std::iter::from_fn(|| {
            let form = Form { has_header: std::mem::take(&mut has_header), delimiter };
            input.piece().map(|piece| piece.map(|piece| (piece, form))).transpose()
        });
        map_in_order(
            pieces,
            ReadOptions::new().get_threads(),
            |piece| piece.map(|(piece, form)| values(&piece, form, |text| parse(text.trim_ascii()))),
            |parsed| counts.put(parsed?, &mut rows),
        )?;
        self.put_rest(Trim::All, &parse, &mut rows)?;
        rows.finish()
    }

    /// Parses the rest, which may have quotes, in one thread.
    fn put_rest<T: WritableElement + Clone>(
        &mut self,
        trim: Trim,
        parse: &dyn Fn(&str) -> Result<T, String>,
        rows: &mut Rows<'_, T>,
    ) -> Result<(), Failure> {
        const ROWS: usize = 1000;
        if self.form.delimiter == b' ' && (trim == Trim::None || self.input.rest.contains(&b'"')) {
            return Err("a space as delimiter is supported only for numbers without quotes".into());
        }
        let rest = std::mem::take(&mut self.input.rest);
        let has_header = self.form.has_header && self.counts.lines == 0;
        let input = self.input.file.try_clone()?;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.form.delimiter)
            .trim(trim)
            .from_reader(std::io::Cursor::new(rest).chain(input));
        let before = self.counts.lines;
        let mut record = StringRecord::new();
        let mut is_header = has_header;
        loop {
            let mut parsed = Parsed::new(0, self.counts.columns);
            for _ in 0..ROWS {
                if !reader.read_record(&mut record).map_err(|error| wrong_text(&error, before))? {
                    break;
                }
                parsed.lines = record.position().map_or(0, csv::Position::line);
                if std::mem::take(&mut is_header) {
                    continue;
                }
                let line = parsed.lines;
                if let Err(found) = put_cells(line, record.iter(), &mut parsed, parse) {
                    parsed.wrong = Some(found);
                    break;
                }
            }
            let is_end = parsed.lines == 0;
            self.counts.lines = before; // the parser counts lines from here
            self.counts.put(Parsed { lines: 0, ..parsed }, rows)?;
            if is_end {
                return Ok(());
            }
        }
    }

    /// Converts text. Without a width in the dtype, a first pass finds the longest cell.
    fn texts(&mut self, dtype: &DType, out: &File) -> Result<(), Failure> {
        let order = dtype.as_scalar().and_then(|scalar| scalar.byte_order()).unwrap_or(ByteOrder::NATIVE);
        let options = WriteOptions::new().byte_order(order);
        let width = match dtype.item_size() / 4 {
            0 => self.widest()?,
            width => width,
        };
        let parse = |cell: &str| match cell.chars().count() {
            length if length > width => {
                Err(format!("it has {length} characters, but the maximum of {dtype} is {width}"))
            }
            _ => Ok(cell.to_owned()),
        };
        let mut rows = Rows { out, writer: None, options: options.text_width(width) };
        // Spaces are part of the text.
        self.put_rest(Trim::None, &parse, &mut rows)?;
        rows.finish()
    }

    /// Returns the number of characters in the longest cell.
    fn widest(&mut self) -> Result<usize, Failure> {
        let mut reader = ReaderBuilder::new()
            .has_headers(self.form.has_header)
            .flexible(true)
            .delimiter(self.form.delimiter)
            .from_reader(&self.input.file);
        let mut record = StringRecord::new();
        let mut width = 1;
        while reader.read_record(&mut record)? {
            width = record.iter().map(|cell| cell.chars().count()).fold(width, usize::max);
        }
        self.input.file.rewind()?;
        Ok(width)
    }
}

/// Parses a piece without quotes.
fn values<T>(piece: &[u8], form: Form, parse: impl Fn(&str) -> Result<T, String>) -> Parsed<T> {
    let lines_of = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut parsed = Parsed::new(lines_of(piece), None);
    let text = match std::str::from_utf8(piece) {
        // Some editors write a byte order mark.
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let line = lines_of(&piece[..error.valid_up_to()]) + 1;
            parsed.wrong = Some(Wrong { line, text: ": it is not UTF-8".into() });
            return parsed;
        }
    };
    let mut has_header = form.has_header;
    for (number, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.trim_matches(' ').is_empty() || std::mem::take(&mut has_header) {
            continue;
        }
        let wrong = put_cells(number as u64 + 1, cells(line, form.delimiter), &mut parsed, &parse);
        if let Err(wrong) = wrong {
            parsed.wrong = Some(wrong);
            break;
        }
    }
    parsed
}

/// Formats an error of the CSV parser, which started after `before` lines.
fn wrong_text(error: &csv::Error, before: u64) -> String {
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
fn put_cells<'a, T>(
    line: u64,
    cells: impl Iterator<Item = &'a str>,
    parsed: &mut Parsed<T>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), Wrong> {
    let mut count = 0;
    for cell in cells {
        count += 1;
        let value = parse(cell)
            .map_err(|reason| Wrong { line, text: format!(", column {count}: '{cell}': {reason}") })?;
        parsed.values.push(value);
    }
    let columns = *parsed.columns.get_or_insert_with(|| {
        parsed.first = line;
        count
    });
    match count == columns {
        true => Ok(()),
        false => Err(Wrong { line, text: other_width(count, columns) }),
    }
}

fn other_width(found: usize, before: usize) -> String {
    let columns = |count: usize| if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
    format!(": expected {}, found {}", columns(before), columns(found))
}

/// The rows of the new file.
struct Rows<'a, T: WritableElement> {
    out: &'a File,
    writer: Option<NpyWriter<T, &'a File>>,
    options: WriteOptions,
}

impl<T: WritableElement + Clone> Rows<'_, T> {
    fn put(&mut self, values: Vec<T>, columns: usize) -> Result<(), Failure> {
        // A single column becomes an array of one axis.
        let within: &[usize] = if columns == 1 { &[] } else { &[columns] };
        if self.writer.is_none() {
            self.writer = Some(NpyWriter::new_with(self.out, within, &self.options)?);
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
