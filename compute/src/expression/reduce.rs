//! Sums, means, minima and the like: of all elements, or along an axis.

use ndarray_io::blocks::map_in_order;
use num_complex::Complex;

use super::plan::{Node, Reads, boxes_of};
use super::types::Type;
use super::values::{Data, Value, rounded};
use crate::boxes::numbers_of;
use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reduction {
    Sum,
    Product,
    Mean,
    Variance,
    Deviation,
    Minimum,
    Maximum,
    /// The index of the first smallest element.
    ArgMinimum,
    ArgMaximum,
    Any,
    All,
    CountNonzero,
}

/// The functions by their names, and whether they skip NaN.
pub(crate) const REDUCTIONS: &[(&str, Reduction, bool)] = &[
    ("sum", Reduction::Sum, false),
    ("prod", Reduction::Product, false),
    ("mean", Reduction::Mean, false),
    ("var", Reduction::Variance, false),
    ("std", Reduction::Deviation, false),
    ("min", Reduction::Minimum, false),
    ("max", Reduction::Maximum, false),
    ("argmin", Reduction::ArgMinimum, false),
    ("argmax", Reduction::ArgMaximum, false),
    ("any", Reduction::Any, false),
    ("all", Reduction::All, false),
    ("count_nonzero", Reduction::CountNonzero, false),
    ("nansum", Reduction::Sum, true),
    ("nanprod", Reduction::Product, true),
    ("nanmean", Reduction::Mean, true),
    ("nanvar", Reduction::Variance, true),
    ("nanstd", Reduction::Deviation, true),
    ("nanmin", Reduction::Minimum, true),
    ("nanmax", Reduction::Maximum, true),
];

/// What is known of the elements so far.
#[derive(Clone, Copy)]
enum Cell {
    Int(i64),
    Uint(u64),
    /// A sum, what was lost of it by rounding, and the number of elements.
    Float(f64, f64, u64),
    Complex(Complex<f64>, u64),
    /// The number of elements, their mean, and the sum of squared deviations from it.
    Moments(u64, f64, f64),
    ComplexMoments(u64, Complex<f64>, f64),
    Best(Option<(Number, u64)>),
    Truth(bool),
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Int(i64),
    /// The count of a time, of which NaT is like NaN.
    Time(i64),
    Uint(u64),
    Float(f64),
}

impl Number {
    /// Whether this takes the place of another as the smallest, or the largest. NaN does, and keeps it.
    fn replaces(self, other: Self, is_minimum: bool) -> bool {
        let order = match (self, other) {
            (Self::Int(one), Self::Int(two)) => one.cmp(&two),
            (Self::Time(_), Self::Time(i64::MIN)) => return false,
            (Self::Time(i64::MIN), Self::Time(_)) => return true,
            (Self::Time(one), Self::Time(two)) => one.cmp(&two),
            (Self::Uint(one), Self::Uint(two)) => one.cmp(&two),
            (Self::Float(_), Self::Float(two)) if two.is_nan() => return false,
            (Self::Float(one), Self::Float(_)) if one.is_nan() => return true,
            (Self::Float(one), Self::Float(two)) => {
                one.partial_cmp(&two).unwrap_or(std::cmp::Ordering::Equal)
            }
            _ => unreachable!("elements have one type"),
        };
        if is_minimum { order.is_lt() } else { order.is_gt() }
    }
}

