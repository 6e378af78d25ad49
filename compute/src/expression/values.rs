//! Values in memory: parts of arrays, in C order.

use std::borrow::Cow;
use std::cmp::Ordering;

use half::f16;
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray, ReadOptions, ReadableElement};
use num_complex::Complex;

use super::parse::Literal;
use super::types::{Type, literal_text};
use crate::error::{Error, Result};

/// Elements of one type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub(crate) kind: Type,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Data,
}

/// Elements in the widest type of their kind. What is narrower has been rounded, or wrapped, to its own type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Bool(Vec<bool>),
    /// Also the counts of times.
    Int(Vec<i64>),
    Uint(Vec<u64>),
    Float(Vec<f64>),
    Complex(Vec<Complex<f64>>),
    Text(Vec<String>),
}

impl Data {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bool(all) => all.len(),
            Self::Int(all) => all.len(),
            Self::Uint(all) => all.len(),
            Self::Float(all) => all.len(),
            Self::Complex(all) => all.len(),
            Self::Text(all) => all.len(),
        }
    }

    /// Returns for each element which place it has among all elements: equal ones have the same, and NaN and NaT have `u32::MAX`.
    pub(crate) fn ranks(&self, is_time: bool) -> Vec<u32> {
        let compared = |order: Option<Ordering>| order.unwrap_or(Ordering::Equal);
        match self {
            Self::Bool(all) => ranks_of(all, |_| false, Ord::cmp),
            Self::Int(all) => ranks_of(all, |one| is_time && *one == i64::MIN, Ord::cmp),
            Self::Uint(all) => ranks_of(all, |_| false, Ord::cmp),
            Self::Float(all) => ranks_of(all, |one| one.is_nan(), |one, two| compared(one.partial_cmp(two))),
            Self::Complex(all) => ranks_of(
                all,
                |one| one.is_nan(),
                |one, two| compared((one.re, one.im).partial_cmp(&(two.re, two.im))),
            ),
            Self::Text(all) => ranks_of(all, |_| false, Ord::cmp),
        }
    }

    /// Appends data of the same type.
    pub(crate) fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Bool(all), Self::Bool(more)) => all.extend(more),
            (Self::Int(all), Self::Int(more)) => all.extend(more),
            (Self::Uint(all), Self::Uint(more)) => all.extend(more),
            (Self::Float(all), Self::Float(more)) => all.extend(more),
            (Self::Complex(all), Self::Complex(more)) => all.extend(more),
            (Self::Text(all), Self::Text(more)) => all.extend(more),
            _ => unreachable!("the parts of a value have one type"),
        }
    }
}

pub(crate) fn ranks_of<T>(
    all: &[T],
    is_none: impl Fn(&T) -> bool,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<u32> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    let in_order = |one: &T, two: &T| is_none(one).cmp(&is_none(two)).then_with(|| compare(one, two));
    order.sort_by(|one, two| in_order(&all[*one], &all[*two]));
    let (mut ranks, mut rank) = (vec![0; all.len()], 0);
    for (number, at) in order.iter().enumerate() {
        rank += u32::from(number > 0 && in_order(&all[order[number - 1]], &all[*at]).is_ne());
        ranks[*at] = if is_none(&all[*at]) { u32::MAX } else { rank };
    }
    ranks
}

/// Rounds a number to the floats of a type.
pub(crate) fn rounded(number: f64, bits: u32) -> f64 {
    match bits {
        16 => f16::from_f64(number).to_f64(),
        32 => f64::from(number as f32),
        _ => number,
    }
}

/// Keeps the low bits of an integer, as its type does.
pub(crate) fn wrapped_int(number: i64, bits: u32) -> i64 {
    let unused = 64 - bits.min(64);
    number << unused >> unused
}

pub(crate) fn wrapped_uint(number: u64, bits: u32) -> u64 {
    let unused = 64 - bits.min(64);
    number << unused >> unused
}

fn cast<A: ReadableElement>(array: &DynArray, options: &ReadOptions) -> Result<Vec<A>> {
    let array: ArrayD<A> = array.cast(options)?;
    Ok(match array.is_standard_layout() {
        true => array.into_raw_vec_and_offset().0,
        false => unreachable!("the array is in C order"),
    })
}

