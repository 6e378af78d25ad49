//! Options for reading and writing, shared by all formats.

mod display;
pub(crate) mod formats;
pub(crate) mod read;
mod verbs;
pub(crate) mod write;

pub use display::DisplayOptions;
pub(crate) use formats::Compression;
pub use formats::{Trailing, Uncommitted};
pub use read::OldText;
pub(crate) use read::{ChosenCasting, ConvertLoop, ReadOptions, Recode, Recoding};
pub(crate) use verbs::Verb;
pub(crate) use write::WriteOptions;

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;

fn thread_count(asked: Option<NonZero<usize>>) -> usize {
    const MAX_DEFAULT_THREADS: usize = 4;
    // Asked once: the answer takes as long as reading a small array, because it comes from several files.
    static DEFAULT_THREADS: OnceLock<usize> = OnceLock::new();
    let available = || thread::available_parallelism().map_or(1, NonZero::get).min(MAX_DEFAULT_THREADS);
    asked.map_or_else(|| *DEFAULT_THREADS.get_or_init(available), NonZero::get)
}
