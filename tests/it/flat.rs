//! Arrays without `ndarray`, and with its other versions, as MIGRATING.md shows them.

use ndarray_io::header::Order;
use ndarray_io::ra::{ReadRaExt, ViewRaExt, WriteRaExt};
use ndarray_io::{FlatArray, FlatView, ReadNpyExt, Result, WriteNpyExt};

use crate::support::manifest::testdata;

/// What `testdata/make.py` calls "shape-l-2x3-c" and "fortran-li2"; the values are those of the manifest.
const C_FILE: &str = "shape-l-2x3-c.npy";
const FORTRAN_FILE: &str = "fortran-li2.npy";

fn file(name: &str) -> Vec<u8> {
    std::fs::read(testdata().join(name)).unwrap()
}

#[test]
fn flat_array_has_elements_in_file_order() {
    let array: FlatArray<f64> = ndarray_io::read_npy(testdata().join(C_FILE)).unwrap();
    assert_eq!((array.shape(), array.order()), (&[2, 3][..], Order::C));
    assert_eq!(array.items(), [-2.0, 0.0, 2.0, -1.0, 1.0, -2.0]);
    let fortran: FlatArray<i16> = ndarray_io::read_npy(testdata().join(FORTRAN_FILE)).unwrap();
    let dense: ndarray::ArrayD<i16> = ndarray_io::read_npy(testdata().join(FORTRAN_FILE)).unwrap();
    assert_eq!(fortran.order(), Order::Fortran);
    let (items, shape, _) = fortran.clone().into_parts();
    assert_eq!(shape, dense.shape());
    assert!(items.iter().eq(dense.t().iter()));
    assert_eq!(ndarray::ArrayD::from(fortran), dense);
}

#[cfg(target_endian = "little")]
#[test]
fn arrays_of_older_ndarray_versions_round_trip() {
    fn into_ndarray_0_15(array: FlatArray<f64>) -> ndarray_0_15::ArrayD<f64> {
        use ndarray_0_15::ShapeBuilder;
        let (items, shape, order) = array.into_parts();
        ndarray_0_15::ArrayD::from_shape_vec(shape.set_f(order == Order::Fortran), items).unwrap()
    }
    fn into_ndarray_0_16(array: FlatArray<f64>) -> ndarray_0_16::ArrayD<f64> {
        use ndarray_0_16::ShapeBuilder;
        let (items, shape, order) = array.into_parts();
        ndarray_0_16::ArrayD::from_shape_vec(shape.set_f(order == Order::Fortran), items).unwrap()
    }
    for name in [C_FILE, "shape-l-2x3-f.npy"] {
        let bytes = file(name);
        let array = FlatArray::<f64>::read_npy(&bytes[..]).unwrap();
        let (one, two) = (into_ndarray_0_15(array.clone()), into_ndarray_0_16(array.clone()));
        assert_eq!((one[[1, 0]], two[[1, 0]], one[[0, 2]], two[[0, 2]]), (-1.0, -1.0, 2.0, 2.0));
        let mut written = Vec::new();
        let (items, order) = match one.as_slice() {
            Some(items) => (items, Order::C),
            None => (one.t().to_slice().unwrap(), Order::Fortran),
        };
        FlatView::new(items, one.shape(), order).unwrap().write_npy(&mut written).unwrap();
        assert_eq!(written, bytes);
        written.clear();
        let items = two.as_slice().unwrap_or_else(|| two.t().to_slice().unwrap());
        FlatView::new(items, two.shape(), order).unwrap().write_npy(&mut written).unwrap();
        assert_eq!(written, bytes);
    }
}

#[test]
fn vectors_slices_and_arrays_are_written() {
    let mut files = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    ndarray::arr1(&[1.5, 2.5]).write_npy(&mut files[0]).unwrap();
    vec![1.5, 2.5].write_npy(&mut files[1]).unwrap();
    [1.5, 2.5].write_npy(&mut files[2]).unwrap();
    [1.5, 2.5][..].write_npy(&mut files[3]).unwrap();
    assert!(files.iter().all(|file| *file == files[0] && !file.is_empty()));
    // Elements that are arrays are the innermost axis.
    let mut file = Vec::new();
    vec![[1u8, 2], [3, 4]].write_npy(&mut file).unwrap();
    let array: FlatArray<u8> = FlatArray::read_npy(&file[..]).unwrap();
    assert_eq!((array.shape(), array.items()), (&[2, 2][..], &[1, 2, 3, 4][..]));
    let pairs: FlatArray<[u8; 2]> = FlatArray::read_npy(&file[..]).unwrap();
    assert_eq!((pairs.shape(), pairs.items()), (&[2][..], &[[1, 2], [3, 4]][..]));
}

#[test]
fn shape_with_wrong_element_count_is_refused() {
    let error = FlatArray::new(vec![1, 2, 3], vec![2, 2], Order::C).unwrap_err();
    assert!(error.message().starts_with("expected shape"), "{error}");
    for shape in [vec![usize::MAX, 2], vec![0, usize::MAX, 2], vec![usize::MAX / 2 + 1, 2]] {
        assert!(FlatView::<u8>::new(&[], &shape, Order::C).is_err(), "{shape:?}");
    }
    assert!(FlatView::<u8>::new(&[], &[3, 0], Order::C).is_ok());
    // More elements than an array can have, of no size.
    let endless = [ndarray_io::element::Void([0u8; 0]); usize::MAX];
    let error = endless[..].write_npy(Vec::new()).unwrap_err();
    assert!(error.message().ends_with("is too large"), "{error}");
    let mut rows = ndarray_io::NpyWriter::new(std::io::Cursor::new(Vec::new()), &[]).unwrap();
    let error = rows.push(&endless[..]).unwrap_err();
    assert!(error.message().ends_with("is too large"), "{error}");
    let scattered = ndarray::arr2(&[[1, 2], [3, 4]]);
    assert!(FlatView::try_from(scattered.column(0)).is_err());
    assert_eq!(FlatView::try_from(scattered.t()).unwrap().order(), Order::Fortran);
}

#[test]
fn fortran_flat_view_round_trips_as_ra() -> Result<()> {
    let mut file = Vec::new();
    FlatView::new(&[1i32, 2, 3, 4, 5, 6], &[2, 3], Order::Fortran)?.write_ra(&mut file)?;
    let array = FlatArray::<i32>::read_ra(&file[..])?;
    assert_eq!((array.shape(), array.order()), (&[2, 3][..], Order::Fortran));
    assert_eq!(array.items(), [1, 2, 3, 4, 5, 6]);
    let aligned = crate::support::routes::Aligned::new(&file);
    assert_eq!(FlatView::<i32>::view_ra(&aligned)?, array.view());
    Ok(())
}
