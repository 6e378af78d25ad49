//! What Python would look up to load a pickle, even if it is damaged.
//!
//! This follows only the heights of the stack, texts and the memo, and knows no objects. So it goes on where the decoder refuses what
//! Python's unpicklers accept, or disagree about, and ends only where all of them do.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::opcode::*;
use super::text::{decode_raw_unicode, decode_string_literal, digits};

/// What Python looks up to load a pickle until it finds that it is damaged.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Modules and names, each pair once.
    pub(crate) names: Vec<(String, String)>,
    pub(crate) extension_codes: Vec<u32>,
    /// Whether something may be called.
    pub(crate) has_calls: bool,
    pub(crate) end: Option<End>,
}

/// Why reading a pickle ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The pickle is complete.
    Complete,
    /// More bytes are needed.
    Truncated,
    /// All unpicklers find damage.
    Damaged,
    /// Unpicklers disagree about what follows.
    Ambiguous,
}

/// A value on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    /// A text, by its place in the pickle.
    Text {
        start: usize,
        end: usize,
        opcode: u8,
    },
    Other,
}

/// Returns what Python looks up to load the pickle at the beginning of `bytes`. Protocols before 3 name some modules as Python 2 did.
pub(crate) fn effects(bytes: &[u8]) -> Effects {
    let mut reader = Reader { bytes, ..Reader::default() };
    let end = reader.run().unwrap_or_else(|end| end);
    Effects { end: Some(end), ..reader.effects }
}

