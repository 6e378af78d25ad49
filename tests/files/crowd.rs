//! Many processes and threads that change and read the same files: nothing is lost, and nothing is left.
#![cfg(all(unix, feature = "npz", feature = "dask"))]

use std::fs;
use std::path::Path;
use std::time::Duration;

use ndarray::{Array1, Array2, arr1, arr2};
use ndarray_io::dask::{NpyStack, NpyStackWriter};
use ndarray_io::options::Uncommitted;
use ndarray_io::{
    NpyWriter, ReadNpyExt, WriteNpyExt, WriteOptions, read_npy, read_npz, write_npy, write_npz,
};

use crate::processes::spawn_child;
use crate::support::random::Random;

/// What each thread has changed: rows appended, numbers added, members added, parts added.
type OperationCounts = [usize; 4];

/// The number of processes, of threads in each, and of operations of each thread: `NDARRAY_IO_CROWD="8 16 150"`.
fn stress_counts() -> [usize; 3] {
    let text = std::env::var("NDARRAY_IO_CROWD").unwrap_or_else(|_| "3 4 25".into());
    let numbers: Vec<usize> = text.split(' ').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

#[test]
fn concurrent_processes_lose_no_data_and_leave_no_files() {
    let folder = crate::support::temp::folder().unwrap();
    let folder = folder.path();
    write_npy(folder.join("count.npy"), &arr1(&[0u64])).unwrap();
    write_npy(folder.join("last.npy"), &Array1::from_elem(5000, 7u64)).unwrap();
    write_npz(folder.join("members.npz"), &[("7", &arr1(&[7u64]))]).unwrap();
    NpyStackWriter::create(folder.join("parts"), &"<u8".parse().unwrap(), &[2], 0).unwrap().finish().unwrap();
    let children: Vec<_> =
        (0..stress_counts()[0]).map(|number| spawn_child("crowd", folder, number)).collect();
    let mut all: OperationCounts = [0; 4];
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}");
        let counts =
            said.lines().find_map(|line| line.strip_prefix("changed ")).expect("it says what it has changed");
        counts.split(' ').zip(&mut all).for_each(|(count, all)| *all += count.parse::<usize>().unwrap());
    }
    let [rows, numbers, members, parts] = all;
    assert!(all.iter().all(|count| *count > 0), "{all:?}");
    assert_eq!(read_npy::<_, Array2<u64>>(folder.join("log.npy")).unwrap().nrows(), rows);
    assert_eq!(read_npy::<_, Array1<u64>>(folder.join("count.npy")).unwrap(), arr1(&[numbers as u64]));
    assert_eq!(read_npz(folder.join("members.npz")).unwrap().len(), 1 + members);
    assert_eq!(NpyStack::open(folder.join("parts")).unwrap().lengths().len(), 1 + parts);
    let mut left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["count.npy", "last.npy", "log.npy", "members.npz", "parts"]);
    assert_eq!(fs::read_dir(folder.join("parts")).unwrap().count(), 1 + parts + 1);
}

/// What a child does.
pub(crate) fn run_stress_child(folder: &Path, number: usize) {
    let [_, threads, operations] = stress_counts();
    let run = |operations: usize| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let folder = folder.to_owned();
                let own = (number * threads + thread) as u64 * 1_000_000 + operations as u64;
                std::thread::spawn(move || run_operations(&folder, own, operations))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .fold([0; 4], |all: OperationCounts, more| std::array::from_fn(|index| all[index] + more[index]))
    };
    let some = run(5);
    let before = (open_handle_count(), resident_kilobytes());
    let more = run(operations);
    assert_eq!(open_handle_count(), before.0, "handles that were not closed");
    assert!(
        resident_kilobytes() <= before.1 + 64_000,
        "memory grew from {} kB to {} kB",
        before.1,
        resident_kilobytes()
    );
    let all: Vec<String> = some.iter().zip(more).map(|(some, more)| (some + more).to_string()).collect();
    println!("\nchanged {}", all.join(" "));
}

