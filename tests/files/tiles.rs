//! Conversions with the block engine, compared with ndarray's results in memory: any shape, any order, any
//! budget. With `NDARRAY_IO_PLANS=1` there are 2000 rounds; they last passed on 2026-11-21 (51 s, release),
//! as did the million plans of `src/engine/transfer/tiles/plan.rs` (3 s).

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, concatenate, stack};
use ndarray_io::convert::{Conversion, concatenate_npy, convert_npy, stack_npy};
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::element::Void;
use ndarray_io::header::{Extent, Order};
use ndarray_io::{ByteOrder, Casting, DType, ReadableElement, WritableElement, WriteOptions, read_npy};

use crate::support::native_descr;

/// A pseudorandom number generator.
struct RandomInputs(u64);

impl RandomInputs {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn shape(&mut self) -> Vec<usize> {
        let ndim = self.below(10);
        let most = if ndim > 5 { 3 } else { 8 };
        (0..ndim).map(|_| if self.below(12) == 0 { 0 } else { 1 + self.below(most) }).collect()
    }

    fn order(&mut self) -> Order {
        if self.below(2) == 0 { Order::C } else { Order::Fortran }
    }

    fn memory_budget(&mut self) -> usize {
        [1, 10, 100, 1000, 1 << 16][self.below(5)]
    }
}

/// Checks that the elements of a file are those of the array, in the requested order.
fn assert_file_content<A>(
    path: &std::path::Path,
    wanted: &ArrayViewD<'_, A>,
    order: Order,
    bytes_of: &impl Fn(&A) -> Vec<u8>,
) where
    A: WritableElement + ReadableElement + PartialEq + std::fmt::Debug + Clone,
{
    let found: ArrayD<A> = read_npy(path).unwrap();
    assert_eq!(found, wanted);
    // The file ends with the elements in ndarray's iteration order.
    let elements = if order == Order::C { wanted.view() } else { wanted.t() };
    let bytes: Vec<u8> = elements.iter().flat_map(bytes_of).collect();
    assert!(std::fs::read(path).unwrap().ends_with(&bytes), "{:?} {order:?}", wanted.shape());
    let file = ndarray_io::NpyFile::open(path).unwrap();
    assert_eq!((file.order(), file.extent().unwrap()), (order, Extent::Whole));
}

fn check_conversions<A>(
    numbers: &mut RandomInputs,
    make: impl Fn(usize) -> A,
    bytes_of: impl Fn(&A) -> Vec<u8>,
) where
    A: WritableElement + ReadableElement + PartialEq + std::fmt::Debug + Clone,
{
    let folder = crate::support::temp::folder().unwrap();
    let to = folder.path().join("to.npy");
    let shape = numbers.shape();
    let array = |shape: &[usize], numbers: &mut RandomInputs| {
        let (order, from) = (numbers.order(), numbers.below(1000));
        let mut count = from;
        let array = ArrayD::from_shape_simple_fn(IxDyn(shape).set_f(order == Order::Fortran), || {
            count += 1;
            make(count)
        });
        let path = folder.path().join(format!("{from}-{}.npy", numbers.below(1 << 30)));
        WriteOptions::new().order(order).write_npy(&path, &array).unwrap();
        (array, path)
    };
    let (one, path) = array(&shape, numbers);
    let (order, memory) = (numbers.order(), numbers.memory_budget());
    let conversion = || Conversion::new().order(order).memory(memory);
    convert_npy(&path, &to, conversion()).unwrap();
    assert_file_content(&to, &one.view(), order, &bytes_of);

    // Files of different lengths along an axis, each in a random order.
    if !shape.is_empty() {
        let axis = numbers.below(shape.len());
        let mut parts = vec![(one, path)];
        for _ in 0..numbers.below(4) {
            let mut shape = shape.clone();
            shape[axis] = numbers.below(4);
            parts.push(array(&shape, numbers));
        }
        let views: Vec<_> = parts.iter().map(|(array, _)| array.view()).collect();
        let paths: Vec<_> = parts.iter().map(|(_, path)| path).collect();
        concatenate_npy(&paths, &to, axis, conversion()).unwrap();
        assert_file_content(&to, &concatenate(Axis(axis), &views).unwrap().view(), order, &bytes_of);
    }
    let axis = numbers.below(shape.len() + 1);
    let parts: Vec<_> = (0..1 + numbers.below(3)).map(|_| array(&shape, numbers)).collect();
    let views: Vec<_> = parts.iter().map(|(array, _)| array.view()).collect();
    let paths: Vec<_> = parts.iter().map(|(_, path)| path).collect();
    stack_npy(&paths, &to, axis, conversion()).unwrap();
    assert_file_content(&to, &stack(Axis(axis), &views).unwrap().view(), order, &bytes_of);
}

