//! What operators of two operands do with elements, as NumPy's do.

use num_complex::Complex;

use super::types::{Type, promote};
use super::values::{Data, Value, broadcast_shape, expand, rounded, wrapped_int, wrapped_uint, zip};
use crate::error::{Error, Result};

/// Two operands that become one value of the same type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    Minimum,
    Maximum,
    Hypot,
    Arctan2,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Logic {
    /// Of the truth of each element.
    And,
    Or,
    /// Of the bits of integers, or of bools.
    BitAnd,
    BitOr,
    BitXor,
}

impl Arithmetic {
    /// Returns the types to which the operands are converted, and that of the result.
    pub(crate) fn types(self, one: Type, two: Type) -> Result<(Type, Type, Type)> {
        use Type::{Datetime, Timedelta};
        let same = |kind: Type| Ok((kind, kind, kind));
        match (self, one, two) {
            (Self::Subtract, Datetime(_), Datetime(_)) => {
                let common = promote(one, two)?;
                let Datetime(step) = common else { unreachable!("two points in time have a unit") };
                Ok((common, common, Timedelta(step)))
            }
            (Self::Add | Self::Subtract, Datetime(a), Timedelta(b))
            | (Self::Add, Timedelta(b), Datetime(a)) => {
                let Timedelta(step) = promote(Timedelta(a), Timedelta(b))? else {
                    unreachable!("they are durations")
                };
                let (point, span) = (Datetime(step), Timedelta(step));
                Ok(if one.is_time() && matches!(one, Datetime(_)) {
                    (point, span, point)
                } else {
                    (span, point, point)
                })
            }
            (Self::Add | Self::Subtract | Self::Remainder, Timedelta(_), Timedelta(_)) => {
                same(promote(one, two)?)
            }
            (Self::Minimum | Self::Maximum, _, _) if one.is_time() => same(promote(one, two)?),
            (Self::Divide, Timedelta(_), Timedelta(_)) => {
                let common = promote(one, two)?;
                Ok((common, common, Type::Float(64)))
            }
            _ if !one.is_number() || !two.is_number() => {
                Err(Error::operands(format!("{} of {one} and {two}: NumPy has none", self.name())))
            }
            (Self::Subtract, Type::Bool, Type::Bool) => {
                Err(Error::operands("bools are not subtracted: use ^, or != "))
            }
            (Self::Divide | Self::Hypot | Self::Arctan2, _, _) => {
                let common = promote(one, two)?;
                if let (Self::Hypot | Self::Arctan2, false) = (self, matches!(common, Type::Complex(_))) {
                    return same(Type::Float(one.float_bits().max(two.float_bits())));
                }
                let common = match (self, common) {
                    (Self::Divide, Type::Bool | Type::Int(_) | Type::Uint(_)) => Type::Float(64),
                    (Self::Hypot | Self::Arctan2, Type::Complex(_)) => {
                        return Err(Error::operands(format!(
                            "{} of complex numbers: NumPy has none",
                            self.name()
                        )));
                    }
                    (_, common) => common.inexact(),
                };
                same(common)
            }
            (Self::FloorDivide | Self::Remainder, _, _) => match promote(one, two)? {
                Type::Complex(_) => Err(Error::operands("complex numbers have no floor")),
                Type::Bool => same(Type::Int(8)),
                common => same(common),
            },
            (Self::Power, Type::Bool, Type::Bool) => same(Type::Int(8)),
            _ => same(promote(one, two)?),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Add => "a sum",
            Self::Subtract => "a difference",
            Self::Multiply => "a product",
            Self::Divide | Self::FloorDivide => "a quotient",
            Self::Remainder => "a remainder",
            Self::Power => "a power",
            Self::Minimum => "a minimum",
            Self::Maximum => "a maximum",
            Self::Hypot => "a hypotenuse",
            Self::Arctan2 => "an angle",
        }
    }

