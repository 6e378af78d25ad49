//! Creates elements in independent blocks, on several threads.

use std::ops::Range;

#[cfg(feature = "object")]
use super::Effort;
use super::os;
use super::parallel::{for_each_parallel, piece_len};
use crate::elements::ElementBuf;
use crate::elements::cast::append;
use crate::error::Result;
use crate::limits;

/// Fills places from the index of their first element on; the words are a buffer that each thread reuses.
type Fill<'a, T> = dyn Fn(&mut ElementBuf<'_, T>, usize, &mut Vec<u128>) -> Result<()> + Sync + 'a;

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
    make_in_parts(len, threads, &|places, from, _| {
        for index in from..from + places.left() {
            places.push(make(index)?);
        }
        Ok(())
    })
}

/// Makes one element for each index in the range; the words are a buffer that each thread reuses.
type Make<'a, T> = dyn Fn(Range<usize>, &mut Vec<u128>, &mut ElementBuf<'_, T>) -> Result<()> + Sync + 'a;

/// Like `make_each`, but in blocks: `make` makes exactly one element for each index of a block.
pub(super) fn make_in_blocks<T: Send>(
    len: usize,
    block: usize,
    threads: usize,
    make: &Make<'_, T>,
) -> Result<Vec<T>> {
    let block = block.max(1);
    make_in_parts(len, threads, &|places, from, words| {
        let end = from + places.left();
        for first in (from..end).step_by(block) {
            let next = end.min(first + block);
            make(first..next, words, places)?;
            assert_eq!(places.left(), end - next, "an element for each number");
        }
        Ok(())
    })
}

/// Divides the elements into parts, and calls `fill` with the places of each part and the index of its first element.
fn make_in_parts<T: Send>(len: usize, threads: usize, fill: &Fill<'_, T>) -> Result<Vec<T>> {
    let mut items: Vec<T> = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    limits::reserve(&mut items, len)?;
    os::advise_huge_pages((items.as_ptr().cast(), bytes));
    if threads <= 1 {
        append(&mut items, len, &mut |places| fill(places, 0, &mut Vec::new()))?;
        return Ok(items);
    }
    let part = piece_len(len, threads).max(1);
    append(&mut items, len, &mut |places| {
        places.fill_parts(part, |parts| {
            let threads = threads.min(parts.len());
            let work = |words: &mut Vec<u128>, (number, places): (usize, &mut ElementBuf<'_, T>)| {
                fill(places, number * part, words)
            };
            for_each_parallel(parts.iter_mut().enumerate(), threads, &Vec::new, &work, &mut || Ok(()))
        })
    })?;
    Ok(items)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::make_in_blocks;
    use crate::error::{Error, Fault};

    #[test]
    fn elements_are_made_in_order_by_threads() {
        for len in [0, 1, 5, 100_000] {
            for block in [1, 64, 1000] {
                let made = make_in_blocks(len, block, 3, &|numbers, _, made| {
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
    fn first_error_is_returned_and_no_element_leaks() {
        let counted = Arc::new(());
        let made = make_in_blocks(100_000, 10, 4, &|numbers, _, made| {
            for index in numbers {
                if index >= 40_000 {
                    return Err(Error::from(Fault::BadOption { reason: index.to_string() }));
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
    fn block_with_missing_elements_panics() {
        let _ = make_in_blocks(100, 10, 1, &|numbers, _, made| {
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
                make_in_blocks(100_000, 10, threads, &|numbers, _, made| {
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
