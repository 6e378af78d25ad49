//! Opening and reading files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ndarray_io::bytes::{InMemory, LocalFile, ReadAt};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{DynArray, Error, NpyFile, NpzFile, Result, npy};
use ndarray_io_formats::scan::KnownFormats;
use ndarray_io_store::Remote;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyEOFError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::archive::Archive;
use crate::array::Array;
use crate::error::to_py_err;
use crate::memory::fill_array;
use crate::objects::{pickle_to_python, to_python};
use crate::options::ReadArgs;
use crate::stream::{FileObject, SeekableFileObject};
use crate::work::{CancelToken, run, run_in_this_thread};

/// What a file is by its first bytes.
#[derive(Clone, Copy, PartialEq)]
enum InputKind {
    Archive,
    Ra,
    /// A pickle: anything that is nothing else, if objects are allowed, as in NumPy.
    Pickle,
    Npy,
}

impl InputKind {
    fn of(first: &[u8], reading: &ReadArgs) -> Self {
        match first {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Self::Archive,
            b"rawarray" | b"yarrawar" => Self::Ra,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] | [] => Self::Npy,
            _ if reading.allow_objects => Self::Pickle,
            _ => Self::Npy, // whose error says what it is
        }
    }
}

/// Reads the first bytes of a file, and goes back.
fn first_bytes(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut first = Vec::new();
    Read::by_ref(file).take(8).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(first)
}

/// Opens a file, and finds its kind.
fn open_with_kind(py: Python<'_>, path: &Path, reading: &ReadArgs) -> PyResult<(File, InputKind)> {
    let opened = || {
        let mut file = File::open(path)?;
        let first = first_bytes(&mut file)?;
        Ok((file, first))
    };
    let (file, first) =
        run(py, 0, |_| opened().map_err(|error: std::io::Error| Error::from(error).at_path(path)))?;
    match first.is_empty() {
        true => Err(PyEOFError::new_err(format!("{}: No data left in file", path.display()))), // as in NumPy
        false => Ok((file, InputKind::of(&first, reading))),
    }
}

/// Reads an array, or opens an archive: `make` makes new arrays.
#[pyfunction]
pub(crate) fn load<'py>(
    py: Python<'py>,
    path: PathBuf,
    make: &Bound<'py, PyAny>,
    reading: ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(url) = url_of(&path)
        && reading.allow_objects
        && let Some(bytes) = fetch_pickled_objects(py, url, &reading)?
    {
        let locate = |error: Error| error.at_path(url);
        return match InputKind::of(&bytes[..bytes.len().min(8)], &reading) {
            InputKind::Pickle => pickle_from_bytes(py, &bytes, locate, make, &reading),
            _ => objects_from_bytes(py, &bytes, locate, make, &reading),
        };
    }
    if url_of(&path).is_some() || path.is_dir() {
        let opened = open(py, path, reading)?;
        return match opened.cast::<Array>() {
            Ok(array) => array.get().read(py, make),
            Err(_) => Ok(opened),
        };
    }
    let (file, kind) = open_with_kind(py, &path, &reading)?;
    let locate = |error: Error| error.at_path(&path);
    match kind {
        InputKind::Archive => open_archive(py, NpzSource::File(file, path), reading),
        InputKind::Ra => Array::new(open_array_file(py, file, &path, &reading)?, reading).read(py, make),
        InputKind::Npy => {
            let second_handle = file.try_clone();
            match run(py, 0, |_| Ok(reading.options(&CancelToken::default()).open_file(file)))? {
                Ok(file) => Array::new(file.with_path(path), reading).read(py, make),
                // Objects have no parts: they are read as a whole.
                Err(error) if reading.allow_objects && error.kind() == ErrorKind::Objects => {
                    let bytes = run(py, 0, |_| Ok(read_whole(second_handle?)?))?;
                    objects_from_bytes(py, &bytes, locate, make, &reading)
                }
                Err(error) => Err(to_py_err(py, &locate(error))),
            }
        }
        InputKind::Pickle => {
            let bytes = run(py, 0, |_| Ok(read_whole(file)?))?;
            pickle_from_bytes(py, &bytes, locate, make, &reading)
        }
    }
}

