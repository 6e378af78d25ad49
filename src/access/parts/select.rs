//! Selections of parts of an array, validated before anything is read.

use std::ops::Range;

use ndarray::{ArrayBase, ArrayD, Axis, IxDyn, RawData, SliceArg, SliceInfoElem};

use crate::bytes::Runs;
use crate::error::{Error, Fault, Result, WantedShape};
use crate::header::Header;
use crate::limits;
use crate::shape::{Order, Shape};
use crate::transfer::os;

/// The indices that are selected along an axis.
#[derive(Clone, Copy, Debug)]
struct AxisRange {
    start: usize,
    count: usize,
    step: usize,
    is_reversed: bool,
}

/// The part of an array that a slice selects.
pub(crate) struct Selection {
    axes: Vec<AxisRange>,
    elements: Vec<SliceInfoElem>,
    /// The axes that belong to the elements. They are always selected in full.
    inner: InnerAxes,
}

/// The axes of a file that belong to its elements. Empty unless the elements are arrays themselves.
#[derive(Default)]
struct InnerAxes {
    lengths: Vec<usize>,
    come_first: bool,
}

/// The axes of a file, split into those of the array and those of its elements.
pub(crate) struct Axes {
    pub(crate) shape: Shape,
    inner: InnerAxes,
}

impl Axes {
    /// Splits the axes of a file for elements that have `inner` axes.
    ///
    /// Returns an error if the file has fewer axes than the elements.
    pub(crate) fn of(header: &Header, inner: usize) -> Result<Self> {
        let dims = header.shape();
        let Some(ndim) = dims.len().checked_sub(inner) else {
            return Err(Fault::ShapeMismatch {
                found: header.shape_ref().clone(),
                wanted: WantedShape::Axes(inner),
            }
            .into());
        };
        let come_first = header.is_innermost_first();
        let (shape, lengths) =
            if come_first { (&dims[inner..], &dims[..inner]) } else { (&dims[..ndim], &dims[ndim..]) };
        Ok(Self { shape: shape.into(), inner: InnerAxes { lengths: lengths.to_vec(), come_first } })
    }

    /// Resolves a slice of the array.
    pub(crate) fn selection(self, slice: &impl SliceArg<IxDyn>) -> Result<Selection> {
        Ok(Selection { inner: self.inner, ..Selection::of(&self.shape, slice)? })
    }

    /// Selects a range of indices along each axis; they must be within bounds.
    pub(crate) fn within(self, ranges: &[Range<usize>]) -> Selection {
        let axis_range = |range: &Range<usize>| AxisRange {
            start: range.start,
            count: range.len(),
            step: 1,
            is_reversed: false,
        };
        let axes: Vec<AxisRange> = ranges.iter().map(axis_range).collect();
        let elements = vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; axes.len()];
        Selection { axes, elements, inner: self.inner }
    }
}

impl AxisRange {
    fn all(length: &usize) -> Self {
        Self { start: 0, count: *length, step: 1, is_reversed: false }
    }
}

impl Selection {
    /// Resolves a slice of an array of this shape.
    ///
    /// Returns an error where ndarray would panic: if the slice has a different number of axes or is out of
    /// bounds.
    pub(crate) fn of(shape: &Shape, slice: &impl SliceArg<IxDyn>) -> Result<Self> {
        let elements = slice.as_ref().to_vec();
        let mut lengths = shape.dims().iter();
        let mut axes = Vec::with_capacity(shape.ndim());
        for element in elements.iter().filter(|element| !element.is_new_axis()) {
            let length = lengths.next().ok_or_else(|| wrong_rank_error(shape, &elements))?;
            axes.push(axis_range(*element, axes.len(), *length)?);
        }
        match lengths.next() {
            None => Ok(Self { axes, elements, inner: InnerAxes::default() }),
            Some(_) => Err(wrong_rank_error(shape, &elements)),
        }
    }