fn run_operations(folder: &Path, own: u64, operations: usize) -> OperationCounts {
    let [log, count, last, archive, parts] =
        ["log.npy", "count.npy", "last.npy", "members.npz", "parts"].map(|name| folder.join(name));
    let patient = WriteOptions::new().wait_for_lock(Duration::from_secs(3600));
    let (mut random, mut counts) = (Random::new(own), [0; 4]);
    for operation in 0..operations as u64 {
        let id = own + 1000 * operation;
        match random.below(8) {
            0 => {
                let refuse = Uncommitted::Refuse;
                let writer = patient.clone().uncommitted(refuse).append_or_create(&log, &[2]).unwrap();
                writer.push_and_finish(&arr1(&[id, id])).unwrap();
                counts[0] += 1;
            }
            1 => {
                let old = patient.begin_replacement(&count).unwrap();
                let now = Array1::<u64>::read_npy(old.file()).unwrap() + 1;
                old.replace_with(|new| now.write_npy(new)).unwrap();
                counts[1] += 1;
            }
            2 => {
                let options = patient.clone();
                let array = arr1(&[id]);
                let mut update = options.update_npz(&archive).unwrap();
                update.add(id.to_string(), &array).unwrap().finish().unwrap();
                counts[2] += 1;
            }
            3 => {
                let refuse = Uncommitted::Refuse;
                let mut writer = patient.clone().uncommitted(refuse).append_stack(&parts).unwrap();
                writer.push(&arr2(&[[id, id]])).unwrap();
                writer.finish().unwrap();
                counts[3] += 1;
            }
            4 => write_npy(&last, &Array1::from_elem(5000, id)).unwrap(),
            5 => {
                let last: Array1<u64> = read_npy(&last).unwrap();
                assert!(last.len() == 5000 && last.iter().all(|item| *item == last[0]), "{last}");
                for (name, array) in read_npz(&archive).unwrap() {
                    assert_eq!(array.to_string(), format!("[{name}]"));
                }
            }
            6 => match read_npy::<_, Array2<u64>>(&log) {
                Ok(rows) => {
                    assert!(rows.rows().into_iter().all(|row| row[0] == row[1] && row[0] > 0), "{rows}")
                }
                // Where there is one lock for the entire file, a reader cannot tell that it is being appended to.
                Err(error) if !cfg!(target_os = "linux") && error.is_format() => {}
                Err(error) => assert!(error.is_not_found(), "{error}"),
            },
            _ => {
                let rows: Array2<u64> = NpyStack::open(&parts).unwrap().read().unwrap();
                assert!(rows.rows().into_iter().all(|row| row[0] == row[1] && row[0] > 0), "{rows}");
            }
        }
    }
    counts
}

/// Returns how many files are open, where the system lists them.
fn open_handle_count() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Returns the memory that this process has, in kB, where the system says it.
fn resident_kilobytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    of.map_or(0, |text| text.trim().trim_end_matches(" kB").parse().unwrap())
}

/// A process that is forked has copies of writers: dropping them changes nothing.
#[test]
fn dropping_writers_in_forked_process_changes_nothing() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    write_npy(&path, &arr1(&[1u64])).unwrap();
    let output = spawn_child("fork", &path, 0).wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap(), arr1(&[1, 2]));
}

/// What the child of that test does.
pub(crate) fn check_forked_writers(path: &Path) {
    let other = path.with_extension("other");
    write_npy(&other, &arr1(&[5u64])).unwrap();
    let mut writer = NpyWriter::append(path).unwrap();
    writer.push(&arr1(&[2u64])).unwrap();
    let replacement = WriteOptions::new().begin_replacement(&other).unwrap();
    // SAFETY: the forked process frees memory and exits; the C library's allocator allows that.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        drop((writer, replacement));
        // SAFETY: nothing else is to be done.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: the status lives until the call returns.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(status, 0);
    assert!(NpyWriter::<u64, _>::append(path).is_err(), "the lock is still held");
    assert!(WriteOptions::new().begin_replacement(&other).is_err(), "this one, too");
    assert_eq!(fs::metadata(path).unwrap().len(), 128 + 8, "the row has not been written twice, or at all");
    writer.finish().unwrap();
    replacement.replace_with(|new| arr1(&[6u64]).write_npy(new)).unwrap();
    assert_eq!(read_npy::<_, Array1<u64>>(&other).unwrap(), arr1(&[6]));
    fs::remove_file(other).unwrap();
}
