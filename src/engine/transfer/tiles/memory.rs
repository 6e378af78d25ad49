//! Moves elements within memory: the target is divided into parts, each of which is written by one thread.

use super::run::TileConversion;
use crate::bytes::kernels::gather;
use crate::error::Result;
use crate::shape::indices_of;
use crate::transfer::parallel::for_each_parallel;
use crate::transfer::{Effort, aligned_bytes};

/// The approximate size of a part, chosen so that its source and target both fit into the cache.
const PART_LEN: usize = 64 << 10;

/// Fills the part with the given number; the words are a buffer that each thread reuses.
type Fill<'a> = dyn Fn(&mut Vec<u128>, usize, &mut [u8]) -> Result<()> + Sync + 'a;

/// Fills parts of `part` bytes of `into`, on up to `threads` threads.
fn for_each_part(
    into: &mut [u8],
    part: usize,
    threads: impl FnOnce() -> usize,
    fill: &Fill<'_>,
) -> Result<()> {
    /// The number of bytes that a thread fills at a time.
    ///
    /// If two threads shared a large page, one would wait while the system zeroes it for the other.
    const MAX_THREAD_CHUNK: usize = 4 << 20;
    let threads = Effort::moving(2 * into.len() as u64).threads(threads); // read and written
    let part = part.max(1);
    let each = (MAX_THREAD_CHUNK.min(into.len() / threads) / part).max(1);
    let parts = into.chunks_mut(each * part).enumerate();
    let work = |words: &mut Vec<u128>, (number, parts): (usize, &mut [u8])| {
        let mut parts = parts.chunks_mut(part).enumerate();
        parts.try_for_each(|(within, part)| fill(words, number * each + within, part))
    };
    for_each_parallel(parts, threads, &Vec::new, &work, &mut || Ok(()))
}

/// Copies strided elements of `item` bytes contiguously into `into`.
///
/// `axes` are pairs of length and stride in bytes, the slowest first.
pub(crate) fn gather_strided_parallel(
    bytes: &[u8],
    start: usize,
    axes: &[(usize, usize)],
    item: usize,
    into: &mut [u8],
    threads: impl FnOnce() -> usize,
) {
    // Contiguous axes become part of the element.
    let (mut axes, mut item) = (axes, item);
    while let Some((&(len, stride), outer)) = axes.split_last() {
        if stride != item && len != 1 {
            break;
        }
        (axes, item) = (outer, item * len);
    }
    // Divides the fastest axis that allows parts of `PART_LEN` bytes; all faster axes stay undivided.
    let mut whole = item.max(1);
    let mut split_axis = axes.len();
    while split_axis > 0 && whole < PART_LEN {
        split_axis -= 1;
        whole *= axes[split_axis].0.max(1);
    }
    let within = whole / axes.get(split_axis).map_or(1, |(len, _)| (*len).max(1));
    let step = (PART_LEN / within.max(1)).max(1);
    let (outer, length) = (&axes[..split_axis], axes.get(split_axis).map_or(1, |(len, _)| *len));
    let pieces = length.div_ceil(step).max(1);
    let fill = |_: &mut Vec<u128>, number: usize, part: &mut [u8]| {
        // All parts have the same size, except the last one along the divided axis for each outer index.
        let (left, piece) = (number / pieces, number % pieces);
        let start = start + piece * step * axes.get(split_axis).map_or(0, |(_, stride)| *stride);
        let indices = indices_of(left as u64, outer.iter().rev().map(|(len, _)| *len));
        let place =
            outer.iter().rev().zip(indices).fold(start, |at, ((_, stride), index)| at + index * stride);
        let mut inner = axes[split_axis..].to_vec();
        if let Some((len, _)) = inner.first_mut() {
            *len = (*len - piece * step).min(step);
        }
        gather(bytes, place, &inner, item, part);
        Ok(())
    };
    // `for_each_part` needs parts of equal size, except for the last. If the pieces do not divide the axis
    // evenly, a part consists of all pieces of one outer index.
    let is_even = length % step == 0 || outer.iter().all(|(len, _)| *len == 1);
    if pieces == 1 || is_even {
        let _ = for_each_part(into, within * step.min(length), threads, &fill);
    } else {
        let _ = for_each_part(into, within * length, threads, &|words, number, whole| {
            whole
                .chunks_mut(within * step)
                .enumerate()
                .try_for_each(|(piece, part)| fill(words, number * pieces + piece, part))
        });
    }
}

/// Converts elements of `item` bytes to elements of `made_item` bytes, one to one.
pub(crate) fn recode_all(
    items: &[u8],
    item: usize,
    made: &mut [u8],
    made_item: usize,
    conversion: TileConversion<'_>,
    threads: impl FnOnce() -> usize,
) -> Result<()> {
    let count = (PART_LEN / item.max(made_item).max(1)).max(1);
    for_each_part(made, count * made_item, threads, &|words, number, made| {
        let first = number * count;
        let items = &items[(first * item).min(items.len())..((first + count) * item).min(items.len())];
        match conversion {
            TileConversion::Nothing => made.copy_from_slice(items),
            TileConversion::InPlace(convert) => {
                made.copy_from_slice(items);
                convert(made);
            }
            TileConversion::Into(convert) => {
                let copy = aligned_bytes(words, items.len())?;
                copy.copy_from_slice(items);
                convert(copy, made).map_err(|error| error.offset_element(first))?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::gather_strided_parallel;

    #[test]
    fn strided_elements_are_picked_in_order() {
        let bytes: Vec<u8> = (0..2_000_000u32).map(|number| (number % 251) as u8).collect();
        type Case = (usize, &'static [(usize, usize)], usize);
        let cases: &[Case] = &[
            (3, &[(100_000, 13)], 4),
            (0, &[(700, 1000), (350, 2)], 1),
            (8, &[(350, 8), (700, 2800)], 8),
            (5, &[(3, 500_000), (2, 7), (60_000, 14)], 2),
            (1, &[(40, 40_000), (2000, 20)], 20),
            (1, &[], 5),
            (1, &[(0, 5), (3, 2)], 2),
        ];
        for (start, axes, item) in cases {
            let mut places = vec![*start];
            for (len, stride) in *axes {
                places =
                    places.iter().flat_map(|at| (0..*len).map(move |index| at + index * stride)).collect();
            }
            let wanted: Vec<u8> = places.iter().flat_map(|at| bytes[*at..at + item].to_vec()).collect();
            for threads in [1, 3] {
                let mut into = vec![0; wanted.len()];
                gather_strided_parallel(&bytes, *start, axes, *item, &mut into, || threads);
                assert!(into == wanted, "{start} {axes:?} {item}");
            }
        }
    }
}
