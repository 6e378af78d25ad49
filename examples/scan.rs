//! Lists what Python would import and call to load a file of PyTorch, an archive with a pickle; nothing is executed.
//!
//! `cargo run --features object --example scan model.pt`

use std::collections::BTreeMap;

use ndarray_io::object::View;
use ndarray_io::{NpzFile, ReadOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a file of PyTorch")?;
    let archive = NpzFile::open(path)?;
    for (index, member) in archive.members().iter().enumerate() {
        if !member.file_name().ends_with("/data.pkl") {
            continue;
        }
        let bytes = archive.read_raw(index)?;
        let pickle = ReadOptions::new().unpickle(&bytes)?;
        for global in pickle.globals().filter(|global| !global.is_usual_in_data()) {
            println!("imports {global}");
        }
        let mut counts = BTreeMap::new();
        for call in pickle.calls() {
            let View::Call(call) = call.view() else { continue };
            *counts.entry(call.callable().to_string()).or_insert(0) += 1;
        }
        for (callable, count) in counts {
            println!("calls {callable} {count} times");
        }
    }
    Ok(())
}
