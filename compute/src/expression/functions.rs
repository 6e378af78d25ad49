//! What functions of one operand do with elements, as NumPy's do.

use num_complex::Complex;

use super::types::Type;
use super::values::{Data, Value, rounded, wrapped_int, wrapped_uint};
use crate::error::{Error, Result};

/// One operand.
#[derive(Clone, Copy)]
pub(crate) enum Unary {
    Negative,
    Not,
    Invert,
    Abs,
    Sign,
    Square,
    Floor,
    Ceil,
    Trunc,
    Rint,
    /// Like `Rint`, but integers stay integers.
    Round,
    IsNan,
    IsInf,
    IsFinite,
    Real,
    Imag,
    Conj,
    Angle,
    Float(FloatFunction),
}

/// A function of floats and of complex numbers.
#[derive(Clone, Copy)]
pub(crate) struct FloatFunction {
    name: &'static str,
    real: fn(f64) -> f64,
    complex: fn(Complex<f64>) -> Complex<f64>,
}

const fn float(
    name: &'static str,
    real: fn(f64) -> f64,
    complex: fn(Complex<f64>) -> Complex<f64>,
) -> (&'static str, Unary) {
    (name, Unary::Float(FloatFunction { name, real, complex }))
}

/// The functions of one array by their names.
pub(crate) const UNARY_FUNCTIONS: &[(&str, Unary)] = &[
    ("abs", Unary::Abs),
    ("absolute", Unary::Abs),
    ("sign", Unary::Sign),
    ("square", Unary::Square),
    ("floor", Unary::Floor),
    ("ceil", Unary::Ceil),
    ("trunc", Unary::Trunc),
    ("rint", Unary::Rint),
    ("round", Unary::Round),
    ("isnan", Unary::IsNan),
    ("isnat", Unary::IsNan),
    ("isinf", Unary::IsInf),
    ("isfinite", Unary::IsFinite),
    ("real", Unary::Real),
    ("imag", Unary::Imag),
    ("conj", Unary::Conj),
    ("angle", Unary::Angle),
    ("logical_not", Unary::Not),
    float("sqrt", f64::sqrt, Complex::sqrt),
    float("exp", f64::exp, Complex::exp),
    float("exp2", f64::exp2, |x| x.exp2()),
    float("expm1", f64::exp_m1, |x| x.exp() - 1.0),
    float("log", f64::ln, Complex::ln),
    float("log2", f64::log2, |x| x.log2()),
    float("log10", f64::log10, |x| x.log10()),
    float("log1p", f64::ln_1p, |x| (x + 1.0).ln()),
    float("sin", f64::sin, Complex::sin),
    float("cos", f64::cos, Complex::cos),
    float("tan", f64::tan, Complex::tan),
    float("arcsin", f64::asin, Complex::asin),
    float("arccos", f64::acos, Complex::acos),
    float("arctan", f64::atan, Complex::atan),
    float("sinh", f64::sinh, Complex::sinh),
    float("cosh", f64::cosh, Complex::cosh),
    float("tanh", f64::tanh, Complex::tanh),
];

