//! How an array that is concatenated from parts is cut into chunks, each of which is contiguous in its part.

use crate::error::{ErrorKind, Result};
use crate::header::Order;

/// An array, as it is in the files.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) shape: &'a [usize],
    pub(super) order: Order,
    pub(super) item: usize,
    /// The axis along which the parts are concatenated, and how long each is: all but the last are of the same length.
    pub(super) axis: usize,
    pub(super) lengths: &'a [usize],
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// The length of a chunk along the first axis that is cut.
    pub(super) length: Option<usize>,
    /// How many bytes a chunk has otherwise, about.
    pub(super) bytes: u64,
    /// How many bytes the last chunk may have if it is padded.
    pub(super) inline: u64,
}

/// The chunks of an array: all of one shape.
#[derive(Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) chunk: Vec<usize>,
    /// The axis that is cut first, and what was asked for along it if that could not be had.
    pub(super) cut: usize,
    pub(super) wanted: Option<usize>,
}

/// Where the bytes of a chunk are.
#[derive(Debug, PartialEq)]
pub(super) struct Place {
    pub(super) part: usize,
    /// In bytes from the beginning of the part's data.
    pub(super) start: u64,
    /// How many bytes there are: fewer than a chunk has if the last one is to be padded.
    pub(super) len: u64,
}