    pub(crate) fn apply(self, one: &Value, two: &Value) -> Result<Value> {
        let (left, right, kind) = self.types(one.kind, two.kind)?;
        let (one, two) = (&*one.to(left)?, &*two.to(right)?);
        let shape = broadcast_shape(&one.shape, &two.shape)?;
        let is_time = left.is_time() || right.is_time();
        let data = match (&one.data, &two.data) {
            (Data::Int(a), Data::Int(b)) if is_time => {
                let pair = ((&a[..], &one.shape[..]), (&b[..], &two.shape[..]));
                match kind {
                    Type::Float(_) => Data::Float(zip(pair.0, pair.1, &shape, |a, b| {
                        match *a == i64::MIN || *b == i64::MIN {
                            true => f64::NAN,
                            false => *a as f64 / *b as f64,
                        }
                    })),
                    _ => Data::Int(zip(pair.0, pair.1, &shape, |a, b| {
                        match *a == i64::MIN || *b == i64::MIN {
                            true => i64::MIN,
                            false => self.of_ints(*a, *b),
                        }
                    })),
                }
            }
            (Data::Bool(a), Data::Bool(b)) => {
                Data::Bool(zip((a, &one.shape), (b, &two.shape), &shape, |a, b| match self {
                    Self::Add | Self::Maximum => *a || *b,
                    _ => *a && *b,
                }))
            }
            (Data::Int(a), Data::Int(b)) => {
                if self == Self::Power && b.iter().any(|power| *power < 0) {
                    return Err(Error::operands("integers have no negative integer powers: use ** -1.0"));
                }
                let bits = if let Type::Int(bits) = kind { bits } else { 64 };
                Data::Int(zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                    wrapped_int(self.of_ints(*a, *b), bits)
                }))
            }
            (Data::Uint(a), Data::Uint(b)) => {
                let bits = if let Type::Uint(bits) = kind { bits } else { 64 };
                Data::Uint(zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                    wrapped_uint(self.of_uints(*a, *b), bits)
                }))
            }
            (Data::Float(a), Data::Float(b)) => {
                let bits = if let Type::Float(bits) = kind { bits } else { 64 };
                let pair = ((&a[..], &one.shape[..]), (&b[..], &two.shape[..]));
                // A loop for each of the usual operators, which the compiler makes fast.
                Data::Float(match (self, bits) {
                    (Self::Add, 64) => zip(pair.0, pair.1, &shape, |a, b| a + b),
                    (Self::Subtract, 64) => zip(pair.0, pair.1, &shape, |a, b| a - b),
                    (Self::Multiply, 64) => zip(pair.0, pair.1, &shape, |a, b| a * b),
                    (Self::Divide, 64) => zip(pair.0, pair.1, &shape, |a, b| a / b),
                    _ => zip(pair.0, pair.1, &shape, |a, b| rounded(self.of_floats(*a, *b), bits)),
                })
            }
            (Data::Complex(a), Data::Complex(b)) => {
                let bits = if let Type::Complex(bits) = kind { bits / 2 } else { 64 };
                let rounded = |one: Complex<f64>| Complex::new(rounded(one.re, bits), rounded(one.im, bits));
                Data::Complex(zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                    rounded(self.of_complex(*a, *b, bits))
                }))
            }
            _ => {
                return Err(Error::operands(format!(
                    "{} of {left} and {right}: NumPy has none",
                    self.name()
                )));
            }
        };
        Ok(Value::new(kind, shape, data))
    }

    fn of_ints(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::Multiply => a.wrapping_mul(b),
            Self::FloorDivide | Self::Remainder if b == 0 => 0,
            Self::FloorDivide => {
                let quotient = a.wrapping_div(b);
                if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
            }
            Self::Remainder => {
                let rest = a.wrapping_rem(b);
                if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
            }
            Self::Power => int_power(a as u64, b as u64) as i64,
            Self::Minimum => a.min(b),
            _ => a.max(b),
        }
    }

    fn of_uints(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Subtract => a.wrapping_sub(b),
            Self::Multiply => a.wrapping_mul(b),
            Self::FloorDivide => a.checked_div(b).unwrap_or(0),
            Self::Remainder => a.checked_rem(b).unwrap_or(0),
            Self::Power => int_power(a, b),
            Self::Minimum => a.min(b),
            _ => a.max(b),
        }
    }

    fn of_floats(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::FloorDivide => floor_divide(a, b).0,
            Self::Remainder => floor_divide(a, b).1,
            Self::Power => a.powf(b),
            Self::Hypot => a.hypot(b),
            Self::Arctan2 => a.atan2(b),
            Self::Minimum | Self::Maximum if a.is_nan() => a,
            Self::Minimum | Self::Maximum if b.is_nan() => b,
            Self::Minimum => {
                if b < a {
                    b
                } else {
                    a
                }
            }
            Self::Maximum => {
                if b > a {
                    b
                } else {
                    a
                }
            }
        }
    }

    fn of_complex(self, a: Complex<f64>, b: Complex<f64>, bits: u32) -> Complex<f64> {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            // Each product is rounded, as it is where numbers of 32 bits are computed with.
            Self::Multiply => {
                let product = |a: f64, b: f64| rounded(a * b, bits);
                Complex::new(
                    product(a.re, b.re) - product(a.im, b.im),
                    product(a.re, b.im) + product(a.im, b.re),
                )
            }
            Self::Divide => a / b,
            Self::Power if b == Complex::from(0.0) => Complex::from(1.0),
            Self::Power => a.powc(b),
            _ => {
                let is_less = (a.re, a.im) < (b.re, b.im);
                let has_nan = a.is_nan();
                if has_nan || !b.is_nan() && is_less == (self == Self::Minimum) { a } else { b }
            }
        }
    }
}

