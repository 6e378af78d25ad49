//! The programs of README.md, `docs/tutorial.md` and `docs/cookbook.md`: `cargo run --release --example cookbook --features full -- NAME`.
//!
//! Each reads and writes files of the folder that it is run in. `.ci/check_pages.py` makes them as the pages say, runs the
//! programs, and compares the pages with the programs and with what they print.

use std::process::{ExitCode, Termination};

/// Each program has a file of its own, which is what the page shows.
macro_rules! programs {
    ($($name:ident)*) => {
        $(mod $name {
            include!(concat!(stringify!($name), ".rs"));

            pub(crate) fn run() -> impl super::Termination {
                main()
            }
        })*

        fn main() -> ExitCode {
            match std::env::args().nth(1).as_deref() {
                $(Some(stringify!($name)) => $name::run().report(),)*
                _ => {
                    eprintln!("name one of {}", [$(stringify!($name)),*].join(", "));
                    ExitCode::FAILURE
                }
            }
        }
    };
}

programs! {
    append_forever append_rows changed_archive clean_table columns_of_records convert_large describe_any
    fill_by_threads from_csv magnitude predict python_dict random_batches stream_rows sum_of_blocks
    scores texts times untrusted
    tutorial_archive tutorial_convert tutorial_damaged tutorial_means tutorial_order tutorial_rank tutorial_records tutorial_wrong_type
}
