//! Files by path, which are replaced atomically.

use std::fs;
use std::path::Path;

use ndarray::{Array1, arr1};
use ndarray_io::error::ErrorKind;
use ndarray_io::{ReadOptions, WriteOptions, read_npy, write_npy};

fn only_file(folder: &Path) -> String {
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names[0].to_str().unwrap().to_owned()
}

#[test]
fn existing_file_is_replaced_without_leftovers() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    for sync in [false, true] {
        write_npy(&path, &Array1::<u8>::zeros(1000)).unwrap();
        WriteOptions::new().sync(sync).write_npy(&path, &arr1(&[1u8, 2])).unwrap();
        assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1, 2]));
        assert_eq!(only_file(folder.path()), "a.npy");
    }
}

#[test]
#[cfg_attr(windows, ignore = "needs a file system that puts a file in the place of an open one")]
fn open_file_keeps_old_content_after_replacement() {
    use std::io::Read;
    let file = crate::support::ClosedTempFile::new();
    write_npy(file.path(), &arr1(&[1u8, 2])).unwrap();
    let mut old = fs::File::open(file.path()).unwrap();
    write_npy(file.path(), &arr1(&[3u8, 4])).unwrap();
    let mut bytes = Vec::new();
    old.read_to_end(&mut bytes).unwrap();
    assert!(bytes.ends_with(&[1, 2]));
}

#[test]
fn trailing_bytes_are_an_error_unless_allowed() {
    let file = crate::support::ClosedTempFile::new();
    write_npy(file.path(), &arr1(&[1u8, 2])).unwrap();
    let mut bytes = fs::read(file.path()).unwrap();
    bytes.extend([0; 7]);
    fs::write(file.path(), bytes).unwrap();
    let error = read_npy::<_, Array1<u8>>(file.path()).unwrap_err();
    assert!(error.message().starts_with("found 7 bytes"), "{error}");
    assert!(error.help().is_some_and(|help| help.id() == "recover-trailing"));
    let options = ReadOptions::new().allow_trailing(true);
    assert_eq!(options.read_npy::<Array1<u8>>(file.path()).unwrap(), arr1(&[1, 2]));
}

#[test]
fn create_new_npy_refuses_existing_file() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    WriteOptions::new().create_new(true).write_npy(&path, &arr1(&[1u8])).unwrap();
    let error = WriteOptions::new().create_new(true).write_npy(&path, &arr1(&[2u8])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1]));
    assert_eq!(only_file(folder.path()), "a.npy");
}

