//! What is nested deeply: dtypes that the program makes, and objects.

use ndarray::{Array0, Array1, ArrayD};
use ndarray_io::dtype::{RecordBuilder, RecordError, Subarray};
use ndarray_io::header::{Order, Shape};
use ndarray_io::object::Object;
use ndarray_io::{DType, DynArray, ReadNpyExt, WriteNpyExt};

fn nested(depth: usize) -> Result<DType, RecordError> {
    let byte: DType = "|u1".parse().expect("a type code");
    (0..depth).try_fold(byte, |dtype, _| RecordBuilder::new().field("a", dtype).build())
}

/// The number of levels is that of headers, which `numpy.lib.format` reads without a limit.
#[test]
fn records_nest_as_deep_as_in_headers() {
    let deepest = nested(32).unwrap();
    let array = DynArray::from_bytes(deepest.clone(), [1], Order::C, &[7]).unwrap();
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    assert_eq!(DynArray::read_npy(&file[..]).unwrap().dtype(), &deepest);
    assert_eq!(deepest.to_string().parse::<DType>().unwrap(), deepest);
    for depth in [33, 5_000] {
        assert_eq!(nested(depth), Err(RecordError::TooDeep));
    }
    let header = format!("{}'|u1'{}", "[('a', ".repeat(33), ")]".repeat(33));
    assert!(header.parse::<DType>().is_err());
    let error = ndarray_io::Error::from(RecordError::TooDeep);
    assert!(error.to_string().contains("deeper than the limit of 32"), "{error}");
}

/// `numpy.dtype((numpy.dtype(('<f4', (2,))), (3,)))` is `('<f4', (3, 2))`.
#[test]
fn subarrays_of_subarrays_are_one() {
    let float: DType = "<f4".parse().unwrap();
    let inner = Subarray::new(float.clone(), Shape::from([2])).unwrap();
    let outer = Subarray::new(inner.into(), Shape::from([3])).unwrap();
    assert_eq!((outer.base(), outer.shape(), outer.size()), (&float, &[3, 2][..], 24));
    assert_eq!(DType::from(outer).to_string(), "('<f4', (3, 2))");
    let one = || Shape::from([1]);
    let mut dtype = float;
    for _ in 0..64 {
        dtype = Subarray::new(dtype, one()).unwrap().into();
    }
    assert_eq!(Subarray::new(dtype, one()), None);
}

/// Lists in lists, and calls in calls.
fn nested_objects(depth: usize) -> [Object; 2] {
    let none = Object::none;
    let lists = (0..depth).fold(none(), |object, _| Object::list([object]));
    let tuples = (0..depth).fold(none(), |object, _| Object::tuple([object]));
    [lists, tuples]
}

/// Threads have 2 MiB by default. In debug builds, a level takes the most stack.
#[test]
fn serializing_the_deepest_objects_fits_a_thread() {
    let depth = 126;
    let work = move || {
        for object in nested_objects(depth) {
            let text = serde_json::to_string(&object).unwrap();
            assert_eq!(text.len(), 4 + 2 * depth);
            assert_eq!(serde_json::to_string(&object.with_calls()).unwrap().matches("null").count(), 1);
            let _: Result<Object, _> = ndarray_io::object::from_object(&object);
            let _: Result<serde_json::Value, _> = ndarray_io::object::from_object(&object);
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn deeper_objects_are_an_error() {
    let depth = 5_000;
    let work = move || {
        for object in nested_objects(depth) {
            let error = serde_json::to_string(&object).unwrap_err();
            assert!(error.to_string().contains("deeper than"), "{error}");
            assert!(serde_json::to_string(&object.with_calls()).is_err());
            assert!(ndarray_io::object::from_object::<serde_json::Value>(&object).is_err());
            // Nothing else recurses.
            let array = Array0::from_elem((), object);
            assert_eq!(array, array.clone());
            assert!(!format!("{array:?}{}", array[()]).is_empty());
            let mut file = Vec::new();
            array.write_npy(&mut file).unwrap();
            let _: Result<ArrayD<Object>, _> = ArrayD::read_npy(&file[..]);
            let _: Result<Array1<Object>, _> = Array1::read_npy(&file[..]);
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}