impl Reduction {
    fn result(self, of: Type) -> Result<Type> {
        let wrong = || Err(Error::operands(format!("there is no {self:?} of {of}").to_lowercase()));
        Ok(match (self, of) {
            (Self::Any | Self::All, _) => Type::Bool,
            (Self::CountNonzero, _) => Type::Int(64),
            (_, Type::Text) => return wrong(),
            (Self::ArgMinimum | Self::ArgMaximum, Type::Complex(_))
            | (Self::Minimum | Self::Maximum, Type::Complex(_)) => return wrong(),
            (Self::ArgMinimum | Self::ArgMaximum, _) => Type::Int(64),
            (Self::Minimum | Self::Maximum, _) => of,
            (Self::Sum | Self::Mean, Type::Timedelta(_)) => of,
            (_, Type::Datetime(_) | Type::Timedelta(_)) => return wrong(),
            (Self::Sum | Self::Product, Type::Bool | Type::Int(_)) => Type::Int(64),
            (Self::Sum | Self::Product, Type::Uint(_)) => Type::Uint(64),
            (Self::Mean | Self::Variance | Self::Deviation, Type::Bool | Type::Int(_) | Type::Uint(_)) => {
                Type::Float(64)
            }
            (Self::Variance | Self::Deviation, Type::Complex(bits)) => Type::Float(bits / 2),
            _ => of,
        })
    }

