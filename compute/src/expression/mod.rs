//! A small language: Python's operators and NumPy's functions, on arrays of any size.

mod build;
mod functions;
mod operations;
mod parse;
mod plan;
mod reduce;
mod types;
mod values;

use std::ops::Range;

use ndarray_io::blocks::map_in_order;
use ndarray_io::header::Order;
use ndarray_io::{DType, DynArray, ReadOptions};

use crate::Source;
use crate::error::{Error, Result};
use build::Names;
pub use build::axis_number;
use parse::Ast;
use plan::{Node, Reads, boxes_of};

/// An expression such as `clip(a - b, 0, 1).T`.
///
/// Operators are those of Python: `+ - * / // % **`, comparisons (`0 < x < 1` is both), `and or not` of the truth of each element,
/// `& | ^ ~` of bits. Functions are those of NumPy: `abs sqrt exp log sin …`, `isnan`, `where`, `clip`, `minimum`, `round`,
/// `astype`, `reshape`, `transpose`, and `sum mean std var min max any all argmin argmax count_nonzero` with an `axis`.
/// The dtypes of results are NumPy's: numbers that are written out take the dtype of what they are combined with.
///
/// Floats of 16 and 32 bits are computed with 64 bits and rounded after each operation. Sums and means are right to a few units of
/// the last digit for any number of elements.
#[derive(Clone, Debug)]
pub struct Expression {
    ast: Ast,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// [`Error::Syntax`].
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { ast: parse::parse(text)? })
    }

    /// Says which arrays the names are. Reductions (`mean(x)`) are computed now.
    ///
    /// # Errors
    ///
    /// [`Error::Syntax`] for a name that is not known, [`Error::Operands`] for dtypes or shapes that do not match, and those of
    /// reading the arrays that are reduced.
    pub fn bind<'a>(&self, arrays: &[(&str, &'a dyn Source)]) -> Result<Bound<'a>> {
        self.bind_names(arrays, false)
    }

    /// Like [`bind`](Self::bind) for one array: `x`, and the names of its fields if it has records.
    ///
    /// # Errors
    ///
    /// Those of [`bind`](Self::bind).
    pub fn bind_fields<'a>(&self, array: &'a dyn Source) -> Result<Bound<'a>> {
        self.bind_names(&[("x", array)], true)
    }

    fn bind_names<'a>(&self, arrays: &[(&str, &'a dyn Source)], has_fields: bool) -> Result<Bound<'a>> {
        let arrays = arrays.iter().map(|(name, source)| ((*name).to_owned(), *source)).collect();
        let names = Names { arrays, has_fields, threads: ReadOptions::new().get_threads() };
        Ok(Bound { node: names.build(&self.ast)? })
    }
}

/// An expression whose names are arrays: an array that is computed part by part.
pub struct Bound<'a> {
    node: Node<'a>,
}

impl std::fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound").field("shape", &self.node.shape).finish_non_exhaustive()
    }
}

impl Bound<'_> {
    /// Returns the dtype of the result.
    ///
    /// # Errors
    ///
    /// [`Error::Operands`] if it is text, which has no fixed width.
    pub fn dtype(&self) -> Result<DType> {
        self.node
            .kind
            .dtype()
            .ok_or_else(|| Error::Operands("the result is text, which has no fixed width".into()))
    }

    /// Returns the shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.node.shape
    }

    /// Returns which elements of a part are true, in C order.
    ///
    /// # Errors
    ///
    /// Those of reading, and [`Error::Operands`].
    pub fn truth(&self, ranges: &[Range<usize>]) -> Result<Vec<bool>> {
        Ok(self.node.evaluate(ranges, &mut Reads::default())?.truth())
    }

    /// Computes the result, and passes it on in parts that follow one another in C order.
    ///
    /// # Errors
    ///
    /// Those of [`truth`](Self::truth), and of `take`.
    pub fn for_each_part<E: From<Error> + From<ndarray_io::Error>>(
        &self,
        take: impl FnMut(Part) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each(|value| value.to_array(), take)
    }

    /// Like [`for_each_part`](Self::for_each_part), with the truth of each element.
    ///
    /// # Errors
    ///
    /// Those of [`for_each_part`](Self::for_each_part).
    pub fn for_each_truth<E: From<Error> + From<ndarray_io::Error>>(
        &self,
        take: impl FnMut(Part<Vec<bool>>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each(|value| Ok(value.truth()), take)
    }

    fn for_each<T: Send, E: From<Error> + From<ndarray_io::Error>>(
        &self,
        convert: impl Fn(values::Value) -> Result<T> + Sync,
        mut take: impl FnMut(Part<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        /// How many elements are computed at a time: they fit in a cache.
        const PART_LEN: usize = 64 << 10;
        let compute = |ranges: Vec<Range<usize>>| {
            let value = self.node.evaluate(&ranges, &mut Reads::default())?;
            Ok::<_, Error>(Part { elements: convert(value)?, ranges })
        };
        map_in_order(
            boxes_of(&self.node.shape, PART_LEN),
            ReadOptions::new().get_threads(),
            compute,
            |part| take(part?),
        )
    }

    /// Computes the entire result in memory.
    ///
    /// # Errors
    ///
    /// Those of [`truth`](Self::truth).
    pub fn evaluate(&self) -> Result<DynArray> {
        let mut bytes = Vec::new();
        let dtype = self.dtype()?;
        self.for_each_part(|part| {
            bytes.extend_from_slice(part.elements.bytes());
            Ok::<(), Error>(())
        })?;
        Ok(DynArray::from_bytes(dtype, self.shape().to_vec(), Order::C, &bytes)?)
    }
}

impl Bound<'_> {
    /// Returns for each value which place it has among all values, as [`ranks`] does.
    pub(crate) fn ranks(&self) -> Result<Vec<u32>> {
        let mut all: Option<values::Data> = None;
        self.for_each(Ok, |part: Part<values::Value>| {
            match &mut all {
                Some(all) => all.append(part.elements.data),
                None => all = Some(part.elements.data),
            }
            Ok::<(), Error>(())
        })?;
        match all {
            Some(values::Data::Complex(_)) => {
                Err(Error::operands("complex numbers have no order: abs(x) has one"))
            }
            Some(all) => Ok(all.ranks(self.node.kind.is_time())),
            None => Ok(Vec::new()),
        }
    }
}

/// Returns for each element which place it has among all elements: equal ones have the same, and NaN and NaT have `u32::MAX`. Elements with
/// which expressions do not compute are ordered by their bytes.
pub(crate) fn ranks(array: &DynArray) -> Result<Vec<u32>> {
    match types::Type::of(array.dtype()) {
        Ok(kind) => Ok(values::Value::of_array(array, kind)?.data.ranks(kind.is_time())),
        Err(_) => Ok(values::ranks_of(
            &array.bytes().chunks(array.dtype().item_size().max(1)).collect::<Vec<_>>(),
            |_| false,
            Ord::cmp,
        )),
    }
}

/// A part of a result.
#[derive(Clone, Debug)]
pub struct Part<T = DynArray> {
    /// Where it is: for each axis, the indices.
    pub ranges: Vec<Range<usize>>,
    /// Its elements, in C order.
    pub elements: T,
}
