//! Writing files.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use ndarray_io::convert::{
    Conversion, concatenate_npy, convert_npy, convert_npy_to_ra, convert_ra_to_npy, stack_npy,
};
use ndarray_io::header::{Header, Order};
use ndarray_io::npy::{self, Version};
use ndarray_io::{Casting, Compression, DType, Limits, Result, WriteOptions};
use ndarray_io_store::{Upload, UploadOptions};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::to_py_err;
use crate::load::url_of;
use crate::memory::{LentArray, lent};
use crate::options::remote;
use crate::stream::{BufferedStream, FileObject};
use crate::work::{CancelToken, run, run_in_this_thread};

/// An array to be written: NumPy's array and its dtype as in a header, or a file of NPY with a pickle.
#[derive(FromPyObject)]
pub(crate) enum ArrayArgument<'py> {
    #[pyo3(transparent)]
    Plain((Bound<'py, PyUntypedArray>, String)),
    #[pyo3(transparent)]
    Pickled(Bound<'py, PyBytes>),
}

/// An array to be written, as the library sees it.
enum ArrayToWrite<'a> {
    LentArray(LentArray<'a>),
    /// The bytes of a file of NPY, whose objects Python has pickled: they are members of archives only.
    Pickled(&'a [u8]),
}

impl ArrayArgument<'_> {
    fn to_write(&self) -> PyResult<ArrayToWrite<'_>> {
        match self {
            Self::Plain((array, descr)) => Ok(ArrayToWrite::LentArray(lent(array, descr)?)),
            Self::Pickled(file) => Ok(ArrayToWrite::Pickled(file.as_bytes())),
        }
    }

    /// Returns an array of plain elements.
    pub(crate) fn lent(&self) -> PyResult<LentArray<'_>> {
        match self.to_write()? {
            ArrayToWrite::LentArray(lent) => Ok(lent),
            ArrayToWrite::Pickled(_) => Err(PyValueError::new_err("Python objects cannot be written here")),
        }
    }
}

impl ArrayToWrite<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Self::LentArray(lent) => lent.bytes,
            Self::Pickled(file) => file.len() as u64,
        }
    }
}

/// How files are written.
#[derive(Clone, FromPyObject)]
pub(crate) struct WriteArgs {
    sync: bool,
    create_new: bool,
    threads: Option<usize>,
    /// `stored`, `deflate` or `zstd`, and the level.
    compression: Option<(String, Option<u32>)>,
    /// The version of NPY, 1 to 3.
    version: Option<u8>,
    /// Options of a store, for URLs.
    store: Option<HashMap<String, String>>,
}

impl WriteArgs {
    fn version(&self) -> Option<Version> {
        match self.version {
            Some(1) => Some(Version::V1),
            Some(2) => Some(Version::V2),
            Some(3) => Some(Version::V3),
            _ => None,
        }
    }

    pub(crate) fn options(&self, cancel: &CancelToken) -> WriteOptions {
        let mut options = WriteOptions::new().sync(self.sync).create_new(self.create_new);
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(version) = self.version() {
            options = options.version(version);
        }
        match cancel.callback() {
            Some(callback) => options.progress(callback),
            None => options,
        }
    }

    /// Uploads what is written, as an object that is about this large.
    fn upload(&self, url: &str, len: u64, write: impl FnOnce(&mut Upload) -> Result<()>) -> Result<()> {
        /// More than enough for a header.
        const MAX_HEADER_BYTES: u64 = 1 << 20;
        let mut options = UploadOptions::new().len(len.saturating_add(MAX_HEADER_BYTES));
        if self.create_new {
            options = options.create_new();
        }
        let mut upload = remote(url, &self.store)?.upload(&options)?;
        write(&mut upload).map_err(|error| error.at_path(url))?;
        upload.finish().map(drop)
    }

    /// Returns the options for an upload, which replaces an object in one step and is on the store's disks when it ends.
    fn upload_options(&self, cancel: &CancelToken) -> WriteOptions {
        self.options(cancel).sync(false).create_new(false)
    }

    fn archive_compression(&self) -> PyResult<Compression> {
        match &self.compression {
            None => Ok(Compression::Stored),
            Some((name, level)) => match (name.as_str(), level) {
                ("stored", None) => Ok(Compression::Stored),
                ("deflate", level @ (None | Some(0..=9))) => Ok(Compression::Deflated(level.unwrap_or(6))),
                ("zstd", level @ (None | Some(1..=22))) => Ok(Compression::Zstd(level.unwrap_or(3) as i32)),
                ("stored" | "deflate" | "zstd", _) => {
                    let text = "expected a level of 0 to 9 for deflate, and of 1 to 22 for zstd";
                    Err(PyValueError::new_err(text))
                }
                (name, _) => {
                    let text = format!("expected compression 'stored', 'deflate' or 'zstd', found {name:?}");
                    Err(PyValueError::new_err(text))
                }
            },
        }
    }
}

