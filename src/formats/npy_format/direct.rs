//! The direct path: parses the headers of known writers in one pass that allocates only the result.
//!
//! It accepts a dict with the three keys in any order, with any spacing, quotes and trailing commas. The dict
//! may contain scalars, records, subarrays and titles. For anything rarer (comments, string prefixes other
//! than `u`, joined strings) and any text that is not such a dict, it returns `None`. The general path then parses the
//! text: it supports all of Python's literals, and reports what is wrong with it. What is wrong with the content, such as
//! a field's name twice, both report.

use std::borrow::Cow;

use super::escape::resolve_escape;
use super::fields::{HeaderRecordBuilder, SubarrayShape, with_subarray_shape};
use super::{NpyHeader, Version, alias};
use crate::dtype::{DType, Title};
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::limits::Limits;
use crate::shape::{Order, Shape};

/// A parsed header whose shape and dtype have not yet been checked against each other.
pub(super) struct DirectHeader<'a> {
    descr: Cow<'a, str>,
    dtype: DType,
    order: Order,
    shape: Shape,
    /// Why the dtype is refused, although its text has the right form: a field whose name is taken.
    refusal: Option<String>,
}

impl DirectHeader<'_> {
    pub(super) fn into_header(self, version: Version) -> Result<NpyHeader> {
        let descr = self.descr.into_owned();
        if let Some(reason) = self.refusal {
            return Err(Fault::unsupported_dtype(&descr, &reason).into());
        }
        let header = Header::new(self.dtype, self.order, self.shape)?;
        Ok(NpyHeader { header, version, descr })
    }
}

pub(super) fn parse(text: &[u8], version: Version) -> Option<DirectHeader<'_>> {
    let mut text = HeaderCursor { rest: text, version, refusal: None };
    let (mut descr, mut order, mut shape) = (None, None, None);
    text.take(b'{')?;
    while !text.is_next(b'}') {
        match text.key()? {
            b"descr" if descr.is_none() => {
                let start = text.rest;
                let dtype = text.dtype(0)?;
                descr = Some((dtype, &start[..start.len() - text.rest.len()]));
            }
            b"fortran_order" if order.is_none() => order = Some(text.order()?),
            b"shape" if shape.is_none() => shape = Some(text.dims()?),
            _ => return None,
        }
        if !text.take_if(b',') && !text.is_next(b'}') {
            return None;
        }
    }
    text.take(b'}')?;
    let (dtype, descr) = descr?;
    // Padding is most of a short header. The fold checks every byte without an early exit, so that the
    // compiler can vectorize it.
    let padding = text.rest.strip_suffix(b"\n").unwrap_or(text.rest);
    if !padding.iter().fold(true, |all, byte| all & (*byte == b' ')) {
        text.skip_blanks();
        if !text.rest.is_empty() {
            return None;
        }
    }
    let descr = decode_text(descr, version)?;
    Some(DirectHeader { descr, dtype, order: order?, shape: shape?, refusal: text.refusal })
}

/// Decodes bytes in the encoding of a version; returns `None` if they are invalid.
fn decode_text(bytes: &[u8], version: Version) -> Option<Cow<'_, str>> {
    match std::str::from_utf8(bytes) {
        Ok(text) if version == Version::V3 || text.is_ascii() => Some(Cow::Borrowed(text)),
        Err(_) if version == Version::V3 => None,
        _ => Some(bytes.iter().copied().map(char::from).collect()),
    }
}

/// Resolves escapes; returns `None` if one is not right.
fn unescape(text: &str) -> Option<String> {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let length = resolve_escape(after, false, &mut |char| plain.push(char)).ok()?;
        rest = &after[length - 1..];
    }
    plain.push_str(rest);
    Some(plain)
}

struct HeaderCursor<'a> {
    rest: &'a [u8],
    version: Version,
    /// What is wrong with the first field that was refused.
    refusal: Option<String>,
}

impl<'a> HeaderCursor<'a> {
    #[inline]
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\n' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Returns whether this byte comes next, after blanks.
    fn is_next(&mut self, sign: u8) -> bool {
        self.skip_blanks();
        self.rest.first() == Some(&sign)
    }

    fn take_if(&mut self, sign: u8) -> bool {
        let is_next = self.is_next(sign);
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    fn take(&mut self, sign: u8) -> Option<()> {
        self.take_if(sign).then_some(())
    }

    /// Parses a key and its colon.
    fn key(&mut self) -> Option<&'a [u8]> {
        // The spelling of NumPy and most other writers, compared in one step.
        for known in [&b"'descr': "[..], b"'fortran_order': ", b"'shape': "] {
            if let Some(rest) = self.rest.strip_prefix(known) {
                self.rest = rest;
                self.skip_blanks();
                return Some(&known[1..known.len() - 3]);
            }
        }
        let key = self.plain_string()?;
        self.take(b':')?;
        self.skip_blanks();
        Some(key)
    }

