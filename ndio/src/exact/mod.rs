//! `ndio json --exact`: prints the entire content of files bit for bit, for comparison by programs.

// One table for the tests of the library and of the program. The feature is for a checkout, where both are.
#[path = "../../../tests/it/support/error_class.rs"]
mod error_class;
mod values;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::header::Extent;
use ndarray_io::npy::NpyHeader;
use ndarray_io::ra::RaHeader;
use ndarray_io::{DynArray, Error, NpyReader, ReadOptions, npy};
use serde_json::{Value, json};

use super::failure::Failure;
use super::formats::Format;
use super::input::Input;
use error_class::error_class;
use values::{describe_array, sha256};

/// Print the entire content, one line of JSON per file
#[derive(Args)]
pub(crate) struct Arguments {
    /// Bit for bit: floats and raw bytes as hex, integers as text
    #[arg(long, required = true)]
    exact: bool,
    /// Read Python objects, as data
    #[arg(long)]
    allow_objects: bool,
    /// The offset of the array in the file, in bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options().allow_objects(arguments.allow_objects);
    let mut code = 0;
    for path in &arguments.files {
        let line = match describe_file(path, arguments.offset, &options) {
            Ok(line) => line,
            Err(fault) => {
                code = 1;
                fault.json()
            }
        };
        serde_json::to_writer(&mut *out, &line)?;
        writeln!(out)?;
    }
    Ok(code)
}

/// An error that is printed in place of a file or member.
struct Fault {
    class: &'static str,
    message: String,
}

impl Fault {
    fn json(&self) -> Value {
        json!({"error": self.class, "message": self.message})
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { class: error_class(&error), message: error.to_string() }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Error::from(error).into()
    }
}

fn describe_file(path: &Path, offset: u64, options: &ReadOptions) -> Result<Value, Fault> {
    let input = Input::open_packed(path).map_err(to_fault)?;
    // Programs compare the output, so a known extension decides the format, even if the content differs.
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => Format::Npy,
        Some("npz") => Format::Npz,
        Some("ra") => Format::Ra,
        _ => input.format(),
    };
    let arrays = match format {
        _ if offset > 0 => describe_npy(&input, offset, options)?,
        Format::Npy | Format::Csv | Format::JsonLines | Format::Raw => describe_npy(&input, 0, options)?,
        Format::Ra => {
            let mut reader = input.ra_reader(options).map_err(to_fault)?;
            let header = reader.ra_header().cloned();
            let mut array = describe_array(&reader.read()?)?;
            let start = reader.data_offset();
            array["start"] = json!(0);
            array["data_start"] = json!(start);
            array["fortran_order"] = json!(true);
            if let Some(RaHeader { flags, eltype, elbyte, .. }) = header {
                for (name, number) in [("flags", flags), ("eltype", eltype), ("elbyte", elbyte)] {
                    array[name] = json!(number);
                }
            }
            array["trailing"] = json!(reader.trailing()?.len());
            vec![array]
        }
        Format::Npz => return describe_archive(&input, options),
        Format::Stack => {
            let message = "a stack is a folder of files, each of which is compared by itself".into();
            return Err(Fault { class: "usage", message });
        }
    };
    Ok(json!({"file": path.display().to_string(), "kind": format.name(), "arrays": arrays}))
}

/// Describes all concatenated arrays of an NPY file.
fn describe_npy(input: &Input, offset: u64, options: &ReadOptions) -> Result<Vec<Value>, Fault> {
    let mut file = input.file().map_err(to_fault)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut reader = options.reader(file)?;
    let (mut arrays, mut start) = (Vec::new(), 0);
    loop {
        let head = reader.npy_header().cloned();
        let data_start = start + reader.data_offset();
        let mut array = describe_array(&reader.read()?)?;
        if let Some(head) = head {
            array["version"] = json!([head.version.numbers().0, head.version.numbers().1]);
            array["descr"] = json!(head.descr);
        }
        array["start"] = json!(offset + start);
        array["data_start"] = json!(offset + data_start);
        arrays.push(array);
        let left = trailing_len(&mut reader);
        match reader.next_array() {
            Ok(true) => {
                // The header of the next array has just been read: subtract it and the bytes after it.
                let all = reader.payload_len().unwrap_or_default() + trailing_len(&mut reader);
                start = file_len(input)? - offset - all - reader.data_offset();
            }
            Ok(false) => return Ok(arrays),
            Err(error) => {
                let message = format!("{left} bytes that are not an array follow: {error}");
                return Err(Fault { class: "extra_data", message });
            }
        }
    }
}

fn file_len(input: &Input) -> Result<u64, Fault> {
    input.size().map_err(to_fault)
}

fn to_fault(failure: Failure) -> Fault {
    match failure.downcast::<Error>() {
        Ok(error) => (*error).into(),
        Err(failure) => Fault { class: "io", message: failure.to_string() },
    }
}

fn describe_archive(input: &Input, options: &ReadOptions) -> Result<Value, Fault> {
    let archive = input.npz(options).map_err(to_fault)?;
    let mut names: Vec<_> = archive.members().iter().map(|member| member.file_name()).collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("the archive has several members named '{}'", pair[0].escape_debug());
        return Err(Fault { class: "bad_zip", message });
    }
    let (mut arrays, mut others) = (Vec::new(), Vec::new());
    for (index, member) in archive.members().iter().enumerate() {
        let raw = archive.read_raw(index);
        // By the name alone, as the corpora that this is compared with.
        if !member.is_array() {
            let raw = raw?;
            others.push(json!({"member": member.file_name(), "size": raw.len(), "sha256": sha256(&raw)}));
            continue;
        }
        let method = match member.method() {
            ndarray_io::npz::Method::Stored => "stored",
            ndarray_io::npz::Method::Deflated => "deflated",
            _ => "other",
        };
        let show = || -> Result<Value, Fault> {
            let mut array = describe_array(&archive.read::<DynArray>(index)?)?;
            let ndarray_io::header::Parsed::Done(NpyHeader { version, descr, .. }, used) = npy::parse(&raw?)?
            else {
                unreachable!("the array has been read")
            };
            array["version"] = json!([version.numbers().0, version.numbers().1]);
            array["descr"] = json!(descr);
            array["start"] = json!(0);
            array["data_start"] = json!(used);
            Ok(array)
        };
        let mut array = show().unwrap_or_else(|fault| fault.json());
        array["name"] = json!(member.name());
        array["member"] = json!(member.file_name());
        array["method"] = json!(method);
        arrays.push(array);
    }
    let file = input.name().display().to_string();
    Ok(json!({"file": file, "kind": "npz", "arrays": arrays, "other_members": others}))
}

/// Returns the number of bytes after the array.
fn trailing_len(reader: &mut NpyReader<File>) -> u64 {
    reader.extent().and_then(Extent::trailing).unwrap_or(0)
}