#[derive(Default)]
struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    frame_end: Option<usize>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u64, Value>,
    seen: HashSet<(Value, Value)>,
    known: HashSet<(String, String)>,
    effects: Effects,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<End, End> {
        loop {
            if let Some(end) = self.frame_end.filter(|end| self.position >= *end) {
                self.frame_end = None;
                if self.position > end {
                    return Err(End::Ambiguous);
                }
            }
            let opcode = self.number(1)? as u8;
            match opcode {
                STOP => {
                    self.pop()?;
                    return Ok(if self.frame_end.is_some() { End::Ambiguous } else { End::Complete });
                }
                PROTO if self.number(1)? > 5 => return Err(End::Damaged),
                PROTO => {}
                FRAME => {
                    let len = self.number(8)?;
                    let end = usize::try_from(len).ok().and_then(|len| self.position.checked_add(len));
                    let end = end.filter(|end| *end <= self.bytes.len()).ok_or(End::Truncated)?;
                    if self.frame_end.replace(end).is_some() {
                        return Err(End::Ambiguous);
                    }
                }
                _ => self.execute(opcode)?,
            }
        }
    }

    fn execute(&mut self, opcode: u8) -> Result<(), End> {
        match opcode {
            NONE | NEWTRUE | NEWFALSE | EMPTY_LIST | EMPTY_TUPLE | EMPTY_DICT | EMPTY_SET | NEXT_BUFFER => {
                self.push()
            }
            INT | LONG | FLOAT | PERSID => self.line().map(|_| self.push())?,
            BININT1 => self.number(1).map(|_| self.push())?,
            BININT2 => self.number(2).map(|_| self.push())?,
            BININT => self.number(4).map(|_| self.push())?,
            BINFLOAT => self.number(8).map(|_| self.push())?,
            STRING | UNICODE => {
                let Range { start, end } = self.line()?;
                self.stack.push(Value::Text { start, end, opcode });
            }
            SHORT_BINUNICODE | SHORT_BINSTRING => self.text(1, opcode)?,
            BINUNICODE | BINSTRING => self.text(4, opcode)?,
            BINUNICODE8 => self.text(8, opcode)?,
            LONG1 | SHORT_BINBYTES => self.skip(1)?,
            LONG4 | BINBYTES => self.skip(4)?,
            BINBYTES8 | BYTEARRAY8 => self.skip(8)?,
            MARK => self.marks.push(self.stack.len()),
            POP if self.marks.last() == Some(&self.stack.len()) => drop(self.marks.pop()),
            POP => drop(self.pop()?),
            POP_MARK => self.pop_to_mark()?,
            DUP => self.top().map(|top| self.stack.push(top))?,
            APPEND => drop(self.pop()?),
            SETITEM => self.pop().and_then(|_| self.pop()).map(drop)?,
            APPENDS | SETITEMS | ADDITEMS => self.pop_to_mark()?,
            LIST | TUPLE | DICT | FROZENSET => self.pop_to_mark().map(|()| self.push())?,
            TUPLE1 | BINPERSID => self.replace(1)?,
            TUPLE2 => self.replace(2)?,
            TUPLE3 => self.replace(3)?,
            READONLY_BUFFER => drop(self.top()?),
            _ => self.execute_memo_or_call(opcode)?,
        }
        Ok(())
    }

    fn execute_memo_or_call(&mut self, opcode: u8) -> Result<(), End> {
        match opcode {
            PUT | BINPUT | LONG_BINPUT | MEMOIZE => {
                let place = match opcode {
                    PUT => self.memo_number()?,
                    BINPUT => Some(self.number(1)?),
                    LONG_BINPUT => Some(self.number(4)?),
                    _ => Some(self.memo.len() as u64),
                };
                let top = self.top()?;
                self.memo.extend(place.map(|place| (place, top)));
            }
            GET | BINGET | LONG_BINGET => {
                let place = match opcode {
                    GET => self.memo_number()?,
                    BINGET => Some(self.number(1)?),
                    _ => Some(self.number(4)?),
                };
                let value = place.and_then(|place| self.memo.get(&place)).copied();
                self.stack.push(value.unwrap_or(Value::Other));
            }
            EXT1 => self.extension(1)?,
            EXT2 => self.extension(2)?,
            EXT4 => self.extension(4)?,
            GLOBAL | INST => {
                let lines = [self.line()?, self.line()?];
                let [module, name] =
                    lines.map(|line| Value::Text { start: line.start, end: line.end, opcode });
                self.look_up(module, name);
                match opcode {
                    GLOBAL => self.push(),
                    _ => self.call_to_mark()?,
                }
            }
            STACK_GLOBAL => {
                let (name, module) = (self.pop()?, self.pop()?);
                self.look_up(module, name);
                self.push();
            }
            OBJ => self.call_to_mark()?,
            REDUCE | NEWOBJ => self.call(2)?,
            NEWOBJ_EX => self.call(3)?,
            BUILD => drop(self.pop()?),
            _ => return Err(End::Damaged),
        }
        Ok(())
    }

    fn call(&mut self, count: usize) -> Result<(), End> {
        self.effects.has_calls = true;
        self.replace(count)
    }

    fn call_to_mark(&mut self) -> Result<(), End> {
        self.effects.has_calls = true;
        self.pop_to_mark().map(|()| self.push())
    }

    fn extension(&mut self, width: usize) -> Result<(), End> {
        let code = self.number(width)? as u32;
        if !self.effects.extension_codes.contains(&code) {
            self.effects.extension_codes.push(code);
        }
        self.push();
        Ok(())
    }

    /// Notes a name. One that the pickle computes is not known.
    fn look_up(&mut self, module: Value, name: Value) {
        if !self.seen.insert((module, name)) {
            return;
        }
        let text = |value: Value| match value {
            Value::Text { start, end, opcode } => {
                let bytes = &self.bytes[start..end];
                let decoded = match opcode {
                    STRING => decode_string_literal(bytes),
                    UNICODE => decode_raw_unicode(bytes),
                    _ => Some(bytes.to_vec()),
                };
                decoded.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
            Value::Other => None,
        };
        let [module, name] = [module, name].map(|value| text(value).unwrap_or_else(|| "<computed>".into()));
        if self.known.insert((module.clone(), name.clone())) {
            self.effects.names.push((module, name));
        }
    }

    fn number(&mut self, width: usize) -> Result<u64, End> {
        let end = self.position + width;
        let bytes = self.bytes.get(self.position..end).ok_or(End::Truncated)?;
        self.position = end;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Returns the place of the rest of the line. Python's own unpickler takes the last byte of a file for the end of the line.
    fn line(&mut self) -> Result<Range<usize>, End> {
        let (start, rest) = (self.position, &self.bytes[self.position..]);
        let len = match super::line(rest) {
            Some(line) => line.len(),
            None => rest.len().checked_sub(1).ok_or(End::Truncated)?,
        };
        self.position = start + len + 1;
        Ok(start..start + len)
    }

    fn memo_number(&mut self) -> Result<Option<u64>, End> {
        let line = self.line()?;
        Ok(digits(GET, &self.bytes[line]).and_then(|(digits, _)| digits.parse().ok()))
    }

    /// Returns the place of as many bytes as the number before them says.
    fn counted(&mut self, width: usize) -> Result<Range<usize>, End> {
        let len = self.number(width)?;
        let start = self.position;
        let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
        self.position = end.filter(|end| *end <= self.bytes.len()).ok_or(End::Truncated)?;
        Ok(start..self.position)
    }

    fn text(&mut self, width: usize, opcode: u8) -> Result<(), End> {
        let Range { start, end } = self.counted(width)?;
        self.stack.push(Value::Text { start, end, opcode });
        Ok(())
    }

    fn skip(&mut self, width: usize) -> Result<(), End> {
        self.counted(width).map(|_| self.push())
    }

    fn push(&mut self) {
        self.stack.push(Value::Other);
    }

    fn top(&self) -> Result<Value, End> {
        let floor = self.marks.last().copied().unwrap_or(0);
        self.stack.get(floor..).and_then(<[Value]>::last).copied().ok_or(End::Damaged)
    }

    fn pop(&mut self) -> Result<Value, End> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// Replaces values by one.
    fn replace(&mut self, count: usize) -> Result<(), End> {
        for _ in 0..count {
            self.pop()?;
        }
        self.push();
        Ok(())
    }

    fn pop_to_mark(&mut self) -> Result<(), End> {
        let mark = self.marks.pop().ok_or(End::Damaged)?;
        self.stack.truncate(mark);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{End, effects};

    /// Each of these is loaded by one of Python's unpicklers at least, which imports `posix` or finds that it is damaged.
    #[test]
    fn names_after_what_is_refused_are_found() {
        for pickle in [
            &b"I 1\n0cposix\nsystem\n."[..],
            b"NNb0cposix\nsystem\n.",
            b"]NaK\0Ns0cposix\nsystem\n",
            b"S'\\400'\n0cposix\nsystem\n.",
            b"p-0\n",
            b"Np1_0\ng10\n0Vposix\nVsystem\n\x93.",
        ] {
            let found = effects(pickle);
            let has_name = found.names == [("posix".to_owned(), "system".to_owned())];
            assert!(has_name || found.end == Some(End::Damaged), "{}", pickle.escape_ascii());
        }
        assert_eq!(effects(b"0cposix\nsystem\n.").names, []); // nothing to pop
        assert_eq!(effects(b"cposix\nsystem\nR").end, Some(End::Damaged));
        assert_eq!(effects(b"\x80\x04\x95\x02\0\0\0\0\0\0\0K").end, Some(End::Truncated));
        // An argument goes beyond its frame; the pickle ends before it.
        assert_eq!(effects(b"\x80\x04\x95\x01\0\0\0\0\0\0\0K\x01.").end, Some(End::Ambiguous));
        assert_eq!(effects(b"\x80\x04\x95\x03\0\0\0\0\0\0\0N.N").end, Some(End::Ambiguous));
    }
}
