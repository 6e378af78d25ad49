//! Memory-mapped files.
#![cfg(feature = "mmap")]

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array1, Array2, ArrayD, Ix0, Ix1, Ix2, IxDyn, ShapeBuilder, arr1, arr2};
use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::dtype::ByteOrder;
use ndarray_io::error::{ErrorKind, FileSection};
use ndarray_io::header::Order;
use ndarray_io::npy::Version;
use ndarray_io::{NpyMmap, NpyMmapMut, WriteOptions, read_npy, write_npy};

use crate::support::{manifest, native};

/// Returns a copy of a test file, which are little-endian, in this machine's byte order.
fn of_this_machine(folder: &Path, name: &str) -> PathBuf {
    let path = manifest::testdata().join(name);
    if cfg!(target_endian = "little") {
        return path;
    }
    let swapped = folder.join(format!("native-{name}"));
    convert_npy(path, &swapped, Conversion::new().byte_order(ByteOrder::NATIVE)).unwrap();
    swapped
}

#[test]
fn a_made_file_is_numpys() {
    let folder = crate::support::temp::folder().unwrap();
    let expected = manifest::testdata();
    for (name, fortran) in [("shape-l-2x3-c.npy", false), ("shape-l-2x3-f.npy", true)] {
        let path = folder.path().join(name);
        let content: Array2<f64> = read_npy(expected.join(name)).unwrap();
        // SAFETY: the file belongs to this test.
        let mut map = unsafe { NpyMmapMut::<f64, Ix2>::create(&path, (2, 3).set_f(fortran)).unwrap() };
        assert_eq!(map.order() == Order::Fortran, fortran);
        assert_eq!(map.view(), Array2::<f64>::zeros((2, 3)));
        map.view_mut().assign(&content);
        map.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(of_this_machine(folder.path(), name)).unwrap());
    }
}

#[test]
fn a_made_file_takes_no_room_and_leaves_nothing() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("large.npy");
    // SAFETY: the file belongs to this test.
    let mut map = unsafe { NpyMmapMut::<u8, Ix2>::create(&path, (1 << 20, 1 << 10)).unwrap() };
    map.view_mut()[[1 << 19, 7]] = 1;
    assert_eq!(fs::metadata(&path).unwrap().len(), (1 << 30) + 128);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        assert!(fs::metadata(&path).unwrap().blocks() < 2048, "the file is sparse");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    // SAFETY: as above.
    let create = |shape| unsafe { NpyMmapMut::<f64, Ix2>::create(folder.path().join("x.npy"), shape) };
    assert!(create((1 << (usize::BITS - 1), 1 << (usize::BITS - 1))).unwrap_err().is_format());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a failure leaves nothing");
}

#[test]
fn shared_changes_reach_the_file_and_private_ones_do_not() {
    let file = crate::support::Temp::new();
    write_npy(file.path(), &arr1(&[1, 2, 3])).unwrap();
    // SAFETY: the file belongs to this test.
    let mut cow = unsafe { NpyMmapMut::<i32, Ix1>::open_cow(file.path()).unwrap() };
    cow.view_mut()[0] = 10;
    assert_eq!(cow.view(), arr1(&[10, 2, 3]));
    assert_eq!(read_npy::<_, Array1<i32>>(file.path()).unwrap(), arr1(&[1, 2, 3]));
    drop(cow);
    // SAFETY: as above.
    let mut shared = unsafe { NpyMmapMut::<i32, Ix1>::open(file.path()).unwrap() };
    shared.view_mut()[1] = 20;
    shared.flush().unwrap();
    assert_eq!(read_npy::<_, Array1<i32>>(file.path()).unwrap(), arr1(&[1, 20, 3]));
}

#[test]
#[cfg_attr(windows, ignore = "needs a file system that puts a file in the place of an open one")]
fn a_map_outlives_its_file() {
    let file = crate::support::Temp::new();
    write_npy(file.path(), &arr2(&[[1.0, 2.0], [3.0, 4.0]])).unwrap();
    // SAFETY: the file belongs to this test, and it is only ever replaced.
    let map = unsafe { NpyMmap::<f64, Ix2>::open(file.path()).unwrap() };
    // A view of the file is written back to the same path.
    write_npy(file.path(), &map.view().reversed_axes()).unwrap();
    assert_eq!(map.view(), arr2(&[[1.0, 2.0], [3.0, 4.0]]));
    assert_eq!(read_npy::<_, Array2<f64>>(file.path()).unwrap(), arr2(&[[1.0, 3.0], [2.0, 4.0]]));
    write_npy(file.path(), &arr1(&[0u8])).unwrap();
    assert_eq!(map.view()[[1, 1]], 4.0);
}

