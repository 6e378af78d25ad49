//! Converts elements of one dtype to another, by NumPy's casting rules.

mod longdouble;
pub(super) mod narrow;
mod numbers;
mod text;
mod times;

pub(crate) use narrow::{NarrowValue, narrow_value};
pub(crate) use text::format_number;
pub(super) use text::parse_item;
#[cfg(feature = "object")]
pub(crate) use text::{format_complex, format_f64, shortest_half};
pub(crate) use text::{half_as_printed, half_to_single};
pub(super) use times::ticks_in;

use super::cast::{Bitwise, ElementBuf};
use super::swap::swap_units;
use super::{ItemDecoder, ReadPlan, mismatch, swap_between};
use crate::bytes::ReadBuf;
use crate::dtype::Casting;
use crate::dtype::{ByteOrder, CastingRules, DType, Kind, LongDoubleFormat, Scalar, TimeUnit};
use crate::error::{Error, Fault, Remedy, Result};
use crate::limits;
pub(crate) use crate::options::Recode;
use crate::options::{ChosenCasting, ConvertLoop, ReadOptions, Recoding};

/// Modifies bytes in place.
pub(crate) type SwapInPlace = Box<dyn Fn(&mut [u8]) + Send + Sync>;

/// The way to convert elements of one dtype to another.
pub(crate) enum DTypeConversion {
    Nothing,
    /// Swap the byte order in place.
    Swap(SwapInPlace),
    Recode(Recode),
}

/// Returns the dtype that is meant as the target of a conversion: text without a width has the width that suffices for
/// every value, and a time without a unit has that of the source, as in NumPy.
pub(crate) fn resolve_target_dtype(found: &DType, wanted: &DType) -> DType {
    let scalar = |from: &Scalar, to: &Scalar| {
        let order = to.byte_order().unwrap_or(ByteOrder::NATIVE);
        match (to.kind(), times::step_of(from.kind()), times::step_of(to.kind())) {
            (kind @ (Kind::Text | Kind::Bytes), _, _) if to.size() == 0 => {
                let unit = if kind == Kind::Text { 4 } else { 1 };
                let width = text::default_width(from)?;
                Scalar::new(kind, width.checked_mul(unit)?, order)
            }
            (_, Some((one, is_date)), Some((other, to_date)))
                if is_date == to_date && other.unit == TimeUnit::Generic =>
            {
                Scalar::new(if is_date { Kind::Datetime(one) } else { Kind::Timedelta(one) }, 8, order)
            }
            _ => None,
        }
    };
    let meant = found.as_scalar().zip(wanted.as_scalar()).and_then(|(from, to)| scalar(from, to));
    meant.map_or_else(|| wanted.clone(), DType::from)
}

/// Returns the conversion from one dtype to another.
///
/// Fails with [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if there is no conversion or the casting does not allow it, and
/// with [`Objects`](crate::error::ErrorKind::Objects) if `found` contains Python objects.
pub(crate) fn dtype_conversion(
    found: &DType,
    wanted: &DType,
    rules: CastingRules,
) -> Result<DTypeConversion> {
    // Raw bytes are what numbers of `ml_dtypes` are in files, so they become each other without a change.
    if found == wanted || found.stored() == *wanted || *found == wanted.stored() {
        return Ok(DTypeConversion::Nothing);
    }
    if found.with_byte_order(ByteOrder::NATIVE) == wanted.with_byte_order(ByteOrder::NATIVE) {
        return Ok(DTypeConversion::Swap(Box::new(swap_between(found, wanted))));
    }
    let (Some(from), Some(to)) = (found.as_scalar(), wanted.as_scalar()) else {
        return Err(mismatch(found, wanted.clone(), false));
    };
    recoder(from, to, rules).map(DTypeConversion::Recode)
}

/// Returns the conversion from one scalar dtype to another, or an error if there is none or the casting does not allow it.
fn recoder(from: &Scalar, to: &Scalar, rules: CastingRules) -> Result<Recode> {
    match find_recoder(from, to, rules) {
        Some(recode) => check_casting(rules.casting, from, to).map(|()| recode),
        None => {
            let with_format = CastingRules { long_double: Some(LongDoubleFormat::X87), ..rules };
            match rules.long_double.is_none() && find_recoder(from, to, with_format).is_some() {
                true => {
                    check_casting(rules.casting, from, to)?;
                    Err(not_allowed(from, to, Remedy::LongDoubleFormat))
                }
                false => Err(mismatch(&(*from).into(), (*to).into(), false)),
            }
        }
    }
}

