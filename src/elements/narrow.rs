//! The numbers of the Python package `ml_dtypes`, as Rust types.

use std::cmp::Ordering;
use std::fmt;

use super::ReadPlan;
use super::cast::Bitwise;
use super::convert::narrow as codes;
use super::fixed::{ScalarElement, elements};
use crate::dtype::{ByteOrder, DType, Kind, Narrow, Scalar};
use crate::options::ReadOptions;

/// Returns the plan for reading raw bytes, which is what files say of these types.
fn raw_bytes_read_plan<T: ScalarElement>(found: &DType) -> Option<ReadPlan<T>> {
    let is_raw = found.as_scalar().is_some_and(|scalar| (scalar.kind(), scalar.size()) == (Kind::Void, 1));
    is_raw.then(|| ReadPlan::Bitwise(Bitwise::pod(1, false)))
}

/// Defines types of one byte, the codes of numbers of `ml_dtypes`.
macro_rules! bytes {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Creates the number with this code.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the code.
            pub const fn to_bits(self) -> u8 {
                self.0
            }
        }

        impl ScalarElement for $name {
            const SWAP_UNIT: usize = 1;

            fn scalar(_: ByteOrder) -> Scalar {
                Narrow::$name.into()
            }

            fn implicit_read_plan(found: &DType, _: &ReadOptions) -> Option<ReadPlan<Self>> {
                raw_bytes_read_plan(found)
            }
        }

        elements! {
            [] $name;
        }
    )*};
}

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident)*) => {
        bytes! {$(
            $(#[$doc])*
            ///
            /// Numbers are compared as `f32` are: both zeros are equal, and NaN is not equal to itself.
            $name
        )*}

        $(
            impl $name {
                /// Returns the nearest number, ties to even (for powers of two, to the larger), as `ml_dtypes` converts an `f32`.
                ///
                /// What is out of range becomes infinite or NaN, or the largest number if the type has neither.
                pub fn from_f32(number: f32) -> Self {
                    let mut code = [0];
                    codes::encode_f32(Narrow::$name, number, &mut code);
                    Self(code[0])
                }

                /// Returns the same number as an `f32`.
                pub fn to_f32(self) -> f32 {
                    codes::to_f32(Narrow::$name, &[self.0])
                }
            }

            impl From<$name> for f32 {
                fn from(number: $name) -> Self {
                    number.to_f32()
                }
            }

            impl From<$name> for f64 {
                fn from(number: $name) -> Self {
                    number.to_f32().into()
                }
            }

            impl PartialEq for $name {
                fn eq(&self, other: &Self) -> bool {
                    self.to_f32() == other.to_f32()
                }
            }

            impl PartialOrd for $name {
                fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                    self.to_f32().partial_cmp(&other.to_f32())
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.to_f32().fmt(f)
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.to_f32().fmt(f)
                }
            }
        )*
    };
}

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident: $least:literal to $most:literal;)*) => {
        bytes! {$(
            $(#[$doc])*
            ///
            /// The higher bits of its byte are ignored.
            $name
        )*}

        $(
            impl $name {
                /// Creates the number; `None` if it is out of range.
                pub fn new(integer: i8) -> Option<Self> {
                    ($least..=$most).contains(&integer).then(|| Self(codes::encode_integer(($least, $most), integer.into())))
                }

                /// Returns the number.
                pub fn get(self) -> i8 {
                    codes::decode_integer(($least, $most), self.0)
                }
            }

            impl From<$name> for i8 {
                fn from(number: $name) -> Self {
                    number.get()
                }
            }

            impl PartialEq for $name {
                fn eq(&self, other: &Self) -> bool {
                    self.get() == other.get()
                }
            }

            impl Eq for $name {}

            impl PartialOrd for $name {
                fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                    Some(self.cmp(other))
                }
            }

            impl Ord for $name {
                fn cmp(&self, other: &Self) -> Ordering {
                    self.get().cmp(&other.get())
                }
            }

            impl std::hash::Hash for $name {
                fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                    self.get().hash(state);
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.get().fmt(f)
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.get().fmt(f)
                }
            }
        )*
    };
}

floats! {
    /// `float8_e3m4`: 3 bits of exponent and 4 of mantissa, with infinities.
    Float8E3M4
    /// `float8_e4m3`: 4 bits of exponent and 3 of mantissa, with infinities.
    Float8E4M3
    /// `float8_e4m3b11fnuz`: as `float8_e4m3fnuz`, with an exponent bias of 11.
    Float8E4M3B11Fnuz
    /// `float8_e4m3fn`: 4 bits of exponent and 3 of mantissa, without infinities.
    ///
    /// ```
    /// use ndarray_io::narrow::Float8E4M3Fn;
    ///
    /// assert_eq!(Float8E4M3Fn::from_f32(0.3).to_f32(), 0.3125);
    /// assert_eq!(Float8E4M3Fn::from_bits(0x7E).to_f32(), 448.0); // the largest
    /// assert!(Float8E4M3Fn::from_f32(1000.0).to_f32().is_nan());
    /// ```
    Float8E4M3Fn
    /// `float8_e4m3fnuz`: 4 bits of exponent and 3 of mantissa, without infinities and negative zero.
    Float8E4M3Fnuz
    /// `float8_e5m2`: 5 bits of exponent and 2 of mantissa, with infinities.
    Float8E5M2
    /// `float8_e5m2fnuz`: 5 bits of exponent and 2 of mantissa, without infinities and negative zero.
    Float8E5M2Fnuz
    /// `float8_e8m0fnu`: powers of two, from 2⁻¹²⁷ to 2¹²⁷.
    Float8E8M0Fnu
    /// `float6_e2m3fn`: 2 bits of exponent and 3 of mantissa, without infinities and NaN.
    Float6E2M3Fn
    /// `float6_e3m2fn`: 3 bits of exponent and 2 of mantissa, without infinities and NaN.
    Float6E3M2Fn
    /// `float4_e2m1fn`: 2 bits of exponent and 1 of mantissa, without infinities and NaN.
    Float4E2M1Fn
}

integers! {
    /// `int1`: −1 or 0.
    Int1: -1 to 0;
    /// `int2`: from −2 to 1.
    Int2: -2 to 1;
    /// `int4`: from −8 to 7.
    ///
    /// ```
    /// use ndarray_io::narrow::Int4;
    ///
    /// assert_eq!(Int4::new(-1).unwrap().to_bits(), 0b1111);
    /// assert_eq!(Int4::from_bits(0b1000).get(), -8);
    /// assert!(Int4::new(8).is_none());
    /// ```
    Int4: -8 to 7;
    /// `uint1`: 0 or 1.
    Uint1: 0 to 1;
    /// `uint2`: from 0 to 3.
    Uint2: 0 to 3;
    /// `uint4`: from 0 to 15.
    Uint4: 0 to 15;
}
