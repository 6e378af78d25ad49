//! The arrays of an NPY file; most files have one.

use std::io::Seek;
use std::sync::Arc;

use ndarray_io::ReadOptions;
use ndarray_io::bytes::ReadAt;
use ndarray_io::error::ErrorKind;

use super::{HeadedBytes, Selection};
use crate::failure::{Failure, at, at_part};
use crate::input::{Input, read_up_to};
use crate::source::Source;

/// Iterates over the arrays of an NPY file, or returns one array.
///
/// Elements are not read, except for Python objects: a pickle must be read to find its end. Trailing bytes that are not an array are
/// reported by [`Arrays::check_end`] alone, because a file that is being appended to has rows that its header does not count.
pub(crate) struct Arrays<'a> {
    input: &'a Input,
    options: &'a ReadOptions,
    /// The part of each array that is wanted.
    selection: Option<&'a Selection>,
    /// The offset of the next array.
    next_offset: Option<u64>,
    returned_count: usize,
    only: Option<Source>,
    /// The start and end offset of the array returned last.
    last_begin: u64,
    last_end: u64,
    last_has_objects: bool,
}

impl<'a> Arrays<'a> {
    /// Iterates over the parts of a file that begin like an array.
    pub(crate) fn of(input: &'a Input, options: &'a ReadOptions) -> Self {
        Self {
            input,
            options,
            selection: None,
            next_offset: Some(0),
            returned_count: 0,
            only: None,
            last_begin: 0,
            last_end: 0,
            last_has_objects: false,
        }
    }

    pub(super) fn only(input: &'a Input, options: &'a ReadOptions, only: Source) -> Self {
        Self { only: Some(only), next_offset: None, last_end: u64::MAX, ..Self::of(input, options) }
    }

    pub(super) fn with_selection(self, selection: &'a Selection) -> Self {
        Self { selection: Some(selection), ..self }
    }

    /// Returns one array by its number.
    pub(super) fn nth_array(mut self, wanted: usize) -> Result<Source, Failure> {
        let mut count = 0;
        for array in self.by_ref() {
            let array = array?;
            if count == wanted {
                return Ok(array);
            }
            count += 1;
        }
        Err(no_array_failure(self.input, wanted, count))
    }

    /// Whether more arrays follow.
    pub(crate) fn has_more(&self) -> bool {
        self.only.is_some() || self.next_offset.is_some()
    }

    /// The byte range in the file of the array returned last.
    pub(crate) fn last_byte_range(&self) -> std::ops::Range<u64> {
        self.last_begin..self.last_end
    }

    /// Returns an error if bytes that are not an array follow the last one.
    pub(crate) fn check_end(&self) -> Result<(), Failure> {
        if self.last_end == u64::MAX {
            return Ok(());
        }
        match self.input.size()?.saturating_sub(self.last_end) {
            0 => Ok(()),
            // Rows that are being appended are not damage.
            _ if self.returned_count == 1 && !self.last_has_objects => {
                Ok(self.input.array(self.options)?.check_end()?)
            }
            more => Err(self.input.at(format!("{more} bytes that are not an array follow its last array"))),
        }
    }

    /// Adds the number of the array returned last to an error.
    pub(crate) fn located<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        let name = self.input.name();
        done.map_err(|failure| match self.returned_count.saturating_sub(1) {
            0 => at(name, failure),
            number => at_part(name, &format!("array {number}"), failure),
        })
    }

    /// Opens the array at an offset.
    pub(crate) fn open_at(input: &'a Input, options: &'a ReadOptions, begin: u64) -> Result<Source, Failure> {
        let arrays = Self::of(input, options);
        arrays.open(begin).map(|(source, _)| source).map_err(|failure| at(input.name(), failure))
    }

    /// Whether the array returned last has Python objects.
    pub(crate) fn last_array_has_objects(&self) -> bool {
        self.last_has_objects
    }

    fn open(&self, begin: u64) -> Result<(Source, u64), Failure> {
        let (bytes, name) = (self.input.bytes()?, self.input.name());
        let bytes: Arc<dyn ReadAt> =
            if begin == 0 { bytes } else { Arc::new(HeadedBytes { head: Vec::new(), bytes, from: begin }) };
        let (source, end) = match self.options.open_source(bytes) {
            Ok(file) => {
                let head = file.data_offset();
                let source = Source::npy(file.with_path(name), name);
                let end = begin.saturating_add(head).saturating_add(source.byte_len());
                (source, end)
            }
            // A pickle is read from front to back, or refused.
            Err(error) if error.kind() == ErrorKind::Objects => {
                let mut file = self.input.file()?;
                file.seek(std::io::SeekFrom::Start(begin))?;
                let mut reader = self.options.reader(file)?;
                let source = Source::objects(reader.read()?, name);
                (source, reader.into_inner().stream_position()?)
            }
            Err(error) => return Err(error.into()),
        };
        match self.selection {
            Some(selection) => Ok((selection.part_of(source)?, end)),
            None => Ok((source, end)),
        }
    }

    /// Whether another array follows the last one.
    fn is_followed_by_array(&self) -> Result<bool, Failure> {
        const MAGIC: &[u8; 6] = b"\x93NUMPY";
        let bytes = self.input.bytes()?;
        // Checked before reading: a header may declare an end beyond what the system can read at.
        Ok(bytes.size()? > self.last_end && read_up_to(&*bytes, self.last_end, MAGIC.len())? == MAGIC)
    }
}

/// Returns the error for an array number that the file does not have.
pub(crate) fn no_array_failure(input: &Input, wanted: usize, count: usize) -> Failure {
    input.at(format!("there is no array {wanted}: the file has {count}, counted from 0"))
}

impl Iterator for Arrays<'_> {
    type Item = Result<Source, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(only) = self.only.take() {
            return Some(Ok(only));
        }
        let begin = self.next_offset.take()?;
        let found = self.open(begin).and_then(|(source, end)| {
            (self.last_begin, self.last_end) = (begin, end);
            self.last_has_objects = source.dtype().has_object();
            self.next_offset = self.is_followed_by_array()?.then_some(end);
            Ok(source)
        });
        self.returned_count += 1;
        Some(self.located(found))
    }
}
