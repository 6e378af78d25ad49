//! The public names of `ndarray-npy` 0.10, used as its documentation uses them. A user of that crate changes the name of
//! the crate in these lines and nothing else.

use std::fs::{File, OpenOptions};
use std::io;

use ndarray::{Array0, Array2, Array3, ArrayD, ArrayView2, ArrayViewMut2, Dimension, array};
// With those of archives, which are used below, all names at its root.
use ndarray_io::{
    ReadDataError, ReadNpyError, ReadNpyExt, ReadableElement, ViewDataError, ViewElement, ViewMutElement,
    ViewMutNpyExt, ViewNpyError, ViewNpyExt, WritableElement, WriteDataError, WriteNpyError, WriteNpyExt,
    create_new_npy, read_npy, write_npy, write_zeroed_npy,
};

use crate::support::routes::Aligned;

/// The examples of `ndarray-npy` 0.10.0 (Copyright 2018–2025 Jim Turner and ndarray-npy developers, MIT OR Apache-2.0), with only
/// the name of the crate changed.
mod migrating {
    #[cfg(all(feature = "mmap", unix))]
    #[allow(clippy::undocumented_unsafe_blocks, clippy::approx_constant)]
    mod mmap_large;
    pub(super) mod simple;
    #[cfg(feature = "npz")]
    pub(super) mod simple_npz;

    /// `mmap_large` makes a file of 64 GiB: it is compiled alone.
    #[cfg(all(feature = "mmap", unix))]
    const _: fn() -> Result<(), Box<dyn std::error::Error>> = mmap_large::main;
}

