//! Untrusted input that no file of `testdata` covers: error messages, positions, and bounds on time.

#![cfg_attr(not(feature = "py_literal"), allow(unused_imports, dead_code))] // messages are the general path's

use ndarray::{Array1, Array2, ArrayD, ArrayView1};
use ndarray_io::{Limits, NpyReader, ReadNpyExt, ReadOptions, ViewNpyExt, WriteNpyExt};

use crate::support::error_class::error_class;
use crate::support::routes::Aligned;
use crate::support::{file, long_descrs};

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
}

fn header_with_fortran_order(descr: &str, shape: &str, fortran_order: &str) -> String {
    header(descr, shape).replace("False", fortran_order)
}

fn message(bytes: &[u8]) -> String {
    let error = Array1::<f32>::read_npy(bytes).unwrap_err();
    let help = error.help().map_or_else(String::new, |help| help.to_string());
    format!("{error}; {help}")
}

#[cfg(target_endian = "little")] // the messages show the Rust type's own dtype
#[cfg(feature = "py_literal")]
#[test]
fn messages_say_what_was_found_and_what_to_do() {
    let cases: [(Vec<u8>, &[&str]); 11] = [
        (b"PK\x03\x04and so on".to_vec(), &["a ZIP archive", "expected an NPY file", "read_npz"]),
        (b"\x93NUMPY\x07\x00rest".to_vec(), &["7.0", "1.0, 2.0 or 3.0"]),
        (file(&header("'<f8'", "(1,)"), &[0; 8]), &["'<f8'", "'<f4'", "f64", "ReadOptions::casting"]),
        (file(&header("'<U3'", "(1,)"), &[0; 12]), &["'<U3'", "'<f4'", "String or Chars<3>"]),
        (
            file(&header("[('a', '<f4')]", "(1,)"), &[0; 4]),
            &["[('a', '<f4')]", "'<f4'", "derive Record", "DynArray"],
        ),
        (file(&header("'<f4'", "(1, 1)"), &[0; 4]), &["(1, 1)", "1 axis", "ArrayD"]),
        (file(&header("'<x4'", "(1,)"), &[0; 4]), &["'<x4'", "'x'"]),
        (file(&header("'<f4'", "(np.int64(1),)"), &[0; 4]), &["numpy issue 28334", "at byte 63"]),
        (
            file(&header("'<f4'", "(1099511627776, 1099511627776)"), &[]),
            // If a single axis is already too long, the message shows that axis.
            if usize::BITS == 64 { &["(1099511627776, 1099511627776)", "'<f4'"] } else { &["1099511627776"] },
        ),
        (file(&header("'<f4'", "(1, 2)").replace("{", "{'x': 1, "), &[]), &["unexpected key", "at byte 13"]),
        (file(&header("[('a', '<f4'), ('a', '<f4')]", "(1,)"), &[0; 8]), &["duplicate field name 'a'"]),
    ];
    for (bytes, parts) in cases {
        let message = message(&bytes);
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
    }
}

#[test]
fn invalid_bool_is_reported_with_element_by_all_readers() {
    let mut payload = vec![1; 600_000];
    payload[412_345] = 2;
    let bytes = file(&header("'|b1'", "(600000,)"), &payload);
    let mut target = Array1::from_elem(600_000, false);
    let mut flipped = Array1::from_elem(600_000, false);
    let temp_file = crate::support::routes::temp_file(&bytes, 0);
    let errors = [
        Array1::<bool>::read_npy(&bytes[..]).unwrap_err(),
        Array1::<bool>::read_npy(temp_file.reopen().unwrap()).unwrap_err(),
        ArrayView1::<bool>::view_npy(&bytes).unwrap_err(),
        ndarray_io::ReadOptions::new().read_into(&bytes[..], &mut target).unwrap_err(),
        ndarray_io::ReadOptions::new()
            .read_into(&bytes[..], &mut flipped.slice_mut(ndarray::s![..;-1]))
            .unwrap_err(),
    ];
    for error in errors {
        assert!(error.message().starts_with("expected a bool (0 or 1), found 2"), "{error}");
        assert_eq!(error.element(), Some(412_345));
    }
}

