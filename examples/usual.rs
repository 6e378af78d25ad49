//! Twenty usual programs, each beside the line of NumPy that it replaces: `cargo run --example usual --features full`.

#![allow(unsafe_code)] // mapping is unsafe: the example is the only user of its files

use std::fs::File;

use ndarray::{Array1, Array2, ArrayD, ArrayView2, Axis, Ix2, arr1, arr2, s};
use ndarray_io::file::parse_slice;
use ndarray_io::header::Order;
use ndarray_io::*;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::env::set_current_dir(folder.path())?;
    let a = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);

    // 1. np.save("a.npy", a)
    write_npy("a.npy", &a)?;
    // 2. a = np.load("a.npy")
    let read: Array2<f64> = read_npy("a.npy")?;
    assert_eq!(read, a);
    // 3. np.load("a.npy").astype("f4", casting="same_kind")
    let singles: Array2<f32> = ReadOptions::new().casting(Casting::SameKind).read_npy("a.npy")?;
    assert_eq!(singles[[1, 2]], 6.0);
    // 4. np.load("a.npy"), of any type and shape
    let any: DynArray = read_npy("a.npy")?;
    println!("{} {:?}\n{any}", any.dtype(), any.shape());
    // 5. np.load("a.npy", mmap_mode="r")
    // SAFETY: nothing else uses the file.
    let map = unsafe { NpyMmap::<f64, Ix2>::open("a.npy")? };
    assert_eq!(map.view().sum_axis(Axis(0)), arr1(&[5.0, 7.0, 9.0]));
    drop(map);
    // 6. np.load("a.npy", mmap_mode="r")[1:, ::2]
    let part = NpyFile::open("a.npy")?.slice::<f64, _>(s![1.., ..;2])?;
    assert_eq!(part, arr2(&[[4.0, 6.0]]));
    // 7. np.load("a.npy", mmap_mode="r")[eval(text)], for text of a user
    let file = NpyFile::open("a.npy")?;
    assert_eq!(file.slice_any(&parse_slice("-1, :2", file.shape())?[..])?.to_string(), "[4.0, 5.0]");
    // 8. np.load("a.npy", mmap_mode="r")[[1, 1, 0]]
    assert_eq!(file.take::<Array2<f64>>(0, &[1, 1, 0])?.column(0), arr1(&[4.0, 4.0, 1.0]));
    drop(file);
    // 9. np.savez("m.npz", a=a, labels=labels)
    write_npz("m.npz", &[("a", &a), ("labels", &arr1(&["x", "y"].map(str::to_owned)))])?;
    // 10. np.savez_compressed("c.npz", a=a)
    WriteOptions::new().compression(Compression::DEFLATE).write_npz("c.npz", &[("a", &a)])?;
    // 11. np.load("m.npz")["labels"]
    let labels: Array1<String> = NpzFile::open("m.npz")?.read("labels")?;
    assert_eq!(labels[1], "y");
    // 12. dict(np.load("m.npz"))
    assert_eq!(read_npz("m.npz")?.into_keys().collect::<Vec<_>>(), ["a", "labels"]);
    // 13. np.save("f.npy", np.asfortranarray(a))
    WriteOptions::new().order(Order::Fortran).write_npy("f.npy", &a)?;
    // 14. np.save(f, a); np.save(f, b), and np.load(f); np.load(f)
    let (mut stream, b) = (Vec::new(), arr1(&[true, false]));
    a.write_npy(&mut stream)?;
    b.write_npy(&mut stream)?;
    let mut rest = &stream[..];
    assert_eq!((Array2::<f64>::read_npy(&mut rest)?, Array1::<bool>::read_npy(&mut rest)?), (a.clone(), b));
    // 15. np.lib.format.open_memmap("z.npy", mode="w+", dtype="f8", shape=(1000, 3))
    // SAFETY: nothing else uses the file.
    let mut zeros = unsafe { NpyMmapMut::<f64, Ix2>::create("z.npy", (1000, 3))? };
    zeros.view_mut().row_mut(7).fill(1.0);
    drop(zeros);
    // 16. append rows to a file; NumPy has no function for it
    let mut log = WriteOptions::new().append_or_create::<f64>("log.npy", &[3])?;
    log.push(&a)?;
    log.finish()?;
    // 17. sum(block.sum() for block in np.array_split(np.load("z.npy", mmap_mode="r"), 10))
    let file = NpyFile::open("z.npy")?;
    let blocks = file.chunks::<f64, Ix2>(0, 100)?;
    assert_eq!(blocks.map(|block| Ok(block?.sum())).sum::<Result<f64>>()?, 3.0);
    drop(file);
    // 18. np.load("r.npy")["mass"]
    #[derive(Record)]
    struct Star {
        #[record(len = 16)]
        name: String,
        mass: f32,
    }
    write_npy("r.npy", &vec![Star { name: "Vega".into(), mass: 2.1 }])?;
    let stars: Array1<Star> = read_npy("r.npy")?;
    assert_eq!((&*stars[0].name, stars[0].mass), ("Vega", 2.1));
    // 19. np.frombuffer(bytes[128:]).reshape(2, 3), of a file in memory
    let bytes = std::fs::read("a.npy")?;
    let read: ArrayD<f64> = ReadOptions::new().read_from(&bytes[..])?;
    assert_eq!(read.len(), 6);
    let _view: Option<ArrayView2<f64>> = ArrayView2::view_npy(&bytes).ok(); // no copy, if the bytes are aligned
    // 20. np.load of an upload: nothing is executed, and memory is limited
    let limited = ReadOptions::new().limits(Limits::new().payload(1 << 20));
    assert!(limited.reader(File::open("a.npy")?)?.read::<DynArray>().is_ok());
    std::env::set_current_dir("/")?; // so that the folder can be removed
    Ok(())
}
