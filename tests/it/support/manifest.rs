//! The manifest, in which NumPy's side describes the contents of files: see `testdata/make.py`.

use std::path::{Path, PathBuf};

use ndarray_io::dtype::{Kind, Scalar, Title};
use ndarray_io::element::units::Unit;
use ndarray_io::element::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void};
use ndarray_io::{ByteOrder, DType};
use num_complex::Complex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A file and the expected results.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected_class: String,
    /// The accepted classes of errors; `ok` may be among them.
    pub(crate) allowed_classes: Vec<String>,
    pub(crate) line: Value,
    pub(crate) arrays: Vec<ArrayFacts>,
}

/// The known facts of one array.
pub(crate) struct ArrayFacts {
    pub(crate) json: Value,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl ArrayFacts {
    pub(crate) fn shape(&self) -> Vec<usize> {
        let dims = self.json["shape"].as_array().expect("a shape").iter();
        dims.map(|length| usize::try_from(length.as_u64().expect("a length")).expect("a usize")).collect()
    }

    pub(crate) fn is_fortran(&self) -> bool {
        self.json["fortran_order"].as_bool().expect("an order")
    }

    pub(crate) fn data_offset(&self) -> usize {
        usize::try_from(self.json["data_start"].as_u64().expect("an offset")).expect("a usize") - self.start
    }
}

/// Returns the cases of NPY files, each of which may hold several arrays.
pub(crate) fn npy_cases(folder: &Path) -> Vec<Case> {
    cases_of(folder, "npy")
}

/// Returns the cases of a kind: `npy` or `npz`.
pub(crate) fn cases_of(folder: &Path, kind: &str) -> Vec<Case> {
    let manifest = std::fs::read_to_string(folder.join("manifest.jsonl")).expect("a manifest");
    manifest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["kind"] == kind)
        .map(|line| case(folder, line))
        .collect()
}

pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Asserts that `file` has the bytes that `np.save` writes for the array that `testdata/make.py` calls
/// `name`. The test data are little-endian; on other machines the options of the test must match.
pub(crate) fn assert_equals_numpys(file: &[u8], name: &str) {
    let sums = std::fs::read_to_string(testdata().join("expected.json")).unwrap();
    let sums: Value = serde_json::from_str(&sums).unwrap();
    let wanted = sums[name].as_str().unwrap_or_else(|| panic!("make.py has no array '{name}'"));
    assert_eq!(sha256(file), wanted, "{name} is not NumPy's: {:.200}", file.escape_ascii().to_string());
}

fn case(folder: &Path, line: Value) -> Case {
    let path = folder.join(line["file"].as_str().expect("a file"));
    let bytes = std::fs::read(&path).expect("the case's file");
    let strings = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .expect("a list")
            .iter()
            .map(|item| item.as_str().expect("a string").to_owned())
            .collect()
    };
    let expected_class = line["expect"].as_str().expect("a class").to_owned();
    let mut allowed_classes = strings(&line["also"]);
    allowed_classes.push(expected_class.clone());
    if cfg!(feature = "zip-methods") && line["id"] == "badzip-method-deflate64" {
        allowed_classes.push("ok".to_owned()); // Python's `zipfile` has no Deflate64; the feature has
    }
    // NumPy writes the first one for `float8_e5m2`, and the second one on 32-bit x86; where the corpus was made, it reads neither.
    if ["bad-dtype-f1", "bad-dtype-f12"].iter().any(|id| line["id"] == *id) {
        allowed_classes.push("ok".to_owned());
    }
    let entries = line["arrays"].as_array().expect("a list").clone();
    let starts: Vec<usize> =
        entries.iter().map(|entry| entry["start"].as_u64().unwrap_or(0) as usize).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]).collect::<Vec<_>>();
    let arrays =
        entries.into_iter().zip(starts).zip(ends).map(|((json, start), end)| ArrayFacts { json, start, end });
    let id = line["id"].as_str().expect("a name").to_owned();
    Case { id, path, bytes, expected_class, allowed_classes, arrays: arrays.collect(), line }
}

