//! Memory-mapped files.
#![cfg(feature = "mmap")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ndarray::{
    Array1, Array2, Array3, ArrayD, Axis, Ix0, Ix1, Ix2, Ix3, IxDyn, NewAxis, ShapeBuilder, arr1, arr2, s,
};
use ndarray_io::bytes::{InMemory, LocalFile, ReadAt};
use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Extent, Order};
use ndarray_io::npy::Version;
use ndarray_io::{ByteOrder, NpyFile, NpyMmap, NpyMmapMut, NpyWriter, WriteOptions, read_npy, write_npy};

use crate::support::{manifest, native_descr};

/// Returns a copy of a test file, which are little-endian, in this machine's byte order.
fn native_order_file(folder: &Path, name: &str) -> PathBuf {
    let path = manifest::testdata().join(name);
    if cfg!(target_endian = "little") {
        return path;
    }
    let swapped = folder.join(format!("native-{name}"));
    convert_npy(path, &swapped, Conversion::new().byte_order(ByteOrder::NATIVE)).unwrap();
    swapped
}

#[test]
fn created_file_equals_numpys() {
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
        map.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(native_order_file(folder.path(), name)).unwrap());
    }
}

#[test]
fn created_file_is_sparse_and_leaves_no_draft() {
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
    let file = crate::support::ClosedTempFile::new();
    write_npy(file.path(), &arr1(&[1, 2, 3])).unwrap();
    // SAFETY: the file belongs to this test.
    let mut cow = unsafe { ndarray_io::ReadOptions::new().map_cow::<i32, Ix1>(file.path()).unwrap() };
    cow.view_mut()[0] = 10;
    assert_eq!(cow.view(), arr1(&[10, 2, 3]));
    assert_eq!(read_npy::<_, Array1<i32>>(file.path()).unwrap(), arr1(&[1, 2, 3]));
    drop(cow);
    // SAFETY: as above.
    let mut shared = unsafe { NpyMmapMut::<i32, Ix1>::open(file.path()).unwrap() };
    shared.view_mut()[1] = 20;
    shared.sync().unwrap();
    assert_eq!(read_npy::<_, Array1<i32>>(file.path()).unwrap(), arr1(&[1, 20, 3]));
}

