//! Converting reads: numbers of one type out of a file of another, by NumPy's rules of what is allowed.

use std::marker::PhantomData;

use bytemuck::Pod;
use num_complex::Complex;
use num_traits::AsPrimitive;

use super::swap::swap_units;
use super::{Decode, How, mismatch};
use crate::dtype::{DType, Kind, Scalar};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Casting;

/// The gate for a file of another type than `T`.
pub(super) fn accept<T: Convert>(found: &Scalar, casting: Casting, wanted: DType) -> Result<How<T>> {
    let decoder = T::decoder(found);
    let is_allowed = |casting| wanted.as_scalar().is_some_and(|wanted| allows(casting, found, wanted));
    match decoder {
        Some(decoder) if is_allowed(casting) => Ok(How::Coded(decoder)),
        Some(_) => {
            let weakest = if is_allowed(Casting::SameKind) { Casting::SameKind } else { Casting::Unsafe };
            let advice = format!(
                "Casting::{casting:?} does not allow that conversion; Casting::{weakest:?} does, by the rules of `as`"
            );
            Err(ErrorKind::DTypeMismatch { found: (*found).into(), wanted, advice }.into())
        }
        None => Err(mismatch(&(*found).into(), wanted, false)),
    }
}

/// `numpy.can_cast(from, to, casting)` for numbers.
fn allows(casting: Casting, from: &Scalar, to: &Scalar) -> bool {
    match casting {
        Casting::Unsafe => true,
        Casting::SameKind => is_safe(from, to) || rank(from.kind()) <= rank(to.kind()),
        Casting::Safe => is_safe(from, to),
    }
}

/// The order of the kinds: bool, unsigned, signed, float, complex.
fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => 0,
        Kind::Uint => 1,
        Kind::Int => 2,
        Kind::Float => 3,
        _ => 4,
    }
}

fn is_safe(from: &Scalar, to: &Scalar) -> bool {
    let (from_size, to_size) = (from.size(), to.size());
    match (from.kind(), to.kind()) {
        (Kind::Bool, _) => true,
        (Kind::Uint, Kind::Uint) | (Kind::Int, Kind::Int) | (Kind::Float, Kind::Float) => {
            from_size <= to_size
        }
        (Kind::Complex, Kind::Complex) => from_size <= to_size,
        (Kind::Uint, Kind::Int) => from_size < to_size,
        (Kind::Uint | Kind::Int, Kind::Float) => float_for_integer(from_size) <= to_size,
        (Kind::Uint | Kind::Int, Kind::Complex) => float_for_integer(from_size) <= to_size / 2,
        (Kind::Float, Kind::Complex) => from_size <= to_size / 2,
        _ => false,
    }
}

/// The size of the float that NumPy finds large enough for an integer. (For 64 bits it is not; NumPy has no larger one
/// on every machine.)
fn float_for_integer(size: usize) -> usize {
    (2 * size).min(8)
}

/// A number that others can be converted to.
pub(super) trait Convert: Sized + Send + Sync {
    /// The real type that it consists of.
    type Part;

    fn from_parts(re: Self::Part, im: Self::Part) -> Self;

    /// What makes this out of the numbers of a file; `None` if there is no Rust type for those.
    fn decoder(found: &Scalar) -> Option<Box<dyn Decode<Self>>>;
}

/// A number that is converted from: its bytes as they stand in the file, in this machine's order.
trait Origin: Sized {
    type Bits: Pod;
    type Part: Copy;
    const UNIT: usize = size_of::<Self>();

    /// The real and the imaginary part.
    fn parts(bits: Self::Bits) -> Result<(Self::Part, Self::Part), ErrorKind>;
}

impl Origin for bool {
    type Bits = u8;
    type Part = u8;

    fn parts(bits: u8) -> Result<(u8, u8), ErrorKind> {
        if bits > 1 { Err(ErrorKind::BadBool { found: bits }) } else { Ok((bits, 0)) }
    }
}

struct Converter<S, T> {
    swap: bool,
    types: PhantomData<fn(S) -> T>,
}

impl<S: Origin<Part: AsPrimitive<T::Part>>, T: Convert<Part: Copy + 'static>> Decode<T> for Converter<S, T> {
    fn decode(&self, items: &mut [u8], _: usize, out: &mut Vec<T>) -> Result<()> {
        if self.swap {
            swap_units(items, S::UNIT);
        }
        for (index, item) in items.chunks_exact(size_of::<S>()).enumerate() {
            let parts = S::parts(bytemuck::pod_read_unaligned(item));
            let (re, im) = parts.map_err(|kind| Error::from(kind).at_element(index))?;
            out.push(T::from_parts(re.as_(), im.as_()));
        }
        Ok(())
    }
}

macro_rules! origins {
    ($($real:ty: $zero:expr),*) => {$(
        impl Origin for $real {
            type Bits = Self;
            type Part = Self;

            fn parts(bits: Self) -> Result<(Self, Self), ErrorKind> {
                Ok((bits, $zero))
            }
        }
    )*};
}

