//! New files, and files that are read and then replaced: what is there is never lost. (`tests/pairs` stops two processes at
//! each of their steps.)

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use ndarray::{Array1, Array2, arr1, arr2};
use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy};
use ndarray_io::error::ErrorKind;
use ndarray_io::options::Uncommitted;
use ndarray_io::{Error, NpyWriter, ReadNpyExt, WriteNpyExt, WriteOptions, read_npy, write_npy};

fn folder() -> tempfile::TempDir {
    crate::support::temp::folder().unwrap()
}

fn is_locked(error: &Error) -> bool {
    error.kind() == ErrorKind::Locked
}

fn already_exists(error: &Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}

#[test]
fn create_new_never_replaces_a_file() {
    let folder = folder();
    let (from, numbers, new) =
        (folder.path().join("from.npy"), arr1(&[1.0, 2.0]), || WriteOptions::new().create_new(true));
    write_npy(&from, &numbers).unwrap();
    type WriteFn<'a> = Box<dyn Fn(&Path) -> ndarray_io::Result<()> + 'a>;
    let conversion = || Conversion::new().write_options(new());
    #[cfg_attr(not(any(feature = "npz", feature = "mmap")), expect(unused_mut))]
    let mut writers: Vec<(&str, WriteFn<'_>)> = vec![
        ("npy", Box::new(|path| new().write_npy(path, &numbers))),
        (
            "npy of its own name",
            Box::new(|path| WriteOptions::new().create_new(true).write_npy(path, &numbers)),
        ),
        ("npy in place", Box::new(|path| new().in_place(true).write_npy(path, &numbers))),
        ("ra", Box::new(|path| new().write_ra(path, &numbers))),
        ("growing", Box::new(|path| new().create(path, &[])?.push_and_finish(&numbers).map(drop))),
        (
            "growing, of its own name",
            Box::new(|path| {
                WriteOptions::new().create_new(true).create(path, &[])?.push_and_finish(&numbers).map(drop)
            }),
        ),
        ("converted", Box::new(|path| convert_npy(&from, path, conversion()))),
        ("joined", Box::new(|path| concatenate_npy(&[&from, &from], path, 0, conversion()))),
        ("any format", Box::new(|path| new().replace_file(path, |file| numbers.write_npy(file)))),
    ];
    #[cfg(feature = "npz")]
    writers.push((
        "npz",
        Box::new(|path| {
            let options = new();
            options.write_npz(path, &[("a", &numbers)])
        }),
    ));
    #[cfg(feature = "mmap")]
    writers.push((
        "map",
        // SAFETY: the file is used only here.
        Box::new(|path| unsafe { new().create_map::<f64, _>(path, 2).map(drop) }),
    ));
    for (name, write) in writers {
        let path = folder.path().join(name);
        fs::write(&path, "what was there").unwrap();
        let error = write(&path).unwrap_err();
        assert!(already_exists(&error) && error.path() == Some(&path), "{name}: {error}");
        assert_eq!(fs::read(&path).unwrap(), b"what was there", "{name}");
        fs::remove_file(&path).unwrap();
        write(&path).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 0, "{name}");
        assert!(already_exists(&write(&path).unwrap_err()), "{name}");
        fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", &path).unwrap();
            assert!(already_exists(&write(&path).unwrap_err()), "{name}, a link that leads nowhere");
            fs::remove_file(&path).unwrap();
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "WASI has no locks")]
fn writer_locks_the_file_it_is_given() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
    let mut one = NpyWriter::<u64, _>::new(open(), &[]).unwrap();
    one.extend([1, 2]).unwrap();
    one.commit().unwrap();
    let is_refused = |what: &str| {
        let tries: [Option<Error>; 5] = [
            NpyWriter::<u64, _>::new(open(), &[]).err(),
            NpyWriter::<u64, _>::new(BufWriter::new(open()), &[]).err(),
            NpyWriter::<u64, _>::new(&open(), &[]).err(),
            NpyWriter::<u64, _>::append(&path).err(),
            NpyWriter::<u64, _>::create(&path, &[]).err(),
        ];
        for (number, error) in tries.into_iter().enumerate() {
            assert!(error.as_ref().is_some_and(is_locked), "{what}, try {number}: {error:?}");
        }
    };
    is_refused("a file");
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap(), arr1(&[1, 2]), "nothing was truncated");
    one.push_and_finish(&arr1(&[3])).unwrap();
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap(), arr1(&[1, 2, 3]));
    let buffered = NpyWriter::<u64, _>::new(BufWriter::new(open()), &[]).unwrap();
    is_refused("a buffered file");
    drop(buffered);
    // A path is locked once, and until the end: not only until the first of two locks is given up.
    let mut own = NpyWriter::<u64, _>::create(&path, &[]).unwrap();
    own.commit().unwrap();
    is_refused("a path");
    own.roll_back().unwrap();
    let mut new = NpyWriter::<u64, _>::new(open(), &[]).unwrap();
    new.extend([4]).unwrap();
    new.finish().unwrap();
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap(), arr1(&[4]));
}

