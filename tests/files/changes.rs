//! Two handles to one file, files opened with unusual options, and the state after an error. (`tests/pairs`
//! covers the interaction of two processes at each step.)

use std::fs::{self, File};
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ndarray::{Array1, Array2, arr1, arr2, s};
use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::Order;
use ndarray_io::options::Uncommitted;
use ndarray_io::{Error, NpyFile, NpyReader, NpyWriter, WriteNpyExt, WriteOptions, read_npy, write_npy};

fn folder() -> tempfile::TempDir {
    crate::support::temp::folder().unwrap()
}

fn is_locked(error: &Error) -> bool {
    error.kind() == ErrorKind::Locked
}

fn file_names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn in_place_conversion_onto_an_input_is_refused() {
    let folder = folder();
    let (a, b) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
    let array = Array2::from_shape_fn((1000, 100), |(row, column)| (row * 100 + column) as f64);
    write_npy(&a, &array).unwrap();
    write_npy(&b, &array.slice(s![..10, ..])).unwrap();
    let before = fs::read(&a).unwrap();
    let in_place = || Conversion::new().write_options(WriteOptions::new().in_place(true));
    let error = convert_npy(&a, &a, in_place().order(Order::Fortran)).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("one of the inputs"), "{error}");
    assert!(concatenate_npy(&[&b, &a], &a, 0, in_place()).unwrap_err().is_usage());
    #[cfg(unix)]
    {
        let link = folder.path().join("link.npy");
        std::os::unix::fs::symlink("a.npy", &link).unwrap();
        assert!(convert_npy(&a, &link, in_place()).unwrap_err().is_usage());
        fs::remove_file(link).unwrap();
    }
    assert_eq!(fs::read(&a).unwrap(), before);
    // A new file replaces the old one, but not while an appender holds its lock.
    convert_npy(&a, &a, Conversion::new().order(Order::Fortran).memory(1000)).unwrap();
    assert_eq!(read_npy::<_, Array2<f64>>(&a).unwrap(), array);
    let appender = NpyWriter::<f64, _>::append(&a).unwrap();
    assert!(is_locked(&convert_npy(&a, &a, Conversion::new()).unwrap_err()));
    drop(appender);
    concatenate_npy(&[&b, &a], &a, 0, Conversion::new()).unwrap();
    assert_eq!(read_npy::<_, Array2<f64>>(&a).unwrap().slice(s![10.., ..]), array);
    assert_eq!(file_names(folder.path()), ["a.npy", "b.npy"]);
}

#[cfg(any(unix, windows))]
#[test]
fn writer_refuses_file_opened_in_append_mode() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr1(&[1u8])).unwrap();
    let before = fs::read(&path).unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    let error = NpyWriter::<u8, _>::new(file, &[]).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("for appending only"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A reader that claims to have read more than was asked for.
struct OverreportingReader(Cursor<Vec<u8>>, bool);

impl Read for OverreportingReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        Ok(self.0.read(into)? + if self.1 { 8 } else { 0 })
    }
}

impl Seek for OverreportingReader {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.1 = true; // the reader seeks after it has read the header
        self.0.seek(to)
    }
}