/// Reads all of a file.
fn read_whole(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Fetches an object of a store if it is a pickle, or an array of objects, which has no parts.
fn fetch_pickled_objects(py: Python<'_>, url: &str, reading: &ReadArgs) -> PyResult<Option<Vec<u8>>> {
    run(py, u64::MAX, |cancel| {
        let remote = reading.remote(url)?;
        let (first, _) = remote.first_bytes()?;
        let has_objects = match InputKind::of(&first[..first.len().min(8)], reading) {
            InputKind::Pickle => true,
            InputKind::Npy => match remote.open_array_with(&reading.options(cancel)) {
                Err(error) => error.kind() == ErrorKind::Objects,
                Ok(_) => false,
            },
            _ => false,
        };
        if !has_objects {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        remote.copy_to(&mut bytes)?;
        Ok(Some(bytes))
    })
}

/// Reads the pickle in these bytes.
fn pickle_from_bytes<'py>(
    py: Python<'py>,
    bytes: &[u8],
    locate: impl Fn(Error) -> Error + Send + Sync,
    make: &Bound<'py, PyAny>,
    reading: &ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    let pickle = run(py, u64::MAX, |cancel| reading.options(cancel).unpickle(bytes).map_err(&locate))?;
    pickle_to_python(py, &pickle, make, reading)
}

/// Reads the array of objects in the bytes of a file of NPY.
///
/// Its pickle may be of something else, such as a masked array: that is loaded as the pickle is.
pub(crate) fn objects_from_bytes<'py>(
    py: Python<'py>,
    bytes: &[u8],
    locate: impl Fn(Error) -> Error + Send + Sync,
    make: &Bound<'py, PyAny>,
    reading: &ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    let array = run(py, u64::MAX, |cancel| {
        let read = reading.options(cancel).reader(bytes).and_then(|mut reader| reader.read());
        match read {
            Ok(array) => Ok(Some(array)),
            Err(error) if is_pickle_of_other_object(&error) => Ok(None),
            Err(error) => Err(locate(error)),
        }
    })?;
    match array {
        Some(array) => to_python(py, &array, make, reading),
        None => {
            let pickle = run(py, 0, |_| pickle_after_header(bytes))?;
            pickle_from_bytes(py, pickle, locate, make, reading)
        }
    }
}

/// Whether an array of objects cannot be read because its pickle is of something else.
fn is_pickle_of_other_object(error: &Error) -> bool {
    error.help().is_some_and(|help| help.id() == "read-pickle")
}

/// Returns the pickle in the bytes of a file of NPY.
fn pickle_after_header(bytes: &[u8]) -> Result<&[u8]> {
    match npy::parse(bytes)? {
        ndarray_io::header::Parsed::Done(_, used) => Ok(&bytes[used..]),
        _ => Err(Error::new(ErrorKind::BadSource, "the file has no header")),
    }
}

/// Opens a file of one array.
fn open_array_file(py: Python<'_>, file: File, path: &Path, reading: &ReadArgs) -> PyResult<NpyFile> {
    run(py, 0, |_| {
        let file = reading.options(&CancelToken::default()).open_file(file);
        file.map(|file| file.with_path(path)).map_err(|error| error.at_path(path))
    })
}

/// Where the bytes of an archive are.
enum NpzSource {
    File(File, PathBuf),
    Bytes(Box<dyn ReadAt>),
}

fn open_archive<'py>(py: Python<'py>, source: NpzSource, reading: ReadArgs) -> PyResult<Bound<'py, PyAny>> {
    let file = run(py, 0, |_| {
        let options = reading.options(&CancelToken::default());
        match source {
            NpzSource::File(file, path) => match options.open_npz_file(file) {
                Ok(file) => Ok(file.with_path(path)),
                Err(error) => Err(error.at_path(&path)),
            },
            NpzSource::Bytes(source) => options.open_npz_source(source),
        }
    })?;
    Ok(Archive { file, reading }.into_pyobject(py)?.into_any())
}

/// Returns the URL if a path is one.
pub(crate) fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| Remote::is_url(path))
}

/// Opens an object in a store or on a web server.
fn open_url<'py>(py: Python<'py>, url: &str, reading: ReadArgs) -> PyResult<Bound<'py, PyAny>> {
    enum StoreObject {
        Array(Box<NpyFile>),
        Archive(NpzFile),
    }
    let object = run(py, u64::MAX, |cancel| {
        let (remote, options) = (reading.remote(url)?, reading.options(cancel));
        let (first, _) = remote.first_bytes()?;
        Ok(match InputKind::of(&first[..first.len().min(8)], &ReadArgs::default()) {
            InputKind::Archive => StoreObject::Archive(remote.open_npz_with(&options)?),
            _ => StoreObject::Array(Box::new(remote.open_array_with(&options)?)),
        })
    })?;
    match object {
        StoreObject::Archive(file) => Ok(Archive { file, reading }.into_pyobject(py)?.into_any()),
        // A request takes long, however little it fetches.
        StoreObject::Array(file) => {
            Ok(Array::new(*file, reading).with_max_read_bytes(u64::MAX).into_pyobject(py)?.into_any())
        }
    }
}

/// Opens a file whose elements are read when they are asked for.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf, reading: ReadArgs) -> PyResult<Bound<'_, PyAny>> {
    if let Some(url) = url_of(&path) {
        return open_url(py, url, reading);
    }
    if path.is_dir() {
        let stack = run(py, 0, |_| reading.options(&CancelToken::default()).open_stack(&path))?;
        return Ok(Array::new(stack.into_file(), reading).into_pyobject(py)?.into_any());
    }
    let (file, kind) = open_with_kind(py, &path, &reading)?;
    let array = match kind {
        InputKind::Archive => return open_archive(py, NpzSource::File(file, path), reading),
        _ => open_array_file(py, file, &path, &reading)?,
    };
    Ok(Array::new(array, reading).into_pyobject(py)?.into_any())
}

