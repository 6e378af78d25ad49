//! Two processes use one file: the first is stopped before one of its system calls, the second runs to its
//! end, and then the first continues. The file must be what the successful operations make of it in one order
//! or the other, and a reader must have seen a state that the file has had. `docs/internals/pairs.md` lists the outcome
//! of each pair, and this test checks it.
//!
//! Then one process runs alone: it is killed before each of its calls, and each call fails in turn
//! (`faults`). Its writes are also lost in part, as on power loss, in each way that its syncs allow
//! (`power`).
//!
//! It also runs on file systems that lack locks, links and more (`poor`), and while someone exchanges the folder of its file
//! (`swap`).
//!
//! Other operations are counted (`counts`): their system calls must not grow with rows and members.
//!
//! By default, up to three system calls of each pair, and of each process that runs alone, are tried; with NDARRAY_IO_PAIRS=all, all of them; with
//! NDARRAY_IO_PAIRS=NUMBER/N, all of every Nth, beginning with one that the number says. With NDARRAY_IO_UPDATE, the table is rewritten. Processes are stopped with ptrace, so that these tests run only
//! on Linux on x86-64; elsewhere they print a note.
//!
//! The library's own operations are tested in this package, commands of the program in that of the program.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)] // ptrace, and maps of the test's own files

mod act;
mod counts;
mod faults;
mod pairs;
mod poor;
mod power;
#[path = "../it/support/random.rs"]
mod random;
mod stop;
mod swap;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Runs as a child, if this process was started as one: it runs one operation, and the caller returns.
pub fn run_if_child() -> bool {
    match std::env::var("NDARRAY_IO_CHILD") {
        Ok(what) => {
            act::run_as_child(&what);
            true
        }
        Err(_) => false,
    }
}

/// Which system calls are tried.
struct Trials {
    is_full: bool,
    /// All of every Nth work, beginning with one of them.
    share: Option<(usize, usize)>,
}

impl Trials {
    fn from_env() -> Self {
        let which = std::env::var("NDARRAY_IO_PAIRS").unwrap_or_default();
        let share = which.split_once('/').map(|(number, every)| {
            let (number, every) = (number.parse::<u64>().unwrap(), every.parse::<u64>().unwrap());
            ((number % every) as usize, every as usize)
        });
        Self { is_full: which == "all", share }
    }

    /// Returns whether all calls are tried of the work with this index.
    fn is_whole(&self, index: usize) -> bool {
        self.is_full || self.share.is_some_and(|(first, every)| index % every == first)
    }

    /// Returns how many calls are tried, at most.
    fn most(&self, index: usize) -> usize {
        if self.is_whole(index) { usize::MAX } else { 3 }
    }
}

