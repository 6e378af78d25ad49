//! Integers and floats: they have the same bytes in the file as in memory, but in either byte order.

use super::fixed::{ScalarElement, elements};
use crate::dtype::{ByteOrder, Kind, Scalar};

/// Implements `ScalarElement` for number types.
macro_rules! numbers {
    ($($type:ty: $kind:ident, $unit:expr;)*) => {$(
        impl ScalarElement for $type {
            const SWAP_UNIT: usize = $unit;

            fn scalar(order: ByteOrder) -> Scalar {
                // This macro is invoked only with sizes that the kind allows; the tests read and write each.
                Scalar::new(Kind::$kind, size_of::<Self>(), order).expect("each number's kind has its size")
            }
        }

        elements! { [] $type; }
    )*};
}
pub(super) use numbers;

/// The kinds and sizes that have a Rust type, for messages.
pub(super) const RUST_TYPES: &[(Kind, usize, &str)] = &[
    (Kind::Int, 1, "i8"),
    (Kind::Int, 2, "i16"),
    (Kind::Int, 4, "i32"),
    (Kind::Int, 8, "i64"),
    (Kind::Uint, 1, "u8"),
    (Kind::Uint, 2, "u16"),
    (Kind::Uint, 4, "u32"),
    (Kind::Uint, 8, "u64"),
    #[cfg(feature = "half-2")]
    (Kind::Float, 2, "half::f16"),
    #[cfg(not(feature = "half-2"))]
    (Kind::Float, 2, "half::f16 (with the feature `half-2`)"),
    (Kind::Float, 4, "f32"),
    (Kind::Float, 8, "f64"),
    (Kind::Float, 16, "LongDouble"),
];

numbers! {
    i8: Int, 1;
    i16: Int, 2;
    i32: Int, 4;
    i64: Int, 8;
    u8: Uint, 1;
    u16: Uint, 2;
    u32: Uint, 4;
    u64: Uint, 8;
    f32: Float, 4;
    f64: Float, 8;
}

#[cfg(feature = "half-2")]
numbers! {
    half::f16: Float, 2;
}
