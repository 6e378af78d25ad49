//! An opened archive.

use ndarray_io::npz::NpzMember;
use ndarray_io::{DynArray, NpzFile};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::Array;
use crate::load::objects_from_bytes;
use crate::memory::fill_array;
use crate::options::ReadArgs;
use crate::work::run;

/// An archive of NPY members.
#[pyclass(frozen, module = "ndarray_io._native")]
pub(crate) struct Archive {
    pub(crate) file: NpzFile,
    pub(crate) reading: ReadArgs,
}

#[pymethods]
impl Archive {
    /// The names of the members as in the archive.
    fn file_names(&self) -> Vec<&str> {
        self.file.members().iter().map(|member| member.file_name()).collect()
    }

    /// Size, stored size and method of a member, and whether it is encrypted.
    fn facts(&self, index: usize) -> PyResult<(u64, u64, String, bool)> {
        let member = self.file.members().get(index);
        let member = member.ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("no such member"))?;
        let method = member.method().to_string();
        Ok((member.size(), member.compressed_size(), method, member.is_encrypted()))
    }

    fn holds_array(&self, py: Python<'_>, index: usize) -> PyResult<bool> {
        run(py, 0, |_| self.file.holds_array(index))
    }

    /// Returns the bytes of a member that is not an array.
    fn raw<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = run(py, u64::MAX, |cancel| {
            self.file.with_options(&self.reading.options(cancel)).read_raw(index)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads an array of a member: `make` makes a new array for a shape, a dtype and an order.
    fn read<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        make: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let header = run(py, 0, |_| self.file.peek(index))?.header;
        if header.dtype().has_object() {
            let member = run(py, u64::MAX, |cancel| {
                let file = self.file.with_options(&self.reading.options(cancel));
                if !self.reading.allow_objects {
                    file.read::<DynArray>(index)?; // whose error says what to do
                }
                file.read_raw(index)
            })?;
            let name = self.file.members()[index].file_name();
            return objects_from_bytes(py, &member, |error| error.at_member(name), make, &self.reading);
        }
        let is_fortran = header.order() == ndarray_io::header::Order::Fortran;
        let new = make.call1((header.shape().to_vec(), header.dtype().to_string(), is_fortran, py.None()))?;
        let array = new.cast::<PyUntypedArray>()?;
        fill_array(array, |memory| {
            run(py, memory.len() as u64, |cancel| {
                let file = self.file.with_options(&self.reading.options(cancel));
                file.read_into_bytes(index, memory, None)
            })
        })??;
        Ok(new)
    }

    /// Opens a member for reading parts.
    fn open(&self, py: Python<'_>, index: usize) -> PyResult<Array> {
        let file = run(py, u64::MAX, |cancel| {
            self.file.with_options(&self.reading.options(cancel)).open_member(index)
        })?;
        // A part of a member that is not stored may need all of it.
        let is_stored = |member: &&NpzMember| member.compressed_size() == member.size();
        let max_read_bytes = self
            .file
            .members()
            .get(index)
            .filter(|member| !is_stored(member))
            .map_or(0, |member| member.size());
        Ok(Array::new(file, self.reading.clone()).with_max_read_bytes(max_read_bytes))
    }

    /// Checks all members; returns what was found that is not an error.
    fn verify(&self, py: Python<'_>) -> PyResult<Vec<(usize, String)>> {
        let remarks =
            run(py, u64::MAX, |cancel| self.file.with_options(&self.reading.options(cancel)).verify())?;
        Ok(remarks.into_iter().map(|(index, remark)| (index, remark.to_string())).collect())
    }
}
