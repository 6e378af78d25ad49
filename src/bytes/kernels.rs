//! Copies of strided elements: one kernel for both directions and all sizes.
//!
//! One side of a copy is strided, as an array in memory may be. The other side is packed: its elements follow one another, and the last
//! axis is the fastest. Elements are bytes here, of any type, so each loop is compiled once for each size.
#![allow(unsafe_code)]

mod walk;

use walk::{SHORT_AXIS_LEN, Walk};

use crate::shape::indices_of;

/// The approximate size of a block.
const BLOCK_LEN: usize = 1 << 20;
/// The maximum size of a block that is enlarged to use a transposed array's cache lines completely.
const MAX_BLOCK_LEN: usize = 16 << 20;
/// The side of the squares in which a transposed array is copied, in elements.
const TILE_SIDE: usize = 8;
/// The minimum length of a transposed block along the contiguous axis, in bytes: a few complete cache lines.
///
/// Such a block also has at least two squares along that axis.
const MIN_CONTIGUOUS_BYTES: usize = 128;

/// Where strided elements are, relative to the one whose indices are all 0.
#[derive(Clone, Debug)]
pub(crate) struct StridedLayout {
    /// Length and stride in bytes, the slowest axis of the packed side first. Axes that can be one are; none has the length 1.
    axes: Vec<(usize, isize)>,
    item: usize,
}

impl StridedLayout {
    /// Creates a layout of elements of `item` bytes, of which these are the lengths and the strides in bytes.
    pub(crate) fn new(axes: impl IntoIterator<Item = (usize, isize)>, item: usize) -> Self {
        let mut merged: Vec<(usize, isize)> = Vec::new();
        for (len, stride) in axes.into_iter().filter(|(len, _)| *len != 1) {
            match merged.last_mut() {
                Some((outer, outer_stride)) if stride.checked_mul(len as isize) == Some(*outer_stride) => {
                    (*outer, *outer_stride) = (*outer * len, stride);
                }
                _ => merged.push((len, stride)),
            }
        }
        Self { axes: merged, item }
    }

    /// Creates a layout whose strides are not negative. Too large ones stay so large that the elements are not within any memory.
    pub(super) fn ascending(axes: impl IntoIterator<Item = (usize, usize)>, item: usize) -> Self {
        let signed = |(len, stride)| (len, isize::try_from(stride).unwrap_or(isize::MAX));
        Self::new(axes.into_iter().map(signed), item)
    }

    /// Returns whether all elements are within `len` bytes, if the one whose indices are all 0 begins at `start`.
    pub(crate) fn is_within(&self, start: usize, len: usize) -> bool {
        if self.is_empty() {
            return true;
        }
        let far = |(len, stride): &(usize, isize)| (*len as i128 - 1).saturating_mul(*stride as i128);
        let start = start as i128;
        let low = self.axes.iter().map(far).fold(start, |low, far| low.saturating_add(far.min(0)));
        let high = self.axes.iter().map(far).fold(start, |high, far| high.saturating_add(far.max(0)));
        low >= 0 && high.saturating_add(self.item as i128) <= len as i128
    }

    /// Returns the number of bytes that the elements have, or the largest number: a row that is repeated may have more than fit into memory.
    pub(crate) fn byte_len(&self) -> usize {
        self.axes.iter().fold(self.item, |all, (len, _)| all.saturating_mul(*len))
    }

    fn is_empty(&self) -> bool {
        self.item == 0 || self.axes.iter().any(|(len, _)| *len == 0)
    }

    pub(crate) fn item_size(&self) -> usize {
        self.item
    }

    /// Returns whether the elements follow one another.
    pub(crate) fn is_packed(&self) -> bool {
        self.is_empty()
            || match self.axes[..] {
                [] => true,
                [(_, stride)] => stride == self.item as isize,
                _ => false,
            }
    }

