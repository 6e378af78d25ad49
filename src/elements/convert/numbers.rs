//! Converts between numbers, with one loop per pair of types.
//!
//! Each loop runs over a block of elements, which lets the compiler vectorize it.

use bytemuck::Pod;
use num_complex::Complex;
use num_traits::AsPrimitive;

use super::{ConvertLoop, Recode};
use crate::bytes::ReadBuf;
use crate::dtype::{Casting, Kind, Scalar};
use crate::elements::swap::{swap_unit_of, swap_units};
use crate::error::{ElementFault, Error, Fault, Remedy, Result};

/// The number of elements to convert at a time: both blocks are at most 64 KiB, so they stay in the cache.
const BLOCK_LEN: usize = 4096;

/// Returns the loop for numbers that need neither be swapped nor checked.
pub(super) fn unchecked_loop(from: &Scalar, to: &Scalar, casting: Casting) -> Option<ConvertLoop> {
    let is_plain = !from.is_foreign() && !to.is_foreign() && from.kind() != Kind::Bool;
    if is_plain && range_check(from, to, casting).is_none() { converter(from, to) } else { None }
}

pub(super) fn recoder(from: &Scalar, to: &Scalar, casting: Casting) -> Option<Recode> {
    recoder_for(from, to, to, casting)
}

/// Like `recoder`; errors name `meant`, whose numbers are those of `to`.
pub(super) fn recoder_for(from: &Scalar, to: &Scalar, meant: &Scalar, casting: Casting) -> Option<Recode> {
    let convert = converter(from, to)?;
    let first_outside = range_check(from, to, casting);
    let (from, to, meant) = (*from, *to, *meant);
    let (size, made_size) = (from.size(), to.size());
    Some(Box::new(move |items, made| {
        for (index, (items, made)) in
            items.chunks_mut(BLOCK_LEN * size).zip(made.chunks_mut(BLOCK_LEN * made_size)).enumerate()
        {
            if from.is_foreign() {
                swap_units(items, swap_unit_of(&from));
            }
            if from.kind() == Kind::Bool {
                check_bools(items).map_err(|error| error.offset_element(index * BLOCK_LEN))?;
            }
            if let Some(at) = first_outside.and_then(|first| first(items)) {
                let number = super::text::format_number(&from, &items[at * size..][..size])?;
                let reason = format!("{number} is out of range for {meant}");
                let error = Error::from(Fault::NotConvertible { reason }).at_element(index * BLOCK_LEN + at);
                return Err(error.with_help(Remedy::Cast(Casting::Unsafe))); // which drops the high bits
            }
            convert(items, &mut ReadBuf::of(made));
            if to.is_foreign() {
                swap_units(made, swap_unit_of(&to));
            }
        }
        Ok(())
    }))
}

fn check_bools(items: &[u8]) -> Result<()> {
    match items.iter().position(|byte| *byte > 1) {
        Some(index) => {
            Err(Error::from(Fault::InvalidElement(ElementFault::Bool { found: items[index] }))
                .at_element(index))
        }
        None => Ok(()),
    }
}

/// Returns the conversion of one native-endian number to one of eight bytes.
pub(super) fn one_number_converter(from: &Scalar, to: &Scalar) -> Option<impl Fn(&[u8]) -> [u8; 8] + use<>> {
    let convert = converter(from, to)?;
    Some(move |item: &[u8]| {
        let mut made = [0; 8];
        convert(item, &mut ReadBuf::of(&mut made));
        made
    })
}

/// Returns the index of the first of these native-endian integers that another type cannot represent.
type FirstOutside = fn(&[u8]) -> Option<usize>;

/// Returns the check that integers are in the range of another type, if the casting asks for one.
///
/// NumPy drops the high bits; here, only a cast that is `Unsafe` does.
fn range_check(from: &Scalar, to: &Scalar, casting: Casting) -> Option<FirstOutside> {
    fn first_outside<S: Pod, T: TryFrom<S>>(items: &[u8]) -> Option<usize> {
        let is_outside = |item: &[u8]| T::try_from(bytemuck::pod_read_unaligned(item)).is_err();
        let mut items = items.chunks_exact(size_of::<S>());
        // Without a branch for each item, which the compiler vectorizes.
        let any = items.clone().fold(false, |any, item| any | is_outside(item));
        if any { items.position(is_outside) } else { None }
    }
    macro_rules! into_each {
        ($from:ty) => {
            match (to.kind(), to.size()) {
                (Kind::Int, 1) => first_outside::<$from, i8>,
                (Kind::Int, 2) => first_outside::<$from, i16>,
                (Kind::Int, 4) => first_outside::<$from, i32>,
                (Kind::Int, 8) => first_outside::<$from, i64>,
                (Kind::Uint, 1) => first_outside::<$from, u8>,
                (Kind::Uint, 2) => first_outside::<$from, u16>,
                (Kind::Uint, 4) => first_outside::<$from, u32>,
                (Kind::Uint, 8) => first_outside::<$from, u64>,
                _ => return None,
            }
        };
    }
    if casting == Casting::Unsafe || super::is_safe(from, to) {
        return None;
    }
    Some(match (from.kind(), from.size()) {
        (Kind::Int, 1) => into_each!(i8),
        (Kind::Int, 2) => into_each!(i16),
        (Kind::Int, 4) => into_each!(i32),
        (Kind::Int, 8) => into_each!(i64),
        (Kind::Uint, 1) => into_each!(u8),
        (Kind::Uint, 2) => into_each!(u16),
        (Kind::Uint, 4) => into_each!(u32),
        (Kind::Uint, 8) => into_each!(u64),
        _ => return None,
    })
}

