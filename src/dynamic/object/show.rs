//! Formats objects as Python does.

mod dtypes;
mod floats;
mod numpy;

use std::collections::HashMap;
use std::fmt::{self, Write};

use numpy::ArrayLayout;

use super::graph::{Id, Slot};
use super::times::{Time, Timedelta};
use super::walk::{Step, Walk};
use super::{Call, Object, ObjectRef, View};
use crate::elements::{format_complex, format_f64};

/// Formats like Python's `repr`; arrays and scalars as NumPy 2 does with its default options.
///
/// An object of an unknown class is shown as the call that Python would make, a `longdouble` as its bytes, and
/// a dtype without its alignment and metadata. The output is truncated after 16 MiB, because shared objects are
/// shown each time, so the output could be far longer than the data. Once 256 MiB of arrays have been shown,
/// further arrays are abbreviated to `array(…)`; a number counts as 128 bytes.
impl fmt::Display for ObjectRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ReprWriter::new(16 << 20, MAX_VISITED_BYTES, f).write_repr(*self)
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
pub(in super::super) fn brief_repr(value: &Object) -> String {
    let mut shown = String::new();
    let done = ReprWriter::new(1000, MAX_VISITED_BYTES / 256, &mut shown).write_repr(value.as_ref());
    done.expect("writing to a String does not fail");
    shown
}

/// Maximum number of bytes of arrays that are visited to show them.
const MAX_VISITED_BYTES: usize = 256 << 20;

/// A writer that stops after a number of bytes.
struct ReprWriter<'a> {
    remaining_output_bytes: usize,
    /// Bytes of arrays that may still be visited. An array that is referred to many times is visited each time.
    remaining_visited_bytes: usize,
    out: &'a mut dyn Write,
    /// The open arrays of objects, which are laid out when all of their elements are known.
    open: Vec<OpenArray>,
    /// The dtypes that have been shown; `None` for those that are shown as calls.
    dtypes: HashMap<Id, Option<String>>,
}

/// An array of objects that is being shown: the elements before the current one, and that one.
#[derive(Default)]
struct OpenArray {
    done_elements: Vec<String>,
    current_element: String,
}

impl<'a> ReprWriter<'a> {
    fn new(remaining_output_bytes: usize, remaining_visited_bytes: usize, out: &'a mut dyn Write) -> Self {
        Self {
            remaining_output_bytes,
            remaining_visited_bytes,
            out,
            open: Vec::new(),
            dtypes: HashMap::new(),
        }
    }

    fn write_uncounted(&mut self, text: &str) -> fmt::Result {
        match self.open.last_mut() {
            Some(array) => array.current_element.write_str(text),
            None => self.out.write_str(text),
        }
    }
}

impl Write for ReprWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.remaining_output_bytes.checked_sub(text.len()) {
            Some(left) => {
                self.remaining_output_bytes = left;
                self.write_uncounted(text)
            }
            None => {
                let fits =
                    |(start, char): (usize, char)| start + char.len_utf8() <= self.remaining_output_bytes;
                let end = text
                    .char_indices()
                    .take_while(|char| fits(*char))
                    .map(|(start, char)| start + char.len_utf8())
                    .last();
                self.write_uncounted(&text[..end.unwrap_or(0)])?;
                self.remaining_output_bytes = 0;
                self.write_uncounted("…")?;
                Err(fmt::Error) // stops the caller
            }
        }
    }
}

/// The state of showing the parts of an object.
struct ContainerState {
    kind: ContainerKind,
    close: &'static str,
    /// Text to write after the part that was shown last.
    after: &'static str,
}

enum ContainerKind {
    Items,
    Pairs,
    /// The arguments of a range; a step of 1 is omitted.
    Range,
    /// The elements of an array.
    ArrayLayout(ArrayLayout),
    Call {
        items: usize,
        pairs: usize,
    },
}

impl ContainerState {
    fn of(kind: ContainerKind, close: &'static str) -> Self {
        Self { kind, close, after: "" }
    }
}

