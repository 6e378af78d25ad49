//! Reserves memory for the tables of a large pickle from what its beginning needed.
//!
//! The first access to memory takes about as long as executing the opcodes. It is cheaper in huge pages, and
//! those are for tables that do not move: the system does not move memory of which only a part is advised to
//! be in huge pages, so the allocator would copy all of it.

use super::super::graph::Graph;
use super::Unpickler;
use crate::transfer::os::advise_huge_pages;

/// Length of the first beginning that is large enough for an estimate.
pub(super) const FIRST_ESTIMATE_POSITION: usize = 64 << 10;

/// By how much the beginning grows from one estimate to the next.
const ESTIMATE_GROWTH_FACTOR: usize = 16;

/// How many times longer than the beginning the part may be that an estimate is for.
///
/// Small objects may be followed by an array that is much longer, which needs no tables.
const MAX_LENGTH_RATIO: f64 = 1024.0;

/// What an estimate is made from.
#[derive(Clone, Copy)]
struct Estimate {
    /// How many times longer than its beginning the pickle is.
    length_ratio: f64,
    /// Number of bytes of the pickle that remain, which is also the maximum number of entries to reserve.
    remaining_bytes: usize,
}

impl Unpickler<'_> {
    /// Reserves the memory that each table will need if the rest of the pickle is like its beginning.
    #[cold]
    pub(super) fn reserve_tables(&mut self) {
        self.next_estimate_position = self.position.saturating_mul(ESTIMATE_GROWTH_FACTOR);
        // Memory that is not accessed costs nothing only where addresses are plentiful.
        if usize::BITS < 64 {
            return;
        }
        let length_ratio = (self.pickle.len() as f64 / self.position as f64).min(MAX_LENGTH_RATIO);
        let estimate = Estimate { length_ratio, remaining_bytes: self.pickle.len() - self.position };
        estimate.reserve(&mut self.memo, 0);
        estimate.reserve(&mut self.graph.nodes, 0);
        // The items on the stack are going to be slots.
        estimate.reserve(&mut self.graph.slots, self.stack.len());
        if let Some(rest) = &mut self.graph.rare_tables {
            // Their entries are the largest, and few are made from fewer bytes.
            const PICKLE_BYTES_PER_ENTRY: usize = 4;
            let of_calls =
                Estimate { remaining_bytes: estimate.remaining_bytes / PICKLE_BYTES_PER_ENTRY, ..estimate };
            of_calls.reserve(&mut rest.calls, 0);
            of_calls.reserve(&mut rest.arrays, 0);
            estimate.reserve(&mut rest.bytes, 0);
        }
        let texts = &mut self.graph.texts;
        if let Some(wanted_capacity) = estimate.wanted_capacity(texts.len(), texts.capacity()) {
            let mut larger = String::new();
            if larger.try_reserve_exact(wanted_capacity).is_ok() {
                advise_huge_pages((larger.as_ptr(), larger.capacity()));
                larger.push_str(texts);
                *texts = larger;
            }
        }
    }

    /// Gives back reserved memory if the pickle needed much less.
    pub(super) fn shrink_tables(&mut self) {
        let Graph { nodes, slots, texts, .. } = &mut self.graph;
        nodes.shrink_to(2 * nodes.len());
        slots.shrink_to(2 * slots.len());
        texts.shrink_to(2 * texts.len());
        if let Some(rest) = &mut self.graph.rare_tables {
            rest.calls.shrink_to(2 * rest.calls.len());
            rest.arrays.shrink_to(2 * rest.arrays.len());
            rest.bytes.shrink_to(2 * rest.bytes.len());
        }
    }
}

impl Estimate {
    /// Makes room in a table, to which as many entries as are waiting will be added in any case.
    fn reserve<T>(self, table: &mut Vec<T>, waiting: usize) {
        if let Some(wanted_capacity) = self.wanted_capacity(table.len() + waiting, table.capacity()) {
            // The allocator would copy the whole old memory, of which only the entries were accessed.
            let mut larger = Vec::<T>::new();
            // If memory is scarce, the table grows as it is filled.
            if larger.try_reserve_exact(wanted_capacity).is_ok() {
                advise_huge_pages((larger.as_ptr().cast(), larger.capacity() * size_of::<T>()));
                larger.append(table);
                *table = larger;
            }
        }
    }

    /// Returns the capacity that a table with `len` entries should have; `None` if it is sufficient.
    fn wanted_capacity(self, len: usize, capacity: usize) -> Option<usize> {
        let all = len as f64 * self.length_ratio;
        // A quarter more than expected, so that the table is not copied if the rest is a bit denser. The number
        // saturates.
        let wanted_capacity = ((1.25 * all) as usize).min(len + self.remaining_bytes);
        (all > capacity as f64 && wanted_capacity > capacity).then_some(wanted_capacity)
    }
}