/// Generic code needs no other bound than the trait, in all formats.
#[test]
fn traits_alone_bound_generic_code() {
    use ndarray_io::ra::{ReadRaExt, ViewMutRaExt, ViewRaExt, WriteRaExt};

    fn write<T: WriteNpyExt + ?Sized>(array: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        array.write_npy(&mut bytes).unwrap();
        bytes
    }
    fn write_ra<T: WriteRaExt + ?Sized>(array: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        array.write_ra(&mut bytes).unwrap();
        bytes
    }
    fn read<T: ReadNpyExt>(bytes: &[u8]) -> T {
        T::read_npy(bytes).unwrap()
    }
    fn read_ra<T: ReadRaExt>(bytes: &[u8]) -> T {
        T::read_ra(bytes).unwrap()
    }
    fn view<'a, T: ViewNpyExt<'a>>(bytes: &'a [u8]) -> T {
        T::view_npy(bytes).unwrap()
    }
    fn view_mut<'a, T: ViewMutNpyExt<'a>>(bytes: &'a mut [u8]) -> T {
        T::view_mut_npy(bytes).unwrap()
    }
    fn view_ra<'a, T: ViewRaExt<'a>>(bytes: &'a [u8]) -> T {
        T::view_ra(bytes).unwrap()
    }
    fn view_mut_ra<'a, T: ViewMutRaExt<'a>>(bytes: &'a mut [u8]) -> T {
        T::view_mut_ra(bytes).unwrap()
    }
    let array: Array2<u8> = array![[1, 2], [3, 4]];
    let (npy, ra) = (write(&array), write_ra(&array.view()));
    assert_eq!(array, read::<Array2<u8>>(&npy));
    assert_eq!(array, read_ra::<Array2<u8>>(&ra));
    let (mut npy, mut ra) = (Aligned::new(&npy), Aligned::new(&ra));
    assert_eq!(array, view::<ArrayView2<'_, u8>>(&npy));
    assert_eq!(array, view_ra::<ArrayView2<'_, u8>>(&ra));
    assert_eq!(array, view_mut::<ArrayViewMut2<'_, u8>>(&mut npy));
    assert_eq!(array, view_mut_ra::<ArrayViewMut2<'_, u8>>(&mut ra));
}

#[test]
fn ndarray_npy_path_functions_round_trip() -> Result<(), Box<dyn std::error::Error>> {
    let folder = crate::support::temp::folder()?;
    let path = folder.path().join("array.npy");
    let arr: Array2<i32> = array![[1, 2, 3], [4, 5, 6]];
    write_npy(&path, &arr)?;
    let arr2: Array2<i32> = read_npy(&path)?;
    assert_eq!(arr, arr2);
    let arr3 = read_npy::<_, ArrayD<i32>>(path.to_str().unwrap())?;
    assert_eq!(arr.into_dyn(), arr3);
    let new = folder.path().join("new.npy");
    create_new_npy(&new, &arr2)?;
    assert!(create_new_npy(&new, &arr2).is_err());
    Ok(())
}

#[test]
fn ndarray_npy_read_and_write_traits_round_trip() -> Result<(), Box<dyn std::error::Error>> {
    let arr: Array2<f64> = array![[1., 2.], [3., 4.]];
    let file = crate::support::temp::unnamed_file()?;
    arr.write_npy(&file)?;
    arr.view().write_npy(io::BufWriter::new(Vec::new()))?;
    let mut bytes = Vec::new();
    arr.write_npy(&mut bytes)?;
    assert_eq!(Array2::<f64>::read_npy(&bytes[..])?, arr);
    assert_eq!(Array2::<f64>::read_npy(io::Cursor::new(&bytes))?, arr);
    Ok(())
}

#[test]
fn write_zeroed_npy_writes_zeros_and_truncates() -> Result<(), Box<dyn std::error::Error>> {
    let folder = crate::support::temp::folder()?;
    let path = folder.path().join("array.npy");
    let file = File::create(&path)?;
    write_zeroed_npy::<f64, _>(&file, (2, 3, 4))?;
    assert_eq!(read_npy::<_, Array3<f64>>(&path)?, Array3::<f64>::zeros((2, 3, 4)));
    write_zeroed_npy::<u8, _>(&File::create(&path)?, ())?;
    assert_eq!(read_npy::<_, Array0<u8>>(&path)?, Array0::<u8>::zeros(()));
    // As there, what stood behind the position in the file is gone.
    let file = OpenOptions::new().write(true).open(&path)?;
    file.set_len(10_000)?;
    write_zeroed_npy::<u8, _>(&file, 5)?;
    assert_eq!(file.metadata()?.len(), 128 + 5);
    Ok(())
}

#[test]
fn mutable_view_writes_into_viewed_bytes() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    array![[1.0, 2.0], [3.0, 4.0]].write_npy(&mut bytes)?;
    let mut bytes = Aligned::new(&bytes);
    assert_eq!(ArrayView2::<f64>::view_npy(&bytes)?[[1, 0]], 3.0);
    ArrayViewMut2::<f64>::view_mut_npy(&mut bytes)?[[1, 0]] = 5.0;
    assert_eq!(ArrayView2::<f64>::view_npy(&bytes)?[[1, 0]], 5.0);
    Ok(())
}

#[test]
fn read_npy_error_converts_into_user_error() {
    #[derive(Debug)]
    enum Failure {
        Read(ReadNpyError),
    }
    impl From<ReadNpyError> for Failure {
        fn from(error: ReadNpyError) -> Self {
            Self::Read(error)
        }
    }
    fn load() -> Result<Array2<f64>, Failure> {
        Ok(read_npy("no such file")?)
    }
    let Failure::Read(error) = load().unwrap_err();
    assert!(error.is_io());
    let _: (Option<WriteNpyError>, Option<ViewNpyError>) = (None, None);
    let _: (Option<ReadDataError>, Option<ViewDataError>, Option<WriteDataError>) = (None, None, None);
    let _: (Option<ndarray_io::ReadNpzError>, Option<ndarray_io::WriteNpzError>) = (None, None);
}

/// Generic code over the four element traits.
fn round_trip<A, D>(array: ndarray::Array<A, D>) -> Result<ndarray::Array<A, D>, Box<dyn std::error::Error>>
where
    A: ReadableElement + WritableElement + ViewElement + ViewMutElement + Copy,
    D: Dimension,
{
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes)?;
    ndarray::ArrayView::<A, D>::view_npy(&Aligned::new(&bytes))?;
    Ok(ndarray::Array::read_npy(&bytes[..])?)
}

#[test]
fn arc_and_cow_arrays_are_read() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    array![[1u8, 2], [3, 4]].write_npy(&mut bytes)?;
    assert_eq!(ndarray::ArcArray2::<u8>::read_npy(&bytes[..])?, array![[1, 2], [3, 4]]);
    assert_eq!(ndarray::CowArray::<u8, ndarray::Ix2>::read_npy(&bytes[..])?, array![[1, 2], [3, 4]]);
    assert_eq!(ndarray::ArcArray2::<u8>::read_npy(&bytes[..])?.write_npy(io::sink()).ok(), Some(()));
    let borrowed: &ndarray::ArrayRef<u8, ndarray::Ix2> = &array![[1u8, 2], [3, 4]];
    let mut again = Vec::new();
    borrowed.write_npy(&mut again)?;
    assert_eq!(again, bytes);
    Ok(())
}

#[test]
fn generic_code_over_element_traits_round_trips() {
    let array = array![[true, false]];
    assert_eq!(round_trip(array.clone()).unwrap(), array);
    let complex = array![num_complex::Complex::new(1f32, -2.0)];
    assert_eq!(round_trip(complex.clone()).unwrap(), complex);
}

#[cfg(feature = "npz")]
#[test]
fn ndarray_npy_archive_functions_round_trip() -> Result<(), Box<dyn std::error::Error>> {
    use ndarray::{Array1, Ix2, OwnedRepr, aview0};
    use ndarray_io::{NpzReader, NpzWriter, ReadNpzError, WriteNpzError};

    let folder = crate::support::temp::folder()?;
    let path = folder.path().join("arrays.npz");
    fn write(path: &std::path::Path) -> Result<(), WriteNpzError> {
        let mut npz = NpzWriter::new(File::create(path)?);
        let a: Array2<i32> = array![[1, 2, 3], [4, 5, 6]];
        let b: Array1<i32> = array![7, 8, 9];
        npz.add_array("a", &a)?;
        npz.add_array(String::from("b"), &b)?;
        npz.add_array("c", &aview0(&1.5))?;
        npz.finish()?;
        Ok(())
    }
    fn read(path: &std::path::Path) -> Result<(Array2<i32>, Array1<i32>), ReadNpzError> {
        let mut npz = NpzReader::new(File::open(path)?)?;
        assert_eq!(npz.names()?, ["a", "b", "c"]);
        assert_eq!((npz.len(), npz.is_empty()), (3, false));
        let a: Array2<i32> = npz.by_name("a")?;
        let same: Array2<i32> = npz.by_name("a.npy")?;
        assert_eq!(a, same);
        assert_eq!(npz.by_name::<OwnedRepr<i32>, Ix2>("a")?, npz.by_index::<OwnedRepr<i32>, Ix2>(0)?);
        Ok((a, npz.by_index(1)?))
    }
    write(&path)?;
    assert_eq!(read(&path)?, (array![[1, 2, 3], [4, 5, 6]], array![7, 8, 9]));

    let mut npz = NpzWriter::new_compressed(io::Cursor::new(Vec::new()));
    npz.add_array("zeros", &Array2::<f64>::zeros((100, 100)))?;
    let bytes = npz.finish()?.into_inner();
    assert!(bytes.len() < 1000);
    let zeros: Array2<f64> = NpzReader::new(io::Cursor::new(bytes))?.by_name("zeros")?;
    assert_eq!(zeros, Array2::<f64>::zeros((100, 100)));
    Ok(())
}

/// The examples write into the current directory, so they run in a process of their own, in a temporary one.
#[cfg(all(feature = "npz", not(target_family = "wasm")))]
#[test]
fn ndarray_npy_examples_run() {
    let folder = crate::support::temp::folder().unwrap();
    let done = crate::support::program::program(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "compat::examples_run_in_current_directory"])
        .current_dir(folder.path())
        .env("NDARRAY_IO_EXAMPLES", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{printed}");
    for line in ["arr =\n[[1, 2, 3],\n [4, 5, 6]]", "a =\n[[1, 2, 3],\n [4, 5, 6]]\nb =\n[7, 8, 9]"] {
        assert!(printed.contains(line), "{printed}");
    }
}

#[test]
#[ignore = "needs a current directory to write into"]
fn examples_run_in_current_directory() {
    let is_temporary = std::env::var_os("NDARRAY_IO_EXAMPLES").is_some();
    assert!(is_temporary, "`ndarray_npy_examples_run` runs this test, in a temporary directory");
    migrating::simple::main();
    #[cfg(feature = "npz")]
    migrating::simple_npz::main();
}
