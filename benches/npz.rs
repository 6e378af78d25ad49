//! Compares NPZ archives with `ndarray-npy` and NumPy.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench npz`.
//! An argument after `--` selects the races whose name contains it.

use std::cell::RefCell;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use ndarray::{Array1, Array2, Ix2, arr1};
use ndarray_io::npz::NpzMmap;
use ndarray_io::{
    Compression, NpzFile, NpzReader, NpzWriter, WriteArray, WriteOptions, read_npy, write_npy, write_npz,
};
use ndarray_io_benches::{NumPy, Race, print_head, timed, timed_small};

/// 128 MiB of `f64`.
const SIDE: usize = 4096;
const MEMBERS: usize = 10_000;
const ROUNDS: usize = 11;

type Python = RefCell<Option<NumPy>>;

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-npz-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = RefCell::new(NumPy::start());
    print_head(numpy.borrow().as_ref());
    stored(&folder, &numpy);
    deflated(&folder, &numpy);
    many(&folder, &numpy);
    maps(&folder);
    fs::remove_dir_all(&folder).unwrap();
}

/// Adds NumPy as a runner, if it is installed. Its output is removed before each round, as for other runners.
fn with_numpy<'a>(race: Race<'a>, numpy: &'a Python, work: String, output: Option<&'a Path>) -> Race<'a> {
    if numpy.borrow().is_none() {
        return race;
    }
    race.runner("numpy", move || {
        output.map(remove);
        numpy.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, 1))
    })
}

fn run_setup(numpy: &Python, work: &str) {
    if let Some(numpy) = numpy.borrow_mut().as_mut() {
        numpy.time(work, 1);
    }
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Measures writing a new file.
fn written(path: &Path, write: impl FnOnce()) -> Duration {
    remove(path);
    timed(write)
}

fn write_with_ndarray_npy(path: &Path, compressed: bool, array: &Array2<f64>) {
    let file = File::create(path).unwrap();
    let mut npz = match compressed {
        true => ndarray_npy::NpzWriter::new_compressed(file),
        false => ndarray_npy::NpzWriter::new(file),
    };
    npz.add_array("a", array).unwrap();
    npz.finish().unwrap();
}

fn stored(folder: &Path, numpy: &Python) {
    let path = |name: &str| folder.join(name);
    let plane = Array2::from_shape_fn((SIDE, SIDE), |(row, column)| (row * 31 + column) as f64 * 0.5);
    let (npy, npz, own, other, third) =
        (&path("a.npy"), &path("a.npz"), &path("own.npz"), &path("other.npz"), &path("numpy.npz"));
    write_npy(npy, &plane).unwrap();
    write_npz(npz, &[("a", &plane)]).unwrap();
    let race = Race::new("read stored")
        .runner("ndarray-io", || timed(|| NpzFile::open(npz).unwrap().read::<Array2<f64>>("a").unwrap()))
        .runner("ndarray-io, .npy", || timed(|| read_npy::<_, Array2<f64>>(npy).unwrap()))
        .runner("ndarray-npy", || {
            timed(|| {
                let mut npz = ndarray_npy::NpzReader::new(File::open(npz).unwrap()).unwrap();
                npz.by_name::<ndarray::OwnedRepr<f64>, Ix2>("a").unwrap()
            })
        });
    with_numpy(race, numpy, format!("np.load(r'{}')['a']", npz.display()), None).run(ROUNDS);

    run_setup(numpy, &format!("let plane = np.load(r'{}')", npy.display()));
    let race = Race::new("write stored")
        .runner("ndarray-io", || written(own, || write_npz(own, &[("a", &plane)]).unwrap()))
        .runner("ndarray-io, .npy", || written(npy, || write_npy(npy, &plane).unwrap()))
        .runner("ndarray-npy", || written(other, || write_with_ndarray_npy(other, false, &plane)));
    with_numpy(race, numpy, format!("made = None; np.savez(r'{}', a=plane)", third.display()), Some(third))
        .run(ROUNDS);
    for path in [npy, npz, own, other, third] {
        remove(path);
    }
}

fn deflated(folder: &Path, numpy: &Python) {
    let path = |name: &str| folder.join(name);
    // Like measurements: a signal with noise, whose upper bytes repeat.
    let mut state = 1u64;
    let waves = Array2::from_shape_fn((2048, 2048), |(row, column)| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((row + column) as f64 / 100.0).sin() * 1000.0 + (state >> 60) as f64).round() / 8.0
    });
    let (npy, own, other, third) = (&path("w.npy"), &path("own.npz"), &path("other.npz"), &path("numpy.npz"));
    write_npy(npy, &waves).unwrap();
    run_setup(numpy, &format!("let waves = np.load(r'{}')", npy.display()));
    let options = |threads| {
        let write = WriteOptions::new().threads(threads);
        write.compression(Compression::DEFLATE)
    };
    let (all, one) = (WriteOptions::new().compression(Compression::DEFLATE), options(1));
    let race = Race::new("write deflated")
        .runner("ndarray-io", || written(own, || all.write_npz(own, &[("a", &waves)]).unwrap()))
        .runner("ndarray-io, 1 thread", || written(own, || one.write_npz(own, &[("a", &waves)]).unwrap()))
        .runner("ndarray-npy", || written(other, || write_with_ndarray_npy(other, true, &waves)));
    let work = format!("made = None; np.savez_compressed(r'{}', a=waves)", third.display());
    with_numpy(race, numpy, work, Some(third)).run(5);
    for (who, path) in [("ndarray-io", own), ("ndarray-npy", other), ("numpy", third)] {
        if let Ok(metadata) = fs::metadata(path) {
            println!("| size deflated | {who} | | {} bytes | |", metadata.len());
        }
    }
    if !own.exists() {
        all.write_npz(own, &[("a", &waves)]).unwrap();
    }
    let race = Race::new("read deflated")
        .runner("ndarray-io", || timed(|| NpzFile::open(own).unwrap().read::<Array2<f64>>("a").unwrap()))
        .runner("ndarray-npy", || {
            timed(|| {
                let mut npz = ndarray_npy::NpzReader::new(File::open(own).unwrap()).unwrap();
                npz.by_name::<ndarray::OwnedRepr<f64>, Ix2>("a").unwrap()
            })
        });
    with_numpy(race, numpy, format!("np.load(r'{}')['a']", own.display()), None).run(ROUNDS);
    for path in [npy, own, other, third] {
        remove(path);
    }
}