    /// Divides the elements into blocks that follow one another on the packed side.
    pub(crate) fn blocks(&self) -> StridedBlocks<'_> {
        let axes = &self.axes[..];
        let inner = |axis: usize| inner_byte_len(axes.iter().map(|(len, _)| *len), axis, self.item);
        let (axis, step) = block_division(axes.len(), &inner);
        let last = axes.len().saturating_sub(1);
        // Blocks of a transposed array need several indices of the contiguous axis, to fill cache lines.
        let fastest = smallest_stride(axes.iter().map(|(_, stride)| *stride));
        let wanted = (MIN_CONTIGUOUS_BYTES / self.item.max(1)).max(2 * TILE_SIDE);
        let transposed = fastest < axis || (fastest == axis && fastest < last && step < wanted);
        let (axis, step) = match transposed && inner(fastest).saturating_mul(wanted) <= MAX_BLOCK_LEN {
            true => (fastest, wanted),
            false => (axis, step),
        };
        StridedBlocks { layout: self, axis, step }
    }

    /// Copies all elements.
    ///
    /// # Safety
    ///
    /// `strided` is the address of the element whose indices are all 0, and `packed` of as many bytes as the elements have. All
    /// elements of the layout are within the memory of `strided`; what is read is initialized, what is written is not borrowed elsewhere,
    /// and the two do not overlap.
    pub(crate) unsafe fn copy(&self, direction: Direction, strided: *mut u8, packed: *mut u8) {
        if self.is_empty() {
            return;
        }
        // What is contiguous on both sides is one unit.
        let (axes, unit) = match self.axes.split_last() {
            Some(((len, stride), outer)) if *stride == self.item as isize => (outer, len * self.item),
            _ => (&self.axes[..], self.item),
        };
        let mut packed_stride = unit as isize;
        let mut steps: Vec<Step> = Vec::with_capacity(axes.len());
        for &(len, stride) in axes.iter().rev() {
            let (from, to) = match direction {
                Direction::Gather => (stride, packed_stride),
                Direction::Scatter => (packed_stride, stride),
            };
            steps.push(Step { len, from, to });
            packed_stride = packed_stride.wrapping_mul(len as isize); // the last product is not used
        }
        steps.reverse();
        let at = match direction {
            Direction::Gather => Pair { from: strided, to: packed },
            Direction::Scatter => Pair { from: packed, to: strided },
        };
        let fastest = smallest_stride(axes.iter().map(|(_, stride)| *stride));
        macro_rules! copy_units {
            ($($size:literal)*) => {
                match unit {
                    // SAFETY: what the caller promises of the elements is true of these units.
                    $($size => unsafe { copy_units(ConstUnit::<$size>, at, &steps, (fastest, direction)) },)*
                    // SAFETY: as above.
                    _ => unsafe { copy_units(Unit(unit), at, &steps, (fastest, direction)) },
                }
            };
        }
        copy_units!(1 2 3 4 6 8 12 16 24 32);
    }
}

/// Returns the number of bytes that one index of an axis has, but at least 1.
pub(crate) fn inner_byte_len(lens: impl Iterator<Item = usize>, axis: usize, item: usize) -> usize {
    lens.skip(axis + 1).product::<usize>().saturating_mul(item).max(1)
}

/// Returns the axis along which elements are divided into blocks, and the number of its indices in each.
pub(crate) fn block_division(ndim: usize, inner: &dyn Fn(usize) -> usize) -> (usize, usize) {
    let last = ndim.saturating_sub(1);
    let axis = (0..last).find(|&axis| inner(axis) <= BLOCK_LEN).unwrap_or(last);
    (axis, (BLOCK_LEN / inner(axis)).max(1))
}

/// A division of strided elements into blocks.
pub(crate) struct StridedBlocks<'l> {
    layout: &'l StridedLayout,
    /// The axis that is divided.
    ///
    /// A block has one index of each axis before it, and all indices of the axes after it.
    axis: usize,
    /// How many indices of that axis are in a block.
    step: usize,
}

impl StridedBlocks<'_> {
    /// Returns the number of blocks.
    pub(crate) fn count(&self) -> usize {
        match self.layout.is_empty() {
            true => 0,
            false => self.outer().iter().map(|(len, _)| len).product::<usize>() * self.piece_count(),
        }
    }

    /// Returns a block: its offset on the strided side and on the packed one, in bytes, and its layout.
    ///
    /// # Panics
    ///
    /// If the index is out of bounds.
    pub(crate) fn get(&self, index: usize) -> (isize, usize, StridedLayout) {
        assert!(index < self.count(), "the number of a block");
        let Self { layout, axis, step } = *self;
        let Some((len, stride)) = layout.axes.get(axis).copied() else { return (0, 0, layout.clone()) };
        let (outer, piece) = (index / self.piece_count(), index % self.piece_count());
        let mut axes = layout.axes[axis..].to_vec();
        axes[0].0 = step.min(len - piece * step);
        let inner = axes[1..].iter().map(|(len, _)| len).product::<usize>() * layout.item;
        let indices = indices_of(outer as u64, self.outer().iter().rev().map(|(len, _)| *len));
        let start = self.outer().iter().rev().zip(indices);
        let start = start
            .fold((piece * step) as isize * stride, |at, ((_, stride), index)| at + index as isize * stride);
        (start, (outer * len + piece * step).wrapping_mul(inner), StridedLayout::new(axes, layout.item))
    }

    fn outer(&self) -> &[(usize, isize)] {
        &self.layout.axes[..self.axis]
    }

    fn piece_count(&self) -> usize {
        self.layout.axes.get(self.axis).map_or(1, |(len, _)| len.div_ceil(self.step))
    }
}

