//! What a [`DynArray`] looks like: aligned, with the fewest digits that mean the same number, and of a large array the
//! edges.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use ndarray::{IxDyn, SliceArg, SliceInfoElem};

use super::DynArray;
use super::dates::date;
use crate::dtype::{ByteOrder, DType, Kind, Scalar, TimeUnit};
use crate::element::trimmed;
use crate::error::Result;
use crate::io::ArrayFormat;
use crate::options::Look;
use crate::parts::{ArrayFile, Selection};

/// The edges of an array are so many elements wide.
const EDGE: usize = 3;
/// Of an element that is a text, bytes or an array itself, so many parts are shown.
const LONGEST: usize = 1000;

/// The elements in brackets, as ndarray and NumPy show them.
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
        Sheet::new(self.shape(), self, &Look::new()).fmt(f)
    }
}

impl DynArray {
    /// What the array looks like, wider or narrower, shorter or longer than `Display` has it: see [`Look`].
    pub fn shown(&self, look: &Look) -> String {
        Sheet::new(self.shape(), self, look).to_string()
    }

    /// Each element as `Display` shows it, in the order of the indices, the last of which varies fastest.
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
        let look = Look::new().all();
        let strides = self.header.the_shape().strides(self.order());
        let is_empty = self.shape().contains(&0);
        let mut index = (!is_empty).then(|| vec![0; strides.len()]);
        std::iter::from_fn(move || {
            let at = index.as_mut()?;
            let number: u64 = at.iter().zip(&strides).map(|(index, stride)| *index as u64 * stride).sum();
            // The next index: the last axis first.
            let axis = (0..at.len()).rev().find(|axis| at[*axis] + 1 < self.shape()[*axis]);
            match axis {
                Some(axis) => {
                    at[axis] += 1;
                    at[axis + 1..].fill(0);
                }
                None => index = None,
            }
            Some(self.item(number as usize, &look))
        })
    }

    fn item(&self, number: usize, look: &Look) -> String {
        #[cfg(feature = "object")]
        if let Some(objects) = self.object_items() {
            return super::object::brief(&objects[number]);
        }
        let size = self.dtype().item_size();
        value(self.dtype(), &self.bytes()[number * size..][..size], look)
    }
}

impl<F: ArrayFormat> ArrayFile<F> {
    /// What the array looks like: as [`DynArray`]'s `Display` shows it. Of a large one only the edges are read.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::<u8>::zeros((1000, 2)))?;
    /// assert_eq!(NpyFile::open(&path)?.preview()?, "[[0, 0],\n [0, 0],\n [0, 0],\n …,\n [0, 0],\n [0, 0],\n [0, 0]]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preview(&self) -> Result<String> {
        let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        self.preview_slice(&vec![all; self.header().the_shape().ndim()][..])
    }

    /// What a part of the array looks like, as ndarray's `slice` takes it. Of a large one only the edges are read.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, s};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::from_shape_fn((1000, 2), |(row, column)| (row * 2 + column) as u16))?;
    /// assert_eq!(NpyFile::open(&path)?.preview_slice(s![10..;-400, ..])?, "[[1998, 1999],\n [1198, 1199],\n [ 398,  399]]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preview_slice<I: SliceArg<IxDyn>>(&self, slice: I) -> Result<String> {
        self.preview_with(slice, &Look::new())
    }

    /// The same, wider or narrower, shorter or longer: see [`Look`].
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the slice asks for indices that the array does not have;
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the slice has another number of axes;
    /// [`Io`](crate::error::ErrorKind::Io) if the system fails; an error of the [format](crate::Error::is_format) if the file is
    /// malformed or truncated; [`Limit`](crate::error::ErrorKind::Limit) beyond the [`Limits`](crate::Limits).
    pub fn preview_with<I: SliceArg<IxDyn>>(&self, slice: I, look: &Look) -> Result<String> {
        let selection =
            Selection::of(self.header().the_shape(), &slice).map_err(|error| self.at_path(error))?;
        let dims = &selection.dims()[..];
        if dims.contains(&0) {
            return Ok("[]".to_owned());
        }
        let (mut ranges, mut shown) = (Vec::new(), 1usize);
        for length in dims.iter().rev() {
            let (head, tail) = match is_cut(look, dims, *length) {
                // So many are shown of the axes behind that of this one the first index alone is.
                _ if shown >= look.last => (0..1, None),
                true => (0..EDGE, Some(length - EDGE..*length)),
                false => (0..*length, None),
            };
            shown = shown.saturating_mul(head.len() + tail.as_ref().map_or(0, Range::len));
            ranges.push((head, tail));
        }
        ranges.reverse();
        let edges = self.edges(&selection, &ranges, &mut Vec::new())?;
        Ok(Sheet::new(dims, &edges, look).to_string())
    }

    /// The parts that lie in one of the ranges of each axis, as one array.
    fn edges(
        &self,
        selection: &Selection,
        ranges: &[Edges],
        chosen: &mut Vec<Range<usize>>,
    ) -> Result<DynArray> {
        let axis = chosen.len();
        let Some((head, tail)) = ranges.get(axis) else {
            return self.slice_any(&selection.within(chosen)[..]);
        };
        let mut read = Vec::new();
        for range in [Some(head), tail.as_ref()].into_iter().flatten() {
            chosen.push(range.clone());
            read.push(self.edges(selection, ranges, chosen)?);
            chosen.pop();
        }
        match read.len() {
            1 => Ok(read.swap_remove(0)),
            _ => DynArray::join(&read, axis),
        }
    }
}