/// The elements of a part are named by their place in the file, and by their index along each axis.
#[test]
fn invalid_bool_in_slice_is_reported_by_file_element() {
    use ndarray::{Array3, Ix2};
    use ndarray_io::{DynArray, NpyFile};

    for order in ["False", "True"] {
        let (rows, columns) = (3000, 400);
        let number = |row: usize, column: usize| match order {
            "False" => row * columns + column,
            _ => column * rows + row,
        };
        // Two faults, so that the first one in the order of the file must be found.
        let mut payload = vec![1; rows * columns];
        payload[number(2345, 67)] = 2;
        payload[number(2346, 68)] = 2;
        let header = header_with_fortran_order("'|b1'", "(3000, 400)", order);
        let bytes = file(&header, &payload);
        let temp_file = crate::support::routes::temp_file(&bytes, 0);
        let mut errors = Vec::new();
        for threads in [1, 3] {
            let options = ReadOptions::new().threads(threads);
            let open = || options.open(temp_file.path()).unwrap();
            let opened = open();
            let mut target = Array2::from_elem((1000, 10), false);
            let chunks = |axis: usize, length: usize| {
                open().chunks::<bool, Ix2>(axis, length).unwrap().find_map(Result::err).unwrap()
            };
            let go_on = |_: ndarray::ArrayView2<'_, bool>| std::ops::ControlFlow::Continue(());
            let mut mask = vec![false; rows];
            mask[7] = true;
            mask[2345] = true;
            let mut reader = options.reader(temp_file.reopen().unwrap()).unwrap();
            errors.extend([
                opened.read::<Array2<bool>>().unwrap_err(),
                opened.slice::<bool, _>(ndarray::s![2000.., ..]).unwrap_err(),
                opened.slice::<bool, _>(ndarray::s![..;-1, 60..70]).unwrap_err(),
                opened.slice::<bool, _>(ndarray::s![5..;5, 7..;3]).unwrap_err(),
                opened.slice::<bool, _>(ndarray::s![2345, 67..]).unwrap_err(),
                opened.slice_into(ndarray::s![2000.., 60..70], &mut target).unwrap_err(),
                opened
                    .slice_into(ndarray::s![2000.., 60..70], &mut *target.slice_mut(ndarray::s![..;-1, ..]))
                    .unwrap_err(),
                opened.take::<Array2<bool>>(0, &[2999, 2345, 0]).unwrap_err(),
                opened.take::<ArrayD<bool>>(1, &[399, 67, 0, 67]).unwrap_err(),
                opened.take_where::<Array2<bool>>(0, &mask).unwrap_err(),
                chunks(0, 7),
                chunks(1, 7),
                opened.chunks::<bool, Ix2>(0, 7).unwrap().for_each_view(go_on).unwrap_err(),
                opened.chunks::<bool, Ix2>(0, 7).unwrap().read_ahead(go_on).unwrap_err(),
                opened.rows::<bool, Ix2>().unwrap().find_map(Result::err).unwrap(),
                reader.slice::<bool, _>(ndarray::s![2001.., 3..]).unwrap_err(),
                opened.read::<DynArray>().unwrap().check().unwrap_err(),
                opened.read::<DynArray>().unwrap().view::<bool, Ix2>().unwrap_err(),
                opened.read::<DynArray>().unwrap().cast::<u8, Ix2>(ndarray_io::Casting::Safe).unwrap_err(),
            ]);
        }
        for (number_of_way, error) in errors.into_iter().enumerate() {
            assert!(error.message().starts_with("expected a bool (0 or 1), found 2"), "{error}");
            assert_eq!(error.element(), Some(number(2345, 67)), "{number_of_way}: {error}");
            assert_eq!(error.index(), Some(&[2345, 67][..]), "{number_of_way}: {error}");
        }
        // Elements that are arrays are counted as elements.
        let header = header_with_fortran_order("'|b1'", "(3000, 100, 4)", order);
        let mut payload = Array3::from_elem((3000, 100, 4), 1u8);
        payload[[2345, 67, 3]] = 2;
        let payload = if order == "True" { payload.reversed_axes() } else { payload };
        let bytes = file(&header, &payload.iter().copied().collect::<Vec<_>>());
        let temp_file = crate::support::routes::temp_file(&bytes, 0);
        let opened = NpyFile::open(temp_file.path()).unwrap();
        let wanted = if order == "True" { 67 * 3000 + 2345 } else { 2345 * 100 + 67 };
        for error in [
            opened.read::<Array2<[bool; 4]>>().unwrap_err(),
            opened.slice::<[bool; 4], _>(ndarray::s![3.., 60..]).unwrap_err(),
            opened.take::<Array2<[bool; 4]>>(0, &[1, 2345]).unwrap_err(),
        ] {
            assert_eq!((error.element(), error.index()), (Some(wanted), Some(&[2345, 67][..])), "{error}");
        }
    }
}

