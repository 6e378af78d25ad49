//! Zarr metadata of groups and arrays.

use serde_json::{Value, json};

use ndarray_io::dtype::{Kind, Scalar, TimeUnit};
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, DType, Error, Result};

/// The version of the Zarr metadata in the references.
///
/// ```
/// use ndarray_io_refs::ZarrFormat;
/// assert_eq!(ZarrFormat::default(), ZarrFormat::V2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ZarrFormat {
    /// Version 2: `.zgroup`, `.zarray` and `.zattrs`, which every reader of references supports.
    #[default]
    V2,
    /// Version 3: `zarr.json`.
    V3,
}

/// The properties of an array that its metadata describe.
pub(crate) struct ArrayMetadata<'a> {
    pub(crate) dtype: &'a DType,
    pub(crate) order: Order,
    pub(crate) shape: &'a [usize],
    pub(crate) chunk_shape: &'a [usize],
    pub(crate) dims: &'a [String],
}

/// Rejects elements of 0 bytes, since a small file may declare any number of them.
pub(crate) fn refuse_zero_sized(dtype: &DType) -> Result<()> {
    match dtype.item_size() {
        0 => Err(not_representable(dtype, "Zarr does not support elements of 0 bytes")),
        _ => Ok(()),
    }
}

fn not_representable(dtype: &DType, reason: &str) -> Error {
    Error::not_representable("Zarr", dtype, reason)
}

impl ZarrFormat {
    /// Returns the metadata of a group: the name of its file and the content.
    pub(crate) fn group_metadata(self) -> (&'static str, Value) {
        match self {
            Self::V2 => (".zgroup", json!({"zarr_format": 2})),
            Self::V3 => ("zarr.json", json!({"zarr_format": 3, "node_type": "group"})),
        }
    }

    /// Returns the metadata of an array: the names of its files and their contents.
    pub(crate) fn array_metadata(self, array: &ArrayMetadata<'_>) -> Result<Vec<(&'static str, Value)>> {
        let ArrayMetadata { dtype, order, shape, chunk_shape, dims } = *array;
        Ok(match self {
            Self::V2 => {
                let order = if order == Order::Fortran { "F" } else { "C" };
                // With a null `fill_value`, readers do not mask any elements as missing.
                let array = json!({
                    "zarr_format": 2, "shape": shape, "chunks": chunk_shape, "dtype": dtype_v2(dtype)?, "order": order,
                    "compressor": null, "filters": null, "fill_value": null,
                });
                vec![(".zarray", array), (".zattrs", json!({"_ARRAY_DIMENSIONS": dims}))]
            }
            Self::V3 => {
                let (data_type, fill_value, endian) = data_type_v3(dtype)?;
                let mut codecs = Vec::new();
                if order == Order::Fortran && shape.len() > 1 {
                    let reversed: Vec<usize> = (0..shape.len()).rev().collect();
                    codecs.push(json!({"name": "transpose", "configuration": {"order": reversed}}));
                }
                codecs.push(match endian {
                    Some(endian) => json!({"name": "bytes", "configuration": {"endian": endian}}),
                    None => json!({"name": "bytes"}),
                });
                vec![(
                    "zarr.json",
                    json!({
                        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
                        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
                        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                        "fill_value": fill_value, "codecs": codecs, "dimension_names": dims, "attributes": {},
                    }),
                )]
            }
        })
    }

    /// Returns the key of a chunk, relative to its array.
    pub(crate) fn chunk_key(self, numbers: &[usize]) -> String {
        let joined =
            |separator: &str| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(separator);
        // An array without axes has one chunk, whose key both versions of the format define separately.
        match (self, numbers) {
            (Self::V2, []) => "0".into(),
            (Self::V2, _) => joined("."),
            (Self::V3, []) => "c".into(),
            (Self::V3, _) => format!("c/{}", joined("/")),
        }
    }
}

/// Rejects scalars that no version of Zarr can represent.
fn check_scalar(dtype: &DType, scalar: &Scalar) -> Result<()> {
    let is_known = match scalar.kind() {
        Kind::Float => matches!(scalar.size(), 2 | 4 | 8),
        Kind::Complex => matches!(scalar.size(), 8 | 16),
        Kind::Bool | Kind::Int | Kind::Uint | Kind::Bytes | Kind::Text | Kind::Void => true,
        Kind::Datetime(_) | Kind::Timedelta(_) | Kind::Narrow(_) => true,
        _ => false, // what this crate does not know
    };
    match is_known {
        true => Ok(()),
        false => Err(not_representable(
            dtype,
            "Zarr supports only floats of 2, 4 and 8 bytes and complex numbers of 8 and 16",
        )),
    }
}

