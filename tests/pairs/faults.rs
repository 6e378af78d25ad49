//! One process alone, which is killed before each of its system calls, and with each of them failing in turn.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ndarray::{Array2, arr1};
use ndarray_io::dask::NpyStackWriter;
use ndarray_io::{DType, DynArray, NpyFile, write_npy};

use crate::act::{
    GROWING_OPERATIONS, contents_text, is_program_command, operation_path, prepare_file, run_in_child,
    write_long_records,
};
use crate::stop::{StoppedChild, count_calls, current_call};

/// Returns the states that a file may be in after an operation was interrupted: the old contents, the new
/// ones and, for operations that write in place, the states in between. The second value is the final state.
pub(crate) fn states_after_interruption(what: &str, path: &Path) -> (BTreeSet<String>, String) {
    prepare_file(path, what, what);
    let mut states = BTreeSet::from([committed_contents(path)]);
    run_in_child(what, path, 100);
    let done = committed_contents(path);
    states.insert(done.clone());
    if what == "append synced" {
        for rows in 3..10 {
            let mut array = Array2::from_elem((rows, 2), 100u64);
            array.slice_mut(ndarray::s![..3, ..]).assign(&ndarray::arr2(&[[1, 2], [3, 4], [5, 6]]));
            write_npy(path, &array).unwrap();
            states.insert(committed_contents(path));
        }
    }
    if what == "append long synced" {
        for rows in 3..10 {
            let numbers: Vec<u64> = (0..rows).map(|row| if row < 3 { row + 1 } else { 100 }).collect();
            write_long_records(path, &numbers);
            states.insert(committed_contents(path));
        }
    }
    if what == "stack append synced" {
        prepare_file(path, what, what);
        let mut writer = NpyStackWriter::append(path).unwrap();
        writer.push(&ndarray::arr2(&[[100u64, 1], [100, 2]])).unwrap();
        writer.finish().unwrap();
        states.insert(committed_contents(path)); // after the first of two commits
    }
    if what == "stack create" {
        let _ = fs::remove_dir_all(path);
        NpyStackWriter::create(path, &DType::of::<u64>().unwrap(), &[2], 0).unwrap();
        states.insert(committed_contents(path)); // a stack without parts
    }
    if what.starts_with("create") && !what.starts_with("create new") {
        states.insert("not an array".into()); // truncated, with no header yet
    }
    if GROWING_OPERATIONS.iter().any(|growing| what == *growing || what == format!("{growing} synced")) {
        for rows in [0, 1] {
            write_npy(path, &Array2::from_elem((rows, 2), 100u64)).unwrap();
            states.insert(committed_contents(path));
        }
    }
    (states, done)
}

/// Returns the contents that count: uncommitted rows after the array do not.
pub(crate) fn committed_contents(path: &Path) -> String {
    if path.extension().is_some_and(|extension| extension != "npy") {
        return contents_text(path);
    }
    match NpyFile::open(path).and_then(|file| file.read::<DynArray>()) {
        Ok(array) => format!("{:?} {array}", array.shape()),
        Err(error) if error.is_io() => "no file".into(),
        Err(_) => "not an array".into(),
    }
}

/// Kills a process before each of its calls, and lets each call fail in turn. The file must have its old or
/// its new contents, and the next change removes what a killed process left. Returns the number of trials.
pub(crate) fn check_faults(what: &str, folder: &Path, most: usize) -> usize {
    let path = operation_path(folder, what);
    let (allowed, done) = states_after_interruption(what, &path);
    prepare_file(&path, what, what);
    let calls = count_calls(what, &path);
    let check = |place: &str| {
        let found = committed_contents(&path);
        assert!(allowed.contains(&found), "{place}: the file is {found}\nand not one of {allowed:#?}");
        let other = folder.join("other.npy");
        write_npy(&other, &arr1(&[1u8])).unwrap();
        write_npy(&other, &arr1(&[2u8])).unwrap();
        fs::remove_file(&other).unwrap();
        let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.len() <= 1, "{place}: {left:?} are left");
        found
    };
    let mut tried = 0;
    for stop in (1..=calls).step_by(calls.div_ceil(most).max(1)) {
        prepare_file(&path, what, what);
        StoppedChild::stop_before_call(what, &path, stop).kill();
        check(&format!("'{what}' killed before call {stop} of {calls}"));
        for error in [libc::EIO, libc::ENOSPC, libc::EACCES, libc::EINTR] {
            prepare_file(&path, what, what);
            let stopped = StoppedChild::stop_before_call(what, &path, stop);
            // The standard library panics if it gets no random numbers for its maps, or if closing a
            // directory listing fails; a process without memory is aborted; asking for one's user cannot fail.
            let is_list = what.starts_with("stack") && current_call(&stopped.child).0 == libc::SYS_close;
            if is_list
                || [libc::SYS_getrandom, libc::SYS_brk, libc::SYS_geteuid]
                    .contains(&current_call(&stopped.child).0)
            {
                stopped.kill();
                continue;
            }
            let (number, said) = stopped.fail_call(error);
            let place =
                format!("'{what}', call {stop} of {calls} (number {number}) fails with {error}: {said}");
            let found = check(&place);
            if is_program_command(what) {
                continue; // faults before `main` are reported by the system
            }
            assert!(said.starts_with("ok") || said.starts_with("error"), "{place}");
            assert!(!said.starts_with("ok") || found == done, "{place}: the file is {found}, and not {done}");
            const RETRIED_CALLS: &[i64] = &[
                libc::SYS_openat,
                libc::SYS_read,
                libc::SYS_pread64,
                libc::SYS_write,
                libc::SYS_pwrite64,
                libc::SYS_fallocate,
                libc::SYS_ftruncate,
                libc::SYS_fsync,
                libc::SYS_fdatasync,
                libc::SYS_fcntl,
            ];
            if error == libc::EINTR && RETRIED_CALLS.contains(&number) {
                assert!(said.starts_with("ok"), "{place}");
            }
        }
        tried += 5;
    }
    tried
}
