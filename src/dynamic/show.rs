//! Formatting of a [`DynArray`].
//!
//! Columns are aligned, numbers have the fewest digits that round-trip, and large arrays are abbreviated.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use ndarray::{Dimension, IxDyn, SliceArg};

use super::DynArray;
use crate::dtype::{ByteOrder, DType, Kind, LongDoubleFormat, Scalar, TimeUnit};
use crate::elements::iso_datetime;
use crate::elements::{
    NarrowValue, format_long_double, half_as_printed, half_to_single, hex, narrow_value,
    without_trailing_nuls,
};
use crate::error::Result;
use crate::options::DisplayOptions;
use crate::parts::{NpyFile, Selection};

/// The number of elements shown at each end of an abbreviated axis.
const EDGE_ITEMS: usize = 3;
/// The maximum number of characters, bytes or items that are shown of one element.
///
/// An element may be as large as its file.
const MAX_SHOWN_PER_ELEMENT: usize = 1000;
/// The number of bytes after which no further field or item of one element is shown.
const MAX_ELEMENT_TEXT_LEN: usize = 16 << 10;

/// Formats the elements in nested brackets, as ndarray and NumPy do.
///
/// Of an array with more than 1000 elements, only the first and last 3 indices of each axis longer than 7 are
/// shown, and at most 10,000 elements.
///
/// ```
/// use ndarray::arr2;
/// use ndarray_io::DynArray;
///
/// let array = DynArray::new(&arr2(&[[1.0, 0.5], [-100.25, 2.0]]))?;
/// assert_eq!(array.to_string(), "[[    1.0,     0.5],\n [-100.25,     2.0]]");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
impl fmt::Display for DynArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ArrayFormatter::new(self.shape(), self, &DisplayOptions::new()).fmt(f)
    }
}

impl DynArray {
    /// Formats the array as `Display` does, with the width, length and precision from a [`DisplayOptions`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::DynArray;
    /// use ndarray_io::options::DisplayOptions;
    ///
    /// let array = DynArray::new(&arr1(&[1.0 / 3.0, 0.5]))?;
    /// assert_eq!(array.display_with(&DisplayOptions::new().precision(2)).to_string(), "[0.33,  0.5]");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn display_with<'a>(&'a self, options: &'a DisplayOptions) -> impl fmt::Display + 'a {
        ArrayFormatter::new(self.shape(), self, options)
    }

    /// Returns the number of characters of the longest element.
    pub(crate) fn max_element_width(&self, options: &DisplayOptions) -> usize {
        (0..self.len()).map(|number| self.format_element(number, options).chars().count()).max().unwrap_or(0)
    }

    /// Returns an iterator over the elements in C order, each formatted as `Display` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr2(&[[1.5, -2.0], [f64::NAN, 1e300]]))?;
    /// assert!(array.texts().eq(["1.5", "-2.0", "NaN", "1e300"]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let options = DisplayOptions::new().all();
        let strides = self.header.shape_ref().strides(self.order());
        ndarray::indices(self.shape()).into_iter().map(move |index| {
            let places = index.slice().iter().zip(&strides);
            let number: u64 = places.map(|(index, stride)| *index as u64 * stride).sum();
            self.format_element(number as usize, &options)
        })
    }

    pub(crate) fn format_element(&self, number: usize, options: &DisplayOptions) -> String {
        // Objects do not have bytes, and are formatted differently.
        #[cfg(feature = "object")]
        if let Some(objects) = self.object_items() {
            return super::object::brief_repr(&objects[number]);
        }
        let size = self.dtype().item_size();
        format_value(self.dtype(), &self.bytes()[number * size..][..size], options)
    }
}