/// Returns the dtype in NumPy's notation, without quotes.
fn dtype_text(dtype: &DType) -> String {
    dtype.to_string().trim_matches('\'').to_owned()
}

fn dtype_v2(dtype: &DType) -> Result<Value> {
    let dtype = &dtype.stored();
    match dtype {
        DType::Scalar(scalar) => check_scalar(dtype, scalar).map(|()| Value::String(dtype_text(dtype))),
        DType::Record(record) => {
            let mut end = 0;
            let mut fields = Vec::new();
            for field in record.fields() {
                let DType::Scalar(scalar) = field.dtype() else {
                    return Err(not_representable(
                        dtype,
                        "Zarr supports neither records nor subarrays in records",
                    ));
                };
                check_scalar(dtype, scalar)?;
                if scalar.size() == 0 {
                    return Err(not_representable(dtype, "Zarr does not support elements of 0 bytes"));
                }
                // Version 2 lists fields without offsets: they must follow one another without gaps.
                if field.offset() != end {
                    break;
                }
                end += scalar.size();
                fields.push(json!([field.name(), dtype_text(field.dtype())]));
            }
            match fields.len() == record.fields().len() && end == record.size() {
                true => Ok(Value::Array(fields)),
                false => {
                    Err(not_representable(dtype, "Zarr does not support gaps between the fields of a record"))
                }
            }
        }
        _ => Err(not_representable(dtype, "Zarr supports only numbers, text, times and records of these")),
    }
}

/// Returns the data type, the fill value, and the byte order if the type has one.
fn data_type_v3(dtype: &DType) -> Result<(Value, Value, Option<&'static str>)> {
    /// The maximum size of raw bytes: the metadata contain a fill value of the same size.
    const MAX_RAW_SIZE: usize = 1 << 16;
    let dtype = &dtype.stored();
    let DType::Scalar(scalar) = dtype else {
        return Err(not_representable(dtype, "version 3 supports only numbers, text and times"));
    };
    check_scalar(dtype, scalar)?;
    let (bytes, bits) = (scalar.size(), 8 * scalar.size());
    let sized = |name: &str| json!({"name": name, "configuration": {"length_bytes": bytes}});
    let (data_type, fill_value) = match scalar.kind() {
        Kind::Bool => (json!("bool"), json!(false)),
        Kind::Int => (json!(format!("int{bits}")), json!(0)),
        Kind::Uint => (json!(format!("uint{bits}")), json!(0)),
        Kind::Float => (json!(format!("float{bits}")), json!(0.0)),
        Kind::Complex => (json!(format!("complex{bits}")), json!([0.0, 0.0])),
        Kind::Bytes => (sized("null_terminated_bytes"), json!("")),
        Kind::Text => (sized("fixed_length_utf32"), json!("")),
        Kind::Void if bytes > MAX_RAW_SIZE => {
            return Err(not_representable(dtype, "the value of missing chunks would be too long"));
        }
        Kind::Void | Kind::Narrow(_) => (sized("raw_bytes"), json!(base64(&vec![0; bytes]))),
        Kind::Datetime(step) | Kind::Timedelta(step) => {
            let is_date = matches!(scalar.kind(), Kind::Datetime(_));
            if is_date && step.unit == TimeUnit::Generic {
                return Err(not_representable(dtype, "version 3 does not support times without a unit"));
            }
            let name = if is_date { "numpy.datetime64" } else { "numpy.timedelta64" };
            let unit = if step.unit == TimeUnit::Generic { "generic" } else { step.unit.symbol() };
            let configuration = json!({"unit": unit, "scale_factor": step.count});
            // The fill value is NaT, which is the smallest integer.
            (json!({"name": name, "configuration": configuration}), json!(i64::MIN))
        }
        _ => return Err(not_representable(dtype, "this kind of element is not known")),
    };
    let endian = scalar.byte_order().map(|order| if order == ByteOrder::Big { "big" } else { "little" });
    Ok((data_type, fill_value, endian))
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const BASE64_DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number =
            three.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let is_padding = digit > three.len();
            let index = (number >> (18 - 6 * digit) & 63) as usize;
            text.push(if is_padding { '=' } else { char::from(BASE64_DIGITS[index]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_equals_pythons() {
        // Computed with Python's base64.b64encode.
        for (bytes, text) in [
            (&b""[..], ""),
            (b"a", "YQ=="),
            (b"ab", "YWI="),
            (b"abc", "YWJj"),
            (b"\xff\xfe\xfd\xfc", "//79/A=="),
        ] {
            assert_eq!(super::base64(bytes), text);
        }
    }
}
