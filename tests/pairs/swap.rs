//! Someone exchanges the folder on the way to a file while it is replaced.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::act::{operation_path, prepare_file, run_in_child};
use crate::faults::committed_contents;
use crate::stop::{StoppedChild, current_call};

/// Operations that replace or create a file.
pub(crate) const REPLACING_OPERATIONS: &[&str] = &[
    "write",
    "create new",
    "log new",
    "replace",
    "convert",
    "npz write",
    "npz update",
    "ra write",
    "ra replace",
];

/// Exchanges the folder before each system call. One of the two files is changed, or none and there is an error; and once
/// the link to the file has been read, it is the one to which it led. Returns the number of trials.
pub(crate) fn check_exchanged_folder(what: &str, folder: &Path) -> usize {
    let name = operation_path(folder, what).file_name().unwrap().to_owned();
    let places = ["here", "there"].map(|place| folder.join(place));
    let files = places.each_ref().map(|place| place.join("sub").join(&name));
    let is_new = what.ends_with("new");
    let path =
        if is_new { files[0].clone() } else { places[0].join("link").with_extension(name_extension(&name)) };
    let make = || {
        for (place, file) in places.iter().zip(&files) {
            let _ = fs::remove_dir_all(place);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            prepare_file(file, what, what);
            if !is_new {
                let link = place.join(path.file_name().unwrap());
                symlink(Path::new("sub").join(&name), link).unwrap();
            }
        }
    };
    make();
    let old = committed_contents(&files[0]);
    let mut first = None;
    let mut counted = StoppedChild::stop_when(what, &path, |child, calls| {
        if [libc::SYS_readlink, libc::SYS_readlinkat].contains(&current_call(child).0) {
            first.get_or_insert(calls);
        }
        false
    });
    counted.wait_for_end();
    let done = committed_contents(&files[0]);
    let first = first.unwrap_or(usize::MAX); // a new file is not a link
    for stop in 1..=counted.calls {
        make();
        let stopped = StoppedChild::stop_before_call(what, &path, stop);
        let aside = folder.join("aside");
        fs::rename(&places[0], &aside).unwrap();
        fs::rename(&places[1], &places[0]).unwrap();
        fs::rename(&aside, &places[1]).unwrap();
        let said = stopped.continue_to_end();
        // What was here is there now.
        let [other, own] = files.each_ref().map(|file| committed_contents(file));
        let place = format!("'{what}', the folder exchanged before call {stop}: {said}");
        let is_fine = match said.starts_with("ok") {
            true if stop > first => own == done && other == old,
            true => own == done && other == old || own == old && other == done,
            false => own == old && other == old,
        };
        assert!(is_fine, "{place}: here, where it began: {own}; elsewhere: {other}; wanted: {done}");
        for file in &files {
            let folder = file.parent().unwrap();
            let left: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(left.iter().all(|left| *left == name), "{place}: {left:?}");
        }
    }
    make();
    assert!(run_in_child(what, &path, 100).starts_with("ok"));
    counted.calls
}

fn name_extension(name: &std::ffi::OsStr) -> &std::ffi::OsStr {
    Path::new(name).extension().unwrap()
}
