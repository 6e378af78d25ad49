//! Options for reading, as Python passes them.

use std::collections::HashMap;

use ndarray_io::{Limits, ReadOptions, Result};
use ndarray_io_store::{Remote, StoreOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::work::Cancel;

/// How files are read.
#[derive(Clone, Default, FromPyObject)]
pub(crate) struct Reading {
    pub(crate) allow_objects: bool,
    pub(crate) threads: Option<usize>,
    pub(crate) limits: Option<BoundLimits>,
    pub(crate) password: Option<Vec<u8>>,
    /// Options of a store, such as its endpoint and credentials.
    pub(crate) store: Option<HashMap<String, String>>,
}

#[derive(Clone)]
pub(crate) struct BoundLimits(Limits);

impl<'py> FromPyObject<'_, 'py> for BoundLimits {
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

impl Reading {
    /// Returns the object of a URL.
    pub(crate) fn remote(&self, url: &str) -> Result<Remote> {
        let options = self.store.iter().flatten();
        Remote::parse_with(url, &options.fold(StoreOptions::new(), |all, (key, value)| all.set(key, value)))
    }

    pub(crate) fn options(&self, cancel: &Cancel) -> ReadOptions {
        let mut options = ReadOptions::new().allow_objects(self.allow_objects);
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(BoundLimits(limits)) = &self.limits {
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
