//! How programs are started.

use std::ffi::OsStr;
use std::process::Command;

/// A program for this target, which an emulator may have to run: `NDARRAY_IO_RUNNER` says which, with its arguments.
pub(crate) fn program(path: impl AsRef<OsStr>) -> Command {
    let runner = std::env::var("NDARRAY_IO_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    match words.next() {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(words).arg(path);
            command
        }
        None => Command::new(path),
    }
}
