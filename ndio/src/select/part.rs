//! Parts of files and of arrays, as sources of bytes: the library reads them like any file.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::SliceInfoElem;
use ndarray_io::bytes::{ReadAt, ReadHints};
use ndarray_io::file::parse_slice;
use ndarray_io::header::{Header, Order};
use ndarray_io::{DynArray, Result, npy};
use ndarray_io_compute::boxes;

use crate::failure::{Failure, at};

use crate::source::Source;

/// The bytes of a source from an offset on, after a header that the source lacks, if any.
#[derive(Debug)]
pub(crate) struct HeadedBytes {
    pub(crate) head: Vec<u8>,
    pub(crate) bytes: Arc<dyn ReadAt>,
    pub(crate) from: u64,
}

/// Returns the bytes of elements without a header as an NPY file.
pub(crate) fn with_header(header: &Header, bytes: Arc<dyn ReadAt>, from: u64) -> Result<HeadedBytes> {
    Ok(HeadedBytes { head: npy::format(header, None)?, bytes, from })
}

impl ReadAt for HeadedBytes {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        match read_head(&self.head, into, offset) {
            Some(count) => Ok(count),
            None => {
                let at = offset - self.head.len() as u64;
                self.bytes.read_at(into, self.from.saturating_add(at))
            }
        }
    }

    fn size(&self) -> Result<u64> {
        Ok(self.head.len() as u64 + self.bytes.size()?.saturating_sub(self.from))
    }

    fn file(&self) -> Option<(&File, u64)> {
        let (file, at) = self.bytes.file().filter(|_| self.head.is_empty())?;
        Some((file, at.checked_add(self.from)?))
    }

    fn lock_file(&self) -> Option<&File> {
        self.bytes.lock_file()
    }

    fn hints(&self) -> ReadHints {
        self.bytes.hints()
    }
}

/// Copies what is asked for of a header, unless the offset is after it.
fn read_head(head: &[u8], into: &mut [u8], offset: u64) -> Option<usize> {
    let rest = head.get(usize::try_from(offset).ok()?..).filter(|rest| !rest.is_empty())?;
    let count = rest.len().min(into.len());
    into[..count].copy_from_slice(&rest[..count]);
    Some(count)
}

/// A field and a slice of an array, as an NPY file.
struct SelectedPart {
    whole: Source,
    field: Option<String>,
    /// The axes of the field: those of the array, and those of each element, if that is an array itself.
    axes: Vec<AxisRange>,
    /// The number of axes of the array.
    array_ndim: usize,
    header: Header,
    head: Vec<u8>,
    /// The last element of which only a part was read, and its number.
    last: Mutex<Option<(u64, Vec<u8>)>>,
}

/// What is taken of an axis.
#[derive(Clone, Copy)]
enum AxisRange {
    Index(isize),
    /// From this index, in these steps; the length is in the header.
    Stepped {
        first: isize,
        step: isize,
    },
}

impl fmt::Debug for SelectedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelectedPart").field("name", &self.whole.name()).field("field", &self.field).finish()
    }
}

/// Returns a field and a slice of an array in a file.
pub(super) fn selected(
    source: Source,
    field: Option<&str>,
    slice: Option<&str>,
) -> std::result::Result<Source, Failure> {
    let (name, order, array_ndim) = (source.name().to_owned(), source.order(), source.shape().len());
    let mut shape = source.shape().to_vec();
    let dtype = match field {
        Some(field) => {
            // The field of an array without elements has the dtype, and the axes of its elements.
            let none = DynArray::from_bytes(source.dtype().clone(), vec![0], Order::C, &[])
                .and_then(|none| none.field(field))
                .map_err(|error| error.at_path(&name))?;
            shape.extend(&none.shape()[1..]);
            none.dtype().clone()
        }
        None => source.dtype().clone(),
    };
    // The axes of the elements are the innermost ones.
    let order = if shape.len() > array_ndim { Order::C } else { order };
    let whole = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; shape.len()];
    let elements = match slice {
        Some(text) => parse_slice(text, &shape).map_err(|error| error.at_path(&name))?,
        None => whole,
    };
    let (mut axes, mut lengths) = (Vec::new(), Vec::new());
    for (element, length) in elements.into_iter().zip(&shape) {
        axes.push(axis_range(element, *length, &mut lengths).map_err(|error| at(&name, error.into()))?);
    }
    let header = Header::new(dtype, order, lengths.into())?;
    let head = npy::format(&header, None)?;
    let part = SelectedPart {
        whole: source,
        field: field.map(str::to_owned),
        axes,
        array_ndim,
        header,
        head,
        last: Mutex::new(None),
    };
    let file = crate::reading::options().open_source(part)?;
    Ok(Source::npy(file.with_path(&name), &name))
}

