//! Appending rows to a file.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ndarray_io::options::Uncommitted;
use ndarray_io::{DType, DynArray, NpyWriter, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::to_py_err;
use crate::save::{ArrayArgument, WriteArgs};
use crate::work::{CancelToken, run};

type RowWriter = NpyWriter<DynArray, File>;

/// A file to which rows are appended; it is locked until it is finished.
#[pyclass(frozen, module = "ndarray_io._native")]
pub(crate) struct Appender {
    writer: Mutex<Option<RowWriter>>,
    /// The dtype of the rows, as in a header.
    #[pyo3(get)]
    descr: String,
}

impl Appender {
    /// Does something with the writer, or with none if the file is finished.
    ///
    /// The lock is taken without the interpreter: a thread that waits for it does not keep others from running.
    fn with_writer<T: Send>(
        &self,
        py: Python<'_>,
        bytes: u64,
        call: impl FnOnce(&mut Option<RowWriter>) -> Option<Result<T>> + Send,
    ) -> PyResult<T> {
        run(py, bytes, |_| call(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner)).transpose())?
            .ok_or_else(|| PyValueError::new_err("the file is finished"))
    }
}

#[pymethods]
impl Appender {
    /// Appends one or several rows.
    fn push(&self, py: Python<'_>, rows: ArrayArgument<'_>) -> PyResult<()> {
        let lent = rows.lent()?;
        self.with_writer(py, lent.bytes, |writer| Some(writer.as_mut()?.push(&lent.view)))
    }

    /// Makes the rows that were appended so far part of the array.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.with_writer(py, 0, |writer| Some(writer.as_mut()?.commit()))
    }

    /// Completes the array.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.with_writer(py, 0, |writer| Some(writer.take()?.finish().map(drop)))
    }

    /// Removes the rows since the last commit, and ends.
    fn roll_back(&self, py: Python<'_>) -> PyResult<()> {
        self.with_writer(py, 0, |writer| Some(writer.take()?.roll_back().map(drop)))
    }
}

/// Opens a file to append rows; with a dtype and the shape of a row, it is created if there is none.
#[pyfunction]
pub(crate) fn append(
    py: Python<'_>,
    path: PathBuf,
    new: Option<(String, Vec<usize>)>,
    surplus: &str,
    writing: WriteArgs,
) -> PyResult<Appender> {
    let surplus = match surplus {
        "refuse" => Uncommitted::Refuse,
        "recover" => Uncommitted::Recover,
        "discard" => Uncommitted::Discard,
        _ => return Err(PyValueError::new_err("expected uncommitted='refuse', 'recover' or 'discard'")),
    };
    let new = match new {
        Some((descr, row)) => Some((descr.parse::<DType>().map_err(|error| to_py_err(py, &error))?, row)),
        None => None,
    };
    let writer = run(py, 0, |_| {
        let options = writing.options(&CancelToken::default());
        match &new {
            Some((dtype, row)) => {
                options.clone().uncommitted(surplus).append_or_create_dyn(&path, dtype, row)
            }
            None => options.clone().uncommitted(surplus).append_dyn(&path),
        }
    })?;
    let descr = writer.dtype().to_string();
    Ok(Appender { writer: Mutex::new(Some(writer)), descr })
}
