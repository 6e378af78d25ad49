//! Converts between `longdouble` and other numbers, one by one.

use super::{Recode, numbers};
use crate::dtype::{ByteOrder, Kind, LongDoubleFormat, Scalar};
use crate::elements::longdouble::WideFloat;
use crate::elements::swap::{swap_unit_of, swap_units};
use crate::error::{ElementFault, Error, Fault};

/// Returns whether a number consists of `longdouble`s.
pub(super) fn is_long_double(scalar: &Scalar) -> bool {
    matches!((scalar.kind(), scalar.size()), (Kind::Float, 12 | 16) | (Kind::Complex, 24 | 32))
}

/// Returns the format of a number's `longdouble`s, or `None` if the file does not say it and `format` does not either.
fn format_of(scalar: &Scalar, format: Option<LongDoubleFormat>) -> Option<LongDoubleFormat> {
    match (scalar.kind(), scalar.size()) {
        (Kind::Float, 16) | (Kind::Complex, 32) => format,
        _ => Some(LongDoubleFormat::X87), // of 12 bytes, or not asked for
    }
}

/// Returns how many parts a number has, and the type of each.
fn part_count_and_type(scalar: &Scalar) -> Option<(usize, Scalar)> {
    match scalar.kind() {
        Kind::Bool | Kind::Int | Kind::Uint | Kind::Float => Some((1, *scalar)),
        Kind::Complex => {
            Scalar::new(Kind::Float, scalar.size() / 2, scalar.byte_order()?).map(|part| (2, part))
        }
        _ => None,
    }
}

/// Returns the conversion between two numbers of which one is a `longdouble`.
pub(super) fn recoder(from: &Scalar, to: &Scalar, format: Option<LongDoubleFormat>) -> Option<Recode> {
    let ((parts, part), (made_parts, made_part)) = (part_count_and_type(from)?, part_count_and_type(to)?);
    let (from, to) = (*from, *to);
    let (read_format, written_format) = (format_of(&part, format)?, format_of(&made_part, format)?);
    if part.size() == made_part.size() && is_long_double(&part) {
        return Some(part_recoder(from, parts, to, made_parts));
    }
    let read = reader(&part, read_format)?;
    let write = writer(&made_part, written_format)?;
    Some(Box::new(move |items, made| {
        if from.is_foreign() {
            swap_units(items, swap_unit_of(&from));
        }
        let pairs = items.chunks_exact(from.size()).zip(made.chunks_exact_mut(to.size()));
        for (index, (item, into)) in pairs.enumerate() {
            let mut values = [WideFloat::of_integer(0); 2];
            for (value, part) in values.iter_mut().zip(item.chunks_exact(from.size() / parts)) {
                *value = read(part).map_err(|found| {
                    Error::from(Fault::InvalidElement(ElementFault::Bool { found })).at_element(index)
                })?;
            }
            // As bools, complex numbers are true if any part is.
            if to.kind() == Kind::Bool && values[0].is_zero() {
                values.swap(0, 1);
            }
            for (value, part) in values.iter().zip(into.chunks_exact_mut(to.size() / made_parts)) {
                write(*value, part);
            }
        }
        if to.is_foreign() {
            swap_units(made, swap_unit_of(&to));
        }
        Ok(())
    }))
}

/// Returns the conversion between real and complex `longdouble`s, whose parts stay as they are.
fn part_recoder(from: Scalar, parts: usize, to: Scalar, made_parts: usize) -> Recode {
    Box::new(move |items, made| {
        if from.is_foreign() {
            swap_units(items, swap_unit_of(&from));
        }
        let size = from.size() / parts;
        for (item, into) in items.chunks_exact(size * parts).zip(made.chunks_exact_mut(size * made_parts)) {
            into.fill(0);
            into[..size].copy_from_slice(&item[..size]);
        }
        if to.is_foreign() {
            swap_units(made, swap_unit_of(&to));
        }
        Ok(())
    })
}