/// Tests the operations of the library.
///
/// # Panics
///
/// If one of them fails.
pub fn library() {
    let trials = Trials::from_env();
    let work: Vec<(&str, &str)> =
        [act::NPY_OPERATIONS, act::NPZ_OPERATIONS, act::RA_OPERATIONS, act::STACK_OPERATIONS]
            .iter()
            .flat_map(|kind| kind.iter().flat_map(|first| kind.iter().map(move |second| (*first, *second))))
            .chain([
                ("stack create", "stack create"),
                ("stack create", "stack read"),
                ("stack read", "stack create"),
            ])
            .collect();
    let found = map_each(&work, |index, (first, second), folder| {
        pairs::check_pair(first, second, folder, trials.most(index))
    });
    let alone: Vec<&str> = [
        act::NPY_OPERATIONS,
        act::NPZ_OPERATIONS,
        act::RA_OPERATIONS,
        act::STACK_OPERATIONS,
        &["stack create"],
        act::SYNCED_OPERATIONS,
    ]
    .concat()
    .into_iter()
    .filter(|what| !act::READ_OPERATIONS.contains(what))
    .collect();
    let faults: usize =
        map_each(&alone, |index, what, folder| faults::check_faults(what, folder, trials.most(index)))
            .into_iter()
            .sum();
    // Zeros are what space is reserved for.
    let own: Vec<&str> = alone.iter().copied().chain(["zeros"]).collect();
    let poor = map_in_temp_folders(&own, poor::check_missing_features);
    let met: Vec<usize> =
        (0..poor[0].len()).map(|lack| poor.iter().map(|failed| failed[lack]).sum()).collect();
    assert!(met.iter().all(|failed| *failed > 0), "what a file system lacks is never asked for: {met:?}");
    let poor: usize = poor.iter().map(Vec::len).sum();
    let swaps: usize =
        map_in_temp_folders(swap::REPLACING_OPERATIONS, swap::check_exchanged_folder).into_iter().sum();
    let losses: usize = map_in_temp_folders(act::SYNCED_OPERATIONS, power::check_losses).into_iter().sum();
    let counts = map_in_temp_folders(act::COUNTED_OPERATIONS, counts::check_call_growth);
    let steep: Vec<&String> = counts.iter().filter_map(|count| count.as_ref().err()).collect();
    assert!(steep.is_empty(), "{steep:#?}");
    let found: pairs::PairOutcomes<'_> = work.iter().copied().zip(found).collect();
    let stops: usize = found.values().map(|(_, tried)| tried).sum();
    let numbers = format!(
        "{stops} stops; {faults} kills and faults; {swaps} exchanged folders; {poor} on file systems that lack something; {losses} states after a loss of \
         power"
    );
    pairs::check_table("# Two processes", &work, &found, &numbers, &trials);
    println!("{} pairs of processes at one file, {numbers}", work.len());
}

/// Tests commands of a program, each as the first and as the second of a pair with the operations of the library that change such a
/// file, with another run of itself, and alone with faults.
///
/// # Panics
///
/// If one of them fails.
pub fn program(program: &str, commands: &[&str]) {
    let other = tempfile::tempdir().unwrap();
    act::set_program(program, &other.path().join("other.npy"));
    let trials = Trials::from_env();
    let partners: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("a.npy", &["append", "replace", "exclusive"][..]),
        ("a.npz", &["npz update", "npz write"][..]),
        ("a.ra", &["ra replace"][..]),
    ]);
    let work: Vec<(&str, &str)> = commands
        .iter()
        .flat_map(|command| {
            let path = act::operation_path(Path::new(""), command);
            let partners = partners[path.to_str().unwrap()].iter();
            partners.flat_map(|other| [(*command, *other), (*other, *command)]).chain([(*command, *command)])
        })
        .collect();
    let found = map_each(&work, |index, (first, second), folder| {
        pairs::check_pair(first, second, folder, trials.most(index))
    });
    let faults: usize =
        map_each(commands, |index, what, folder| faults::check_faults(what, folder, trials.most(index)))
            .into_iter()
            .sum();
    let found: pairs::PairOutcomes<'_> = work.iter().copied().zip(found).collect();
    let stops: usize = found.values().map(|(_, tried)| tried).sum();
    let numbers = format!("{stops} stops; {faults} kills and faults");
    pairs::check_table("## The program", &work, &found, &numbers, &trials);
    println!("{} pairs of processes at one file, {numbers}", work.len());
}

/// Calls `work` on each item, on several threads, each time in a folder of its own.
fn map_in_temp_folders<T: Copy + Sync, U: Send>(items: &[T], work: impl Fn(T, &Path) -> U + Sync) -> Vec<U> {
    map_each(items, |_, item, folder| work(item, folder))
}

/// The same, with the index of the item.
fn map_each<T: Copy + Sync, U: Send>(items: &[T], work: impl Fn(usize, T, &Path) -> U + Sync) -> Vec<U> {
    let queue = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((index, item)) = queue.lock().unwrap().next() else { return };
                    let folder = tempfile::tempdir().unwrap();
                    let made = work(index, *item, folder.path());
                    done.lock().unwrap().push((index, made));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}
