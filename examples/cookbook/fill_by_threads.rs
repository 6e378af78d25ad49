use std::fs::File;
use std::thread;

use ndarray::{Array2, s};
use ndarray_io::{NpyFileMut, write_zeroed_npy};

fn main() -> ndarray_io::Result<()> {
    write_zeroed_npy::<f32, _>(&File::create("table.npy")?, (1000, 8))?;
    let file = NpyFileMut::open("table.npy")?;
    thread::scope(|scope| {
        let parts = (0..4).map(|part| {
            let file = &file;
            scope.spawn(move || {
                let rows = part * 250..(part + 1) * 250;
                let values = Array2::from_elem((250, 8), part as f32);
                file.write_slice(s![rows, ..], &values)
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().try_for_each(|part| part.join().unwrap())
    })
}
