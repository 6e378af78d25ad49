//! Describes what comes through a pipe, without keeping it.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

use super::facts::{ArrayFacts, DataFacts, FileFacts, HeaderFacts, is_native_endian};
use super::{Arguments, advance_to_next_array, describe_input};
use crate::failure::{Failure, at};
use crate::formats::Format;
use crate::input::Input;

/// Describes a pipe. Only an NPY file without statistics can be told from its headers; anything else is copied first.
pub(super) fn describe_pipe(
    path: &Path,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let mut pipe: Box<dyn Read> = match path == Path::new("-") {
        true => Input::stdin()?,
        false => Box::new(File::open(path).map_err(|error| at(path, error.into()))?),
    };
    let mut first = Vec::new();
    (&mut pipe).take(8).read_to_end(&mut first).map_err(|error| at(path, error.into()))?;
    let is_npy = Format::detect(&first) == Some(Format::Npy);
    let mut all = io::Cursor::new(first).chain(pipe);
    if !is_npy || arguments.stats {
        let input = Input::from_pipe(path, &mut all)?.gunzipped()?;
        return describe_input(&input, arguments, out).map_err(|failure| input.at(failure));
    }
    let (file, arrays) = npy_facts(path, CountingReader { input: all, count: Rc::default() })
        .map_err(|failure| at(path, failure))?;
    file.print_with_arrays(&arrays, arguments.json, out)
}

/// A reader that counts what it has read.
struct CountingReader<R> {
    input: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Describes the arrays of an NPY file, reading all of it.
fn npy_facts<R: Read>(
    path: &Path,
    input: CountingReader<R>,
) -> Result<(FileFacts, Vec<ArrayFacts>), Failure> {
    let count = Rc::clone(&input.count);
    let mut reader = crate::reading::options().allow_objects(true).reader(input)?;
    let (mut all, mut begin) = (Vec::new(), 0);
    loop {
        let mut header = HeaderFacts::of(reader.dtype(), reader.order(), reader.shape());
        let version = reader.npy_header().map(|header| header.version.to_string());
        let (declared, data) = (reader.payload_len(), begin + reader.data_offset());
        if declared.is_none() {
            header.bytes = None; // a pickle
        }
        let mut place = DataFacts {
            data_offset: reader.data_offset(),
            is_whole: Some(true),
            trailing: Some(0),
            can_be_mapped: is_native_endian(reader.dtype()) && !reader.dtype().has_object(),
            ..DataFacts::default()
        };
        let skipped = match reader.skip() {
            Err(error) if error.is_io() => return Err(error.into()),
            skipped => skipped,
        };
        begin = count.get();
        if skipped.is_ok() && advance_to_next_array(&mut reader)? {
            all.push(ArrayFacts { version, ..ArrayFacts::new(header, place) });
            continue;
        }
        // What is left is not an array.
        io::copy(&mut reader.into_inner(), &mut io::sink())?;
        let missing = declared.map_or(0, |declared| (data + declared).saturating_sub(count.get()));
        if declared.is_none() {
            skipped?;
        }
        if missing > 0 {
            place.is_whole = Some(false);
            place.missing = Some(missing);
            place.can_be_mapped = false;
        }
        place.trailing = (missing == 0).then(|| count.get() - begin);
        all.push(ArrayFacts { version, ..ArrayFacts::new(header, place) });
        let file = path.display().to_string();
        return Ok((
            FileFacts { file, format: Format::Npy.name(), file_size: Some(count.get()), sparse: None },
            all,
        ));
    }
}