/// Returns the bits of a native-endian number of at most 16 bytes.
fn native_bits(item: &[u8]) -> u128 {
    let mut bits = [0; 16];
    let unused = if cfg!(target_endian = "big") { 16 - item.len() } else { 0 };
    bits[unused..][..item.len()].copy_from_slice(item);
    u128::from_ne_bytes(bits)
}

type ReadWide = Box<dyn Fn(&[u8]) -> Result<WideFloat, u8> + Send + Sync>;
type WriteWide = Box<dyn Fn(WideFloat, &mut [u8]) + Send + Sync>;

/// Returns how a native-endian number is read; an error is a byte that is not a bool.
fn reader(part: &Scalar, format: LongDoubleFormat) -> Option<ReadWide> {
    let native = part.with_order(ByteOrder::NATIVE);
    Some(match (part.kind(), part.size()) {
        (Kind::Float, 12 | 16) => Box::new(move |item| Ok(WideFloat::of(native_bits(item), format))),
        (Kind::Bool, _) => Box::new(|item| match item[0] {
            bool @ 0..=1 => Ok(WideFloat::of_integer(bool.into())),
            found => Err(found),
        }),
        (Kind::Float, _) => {
            let double = Scalar::new(Kind::Float, 8, ByteOrder::NATIVE)?;
            let convert = numbers::one_number_converter(&native, &double)?;
            Box::new(move |item| Ok(WideFloat::of_f64(f64::from_ne_bytes(convert(item)))))
        }
        (Kind::Uint, 8) => {
            Box::new(|item| Ok(WideFloat::of_integer(bytemuck::pod_read_unaligned::<u64>(item).into())))
        }
        _ => {
            let integer = Scalar::new(Kind::Int, 8, ByteOrder::NATIVE)?;
            let convert = numbers::one_number_converter(&native, &integer)?;
            Box::new(move |item| Ok(WideFloat::of_integer(i64::from_ne_bytes(convert(item)).into())))
        }
    })
}

/// Returns how a number is written in native byte order.
fn writer(part: &Scalar, format: LongDoubleFormat) -> Option<WriteWide> {
    fn put<const N: usize>(bytes: [u8; N], into: &mut [u8]) {
        into.copy_from_slice(&bytes);
    }
    macro_rules! integer {
        ($type:ty) => {
            Box::new(|value, into| {
                let clamped = value.to_integer().clamp(<$type>::MIN.into(), <$type>::MAX.into());
                put((clamped as $type).to_ne_bytes(), into);
            })
        };
    }
    Some(match (part.kind(), part.size()) {
        (Kind::Float, 16) => {
            // Of two doubles, the larger one comes first, in any byte order.
            let is_big = part.byte_order() == Some(ByteOrder::Big);
            Box::new(move |value, into| put(value.bits(format, is_big).to_ne_bytes(), into))
        }
        (Kind::Float, 12) => Box::new(move |value, into| {
            let bits = value.bits(format, false).to_ne_bytes();
            into.copy_from_slice(if cfg!(target_endian = "big") { &bits[4..] } else { &bits[..12] });
        }),
        (Kind::Float, 8) => Box::new(|value, into| put(value.to_f64().to_ne_bytes(), into)),
        (Kind::Float, 4) => {
            Box::new(|value, into| put((value.to_f64_rounded_to_odd() as f32).to_ne_bytes(), into))
        }
        // By way of an `f32`, as NumPy does, so that these are rounded twice.
        #[cfg(feature = "half-2")]
        (Kind::Float, 2) => Box::new(|value, into| {
            put(numbers::nearest_half((value.to_f64_rounded_to_odd() as f32).into()).to_ne_bytes(), into)
        }),
        (Kind::Bool, 1) => Box::new(|value, into| put([u8::from(!value.is_zero())], into)),
        (Kind::Int, 1) => integer!(i8),
        (Kind::Int, 2) => integer!(i16),
        (Kind::Int, 4) => integer!(i32),
        (Kind::Int, 8) => integer!(i64),
        (Kind::Uint, 1) => integer!(u8),
        (Kind::Uint, 2) => integer!(u16),
        (Kind::Uint, 4) => integer!(u32),
        (Kind::Uint, 8) => integer!(u64),
        _ => return None,
    })
}
