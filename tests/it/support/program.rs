//! Starting programs.

use std::ffi::OsStr;
use std::process::Command;

/// A command that runs a program for this target, through the emulator that `NDARRAY_IO_RUNNER` names, if
/// any.
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