#[test]
fn slice_detects_reader_that_overstates_bytes_read() {
    let mut bytes = Vec::new();
    Array2::from_shape_fn((50, 60), |(row, column)| (row * 60 + column) as f64)
        .write_npy(&mut bytes)
        .unwrap();
    let mut reader = NpyReader::new(OverreportingReader(Cursor::new(bytes), false)).unwrap();
    let error = reader.slice::<f64, _>(s![..;2, 3..7]).unwrap_err();
    assert!(error.is_io() && error.to_string().contains("reported 40 bytes"), "{error}");
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn writing_to_file_locked_by_appender_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr2(&[[1u64, 2]])).unwrap();
    let in_place = WriteOptions::new().in_place(true);
    let mut appender = NpyWriter::<u64, _>::append(&path).unwrap();
    appender.push(&arr1(&[3, 4])).unwrap();
    for error in [
        write_npy(&path, &arr1(&[0u8])).unwrap_err(),
        in_place.write_npy(&path, &arr1(&[0u8])).unwrap_err(),
        WriteOptions::new().grow_header(&path).unwrap_err(),
        NpyWriter::<u64, _>::append(&path).unwrap_err(),
        NpyWriter::<u64, _>::create(&path, &[2]).unwrap_err(),
    ] {
        assert!(is_locked(&error) && error.path() == Some(&path), "{error}");
        assert!(error.to_string().contains("locked by another writer"), "{error}");
    }
    // Readers are not blocked, and see the committed rows.
    appender.commit().unwrap();
    appender.extend([5, 6]).unwrap();
    appender.push(&Array2::zeros((200_000, 2))).unwrap(); // written, but not committed
    assert!(fs::metadata(&path).unwrap().len() > 3_000_000);
    assert_eq!(read_npy::<_, Array2<u64>>(&path).unwrap(), arr2(&[[1, 2], [3, 4]]));
    appender.finish().unwrap();
    assert_eq!(read_npy::<_, Array2<u64>>(&path).unwrap().nrows(), 200_003);
    assert_eq!(file_names(folder.path()), ["a.npy"]);
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn wait_for_lock_writes_after_lock_is_released() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr1(&[1u8])).unwrap();
    let appender = NpyWriter::<u8, _>::append(&path).unwrap();
    let options = WriteOptions::new().wait_for_lock(Duration::from_secs(60));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| options.write_npy(&path, &arr1(&[7u8])));
        appender.push_and_finish(&arr1(&[2])).unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[7]));
}

#[cfg(feature = "mmap")]
#[test]
fn mutable_map_locks_its_file() {
    use ndarray::Ix1;
    use ndarray_io::NpyMmapMut;
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr1(&[1u64, 2, 3, 4])).unwrap();
    // SAFETY: the file belongs to this test, here and below.
    let mut map = unsafe { NpyMmapMut::<u64, Ix1>::open(&path).unwrap() };
    map.view_mut()[0] = 9;
    assert!(is_locked(&write_npy(&path, &arr1(&[0u8])).unwrap_err()));
    assert!(is_locked(&NpyWriter::<u64, _>::append(&path).unwrap_err()));
    assert!(is_locked(&WriteOptions::new().grow_header(&path).unwrap_err()));
    // SAFETY: as above; the two maps change different elements.
    let slab = unsafe { NpyMmapMut::<u64, Ix1>::open_slab(&path, 2..4).unwrap() };
    map.sync().unwrap();
    drop(map);
    assert!(is_locked(&write_npy(&path, &arr1(&[0u8])).unwrap_err()), "the slab has it still");
    drop(slab);
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap()[0], 9);
    write_npy(&path, &arr1(&[0u8])).unwrap();
    // SAFETY: as above.
    let made = unsafe { NpyMmapMut::<u64, Ix1>::create(&path, 5).unwrap() };
    assert!(is_locked(&write_npy(&path, &arr1(&[0u8])).unwrap_err()));
    drop(made);
    let in_place = WriteOptions::new().in_place(true);
    // SAFETY: as above.
    let made = unsafe { in_place.create_map::<u64, _>(&path, 5).unwrap() };
    assert!(is_locked(&write_npy(&path, &arr1(&[0u8])).unwrap_err()));
    // SAFETY: as above.
    let second = unsafe { NpyMmapMut::<u64, Ix1>::open(&path).unwrap() };
    drop((made, second));
    let appender = NpyWriter::<u64, _>::append(&path).unwrap();
    // SAFETY: as above.
    assert!(is_locked(&unsafe { NpyMmapMut::<u64, Ix1>::open(&path).unwrap_err() }));
    drop(appender);
    assert_eq!(file_names(folder.path()), ["a.npy"]);
}

/// A program that takes no locks changes the file: the writer notices that it is not as it left it.
#[test]
fn commit_reports_file_changed_by_other_program() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    let mut writer = NpyWriter::new(File::create(&path).unwrap(), &[2]).unwrap();
    writer.push(&arr1(&[1u16, 2])).unwrap();
    writer.commit().unwrap();
    File::options().append(true).open(&path).unwrap().write_all(&[9; 4]).unwrap();
    let before = fs::read(&path).unwrap();
    let error = writer.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(error.to_string().ends_with("expected a file of 132 bytes, found 136"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn writer_truncates_longer_existing_file() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    fs::write(&path, vec![7; 100_000]).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    NpyWriter::new(file, &[]).unwrap().push_and_finish(&arr1(&[1u8, 2, 3])).unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1, 2, 3]));
    fs::write(&path, vec![7; 100_000]).unwrap();
    NpyWriter::create(&path, &[]).unwrap().push_and_finish(&arr1(&[4u8])).unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[4]));
}