    /// Returns the header of the selected part, which has all axes of the array, and the part's byte runs.
    pub(crate) fn locate(&self, header: &Header) -> Result<(Header, Runs)> {
        let inner: Vec<AxisRange> = self.inner.lengths.iter().map(AxisRange::all).collect();
        let (first, second) = if self.inner.come_first { (&inner, &self.axes) } else { (&self.axes, &inner) };
        let all = || first.iter().chain(second);
        let counts: Vec<usize> = all().map(|axis_range| axis_range.count).collect();
        let strides = header.shape_ref().strides(header.order());
        let mut start = 0;
        let mut axes = Vec::with_capacity(counts.len());
        for (axis_range, stride) in all().zip(strides) {
            // Saturating, because an array without elements may have axes of any length.
            start = u64::saturating_add(start, (axis_range.start as u64).saturating_mul(stride));
            axes.push((axis_range.count, (axis_range.step as u64).saturating_mul(stride)));
        }
        // `Runs` expects the slowest-varying axis first.
        if header.order() == Order::Fortran {
            axes.reverse();
        }
        let selected = Runs::new(start, axes, header.dtype().item_size());
        Ok((header.with_shape(counts.into())?, selected))
    }

    /// Returns the byte offset of the first selected element, and the count and byte stride of each axis.
    ///
    /// The axes are in the order of the header.
    pub(super) fn byte_layout(&self, header: &Header) -> (u64, Vec<(usize, u64)>) {
        let item = header.dtype().item_size();
        let strides = header
            .shape_ref()
            .strides(header.order())
            .into_iter()
            .map(|stride| stride.saturating_mul(item as u64));
        let axes = self.axes.iter().zip(strides);
        let first =
            |(axis_range, stride): (&AxisRange, u64)| (axis_range.start as u64).saturating_mul(stride);
        let first = axes.clone().map(first).fold(0, u64::saturating_add);
        (
            first,
            axes.map(|(axis_range, stride)| {
                (axis_range.count, (axis_range.step as u64).saturating_mul(stride))
            })
            .collect(),
        )
    }

    /// Returns the header and the byte runs of the part with the listed indices along an axis.
    pub(crate) fn locate_indices(header: &Header, axis: usize, indices: &[usize]) -> Result<(Header, Runs)> {
        let dims = header.shape();
        let Some(length) = dims.get(axis).copied() else {
            return Err(Fault::NoSuchAxis { axis, shape: header.shape_ref().clone() }.into());
        };
        let (least, most) = indices
            .iter()
            .fold((usize::MAX, 0), |(least, most), index| (least.min(*index), most.max(*index)));
        if !indices.is_empty() && most >= length {
            let index = indices.iter().find(|index| **index >= length).unwrap_or(&most);
            return Err(Fault::OutOfBounds {
                index: *index as i128,
                length: length as u64,
                axis: Some(axis),
            }
            .into());
        }
        let wanted =
            dims.iter().enumerate().map(|(at, length)| if at == axis { indices.len() } else { *length });
        let wanted = header.with_shape(wanted.collect::<Vec<_>>().into())?;
        if wanted.len() == 0 {
            return Ok((wanted, Runs::new(0, vec![(0, 0)], 0))); // an array without elements may have other axes of any length
        }
        // For each index of the slower axes, all listed positions are read, in file order, before those for
        // the next index.
        let bytes = header.shape_ref().strides(header.order())[axis]
            .saturating_mul(header.dtype().item_size() as u64);
        let outer = match header.order() {
            Order::C => &dims[..axis],
            Order::Fortran => &dims[axis + 1..],
        };
        wanted.len_and_bytes_in_memory()?; // also bounds `run` and `outer`, which are factors of this size
        let outer: usize = outer.iter().product();
        let run = usize::try_from(bytes).unwrap_or(usize::MAX);
        let place = |index: usize| (index as u64).saturating_mul(bytes);
        // There may be as many as there are elements.
        let mut offsets: Vec<u64> = Vec::new();
        limits::reserve(&mut offsets, indices.len())?;
        os::advise_huge_pages((offsets.as_ptr().cast(), 8 * indices.len()));
        offsets.extend(indices.iter().map(|index| (index - least) as u64 * bytes));
        let selected =
            Runs::listed(place(least), (outer, place(length)), (offsets, place(most - least)), run);
        Ok((wanted, selected))
    }

