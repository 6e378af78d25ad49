//! What is nested deeply: dtypes that the program makes, and objects.

use ndarray::{Array0, Array1, ArrayD};
use ndarray_io::dtype::{RecordBuilder, Subarray};
use ndarray_io::header::{Order, Shape};
use ndarray_io::object::Object;
use ndarray_io::{DType, DynArray, ReadNpyExt, WriteNpyExt};

fn nested_record_dtype(depth: usize) -> ndarray_io::Result<DType> {
    let byte: DType = "|u1".parse().expect("a type code");
    (0..depth).try_fold(byte, |dtype, _| RecordBuilder::new().field("a", dtype).build())
}

fn is_too_deep(error: &ndarray_io::Error) -> bool {
    error.is_limit() && error.to_string().contains("deeper than the limit of 32")
}

/// The number of levels is that of headers, which `numpy.lib.format` reads without a limit.
#[test]
fn records_nested_deeper_than_32_are_refused() {
    let deepest = nested_record_dtype(32).unwrap();
    let array = DynArray::from_bytes(deepest.clone(), [1], Order::C, &[7]).unwrap();
    let mut file = Vec::new();
    array.write_npy(&mut file).unwrap();
    assert_eq!(DynArray::read_npy(&file[..]).unwrap().dtype(), &deepest);
    assert_eq!(deepest.to_string().parse::<DType>().unwrap(), deepest);
    for depth in [33, 5_000] {
        assert!(is_too_deep(&nested_record_dtype(depth).unwrap_err()));
    }
    let header = format!("{}'|u1'{}", "[('a', ".repeat(33), ")]".repeat(33));
    assert!(header.parse::<DType>().is_err());
}

/// In NumPy 2.4, `numpy.dtype((numpy.dtype(('<f4', (2,))), (3,)))` is spelled so in the header of a record.
#[test]
fn nested_subarrays_are_kept_up_to_the_depth_limit() {
    let float: DType = "<f4".parse().unwrap();
    let inner = Subarray::new(float.clone(), Shape::from([2])).unwrap();
    let outer = Subarray::new(inner.clone().into(), Shape::from([3])).unwrap();
    assert_eq!((outer.base(), outer.shape(), outer.size()), (&inner.into(), &[3][..], 24));
    let record = RecordBuilder::new().field("a", outer.into()).build().unwrap();
    assert_eq!(record.to_string(), "[('a', ('<f4', (2,)), (3,))]");
    assert_eq!(record.to_string().parse::<DType>().unwrap(), record);
    let one = || Shape::from([1]);
    let mut dtype = float;
    for _ in 0..33 {
        dtype = Subarray::new(dtype, one()).unwrap().into();
    }
    assert_eq!(Subarray::new(dtype.clone(), one()), None);
    assert!(is_too_deep(&RecordBuilder::new().field("a", dtype).build().unwrap_err()));
    // Each of 32 nested records may be the base of a subarray.
    let repeated = (0..32).fold("|u1".parse().unwrap(), |dtype, _| {
        let record = RecordBuilder::new().field("a", dtype).build().unwrap();
        DType::from(Subarray::new(record, one()).unwrap())
    });
    assert_eq!(repeated.item_size(), 1);
}

/// Lists in lists, and tuples in tuples.
fn nested_objects(depth: usize) -> [Object; 2] {
    let none = Object::none;
    let lists = (0..depth).fold(none(), |object, _| Object::list([object]));
    let tuples = (0..depth).fold(none(), |object, _| Object::tuple([object]));
    [lists, tuples]
}

/// Threads have 2 MiB by default. In debug builds, a level takes the most stack.
#[test]
fn deepest_objects_serialize_on_a_small_stack() {
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
fn too_deep_objects_fail_to_serialize() {
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
