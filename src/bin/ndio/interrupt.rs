//! What a user's Ctrl-C or a shutdown leaves: nothing. The library's drafts have no names; intermediate files have, and are
//! removed here.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on, this file is removed when a signal ends the program.
pub(crate) fn remove_at_the_end(path: &Path) {
    /// What a shell says of a program that Ctrl-C has ended.
    const INTERRUPTED: i32 = 130;
    static WATCHED: Once = Once::new();
    FILES.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    // Only a program that has something to remove gets a handler: the others end as the system ends them.
    WATCHED.call_once(|| {
        let handler = || {
            for file in &*FILES.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = std::fs::remove_file(file); // it may be gone already
            }
            std::process::exit(INTERRUPTED);
        };
        let _ = ctrlc::set_handler(handler); // without it, files may be left: that is all
    });
}
