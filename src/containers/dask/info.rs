//! The `info` file of a stack: the lengths of its parts, and their common properties.

use crate::dtype::{ByteOrder, DType};
use crate::dynamic::object::{Items, Object, ObjectRef, Pickle, View};
use crate::error::{Error, Fault, FilePart, LimitKind, Result};
use crate::header::{Header, Order};
use crate::limits::{self, Limits};
use crate::options::{ReadOptions, WriteOptions};

/// The content of an `info` file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Info {
    pub(super) dtype: DType,
    pub(super) axis: usize,
    /// The shape of the entire array.
    pub(super) shape: Vec<usize>,
    /// The length of each part along the axis.
    pub(super) lengths: Vec<usize>,
}

pub(super) fn malformed_stack(reason: impl Into<String>) -> Error {
    Fault::Malformed { part: FilePart::Stack, reason: reason.into(), offset: None }.into()
}

/// Returns whether two dtypes differ at most in byte order, and so may occur in one stack.
pub(super) fn are_equal_except_byte_order(one: &DType, other: &DType) -> bool {
    let native = |dtype: &DType| dtype.stored().with_byte_order(ByteOrder::NATIVE);
    one == other || native(one) == native(other)
}

fn chunks_items(object: ObjectRef<'_>) -> Result<Items<'_>> {
    object.items().ok_or_else(|| malformed_stack("'chunks' in its info is not a tuple of tuples"))
}

/// Returns a length in `info`; if it is unknown, the length of the part with this number.
fn length_of(
    length: ObjectRef<'_>,
    number: usize,
    axis: usize,
    shape_of: &dyn Fn(usize) -> Result<Vec<usize>>,
) -> Result<usize> {
    if let View::Float(unknown) = length.view()
        && unknown.is_nan()
    {
        let shape = shape_of(number)?;
        return shape
            .get(axis)
            .copied()
            .ok_or_else(|| malformed_stack(format!("part {number} has no axis {axis}")));
    }
    usize::try_from(length).map_err(|error| malformed_stack(format!("a chunk's length in its info: {error}")))
}

impl Info {
    /// Creates the info of a stack of parts with these lengths.
    ///
    /// The length of `shape` along the axis is replaced by the sum of the lengths.
    pub(super) fn new(dtype: DType, mut shape: Vec<usize>, axis: usize, lengths: Vec<usize>) -> Result<Self> {
        let all = lengths.iter().try_fold(0usize, |all, length| all.checked_add(*length));
        let all =
            all.ok_or_else(|| Error::from(Fault::Overflow { what: "the total length of all parts".into() }))?;
        let axes = shape.len();
        *shape
            .get_mut(axis)
            .ok_or_else(|| malformed_stack(format!("there is no axis {axis} among {axes}")))? = all;
        Header::new(dtype.clone(), Order::C, shape.clone().into())?; // checks the size and number of axes
        Ok(Self { dtype: dtype.stored(), axis, shape, lengths })
    }

    /// Parses an `info` file, without executing the pickle.
    ///
    /// Lengths that Dask did not know (`nan`, after a selection by a mask) are read from the parts:
    /// `shape_of` returns the shape of a part.
    pub(super) fn parse(
        bytes: &[u8],
        options: &ReadOptions,
        shape_of: &dyn Fn(usize) -> Result<Vec<usize>>,
    ) -> Result<Self> {
        let pickle = options.unpickle(bytes)?;
        let entry = |name| {
            pickle
                .object()
                .get(name)
                .ok_or_else(|| malformed_stack(format!("its info is not a dict with the key '{name}'")))
        };
        let (chunks, dtype, axis) = (entry("chunks")?, entry("dtype")?, entry("axis")?);
        let dtype =
            dtype.as_dtype().ok_or_else(|| malformed_stack("the dtype in its info is not a numpy.dtype"))?;
        if dtype.has_object() {
            return Err(Fault::Objects { found: dtype }.into());
        }
        let chunks = chunks_items(chunks)?;
        // Checked before anything is allocated: a pickle may refer to one long tuple from many places.
        limits::check(LimitKind::Dimensions, chunks.len() as u64, Limits::DIMENSIONS as u64)?;
        // As in Python, a negative axis counts from the end.
        let axis =
            i64::try_from(axis).map_err(|error| malformed_stack(format!("the axis in its info: {error}")))?;
        let from_end = if axis < 0 { axis.saturating_add(chunks.len() as i64) } else { axis };
        let found = usize::try_from(from_end).ok().filter(|axis| *axis < chunks.len());
        let axis = found
            .ok_or_else(|| malformed_stack(format!("there is no axis {axis} among {}", chunks.len())))?;
        let mut shape = Vec::with_capacity(chunks.len());
        let mut lengths = Vec::new();
        for (at, chunks) in chunks.iter().enumerate() {
            let chunks = chunks_items(chunks)?;
            if at == axis {
                let each =
                    chunks.iter().enumerate().map(|(number, length)| length_of(length, number, at, shape_of));
                lengths = each.collect::<Result<Vec<_>>>()?;
                shape.push(0);
            } else if let (Some(length), 1) = (chunks.get(0), chunks.len()) {
                shape.push(length_of(length, 0, at, shape_of)?);
            } else {
                return Err(malformed_stack(format!("axis {at} has {} chunks, expected 1", chunks.len())));
            }
        }
        Self::new(dtype, shape, axis, lengths)
    }

    /// Serializes the `info` file in Dask's format.
    ///
    /// The only global that the pickle refers to is `numpy.dtype`.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let tuple = |lengths: &[usize]| Object::tuple(lengths.iter().map(|length| *length as u64));
        let chunks =
            self.shape.iter().enumerate().map(|(axis, length)| {
                if axis == self.axis { tuple(&self.lengths) } else { tuple(&[*length]) }
            });
        let dtype = Object::dtype(&self.dtype)?;
        let entries: [(&str, Object); 3] =
            [("chunks", Object::tuple(chunks)), ("dtype", dtype), ("axis", (self.axis as u64).into())];
        Pickle::write(&Object::dict(entries)?, &WriteOptions::new())
    }

    /// Adds a part.
    pub(super) fn push(&mut self, length: usize) -> Result<()> {
        // The new shape is validated before anything is changed.
        let all = self.shape[self.axis]
            .checked_add(length)
            .ok_or_else(|| Error::from(Fault::Overflow { what: "the total length of all parts".into() }))?;
        let mut shape = self.shape.clone();
        shape[self.axis] = all;
        Header::new(self.dtype.clone(), Order::C, shape.as_slice().into())?;
        self.shape = shape;
        self.lengths.push(length);
        Ok(())
    }

    /// Returns the shape of a part.
    pub(super) fn part_shape(&self, number: usize) -> Vec<usize> {
        let mut shape = self.shape.clone();
        shape[self.axis] = self.lengths[number];
        shape
    }
}
