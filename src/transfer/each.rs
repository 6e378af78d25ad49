//! Elements that are made one by one, each by itself, by several threads at once.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::os;
use crate::error::{ErrorKind, Result};

/// The elements that `make` makes of the numbers below `len`. The error is that of the first that could not be made.
pub(crate) fn make_each<T: Send>(
    len: usize,
    threads: impl FnOnce() -> usize,
    make: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    /// To start a thread for less takes longer than to do it.
    const LEAST: usize = 1 << 14;
    let mut items: Vec<T> = Vec::new();
    let bytes = len.saturating_mul(size_of::<T>());
    items.try_reserve_exact(len).map_err(|_| ErrorKind::OutOfMemory { bytes })?;
    os::advise_huge_pages((items.as_ptr().cast(), bytes));
    let part = if len < 2 * LEAST { len } else { len.div_ceil(threads()).max(LEAST) };
    let mut parts: Vec<Filled<'_, T>> = items.spare_capacity_mut()[..len]
        .chunks_mut(part.max(1))
        .map(|room| Filled { room, count: 0, done: Ok(()) })
        .collect();
    let queue = Mutex::new(parts.iter_mut().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((index, filled)) = next() {
            filled.fill(index * part, &make);
        }
    };
    thread::scope(|scope| {
        // What no thread can be had for is done here.
        for _ in 1..len.div_ceil(part.max(1)) {
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if let Some(failed) = parts.iter().position(|filled| filled.done.is_err()) {
        parts.iter_mut().for_each(Filled::clear);
        parts.swap_remove(failed).done?;
    }
    drop(parts);
    // SAFETY: there is room for so many, and every part has been filled without an error.
    unsafe { items.set_len(len) };
    Ok(items)
}

/// A part of the room, of which the first `count` elements have been made.
struct Filled<'a, T> {
    room: &'a mut [MaybeUninit<T>],
    count: usize,
    done: Result<()>,
}

impl<T> Filled<'_, T> {
    fn fill(&mut self, from: usize, make: &impl Fn(usize) -> Result<T>) {
        for (index, slot) in self.room.iter_mut().enumerate() {
            match make(from + index) {
                Ok(item) => slot.write(item),
                Err(error) => {
                    self.done = Err(error);
                    return;
                }
            };
            self.count = index + 1;
        }
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

    use super::make_each;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn all_are_made_in_order() {
        for len in [0, 1, 5, 100_000] {
            let made = make_each(len, || 3, |index| Ok(index.to_string())).unwrap();
            assert!(made.iter().enumerate().all(|(index, text)| text == &index.to_string()));
            assert_eq!(made.len(), len);
        }
    }

    #[test]
    fn the_first_error_is_told_and_nothing_leaks() {
        let counted = Arc::new(());
        let made = make_each(
            100_000,
            || 4,
            |index| match index {
                40_000.. => Err(Error::from(ErrorKind::BadOption { reason: index.to_string() })),
                _ => Ok(Arc::clone(&counted)),
            },
        );
        assert!(made.unwrap_err().to_string().contains("40000"));
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
