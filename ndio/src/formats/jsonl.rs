//! JSON lines: a row in each line. Objects become records, and lists and single values become an array.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::rc::Rc;

use ndarray_io::ReadOptions;
use serde_json::Value;

use super::columns::{Column, Layout, cell_types, text_types, types};
use super::{CreateContext, FileFormat, PendingArray, PendingArrays, open_only_array, single_array};
use crate::cells::write_json_lines;
use crate::convert::Arguments;
use crate::failure::{Failure, report};
use crate::input::Input;
use crate::list::plural;
use crate::output::Content;
use crate::progress::Progress;
use crate::source::Source;

pub(super) struct JsonLines;

impl FileFormat for JsonLines {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["jsonl", "ndjson"]
    }

    fn sniff(&self, _: &[u8]) -> bool {
        false
    }

    /// The rows become an NPY file without a name, as their types are known only at the end.
    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let mut made = arguments.temporary_file_near_output()?;
        let found = read(&input.file()?, &made).map_err(|failure| input.at(failure))?;
        report(&input.at(found));
        made.rewind()?;
        let (name, selection) = (input.name().to_owned(), arguments.selection.clone());
        Ok(single_array(PendingArray::new(None, move || {
            let file = ReadOptions::new().open_file(made)?.with_path(&name);
            selection.part_of(Source::npy(file, &name))
        })))
    }

    fn create(&self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        let CreateContext { arguments, changes, output, stdout } = context;
        let source = changes.applied(open_only_array(arrays, arguments)?, arguments)?.ensure_iterable()?;
        output.write(stdout, Content::Text, move |sink| {
            let source = source;
            let mut out = BufWriter::new(sink);
            write_json_lines(&source, &mut out)?;
            Ok(out.flush()?)
        })
    }
}

/// What each line of a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Object,
    List,
    Single,
}

impl Row {
    fn of(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::Object,
            Value::Array(_) => Self::List,
            _ => Self::Single,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::List => "a list",
            Self::Single => "a single value",
        }
    }
}

/// The columns of the rows so far.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, usize>,
    row: Option<Row>,
}

impl Names {
    /// Returns the cells of a row, each with the number of its column.
    fn cells<'a>(&mut self, value: &'a Value) -> Result<Vec<(usize, &'a Value)>, String> {
        let row = Row::of(value);
        let (known, wanted) = (self.numbers.len(), *self.row.get_or_insert(row));
        if row != wanted {
            return Err(format!("expected {} as in the first line, found {}", wanted.text(), row.text()));
        }
        let is_first = known == 0;
        let mut cells = Vec::new();
        for_each_cell(value, &mut String::new(), &mut |name, value| {
            let number = match self.numbers.get(name) {
                Some(number) => *number,
                None => {
                    self.numbers.insert(name.to_owned(), self.numbers.len());
                    self.numbers.len() - 1
                }
            };
            cells.push((number, value));
        });
        // A row without names has the columns of the first one.
        if row != Row::Object && !is_first && (cells.len() != known || self.numbers.len() != known) {
            return Err(format!("expected {}, found {}", plural(known, "column"), cells.len()));
        }
        let mut numbers: Vec<usize> = cells.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        match numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err("two of its values have the same name".into()),
            false => Ok(cells),
        }
    }

    fn sorted(&self) -> Vec<&str> {
        let mut names = vec![""; self.numbers.len()];
        self.numbers.iter().for_each(|(name, number)| names[*number] = name);
        names
    }
}

/// Calls a function with each value that is neither an object nor a list, and the keys and indices that lead to it, with dots between them.
fn for_each_cell<'a>(value: &'a Value, name: &mut String, call: &mut dyn FnMut(&str, &'a Value)) {
    let mut within = |key: &str, value| {
        let length = name.len();
        if length > 0 {
            name.push('.');
        }
        name.push_str(key);
        for_each_cell(value, name, call);
        name.truncate(length);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| within(key, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| within(&index.to_string(), value));
        }
        _ => call(name, value),
    }
}

/// Returns the text of a cell as CSV would have it, and its types: a number in quotes remains a text, except what JSON lacks.
fn cell(value: &Value) -> (String, (u8, Option<ndarray_io::dtype::TimeUnit>)) {
    match value {
        Value::String(text)
            if matches!(&**text, "inf" | "-inf" | "NaN" | "nan" | "Infinity" | "-Infinity") =>
        {
            (text.clone(), (types::FLOAT, None))
        }
        Value::String(text) => (text.clone(), text_types(text)),
        Value::Null => (String::new(), (types::MISSING, None)),
        other => {
            let text = other.to_string();
            let types = cell_types(&text, b'.');
            (text, types)
        }
    }
}

/// Calls a function with each line that is not empty.
fn for_each_line(input: &File, call: &mut dyn FnMut(&Value) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut file = input.try_clone()?;
    file.rewind()?;
    let (total, mut progress) = (file.metadata()?.len(), Progress::new());
    let (mut lines, mut line) = (BufReader::with_capacity(1 << 20, file), Vec::new());
    for number in 1_u64.. {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        progress.add(line.len() as u64, total);
        let text = line.trim_ascii();
        let text = if number == 1 { text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text) } else { text };
        if text.is_empty() {
            continue;
        }
        let value =
            serde_json::from_slice(text).map_err(|error| format!("line {number}: {}", json_error(&error)))?;
        call(&value).map_err(|failure| format!("line {number}: {failure}"))?;
    }
    Ok(())
}

/// Returns the message of an error within one line, which is always "line 1".
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.split(" at line 1").next().unwrap_or(&text);
    format!("not JSON: {message}, at column {}", error.column())
}

/// Converts JSON lines to an NPY file. Returns the columns, and how many values each lacks.
fn read(input: &File, out: &File) -> Result<String, Failure> {
    let (mut names, mut columns, mut rows) = (Names::default(), Vec::<Column>::new(), 0_u64);
    for_each_line(input, &mut |value| {
        for (number, value) in names.cells(value)? {
            if columns.len() <= number {
                columns.resize(number + 1, Column::default());
            }
            let (text, types) = cell(value);
            columns[number].add(&text, types);
        }
        rows += 1;
        Ok(())
    })?;
    columns.iter_mut().for_each(|column| column.lack_until(rows));
    let sorted = names.sorted();
    let layout = Layout::of(&columns, (names.row == Some(Row::Object)).then_some(&sorted[..]), b'.')?;
    let mut out = BufWriter::new(out);
    layout.write_header(&mut out)?;
    let (mut bytes, mut texts) = (Vec::new(), Vec::new());
    let mut again = Names { row: names.row, numbers: names.numbers.clone() };
    for_each_line(input, &mut |value| {
        texts.clear();
        texts.resize(columns.len(), String::new());
        for (number, value) in again.cells(value)? {
            *texts.get_mut(number).ok_or("the file has changed while it was read")? = cell(value).0;
        }
        bytes.clear();
        for (number, text) in texts.iter().enumerate() {
            layout.put(number, text, &mut bytes)?;
        }
        Ok(out.write_all(&bytes)?)
    })?;
    out.flush()?;
    Ok(layout.into_text())
}

/// Converts JSON lines to an NPY file, for what reads them as an array.
pub(super) fn infer(input: &Input, out: &File) -> Result<(), Failure> {
    read(&input.file()?, out).map_err(|failure| input.at(failure)).map(drop)
}
