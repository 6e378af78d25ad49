//! How much may be written for what was read: small files do not make large ones, unless the user wants them.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;

use super::failure::Failure;

/// How large outputs may be
#[derive(Args, Clone, Copy)]
pub(crate) struct GrowthOptions {
    /// Write at most this many times what was read, decompressed, and 1 MiB: for tables whose cells have very different lengths,
    /// and many small parts
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        help_heading = "Output",
        value_name = "TIMES",
        default_value_t = 64
    )]
    max_growth: u64,
}

static OPTIONS: OnceLock<GrowthOptions> = OnceLock::new();
static READ: AtomicU64 = AtomicU64::new(0);
static DECODED: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

pub(crate) fn set(options: GrowthOptions) {
    OPTIONS.get_or_init(|| options);
}

/// Counts bytes that the input has.
pub(crate) fn add_input(len: u64) {
    add(&READ, len);
}

/// Counts bytes of arrays that were read, which are more than those of the input if it is compressed.
pub(crate) fn add_decoded(len: u64) {
    add(&DECODED, len);
}

fn add(count: &AtomicU64, len: u64) {
    let _ = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| Some(count.saturating_add(len)));
}

/// Counts bytes that are about to be written, or returns an error if they are too many.
pub(crate) fn add_output(len: u64) -> Result<(), Failure> {
    const ALWAYS: u64 = 1 << 20;
    let times = OPTIONS.get().map_or(64, |options| options.max_growth);
    let read = READ.load(Ordering::Relaxed).max(DECODED.load(Ordering::Relaxed));
    let written = WRITTEN.fetch_add(len, Ordering::Relaxed).saturating_add(len);
    match written > read.saturating_mul(times).saturating_add(ALWAYS) {
        false => Ok(()),
        true => Err(format!(
            "{written} bytes would be written for {read} that were read, which is more than {times} times as many; \
             --max-growth allows more"
        )
        .into()),
    }
}

/// Text that is made of arrays, which is counted, and passed on in pieces if there is an output.
#[derive(Default)]
pub(crate) struct TextBuffer<'a> {
    pub(crate) text: Vec<u8>,
    out: Option<&'a mut dyn Write>,
    /// How many bytes have been passed on.
    flushed: u64,
}

impl<'a> TextBuffer<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out: Some(out), ..Self::default() }
    }

    /// Returns a buffer that keeps everything.
    pub(crate) fn of(text: Vec<u8>) -> Self {
        Self { text, ..Self::default() }
    }

    /// Returns how many bytes have been made.
    pub(crate) fn len(&self) -> u64 {
        self.flushed + self.text.len() as u64
    }

    /// Passes on what has been made, if it is enough.
    pub(crate) fn flush_if_full(&mut self) -> Result<(), Failure> {
        const FLUSH_THRESHOLD: usize = 64 << 10;
        if self.text.len() >= FLUSH_THRESHOLD { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if let Some(out) = &mut self.out {
            add_output(self.text.len() as u64)?;
            out.write_all(&self.text)?;
            self.flushed += self.text.len() as u64;
            self.text.clear();
        }
        Ok(())
    }
}
