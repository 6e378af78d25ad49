//! The types of values, and which type the result of an operation has: NumPy's rules (NEP 50).

use std::fmt;

use ndarray_io::dtype::{Kind, Scalar, TimeStep};
use ndarray_io::{ByteOrder, DType};

use super::parse::Literal;
use crate::error::{Error, Result};

/// The type of the elements of a value; numbers with their bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Type {
    Bool,
    Int(u32),
    Uint(u32),
    Float(u32),
    Complex(u32),
    Datetime(TimeStep),
    Timedelta(TimeStep),
    Text,
}

impl Type {
    /// Returns the type of the elements of a file.
    pub(crate) fn of(dtype: &DType) -> Result<Self> {
        let none = |why: &str| Err(Error::operands(format!("expressions do not compute with {dtype}{why}")));
        let Some(scalar) = dtype.as_scalar() else {
            return match dtype {
                DType::Record(record) => {
                    let names: Vec<_> = record.fields().iter().map(ndarray_io::dtype::Field::name).collect();
                    Err(Error::operands(format!(
                        "these are records: name one of their fields: {}",
                        names.join(", ")
                    )))
                }
                _ => none(""),
            };
        };
        let bits = 8 * scalar.size() as u32;
        Ok(match (scalar.kind(), scalar.size()) {
            (Kind::Bool, _) => Self::Bool,
            (Kind::Int, _) => Self::Int(bits),
            (Kind::Uint, _) => Self::Uint(bits),
            (Kind::Float, 2 | 4 | 8) => Self::Float(bits),
            (Kind::Complex, 8 | 16) => Self::Complex(bits),
            (Kind::Narrow(narrow), _) if narrow.limits().is_some() => Self::Int(8),
            (Kind::Narrow(_), _) => Self::Float(32),
            (Kind::Datetime(step), _) => Self::Datetime(step),
            (Kind::Timedelta(step), _) => Self::Timedelta(step),
            (Kind::Text | Kind::Bytes, _) => Self::Text,
            (Kind::Float | Kind::Complex, _) => return none(": convert them to f8, or c16"),
            _ => return none(""),
        })
    }

