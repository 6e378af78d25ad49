//! Divides an array into tiles, along any axes.
//!
//! Both sides are accessed in runs that are as long as memory permits.

use crate::shape::indices_of;

/// An axis of the array, with its stride in bytes in the source and in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) len: usize,
    pub(crate) source_stride: u64,
    pub(crate) target_stride: u64,
}

/// The offset of the first element and the size of each element, both in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SideLayout {
    pub(crate) start: u64,
    pub(crate) item_size: usize,
}

/// Where tiles can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteAccess {
    /// At any offset.
    RandomAccess,
    /// Sequentially: each tile is a contiguous range of the target.
    ///
    /// Its source may be scattered over short runs.
    InOrder,
}

/// The division of an array into tiles, which are moved one by one. Each element is in exactly one tile.
#[derive(Clone, Debug)]
pub(crate) struct TilePlan {
    /// The axes, the slowest of the target first. Axes that are contiguous on both sides have been merged.
    axes: Vec<Axis>,
    /// How many indices of each axis a tile has; the last tile along an axis may have fewer.
    steps: Vec<usize>,
    source: SideLayout,
    target: SideLayout,
}

/// A box-shaped part of the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// The offset of the tile's first element on each side, in bytes.
    pub(crate) source_start: u64,
    pub(crate) target_start: u64,
    /// The tile's length along each of the plan's axes.
    pub(crate) lens: Vec<usize>,
}

impl Tile {
    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.lens.iter().product()
    }
}

/// A side of a move, for code that applies to both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MoveSide {
    Source,
    Target,
}

impl MoveSide {
    fn stride(self, axis: &Axis) -> u64 {
        match self {
            Self::Source => axis.source_stride,
            Self::Target => axis.target_stride,
        }
    }
}

impl TilePlan {
    /// Divides an array into tiles of at most `memory` bytes on both sides together, but at least one
    /// element.
    pub(crate) fn new(
        axes: Vec<Axis>,
        source: SideLayout,
        target: SideLayout,
        memory: usize,
        writes: WriteAccess,
    ) -> Self {
        Self::with_run_len(axes, source, target, memory, (writes, 256 << 10))
    }

    /// Like [`new`](Self::new), with runs of up to `long` bytes, where memory permits.
    ///
    /// In longer runs than those of `new`, calls are cheap by comparison, and both sides stay in the cache.
    pub(crate) fn with_run_len(
        axes: Vec<Axis>,
        source: SideLayout,
        target: SideLayout,
        memory: usize,
        (writes, long): (WriteAccess, u64),
    ) -> Self {
        let axes = merge_axes(axes);
        let mut plan = Self { steps: vec![1; axes.len()], axes, source, target };
        plan.grow(memory / (source.item_size + target.item_size).max(1), writes, long);
        plan
    }