impl Unary {
    fn name(self) -> &'static str {
        match self {
            Self::Negative => "-",
            Self::Invert => "~",
            Self::Float(function) => function.name,
            _ => {
                let is_same = |other: &Self| std::mem::discriminant(other) == std::mem::discriminant(&self);
                UNARY_FUNCTIONS.iter().find(|(_, other)| is_same(other)).map_or("it", |(name, _)| name)
            }
        }
    }

    /// Returns the type of the result.
    pub(crate) fn result(self, of: Type) -> Result<Type> {
        let wrong = || Err(Error::operands(format!("{} does not apply to {of}", self.name())));
        Ok(match (self, of) {
            (Self::Not, _) => Type::Bool,
            (Self::IsNan | Self::IsFinite, Type::Datetime(_) | Type::Timedelta(_)) => Type::Bool,
            (_, Type::Text | Type::Datetime(_)) => return wrong(),
            (Self::Negative | Self::Abs | Self::Sign, Type::Timedelta(_)) => of,
            (_, Type::Timedelta(_)) => return wrong(),
            (Self::Negative | Self::Sign, Type::Bool) => {
                return Err(Error::operands("a bool has no sign: use ~, or not"));
            }
            (Self::Square | Self::Conj, Type::Bool) => Type::Int(8),
            (Self::Invert, Type::Bool | Type::Int(_) | Type::Uint(_)) => of,
            (Self::Invert, _) => return wrong(),
            (Self::IsNan | Self::IsInf | Self::IsFinite, _) => Type::Bool,
            (Self::Abs, Type::Complex(bits)) => Type::Float(bits / 2),
            (Self::Real | Self::Imag, Type::Complex(bits)) => Type::Float(bits / 2),
            (Self::Angle, Type::Complex(bits)) => Type::Float(bits / 2),
            (Self::Angle, Type::Bool) => Type::Float(64),
            (Self::Angle | Self::Rint, Type::Int(_) | Type::Uint(_)) => of.inexact(),
            (Self::Angle, _) => of,
            (Self::Floor | Self::Ceil | Self::Trunc, Type::Complex(_)) => return wrong(),
            (Self::Rint | Self::Round, Type::Bool) => Type::Float(16),
            (Self::Float(_), _) => of.inexact(),
            _ => of,
        })
    }

    pub(crate) fn apply(self, value: &Value) -> Result<Value> {
        let kind = self.result(value.kind)?;
        let shape = value.shape.clone();
        if let Self::Not = self {
            return Ok(Value::new(
                kind,
                shape,
                Data::Bool(value.truth().into_iter().map(|one| !one).collect()),
            ));
        }
        let is_time = value.kind.is_time();
        let data = match (self, &value.data) {
            (Self::IsNan, Data::Int(all)) => {
                Data::Bool(all.iter().map(|one| is_time && *one == i64::MIN).collect())
            }
            (Self::IsFinite, Data::Int(all)) => {
                Data::Bool(all.iter().map(|one| !is_time || *one != i64::MIN).collect())
            }
            (Self::IsFinite, Data::Float(all)) => Data::Bool(all.iter().map(|one| one.is_finite()).collect()),
            (Self::IsFinite, Data::Complex(all)) => {
                Data::Bool(all.iter().map(|one| one.is_finite()).collect())
            }
            (Self::IsNan, Data::Float(all)) => Data::Bool(all.iter().map(|one| one.is_nan()).collect()),
            (Self::IsNan, Data::Complex(all)) => Data::Bool(all.iter().map(|one| one.is_nan()).collect()),
            (Self::IsInf, Data::Float(all)) => Data::Bool(all.iter().map(|one| one.is_infinite()).collect()),
            (Self::IsInf, Data::Complex(all)) => {
                Data::Bool(all.iter().map(|one| one.re.is_infinite() || one.im.is_infinite()).collect())
            }
            (Self::IsNan | Self::IsInf, data) => Data::Bool(vec![false; data.len()]),
            (Self::IsFinite, data) => Data::Bool(vec![true; data.len()]),
            (Self::Float(_) | Self::Angle | Self::Rint, Data::Bool(_) | Data::Int(_) | Data::Uint(_))
            | (Self::Round | Self::Square | Self::Conj, Data::Bool(_)) => {
                return self.apply(&*value.to(kind)?);
            }
            (_, Data::Bool(all)) => match self {
                Self::Invert => Data::Bool(all.iter().map(|one| !one).collect()),
                Self::Imag => Data::Bool(vec![false; all.len()]),
                _ => Data::Bool(all.clone()),
            },
            (_, Data::Int(all)) => {
                let bits = if let Type::Int(bits) = kind { bits } else { 64 };
                Data::Int(all.iter().map(|one| wrapped_int(self.of_int(*one), bits)).collect())
            }
            (_, Data::Uint(all)) => {
                let bits = if let Type::Uint(bits) = kind { bits } else { 64 };
                Data::Uint(all.iter().map(|one| wrapped_uint(self.of_uint(*one), bits)).collect())
            }
            (_, Data::Float(all)) => {
                let bits = if let Type::Float(bits) = kind { bits } else { 64 };
                Data::Float(all.iter().map(|one| rounded(self.of_float(*one), bits)).collect())
            }
            (_, Data::Complex(all)) => self.of_complex(all, kind),
            (_, Data::Text(_)) => {
                return Err(Error::operands("a function of numbers does not apply to text"));
            }
        };
        Ok(Value::new(kind, shape, data))
    }

    fn of_int(self, x: i64) -> i64 {
        match self {
            Self::Negative => x.wrapping_neg(),
            Self::Invert => !x,
            Self::Abs => x.wrapping_abs(),
            Self::Sign => x.signum(),
            Self::Square => x.wrapping_mul(x),
            Self::Imag => 0,
            _ => x,
        }
    }

    fn of_uint(self, x: u64) -> u64 {
        match self {
            Self::Negative => x.wrapping_neg(),
            Self::Invert => !x,
            Self::Sign => x.min(1),
            Self::Square => x.wrapping_mul(x),
            Self::Imag => 0,
            _ => x,
        }
    }

    fn of_float(self, x: f64) -> f64 {
        match self {
            Self::Negative => -x,
            Self::Abs => x.abs(),
            Self::Sign if x == 0.0 || x.is_nan() => x.abs(),
            Self::Sign => x.signum(),
            Self::Square => x * x,
            Self::Floor => x.floor(),
            Self::Ceil => x.ceil(),
            Self::Trunc => x.trunc(),
            Self::Rint | Self::Round => x.round_ties_even(),
            Self::Imag => 0.0,
            Self::Angle => 0f64.atan2(x),
            Self::Float(function) => (function.real)(x),
            _ => x,
        }
    }

    fn of_complex(self, all: &[Complex<f64>], kind: Type) -> Data {
        let real = |of: fn(&Complex<f64>) -> f64| {
            let bits = if let Type::Float(bits) = kind { bits } else { 64 };
            Data::Float(all.iter().map(|one| rounded(of(one), bits)).collect())
        };
        let complex = |of: &dyn Fn(Complex<f64>) -> Complex<f64>| {
            let bits = if let Type::Complex(bits) = kind { bits / 2 } else { 64 };
            let rounded = |one: Complex<f64>| Complex::new(rounded(one.re, bits), rounded(one.im, bits));
            Data::Complex(all.iter().map(|one| rounded(of(*one))).collect())
        };
        match self {
            Self::Abs => real(|one| one.re.hypot(one.im)),
            Self::Real => real(|one| one.re),
            Self::Imag => real(|one| one.im),
            Self::Angle => real(|one| one.im.atan2(one.re)),
            Self::Negative => complex(&|one| -one),
            Self::Conj => complex(&|one| one.conj()),
            Self::Square => complex(&|one| one * one),
            Self::Rint | Self::Round => {
                complex(&|one| Complex::new(one.re.round_ties_even(), one.im.round_ties_even()))
            }
            Self::Sign => complex(&|one| if one == Complex::from(0.0) { one } else { one / one.norm() }),
            Self::Float(function) => complex(&function.complex),
            _ => complex(&|one| one),
        }
    }
}
