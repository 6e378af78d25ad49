//! A file system that lacks what others have: calls that need it fail as they do there, for the whole operation.

use std::fs;
use std::path::Path;

use crate::act::{operation_path, prepare_file};
use crate::faults::{committed_contents, states_after_interruption};
use crate::stop::{StoppedChild, registers, run_to_next_stop, set_registers};

/// Returns the error of a call with this number and arguments, if it is lacking.
type CallErrorFn = fn(i64, [u64; 5]) -> Option<i32>;

/// What a file system lacks, and the error that a call then returns.
const MISSING_FEATURES: &[(&str, CallErrorFn)] = &[
    ("locks", |call, [_, command, ..]| {
        let is_lock = [libc::F_OFD_SETLK, libc::F_OFD_GETLK].contains(&(command as i32));
        (call == libc::SYS_fcntl && is_lock || call == libc::SYS_flock).then_some(libc::ENOLCK)
    }),
    ("links", |call, _| (call == libc::SYS_linkat).then_some(libc::EPERM)),
    ("unnamed files", |call, [_, _, flags, ..]| {
        let is_unnamed = flags as i32 & libc::O_TMPFILE == libc::O_TMPFILE;
        (call == libc::SYS_openat && is_unnamed).then_some(libc::EOPNOTSUPP)
    }),
    ("renaming without replacing", |call, [.., flags]| {
        (call == libc::SYS_renameat2 && flags != 0).then_some(libc::EINVAL)
    }),
    ("attributes", |call, _| {
        [libc::SYS_flistxattr, libc::SYS_fgetxattr, libc::SYS_fsetxattr]
            .contains(&call)
            .then_some(libc::EOPNOTSUPP)
    }),
    ("reserving space", |call, _| (call == libc::SYS_fallocate).then_some(libc::EOPNOTSUPP)),
];

/// Runs an operation on such file systems, and on one that lacks all of it: it must do the same. Returns how many calls have
/// failed on each.
pub(crate) fn check_missing_features(what: &str, folder: &Path) -> Vec<usize> {
    let path = operation_path(folder, what);
    let (_, done) = states_after_interruption(what, &path);
    let (all, mut counts) = (("all of it", None), Vec::new());
    for (name, only) in MISSING_FEATURES.iter().map(|(name, lacks)| (*name, Some(lacks))).chain([all]) {
        prepare_file(&path, what, what);
        let mut stopped = StoppedChild::stop_before_call(what, &path, 1);
        let mut failed = 0;
        while stopped.is_stopped {
            // The process is stopped at the entry of a call, then at its exit.
            let mut now = registers(&stopped.child);
            let arguments = [now.rdi, now.rsi, now.rdx, now.r10, now.r8];
            let fails = |lacks: &CallErrorFn| lacks(now.orig_rax as i64, arguments);
            let error = match only {
                Some(lacks) => fails(lacks),
                None => MISSING_FEATURES.iter().find_map(|(_, lacks)| fails(lacks)),
            };
            if error.is_some() {
                now.orig_rax = u64::MAX;
                set_registers(&stopped.child, &now);
            }
            stopped.is_stopped = run_to_next_stop(&stopped.child);
            if let Some(error) = error.filter(|_| stopped.is_stopped) {
                let mut now = registers(&stopped.child);
                now.rax = -i64::from(error) as u64;
                set_registers(&stopped.child, &now);
                failed += 1;
            }
            stopped.is_stopped = stopped.is_stopped && run_to_next_stop(&stopped.child);
        }
        let said = stopped.wait_for_end();
        let place = format!("'{what}' without {name} ({failed} calls failed)");
        assert!(said.starts_with("ok"), "{place}: {said}");
        assert_eq!(committed_contents(&path), done, "{place}");
        let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [path.file_name().unwrap()], "{place}");
        counts.push(failed);
    }
    counts
}