#[test]
fn conversions_equal_ndarray_concatenate_and_stack() {
    let rounds = if std::env::var_os("NDARRAY_IO_PLANS").is_some() { 2000 } else { 60 };
    let mut numbers = RandomInputs(15);
    for _ in 0..rounds {
        check_conversions(&mut numbers, |count| count as u8, |byte| vec![*byte]);
        check_conversions(&mut numbers, |count| count as u16, |number| number.to_ne_bytes().into());
        check_conversions(&mut numbers, |count| count as f32, |number| number.to_ne_bytes().into());
        check_conversions(&mut numbers, |count| count as f64, |number| number.to_ne_bytes().into());
        let complex = |count| num_complex::Complex::new(count as f64, -1.0);
        check_conversions(&mut numbers, complex, |number| {
            [number.re.to_ne_bytes(), number.im.to_ne_bytes()].concat()
        });
        check_conversions(
            &mut numbers,
            |count| Void([count as u8, 1, (count >> 8) as u8]),
            |raw| raw.0.into(),
        );
        check_conversions(&mut numbers, |count| Void([count as u8; 20]), |raw| raw.0.into());
    }
}

/// Order, dtype and byte order are converted at once; the result is the file of the converted array.
#[test]
fn order_and_dtype_conversion_equals_in_memory_result() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    let mut numbers = RandomInputs(16);
    for _ in 0..200 {
        let shape = numbers.shape();
        let mut count = 0;
        let array = ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
            count += 1;
            count as i16
        });
        let source = WriteOptions::new().order(numbers.order()).byte_order(ByteOrder::Big);
        source.write_npy(&from, &array).unwrap();
        let (order, size) = (numbers.order(), [4, 8][numbers.below(2)]);
        let dtype = DType::from(Scalar::new(Kind::Float, size, ByteOrder::Big).unwrap());
        let conversion =
            Conversion::new().order(order).dtype(dtype, Casting::SameKind).memory(numbers.memory_budget());
        convert_npy(&from, &to, conversion).unwrap();
        let mut bytes = Vec::new();
        let options = WriteOptions::new().order(order).byte_order(ByteOrder::Big);
        match size {
            4 => options.write_to(&mut bytes, &array.mapv(f32::from)).unwrap(),
            _ => options.write_to(&mut bytes, &array.mapv(f64::from)).unwrap(),
        }
        assert!(std::fs::read(&to).unwrap() == bytes, "{shape:?} {order:?}");
    }
}

/// The error gives the index, in the input file, of an element that cannot be converted.
#[test]
fn inconvertible_element_is_reported_by_index() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    let mut texts = ArrayD::from_elem(IxDyn(&[40, 30]), "1".to_owned());
    texts[[17, 5]] = "one".into();
    WriteOptions::new().write_npy(&from, &texts).unwrap();
    let dtype = DType::from(Scalar::new(Kind::Int, 4, ByteOrder::NATIVE).unwrap());
    for order in [Order::C, Order::Fortran] {
        for memory in [1, 500, 1 << 20] {
            let conversion =
                Conversion::new().order(order).dtype(dtype.clone(), Casting::Unsafe).memory(memory);
            let error = convert_npy(&from, &to, conversion).unwrap_err();
            assert_eq!(error.element(), Some(17 * 30 + 5), "{error}");
            assert!(!to.exists());
        }
    }
}

/// Output that is not a file is written sequentially, even if the inputs are interleaved.
#[cfg(target_os = "linux")]
#[test]
fn conversion_to_pipe_equals_conversion_to_file() {
    use std::io::Read;
    let folder = crate::support::temp::folder().unwrap();
    let mut numbers = RandomInputs(17);
    for _ in 0..60 {
        let mut shape = numbers.shape();
        shape.push(1 + numbers.below(5));
        let count: usize = shape.iter().product();
        let array = ArrayD::from_shape_vec(shape.clone(), (0..count as u32).collect()).unwrap();
        let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
        WriteOptions::new().order(numbers.order()).write_npy(&from, &array).unwrap();
        let (order, axis, memory) = (numbers.order(), numbers.below(shape.len()), numbers.memory_budget());
        let conversion = || Conversion::new().order(order).memory(memory);
        concatenate_npy(&[&from, &from], &to, axis, conversion()).unwrap();

        let (mut reader, writer) = std::io::pipe().unwrap();
        let reading = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        concatenate_npy(&[&from, &from], path, axis, conversion()).unwrap();
        drop(writer);
        assert!(reading.join().unwrap() == std::fs::read(&to).unwrap(), "{shape:?} along {axis}");
    }
}

fn scalar_dtype(kind: Kind, size: usize) -> DType {
    Scalar::new(kind, size, ByteOrder::NATIVE).unwrap().into()
}