    /// Enlarges the tile, always on the side that is accessed in shorter runs.
    ///
    /// A tile has at most `max_elements` elements.
    fn grow(&mut self, max_elements: usize, writes: WriteAccess, long: u64) {
        /// The size of a tile whose runs cannot become longer.
        const TARGET_TILE_LEN: u64 = 1 << 20;
        if self.axes.iter().any(|axis| axis.len == 0) {
            return;
        }
        loop {
            let (from, to) =
                (self.run_len_and_axis(MoveSide::Source), self.run_len_and_axis(MoveSide::Target));
            let bytes = self.steps.iter().product::<usize>() as u64
                * self.source.item_size.max(self.target.item_size) as u64;
            let is_short = |run: &(u64, Option<usize>)| run.1.is_some() && run.0 < long;
            let axis = match writes {
                // A tile must stay contiguous in the target: only the target's next axis can grow.
                WriteAccess::InOrder if to.0 < long || is_short(&from) => to.1,
                WriteAccess::InOrder => None,
                WriteAccess::RandomAccess if is_short(&from) && (from.0 < to.0 || !is_short(&to)) => from.1,
                WriteAccess::RandomAccess if is_short(&to) => to.1,
                WriteAccess::RandomAccess if bytes < TARGET_TILE_LEN => self.fastest_divided_axis(),
                WriteAccess::RandomAccess => None,
            };
            let Some(axis) = axis else { break };
            let others: usize = self
                .steps
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != axis)
                .map(|(_, step)| step)
                .product();
            // Doubled, so that both sides take turns.
            let step = (2 * self.steps[axis]).min(self.axes[axis].len).min(max_elements / others);
            if step <= self.steps[axis] {
                break; // the memory limit is reached
            }
            self.steps[axis] = step;
        }
        // Tiles of about equal size, rather than a small one at the end.
        for (step, axis) in self.steps.iter_mut().zip(&self.axes) {
            *step = axis.len.div_ceil(axis.len.div_ceil(*step));
        }
    }

    /// Returns the length of a tile's runs on a side in bytes, and the axis that can extend them, if any.
    fn run_len_and_axis(&self, which: MoveSide) -> (u64, Option<usize>) {
        let mut run =
            if which == MoveSide::Source { self.source.item_size } else { self.target.item_size } as u64;
        for axis in self.axes_by_stride(which).into_iter().rev() {
            if which.stride(&self.axes[axis]) != run {
                return (run, None); // the next axis is not contiguous
            }
            run *= self.steps[axis] as u64;
            if self.steps[axis] < self.axes[axis].len {
                return (run, Some(axis));
            }
        }
        (run, None)
    }

    /// Returns the axis to grow along if no run can grow: the fastest divided axis of the target.
    fn fastest_divided_axis(&self) -> Option<usize> {
        self.axes_by_stride(MoveSide::Target)
            .into_iter()
            .rev()
            .find(|axis| self.steps[*axis] < self.axes[*axis].len)
    }

    /// Returns the axes by their strides on a side, the slowest first.
    fn axes_by_stride(&self, which: MoveSide) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..self.axes.len()).collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(which.stride(&self.axes[*axis])));
        axes
    }

    pub(crate) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    pub(crate) fn source(&self) -> SideLayout {
        self.source
    }

    pub(crate) fn target(&self) -> SideLayout {
        self.target
    }

    /// Returns the plan's axes in the order of the source, the slowest first.
    ///
    /// The plan itself lists the axes in the order of the target.
    pub(crate) fn source_order(&self) -> Vec<usize> {
        self.axes_by_stride(MoveSide::Source)
    }

    /// Returns the number of tiles.
    pub(crate) fn count(&self) -> usize {
        self.counts().try_fold(1, usize::checked_mul).unwrap_or(usize::MAX)
    }

    fn counts(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.axes.iter().zip(&self.steps).map(|(axis, step)| axis.len.div_ceil(*step))
    }

    /// Returns the size of the largest tile on each side, in bytes.
    #[cfg(test)]
    pub(crate) fn tile_bytes(&self) -> (usize, usize) {
        let len: usize = self.steps.iter().product();
        (len * self.source.item_size, len * self.target.item_size)
    }

    /// Returns a tile by its number, in the order of the target.
    pub(crate) fn tile(&self, number: usize) -> Tile {
        let mut tile = Tile {
            source_start: self.source.start,
            target_start: self.target.start,
            lens: vec![0; self.axes.len()],
        };
        let axes = self.axes.iter().zip(&self.steps).enumerate().rev();
        for ((at, (axis, step)), index) in axes.zip(indices_of(number as u64, self.counts().rev())) {
            let first = index * step;
            tile.lens[at] = (*step).min(axis.len - first);
            tile.source_start += first as u64 * axis.source_stride;
            tile.target_start += first as u64 * axis.target_stride;
        }
        tile
    }

    /// Returns an element's offset in the source, given its index in a tile whose axes are in this order.
    pub(crate) fn source_offset(&self, tile: &Tile, order: &[usize], number: usize) -> u64 {
        let lengths = order.iter().rev().map(|&axis| tile.lens[axis]);
        let axes = order.iter().rev().zip(indices_of(number as u64, lengths));
        axes.fold(tile.source_start, |place, (&axis, index)| {
            place + index as u64 * self.axes[axis].source_stride
        })
    }
}

