//! Pickles in which shared parts would cost much more than their length: they give values or errors quickly.
//! If the cost were exponential or quadratic, the tests would not end or would run out of memory.

use ndarray::Array1;
use ndarray_io::ReadNpyExt;
use ndarray_io::error::ErrorKind;
use ndarray_io::object::{Int, Object, View};

use crate::support::bombs::{self, Opcodes};

fn read(file: &[u8]) -> Result<Array1<Object>, ndarray_io::Error> {
    Array1::read_npy(file)
}

/// Fails unless the pickle exceeds the limit whose message begins like this.
#[track_caller]
fn assert_exceeds(limit: &str, file: &[u8]) {
    let error = read(file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.message().starts_with(limit), "{error}");
}

const NESTING: &str = "the pickle nests objects deeper than the limit of";
const COPIES: &str = "copying shared parts of the pickle takes";

#[test]
fn shared_parts_are_decoded_once_or_exceed_limit() {
    assert_exceeds(NESTING, &bombs::nested_tuples(100_000));
    assert_exceeds(NESTING, &bombs::nested_dtype_pairs(20_000));
    assert_exceeds(COPIES, &bombs::globals_of_one_text(1000));
    assert_exceeds(COPIES, &bombs::text_encoded_many_times(1000));
    assert_exceeds(COPIES, &bombs::arrays_of_one_buffer(1000));
    assert_exceeds(COPIES, &bombs::calls_with_undecodable_text("decimal", "Decimal", 1000));
    assert_exceeds(COPIES, &bombs::nested_records(31));
    assert_exceeds(COPIES, &bombs::nested_dtype_dicts(30));

    let texts = read(&bombs::one_text_under_many_memo_numbers(1000)).unwrap();
    let texts = texts[0].items().unwrap();
    assert_eq!((texts.len(), texts.get(999).unwrap().as_str().unwrap().len()), (1000, 1 << 20));

    // A date is known by its length, so a longer text is not looked at.
    let calls = read(&bombs::calls_with_undecodable_text("datetime", "date", 100_000)).unwrap();
    let calls = calls[0].items().unwrap();
    assert!(matches!(calls.get(99_999).unwrap().view(), View::Call(_)));

    // A few repetitions are allowed.
    let calls = read(&bombs::calls_with_undecodable_text("decimal", "Decimal", 10)).unwrap();
    assert!(matches!(calls[0].items().unwrap().get(9).unwrap().view(), View::Call(_)));
    assert_eq!(read(&bombs::nested_tuples(900)).unwrap().len(), 900);
    assert_eq!(read(&bombs::text_encoded_many_times(10)).unwrap()[0].items().unwrap().len(), 10);
    let records = read(&bombs::nested_records(10)).unwrap();
    let View::Scalar(scalar) = records[0].view() else { panic!("a scalar") };
    assert_eq!(scalar.dtype().item_size(), 0);
}

#[test]
fn arrays_sharing_a_dtype_are_read_quickly() {
    for (fields, arrays) in [(1000, 1000), (16_000, 1), (3, 20_000)] {
        let made = read(&bombs::arrays_of_one_dtype(fields, arrays)).unwrap();
        let made = made[0].items().unwrap();
        let View::Array(last) = made.get(arrays - 1).unwrap().view() else { panic!("an array") };
        assert_eq!((made.len(), last.dtype().item_size(), last.shape()), (arrays, fields, &[0][..]));
    }
}

#[test]
fn arrays_with_own_dtypes_are_read_quickly() {
    for (fields, arrays) in [(50, 2000), (100, 1000)] {
        let made = read(&bombs::arrays_of_own_dtypes(fields, arrays)).unwrap();
        let made = made[0].items().unwrap();
        let View::Array(last) = made.get(arrays - 1).unwrap().view() else { panic!("an array") };
        assert_eq!((made.len(), last.dtype().item_size()), (arrays, fields));
    }
}

#[test]
fn set_of_many_record_scalars_is_read_quickly() {
    let made = read(&bombs::set_of_record_scalars(10_000, 50_000)).unwrap();
    let View::Set(set) = made[0].view() else { panic!("a set") };
    assert_eq!(set.len(), 50_000);
}