impl Value {
    pub(crate) fn new(kind: Type, shape: Vec<usize>, data: Data) -> Self {
        debug_assert_eq!(data.len(), shape.iter().product::<usize>());
        Self { kind, shape, data }
    }

    pub(crate) fn scalar(kind: Type, data: Data) -> Self {
        Self::new(kind, Vec::new(), data)
    }

    /// Converts what was read of a file.
    pub(crate) fn of_array(array: &DynArray, kind: Type) -> Result<Self> {
        let array = &*array.in_order(Order::C)?;
        let options = ReadOptions::new().casting(Casting::Unsafe).threads(1);
        let data = match kind {
            Type::Bool => Data::Bool(cast(array, &options)?),
            Type::Int(_) | Type::Datetime(_) | Type::Timedelta(_) => Data::Int(cast(array, &options)?),
            Type::Uint(_) => Data::Uint(cast(array, &options)?),
            Type::Float(_) => Data::Float(cast(array, &options)?),
            Type::Complex(_) => Data::Complex(cast(array, &options)?),
            Type::Text => Data::Text(texts(array)?),
        };
        Ok(Self::new(kind, array.shape().to_vec(), data))
    }

    /// Returns the literal as a value of a type.
    pub(crate) fn of_literal(literal: &Literal, kind: Type) -> Result<Self> {
        let impossible = || Error::operands(format!("{} is not of type {kind}", literal_text(literal)));
        let real = match *literal {
            Literal::Bool(value) => f64::from(u8::from(value)),
            Literal::Int(number) => number as f64,
            Literal::Float(number) => number,
            _ => 0.0,
        };
        let data = match (kind, literal) {
            (Type::Text, Literal::Text(text)) => Data::Text(vec![text.clone()]),
            (Type::Datetime(_) | Type::Timedelta(_), Literal::Text(text)) => {
                Data::Int(vec![time_of(text, kind)?])
            }
            (Type::Timedelta(_), Literal::Int(number)) => {
                Data::Int(vec![i64::try_from(*number).map_err(|_| impossible())?])
            }
            (_, Literal::Text(_) | Literal::None) => return Err(impossible()),
            (Type::Complex(bits), Literal::Complex(re, im)) => {
                Data::Complex(vec![Complex::new(rounded(*re, bits / 2), rounded(*im, bits / 2))])
            }
            (_, Literal::Complex(..)) => return Err(impossible()),
            (Type::Bool, _) => Data::Bool(vec![real != 0.0]),
            (Type::Int(_), Literal::Int(number)) => Data::Int(vec![*number as i64]),
            (Type::Uint(_), Literal::Int(number)) => Data::Uint(vec![*number as u64]),
            (Type::Int(_), _) => Data::Int(vec![real as i64]),
            (Type::Uint(_), _) => Data::Uint(vec![real as u64]),
            (Type::Float(bits), _) => Data::Float(vec![rounded(real, bits)]),
            (Type::Complex(bits), _) => Data::Complex(vec![Complex::new(rounded(real, bits / 2), 0.0)]),
            _ => return Err(impossible()),
        };
        Ok(Self::scalar(kind, data))
    }