/// What is shown of an axis: its beginning, which may be all of it, and its end.
type Edges = (Range<usize>, Option<Range<usize>>);

/// Whether an axis of this length is shown by its edges alone.
fn is_cut(look: &Look, dims: &[usize], length: usize) -> bool {
    dims.iter().fold(1, |all: usize, length| all.saturating_mul(*length)) > look.most && length > 2 * EDGE + 1
}

struct Sheet<'a> {
    /// The lengths of the axes of what is shown,
    dims: &'a [usize],
    /// of which this may be the edges alone.
    array: &'a DynArray,
    look: &'a Look,
    strides: Vec<u64>,
    /// How many elements may still be shown.
    left: Cell<usize>,
}

impl fmt::Display for Sheet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dims.contains(&0) {
            return f.write_str("[]"); // the other axes may be endless
        }
        let mut width = 0;
        self.left.set(self.look.last);
        self.each(0, 0, &mut |item| width = width.max(self.array.item(item, self.look).chars().count()));
        self.left.set(self.look.last);
        self.write(f, 0, 0, width)
    }
}

impl<'a> Sheet<'a> {
    fn new(dims: &'a [usize], array: &'a DynArray, look: &'a Look) -> Self {
        let strides = array.header.the_shape().strides(array.order());
        Self { dims, array, look, strides, left: Cell::new(look.last) }
    }

    /// Where an index of an axis stands in the array, which may be the edges.
    fn place(&self, axis: usize, index: usize) -> usize {
        let (length, there) = (self.dims[axis], self.array.shape()[axis]);
        let place = if index < EDGE { index } else { (index + there).saturating_sub(length) };
        place.min(there - 1) * self.strides[axis] as usize
    }

    /// The indices of an axis that are shown; `None` stands for those that are not.
    fn indices(&self, axis: usize) -> impl Iterator<Item = Option<usize>> + use<> {
        let length = self.dims[axis];
        let is_cut = is_cut(self.look, self.dims, length);
        let head = if is_cut { EDGE } else { length };
        let tail = if is_cut { length - EDGE } else { length };
        (0..head).map(Some).chain(is_cut.then_some(None)).chain((tail..length).map(Some))
    }