/// Returns what a slice takes of an axis, and adds its length.
fn axis_range(
    element: SliceInfoElem,
    length: usize,
    lengths: &mut Vec<usize>,
) -> std::result::Result<AxisRange, String> {
    match element {
        SliceInfoElem::Index(index) => {
            let from_start = if index < 0 { index + length as isize } else { index };
            match usize::try_from(from_start) {
                Ok(at) if at < length => Ok(AxisRange::Index(from_start)),
                _ => Err(format!(
                    "index {index} is out of bounds for axis {} of length {length}",
                    lengths.len()
                )),
            }
        }
        SliceInfoElem::Slice { start, end, step } => {
            // `parse_slice` returns bounds that are within the axis.
            let end = end.unwrap_or(length as isize);
            let span = usize::try_from(end - start).unwrap_or(0);
            lengths.push(span.div_ceil(step.unsigned_abs()));
            let first = if step < 0 { end - 1 } else { start };
            Ok(AxisRange::Stepped { first, step })
        }
        SliceInfoElem::NewAxis => Err("a slice cannot add an axis".into()),
    }
}

/// What is read at a time, in bytes.
const MAX_READ_BYTES: u64 = 4 << 20;

impl SelectedPart {
    /// Reads the elements of these ranges of the selection, in its order.
    fn elements(&self, ranges: &[Range<usize>]) -> Result<DynArray> {
        let mut ranges = ranges.iter();
        let elements: Vec<SliceInfoElem> = self
            .axes
            .iter()
            .map(|axis_range| match *axis_range {
                AxisRange::Index(index) => SliceInfoElem::Index(index),
                AxisRange::Stepped { first, step } => {
                    let range = ranges.next().expect("there is a range for each axis that is kept");
                    let at = |index: usize| first + step * index as isize;
                    let (one, last) = (at(range.start), at(range.end - 1));
                    SliceInfoElem::Slice { start: one.min(last), end: Some(one.max(last) + 1), step }
                }
            })
            .collect();
        let (outer, inner) = elements.split_at(self.array_ndim);
        let read = self.whole.slice(outer)?;
        let Some(field) = &self.field else { return Ok(read) };
        let read = read.field(field)?;
        if inner.is_empty() {
            return Ok(read);
        }
        let kept = read.shape().len() - inner.len();
        let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        read.slice(&[&vec![all; kept][..], inner].concat()[..])
    }
}

impl SelectedPart {
    /// Reads the elements from `first` to `last` of the selection, in its order.
    fn read_element_bytes(&self, first: u64, last: u64) -> Result<Vec<u8>> {
        let order = self.header.order();
        let mut dims = self.header.shape().to_vec();
        if order == Order::Fortran {
            dims.reverse();
        }
        let mut bytes = Vec::new();
        for mut ranges in boxes(&dims, first..last) {
            if order == Order::Fortran {
                ranges.reverse();
            }
            let read = self.elements(&ranges)?;
            bytes.extend_from_slice(read.in_order(order)?.bytes());
        }
        Ok(bytes)
    }

    /// Reads a part of one element: a large one is asked for in several parts.
    fn read_within_element(&self, number: u64, offset: usize, into: &mut [u8]) -> Result<usize> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(kept, _)| *kept != number) {
            *last = Some((number, self.read_element_bytes(number, number + 1)?));
        }
        let bytes = last.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        into.copy_from_slice(&bytes[offset..][..into.len()]);
        Ok(into.len())
    }
}

impl ReadAt for SelectedPart {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        if let Some(count) = read_head(&self.head, into, offset) {
            return Ok(count);
        }
        let (at, item) = (offset - self.head.len() as u64, self.header.dtype().item_size() as u64);
        let all = self.header.payload_len().unwrap_or_default();
        let end = all.min(at.saturating_add(MAX_READ_BYTES.min(into.len() as u64)));
        if at >= end {
            return Ok(0);
        }
        // Elements of which only a part is asked for are read entirely, and all of a record for a field of it.
        let (first, offset) = (at / item, (at % item) as usize);
        // Of a record with an array, all elements are had by reading it once.
        let outer = self.axes[..self.array_ndim]
            .iter()
            .filter(|axis_range| matches!(axis_range, AxisRange::Stepped { .. }))
            .count();
        let inner: u64 = self.header.shape()[outer..].iter().map(|length| *length as u64).product();
        let whole = (self.whole.dtype().item_size() as u64).max(item);
        let most = (MAX_READ_BYTES / whole).max(1).saturating_mul(inner.max(1));
        let last = end.div_ceil(item).min(first.saturating_add(most));
        let wanted = (end.min(last * item) - at) as usize;
        if last == first + 1 && (wanted as u64) < item {
            return self.read_within_element(first, offset, &mut into[..wanted]);
        }
        let bytes = self.read_element_bytes(first, last)?;
        into[..wanted].copy_from_slice(&bytes[offset..][..wanted]);
        Ok(wanted)
    }

    fn size(&self) -> Result<u64> {
        // What is too large to have a length is refused when the file is opened.
        Ok((self.head.len() as u64).saturating_add(self.header.payload_len().unwrap_or(u64::MAX)))
    }

    fn hints(&self) -> ReadHints {
        // Each read is a slice of the file: fewer and larger ones are better.
        ReadHints { block: Some(MAX_READ_BYTES as usize), gap: 1 << 20, ..ReadHints::default() }
    }
}