/// In which direction elements are copied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    /// From the strided side to the packed one.
    Gather,
    /// From the packed side to the strided one.
    Scatter,
}

/// Returns the number of the axis with the smallest stride that is not 0; the last one if all are.
fn smallest_stride(strides: impl DoubleEndedIterator<Item = isize> + ExactSizeIterator) -> usize {
    let last = strides.len().saturating_sub(1);
    let strides = strides.enumerate().filter(|(_, stride)| *stride != 0);
    strides.rev().min_by_key(|(_, stride)| stride.unsigned_abs()).map_or(last, |(axis, _)| axis)
}

/// An axis of both sides, with strides in bytes.
#[derive(Clone, Copy, Debug)]
struct Step {
    len: usize,
    from: isize,
    to: isize,
}

/// The addresses of a unit on both sides.
#[derive(Clone, Copy)]
struct Pair {
    from: *const u8,
    to: *mut u8,
}

impl Pair {
    fn after(self, from: isize, to: isize) -> Self {
        Self { from: self.from.wrapping_offset(from), to: self.to.wrapping_offset(to) }
    }

    /// Returns the addresses at an index of an axis.
    fn at(self, axis: Step, index: usize) -> Self {
        self.after((index as isize).wrapping_mul(axis.from), (index as isize).wrapping_mul(axis.to))
    }
}

/// What is moved at once.
trait Units: Copy {
    fn size(self) -> usize;

    /// Copies a unit.
    ///
    /// # Safety
    ///
    /// Both addresses are those of a unit; they do not overlap.
    unsafe fn copy(self, unit: Pair);

    /// Copies a square of units. Along `across`, they follow one another in the target, and along `along` in the source, or nearly so.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Self::copy), of all units of the square.
    unsafe fn copy_square(self, first: Pair, across: Step, along: Step) {
        // SAFETY: the caller promises it.
        unsafe { copy_each(self, first, across, along) };
    }
}

/// Copies a square of units one by one.
///
/// # Safety
///
/// As for [`Units::copy_square`].
unsafe fn copy_each<U: Units>(units: U, first: Pair, across: Step, along: Step) {
    for line in 0..TILE_SIDE {
        for index in 0..TILE_SIDE {
            // SAFETY: it is a unit of the square.
            unsafe { units.copy(first.at(along, line).at(across, index)) };
        }
    }
}

/// Units of any size.
#[derive(Clone, Copy)]
struct Unit(usize);

impl Units for Unit {
    fn size(self) -> usize {
        self.0
    }

    #[inline]
    unsafe fn copy(self, unit: Pair) {
        /// Up to this size, a loop over words takes less time than a call.
        const MAX_LOOP_LEN: usize = 64;
        if self.0 <= MAX_LOOP_LEN && self.0 % 8 == 0 {
            let whole = self.0 as isize & !15;
            for word in (0..whole).step_by(16) {
                // SAFETY: it is a word of the unit.
                unsafe { ConstUnit::<16>.copy(unit.after(word, word)) };
            }
            if whole < self.0 as isize {
                // SAFETY: it is the last half of a word.
                unsafe { ConstUnit::<8>.copy(unit.after(whole, whole)) };
            }
            return;
        }
        // SAFETY: the caller promises it.
        unsafe { unit.from.copy_to_nonoverlapping(unit.to, self.0) };
    }
}

/// Units of a usual size, among them points with three coordinates: they are moved by instructions instead of a call.
#[derive(Clone, Copy)]
struct ConstUnit<const SIZE: usize>;

