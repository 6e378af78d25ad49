//! Memory.
fn main() {}