/// Returns a dtype in the manifest's form.
pub(crate) fn dtype_json(dtype: &DType) -> Value {
    match dtype {
        DType::Scalar(scalar) => scalar_json(scalar),
        DType::Subarray(subarray) => json!({"kind": "subarray", "size": subarray.size(),
            "shape": subarray.shape(), "base": dtype_json(subarray.base())}),
        DType::Record(record) => {
            let fields = record.fields().iter().map(|field| {
                let title = match field.title() {
                    None => Value::Null,
                    Some(Title::Text(text)) => json!(text),
                    Some(Title::Int(number)) => json!(number),
                    Some(other) => panic!("a title of a new kind: {other:?}"),
                };
                json!({"name": field.name(), "title": title, "offset": field.offset(), "dtype": dtype_json(field.dtype())})
            });
            json!({"kind": "record", "size": record.size(), "fields": fields.collect::<Vec<_>>()})
        }
        DType::Object => json!({"kind": "O", "order": "|", "size": 8}),
        other => panic!("a dtype of a new kind: {other:?}"),
    }
}

fn scalar_json(scalar: &Scalar) -> Value {
    let order = match scalar.byte_order() {
        None => "|",
        Some(ByteOrder::Little) => "<",
        Some(ByteOrder::Big) => ">",
    };
    let mut json = json!({"kind": scalar.kind().letter().to_string(), "order": order, "size": scalar.size()});
    if let Kind::Datetime(step) | Kind::Timedelta(step) = scalar.kind() {
        json["unit"] = json!(step.unit.symbol());
        json["step"] = json!(step.count);
    }
    json
}

/// An element whose value and bytes can be compared with the manifest's.
pub(crate) trait TestElement: Clone {
    fn json(self) -> Value;
    /// Returns the bytes in the file, without NULs at the end of elements that are shorter than their item.
    fn bytes(self, order: ByteOrder) -> Vec<u8>;
}