impl<const SIZE: usize> Units for ConstUnit<SIZE> {
    fn size(self) -> usize {
        SIZE
    }

    #[inline]
    unsafe fn copy(self, unit: Pair) {
        // SAFETY: the caller promises it.
        unsafe { unit.from.copy_to_nonoverlapping(unit.to, SIZE) };
    }

    /// The square is transposed in registers, and its rows are written.
    ///
    /// Writing one unit at a time would evict the rows from the cache, because rows that are this far apart
    /// often compete for the same cache lines.
    #[inline]
    unsafe fn copy_square(self, first: Pair, across: Step, along: Step) {
        // Other sizes do not fit into registers.
        if const { !SIZE.is_power_of_two() || SIZE > 8 } {
            // SAFETY: the caller promises it.
            return unsafe { copy_each(self, first, across, along) };
        }
        let mut tile = [[[0; SIZE]; TILE_SIDE]; TILE_SIDE];
        for at in 0..TILE_SIDE {
            let from = first.at(across, at).from;
            if along.from == SIZE as isize {
                // SAFETY: these units of the square follow one another; bytes need no alignment.
                let lane = unsafe { from.cast::<[[u8; SIZE]; TILE_SIDE]>().read() };
                tile.iter_mut().zip(lane).for_each(|(line, unit)| line[at] = unit);
                continue;
            }
            for (number, line) in tile.iter_mut().enumerate() {
                let from = from.wrapping_offset(number as isize * along.from);
                // SAFETY: it is a unit of the square.
                line[at] = unsafe { from.cast::<[u8; SIZE]>().read() };
            }
        }
        for (number, line) in tile.iter().enumerate() {
            let to = first.at(along, number).to;
            if across.to == SIZE as isize {
                // SAFETY: as above.
                unsafe { to.copy_from_nonoverlapping(line.as_ptr().cast(), TILE_SIDE * SIZE) };
                continue;
            }
            for (at, unit) in line.iter().enumerate() {
                let to = to.wrapping_offset(at as isize * across.to);
                // SAFETY: it is a unit of the square.
                unsafe { to.copy_from_nonoverlapping(unit.as_ptr(), SIZE) };
            }
        }
    }
}

/// Copies units. `fastest` is the axis with the smallest stride on the strided side.
///
/// # Safety
///
/// All units of both sides are within their memory, as for [`StridedLayout::copy`].
unsafe fn copy_units<U: Units>(
    units: U,
    first: Pair,
    steps: &[Step],
    (fastest, direction): (usize, Direction),
) {
    /// Lines of this length are copied one after another, even if planes have only few of them.
    const LONG_AXIS_LEN: usize = 64;
    /// Larger units use much of a cache line each.
    const MAX_TRANSPOSED_LEN: usize = 16;
    let Some((&last, outer)) = steps.split_last() else {
        // SAFETY: there is one unit.
        return unsafe { units.copy(first) };
    };
    if fastest == outer.len() || units.size() > MAX_TRANSPOSED_LEN {
        if last.len < SHORT_AXIS_LEN && !outer.is_empty() {
            // SAFETY: these are all units.
            return unsafe { copy_walk(units, first, &Walk::new(steps, direction), direction) };
        }
        return for_each_index(outer, &mut |from, to| {
            // SAFETY: these are the units of a row.
            unsafe { copy_line(units, first.after(from, to), last) };
        });
    }
    // Each plane has the fastest axes of both sides.
    let mut outer = outer.to_vec();
    let along = outer.remove(fastest);
    let (short, long) = if last.len < along.len { (last, along) } else { (along, last) };
    if short.len >= TILE_SIDE {
        for_each_index(&outer, &mut |from, to| {
            // SAFETY: these are the units of a plane.
            unsafe { copy_plane(units, first.after(from, to), last, along, direction) };
        });
    } else if long.len >= LONG_AXIS_LEN {
        for_each_index(&outer, &mut |from, to| {
            // SAFETY: as above.
            unsafe { copy_narrow_plane(units, first.after(from, to), short, long) };
        });
    } else {
        // SAFETY: these are all units.
        unsafe { copy_walk(units, first, &Walk::new(steps, direction), direction) };
    }
}

