//! Reserves memory for the tables of a large pickle from what its beginning needed.
//!
//! The first access to memory takes about as long as executing the opcodes. It is cheaper in huge pages, and
//! those are for tables that do not move: the system cannot move memory of which only a part is in huge pages,
//! so the allocator would copy it.

use super::super::graph::Graph;
use super::Unpickler;
use crate::transfer::os::advise_huge_pages;

/// Length of the first beginning that is large enough for an estimate.
pub(super) const FIRST_ESTIMATE: usize = 64 << 10;

/// By how much the beginning grows from one estimate to the next.
const STEP: usize = 16;

/// How many times longer than the beginning the part may be that an estimate is for.
///
/// Small objects may be followed by an array that is much longer, which needs no tables.
const MOST_TIMES: f64 = 1024.0;

impl Unpickler<'_> {
    /// Reserves the memory that each table will need if the rest of the pickle is like its beginning.
    #[cold]
    pub(super) fn make_room(&mut self) {
        let times = (self.pickle.len() as f64 / self.at as f64).min(MOST_TIMES);
        self.next_estimate = self.at.saturating_mul(STEP);
        reserve(&mut self.memo, 0, times);
        reserve(&mut self.graph.nodes, 0, times);
        // The items on the stack are going to be slots.
        reserve(&mut self.graph.slots, self.stack.len(), times);
        if let Some(rest) = &mut self.graph.rest {
            reserve(&mut rest.calls, 0, times);
            reserve(&mut rest.arrays, 0, times);
            reserve(&mut rest.bytes, 0, times);
        }
        let texts = &mut self.graph.texts;
        if let Some(further) = missing(texts.len(), texts.capacity(), times)
            && texts.try_reserve_exact(further).is_ok()
        {
            let (len, capacity) = (texts.len(), texts.capacity());
            advise_huge_pages((texts.as_ptr().wrapping_add(len), capacity - len));
        }
    }

    /// Gives back reserved memory if the pickle needed much less.
    pub(super) fn release_room(&mut self) {
        let Graph { nodes, slots, texts, .. } = &mut self.graph;
        nodes.shrink_to(2 * nodes.len());
        slots.shrink_to(2 * slots.len());
        texts.shrink_to(2 * texts.len());
        if let Some(rest) = &mut self.graph.rest {
            rest.calls.shrink_to(2 * rest.calls.len());
            rest.arrays.shrink_to(2 * rest.arrays.len());
            rest.bytes.shrink_to(2 * rest.bytes.len());
        }
    }
}

fn reserve<T>(table: &mut Vec<T>, waiting: usize, times: f64) {
    // If memory is scarce, the table grows as it is filled.
    if let Some(further) = missing(table.len() + waiting, table.capacity(), times)
        && table.try_reserve_exact(further).is_ok()
    {
        let unused = table.spare_capacity_mut();
        advise_huge_pages((unused.as_ptr().cast(), size_of_val(unused)));
    }
}

/// Returns how many entries to reserve in addition to `len`, for a pickle that is as many times as long as
/// what was read; `None` if the capacity is sufficient.
fn missing(len: usize, capacity: usize, times: f64) -> Option<usize> {
    let all = len as f64 * times;
    // A quarter more than expected, so that the table is not copied if the rest of the pickle is a bit denser.
    (all > capacity as f64).then_some((1.25 * all) as usize - len)
}