impl ReprWriter<'_> {
    fn write_repr(&mut self, object: ObjectRef<'_>) -> fmt::Result {
        match self.walk(object) {
            Err(_) if self.remaining_output_bytes == 0 => {
                // The arrays that are open are not laid out.
                std::mem::take(&mut self.open).into_iter().try_for_each(|array| {
                    self.out.write_str("array([")?;
                    array.done_elements.iter().try_for_each(|word| write!(self.out, "{word}, "))?;
                    self.out.write_str(&array.current_element)
                })
            }
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
                    match self.write_before_part(number, part, style)? {
                        PartForm::Whole => self.begin(part, &mut walk)?,
                        PartForm::Arguments => self.begin_arguments(owner, part, &mut walk)?,
                        PartForm::Nothing => {}
                    }
                }
                Step::End(owner, style) => {
                    self.write_str(style.after)?;
                    self.write_str(style.close)?;
                    if let (ContainerKind::ArrayLayout(grid), View::Array(array)) = (style.kind, owner.view())
                    {
                        let OpenArray { done_elements: mut words, current_element: element } =
                            self.open.pop().unwrap_or_default();
                        words.push(element);
                        // What was written as elements is written again as an array.
                        let len = words.iter().map(String::len).sum::<usize>();
                        self.remaining_output_bytes += len;
                        match self.spend_visited_bytes(len) {
                            true => self.write_str(&grid.array_repr(words, array.dtype()))?,
                            false => self.write_str("array(…)")?,
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes an object, or its start if it has parts.
    fn begin<'a>(&mut self, object: ObjectRef<'a>, walk: &mut Walk<'a, ContainerState>) -> fmt::Result {
        let count = object.part_count();
        let (open, style, cycle_marker) = match object.view() {
            View::List(_) => ("[", ContainerState::of(ContainerKind::Items, "]"), "[...]"),
            View::Tuple(_) => {
                ("(", ContainerState::of(ContainerKind::Items, if count == 1 { ",)" } else { ")" }), "(...)")
            }
            View::Dict(_) => ("{", ContainerState::of(ContainerKind::Pairs, "}"), "{...}"),
            View::Set(_) if count == 0 => return self.write_str("set()"),
            View::Set(_) => ("{", ContainerState::of(ContainerKind::Items, "}"), "set(...)"),
            View::FrozenSet(_) if count == 0 => return self.write_str("frozenset()"),
            View::FrozenSet(_) => {
                ("frozenset({", ContainerState::of(ContainerKind::Items, "})"), "frozenset({...})")
            }
            View::Array(array) => {
                let grid = ArrayLayout::new(array.shape());
                let Some(shown) = grid.shown_count() else { return self.write_str("array(…)") };
                if array.objects().is_none() {
                    if !self
                        .spend_visited_bytes(shown.saturating_mul(numpy::element_show_cost(array.dtype())))
                    {
                        return self.write_str("array(…)");
                    }
                    let array = numpy::array(array);
                    return self.write_str(array.as_deref().unwrap_or("array(…)"));
                }
                // All elements are visited, also those that are not shown.
                if !self.spend_visited_bytes(count.saturating_mul(size_of::<Slot>())) {
                    return self.write_str("array(…)");
                }
                ("", ContainerState::of(ContainerKind::ArrayLayout(grid), ""), "array(..., dtype=object)")
            }
            View::Call(call) if call.global().is_some_and(|global| global.is("numpy", "dtype")) => {
                match self.dtype_repr(object) {
                    Some(shown) => return self.write_str(&shown),
                    None => Self::call_start(call),
                }
            }
            View::Call(call) => Self::call_start(call),
            View::Persistent(_) => ("<persistent ", ContainerState::of(ContainerKind::Items, ">"), "..."),
            leaf => return self.write_leaf(&leaf),
        };
        let is_array = matches!(style.kind, ContainerKind::ArrayLayout(..));
        if !walk.enter_unless_open(object, style) {
            return self.write_str(cycle_marker);
        }
        if is_array {
            self.open.push(OpenArray::default());
        }
        self.write_str(open)
    }

    /// Returns the text of a dtype; `None` if it is shown as a call.
    fn dtype_repr(&mut self, object: ObjectRef<'_>) -> Option<String> {
        /// Decoding a dtype may copy as much.
        const DECODE_COST: usize = 1 << 20;
        let id = object.id()?;
        if !self.dtypes.contains_key(&id) {
            let dtype = self
                .spend_visited_bytes(DECODE_COST)
                .then(|| super::dtypes::decode_dtype_object(object))
                .flatten();
            self.dtypes.insert(id, dtype.map(|dtype| dtypes::repr(&dtype)));
        }
        self.dtypes.get(&id)?.clone()
    }

    fn call_start(call: Call<'_>) -> (&'static str, ContainerState, &'static str) {
        let (items, pairs) = (call.items().len(), 2 * call.pairs().len());
        ("", ContainerState::of(ContainerKind::Call { items, pairs }, ""), "...")
    }

    /// Writes the text before a part, and returns how the part is shown.
    fn write_before_part(
        &mut self,
        number: usize,
        part: ObjectRef<'_>,
        style: &mut ContainerState,
    ) -> Result<PartForm, fmt::Error> {
        match &mut style.kind {
            ContainerKind::Items if number == 0 => {}
            ContainerKind::Items => self.write_str(", ")?,
            ContainerKind::Pairs if number % 2 != 0 => self.write_str(": ")?,
            ContainerKind::Pairs if number == 0 => {}
            ContainerKind::Pairs => self.write_str(", ")?,
            ContainerKind::Range if number == 2 && *part.slot == Slot::int(1) => {
                return Ok(PartForm::Nothing);
            }
            ContainerKind::Range if number == 0 => {}
            ContainerKind::Range => self.write_str(", ")?,
            ContainerKind::ArrayLayout(..) if number == 0 => return Ok(PartForm::Nothing), // the dtype
            ContainerKind::ArrayLayout(grid) if !grid.is_shown(number - 1) => return Ok(PartForm::Nothing),
            ContainerKind::ArrayLayout(_) => {
                if let Some(array) = self.open.last_mut().filter(|_| number > 1) {
                    array.done_elements.push(std::mem::take(&mut array.current_element));
                }
                if let View::List(_) = part.view() {
                    self.write_str("list(")?;
                    style.after = ")";
                }
            }
            ContainerKind::Call { items, pairs } => {
                let (items, pairs) = (3..3 + *items, 3 + *items..3 + *items + *pairs);
                let is_last = |all: &std::ops::Range<usize>| number + 1 == all.end;
                let (before, after) = match number {
                    0 => ("", ""),
                    1 if part.items().is_some() => return Ok(PartForm::Arguments),
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
        Ok(PartForm::Whole)
    }

    /// Writes the start of a call's arguments, which are not shown as a tuple.
    fn begin_arguments<'a>(
        &mut self,
        call: ObjectRef<'a>,
        args: ObjectRef<'a>,
        walk: &mut Walk<'a, ContainerState>,
    ) -> fmt::Result {
        let is_range = matches!(call.view(), View::Call(call) if call.global().is_some_and(|global| global.is("builtins", "range")));
        let kind = if is_range { ContainerKind::Range } else { ContainerKind::Items };
        match walk.enter_unless_open(args, ContainerState::of(kind, ")")) {
            true => self.write_char('('),
            false => self.write_str("(...)"),
        }
    }

    /// Returns whether this number of bytes may be visited to show them.
    fn spend_visited_bytes(&mut self, bytes: usize) -> bool {
        let left = self.remaining_visited_bytes.checked_sub(bytes);
        self.remaining_visited_bytes = left.unwrap_or(0);
        left.is_some()
    }

    fn write_leaf(&mut self, view: &View<'_>) -> fmt::Result {
        match view {
            View::Bool(value) => self.write_str(if *value { "True" } else { "False" }),
            View::Int(number) => write!(self, "{number}"),
            View::Float(number) => self.write_str(&format_f64(*number, ".0")),
            View::Complex(number) => self.write_str(&format_complex(*number)),
            View::Str(text) => write!(self, "{text}"),
            View::Bytes(bytes) => write!(self, "{}", QuotedBytes(bytes)),
            View::ByteArray(bytes) => write!(self, "bytearray({})", QuotedBytes(bytes)),
            View::Scalar(scalar) if !self.spend_visited_bytes(numpy::element_show_cost(scalar.dtype())) => {
                self.write_str("np.void(…)")
            }
            View::Scalar(scalar) => self.write_str(&numpy::scalar(*scalar)),
            View::Date(date) => {
                write!(self, "datetime.date({}, {}, {})", date.year(), date.month(), date.day())
            }
            View::Time(time) => {
                self.write_str("datetime.time(")?;
                self::write_time_arguments(*time, self)
            }
            View::Datetime(date, time) => {
                write!(self, "datetime.datetime({}, {}, {}, ", date.year(), date.month(), date.day())?;
                self::write_time_arguments(*time, self)
            }
            View::Timedelta(length) => self.write_timedelta(*length),
            View::Decimal(digits) => write!(self, "Decimal('{digits}')"),
            View::Global(global) => write!(self, "{global}"),
            View::Extension(code) => write!(self, "<extension {code}>"),
            View::Buffer(number) => write!(self, "<buffer {number}>"),
            _ => self.write_str("None"),
        }
    }

    fn write_timedelta(&mut self, length: Timedelta) -> fmt::Result {
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
enum PartForm {
    Whole,
    Arguments,
    Nothing,
}

/// Writes the arguments of a time, without trailing seconds and microseconds that are zero.
fn write_time_arguments(time: Time, f: &mut dyn Write) -> fmt::Result {
    write!(f, "{}, {}", time.hour(), time.minute())?;
    if time.second() > 0 || time.microsecond() > 0 {
        write!(f, ", {}", time.second())?;
    }
    if time.microsecond() > 0 {
        write!(f, ", {}", time.microsecond())?;
    }
    f.write_str(if time.is_fold() { ", fold=1)" } else { ")" })
}

/// Bytes, shown with quotes and escapes.
struct QuotedBytes<'a>(&'a [u8]);

impl fmt::Display for QuotedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains(&b'\'') && !self.0.contains(&b'"') { '"' } else { '\'' };
        write!(f, "b{quote}")?;
        for byte in self.0 {
            match char::from(*byte) {
                char @ ('\'' | '"') if char != quote => f.write_char(char)?,
                _ => write!(f, "{}", byte.escape_ascii())?,
            }
        }
        f.write_char(quote)
    }
}
