//! Compares the elements of two blocks.

use std::ops::Range;

use ndarray::{ArrayD, IxDyn, SliceInfoElem};
use ndarray_io::blocks::Block;
use ndarray_io::dtype::{Kind, LongDoubleFormat};
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray, ReadableElement};

use ndarray_io_compute::index_in;

use super::Arguments;
use super::long_doubles::{Difference, ExactElements};
use crate::failure::{Failure, at};
use crate::places::Places;
use crate::source::Source;

/// The differences between two arrays.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) places: Places,
    /// The values at the places that are listed.
    pub(super) values: Vec<[String; 2]>,
    /// How many elements differ in each field of records.
    pub(super) fields: Vec<(String, usize)>,
    /// How many numbers are NaN in one array only.
    pub(super) lone_nan_count: u64,
    /// How many numbers differ in sign alone.
    pub(super) sign_count: u64,
    /// The largest differences, and their indices.
    pub(super) absolute: Option<(f64, Vec<usize>)>,
    pub(super) relative: Option<(f64, Vec<usize>)>,
}

fn is_readable_number(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| {
        matches!(
            scalar.kind(),
            Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Narrow(_)
        ) && (!has_long_doubles(dtype) || crate::reading::long_double_format_of(scalar).is_some())
    })
}

/// Whether elements are integers, bools or text, all of whose values are equal to themselves.
fn cannot_be_nan(dtype: &DType) -> bool {
    let kind = dtype.as_scalar().map(ndarray_io::dtype::Scalar::kind);
    matches!(kind, Some(Kind::Bool | Kind::Int | Kind::Uint | Kind::Text | Kind::Bytes))
}

/// Whether elements consist of `longdouble`s.
fn has_long_doubles(dtype: &DType) -> bool {
    let scalar = dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
    matches!(scalar, Some((Kind::Float, 12 | 16) | (Kind::Complex, 24 | 32)))
}

fn is_complex(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Complex)
}

/// Whether elements of two dtypes can be equal.
///
/// Elements of equal dtypes can be, and numbers of any type. Records must have the same field names, and
/// subarrays the same shape; then their parts decide.
pub(super) fn are_comparable(a: &DType, b: &DType) -> bool {
    let native = |dtype: &DType| dtype.with_byte_order(ndarray_io::ByteOrder::NATIVE);
    match (a, b) {
        (DType::Record(a), DType::Record(b)) => {
            let pairs = || a.fields().iter().zip(b.fields());
            a.fields().len() == b.fields().len()
                && pairs().all(|(a, b)| a.name() == b.name() && are_comparable(a.dtype(), b.dtype()))
        }
        (DType::Subarray(a), DType::Subarray(b)) => {
            a.shape() == b.shape() && are_comparable(a.base(), b.base())
        }
        _ => native(a) == native(b) || is_readable_number(a) && is_readable_number(b),
    }
}

/// A block of each array, and its place.
pub(super) struct BlockPair {
    pub(super) one: DynArray,
    pub(super) two: DynArray,
    pub(super) block: Block<()>,
}

/// Returns the size of a block in bytes, and the blocks unless they are equal.
pub(super) fn unequal_blocks_and_byte_len(
    (block, own): (Block<()>, DynArray),
    other: DynArray,
    is_first: bool,
    arguments: &Arguments,
) -> (u64, Option<BlockPair>) {
    let (one, two) = if is_first { (own, other) } else { (other, own) };
    let bytes = one.bytes().len().max(two.bytes().len()) as u64;
    // Equal bytes are equal values, except for NaN with --strict-nan, which integers and text do not have.
    let has_same_bytes = one.objects().is_none()
        && one.dtype() == two.dtype()
        && one.order() == two.order()
        && one.bytes() == two.bytes();
    let may_have_nan = arguments.strict_nan && !cannot_be_nan(one.dtype());
    let is_equal = has_same_bytes && !may_have_nan;
    (bytes, (!is_equal).then_some(BlockPair { one, two, block }))
}