/// Opens what a file object or bytes contain.
#[pyfunction]
#[pyo3(signature = (source, reading, start = 0, is_archive = false))]
pub(crate) fn open_source<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    reading: ReadArgs,
    start: u64,
    is_archive: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let source: Box<dyn ReadAt> = match source.cast::<PyBytes>() {
        Ok(bytes) => Box::new(InMemory(bytes.as_bytes().to_vec())),
        Err(_) => Box::new(SeekableFileObject::new(source.clone().unbind(), start)),
    };
    let (source, kind) = run(py, 0, |_| {
        let mut first = [0; 8];
        let filled = ndarray_io::bytes::fill_at(&*source, &mut first, 0)?;
        let kind = if is_archive { InputKind::Archive } else { InputKind::of(&first[..filled], &reading) };
        Ok((source, kind))
    })?;
    let options = reading.options(&CancelToken::default());
    let array = match kind {
        InputKind::Archive => return open_archive(py, NpzSource::Bytes(source), reading),
        _ => run(py, 0, |_| options.open_source(source))?,
    };
    Ok(Array::new(array, reading).into_pyobject(py)?.into_any())
}

/// Reads the array that begins at the position of a file object, which is after it in the end.
#[pyfunction]
pub(crate) fn load_stream<'py>(
    py: Python<'py>,
    stream: Py<PyAny>,
    make: &Bound<'py, PyAny>,
    reading: ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    let options = reading.options(&CancelToken::default());
    let bytes_read = Arc::new(Mutex::new(reading.allow_objects.then(Vec::new)));
    let recorded = RecordingStream { stream: FileObject(stream), bytes_read: Arc::clone(&bytes_read) };
    let mut reader = run_in_this_thread(py, || options.reader(recorded))?;
    if reader.dtype().has_object() {
        // Another array may follow: only the reader knows where this one ends.
        let array = run_in_this_thread(py, || match reader.read::<DynArray>() {
            Err(error) if is_pickle_of_other_object(&error) => Ok(None),
            read => read.map(Some),
        })?;
        return match array {
            Some(array) => to_python(py, &array, make, &reading),
            None => {
                let bytes =
                    bytes_read.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
                let pickle = run(py, 0, |_| pickle_after_header(&bytes))?;
                pickle_from_bytes(py, pickle, |error| error, make, &reading)
            }
        };
    }
    *bytes_read.lock().unwrap_or_else(PoisonError::into_inner) = None; // plain elements are not kept
    let is_fortran = reader.order() == Order::Fortran;
    let new = make.call1((reader.shape().to_vec(), reader.dtype().to_string(), is_fortran, py.None()))?;
    fill_array(new.cast::<PyUntypedArray>()?, |memory| {
        run_in_this_thread(py, || reader.read_into_bytes(memory, None))
    })??;
    Ok(new)
}

/// A stream of which what has been read is kept, if it may be a pickle.
struct RecordingStream {
    stream: FileObject,
    bytes_read: Arc<Mutex<Option<Vec<u8>>>>,
}

impl Read for RecordingStream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(into)?;
        if let Some(bytes_read) = &mut *self.bytes_read.lock().unwrap_or_else(PoisonError::into_inner) {
            bytes_read.extend_from_slice(&into[..count]);
        }
        Ok(count)
    }
}

/// Reads a pickle as data.
#[pyfunction]
pub(crate) fn load_pickle<'py>(
    py: Python<'py>,
    pickle: &[u8],
    make: &Bound<'py, PyAny>,
    reading: ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    pickle_from_bytes(py, pickle, |error| error, make, &reading)
}

/// Lists what Python would look up to load the pickles of a file: member, name, and whether it is usual in data; and what was not
/// looked at, as names that are not usual.
#[pyfunction]
pub(crate) fn scan(py: Python<'_>, path: PathBuf) -> PyResult<Vec<(Option<String>, String, bool)>> {
    let reading = ReadArgs { allow_objects: true, ..ReadArgs::default() };
    let (file, _) = open_with_kind(py, &path, &reading)?;
    run(py, u64::MAX, |cancel| {
        let scanned = ndarray_io::scan::scan(LocalFile(file), &reading.options(cancel), &[&KnownFormats])
            .map_err(|error| error.at_path(&path))?;
        let member = |name: String| Some(name).filter(|name| !name.is_empty());
        let mut rows = Vec::new();
        for pickle in scanned.pickles {
            let names = pickle.names.into_iter().map(|name| (name.name, name.is_usual));
            let codes = pickle.extension_codes.iter().map(|code| (format!("extension code {code}"), false));
            rows.extend(
                names.chain(codes).map(|(name, is_usual)| (member(pickle.member.clone()), name, is_usual)),
            );
        }
        let unseen = scanned.unseen.into_iter();
        rows.extend(
            unseen.map(|unseen| (member(unseen.member), format!("not looked at: {}", unseen.reason), false)),
        );
        Ok(rows)
    })
}