#[test]
#[cfg_attr(windows, ignore = "needs a file system that puts a file in the place of an open one")]
fn map_keeps_content_of_replaced_file() {
    let file = crate::support::ClosedTempFile::new();
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
fn map_reports_shape_order_dtype_and_extent() {
    let folder = crate::support::temp::folder().unwrap();
    let path = native_order_file(folder.path(), "fortran-lf8.npy");
    // SAFETY: no process changes the test data.
    let map = unsafe { NpyMmap::<f64, IxDyn>::open(&path).unwrap() };
    assert_eq!(
        (map.shape(), map.order(), map.npy_header().unwrap().version),
        (&[2, 3][..], Order::Fortran, Version::V1)
    );
    assert_eq!(
        (map.dtype().to_string(), map.data_offset(), map.extent()),
        (native_descr("'<f8'"), 128, Extent::Whole)
    );
}

#[test]
fn unmappable_files_report_the_reason() {
    let open = |bytes: &[u8]| {
        let file = crate::support::ClosedTempFile::new();
        fs::write(file.path(), bytes).unwrap();
        // SAFETY: the file belongs to this test.
        unsafe { NpyMmap::<f64, IxDyn>::open(file.path()) }.map(|map| (map.extent(), map.view().to_owned()))
    };
    let folder = crate::support::temp::folder().unwrap();
    let bytes = fs::read(native_order_file(folder.path(), "shape-l-2x3-c.npy")).unwrap();
    let array: ArrayD<f64> = read_npy(manifest::testdata().join("shape-l-2x3-c.npy")).unwrap();
    assert_eq!(open(&bytes).unwrap(), (Extent::Whole, array.clone()));
    assert_eq!(open(&[&bytes[..], b"tail"].concat()).unwrap(), (Extent::Long { more: 4 }, array));
    let error = open(&bytes[..150]).unwrap_err();
    assert!(error.message().contains("(48 bytes), 22 bytes remain"), "{error}");
    assert!(error.path().is_some());
    let error = open(&[]).unwrap_err();
    assert!(error.is_io() || error.is_format(), "{error}");
    let foreign = if cfg!(target_endian = "little") { "number-bf8.npy" } else { "number-lf8.npy" };
    let error = open(&fs::read(manifest::testdata().join(foreign)).unwrap()).unwrap_err();
    assert!(error.message().starts_with("expected this machine's byte order"), "{error}");
    let error = open(&fs::read(manifest::testdata().join("hand-unpadded.bin")).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DTypeMismatch, "{error}");
    if cfg!(target_endian = "big") {
        return; // data of the other byte order is refused before alignment is checked
    }
    let path = manifest::testdata().join("hand-unpadded.bin");
    // SAFETY: no process changes the test data.
    let error = unsafe { NpyMmap::<f32, IxDyn>::open(path) }.unwrap_err();
    assert!(error.message().starts_with("misaligned: expected a multiple of 4 bytes"), "{error}");
}

#[test]
fn mapping_invalid_bools_is_refused() {
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
fn creating_map_in_foreign_byte_order_is_refused() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("x.npy");
    let other = match ndarray_io::ByteOrder::NATIVE {
        ndarray_io::ByteOrder::Little => ndarray_io::ByteOrder::Big,
        ndarray_io::ByteOrder::Big => ndarray_io::ByteOrder::Little,
    };
    // SAFETY: the file belongs to this test.
    let made = unsafe { WriteOptions::new().byte_order(other).create_map::<u16, _>(&path, 5) };
    assert!(made.unwrap_err().is_usage());
    assert!(!path.exists());
}

#[test]
fn map_created_in_place_replaces_old_content() {
    let file = crate::support::ClosedTempFile::new();
    write_npy(file.path(), &Array1::<u16>::ones(100)).unwrap();
    let in_place = WriteOptions::new().in_place(true);
    // SAFETY: the file belongs to this test.
    let mut map = unsafe { in_place.create_map::<u16, _>(file.path(), 3).unwrap() };
    map.view_mut()[2] = 5;
    map.sync().unwrap();
    assert_eq!(read_npy::<_, Array1<u16>>(file.path()).unwrap(), arr1(&[0, 0, 5]));
}

/// Opens a file that nothing changes.
fn open_mapped(path: &Path) -> ndarray_io::Result<NpyFile> {
    // SAFETY: as promised by the tests that call it.
    unsafe { NpyFile::open(path)?.with_map() }
}

/// What many short runs are copied from makes no difference to what they are.
#[test]
fn slices_and_takes_of_maps_equal_ndarrays() {
    let folder = crate::support::temp::folder().unwrap();
    let numbers = Array3::from_shape_fn((40, 30, 50), |(a, b, c)| (a * 10_000 + b * 100 + c) as u32);
    for (name, numbers) in
        [("c.npy", numbers.clone()), ("f.npy", numbers.clone().t().to_owned().reversed_axes())]
    {
        let path = folder.path().join(name);
        write_npy(&path, &numbers).unwrap();
        let mapped = open_mapped(&path).unwrap();
        // SAFETY: nothing changes the file.
        let map = unsafe { NpyMmap::<u32, Ix3>::open(&path).unwrap() };
        assert_eq!(mapped.read::<Array3<u32>>().unwrap(), numbers);
        macro_rules! compare {
            ($($part:tt)*) => {
                let wanted = numbers.slice(s![$($part)*]);
                assert_eq!(mapped.slice::<u32, _>(s![$($part)*]).unwrap(), wanted);
                assert_eq!(map.slice(s![$($part)*]).unwrap(), wanted);
                let mut into = wanted.mapv(|_| 0);
                mapped.slice_into(s![$($part)*], &mut into).unwrap();
                assert_eq!(into, wanted);
            };
        }
        compare![.., .., 7];
        compare![.., 3, ..];
        compare![5, .., ..];
        compare![.., .., ..;2];
        compare![..;3, 4..;-5, 1..49;7];
        compare![.., ..;2, ..];
        compare![..;-1, .., NewAxis, 0];
        compare![.., .., 5..5];
        compare![.., .., ..];
        for (axis, indices) in [(0, vec![39, 0, 0, 17]), (1, vec![2]), (2, vec![49, 3, 48, 3]), (1, vec![])] {
            let wanted = numbers.select(Axis(axis), &indices);
            assert_eq!(mapped.take::<Array3<u32>>(axis, &indices).unwrap(), wanted);
            assert_eq!(map.take(axis, &indices).unwrap(), wanted);
        }
        let shapes: Vec<_> = mapped.chunks::<u32, Ix3>(2, 1).unwrap().map(Result::unwrap).collect();
        assert_eq!(shapes.len(), 50);
        assert!(shapes.iter().enumerate().all(|(c, chunk)| chunk == numbers.slice(s![.., .., c..c + 1])));
        assert!(map.take(3, &[0]).unwrap_err().to_string().contains("no axis 3"));
        assert!(map.take(0, &[40]).unwrap_err().to_string().contains("index 40 is out of bounds"));
        assert!(map.slice(s![41.., .., ..]).is_err());
        assert!(map.slice(s![.., ..]).is_err());
    }
}

#[test]
fn refresh_maps_appended_rows() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("log.npy");
    let mut writer = NpyWriter::create(&path, &[4]).unwrap();
    writer.push(&arr1(&[1u64, 2, 3, 4])).unwrap();
    writer.commit().unwrap();
    // SAFETY: rows are appended, and nothing else changes.
    let mut file = unsafe { NpyFile::open(&path).unwrap().with_map().unwrap() };
    for row in 1..3000 {
        writer.push(&arr1(&[row, row + 1, row + 2, row + 3])).unwrap();
    }
    writer.commit().unwrap();
    assert_eq!(file.slice::<u64, _>(s![.., 2]).unwrap(), arr1(&[3]));
    assert!(file.refresh().unwrap());
    let column: Array1<u64> = file.slice::<u64, _>(s![.., 2]).unwrap();
    assert_eq!((column.len(), column[2999_usize]), (3000, 3001));
    assert_eq!(file.take::<Array2<u64>>(0, &[2999, 1]).unwrap()[[0, 0]], 2999);
}