/// Compares two blocks, which have these indices.
pub(super) fn compare(
    [(one, one_file), (two, two_file)]: [(&DynArray, &Source); 2],
    ranges: &[Range<usize>],
    arguments: &Arguments,
    differences: &mut Differences,
) -> Result<(), Failure> {
    let (differs, sources) = (vec![false; one.len()], [one_file, two_file]);
    let mut block = BlockComparison { ranges, differs, arguments, differences, sources };
    match (one.dtype(), two.dtype()) {
        (DType::Record(a), DType::Record(b)) if one.objects().is_none() => {
            for number in 0..a.fields().len().min(b.fields().len()) {
                let before = std::mem::replace(&mut block.differs, vec![false; one.len()]);
                block.compare(&one.field(number)?, &two.field(number)?)?;
                block.note_field(number, a.fields()[number].name());
                block.differs.iter_mut().zip(before).for_each(|(differs, before)| *differs |= before);
            }
        }
        _ => block.compare(one, two)?,
    }
    let BlockComparison { differs, .. } = block;
    let ranges_within: Vec<Range<usize>> = one.shape().iter().map(|length| 0..*length).collect();
    for (number, _) in differs.iter().enumerate().filter(|(_, differs)| **differs) {
        if differences.places.indices.len() < arguments.limit {
            let within = index_in(&ranges_within, number);
            let value = |array: &DynArray| -> Result<String, Failure> {
                let index: Vec<_> =
                    within.iter().map(|index| SliceInfoElem::Index(*index as isize)).collect();
                let value = array.slice(&index[..])?;
                Ok(value.display_with(&crate::reading::display_options()).to_string().replace('\n', " "))
            };
            differences.values.push([value(one)?, value(two)?]);
        }
        differences.places.add(index_in(ranges, number));
    }
    Ok(())
}

/// The state of comparing two blocks.
struct BlockComparison<'a> {
    ranges: &'a [Range<usize>],
    /// In C order.
    differs: Vec<bool>,
    arguments: &'a Arguments,
    differences: &'a mut Differences,
    /// The two files, for errors.
    sources: [&'a Source; 2],
}

