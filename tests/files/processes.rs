//! Several processes, and processes that die: the tests run their own binary as a child that does one thing.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[cfg(feature = "mmap")]
use ndarray::Ix2;
use ndarray::{Array1, Array2};
use ndarray_io::options::Uncommitted;
use ndarray_io::{DynArray, NpyFile, NpyWriter, WriteOptions, read_npy, write_npy};

/// Runs this binary as a child that does `what`.
pub(crate) fn spawn_child(what: &str, path: &Path, number: usize) -> Child {
    crate::support::program::program(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_process_entry", "--nocapture", "--ignored"])
        .envs([("NDARRAY_IO_CHILD", what), ("NDARRAY_IO_NUMBER", &number.to_string())])
        .env("NDARRAY_IO_PATH", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Runs one operation in a child.
#[test]
#[ignore = "needs to be started by the other tests"]
fn child_process_entry() {
    let what = std::env::var("NDARRAY_IO_CHILD").expect("the parent says what to do");
    let path = std::env::var_os("NDARRAY_IO_PATH").unwrap();
    let path = Path::new(&path);
    let number: usize = std::env::var("NDARRAY_IO_NUMBER").unwrap().parse().unwrap();
    let print_step = |number: usize| println!("\nstep {number}");
    match what.as_str() {
        #[cfg(feature = "mmap")]
        "fill" => {
            // SAFETY: the parent assigns different rows to each child.
            let mut slab = unsafe {
                ndarray_io::NpyMmapMut::<u32, Ix2>::open_slab(path, number * 100..(number + 1) * 100).unwrap()
            };
            slab.view_mut().fill(number as u32 + 1);
            slab.sync_range(0..50).unwrap();
            slab.sync().unwrap();
        }
        "append" => {
            let mut writer = NpyWriter::<u64, _>::append(path).unwrap();
            for step in 0.. {
                writer.push(&Array2::from_elem((3, 1000), step)).unwrap();
                writer.commit().unwrap();
                print_step(step as usize);
            }
        }
        "replace" => {
            for step in 1.. {
                write_npy(path, &Array1::<i32>::from_elem(200_000, step)).unwrap();
                print_step(step as usize);
            }
        }
        "die at a write" => {
            let file = File::options().read(true).write(true).open(path).unwrap();
            let mut writer =
                NpyWriter::<u64, _>::new(AbortingFile { file, calls_left: number }, &[1000]).unwrap();
            for step in 0..4 {
                writer.push(&Array1::from_elem(1000, step)).unwrap();
                writer.commit().unwrap();
            }
            writer.finish().unwrap();
        }
        "write as much as there is room for" => {
            let large = Array2::<u64>::zeros((1 << 10, 1000));
            let error = write_npy(path, &large).unwrap_err();
            assert!(error.is_io(), "{error}");
            let mut writer = NpyWriter::<u64, _>::append(path).unwrap();
            let error = loop {
                let pushed = writer.push(&Array2::ones((number, 1000))).and_then(|()| writer.commit());
                match pushed {
                    Ok(()) => print_step((writer.len() / 1000) as usize),
                    Err(error) => break error,
                }
            };
            assert!(error.is_io(), "{error}");
            let options = WriteOptions::new().in_place(true);
            let other = path.with_extension("in-place");
            assert!(options.write_npy(&other, &large).unwrap_err().is_io());
            #[cfg(feature = "npz")]
            {
                let mut npz = ndarray_io::NpzWriter::new(File::create(&other).unwrap());
                assert!(npz.add("a", &large).unwrap_err().is_io());
                assert!(npz.finish().unwrap_err().is_usage(), "half a member must not pass for a whole one");
            }
            print_step(0);
        }
        "wait with the lock" => {
            let _writer = NpyWriter::<u64, _>::append(path).unwrap();
            print_step(0);
            let _ = std::io::stdin().read_line(&mut String::new());
            loop {
                std::thread::park();
            }
        }
        #[cfg(all(feature = "npz", feature = "dask"))]
        "crowd" => crate::crowd::run_stress_child(path, number),
        #[cfg(all(feature = "npz", feature = "dask"))]
        "fork" => crate::crowd::check_forked_writers(path),
        other => panic!("no child does {other}"),
    }
}

/// A file that, after some calls, writes half of its input and aborts the process.
struct AbortingFile {
    file: File,
    calls_left: usize,
}

impl Write for AbortingFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.calls_left == 0 {
            let _ = self.file.write(&bytes[..bytes.len() / 2]);
            std::process::abort();
        }
        self.calls_left -= 1;
        self.file.write(&bytes[..bytes.len().min(3000)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for AbortingFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// Runs a child in a shell that limits file sizes to `room` kilobytes: writing more is an error, as on a full
/// disk.
fn spawn_child_with_file_size_limit(what: &str, path: &Path, number: usize, room: usize) -> Child {
    let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", 2 * room);
    let program = crate::support::program::program(std::env::current_exe().unwrap());
    Command::new("sh")
        .args(["-c", &limited])
        .arg(program.get_program())
        .args(program.get_args())
        .args(["--exact", "processes::child_process_entry", "--nocapture", "--ignored"])
        .envs([("NDARRAY_IO_CHILD", what), ("NDARRAY_IO_NUMBER", &number.to_string())])
        .env("NDARRAY_IO_PATH", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

#[test]
fn full_disk_keeps_old_array_and_whole_rows() {
    for rows in [1, 7, 100, 300] {
        let folder = crate::support::temp::folder().unwrap();
        let path = folder.path().join("a.npy");
        write_npy(&path, &Array2::<u64>::zeros((3, 1000))).unwrap();
        let mut child =
            spawn_child_with_file_size_limit("write as much as there is room for", &path, rows, 4 << 10);
        let said = BufReader::new(child.stdout.take().unwrap());
        let said: Vec<String> =
            said.lines().map_while(Result::ok).filter(|line| line.starts_with("step")).collect();
        assert!(child.wait().unwrap().success());
        // 4 MiB are enough for 524 rows, the header and a piece of the next row.
        let counted = 3 + (524 - 3) / rows * rows;
        assert_eq!(said.len(), (524 - 3) / rows + 1, "{said:?}");
        assert_eq!(said.last().unwrap(), "step 0");
        let file = NpyFile::open(&path).unwrap();
        assert_eq!(file.shape(), [counted, 1000]);
        assert!(file.extent().unwrap().trailing().is_some());
        assert_eq!(file.read::<Array2<u64>>().unwrap().sum() as usize, (counted - 3) * 1000);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "what could not replace it is gone");
    }
}

/// Kills a child after it has printed a number of lines.
fn kill_after_lines(mut child: Child, lines: usize) {
    let said = BufReader::new(child.stdout.take().unwrap());
    said.lines().map_while(Result::ok).filter(|line| line.starts_with("step")).nth(lines);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(feature = "mmap")]
#[test]
fn processes_fill_one_file_together() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    let options = WriteOptions::new().preallocate(true);
    options.write_zeroed_npy::<u32, _>(&File::create(&path).unwrap(), (400, 77)).unwrap();
    let children: Vec<Child> = (0..4).map(|number| spawn_child("fill", &path, number)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let filled: Array2<u32> = read_npy(&path).unwrap();
    assert_eq!(filled, Array2::from_shape_fn((400, 77), |(row, _)| row as u32 / 100 + 1));
}

#[cfg(feature = "mmap")]
#[test]
fn slab_maps_equal_slices_of_array() {
    use ndarray::ShapeBuilder;
    use ndarray_io::{NpyMmap, NpyMmapMut};
    let array = Array2::from_shape_fn((50, 7), |(row, column)| (row * 7 + column) as u16);
    let path = crate::support::temp::file().unwrap().into_temp_path();
    for is_fortran in [false, true] {
        let mut stored = Array2::zeros((50, 7).set_f(is_fortran));
        stored.assign(&array);
        write_npy(&path, &stored).unwrap();
        let part = if is_fortran { ndarray::s![.., 2..5] } else { ndarray::s![2..5, ..] };
        // SAFETY: the file belongs to this test.
        let map = unsafe { NpyMmap::<u16, Ix2>::open_slab(&path, 2..5).unwrap() };
        assert_eq!(map.view(), array.slice(part));
        assert_eq!(map.data_offset(), 128 + 2 * 2 * if is_fortran { 50 } else { 7 });
        // SAFETY: as above.
        let mut map = unsafe { NpyMmapMut::<u16, Ix2>::open_slab(&path, 2..5).unwrap() };
        map.view_mut().fill(9);
        map.sync_range(1..3).unwrap();
        assert!(map.sync_range(1..4).unwrap_err().is_usage());
        drop(map);
        let mut expected = array.clone();
        expected.slice_mut(part).fill(9);
        assert_eq!(read_npy::<_, Array2<u16>>(&path).unwrap(), expected);
        let end = if is_fortran { 7 } else { 50 };
        // SAFETY: as above.
        let empty = unsafe { NpyMmap::<u16, Ix2>::open_slab(&path, end..end).unwrap() };
        assert!(empty.view().is_empty());
        // SAFETY: as above.
        let error = unsafe { NpyMmap::<u16, Ix2>::open_slab(&path, 3..end + 1).unwrap_err() };
        assert!(error.is_usage(), "{error}");
        // SAFETY: as above.
        assert!(unsafe { NpyMmap::<u8, Ix2>::open_slab(&path, 0..1).unwrap_err().is_mismatch() });
    }
}

/// Checks the rows of an array to which children appended three rows of each number at a time; returns their
/// count.
fn check_rows(path: &Path, at_least: usize) -> usize {
    let rows: Array2<u64> = NpyFile::open(path).unwrap().read().unwrap();
    assert!(rows.nrows() >= at_least && rows.nrows().is_multiple_of(3), "{}", rows.nrows());
    for (index, row) in rows.rows().into_iter().enumerate() {
        assert!(row.iter().all(|item| *item == row[0]), "row {index} is torn");
    }
    rows.nrows()
}

#[test]
fn killed_appender_leaves_whole_rows() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    write_npy(&path, &Array2::<u64>::zeros((0, 1000))).unwrap();
    let mut rows = 0;
    for lines in (0..24).map(|number| number % 8) {
        kill_after_lines(spawn_child("append", &path, 0), lines);
        let now = check_rows(&path, rows + 3 * (lines + 1));
        // Appending discards rows after the last commit and continues.
        WriteOptions::new().uncommitted(Uncommitted::Discard).append::<u64>(&path).unwrap().finish().unwrap();
        assert_eq!(check_rows(&path, now), now);
        rows = now;
    }
}

#[test]
fn writer_aborted_at_any_write_leaves_a_commit() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    let mut lengths = std::collections::BTreeSet::new();
    for calls in 1..24 {
        fs::write(&path, b"").unwrap();
        let status = spawn_child("die at a write", &path, calls).wait().unwrap();
        // A header is written in one call. No file system leaves half of one, so those cases are skipped.
        let Ok(file) = NpyFile::open(&path) else { continue };
        let Ok(rows) = file.read::<Array2<u64>>() else {
            panic!("{calls}: the header counts what is not there")
        };
        for (index, row) in rows.rows().into_iter().enumerate() {
            assert!(row.iter().all(|item| *item == index as u64), "{calls}: row {index} is torn");
        }
        lengths.insert(rows.nrows());
        if status.success() {
            assert_eq!(rows.nrows(), 4);
        }
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn killed_replacement_leaves_old_or_new_file() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &Array1::from_elem(200_000, 0)).unwrap();
    for lines in (0..24).map(|number| number % 6) {
        kill_after_lines(spawn_child("replace", &path, 0), lines);
        let array: Array1<i32> = read_npy(&path).unwrap();
        assert_eq!(array.len(), 200_000);
        assert!(array[0] > lines as i32 && array.iter().all(|item| *item == array[0]));
    }
}

#[test]
fn lock_is_released_when_process_is_killed() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    write_npy(&path, &Array1::from(vec![1u64])).unwrap();
    let mut holder = spawn_child("wait with the lock", &path, 0);
    let said = BufReader::new(holder.stdout.take().unwrap());
    said.lines().map_while(Result::ok).find(|line| line.starts_with("step"));
    assert!(matches!(
        NpyWriter::<u64, _>::append(&path).unwrap_err().kind(),
        ndarray_io::error::ErrorKind::Locked
    ));
    assert_eq!(read_npy::<_, DynArray>(&path).unwrap().len(), 1, "readers are not stopped");
    holder.kill().unwrap();
    holder.wait().unwrap();
    NpyWriter::append(&path).unwrap().push_and_finish(&Array1::from(vec![2u64])).unwrap();
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap().to_vec(), [1, 2]);
}

#[cfg(target_os = "linux")]
#[test]
fn writing_to_full_disk_is_an_error() {
    let error = write_npy("/dev/full", &Array1::<f64>::zeros(100_000)).unwrap_err();
    assert!(error.is_io(), "{error}");
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert!(
        NpyWriter::<u8, _>::with_shape(&full, 10)
            .and_then(|mut writer| writer.extend([1; 10]).map(|()| writer))
            .and_then(NpyWriter::finish)
            .is_err()
    );
    assert!(ndarray_io::write_zeroed_npy::<f64, _>(&full, 10).is_err());
}
