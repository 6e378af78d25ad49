//! `ndio verify`: whether files are sound.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::dtype::Kind;
use ndarray_io::ra::RaFile;
use ndarray_io::{DType, DynArray, NpzFile, ReadOptions};

use super::input::shown;
use super::open::{Format, array_files, format_of, ra};
use super::progress::Progress;
use super::source::{Arrays, Source};
use super::{Failure, at, told};

/// Check files: structure, length, checksums, bools and text
#[derive(Args)]
pub(crate) struct Arguments {
    /// Accept Python objects, which are looked at as data
    #[arg(long)]
    allow_objects: bool,
    /// Files, or folders, of which all array files are checked
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Arguments {
    pub(crate) fn inputs(&mut self) -> Vec<&mut PathBuf> {
        self.files.iter_mut().collect()
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::password::options().allow_objects(arguments.allow_objects);
    let mut code = 0;
    for path in &array_files(&arguments.files)? {
        match verify(path, &options) {
            Ok(()) => writeln!(out, "{}: sound", shown(path))?,
            Err(failure) => {
                // What cannot be read at all has not been checked.
                let is_unread = File::open(path).is_err();
                code = code.max(if is_unread { 2 } else { 1 });
                writeln!(out, "{}", told(&at(path, failure)))?;
            }
        }
    }
    Ok(code)
}

fn verify(path: &Path, options: &ReadOptions) -> Result<(), Failure> {
    match format_of(path)? {
        Format::Npy => {
            let mut arrays = Arrays::of(path, options);
            while let Some(array) = arrays.next() {
                let checked = check_blocks(&array?);
                arrays.numbered(checked)?;
            }
            arrays.end()
        }
        Format::Ra => match RaFile::open_with(path, options) {
            Ok(file) => check_blocks(&Source::Ra(file)),
            Err(_) => check(&ra(path, options)?.read()?), // what is packed is unpacked whole
        },
        Format::Npz => {
            let archive = NpzFile::open_with(path, options)?;
            for (index, member) in archive.members().iter().enumerate() {
                if !member.is_array() {
                    archive.verify_index(index)?;
                    continue;
                }
                match Source::whole_member(&archive, index)? {
                    // Of blocks, only those that are read are compared with their checksums.
                    Source::Npy(file)
                        if file.trailing_len()? == Some(0)
                            && member.has_index()
                            && !needs_a_look(file.dtype()) =>
                    {
                        archive.verify_index(index)?;
                    }
                    Source::Npy(file) if file.trailing_len()? == Some(0) => check_blocks(&Source::Npy(file))?,
                    Source::Memory(array) => check(&array)?,
                    _ => drop(archive.read_index::<DynArray>(index)?), // which says what is wrong
                }
            }
            Ok(())
        }
    }
}

/// Whether the elements are what they should be, of a file of any size.
fn check_blocks(source: &Source) -> Result<(), Failure> {
    const BLOCK: usize = 4 << 20;
    if let Source::Npy(file) = source
        && file.trailing_len()?.is_none()
    {
        file.read::<DynArray>()?; // which says what is missing
    }
    if !needs_a_look(source.dtype()) || source.dtype().item_size() == 0 {
        return Ok(());
    }
    let all = (source.len() * source.dtype().item_size()) as u64;
    let mut progress = Progress::new();
    let mut done = 0;
    for (slice, _) in source.blocks(source.order(), BLOCK) {
        let array = source.slice(&slice)?;
        check_from(&array, done)?;
        done += array.len();
        progress.add(array.bytes().len() as u64, all);
    }
    Ok(())
}

/// The same of an array in memory.
fn check(array: &DynArray) -> Result<(), Failure> {
    check_from(array, 0)
}

/// The first element has this number in its file.
fn check_from(array: &DynArray, first: usize) -> Result<(), Failure> {
    let size = array.dtype().item_size();
    if array.objects().is_some() || size == 0 || !needs_a_look(array.dtype()) {
        return Ok(());
    }
    array.bytes().chunks_exact(size).enumerate().try_for_each(|(index, item)| {
        check_item(array.dtype(), item)
            .map_err(|reason| format!("element {}: {reason}", first + index).into())
    })
}

fn needs_a_look(dtype: &DType) -> bool {
    match dtype {
        DType::Scalar(scalar) => matches!(scalar.kind(), Kind::Bool | Kind::Text),
        DType::Subarray(subarray) => needs_a_look(subarray.base()),
        DType::Record(record) => record.fields().iter().any(|field| needs_a_look(field.dtype())),
        _ => false,
    }
}

fn check_item(dtype: &DType, bytes: &[u8]) -> Result<(), String> {
    match dtype {
        DType::Scalar(scalar) if scalar.kind() == Kind::Bool && bytes[0] > 1 => {
            Err(format!("a bool is 0 or 1, but the file has {}", bytes[0]))
        }
        DType::Scalar(scalar) if scalar.kind() == Kind::Text => {
            let is_big = scalar.byte_order() == Some(ndarray_io::dtype::ByteOrder::Big);
            let code =
                |unit: &[u8; 4]| if is_big { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
            match bytes.as_chunks::<4>().0.iter().map(code).find(|code| char::from_u32(*code).is_none()) {
                Some(code) => Err(format!("{code:#X} is no character of Unicode")),
                None => Ok(()),
            }
        }
        DType::Subarray(subarray) => {
            let size = subarray.base().item_size();
            bytes.chunks_exact(size.max(1)).try_for_each(|item| check_item(subarray.base(), item))
        }
        DType::Record(record) => record.fields().iter().try_for_each(|field| {
            let item = &bytes[field.offset()..][..field.dtype().item_size()];
            check_item(field.dtype(), item).map_err(|reason| format!("field '{}': {reason}", field.name()))
        }),
        _ => Ok(()),
    }
}