/// A column that is read later may have an earlier fault.
#[cfg(feature = "derive")]
#[test]
fn earliest_bad_record_is_named_across_columns() {
    #[derive(ndarray_io::Record)]
    struct Flags {
        #[allow(dead_code)]
        one: bool,
        #[allow(dead_code)]
        two: bool,
        #[allow(dead_code)]
        number: u16,
    }

    let mut payload = vec![0; 400];
    payload[4 * 60] = 7; // `one` of record 60
    payload[4 * 59 + 1] = 8; // `two` of record 59
    for descr in [
        "[('one', '|b1'), ('two', '|b1'), ('number', '<u2')]",
        "[('one', '|b1'), ('two', '|b1'), ('number', '>u2')]",
    ] {
        let bytes = file(&header(descr, "(100,)"), &payload);
        let error = Array1::<Flags>::read_npy(&bytes[..]).err().unwrap();
        assert_eq!((error.element(), error.field()), (Some(59), Some("two")), "{error}");
    }
    // In another order, the fields are read column by column.
    let bytes = file(&header("[('two', '|b1'), ('one', '|b1'), ('number', '<u2')]", "(100,)"), &payload);
    let error = Array1::<Flags>::read_npy(&bytes[..]).err().unwrap();
    assert_eq!((error.element(), error.field()), (Some(59), Some("one")), "{error}");
}

/// If several threads find errors in a large file, the first one in the file is reported.
#[test]
fn first_invalid_element_is_reported_by_threads() {
    let mut payload = vec![1; 40 << 20];
    for at in [5_000_000, 5_000_001, 20_000_000, 30_000_000, 41_000_000] {
        payload[at] = 3;
    }
    let bytes = file(&header("'|b1'", "(41943040,)"), &payload);
    let temp_file = crate::support::routes::temp_file(&bytes, 0);
    for threads in [1, 2, 4, 4, 4, 4] {
        let options = ReadOptions::new().threads(threads);
        let error = options.read_npy::<Array1<bool>>(temp_file.path()).unwrap_err();
        assert_eq!(error.element(), Some(5_000_000));
    }
}

#[cfg(feature = "py_literal")]
#[test]
fn comma_separated_dtypes_are_read_only_if_plain() {
    let dtype = |code: &str| {
        NpyReader::new(&file(&header(code, "(0,)"), &[])[..]).map(|reader| reader.dtype().to_string())
    };
    assert_eq!(dtype("'>f4, |u1'").unwrap(), "[('f0', '>f4'), ('f1', '|u1')]");
    // NumPy gives the first two an unexpected meaning and refuses the others.
    for code in ["'2S,i4'", "'i4,(2,)f4'", "'02i4,i4'", "'i4,S+2'", "'M8[D/24],f4'", "' i4,f8'"] {
        assert!(dtype(code).unwrap_err().message().starts_with("unsupported dtype"), "{code}");
    }
    assert!(dtype("[('', 'O', (2,))]").unwrap().contains("'|O'"));
}

#[test]
fn casting_read_reports_invalid_bool() {
    let mut payload = vec![1; 600_000];
    payload[512_345] = 7;
    let bytes = file(&header("'|b1'", "(600000,)"), &payload);
    let options = ReadOptions::new().casting(ndarray_io::Casting::Safe);
    let error = options.read_from::<Array1<f32>>(&bytes[..]).unwrap_err();
    assert_eq!(error.element(), Some(512_345));
}