impl NpyFile {
    /// Formats part of the array with the width, length and precision from a [`DisplayOptions`]. If it is abbreviated, only its edges are
    /// read.
    pub(crate) fn preview_with<I: SliceArg<IxDyn>>(
        &self,
        slice: I,
        options: &DisplayOptions,
    ) -> Result<String> {
        let selection =
            Selection::of(self.header().shape_ref(), &slice).map_err(|error| self.at_path(error))?;
        let dims = &selection.dims()[..];
        if dims.contains(&0) {
            return Ok("[]".to_owned());
        }
        // From the last axis to the first, so that `shown` is the number of elements shown per index of an
        // axis.
        let (mut ranges, mut shown) = (Vec::new(), 1usize);
        for length in dims.iter().rev() {
            let (head, tail) = match is_axis_abbreviated(options, dims, *length) {
                // The inner axes already reach the limit, so only one index of this axis is shown.
                _ if shown >= options.max_elements => (0..1, None),
                true => (0..EDGE_ITEMS, Some(length - EDGE_ITEMS..*length)),
                false => (0..*length, None),
            };
            shown = shown.saturating_mul(head.len() + tail.as_ref().map_or(0, Range::len));
            ranges.push((head, tail));
        }
        ranges.reverse();
        let edges = self.read_edges(&selection, &ranges, &mut Vec::new())?;
        Ok(ArrayFormatter::new(dims, &edges, options).to_string())
    }

    /// Reads every combination of one range per axis, and concatenates them into one array.
    fn read_edges(
        &self,
        selection: &Selection,
        ranges: &[ShownRanges],
        chosen: &mut Vec<Range<usize>>,
    ) -> Result<DynArray> {
        let axis = chosen.len();
        let Some((head, tail)) = ranges.get(axis) else {
            return self.slice_any(&selection.slice_of_ranges(chosen)[..]);
        };
        let mut read = Vec::new();
        for range in [Some(head), tail.as_ref()].into_iter().flatten() {
            chosen.push(range.clone());
            read.push(self.read_edges(selection, ranges, chosen)?);
            chosen.pop();
        }
        match read.len() {
            1 => Ok(read.swap_remove(0)),
            _ => DynArray::join(&read, axis),
        }
    }
}

/// The shown ranges of an axis: its start (or the entire axis), and its end.
type ShownRanges = (Range<usize>, Option<Range<usize>>);

/// Returns whether an axis of this length is abbreviated.
///
/// An axis with at most one index between its edges is shown completely: an ellipsis would not be shorter.
fn is_axis_abbreviated(options: &DisplayOptions, dims: &[usize], length: usize) -> bool {
    dims.iter().fold(1, |all: usize, length| all.saturating_mul(*length)) > options.threshold
        && length > 2 * EDGE_ITEMS + 1
}

/// Formats an array, or the edges of one.
struct ArrayFormatter<'a> {
    /// The shape of the array that is formatted.
    dims: &'a [usize],
    /// The elements: all of them, or those at the edges.
    array: &'a DynArray,
    options: &'a DisplayOptions,
    strides: Vec<u64>,
    /// The number of elements that may still be formatted.
    remaining_elements: Cell<usize>,
}

impl fmt::Display for ArrayFormatter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dims.contains(&0) {
            return f.write_str("[]"); // the other axes may have any length
        }
        let mut width = 0;
        // The first pass measures the widest element, so that the second one can align all of them.
        self.remaining_elements.set(self.options.max_elements);
        self.for_each_shown(0, 0, &mut |item| {
            width = width.max(self.array.format_element(item, self.options).chars().count())
        });
        self.remaining_elements.set(self.options.max_elements);
        self.write(f, 0, 0, width)
    }
}

impl<'a> ArrayFormatter<'a> {
    fn new(dims: &'a [usize], array: &'a DynArray, options: &'a DisplayOptions) -> Self {
        let strides = array.header.shape_ref().strides(array.order());
        Self { dims, array, options, strides, remaining_elements: Cell::new(options.max_elements) }
    }

    /// Returns what an index of an axis adds to the number of an element in `array`, which may have only the
    /// edges.
    fn element_offset(&self, axis: usize, index: usize) -> usize {
        let (length, there) = (self.dims[axis], self.array.shape()[axis]);
        let place = if index < EDGE_ITEMS { index } else { (index + there).saturating_sub(length) };
        place.min(there - 1) * self.strides[axis] as usize
    }

    /// Returns the indices of an axis that are shown, with `None` for the ellipsis.
    fn shown_indices(&self, axis: usize) -> impl Iterator<Item = Option<usize>> + use<> {
        let length = self.dims[axis];
        let is_axis_abbreviated = is_axis_abbreviated(self.options, self.dims, length);
        let head = if is_axis_abbreviated { EDGE_ITEMS } else { length };
        let tail = if is_axis_abbreviated { length - EDGE_ITEMS } else { length };
        (0..head).map(Some).chain(is_axis_abbreviated.then_some(None)).chain((tail..length).map(Some))
    }

