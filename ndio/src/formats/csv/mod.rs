//! CSV.

mod read;
mod table;
mod write;

use std::io::{self, Seek, Write};
use std::rc::Rc;

use ndarray_io::NpyFile;

use super::npy::dtype;
use super::{AllPending, FileFormat, Making, Pending, just, the_only};
use crate::convert::Arguments;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Content;
use crate::source::Source;

/// A CSV dialect.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) has_header: bool,
    pub(crate) delimiter: u8,
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
    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<AllPending, Failure> {
        let dtype = arguments.dtype.as_deref().map(dtype).transpose()?;
        let mut made = arguments.temporary()?;
        read::read(input.file()?, arguments.form(), dtype, &made).map_err(|failure| input.at(failure))?;
        made.rewind()?;
        let (name, which) = (input.name().to_owned(), arguments.which.clone());
        Ok(just(Pending::new(None, move || {
            let file = NpyFile::new(made)?.with_path(&name);
            which.part_of(Source::npy(file, &name))
        })))
    }

    fn create(&self, arrays: AllPending, making: Making<'_, '_>) -> Result<(), Failure> {
        let Making { arguments, changes, output, out } = making;
        let source = changes.applied(the_only(arrays, arguments)?, arguments)?.readable()?;
        output.write(out, Content::Text, move |sink| {
            let source = source;
            let mut out = io::BufWriter::new(sink);
            write::write(&source, arguments.form().delimiter, &mut out)?;
            Ok(out.flush()?)
        })
    }
}
