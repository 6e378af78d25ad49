//! What a user's Ctrl-C or a shutdown leaves: nothing. The library's drafts have no names; intermediate files have, and are
//! removed here.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};

use tempfile::TempPath;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes a file that is removed when a signal ends the program, from the moment on when it is there.
pub(crate) fn removed_at_the_end(make: impl FnOnce() -> io::Result<TempPath>) -> io::Result<TempPath> {
    /// What a shell says of a program that Ctrl-C has ended.
    const INTERRUPTED: i32 = 130;
    static WATCHED: Once = Once::new();
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
    // The handler waits until the list has the file.
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    files.push(made.to_path_buf());
    Ok(made)
}