/// Whether a conversion is allowed does not depend on the number of elements.
#[test]
fn disallowed_cast_of_empty_array_is_refused() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    let convert = |dtype: DType, casting| convert_npy(&from, &to, Conversion::new().dtype(dtype, casting));
    for len in [0, 1] {
        WriteOptions::new().write_npy(&from, &ndarray::Array1::<f64>::zeros(len)).unwrap();
        assert!(convert(scalar_dtype(Kind::Int, 4), Casting::Safe).unwrap_err().is_mismatch());
        assert!(convert(scalar_dtype(Kind::Void, 3), Casting::Unsafe).unwrap_err().is_mismatch());
        assert!(!to.exists());
    }
    // Text without a width has the one that NumPy gives it: that of a float, and that of the text.
    convert(scalar_dtype(Kind::Text, 0), Casting::SameKind).unwrap();
    assert_eq!(ndarray_io::NpyFile::open(&to).unwrap().dtype().to_string(), native_descr("'<U32'"));
    let texts = ndarray::arr1(&["abc".to_owned()]);
    WriteOptions::new().write_npy(&from, &texts).unwrap();
    convert(scalar_dtype(Kind::Bytes, 0), Casting::Unsafe).unwrap();
    assert_eq!(ndarray_io::NpyFile::open(&to).unwrap().dtype().to_string(), "'|S3'");
}

#[test]
fn expanding_tiny_file_beyond_limit_is_refused() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    let header = ndarray_io::header::Header::new(
        scalar_dtype(Kind::Text, 0),
        Order::C,
        [1 << (usize::BITS - 4)].into(),
    )
    .unwrap();
    std::fs::write(&from, ndarray_io::npy::format(&header, None).unwrap()).unwrap();
    let error = convert_npy(&from, &to, Conversion::new().dtype(scalar_dtype(Kind::Text, 4), Casting::Safe))
        .unwrap_err();
    assert!(error.is_limit(), "{error}");

    // Without elements, an axis may have any length.
    let header = ndarray_io::header::Header::new(
        scalar_dtype(Kind::Uint, 1),
        Order::C,
        [0, 1 << (usize::BITS - 2)].into(),
    )
    .unwrap();
    std::fs::write(&from, ndarray_io::npy::format(&header, None).unwrap()).unwrap();
    let file = ndarray_io::NpyFileMut::open(&from).unwrap();
    file.write_slice(ndarray::s![.., ..], &ndarray::Array2::<u8>::zeros((0, 1 << (usize::BITS - 2))))
        .unwrap();
    drop(file);
    convert_npy(&from, &to, Conversion::new().order(Order::Fortran)).unwrap();
}

/// Uncommitted rows of an input that is also the target are not lost, for any position among the inputs.
#[test]
fn uncommitted_rows_of_target_input_are_kept() {
    use std::io::Write;
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("log.npy");
    WriteOptions::new().write_npy(&path, &ndarray::arr1(&[1u8, 2])).unwrap();
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&[3]).unwrap();
    let old = std::fs::read(&path).unwrap();
    let other = folder.path().join("other.npy");
    WriteOptions::new().write_npy(&other, &ndarray::arr1(&[0u8])).unwrap();
    let mut many = vec![&other; 300];
    many.push(&path);
    for error in [
        concatenate_npy(&many, &path, 0, Conversion::new()).unwrap_err(),
        ndarray_io::convert::convert_npy_to_ra(&path, &path, Conversion::new()).unwrap_err(),
        convert_npy(&path, &path, Conversion::new()).unwrap_err(),
    ] {
        assert!(error.message().starts_with("found 1 byte (1 complete row) after the array"), "{error}");
        assert!(std::fs::read(&path).unwrap() == old);
    }
    concatenate_npy(&many[..300], &path, 0, Conversion::new()).unwrap();
    assert_eq!(read_npy::<_, ndarray::Array1<u8>>(&path).unwrap().len(), 300);
}

/// The error names an input that is truncated while it is read, and the bytes that remain.
#[test]
fn truncated_input_is_named_in_error() {
    let folder = crate::support::temp::folder().unwrap();
    let (from, to) = (folder.path().join("from.npy"), folder.path().join("to.npy"));
    WriteOptions::new().write_npy(&from, &ndarray::Array1::<u8>::zeros(1 << 20)).unwrap();
    let conversion = Conversion::new().memory(1000).progress(|_, _| {
        let file = std::fs::OpenOptions::new().write(true).open(&from).unwrap();
        file.set_len(5000).unwrap();
        std::ops::ControlFlow::Continue(())
    });
    let error = convert_npy(&from, &to, conversion).unwrap_err();
    assert_eq!(error.path(), Some(&*from), "{error}");
    assert!(error.message().ends_with(" 4872 bytes remain"), "{error}");

    let error = concatenate_npy(&[&from], &to, 9, Conversion::new()).unwrap_err();
    assert!(error.is_format() || error.is_usage());
    WriteOptions::new().write_npy(&from, &ndarray::Array1::<u8>::zeros(3)).unwrap();
    assert!(concatenate_npy(&[&from], &to, 9, Conversion::new()).unwrap_err().is_usage());
}
