//! Errors of the library as exceptions of Python.

use ndarray_io::Error;
use ndarray_io::error::{ErrorKind, escape_invisible};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns the exception for an error. Its class says what a program can do about it (`ndarray_io/_errors.py`).
pub(crate) fn to_py_err(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failure| failure)
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static MAKE_EXCEPTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Some(io) = error.as_io()
        && let Some(raised) = io.get_ref().and_then(|inner| inner.downcast_ref::<PyErr>())
    {
        // A file object of Python has raised it.
        return Ok(raised.clone_ref(py));
    }
    let os_code = error.as_io().and_then(std::io::Error::raw_os_error);
    let class = match error {
        _ if os_code.is_some() => "os",
        error if error.kind() == ErrorKind::NoSuchName => "key",
        error if error.is_cancelled() => "cancelled",
        error if error.is_limit() => "limit",
        error if error.kind() == ErrorKind::AlreadyExists => "exists",
        error if error.is_conflict() => "conflict",
        error if error.is_not_found() => "not_found",
        error if error.is_io() => "io",
        error if error.is_format() => "format",
        error if error.is_mismatch() => "mismatch",
        _ => "usage",
    };
    let kind = format!("{:?}", error.kind());
    let make = MAKE_EXCEPTION
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("ndarray_io._errors")?.getattr("make")?.unbind()))?;
    let help = match error.kind() {
        ErrorKind::Malformed if error.element().is_some() => {
            Some("take the elements as they are, as NumPy does: verify=False".to_owned())
        }
        ErrorKind::Objects => help_text("allow-objects"),
        _ => error.help().and_then(|help| help_text(help.id())),
    };
    let made = make.call1(
        py,
        (class, kind, escape_invisible(&error.to_string()), help, os_code, error.path(), error.member()),
    )?;
    Ok(PyErr::from_value(made.into_bound(py)))
}

/// Returns what to do about an error in the words of this package; `None` if there is nothing that its functions can do.
fn help_text(id: &str) -> Option<String> {
    let limit = |name| Some(format!("raise the limit with limits={{\"{name}\": ...}}"));
    let text = match id {
        "allow-objects" => {
            "load it with allow_pickle=True: Python objects are read as data, and nothing is executed"
        }
        "map" => "map the file: load it with mmap_mode='r'",
        "password" => "pass the right password: password=...",
        "finish-archive" => "copy all of the file: its end is missing",
        "replace-member" => "give it another name, or set it in update()",
        "replace" => "leave create_new=True out to replace it",
        "wait-for-lock" => "another writer has it open: try again later",
        "drop-trailing" => "load the arrays one after the other from a file object",
        "raise-header-limit" => return limit("header"),
        "raise-payload-limit" => return limit("payload"),
        "raise-objects-limit" => return limit("objects"),
        "raise-object-height-limit" => return limit("object_height"),
        "raise-expansion-limit" => return limit("expansion"),
        _ => return None,
    };
    Some(text.to_owned())
}