fn int_power(mut base: u64, mut power: u64) -> u64 {
    let mut made = 1u64;
    while power > 0 {
        if power & 1 == 1 {
            made = made.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        power >>= 1;
    }
    made
}

/// Returns the quotient, rounded down, and the remainder, which has the sign of the divisor.
pub(crate) fn floor_divide(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    if b == 0.0 {
        return (a / b, rest);
    }
    let mut quotient = (a - rest) / b;
    if rest != 0.0 {
        if (b < 0.0) != (rest < 0.0) {
            rest += b;
            quotient -= 1.0;
        }
    } else {
        rest = 0f64.copysign(b);
    }
    let down = match quotient != 0.0 {
        true => {
            let down = quotient.floor();
            if quotient - down > 0.5 { down + 1.0 } else { down }
        }
        false => 0f64.copysign(a / b),
    };
    (down, rest)
}

impl Comparison {
    pub(crate) fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            Self::Equal => order == Some(Equal),
            Self::NotEqual => order != Some(Equal),
            Self::Less => order == Some(Less),
            Self::LessEqual => matches!(order, Some(Less | Equal)),
            Self::Greater => order == Some(Greater),
            Self::GreaterEqual => matches!(order, Some(Greater | Equal)),
        }
    }

    pub(crate) fn apply(self, one: &Value, two: &Value) -> Result<Value> {
        let shape = broadcast_shape(&one.shape, &two.shape)?;
        let compared = |data: Vec<bool>| Ok(Value::new(Type::Bool, shape.clone(), Data::Bool(data)));
        // Integers of both signs are compared by their values.
        match (&one.data, &two.data) {
            (Data::Int(a), Data::Uint(b)) if !one.kind.is_time() => {
                return compared(zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                    self.holds(Some(i128::from(*a).cmp(&i128::from(*b))))
                }));
            }
            (Data::Uint(a), Data::Int(b)) if !two.kind.is_time() => {
                return compared(zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                    self.holds(Some(i128::from(*a).cmp(&i128::from(*b))))
                }));
            }
            _ => {}
        }
        let common = promote(one.kind, two.kind)?;
        let (one, two) = (&*one.to(common)?, &*two.to(common)?);
        compared(match (&one.data, &two.data) {
            (Data::Bool(a), Data::Bool(b)) => {
                zip((a, &one.shape), (b, &two.shape), &shape, |a, b| self.holds(Some(a.cmp(b))))
            }
            (Data::Int(a), Data::Int(b)) if common.is_time() => {
                zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                    // NaT is like NaN.
                    self.holds((*a != i64::MIN && *b != i64::MIN).then(|| a.cmp(b)))
                })
            }
            (Data::Int(a), Data::Int(b)) => {
                zip((a, &one.shape), (b, &two.shape), &shape, |a, b| self.holds(Some(a.cmp(b))))
            }
            (Data::Uint(a), Data::Uint(b)) => {
                zip((a, &one.shape), (b, &two.shape), &shape, |a, b| self.holds(Some(a.cmp(b))))
            }
            (Data::Float(a), Data::Float(b)) => {
                let pair = ((&a[..], &one.shape[..]), (&b[..], &two.shape[..]));
                match self {
                    Self::Less => zip(pair.0, pair.1, &shape, |a, b| a < b),
                    Self::Greater => zip(pair.0, pair.1, &shape, |a, b| a > b),
                    _ => zip(pair.0, pair.1, &shape, |a, b| self.holds(a.partial_cmp(b))),
                }
            }
            (Data::Complex(a), Data::Complex(b)) => zip((a, &one.shape), (b, &two.shape), &shape, |a, b| {
                let has_nan = a.is_nan() || b.is_nan();
                self.holds(if has_nan { None } else { (a.re, a.im).partial_cmp(&(b.re, b.im)) })
            }),
            (Data::Text(a), Data::Text(b)) => {
                zip((a, &one.shape), (b, &two.shape), &shape, |a, b| self.holds(Some(a.cmp(b))))
            }
            _ => return Err(Error::operands(format!("{} and {} are not compared", one.kind, two.kind))),
        })
    }
}