/// Returns the half that is nearest to a number.
#[cfg(feature = "half-2")]
pub(super) fn nearest_half(number: f64) -> half::f16 {
    half::f16::from_f32(narrowed_to_odd(number))
}

/// A type with the representation of the numbers to convert from.
trait SourceNumber: Pod {
    type Part: Copy + 'static;

    /// Returns the real and the imaginary part.
    fn parts(self) -> (Self::Part, Self::Part);
}

/// A type with the representation of the numbers to convert to.
trait TargetNumber: Pod {
    type Part: Copy + 'static;

    fn of(re: Self::Part, im: Self::Part) -> Self;
}

macro_rules! reals {
    ($($real:ty),*) => {$(
        impl SourceNumber for $real {
            type Part = Self;

            fn parts(self) -> (Self, Self) {
                (self, Self::default())
            }
        }

        impl TargetNumber for $real {
            type Part = Self;

            fn of(re: Self, _: Self) -> Self {
                re
            }
        }
    )*};
}

reals!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! complexes {
    ($($part:ty),*) => {$(
        impl SourceNumber for Complex<$part> {
            type Part = $part;

            fn parts(self) -> ($part, $part) {
                (self.re, self.im)
            }
        }

        impl TargetNumber for Complex<$part> {
            type Part = $part;

            fn of(re: $part, im: $part) -> Self {
                Self::new(re, im)
            }
        }
    )*};
}

complexes!(f32, f64);

/// Converts each number, at any alignment.
fn convert_each<S: Pod, T: Pod>(from: &[u8], to: &mut ReadBuf<'_>, make: impl Fn(S) -> T) {
    to.extend(from.chunks_exact(size_of::<S>()).map(|item| make(bytemuck::pod_read_unaligned(item))));
}

fn convert<S: SourceNumber<Part: AsPrimitive<T::Part>>, T: TargetNumber>(from: &[u8], to: &mut ReadBuf<'_>) {
    convert_each::<S, T>(from, to, |number| {
        let (re, im) = number.parts();
        T::of(re.as_(), im.as_())
    });
}

/// Converts numbers to bools: anything but zero is true, including NaN.
fn convert_to_bool<S: SourceNumber<Part: PartialEq + Default>>(from: &[u8], to: &mut ReadBuf<'_>) {
    convert_each::<S, u8>(from, to, |number| {
        let zero = S::Part::default();
        let (re, im) = number.parts();
        u8::from(re != zero || im != zero)
    });
}

/// Converts numbers to halves by way of an `f32` rounded to odd, which avoids double rounding.
#[cfg(feature = "half-2")]
fn convert_to_half<S: SourceNumber<Part: AsPrimitive<f64>>>(from: &[u8], to: &mut ReadBuf<'_>) {
    use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
    // `half` converts only slices of its own types, so the numbers pass through buffers that are small enough
    // for the stack.
    const BUFFER_LEN: usize = 256;
    let mut odd = [0f32; BUFFER_LEN];
    let mut made = [0u16; BUFFER_LEN];
    for from in from.chunks(BUFFER_LEN * size_of::<S>()) {
        let count = from.len() / size_of::<S>();
        let odd_bytes = bytemuck::cast_slice_mut(&mut odd[..count]);
        convert_each::<S, f32>(from, &mut ReadBuf::of(odd_bytes), |number| {
            narrowed_to_odd(number.parts().0.as_())
        });
        made[..count].reinterpret_cast_mut::<half::f16>().convert_from_f32_slice(&odd[..count]);
        to.copy(bytemuck::cast_slice(&made[..count]));
    }
}

/// Converts halves to other numbers by way of `f32`, which represents every half exactly.
#[cfg(feature = "half-2")]
fn convert_from_half(from: &[u8], to: &mut ReadBuf<'_>, of_floats: ConvertLoop) {
    use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
    const BUFFER_LEN: usize = 256;
    let mut halves = [0u16; BUFFER_LEN];
    let mut floats = [0f32; BUFFER_LEN];
    for from in from.chunks(BUFFER_LEN * 2) {
        let count = from.len() / 2;
        bytemuck::cast_slice_mut::<_, u8>(&mut halves[..count]).copy_from_slice(from);
        halves[..count].reinterpret_cast::<half::f16>().convert_to_f32_slice(&mut floats[..count]);
        of_floats(bytemuck::cast_slice(&floats[..count]), to);
    }
}