    /// Computes the result.
    pub(crate) fn of(
        self,
        node: &Node<'_>,
        axis: Option<usize>,
        skips_nan: bool,
        threads: usize,
    ) -> Result<Value> {
        /// How many elements are computed at a time.
        const BOX_LEN: usize = 64 << 10;
        let kind = self.result(node.kind)?;
        let shape: Vec<usize> = match axis {
            None => Vec::new(),
            Some(axis) => node
                .shape
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != axis)
                .map(|(_, length)| *length)
                .collect(),
        };
        let count = shape.iter().fold(1u64, |all, length| all.saturating_mul(*length as u64));
        if count.saturating_mul(size_of::<Cell>() as u64) > crate::MEMORY_BYTES {
            return Err(Error::TooLarge(format!("a result of {count} elements along an axis is too large")));
        }
        let is_empty = count > 0 && node.shape.contains(&0);
        if is_empty && matches!(self, Self::Minimum | Self::Maximum | Self::ArgMinimum | Self::ArgMaximum) {
            return Err(Error::operands("an array without elements has no minimum and no maximum"));
        }
        let mut cells = vec![self.start(node.kind, skips_nan); count as usize];
        let look = |ranges: Vec<std::ops::Range<usize>>| {
            let value = node.evaluate(&ranges, &mut Reads::default())?;
            // Of which element of a line along the axis, or of the array, the first one is.
            let begin = match axis {
                Some(axis) => ranges[axis].start as u64,
                None => ranges
                    .iter()
                    .zip(&node.shape)
                    .fold(0, |all, (range, length)| all * *length as u64 + range.start as u64),
            };
            Ok((self.cells(&value, axis, begin, skips_nan), ranges))
        };
        map_in_order(boxes_of(&node.shape, BOX_LEN), threads, look, |found: Result<_>| {
            let (found, mut ranges) = found?;
            if let Some(axis) = axis {
                ranges.remove(axis);
            } else {
                ranges.clear();
            }
            let places = numbers_of(&ranges, &shape);
            for (place, more) in places.into_iter().zip(found) {
                self.merge(&mut cells[place], more);
            }
            Ok::<(), Error>(())
        })?;
        Ok(self.finish(&cells, kind, shape))
    }

    fn start(self, of: Type, skips_nan: bool) -> Cell {
        let is_float = matches!(of, Type::Float(_));
        match self {
            Self::Sum if is_float || of.is_time() && skips_nan => Cell::Float(0.0, 0.0, 0),
            Self::Product if is_float => Cell::Float(1.0, 0.0, 0),
            Self::Mean if !matches!(of, Type::Complex(_)) => Cell::Float(0.0, 0.0, 0),
            Self::Sum | Self::Product | Self::Mean if matches!(of, Type::Complex(_)) => {
                Cell::Complex(Complex::from(if self == Self::Product { 1.0 } else { 0.0 }), 0)
            }
            Self::Sum | Self::CountNonzero => {
                if matches!(of, Type::Uint(_)) && self == Self::Sum {
                    Cell::Uint(0)
                } else {
                    Cell::Int(0)
                }
            }
            Self::Product => {
                if matches!(of, Type::Uint(_)) {
                    Cell::Uint(1)
                } else {
                    Cell::Int(1)
                }
            }
            Self::Mean => unreachable!("a mean is of floats or complex numbers"),
            Self::Variance | Self::Deviation if matches!(of, Type::Complex(_)) => {
                Cell::ComplexMoments(0, Complex::from(0.0), 0.0)
            }
            Self::Variance | Self::Deviation => Cell::Moments(0, 0.0, 0.0),
            Self::Minimum | Self::Maximum | Self::ArgMinimum | Self::ArgMaximum => Cell::Best(None),
            Self::Any => Cell::Truth(false),
            Self::All => Cell::Truth(true),
        }
    }

    /// Reduces a part of the array. `begin` is the index of its first element along the axis.
    fn cells(self, value: &Value, axis: Option<usize>, begin: u64, skips_nan: bool) -> Vec<Cell> {
        let dims = match axis {
            Some(axis) => (
                value.shape[..axis].iter().product(),
                value.shape[axis],
                value.shape[axis + 1..].iter().product(),
            ),
            None => (1, value.data.len(), 1),
        };
        let start = self.start(value.kind, skips_nan);
        let is_time = value.kind.is_time();
        if let Self::Any | Self::All | Self::CountNonzero = self {
            return fold(&value.truth(), dims, start, |cell, is_true, _| match cell {
                Cell::Truth(all) if self == Self::Any => *all |= is_true,
                Cell::Truth(all) => *all &= is_true,
                Cell::Int(count) => *count += i64::from(is_true),
                _ => {}
            });
        }
        match &value.data {
            Data::Bool(all) => {
                fold(all, dims, start, |cell, one, at| self.add_int(cell, i64::from(one), begin + at, false))
            }
            Data::Int(all) => fold(all, dims, start, |cell, one, at| match one {
                i64::MIN if is_time && skips_nan => {}
                one => self.add_int(cell, one, begin + at, is_time),
            }),
            Data::Uint(all) => fold(all, dims, start, |cell, one, at| match cell {
                Cell::Uint(sum) if self == Self::Product => *sum = sum.wrapping_mul(one),
                Cell::Uint(sum) => *sum = sum.wrapping_add(one),
                Cell::Best(_) => self.consider(cell, Number::Uint(one), begin + at),
                _ => self.add_float(cell, one as f64),
            }),
            Data::Float(all) => fold(all, dims, start, |cell, one, at| match cell {
                _ if skips_nan && one.is_nan() => {}
                Cell::Best(_) => self.consider(cell, Number::Float(one), begin + at),
                _ => self.add_float(cell, one),
            }),
            Data::Complex(all) => fold(all, dims, start, |cell, one, _| match cell {
                _ if skips_nan && one.is_nan() => {}
                Cell::Complex(product, count) if self == Self::Product => {
                    (*product, *count) = (*product * one, *count + 1)
                }
                Cell::Complex(sum, count) => (*sum, *count) = (*sum + one, *count + 1),
                Cell::ComplexMoments(count, mean, squares) => {
                    *count += 1;
                    let delta = one - *mean;
                    *mean += delta / *count as f64;
                    *squares += (delta * (one - *mean).conj()).re;
                }
                _ => {}
            }),
            Data::Text(_) => unreachable!("text has no such reduction"),
        }
    }

    fn add_int(self, cell: &mut Cell, one: i64, at: u64, is_time: bool) {
        // NaT is like NaN.
        match cell {
            Cell::Int(sum) if is_time => {
                *sum = if *sum == i64::MIN || one == i64::MIN { i64::MIN } else { sum.wrapping_add(one) }
            }
            Cell::Int(product) if self == Self::Product => *product = product.wrapping_mul(one),
            Cell::Int(sum) => *sum = sum.wrapping_add(one),
            Cell::Best(_) if is_time => self.consider(cell, Number::Time(one), at),
            Cell::Best(_) => self.consider(cell, Number::Int(one), at),
            _ => self.add_float(cell, if is_time && one == i64::MIN { f64::NAN } else { one as f64 }),
        }
    }

    fn add_float(self, cell: &mut Cell, one: f64) {
        match cell {
            Cell::Float(product, _, count) if self == Self::Product => {
                (*product, *count) = (*product * one, *count + 1)
            }
            Cell::Float(sum, lost, count) => {
                add_exactly(sum, lost, one);
                *count += 1;
            }
            Cell::Moments(count, mean, squares) => {
                *count += 1;
                let delta = one - *mean;
                *mean += delta / *count as f64;
                *squares += delta * (one - *mean);
            }
            _ => {}
        }
    }

    fn consider(self, cell: &mut Cell, one: Number, at: u64) {
        let is_minimum = matches!(self, Self::Minimum | Self::ArgMinimum);
        if let Cell::Best(best) = cell
            && best.is_none_or(|(known, _)| one.replaces(known, is_minimum))
        {
            *best = Some((one, at));
        }
    }

    /// Adds what is known of further elements, which come later.
    fn merge(self, cell: &mut Cell, more: Cell) {
        match (&mut *cell, more) {
            (Cell::Int(one), Cell::Int(two)) => match self {
                Self::Product => *one = one.wrapping_mul(two),
                _ if *one == i64::MIN || two == i64::MIN => *one = i64::MIN, // NaT; the sum of other integers does not reach it but by wrapping
                _ => *one = one.wrapping_add(two),
            },
            (Cell::Uint(one), Cell::Uint(two)) => {
                *one = if self == Self::Product { one.wrapping_mul(two) } else { one.wrapping_add(two) }
            }
            (Cell::Float(one, _, count), Cell::Float(two, _, more)) if self == Self::Product => {
                (*one, *count) = (*one * two, *count + more)
            }
            (Cell::Float(one, lost, count), Cell::Float(two, also_lost, more)) => {
                add_exactly(one, lost, two);
                *lost += also_lost;
                *count += more;
            }
            (Cell::Complex(one, count), Cell::Complex(two, more)) => {
                *one = if self == Self::Product { *one * two } else { *one + two };
                *count += more;
            }
            (Cell::Moments(n, mean, squares), Cell::Moments(m, other, more)) if m > 0 => {
                let (a, b) = (*n as f64, m as f64);
                let delta = other - *mean;
                *mean += if *n == 0 { delta } else { delta * (b / (a + b)) };
                *squares += more + if *n == 0 { 0.0 } else { delta * delta * (a * b / (a + b)) };
                *n += m;
            }
            (Cell::ComplexMoments(n, mean, squares), Cell::ComplexMoments(m, other, more)) if m > 0 => {
                let (a, b) = (*n as f64, m as f64);
                let delta = other - *mean;
                *mean += delta * (b / (a + b));
                *squares += more + delta.norm_sqr() * (a * b / (a + b));
                *n += m;
            }
            (Cell::Best(_), Cell::Best(Some((one, at)))) => self.consider(cell, one, at),
            (Cell::Truth(one), Cell::Truth(two)) => {
                *one = if self == Self::Any { *one || two } else { *one && two }
            }
            _ => {}
        }
    }

    fn finish(self, cells: &[Cell], kind: Type, shape: Vec<usize>) -> Value {
        let bits = if let Type::Float(bits) = kind { bits } else { 64 };
        let float = |cell: &Cell| {
            rounded(
                match *cell {
                    Cell::Float(sum, lost, count) if self == Self::Mean => {
                        (sum + finite_or_zero(lost)) / count as f64
                    }
                    Cell::Float(sum, lost, _) => sum + finite_or_zero(lost),
                    Cell::Moments(count, _, squares) | Cell::ComplexMoments(count, _, squares)
                        if self == Self::Variance =>
                    {
                        squares / count as f64
                    }
                    Cell::Moments(count, _, squares) | Cell::ComplexMoments(count, _, squares) => {
                        (squares / count as f64).sqrt()
                    }
                    Cell::Best(Some((Number::Float(best), _))) => best,
                    _ => f64::NAN,
                },
                bits,
            )
        };
        let int = |cell: &Cell| match *cell {
            Cell::Int(number) => number,
            Cell::Best(Some((_, at))) if matches!(self, Self::ArgMinimum | Self::ArgMaximum) => at as i64,
            Cell::Best(Some((Number::Int(best) | Number::Time(best), _))) => best,
            // Of times without any that is known.
            Cell::Best(None) => i64::MIN,
            // The mean of durations.
            Cell::Float(..) => {
                let mean = float(cell);
                if mean.is_nan() { i64::MIN } else { mean as i64 }
            }
            _ => 0,
        };
        let data = match kind {
            Type::Bool => Data::Bool(
                cells
                    .iter()
                    .map(|cell| matches!(cell, Cell::Truth(true) | Cell::Best(Some((Number::Int(1), _)))))
                    .collect(),
            ),
            Type::Int(_) | Type::Datetime(_) | Type::Timedelta(_) => {
                Data::Int(cells.iter().map(int).collect())
            }
            Type::Uint(_) => Data::Uint(
                cells
                    .iter()
                    .map(|cell| match *cell {
                        Cell::Uint(number) | Cell::Best(Some((Number::Uint(number), _))) => number,
                        _ => 0,
                    })
                    .collect(),
            ),
            Type::Float(_) => Data::Float(cells.iter().map(float).collect()),
            Type::Complex(bits) => Data::Complex(
                cells
                    .iter()
                    .map(|cell| match *cell {
                        Cell::Complex(sum, count) => {
                            let made = if self == Self::Mean { sum / count as f64 } else { sum };
                            Complex::new(rounded(made.re, bits / 2), rounded(made.im, bits / 2))
                        }
                        _ => Complex::new(f64::NAN, f64::NAN),
                    })
                    .collect(),
            ),
            Type::Text => unreachable!("text has no reduction"),
        };
        Value::new(kind, shape, data)
    }
}

