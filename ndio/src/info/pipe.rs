//! Describes what comes through a pipe, without keeping it.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

use ndarray_io::NpyReader;
use serde_json::{Value, json};

use super::{Arguments, array, has_next, is_native, show, tell_input};
use crate::failure::{Failure, at};
use crate::formats::Format;
use crate::input::Input;

/// Describes a pipe. Only an NPY file without statistics can be told from its headers; anything else is copied first.
pub(super) fn tell(path: &Path, arguments: &Arguments, out: &mut dyn Write) -> Result<bool, Failure> {
    let mut pipe: Box<dyn Read> = match path == Path::new("-") {
        true => Input::standard()?,
        false => Box::new(File::open(path).map_err(|error| at(path, error.into()))?),
    };
    let mut first = Vec::new();
    (&mut pipe).take(8).read_to_end(&mut first).map_err(|error| at(path, error.into()))?;
    let is_npy = Format::told_by(&first) == Some(Format::Npy);
    let mut all = io::Cursor::new(first).chain(pipe);
    if !is_npy || arguments.stats {
        let input = Input::copied(path, &mut all)?;
        return tell_input(&input, arguments, out).map_err(|failure| input.at(failure));
    }
    let facts =
        npy(path, Counted { input: all, count: Rc::default() }).map_err(|failure| at(path, failure))?;
    show(&facts, arguments.json, out)
}

/// A reader that counts what it has read.
struct Counted<R> {
    input: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Describes the arrays of an NPY file, reading all of it.
fn npy<R: Read>(path: &Path, input: Counted<R>) -> Result<Value, Failure> {
    let count = Rc::clone(&input.count);
    let mut reader = NpyReader::new_with(input, &crate::reading::options().allow_objects(true))?;
    let (mut all, mut begin) = (Vec::new(), 0);
    loop {
        let mut facts = array(reader.dtype(), reader.order(), reader.shape());
        facts["version"] = json!(reader.version().to_string());
        facts["data_offset"] = json!(reader.data_offset());
        let (declared, data) = (reader.payload_len(), begin + reader.data_offset());
        let can_be_mapped = is_native(reader.dtype()) && !reader.dtype().has_object();
        let skipped = match reader.skip() {
            Err(error) if error.is_io() => return Err(error.into()),
            skipped => skipped,
        };
        begin = count.get();
        let has_more = skipped.is_ok() && has_next(&mut reader)?;
        if !has_more {
            // What is left is not an array.
            io::copy(&mut reader.into_inner(), &mut io::sink())?;
            let missing = declared.map_or(0, |declared| (data + declared).saturating_sub(count.get()));
            if declared.is_none() {
                facts["bytes"] = Value::Null; // a pickle
                skipped?;
            }
            facts["is_whole"] = json!(missing == 0);
            facts["trailing"] = if missing == 0 { json!(count.get() - begin) } else { Value::Null };
            if missing > 0 {
                facts["missing"] = json!(missing);
            }
            facts["can_be_mapped"] = json!(can_be_mapped && missing == 0);
            all.push(facts);
            let mut facts = listed(all);
            facts["file"] = json!(path.display().to_string());
            facts["format"] = json!(Format::Npy.name());
            facts["file_size"] = json!(count.get());
            return Ok(facts);
        }
        if declared.is_none() {
            facts["bytes"] = Value::Null;
        }
        facts["trailing"] = json!(0);
        facts["is_whole"] = json!(true);
        facts["can_be_mapped"] = json!(can_be_mapped);
        all.push(facts);
    }
}

/// Returns the facts of the arrays of one file.
fn listed(mut all: Vec<Value>) -> Value {
    match all.len() {
        1 => all.swap_remove(0),
        _ => json!({"arrays": all}),
    }
}
