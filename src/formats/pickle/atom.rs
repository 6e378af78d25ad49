//! Values in pickles that do not refer to other values.

use super::opcode::*;
use super::text;

/// A value that does not refer to other values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Atom<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Text in UTF-8, which may contain surrogates and is not validated yet.
    Str(&'a [u8]),
    Bytes(&'a [u8]),
    /// A `str` of Python 2.
    OldStr(&'a [u8]),
    /// An integer in two's complement, little-endian.
    Long(&'a [u8]),
}

/// An error in the argument of an opcode.
#[derive(Debug, PartialEq)]
pub(crate) enum ArgumentError {
    Truncated,
    NegativeLength,
    TooShort { declared: u64, remaining: usize },
    InvalidNumber,
}

impl std::fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated => f.write_str("the pickle is truncated"),
            Self::NegativeLength => f.write_str("the length is negative"),
            Self::TooShort { declared, remaining } => {
                write!(f, "its argument declares {declared} bytes, {remaining} remain")
            }
            Self::InvalidNumber => f.write_str("its argument is malformed"),
        }
    }
}

/// Decodes the value at the start of `bytes`, and returns it and its length in bytes.
///
/// Returns `None` for all other opcodes, and for decimal integers that do not fit into an `i64`.
#[inline]
pub(crate) fn atom(bytes: &[u8]) -> Result<Option<(Atom<'_>, usize)>, ArgumentError> {
    let (opcode, rest) = bytes.split_first().ok_or(ArgumentError::Truncated)?;
    let (atom, used) = match *opcode {
        SHORT_BINUNICODE => length_prefixed(rest, |[len]| Ok(len.into()), Atom::Str)?,
        BININT => fixed(rest, |bytes| Atom::Int(i32::from_le_bytes(bytes).into()))?,
        BININT1 => fixed(rest, |[byte]| Atom::Int(byte.into()))?,
        BININT2 => fixed(rest, |bytes| Atom::Int(u16::from_le_bytes(bytes).into()))?,
        BINFLOAT => fixed(rest, |bytes| Atom::Float(f64::from_be_bytes(bytes)))?,
        NONE => (Atom::None, 0),
        NEWTRUE => (Atom::Bool(true), 0),
        NEWFALSE => (Atom::Bool(false), 0),
        LONG1 => length_prefixed(rest, |[len]| Ok(len.into()), long)?,
        LONG4 => length_prefixed(rest, |len| not_negative(i32::from_le_bytes(len)), long)?,
        BINUNICODE => length_prefixed(rest, |len| Ok(u32::from_le_bytes(len).into()), Atom::Str)?,
        BINUNICODE8 => length_prefixed(rest, |len| Ok(u64::from_le_bytes(len)), Atom::Str)?,
        SHORT_BINBYTES => length_prefixed(rest, |[len]| Ok(len.into()), Atom::Bytes)?,
        BINBYTES => length_prefixed(rest, |len| Ok(u32::from_le_bytes(len).into()), Atom::Bytes)?,
        BINBYTES8 => length_prefixed(rest, |len| Ok(u64::from_le_bytes(len)), Atom::Bytes)?,
        SHORT_BINSTRING => length_prefixed(rest, |[len]| Ok(len.into()), Atom::OldStr)?,
        BINSTRING => length_prefixed(rest, |len| not_negative(i32::from_le_bytes(len)), Atom::OldStr)?,
        INT | LONG | FLOAT => {
            let line = line(rest).ok_or(ArgumentError::Truncated)?;
            match text::number(*opcode, line).ok_or(ArgumentError::InvalidNumber)? {
                Some(atom) => (atom, line.len() + 1),
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some((atom, 1 + used)))
}

/// Returns the rest of the line without its line end; `None` if there is no line end.
pub(crate) fn line(bytes: &[u8]) -> Option<&[u8]> {
    bytes.iter().position(|byte| *byte == b'\n').map(|len| &bytes[..len])
}

#[inline]
fn fixed<const N: usize>(
    rest: &[u8],
    make: impl FnOnce([u8; N]) -> Atom<'static>,
) -> Result<(Atom<'_>, usize), ArgumentError> {
    rest.first_chunk().map(|bytes| (make(*bytes), N)).ok_or(ArgumentError::Truncated)
}

/// Decodes a value whose length is stored in the `N` bytes before it.
#[inline]
fn length_prefixed<'a, const N: usize>(
    rest: &'a [u8],
    len: impl FnOnce([u8; N]) -> Result<u64, ArgumentError>,
    make: impl FnOnce(&'a [u8]) -> Atom<'a>,
) -> Result<(Atom<'a>, usize), ArgumentError> {
    let (count, rest) = rest.split_first_chunk().ok_or(ArgumentError::Truncated)?;
    let declared = len(*count)?;
    let bytes = usize::try_from(declared).ok().and_then(|len| rest.get(..len));
    let bytes = bytes.ok_or(ArgumentError::TooShort { declared, remaining: rest.len() })?;
    Ok((make(bytes), N + bytes.len()))
}

fn not_negative(len: i32) -> Result<u64, ArgumentError> {
    u64::try_from(len).map_err(|_| ArgumentError::NegativeLength)
}

fn long(bytes: &[u8]) -> Atom<'_> {
    if bytes.len() > 8 {
        return Atom::Long(bytes);
    }
    let is_negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut number = if is_negative { [0xFF; 8] } else { [0; 8] };
    number[..bytes.len()].copy_from_slice(bytes);
    Atom::Int(i64::from_le_bytes(number))
}