impl Logic {
    pub(crate) fn result(self, one: Type, two: Type) -> Result<Type> {
        match self {
            Self::And | Self::Or => Ok(Type::Bool),
            _ => match promote(one, two)? {
                common @ (Type::Bool | Type::Int(_) | Type::Uint(_)) => Ok(common),
                common => Err(Error::operands(format!("{common} has no bits: use and, or"))),
            },
        }
    }

    pub(crate) fn apply(self, one: &Value, two: &Value) -> Result<Value> {
        let kind = self.result(one.kind, two.kind)?;
        let shape = broadcast_shape(&one.shape, &two.shape)?;
        if let Self::And | Self::Or = self {
            let (a, b) = (one.truth(), two.truth());
            let both = zip((&a, &one.shape), (&b, &two.shape), &shape, |a, b| {
                if self == Self::And { *a && *b } else { *a || *b }
            });
            return Ok(Value::new(kind, shape, Data::Bool(both)));
        }
        let (one, two) = (&*one.to(kind)?, &*two.to(kind)?);
        macro_rules! bits {
            ($a:ident, $b:ident) => {
                zip(($a, &one.shape), ($b, &two.shape), &shape, |a, b| match self {
                    Self::BitAnd => *a & *b,
                    Self::BitOr => *a | *b,
                    _ => *a ^ *b,
                })
            };
        }
        let data = match (&one.data, &two.data) {
            (Data::Bool(a), Data::Bool(b)) => Data::Bool(bits!(a, b)),
            (Data::Int(a), Data::Int(b)) => Data::Int(bits!(a, b)),
            (Data::Uint(a), Data::Uint(b)) => Data::Uint(bits!(a, b)),
            _ => unreachable!("the result has bits"),
        };
        Ok(Value::new(kind, shape, data))
    }
}

/// Chooses from two values, which have one type, by a third.
pub(crate) fn choose(condition: &Value, one: &Value, two: &Value) -> Result<Value> {
    let shape = broadcast_shape(&condition.shape, &broadcast_shape(&one.shape, &two.shape)?)?;
    let truth = expand(&condition.truth(), &condition.shape, &shape);
    macro_rules! choose {
        ($kind:ident, $a:ident, $b:ident) => {{
            let (a, b) = (expand($a, &one.shape, &shape), expand($b, &two.shape, &shape));
            Data::$kind(
                truth
                    .iter()
                    .zip(a.into_iter().zip(b))
                    .map(|(truth, (a, b))| if *truth { a } else { b })
                    .collect(),
            )
        }};
    }
    let data = match (&one.data, &two.data) {
        (Data::Bool(a), Data::Bool(b)) => choose!(Bool, a, b),
        (Data::Int(a), Data::Int(b)) => choose!(Int, a, b),
        (Data::Uint(a), Data::Uint(b)) => choose!(Uint, a, b),
        (Data::Float(a), Data::Float(b)) => choose!(Float, a, b),
        (Data::Complex(a), Data::Complex(b)) => choose!(Complex, a, b),
        (Data::Text(a), Data::Text(b)) => choose!(Text, a, b),
        _ => unreachable!("both have been converted to one type"),
    };
    Ok(Value::new(one.kind, shape, data))
}