    /// Invokes the callback with the number of each element that is shown.
    fn for_each_shown(&self, axis: usize, from: usize, call: &mut dyn FnMut(usize)) {
        if axis == self.strides.len() {
            self.remaining_elements.set(self.remaining_elements.get() - 1);
            return call(from);
        }
        for index in self.shown_indices(axis).flatten().take_while(|_| self.remaining_elements.get() > 0) {
            self.for_each_shown(axis + 1, from + self.element_offset(axis, index), call);
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, axis: usize, from: usize, width: usize) -> fmt::Result {
        if axis == self.strides.len() {
            self.remaining_elements.set(self.remaining_elements.get() - 1);
            let item = self.array.format_element(from, self.options);
            // A width in a format string has at most 16 bits.
            f.write_str(&" ".repeat(width.saturating_sub(item.chars().count())))?;
            return f.write_str(&item);
        }
        let is_last = axis + 1 == self.strides.len();
        let between = if is_last {
            ", ".to_owned()
        } else {
            // One line break for each inner axis, indented by the number of open brackets.
            format!(",{}{}", "\n".repeat(self.strides.len() - axis - 1), " ".repeat(axis + 1))
        };
        // The number of elements that fit on a line, each followed by a comma and a space.
        let room = self.options.width.saturating_sub(axis + 1) / width.saturating_add(2);
        f.write_str("[")?;
        for (number, index) in self.shown_indices(axis).enumerate() {
            match number {
                0 => {}
                _ if is_last && number % room.max(1) == 0 => {
                    write!(f, ",\n{}", " ".repeat(axis + 1))?;
                }
                _ => f.write_str(&between)?,
            }
            match index {
                _ if self.remaining_elements.get() == 0 => {
                    f.write_str("…")?;
                    break;
                }
                None => f.write_str("…")?,
                Some(index) => self.write(f, axis + 1, from + self.element_offset(axis, index), width)?,
            }
        }
        f.write_str("]")
    }
}

/// Formats one element; a long one is truncated after about [`MAX_ELEMENT_TEXT_LEN`].
fn format_value(dtype: &DType, bytes: &[u8], options: &DisplayOptions) -> String {
    let mut shown = String::new();
    push_value(&mut shown, dtype, bytes, options);
    shown
}

fn push_value(shown: &mut String, dtype: &DType, bytes: &[u8], options: &DisplayOptions) {
    match dtype {
        DType::Scalar(scalar) => shown.push_str(&format_scalar(scalar, bytes, options)),
        DType::Subarray(subarray) => {
            let (base, size) = (subarray.base(), subarray.base().item_size());
            let items = bytes.chunks_exact(size.max(1)).map(|item| (base, item));
            shown.push('[');
            push_parts(shown, items, options);
            shown.push(']');
        }
        DType::Record(record) => {
            let part = |field: &crate::dtype::Field| &bytes[field.offset()..][..field.dtype().item_size()];
            let parts = record.fields().iter().map(|field| (field.dtype(), part(field)));
            shown.push('(');
            push_parts(shown, parts, options);
            shown.push(')');
        }
        DType::Object => shown.push_str("object"),
    }
}

/// Formats the fields of a record or the items of a subarray, as far as there is room.
fn push_parts<'a>(
    shown: &mut String,
    parts: impl Iterator<Item = (&'a DType, &'a [u8])>,
    options: &DisplayOptions,
) {
    for (number, (dtype, bytes)) in parts.enumerate() {
        if number > 0 {
            shown.push_str(", ");
        }
        if number == MAX_SHOWN_PER_ELEMENT || shown.len() >= MAX_ELEMENT_TEXT_LEN {
            shown.push('…');
            break;
        }
        push_value(shown, dtype, bytes, options);
    }
}

