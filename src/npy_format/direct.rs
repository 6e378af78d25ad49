//! The direct path: the exact text that NumPy writes for arrays of scalars, taken apart at once.
//!
//! Everything else is `None` here and goes through the general path, which is some hundred times slower.

use super::{NpyHeader, Version, alias};
use crate::dtype::DType;
use crate::error::Result;
use crate::header::Header;
use crate::shape::{Order, Shape};

/// What the text says, before shape and dtype are checked against each other.
pub(super) struct Direct<'a> {
    quoted: &'a str,
    dtype: DType,
    order: Order,
    shape: Shape,
}

impl Direct<'_> {
    pub(super) fn into_header(self, version: Version) -> Result<NpyHeader> {
        let header = Header::new(self.dtype, self.order, self.shape)?;
        Ok(NpyHeader { header, version, descr: self.quoted.to_owned() })
    }
}

pub(super) fn parse(text: &[u8]) -> Option<Direct<'_>> {
    let text = text.strip_prefix(b"{'descr': ")?;
    let (quoted, text) = split_quoted(text)?;
    let dtype = alias::dtype(&quoted[1..quoted.len() - 1]).ok()?;
    let text = text.strip_prefix(b", 'fortran_order': ")?;
    let (order, text) = match text.strip_prefix(b"False") {
        Some(text) => (Order::C, text),
        None => (Order::Fortran, text.strip_prefix(b"True")?),
    };
    let (dims, text) = split_dims(text.strip_prefix(b", 'shape': (")?)?;
    let padding = text.strip_prefix(b", }")?;
    let padding = padding.strip_suffix(b"\n").unwrap_or(padding);
    let is_padding = padding.iter().all(|&byte| byte == b' ');
    is_padding.then_some(Direct { quoted, dtype, order, shape: dims.into() })
}

/// `'<f8'` with its quotes, and what follows. Only letters, digits and the few signs that a scalar has: whatever needs
/// a thought (an escape, a list) is for the general path.
fn split_quoted(text: &[u8]) -> Option<(&str, &[u8])> {
    let inner = text.strip_prefix(b"'")?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"<>|=?[]".contains(byte);
    let length = inner.iter().take_while(|byte| is_plain(byte)).count();
    let (quoted, rest) = text.split_at_checked(length + 2)?;
    Some((std::str::from_utf8(quoted.ends_with(b"'").then_some(quoted)?).ok()?, rest))
}

/// The lengths up to the closing parenthesis, and what follows it.
fn split_dims(text: &[u8]) -> Option<(Vec<usize>, &[u8])> {
    if let Some(rest) = text.strip_prefix(b")") {
        return Some((Vec::new(), rest));
    }
    let mut dims = Vec::with_capacity(4);
    let mut text = text;
    loop {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = text.split_at(digits);
        if digits == 0 || (digits > 1 && number[0] == b'0') {
            return None;
        }
        dims.push(std::str::from_utf8(number).ok()?.parse().ok()?);
        if let Some(rest) = rest.strip_prefix(b", ") {
            text = rest;
        } else if dims.len() == 1 {
            return Some((dims, rest.strip_prefix(b",)")?));
        } else {
            return Some((dims, rest.strip_prefix(b")")?));
        }
    }
}
