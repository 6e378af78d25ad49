//! Races.
fn main() {}
