//! Files larger than memory: written in pieces, read in parts, and transposed.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench parts`.
//! An argument after `--` selects the races whose name contains it.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use ndarray::{Array2, Ix1, Ix2, s};
use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::header::Order;
use ndarray_io::{NpyFile, NpyWriter, read_npy, write_npy, write_zeroed_npy};
use ndarray_io_benches::{NumPy, Race, print_head, timed};
use npyz::WriterBuilder;

const ROUNDS: usize = 9;

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-parts-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = RefCell::new(NumPy::start());
    print_head(numpy.borrow().as_ref());
    pushes(&folder);
    slices(&folder, &numpy);
    chunks(&folder);
    to_fortran_order(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

fn new(path: &Path, work: impl FnOnce()) -> Duration {
    let _ = fs::remove_file(path);
    timed(work)
}

fn pushes(folder: &Path) {
    // 128 MiB in rows of 1 KiB.
    let rows = Array2::from_shape_fn((128 << 10, 128), |(row, column)| (row + column) as f64);
    let (own, other) = (&folder.join("own.npy"), &folder.join("other.npy"));
    Race::new("push rows of 1 KiB")
        .runner("ndarray-io", || {
            new(own, || {
                let mut writer = NpyWriter::new(File::create(own).unwrap(), &[128]).unwrap();
                rows.rows().into_iter().for_each(|row| writer.push(&row).unwrap());
                writer.finish().unwrap();
            })
        })
        .runner("one BufWriter of 1 MiB", || {
            new(other, || {
                let mut file = BufWriter::with_capacity(1 << 20, File::create(other).unwrap());
                file.write_all(&[b' '; 128]).unwrap(); // a header, so that writes are not page-aligned
                for row in rows.rows() {
                    let row: &[f64] = row.to_slice().unwrap();
                    // SAFETY: any float can be viewed as bytes.
                    file.write_all(unsafe { std::slice::from_raw_parts(row.as_ptr().cast(), 1024) }).unwrap();
                }
                file.flush().unwrap();
            })
        })
        .run(ROUNDS);
    const ITEMS: usize = 8 << 20;
    Race::new("push elements")
        .runner("ndarray-io", || {
            new(own, || {
                let mut writer = NpyWriter::new(File::create(own).unwrap(), &[]).unwrap();
                writer.extend((0..ITEMS).map(|item| item as f64)).unwrap();
                writer.finish().unwrap();
            })
        })
        .runner("npyz", || {
            new(other, || {
                let file = BufWriter::new(File::create(other).unwrap());
                let options = npyz::WriteOptions::<f64>::new().default_dtype().shape(&[ITEMS as u64]);
                let mut writer = options.writer(file).begin_nd().unwrap();
                (0..ITEMS).for_each(|item| writer.push(&(item as f64)).unwrap());
                writer.finish().unwrap();
            })
        })
        .run(ROUNDS);
    let _ = (fs::remove_file(own), fs::remove_file(other));
}

fn slices(folder: &Path, numpy: &RefCell<Option<NumPy>>) {
    let path = &folder.join("wide.npy");
    write_npy(path, &Array2::from_shape_fn((100_000, 1024), |(row, column)| (row ^ column) as f64)).unwrap();
    let file = &NpyFile::open(path).unwrap();
    let mut race = Race::new("read s![.., 0..8] of 100,000 × 1024")
        .runner("ndarray-io", || timed(|| file.slice::<f64, _>(s![.., 0..8]).unwrap()))
        .runner("all of it, sliced", || {
            timed(|| read_npy::<_, Array2<f64>>(path).unwrap().slice(s![.., 0..8]).to_owned())
        });
    if numpy.borrow().is_some() {
        let work = format!("np.array(np.load(r'{}', mmap_mode='r')[:, 0:8])", path.display());
        race = race.runner("numpy, mmap_mode='r'", move || {
            numpy.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, 1))
        });
    }
    race.run(ROUNDS);
    let _ = fs::remove_file(path);
}

fn chunks(folder: &Path) {
    let path = &folder.join("sparse.npy");
    write_zeroed_npy::<f64, _>(&File::create(path).unwrap(), 512 << 20).unwrap();
    Race::new("sum of 4 GiB, sparse, in chunks of 1 MiB")
        .runner("ndarray-io", || {
            timed(|| {
                let file = NpyFile::open(path).unwrap();
                let mut sum = 0.0;
                let each = |chunk: ndarray::ArrayView1<'_, f64>| {
                    sum += chunk.sum();
                    ControlFlow::Continue(())
                };
                file.chunks::<f64, Ix1>(0, 128 << 10).unwrap().for_each_view(each).unwrap();
                sum
            })
        })
        .runner("ndarray-io, ahead", || {
            timed(|| {
                let mut sum = 0.0;
                let file = NpyFile::open(path).unwrap();
                let each = |chunk: ndarray::ArrayView1<'_, f64>| {
                    sum += chunk.sum();
                    ControlFlow::Continue(())
                };
                file.chunks::<f64, Ix1>(0, 128 << 10).unwrap().read_ahead(each).unwrap();
                sum
            })
        })
        .runner("a plain loop of reads", || {
            timed(|| {
                let mut file = File::open(path).unwrap();
                let mut block = vec![0f64; 128 << 10];
                let mut sum = 0.0;
                // SAFETY: any bytes are valid floats.
                let bytes =
                    unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr().cast::<u8>(), 1 << 20) };
                file.read_exact(&mut bytes[..128]).unwrap();
                for _ in 0..4 << 10 {
                    file.read_exact(bytes).unwrap();
                    // SAFETY: as above; nothing writes to the block at the same time.
                    let block =
                        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<f64>(), 128 << 10) };
                    sum += ndarray::aview1(block).sum();
                }
                sum
            })
        })
        .run(3);
    let _ = fs::remove_file(path);
}

fn to_fortran_order(folder: &Path) {
    let (path, own, copy) = (&folder.join("c.npy"), &folder.join("f.npy"), &folder.join("copy.npy"));
    write_npy(path, &Array2::from_shape_fn((11_585, 11_585), |(row, column)| (row ^ column) as f64)).unwrap();
    Race::new("turn 1 GiB from C to Fortran order, 64 MiB of memory")
        .runner("ndarray-io", || {
            new(own, || convert_npy(path, own, Conversion::new().order(Order::Fortran)).unwrap())
        })
        .runner("copy", || {
            new(copy, || {
                fs::copy(path, copy).unwrap();
            })
        })
        .run(3);
    let _ = NpyFile::open(path).unwrap().chunks::<f64, Ix2>(0, 1);
}