    /// Returns the dtype of an array of such elements; `None` for text, whose width is not known.
    pub(crate) fn dtype(self) -> Option<DType> {
        let (kind, bits) = match self {
            Self::Bool => (Kind::Bool, 8),
            Self::Int(bits) => (Kind::Int, bits),
            Self::Uint(bits) => (Kind::Uint, bits),
            Self::Float(bits) => (Kind::Float, bits),
            Self::Complex(bits) => (Kind::Complex, bits),
            Self::Datetime(step) => (Kind::Datetime(step), 64),
            Self::Timedelta(step) => (Kind::Timedelta(step), 64),
            Self::Text => return None,
        };
        Scalar::new(kind, bits as usize / 8, ByteOrder::NATIVE).map(DType::from)
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_))
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_) | Self::Float(_) | Self::Complex(_) | Self::Bool)
    }

    pub(crate) fn is_time(self) -> bool {
        matches!(self, Self::Datetime(_) | Self::Timedelta(_))
    }

    /// The bits of the smallest float that a function such as `sqrt` makes of this type.
    pub(crate) fn float_bits(self) -> u32 {
        match self {
            Self::Bool | Self::Int(8) | Self::Uint(8) => 16,
            Self::Int(16) | Self::Uint(16) => 32,
            Self::Float(bits) => bits,
            Self::Complex(bits) => bits / 2,
            _ => 64,
        }
    }

    /// Returns the type of `sqrt`, `exp` and the like.
    pub(crate) fn inexact(self) -> Self {
        match self {
            Self::Complex(_) => self,
            _ => Self::Float(self.float_bits()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype() {
            Some(dtype) => f.write_str(dtype.to_string().trim_matches('\'')),
            None => f.write_str("text"),
        }
    }
}

/// Returns the type to which both types convert.
pub(crate) fn promote(one: Type, two: Type) -> Result<Type> {
    use Type::{Bool, Complex, Datetime, Float, Int, Text, Timedelta, Uint};
    Ok(match (one, two) {
        (Bool, other) | (other, Bool) if other.is_number() => other,
        (Int(a), Int(b)) => Int(a.max(b)),
        (Uint(a), Uint(b)) => Uint(a.max(b)),
        (Int(signed), Uint(unsigned)) | (Uint(unsigned), Int(signed)) => match unsigned {
            64 => Float(64),
            _ => Int(signed.max(2 * unsigned)),
        },
        (Float(bits), other) | (other, Float(bits)) if other.is_integer() || matches!(other, Float(_)) => {
            Float(bits.max(other.float_bits()))
        }
        (Complex(bits), other) | (other, Complex(bits)) if other.is_number() => {
            Complex(bits.max(2 * other.float_bits()).max(64))
        }
        (Datetime(a), Datetime(b)) => Datetime(finer(a, b)?),
        (Timedelta(a), Timedelta(b)) => Timedelta(finer(a, b)?),
        (Text, Text) => Text,
        _ => return Err(Error::operands(format!("{one} and {two} have no common type"))),
    })
}

/// Returns the unit of two that divides the other.
fn finer(one: TimeStep, two: TimeStep) -> Result<TimeStep> {
    if one == two {
        return Ok(one);
    }
    let name = |step: TimeStep| Type::Timedelta(step).to_string();
    // A conversion to a finer unit is a safe cast.
    let converts = |from: TimeStep, to: TimeStep| {
        let (from, to) = (Type::Timedelta(from).dtype(), Type::Timedelta(to).dtype());
        let none = from.and_then(|from| {
            ndarray_io::DynArray::from_bytes(from, vec![0], ndarray_io::header::Order::C, &[]).ok()
        });
        none.zip(to).is_some_and(|(none, to)| none.cast_to(&to, ndarray_io::Casting::Safe).is_ok())
    };
    match (converts(one, two), converts(two, one)) {
        (true, _) => Ok(two),
        (_, true) => Ok(one),
        _ => Err(Error::operands(format!(
            "times in the units of {} and {} have no common one",
            name(one),
            name(two)
        ))),
    }
}

/// Returns the type of a literal that is combined with a type, by which its value does not change; or the error of NumPy.
pub(crate) fn literal_type(literal: &Literal, other: Type) -> Result<Type> {
    use Type::{Bool, Complex, Float, Int, Text, Uint};
    Ok(match (literal, other) {
        (Literal::Bool(_), _) => promote(Bool, other)?,
        (Literal::Int(_), Bool) => Int(64),
        (Literal::Int(number), Int(bits)) if bits < 128 => {
            let limit = 1i128 << (bits - 1);
            in_range(*number, -limit, limit - 1, other)?
        }
        (Literal::Int(number), Uint(bits)) => in_range(*number, 0, (1i128 << bits) - 1, other)?,
        (Literal::Int(_), Float(_) | Complex(_) | Type::Timedelta(_)) => other,
        (Literal::Float(_), Bool | Int(_) | Uint(_)) => Float(64),
        (Literal::Float(_), Float(_) | Complex(_)) => other,
        (Literal::Complex(..), Bool | Int(_) | Uint(_)) => Complex(128),
        (Literal::Complex(..), Float(bits)) => Complex((2 * bits).max(64)),
        (Literal::Complex(..), Complex(_)) => other,
        (Literal::Text(_), Text | Type::Datetime(_) | Type::Timedelta(_)) => other,
        _ => {
            return Err(Error::operands(format!(
                "{} and {other} have no common type",
                literal_text(literal)
            )));
        }
    })
}

fn in_range(number: i128, least: i128, most: i128, of: Type) -> Result<Type> {
    match (least..=most).contains(&number) {
        true => Ok(of),
        false => Err(Error::operands(format!(
            "{number} is out of the range of {of}: astype makes the array wider"
        ))),
    }
}

/// Returns the type of a literal by itself.
pub(crate) fn default_type(literal: &Literal) -> Result<Type> {
    Ok(match literal {
        Literal::Bool(_) => Type::Bool,
        Literal::Int(number) if i64::try_from(*number).is_ok() => Type::Int(64),
        Literal::Int(number) if u64::try_from(*number).is_ok() => Type::Uint(64),
        Literal::Int(number) => return Err(Error::operands(format!("{number} does not fit in 64 bits"))),
        Literal::Float(_) => Type::Float(64),
        Literal::Complex(..) => Type::Complex(128),
        Literal::Text(_) => Type::Text,
        Literal::None => return Err(Error::operands("None has no value here")),
    })
}

pub(crate) fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => if *value { "True" } else { "False" }.into(),
        Literal::Int(number) => number.to_string(),
        Literal::Float(number) => format!("{number:?}"),
        Literal::Complex(re, im) => format!("({re:?}{im:+?}j)"),
        Literal::Text(text) => format!("'{text}'"),
        Literal::None => "None".into(),
    }
}
