//! CSV.

mod read;
mod table;
mod write;

use std::io::{self, Seek, Write};
use std::rc::Rc;

use ndarray_io::ReadOptions;

use super::npy::parse_dtype;
use super::{CreateContext, FileFormat, PendingArray, PendingArrays, open_only_array, single_array};
use crate::convert::Arguments;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Content;
use crate::source::Source;

/// A CSV dialect.
#[derive(Clone, Copy)]
pub(crate) struct CsvDialect {
    pub(crate) has_header: bool,
    pub(crate) delimiter: u8,
    /// Whether texts that would be formulas are written so that they are not.
    pub(crate) has_no_formulas: bool,
}

pub(super) struct Csv;

impl FileFormat for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn sniff(&self, _: &[u8]) -> bool {
        false
    }

    /// The table becomes an NPY file without a name: how many rows there are is known only at its end.
    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let dtype = arguments.dtype.as_deref().map(parse_dtype).transpose()?;
        let mut made = arguments.temporary_file_near_output()?;
        read::read(input.file()?, arguments.csv_dialect(), dtype, &made)
            .map_err(|failure| input.at(failure))?;
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
            write::write(&source, arguments.csv_dialect(), &mut out)?;
            Ok(out.flush()?)
        })
    }
}
