//! The part of an array that is drawn. It is downsampled while it is read, so the array can be of any size.

use std::ops::Range;

use ndarray::{ArrayD, Axis, IxDyn};
use ndarray_io::dtype::Kind;
use ndarray_io::{Casting, DynArray};
use num_complex::Complex;

use crate::failure::Failure;
use crate::failure::in_block;
use crate::progress::Progress;
use crate::source::Source;

/// What is said where nothing can be drawn.
pub(super) const NO_NUMBERS: &str = "there are no finite numbers";
pub(super) const NO_POSITIVE_NUMBERS: &str = "no number is above 0, as --log requires";

/// The last few axes of an array, at one index of the others.
pub(super) struct Plane<'a> {
    pub(super) source: &'a Source,
    /// The indices of the leading axes.
    pub(super) leading_indices: Vec<usize>,
    /// The index of the last axis, if that is not drawn.
    last_axis_index: Option<usize>,
}

/// What is drawn in each cell: the mean of its numbers, or one of them where a mean would be a value that the data do not have.
pub(super) struct Grid {
    pub(super) height: usize,
    pub(super) width: usize,
    channels: usize,
    sums: Vec<f64>,
    counts: Vec<u32>,
    /// Of integers and bools, the number in the middle of each cell.
    middles: Vec<f64>,
    pub(super) values: Values,
}

/// The numbers of all that is drawn, which do not depend on the size of the picture.
pub(super) struct Values {
    /// The least and the largest number, unless there is none.
    pub(super) range: Option<(f64, f64)>,
    /// Some numbers at equal distances: all, if they are few.
    pub(super) sample: Vec<f64>,
    pub(super) not_finite: u64,
    pub(super) least_positive: Option<f64>,
    pub(super) not_positive: u64,
    /// The different numbers, as long as they are few.
    distinct: Vec<f64>,
    has_many: bool,
    seen: u64,
    step: u64,
}

impl Values {
    /// Labels and masks have fewer values.
    const FEW: usize = 32;

    fn new(all: u64) -> Self {
        const SAMPLE: u64 = 1 << 16;
        // An odd step, so that it is not that of columns.
        let step = (all / SAMPLE) | 1;
        Self {
            range: None,
            sample: Vec::new(),
            not_finite: 0,
            least_positive: None,
            not_positive: 0,
            distinct: Vec::new(),
            has_many: false,
            seen: 0,
            step,
        }
    }

    fn add(&mut self, number: f64) {
        self.seen += 1;
        if !number.is_finite() {
            self.not_finite += 1;
            return;
        }
        let (low, high) = self.range.unwrap_or((number, number));
        self.range = Some((low.min(number), high.max(number)));
        match number > 0.0 {
            true => self.least_positive = Some(self.least_positive.map_or(number, |least| least.min(number))),
            false => self.not_positive += 1,
        }
        if (self.seen - 1).is_multiple_of(self.step) {
            self.sample.push(number);
        }
        if !self.has_many && !self.distinct.contains(&number) {
            self.distinct.push(number);
            self.has_many = self.distinct.len() > Self::FEW;
        }
    }
}

impl<'a> Plane<'a> {
    /// Selects all axes.
    pub(super) fn whole(source: &'a Source) -> Self {
        Self::new(source, source.shape().len())
    }

    /// Selects the last `axes` axes, at the middle index of the others.
    fn new(source: &'a Source, axes: usize) -> Self {
        let others = source.shape().len().saturating_sub(axes);
        let leading_indices = source.shape()[..others].iter().map(|length| length / 2).collect();
        Self { source, leading_indices, last_axis_index: None }
    }

    /// Selects the axes of a picture, the last of which may be that of its color channels.
    pub(super) fn picture(source: &'a Source, channels: usize) -> Self {
        Self::new(source, if channels > 1 { 3 } else { 2 })
    }

    /// Selects one column of an array of two axes.
    pub(super) fn column(source: &'a Source, column: usize) -> Self {
        Self { source, leading_indices: Vec::new(), last_axis_index: Some(column) }
    }

    pub(super) fn dims(&self) -> &[usize] {
        let shape = self.source.shape();
        &shape[self.leading_indices.len()..shape.len() - usize::from(self.last_axis_index.is_some())]
    }

    /// Invokes the callback with each block as numbers, and the index of its first element.
    pub(super) fn for_each_block(&self, mut call: impl FnMut(&ArrayD<f64>, &[usize])) -> Result<(), Failure> {
        const BLOCK_BYTES: usize = 256 << 10;
        let one = |index: &usize| *index..*index + 1;
        let drawn = self.dims().iter().map(|length| 0..*length);
        let part: Vec<Range<usize>> = self
            .leading_indices
            .iter()
            .map(one)
            .chain(drawn)
            .chain(self.last_axis_index.iter().map(one))
            .collect();
        let blocks = self.source.blocks().bytes(BLOCK_BYTES).within(&part)?;
        let all = blocks.byte_len();
        let mut progress = Progress::new();
        blocks.par_map(
            |block| {
                let bytes = block.array().bytes().len() as u64;
                let mut numbers = real_numbers(block.array()).map_err(|failure| in_block(&block, failure))?;
                let first: Vec<usize> = block.ranges().iter().map(|range| range.start).collect();
                // The axes that are not drawn have length 1.
                for _ in &self.leading_indices {
                    numbers = numbers.index_axis_move(Axis(0), 0);
                }
                if self.last_axis_index.is_some() {
                    let last = Axis(numbers.ndim() - 1);
                    numbers = numbers.index_axis_move(last, 0);
                }
                Ok((numbers, first, bytes))
            },
            |made: Result<_, Failure>| {
                let (numbers, first, bytes) = made?;
                call(&numbers, &first[self.leading_indices.len()..]);
                progress.add(bytes, all);
                Ok(())
            },
        )
    }