#[test]
fn rows_of_dropped_writer_are_recoverable() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    let mut writer = NpyWriter::create(&path, &[2]).unwrap();
    writer.push(&arr1(&[1u16, 2])).unwrap();
    writer.commit().unwrap();
    writer.push(&arr2(&[[3, 4], [5, 6]])).unwrap();
    drop(writer);
    let error = read_npy::<_, Array2<u16>>(&path).unwrap_err();
    assert!(error.message().starts_with("found 8 bytes (2 complete rows) after the array"), "{error}");
    assert!(
        error.to_string().contains("2 complete rows")
            && error.help().unwrap().to_string().contains("uncommitted"),
        "{error}"
    );
    assert_eq!(NpyFile::open(&path).unwrap().shape(), [1, 2]);
    let options = WriteOptions::new();
    options.clone().uncommitted(Uncommitted::Recover).append::<u16>(&path).unwrap().finish().unwrap();
    assert_eq!(read_npy::<_, Array2<u16>>(&path).unwrap(), arr2(&[[1, 2], [3, 4], [5, 6]]));
}

#[test]
fn roll_back_restores_last_commit() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr2(&[[1u16, 2]])).unwrap();
    let before = fs::read(&path).unwrap();
    let mut writer = NpyWriter::<u16, _>::append(&path).unwrap();
    writer.push(&Array2::ones((400_000, 2))).unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 1_000_000);
    writer.roll_back().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn roll_back_keeps_recovered_rows() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr2(&[[1u16, 2]])).unwrap();
    File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(&[bytemuck::bytes_of(&[3u16, 4]), &[5]].concat())
        .unwrap();
    // Converting the file onto itself does not lose uncommitted rows either.
    let error = convert_npy(&path, &path, Conversion::new()).unwrap_err();
    assert!(error.message().starts_with("found 5 bytes (1 complete row) after the array"), "{error}");
    let options = WriteOptions::new();
    let mut writer = options.clone().uncommitted(Uncommitted::Recover).append::<u16>(&path).unwrap();
    writer.push(&Array2::ones((400_000, 2))).unwrap();
    writer.roll_back().unwrap();
    assert_eq!(read_npy::<_, Array2<u16>>(&path).unwrap(), arr2(&[[1, 2], [3, 4]]));
    // A file that is open only for writing can be rolled back as well.
    let mut writer = NpyWriter::new(File::create(&path).unwrap(), &[]).unwrap();
    writer.extend([1u16, 2]).unwrap();
    writer.commit().unwrap();
    writer.extend(vec![3; 1_000_000]).unwrap();
    writer.roll_back().unwrap();
    assert_eq!(read_npy::<_, Array1<u16>>(&path).unwrap(), arr1(&[1, 2]));
}

#[test]
fn buffered_file_is_truncated_and_checked_for_changes() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    fs::write(&path, vec![7; 100_000]).unwrap();
    let file = std::io::BufWriter::new(File::options().write(true).open(&path).unwrap());
    let mut writer = NpyWriter::new(file, &[]).unwrap();
    writer.extend([1u8, 2]).unwrap();
    writer.commit().unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1, 2]));
    File::options().append(true).open(&path).unwrap().write_all(&[9]).unwrap();
    let error = writer.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(error.to_string().ends_with("expected a file of 130 bytes, found 131"), "{error}");
}

#[test]
fn unwritable_element_type_creates_no_file() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    assert!(NpyWriter::<String, _>::create(&path, &[]).unwrap_err().is_usage());
    assert!(!path.exists());
    let forever = WriteOptions::new().wait_for_lock(Duration::MAX);
    forever.write_npy(&path, &arr1(&[1u8])).unwrap();
    forever.write_npy(&path, &arr1(&[2u8])).unwrap();
}