/// Adds a number to a sum, and what rounding takes away to `lost`: the sum of both is right to a few units of the last digit for any
/// number of elements.
fn add_exactly(sum: &mut f64, lost: &mut f64, one: f64) {
    let before = *sum;
    *sum += one;
    let taken = if before.abs() >= one.abs() { (before - *sum) + one } else { (one - *sum) + before };
    *lost += taken;
}

/// Of infinite sums, what was lost is NaN.
fn finite_or_zero(lost: f64) -> f64 {
    if lost.is_finite() { lost } else { 0.0 }
}

/// Folds the elements of each line along an axis: `outer` groups of `len` times `inner` elements.
fn fold<T: Copy>(
    all: &[T],
    (outer, len, inner): (usize, usize, usize),
    start: Cell,
    f: impl Fn(&mut Cell, T, u64),
) -> Vec<Cell> {
    if inner == 1 && outer == 1 {
        let mut cell = start;
        for (at, one) in all.iter().enumerate() {
            f(&mut cell, *one, at as u64);
        }
        return vec![cell];
    }
    let mut cells = vec![start; outer * inner];
    if inner == 0 || len == 0 {
        return cells;
    }
    for (number, lines) in all.chunks_exact(len * inner).enumerate() {
        let cells = &mut cells[number * inner..][..inner];
        for (at, line) in lines.chunks_exact(inner).enumerate() {
            for (cell, one) in cells.iter_mut().zip(line) {
                f(cell, *one, at as u64);
            }
        }
    }
    cells
}
