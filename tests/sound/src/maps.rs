//! Maps: which bytes they contain, and what other processes may change meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use ndarray::{Array1, Ix1, Ix2, arr1, arr2};
use ndarray_io::header::Extent;
use ndarray_io::ra::write_ra;
use ndarray_io::{NpyMmap, NpyMmapMut, NpyWriter, write_npy};

struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ndarray-io-sound-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn npy_path(&self) -> PathBuf {
        self.0.join("a.npy")
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The parts of a file that this process has mapped: their offsets, from the system's own list.
#[cfg(target_os = "linux")]
fn mapped_offsets(path: &Path) -> Vec<u64> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let lines = maps.lines().filter(|line| line.ends_with(path.to_str().unwrap()));
    lines.map(|line| u64::from_str_radix(line.split_whitespace().nth(2).unwrap(), 16).unwrap()).collect()
}

/// A header that is longer than a page, so that the system shows whether it is mapped.
#[cfg(target_os = "linux")]
fn write_file_with_long_header(path: &Path) {
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }";
    let text = format!("{text:<width$}\n", width = (1 << 16) - 10 - 1 - 64);
    let mut bytes = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
    bytes.extend([1.0f64, 2.0, 3.0, 4.0].map(f64::to_le_bytes).concat());
    fs::write(path, bytes).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn headers_are_not_mapped() {
    let folder = TempFolder::new("headers");
    let path = folder.npy_path();
    write_file_with_long_header(&path);
    let page_of_elements = |offsets: Vec<u64>| {
        assert!(!offsets.is_empty() && offsets.iter().all(|offset| *offset > 32 << 10), "{offsets:?}");
    };
    // SAFETY: the file belongs to this test, here and below.
    let map = unsafe { NpyMmap::<f64, Ix1>::open(&path).unwrap() };
    page_of_elements(mapped_offsets(&path));
    assert_eq!(map.view(), arr1(&[1.0, 2.0, 3.0, 4.0]));
    drop(map);
    assert!(mapped_offsets(&path).is_empty());
    // SAFETY: as above.
    let map = unsafe { NpyMmap::<f64, Ix1>::open_slab(&path, 1..3).unwrap() };
    page_of_elements(mapped_offsets(&path));
    assert_eq!(map.view(), arr1(&[2.0, 3.0]));
    drop(map);
    // SAFETY: as above.
    let map = unsafe { NpyMmapMut::<f64, Ix1>::open(&path).unwrap() };
    page_of_elements(mapped_offsets(&path));
    drop(map);
    // SAFETY: as above.
    let map = unsafe { ndarray_io::ReadOptions::new().map_cow::<f64, Ix1>(&path).unwrap() };
    page_of_elements(mapped_offsets(&path));
    drop(map);
}

/// Rows that are appended while a file is mapped, which the contract allows.
#[test]
#[allow(unsafe_code)]
fn appending_while_a_file_is_mapped_changes_no_view() {
    let folder = TempFolder::new("append");
    let path = folder.npy_path();
    write_npy(&path, &arr2(&[[1u32, 2], [3, 4]])).unwrap();
    // SAFETY: only rows are appended to the file.
    let map = unsafe { NpyMmap::<u32, Ix2>::open(&path).unwrap() };
    let view = map.view();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            for row in 0..200u32 {
                let mut writer = NpyWriter::<u32, _>::append(&path).unwrap();
                writer.push(&arr2(&[[row, row]])).unwrap();
                writer.finish().unwrap();
            }
        }
    });
    while !writer.is_finished() {
        // SAFETY: as above.
        let other = unsafe { NpyMmap::<u32, Ix2>::open(&path).unwrap() };
        let rows = other.view().nrows();
        assert!((2..=202).contains(&rows));
        assert_eq!(other.view().slice(ndarray::s![..2, ..]), view);
    }
    writer.join().unwrap();
    assert_eq!(view, arr2(&[[1, 2], [3, 4]]));
    // SAFETY: as above.
    assert_eq!(unsafe { NpyMmap::<u32, Ix2>::open(&path).unwrap() }.view().nrows(), 202);
}

/// A record with padding, whose `ViewMutElement` is not that of the derive.
mod padded {
    pub(crate) mod library {
        pub(crate) use ndarray_io::*;

        #[allow(dead_code)]
        pub(crate) trait ViewMutElement {
            const IS_FULL: ();
        }
    }

    #[derive(ndarray_io::Record, Clone, Copy, Debug)]
    #[record(crate = library)]
    #[repr(C)]
    pub(crate) struct Padded {
        pub(crate) small: u8,
        pub(crate) large: u32,
    }

    impl ndarray_io::ViewMutElement for Padded {}
}

#[test]
#[allow(unsafe_code)]
fn padded_records_are_not_mapped_for_writing() {
    let folder = TempFolder::new("padding");
    let path = folder.npy_path();
    write_npy(&path, &arr1(&[padded::Padded { small: 1, large: 2 }])).unwrap();
    // SAFETY: the file belongs to this test, here and below.
    assert!(unsafe { NpyMmap::<padded::Padded, Ix1>::open(&path) }.is_ok());
    // SAFETY: as above.
    assert!(unsafe { NpyMmapMut::<padded::Padded, Ix1>::open(&path) }.is_err());
    // SAFETY: as above.
    assert!(unsafe { ndarray_io::ReadOptions::new().map_cow::<padded::Padded, Ix1>(&path) }.is_err());
}

#[test]
#[allow(unsafe_code)]
fn device_files_are_not_mapped() {
    for device in ["/dev/zero", "/dev/null"] {
        // SAFETY: nothing is mapped.
        assert!(unsafe { NpyMmap::<u8, Ix1>::open(device) }.is_err());
        // SAFETY: as above.
        assert!(unsafe { NpyMmap::<u8, Ix1>::open_slab(device, 0..1) }.is_err());
    }
}

#[test]
#[allow(unsafe_code)]
fn maps_of_all_sizes_equal_their_files() {
    let folder = TempFolder::new("sizes");
    let path = folder.npy_path();
    for len in [0usize, 1, 1000, 100_000] {
        let array = Array1::from_iter(0..len as u64);
        write_npy(&path, &array).unwrap();
        // SAFETY: the file belongs to this test, here and below.
        assert_eq!(unsafe { NpyMmap::<u64, Ix1>::open(&path).unwrap() }.view(), array);
        // SAFETY: as above.
        let mut map = unsafe { NpyMmapMut::<u64, Ix1>::open(&path).unwrap() };
        map.view_mut().iter_mut().for_each(|item| *item += 1);
        map.sync().unwrap();
        assert_eq!((map.extent(), map.data_offset()), (Extent::Whole, 128));
        drop(map);
        assert_eq!(ndarray_io::read_npy::<_, Array1<u64>>(&path).unwrap(), array + 1);
        let ra = folder.0.join(format!("{len}.ra"));
        let array = Array1::from_iter((0..len).map(|item| item as f32));
        write_ra(&ra, &array).unwrap();
        fs::write(&ra, [&fs::read(&ra).unwrap()[..], b"and metadata"].concat()).unwrap();
        // SAFETY: as above.
        let map = unsafe { NpyMmap::<f32, Ix1>::open(&ra).unwrap() };
        assert_eq!((map.view(), map.extent()), (array.view(), Extent::Long { more: 12 }));
        drop(map);
        // SAFETY: as above.
        let mut map = unsafe { ndarray_io::ReadOptions::new().map_cow::<f32, Ix1>(&ra).unwrap() };
        map.view_mut().fill(7.0);
        assert_eq!(map.view().iter().filter(|item| **item == 7.0).count(), len);
    }
}
