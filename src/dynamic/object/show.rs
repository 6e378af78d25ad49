//! Objects as Python shows them.

use std::fmt::{self, Write};

use super::{PyObject, PyTime, PyTimedelta, PyValue, rearranged};
use crate::element::{spelled_complex, spelled_double};
use crate::shape::Order;

/// As Python's `repr`. An object of which nothing is known is shown as the call that Python would make. After 16 MiB the rest is
/// left away: objects that are shared may be more, to look at, than there are.
impl fmt::Display for PyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown { left: 16 << 20, out: f }.whole(self)
    }
}

impl fmt::Debug for PyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A value as an element of an array that is shown: of a long one the beginning.
pub(in super::super) fn brief(value: &PyValue) -> String {
    let mut shown = String::new();
    let done = Shown { left: 1000, out: &mut shown }.whole(value);
    done.expect("a text takes all that it is given");
    shown
}

/// Writes so many bytes and no more.
struct Shown<'a> {
    left: usize,
    out: &'a mut dyn Write,
}

impl Write for Shown<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.left.checked_sub(text.len()) {
            Some(left) => {
                self.left = left;
                self.out.write_str(text)
            }
            None => {
                let fits = |(start, char): (usize, char)| start + char.len_utf8() <= self.left;
                let end = text
                    .char_indices()
                    .take_while(|char| fits(*char))
                    .map(|(start, char)| start + char.len_utf8())
                    .last();
                self.out.write_str(&text[..end.unwrap_or(0)])?;
                self.left = 0;
                self.out.write_char('…')?;
                Err(fmt::Error) // so that nobody goes on
            }
        }
    }
}