    /// Downsamples to at most this many cells, for each color channel.
    pub(super) fn grid(
        &self,
        most_height: usize,
        most_width: usize,
        channels: usize,
    ) -> Result<Grid, Failure> {
        let (rows, columns) = (self.dims()[0], self.dims()[1]);
        let (height, width) = (most_height.min(rows), most_width.min(columns));
        let cells = height * width * channels;
        let kind = self.source.dtype().as_scalar().map(ndarray_io::dtype::Scalar::kind);
        let is_whole = channels == 1 && matches!(kind, Some(Kind::Int | Kind::Uint | Kind::Bool));
        let middles = vec![f64::NAN; if is_whole { cells } else { 0 }];
        let all = rows as u64 * columns as u64 * channels as u64;
        let (sums, counts, values) = (vec![0.0; cells], vec![0; cells], Values::new(all));
        let mut grid = Grid { height, width, channels, sums, counts, middles, values };
        let middle = |cell: usize, length: usize, cells: usize| {
            ((2 * cell as u128 + 1) * length as u128 / (2 * cells as u128)) as usize
        };
        let middle_columns: Vec<usize> = (0..width).map(|cell| middle(cell, columns, width)).collect();
        self.for_each_block(|block, first| {
            // Color channels are the third axis; without channels, add a third axis of length 1.
            let cells = if channels > 1 { block.view() } else { block.view().insert_axis(Axis(2)) };
            let first_channel = first.get(2).copied().unwrap_or(0);
            for (row, line) in cells.outer_iter().enumerate() {
                let cell_row = (row + first[0]) * height / rows;
                let from = cell_row * width * channels + first_channel;
                let is_middle_row = is_whole && row + first[0] == middle(cell_row, rows, height);
                for (channel, numbers) in line.axis_iter(Axis(1)).enumerate() {
                    let column_cells = column_cells(columns, width, first[1]);
                    for (column, (number, cell)) in numbers.iter().zip(column_cells).enumerate() {
                        grid.values.add(*number);
                        let place = cell * channels;
                        if is_middle_row && middle_columns[cell] == column + first[1] {
                            grid.middles[from + place] = *number;
                        }
                        let is_some = number.is_finite();
                        grid.sums[from + place + channel] += if is_some { *number } else { 0.0 };
                        grid.counts[from + place + channel] += u32::from(is_some);
                    }
                }
            }
        })?;
        Ok(grid)
    }
}

impl Grid {
    /// Whether a cell has one of its numbers, and not their mean: labels have no means.
    pub(super) fn has_middles(&self) -> bool {
        !self.middles.is_empty() && !self.values.has_many
    }

    /// Returns the number of a cell, or NaN if there are no numbers in it.
    pub(super) fn get(&self, row: usize, column: usize, channel: usize) -> f64 {
        let cell = (row * self.width + column) * self.channels + channel;
        if self.has_middles() {
            return self.middles[cell];
        }
        self.sums[cell] / f64::from(self.counts[cell])
    }

    pub(super) fn means(&self) -> impl Iterator<Item = f64> {
        self.sums.iter().zip(&self.counts).map(|(sum, count)| sum / f64::from(*count))
    }
}

/// Converts numbers of any type to `f64`; complex ones to their magnitudes.
fn real_numbers(array: &DynArray) -> Result<ArrayD<f64>, Failure> {
    match array.dtype().as_scalar().map(ndarray_io::dtype::Scalar::kind) {
        Some(Kind::Complex) => {
            let options = crate::reading::options().casting(Casting::Unsafe);
            Ok(array.cast::<Complex<f64>, IxDyn>(&options)?.mapv(num_complex::Complex::norm))
        }
        Some(Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Narrow(_)) => {
            Ok(array.cast(&crate::reading::options().casting(Casting::Unsafe))?)
        }
        _ if array.dtype().as_record().is_some() => {
            Err(format!("dtype {} is not numeric; --field selects a field", array.dtype()).into())
        }
        _ => Err(format!("dtype {} is not numeric", array.dtype()).into()),
    }
}

/// Returns the cell of each column from `first` on: `column * width / columns`.
fn column_cells(columns: usize, width: usize, first: usize) -> impl Iterator<Item = usize> {
    let at = first as u128 * width as u128;
    let (mut place, mut rest) = ((at / columns as u128) as usize, (at % columns as u128) as usize);
    std::iter::from_fn(move || {
        let own = place;
        rest += width;
        // There are at least as many columns as cells.
        if rest >= columns {
            rest -= columns;
            place += 1;
        }
        Some(own)
    })
}

#[cfg(test)]
mod tests {
    /// A sum in steps is the product.
    #[test]
    fn column_positions_are_scaled_to_the_width() {
        for (columns, width) in [(1, 1), (7, 7), (10, 3), (1000, 37), (12345, 4096)] {
            for first in [0, 1, columns / 2] {
                let found = super::column_cells(columns, width, first).take(columns - first);
                assert!(
                    found.eq((first..columns).map(|column| column * width / columns)),
                    "{columns} {width}"
                );
            }
        }
    }
}