fn many(folder: &Path, numpy: &Python) {
    let path = |name: &str| folder.join(name);
    let (own, other, third) = (&path("own.npz"), &path("other.npz"), &path("numpy.npz"));
    let small = arr1(&[1.0, 2.0, 3.0]);
    let names: Vec<String> = (0..MEMBERS).map(|number| format!("array_{number}")).collect();
    let arrays: Vec<(&str, &dyn WriteArray)> =
        names.iter().map(|name| (name.as_str(), &small as &dyn WriteArray)).collect();
    write_npz(own, &arrays).unwrap();
    run_setup(
        numpy,
        &format!("let many = {{f'array_{{n}}': np.array([1.0, 2.0, 3.0]) for n in range({MEMBERS})}}"),
    );
    let race = Race::new("write 10,000 members")
        .runner("ndarray-io", || written(own, || write_npz(own, &arrays).unwrap()))
        .runner("ndarray-io, NpzWriter", || {
            written(own, || {
                let mut npz = NpzWriter::new(File::create(own).unwrap());
                names.iter().for_each(|name| npz.add_array(name.as_str(), &small).unwrap());
                npz.finish().unwrap();
            })
        })
        .runner("ndarray-npy", || {
            written(other, || {
                let mut npz = ndarray_npy::NpzWriter::new(File::create(other).unwrap());
                names.iter().for_each(|name| npz.add_array(name.as_str(), &small).unwrap());
                npz.finish().unwrap();
            })
        });
    with_numpy(race, numpy, format!("made = None; np.savez(r'{}', **many)", third.display()), Some(third))
        .run(5);

    let race = Race::new("read 10,000 members")
        .runner("ndarray-io", || {
            timed(|| {
                let mut npz = NpzReader::new(File::open(own).unwrap()).unwrap();
                (0..MEMBERS).map(|index| npz.read::<Array1<f64>>(index).unwrap()).collect::<Vec<_>>()
            })
        })
        .runner("ndarray-npy", || {
            timed(|| {
                let mut npz = ndarray_npy::NpzReader::new(File::open(own).unwrap()).unwrap();
                let read = |index| npz.by_index::<ndarray::OwnedRepr<f64>, ndarray::Ix1>(index).unwrap();
                (0..MEMBERS).map(read).collect::<Vec<_>>()
            })
        });
    with_numpy(race, numpy, format!("[array for _, array in np.load(r'{}').items()]", own.display()), None)
        .run(5);

    // Reads the same members by name, from archives that `ndarray-npy` and NumPy have written.
    for (writer, path) in [("ndarray-npy", other), ("NumPy", third)] {
        if !path.exists() {
            continue;
        }
        let race = Race::new(format!("read 10,000 members of {writer} by name"))
            .runner("ndarray-io", || {
                timed(|| {
                    let npz = NpzFile::open(path).unwrap();
                    names.iter().map(|name| npz.read::<Array1<f64>>(name).unwrap()).collect::<Vec<_>>()
                })
            })
            .runner("ndarray-npy", || {
                timed(|| {
                    let mut npz = ndarray_npy::NpzReader::new(File::open(path).unwrap()).unwrap();
                    let mut read =
                        |name: &str| npz.by_name::<ndarray::OwnedRepr<f64>, ndarray::Ix1>(name).unwrap();
                    names.iter().map(|name| read(&format!("{name}.npy"))).collect::<Vec<_>>()
                })
            });
        with_numpy(
            race,
            numpy,
            format!("[array for _, array in np.load(r'{}').items()]", path.display()),
            None,
        )
        .run(5);
    }
    opens(folder, own);
}

