//! Folders of NPY files that form one array, as Dask writes them.

use std::rc::Rc;

use ndarray_io::dask::convert_file_to_stack;

use super::{CreateContext, FileFormat, Format, PendingArray, PendingArrays, open_only_array, single_array};
use crate::convert::Arguments;
use crate::failure::{Failure, at};
use crate::input::{Input, is_stack};
use crate::join::normalize_axis;
use crate::progress::Progress;
use crate::source::{Source, SourceArray};

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

    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let source = Source::open_single_array(input, Format::Stack, &arguments.read_options())?;
        let selection = arguments.selection.clone();
        Ok(single_array(PendingArray::new(None, move || selection.part_of(source))))
    }

    fn create(&self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        let CreateContext { arguments, changes, output, .. } = context;
        /// Elements without bytes make any number of parts.
        const MAX_PARTS: usize = 1 << 20;
        let path = output.path();
        if path.symlink_metadata().is_ok() && !path.is_dir() {
            return Err(at(path, "it is a file, and a stack is a folder of files".into()));
        }
        if is_stack(path) {
            return Err(at(path, "there is a stack already, or a folder with its file names, which is not replaced, even with --force: remove it first".into()));
        }
        let Some((folder, options)) = output.path_and_options() else {
            return Err(
                "a stack is a folder of files, and cannot be written to standard output or a store".into()
            );
        };
        let source = open_only_array(arrays, arguments)?.ensure_iterable()?;
        changes.check_applicable(&source)?;
        let axis = normalize_axis(arguments.axis.unwrap_or(0), source.shape().len())
            .map_err(|failure| at(source.name(), failure))?;
        let length = arguments.chunk.unwrap_or_else(|| default_chunk_length(&source, axis));
        let parts = source.shape()[axis].div_ceil(length.max(1));
        if parts > MAX_PARTS {
            return Err(at(
                source.name(),
                format!("{parts} files are too many; --chunk makes them longer").into(),
            ));
        }
        let mut progress = Progress::new();
        let conversion = changes.conversion(options, &mut progress);
        match &source.array {
            SourceArray::File(file) => convert_file_to_stack(file, folder, axis, length, conversion)?,
            SourceArray::Objects(_) => {
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
fn default_chunk_length(source: &Source, axis: usize) -> usize {
    const DEFAULT_CHUNK_BYTES: u64 = 128 << 20;
    let length = source.shape()[axis];
    let each = (source.byte_len() / length.max(1) as u64).max(1);
    usize::try_from(DEFAULT_CHUNK_BYTES / each).unwrap_or(usize::MAX).clamp(1, length.max(1))
}
