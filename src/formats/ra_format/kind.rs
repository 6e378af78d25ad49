//! Converts RA's element types to dtypes and back.

use crate::dtype::{ByteOrder, DType, Kind, MAX_ITEM_SIZE, Scalar};
use crate::error::{Error, Fault, FilePart, Remedy, Result};

/// Returns the dtype for an element type and size; raw bytes if NumPy has no such dtype.
///
/// Numbers of any number of bytes are possible, as 24 bits of sound, but not of none, and a complex number has two
/// parts.
pub(super) fn dtype(eltype: u64, elbyte: u64, order: ByteOrder) -> Result<DType> {
    let kind = match eltype {
        1 => Kind::Int,
        2 => Kind::Uint,
        3 => Kind::Float,
        4 => Kind::Complex,
        5 if elbyte == 1 => Kind::Bool,
        0 | 5 => Kind::Void,
        _ => {
            let reason = format!("unknown element type {eltype}, expected 0 to 5");
            return Err(Fault::Malformed { part: FilePart::Header, reason, offset: Some(16) }.into());
        }
    };
    let is_possible = match eltype {
        4 => elbyte > 0 && elbyte % 2 == 0,
        0 => true,
        _ => elbyte > 0,
    };
    if !is_possible {
        let reason = format!("an element of type {eltype} cannot have {elbyte} bytes");
        return Err(Fault::Malformed { part: FilePart::Header, reason, offset: Some(24) }.into());
    }
    let size = usize::try_from(elbyte).ok().filter(|size| *size <= MAX_ITEM_SIZE);
    // Floats of 12 bytes are those of 32-bit x86 in NPY files only.
    let kind =
        if matches!((kind, elbyte), (Kind::Float, 12) | (Kind::Complex, 24)) { Kind::Void } else { kind };
    let scalar =
        size.and_then(|size| Scalar::new(kind, size, order).or_else(|| Scalar::new(Kind::Void, size, order)));
    scalar.map(DType::from).ok_or_else(|| {
        let reason = format!("an element of {elbyte} bytes is larger than {MAX_ITEM_SIZE}");
        Fault::Malformed { part: FilePart::Header, reason, offset: Some(24) }.into()
    })
}

/// Returns the element type for a dtype, and whether its elements are big-endian.
pub(super) fn eltype_of(dtype: &DType, eltype_5: bool) -> Result<(u64, bool)> {
    let number = match dtype {
        #[deny(clippy::wildcard_enum_match_arm)] // a new kind has to be considered
        DType::Scalar(scalar) => match scalar.kind() {
            Kind::Int => Some(1),
            Kind::Uint => Some(2),
            Kind::Float => Some(3),
            Kind::Complex => Some(4),
            Kind::Bool if eltype_5 => Some(5),
            Kind::Void if eltype_5 && scalar.size() == 2 => Some(5),
            Kind::Void => Some(0),
            Kind::Narrow(_) => return eltype_of(&dtype.stored(), eltype_5),
            Kind::Bool | Kind::Bytes | Kind::Text | Kind::Datetime(_) | Kind::Timedelta(_) => None,
        },
        DType::Record(_) if !dtype.has_object() => Some(0),
        _ => None,
    };
    let Some(number) = number else {
        let (reason, help) = match dtype.as_scalar().map(Scalar::kind) {
            Some(Kind::Bool) => ("not every program reads its element type 5 as bool", Remedy::RaBool),
            Some(Kind::Bytes | Kind::Text) => {
                ("RA has no type for text", Remedy::WriteAs { rust_type: "Void" })
            }
            Some(Kind::Datetime(_) | Kind::Timedelta(_)) => {
                ("RA has no type for times", Remedy::WriteAs { rust_type: "i64" })
            }
            None
            | Some(Kind::Int | Kind::Uint | Kind::Float | Kind::Complex | Kind::Void | Kind::Narrow(_)) => {
                ("RA has no such type", Remedy::UseNpy)
            }
        };
        let (format, dtype, reason) = ("RA", dtype.clone(), reason.into());
        return Err(Error::from(Fault::NotRepresentable { format, dtype, reason }).with_help(help));
    };
    // A dtype without a byte order, such as that of single bytes, passes both tests. It counts as
    // little-endian.
    let is = |order| dtype.with_byte_order(order) == *dtype;
    match (is(ByteOrder::Little), is(ByteOrder::Big)) {
        (true, _) => Ok((number, false)),
        (false, true) => Ok((number, true)),
        (false, false) => {
            let reason = "its fields have different byte orders".into();
            Err(Fault::NotRepresentable { format: "RA", dtype: dtype.clone(), reason }.into())
        }
    }
}