/// Writes an array to a file: NPY, or RA.
#[pyfunction]
pub(crate) fn save(
    py: Python<'_>,
    path: PathBuf,
    array: ArrayArgument<'_>,
    writing: WriteArgs,
    is_ra: bool,
) -> PyResult<()> {
    let lent = array.lent()?;
    let url = url_of(&path);
    run(py, if url.is_some() { u64::MAX } else { lent.bytes }, |cancel| {
        if let Some(url) = url {
            let options = writing.upload_options(cancel);
            return writing.upload(url, lent.bytes, |upload| match is_ra {
                true => options.write_ra_to(upload, &lent.view),
                false => options.write_to(upload, &lent.view),
            });
        }
        let options = writing.options(cancel);
        match is_ra {
            true => options.write_ra(&path, &lent.view),
            false => options.write_npy(&path, &lent.view),
        }
    })
}

/// Writes a file of these bytes.
#[pyfunction]
pub(crate) fn save_bytes(py: Python<'_>, path: PathBuf, bytes: &[u8], writing: WriteArgs) -> PyResult<()> {
    if let Some(url) = url_of(&path) {
        return run(py, u64::MAX, |_| {
            writing.upload(url, bytes.len() as u64, |upload| Ok(upload.write_all(bytes)?))
        });
    }
    run(py, 0, |_| {
        writing.options(&CancelToken::default()).replace_file(&path, |file| Ok((&*file).write_all(bytes)?))
    })
}

/// Writes an array to a file object.
#[pyfunction]
pub(crate) fn save_stream(
    py: Python<'_>,
    stream: Py<PyAny>,
    array: ArrayArgument<'_>,
    writing: WriteArgs,
) -> PyResult<()> {
    let lent = array.lent()?;
    run_in_this_thread(py, || {
        writing.options(&CancelToken::default()).write_to(FileObject(stream), &lent.view)
    })
}

/// Arrays to be written, with their names.
struct NamedArrays<'a> {
    arrays: Vec<(String, ArrayToWrite<'a>)>,
    bytes: u64,
}

impl<'a> NamedArrays<'a> {
    fn of(given: &'a [(String, ArrayArgument<'_>)]) -> PyResult<Self> {
        let arrays = given.iter().map(|(name, array)| Ok((name.clone(), array.to_write()?)));
        let arrays = arrays.collect::<PyResult<Vec<_>>>()?;
        let bytes = arrays.iter().fold(0_u64, |sum, (_, array)| sum.saturating_add(array.bytes()));
        Ok(Self { arrays, bytes })
    }

    /// Writes an archive, and returns the writer.
    fn write<W: Write>(&self, writer: W, options: &WriteOptions) -> Result<W> {
        let mut writer = options.npz_writer(writer)?;
        for (name, array) in &self.arrays {
            match array {
                ArrayToWrite::LentArray(lent) => writer.add_array(name, &lent.view)?,
                ArrayToWrite::Pickled(file) => writer.add_raw(member_name(name), *file, file.len() as u64)?,
            }
        }
        writer.finish()
    }
}

fn member_name(name: &str) -> String {
    format!("{name}.npy")
}

/// Compression takes longer than copying: its work can be interrupted if it is smaller.
const COMPRESSION_COST: u64 = 16;