/// Copies a line of units.
///
/// # Safety
///
/// As for [`copy_units`].
unsafe fn copy_line<U: Units>(units: U, first: Pair, line: Step) {
    match units.size() as isize {
        // SAFETY: these are the units of the line.
        size if line.to == size => unsafe { copy_steps(units, first, line.len, line.from, size) },
        // SAFETY: as above.
        size if line.from == size => unsafe { copy_steps(units, first, line.len, size, line.to) },
        // SAFETY: as above.
        _ => unsafe { copy_steps(units, first, line.len, line.from, line.to) },
    }
}

/// Copies units at these distances. With a constant distance on the packed side, it becomes a better loop.
///
/// # Safety
///
/// As for [`copy_units`].
#[inline]
unsafe fn copy_steps<U: Units>(units: U, first: Pair, count: usize, from: isize, to: isize) {
    const UNROLLED: usize = 4;
    let line = Step { len: count, from, to };
    let whole = count / UNROLLED * UNROLLED;
    for index in (0..whole).step_by(UNROLLED) {
        for more in 0..UNROLLED {
            // SAFETY: it is a unit of the line.
            unsafe { units.copy(first.at(line, index + more)) };
        }
    }
    for index in whole..count {
        // SAFETY: as above.
        unsafe { units.copy(first.at(line, index)) };
    }
}

/// Copies units that are visited by a walk.
///
/// # Safety
///
/// As for [`copy_units`].
unsafe fn copy_walk<U: Units>(units: U, first: Pair, walk: &Walk, direction: Direction) {
    let columns = walk.columns();
    walk.for_each_row(&mut |strided, packed| match direction {
        // SAFETY: these are the units of a row.
        Direction::Gather => unsafe { copy_columns::<U, true>(units, first.after(strided, packed), columns) },
        // SAFETY: as above.
        Direction::Scatter => unsafe {
            copy_columns::<U, false>(units, first.after(packed, strided), columns)
        },
    });
}

/// Copies units that are at these offsets on the strided side, and follow one another on the packed side.
///
/// # Safety
///
/// As for [`copy_units`].
unsafe fn copy_columns<U: Units, const IS_GATHERED: bool>(units: U, first: Pair, columns: &[isize]) {
    for (index, strided) in columns.iter().enumerate() {
        let packed = (index * units.size()) as isize;
        let (from, to) = if IS_GATHERED { (*strided, packed) } else { (packed, *strided) };
        // SAFETY: it is one of the units.
        unsafe { units.copy(first.after(from, to)) };
    }
}

/// Copies a plane with one short axis: long lines, in pieces that stay in the nearest cache until all of them are copied.
///
/// # Safety
///
/// As for [`copy_units`].
unsafe fn copy_narrow_plane<U: Units>(units: U, first: Pair, short: Step, long: Step) {
    const PIECE_LEN: usize = 512;
    for start in (0..long.len).step_by(PIECE_LEN) {
        let piece = Step { len: PIECE_LEN.min(long.len - start), ..long };
        for line in 0..short.len {
            // SAFETY: these are the units of a part of a line.
            unsafe { copy_line(units, first.at(long, start).at(short, line), piece) };
        }
    }
}

/// Copies a plane: strip by strip along the fastest axis of the strided side, so that its cache lines are used one after another.
///
/// # Safety
///
/// As for [`copy_units`].
unsafe fn copy_plane<U: Units>(units: U, first: Pair, across: Step, along: Step, direction: Direction) {
    const SIDE: usize = TILE_SIDE;
    // Which of the two is contiguous in the source depends on the direction.
    let (in_target, in_source) = match direction {
        Direction::Gather => (across, along),
        Direction::Scatter => (along, across),
    };
    for start in (0..across.len).step_by(SIDE) {
        let (strip, width) = (first.at(across, start), SIDE.min(across.len - start));
        let whole = if width == SIDE { along.len / SIDE * SIDE } else { 0 };
        for line in (0..whole).step_by(SIDE) {
            // SAFETY: it is a square of the plane.
            unsafe { units.copy_square(strip.at(along, line), in_target, in_source) };
        }
        for line in whole..along.len {
            // SAFETY: these are units of the plane.
            unsafe { copy_line(units, strip.at(along, line), Step { len: width, ..across }) };
        }
    }
}

