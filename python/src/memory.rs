//! The memory of NumPy's arrays.

use ndarray_io::{DType, DynView};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::to_py_err;

/// Runs a function on the memory of a new array, which it fills.
///
/// The array must be contiguous, writeable, without Python objects, and known to the caller alone, as those that `numpy.empty` has just made.
pub(crate) fn fill_array<'py, T>(
    array: &Bound<'py, PyUntypedArray>,
    fill: impl FnOnce(&mut [u8]) -> T,
) -> PyResult<T> {
    let is_writeable: bool = array.getattr("flags")?.getattr("writeable")?.extract()?;
    if !array.is_contiguous() || !is_writeable || array.dtype().getattr("hasobject")?.extract()? {
        return Err(PyValueError::new_err("expected a new contiguous array of plain elements"));
    }
    let bytes = array.len() * array.dtype().getattr("itemsize")?.extract::<usize>()?;
    if bytes == 0 {
        return Ok(fill(&mut []));
    }
    let _guard = ResizeGuard::new(array)?;
    let first = first_element_ptr(array);
    // SAFETY: a contiguous array has `bytes` bytes from its first element on, which stay where they are as long as `array` is
    // borrowed. It is writeable and plain, so any bytes are valid; they come from an allocation outside of Rust, whose content is unknown
    // but not undefined. Nothing else uses them: the package passes only arrays that it has made for this call.
    let memory = unsafe { std::slice::from_raw_parts_mut(first, bytes) };
    Ok(fill(memory))
}

/// Keeps NumPy from moving the memory of an array: `resize` refuses an array to which there are weak references.
struct ResizeGuard {
    _reference: Py<PyAny>,
}

impl ResizeGuard {
    fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        static WEAKREF_CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = array.py();
        let mut owner = array.as_any().clone();
        while let Ok(base) = owner.getattr("base")?.cast_into::<PyUntypedArray>() {
            owner = base.into_any();
        }
        let weak = WEAKREF_CLASS
            .get_or_try_init(py, || Ok::<_, PyErr>(py.import("weakref")?.getattr("ref")?.unbind()))?;
        Ok(Self { _reference: weak.call1(py, (owner,))? })
    }
}

/// Returns the address of the first element.
fn first_element_ptr(array: &Bound<'_, PyUntypedArray>) -> *mut u8 {
    // SAFETY: the pointer is to an array, which exists as long as it is borrowed.
    let array = unsafe { &*array.as_array_ptr() };
    array.fields.data.cast()
}

/// An array that is lent to be written.
pub(crate) struct LentArray<'a> {
    _guard: ResizeGuard,
    pub(crate) view: DynView<'a>,
    pub(crate) bytes: u64,
}

/// Lends the elements of an array, of which `descr` is the dtype.
///
/// Nothing prevents other threads from changing the elements while they are saved. The file then has some of the changes, as with `numpy.save`; in
/// an archive without compression, the checksum may be that of other bytes.
pub(crate) fn lent<'a>(array: &'a Bound<'_, PyUntypedArray>, descr: &str) -> PyResult<LentArray<'a>> {
    let py = array.py();
    let dtype: DType = descr.parse().map_err(|error: ndarray_io::Error| to_py_err(py, &error))?;
    let size: usize = array.dtype().getattr("itemsize")?.extract()?;
    if dtype.has_object() || dtype.item_size() != size {
        let text = format!("expected elements of {size} bytes without Python objects, found dtype {dtype}");
        return Err(PyValueError::new_err(text));
    }
    let (shape, strides) = (array.shape(), array.strides());
    if array.len() == 0 || size == 0 {
        let view = DynView::new(&[], 0, dtype, shape.to_vec(), strides);
        let view = view.map_err(|error| to_py_err(py, &error))?;
        return Ok(LentArray { _guard: ResizeGuard::new(array)?, view, bytes: 0 });
    }
    let (mut low, mut high) = (0, size);
    for (length, stride) in shape.iter().zip(strides) {
        let far = (length - 1) * stride.unsigned_abs();
        if *stride < 0 { low += far } else { high += far }
    }
    // SAFETY: the lowest element begins `low` bytes before the first one, in the same allocation.
    let lowest = unsafe { first_element_ptr(array).sub(low) };
    // SAFETY: NumPy's strides say where the elements are: in the `low + high` bytes from there on. All of it is one allocation,
    // which `array` keeps, and which is not moved as long as it is held.
    let memory = unsafe { std::slice::from_raw_parts(lowest, low + high) };
    let view = DynView::new(memory, low, dtype, shape.to_vec(), strides);
    let view = view.map_err(|error| to_py_err(py, &error))?;
    Ok(LentArray { _guard: ResizeGuard::new(array)?, view, bytes: (array.len() * size) as u64 })
}
