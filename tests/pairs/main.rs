//! Two processes at one file: the first is stopped before one of its system calls, the second runs to its end, and then the first
//! goes on. Whatever both have reported, the file is what the calls that succeeded make of it in one order or the other; and
//! a reader has seen the file as it was at some time. `docs/pairs.md` says what comes of each pair, and this test holds it.
//!
//! Then one process alone: it is killed before each of its calls, and each of them fails in turn (`faults`); and what it has
//! written is lost in part, as by a loss of power, in each way that its syncs allow (`power`).
//!
//! Without a variable, up to eight system calls of each pair are tried. With NDARRAY_IO_PAIRS=all, each of them is, and with
//! NDARRAY_IO_UPDATE the table is written anew. Processes are stopped as a debugger does it, so that this runs on Linux on
//! x86-64 alone; elsewhere it says so.

#![cfg_attr(all(target_os = "linux", target_arch = "x86_64"), allow(unsafe_code))] // ptrace, and maps of the test's own files

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod act;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod faults;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod pairs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod power;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../it/support/random.rs"]
mod random;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stop;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    if let Ok(what) = std::env::var("NDARRAY_IO_CHILD") {
        return act::child(&what);
    }
    let is_full = std::env::var_os("NDARRAY_IO_PAIRS").is_some_and(|which| which == "all");
    let most = if is_full { usize::MAX } else { 8 };
    let work: Vec<(&str, &str)> = [act::NPY, act::NPZ, act::STACK]
        .iter()
        .flat_map(|kind| kind.iter().flat_map(|first| kind.iter().map(move |second| (*first, *second))))
        .chain([
            ("stack create", "stack create"),
            ("stack create", "stack read"),
            ("stack read", "stack create"),
        ])
        .collect();
    let found = each(&work, |(first, second), folder| pairs::pair(first, second, folder, most));
    let alone: Vec<&str> = [act::NPY, act::NPZ, act::STACK, &["stack create"], act::SYNCED, act::NDIO]
        .concat()
        .into_iter()
        .filter(|what| !act::READERS.contains(what) && (act::PROGRAM.is_some() || !what.starts_with("ndio")))
        .collect();
    let faults: usize = each(&alone, |what, folder| faults::faults(what, folder, most)).into_iter().sum();
    let losses: usize = each(act::SYNCED, power::losses).into_iter().sum();
    let found: pairs::Found<'_> = work.iter().copied().zip(found).collect();
    let stops: usize = found.values().map(|(_, tried)| tried).sum();
    let numbers = format!("{stops} stops; {faults} kills and faults; {losses} states after a loss of power");
    pairs::check_table(&work, &found, &numbers, is_full);
    println!("{} pairs of processes at one file, {numbers}", work.len());
}

/// Does something for each of many, several at a time, each in a folder of its own.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn each<T: Copy + Sync, U: Send>(items: &[T], work: impl Fn(T, &std::path::Path) -> U + Sync) -> Vec<U> {
    let queue = std::sync::Mutex::new(items.iter().enumerate());
    let done = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((index, item)) = queue.lock().unwrap().next() else { return };
                    let folder = tempfile::tempdir().unwrap();
                    let made = work(*item, folder.path());
                    done.lock().unwrap().push((index, made));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("pairs: not run here: processes are stopped on Linux on x86-64 alone");
}
