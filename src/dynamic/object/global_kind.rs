//! The classes and functions whose calls have a meaning of their own here.

/// The meaning of a class or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobalKind {
    Unknown,
    Complex,
    Set,
    FrozenSet,
    ByteArray,
    Encode,
    Bytes,
    Decimal,
    Timedelta,
    Date,
    Time,
    Datetime,
    NumpyReconstruct,
    NdArray,
    Scalar,
    FromBuffer,
    /// An array of `joblib.dump`, which follows.
    JoblibArray,
    /// What creates instances before protocol 2, from their class.
    CopyregReconstructor,
}

impl GlobalKind {
    pub(super) fn of(module: &str, name: &str) -> Self {
        match (module, name) {
            ("builtins", "complex") => Self::Complex,
            ("builtins", "set") => Self::Set,
            ("builtins", "frozenset") => Self::FrozenSet,
            ("builtins", "bytearray") => Self::ByteArray,
            ("builtins", "bytes") => Self::Bytes,
            ("_codecs", "encode") => Self::Encode,
            ("decimal", "Decimal") => Self::Decimal,
            ("datetime", "timedelta") => Self::Timedelta,
            ("datetime", "date") => Self::Date,
            ("datetime", "time") => Self::Time,
            ("datetime", "datetime") => Self::Datetime,
            ("numpy", "ndarray") => Self::NdArray,
            ("copyreg", "_reconstructor") => Self::CopyregReconstructor,
            ("numpy._core.multiarray" | "numpy.core.multiarray", "scalar") => Self::Scalar,
            ("numpy._core.numeric" | "numpy.core.numeric", "_frombuffer") => Self::FromBuffer,
            name if is_numpy_reconstruct(name) => Self::NumpyReconstruct,
            (module, name) if is_joblib_array_inline(module, name) == Some(true) => Self::JoblibArray,
            _ => Self::Unknown,
        }
    }
}

/// Returns whether this is the name of NumPy's function for creating arrays, in any version of NumPy.
pub(super) fn is_numpy_reconstruct((module, name): (&str, &str)) -> bool {
    const MODULES: [&str; 4] =
        ["numpy._core.multiarray", "numpy.core.multiarray", "numpy.core._internal", "numpy._core._internal"];
    name == "_reconstruct" && MODULES.contains(&module)
}

/// Returns whether this is a class of joblib that describes an array, and whether the array follows.
pub(super) fn is_joblib_array_inline(module: &str, name: &str) -> Option<bool> {
    match (module.strip_prefix("sklearn.externals.").unwrap_or(module), name) {
        ("joblib.numpy_pickle", "NumpyArrayWrapper") => Some(true),
        ("joblib.numpy_pickle" | "joblib.numpy_pickle_compat", "NDArrayWrapper" | "ZNDArrayWrapper") => {
            Some(false)
        }
        _ => None,
    }
}
