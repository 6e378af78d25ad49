//! Options: casting, versions, orders, byte orders.

use ndarray::{Array1, Array2, ArrayD, ShapeBuilder, arr1, arr2};
use ndarray_io::header::Order;
use ndarray_io::npy::Version;
use ndarray_io::{
    ByteOrder, Casting, NpyReader, ReadNpyExt, ReadOptions, WritableElement, WriteNpyExt, WriteOptions,
};
use num_complex::Complex;

fn npy_bytes<A: WritableElement>(array: &Array1<A>, order: ByteOrder) -> Vec<u8> {
    let mut file = Vec::new();
    WriteOptions::new().byte_order(order).write_to(&mut file, &array).unwrap();
    file
}

fn cast<A: ndarray_io::ReadableElement>(file: &[u8], casting: Casting) -> ndarray_io::Result<Array1<A>> {
    ReadOptions::new().casting(casting).read_from::<Array1<_>>(file)
}

#[test]
fn casting_reads_convert_like_rust_as() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let floats = npy_bytes(&arr1(&[1.9, -1.9, 300.0, -1e30, f64::NAN, f64::INFINITY]), order);
        assert_eq!(cast::<u8>(&floats, Casting::Unsafe).unwrap(), arr1(&[1, 0, 255, 0, 0, 255]));
        assert_eq!(
            cast::<i64>(&floats, Casting::Unsafe).unwrap(),
            arr1(&[1, -1, 300, i64::MIN, 0, i64::MAX])
        );
        assert!(cast::<i64>(&floats, Casting::SameKind).is_err());
        let singles = cast::<f32>(&floats, Casting::SameKind).unwrap();
        assert!(singles[4].is_nan() && singles[5] == f32::INFINITY && singles[0] == 1.9f32);
        assert!(cast::<f32>(&floats, Casting::Safe).is_err());

        let integers = npy_bytes(&arr1(&[-1i16, 300]), order);
        assert_eq!(cast::<f32>(&integers, Casting::Safe).unwrap(), arr1(&[-1.0, 300.0]));
        assert_eq!(
            cast::<Complex<f32>>(&integers, Casting::Safe).unwrap(),
            arr1(&[(-1.0).into(), 300.0.into()])
        );
        assert_eq!(cast::<i8>(&integers, Casting::Unsafe).unwrap(), arr1(&[-1, 44]));
        let error = cast::<i8>(&integers, Casting::SameKind).unwrap_err();
        assert_eq!((error.element(), error.help().unwrap().id()), (Some(1), "cast-unsafe"));
        assert_eq!(cast::<u16>(&integers, Casting::Unsafe).unwrap(), arr1(&[65535, 300]));

        let complex = npy_bytes(&arr1(&[Complex::new(1.5, 2.0)]), order);
        assert_eq!(
            cast::<Complex<f32>>(&complex, Casting::SameKind).unwrap(),
            arr1(&[Complex::new(1.5, 2.0)])
        );
        assert_eq!(cast::<f64>(&complex, Casting::Unsafe).unwrap(), arr1(&[1.5]));
        let error = cast::<f64>(&complex, Casting::SameKind).unwrap_err();
        assert_eq!(error.help().unwrap().id(), "cast-unsafe");
        let bools = npy_bytes(&arr1(&[true, false]), order);
        assert_eq!(cast::<i64>(&bools, Casting::Safe).unwrap(), arr1(&[1, 0]));
        assert_eq!(cast::<bool>(&integers, Casting::Unsafe).unwrap(), arr1(&[true, true]));
        assert!(cast::<bool>(&integers, Casting::SameKind).unwrap_err().is_mismatch());
    }
}