/// Returns the error for a conversion that something else allows.
fn not_allowed(from: &Scalar, to: &Scalar, help: Remedy) -> Error {
    let error = Fault::DTypeMismatch { found: (*from).into(), wanted: (*to).into() };
    Error::from(error).with_help(help)
}

/// Returns the conversion from one scalar dtype to another, or `None` if it does not exist.
fn find_recoder(from: &Scalar, to: &Scalar, rules: CastingRules) -> Option<Recode> {
    if narrow::narrow(from).or(narrow::narrow(to)).is_some() {
        return narrow::recoder(from, to, rules);
    }
    // The modules do not overlap: each returns `None` for pairs that it does not convert.
    numbers_recoder(from, to, rules)
        .or_else(|| times::recoder(from, to, rules.casting))
        .or_else(|| text::recoder(from, to))
}

/// Returns the conversion between two numbers of NumPy's own, or of RA's.
fn numbers_recoder(from: &Scalar, to: &Scalar, rules: CastingRules) -> Option<Recode> {
    let is_of_halves = |scalar: &Scalar| (scalar.kind(), scalar.size()) == (Kind::Complex, 4);
    // By way of doubles, which are rounded to halves once. The parts of a complex number are converted like other floats, twice
    // as many.
    let complex = Scalar::new(Kind::Complex, 16, ByteOrder::NATIVE)?;
    let parts = |scalar: &Scalar| Scalar::new(Kind::Float, scalar.size() / 2, scalar.byte_order()?);
    let of_parts = |from, to| numbers::recoder(&parts(from)?, &parts(to)?, rules.casting);
    if is_of_halves(from) {
        let rest = numbers_recoder(&complex, to, rules)?;
        return Some(chain(of_parts(from, &complex)?, [from, &complex, to], rest));
    }
    if is_of_halves(to) {
        let first = numbers_recoder(from, &complex, rules)?;
        return Some(chain(first, [from, &complex, to], of_parts(&complex, to)?));
    }
    match longdouble::is_long_double(from) || longdouble::is_long_double(to) {
        true => longdouble::recoder(from, to, rules.long_double),
        false => numbers::recoder(from, to, rules.casting),
    }
}

/// Returns one conversion after another, of elements of three dtypes.
fn chain(first: Recode, [from, between, to]: [&Scalar; 3], second: Recode) -> Recode {
    let (from, between, to) = (from.size(), between.size(), to.size());
    Box::new(move |items, made| {
        let mut middle = Vec::new();
        let (count, mut done) = (items.len() / from, 0);
        for_each_part(items, count, &mut |items, count| {
            limits::resize(&mut middle, count * between)?;
            first(items, &mut middle)?;
            let part = done * to..(done + count) * to;
            done += count;
            second(&mut middle, &mut made[part])
        })
    })
}

/// Fails if the casting does not allow this conversion, which must exist.
fn check_casting(casting: Casting, from: &Scalar, to: &Scalar) -> Result<()> {
    match allows(casting, from, to) {
        true => Ok(()),
        false => Err(not_allowed(from, to, Remedy::Cast(strictest_casting(from, to)))),
    }
}

impl From<Casting> for ChosenCasting {
    fn from(casting: Casting) -> Self {
        Self { casting, find: find_recoding }
    }
}

/// The only way from reading to the conversions: nothing else may name it but the choice of a casting.
fn find_recoding(from: &Scalar, to: &Scalar, rules: CastingRules) -> Result<Recoding> {
    let shared_loop = numbers::unchecked_loop(from, to, rules.casting);
    Ok(Recoding { recode: recoder(from, to, rules)?, shared_loop })
}

/// Returns whether there is a casting option that allows elements of a file to be read as this type.
///
/// It does not look for the conversion, which a program that chooses no casting does not have.
fn is_convertible(from: &Scalar, to: &Scalar) -> bool {
    let has_halves = cfg!(feature = "half-2");
    let is_basic = |scalar: &Scalar| match (scalar.kind(), scalar.size()) {
        (Kind::Bool | Kind::Int | Kind::Uint, _) | (Kind::Float, 4 | 8) | (Kind::Complex, 8 | 16) => true,
        (Kind::Float, 2) => has_halves,
        _ => false,
    };
    let is_number = |scalar: &Scalar| match (scalar.kind(), scalar.size()) {
        (Kind::Float, 12 | 16) | (Kind::Complex, 24 | 32) | (Kind::Narrow(_), _) => true,
        (Kind::Complex, 4) => has_halves,
        _ => is_basic(scalar),
    };
    match (times::step_of(from.kind()), times::step_of(to.kind())) {
        (Some((one, is_date)), Some((other, to_date))) => {
            return is_date == to_date && times::has_scale(one, other, is_date);
        }
        (Some(_), None) if text::width(to).is_none() => return is_basic(to),
        (None, Some(_)) if text::width(from).is_none() => return is_basic(from),
        _ => {}
    }
    let is_generic = |scalar: &Scalar| {
        times::step_of(scalar.kind()).is_some_and(|(step, is_date)| is_date && step.unit == TimeUnit::Generic)
    };
    match (text::width(from), text::width(to)) {
        (Some(from), Some(to)) => from == 0 || to > 0,
        (Some(_), None) => text::reserved_width(to).is_some() && !is_generic(to),
        (None, Some(width)) => width > 0 && text::reserved_width(from).is_some(),
        (None, None) => is_number(from) && is_number(to),
    }
}

