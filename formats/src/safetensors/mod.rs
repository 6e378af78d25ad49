//! Files of [safetensors](https://github.com/huggingface/safetensors): read, mapped, written and converted.
//!
//! ```
//! use ndarray::{Array2, arr1, arr2, s};
//! use ndarray_io_formats::safetensors::{SafeTensors, write_safetensors};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("model.safetensors");
//! let (weight, bias) = (arr2(&[[1.5f32, 2.5], [3.5, 4.5]]), arr1(&[1u8, 2]));
//! write_safetensors(&path, &[("weight", &weight), ("bias", &bias)])?;
//!
//! let file = SafeTensors::open(&path)?;
//! assert_eq!(file.read::<Array2<f32>>("weight")?, weight);
//! let column = file.tensors().open("weight")?.slice::<f32, _>(s![.., 1])?; // reads only these elements
//! assert_eq!(column, arr1(&[2.5, 4.5]));
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! | safetensors | element |
//! |---|---|
//! | `BOOL`, `U8` to `U64`, `I8` to `I64`, `F32`, `F64` | `bool` and Rust's numbers |
//! | `F16`, `BF16` | `half::f16`, `half::bf16` (feature `half-2` of `ndarray-io`) |
//! | `C64` | `Complex<f32>` |
//! | `F8_E4M3`, `F8_E5M2`, `F8_E8M0`, `F8_E4M3FNUZ`, `F8_E5M2FNUZ` | the types of those names in `ndarray_io::narrow` |
//! | `F4`, `F6_E2M3`, `F6_E3M2` | listed by [`SafeTensors::packed`], not read: several elements share a byte |
//!
//! Other dtypes, such as text, times, `Complex<f64>` and records, cannot be written.

mod convert;
mod read;
mod write;

pub use convert::{npz_to_safetensors, safetensors_to_npz};
pub use read::SafeTensors;
pub use write::{write_safetensors, write_safetensors_to};

use ndarray_io::dtype::{Kind, Narrow, Scalar};
use ndarray_io::{ByteOrder, DType, Error, Result};
use safetensors::Dtype;

/// The dtypes of both sides.
fn dtype_pairs() -> [(Dtype, Scalar); 19] {
    let number = |kind: Kind, size: usize| {
        Scalar::new(kind, size, ByteOrder::Little).expect("a number of a size that NumPy has")
    };
    [
        (Dtype::BOOL, number(Kind::Bool, 1)),
        (Dtype::U8, number(Kind::Uint, 1)),
        (Dtype::I8, number(Kind::Int, 1)),
        (Dtype::F8_E5M2, Narrow::Float8E5M2.into()),
        (Dtype::F8_E4M3, Narrow::Float8E4M3Fn.into()),
        (Dtype::F8_E8M0, Narrow::Float8E8M0Fnu.into()),
        (Dtype::F8_E4M3FNUZ, Narrow::Float8E4M3Fnuz.into()),
        (Dtype::F8_E5M2FNUZ, Narrow::Float8E5M2Fnuz.into()),
        (Dtype::I16, number(Kind::Int, 2)),
        (Dtype::U16, number(Kind::Uint, 2)),
        (Dtype::F16, number(Kind::Float, 2)),
        (Dtype::BF16, Narrow::BFloat16.into()),
        (Dtype::I32, number(Kind::Int, 4)),
        (Dtype::U32, number(Kind::Uint, 4)),
        (Dtype::F32, number(Kind::Float, 4)),
        (Dtype::C64, number(Kind::Complex, 8)),
        (Dtype::F64, number(Kind::Float, 8)),
        (Dtype::I64, number(Kind::Int, 8)),
        (Dtype::U64, number(Kind::Uint, 8)),
    ]
}

/// Returns the dtype of elements of a file; `None` if several share a byte.
fn dtype_of(dtype: Dtype) -> Option<DType> {
    dtype_pairs().into_iter().find(|(theirs, _)| *theirs == dtype).map(|(_, scalar)| scalar.into())
}

/// Returns what a file calls a dtype.
fn safetensors_dtype(dtype: &DType) -> Result<Dtype> {
    let found =
        dtype.as_scalar().and_then(|scalar| dtype_pairs().into_iter().find(|(_, ours)| ours == scalar));
    found.map(|(theirs, _)| theirs).ok_or_else(|| {
        let reason = "it has bools, integers, floats and `complex64` only";
        Error::not_representable("safetensors", dtype, reason)
    })
}