#[test]
fn append_or_create_creates_then_appends() {
    let folder = folder();
    let path = folder.path().join("log.npy");
    for day in 1..=3 {
        NpyWriter::append_or_create(&path, &[2]).unwrap().push_and_finish(&arr1(&[day, 0])).unwrap();
    }
    let all = arr2(&[[1, 0], [2, 0], [3, 0]]);
    assert_eq!(read_npy::<_, Array2<i32>>(&path).unwrap(), all);
    // Rows of another shape change nothing, not even what an interrupted append has left.
    let mut writer = NpyWriter::<i32, _>::append(&path).unwrap();
    writer.push(&arr1(&[4, 0])).unwrap();
    drop(writer);
    let before = fs::read(&path).unwrap();
    let open =
        |row: &[usize], surplus| WriteOptions::new().uncommitted(surplus).append_or_create::<i32>(&path, row);
    let error = open(&[3], Uncommitted::Discard).unwrap_err();
    assert!(error.message().starts_with("expected rows of shape"), "{error}");
    assert_eq!(open(&[2], Uncommitted::Refuse).unwrap_err().kind(), ErrorKind::Uncommitted);
    assert_eq!(fs::read(&path).unwrap(), before);
    open(&[2], Uncommitted::Recover).unwrap().finish().unwrap();
    assert_eq!(read_npy::<_, Array2<i32>>(&path).unwrap().nrows(), 4);
    // A new file has its header before anything is pushed.
    let new = folder.path().join("new.npy");
    let writer = NpyWriter::<i32, _>::append_or_create(&new, &[2]).unwrap();
    assert_eq!(read_npy::<_, Array2<i32>>(&new).unwrap().dim(), (0, 2));
    assert!(cfg!(target_os = "wasi") || is_locked(&NpyWriter::<i32, _>::append(&new).unwrap_err()));
    drop(writer);
    #[cfg(unix)]
    {
        let link = folder.path().join("link.npy");
        std::os::unix::fs::symlink("nowhere.npy", &link).unwrap();
        assert!(already_exists(&NpyWriter::<i32, _>::append_or_create(&link, &[2]).unwrap_err()));
    }
}

#[test]
#[cfg_attr(target_os = "wasi", ignore = "WASI has no locks")]
fn file_stays_locked_from_reading_to_replacing() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    assert!(WriteOptions::new().begin_replacement(&path).unwrap_err().is_not_found());
    write_npy(&path, &arr1(&[1, 2])).unwrap();
    let old = WriteOptions::new().begin_replacement(&path).unwrap();
    let read = Array1::<i32>::read_npy(old.file()).unwrap();
    for error in [
        write_npy(&path, &arr1(&[7])).unwrap_err(),
        NpyWriter::<i32, _>::append(&path).unwrap_err(),
        WriteOptions::new().begin_replacement(&path).unwrap_err(),
        convert_npy(&path, &path, Conversion::new()).unwrap_err(),
    ] {
        assert!(is_locked(&error), "{error}");
    }
    old.replace_with(|new| (read * 10).write_npy(new)).unwrap();
    assert_eq!(read_npy::<_, Array1<i32>>(&path).unwrap(), arr1(&[10, 20]));
    // An error of the caller's own comes back as it is, and the old file stays.
    let failed = WriteOptions::new()
        .begin_replacement(&path)
        .unwrap()
        .replace_with(|_| Err::<(), Box<dyn std::error::Error>>("no".into()));
    assert_eq!(failed.unwrap_err().to_string(), "no");
    assert_eq!(read_npy::<_, Array1<i32>>(&path).unwrap(), arr1(&[10, 20]));
    drop(WriteOptions::new().begin_replacement(&path).unwrap());
    // A program that does not lock has put another file there: it is not replaced.
    let old = WriteOptions::new().begin_replacement(&path).unwrap();
    fs::write(folder.path().join("other"), "of someone else").unwrap();
    if fs::rename(folder.path().join("other"), &path).is_ok() {
        assert!(is_locked(&old.replace_with(|new| arr1(&[0]).write_npy(new)).unwrap_err()));
        assert_eq!(fs::read(&path).unwrap(), b"of someone else");
    } else {
        fs::remove_file(folder.path().join("other")).unwrap(); // Windows does not replace an open file
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A writer on the file that a callback is given takes no lock of its own, which it would give up before the change is complete.
#[test]
#[cfg_attr(target_os = "wasi", ignore = "WASI has no locks")]
fn writer_in_a_callback_takes_no_second_lock() {
    let folder = folder();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr1(&[1u64])).unwrap();
    WriteOptions::new()
        .in_place(true)
        .replace_file(&path, |file| {
            NpyWriter::<u64, _>::new(file, &[])?.push_and_finish(&arr1(&[2, 3]))?;
            assert!(is_locked(&NpyWriter::<u64, _>::append(&path).unwrap_err()));
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap(), arr1(&[2, 3]));
    WriteOptions::new()
        .begin_replacement(&path)
        .unwrap()
        .replace_with(|file| NpyWriter::<u64, _>::new(file, &[])?.push_and_finish(&arr1(&[4])).map(drop))
        .unwrap();
    assert_eq!(read_npy::<_, Array1<u64>>(&path).unwrap(), arr1(&[4]));
    NpyWriter::append(&path).unwrap().push_and_finish(&arr1(&[5u64])).unwrap();
}
