//! Options for reading, as Python passes them.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray_io::options::OldText;
use ndarray_io::{Limits, ReadOptions, Result};
use ndarray_io_store::{Remote, StoreOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::work::CancelToken;

/// How files are read.
#[derive(Clone, Default, FromPyObject)]
pub(crate) struct ReadArgs {
    pub(crate) allow_objects: bool,
    pub(crate) threads: Option<usize>,
    pub(crate) limits: Option<LimitsArg>,
    pub(crate) password: Option<Vec<u8>>,
    /// Whether elements are taken as they are.
    pub(crate) allow_invalid: bool,
    /// How a `str` of Python 2 is read, if not by what it contains: `latin1` or `bytes`.
    pub(crate) old_text: Option<String>,
    /// The classes and functions that may be called to make objects.
    pub(crate) listed: Option<AllowedGlobals>,
    /// Options of a store, such as its endpoint and credentials.
    pub(crate) store: Option<HashMap<String, String>>,
}

#[derive(Clone)]
pub(crate) struct LimitsArg(Limits);

/// A dict of Python, which is shared.
#[derive(Clone)]
pub(crate) struct AllowedGlobals(Arc<Py<PyDict>>);

impl<'py> FromPyObject<'_, 'py> for AllowedGlobals {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Arc::new(object.cast::<PyDict>()?.to_owned().unbind())))
    }
}

impl<'py> FromPyObject<'_, 'py> for LimitsArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut limits = Limits::new();
        for (name, value) in object.cast::<PyDict>()?.iter() {
            let value: u64 = value.extract()?;
            limits = match name.extract::<String>()?.as_str() {
                "header" => limits.header(value),
                "payload" => limits.payload(value),
                "objects" => limits.objects(value),
                "object_height" => limits.object_height(value.try_into()?),
                "expansion" => limits.expansion(value),
                name => return Err(PyTypeError::new_err(format!("unknown limit {name:?}"))),
            };
        }
        Ok(Self(limits))
    }
}

/// Returns the object of a URL, with options of its store.
pub(crate) fn remote(url: &str, store: &Option<HashMap<String, String>>) -> Result<Remote> {
    let options = store.iter().flatten();
    Remote::parse_with(url, &options.fold(StoreOptions::new(), |all, (key, value)| all.set(key, value)))
}

impl ReadArgs {
    /// Returns the object of a URL.
    pub(crate) fn remote(&self, url: &str) -> Result<Remote> {
        remote(url, &self.store)
    }

    /// Returns whether classes or functions are listed.
    pub(crate) fn allows_globals(&self) -> bool {
        self.listed.is_some()
    }

    /// Returns the classes and functions that may be called to make objects, by their names.
    pub(crate) fn bind_allowed_globals<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyDict>> {
        self.listed.as_ref().map(|AllowedGlobals(dict)| dict.bind(py).clone())
    }

    pub(crate) fn options(&self, cancel: &CancelToken) -> ReadOptions {
        let mut options = ReadOptions::new()
            .allow_objects(self.allow_objects)
            .allow_invalid_elements(self.allow_invalid)
            .old_text(match self.old_text.as_deref() {
                Some("latin1") => OldText::Latin1,
                Some("bytes") => OldText::Bytes,
                _ => OldText::AsciiOrBytes,
            });
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(LimitsArg(limits)) = &self.limits {
            options = options.limits(*limits);
        }
        if let Some(password) = &self.password {
            options = options.password(password);
        }
        match cancel.callback() {
            Some(callback) => options.progress(callback),
            None => options,
        }
    }
}