#[test]
fn large_arrays_are_converted_by_all_readers() {
    let array = ndarray::Array2::from_shape_fn((1000, 301).f(), |(row, column)| (row * 31 + column) as i32);
    let mut file = Vec::new();
    WriteOptions::new().byte_order(ByteOrder::Little).write_to(&mut file, &array).unwrap();
    let expected = array.mapv(f64::from);
    let options = ReadOptions::new().casting(Casting::Safe);
    assert_eq!(options.read_from::<Array2<f64>>(&file[..]).unwrap(), expected);
    assert_eq!(options.read_from::<Array2<f64>>(std::io::Cursor::new(&file)).unwrap(), expected);
    let temp_file = crate::support::routes::temp_file(&file, 0);
    assert_eq!(options.read_from::<Array2<f64>>(temp_file.reopen().unwrap()).unwrap(), expected);
    for shape in [(1000, 301).f(), (1000, 301).set_f(false)] {
        let mut target = Array2::<f64>::zeros(shape);
        options.read_into(&file[..], &mut target).unwrap();
        assert_eq!(target, expected);
    }
    let error = options.read_from::<Array2<f64>>(&file[..file.len() - 3]).unwrap_err();
    let expected =
        "truncated: the header declares 1000 × 301 elements of '<i4' (1204000 bytes), 1203997 bytes remain";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn requested_version_is_written() {
    for (version, numbers) in [(Version::V1, (1, 0)), (Version::V2, (2, 0)), (Version::V3, (3, 0))] {
        let mut file = Vec::new();
        WriteOptions::new().version(version).write_to(&mut file, &arr1(&[1u8])).unwrap();
        assert_eq!((file[6], file[7]), numbers);
        assert_eq!(NpyReader::new(&file[..]).unwrap().npy_header().unwrap().version, version);
    }
}

#[test]
fn version_too_low_for_header_is_refused() {
    let header = |name: String| {
        let mut record = ndarray_io::dtype::Record::default();
        let byte =
            ndarray_io::dtype::Scalar::new(ndarray_io::dtype::Kind::Uint, 1, ByteOrder::Little).unwrap();
        record.push(name, None, byte.into()).unwrap();
        ndarray_io::header::Header::new(record.into(), Order::C, [1].into()).unwrap()
    };
    // The longest name that NumPy writes in version 1.0 has 65,439 letters.
    let long = header("n".repeat(65_440));
    assert_eq!(ndarray_io::npy::format(&header("n".repeat(65_439)), None).unwrap()[6], 1);
    assert_eq!(ndarray_io::npy::format(&long, None).unwrap()[6], 2);
    let error = ndarray_io::npy::format(&long, Some(Version::V1)).unwrap_err();
    assert!(error.message().starts_with("the header needs format version 2.0, requested was 1.0"), "{error}");
    let greek = header("λ".into());
    assert_eq!(ndarray_io::npy::format(&greek, None).unwrap()[6], 3);
    assert!(ndarray_io::npy::format(&greek, Some(Version::V2)).unwrap_err().is_usage());
    assert_eq!(ndarray_io::npy::format(&header("é".into()), None).unwrap()[6], 1);
}

#[test]
fn requested_order_is_written() {
    let array = arr2(&[[1u8, 2, 3], [4, 5, 6]]);
    for (order, expected) in [(Order::C, [1, 2, 3, 4, 5, 6]), (Order::Fortran, [1, 4, 2, 5, 3, 6])] {
        let mut file = Vec::new();
        WriteOptions::new().order(order).write_to(&mut file, &array).unwrap();
        assert!(file.ends_with(&expected));
        assert_eq!(ArrayD::<u8>::read_npy(&file[..]).unwrap(), array.clone().into_dyn());
    }
}

/// The results of NumPy 2.4: `np.array([...]).astype("f2").view("u2")`.
#[cfg(feature = "half-2")]
#[test]
fn half_floats_are_rounded_once() {
    let cases = [
        (65519.999999, 0x7BFF),
        (1.0 + 2f64.powi(-11) + 2f64.powi(-40), 0x3C01),
        (2f64.powi(-25) + 2f64.powi(-60), 1),
    ];
    for (double, expected) in cases {
        let file = npy_bytes(&arr1(&[double]), ByteOrder::Big);
        assert_eq!(cast::<half::f16>(&file, Casting::SameKind).unwrap()[0].to_bits(), expected, "{double}");
    }
    let file = npy_bytes(&arr1(&[70_000i32, -3, 2049]), ByteOrder::Big);
    let bits: Vec<u16> =
        cast::<half::f16>(&file, Casting::Unsafe).unwrap().iter().map(|half| half.to_bits()).collect();
    assert_eq!(bits, [0x7C00, 0xC200, 0x6800]);
}

#[test]
fn cast_error_help_suggests_what_works() {
    let integers = npy_bytes(&arr1(&[1i32]), ByteOrder::Little);
    assert_eq!(cast::<String>(&integers, Casting::Safe).unwrap(), arr1(&["1".to_owned()]));
    let void = cast::<ndarray_io::element::Void<4>>(&integers, Casting::Unsafe).unwrap_err();
    assert_eq!(void.help().unwrap().to_string(), "read it as i32");
    let texts = Array1::<String>::read_npy(&integers[..]).unwrap_err();
    assert_eq!(texts.help().unwrap().to_string(), "read it as i32, or convert it with ReadOptions::casting");
    let doubles = npy_bytes(&arr1(&[1.0]), ByteOrder::Little);
    let singles = cast::<f32>(&doubles, Casting::Safe).unwrap_err();
    assert_eq!(singles.help().unwrap().id(), "cast-same-kind");
}

/// An error that is asked for is not left out in silence.
#[test]
fn allow_trailing_false_is_refused_where_unchecked() {
    use ndarray_io::FlatView;
    use ndarray_io::bytes::InMemory;
    use ndarray_io::ra::WriteRaExt;

    let (strict, lax) = (ReadOptions::new().allow_trailing(false), ReadOptions::new().allow_trailing(true));
    let (mut npy, mut ra) = (Vec::new(), Vec::new());
    arr1(&[1u8, 2]).write_npy(&mut npy).unwrap();
    arr1(&[1u8, 2]).write_ra(&mut ra).unwrap();
    let mut into = Array1::<u8>::zeros(2);
    let refused = [
        strict.reader(&npy[..]).map(drop),
        strict.read_from::<Array1<u8>>(&npy[..]).map(drop),
        strict.read_into(&npy[..], &mut into),
        strict.open_source(InMemory(npy.clone())).map(drop),
        strict.read_ra_from::<Array1<u8>>(&ra[..]).map(drop),
        strict.view_ra::<FlatView<u8>>(&ra).map(drop),
        strict.open_source(InMemory(ra.clone())).map(drop),
    ];
    for (number, result) in refused.into_iter().enumerate() {
        let error = result.unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("allow_trailing(false)"), "{number}: {error}");
    }
    assert!(lax.read_from::<Array1<u8>>(&npy[..]).is_ok() && strict.view_npy::<FlatView<u8>>(&npy).is_ok());
    npy.push(0);
    assert!(strict.view_npy::<FlatView<u8>>(&npy).unwrap_err().is_format());
    assert!(lax.view_npy::<FlatView<u8>>(&npy).is_ok());
}

