//! How much may be written for what was read: small files do not make large ones, unless the user wants them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;

use super::failure::Failure;

/// How large outputs may be
#[derive(Args, Clone, Copy)]
pub(crate) struct GrowthOptions {
    /// Write at most this many times what was read, decompressed, and 1 MiB: for tables whose cells have very different lengths,
    /// and many small parts
    #[arg(long, global = true, value_name = "TIMES", default_value_t = 64)]
    max_growth: u64,
}

static OPTIONS: OnceLock<GrowthOptions> = OnceLock::new();
static READ: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

pub(crate) fn set(options: GrowthOptions) {
    OPTIONS.get_or_init(|| options);
}

/// Counts bytes that the input has.
pub(crate) fn add_input(len: u64) {
    let _ = READ.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |read| Some(read.saturating_add(len)));
}

/// Counts bytes that are about to be written, or returns an error if they are too many.
pub(crate) fn add_output(len: u64) -> Result<(), Failure> {
    const ALWAYS: u64 = 1 << 20;
    let times = OPTIONS.get().map_or(64, |options| options.max_growth);
    let read = READ.load(Ordering::Relaxed);
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
