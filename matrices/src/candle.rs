//! Tensors of `candle-core` 0.11, on the CPU.
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use ndarray_io_matrices::candle::{read_npy, write_npy};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("tensor.npy");
//! let tensor = Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
//! write_npy(&path, &tensor)?;
//! let again = read_npy(&path)?;
//! assert_eq!(again.to_vec2::<f32>().unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! Of its dtypes, `u8`, `u32`, `i16`, `i32`, `i64`, `f16`, `bf16`, `f32` and `f64` are read and written; others are refused, not converted. NumPy's files do not tell `bf16`
//! from other raw bytes of two bytes each: such files are read as `bf16`.

use std::path::Path;

use candle_core::{DType as Candle, Device, Tensor, WithDType};
use half::{bf16, f16};
use ndarray_io::dtype::Kind;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, DType, Error, FlatArray, NpyFile, ReadableElement, Result, WritableElement};

/// Reads a tensor of a file of NPY. One in Fortran order has strides; nothing is transposed.
///
/// # Errors
///
/// - Those of [`ndarray_io::read_npy`].
/// - [`NotConvertible`](ErrorKind::NotConvertible) if `candle` does not have the dtype.
pub fn read_npy<P: AsRef<Path>>(path: P) -> Result<Tensor> {
    from_file(&NpyFile::open(path.as_ref())?).map_err(|error| error.at_path(path.as_ref()))
}

/// Reads a tensor of an opened array: that of a file, of a member of an archive, or of safetensors.
///
/// # Errors
///
/// Those of [`read_npy`].
pub fn from_file(file: &NpyFile) -> Result<Tensor> {
    let scalar = file.dtype().as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
    match scalar {
        Some((Kind::Uint, 1)) => tensor::<u8>(file),
        Some((Kind::Uint, 4)) => tensor::<u32>(file),
        Some((Kind::Int, 2)) => tensor::<i16>(file),
        Some((Kind::Int, 4)) => tensor::<i32>(file),
        Some((Kind::Int, 8)) => tensor::<i64>(file),
        Some((Kind::Float, 2)) => tensor::<f16>(file),
        Some((Kind::Void | Kind::Narrow(ndarray_io::dtype::Narrow::BFloat16), 2)) => tensor::<bf16>(file),
        Some((Kind::Float, 4)) => tensor::<f32>(file),
        Some((Kind::Float, 8)) => tensor::<f64>(file),
        _ => Err(unsupported_dtype(file.dtype().clone())),
    }
}

fn tensor<T: WithDType + ReadableElement>(file: &NpyFile) -> Result<Tensor> {
    let array: FlatArray<T> = file.read()?;
    let (items, shape, order) = array.into_parts();
    match order {
        Order::C => Tensor::from_vec(items, shape, &Device::Cpu).map_err(candle_error),
        Order::Fortran => {
            let reversed: Vec<usize> = shape.iter().rev().copied().collect();
            let axes: Vec<usize> = (0..shape.len()).rev().collect();
            Tensor::from_vec(items, reversed, &Device::Cpu)
                .and_then(|tensor| tensor.permute(axes))
                .map_err(candle_error)
        }
    }
}

/// Writes a tensor to a file of NPY, in C order.
///
/// # Errors
///
/// - Those of [`ndarray_io::write_npy`].
/// - [`BadOption`](ErrorKind::BadOption) if the dtype is another one than those above.
pub fn write_npy<P: AsRef<Path>>(path: P, tensor: &Tensor) -> Result<()> {
    fn write<T: WithDType + WritableElement>(path: &Path, tensor: &Tensor) -> Result<()> {
        let items = tensor.flatten_all().and_then(|flat| flat.to_vec1::<T>()).map_err(candle_error)?;
        ndarray_io::write_npy(path, &FlatArray::new(items, tensor.dims().to_vec(), Order::C)?)
    }
    let path = path.as_ref();
    match tensor.dtype() {
        Candle::U8 => write::<u8>(path, tensor),
        Candle::U32 => write::<u32>(path, tensor),
        Candle::I16 => write::<i16>(path, tensor),
        Candle::I32 => write::<i32>(path, tensor),
        Candle::I64 => write::<i64>(path, tensor),
        Candle::F16 => write::<f16>(path, tensor),
        Candle::BF16 => write::<bf16>(path, tensor),
        Candle::F32 => write::<f32>(path, tensor),
        Candle::F64 => write::<f64>(path, tensor),
        other => {
            let reason = format!("a tensor of {}", other.as_str());
            Err(Error::new(ErrorKind::BadOption, reason).at_path(path))
        }
    }
}

fn unsupported_dtype(dtype: DType) -> Error {
    Error::not_representable("candle", &dtype.with_byte_order(ByteOrder::NATIVE), "it has no such numbers")
}

fn candle_error(error: candle_core::Error) -> Error {
    Error::new(ErrorKind::BadOption, error.to_string())
}