/// The largest divisor that is not above `most`.
fn divisor(number: usize, most: usize) -> usize {
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
    /// The axes, the slowest first.
    fn slowest_first(&self) -> Vec<usize> {
        match self.order {
            Order::C => (0..self.shape.len()).collect(),
            Order::Fortran => (0..self.shape.len()).rev().collect(),
        }
    }

    /// The length of a part that is not the last.
    fn part_len(&self) -> usize {
        self.lengths.first().copied().unwrap_or(0)
    }

    /// The shape of such a part.
    fn part_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.to_vec();
        if let Some(length) = shape.get_mut(self.axis) {
            *length = self.part_len();
        }
        shape
    }

    /// Whether the last part is shorter than the others.
    fn has_shorter_last(&self) -> bool {
        self.lengths.last().is_some_and(|last| *last < self.part_len())
    }

    /// Cuts the array. An error if a shorter last part does not come out even and is too large to be padded.
    pub(super) fn grid(&self, wish: Wish) -> Result<Grid> {
        let part = self.part_shape();
        let mut chunk: Vec<usize> = part.iter().map(|length| (*length).max(1)).collect();
        if self.shape.is_empty() || self.shape.contains(&0) {
            return Ok(Grid { chunk, cut: 0, wanted: None });
        }
        let axes = self.slowest_first();
        // What is cut first is the slowest axis that is longer than 1, or the one of several parts, if nothing is slower.
        let cut =
            axes.iter().copied().find(|axis| part[*axis] > 1 || *axis == self.axis && self.lengths.len() > 1);
        let cut = cut.unwrap_or(self.axis);
        if self.has_shorter_last() && cut != self.axis {
            return Err(
                ErrorKind::BadOption { reason: "the last part is shorter than the others, which chunks allow along the slowest axis alone".into() }.into()
            );
        }
        let at = axes.iter().position(|axis| *axis == cut).unwrap_or(0);
        let below = |at: usize| {
            axes[at + 1..].iter().fold(self.item as u64, |all, axis| all.saturating_mul(part[*axis] as u64))
        };
        let row = below(at).max(1);
        let by_bytes = |row: u64| usize::try_from(wish.bytes / row).unwrap_or(usize::MAX).max(1);
        let want = wish.length.unwrap_or_else(|| by_bytes(row)).min(part[cut]);
        let is_several = cut == self.axis && self.lengths.len() > 1;
        let last = if cut == self.axis { self.lengths.last().copied().unwrap_or(0) } else { part[cut] };
        // Chunks do not cross from one part to the next; the last one of all may be padded, if it is small.
        let fitting = |most: usize| if is_several { divisor(part[cut], most) } else { most };
        let even = divisor(gcd(part[cut], last), want);
        let small = usize::try_from(wish.inline / row).unwrap_or(usize::MAX).min(want);
        let padded = if cut == self.axis && small > 0 { fitting(small) } else { 0 };
        let wished = fitting(want);
        chunk[cut] = match wished {
            _ if last.is_multiple_of(wished) => wished,
            _ if even > 1 && even >= want.div_ceil(2) => even,
            _ => even.max(padded),
        };
        let asked = wish.length.map_or(want, |length| length.min(self.shape[cut]));
        let wanted = (chunk[cut] != asked).then_some(asked);
        // A single index may still be large: the next axes are cut as well, where they come out even.
        if chunk[cut] == 1 && wish.length.is_none() {
            let mut outer = at;
            while outer + 1 < axes.len() && below(outer) > wish.bytes {
                let axis = axes[outer + 1];
                let want = by_bytes(below(outer + 1)).min(part[axis]);
                let even = divisor(part[axis], want);
                if even < want.div_ceil(2) {
                    break;
                }
                chunk[axis] = even;
                if even > 1 {
                    break;
                }
                outer += 1;
            }
        }
        Ok(Grid { chunk, cut, wanted })
    }

    /// How many chunks there are along each axis.
    pub(super) fn counts(&self, grid: &Grid) -> Vec<usize> {
        self.shape.iter().zip(&grid.chunk).map(|(length, chunk)| length.div_ceil(*chunk)).collect()
    }

    /// Where the chunk with these numbers along the axes is.
    pub(super) fn place(&self, grid: &Grid, numbers: &[usize]) -> Place {
        let full = self.part_len().max(1);
        let mut part = 0;
        let (mut stride, mut start) = (self.item as u64, 0);
        let mut len = self.item as u64;
        for axis in self.slowest_first().into_iter().rev() {
            let mut first = numbers[axis] * grid.chunk[axis];
            let mut length = self.shape[axis];
            if axis == self.axis {
                part = first / full;
                first %= full;
                length = self.lengths[part];
            }
            start += first as u64 * stride;
            len *= grid.chunk[axis].min(length - first) as u64;
            stride = stride.saturating_mul(length as u64);
        }
        Place { part, start, len }
    }
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISH: Wish = Wish { length: None, bytes: 1000, inline: 100 };

    fn of<'a>(shape: &'a [usize], order: Order, axis: usize, lengths: &'a [usize]) -> Layout<'a> {
        Layout { shape, order, item: 4, axis, lengths }
    }

    /// Each element is in exactly one chunk, and a chunk's elements are one run of its part: counted by hand, without strides.
    #[test]
    fn chunks_have_all_elements_once() {
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
                    let layout = of(shape, order, *axis, lengths);
                    let wish = Wish { length, bytes: 40, inline: 64 };
                    let Ok(grid) = layout.grid(wish) else {
                        assert!(layout.has_shorter_last(), "{shape:?}");
                        continue;
                    };
                    let counts = layout.counts(&grid);
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
                        let place = layout.place(&grid, &numbers);
                        let full = grid.chunk.iter().product::<usize>() as u64 * 4;
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
    fn lengths_that_do_not_divide() {
        let chunk = |shape: &[usize], lengths: &[usize], length, inline| {
            let layout = of(shape, Order::C, 0, lengths);
            layout
                .grid(Wish { length: Some(length), inline, ..WISH })
                .map(|grid| (grid.chunk[0], grid.wanted))
                .ok()
        };
        assert_eq!(chunk(&[1000, 3], &[1000], 250, 0), Some((250, None)));
        assert_eq!(chunk(&[1000, 3], &[1000], 300, 1 << 20), Some((250, Some(300)))); // close enough
        assert_eq!(chunk(&[1009, 3], &[1009], 100, 1 << 20), Some((100, None))); // a prime number: padded
        assert_eq!(chunk(&[1009, 3], &[1009], 100, 600), Some((50, Some(100)))); // as many as may be
        assert_eq!(chunk(&[1009, 3], &[1009], 100, 10), Some((1, Some(100))));
        assert_eq!(chunk(&[2300, 3], &[1000, 1000, 300], 500, 0), Some((100, Some(500))));
        assert_eq!(chunk(&[2301, 3], &[1000, 1000, 301], 500, 1 << 20), Some((500, None)));
        assert_eq!(chunk(&[2301, 3], &[1000, 1000, 301], 500, 0), Some((1, Some(500))));
    }

    #[test]
    fn a_single_index_that_is_large_is_cut_as_well() {
        let grid = of(&[10, 1000, 25], Order::C, 0, &[10]).grid(WISH).unwrap();
        assert_eq!(grid.chunk, [1, 10, 25]);
        let grid = of(&[25, 1000, 10], Order::Fortran, 2, &[10]).grid(WISH).unwrap();
        assert_eq!(grid.chunk, [25, 10, 1]);
        let grid = of(&[1, 1000, 25], Order::C, 0, &[1]).grid(WISH).unwrap();
        assert_eq!((grid.chunk, grid.cut), (vec![1, 10, 25], 1));
    }
}
