//! Complex numbers: two floats, the real part first, each in the byte order of the whole.

use num_complex::Complex;

use super::cast::{self, Plain, PlainOut};
use super::number::elements;
use super::{Emit, How, ReadableElement, ViewElement, ViewMutElement, WritableElement};
use crate::dtype::{DType, Kind, Scalar};
use crate::error::Result;
use crate::options::{ReadOptions, WriteOptions};

/// The sizes that have a Rust type here, for messages.
pub(super) const TYPES: &[(Kind, usize, &str)] =
    &[(Kind::Complex, 8, "Complex<f32>"), (Kind::Complex, 16, "Complex<f64>")];

elements! {
    Complex<f32>: Complex, 4;
    Complex<f64>: Complex, 8;
}