    /// Converts to another type, as `astype` does.
    pub(crate) fn to(&self, kind: Type) -> Result<Cow<'_, Self>> {
        if self.kind == kind {
            return Ok(Cow::Borrowed(self));
        }
        let data = match (self.kind, kind) {
            (Type::Datetime(_), Type::Datetime(_))
            | (Type::Timedelta(_), Type::Timedelta(_))
            | (Type::Text, _)
            | (_, Type::Text) => {
                return self.to_by_library(kind).map(Cow::Owned);
            }
            _ => self.converted(kind)?,
        };
        Ok(Cow::Owned(Self::new(kind, self.shape.clone(), data)))
    }

    fn converted(&self, kind: Type) -> Result<Data> {
        macro_rules! map {
            ($all:ident, $number:ident => $int:expr, $uint:expr, $float:expr, $complex:expr, $bool:expr) => {
                match kind {
                    Type::Bool => Data::Bool($all.iter().map(|$number| $bool).collect()),
                    Type::Int(bits) => {
                        Data::Int($all.iter().map(|$number| wrapped_int($int, bits)).collect())
                    }
                    Type::Datetime(_) | Type::Timedelta(_) => {
                        Data::Int($all.iter().map(|$number| $int).collect())
                    }
                    Type::Uint(bits) => {
                        Data::Uint($all.iter().map(|$number| wrapped_uint($uint, bits)).collect())
                    }
                    Type::Float(bits) => {
                        Data::Float($all.iter().map(|$number| rounded($float, bits)).collect())
                    }
                    Type::Complex(bits) => Data::Complex(
                        $all.iter()
                            .map(|$number| {
                                let number: Complex<f64> = $complex;
                                Complex::new(rounded(number.re, bits / 2), rounded(number.im, bits / 2))
                            })
                            .collect(),
                    ),
                    Type::Text => {
                        return Err(Error::operands(format!("{} does not become text here", self.kind)))
                    }
                }
            };
        }
        Ok(match &self.data {
            Data::Bool(all) => {
                map!(all, one => i64::from(*one), u64::from(*one), f64::from(u8::from(*one)), Complex::from(f64::from(u8::from(*one))), *one)
            }
            Data::Int(all) => {
                map!(all, one => *one, *one as u64, *one as f64, Complex::from(*one as f64), *one != 0)
            }
            Data::Uint(all) => {
                map!(all, one => *one as i64, *one, *one as f64, Complex::from(*one as f64), *one != 0)
            }
            Data::Float(all) => {
                map!(all, one => saturated(*one, kind) as i64, saturated(*one, kind) as u64, *one, Complex::from(*one), *one != 0.0)
            }
            Data::Complex(all) => {
                map!(all, one => one.re as i64, one.re as u64, one.re, *one, *one != Complex::from(0.0))
            }
            Data::Text(_) => return Err(Error::operands(format!("text does not become {kind} here"))),
        })
    }

    /// Converts by the library's casts.
    fn to_by_library(&self, kind: Type) -> Result<Self> {
        let dtype = kind.dtype().ok_or_else(|| Error::operands("results of expressions are not text"))?;
        let array = self.to_array()?.cast_to(&dtype, Casting::Unsafe)?;
        Self::of_array(&array, kind)
    }

    /// Makes an array for a file.
    pub(crate) fn to_array(&self) -> Result<DynArray> {
        fn array<T: Clone + ndarray_io::WritableElement>(shape: &[usize], all: &[T]) -> Result<DynArray> {
            let view = ArrayViewD::from_shape(IxDyn(shape), all)
                .map_err(|error| Error::operands(error.to_string()))?;
            Ok(DynArray::new(&*view)?)
        }
        let made = match &self.data {
            Data::Bool(all) => return array(&self.shape, all),
            Data::Int(all) => array(&self.shape, all)?,
            Data::Uint(all) => array(&self.shape, all)?,
            Data::Float(all) => array(&self.shape, all)?,
            Data::Complex(all) => array(&self.shape, all)?,
            Data::Text(all) => return array(&self.shape, all),
        };
        let dtype = self.kind.dtype().unwrap_or_else(|| unreachable!("only text has no dtype"));
        match self.kind {
            // The counts are the bytes.
            Type::Datetime(_) | Type::Timedelta(_) => {
                Ok(DynArray::from_bytes(dtype, self.shape.clone(), Order::C, made.bytes())?)
            }
            _ => Ok(made.cast_to(&dtype, Casting::Unsafe)?),
        }
    }

    /// Whether each element counts as true.
    pub(crate) fn truth(&self) -> Vec<bool> {
        match &self.data {
            Data::Bool(all) => all.clone(),
            Data::Int(all) => all.iter().map(|one| *one != 0).collect(),
            Data::Uint(all) => all.iter().map(|one| *one != 0).collect(),
            Data::Float(all) => all.iter().map(|one| *one != 0.0).collect(),
            Data::Complex(all) => all.iter().map(|one| *one != Complex::from(0.0)).collect(),
            Data::Text(all) => all.iter().map(|one| !one.is_empty()).collect(),
        }
    }
}