#[test]
fn a_map_describes_itself() {
    let folder = crate::support::temp::folder().unwrap();
    let path = of_this_machine(folder.path(), "fortran-lf8.npy");
    // SAFETY: no process changes the test data.
    let map = unsafe { NpyMmap::<f64, IxDyn>::open(&path).unwrap() };
    assert_eq!((map.shape(), map.order(), map.version()), (&[2, 3][..], Order::Fortran, Version::V1));
    assert_eq!((map.dtype().to_string(), map.data_offset(), map.trailing_len()), (native("'<f8'"), 128, 0));
}

#[test]
fn what_cannot_be_mapped_says_why() {
    let open = |bytes: &[u8]| {
        let file = crate::support::Temp::new();
        fs::write(file.path(), bytes).unwrap();
        // SAFETY: the file belongs to this test.
        unsafe { NpyMmap::<f64, IxDyn>::open(file.path()) }
            .map(|map| (map.trailing_len(), map.view().to_owned()))
    };
    let folder = crate::support::temp::folder().unwrap();
    let bytes = fs::read(of_this_machine(folder.path(), "shape-l-2x3-c.npy")).unwrap();
    let array: ArrayD<f64> = read_npy(manifest::testdata().join("shape-l-2x3-c.npy")).unwrap();
    assert_eq!(open(&bytes).unwrap(), (0, array.clone()));
    assert_eq!(open(&[&bytes[..], b"tail"].concat()).unwrap(), (4, array));
    let error = open(&bytes[..150]).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Truncated { part: FileSection::Payload { .. }, need: 48, have: 22, .. }
        ),
        "{error}"
    );
    assert!(error.path().is_some());
    let error = open(&[]).unwrap_err();
    assert!(error.is_io() || error.is_format(), "{error}");
    let foreign = if cfg!(target_endian = "little") { "number-bf8.npy" } else { "number-lf8.npy" };
    let error = open(&fs::read(manifest::testdata().join(foreign)).unwrap()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ForeignByteOrder { .. }), "{error}");
    let error = open(&fs::read(manifest::testdata().join("hand-unpadded.bin")).unwrap()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DTypeMismatch { .. }), "{error}");
    if cfg!(target_endian = "big") {
        return; // data of the other byte order is refused before alignment is checked
    }
    let path = manifest::testdata().join("hand-unpadded.bin");
    // SAFETY: no process changes the test data.
    let error = unsafe { NpyMmap::<f32, IxDyn>::open(path) }.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Misaligned { wanted: 4, .. }), "{error}");
}

#[test]
fn bools_are_checked_once() {
    for name in ["bad-bool-2.bin", "bad-bool-255.bin"] {
        let path = manifest::testdata().join(name);
        // SAFETY: no process changes the test data.
        let map = unsafe { NpyMmap::<bool, IxDyn>::open(&path) };
        assert_eq!(map.unwrap_err().element(), Some(4));
    }
}

#[test]
fn arrays_without_axes_or_elements_are_mapped() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("x.npy");
    // SAFETY: the file belongs to this test.
    let mut map = unsafe { NpyMmapMut::<u16, Ix0>::create(&path, ()).unwrap() };
    map.view_mut()[()] = 7;
    assert_eq!(map.view()[()], 7);
    drop(map);
    // SAFETY: as above.
    let mut map = unsafe { NpyMmapMut::<u16, Ix2>::create(&path, (0, 5)).unwrap() };
    assert_eq!(map.view_mut().shape(), [0, 5]);
    assert_eq!(map.view().len(), 0);
}

#[test]
fn a_map_in_the_other_byte_order_is_not_made() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("x.npy");
    let other = match ndarray_io::dtype::ByteOrder::NATIVE {
        ndarray_io::dtype::ByteOrder::Little => ndarray_io::dtype::ByteOrder::Big,
        ndarray_io::dtype::ByteOrder::Big => ndarray_io::dtype::ByteOrder::Little,
    };
    // SAFETY: the file belongs to this test.
    let made =
        unsafe { NpyMmapMut::<u16, Ix1>::create_with(&path, 5, &WriteOptions::new().byte_order(other)) };
    assert!(made.unwrap_err().is_usage());
    assert!(!path.exists());
}

#[test]
fn a_map_is_made_in_place() {
    let file = crate::support::Temp::new();
    write_npy(file.path(), &Array1::<u16>::ones(100)).unwrap();
    let in_place = WriteOptions::new().in_place(true);
    // SAFETY: the file belongs to this test.
    let mut map = unsafe { NpyMmapMut::<u16, Ix1>::create_with(file.path(), 3, &in_place).unwrap() };
    map.view_mut()[2] = 5;
    map.flush().unwrap();
    assert_eq!(read_npy::<_, Array1<u16>>(file.path()).unwrap(), arr1(&[0, 0, 5]));
}
