//! NumPy's files, case by case: those of `testdata`, and the corpus in the folder `NDARRAY_IO_CORPUS`. If
//! `NDARRAY_IO_WRITTEN` is set, arrays are written again into that folder, for NumPy to check.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use ndarray::ArrayD;
use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::npy::Version;
use ndarray_io::{
    ByteOrder, DType, DynArray, NpyReader, ReadNpyExt, ReadOptions, ReadableElement, Result, ViewMutElement,
    WritableElement, WriteOptions,
};

use crate::support::error_class::error_class;
use crate::support::manifest::{self, ArrayFacts, Case, TestElement, dtype_json, sha256, with_type};
use crate::support::routes::{self, Route};
use crate::support::{self, in_c_order};

/// Calls a generic function with the Rust type of a dtype that `with_type` leaves out; returns `None` if there is none.
macro_rules! with_other_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {{
        use ndarray_io::dtype::Kind;
        match $dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size())) {
            Some((Kind::Void, size)) => with_type!(@sizes size, Void, $function($($argument),*); 2 3 5 6 8 16),
            Some((Kind::Bytes, size)) => with_type!(@sizes size, Bytes, $function($($argument),*); 2 3 4 6 7 8),
            Some((Kind::Text, size)) => with_type!(@sizes (size / 4), Chars, $function($($argument),*); 4 6),
            Some((Kind::Datetime(step), _)) => with_other_type!(@units step, Datetime64, Generic, $function($($argument),*)),
            Some((Kind::Timedelta(step), _)) => with_other_type!(@units step, Timedelta64, Nanosecond, $function($($argument),*)),
            _ => None,
        }
    }};
    (@units $step:expr, $type:ident, $own:ident, $function:ident($($argument:expr),*)) => {{
        use ndarray_io::element::units::*;
        with_other_type!(@unit $step, $type, $function($($argument),*);
            $own, Year, Month, Week, Day, Hour, Minute, Second, Millisecond, Microsecond, Picosecond,
            Femtosecond, Attosecond, Times<25, Second>, Times<10, Microsecond>, Times<7, Day>, Times<2, Week>,
            Times<100, Nanosecond>, Times<1000, Attosecond>, Times<3, Hour>, Times<100, Millisecond>)
    }};
    (@unit $step:expr, $type:ident, $function:ident $arguments:tt; $($unit:ty),*) => {{
        let step: ndarray_io::dtype::TimeStep = $step;
        $(if step == <$unit as ndarray_io::element::units::Unit>::STEP {
            Some(with_other_type!(@call $type<$unit>, $function $arguments))
        } else)* {
            None
        }
    }};
    (@call $type:ident<$unit:ty>, $function:ident($($argument:expr),*)) => {
        $function::<ndarray_io::element::$type<$unit>>($($argument),*)
    };
}

#[test]
fn testdata_arrays_match_numpys_manifest() {
    check_folder(&manifest::testdata());
}

#[test]
#[ignore = "needs NDARRAY_IO_CORPUS"]
fn corpus_arrays_match_numpys_manifest() {
    check_folder(&support::folder_from_env("NDARRAY_IO_CORPUS"));
}