/// Sorts axes by their order in the target, and merges those contiguous on both sides.
///
/// Axes of length 1 are dropped.
fn merge_axes(mut axes: Vec<Axis>) -> Vec<Axis> {
    axes.retain(|axis| axis.len != 1);
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.target_stride));
    let mut joined: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes {
        let len = axis.len as u64;
        match joined.last_mut() {
            Some(outer)
                if outer.source_stride == axis.source_stride * len
                    && outer.target_stride == axis.target_stride * len
                    && outer.len > 0
                    && len > 0 =>
            {
                *outer = Axis { len: outer.len * axis.len, ..axis };
            }
            _ => joined.push(axis),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::{Axis, SideLayout, TilePlan, WriteAccess};

    /// Pseudorandom numbers.
    struct PseudoRandom(u64);

    impl PseudoRandom {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }
    }

    /// Returns an array whose axes are in random orders on both sides, with gaps on one or both sides.
    fn random_axes(numbers: &mut PseudoRandom, from_item: usize, to_item: usize) -> Vec<Axis> {
        let ndim = numbers.below(5);
        let mut axes: Vec<Axis> = (0..ndim)
            .map(|_| Axis {
                len: [0, 1, 1, 2, 3, 4, 5, 7][numbers.below(8)],
                source_stride: 0,
                target_stride: 0,
            })
            .collect();
        for is_to in [false, true] {
            let mut order: Vec<usize> = (0..ndim).collect();
            (1..ndim).for_each(|at| order.swap(at, numbers.below(at + 1)));
            let mut stride = if is_to { to_item } else { from_item } as u64;
            for axis in order {
                stride *= if numbers.below(4) == 0 { 2 } else { 1 };
                if is_to {
                    axes[axis].target_stride = stride
                } else {
                    axes[axis].source_stride = stride
                }
                stride *= axes[axis].len.max(1) as u64;
            }
        }
        axes
    }

    /// Tests a million plans if the environment variable is set.
    #[test]
    fn plan_covers_each_element_once_within_its_memory() {
        let plans = if std::env::var_os("NDARRAY_IO_PLANS").is_some() { 1_000_000 } else { 20_000 };
        let mut numbers = PseudoRandom(1);
        for _ in 0..plans {
            let (from_item, to_item) = (numbers.below(9), numbers.below(9));
            let axes = random_axes(&mut numbers, from_item.max(1), to_item.max(1));
            let (from, to) =
                (SideLayout { start: 3, item_size: from_item }, SideLayout { start: 5, item_size: to_item });
            let memory = [0, 1, 16, 100, 1000, 1 << 20][numbers.below(6)];
            let plan = TilePlan::new(axes.clone(), from, to, memory, WriteAccess::RandomAccess);
            let (source, target) = plan.tile_bytes();
            assert!(source + target <= memory.max(from_item + to_item), "{axes:?} in {memory}: {plan:?}");

            let mut wanted = vec![(3, 5)];
            for axis in &axes {
                let along = |&(from, to): &(u64, u64)| {
                    (0..axis.len as u64).map(move |index| {
                        (from + index * axis.source_stride, to + index * axis.target_stride)
                    })
                };
                wanted = wanted.iter().flat_map(along).collect();
            }
            let order = plan.source_order();
            let mut found = Vec::new();
            for number in 0..plan.count() {
                let tile = plan.tile(number);
                for element in 0..tile.len() {
                    let mut place = (plan.source_offset(&tile, &order, element), tile.target_start);
                    let mut left = element;
                    for &axis in order.iter().rev() {
                        place.1 += (left % tile.lens[axis]) as u64 * plan.axes()[axis].target_stride;
                        left /= tile.lens[axis];
                    }
                    found.push(place);
                }
            }
            wanted.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, wanted, "{axes:?} in {memory}: {plan:?}");
        }
    }

    #[test]
    fn ordered_tiles_are_contiguous_in_the_target() {
        let (from, to) = (SideLayout { start: 0, item_size: 8 }, SideLayout { start: 0, item_size: 4 });
        for (rows, columns, memory) in
            [(5, 7, 1), (5, 7, 12), (5, 7, 100), (5, 7, 1000), (1, 9, 50), (9, 1, 50)]
        {
            let axes = vec![
                Axis { len: rows, source_stride: 8, target_stride: 4 * columns as u64 },
                Axis { len: columns, source_stride: 8 * rows as u64, target_stride: 4 },
            ];
            let plan = TilePlan::new(axes, from, to, memory, WriteAccess::InOrder);
            let mut at = 0;
            for number in 0..plan.count() {
                let tile = plan.tile(number);
                assert_eq!(tile.target_start, at, "{rows} × {columns} in {memory}");
                at += 4 * tile.len() as u64;
            }
            assert_eq!(at, 4 * (rows * columns) as u64);
        }
    }

    /// For the transposition of a large matrix, runs are about equally long on both sides.
    #[test]
    fn transposition_uses_long_runs_on_both_sides() {
        let side = SideLayout { start: 0, item_size: 8 };
        let turned = |rows: usize, columns: usize, memory| {
            let axes = vec![
                Axis { len: rows, source_stride: 8 * columns as u64, target_stride: 8 },
                Axis { len: columns, source_stride: 8, target_stride: 8 * rows as u64 },
            ];
            let plan = TilePlan::new(axes, side, side, memory, WriteAccess::RandomAccess);
            plan.steps.clone()
        };
        let [columns, rows] = turned(1 << 14, 1 << 14, 32 << 20)[..] else { panic!("two axes") };
        assert!(columns.min(rows) >= 1024 && columns * rows * 16 <= 32 << 20, "{columns} × {rows}");
        let [columns, rows] = turned(1 << 21, 256, 32 << 20)[..] else { panic!("two axes") };
        assert!(columns == 256 && rows >= 4096, "{columns} × {rows}");
    }
}