/// The length that a reader sees is one that the array had while the reader ran.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "needs threads")]
fn concurrent_readers_see_only_committed_lengths() {
    const ROWS: usize = 2000;
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &Array2::<u32>::zeros((0, 3))).unwrap();
    let mut file = NpyFile::open(&path).unwrap();
    let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = NpyWriter::<u32, _>::append(&path).unwrap();
            for row in 1..=ROWS {
                writer.push(&arr1(&[row as u32; 3])).unwrap();
                begun.store(row, Ordering::SeqCst);
                writer.commit().unwrap();
                done.store(row, Ordering::SeqCst);
            }
        });
        let mut least = 0;
        while least < ROWS {
            least = done.load(Ordering::SeqCst);
            let rows = read_npy::<_, Array2<u32>>(&path).unwrap();
            let again = NpyFile::open(&path).unwrap().shape()[0];
            file.refresh().unwrap();
            let refreshed = file.shape()[0];
            let most = begun.load(Ordering::SeqCst);
            for length in [rows.nrows(), again, refreshed] {
                assert!((least..=most).contains(&length), "{least} <= {length} <= {most}");
            }
            assert!(rows.rows().into_iter().enumerate().all(|(index, row)| row[0] as usize == index + 1));
        }
    });
}

#[test]
fn read_into_drops_overwritten_elements() {
    #[cfg(feature = "derive")]
    {
        static DROP_COUNT: AtomicUsize = AtomicUsize::new(0);
        #[derive(ndarray_io::Record)]
        #[repr(C)]
        struct DropCounter {
            value: u32,
        }
        impl Drop for DropCounter {
            fn drop(&mut self) {
                DROP_COUNT.fetch_add(1, Ordering::SeqCst);
            }
        }
        let mut bytes = Vec::new();
        Array1::from_shape_fn(10, |value| DropCounter { value: value as u32 }).write_npy(&mut bytes).unwrap();
        let mut into = Array1::from_shape_fn(10, |_| DropCounter { value: 7 });
        DROP_COUNT.store(0, Ordering::SeqCst);
        ndarray_io::ReadOptions::new().read_into(&bytes[..], &mut into).unwrap();
        assert_eq!(DROP_COUNT.load(Ordering::SeqCst), 10);
        assert_eq!(into[3].value, 3);
    }
}

