//! Elements that are made block by block, each block by itself, by several threads at once.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::os;
use super::share::share_out;
use crate::error::{ErrorKind, Result};

/// The elements that `make` makes of the numbers below `len`, one of each. The error is that of the first that could not be
/// made.
#[cfg(feature = "object")]
pub(crate) fn make_each<T: Send>(
    len: usize,
    threads: impl FnOnce() -> usize,
    make: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    make_parts(len, threads, &|filled, from| filled.fill_each(from, &make))
}

/// Appends just one element for each number.
type Make<'a, T> = dyn Fn(Range<usize>, &mut Vec<T>) -> Result<()> + Sync + 'a;

/// The same for elements that are made so many at a time: `make` appends just one for each number.
pub(super) fn make_blocks<T: Send>(
    len: usize,
    block: usize,
    threads: impl FnOnce() -> usize,
    make: &Make<'_, T>,
) -> Result<Vec<T>> {
    make_parts(len, threads, &|filled, from| filled.fill(from, block, make))
}

/// The same by parts, of which `fill` is given each with the number of its first element.
fn make_parts<T: Send>(
    len: usize,
    threads: impl FnOnce() -> usize,
    fill: &(dyn Fn(&mut Filled<'_, T>, usize) -> Result<()> + Sync),
) -> Result<Vec<T>> {
    /// To start a thread for less takes longer than to do it.
    const LEAST: usize = 1 << 14;
    let mut items: Vec<T> = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    items.try_reserve_exact(len).map_err(|_| ErrorKind::OutOfMemory { bytes: bytes as u64 })?;
    os::advise_huge_pages((items.as_ptr().cast(), bytes));
    let threads = if len < 2 * LEAST { 1 } else { threads() };
    let part = len.div_ceil(4 * threads).max(LEAST);
    let mut parts: Vec<Filled<'_, T>> =
        items.spare_capacity_mut()[..len].chunks_mut(part).map(|room| Filled { room, count: 0 }).collect();
    let threads = threads.min(parts.len());
    let work = |_: &mut (), (number, filled): (usize, &mut Filled<'_, T>)| fill(filled, number * part);
    let done = share_out(parts.iter_mut().enumerate(), threads, &|| (), &work, &mut || Ok(()));
    done.inspect_err(|_| parts.iter_mut().for_each(Filled::clear))?;
    drop(parts);
    // SAFETY: there is room for so many, and every part has been filled without an error.
    unsafe { items.set_len(len) };
    Ok(items)
}

/// A part of the room, of which the first `count` elements have been made.
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

    fn fill(&mut self, from: usize, block: usize, make: &Make<'_, T>) -> Result<()> {
        let mut made = Vec::new();
        for slots in self.room.chunks_mut(block.max(1)) {
            made.clear();
            let first = from + self.count;
            make(first..first + slots.len(), &mut made)?;
            assert_eq!(made.len(), slots.len(), "an element for each number");
            for (slot, item) in slots.iter_mut().zip(made.drain(..)) {
                slot.write(item);
            }
            self.count += slots.len();
        }
        Ok(())
    }

    fn clear(&mut self) {
        for slot in &mut self.room[..std::mem::take(&mut self.count)] {
            // SAFETY: it has been made, and since the count is taken nobody does this twice.
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
                let made = make_blocks(len, block, || 3, &|numbers, made| {
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
        let made = make_blocks(100_000, 10, || 4, &|numbers, made| {
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
}
