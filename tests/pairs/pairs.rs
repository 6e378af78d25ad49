//! Two processes that use one file; the first is stopped before each of its calls in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ndarray::Array2;
use ndarray_io::dask::NpyStackWriter;
use ndarray_io::{DType, write_npy};

use crate::Trials;
use crate::act::{
    GROWING_OPERATIONS, READ_OPERATIONS, contents_text, operation_path, prepare_file, run_in_child,
};
use crate::stop::{StoppedChild, count_calls};

/// The allowed final states for each combination of successes, and the states that readers may see.
pub(crate) struct AllowedStates {
    /// The final states, by which of the two succeeded.
    after: BTreeMap<(bool, bool), BTreeSet<String>>,
    /// What each of them may see, if it is a reader.
    read_results: [BTreeSet<String>; 2],
}

pub(crate) fn allowed_states(first: &str, second: &str, path: &Path) -> AllowedStates {
    let mut after = BTreeMap::<_, BTreeSet<String>>::new();
    let mut views: [BTreeSet<String>; 2] = Default::default();
    let both = [(first, 100, 0), (second, 101, 1)];
    for (orders, succeeded) in [
        (vec![vec![]], (false, false)),
        (vec![vec![0]], (true, false)),
        (vec![vec![1]], (false, true)),
        (vec![vec![0, 1], vec![1, 0]], (true, true)),
    ] {
        for order in orders {
            prepare_file(path, first, second);
            let mut all_good = true;
            for &index in &order {
                let (what, number, of) = both[index];
                let said = run_in_child(what, path, number);
                all_good &= said.starts_with("ok");
                views[of].insert(said);
            }
            if all_good {
                after.entry(succeeded).or_default().insert(contents_text(path));
            }
        }
    }
    // Rows of a writer in place become visible one by one, at its commits.
    for (of, other) in [(0, second), (1, first)] {
        if GROWING_OPERATIONS.contains(&other) && READ_OPERATIONS.contains(&both[of].0) {
            let number = if of == 0 { 101u64 } else { 100 };
            for rows in [0, 1] {
                write_npy(path, &Array2::from_elem((rows, 2), number)).unwrap();
                views[of].insert(run_in_child(both[of].0, path, both[of].1));
            }
        }
    }
    // A new stack has no parts at first.
    for (of, other) in [(0, second), (1, first)] {
        if other == "stack create" {
            prepare_file(path, "stack create", other);
            NpyStackWriter::create(path, &DType::of::<u64>().unwrap(), &[2], 0).unwrap();
            views[of].insert(run_in_child(both[of].0, path, both[of].1));
        }
    }
    AllowedStates { after, read_results: views }
}

/// Tests one pair; returns the outcomes and the number of trials.
pub(crate) fn check_pair(
    first: &str,
    second: &str,
    folder: &Path,
    most: usize,
) -> (BTreeSet<&'static str>, usize) {
    let path = operation_path(folder, first);
    let allowed = allowed_states(first, second, &path);
    prepare_file(&path, first, second);
    let calls = count_calls(first, &path);
    let mut outcomes = BTreeSet::new();
    let mut tried = 0;
    for stop in (1..=calls).step_by(calls.div_ceil(most).max(1)) {
        prepare_file(&path, first, second);
        let stopped = StoppedChild::stop_before_call(first, &path, stop);
        assert!(stopped.is_stopped, "{first} makes {calls} calls, and not {stop}");
        let two = run_in_child(second, &path, 101);
        let one = stopped.continue_to_end();
        let place = format!("'{first}' stopped before call {stop} of {calls}, then '{second}'");
        let succeeded = (one.starts_with("ok"), two.starts_with("ok"));
        for (said, what, views) in
            [(&one, first, &allowed.read_results[0]), (&two, second, &allowed.read_results[1])]
        {
            let is_fine =
                !READ_OPERATIONS.contains(&what) || said.starts_with("error") || views.contains(said);
            assert!(is_fine, "{place}: '{what}' has seen {said}\nand not one of {views:#?}");
        }
        let found = contents_text(&path);
        let is_fine = allowed.after.get(&succeeded).is_some_and(|after| after.contains(&found));
        assert!(is_fine, "{place}: {one}; {two}; the file is {found}\nand not {:#?}", allowed.after);
        let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.len() <= 1, "{place}: {left:?}");
        outcomes.insert(match succeeded {
            (true, true) => "both",
            (true, false) => "first",
            (false, true) => "second",
            (false, false) => "neither",
        });
        tried += 1;
    }
    (outcomes, tried)
}

pub(crate) type PairOutcomes<'a> = BTreeMap<(&'a str, &'a str), (BTreeSet<&'static str>, usize)>;

/// Checks that the table in the documentation, below this heading, says which operations may succeed.
pub(crate) fn check_table(
    heading: &str,
    work: &[(&str, &str)],
    found: &PairOutcomes<'_>,
    numbers: &str,
    trials: &Trials,
) {
    const TABLE_HEAD: &str = "| first | second | succeed |\n|---|---|---|\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/pairs.md");
    let text = fs::read_to_string(&path).unwrap();
    let start = text.find(heading).unwrap_or_else(|| panic!("docs/internals/pairs.md has no '{heading}'"));
    let table = start + text[start..].find(TABLE_HEAD).expect("there is a table");
    let end = text[table..].find("\n## ").map_or(text.len(), |end| table + end);
    if trials.is_full && std::env::var_os("NDARRAY_IO_UPDATE").is_some() {
        let rows = work.iter().map(|pair| {
            let outcomes: Vec<&str> = found[pair].0.iter().copied().collect();
            format!("| {} | {} | {} |\n", pair.0, pair.1, outcomes.join(", "))
        });
        let new = format!("{TABLE_HEAD}{}\nThe last full run: {numbers}.\n", rows.collect::<String>());
        fs::write(&path, format!("{}{new}{}", &text[..table], &text[end..])).unwrap();
        return;
    }
    for (index, pair @ (first, second)) in work.iter().enumerate() {
        let outcomes = &found[pair].0;
        let start = format!("| {first} | {second} | ");
        let row = text[table..end]
            .lines()
            .find_map(|line| line.strip_prefix(&start))
            .unwrap_or_else(|| panic!("no row {start}"));
        let known: BTreeSet<&str> = row.trim_end_matches(" |").split(", ").collect();
        let is_held = if trials.is_whole(index) { known == *outcomes } else { outcomes.is_subset(&known) };
        assert!(is_held, "{start}{known:?} in docs/internals/pairs.md, and {outcomes:?} were found");
    }
}