impl Shown<'_> {
    fn whole(&mut self, value: &PyValue) -> fmt::Result {
        match self.value(value) {
            Err(_) if self.left == 0 => Ok(()),
            done => done,
        }
    }

    fn value(&mut self, value: &PyValue) -> fmt::Result {
        match value {
            PyValue::None => self.write_str("None"),
            PyValue::Bool(value) => self.write_str(if *value { "True" } else { "False" }),
            PyValue::Int(number) => write!(self, "{number}"),
            PyValue::Float(number) => self.write_str(&spelled_double(*number, ".0")),
            PyValue::Complex(number) => self.write_str(&spelled_complex(*number)),
            PyValue::Str(text) => write!(self, "{text}"),
            PyValue::Bytes(bytes) => self::bytes(bytes, self),
            PyValue::ByteArray(bytes) => {
                self.write_str("bytearray(")?;
                self::bytes(bytes, self)?;
                self.write_char(')')
            }
            PyValue::List(items) => self.all("[", items, "]"),
            PyValue::Tuple(items) => self.all("(", items, if items.len() == 1 { ",)" } else { ")" }),
            PyValue::Dict(pairs) => {
                self.write_char('{')?;
                self.pairs(pairs)?;
                self.write_char('}')
            }
            PyValue::Set(items) if items.is_empty() => self.write_str("set()"),
            PyValue::Set(items) => self.all("{", items, "}"),
            PyValue::FrozenSet(items) if items.is_empty() => self.write_str("frozenset()"),
            PyValue::FrozenSet(items) => self.all("frozenset({", items, "})"),
            PyValue::Scalar(array) => write!(self, "numpy.scalar({array}, dtype={})", array.dtype()),
            PyValue::Array(array) => {
                self.write_str("array(")?;
                match &array.objects {
                    None => write!(self, "{array}")?,
                    Some(items) => self.grid(&rearranged(items, &array.header, Order::C), array.shape())?,
                }
                write!(self, ", dtype={})", array.dtype())
            }
            PyValue::Date(date) => write!(self, "datetime.date({}, {}, {})", date.year, date.month, date.day),
            PyValue::Time(time) => {
                self.write_str("datetime.time(")?;
                self::time(time, self)
            }
            PyValue::Datetime(date, time) => {
                write!(self, "datetime.datetime({}, {}, {}, ", date.year, date.month, date.day)?;
                self::time(time, self)
            }
            PyValue::Timedelta(PyTimedelta { days: 0, seconds: 0, microseconds: 0 }) => {
                self.write_str("datetime.timedelta(0)")
            }
            PyValue::Timedelta(PyTimedelta { days, seconds, microseconds }) => {
                let parts = [("days", days), ("seconds", seconds), ("microseconds", microseconds)];
                let parts = parts.into_iter().filter(|(_, number)| **number != 0);
                let parts: Vec<_> = parts.map(|(name, number)| format!("{name}={number}")).collect();
                write!(self, "datetime.timedelta({})", parts.join(", "))
            }
            PyValue::Decimal(digits) => write!(self, "Decimal('{digits}')"),
            PyValue::Global(global) if global.module == "builtins" => self.write_str(&global.name),
            PyValue::Global(global) => write!(self, "{}.{}", global.module, global.name),
            PyValue::Object(object) => self.object(object),
        }
    }

    fn all(&mut self, open: &str, items: &[PyValue], close: &str) -> fmt::Result {
        self.write_str(open)?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.write_str(", ")?;
            }
            self.value(item)?;
        }
        self.write_str(close)
    }

    /// Items in C order.
    fn grid(&mut self, items: &[PyValue], dims: &[usize]) -> fmt::Result {
        let Some((first, within)) = dims.split_first() else { return self.value(&items[0]) };
        if within.is_empty() || items.is_empty() {
            return self.all("[", items, "]");
        }
        self.write_char('[')?;
        for (index, row) in items.chunks_exact(items.len() / first).enumerate() {
            if index > 0 {
                self.write_str(", ")?;
            }
            self.grid(row, within)?;
        }
        self.write_char(']')
    }

    fn pairs(&mut self, pairs: &[(PyValue, PyValue)]) -> fmt::Result {
        for (index, (key, value)) in pairs.iter().enumerate() {
            if index > 0 {
                self.write_str(", ")?;
            }
            self.value(key)?;
            self.write_str(": ")?;
            self.value(value)?;
        }
        Ok(())
    }

    fn object(&mut self, object: &PyObject) -> fmt::Result {
        self.value(&object.callable)?;
        let is_range =
            object.global().is_some_and(|global| (&*global.module, &*global.name) == ("builtins", "range"));
        match &object.args {
            // A step of one goes without saying.
            PyValue::Tuple(args) if is_range && args.get(2) == Some(&1.into()) => {
                self.all("(", &args[..2], ")")?
            }
            PyValue::Tuple(args) => self.all("(", args, ")")?,
            other => {
                self.write_str("(*")?;
                self.value(other)?;
                self.write_char(')')?;
            }
        }
        for (name, part) in [("kwargs", &object.kwargs), ("state", &object.state)] {
            if let Some(part) = part {
                write!(self, " <{name}: ")?;
                self.value(part)?;
                self.write_char('>')?;
            }
        }
        if !object.items.is_empty() {
            self.all(" <items: [", &object.items, "]>")?;
        }
        if !object.pairs.is_empty() {
            self.write_str(" <items: {")?;
            self.pairs(&object.pairs)?;
            self.write_str("}>")?;
        }
        Ok(())
    }
}

/// The arguments of a time, of which the seconds are left away if there are none.
fn time(time: &PyTime, f: &mut dyn Write) -> fmt::Result {
    write!(f, "{}, {}", time.hour, time.minute)?;
    if time.second > 0 || time.microsecond > 0 {
        write!(f, ", {}", time.second)?;
    }
    if time.microsecond > 0 {
        write!(f, ", {}", time.microsecond)?;
    }
    f.write_str(if time.is_fold { ", fold=1)" } else { ")" })
}

fn bytes(bytes: &[u8], f: &mut dyn Write) -> fmt::Result {
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
