//! Removes temporary files when the program is interrupted. Unnamed temporary files of the library need no
//! cleanup.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};

use tempfile::TempPath;

static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Creates a file that is removed if a signal ends the program.
pub(crate) fn removed_at_the_end(make: impl FnOnce() -> io::Result<TempPath>) -> io::Result<TempPath> {
    /// The exit code of shells for a program ended by Ctrl-C (128 + SIGINT).
    const INTERRUPTED: i32 = 130;
    static WATCHED: Once = Once::new();
    // Install the handler only when there is something to remove. Until then, the default action is right.
    WATCHED.call_once(|| {
        let handler = || {
            for file in &*FILES.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = std::fs::remove_file(file); // it may be gone already
            }
            std::process::exit(INTERRUPTED);
        };
        let _ = ctrlc::set_handler(handler); // without it, temporary files may remain
    });
    // Hold the lock while the file is created, so that the handler cannot miss it.
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    files.push(made.to_path_buf());
    Ok(made)
}
