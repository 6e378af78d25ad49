//! Errors of the library as exceptions of Python.

use ndarray_io::Error;
use ndarray_io::error::ErrorKind;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns the exception for an error. Its class says what a program can do about it (`ndarray_io/_errors.py`).
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failure| failure)
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let ErrorKind::Io(io) = error.kind()
        && let Some(raised) = io.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>())
    {
        // A file object of Python has raised it.
        return Ok(raised.clone_ref(py));
    }
    let class = match error {
        error if error.raw_os_error().is_some() => "os",
        error if matches!(error.kind(), ErrorKind::NoSuchMember { .. } | ErrorKind::NoSuchField { .. }) => {
            "key"
        }
        error if error.is_cancelled() => "cancelled",
        error if error.is_limit() => "limit",
        error if error.is_conflict() => "conflict",
        error if error.is_not_found() || error.is_io() => "io",
        error if error.is_format() => "format",
        error if error.is_mismatch() => "mismatch",
        _ => "usage",
    };
    let debug = format!("{:?}", error.kind());
    let kind = debug.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
    let make = MAKE
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("ndarray_io._errors")?.getattr("make")?.unbind()))?;
    let help = error.help().map(|help| help.to_string());
    let made = make.call1(
        py,
        (class, kind, error.to_string(), help, error.raw_os_error(), error.path(), error.member()),
    )?;
    Ok(PyErr::from_value(made.into_bound(py)))
}
