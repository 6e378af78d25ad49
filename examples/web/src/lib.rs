//! Answers the page's requests about the file that was dropped on it. Answers are JSON, except for pixels,
//! which the page reads from memory.
//!
//! The functions that JavaScript calls are in `exports`.

mod exports;
mod look;

use std::io::Cursor;

use ndarray_io::{DynArray, Limits, ReadOptions};
use serde_json::{Value, json};

pub use look::{Picture, look};

/// The largest array that is shown, in bytes.
///
/// The file, the array and the part that is shown are all in memory, and a page has 4 GiB. (See
/// `look::MAX_COUNTED` for the numbers.)
const MAX_ARRAY_BYTES: u64 = 1 << 30;

/// The maximum number of archive members that are listed.
const MAX_MEMBERS: usize = 1000;

type Result<T, E = ndarray_io::Error> = std::result::Result<T, E>;

/// Formats an error for the page.
pub fn error_json(error: &ndarray_io::Error) -> Value {
    json!({ "error": error.to_string(), "help": error.help().map(|help| help.to_string()) })
}

fn options() -> ReadOptions {
    ReadOptions::new().limits(Limits::new().payload(MAX_ARRAY_BYTES))
}

/// A file that was dropped on the page.
pub struct DroppedFile(Vec<u8>);

impl DroppedFile {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Describes the file and its arrays. Reads only their headers.
    pub fn describe(&self) -> Result<Value> {
        if self.0.starts_with(b"PK") {
            let mut npz = options().npz_reader(Cursor::new(&self.0))?;
            let members: Vec<_> = npz.members().iter().take(MAX_MEMBERS).cloned().collect();
            let more = npz.len() - members.len();
            let arrays = members.iter().map(|member| {
                let mut line = json!({
                    "name": member.name(),
                    "bytes": member.size(),
                    "packed": member.compressed_size(),
                    "method": member.method().to_string(),
                });
                let header = match member.is_array() && !member.is_encrypted() {
                    true => npz.peek(member.file_name()).map(|peeked| {
                        let header = peeked.header;
                        header_json(
                            &header.dtype().to_string(),
                            header.shape(),
                            &format!("{:?}", header.order()),
                        )
                    }),
                    false => Ok(json!({ "error": "not shown" })),
                };
                let more = header.unwrap_or_else(|error| error_json(&error));
                if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
                    line.extend(more);
                }
                line
            });
            return Ok(
                json!({ "format": "NPZ", "bytes": self.0.len(), "arrays": arrays.collect::<Vec<_>>(), "more": more }),
            );
        }
        let (format, array) = if self.0.starts_with(b"rawarray") {
            let reader = options().ra_reader(&self.0[..])?;
            ("RA".to_owned(), header_json(&reader.dtype().to_string(), reader.shape(), "Fortran"))
        } else {
            let reader = options().reader(&self.0[..])?;
            let order = format!("{:?}", reader.order());
            (
                reader.npy_header().map_or_else(String::new, |header| format!("NPY {}", header.version)),
                header_json(&reader.dtype().to_string(), reader.shape(), &order),
            )
        };
        Ok(json!({ "format": format, "bytes": self.0.len(), "arrays": [array] }))
    }

    /// Reads one of the arrays.
    pub fn read(&self, index: usize) -> Result<DynArray> {
        if self.0.starts_with(b"PK") {
            options().npz_reader(Cursor::new(&self.0))?.read(index)
        } else if self.0.starts_with(b"rawarray") {
            options().read_ra_from::<DynArray>(&self.0[..])
        } else {
            options().read_from::<DynArray>(&self.0[..])
        }
    }
}

fn header_json(dtype: &str, shape: &[usize], order: &str) -> Value {
    json!({ "dtype": dtype, "shape": shape, "order": order })
}

/// Returns the names of a record's fields.
pub fn fields(array: &DynArray) -> Vec<&str> {
    let record = array.dtype().as_record();
    record.map(|record| record.fields().iter().map(|field| field.name()).collect()).unwrap_or_default()
}

/// Returns a part of an array, or of one of its fields.
pub fn part(array: &DynArray, field: Option<&str>, text: &str) -> Result<DynArray, String> {
    let one;
    let array = match field {
        Some(field) => {
            one = array.field(field).map_err(|error| error.to_string())?;
            &one
        }
        None => array,
    };
    let part = ndarray_io::file::parse_slice(text, array.shape()).and_then(|slice| array.slice(&slice[..]));
    part.map_err(|error| error.to_string())
}