    /// Returns the text between quotes, with its escapes unresolved.
    fn raw_string(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        if let [b'u' | b'U', rest @ ..] = self.rest {
            self.rest = rest; // Python 2's prefix of text strings
        }
        let (&quote @ (b'\'' | b'"'), inner) = self.rest.split_first()? else { return None };
        let mut length = 0;
        loop {
            match *inner.get(length)? {
                byte if byte == quote => break,
                // The escaped character is skipped too: a quote in it does not end the string.
                b'\\' if inner.get(length + 1) != Some(&0) => length += 2,
                // Line ends are errors in Python; the general path handles the other control characters.
                0..b' ' | b'\\' => return None,
                _ => length += 1,
            }
        }
        let (string, rest) = inner.split_at(length);
        // An empty string directly followed by another quote is the beginning of a triple quote.
        if length == 0 && rest.get(1) == Some(&quote) {
            return None;
        }
        self.rest = &rest[1..];
        Some(string)
    }

    /// Parses a string without escapes.
    fn plain_string(&mut self) -> Option<&'a [u8]> {
        self.raw_string().filter(|string| !string.contains(&b'\\'))
    }

    /// Parses a string and resolves its escapes.
    fn unescaped_string(&mut self) -> Option<Cow<'a, str>> {
        let text = decode_text(self.raw_string()?, self.version)?;
        if text.contains('\\') { unescape(&text).map(Cow::Owned) } else { Some(text) }
    }

    fn order(&mut self) -> Option<Order> {
        let (order, rest) = match self.rest.strip_prefix(b"False") {
            Some(rest) => (Order::C, rest),
            None => (Order::Fortran, self.rest.strip_prefix(b"True")?),
        };
        self.rest = rest; // the caller checks that a comma or the end follows
        Some(order)
    }

    fn number(&mut self) -> Option<usize> {
        self.skip_blanks();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.rest.split_at(digits);
        // Python refuses leading zeros, except in zero itself; the general path decides.
        if digits == 0 || digits > 1 && number[0] == b'0' {
            return None;
        }
        let is_long = self.version != Version::V3 && rest.first() == Some(&b'L'); // Python 2's suffix of long integers
        self.rest = if is_long { &rest[1..] } else { rest };
        let digit =
            |number: usize, digit: &u8| number.checked_mul(10)?.checked_add(usize::from(digit - b'0'));
        number.iter().try_fold(0, digit)
    }

    /// Parses the lengths of axes, in parentheses.
    fn dims(&mut self) -> Option<Shape> {
        self.take(b'(')?;
        // One allocation for up to four axes, and none for `()`.
        let mut dims = Vec::with_capacity(if self.is_next(b')') { 0 } else { 4 });
        while !self.take_if(b')') {
            dims.push(self.number()?);
            let has_comma = self.take_if(b',');
            // `(3)` is a number, not a tuple.
            if !has_comma && (dims.len() == 1 || !self.is_next(b')')) || dims.len() > Limits::DIMENSIONS {
                return None;
            }
        }
        Some(dims.into())
    }

    /// Parses a type: a code, a record, or a pair of a type and a shape.
    fn dtype(&mut self, depth: usize) -> Option<DType> {
        // Bounds the recursion.
        if depth > Limits::RECORD_NESTING {
            return None;
        }
        if self.is_next(b'[') {
            return self.record(depth + 1);
        }
        if !self.take_if(b'(') {
            let code = self.plain_string()?;
            return alias::dtype(std::str::from_utf8(code).ok()?).ok();
        }
        let base = self.dtype(depth + 1)?;
        self.take(b',')?;
        let repeat = self.subarray_shape()?;
        self.take_if(b',');
        self.take(b')')?;
        with_subarray_shape(base, repeat).ok()
    }

    fn subarray_shape(&mut self) -> Option<SubarrayShape> {
        match self.is_next(b'(') {
            true => self.dims().map(SubarrayShape::Axes),
            false => self.number().map(SubarrayShape::Length),
        }
    }

    fn record(&mut self, depth: usize) -> Option<DType> {
        if depth > Limits::RECORD_NESTING {
            return None;
        }
        self.take(b'[')?;
        let mut fields = HeaderRecordBuilder::default();
        while !self.take_if(b']') {
            self.take(b'(')?;
            let (title, name) = self.name()?;
            self.take(b',')?;
            let mut dtype = self.dtype(depth)?;
            if self.take_if(b',') && !self.is_next(b')') {
                dtype = with_subarray_shape(dtype, self.subarray_shape()?).ok()?;
                self.take_if(b',');
            }
            self.take(b')')?;
            // The rest is parsed nevertheless: what is malformed there is left to the general path.
            if let Err(reason) = fields.push(&name, title, dtype) {
                self.refusal.get_or_insert(reason);
            }
            if !self.take_if(b',') && !self.is_next(b']') {
                return None;
            }
        }
        Some(fields.finish().into())
    }

    /// Parses a name, or a pair of a title and a name.
    fn name(&mut self) -> Option<(Option<Title>, Cow<'a, str>)> {
        if !self.take_if(b'(') {
            return Some((None, self.unescaped_string()?));
        }
        let title = Title::Text(self.unescaped_string()?.into_owned());
        self.take(b',')?;
        let name = self.unescaped_string()?;
        self.take_if(b',');
        self.take(b')')?;
        Some((Some(title), name))
    }
}