#[test]
fn sync_option_requires_a_file() {
    let sync = WriteOptions::new().sync(true);
    let array = arr1(&[1.0]);
    assert!(sync.write_to(&mut Vec::new(), &array).unwrap_err().is_usage());
    assert!(sync.writer::<f64, _>(Cursor::new(Vec::new()), &[]).unwrap_err().is_usage());
    assert!(sync.writer_of_shape::<f64, _>(Vec::new(), 3).unwrap_err().is_usage());
    let file = crate::support::temp::unnamed_file().unwrap();
    sync.write_to(&file, &array).unwrap();
    sync.write_to(std::io::BufWriter::new(&file), &array).unwrap();
    let mut buffered = std::io::BufWriter::new(file);
    sync.write_to(&mut buffered, &array).unwrap();
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn appending_to_pipe_is_refused() {
        let folder = folder();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for error in [
            NpyWriter::<u8, _>::append(&path).unwrap_err(),
            NpyWriter::<u8, _>::create(&path, &[]).unwrap_err(),
            WriteOptions::new().grow_header(&path).unwrap_err(),
        ] {
            assert!(error.is_usage() && error.to_string().contains("not a regular file"), "{error}");
        }
    }

    #[test]
    fn new_and_replaced_files_have_one_hard_link() {
        let folder = folder();
        let path = folder.path().join("a.npy");
        WriteOptions::new().create_new(true).write_npy(&path, &arr1(&[1u8])).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().nlink(), 1);
        write_npy(&path, &arr1(&[2u8])).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().nlink(), 1);
    }

    /// What a path refers to may change while its replacement is written.
    #[test]
    fn path_becoming_symlink_during_replacement_is_an_error() {
        use std::os::unix::fs::symlink;
        let folder = folder();
        let (path, other) = (folder.path().join("a.npy"), folder.path().join("b.npy"));
        write_npy(&path, &arr1(&[1u8])).unwrap();
        let replaced = WriteOptions::new().replace_file(&path, |_| {
            fs::rename(&path, &other).unwrap();
            symlink("b.npy", &path).unwrap();
            Ok::<_, Error>(())
        });
        assert!(replaced.unwrap_err().is_io());
        assert_eq!(read_npy::<_, Array1<u8>>(&other).unwrap(), arr1(&[1]));
        fs::remove_file(&path).unwrap();
        let replaced = WriteOptions::new().replace_file(&path, |_| {
            symlink("nowhere", &path).unwrap();
            Ok::<_, Error>(())
        });
        assert!(replaced.unwrap_err().is_io());
        assert_eq!(file_names(folder.path()), ["a.npy", "b.npy"]);
        // A file that appears at the path is replaced, and one that disappears is created again.
        fs::remove_file(&path).unwrap();
        WriteOptions::new()
            .replace_file(&path, |mut file| {
                write_npy(&path, &arr1(&[5u8])).unwrap();
                Ok::<_, Error>(file.write_all(b"one")?)
            })
            .unwrap();
        WriteOptions::new()
            .replace_file(&path, |mut file| {
                assert_eq!(fs::read(&path).unwrap(), b"one");
                fs::remove_file(&path).unwrap();
                Ok::<_, Error>(file.write_all(b"two")?)
            })
            .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(file_names(folder.path()), ["a.npy", "b.npy"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn replacing_descriptor_path_is_refused() {
        use std::os::fd::AsRawFd;
        let folder = folder();
        let path = folder.path().join("a.npy");
        write_npy(&path, &arr1(&[1u8, 2])).unwrap();
        let before = fs::read(&path).unwrap();
        let file = File::open(&path).unwrap();
        let name = format!("/dev/fd/{}", file.as_raw_fd());
        let error = WriteOptions::new().grow_header(&name).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("named by its path"), "{error}");
        assert!(convert_npy(&name, &name, Conversion::new()).unwrap_err().is_usage());
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    /// The path is as long as the system allows and its file name short: a longer name next to it would not
    /// fit.
    #[cfg(target_os = "linux")]
    #[test]
    fn file_at_longest_path_can_be_replaced() {
        let folder = folder();
        let mut path = folder.path().to_owned();
        while path.as_os_str().len() + 251 < 4090 {
            path.push("d".repeat(250));
        }
        let left = 4094 - path.as_os_str().len() - 1 - 6;
        path.push("e".repeat(left.min(250)));
        fs::create_dir_all(&path).unwrap();
        let path = path.join("a.npy");
        assert!(path.as_os_str().len() > 4080, "{}", path.as_os_str().len());
        write_npy(&path, &arr1(&[1u8])).unwrap();
        write_npy(&path, &arr1(&[2u8])).unwrap();
        assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[2]));
    }

    /// The next change in a folder removes drafts left by a killed process: files and folders, but no links.
    #[cfg(target_os = "linux")]
    #[test]
    fn leftover_drafts_are_removed_but_symlinks_kept() {
        let folder = folder();
        for number in [0, 3] {
            fs::write(folder.path().join(format!(".ndarray-io-{number}.draft")), b"half a file").unwrap();
        }
        fs::create_dir(folder.path().join(".ndarray-io-1.draft")).unwrap();
        std::os::unix::fs::symlink("/dev/null", folder.path().join(".ndarray-io-2.draft")).unwrap();
        write_npy(folder.path().join("a.npy"), &arr1(&[1u8])).unwrap();
        write_npy(folder.path().join("a.npy"), &arr1(&[2u8])).unwrap();
        assert_eq!(file_names(folder.path()), [".ndarray-io-2.draft", "a.npy"]);
    }

    #[test]
    fn file_mode_survives_replacement_by_each_operation() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let (from, path) = (folder.path().join("from.npy"), folder.path().join("a.npy"));
        write_npy(&from, &arr1(&[1u8, 2])).unwrap();
        write_npy(&path, &arr1(&[1u8, 2])).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
        convert_npy(&from, &path, Conversion::new()).unwrap();
        assert_eq!(mode(), 0o600);
        WriteOptions::new().grow_header(&path).unwrap();
        assert_eq!(mode(), 0o600);
        ndarray_io::ra::write_ra(&path, &arr1(&[1u8, 2])).unwrap();
        assert_eq!(mode(), 0o600);
        WriteOptions::new().replace_file(&path, |mut file| Ok::<_, Error>(file.write_all(b"text")?)).unwrap();
        assert_eq!((mode(), fs::read(&path).unwrap()), (0o600, b"text".to_vec()));
    }
}

