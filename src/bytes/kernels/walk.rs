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
    /// From the strided side to the packed one.
    outer: Vec<Step>,
    /// Where each row begins on the strided and on the packed side. With the axes that are closest together on the
    /// strided side, complete cache lines are used on that side, too.
    rows: Vec<(isize, isize)>,
    /// Where each element of a row is on the strided side; on the other, they follow one another.
    columns: Vec<isize>,
}

impl Walk {
    /// Creates a walk over axes in C order of the packed side. None has length 0.
    pub(super) fn new(axes: &[Step], direction: Direction) -> Self {
        /// The largest table.
        const MAX_TABLE_LEN: usize = 512;
        let mut outer: Vec<Step> = axes
            .iter()
            .map(|&Step { len, from, to }| match direction {
                Direction::Gather => Step { len, from, to },
                Direction::Scatter => Step { len, from: to, to: from },
            })
            .collect();
        let fits = |table: usize, axis: &Step| table < SHORT_AXIS_LEN && table * axis.len <= MAX_TABLE_LEN;
        let mut closest = outer.last().map_or(0, |axis| axis.from.unsigned_abs());
        let mut columns = vec![0];
        while let Some(axis) = outer.last().copied().filter(|axis| fits(columns.len(), axis)) {
            outer.pop();
            closest = closest.min(axis.from.unsigned_abs());
            let at = |index: isize| columns.iter().map(move |column| index * axis.from + column);
            columns = (0..axis.len as isize).flat_map(at).collect();
        }
        let mut rows = vec![(0, 0)];
        let next = |outer: &[Step], rows: usize| {
            let axes = outer.iter().copied().enumerate();
            axes.min_by_key(|(_, axis)| axis.from.unsigned_abs())
                .filter(|(_, axis)| axis.from.unsigned_abs() < closest && fits(rows, axis))
        };
        while let Some((number, axis)) = next(&outer, rows.len()) {
            let at = |index: isize| {
                let row = move |(strided, packed): &(isize, isize)| {
                    (index * axis.from + strided, index * axis.to + packed)
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
        for_each_index(&self.outer, &mut |strided, packed| {
            for (strided_row, packed_row) in &self.rows {
                visit(strided + strided_row, packed + packed_row);
            }
        });
    }
}