/// Rounds to odd: returns the number if an `f32` can represent it, else the neighbor whose last bit is set.
///
/// Rounding that neighbor to a half gives the same result as rounding the number directly. With the nearest
/// `f32`, which `half` uses, some numbers would be rounded twice.
#[cfg(feature = "half-2")]
fn narrowed_to_odd(number: f64) -> f32 {
    let nearest = number as f32;
    let back = f64::from(nearest);
    // If the nearest `f32` is even, finite and inexact, move one step towards the number. The bits of the
    // next float away from zero are the next integer, regardless of the sign.
    let is_even = nearest.to_bits() & 1 == 0;
    let is_other = nearest.is_finite() && back != number;
    let step = if back.abs() < number.abs() { 1 } else { u32::MAX };
    f32::from_bits(nearest.to_bits().wrapping_add(if is_even & is_other { step } else { 0 }))
}

/// Returns the loop for a pair of types, or `None` if there is no conversion between them.
fn converter(from: &Scalar, to: &Scalar) -> Option<ConvertLoop> {
    macro_rules! from_each {
        ($loop:ident $(, $target:ty)?) => {
            match (from.kind(), from.size()) {
                (Kind::Bool, 1) => $loop::<u8 $(, $target)?>,
                (Kind::Int, 1) => $loop::<i8 $(, $target)?>,
                (Kind::Int, 2) => $loop::<i16 $(, $target)?>,
                (Kind::Int, 4) => $loop::<i32 $(, $target)?>,
                (Kind::Int, 8) => $loop::<i64 $(, $target)?>,
                (Kind::Uint, 1) => $loop::<u8 $(, $target)?>,
                (Kind::Uint, 2) => $loop::<u16 $(, $target)?>,
                (Kind::Uint, 4) => $loop::<u32 $(, $target)?>,
                (Kind::Uint, 8) => $loop::<u64 $(, $target)?>,
                (Kind::Float, 4) => $loop::<f32 $(, $target)?>,
                (Kind::Float, 8) => $loop::<f64 $(, $target)?>,
                (Kind::Complex, 8) => $loop::<Complex<f32> $(, $target)?>,
                (Kind::Complex, 16) => $loop::<Complex<f64> $(, $target)?>,
                _ => return None,
            }
        };
    }
    #[cfg(feature = "half-2")]
    if (from.kind(), from.size()) == (Kind::Float, 2) {
        macro_rules! of_half {
            ($loop:expr) => {
                |from, to| convert_from_half(from, to, $loop)
            };
        }
        return Some(match (to.kind(), to.size()) {
            (Kind::Bool, 1) => of_half!(convert_to_bool::<f32>),
            (Kind::Int, 1) => of_half!(convert::<f32, i8>),
            (Kind::Int, 2) => of_half!(convert::<f32, i16>),
            (Kind::Int, 4) => of_half!(convert::<f32, i32>),
            (Kind::Int, 8) => of_half!(convert::<f32, i64>),
            (Kind::Uint, 1) => of_half!(convert::<f32, u8>),
            (Kind::Uint, 2) => of_half!(convert::<f32, u16>),
            (Kind::Uint, 4) => of_half!(convert::<f32, u32>),
            (Kind::Uint, 8) => of_half!(convert::<f32, u64>),
            (Kind::Float, 2) => |from, to| {
                to.copy(from);
            },
            (Kind::Float, 4) => of_half!(convert::<f32, f32>),
            (Kind::Float, 8) => of_half!(convert::<f32, f64>),
            (Kind::Complex, 8) => of_half!(convert::<f32, Complex<f32>>),
            (Kind::Complex, 16) => of_half!(convert::<f32, Complex<f64>>),
            _ => return None,
        });
    }
    Some(match (to.kind(), to.size()) {
        (Kind::Bool, 1) => from_each!(convert_to_bool),
        (Kind::Int, 1) => from_each!(convert, i8),
        (Kind::Int, 2) => from_each!(convert, i16),
        (Kind::Int, 4) => from_each!(convert, i32),
        (Kind::Int, 8) => from_each!(convert, i64),
        (Kind::Uint, 1) => from_each!(convert, u8),
        (Kind::Uint, 2) => from_each!(convert, u16),
        (Kind::Uint, 4) => from_each!(convert, u32),
        (Kind::Uint, 8) => from_each!(convert, u64),
        #[cfg(feature = "half-2")]
        (Kind::Float, 2) => from_each!(convert_to_half),
        (Kind::Float, 4) => from_each!(convert, f32),
        (Kind::Float, 8) => from_each!(convert, f64),
        (Kind::Complex, 8) => from_each!(convert, Complex<f32>),
        (Kind::Complex, 16) => from_each!(convert, Complex<f64>),
        _ => return None,
    })
}
