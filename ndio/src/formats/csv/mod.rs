//! CSV.

mod infer;
mod read;
mod table;
mod write;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::rc::Rc;

use ndarray_io::ReadOptions;

use super::npy::parse_dtype;
use super::{
    CreateContext, FileFormat, PendingArray, PendingArrays, open_only_array, single_array, unpacked_name,
};
use crate::convert::Arguments;
use crate::failure::{Failure, report};
use crate::input::Input;
use crate::output::Content;
use crate::source::Source;

pub(crate) use infer::InferOptions;

/// A CSV dialect.
#[derive(Clone, Copy)]
pub(crate) struct CsvDialect {
    pub(crate) has_header: bool,
    pub(crate) delimiter: u8,
    /// Whether texts that would be formulas are written so that they are not.
    pub(crate) has_no_formulas: bool,
    /// What precedes the fraction of a number.
    pub(crate) decimal: u8,
}

/// Returns a cell with a point before the fraction of its number.
pub(super) fn with_point(cell: &str, decimal: u8) -> Cow<'_, str> {
    match decimal {
        b'.' => Cow::Borrowed(cell),
        comma => Cow::Owned(cell.replace(char::from(comma), ".")),
    }
}

/// Whether the name of a table says that its cells are separated by tabs.
pub(crate) fn has_tabs(name: &Path) -> bool {
    unpacked_name(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"))
}

/// Converts a table to an NPY file with the types that its columns have.
pub(super) fn infer(input: &Input, out: &File) -> Result<(), Failure> {
    let found = infer::infer(&input.file()?, input.name(), InferOptions::default(), out);
    found.map_err(|failure| input.at(failure)).map(drop)
}

pub(super) struct Csv;

impl FileFormat for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv", "tsv"]
    }

    fn sniff(&self, _: &[u8]) -> bool {
        false
    }

    /// The table becomes an NPY file without a name: how many rows there are is known only at its end.
    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let dtype = arguments.dtype.as_deref().map(parse_dtype).transpose()?;
        let mut made = arguments.temporary_file_near_output()?;
        // A table with names has columns of different types, unless it is said to be one of numbers.
        let is_inferred = arguments.infer
            || dtype.is_none()
                && !arguments.header
                && infer::has_names(&input.file()?, input.name(), arguments.infer_options())
                    .map_err(|failure| input.at(failure))?;
        match is_inferred {
            true => {
                let found = infer::infer(&input.file()?, input.name(), arguments.infer_options(), &made);
                report(&input.at(found.map_err(|failure| input.at(failure))?));
            }
            false => read::read(input.file()?, arguments.csv_dialect(input.name()), dtype, &made)
                .map_err(|failure| input.at(failure))?,
        }
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
            let mut out = io::BufWriter::new(sink);
            write::write(&source, arguments.csv_dialect(arguments.output()), &mut out)?;
            Ok(out.flush()?)
        })
    }
}
