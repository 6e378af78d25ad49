//! The native part of the Python package `ndarray_io`: what moves bytes. Signatures, defaults and NumPy's rules for indices are in
//! `ndarray_io/*.py`.

mod append;
mod archive;
mod array;
mod error;
mod load;
mod memory;
mod objects;
mod options;
mod refs;
mod save;
mod stream;
mod work;

use pyo3::prelude::*;

// The interpreter lock is used: the memory of arrays is looked at under it.
#[pymodule]
mod _native {
    use super::{PyModule, PyModuleMethods as _};
    use pyo3::exceptions::PyImportError;
    use pyo3::{ffi, prelude::*};

    #[pymodule_export]
    use super::append::{Appender, append};
    #[pymodule_export]
    use super::archive::Archive;
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::load::{load, load_pickle, load_stream, open, open_source, scan};
    #[pymodule_export]
    use super::refs::refs;
    #[pymodule_export]
    use super::save::{
        concatenate, convert, header, parse, save, save_archive, save_archive_stream, save_bytes,
        save_stream, update,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // What PyO3 keeps in statics belongs to one interpreter, and PyO3 0.30 does not check which.
        // SAFETY: this thread runs in an interpreter.
        let interpreter = unsafe { ffi::PyInterpreterState_Get() };
        // SAFETY: an interpreter that runs.
        if unsafe { ffi::PyInterpreterState_GetID(interpreter) } != 0 {
            return Err(PyImportError::new_err(
                "ndarray_io works in the main interpreter only, not in subinterpreters",
            ));
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
