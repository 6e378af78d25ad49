//! Commands that change files, while another process does: see `tests/pairs` of the workspace.

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if !ndarray_io_pairs::run_if_child() {
        ndarray_io_pairs::program(
            env!("CARGO_BIN_EXE_ndio"),
            &[
                "ndio convert FILE FILE --force --order fortran",
                "ndio convert FILE FILE --force --dtype f4",
                "ndio convert FILE FILE --force --slice ::-1",
                "ndio convert FILE FILE --force --array 0 --dtype f4",
                "ndio convert FILE FILE --force --drop-trailing",
                "ndio convert OTHER FILE --force",
                "ndio cat FILE OTHER -o FILE --force",
                "ndio convert ARCHIVE ARCHIVE --force --compression deflate",
                "ndio convert ARCHIVE ARCHIVE --force --member a --name x",
                "ndio convert OTHER ARCHIVE --force",
                "ndio pack ARCHIVE OTHER --force",
                // `ndio pack --update` is `NpzUpdate`, of which the pairs of the library are.
                "ndio convert RAFILE RAFILE --force --byte-order big",
            ],
        );
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    println!("pairs: not run here: processes are stopped on Linux on x86-64 alone");
}
