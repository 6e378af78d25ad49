//! Folders of NPY files that form one array, as Dask writes them.

use ndarray_io::dask::convert_file_to_stack;

use super::{FileFormat, Format, Making, Pending, the_only};
use crate::convert::Arguments;
use crate::failure::Failure;
use crate::input::Input;
use crate::join::axis_of;
use crate::progress::Progress;
use crate::source::{Source, Whole};

pub(super) struct Stack;

impl FileFormat for Stack {
    fn name(&self) -> &'static str {
        "npy-stack"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    fn sniff(&self, _: &[u8]) -> bool {
        false
    }

    fn open(&self, input: &Input, arguments: &Arguments) -> Result<Vec<Pending>, Failure> {
        let source = Source::of_one(input, Format::Stack, &arguments.options())?;
        let which = arguments.which.clone();
        Ok(vec![Pending::new(None, move || which.part_of(source))])
    }

    fn create(&self, arrays: Vec<Pending>, making: Making<'_, '_>) -> Result<(), Failure> {
        let Making { arguments, changes, output, .. } = making;
        let Some((folder, options)) = output.plain() else {
            return Err(
                "a stack is a folder of files, and cannot be written to standard output or a store".into()
            );
        };
        let source = the_only(arrays, arguments)?;
        changes.check(&source)?;
        let axis = axis_of(arguments.axis.unwrap_or(0), source.shape().len())?;
        let length = arguments.chunk.unwrap_or_else(|| indices_of(&source, axis));
        let mut progress = Progress::new();
        let conversion = changes.conversion(options, &mut progress);
        match &source.array {
            Whole::Npy(file) => convert_file_to_stack(file, folder, axis, length, conversion)?,
            Whole::Ra(file) => convert_file_to_stack(file, folder, axis, length, conversion)?,
            Whole::Objects(_) => {
                return Err(format!(
                    "{}: Python objects are not written as a stack",
                    source.name().display()
                )
                .into());
            }
        }
        Ok(())
    }
}

/// Returns the number of indices of an axis that take about 128 MiB, the default chunk size of Dask.
fn indices_of(source: &Source, axis: usize) -> usize {
    const BYTES: u64 = 128 << 20;
    let length = source.shape()[axis];
    let each = (source.byte_len() / length.max(1) as u64).max(1);
    usize::try_from(BYTES / each).unwrap_or(usize::MAX).clamp(1, length.max(1))
}