impl BlockComparison<'_> {
    /// Compares two arrays that have one or more items for each element of the block.
    ///
    /// There is more than one item per element if a field is a subarray.
    fn compare(&mut self, one: &DynArray, two: &DynArray) -> Result<(), Failure> {
        if let (DType::Record(a), DType::Record(b)) = (one.dtype(), two.dtype())
            && one.objects().is_none()
        {
            for number in 0..a.fields().len().min(b.fields().len()) {
                self.compare(&one.field(number)?, &two.field(number)?)?;
            }
            return Ok(());
        }
        if is_readable_number(one.dtype()) && is_readable_number(two.dtype()) {
            return self.compare_numbers(one, two);
        }
        if let (Some(a), Some(b)) = (one.objects(), two.objects()) {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                self.note_item((index, one.len()), a == b);
            }
            return Ok(());
        }
        // Everything else is compared bytewise, in native byte order and C order. The bytes of long doubles may include padding.
        let native = one.dtype().with_byte_order(ndarray_io::ByteOrder::NATIVE);
        let (a, b) = (cast_in_c_order(one, &native)?, cast_in_c_order(two, &native)?);
        let size = native.item_size().max(1);
        let count = a.bytes().len() / size;
        if has_long_doubles(&native) && a.bytes() != b.bytes() {
            return Err(at(
                self.sources[0].name(),
                "the format of its long doubles decides which of their bytes count; --long-double x87, quad or double-double states it"
                    .into(),
            ));
        }
        for (index, (a, b)) in a.bytes().chunks_exact(size).zip(b.bytes().chunks_exact(size)).enumerate() {
            self.note_item((index, count), a == b);
        }
        Ok(())
    }

    fn compare_numbers(&mut self, one: &DynArray, two: &DynArray) -> Result<(), Failure> {
        let strict_nan = self.arguments.strict_nan;
        if let Some(format) = exact_comparison_format(one.dtype(), two.dtype()) {
            let exact = |array, file_number: usize| {
                ExactElements::of(array, format).map_err(|error| self.sources[file_number].name_error(error))
            };
            let (a, b) = (exact(one, 0)?, exact(two, 1)?);
            let count = a.len();
            for index in 0..count {
                let Difference { is_equal, distance, second_magnitude, scale } =
                    a.difference_at(&b, index, strict_nan);
                self.note_scaled_numbers((index, count), is_equal, (distance, second_magnitude), scale);
            }
            return Ok(());
        }
        let sizes = [one, two].map(|array| match array.dtype().as_scalar() {
            Some(scalar) if scalar.kind() == Kind::Float => scalar.size(),
            Some(scalar) if scalar.kind() == Kind::Complex => scalar.size() / 2,
            _ => 0,
        });
        let size = sizes[0].min(sizes[1]);
        if is_complex(one.dtype()) || is_complex(two.dtype()) {
            type C = num_complex::Complex<f64>;
            let (a, b) = (self.cast::<C>(one, 0)?, self.cast::<C>(two, 1)?);
            let count = a.len();
            for (index, (a, b)) in a.iter().zip(&b).enumerate() {
                let is_equal = a == b
                    || !strict_nan && a.is_nan() && b.is_nan()
                    || self.is_near(a.re, b.re, size) && self.is_near(a.im, b.im, size);
                self.differences.lone_nan_count += u64::from(a.is_nan() != b.is_nan());
                self.note_numbers((index, count), is_equal, (a - b).norm(), b.norm());
            }
            return Ok(());
        }
        // Compare 64-bit integers exactly: as floats, neighboring values would be equal.
        if let (Some(a), Some(b)) = (integers_as_i128(one), integers_as_i128(two)) {
            let count = a.len();
            for (index, (a, b)) in a.iter().zip(&b).enumerate() {
                self.note_numbers((index, count), a == b, a.abs_diff(*b) as f64, *b as f64);
            }
            return Ok(());
        }
        let (a, b) = (self.cast::<f64>(one, 0)?, self.cast::<f64>(two, 1)?);
        let count = a.len();
        for (index, (a, b)) in a.iter().zip(&b).enumerate() {
            let is_equal = a == b || !strict_nan && a.is_nan() && b.is_nan();
            let is_equal = is_equal || self.is_near(*a, *b, size);
            self.differences.lone_nan_count += u64::from(a.is_nan() != b.is_nan());
            self.differences.sign_count += u64::from(!is_equal && *a == -b);
            self.note_numbers((index, count), is_equal, (a - b).abs(), b.abs());
        }
        Ok(())
    }

    /// Whether no more floats of this size are between two than the options allow.
    fn is_near(&self, a: f64, b: f64, size: usize) -> bool {
        self.arguments.ulp > 0 && floats_between(a, b, size).is_some_and(|steps| steps <= self.arguments.ulp)
    }

    /// Adds how many elements differ in a field, the only one that has been compared.
    fn note_field(&mut self, number: usize, name: &str) {
        let fields = &mut self.differences.fields;
        if fields.len() == number {
            fields.push((name.to_owned(), 0));
        }
        fields[number].1 += self.differs.iter().filter(|differs| **differs).count();
    }

    /// Converts the elements of one of the two files, which an error names.
    fn cast<T: ReadableElement>(&self, array: &DynArray, file_number: usize) -> Result<ArrayD<T>, Failure> {
        Ok(array
            .cast(&crate::reading::options().casting(Casting::Unsafe))
            .map_err(|error| self.sources[file_number].name_error(error))?)
    }

    /// Records whether an item is equal. The item is given by its number and the number of items.
    ///
    /// Returns the number of the element that contains the item.
    fn note_item(&mut self, (index, count): (usize, usize), is_equal: bool) -> usize {
        let element = index / (count / self.differs.len()).max(1);
        self.differs[element] |= !is_equal;
        element
    }

    /// Like `note_item`, for numbers that differ by `distance`, where the second has the magnitude `size`.
    fn note_numbers(&mut self, number: (usize, usize), is_equal: bool, distance: f64, size: f64) {
        self.note_scaled_numbers(number, is_equal, (distance, size.abs()), 0);
    }

    /// Like `note_numbers`, with numbers in units of 2^`scale`.
    fn note_scaled_numbers(
        &mut self,
        number: (usize, usize),
        is_equal: bool,
        (distance, size): (f64, f64),
        scale: i32,
    ) {
        let Arguments { atol, rtol, .. } = self.arguments;
        // An infinite number would make the relative tolerance infinite.
        if is_equal || size.is_finite() && distance <= ldexp(*atol, -scale) + rtol * size {
            return;
        }
        let element = self.note_item(number, false);
        let index = || index_in(self.ranges, element);
        let larger = |largest: &Option<(f64, Vec<usize>)>, new: f64| {
            largest.as_ref().is_none_or(|(old, _)| new > *old)
        };
        let absolute = ldexp(distance, scale);
        if absolute.is_finite() && larger(&self.differences.absolute, absolute) {
            self.differences.absolute = Some((absolute, index()));
        }
        let part = distance / size;
        if part.is_finite() && larger(&self.differences.relative, part) {
            self.differences.relative = Some((part, index()));
        }
    }
}

