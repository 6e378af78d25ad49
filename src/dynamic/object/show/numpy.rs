//! Formats the arrays and scalars of NumPy as NumPy 2 does, with its default options.

use super::super::text::Text;
use super::super::{Array, Scalar};
use super::floats::{self, SignStyle};
use super::{QuotedBytes, dtypes};
use crate::dtype::{ByteOrder, DType, Kind, Record, Scalar as ScalarType, Subarray, TimeUnit};
use crate::dynamic::show::{signed, unsigned};
use crate::elements::iso_datetime;
use crate::elements::{format_number, hex, without_trailing_nuls};
use crate::shape::{Shape, indices_of};

/// An array of more elements is abbreviated.
pub(super) const ABBREVIATION_THRESHOLD: usize = 1000;
/// The number of indices that are shown at each end of an abbreviated axis.
const EDGE_ITEMS: usize = 3;
/// No more elements are shown, even if NumPy would show more of an array with many axes.
const MAX_SHOWN_ELEMENTS: usize = 10_000;
const LINE_WIDTH: usize = 75;
const ARRAY_PREFIX: &str = "array(";

/// The shape of an array, and which of its elements are shown.
pub(super) struct ArrayLayout {
    dims: Vec<usize>,
    is_abbreviated: bool,
}

impl ArrayLayout {
    pub(super) fn new(dims: &[usize]) -> Self {
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim));
        let is_empty = dims.contains(&0);
        Self {
            dims: dims.to_vec(),
            is_abbreviated: !is_empty && count.is_none_or(|count| count > ABBREVIATION_THRESHOLD),
        }
    }

    fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Returns the indices of an axis that are shown, with `None` for the ellipsis.
    fn shown_indices(&self, axis: usize) -> impl Iterator<Item = Option<usize>> + use<> {
        let length = self.dims[axis];
        let is_abbreviated = self.is_abbreviated && length > 2 * EDGE_ITEMS;
        let head = if is_abbreviated { EDGE_ITEMS } else { length };
        let tail = if is_abbreviated { length - EDGE_ITEMS } else { length };
        (0..head).map(Some).chain(is_abbreviated.then_some(None)).chain((tail..length).map(Some))
    }

    /// Returns the number of elements that are shown; `None` if they are too many.
    pub(super) fn shown_count(&self) -> Option<usize> {
        let each = |dim: &usize| if self.is_abbreviated { (*dim).min(2 * EDGE_ITEMS) } else { *dim };
        let count = self.dims.iter().map(each).try_fold(1usize, usize::checked_mul);
        count.filter(|count| *count <= MAX_SHOWN_ELEMENTS || !self.is_abbreviated)
    }

    /// Returns whether an element is shown, by its number in C order.
    pub(super) fn is_shown(&self, number: usize) -> bool {
        let indices = indices_of(number as u64, self.dims.iter().rev().copied());
        let is_at_edge = |(dim, index): (&usize, usize)| {
            *dim <= 2 * EDGE_ITEMS || index < EDGE_ITEMS || index >= dim - EDGE_ITEMS
        };
        !self.is_abbreviated || self.dims.iter().rev().zip(indices).all(is_at_edge)
    }

    /// Lays out the shown elements, which are in C order, and appends what they do not tell of the dtype and
    /// the shape.
    pub(super) fn array_repr(&self, words: Vec<String>, dtype: &DType) -> String {
        let body = match self.is_empty() {
            true => "[]".to_owned(),
            // The last character of a line is for the closing parenthesis.
            false => {
                self.lay_out_from_axis(0, ARRAY_PREFIX.len() + 1, LINE_WIDTH - 1, &mut words.into_iter())
            }
        };
        let mut more = Vec::new();
        if self.is_abbreviated || self.is_empty() && self.dims != [0] {
            more.push(format!("shape={}", Shape::from(self.dims.clone())));
        }
        if !is_implied(dtype) || self.is_empty() {
            more.push(format!("dtype={}", dtypes::dtype_argument(dtype)));
        }
        if more.is_empty() {
            return format!("{ARRAY_PREFIX}{body})");
        }
        let (shown, more) = (format!("{ARRAY_PREFIX}{body},"), more.join(", ") + ")");
        let last_line = shown.rsplit('\n').next().unwrap_or("").chars().count();
        match last_line + more.chars().count() + 1 > LINE_WIDTH {
            true => format!("{shown}\n{}{more}", " ".repeat(ARRAY_PREFIX.len())),
            false => format!("{shown} {more}"),
        }
    }

    /// Lays out the part of an array at one index of all axes before `axis`.
    fn lay_out_from_axis(
        &self,
        axis: usize,
        indent: usize,
        width: usize,
        words: &mut impl Iterator<Item = String>,
    ) -> String {
        let left = self.dims.len() - axis;
        if left == 0 {
            return words.next().unwrap_or_default();
        }
        let mut lines =
            LineWrapper { done: String::new(), line: " ".repeat(indent), indent, width: width - 1 };
        for (number, index) in self.shown_indices(axis).enumerate() {
            match (left, index) {
                (1, index) => {
                    if number > 0 {
                        lines.line.push_str(", ");
                    }
                    lines.push(&match index {
                        Some(_) => words.next().unwrap_or_default(),
                        None => "...".to_owned(),
                    });
                }
                (_, index) => {
                    if number > 0 {
                        lines.done.push_str(&format!(",{}{}", "\n".repeat(left - 1), " ".repeat(indent)));
                    }
                    let part = match index {
                        Some(_) => self.lay_out_from_axis(axis + 1, indent + 1, width - 1, words),
                        None => "...".to_owned(),
                    };
                    lines.done.push_str(&part);
                }
            }
        }
        match left {
            1 => format!("[{}]", (lines.done + &lines.line).get(indent..).unwrap_or_default()),
            _ => format!("[{}]", lines.done),
        }
    }
}