/// Returns the plan for converting elements of another dtype to `T`, of this dtype, if the options ask for it and allow it.
///
/// The token turns the bytes that are made into elements.
pub(super) fn read_plan<T: 'static>(
    found: &DType,
    wanted: Scalar,
    token: Bitwise<T>,
    options: &ReadOptions,
) -> Result<ReadPlan<T>> {
    let conversion = item_conversion(found, wanted, options)?;
    Ok(match const { size_of::<T>() } {
        // In memory of 0 bytes, nothing tells how many elements have been made.
        0 => ReadPlan::PerItem(converting_decoder(token, conversion)),
        _ => ReadPlan::Converted(token, conversion),
    })
}

fn item_conversion(found: &DType, wanted: Scalar, options: &ReadOptions) -> Result<ItemConversion> {
    match (found.as_scalar(), options.rules()) {
        (Some(found), Some((find, rules))) => {
            Ok(ItemConversion::of(found, &wanted, find(found, &wanted, rules)?))
        }
        (scalar, _) => {
            let can_convert = scalar.is_some_and(|scalar| is_convertible(scalar, &wanted));
            Err(mismatch(found, wanted.into(), can_convert))
        }
    }
}

/// Returns the plan for reading elements as text (`U` or `S`, by the kind) of any width, if the casting allows it.
///
/// They are converted to the width that suffices for all of them, of which `items` makes the elements.
pub(super) fn text_read_plan<T: 'static>(
    found: &DType,
    kind: Kind,
    options: &ReadOptions,
    items: impl FnOnce(&Scalar) -> Box<dyn ItemDecoder<T>>,
) -> Result<ReadPlan<T>> {
    let unit = if kind == Kind::Text { 4 } else { 1 };
    let of_width = |width: usize| Scalar::new(kind, width.checked_mul(unit)?, ByteOrder::NATIVE);
    let wanted =
        found.as_scalar().and_then(|from| Some((from, of_width(text::sufficient_width(from)?.max(1))?)));
    match (wanted, options.rules()) {
        (Some((from, wanted)), Some((find, rules))) => {
            let recode = find(from, &wanted, rules)?.recode;
            let via_text = ViaTextDecoder { recode, text_size: wanted.size(), text_decoder: items(&wanted) };
            Ok(ReadPlan::PerItem(Box::new(via_text) as _))
        }
        (wanted, _) => {
            let narrowest = of_width(1).expect("there is text of one character");
            Err(mismatch(found, narrowest.into(), wanted.is_some()))
        }
    }
}

/// So few elements stay in the nearest cache between being read, converted and checked.
const ELEMENTS_PER_PART: usize = 512;

/// Invokes `part` with the items of a few elements at a time, and their number.
fn for_each_part(
    items: &mut [u8],
    count: usize,
    part: &mut dyn FnMut(&mut [u8], usize) -> Result<()>,
) -> Result<()> {
    let item = items.len().checked_div(count).unwrap_or(0);
    for first in (0..count).step_by(ELEMENTS_PER_PART) {
        let end = count.min(first + ELEMENTS_PER_PART);
        part(&mut items[first * item..end * item], end - first)
            .map_err(|error| error.offset_element(first))?;
    }
    Ok(())
}

/// Converts elements to text of a width, and decodes that.
struct ViaTextDecoder<T> {
    recode: Recode,
    text_size: usize,
    text_decoder: Box<dyn ItemDecoder<T>>,
}

impl<T> ItemDecoder<T> for ViaTextDecoder<T> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, T>) -> Result<()> {
        let mut texts = Vec::new();
        for_each_part(items, count, &mut |items, count| {
            limits::resize(&mut texts, count * self.text_size)?;
            (self.recode)(items, &mut texts)?;
            self.text_decoder.decode(&mut texts, count, out)
        })
    }

    fn nanos_per_element(&self) -> u64 {
        100
    }
}