    /// Returns the lengths of the axes of the sliced array, except the axes that the slice inserts.
    pub(crate) fn dims(&self) -> Vec<usize> {
        let old = self.elements.iter().filter(|element| !element.is_new_axis());
        let axes = old.zip(&self.axes).filter(|(element, _)| !element.is_index());
        axes.map(|(_, axis_range)| axis_range.count).collect()
    }

    /// Returns a slice of the entire array that selects these ranges of the selection, one range per axis.
    pub(crate) fn slice_of_ranges(&self, ranges: &[Range<usize>]) -> Vec<SliceInfoElem> {
        let mut ranges = ranges.iter();
        let old = self.elements.iter().filter(|element| !element.is_new_axis());
        let part = |(element, axis_range): (&SliceInfoElem, &AxisRange)| {
            if element.is_index() {
                return SliceInfoElem::Index(axis_range.start as isize);
            }
            let range = ranges.next().cloned().unwrap_or(0..axis_range.count);
            // An empty range does not have a last index, which is computed below.
            if range.is_empty() {
                return SliceInfoElem::Slice { start: 0, end: Some(0), step: 1 };
            }
            // A reversed axis counts from the end, so the range selects the mirrored indices of the file.
            let (first, last) = match axis_range.is_reversed {
                false => (range.start, range.end - 1),
                true => (axis_range.count - range.end, axis_range.count - 1 - range.start),
            };
            let (start, end) =
                (axis_range.start + first * axis_range.step, axis_range.start + last * axis_range.step + 1);
            // Wrapping, because a step of `isize::MIN` is its own negation.
            let step = if axis_range.is_reversed {
                (axis_range.step as isize).wrapping_neg()
            } else {
                axis_range.step as isize
            };
            SliceInfoElem::Slice { start: start as isize, end: Some(end as isize), step }
        };
        old.zip(&self.axes).map(part).collect()
    }

    /// Returns the elements of the original slice.
    pub(crate) fn elements(&self) -> &[SliceInfoElem] {
        &self.elements
    }

    /// Returns the slice to apply to the array after it has been read.
    ///
    /// It reverses, removes and inserts axes.
    pub(crate) fn residual_slice(&self) -> Vec<SliceInfoElem> {
        let mut axis_range = self.axes.iter();
        let rest = |element: &SliceInfoElem| match element {
            SliceInfoElem::NewAxis => SliceInfoElem::NewAxis,
            SliceInfoElem::Index(_) => {
                axis_range.next();
                SliceInfoElem::Index(0)
            }
            SliceInfoElem::Slice { .. } => {
                let is_reversed = axis_range.next().is_some_and(|axis_range| axis_range.is_reversed);
                SliceInfoElem::Slice { start: 0, end: None, step: if is_reversed { -1 } else { 1 } }
            }
        };
        self.elements.iter().map(rest).collect()
    }

    /// Reverses, removes and inserts axes of an array that has been read, as the slice specifies.
    pub(super) fn arrange<A>(&self, mut array: ArrayD<A>) -> ArrayD<A> {
        let mut axis_range = self.axes.iter();
        let mut axis = 0;
        for element in &self.elements {
            match element {
                SliceInfoElem::NewAxis => array = array.insert_axis(Axis(axis)),
                SliceInfoElem::Index(_) => {
                    axis_range.next();
                    array = array.index_axis_move(Axis(axis), 0);
                    continue;
                }
                SliceInfoElem::Slice { .. } => {
                    if axis_range.next().is_some_and(|axis_range| axis_range.is_reversed) {
                        array.invert_axis(Axis(axis));
                    }
                }
            }
            axis += 1;
        }
        array
    }

