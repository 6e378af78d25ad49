//! Division of a concatenated array into chunks, each of which is contiguous in one part.

use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::{Error, Result};

/// The layout of an array in its files.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) order: Order,
    pub(crate) item_size: usize,
    /// The axis along which the parts are concatenated.
    pub(crate) concat_axis: usize,
    /// The lengths of the parts along this axis. Only the last part may be shorter than the others.
    pub(crate) part_lengths: &'a [usize],
}

/// The requested chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkRequest {
    /// The length of a chunk along the first divided axis.
    pub(crate) length: Option<usize>,
    /// The approximate size of a chunk in bytes, if no length is requested.
    pub(crate) target_bytes: u64,
    /// The maximum size of a padded last chunk, in bytes.
    pub(crate) max_inline_bytes: u64,
}

/// The chunks of an array, which all have the same shape.
#[derive(Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) chunk_shape: Vec<usize>,
    /// The first divided axis.
    pub(crate) divided_axis: usize,
    /// The requested length along the first divided axis, if a different length was chosen.
    pub(crate) replaced_length: Option<usize>,
}

/// The position of a chunk's bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct ChunkLocation {
    pub(crate) part: usize,
    /// The offset from the start of the part's data, in bytes.
    pub(crate) start: u64,
    /// The number of bytes, which is smaller than the size of a chunk if the chunk has to be padded.
    pub(crate) len: u64,
}

/// Returns the largest divisor of `number` that does not exceed `most`.
///
/// Uses trial division up to the square root. Each divisor below the root has a counterpart above it.
fn largest_divisor(number: usize, most: usize) -> usize {
    let mut best = 1;
    let mut small = 1;
    while small <= number / small {
        if number.is_multiple_of(small) {
            for divisor in [small, number / small] {
                if divisor <= most && divisor > best {
                    best = divisor;
                }
            }
        }
        small += 1;
    }
    best
}