/// A program that tries one type after the other learns of the type first, on every way to read.
#[test]
fn wrong_type_is_reported_before_wrong_axes() {
    let mut file = Vec::new();
    arr1(&[1.0, 2.0]).write_npy(&mut file).unwrap();
    let aligned = crate::support::routes::Aligned::new(&file);
    let source = || ndarray_io::NpyFile::from_source(ndarray_io::bytes::InMemory(file.clone())).unwrap();
    let options = ReadOptions::new();
    for error in [
        options.read_from::<Array2<i32>>(&file[..]).unwrap_err(),
        options.reader(&file[..]).unwrap().read::<Array2<i32>>().unwrap_err(),
        options.read_into(&file[..], &mut Array2::<i32>::zeros((1, 2))).unwrap_err(),
        options.view_npy::<ndarray::ArrayView2<i32>>(&aligned).unwrap_err(),
        source().read::<Array2<i32>>().unwrap_err(),
        ndarray_io::DynArray::new(&arr1(&[1.0, 2.0]))
            .unwrap()
            .cast::<i32, ndarray::Ix2>(&options)
            .unwrap_err(),
    ] {
        assert!(error.is_dtype_mismatch() && !error.is_shape_mismatch(), "{error}");
    }
    assert!(options.read_from::<Array2<f64>>(&file[..]).unwrap_err().is_shape_mismatch());
}