/// The lines of a row, which is broken where the next element would not fit.
struct LineWrapper {
    done: String,
    line: String,
    indent: usize,
    width: usize,
}

impl LineWrapper {
    fn push(&mut self, word: &str) {
        let longest = word.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let length = self.line.chars().count();
        let is_broken = length + longest > self.width && length > self.indent;
        if is_broken {
            self.end_line(self.indent);
        }
        // The lines of an element with several, such as an array, start at the same column.
        let indent = self.line.chars().count();
        let mut last = 0;
        for (number, part) in word.lines().enumerate() {
            if number > 0 {
                self.end_line(if is_broken { self.indent } else { indent });
            }
            self.line.push_str(part);
            last = part.chars().count();
        }
        if word.contains('\n') {
            self.line.push_str(&" ".repeat(longest - last));
        }
    }

    fn end_line(&mut self, indent: usize) {
        self.done.push_str(self.line.trim_end());
        self.done.push('\n');
        self.line = " ".repeat(indent);
    }
}

/// Returns what it costs to show an element, in bytes: what is visited, and what its parts take as text.
pub(super) fn element_show_cost(dtype: &DType) -> usize {
    const BYTES_PER_PART: usize = 128;
    fn part_count(dtype: &DType) -> usize {
        match dtype {
            DType::Scalar(_) | DType::Object => 1,
            DType::Subarray(subarray) => subarray
                .shape()
                .iter()
                .fold(part_count(subarray.base()), |parts, dim| parts.saturating_mul(*dim)),
            // A record without fields is an item as well.
            DType::Record(record) => record
                .fields()
                .iter()
                .fold(1usize, |sum, field| sum.saturating_add(part_count(field.dtype()))),
        }
    }
    dtype.item_size().max(part_count(dtype).saturating_mul(BYTES_PER_PART))
}

/// Returns whether NumPy would take the elements for this dtype if it were not named.
fn is_implied(dtype: &DType) -> bool {
    let DType::Scalar(scalar) = dtype else { return false };
    let is_native = scalar.byte_order().is_none_or(|order| order == ByteOrder::NATIVE);
    is_native
        && matches!(
            (scalar.kind(), scalar.size()),
            (Kind::Bool, _) | (Kind::Int | Kind::Float, 8) | (Kind::Complex, 16)
        )
}

/// Formats an array whose elements are not objects; `None` if too many would be shown.
pub(super) fn array(array: Array<'_>) -> Option<String> {
    let grid = ArrayLayout::new(array.shape());
    grid.shown_count()?;
    let size = array.dtype().item_size();
    let strides = Shape::from(array.shape().to_vec()).strides(array.order());
    let mut items = Vec::new();
    if !grid.is_empty() {
        let mut places = vec![0];
        for (axis, stride) in strides.iter().enumerate() {
            let of_axis = |place: usize| {
                grid.shown_indices(axis).flatten().map(move |index| place + index * *stride as usize)
            };
            places = places.into_iter().flat_map(of_axis).collect();
        }
        items = places.into_iter().map(|place| &array.bytes()[place * size..][..size]).collect();
    }
    let words = format_elements(array.dtype(), &items, array.shape().is_empty(), false);
    Some(grid.array_repr(words, array.dtype()))
}