fn format_scalar(scalar: &Scalar, bytes: &[u8], options: &DisplayOptions) -> String {
    let float = |bytes: &[u8], is_big| format_float(bytes, is_big, options);
    let is_big = scalar.byte_order() == Some(ByteOrder::Big);
    match scalar.kind() {
        // A DynArray may contain bools that are neither 0 nor 1.
        Kind::Bool => (bytes != [0]).to_string(),
        Kind::Int => signed(bytes, is_big).to_string(),
        Kind::Uint => unsigned(bytes, is_big).to_string(),
        Kind::Float => float(bytes, is_big),
        Kind::Complex => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            let im = float(im, is_big);
            let sign = if im.starts_with('-') { "" } else { "+" };
            format!("{}{sign}{im}i", float(re, is_big))
        }
        Kind::Bytes => {
            let (shown, rest) = shown_part_and_ellipsis(without_trailing_nuls(bytes), 1);
            format!("b\"{}\"{rest}", shown.escape_ascii())
        }
        Kind::Text => {
            let (shown, rest) = shown_part_and_ellipsis(bytes, 4);
            let codes = shown.chunks_exact(4).map(|code| unsigned(code, is_big) as u32);
            let text: String =
                codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            format!("{:?}{}", text.trim_end_matches('\0'), if text.ends_with('\0') { "" } else { rest })
        }
        Kind::Void => {
            let (shown, rest) = shown_part_and_ellipsis(bytes, 1);
            hex(shown) + rest
        }
        Kind::Narrow(narrow) => match narrow_value(narrow, bytes) {
            NarrowValue::Integer(integer) => integer.to_string(),
            NarrowValue::Float(number) => float(&number.to_be_bytes(), true),
        },
        Kind::Datetime(step) | Kind::Timedelta(step) => match signed(bytes, is_big) {
            // NumPy stores NaT as the smallest integer.
            ticks if ticks == i128::from(i64::MIN) => "NaT".into(),
            ticks if matches!(scalar.kind(), Kind::Datetime(_)) && step.unit != TimeUnit::Generic => {
                iso_datetime(ticks, step)
            }
            ticks => format!("{ticks}[{step}]"),
        },
    }
}

/// Returns the part of a large element that is shown, and an ellipsis if the element is longer.
fn shown_part_and_ellipsis(bytes: &[u8], unit: usize) -> (&[u8], &'static str) {
    match bytes.get(..MAX_SHOWN_PER_ELEMENT * unit) {
        Some(shown) if shown.len() < bytes.len() => (shown, "…"),
        _ => (bytes, ""),
    }
}

pub(super) fn unsigned(bytes: &[u8], is_big: bool) -> u128 {
    let push = |number: u128, byte: &u8| number << 8 | u128::from(*byte);
    if is_big { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
}

pub(super) fn signed(bytes: &[u8], is_big: bool) -> i128 {
    // Shifting left and back extends the sign.
    let unused = 128 - 8 * bytes.len() as u32;
    (unsigned(bytes, is_big) as i128) << unused >> unused
}

/// Formats a float with the shortest digits that round-trip, or with at most `precision` digits.
///
/// A `longdouble` is shown as its bytes, unless the options say which of its two formats it has.
fn format_float(bytes: &[u8], is_big: bool, options: &DisplayOptions) -> String {
    let bits = unsigned(bytes, is_big);
    let long = |format| format_long_double(bits, format, options.precision);
    let (number, shortest) = match (bytes.len(), options.long_double) {
        (2, _) => {
            let half = half_to_single(bits as u16);
            (half.into(), format!("{:?}", half_as_printed(half)))
        }
        (4, _) => (f32::from_bits(bits as u32).into(), format!("{:?}", f32::from_bits(bits as u32))),
        (8, _) => (f64::from_bits(bits as u64), format!("{:?}", f64::from_bits(bits as u64))),
        (12, _) => return long(LongDoubleFormat::X87),
        (_, Some(format)) => return long(format),
        (_, None) => return hex(&bits.to_be_bytes()),
    };
    // The number of digits after the decimal point, without the exponent.
    let digits = |text: &str| {
        let mantissa = text.split('e').next().unwrap_or(text);
        mantissa.split_once('.').map_or(0, |(_, digits)| digits.len())
    };
    // A number that would round to zero is shown with an exponent.
    let is_small = |most: usize| number != 0.0 && number.abs() < 10f64.powi(-(most as i32));
    match options.precision {
        Some(most) if digits(&shortest) > most => match shortest.contains('e') || is_small(most) {
            true => format!("{number:.most$e}"),
            false => format!("{number:.most$}"),
        },
        _ => shortest,
    }
}
