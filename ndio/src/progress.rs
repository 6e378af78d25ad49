//! A progress bar for work that takes longer than a second, if standard error is a terminal.

use std::io::{self, IsTerminal, Read, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Shows progress.
pub(crate) struct Progress {
    began: Instant,
    bar: Option<ProgressBar>,
    is_enabled: bool,
    done_bytes: u64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), bar: None, is_enabled: stderr().is_terminal(), done_bytes: 0 }
    }

    /// Sets the number of bytes done, and the total.
    pub(crate) fn set(&mut self, done: u64, total: u64) {
        self.done_bytes = done;
        if !self.is_enabled || self.began.elapsed() < Duration::from_secs(1) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            // As much as fits beside a bar.
            let columns = terminal_size::terminal_size_of(stderr()).map_or(80, |(width, _)| width.0);
            let style = ProgressStyle::with_template(match columns {
                70.. => "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
                30.. => "{wide_bar} {percent} %, {eta} left",
                _ => "{percent} %",
            });
            let bar = ProgressBar::new(total);
            match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_position(done);
    }

    /// Adds to the number of bytes done.
    pub(crate) fn add(&mut self, bytes: u64, total: u64) {
        self.set(self.done_bytes + bytes, total);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A reader that shows progress.
pub(crate) struct ProgressReader<'a, R> {
    pub(crate) input: R,
    pub(crate) progress: &'a mut Progress,
    pub(crate) total_bytes: u64,
}

impl<R: Read> Read for ProgressReader<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.progress.add(count as u64, self.total_bytes);
        Ok(count)
    }
}
