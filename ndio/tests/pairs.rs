//! Commands that change files, while another process does: see `tests/pairs` of the workspace.

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if !ndarray_io_pairs::is_child() {
        ndarray_io_pairs::program(
            env!("CARGO_BIN_EXE_ndio"),
            &["ndio convert FILE FILE --order fortran", "ndio convert FILE FILE --dtype f4"],
        );
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    println!("pairs: not run here: processes are stopped on Linux on x86-64 alone");
}
