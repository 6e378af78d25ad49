//! Complex numbers: two floats, the real part first, both in the byte order of the number.

use num_complex::Complex;

use super::fixed::{ScalarElement, elements};
use super::number::numbers;
use crate::dtype::{ByteOrder, Kind, Scalar};

/// The sizes that have a Rust type, for messages.
pub(super) const RUST_TYPES: &[(Kind, usize, &str)] = &[
    (Kind::Complex, 4, "Complex<half::f16> (with the feature `half-2`)"),
    (Kind::Complex, 8, "Complex<f32>"),
    (Kind::Complex, 16, "Complex<f64>"),
    (Kind::Complex, 32, "Complex<LongDouble>"),
];

numbers! {
    Complex<f32>: Complex, 4;
    Complex<f64>: Complex, 8;
}

#[cfg(feature = "half-2")]
mod half {
    use half::f16;
    use num_complex::Complex;

    use crate::dtype::{ByteOrder, DType, Kind, Scalar};
    use crate::elements::bfloat16::complex_read_plan;
    use crate::elements::{
        ReadPlan,
        fixed::{ScalarElement, elements},
    };
    use crate::options::ReadOptions;

    /// Such numbers occur in RA files; NumPy has no dtype for them, `ml_dtypes` has `complex32`.
    impl ScalarElement for Complex<f16> {
        const SWAP_UNIT: usize = 2;

        fn scalar(order: ByteOrder) -> Scalar {
            Scalar::new(Kind::Complex, 4, order).expect("there is a complex number of 4 bytes") // see Kind::allows
        }

        fn implicit_read_plan(found: &DType, options: &ReadOptions) -> Option<ReadPlan<Self>> {
            complex_read_plan(found, options)
        }
    }

    elements! {
        [] Complex<f16>;
    }
}