origins!(i8: 0, i16: 0, i32: 0, i64: 0, u8: 0, u16: 0, u32: 0, u64: 0, f32: 0.0, f64: 0.0);
#[cfg(feature = "half")]
origins!(half::f16: half::f16::ZERO);

macro_rules! complex_origins {
    ($($part:ty),*) => {$(
        impl Origin for Complex<$part> {
            type Bits = Self;
            type Part = $part;
            const UNIT: usize = size_of::<$part>();

            fn parts(bits: Self) -> Result<($part, $part), ErrorKind> {
                Ok((bits.re, bits.im))
            }
        }
    )*};
}

complex_origins!(f32, f64);

macro_rules! conversions {
    ($($target:ty: $part:ty, |$re:ident, $im:pat_param| $make:expr;)*) => {$(
        impl Convert for $target {
            type Part = $part;

            fn from_parts($re: $part, $im: $part) -> Self {
                $make
            }

            fn decoder(found: &Scalar) -> Option<Box<dyn Decode<Self>>> {
                fn boxed<S: Origin<Part: AsPrimitive<$part>> + 'static>(found: &Scalar) -> Option<Box<dyn Decode<$target>>> {
                    Some(Box::new(Converter::<S, $target> { swap: found.is_foreign(), types: PhantomData }))
                }
                match (found.kind(), found.size()) {
                    (Kind::Bool, 1) => boxed::<bool>(found),
                    (Kind::Int, 1) => boxed::<i8>(found),
                    (Kind::Int, 2) => boxed::<i16>(found),
                    (Kind::Int, 4) => boxed::<i32>(found),
                    (Kind::Int, 8) => boxed::<i64>(found),
                    (Kind::Uint, 1) => boxed::<u8>(found),
                    (Kind::Uint, 2) => boxed::<u16>(found),
                    (Kind::Uint, 4) => boxed::<u32>(found),
                    (Kind::Uint, 8) => boxed::<u64>(found),
                    #[cfg(feature = "half")]
                    (Kind::Float, 2) => boxed::<half::f16>(found),
                    (Kind::Float, 4) => boxed::<f32>(found),
                    (Kind::Float, 8) => boxed::<f64>(found),
                    (Kind::Complex, 8) => boxed::<Complex<f32>>(found),
                    (Kind::Complex, 16) => boxed::<Complex<f64>>(found),
                    _ => None,
                }
            }
        }
    )*};
}

conversions! {
    i8: i8, |re, _| re;
    i16: i16, |re, _| re;
    i32: i32, |re, _| re;
    i64: i64, |re, _| re;
    u8: u8, |re, _| re;
    u16: u16, |re, _| re;
    u32: u32, |re, _| re;
    u64: u64, |re, _| re;
    f32: f32, |re, _| re;
    f64: f64, |re, _| re;
    Complex<f32>: f32, |re, im| Complex::new(re, im);
    Complex<f64>: f64, |re, im| Complex::new(re, im);
}

#[cfg(feature = "half")]
conversions! {
    // By way of f64, which all the others become without a loss that would matter here.
    half::f16: f64, |re, _| half::f16::from_f32(narrowed_to_odd(re));
}

/// The neighbour of a number in `f32` whose last bit is set, if it has two. Rounding that again gives what rounding the
/// number at once would give; of the nearest neighbour, as `half` takes it, some numbers would be rounded twice.
#[cfg(feature = "half")]
fn narrowed_to_odd(number: f64) -> f32 {
    let nearest = number as f32;
    let is_exact = f64::from(nearest) == number;
    match nearest.to_bits() % 2 {
        0 if nearest.is_finite() && !is_exact && f64::from(nearest) < number => nearest.next_up(),
        0 if nearest.is_finite() && !is_exact => nearest.next_down(),
        _ => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ByteOrder;

    /// Printed by NumPy 2.4: for each type (rows) whether it can be cast to each other one (columns, in the order of
    /// the rows), safely (`s`), within its kind (`k`) or not (`.`).
    const CAN_CAST: [(&str, &str); 14] = include!("can_cast.in");

    #[test]
    fn casting_follows_numpy() {
        let scalar = |code: &str| {
            let (kind, size) = code.split_at(1);
            let kind = match kind {
                "b" => Kind::Bool,
                "i" => Kind::Int,
                "u" => Kind::Uint,
                "f" => Kind::Float,
                _ => Kind::Complex,
            };
            Scalar::new(kind, size.parse().unwrap(), ByteOrder::NATIVE).unwrap()
        };
        for (from, row) in CAN_CAST {
            for ((to, _), expected) in CAN_CAST.iter().zip(row.chars()) {
                let (from, to) = (scalar(from), scalar(to));
                assert_eq!(allows(Casting::Safe, &from, &to), expected == 's', "{from} to {to}");
                assert_eq!(allows(Casting::SameKind, &from, &to), expected != '.', "{from} to {to}");
                assert!(allows(Casting::Unsafe, &from, &to));
            }
        }
    }
}