/// Opens archives, compared with the crates `zip` and `rawzip`.
fn opens(folder: &Path, many: &Path) {
    let few = &folder.join("few.npz");
    write_npz(few, &[("a", &arr1(&[1.0])), ("b", &Array1::<f64>::zeros(100_000))]).unwrap();
    let by_zip =
        |path: &Path| zip::ZipArchive::new(std::io::BufReader::new(File::open(path).unwrap())).unwrap().len();
    let by_rawzip = |path: &Path| {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let archive = rawzip::ZipArchive::from_file(File::open(path).unwrap(), &mut buffer).unwrap();
        let (mut entries, mut count) = (archive.entries(&mut buffer), 0);
        while entries.next_entry().unwrap().is_some() {
            count += 1;
        }
        count
    };
    Race::new("open an archive of 2 members, 800 KB")
        .runner("ndarray-io", || timed_small(|| NpzFile::open(few).unwrap().len()))
        .runner("zip", || timed_small(|| by_zip(few)))
        .runner("rawzip, which keeps nothing", || timed_small(|| by_rawzip(few)))
        .run(ROUNDS);
    Race::new("open an archive of 10,000 members")
        .runner("ndarray-io", || timed(|| NpzFile::open(many).unwrap().len()))
        .runner("zip", || timed(|| by_zip(many)))
        .runner("rawzip, which keeps nothing", || timed(|| by_rawzip(many)))
        .run(ROUNDS);
    Race::new("open and read one small member of 2")
        .runner("ndarray-io", || {
            timed_small(|| NpzFile::open(few).unwrap().read::<Array1<f64>>("a").unwrap())
        })
        .runner("ndarray-npy", || {
            timed_small(|| {
                let mut npz = ndarray_npy::NpzReader::new(File::open(few).unwrap()).unwrap();
                npz.by_name::<ndarray::OwnedRepr<f64>, ndarray::Ix1>("a.npy").unwrap()
            })
        })
        .run(ROUNDS);
    let path = &folder.join("updated.npz");
    write_npz(path, &[("first", &arr1(&[1.0]))]).unwrap();
    let array = arr1(&[1.0]);
    let names: Vec<String> = (0..20_000).map(|number| format!("array_{number}")).collect();
    Race::new("prepare an update of 20,000 additions")
        .runner("ndarray-io", || {
            timed(|| {
                let mut update = ndarray_io::NpzUpdate::open(path).unwrap();
                for name in &names {
                    update.add(name, &array).unwrap();
                }
            })
        })
        .run(5);
}

fn maps(folder: &Path) {
    let path = &folder.join("map.npz");
    let plane = Array2::<f64>::zeros((SIDE, SIDE));
    write_npz(path, &[("a", &plane), ("b", &plane)]).unwrap();
    let small = &folder.join("small.npz");
    write_npz(small, &[("a", &arr1(&[1.0])), ("b", &ndarray::arr2(&[[1.0]]))]).unwrap();
    let view = |path: &Path| {
        // SAFETY: no other process uses the file.
        let npz = unsafe { NpzMmap::open(path).unwrap() };
        npz.view::<f64, Ix2>("b").unwrap()[[0, 0]]
    };
    Race::new("map and view one member")
        .runner("of 256 MiB", || timed_small(|| view(path)))
        .runner("of two small ones", || timed_small(|| view(small)))
        .run(3);
}