#[test]
fn with_map_refuses_memory_sources() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let numbers = Array2::from_shape_fn((100, 20), |(a, b)| (a * 100 + b) as f64);
    write_npy(&path, &numbers).unwrap();
    let bytes = fs::read(&path).unwrap();
    // SAFETY: it is refused.
    let error = unsafe { NpyFile::from_source(InMemory(bytes)).unwrap().with_map().unwrap_err() };
    assert_eq!(error.kind(), ErrorKind::BadOption, "{error}");
    // A file that is shorter than its header says: what is there can be read, and nothing after it is accessed.
    let short = File::options().write(true).open(&path).unwrap();
    short.set_len(128 + 50 * 160).unwrap();
    let file = open_mapped(&path).unwrap();
    assert_eq!(file.slice::<f64, _>(s![..50, 3]).unwrap(), numbers.slice(s![..50, 3]));
    assert!(file.slice::<f64, _>(s![.., 3]).unwrap_err().is_format());
    assert!(file.take::<Array2<f64>>(0, &[2, 99]).is_err());
}

/// A file that claims to be longer than it is.
#[derive(Debug)]
struct OverstatedFile(File);

impl ReadAt for OverstatedFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> ndarray_io::Result<usize> {
        LocalFile(&self.0).read_at(into, offset)
    }

    fn size(&self) -> ndarray_io::Result<u64> {
        Ok(10_000_000)
    }

    fn file(&self) -> Option<(&File, u64)> {
        Some((&self.0, 0))
    }
}

#[test]
fn map_is_bounded_by_file_not_by_claimed_size() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &Array2::<u32>::ones((1000, 300))).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(128 + 4000).unwrap();
    let file = NpyFile::from_source(OverstatedFile(File::open(&path).unwrap())).unwrap();
    // SAFETY: nothing changes the file.
    let file = unsafe { file.with_map().unwrap() };
    assert!(file.slice::<u32, _>(s![.., 1]).unwrap_err().is_format());
    assert_eq!(file.slice::<u32, _>(s![..3, 1]).unwrap(), arr1(&[1, 1, 1]));
}

#[test]
fn maps_are_unwind_safe() {
    fn assert_unwind_safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    assert_unwind_safe::<NpyMmap<u8, Ix2>>();
    assert_unwind_safe::<NpyMmapMut<u8, Ix2>>();
}

/// Members that are stored are mapped where they are, and others where they have been unpacked.
#[test]
#[cfg(feature = "npz")]
fn stored_and_deflated_members_can_be_mapped() {
    use ndarray_io::{Compression, NpzFile, WriteOptions};
    let folder = crate::support::temp::folder().unwrap();
    let archive = folder.path().join("a.npz");
    let numbers = Array2::from_shape_fn((100, 20), |(a, b)| (a * 100 + b) as f64);
    for compression in [Compression::Stored, Compression::DEFLATE] {
        let options = WriteOptions::new().compression(compression);
        let mut writer = options.npz_writer(File::create(&archive).unwrap()).unwrap();
        writer.add("before", &arr1(&[1u8])).unwrap();
        writer.add("numbers", &numbers).unwrap();
        writer.finish().unwrap();
        let member = NpzFile::open(&archive).unwrap().open_member("numbers").unwrap();
        // SAFETY: nothing changes the file.
        let member = unsafe { member.with_map().unwrap() };
        assert_eq!(member.slice::<f64, _>(s![.., 19]).unwrap(), numbers.slice(s![.., 19]));
    }
}
