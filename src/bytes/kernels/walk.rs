//! Visits the elements of arrays that have many short axes.
//!
//! A loop over the innermost axis is fast if the axis is long. Where it has 2 indices, most of the time goes
//! into the other axes. So the innermost axes are visited together, by a table of offsets.

use super::{Direction, Step, for_each_index};

/// An axis is short if it has fewer indices.
pub(super) const SHORT_AXIS_LEN: usize = 16;

/// The order in which the elements of a copy are visited.
pub(super) struct Walk {
    /// The axes outside of the tables, the slowest of the packed side first.
    outer: Vec<Axis>,
    /// Where each row begins on the strided and on the packed side. With the axes that are closest together on the
    /// strided side, complete cache lines are used on that side, too.
    rows: Vec<(isize, isize)>,
    /// Where each element of a row is on the strided side; on the other, they follow one another.
    columns: Vec<isize>,
}

#[derive(Clone, Copy)]
struct Axis {
    len: usize,
    strided: isize,
    packed: isize,
}

impl Walk {
    /// Creates a walk over axes in C order of the packed side. None has length 0.
    pub(super) fn new(axes: &[Step], direction: Direction) -> Self {
        /// The largest table.
        const MAX_TABLE_LEN: usize = 512;
        let mut outer: Vec<Axis> = axes
            .iter()
            .map(|&Step { len, from, to }| match direction {
                Direction::Gather => Axis { len, strided: from, packed: to },
                Direction::Scatter => Axis { len, strided: to, packed: from },
            })
            .collect();
        let fits = |table: usize, axis: &Axis| table < SHORT_AXIS_LEN && table * axis.len <= MAX_TABLE_LEN;
        let mut closest = outer.last().map_or(0, |axis| axis.strided.unsigned_abs());
        let mut columns = vec![0];
        while let Some(axis) = outer.last().copied().filter(|axis| fits(columns.len(), axis)) {
            outer.pop();
            closest = closest.min(axis.strided.unsigned_abs());
            let at = |index: isize| columns.iter().map(move |column| index * axis.strided + column);
            columns = (0..axis.len as isize).flat_map(at).collect();
        }
        let mut rows = vec![(0, 0)];
        let next = |outer: &[Axis], rows: usize| {
            let axes = outer.iter().copied().enumerate();
            axes.min_by_key(|(_, axis)| axis.strided.unsigned_abs())
                .filter(|(_, axis)| axis.strided.unsigned_abs() < closest && fits(rows, axis))
        };
        while let Some((number, axis)) = next(&outer, rows.len()) {
            let at = |index: isize| {
                let row = move |(strided, packed): &(isize, isize)| {
                    (index * axis.strided + strided, index * axis.packed + packed)
                };
                rows.iter().map(row)
            };
            rows = (0..axis.len as isize).flat_map(at).collect();
            outer.remove(number);
        }
        Self { outer, rows, columns }
    }

    /// Returns the offsets of the elements of each row on the strided side.
    pub(super) fn columns(&self) -> &[isize] {
        &self.columns
    }

    /// Invokes `visit` with the offset of each row on the strided and on the packed side.
    pub(super) fn for_each_row(&self, visit: &mut dyn FnMut(isize, isize)) {
        let outer = self.outer.iter().map(|axis| Step { len: axis.len, from: axis.strided, to: axis.packed });
        for_each_index(&outer.collect::<Vec<_>>(), &mut |strided, packed| {
            for (strided_row, packed_row) in &self.rows {
                visit(strided + strided_row, packed + packed_row);
            }
        });
    }
}
