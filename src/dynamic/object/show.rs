//! Formats objects as Python does.

use std::fmt::{self, Write};

use super::graph::Slot;
use super::times::{Time, Timedelta};
use super::walk::{Step, Walk};
use super::{Object, ObjectRef, View};
use crate::element::{spelled_complex, spelled_double};

/// Formats like Python's `repr`.
///
/// An object of an unknown class is shown as the call that Python would make. The output is truncated after
/// 16 MiB, because shared objects are shown each time, so the output could be far longer than the data. Once
/// 256 MiB of arrays have been shown, further arrays are abbreviated to `array(…)`.
impl fmt::Display for ObjectRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown { left: 16 << 20, copies: COPIES, out: f }.whole(*self)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for ObjectRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Formats a value as an element of an array, truncated to 1,000 bytes.
pub(in super::super) fn brief(value: &Object) -> String {
    let mut shown = String::new();
    let done = Shown { left: 1000, copies: COPIES, out: &mut shown }.whole(value.as_ref());
    done.expect("writing to a String does not fail");
    shown
}

/// Maximum number of bytes of arrays that are copied to show them.
const COPIES: usize = 256 << 20;

/// A writer that stops after a number of bytes.
struct Shown<'a> {
    left: usize,
    /// Bytes of arrays that may still be copied. An array that is referred to many times is copied each time.
    copies: usize,
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
                Err(fmt::Error) // stops the caller
            }
        }
    }
}

/// The state of showing the parts of an object.
struct Style {
    between: Between,
    close: &'static str,
    /// Text to write after the part that was shown last.
    after: &'static str,
}

enum Between {
    Items,
    Pairs,
    /// The arguments of a range; a step of 1 is omitted.
    Range,
    /// The elements of an array whose axes have these lengths.
    Grid(Vec<usize>),
    Call {
        items: usize,
        pairs: usize,
    },
}

impl Style {
    fn of(between: Between, close: &'static str) -> Self {
        Self { between, close, after: "" }
    }
}

