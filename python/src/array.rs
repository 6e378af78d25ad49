//! A lazy array: a file whose elements are read when they are asked for.

use ndarray::SliceInfoElem;
use ndarray_io::header::Order;
use ndarray_io::{DynArray, NpyFile};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::memory::fill_array;
use crate::options::ReadArgs;
use crate::work::run;

/// An opened array.
#[pyclass(frozen, module = "ndarray_io._native")]
pub(crate) struct Array {
    file: NpyFile,
    reading: ReadArgs,
    /// How many bytes a read of a part may look at, if that is more than it returns.
    max_read_bytes: u64,
}

/// One axis of a slice: an index, or the first and the last position and the step, which may be negative.
#[derive(FromPyObject)]
enum AxisSlice {
    #[pyo3(transparent)]
    Index(isize),
    #[pyo3(transparent)]
    Range((isize, isize, isize)),
}

impl AxisSlice {
    /// Converts Python's range, which begins with the first element, to ndarray's, which begins with the lowest one.
    fn to_slice_element(&self) -> SliceInfoElem {
        match *self {
            Self::Index(index) => SliceInfoElem::Index(index),
            Self::Range((first, last, step)) => {
                let (low, high) = (first.min(last), first.max(last));
                SliceInfoElem::Slice { start: low, end: Some(high + 1), step }
            }
        }
    }
}

impl Array {
    pub(crate) fn new(file: NpyFile, reading: ReadArgs) -> Self {
        Self { file, reading, max_read_bytes: 0 }
    }

    /// Sets how many bytes a read of a part may look at.
    pub(crate) fn with_max_read_bytes(self, max_read_bytes: u64) -> Self {
        Self { max_read_bytes, ..self }
    }

    /// Reads all of it into a new array.
    pub(crate) fn read<'py>(&self, py: Python<'py>, make: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.file.shape().to_vec();
        let new = make.call1((shape, self.descr(), self.fortran_order(), py.None()))?;
        self.read_into(py, new.cast::<PyUntypedArray>()?, None)?;
        Ok(new)
    }
}

#[pymethods]
impl Array {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.file.shape())
    }

    /// The dtype as in a header of NPY.
    #[getter]
    fn descr(&self) -> String {
        self.file.dtype().to_string()
    }

    #[getter]
    fn fortran_order(&self) -> bool {
        self.file.order() == Order::Fortran
    }

    /// The position of the elements in the file if they are stored there as they are: for maps.
    fn offset_in_file(&self, py: Python<'_>) -> PyResult<u64> {
        if self.file.ra_header().is_some() {
            run(py, 0, |_| self.file.check_complete())?;
        }
        Ok(self.file.offset_in_source())
    }

    /// Whether the file has more bytes than the array.
    fn has_grown(&self, py: Python<'_>) -> PyResult<bool> {
        let extent = run(py, 0, |_| self.file.extent())?;
        Ok(extent.trailing().is_some_and(|bytes| bytes > 0))
    }

    /// Reads a slice, or everything, into a new array.
    #[pyo3(signature = (into, slice = None))]
    fn read_into(
        &self,
        py: Python<'_>,
        into: &Bound<'_, PyUntypedArray>,
        slice: Option<Vec<AxisSlice>>,
    ) -> PyResult<()> {
        let slice: Option<Vec<SliceInfoElem>> =
            slice.map(|axes| axes.iter().map(AxisSlice::to_slice_element).collect());
        fill_array(into, |memory| {
            run(py, self.max_read_bytes.max(memory.len() as u64), |cancel| {
                let options = self.reading.options(cancel);
                let file = self.file.with_options(&options);
                match &slice {
                    Some(slice) => file.slice_into_bytes::<&[SliceInfoElem]>(slice, memory, None),
                    None => file.read_into_bytes(memory, None),
                }
            })
        })?
    }

    /// Reads listed indices of an axis into a new array.
    fn take_into(
        &self,
        py: Python<'_>,
        into: &Bound<'_, PyUntypedArray>,
        axis: usize,
        indices: Vec<usize>,
    ) -> PyResult<()> {
        fill_array(into, |memory| {
            run(py, self.max_read_bytes.max(memory.len() as u64), |cancel| {
                let options = self.reading.options(cancel);
                let taken: DynArray = self.file.with_options(&options).take(axis, &indices)?;
                if !self.reading.allow_invalid {
                    taken.check()?;
                }
                if taken.bytes().len() == memory.len() {
                    memory.copy_from_slice(taken.bytes());
                }
                Ok(taken.bytes().len() == memory.len())
            })
        })??
        .then_some(())
        .ok_or_else(|| PyValueError::new_err("the new array has another size"))
    }
}
