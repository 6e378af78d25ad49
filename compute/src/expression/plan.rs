//! Expressions as trees of values that are computed part by part.

use std::ops::Range;

use ndarray::SliceInfoElem;
use ndarray_io::{DType, DynArray};

use super::functions::Unary;
use super::operations::{Arithmetic, Comparison, Logic, choose};
use super::types::Type;
use super::values::{Data, Value};
use crate::Source;
use crate::boxes::{boxes, index_in, numbers_of};
use crate::error::Result;

/// What is computed, with the type and the shape of the result.
pub(crate) struct Node<'a> {
    pub(crate) kind: Type,
    pub(crate) shape: Vec<usize>,
    pub(crate) operation: Operation<'a>,
}

pub(crate) enum Operation<'a> {
    Constant(Value),
    /// An array, or a field of its records.
    Leaf {
        source: &'a dyn Source,
        number: usize,
        field: Vec<String>,
    },
    Unary(Unary, Box<Node<'a>>),
    Arithmetic(Arithmetic, Box<[Node<'a>; 2]>),
    Comparison(Comparison, Box<[Node<'a>; 2]>),
    Logic(Logic, Box<[Node<'a>; 2]>),
    /// The condition, and what is chosen.
    Where(Box<[Node<'a>; 3]>),
    Convert(Box<Node<'a>>),
    /// For each axis, its number in the operand.
    Permute(Vec<usize>, Box<Node<'a>>),
    Reshape(Box<Node<'a>>),
    /// What is taken of each axis of the operand.
    Slice(Vec<AxisSelection>, Box<Node<'a>>),
}

/// What is taken of an axis.
#[derive(Clone, Copy)]
pub(crate) enum AxisSelection {
    Index(usize),
    /// From this index, in these steps.
    Stepped(usize, isize),
}

/// The parts of the arrays that were read last: several fields of the same records are read once.
#[derive(Default)]
pub(crate) struct Reads {
    last: Vec<Option<(Vec<Range<usize>>, DynArray)>>,
}

impl Reads {
    fn read(&mut self, source: &dyn Source, number: usize, ranges: &[Range<usize>]) -> Result<&DynArray> {
        if self.last.len() <= number {
            self.last.resize_with(number + 1, || None);
        }
        let last = &mut self.last[number];
        if last.as_ref().is_none_or(|(read, _)| read != ranges) {
            *last = Some((ranges.to_vec(), source.slice(&slice_of(ranges))?));
        }
        Ok(&last.as_ref().unwrap_or_else(|| unreachable!("it was just read")).1)
    }
}

pub(crate) fn slice_of(ranges: &[Range<usize>]) -> Vec<SliceInfoElem> {
    let element = |range: &Range<usize>| SliceInfoElem::Slice {
        start: range.start as isize,
        end: Some(range.end as isize),
        step: 1,
    };
    ranges.iter().map(element).collect()
}

pub(crate) fn lengths(ranges: &[Range<usize>]) -> Vec<usize> {
    ranges.iter().map(ExactSizeIterator::len).collect()
}

impl<'a> Node<'a> {
    pub(crate) fn constant(value: Value) -> Self {
        Self { kind: value.kind, shape: value.shape.clone(), operation: Operation::Constant(value) }
    }

    /// Returns the elements of an array, which are computed with as `kind`.
    pub(crate) fn leaf(
        source: &'a dyn Source,
        number: usize,
        dtype: &DType,
        field: Vec<String>,
        inner: &[usize],
    ) -> Result<Self> {
        let shape = [source.shape(), inner].concat();
        Ok(Self { kind: Type::of(dtype)?, shape, operation: Operation::Leaf { source, number, field } })
    }

    /// Computes a part of the result.
    pub(crate) fn evaluate(&self, ranges: &[Range<usize>], reads: &mut Reads) -> Result<Value> {
        let value = match &self.operation {
            Operation::Constant(value) => part_of(value, ranges),
            Operation::Leaf { source, number, field } => {
                let (outer, inner) = ranges.split_at(source.shape().len());
                let array = reads.read(*source, *number, outer)?;
                if field.is_empty() {
                    return Value::of_array(array, self.kind);
                }
                let names: Vec<&str> = field.iter().map(String::as_str).collect();
                let array = array.field(ndarray_io::dtype::FieldPath::Names(names))?;
                if inner.is_empty() {
                    return Value::of_array(&array, self.kind);
                }
                let outer: Vec<Range<usize>> = outer.iter().map(|range| 0..range.len()).collect();
                let part = array.slice(&slice_of(&[&outer[..], inner].concat())[..])?;
                return Value::of_array(&part, self.kind);
            }
            Operation::Unary(unary, of) => unary.apply(&of.evaluate(ranges, reads)?)?,
            Operation::Arithmetic(operator, operands) => {
                let [one, two] = self.operands(operands, ranges, reads)?;
                operator.apply(&one, &two)?
            }
            Operation::Comparison(operator, operands) => {
                let [one, two] = self.operands(operands, ranges, reads)?;
                operator.apply(&one, &two)?
            }
            Operation::Logic(operator, operands) => {
                let [one, two] = self.operands(operands, ranges, reads)?;
                operator.apply(&one, &two)?
            }
            Operation::Where(operands) => {
                let [condition, one, two] = self.operands(operands, ranges, reads)?;
                choose(&condition, &one, &two)?
            }
            Operation::Convert(of) => of.evaluate(ranges, reads)?.to(self.kind)?.into_owned(),
            Operation::Permute(axes, of) => {
                let mut inner = vec![0..0; ranges.len()];
                for (range, axis) in ranges.iter().zip(axes) {
                    inner[*axis] = range.clone();
                }
                permuted(&of.evaluate(&inner, reads)?, axes)
            }
            Operation::Slice(taken, of) => sliced(taken, of, ranges, reads)?,
            Operation::Reshape(of) => return self.evaluate_reshaped(of, ranges, reads),
        };
        debug_assert_eq!(value.kind, self.kind);
        Ok(value)
    }

    /// Computes the parts of the operands that are broadcast to a part of the result.
    fn operands<const N: usize>(
        &self,
        operands: &[Self; N],
        ranges: &[Range<usize>],
        reads: &mut Reads,
    ) -> Result<[Value; N]> {
        let mut values = Vec::with_capacity(N);
        for operand in operands {
            let offset = ranges.len() - operand.shape.len();
            let of_axis =
                |(range, length): (&Range<usize>, &usize)| if *length == 1 { 0..1 } else { range.clone() };
            let inner: Vec<Range<usize>> = ranges[offset..].iter().zip(&operand.shape).map(of_axis).collect();
            values.push(operand.evaluate(&inner, reads)?);
        }
        Ok(values.try_into().unwrap_or_else(|_| unreachable!("there is a value for each operand")))
    }

    /// Computes a part of an array whose elements are those of another shape, in C order.
    fn evaluate_reshaped(&self, of: &Self, ranges: &[Range<usize>], reads: &mut Reads) -> Result<Value> {
        // From the first axis on that is not needed entirely, elements follow one another.
        let whole =
            ranges.iter().zip(&self.shape).rposition(|(range, length)| range.len() != *length).unwrap_or(0);
        let run = lengths(&ranges[whole.min(ranges.len())..]).iter().product::<usize>();
        let mut data: Option<Data> = None;
        let outer = ranges.iter().enumerate().map(|(axis, range)| match axis < whole {
            true => range.clone(),
            false => range.start..range.start + 1,
        });
        let starts = numbers_of(&outer.collect::<Vec<_>>(), &self.shape);
        for start in starts {
            for part in boxes(&of.shape, start as u64..(start + run) as u64) {
                let more = of.evaluate(&part, reads)?.data;
                match &mut data {
                    Some(data) => data.append(more),
                    None => data = Some(more),
                }
            }
        }
        let shape = lengths(ranges);
        match data {
            Some(data) => Ok(Value::new(self.kind, shape, data)),
            None => Ok(Value::new(self.kind, shape, of.evaluate(&vec![0..0; of.shape.len()], reads)?.data)),
        }
    }
}

/// How many elements of an operand are computed for a part of a slice of it.
const MAX_READ_LEN: usize = 1 << 20;

/// Computes a part of a slice.
fn sliced(
    taken: &[AxisSelection],
    of: &Node<'_>,
    ranges: &[Range<usize>],
    reads: &mut Reads,
) -> Result<Value> {
    struct Stepped<'a>(&'a [usize], Vec<SliceInfoElem>);
    impl Rearrange for Stepped<'_> {
        fn of<T: Clone>(&self, all: &[T]) -> Vec<T> {
            let view = ndarray::ArrayViewD::from_shape(ndarray::IxDyn(self.0), all);
            let view = view.unwrap_or_else(|_| unreachable!("a value has the elements of its shape"));
            view.slice(&self.1[..]).iter().cloned().collect()
        }
    }
    let (mut wanted, mut steps, mut kept) = (Vec::new(), Vec::new(), ranges.iter());
    for one in taken {
        match *one {
            AxisSelection::Index(index) => {
                wanted.push(index..index + 1);
                steps.push(SliceInfoElem::Index(0));
            }
            AxisSelection::Stepped(first, step) => {
                let range = kept.next().unwrap_or_else(|| unreachable!("each axis that is kept has a range"));
                let at = |index: usize| first.wrapping_add_signed(step * index as isize);
                let hull = match range.is_empty() {
                    true => 0..0,
                    false if step > 0 => at(range.start)..at(range.end - 1) + 1,
                    false => at(range.end - 1)..at(range.start) + 1,
                };
                wanted.push(hull);
                steps.push(SliceInfoElem::Slice { start: 0, end: None, step });
            }
        }
    }
    // Between steps, much more may be read than is wanted. Parts along the first axis that has several indices follow one another.
    if lengths(&wanted).iter().fold(1usize, |all, length| all.saturating_mul(*length)) > MAX_READ_LEN
        && let Some(axis) = ranges.iter().position(|range| range.len() > 1)
    {
        let (mut first, mut second) = (ranges.to_vec(), ranges.to_vec());
        let middle = ranges[axis].start + ranges[axis].len() / 2;
        (first[axis].end, second[axis].start) = (middle, middle);
        let mut value = sliced(taken, of, &first, reads)?;
        value.data.append(sliced(taken, of, &second, reads)?.data);
        return Ok(Value::new(value.kind, lengths(ranges), value.data));
    }
    let value = of.evaluate(&wanted, reads)?;
    Ok(Value::new(value.kind, lengths(ranges), map_data(&value.data, Stepped(&value.shape, steps))))
}

/// Returns a part of a value in memory.
fn part_of(value: &Value, ranges: &[Range<usize>]) -> Value {
    if lengths(ranges) == value.shape {
        return value.clone();
    }
    fn part<T: Clone>(all: &[T], shape: &[usize], ranges: &[Range<usize>]) -> Vec<T> {
        let view = ndarray::ArrayViewD::from_shape(ndarray::IxDyn(shape), all);
        let view = view.unwrap_or_else(|_| unreachable!("a value has the elements of its shape"));
        view.slice(&slice_of(ranges)[..]).iter().cloned().collect()
    }
    let shape = &value.shape;
    let data = map_data(&value.data, PartOf { shape, ranges });
    return Value::new(value.kind, lengths(ranges), data);

    struct PartOf<'a> {
        shape: &'a [usize],
        ranges: &'a [Range<usize>],
    }
    impl Rearrange for PartOf<'_> {
        fn of<T: Clone>(&self, all: &[T]) -> Vec<T> {
            part(all, self.shape, self.ranges)
        }
    }
}

/// Returns a value with its axes in another order.
fn permuted(value: &Value, axes: &[usize]) -> Value {
    struct Permuted<'a>(&'a [usize], &'a [usize]);
    impl Rearrange for Permuted<'_> {
        fn of<T: Clone>(&self, all: &[T]) -> Vec<T> {
            let view = ndarray::ArrayViewD::from_shape(ndarray::IxDyn(self.0), all);
            let view = view.unwrap_or_else(|_| unreachable!("a value has the elements of its shape"));
            view.permuted_axes(ndarray::IxDyn(self.1)).iter().cloned().collect()
        }
    }
    let shape = axes.iter().map(|axis| value.shape[*axis]).collect();
    Value::new(value.kind, shape, map_data(&value.data, Permuted(&value.shape, axes)))
}

/// Elements of any type in another order.
trait Rearrange {
    fn of<T: Clone>(&self, all: &[T]) -> Vec<T>;
}

fn map_data(data: &Data, by: impl Rearrange) -> Data {
    match data {
        Data::Bool(all) => Data::Bool(by.of(all)),
        Data::Int(all) => Data::Int(by.of(all)),
        Data::Uint(all) => Data::Uint(by.of(all)),
        Data::Float(all) => Data::Float(by.of(all)),
        Data::Complex(all) => Data::Complex(by.of(all)),
        Data::Text(all) => Data::Text(by.of(all)),
    }
}

/// Divides an array into boxes of at most about `max_len` elements that follow one another in C order.
pub(crate) fn boxes_of(
    shape: &[usize],
    max_len: usize,
) -> impl Iterator<Item = Vec<Range<usize>>> + Send + use<> {
    let is_empty = shape.contains(&0);
    // The first axis of which several indices fit in a box, with all of the axes within.
    let inner = |axis: usize| shape[axis..].iter().fold(1usize, |all, length| all.saturating_mul(*length));
    let axis = (0..shape.len()).find(|axis| inner(axis + 1) <= max_len).unwrap_or(shape.len());
    let step =
        if axis < shape.len() { (max_len / inner(axis + 1).max(1)).clamp(1, shape[axis].max(1)) } else { 1 };
    let shape = shape.to_vec();
    let outer: u64 = shape[..axis].iter().map(|length| *length as u64).product();
    let parts = if axis < shape.len() { shape[axis].div_ceil(step) as u64 } else { 1 };
    let count = if is_empty { 0 } else { outer.saturating_mul(parts) };
    (0..count).map(move |number| {
        let mut ranges = vec![0..0; shape.len()];
        let part = (number % parts) as usize;
        let outer: Vec<Range<usize>> = shape[..axis].iter().map(|length| 0..*length).collect();
        for (range, index) in ranges.iter_mut().zip(index_in(&outer, (number / parts) as usize)) {
            *range = index..index + 1;
        }
        if axis < shape.len() {
            ranges[axis] = part * step..((part + 1) * step).min(shape[axis]);
        }
        for (range, length) in ranges.iter_mut().zip(&shape).skip(axis + 1) {
            *range = 0..*length;
        }
        ranges
    })
}