impl Layout<'_> {
    /// Returns the axes, from the slowest to the fastest.
    fn axes_slowest_first(&self) -> Vec<usize> {
        match self.order {
            Order::C => (0..self.shape.len()).collect(),
            Order::Fortran => (0..self.shape.len()).rev().collect(),
        }
    }

    /// Returns the bytes of a chunk that is complete.
    pub(crate) fn full_chunk_len(&self, grid: &Grid) -> u64 {
        let lengths = grid.chunk_shape.iter();
        lengths.fold(self.item_size as u64, |all, length| all.saturating_mul(*length as u64))
    }

    /// Returns the length of each part except the last, which may be shorter.
    fn part_len(&self) -> usize {
        self.part_lengths.first().copied().unwrap_or(0)
    }

    /// Returns the shape of each part except the last, which may be shorter.
    fn part_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.to_vec();
        if let Some(length) = shape.get_mut(self.concat_axis) {
            *length = self.part_len();
        }
        shape
    }

    /// Returns whether the last part is shorter than the others.
    fn has_shorter_last(&self) -> bool {
        self.part_lengths.last().is_some_and(|last| *last < self.part_len())
    }

    /// Divides the array into chunks.
    ///
    /// Fails if the last part is shorter than the others and the parts are not concatenated along the slowest
    /// axis.
    pub(crate) fn grid(&self, request: ChunkRequest) -> Result<Grid> {
        let part = self.part_shape();
        let mut chunk_shape: Vec<usize> = part.iter().map(|length| (*length).max(1)).collect();
        if self.shape.is_empty() || self.shape.contains(&0) {
            return Ok(Grid { chunk_shape, divided_axis: 0, replaced_length: None });
        }
        let axes = self.axes_slowest_first();
        // The first divided axis is the slowest one that is longer than 1 or consists of several parts.
        let divided_axis = axes
            .iter()
            .copied()
            .find(|axis| part[*axis] > 1 || *axis == self.concat_axis && self.part_lengths.len() > 1);
        let divided_axis = divided_axis.unwrap_or(self.concat_axis);
        if self.has_shorter_last() && divided_axis != self.concat_axis {
            return Err(Error::new(
                ErrorKind::BadOption,
                "the last part is shorter than the others, which is supported only along the slowest axis",
            ));
        }
        let at = axes.iter().position(|axis| *axis == divided_axis).unwrap_or(0);
        let below = |at: usize| {
            axes[at + 1..]
                .iter()
                .fold(self.item_size as u64, |all, axis| all.saturating_mul(part[*axis] as u64))
        };
        let row = below(at).max(1);
        let by_bytes = |row: u64| usize::try_from(request.target_bytes / row).unwrap_or(usize::MAX).max(1);
        let want = request.length.unwrap_or_else(|| by_bytes(row)).min(part[divided_axis]);
        let is_several = divided_axis == self.concat_axis && self.part_lengths.len() > 1;
        let last = if divided_axis == self.concat_axis {
            self.part_lengths.last().copied().unwrap_or(0)
        } else {
            part[divided_axis]
        };
        // A chunk must not cross from one part to the next. Only the very last chunk may be padded, and only
        // if it is small.
        let fitting = |most: usize| if is_several { largest_divisor(part[divided_axis], most) } else { most };
        let even = largest_divisor(gcd(part[divided_axis], last), want);
        let small = usize::try_from(request.max_inline_bytes / row).unwrap_or(usize::MAX).min(want);
        let padded = if divided_axis == self.concat_axis && small > 0 { fitting(small) } else { 0 };
        let wished = fitting(want);
        // In order of preference: the requested length, if it divides the last part; a divisor that is at
        // least half the requested length; otherwise the larger of two lengths: the largest divisor, and the
        // largest length whose last chunk is small enough to be padded.
        chunk_shape[divided_axis] = match wished {
            _ if last.is_multiple_of(wished) => wished,
            _ if even > 1 && even >= want.div_ceil(2) => even,
            _ => even.max(padded),
        };
        let asked = request.length.map_or(want, |length| length.min(self.shape[divided_axis]));
        let replaced_length = (chunk_shape[divided_axis] != asked).then_some(asked);
        // A single index may still be too large. Then the next axes are also divided, but only by divisors.
        if chunk_shape[divided_axis] == 1 && request.length.is_none() {
            let mut outer = at;
            while outer + 1 < axes.len() && below(outer) > request.target_bytes {
                let axis = axes[outer + 1];
                let want = by_bytes(below(outer + 1)).min(part[axis]);
                let even = largest_divisor(part[axis], want);
                if even < want.div_ceil(2) {
                    break;
                }
                chunk_shape[axis] = even;
                if even > 1 {
                    break;
                }
                outer += 1;
            }
        }
        Ok(Grid { chunk_shape, divided_axis, replaced_length })
    }

    /// Returns the number of chunks along each axis.
    pub(crate) fn chunk_counts(&self, grid: &Grid) -> Vec<usize> {
        self.shape.iter().zip(&grid.chunk_shape).map(|(length, chunk)| length.div_ceil(*chunk)).collect()
    }

    /// Locates the chunk with these indices along the axes.
    pub(crate) fn locate(&self, grid: &Grid, numbers: &[usize]) -> ChunkLocation {
        let full = self.part_len().max(1);
        let mut part = 0;
        let (mut stride, mut start) = (self.item_size as u64, 0);
        let mut len = self.item_size as u64;
        // Go from the fastest axis to the slowest, so that `stride` is the size of one index of the current
        // axis.
        for axis in self.axes_slowest_first().into_iter().rev() {
            let mut first = numbers[axis] * grid.chunk_shape[axis];
            let mut length = self.shape[axis];
            if axis == self.concat_axis {
                part = first / full;
                first %= full;
                length = self.part_lengths[part];
            }
            start += first as u64 * stride;
            len *= grid.chunk_shape[axis].min(length - first) as u64;
            stride = stride.saturating_mul(length as u64);
        }
        ChunkLocation { part, start, len }
    }
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: ChunkRequest = ChunkRequest { length: None, target_bytes: 1000, max_inline_bytes: 100 };

    fn layout_of<'a>(
        shape: &'a [usize],
        order: Order,
        concat_axis: usize,
        part_lengths: &'a [usize],
    ) -> Layout<'a> {
        Layout { shape, order, item_size: 4, concat_axis, part_lengths }
    }

    /// Each element is in exactly one chunk, and each chunk is contiguous in its part.
    ///
    /// The expected positions are computed without strides.
    #[test]
    fn chunks_cover_each_element_once() {
        let cases: &[(&[usize], usize, &[usize])] = &[
            (&[12, 5], 0, &[12]),
            (&[13, 5], 0, &[13]),
            (&[1, 24], 0, &[1]),
            (&[24, 1], 1, &[1]),
            (&[6, 4], 0, &[3, 3]),
            (&[7, 4], 0, &[3, 3, 1]),
            (&[6, 4], 1, &[2, 2]),
            (&[3, 2, 4], 2, &[2, 2]),
            (&[3, 2, 4], 0, &[1, 1, 1]),
            (&[2, 3, 500], 0, &[2]),
            (&[], 0, &[]),
            (&[0, 3], 0, &[0]),
        ];
        for (shape, axis, lengths) in cases {
            for order in [Order::C, Order::Fortran] {
                for length in [None, Some(1), Some(2), Some(3), Some(5), Some(100)] {
                    let layout = layout_of(shape, order, *axis, lengths);
                    let request = ChunkRequest { length, target_bytes: 40, max_inline_bytes: 64 };
                    let Ok(grid) = layout.grid(request) else {
                        assert!(layout.has_shorter_last(), "{shape:?}");
                        continue;
                    };
                    let counts = layout.chunk_counts(&grid);
                    let mut seen = vec![Vec::new(); lengths.len().max(1)];
                    for number in 0..counts.iter().product::<usize>() {
                        let mut left = number;
                        let numbers: Vec<usize> = counts
                            .iter()
                            .map(|count| {
                                let one = left % count;
                                left /= count;
                                one
                            })
                            .collect();
                        let place = layout.locate(&grid, &numbers);
                        let full = grid.chunk_shape.iter().product::<usize>() as u64 * 4;
                        assert!(place.len == full || place.len < full && full <= 64, "{shape:?} {grid:?}");
                        seen[place.part].push((place.start, place.len));
                    }
                    for (part, mut runs) in seen.into_iter().enumerate() {
                        runs.sort_unstable();
                        let mut end = 0;
                        for (start, len) in runs {
                            assert_eq!(start, end, "{shape:?} {order:?} {length:?} {grid:?}");
                            end += len;
                        }
                        let mut own = shape.to_vec();
                        if let Some(length) = own.get_mut(*axis) {
                            *length = lengths[part];
                        }
                        assert_eq!(end, own.iter().product::<usize>() as u64 * 4, "{shape:?} {grid:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn indivisible_chunk_length_is_padded_or_reduced() {
        let chunk = |shape: &[usize], lengths: &[usize], length, max_inline_bytes| {
            let layout = layout_of(shape, Order::C, 0, lengths);
            layout
                .grid(ChunkRequest { length: Some(length), max_inline_bytes, ..REQUEST })
                .map(|grid| (grid.chunk_shape[0], grid.replaced_length))
                .ok()
        };
        assert_eq!(chunk(&[1000, 3], &[1000], 250, 0), Some((250, None)));
        assert_eq!(chunk(&[1000, 3], &[1000], 300, 1 << 20), Some((250, Some(300)))); // at least half of the requested length
        assert_eq!(chunk(&[1009, 3], &[1009], 100, 1 << 20), Some((100, None))); // a prime number: padded
        assert_eq!(chunk(&[1009, 3], &[1009], 100, 600), Some((50, Some(100)))); // the largest length that can be padded
        assert_eq!(chunk(&[1009, 3], &[1009], 100, 10), Some((1, Some(100))));
        assert_eq!(chunk(&[2300, 3], &[1000, 1000, 300], 500, 0), Some((100, Some(500))));
        assert_eq!(chunk(&[2301, 3], &[1000, 1000, 301], 500, 1 << 20), Some((500, None)));
        assert_eq!(chunk(&[2301, 3], &[1000, 1000, 301], 500, 0), Some((1, Some(500))));
    }

    #[test]
    fn large_single_index_is_split_into_chunks() {
        let grid = layout_of(&[10, 1000, 25], Order::C, 0, &[10]).grid(REQUEST).unwrap();
        assert_eq!(grid.chunk_shape, [1, 10, 25]);
        let grid = layout_of(&[25, 1000, 10], Order::Fortran, 2, &[10]).grid(REQUEST).unwrap();
        assert_eq!(grid.chunk_shape, [25, 10, 1]);
        let grid = layout_of(&[1, 1000, 25], Order::C, 0, &[1]).grid(REQUEST).unwrap();
        assert_eq!((grid.chunk_shape, grid.divided_axis), (vec![1, 10, 25], 1));
    }
}