#[test]
fn failed_write_keeps_old_file() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &arr1(&[1u8])).unwrap();
    let options = WriteOptions::new().version(ndarray_io::npy::Version::V1);
    // Every allowed shape fits into a header of version 1.0; too many axes are refused in every version.
    let many = ndarray::ArrayD::<u8>::zeros(vec![1; 65]);
    assert!(options.write_npy(&path, &many).unwrap_err().is_limit());
    assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[1]));
    assert_eq!(only_file(folder.path()), "a.npy");
    let error = write_npy(folder.path().join("no/folder/a.npy"), &arr1(&[1u8])).unwrap_err();
    assert!(error.is_io() && error.path().is_some());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn symlinks_are_followed() {
        let folder = crate::support::temp::folder().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let target = inner.join("target.npy");
        write_npy(&target, &arr1(&[1u8])).unwrap();
        symlink("inner/target.npy", folder.path().join("one.npy")).unwrap();
        symlink("one.npy", folder.path().join("two.npy")).unwrap();
        write_npy(folder.path().join("two.npy"), &arr1(&[2u8])).unwrap();
        assert_eq!(read_npy::<_, Array1<u8>>(&target).unwrap(), arr1(&[2]));
        assert!(fs::symlink_metadata(folder.path().join("two.npy")).unwrap().is_symlink());
        // Writing through a dangling link creates the file.
        symlink("inner/new.npy", folder.path().join("three.npy")).unwrap();
        write_npy(folder.path().join("three.npy"), &arr1(&[3u8])).unwrap();
        assert_eq!(read_npy::<_, Array1<u8>>(inner.join("new.npy")).unwrap(), arr1(&[3]));
        // A cycle of links is an error.
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(write_npy(folder.path().join("a"), &arr1(&[3u8])).unwrap_err().is_io());
    }

    #[test]
    fn permissions_are_kept() {
        let file = crate::support::ClosedTempFile::new();
        for mode in [0o600, 0o640, 0o755] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            write_npy(file.path(), &arr1(&[1u8])).unwrap();
            assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, mode);
        }
    }

    #[test]
    fn replacing_hard_linked_file_requires_in_place() {
        let folder = crate::support::temp::folder().unwrap();
        let (one, two) = (folder.path().join("one.npy"), folder.path().join("two.npy"));
        write_npy(&one, &arr1(&[1u8, 1, 1])).unwrap();
        fs::hard_link(&one, &two).unwrap();
        let error = write_npy(&one, &arr1(&[2u8])).unwrap_err();
        assert!(error.message().starts_with("the file cannot be replaced atomically"), "{error}");
        assert!(error.is_conflict() && error.help().is_some_and(|help| help.id() == "in-place"), "{error}");
        assert_eq!(read_npy::<_, Array1<u8>>(&two).unwrap(), arr1(&[1, 1, 1]));
        WriteOptions::new().in_place(true).sync(true).write_npy(&one, &arr1(&[2u8])).unwrap();
        assert_eq!(read_npy::<_, Array1<u8>>(&two).unwrap(), arr1(&[2]));
    }

    #[test]
    fn named_pipe_is_written_and_read_directly() {
        let folder = crate::support::temp::folder().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let array = ndarray::Array2::from_shape_fn((500, 700), |(row, column)| (row * column) as f64);
        let written = array.clone();
        let target = path.clone();
        let writer = std::thread::spawn(move || write_npy(target, &written).unwrap());
        let read: ndarray::Array2<f64> = read_npy(&path).unwrap();
        writer.join().unwrap();
        assert_eq!(read, array);
        assert!(!fs::metadata(&path).unwrap().is_file(), "the pipe is still one");
    }

    /// A path such as `/dev/stdout` names an open file, which is written at its current position.
    #[test]
    fn descriptor_path_is_written_at_current_position() {
        use std::io::{Read, Write};
        use std::os::fd::AsRawFd;
        let mut expected = Vec::new();
        ndarray_io::WriteNpyExt::write_npy(&arr1(&[1u8, 2]), &mut expected).unwrap();

        let (mut reader, writer) = std::io::pipe().unwrap();
        write_npy(format!("/dev/fd/{}", writer.as_raw_fd()), &arr1(&[1u8, 2])).unwrap();
        drop(writer);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, expected);

        let folder = crate::support::temp::folder().unwrap();
        let path = folder.path().join("log");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"before ").unwrap();
        symlink(format!("/dev/fd/{}", file.as_raw_fd()), folder.path().join("link")).unwrap();
        write_npy(folder.path().join("link"), &arr1(&[1u8, 2])).unwrap();
        file.write_all(b" after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), [b"before ", &expected[..], b" after"].concat());
        assert!(write_npy("/dev/fd/987", &arr1(&[1u8])).unwrap_err().is_io());
    }

    #[test]
    fn refused_in_place_write_keeps_old_content() {
        let file = crate::support::ClosedTempFile::new();
        write_npy(file.path(), &Array1::<u8>::ones(100)).unwrap();
        let in_place = WriteOptions::new().in_place(true);
        let many = ndarray::ArrayD::<u8>::zeros(vec![1; 65]);
        assert!(in_place.write_npy(file.path(), &many).unwrap_err().is_limit());
        assert_eq!(read_npy::<_, Array1<u8>>(file.path()).unwrap(), Array1::<u8>::ones(100));
        // A shorter file leaves nothing of the longer one.
        in_place.write_npy(file.path(), &arr1(&[1u8])).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().len(), 129);
    }

    #[test]
    fn file_with_longest_name_can_be_replaced() {
        let folder = crate::support::temp::folder().unwrap();
        let path = folder.path().join(format!("{}.npy", "x".repeat(251)));
        WriteOptions::new().create_new(true).write_npy(&path, &arr1(&[1u8])).unwrap();
        write_npy(&path, &arr1(&[2u8])).unwrap();
        assert_eq!(read_npy::<_, Array1<u8>>(&path).unwrap(), arr1(&[2]));
    }

    #[test]
    fn writing_to_empty_or_parent_path_is_an_io_error() {
        // A bare name is in the current folder, where the test must not write, so it provokes an error.
        let error = write_npy("..", &ndarray::arr2(&[[1u8]])).unwrap_err();
        assert!(error.is_io(), "{error}");
        assert!(write_npy("", &ndarray::arr2(&[[1u8]])).unwrap_err().is_io());
    }
}