    /// Calls with the number of each element that is shown.
    fn each(&self, axis: usize, from: usize, call: &mut dyn FnMut(usize)) {
        if axis == self.strides.len() {
            self.left.set(self.left.get() - 1);
            return call(from);
        }
        for index in self.indices(axis).flatten().take_while(|_| self.left.get() > 0) {
            self.each(axis + 1, from + self.place(axis, index), call);
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, axis: usize, from: usize, width: usize) -> fmt::Result {
        if axis == self.strides.len() {
            self.left.set(self.left.get() - 1);
            return write!(f, "{:>width$}", self.array.item(from, self.look));
        }
        let is_last = axis + 1 == self.strides.len();
        let between = if is_last {
            ", ".to_owned()
        } else {
            // One line end for each axis within, and the brackets that are open.
            format!(",{}{}", "\n".repeat(self.strides.len() - axis - 1), " ".repeat(axis + 1))
        };
        // How many elements there is room for, with a comma and a blank behind each.
        let room = self.look.width.saturating_sub(axis + 1) / width.saturating_add(2);
        f.write_str("[")?;
        for (number, index) in self.indices(axis).enumerate() {
            match number {
                0 => {}
                _ if is_last && number.is_multiple_of(room.max(1)) => {
                    write!(f, ",\n{}", " ".repeat(axis + 1))?;
                }
                _ => f.write_str(&between)?,
            }
            match index {
                _ if self.left.get() == 0 => {
                    f.write_str("…")?;
                    break;
                }
                None => f.write_str("…")?,
                Some(index) => self.write(f, axis + 1, from + self.place(axis, index), width)?,
            }
        }
        f.write_str("]")
    }
}

/// One element.
fn value(dtype: &DType, bytes: &[u8], look: &Look) -> String {
    match dtype {
        DType::Scalar(scalar) => scalar_value(scalar, bytes, look),
        DType::Subarray(subarray) => {
            let (base, size) = (subarray.base(), subarray.base().item_size());
            let items = bytes.chunks_exact(size.max(1)).take(LONGEST);
            let items: Vec<String> = items.map(|item| value(base, item, look)).collect();
            let rest = if bytes.len() / size.max(1) > LONGEST { ", …" } else { "" };
            format!("[{}{rest}]", items.join(", "))
        }
        DType::Record(record) => {
            let part = |field: &crate::dtype::Field| {
                value(field.dtype(), &bytes[field.offset()..][..field.dtype().item_size()], look)
            };
            let items: Vec<String> = record.fields().iter().map(part).collect();
            format!("({})", items.join(", "))
        }
        DType::Object => "object".into(),
    }
}

fn scalar_value(scalar: &Scalar, bytes: &[u8], look: &Look) -> String {
    let float = |bytes: &[u8], is_big| float(bytes, is_big, look.precision);
    let is_big = scalar.byte_order() == Some(ByteOrder::Big);
    match scalar.kind() {
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
            let (shown, rest) = beginning(trimmed(bytes), 1);
            format!("b\"{}\"{rest}", shown.escape_ascii())
        }
        Kind::Text => {
            let (shown, rest) = beginning(bytes, 4);
            let codes = shown.chunks_exact(4).map(|code| unsigned(code, is_big) as u32);
            let text: String =
                codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            format!("{:?}{}", text.trim_end_matches('\0'), if text.ends_with('\0') { "" } else { rest })
        }
        Kind::Void => {
            let (shown, rest) = beginning(bytes, 1);
            hex(shown) + rest
        }
        Kind::Datetime(step) | Kind::Timedelta(step) => match signed(bytes, is_big) {
            ticks if ticks == i128::from(i64::MIN) => "NaT".into(),
            ticks if matches!(scalar.kind(), Kind::Datetime(_)) && step.unit != TimeUnit::Generic => {
                date(ticks, step)
            }
            ticks => format!("{ticks}[{step}]"),
        },
    }
}

/// What is shown of an element that may be endless, and what tells that there is more.
fn beginning(bytes: &[u8], unit: usize) -> (&[u8], &'static str) {
    match bytes.get(..LONGEST * unit) {
        Some(shown) if shown.len() < bytes.len() => (shown, "…"),
        _ => (bytes, ""),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn unsigned(bytes: &[u8], is_big: bool) -> u128 {
    let push = |number: u128, byte: &u8| number << 8 | u128::from(*byte);
    if is_big { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
}

fn signed(bytes: &[u8], is_big: bool) -> i128 {
    let unused = 128 - 8 * bytes.len() as u32;
    (unsigned(bytes, is_big) as i128) << unused >> unused
}

/// The fewest digits that mean the same number. A `longdouble` is shown by its bytes, because the file does not say which
/// of its two formats it is.
fn float(bytes: &[u8], is_big: bool, precision: Option<usize>) -> String {
    let bits = unsigned(bytes, is_big);
    let (number, shortest) = match bytes.len() {
        2 => (half_to_single(bits as u16).into(), format!("{:?}", half_to_single(bits as u16))),
        4 => (f32::from_bits(bits as u32).into(), format!("{:?}", f32::from_bits(bits as u32))),
        8 => (f64::from_bits(bits as u64), format!("{:?}", f64::from_bits(bits as u64))),
        _ => return hex(&bits.to_be_bytes()),
    };
    // The digits behind the point, before an exponent.
    let digits = |text: &str| {
        let mantissa = text.split('e').next().unwrap_or(text);
        mantissa.split_once('.').map_or(0, |(_, digits)| digits.len())
    };
    // What would be shown as zero is not.
    let is_small = |most: usize| number != 0.0 && number.abs() < 10f64.powi(-(most as i32));
    match precision {
        Some(most) if digits(&shortest) > most => match shortest.contains('e') || is_small(most) {
            true => format!("{number:.most$e}"),
            false => format!("{number:.most$}"),
        },
        _ => shortest,
    }
}

/// A 16-bit float as the `f32` of the same value.
fn half_to_single(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1F), u32::from(bits & 0x3FF));
    let value = match exponent {
        0 => fraction as f32 / 16_777_216.0, // in units of 2⁻²⁴
        0x1F => f32::from_bits(0x7F80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if bits >> 15 == 1 { -value } else { value }
}