/// An RA file that has, or may have, trailing bytes is not replaced by accident.
#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn ra_file_with_possible_trailing_bytes_is_not_replaced() {
    use ndarray_io::WriteOptions;
    use ndarray_io::options::Trailing;
    use ndarray_io::ra::write_ra;
    let folder = folder();
    let path = folder.path().join("a.ra");
    write_ra(&path, &arr1(&[1u8, 2, 3])).unwrap();
    let sound = fs::read(&path).unwrap();
    let mut packed = sound.clone();
    packed[8] = 2; // marked as compressed; the declared size is that of the array
    packed.extend(b"a note");
    for bytes in [packed, b"rawarray and no more".to_vec(), [&sound[..], b"note"].concat()] {
        fs::write(&path, &bytes).unwrap();
        let error = write_ra(&path, &arr1(&[9u8])).unwrap_err();
        assert!(
            error.is_conflict() && error.help().is_some_and(|help| help.id() == "keep-trailing"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
        WriteOptions::new().trailing(Trailing::Write(Vec::new())).write_ra(&path, &arr1(&[9u8])).unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 57);
    }
    // Another writer adds trailing bytes while the new file is written.
    for is_there in [true, false] {
        let _ = fs::remove_file(&path);
        if is_there {
            write_ra(&path, &arr1(&[1u8])).unwrap();
        }
        let note = WriteOptions::new().trailing(Trailing::Write(b"note".to_vec()));
        let (other, target) = (note.clone(), path.clone());
        let progress = move |_, _| {
            let written = other.write_ra(&target, &arr1(&[7u8]));
            assert_eq!(written.is_err(), is_there, "the old file is locked while its successor is written");
            std::ops::ControlFlow::Continue(())
        };
        let options = WriteOptions::new().progress(progress);
        let error = options.write_ra(&path, &arr1(&[9u8]));
        assert_eq!(error.is_ok(), is_there, "{error:?}");
        let len = fs::metadata(&path).unwrap().len();
        assert_eq!(len, 56 + 1 + if is_there { 0 } else { 4 });
        assert_eq!(file_names(folder.path()), ["a.ra"]);
    }
    // A file that is not an RA file has no trailing bytes to keep.
    fs::write(&path, b"something else").unwrap();
    write_ra(&path, &arr1(&[9u8])).unwrap();
}

#[cfg(feature = "npz")]
mod archives {
    use ndarray_io::{Compression, Limits, NpzFile, NpzUpdate, ReadOptions, WriteOptions, write_npz};

    use super::*;
    use crate::support::manifest;

    #[test]
    #[cfg_attr(target_os = "wasi", ignore = "needs locks")]
    fn concurrent_archive_update_is_refused() {
        let folder = folder();
        let path = folder.path().join("a.npz");
        write_npz(&path, &[("a", &arr1(&[1]))]).unwrap();
        let (b, c) = (arr1(&[2]), arr1(&[3]));
        let mut first = NpzUpdate::open(&path).unwrap();
        // A change that fails leaves the others, and the lock.
        assert_eq!(first.add("b", &b).unwrap().add("a", &c).unwrap_err().kind(), ErrorKind::AmbiguousName);
        assert!(is_locked(&NpzUpdate::open(&path).unwrap_err()));
        assert!(is_locked(&write_npz(&path, &[("x", &c)]).unwrap_err()));
        first.finish().unwrap();
        assert_eq!(first.finish().unwrap_err().kind(), ErrorKind::OutOfTurn);
        // One that fails gives the lock back.
        let mut refused = NpzUpdate::open(&path).unwrap();
        refused = refused.with_options(&WriteOptions::new().in_place(true));
        assert_eq!(refused.finish().unwrap_err().kind(), ErrorKind::BadOption);
        assert_eq!(refused.finish().unwrap_err().kind(), ErrorKind::OutOfTurn);
        NpzUpdate::open(&path).unwrap().add("c", &c).unwrap().finish().unwrap();
        assert_eq!(NpzFile::open(&path).unwrap().names().unwrap(), ["a", "b", "c"]);
    }