impl Shown<'_> {
    fn whole(&mut self, object: ObjectRef<'_>) -> fmt::Result {
        match self.walk(object) {
            Err(_) if self.left == 0 => Ok(()),
            done => done,
        }
    }

    fn walk(&mut self, object: ObjectRef<'_>) -> fmt::Result {
        let mut walk = Walk::new();
        self.begin(object, &mut walk)?;
        while let Some(step) = walk.step() {
            match step {
                Step::Part(owner, number, part, style) => {
                    self.write_str(std::mem::take(&mut style.after))?;
                    let Some(part) = part else { continue };
                    match self.before(number, part, style)? {
                        Shape::Whole => self.begin(part, &mut walk)?,
                        Shape::Arguments => self.arguments(owner, part, &mut walk)?,
                        Shape::Nothing => {}
                    }
                }
                Step::End(owner, style) => {
                    self.write_str(style.after)?;
                    self.write_str(style.close)?;
                    if let View::Array(array) = owner.view() {
                        self.end_array(array.shape(), &array.dtype().to_string())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes an object, or its start if it has parts.
    fn begin<'a>(&mut self, object: ObjectRef<'a>, walk: &mut Walk<'a, Style>) -> fmt::Result {
        let count = object.part_count();
        let (open, style, again) = match object.view() {
            View::List(_) => ("[", Style::of(Between::Items, "]"), "[...]"),
            View::Tuple(_) => ("(", Style::of(Between::Items, if count == 1 { ",)" } else { ")" }), "(...)"),
            View::Dict(_) => ("{", Style::of(Between::Pairs, "}"), "{...}"),
            View::Set(_) if count == 0 => return self.write_str("set()"),
            View::Set(_) => ("{", Style::of(Between::Items, "}"), "set(...)"),
            View::FrozenSet(_) if count == 0 => return self.write_str("frozenset()"),
            View::FrozenSet(_) => ("frozenset({", Style::of(Between::Items, "})"), "frozenset({...})"),
            View::Array(array) => {
                if array.objects().is_none() {
                    if !self.may_copy(array.bytes().len()) {
                        return self.write_str("array(…)");
                    }
                    let Ok(array) = array.to_dyn() else { return self.write_str("array(…)") };
                    return write!(self, "array({array}, dtype={})", array.dtype());
                }
                ("array(", Style::of(Between::Grid(array.shape().to_vec()), ""), "array(...)")
            }
            View::Call(call) => {
                let (items, pairs) = (call.items().len(), 2 * call.pairs().len());
                ("", Style::of(Between::Call { items, pairs }, ""), "...")
            }
            View::Persistent(_) => ("<persistent ", Style::of(Between::Items, ">"), "..."),
            leaf => return self.leaf(&leaf),
        };
        if !walk.enter_once(object, style) {
            return self.write_str(again);
        }
        self.write_str(open)
    }

    /// Writes the text before a part, and returns how the part is shown.
    fn before(&mut self, number: usize, part: ObjectRef<'_>, style: &mut Style) -> Result<Shape, fmt::Error> {
        match &style.between {
            Between::Items if number == 0 => {}
            Between::Items => self.write_str(", ")?,
            Between::Pairs if !number.is_multiple_of(2) => self.write_str(": ")?,
            Between::Pairs if number == 0 => {}
            Between::Pairs => self.write_str(", ")?,
            Between::Range if number == 2 && *part.slot == Slot::int(1) => return Ok(Shape::Nothing),
            Between::Range if number == 0 => {}
            Between::Range => self.write_str(", ")?,
            Between::Grid(_) if number == 0 => return Ok(Shape::Nothing), // the dtype
            Between::Grid(dims) => self.corner(number - 1, dims)?,
            Between::Call { items, pairs } => {
                let (items, pairs) = (3..3 + items, 3 + items..3 + items + pairs);
                let is_last = |all: &std::ops::Range<usize>| number + 1 == all.end;
                let (before, after) = match number {
                    0 => ("", ""),
                    1 if part.items().is_some() => return Ok(Shape::Arguments),
                    1 => ("(*", ")"),
                    2 => (" <kwargs: ", ">"),
                    _ if items.contains(&number) => (
                        if number == items.start { " <items: [" } else { ", " },
                        if is_last(&items) { "]>" } else { "" },
                    ),
                    _ if pairs.contains(&number) => {
                        let is_value = (number - pairs.start) % 2 == 1;
                        let before = match (number == pairs.start, is_value) {
                            (true, _) => " <items: {",
                            (_, true) => ": ",
                            (_, false) => ", ",
                        };
                        (before, if is_last(&pairs) { "}>" } else { "" })
                    }
                    _ => (" <state: ", ">"),
                };
                style.after = after;
                self.write_str(before)?;
            }
        }
        Ok(Shape::Whole)
    }

    /// Writes the start of a call's arguments, which are not shown as a tuple.
    fn arguments<'a>(
        &mut self,
        call: ObjectRef<'a>,
        args: ObjectRef<'a>,
        walk: &mut Walk<'a, Style>,
    ) -> fmt::Result {
        let is_range = matches!(call.view(), View::Call(call) if call.global().is_some_and(|global| global.is("builtins", "range")));
        let between = if is_range { Between::Range } else { Between::Items };
        match walk.enter_once(args, Style::of(between, ")")) {
            true => self.write_char('('),
            false => self.write_str("(...)"),
        }
    }

    /// Writes the brackets before an element of an array, which end rows and start new ones.
    ///
    /// Elements are numbered in C order.
    fn corner(&mut self, number: usize, dims: &[usize]) -> fmt::Result {
        let mut rows = 0;
        let mut size = 1;
        for dim in dims.iter().rev() {
            size *= dim;
            if !number.is_multiple_of(size) {
                break;
            }
            rows += 1;
        }
        if number > 0 {
            (0..rows).try_for_each(|_| self.write_char(']'))?;
            self.write_str(", ")?;
        }
        (0..rows).try_for_each(|_| self.write_char('['))
    }

    fn end_array(&mut self, dims: &[usize], dtype: &str) -> fmt::Result {
        match dims.contains(&0) {
            true => self.write_str("[]")?,
            false => (0..dims.len()).try_for_each(|_| self.write_char(']'))?,
        }
        write!(self, ", dtype={dtype})")
    }

    /// Returns whether this number of bytes may be copied to show them; the first copy is always allowed.
    fn may_copy(&mut self, bytes: usize) -> bool {
        let is_first = self.copies == COPIES;
        match self.copies.checked_sub(bytes) {
            Some(left) => self.copies = left,
            None => self.copies = 0,
        }
        is_first || self.copies > 0
    }

    fn leaf(&mut self, view: &View<'_>) -> fmt::Result {
        match view {
            View::Bool(value) => self.write_str(if *value { "True" } else { "False" }),
            View::Int(number) => write!(self, "{number}"),
            View::Float(number) => self.write_str(&spelled_double(*number, ".0")),
            View::Complex(number) => self.write_str(&spelled_complex(*number)),
            View::Str(text) => write!(self, "{text}"),
            View::Bytes(bytes) => self::bytes(bytes, self),
            View::ByteArray(bytes) => {
                self.write_str("bytearray(")?;
                self::bytes(bytes, self)?;
                self.write_char(')')
            }
            View::Scalar(scalar) if !self.may_copy(scalar.bytes().len()) => self.write_str("numpy.scalar(…)"),
            View::Scalar(scalar) => match scalar.to_dyn() {
                Ok(array) => write!(self, "numpy.scalar({array}, dtype={})", array.dtype()),
                Err(_) => self.write_str("numpy.scalar(…)"),
            },
            View::Date(date) => {
                write!(self, "datetime.date({}, {}, {})", date.year(), date.month(), date.day())
            }
            View::Time(time) => {
                self.write_str("datetime.time(")?;
                self::time(*time, self)
            }
            View::Datetime(date, time) => {
                write!(self, "datetime.datetime({}, {}, {}, ", date.year(), date.month(), date.day())?;
                self::time(*time, self)
            }
            View::Timedelta(length) => self.timedelta(*length),
            View::Decimal(digits) => write!(self, "Decimal('{digits}')"),
            View::Global(global) => write!(self, "{global}"),
            View::Extension(code) => write!(self, "<extension {code}>"),
            View::Buffer(number) => write!(self, "<buffer {number}>"),
            _ => self.write_str("None"),
        }
    }

    fn timedelta(&mut self, length: Timedelta) -> fmt::Result {
        let parts = [
            ("days", i64::from(length.days())),
            ("seconds", length.seconds().into()),
            ("microseconds", length.microseconds().into()),
        ];
        let parts = parts.into_iter().filter(|(_, number)| *number != 0);
        let parts: Vec<_> = parts.map(|(name, number)| format!("{name}={number}")).collect();
        match parts.is_empty() {
            true => self.write_str("datetime.timedelta(0)"),
            false => write!(self, "datetime.timedelta({})", parts.join(", ")),
        }
    }
}

/// How a part is shown.
enum Shape {
    Whole,
    Arguments,
    Nothing,
}

/// Writes the arguments of a time, without trailing seconds and microseconds that are zero.
fn time(time: Time, f: &mut dyn Write) -> fmt::Result {
    write!(f, "{}, {}", time.hour(), time.minute())?;
    if time.second() > 0 || time.microsecond() > 0 {
        write!(f, ", {}", time.second())?;
    }
    if time.microsecond() > 0 {
        write!(f, ", {}", time.microsecond())?;
    }
    f.write_str(if time.is_fold() { ", fold=1)" } else { ")" })
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
