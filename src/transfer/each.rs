//! Creates elements in independent blocks, on several threads.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

#[cfg(feature = "object")]
use super::Effort;
use super::os;
use super::share::share_out;
use crate::error::{ErrorKind, Result};

/// Fills a part from the index of its first element on; the words are a buffer that each thread reuses.
type Fill<'a, T> = dyn Fn(&mut Filled<'_, T>, usize, &mut Vec<u128>) -> Result<()> + Sync + 'a;

/// Creates an element for each index below `len` by calling `make`.
///
/// If several calls fail, the error of the lowest index is returned.
#[cfg(feature = "object")]
pub(crate) fn make_each<T: Send>(
    len: usize,
    threads: impl FnOnce() -> usize,
    make: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = Effort::each(len as u64, 10).threads(threads);
    make_parts(len, threads, &|filled, from, _| filled.fill_each(from, &make))
}

/// Appends exactly one element for each index in the range; the words are a buffer that each thread reuses.
type Make<'a, T> = dyn Fn(Range<usize>, &mut Vec<u128>, &mut Vec<T>) -> Result<()> + Sync + 'a;

/// Like `make_each`, but in blocks: `make` appends exactly one element for each index of a block.
pub(super) fn make_blocks<T: Send>(
    len: usize,
    block: usize,
    threads: usize,
    make: &Make<'_, T>,
) -> Result<Vec<T>> {
    if threads > 1 {
        return make_parts(len, threads, &|filled, from, words| filled.fill(from, block, words, make));
    }
    // One thread needs no parts, into which the elements would have to be moved.
    let (mut items, mut words) = (reserved(len)?, Vec::new());
    for first in (0..len).step_by(block.max(1)) {
        let end = len.min(first + block.max(1));
        make(first..end, &mut words, &mut items)?;
        assert_eq!(items.len(), end, "an element for each number");
    }
    Ok(items)
}

/// Allocates memory for elements.
fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut items: Vec<T> = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    items.try_reserve_exact(len).map_err(|_| ErrorKind::OutOfMemory { bytes: bytes as u64 })?;
    os::advise_huge_pages((items.as_ptr().cast(), bytes));
    Ok(items)
}

/// Divides the elements into parts, and calls `fill` with each part and the index of its first element.
fn make_parts<T: Send>(len: usize, threads: usize, fill: &Fill<'_, T>) -> Result<Vec<T>> {
    let mut items = reserved(len)?;
    // Four parts for each thread, so that faster threads can take over from slower ones.
    let part = len.div_ceil(threads.saturating_mul(4).max(1)).max(1);
    let mut parts: Vec<Filled<'_, T>> =
        items.spare_capacity_mut()[..len].chunks_mut(part).map(|room| Filled { room, count: 0 }).collect();
    let threads = threads.min(parts.len());
    let work = |words: &mut Vec<u128>, (number, filled): (usize, &mut Filled<'_, T>)| {
        fill(filled, number * part, words)
    };
    share_out(parts.iter_mut().enumerate(), threads, &Vec::new, &work, &mut || Ok(()))?;
    // Until here, each part drops its elements when it is dropped, as after an error or a panic. Now they belong to
    // the vector.
    parts.iter_mut().for_each(|filled| filled.count = 0);
    drop(parts);
    // SAFETY: the capacity is at least `len`, and every part has been filled without an error.
    unsafe { items.set_len(len) };
    Ok(items)
}

/// A part of the uninitialized memory, whose first `count` elements have been initialized.
struct Filled<'a, T> {
    room: &'a mut [MaybeUninit<T>],
    count: usize,
}

impl<T> Filled<'_, T> {
    #[cfg(feature = "object")]
    fn fill_each(&mut self, from: usize, make: &impl Fn(usize) -> Result<T>) -> Result<()> {
        for (index, slot) in self.room.iter_mut().enumerate() {
            slot.write(make(from + index)?);
            self.count = index + 1;
        }
        Ok(())
    }

    fn fill(&mut self, from: usize, block: usize, words: &mut Vec<u128>, make: &Make<'_, T>) -> Result<()> {
        let mut made = Vec::new();
        for slots in self.room.chunks_mut(block.max(1)) {
            made.clear();
            let first = from + self.count;
            make(first..first + slots.len(), words, &mut made)?;
            assert_eq!(made.len(), slots.len(), "an element for each number");
            for (slot, item) in slots.iter_mut().zip(made.drain(..)) {
                slot.write(item);
            }
            self.count += slots.len();
        }
        Ok(())
    }
}

impl<T> Drop for Filled<'_, T> {
    fn drop(&mut self) {
        for slot in &mut self.room[..self.count] {
            // SAFETY: the first `count` elements are initialized, and nothing else drops them.
            unsafe { slot.assume_init_drop() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::make_blocks;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn all_are_made_in_order() {
        for len in [0, 1, 5, 100_000] {
            for block in [1, 64, 1000] {
                let made = make_blocks(len, block, 3, &|numbers, _, made| {
                    made.extend(numbers.map(|number| number.to_string()));
                    Ok(())
                })
                .unwrap();
                assert!(made.iter().enumerate().all(|(index, text)| text == &index.to_string()));
                assert_eq!(made.len(), len);
            }
        }
    }

    #[test]
    fn the_first_error_is_told_and_nothing_leaks() {
        let counted = Arc::new(());
        let made = make_blocks(100_000, 10, 4, &|numbers, _, made| {
            for index in numbers {
                if index >= 40_000 {
                    return Err(Error::from(ErrorKind::BadOption { reason: index.to_string() }));
                }
                made.push(Arc::clone(&counted));
            }
            Ok(())
        });
        assert!(made.unwrap_err().to_string().contains("40000"));
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    #[should_panic(expected = "an element for each number")]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn missing_elements_are_noticed() {
        let _ = make_blocks(100, 10, 1, &|numbers, _, made| {
            made.extend(numbers.skip(1));
            Ok(())
        });
    }

    #[test]
    #[cfg_attr(panic = "abort", ignore = "needs panics that unwind")]
    fn panic_leaks_no_elements() {
        let counted = Arc::new(());
        for threads in [1, 4] {
            let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                make_blocks(100_000, 10, threads, &|numbers, _, made| {
                    assert!(!numbers.contains(&40_000), "as a caller's function may");
                    made.extend(numbers.map(|_| Arc::clone(&counted)));
                    Ok(())
                })
            }));
            assert!(made.is_err());
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    }
}