    /// Returns the bytes of each directory record, with the member's offset zeroed.
    fn directory_records(archive: &[u8]) -> Vec<Vec<u8>> {
        let mut at = archive.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        let mut found = Vec::new();
        while archive[at..].starts_with(b"PK\x01\x02") {
            let len = |place: usize| {
                usize::from(u16::from_le_bytes([archive[at + place], archive[at + place + 1]]))
            };
            let end = 46 + len(28) + len(30) + len(32);
            let mut record = archive[at..at + end].to_vec();
            record[42..46].fill(0);
            found.push(record);
            at += end;
        }
        found
    }

    #[test]
    fn update_preserves_untouched_records_and_comment() {
        let folder = folder();
        let path = folder.path().join("a.npz");
        let one = arr1(&[1.0]);
        for name in ["archive-behind_others.npz", "archive-piped_deflated.npz", "archive-stored.npz"] {
            let old = fs::read(manifest::testdata().join(name)).unwrap();
            fs::write(&path, &old).unwrap();
            NpzUpdate::open(&path).unwrap().add("one", &one).unwrap().finish().unwrap();
            let new = fs::read(&path).unwrap();
            let before = old.windows(4).position(|bytes| bytes == b"PK\x03\x04").unwrap();
            assert_eq!(new[..before], old[..before], "{name}");
            assert_eq!(new.ends_with(b"a comment"), old.ends_with(b"a comment"), "{name}");
            let (old, new) = (directory_records(&old), directory_records(&new));
            assert_eq!(new.len(), old.len() + 1);
            for (old, new) in old.iter().zip(&new) {
                // The required version and the descriptor flag are those of the new local record.
                assert_eq!((old[4..6].to_vec(), &old[10..]), (new[4..6].to_vec(), &new[10..]), "{name}");
            }
        }
        let text = arr1(&[7u8]);
        fs::copy(manifest::testdata().join("archive-piped_deflated.npz"), &path).unwrap();
        NpzUpdate::open(&path).unwrap().replace("readme.txt", &text).unwrap().finish().unwrap();
        let names: Vec<_> = NpzFile::open(&path)
            .unwrap()
            .members()
            .iter()
            .map(|member| member.file_name().to_owned())
            .collect();
        assert_eq!(names.last().unwrap(), "readme.txt", "a member's name stays as it is");
    }