fn in_byte_order<const N: usize>(little: [u8; N], order: ByteOrder) -> Vec<u8> {
    let mut bytes = little.to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl TestElement for $type {
            fn json(self) -> Value {
                json!(self.to_string())
            }

            fn bytes(self, order: ByteOrder) -> Vec<u8> {
                in_byte_order(self.to_le_bytes(), order)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl TestElement for $type {
            fn json(self) -> Value {
                json!(hex(&self.bytes(ByteOrder::Big)))
            }

            fn bytes(self, order: ByteOrder) -> Vec<u8> {
                in_byte_order(self.to_bits().to_le_bytes(), order)
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);
floats!(f32 f64);
#[cfg(feature = "half-2")]
floats!(half::f16);

impl TestElement for bool {
    fn json(self) -> Value {
        json!(self)
    }

    fn bytes(self, _: ByteOrder) -> Vec<u8> {
        vec![u8::from(self)]
    }
}

impl<T: TestElement> TestElement for Complex<T> {
    fn json(self) -> Value {
        json!([self.re.json(), self.im.json()])
    }

    fn bytes(self, order: ByteOrder) -> Vec<u8> {
        [self.re.bytes(order), self.im.bytes(order)].concat()
    }
}

impl TestElement for Vec<u8> {
    fn json(self) -> Value {
        json!(hex(&self))
    }

    fn bytes(self, _: ByteOrder) -> Vec<u8> {
        self
    }
}

impl TestElement for String {
    fn json(self) -> Value {
        json!(self)
    }

    fn bytes(self, order: ByteOrder) -> Vec<u8> {
        self.chars().flat_map(|char| in_byte_order(u32::from(char).to_le_bytes(), order)).collect()
    }
}

impl<const N: usize> TestElement for Void<N> {
    fn json(self) -> Value {
        json!(hex(&self.0))
    }

    fn bytes(self, _: ByteOrder) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl<const N: usize> TestElement for Bytes<N> {
    fn json(self) -> Value {
        json!(hex(self.as_bytes()))
    }

    fn bytes(self, _: ByteOrder) -> Vec<u8> {
        self.as_array().to_vec()
    }
}

impl<const N: usize> TestElement for Chars<N> {
    fn json(self) -> Value {
        self.try_to_string().map_or_else(|_| json!(self.code_points()), |text| json!(text))
    }

    fn bytes(self, order: ByteOrder) -> Vec<u8> {
        self.code_points().iter().flat_map(|code| in_byte_order(code.to_le_bytes(), order)).collect()
    }
}

impl TestElement for LongDouble {
    fn json(self) -> Value {
        json!(hex(&self.bytes(ByteOrder::Big)))
    }

    fn bytes(self, order: ByteOrder) -> Vec<u8> {
        in_byte_order(self.to_le_bytes(), order)
    }
}

macro_rules! times {
    ($($type:ident)*) => {$(
        impl<U: Unit> TestElement for $type<U> {
            fn json(self) -> Value {
                match self.ticks() {
                    None => json!("NaT"),
                    Some(ticks) => {
                        json!({"ticks": ticks.to_string(), "unit": U::STEP.unit.symbol(), "step": U::STEP.count})
                    }
                }
            }

            fn bytes(self, order: ByteOrder) -> Vec<u8> {
                in_byte_order(self.ticks().unwrap_or(i64::MIN).to_le_bytes(), order)
            }
        }
    )*};
}

times!(Datetime64 Timedelta64);

impl<T: TestElement, const N: usize> TestElement for [T; N] {
    fn json(self) -> Value {
        Value::Array(self.into_iter().map(T::json).collect())
    }

    fn bytes(self, order: ByteOrder) -> Vec<u8> {
        self.into_iter().flat_map(|item| item.bytes(order)).collect()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Calls a generic function with the Rust type of a dtype; returns `None` if no type matches.
///
/// Of the types of times, which differ only in a marker, it is called with one unit each, and of texts and raw bytes with few widths,
/// all of which are in `testdata`: to compile everything for each of them would take as long as for all others. `corpus` has the others.
macro_rules! with_type {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {{
        use ndarray_io::dtype::Kind;
        use ndarray_io::element::units::{Generic, Nanosecond, Unit as _};
        match $dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size())) {
            Some((Kind::Bool, 1)) => Some($function::<bool>($($argument),*)),
            Some((Kind::Int, 1)) => Some($function::<i8>($($argument),*)),
            Some((Kind::Int, 2)) => Some($function::<i16>($($argument),*)),
            Some((Kind::Int, 4)) => Some($function::<i32>($($argument),*)),
            Some((Kind::Int, 8)) => Some($function::<i64>($($argument),*)),
            Some((Kind::Uint, 1)) => Some($function::<u8>($($argument),*)),
            Some((Kind::Uint, 2)) => Some($function::<u16>($($argument),*)),
            Some((Kind::Uint, 4)) => Some($function::<u32>($($argument),*)),
            Some((Kind::Uint, 8)) => Some($function::<u64>($($argument),*)),
            #[cfg(feature = "half-2")]
            Some((Kind::Float, 2)) => Some($function::<half::f16>($($argument),*)),
            Some((Kind::Float, 4)) => Some($function::<f32>($($argument),*)),
            Some((Kind::Float, 8)) => Some($function::<f64>($($argument),*)),
            Some((Kind::Complex, 8)) => Some($function::<num_complex::Complex<f32>>($($argument),*)),
            Some((Kind::Complex, 16)) => Some($function::<num_complex::Complex<f64>>($($argument),*)),
            Some((Kind::Float, 16)) => Some($function::<ndarray_io::element::LongDouble>($($argument),*)),
            Some((Kind::Complex, 32)) => Some($function::<num_complex::Complex<ndarray_io::element::LongDouble>>($($argument),*)),
            Some((Kind::Void, size)) => with_type!(@sizes size, Void, $function($($argument),*); 0 1 4 7),
            Some((Kind::Bytes, size)) => with_type!(@sizes size, Bytes, $function($($argument),*); 0 1 5),
            Some((Kind::Text, size)) => with_type!(@sizes (size / 4), Chars, $function($($argument),*); 0 1 2 3 5),
            Some((Kind::Datetime(step), _)) if step == Nanosecond::STEP => {
                Some($function::<ndarray_io::element::Datetime64<Nanosecond>>($($argument),*))
            }
            Some((Kind::Timedelta(step), _)) if step == Generic::STEP => {
                Some($function::<ndarray_io::element::Timedelta64<Generic>>($($argument),*))
            }
            _ => None,
        }
    }};
    (@sizes $size:expr, $type:ident, $function:ident $arguments:tt; $($known:literal)*) => {
        match $size {
            $($known => Some(with_type!(@sized $type<$known>, $function $arguments)),)*
            _ => None,
        }
    };
    (@sized $type:ident<$size:literal>, $function:ident($($argument:expr),*)) => {
        $function::<ndarray_io::element::$type<$size>>($($argument),*)
    };
}
pub(crate) use with_type;