/// Formats elements of one dtype, aligned with one another.
///
/// `has_no_axes` says that it is one element without axes, and `is_scalar` that it is not in an array.
fn format_elements(dtype: &DType, items: &[&[u8]], has_no_axes: bool, is_scalar: bool) -> Vec<String> {
    match dtype {
        DType::Scalar(scalar) if is_scalar && scalar.kind() == Kind::Float && scalar.size() <= 8 => {
            items.iter().map(|item| unaligned_float(scalar, item)).collect()
        }
        DType::Scalar(scalar) => format_scalars(scalar, items, has_no_axes),
        DType::Record(record) => format_records(record, items, has_no_axes, is_scalar),
        DType::Subarray(subarray) => format_subarrays(subarray, items, is_scalar),
        DType::Object => vec!["object".to_owned(); items.len()],
    }
}

fn format_records(record: &Record, items: &[&[u8]], has_no_axes: bool, is_scalar: bool) -> Vec<String> {
    let mut shown = vec!["(".to_owned(); items.len()];
    for (number, field) in record.fields().iter().enumerate() {
        let size = field.dtype().item_size();
        let parts: Vec<&[u8]> = items.iter().map(|item| &item[field.offset()..][..size]).collect();
        for (shown, word) in
            shown.iter_mut().zip(format_elements(field.dtype(), &parts, has_no_axes, is_scalar))
        {
            shown.push_str(if number > 0 { ", " } else { "" });
            shown.push_str(&word);
        }
    }
    let end = if record.fields().len() == 1 { ",)" } else { ")" };
    shown.iter_mut().for_each(|shown| shown.push_str(end));
    shown
}

fn format_subarrays(subarray: &Subarray, items: &[&[u8]], is_scalar: bool) -> Vec<String> {
    let size = subarray.base().item_size();
    let count: usize = subarray.shape().iter().product();
    let part = |item: &&'_ [u8], index: usize| index * size..(index + 1) * size.min(item.len());
    let parts: Vec<&[u8]> = items
        .iter()
        .flat_map(|item| (0..count).map(|index| &item[part(item, index)]).collect::<Vec<_>>())
        .collect();
    let words = format_elements(subarray.base(), &parts, false, is_scalar);
    let rows = |words: &[String]| nested_brackets(subarray.shape(), words, count > ABBREVIATION_THRESHOLD);
    match count {
        0 => items.iter().map(|_| rows(&[])).collect(),
        _ => words.chunks(count).map(rows).collect(),
    }
}

/// Formats the items of a subarray in nested brackets on one line.
fn nested_brackets(dims: &[usize], words: &[String], is_abbreviated: bool) -> String {
    let Some((dim, inner)) = dims.split_first() else { return words.first().cloned().unwrap_or_default() };
    let size: usize = inner.iter().product();
    let row = |index: usize| nested_brackets(inner, &words[index * size..][..size], is_abbreviated);
    let rows: Vec<String> = match is_abbreviated && *dim > 2 * EDGE_ITEMS {
        true => {
            let (head, tail) = ((0..EDGE_ITEMS).map(row), (dim - EDGE_ITEMS..*dim).map(row));
            head.chain(["...".to_owned()]).chain(tail).collect()
        }
        false => (0..*dim).map(row).collect(),
    };
    format!("[{}]", rows.join(", "))
}

fn format_scalars(scalar: &ScalarType, items: &[&[u8]], has_no_axes: bool) -> Vec<String> {
    let is_big = scalar.byte_order() == Some(ByteOrder::Big);
    let aligned = |words: Vec<String>| {
        let width = words.iter().map(String::len).max().unwrap_or(0);
        words.into_iter().map(|word| format!("{}{word}", " ".repeat(width - word.len()))).collect()
    };
    let each = |show: &dyn Fn(&[u8]) -> String| items.iter().map(|item| show(item)).collect::<Vec<_>>();
    match scalar.kind() {
        Kind::Bool => each(&|item| match item {
            [0] => "False".to_owned(),
            _ if has_no_axes => "True".to_owned(),
            _ => " True".to_owned(),
        }),
        Kind::Int => aligned(each(&|item| signed(item, is_big).to_string())),
        Kind::Uint => aligned(each(&|item| unsigned(item, is_big).to_string())),
        Kind::Float if scalar.size() <= 8 => {
            let numbers = items.iter().map(|item| floats::SizedFloat::of(item, is_big)).collect();
            floats::aligned(numbers, SignStyle::Minus)
        }
        Kind::Complex if scalar.size() <= 16 => {
            let part = |half: fn(&[u8]) -> &[u8]| {
                items.iter().map(|item| floats::SizedFloat::of(half(item), is_big)).collect()
            };
            let re = floats::aligned(part(|item| &item[..item.len() / 2]), SignStyle::Minus);
            let im = floats::aligned(part(|item| &item[item.len() / 2..]), SignStyle::Always);
            let join = |(re, im): (String, String)| {
                let digits = im.trim_end().len();
                format!("{re}{}j{}", &im[..digits], &im[digits..])
            };
            re.into_iter().zip(im).map(join).collect()
        }
        // The file does not say which format a `longdouble` has.
        Kind::Float | Kind::Complex => each(&hex),
        Kind::Bytes | Kind::Text | Kind::Void => each(&|item| quoted_text_or_bytes(scalar, item)),
        // Objects have no arrays of them: their pickles name a module that is not NumPy.
        Kind::Narrow(_) => each(&hex),
        Kind::Datetime(_) | Kind::Timedelta(_) => aligned(each(&|item| match format_ticks(scalar, item) {
            Some(ticks) => ticks,
            None => "'NaT'".to_owned(),
        })),
    }
}

