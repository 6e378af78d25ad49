//! Objects as Python shows them.

use std::cell::Cell;
use std::fmt::{self, Write};

use super::{PyObject, PyValue};

/// As Python's `repr`. An object of which nothing is known is shown as the call that Python would make. Of very many objects
/// the last are left away.
impl fmt::Display for PyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// So many objects are shown: those that are shared may be many more than there are.
        const MOST: usize = 1_000_000;
        Shown { left: Cell::new(MOST) }.value(self, f)
    }
}

impl fmt::Debug for PyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Shown {
    left: Cell<usize>,
}

impl Shown {
    fn value(&self, value: &PyValue, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.left.get().checked_sub(1) {
            None => return f.write_str("…"),
            Some(left) => self.left.set(left),
        }
        match value {
            PyValue::None => f.write_str("None"),
            PyValue::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            PyValue::Int(number) => write!(f, "{number}"),
            PyValue::Float(number) => f.write_str(&float(*number)),
            PyValue::Complex(number) => f.write_str(&complex(number.re, number.im)),
            PyValue::Str(text) => write!(f, "{text}"),
            PyValue::Bytes(bytes) => self::bytes(bytes, f),
            PyValue::ByteArray(bytes) => {
                f.write_str("bytearray(")?;
                self::bytes(bytes, f)?;
                f.write_char(')')
            }
            PyValue::List(items) => self.all("[", items, "]", f),
            PyValue::Tuple(items) => self.all("(", items, if items.len() == 1 { ",)" } else { ")" }, f),
            PyValue::Dict(pairs) => {
                f.write_char('{')?;
                self.pairs(pairs, f)?;
                f.write_char('}')
            }
            PyValue::Set(items) if items.is_empty() => f.write_str("set()"),
            PyValue::Set(items) => self.all("{", items, "}", f),
            PyValue::FrozenSet(items) if items.is_empty() => f.write_str("frozenset()"),
            PyValue::FrozenSet(items) => self.all("frozenset({", items, "})", f),
            PyValue::Scalar(array) => write!(f, "numpy.scalar({array}, dtype={})", array.dtype()),
            PyValue::Array(array) => write!(f, "array({array}, dtype={})", array.dtype()),
            PyValue::Date(date) => write!(f, "datetime.date({}, {}, {})", date.year, date.month, date.day),
            PyValue::Time(time) => {
                write!(
                    f,
                    "datetime.time({}, {}, {}, {})",
                    time.hour, time.minute, time.second, time.microsecond
                )
            }
            PyValue::Datetime(date, time) => write!(
                f,
                "datetime.datetime({}, {}, {}, {}, {}, {}, {})",
                date.year, date.month, date.day, time.hour, time.minute, time.second, time.microsecond
            ),
            PyValue::Timedelta(delta) => write!(
                f,
                "datetime.timedelta(days={}, seconds={}, microseconds={})",
                delta.days, delta.seconds, delta.microseconds
            ),
            PyValue::Decimal(digits) => write!(f, "Decimal({digits})"),
            PyValue::Global(global) => write!(f, "{}.{}", global.module, global.name),
            PyValue::Object(object) => self.object(object, f),
        }
    }

    fn all(&self, open: &str, items: &[PyValue], close: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(open)?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            self.value(item, f)?;
            if self.left.get() == 0 {
                break;
            }
        }
        f.write_str(close)
    }

    fn pairs(&self, pairs: &[(PyValue, PyValue)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in pairs.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            self.value(key, f)?;
            f.write_str(": ")?;
            self.value(value, f)?;
            if self.left.get() == 0 {
                break;
            }
        }
        Ok(())
    }

    fn object(&self, object: &PyObject, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value(&object.callable, f)?;
        match &object.args {
            PyValue::Tuple(args) => self.all("(", args, ")", f)?,
            other => {
                f.write_str("(*")?;
                self.value(other, f)?;
                f.write_char(')')?;
            }
        }
        for (name, part) in [("kwargs", &object.kwargs), ("state", &object.state)] {
            if let Some(part) = part {
                write!(f, " <{name}: ")?;
                self.value(part, f)?;
                f.write_char('>')?;
            }
        }
        if !object.items.is_empty() {
            self.all(" <items: [", &object.items, "]>", f)?;
        }
        if !object.pairs.is_empty() {
            f.write_str(" <items: {")?;
            self.pairs(&object.pairs, f)?;
            f.write_str("}>")?;
        }
        Ok(())
    }
}

/// As Python shows a float: the fewest digits, and an exponent of at least two.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    let shown = format!("{number:?}");
    match shown.split_once('e') {
        None => shown,
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{}e{sign}{exponent:0>2}", digits.strip_suffix(".0").unwrap_or(digits))
        }
    }
}

fn complex(re: f64, im: f64) -> String {
    let part = |number: f64| {
        let shown = float(number);
        shown.strip_suffix(".0").map_or(shown.clone(), str::to_owned)
    };
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", part(im));
    }
    let sign = if im.is_sign_negative() && !im.is_nan() { "" } else { "+" };
    format!("({}{sign}{}j)", part(re), part(im))
}

fn bytes(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    write!(f, "b{quote}")?;
    for byte in bytes {
        match char::from(*byte) {
            char @ ('\'' | '"') if char != quote => f.write_char(char)?,
            _ => write!(f, "{}", byte.escape_ascii())?,
        }
    }
    f.write_char(quote)
}