/// Makes the bytes of elements of a type from items of another dtype.
///
/// It is not generic, so that reading numbers of a type as another is compiled once for each pair, in the library.
#[doc(hidden)]
pub struct ItemConversion {
    recode: Recode,
    /// Does the same without modifying the items, if that is possible.
    shared_loop: Option<ConvertLoop>,
    item_size: usize,
    made_size: usize,
    is_text: bool,
}

impl ItemConversion {
    fn of(found: &Scalar, wanted: &Scalar, Recoding { recode, shared_loop }: Recoding) -> Self {
        let is_text = text::width(found).or(text::width(wanted)).is_some();
        Self { recode, shared_loop, item_size: found.size(), made_size: wanted.size(), is_text }
    }

    /// Returns the size of an item.
    pub(crate) fn item_size(&self) -> usize {
        self.item_size
    }

    /// Returns the size of what is made of an item.
    pub(crate) fn made_size(&self) -> usize {
        self.made_size
    }

    /// Makes elements of `count` items, which it may modify. An error names the element.
    pub(crate) fn convert(&self, items: &mut [u8], count: usize, made: &mut ReadBuf<'_>) -> Result<()> {
        if let Some(convert) = self.shared_loop {
            convert(items, made);
            return Ok(());
        }
        for_each_part(items, count, &mut |items, count| {
            let recode = |made: &mut [u8]| (self.recode)(items, made).map(|()| made.len());
            made.read_with(count * self.made_size, recode).map(drop)
        })
    }

    /// Returns the loop that makes elements of items without modifying them, if that is possible.
    pub(crate) fn shared_loop(&self) -> Option<ConvertLoop> {
        self.shared_loop
    }

    /// Returns about how many nanoseconds an element takes, which decides how many threads convert.
    pub(crate) fn nanos_per_element(&self) -> u64 {
        if self.is_text { 50 } else { 1 }
    }
}

/// Returns a decoder of converted elements, for what is made of several elements or of one.
pub(super) fn converting_decoder<T: 'static>(
    token: Bitwise<T>,
    conversion: ItemConversion,
) -> Box<dyn ItemDecoder<T>> {
    Box::new(ConvertingDecoder { token, conversion })
}

struct ConvertingDecoder<T> {
    token: Bitwise<T>,
    conversion: ItemConversion,
}

impl<T> ItemDecoder<T> for ConvertingDecoder<T> {
    fn decode(&self, items: &mut [u8], count: usize, out: &mut ElementBuf<'_, T>) -> Result<()> {
        out.extend(self.token.make(count, &mut |made| self.conversion.convert(items, count, made))?);
        Ok(())
    }

    fn nanos_per_element(&self) -> u64 {
        self.conversion.nanos_per_element()
    }
}

/// Returns what `numpy.can_cast(from, to, casting)` returns, for conversions that exist.
fn allows(casting: Casting, from: &Scalar, to: &Scalar) -> bool {
    casting >= strictest_casting(from, to)
}

/// Returns the strictest casting that allows a conversion.
fn strictest_casting(from: &Scalar, to: &Scalar) -> Casting {
    let of = |is_safe: bool, is_same_kind: bool| match (is_safe, is_same_kind) {
        (true, _) => Casting::Safe,
        (_, true) => Casting::SameKind,
        _ => Casting::Unsafe,
    };
    match (text::width(from), text::width(to)) {
        (Some(own), Some(width)) => {
            // `S` cannot represent all of `U`, so this direction is `Unsafe`.
            let is_narrowed = from.kind() == Kind::Text && to.kind() == Kind::Bytes;
            return of(own <= width && !is_narrowed, !is_narrowed);
        }
        (None, Some(_)) if times::step_of(from.kind()).is_some() => return Casting::Unsafe,
        (None, Some(width)) => {
            return of(
                text::reserved_width(from).is_some_and(|reserved_width| reserved_width <= width),
                true,
            );
        }
        (Some(_), None) => return Casting::Unsafe,
        (None, None) => {}
    }
    match (times::step_of(from.kind()), times::step_of(to.kind())) {
        (Some((one, is_date)), Some((other, _))) => {
            // A conversion to a bare count drops the unit, so it is `Unsafe`.
            let is_named = other.unit != TimeUnit::Generic || one.unit == TimeUnit::Generic;
            of(is_named && times::is_lossless(one, other, is_date), is_named)
        }
        // Below `Unsafe`, only integers and bools convert to a duration, and no number converts to a point in
        // time. A `Uint` of 8 bytes may exceed the range of ticks, so it is not `Safe`.
        (None, Some((_, false))) => {
            let is_integer = matches!(from.kind(), Kind::Bool | Kind::Int | Kind::Uint);
            of(is_integer && (from.kind(), from.size()) != (Kind::Uint, 8), is_integer)
        }
        (None, None) => of(is_safe(from, to), rank(from.kind()) <= rank(to.kind())),
        _ => Casting::Unsafe,
    }
}