/// Formats the text or bytes of an element, with quotes.
fn quoted_text_or_bytes(scalar: &ScalarType, item: &[u8]) -> String {
    match scalar.kind() {
        Kind::Bytes => QuotedBytes(without_trailing_nuls(item)).to_string(),
        Kind::Text => {
            let is_big = scalar.byte_order() == Some(ByteOrder::Big);
            let codes: Vec<u32> = item.chunks_exact(4).map(|code| unsigned(code, is_big) as u32).collect();
            Text::of_codes(without_trailing_nuls(&codes)).to_string()
        }
        _ => {
            let bytes: String = item.iter().map(|byte| format!("\\x{byte:02X}")).collect();
            format!("b'{bytes}'")
        }
    }
}

/// Formats a date with quotes, or a time span; `None` if it is NaT.
fn format_ticks(scalar: &ScalarType, item: &[u8]) -> Option<String> {
    let ticks = signed(item, scalar.byte_order() == Some(ByteOrder::Big));
    if ticks == i128::from(i64::MIN) {
        return None;
    }
    Some(match scalar.kind() {
        Kind::Datetime(step) if step.unit != TimeUnit::Generic => format!("'{}'", iso_datetime(ticks, step)),
        _ => ticks.to_string(),
    })
}

/// Formats a float that is not aligned with others.
fn unaligned_float(scalar: &ScalarType, item: &[u8]) -> String {
    let mut native = item.to_vec();
    if scalar.byte_order().is_some_and(|order| order != ByteOrder::NATIVE) {
        native.reverse();
    }
    format_number(scalar, &native).unwrap_or_else(|_| hex(item))
}

/// Formats a scalar, whose bytes are in native order.
pub(super) fn scalar(scalar: Scalar<'_>) -> String {
    let (dtype, bytes) = (scalar.dtype(), scalar.bytes());
    let DType::Scalar(kind) = dtype else {
        let value = format_elements(dtype, &[bytes], true, true).pop().unwrap_or_default();
        return format!("np.void({value}, dtype={})", dtypes::constructor_argument(dtype));
    };
    match kind.kind() {
        Kind::Bool => format!("np.{}_", if bytes == [0] { "False" } else { "True" }),
        Kind::Text => format!("np.str_({})", quoted_text_or_bytes(kind, bytes)),
        Kind::Bytes => format!("np.bytes_({})", quoted_text_or_bytes(kind, bytes)),
        Kind::Void => format!("np.void({})", quoted_text_or_bytes(kind, bytes)),
        Kind::Datetime(unit) => match format_ticks(kind, bytes) {
            None => format!("np.datetime64('NaT','{unit}')"),
            Some(shown) if unit.count == 1 && unit.unit != TimeUnit::Hour => {
                format!("np.datetime64({shown})")
            }
            Some(shown) => format!("np.datetime64({shown},'{unit}')"),
        },
        Kind::Timedelta(unit) => {
            let shown = format_ticks(kind, bytes).unwrap_or_else(|| "'NaT'".to_owned());
            match unit.unit {
                TimeUnit::Generic => format!("np.timedelta64({shown})"),
                _ => format!("np.timedelta64({shown},'{unit}')"),
            }
        }
        Kind::Float if kind.size() > 8 => format!("np.longdouble({})", hex(bytes)),
        Kind::Complex if kind.size() > 16 => format!("np.clongdouble({})", hex(bytes)),
        Kind::Complex => {
            let shown = unaligned_float(kind, bytes);
            let shown = shown.strip_prefix('(').and_then(|shown| shown.strip_suffix(')')).unwrap_or(&shown);
            format!("np.{}({shown})", dtypes::dtype_argument(dtype))
        }
        _ => format!("np.{}({})", dtypes::dtype_argument(dtype), unaligned_float(kind, bytes)),
    }
}