/// Returns how many steps from one float to the next lead from one finite number to another, in the floats of this size.
fn floats_between(a: f64, b: f64, size: usize) -> Option<u64> {
    // The bits of floats of one sign are in the order of the floats.
    let position = |number: f64| -> i64 {
        let bits = number.abs().to_bits() as i64;
        let bits = match size {
            2 => {
                let exponent = ((bits >> 52) - 1023).max(-14) as i32;
                (i64::from(exponent + 14) << 10) + (number.abs() * 2f64.powi(10 - exponent)) as i64
            }
            4 => i64::from((number.abs() as f32).to_bits()),
            _ => bits,
        };
        if number.is_sign_negative() { -bits } else { bits }
    };
    let are_finite = matches!(size, 2 | 4 | 8) && a.is_finite() && b.is_finite();
    // A number of a wider type may be between two floats.
    are_finite.then(|| position(a).abs_diff(position(b)).max(u64::from(a != b)))
}

fn cast_in_c_order(array: &DynArray, dtype: &DType) -> Result<DynArray, Failure> {
    let array = if array.dtype() == dtype { array.clone() } else { array.cast_to(dtype, Casting::Safe)? };
    Ok(array.in_order(Order::C)?.into_owned())
}

/// Returns integers and bools as `i128`, so that `i64` and `u64` compare exactly.
fn integers_as_i128(array: &DynArray) -> Option<ndarray::Array1<i128>> {
    let kind = array.dtype().as_scalar()?.kind();
    let flat = |array: ndarray::ArrayD<i128>| array.iter().copied().collect();
    match kind {
        Kind::Int | Kind::Bool => {
            Some(flat(array.cast::<i64, IxDyn>(Casting::Unsafe).ok()?.mapv(i128::from)))
        }
        Kind::Uint => Some(flat(array.cast::<u64, IxDyn>(Casting::Unsafe).ok()?.mapv(i128::from))),
        _ => None,
    }
}

/// Returns the format of the long doubles by way of which numbers are compared, if `f64` does not have all their values.
fn exact_comparison_format(one: &DType, two: &DType) -> Option<LongDoubleFormat> {
    let is_whole = |dtype: &DType| {
        let scalar = dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
        matches!(scalar, Some((Kind::Int | Kind::Uint, 8)))
    };
    match crate::reading::long_double() {
        format @ Some(_) if has_long_doubles(one) || has_long_doubles(two) => format,
        _ if has_long_doubles(one) || has_long_doubles(two) => Some(LongDoubleFormat::X87), // those of 12 bytes
        _ if is_whole(one) != is_whole(two) => Some(LongDoubleFormat::X87),
        _ => None,
    }
}

/// Returns a number × 2^`scale`.
fn ldexp(number: f64, scale: i32) -> f64 {
    // In two steps: the power itself may be out of range. Zero stays zero.
    let half = scale / 2;
    let steps = [half, scale - half].map(|step| 2f64.powi(step.clamp(-1000, 1000)));
    number * steps[0] * steps[1]
}