/// Keeps a float within the range of an integer type: the casts of the library do not wrap.
fn saturated(number: f64, kind: Type) -> f64 {
    match kind {
        Type::Int(bits @ ..=32) => {
            number.clamp(-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0)
        }
        Type::Uint(bits @ ..=32) => number.clamp(0.0, 2f64.powi(bits as i32) - 1.0),
        _ => number,
    }
}

fn texts(array: &DynArray) -> Result<Vec<String>> {
    let is_bytes =
        array.dtype().as_scalar().is_some_and(|scalar| scalar.kind() == ndarray_io::dtype::Kind::Bytes);
    if !is_bytes {
        return cast(array, &ReadOptions::new());
    }
    let size = array.dtype().item_size();
    let text = |bytes: &[u8]| {
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    match size {
        0 => Ok(vec![String::new(); array.len()]),
        _ => Ok(array.bytes().chunks_exact(size).map(text).collect()),
    }
}

/// Parses a time, in the unit of a type.
fn time_of(text: &str, kind: Type) -> Result<i64> {
    let dtype: DType = kind.dtype().unwrap_or_else(|| unreachable!("times have dtypes"));
    let one = ndarray::arr0(text.to_owned());
    let array = DynArray::new(&*one.view())?.cast_to(&dtype, Casting::Unsafe).map_err(|_| {
        Error::operands(format!("'{text}' is not a time of {kind}: 2026-11-29, 2026-11-29T12:30"))
    })?;
    Ok(cast::<i64>(&array, &ReadOptions::new().casting(Casting::Unsafe))?[0])
}

/// Returns the shape of what two shapes are broadcast to.
pub(crate) fn broadcast_shape(one: &[usize], two: &[usize]) -> Result<Vec<usize>> {
    let count = one.len().max(two.len());
    let length =
        |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(count).map_or(1, |axis| shape[axis]);
    (0..count)
        .map(|axis| match (length(one, axis), length(two, axis)) {
            (1, other) | (other, 1) => Ok(other),
            (a, b) if a == b => Ok(a),
            _ => Err(Error::operands(format!(
                "shapes {} and {} do not match",
                ndarray_io::header::Shape::from(one),
                ndarray_io::header::Shape::from(two)
            ))),
        })
        .collect()
}

/// Calls `f` with the pairs of elements of two values that are broadcast to a shape.
pub(crate) fn zip<A, B, O>(
    (ones, one_shape): (&[A], &[usize]),
    (twos, two_shape): (&[B], &[usize]),
    shape: &[usize],
    f: impl Fn(&A, &B) -> O,
) -> Vec<O> {
    let (is_one, is_two) = (ones.len() == 1, twos.len() == 1);
    if one_shape == two_shape && one_shape == shape {
        return ones.iter().zip(twos).map(|(one, two)| f(one, two)).collect();
    }
    match (is_one, is_two) {
        (_, true) if shape == one_shape => ones.iter().map(|one| f(one, &twos[0])).collect(),
        (true, _) if shape == two_shape => twos.iter().map(|two| f(&ones[0], two)).collect(),
        _ => {
            fn view<'a, T>(all: &'a [T], shape: &[usize]) -> ArrayViewD<'a, T> {
                ArrayViewD::from_shape(IxDyn(shape), all)
                    .unwrap_or_else(|_| unreachable!("a value has the elements of its shape"))
            }
            let (ones, twos) = (view(ones, one_shape), view(twos, two_shape));
            let both = ones.broadcast(IxDyn(shape)).zip(twos.broadcast(IxDyn(shape)));
            let (ones, twos) = both.unwrap_or_else(|| unreachable!("the shape is that of both"));
            let mut made = Vec::with_capacity(shape.iter().product());
            // In C order.
            for (one, two) in ones.iter().zip(twos.iter()) {
                made.push(f(one, two));
            }
            made
        }
    }
}

/// Broadcasts elements to a shape.
pub(crate) fn expand<T: Clone>(all: &[T], from: &[usize], shape: &[usize]) -> Vec<T> {
    zip((all, from), (&[()], &[]), shape, |one, ()| one.clone())
}