#[test]
fn dtypes_and_large_values_are_compared_once() {
    let (one, two) =
        (bombs::set_of_record_scalars(10_000, 50_000), bombs::set_of_record_scalars(10_000, 50_000));
    assert!(read(&one).unwrap()[0] == read(&two).unwrap()[0]);
    for kind in 0..4 {
        let made = read(&bombs::set_of_pairs_with_large_values(kind, 20_000)).unwrap();
        let View::Set(set) = made[0].view() else { panic!("a set") };
        assert_eq!(set.len(), 20_000, "{kind}");
    }
    let dicts = bombs::dicts_of_one_key(100_000);
    assert!(read(&dicts).unwrap()[0] == read(&dicts).unwrap()[0]);
    let one = read(&bombs::set_of_calls(0..20_000)).unwrap();
    let two = read(&bombs::set_of_calls((0..20_000).rev())).unwrap();
    assert!(one[0] == two[0]);
    let other = read(&bombs::set_of_calls((1..20_001).rev())).unwrap();
    assert!(one[0] != other[0]);
}

#[test]
fn graphs_with_different_sharing_compare_in_linear_time() {
    let made = read(&bombs::differently_shared_graphs(60)).unwrap();
    assert!(made[0] == made[1]);
    let other = read(&bombs::differently_shared_graphs(62)).unwrap();
    assert!(made[0] != other[0] && other[1] != made[1]);
}

/// As in Python, the last entry of a memo number counts, for any number.
#[test]
fn later_memo_entry_replaces_earlier() {
    let opcodes = |bytes: &[u8]| Opcodes::default().raw(bytes);
    let far = opcodes(b"").text("old").raw(b"q\x050");
    let far = (0..5u8).fold(far, |all, number| all.text("x").raw(&[b'q', number]).raw(b"0"));
    assert_eq!(read(&far.text("new").raw(b"q\x050h\x05").into_npy(1)).unwrap()[0].as_str(), Some("new"));
    let next = opcodes(b"").text("a").raw(b"q\x010").text("b").raw(b"\x940h\x01");
    assert_eq!(read(&next.into_npy(1)).unwrap()[0].as_str(), Some("b"));
}

/// The values are Python's: `int(np.uint64(2**64 - 1))` and so on.
#[test]
fn numpy_scalars_convert_to_rust_as_in_python() {
    let scalar = |descr: &str, bytes: &[u8]| {
        let all = Opcodes::default().text("numpy._core.multiarray").text("scalar").raw(b"\x93");
        let all = all.text("numpy").text("dtype").raw(b"\x93").text(descr).raw(b"\x85R");
        let all = all.raw(&[b'C', bytes.len() as u8]).raw(bytes).raw(b"\x86R");
        read(&all.into_npy(1)).unwrap()[0].clone()
    };
    let large = scalar("u8", &[0xFF; 8]);
    assert_eq!(u64::try_from(&large).unwrap(), u64::MAX);
    assert!(i64::try_from(&large).is_err());
    assert_eq!(f64::try_from(&large).unwrap(), 18_446_744_073_709_551_615.0);
    assert!(bool::try_from(&scalar("?", &[1])).unwrap());
    assert_eq!(String::try_from(&scalar("<U2", &[b'a', 0, 0, 0, b'b', 0, 0, 0])).unwrap(), "ab");
    assert!(i64::try_from(&scalar("<f8", &1.5f64.to_le_bytes())).is_err());

    let integer = |text: &str| Object::from(text.parse::<Int>().unwrap());
    // float(2**70 + 1), and float(10**400), which is an OverflowError
    assert_eq!(f64::try_from(&integer("1180591620717411303425")).unwrap(), 1180591620717411303424.0);
    let huge = integer(&format!("1{}", "0".repeat(400)));
    assert!(f64::try_from(&huge).unwrap_err().to_string().contains("float"));
    assert!(i64::try_from(&huge).unwrap_err().to_string().len() < 100);
}
