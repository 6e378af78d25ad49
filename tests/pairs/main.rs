//! The library's operations on files: see the harness, `lib.rs`.

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if !ndarray_io_pairs::run_if_child() {
        ndarray_io_pairs::library();
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    println!("pairs: not run here: processes are stopped on Linux on x86-64 alone");
}