fn check_folder(folder: &Path) {
    let mut cases = manifest::npy_cases(folder);
    // A dtype without a byte order has the reader's; the manifest was made on a little-endian machine.
    let is_native = |facts: &ArrayFacts| {
        let descr = facts.json["descr"].as_str().unwrap_or_default();
        !descr.contains(['<', '>', '|']) || descr == "'|f8'"
    };
    cases.retain(|case| cfg!(target_endian = "little") || !case.arrays.iter().any(is_native));
    assert!(!cases.is_empty());
    let failures: Vec<String> = cases.iter().flat_map(|case| check_case(case).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// Returns what is wrong as `Err`.
fn check_case(case: &Case) -> Result<(), String> {
    // An array that follows other bytes is read from its start; at the start of the file the magic is
    // missing.
    if case.arrays.first().is_some_and(|facts| facts.start > 0) {
        expect_error(case, NpyReader::new(&case.bytes[..]).map(drop))?;
    }
    let is_sound = case.expected_class == "ok" || case.arrays.len() > 1;
    let outcome = case.arrays.iter().try_for_each(|facts| check_array(case, facts));
    match outcome {
        Ok(())
            if is_sound
                || (!case.arrays.is_empty() && case.allowed_classes.iter().any(|class| class == "ok")) =>
        {
            Ok(())
        }
        Ok(()) => check_error_of_elements(case),
        // No known writer makes these; without the general path their headers count as malformed.
        Err(Failure::Class("bad_header"))
            if !cfg!(feature = "py_literal") && case.id.starts_with("hand-") =>
        {
            Ok(())
        }
        Err(Failure::Class(class)) if case.allowed_classes.iter().any(|allowed| *allowed == class) => Ok(()),
        Err(Failure::Class(class)) => Err(format!("{}: {class}, not {:?}", case.id, case.allowed_classes)),
        Err(Failure::Wrong(text)) => Err(format!("{}: {text}", case.id)),
    }
}

enum Failure {
    /// Reading fails with an error of this class.
    Class(&'static str),
    /// Reading gives a result that differs from NumPy's.
    Wrong(String),
}

fn expect_equal<T: PartialEq + Debug>(what: &str, found: T, wanted: T) -> Result<(), Failure> {
    if found == wanted {
        return Ok(());
    }
    let shown = |value: &T| format!("{value:?}").chars().take(300).collect::<String>();
    Err(Failure::Wrong(format!("{what}: found {}, expected {}", shown(&found), shown(&wanted))))
}

fn check_array(case: &Case, facts: &ArrayFacts) -> Result<(), Failure> {
    let bytes = &case.bytes[facts.start..facts.end];
    let mut reader = NpyReader::new(bytes).map_err(|error| Failure::Class(error_class(&error)))?;
    let head = reader.npy_header().ok_or_else(|| Failure::Wrong("no NPY file".into()))?.clone();
    expect_equal(
        "version",
        vec![head.version.numbers().0, head.version.numbers().1],
        numbers(&facts.json["version"]),
    )?;
    expect_equal("descr", &head.descr[..], facts.json["descr"].as_str().unwrap())?;
    expect_equal("shape", reader.shape(), &facts.shape())?;
    expect_equal("order", reader.order() == Order::Fortran, facts.is_fortran())?;
    expect_equal("data offset", reader.data_offset(), facts.data_offset() as u64)?;
    if !facts.json["dtype"].is_null() && *reader.dtype() != DType::Object {
        expect_equal("dtype", dtype_json(reader.dtype()), facts.json["dtype"].clone())?;
    }
    let dtype = reader.dtype().clone();
    let order = dtype.as_scalar().and_then(|scalar| scalar.byte_order());
    check_dynamic(case, facts, bytes)?;
    let width = dtype.item_size();
    let typed =
        with_type!(dtype, check_elements(case, facts, bytes, order, width, routes::read)).or_else(|| {
            with_other_type!(
                dtype,
                check_elements(case, facts, bytes, order, width, routes::read_in_few_ways)
            )
        });
    let owned = match dtype.as_scalar().map(|scalar| scalar.kind()) {
        Some(Kind::Bytes) => {
            Some(check_elements::<Vec<u8>>(case, facts, bytes, order, width, routes::read_owned))
        }
        Some(Kind::Text) => {
            Some(check_elements::<String>(case, facts, bytes, order, width, routes::read_owned))
        }
        _ => None,
    };
    if typed.is_some() || owned.is_some() {
        return typed.into_iter().chain(owned).collect();
    }
    let refused = reader.read::<ArrayD<f64>>().unwrap_err();
    expect_equal("another type is refused", refused.is_mismatch(), true)?;
    let shown: String = dtype.to_string().chars().take(100).collect();
    expect_equal("the message names the dtype", refused.to_string().contains(&shown), true)?;
    if let Some(wanted) = facts.json["sha256"].as_str() {
        let payload = reader.read_bytes().map_err(|error| Failure::Class(error_class(&error)))?;
        let found = sha256(&in_c_order(&payload, dtype.item_size(), &facts.shape(), facts.is_fortran()));
        expect_equal("payload", &*found, wanted)?;
        check_rewritten_header(case, facts, bytes)?;
    }
    Ok(())
}

/// Checks that writing the header again gives NumPy's bytes.
fn check_rewritten_header(case: &Case, facts: &ArrayFacts, bytes: &[u8]) -> Result<(), Failure> {
    if !is_written_by_numpy(case) {
        return Ok(());
    }
    let reader = NpyReader::new(bytes).map_err(|error| Failure::Class(error_class(&error)))?;
    let (order, shape) = (reader.order(), reader.shape().into());
    let header = ndarray_io::header::Header::new(reader.dtype().clone(), order, shape).unwrap();
    let written = ndarray_io::npy::format(&header, version_to_force(facts)).unwrap();
    expect_equal("header written again", escaped(&written), escaped(&bytes[..facts.data_offset()]))
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Checks that reading with a dynamic dtype keeps the bytes, and that writing the array gives the same file.
fn check_dynamic(case: &Case, facts: &ArrayFacts, bytes: &[u8]) -> Result<(), Failure> {
    let Some(wanted) = facts.json["sha256"].as_str() else { return Ok(()) };
    let temp_file = routes::temp_file(bytes, 0);
    let reads = [
        DynArray::read_npy(bytes),
        DynArray::read_npy(routes::ChunkedReader::new(bytes, |call| 1 + call * 31 % 4001)),
        DynArray::read_npy(temp_file.reopen().unwrap()),
        ReadOptions::new().allow_trailing(true).read_npy(temp_file.path()),
    ];
    for read in reads {
        let array = read.map_err(|error| Failure::Class(error_class(&error)))?;
        expect_equal("shape", array.shape(), &facts.shape())?;
        let in_order =
            in_c_order(array.bytes(), array.dtype().item_size(), array.shape(), facts.is_fortran());
        expect_equal("dynamic: elements", &*sha256(&in_order), wanted)?;
        expect_equal("dynamic: shown", array.to_string().is_empty(), false)?;
        if is_written_by_numpy(case) {
            let mut options = WriteOptions::new();
            if let Some(version) = version_to_force(facts) {
                options = options.version(version);
            }
            let mut written = Vec::new();
            options.write_to(&mut written, &array).unwrap();
            expect_equal("dynamic: written again", escaped(&written), escaped(bytes))?;
        }
    }
    Ok(())
}

type ReadFn<A> = fn(Route, &[u8], routes::Header<'_>) -> Option<Result<ArrayD<A>>>;

fn check_elements<A>(
    case: &Case,
    facts: &ArrayFacts,
    bytes: &[u8],
    order: Option<ByteOrder>,
    width: usize,
    read: ReadFn<A>,
) -> Result<(), Failure>
where
    A: ReadableElement + WritableElement + TestElement + Default,
{
    let shape = facts.shape();
    let header = routes::Header { shape: &shape, byte_order: order, data_offset: facts.data_offset() };
    for &route in routes::ALL {
        let Some(read) = read(route, bytes, header) else { continue };
        let array = match read {
            Ok(array) => array,
            Err(error)
                if route.refuses_trailing_bytes()
                    && error_class(&error) == "extra_data"
                    && case.expected_class == "extra_data" =>
            {
                continue;
            }
            Err(error) if case.allowed_classes.iter().any(|allowed| allowed == error_class(&error)) => {
                continue;
            }
            Err(error) => return Err(Failure::Wrong(format!("{route:?}: {error}"))),
        };
        expect_equal("shape", array.shape(), &shape[..])?;
        let of_file = |item: &A| {
            let mut bytes = item.clone().bytes(order.unwrap_or(ByteOrder::NATIVE));
            bytes.resize(width, 0);
            bytes
        };
        let wanted = facts.json["sha256"].as_str().unwrap();
        expect_equal(
            &format!("{route:?}: elements"),
            &*sha256(&array.iter().flat_map(of_file).collect::<Vec<_>>()),
            wanted,
        )?;
        if let Some(values) = facts.json["values"].as_array() {
            let found: Vec<_> = array.iter().map(|item| item.clone().json()).collect();
            expect_equal(&format!("{route:?}: values"), &found, values)?;
        }
        if route == Route::Slice {
            expect_equal("Fortran strides", array.t().is_standard_layout() || !facts.is_fortran(), true)?;
            check_rewritten_file(case, facts, bytes, &array, order)?;
        }
    }
    Ok(())
}

/// Checks that writing the array again gives NumPy's bytes.
fn check_rewritten_file<A: WritableElement>(
    case: &Case,
    facts: &ArrayFacts,
    bytes: &[u8],
    array: &ArrayD<A>,
    order: Option<ByteOrder>,
) -> Result<(), Failure> {
    let dtype = NpyReader::new(bytes).map_err(|error| Failure::Class(error_class(&error)))?.dtype().clone();
    let mut options = WriteOptions::new().byte_order(order.unwrap_or(ByteOrder::NATIVE));
    match dtype.as_scalar().map(|scalar| scalar.kind()) {
        Some(Kind::Bytes) => options = options.text_width(dtype.item_size()),
        Some(Kind::Text) => options = options.text_width(dtype.item_size() / 4),
        _ => {}
    }
    if let Some(version) = version_to_force(facts) {
        options = options.version(version);
    }
    let mut written = Vec::new();
    options.write_to(&mut written, &array).unwrap();
    if is_written_by_numpy(case) {
        expect_equal("written again", escaped(&written), escaped(bytes))?;
    }
    if let Some(folder) = std::env::var_os("NDARRAY_IO_WRITTEN")
        && case.arrays.len() == 1
        && facts.start == 0
        && case.expected_class == "ok"
    {
        let path = PathBuf::from(folder).join(case.path.file_name().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        options.write_npy(path, array).unwrap();
    }
    Ok(())
}

/// Whether NumPy wrote the file; hand-made files may use other spellings.
fn is_written_by_numpy(case: &Case) -> bool {
    let by_numpy = ["dtype", "shape", "source", "version", "fill", "size", "record", "random"];
    case.line["written"] == true
        || case.line["category"].as_str().is_some_and(|category| by_numpy.contains(&category))
}

/// Returns the version to request, if NumPy would not have chosen it by default.
fn version_to_force(facts: &ArrayFacts) -> Option<Version> {
    match numbers(&facts.json["version"])[0] {
        1 => None,
        2 => Some(Version::V2),
        _ => Some(Version::V3),
    }
}

/// Checks a file whose error is found only when its elements are read.
fn check_error_of_elements(case: &Case) -> Result<(), String> {
    let read = NpyReader::new(&case.bytes[..]).and_then(|mut reader| {
        let dtype = reader.dtype().clone();
        let path = &case.path;
        let other = || with_other_type!(dtype, can_read_whole_file(path));
        match with_type!(dtype, can_read_whole_file(path)).or_else(other) {
            Some(read) => read,
            None if case.expected_class == "bad_bool" || case.expected_class == "bad_unicode" => Ok(false), // the fault is within a record: see `records.rs`
            None if dtype.has_object() => reader.read::<ArrayD<f64>>().map(|_| true),
            None => reader.read_bytes().map(|_| true),
        }
    });
    match read {
        Ok(false) => Ok(()),
        Ok(true) => expect_error(case, Ok(())),
        Err(error) => expect_error(case, Err(error)),
    }
}

fn can_read_whole_file<A: ViewMutElement>(path: &Path) -> Result<bool> {
    ndarray_io::read_npy::<_, ArrayD<A>>(path).map(|_| true)
}

fn expect_error(case: &Case, read: Result<()>) -> Result<(), String> {
    let found = read.as_ref().map_or_else(error_class, |()| "ok");
    if found == "bad_header" && !cfg!(feature = "py_literal") && case.id.starts_with("bad-") {
        return Ok(()); // only the general path gives the exact error
    }
    if case.allowed_classes.iter().any(|allowed| allowed == found)
        || (found == "bad_magic" && case.expected_class == "ok")
    {
        return Ok(());
    }
    let message = read.err().map(|error| error.to_string()).unwrap_or_default();
    Err(format!("{}: {found} ({message}), not {:?}", case.id, case.allowed_classes))
}

fn numbers(json: &serde_json::Value) -> Vec<u8> {
    json.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as u8).collect()
}
