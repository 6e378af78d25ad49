//! How many system calls an operation makes for each of its items: rows, members.

use std::collections::BTreeMap;
use std::path::Path;

use crate::act::prepare_counted_file;
use crate::stop::{StoppedChild, current_call};

/// The sizes that are compared.
const ITEM_COUNTS: [usize; 2] = [1000, 4000];
/// Calls that the second size may need in addition: blocks of megabytes, and memory that grows.
const MAX_ADDITIONAL_CALLS: usize = 60;

/// Counts the calls of an operation on files of two sizes, and returns an error text if they grow with the items.
pub(crate) fn check_call_growth(what: &str, folder: &Path) -> Result<String, String> {
    let path = folder.join(if what.contains("rows") { "a.npy" } else { "a.npz" });
    let counts = ITEM_COUNTS.map(|items| {
        // Three bytes are fewer than a member: as many rows as take as long.
        let items = if what.contains("rows") { 50 * items } else { items };
        prepare_counted_file(what, &path, items);
        calls_by_number(what, &path)
    });
    let [few, many] = counts.each_ref().map(|counts| counts.values().sum::<usize>());
    // What reads members one by one needs one call for each.
    let reads = ["count: members read", "count: members verified"].contains(&what);
    let allowed = if reads { ITEM_COUNTS[1] - ITEM_COUNTS[0] } else { 0 };
    let threads = |counts: &BTreeMap<i64, usize>| {
        [libc::SYS_clone, libc::SYS_clone3].iter().filter_map(|call| counts.get(call)).sum::<usize>()
    };
    // Nothing here is worth a thread for each item.
    if many > few + allowed + MAX_ADDITIONAL_CALLS || threads(&counts[1]) > 8 {
        return Err(format!("{what}: {few} and {many} calls: {counts:?}"));
    }
    Ok(format!("{what}: {few} and {many} calls"))
}

fn calls_by_number(what: &str, path: &Path) -> BTreeMap<i64, usize> {
    let mut counts = BTreeMap::new();
    let mut stopped = StoppedChild::stop_when(what, path, |child, _| {
        *counts.entry(current_call(child).0).or_default() += 1;
        false
    });
    let said = stopped.wait_for_end();
    assert!(said.starts_with("ok"), "{what}: {said}");
    counts
}