#[test]
fn header_and_payload_limits_are_enforced() {
    let bytes = file(&header("'<f4'", "(1000,)"), &[0; 4000]);
    let limited = |limits| ReadOptions::new().limits(limits).read_from::<Array1<f32>>(&bytes[..]);
    assert!(limited(Limits::default().header(200).payload(4000)).is_ok());
    let error = limited(Limits::default().header(100)).unwrap_err();
    assert!(error.message().starts_with("the header has 116 bytes, over the limit of 100"), "{error:?}");
    let error = limited(Limits::default().payload(3999)).unwrap_err();
    assert!(
        error.is_limit() && error.help().is_some_and(|help| help.id() == "raise-payload-limit"),
        "{error}"
    );
    // The default limit of a header is 1 MiB.
    let long = file(&format!("{}{}", header("'<f4'", "(0,)"), " ".repeat(2 << 20)), &[]);
    assert!(Array1::<f32>::read_npy(&long[..]).unwrap_err().is_limit());
    let options = ReadOptions::new().limits(Limits::default().header(4 << 20));
    assert!(options.read_from::<Array1<f32>>(&long[..]).is_ok());
}

/// A parser that is not linear would take forever on these. `tests/alloc.rs` bounds their allocations.
#[cfg(feature = "py_literal")]
#[test]
fn long_headers_are_parsed_in_linear_time() {
    for (descr, wanted) in long_descrs() {
        let bytes = file(&header(&descr, "(0,)"), &[]);
        let found = NpyReader::new(&bytes[..]).as_ref().map_or_else(error_class, |_| "ok");
        assert_eq!(found, wanted, "{descr:.40}");
    }
    let many = |item: &str, length: usize| item.repeat(length / item.len());
    let numbers =
        [many("9", 900_000), many("0", 900_000), many("1_", 900_000), format!("0x{}", many("f", 900_000))];
    for number in numbers {
        assert!(
            NpyReader::new(&file(&header("'<f4'", &format!("({number},)")), &[])[..]).is_err()
                || number.starts_with('0')
        );
    }
}

#[cfg(feature = "py_literal")]
#[test]
fn record_nesting_beyond_limit_is_refused() {
    let nested = |depth: usize| format!("{}'<f4'{}", "[('a', ".repeat(depth), ")]".repeat(depth));
    assert!(NpyReader::new(&file(&header(&nested(32), "(0,)"), &[])[..]).is_ok());
    let error = NpyReader::new(&file(&header(&nested(33), "(0,)"), &[])[..]).unwrap_err();
    assert!(error.message().starts_with("the dtype nests records deeper than the limit of 32"), "{error}");
}

#[test]
fn impossible_view_reports_why_it_needs_a_copy() {
    let mut bytes = Vec::new();
    ndarray::arr1(&[1.0, 2.0]).write_npy(&mut bytes).unwrap();
    let mut shifted = vec![0];
    shifted.extend(&bytes);
    let shifted = Aligned::new(&shifted);
    let error = ArrayView1::<f64>::view_npy(&shifted[1..]).unwrap_err();
    assert!(
        error.message()
            == format!(
                "misaligned: expected a multiple of {} bytes, found a remainder of 1",
                align_of::<f64>()
            ),
        "{error:?}"
    );
    assert!(error.is_mismatch());

    let mut foreign = Vec::new();
    let other = match ndarray_io::ByteOrder::NATIVE {
        ndarray_io::ByteOrder::Little => ndarray_io::ByteOrder::Big,
        ndarray_io::ByteOrder::Big => ndarray_io::ByteOrder::Little,
    };
    let options = ndarray_io::WriteOptions::new().byte_order(other);
    options.write_to(&mut foreign, &ndarray::arr1(&[1.0, 2.0])).unwrap();
    let error = ArrayView1::<f64>::view_npy(&Aligned::new(&foreign)).unwrap_err();
    assert!(error.message().starts_with("expected this machine's byte order"), "{error:?}");
    assert_eq!(error.help().unwrap().id(), "read");
}

#[test]
fn errors_keep_help_path_and_io_kind() {
    let error = Array2::<f32>::read_npy(&file(&header("'<f8'", "(1,)"), &[0; 8])[..]).unwrap_err();
    assert!(error.help().is_some() && std::error::Error::source(&error).is_none());
    let error = ndarray_io::read_npy::<_, ArrayD<f32>>("no/such/file").unwrap_err();
    assert!(error.is_io() && error.path().is_some());
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
    // One of a source, which has no error of the system.
    let own = ndarray_io::Error::new(ndarray_io::error::ErrorKind::Io, "the connection was lost");
    assert_eq!(std::io::Error::from(own).kind(), std::io::ErrorKind::Other);
}