    #[test]
    fn removing_duplicate_name_by_index_repairs_archive() {
        let folder = folder();
        let path = folder.path().join("a.npz");
        write_npz(&path, &[("a1", &arr1(&[1])), ("a2", &arr1(&[2]))]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() - 6 {
            if bytes[at..].starts_with(b"a2.npy") {
                bytes[at + 1] = b'1';
            }
        }
        fs::write(&path, &bytes).unwrap();
        let error = NpzUpdate::open(&path).unwrap().remove("a1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AmbiguousName, "{error}");
        NpzUpdate::open(&path).unwrap().remove(0).unwrap().finish().unwrap();
        let npz = NpzFile::open(&path).unwrap();
        assert_eq!(
            (npz.names().unwrap(), npz.read::<Array1<i32>>("a1").unwrap()),
            (vec!["a1".to_owned()], arr1(&[2]))
        );
    }

    #[test]
    fn copy_raw_stops_at_declared_member_size() {
        let folder = folder();
        let path = folder.path().join("a.npz");
        let deflated = WriteOptions::new().compression(Compression::DEFLATE);
        deflated.write_npz(&path, &[("a", &Array1::<u8>::zeros(1_000_000))]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let (true_size, lie) = (1_000_128u64.to_le_bytes(), 1000u64.to_le_bytes());
        for at in 0..bytes.len() - 8 {
            if bytes[at..at + 8] == true_size {
                bytes[at..at + 8].copy_from_slice(&lie);
            } else if bytes[at..at + 4] == true_size[..4] {
                bytes[at..at + 4].copy_from_slice(&lie[..4]);
            }
        }
        fs::write(&path, &bytes).unwrap();
        let mut copied = Vec::new();
        let error = NpzFile::open(&path).unwrap().copy_raw("a.npy", &mut copied).unwrap_err();
        assert!(
            error.message().starts_with("malformed archive") && copied.len() <= 1000,
            "{error} {}",
            copied.len()
        );
        let options = ReadOptions::new().limits(Limits::default().payload(999));
        let limited = options.open_npz(&path).unwrap();
        assert!(limited.copy_raw("a.npy", &mut Vec::new()).unwrap_err().is_limit());
    }

    #[cfg(any(unix, windows))]
    #[test]
    fn members_written_in_append_mode_are_aligned() {
        let folder = folder();
        let path = folder.path().join("a.npz");
        fs::write(&path, b"something else").unwrap();
        let mut npz = ndarray_io::NpzWriter::new(File::options().append(true).open(&path).unwrap());
        npz.add("a", &Array1::<f64>::ones(100_000)).unwrap();
        npz.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        let content = bytes.windows(6).position(|bytes| bytes == b"\x93NUMPY").unwrap();
        assert_eq!(content % 64, 0);
        assert_eq!(NpzFile::open(&path).unwrap().read::<Array1<f64>>("a").unwrap().sum(), 100_000.0);
    }

    #[cfg(feature = "mmap")]
    #[test]
    fn mutable_archive_map_reports_existing_damage() {
        use ndarray::Ix1;
        use ndarray_io::npz::NpzMmapMut;
        let folder = folder();
        let path = folder.path().join("a.npz");
        let write = || write_npz(&path, &[("a", &arr1(&[1.5, 2.5])), ("b", &arr1(&[7u8]))]).unwrap();
        write();
        // SAFETY: the file belongs to this test, here and below.
        let mut npz = unsafe { NpzMmapMut::open(&path).unwrap() };
        assert!(is_locked(&write_npz(&path, &[]).unwrap_err()));
        // SAFETY: as above.
        assert!(is_locked(&unsafe { NpzMmapMut::open(&path).unwrap_err() }));
        assert!(npz.view_mut::<u8, Ix1>("a").unwrap_err().is_mismatch());
        drop(npz);
        // Damage in an element that is not changed.
        let mut bytes = fs::read(&path).unwrap();
        let at = bytes.windows(8).position(|bytes| bytes == 2.5f64.to_ne_bytes()).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        // SAFETY: as above.
        let mut npz = unsafe { NpzMmapMut::open(&path).unwrap() };
        let error = npz.view_mut::<f64, Ix1>("a").unwrap_err();
        assert!(error.message().starts_with("checksum mismatch"), "{error}");
        npz.sync().unwrap();
        drop(npz);
        assert_eq!(fs::read(&path).unwrap(), bytes);
        // A flag that is set in the directory only.
        write();
        let mut bytes = fs::read(&path).unwrap();
        let central = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        bytes[central + 8] |= 8;
        fs::write(&path, &bytes).unwrap();
        // SAFETY: as above.
        let mut npz = unsafe { NpzMmapMut::open(&path).unwrap() };
        npz.view_mut::<f64, Ix1>("a").unwrap()[0] = 10.0;
        npz.sync().unwrap();
        drop(npz);
        assert_eq!(NpzFile::open(&path).unwrap().read::<Array1<f64>>("a").unwrap(), arr1(&[10.0, 2.5]));
    }
}

/// The lock ends with the writer, although the file that it returned is still open. (A child process that
/// another thread has just started may hold the file open in the same way.)
#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs locks")]
fn lock_is_released_when_writer_finishes() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr1(&[1u8])).unwrap();
    let first = NpyWriter::<u8, _>::append(&path).unwrap();
    assert!(matches!(NpyWriter::<u8, _>::append(&path).unwrap_err().kind(), ErrorKind::Locked));
    let file = first.push_and_finish(&arr1(&[2])).unwrap();
    NpyWriter::<u8, _>::append(&path).unwrap().push_and_finish(&arr1(&[3])).unwrap();
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1, 2, 3]));
    drop(file);
}