/// Ranks the kinds in the order bool, unsigned, signed, float, complex.
#[deny(clippy::wildcard_enum_match_arm)]
fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Bool => 0,
        Kind::Uint => 1,
        Kind::Int => 2,
        Kind::Float => 3,
        Kind::Narrow(narrow) => match narrow.limits() {
            Some((0, _)) => 1,
            Some(_) => 2,
            None => 3,
        },
        Kind::Complex => 4,
        Kind::Bytes | Kind::Text | Kind::Void | Kind::Datetime(_) | Kind::Timedelta(_) => 4,
    }
}

fn is_safe(from: &Scalar, to: &Scalar) -> bool {
    match (narrow::narrow(from), narrow::narrow(to)) {
        (_, Some(_)) => return false,
        // Every unsigned integer of fewer than 8 bits is a signed one of 8.
        (Some(from), None) if from.limits().is_some() && to.kind() == Kind::Int => return true,
        (Some(from), None) => return narrow::wider_scalar(from).is_some_and(|wide| is_safe(&wide, to)),
        (None, None) => {}
    }
    let (from_size, to_size) = (from.size(), to.size());
    match (from.kind(), to.kind()) {
        (Kind::Bool, _) => true,
        (Kind::Uint, Kind::Uint) | (Kind::Int, Kind::Int) | (Kind::Float, Kind::Float) => {
            from_size <= to_size
        }
        (Kind::Complex, Kind::Complex) => from_size <= to_size,
        (Kind::Uint, Kind::Int) => from_size < to_size,
        (Kind::Uint | Kind::Int, Kind::Float) => float_size_for_integer(from_size) <= to_size,
        (Kind::Uint | Kind::Int, Kind::Complex) => float_size_for_integer(from_size) <= to_size / 2,
        (Kind::Float, Kind::Complex) => from_size <= to_size / 2,
        _ => false,
    }
}

/// Returns the size of the smallest float that NumPy considers large enough for an integer.
///
/// A 64-bit float cannot represent every 64-bit integer, but a larger float does not exist on every machine.
fn float_size_for_integer(size: usize) -> usize {
    (2 * size).min(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{ByteOrder, Narrow, TimeStep};

    /// Whether each type (rows) can be cast to each type (columns, in the order of the rows).
    ///
    /// This is the output of NumPy 2.4: safely (`s`), within its kind (`k`), or neither (`.`).
    const CAN_CAST: [(&str, &str); 14] = include!("can_cast.in");

    /// What is said of a conversion without looking for it is what looking for it would find.
    #[test]
    fn convertible_dtypes_are_those_that_have_a_conversion() {
        let step = |unit| TimeStep::new(1, unit);
        let units = TimeUnit::ALL.into_iter().chain([TimeUnit::Generic]);
        let times = units.flat_map(|unit| [Kind::Datetime(step(unit)), Kind::Timedelta(step(unit))]);
        let kinds = [
            Kind::Bool,
            Kind::Int,
            Kind::Uint,
            Kind::Float,
            Kind::Complex,
            Kind::Text,
            Kind::Bytes,
            Kind::Void,
        ];
        let kinds = kinds.into_iter().chain(times).chain(Narrow::ALL.into_iter().map(Kind::Narrow));
        let scalars = kinds.flat_map(|kind| {
            [0, 1, 2, 4, 8, 12, 16, 20, 24, 32]
                .into_iter()
                .filter_map(move |size| Scalar::new(kind, size, ByteOrder::NATIVE))
        });
        let scalars: Vec<Scalar> = scalars.collect();
        assert!(scalars.len() > 80);
        let rules = CastingRules { casting: Casting::Unsafe, long_double: Some(LongDoubleFormat::X87) };
        for from in &scalars {
            for to in &scalars {
                assert_eq!(
                    is_convertible(from, to),
                    find_recoder(from, to, rules).is_some(),
                    "{from} to {to}"
                );
            }
        }
    }

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