    /// Returns a view of the array with the axes and directions of the part in the file.
    ///
    /// The slice is read into this view or written from it. This is the inverse of `arrange`.
    pub(super) fn view_with_file_axes<S: RawData>(
        &self,
        mut view: ArrayBase<S, IxDyn>,
        is_written: bool,
    ) -> Result<ArrayBase<S, IxDyn>> {
        let mut wanted = Vec::new();
        let mut axis_range = self.axes.iter();
        for element in &self.elements {
            match (element.is_new_axis(), element.is_index()) {
                (true, _) => wanted.push(1),
                (_, true) => drop(axis_range.next()),
                _ => wanted.extend(axis_range.next().map(|axis_range| axis_range.count)),
            }
        }
        if view.shape() != wanted {
            // What is read has to have the shape of the array, and what is written that of the part of the file.
            let (mut found, mut expected) = (Shape::from(wanted), Shape::from(view.shape()));
            if is_written {
                std::mem::swap(&mut found, &mut expected);
            }
            return Err(Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(expected) }.into());
        }
        let mut axis_range = self.axes.iter();
        let mut axis = 0;
        for element in &self.elements {
            match element {
                SliceInfoElem::NewAxis => {
                    view = view.index_axis_move(Axis(axis), 0);
                    continue;
                }
                SliceInfoElem::Index(_) => {
                    axis_range.next();
                    view.insert_axis_inplace(Axis(axis));
                }
                SliceInfoElem::Slice { .. } => {
                    if axis_range.next().is_some_and(|axis_range| axis_range.is_reversed) {
                        view.invert_axis(Axis(axis));
                    }
                }
            }
            axis += 1;
        }
        Ok(view)
    }
}

fn wrong_rank_error(shape: &Shape, elements: &[SliceInfoElem]) -> crate::error::Error {
    let wanted = elements.iter().filter(|element| !element.is_new_axis()).count();
    Fault::ShapeMismatch { found: shape.clone(), wanted: WantedShape::Sliced(wanted) }.into()
}

/// Resolves one element of a slice along an axis, by ndarray's rules.
///
/// Negative indices count from the end. A negative step traverses the same range, starting at its last index.
fn axis_range(element: SliceInfoElem, axis: usize, length: usize) -> Result<AxisRange> {
    let place = |index: isize| match index {
        0.. => Some(index as usize),
        _ => length.checked_sub(index.unsigned_abs()),
    };
    let outside = |index: isize| {
        let (index, length) = (index as i128, length as u64);
        Error::from(Fault::OutOfBounds { index, length, axis: Some(axis) })
    };
    match element {
        SliceInfoElem::Index(index) => {
            let start = place(index).filter(|start| *start < length).ok_or_else(|| outside(index))?;
            Ok(AxisRange { start, count: 1, step: 1, is_reversed: false })
        }
        SliceInfoElem::Slice { start, end, step } => {
            let from = place(start).filter(|from| *from <= length).ok_or_else(|| outside(start))?;
            let to = match end {
                Some(end) => place(end).filter(|to| *to <= length).ok_or_else(|| outside(end))?,
                None => length,
            };
            // As in ndarray, a range that ends before its start is empty.
            let (to, is_reversed) = (to.max(from), step < 0);
            let step = step.unsigned_abs();
            if step == 0 {
                return Err(Fault::BadOption { reason: "the slice has a step of 0".into() }.into());
            }
            let count = (to - from).div_ceil(step);
            // A reversed slice always contains the last index of the range; a forward slice, the first.
            let start = if is_reversed && count > 0 { to - 1 - (count - 1) * step } else { from };
            Ok(AxisRange { start, count, step, is_reversed })
        }
        SliceInfoElem::NewAxis => unreachable!("the callers handle new axes"),
    }
}

impl Header {
    /// Replaces the element that an error names, which is that of a selection, by that of the array.
    ///
    /// `part` is the header of the selection. `inner` is the number of axes of each element.
    pub(super) fn name_selected_element(
        &self,
        error: Error,
        part: &Header,
        selected: &Runs,
        inner: usize,
    ) -> Error {
        // An error with a path comes from the source, such as a damaged container.
        if error.path().is_some() {
            return error;
        }
        let item = part.dtype().item_size().max(1) as u64;
        // The parts of an element follow one another, unless its axes vary slowest.
        let is_contiguous = self.is_innermost_first() == (self.order() == Order::Fortran);
        let outer = part.outer_shape(inner).len().unwrap_or(1);
        let parts = if is_contiguous { part.len() / outer.max(1) } else { 1 };
        let bytes = item.saturating_mul(parts.max(1));
        let in_file = |element: usize| match (element as u64).saturating_mul(bytes) {
            at if at < selected.byte_len() => (selected.offset_at(at).0 / bytes) as usize,
            _ => element, // elements without bytes
        };
        self.add_axis_indices(error.map_element(in_file), inner)
    }
}
