//! Compares the program `ndio` with NumPy in a new Python process.
//!
//! Run with `cargo build --release -p ndio`, then `cargo bench -p ndarray-io-benches --bench ndio`.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ndarray::{Array1, Array2};
use ndarray_io::{NpzWriter, write_npy};
use ndarray_io_benches::{NumPy, Race, print_head, timed};

const ROUNDS: usize = 11;

#[expect(clippy::too_many_lines, reason = "a list of measurements")]
fn main() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/ndio");
    assert!(program.exists(), "cargo build --release -p ndio makes it");
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let folder = std::env::temp_dir().join(format!("ndarray-io-ndio-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    print_head(None);
    let run = |program: &Path, arguments: &[&str]| {
        timed(|| {
            let done = Command::new(program).args(arguments).stdout(Stdio::null()).status().unwrap();
            assert!(done.success());
        })
    };
    let ndio = |arguments: &[&str]| run(&program, arguments);
    let numpy = |code: &str| run(Path::new(&python), &["-c", &format!("import numpy as np\n{code}")]);

    // A sparse file of 10 GiB: only its header is on the disk.
    let large = folder.join("large.npy");
    ndarray_io::write_zeroed_npy::<f64, _>(&File::create(&large).unwrap(), (1 << 17, 1 << 13 | 1 << 11))
        .unwrap();
    let name = large.to_str().unwrap();
    Race::new("what a file of 10 GiB is")
        .runner("ndio info", || ndio(&["info", name]))
        .runner("numpy", || numpy(&format!("a = np.load({name:?}, mmap_mode='r'); print(a.dtype, a.shape)")))
        .run(ROUNDS);
    Race::new("ten numbers of it")
        .runner("ndio show", || ndio(&["show", name, "--slice", "5, :10"]))
        .runner("numpy", || numpy(&format!("print(np.load({name:?}, mmap_mode='r')[5, :10])")))
        .run(ROUNDS);

    let many = folder.join("many.npz");
    let mut archive = NpzWriter::new(File::create(&many).unwrap());
    (0..10_000).for_each(|index| archive.add_array(format!("a{index}"), &Array1::<f64>::zeros(3)).unwrap());
    archive.finish().unwrap();
    let name = many.to_str().unwrap();
    Race::new("what 10,000 members are")
        .runner("ndio info", || ndio(&["info", name]))
        .runner("numpy", || {
            numpy(&format!("z = np.load({name:?})\nfor n in z.files: print(n, z[n].dtype, z[n].shape)"))
        })
        .run(5);

    let numbers = folder.join("numbers.npy");
    write_npy(
        &numbers,
        &Array2::from_shape_fn((1 << 13, 1 << 14), |(row, column)| ((row * 31 + column) % 1000) as f64),
    )
    .unwrap();
    let name = numbers.to_str().unwrap();
    // The minimum cost of reading: each core reads half of the file into a buffer that stays in its cache.
    let read = || {
        timed(|| {
            std::thread::scope(|scope| {
                for half in 0..2u64 {
                    let mut file = File::open(&numbers).unwrap();
                    file.seek(SeekFrom::Start(half << 29)).unwrap();
                    scope.spawn(move || {
                        let mut block = vec![0; 512 << 10];
                        (0..1024).for_each(|_| file.read_exact(&mut block).unwrap());
                    });
                }
            });
        })
    };
    Race::new("statistics of 1 GiB of f64")
        .runner("ndio info --stats", || ndio(&["info", "--stats", name]))
        .runner("reads alone", read)
        .runner("numpy", || {
            numpy(&format!(
                "a = np.load({name:?}, mmap_mode='r')\nprint(a.min(), a.max(), a.mean(), a.std(), np.isnan(a).sum(), np.isinf(a).sum(), (a == 0).sum())"
            ))
        })
        .run(5);
    let copy = folder.join("copy.npy");
    fs::copy(&numbers, &copy).unwrap();
    let other = copy.to_str().unwrap();
    Race::new("whether 1 GiB is equal")
        .runner("ndio diff", || ndio(&["diff", name, other]))
        .runner("cmp", || run(Path::new("cmp"), &[name, other]))
        .run(5);
    Race::new("1 GiB from C to Fortran order")
        .runner("ndio convert", || {
            ndio(&["convert", "--force", name, folder.join("f.npy").to_str().unwrap(), "--order", "fortran"])
        })
        .runner("numpy", || {
            let out = folder.join("g.npy");
            numpy(&format!("np.save({out:?}, np.asfortranarray(np.load({name:?}, mmap_mode='r')))"))
        })
        .run(3);
    tables(&folder, &ndio);
    fs::remove_dir_all(&folder).unwrap();
}

/// Converts 8 million numbers to and from CSV. For the Python libraries, the start of Python is not measured.
fn tables(folder: &Path, ndio: &dyn Fn(&[&str]) -> Duration) {
    let python = RefCell::new(NumPy::start().expect("NumPy is what is compared with: PYTHON names it"));
    let time_python = |work: &str| python.borrow_mut().time(work, 1);
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    for (kind, make, format) in [
        ("f8", "np.random.default_rng(0).standard_normal((1000000, 8))", "%.18e"),
        ("i8", "np.random.default_rng(0).integers(-10**6, 10**6, (1000000, 8))", "%d"),
    ] {
        let (array, ours, theirs, back) = (path("t.npy"), path("t.csv"), path("s.csv"), path("u.npy"));
        time_python(&format!("let table = {make}; np.save({array:?}, table)"));
        time_python(
            "let import importlib.util as find; polars = find.find_spec('polars') and __import__('polars')",
        );
        time_python("let frame = polars and polars.DataFrame(table)");
        Race::new(format!("8 million of {kind} to CSV"))
            .runner("ndio convert", || ndio(&["convert", "--force", &array, &ours]))
            .runner("np.savetxt", || {
                time_python(&format!("np.savetxt({theirs:?}, table, delimiter=',', fmt={format:?})"))
            })
            .runner("polars, if it is there", || {
                time_python(&format!("polars and frame.write_csv({theirs:?})"))
            })
            .run(3);
        Race::new(format!("8 million of {kind} from CSV"))
            .runner("ndio convert", || ndio(&["convert", "--force", &ours, &back, "--dtype", kind]))
            .runner("np.loadtxt", || {
                time_python(&format!("np.loadtxt({ours:?}, delimiter=',', dtype={kind:?})"))
            })
            .runner("polars, if it is there", || {
                time_python(&format!("polars and polars.read_csv({ours:?}, has_header=False).to_numpy()"))
            })
            .run(3);
    }
}