/// Invokes `visit` with the offsets of all indices of some axes.
fn for_each_index(axes: &[Step], visit: &mut dyn FnMut(isize, isize)) {
    let mut indices = vec![0; axes.len()];
    let (mut from, mut to) = (0, 0);
    loop {
        visit(from, to);
        let mut next = axes.iter().zip(&mut indices).rev();
        loop {
            let Some((axis, index)) = next.next() else { return };
            *index += 1;
            // The sums after the last index are not used.
            (from, to) = (from.wrapping_add(axis.from), to.wrapping_add(axis.to));
            if *index < axis.len {
                break;
            }
            *index = 0;
            let len = axis.len as isize;
            from = from.wrapping_sub(len.wrapping_mul(axis.from));
            to = to.wrapping_sub(len.wrapping_mul(axis.to));
        }
    }
}

/// Copies strided elements of `item` bytes contiguously into `into`, which has exactly their size.
///
/// `axes` are pairs of length and stride in bytes, the slowest first.
///
/// # Panics
///
/// If an element is not within `bytes`, or `into` has another size.
pub(crate) fn gather(bytes: &[u8], start: usize, axes: &[(usize, usize)], item: usize, into: &mut [u8]) {
    let layout = StridedLayout::ascending(axes.iter().copied(), item);
    assert!(
        layout.byte_len() == into.len() && layout.is_within(start, bytes.len()),
        "all elements are within their memory"
    );
    // SAFETY: the elements of the layout are within the bytes; `into` has their size, and is another borrow. Gathering does not write to the
    // strided side.
    unsafe {
        layout.copy(Direction::Gather, bytes.as_ptr().wrapping_add(start).cast_mut(), into.as_mut_ptr())
    };
}

/// Copies contiguous elements of `item` bytes to strided ones, the opposite of [`gather`].
///
/// # Panics
///
/// If an element is not within `into`, or `bytes` have another size.
pub(crate) fn scatter(bytes: &[u8], into: &mut [u8], axes: &[(usize, usize)], item: usize) {
    let layout = StridedLayout::ascending(axes.iter().copied(), item);
    assert!(
        layout.byte_len() == bytes.len() && layout.is_within(0, into.len()),
        "all elements are within their memory"
    );
    // SAFETY: the elements of the layout are within `into`; the bytes have their size, and are another borrow. Scattering does not
    // write to the packed side.
    unsafe { layout.copy(Direction::Scatter, into.as_mut_ptr(), bytes.as_ptr().cast_mut()) };
}

/// Permutes the axes of contiguous elements of `item` bytes.
///
/// `order` lists the axes of `items` in the order of the result, the slowest first.
pub(crate) fn permute_axes(items: &[u8], lens: &[usize], order: &[usize], item: usize, into: &mut [u8]) {
    if into.is_empty() {
        return;
    }
    let mut axes: Vec<(usize, usize)> = Vec::with_capacity(lens.len());
    let mut step = item;
    for len in lens.iter().rev() {
        axes.push((*len, step));
        step *= len;
    }
    axes.reverse();
    let ordered: Vec<_> = order.iter().map(|axis| axes[*axis]).collect();
    gather(items, 0, &ordered, item, into);
}

#[cfg(test)]
mod tests {
    use super::{StridedLayout, permute_axes};

    /// The lowest and the highest byte of some elements, counted by hand.
    #[test]
    fn layout_is_within_exactly_the_bytes_of_its_elements() {
        let turned = StridedLayout::new([(3, -10), (2, 4)], 3); // from 20 below the start to 7 above it
        assert_eq!([19, 20, 21, 22].map(|start| turned.is_within(start, 28)), [false, true, true, false]);
        assert!(turned.is_within(20, 27) && !turned.is_within(20, 26));
        let huge = StridedLayout::ascending([(2, usize::MAX)], 1); // not one byte before the start
        assert!(!huge.is_within(5, 10));
        assert!(StridedLayout::new([(0, 1), (2, 100)], 8).is_within(9, 1));
    }

    #[test]
    fn permuted_axes_are_those_of_ndarray() {
        let items: Vec<u8> = (0..4 * 5 * 6 * 3).map(|at| at as u8).collect();
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [0, 2, 1]] {
            let view = ndarray::ArrayView4::from_shape((4, 5, 6, 3), &items).expect("the shape");
            let expected = view.permuted_axes([order[0], order[1], order[2], 3]);
            let mut found = vec![0; items.len()];
            permute_axes(&items, &[4, 5, 6], &order, 3, &mut found);
            assert!(expected.iter().eq(&found), "{order:?}");
        }
    }
}