/// Writes arrays to an archive.
#[pyfunction]
pub(crate) fn save_archive(
    py: Python<'_>,
    path: PathBuf,
    arrays: Vec<(String, ArrayArgument<'_>)>,
    writing: WriteArgs,
) -> PyResult<()> {
    let named = NamedArrays::of(&arrays)?;
    let compression = writing.archive_compression()?;
    let url = url_of(&path);
    let bytes = if url.is_some() { u64::MAX } else { named.bytes.saturating_mul(COMPRESSION_COST) };
    run(py, bytes, |cancel| {
        if let Some(url) = url {
            let options = writing.upload_options(cancel).compression(compression);
            return writing.upload(url, named.bytes, |upload| named.write(upload, &options).map(drop));
        }
        let options = writing.options(cancel).compression(compression);
        options.replace_file(&path, |file| named.write(file, &options.content_options()).map(drop))
    })
}

/// Writes arrays as an archive to a file object.
#[pyfunction]
pub(crate) fn save_archive_stream(
    py: Python<'_>,
    stream: Py<PyAny>,
    arrays: Vec<(String, ArrayArgument<'_>)>,
    writing: WriteArgs,
) -> PyResult<()> {
    let named = NamedArrays::of(&arrays)?;
    let options = writing.options(&CancelToken::default()).compression(writing.archive_compression()?);
    run_in_this_thread(py, || {
        let mut writer = named.write(BufferedStream::new(FileObject(stream)), &options)?;
        Ok(writer.flush()?)
    })
}

/// Adds, replaces and removes members of an archive in one step.
#[pyfunction]
pub(crate) fn update(
    py: Python<'_>,
    path: PathBuf,
    added: Vec<(String, ArrayArgument<'_>)>,
    replaced: Vec<(String, ArrayArgument<'_>)>,
    removed: Vec<String>,
    writing: WriteArgs,
) -> PyResult<()> {
    let (added, replaced) = (NamedArrays::of(&added)?, NamedArrays::of(&replaced)?);
    let compression = writing.archive_compression()?;
    run(py, u64::MAX, |cancel| {
        let options = writing.options(cancel).compression(compression);
        let mut update = options.update_npz(&path)?;
        for name in &removed {
            update.remove(name.as_str())?;
        }
        for (name, array) in &replaced.arrays {
            match array {
                ArrayToWrite::LentArray(lent) => update.replace(name.as_str(), &lent.view)?,
                ArrayToWrite::Pickled(file) => update.replace_raw(name.as_str(), file)?,
            };
        }
        for (name, array) in &added.arrays {
            match array {
                ArrayToWrite::LentArray(lent) => update.add(name.as_str(), &lent.view)?,
                ArrayToWrite::Pickled(file) => update.add_raw(member_name(name), file)?,
            };
        }
        update.finish()
    })
}

/// Formats a header of NPY.
#[pyfunction]
pub(crate) fn header<'py>(
    py: Python<'py>,
    descr: &str,
    fortran_order: bool,
    shape: Vec<usize>,
    writing: WriteArgs,
) -> PyResult<Bound<'py, PyBytes>> {
    let order = if fortran_order { Order::Fortran } else { Order::C };
    let made = || -> Result<Vec<u8>> {
        let header = Header::new(descr.parse::<DType>()?, order, shape.into())?;
        npy::format(&header, writing.version())
    };
    Ok(PyBytes::new(py, &made().map_err(|error| to_py_err(py, &error))?))
}

/// Parses a header of NPY: shape, order, dtype and length; an integer is the number of bytes that are needed to go on.
#[pyfunction]
pub(crate) fn parse<'py>(py: Python<'py>, bytes: &[u8], most: u64) -> PyResult<Bound<'py, PyAny>> {
    match npy::parse_with(bytes, &Limits::new().header(most)).map_err(|error| to_py_err(py, &error))? {
        ndarray_io::header::Parsed::NeedMore(count) => Ok(count.into_pyobject(py)?.into_any()),
        ndarray_io::header::Parsed::Done(found, used) => {
            let header = found.header;
            let is_fortran = header.order() == Order::Fortran;
            let all = (header.shape().to_vec(), is_fortran, header.dtype().to_string(), used);
            Ok(all.into_pyobject(py)?.into_any())
        }
        _ => Err(PyValueError::new_err("the header cannot be parsed")),
    }
}

/// Converts a file to another dtype, order or format, in bounded memory.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    from_: PathBuf,
    to: PathBuf,
    dtype: Option<(String, &str)>,
    order: Option<&str>,
    formats: (&str, &str),
    writing: WriteArgs,
) -> PyResult<()> {
    let order = match order {
        None => None,
        Some("C") => Some(Order::C),
        Some("F") => Some(Order::Fortran),
        Some(_) => return Err(PyValueError::new_err("expected order 'C' or 'F'")),
    };
    let dtype = match dtype {
        None => None,
        Some((descr, casting)) => {
            let casting = match casting {
                "safe" => Casting::Safe,
                "same_kind" => Casting::SameKind,
                "unsafe" => Casting::Unsafe,
                _ => {
                    let text = "expected casting 'safe', 'same_kind' or 'unsafe'";
                    return Err(PyValueError::new_err(text));
                }
            };
            Some((descr.parse::<DType>().map_err(|error| to_py_err(py, &error))?, casting))
        }
    };
    run(py, u64::MAX, |cancel| {
        let mut conversion = Conversion::new().write_options(writing.options(&CancelToken::default()));
        if let Some(order) = order {
            conversion = conversion.order(order);
        }
        if let Some((dtype, casting)) = dtype {
            conversion = conversion.dtype(dtype, casting);
        }
        if let Some(callback) = cancel.callback() {
            conversion = conversion.progress(callback);
        }
        match formats {
            ("ra", _) => convert_ra_to_npy(&from_, &to, conversion),
            (_, "ra") => convert_npy_to_ra(&from_, &to, conversion),
            _ => convert_npy(&from_, &to, conversion),
        }
    })
}

/// Joins files along an axis, in bounded memory.
#[pyfunction]
pub(crate) fn concatenate(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    axis: usize,
    is_new_axis: bool,
    writing: WriteArgs,
) -> PyResult<()> {
    run(py, u64::MAX, |cancel| {
        let mut conversion = Conversion::new().write_options(writing.options(&CancelToken::default()));
        if let Some(callback) = cancel.callback() {
            conversion = conversion.progress(callback);
        }
        match is_new_axis {
            true => stack_npy(&paths, &out, axis, conversion),
            false => concatenate_npy(&paths, &out, axis, conversion),
        }
    })
}
