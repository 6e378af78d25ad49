//! Errors of the library as exceptions of Python.

use ndarray_io::Error;
use ndarray_io::error::{ErrorKind, LimitKind, escape_invisible};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Returns the exception for an error. Its class says what a program can do about it (`ndarray_io/_errors.py`).
pub(crate) fn to_py_err(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failure| failure)
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static MAKE_EXCEPTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
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
        error if matches!(error.kind(), ErrorKind::AlreadyExists) => "exists",
        error if error.is_conflict() => "conflict",
        error if error.is_not_found() => "not_found",
        error if error.is_io() => "io",
        error if error.is_format() => "format",
        error if error.is_mismatch() => "mismatch",
        _ => "usage",
    };
    let debug = format!("{:?}", error.kind());
    let kind = debug.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
    let make = MAKE_EXCEPTION
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("ndarray_io._errors")?.getattr("make")?.unbind()))?;
    let help = match error.kind() {
        ErrorKind::InvalidElement(_) => {
            Some("take the elements as they are, as NumPy does: verify=False".to_owned())
        }
        ErrorKind::Objects { .. } => help_text("allow-objects", error.kind()),
        _ => error.help().and_then(|help| help_text(help.id(), error.kind())),
    };
    let made = make.call1(
        py,
        (
            class,
            kind,
            escape_invisible(&error.to_string()),
            help,
            error.raw_os_error(),
            error.path(),
            error.member(),
        ),
    )?;
    Ok(PyErr::from_value(made.into_bound(py)))
}

/// Returns what to do about an error in the words of this package; `None` if there is nothing that its functions can do.
fn help_text(id: &str, kind: &ErrorKind) -> Option<String> {
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
        "raise-limit" => {
            let ErrorKind::Limit { limit_kind, .. } = kind else { return None };
            let name = match limit_kind {
                LimitKind::HeaderBytes => "header",
                LimitKind::PayloadBytes => "payload",
                LimitKind::Objects => "objects",
                LimitKind::ObjectNesting => "object_height",
                LimitKind::Expansion => "expansion",
                LimitKind::Nesting
                | LimitKind::RecordNesting
                | LimitKind::Dimensions
                | LimitKind::Nodes
                | LimitKind::Copies
                | LimitKind::Digits
                | LimitKind::EmptyItems => return None, // cannot be raised
                _ => return None,
            };
            return Some(format!("raise the limit with limits={{\"{name}\": ...}}"));
        }
        _ => return None,
    };
    Some(text.to_owned())
}
