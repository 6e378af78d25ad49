//! Calls whose meaning is known: those of Python's own types, `datetime`, `decimal`, and NumPy.

use std::borrow::Cow;

use num_complex::Complex;

use super::super::global_kind::GlobalKind;
use super::super::graph::{ArrayParts, CallParts, Node, Slot, Span};
use super::super::graph_view::{check_byte_len, malformed, shape_and_order};
use super::super::keys;
use super::super::times::{self, Date, Time, Timedelta};
use super::Unpickler;
use super::dtypes::DTypeIndices;
use crate::bytes::kernels;
use crate::dtype::{Casting, DType};
use crate::dynamic::DynArray;
use crate::error::Result;
use crate::header::Header;
use crate::shape::Order;

fn check_element_count(found: usize, header: &Header) -> Result<()> {
    match found as u64 == header.len() {
        true => Ok(()),
        false => Err(malformed(format!("an array of shape {} has {found} elements", header.shape_ref()))),
    }
}

/// Rearranges elements in C order for another order of the axes; `None` if these are not the axes.
fn permute_axes(axes: &[usize], dims: &[usize], item: usize, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dims.len()) {
        return None;
    }
    if dims.iter().try_fold(item, |all, len| all.checked_mul(*len)) != Some(bytes.len()) {
        return None;
    }
    let mut permuted = vec![0; bytes.len()];
    kernels::permute_axes(bytes, dims, axes, item, &mut permuted);
    Some(permuted)
}

impl Unpickler<'_> {
    /// Returns the object that a call creates, if the meaning of the call is known.
    pub(super) fn evaluate_known_call(&mut self, callable: Slot, args: Slot) -> Result<Option<Node>> {
        let known = self.global_kind(callable);
        if known == GlobalKind::Unknown || known == GlobalKind::NumpyReconstruct {
            return Ok(None);
        }
        let view = self.view();
        /// No call with a known meaning has more arguments.
        const MAX_ARGS: usize = 5;
        let Some(args) = view.tuple(args).filter(|args| args.len() <= MAX_ARGS) else { return Ok(None) };
        let mut few = [Slot::ABSENT; MAX_ARGS];
        few[..args.len()].copy_from_slice(args);
        let args = &few[..args.len()];
        Ok(match (known, args) {
            (GlobalKind::Complex, [re, im]) => {
                let parts = view.float_or_int(*re).zip(view.float_or_int(*im));
                parts.map(|(re, im)| Node::Complex(Complex::new(re, im)))
            }
            (GlobalKind::Set | GlobalKind::FrozenSet, [items]) => match view.node(*items) {
                Some(Node::List(span)) => {
                    let span = *span;
                    // Sets created from the same list share its slots, but each set is later searched for
                    // duplicates.
                    self.budget.spend(4 * span.len)?;
                    Some(if known == GlobalKind::Set { Node::Set(span) } else { Node::FrozenSet(span) })
                }
                _ => None,
            },
            (GlobalKind::ByteArray, []) => Some(Node::ByteArray(Span::default())),
            // Before protocol 3, empty bytes are written as a call of `bytes` without arguments.
            (GlobalKind::Bytes, []) => Some(Node::Bytes(Span::default())),
            (GlobalKind::ByteArray, [bytes]) => self.bytes_span(*bytes)?.map(Node::ByteArray),
            (GlobalKind::ByteArray | GlobalKind::Encode, [text, codec]) => {
                let is_latin1 = view
                    .text_or_old_name(*codec)
                    .is_some_and(|codec| matches!(&*codec, "latin1" | "latin-1"));
                let is_bytes = matches!(view.node(*text), Some(Node::Bytes(_) | Node::ByteArray(_)));
                match is_latin1 && !is_bytes {
                    true => self.bytes_span(*text)?.map(if known == GlobalKind::Encode {
                        Node::Bytes
                    } else {
                        Node::ByteArray
                    }),
                    false => None,
                }
            }
            (GlobalKind::Decimal, [digits]) => {
                self.budget.spend(view.byte_len(*digits))?;
                match view.text_or_old_name(*digits).map(Cow::into_owned) {
                    Some(digits) if keys::is_decimal(&digits) => {
                        Some(Node::Decimal(self.graph.add_text(&digits)))
                    }
                    _ => None,
                }
            }
            (GlobalKind::Timedelta, [days, seconds, microseconds]) => (|| {
                let days = i32::try_from(view.int(*days)?).ok()?;
                let seconds = u32::try_from(view.int(*seconds)?).ok()?;
                let microseconds = u32::try_from(view.int(*microseconds)?).ok()?;
                Timedelta::new(days, seconds, microseconds).map(Node::Timedelta)
            })(),
            (GlobalKind::Date, [packed]) => {
                view.packed_date_or_time(*packed).and_then(|packed| Date::unpack(&packed)).map(Node::Date)
            }
            (GlobalKind::Time, [packed]) => view
                .packed_date_or_time(*packed)
                .and_then(|packed| Time::unpack_with_fold(&packed))
                .map(Node::Time),
            (GlobalKind::Datetime, [packed]) => {
                let unpacked = view.packed_date_or_time(*packed).and_then(|packed| times::unpack(&packed));
                unpacked.map(|(date, time)| Node::Datetime(date, time))
            }
            (GlobalKind::Scalar, [dtype, value]) => self.scalar(*dtype, *value)?,
            (GlobalKind::FromBuffer, [buffer, dtype, dims, order, axes @ ..]) => {
                self.array_of_buffer([*buffer, *dtype, *dims, *order], axes)?
            }
            _ => None,
        })
    }

    /// Returns the array that NumPy makes of a buffer, if it is one of plain data.
    fn array_of_buffer(&mut self, args: [Slot; 4], axes: &[Slot]) -> Result<Option<Node>> {
        let ([buffer, dtype, dims, order], view) = (args, self.view());
        let is_bytes = matches!(view.node(buffer), Some(Node::Bytes(_) | Node::ByteArray(_)));
        let dims = view.dims(dims);
        // The order of the axes in memory, if it is neither C nor Fortran order.
        let (order, axes) = match (view.text_or_old_name(order).as_deref(), axes) {
            (Some("F"), []) => (Order::Fortran, None),
            (Some("C"), []) => (Order::C, None),
            (Some("K"), [axes]) => match view.dims(*axes) {
                axes @ Some(_) => (Order::C, axes),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let dtype = self.intern_dtype(dtype)?;
        match (dims, dtype) {
            (Some(dims), Some(dtype)) if is_bytes && !self.dtype(dtype.stored).has_object() => {
                self.array_of_bytes(dtype.stored, (dims, order), axes.as_deref(), buffer)
            }
            _ => Ok(None),
        }
    }

    fn dtype(&self, number: u32) -> &DType {
        &self.graph.dtype(number).dtype
    }

    /// Returns the span of bytes, which may be in the pickle, or of a copied string encoded as Latin-1.
    fn bytes_span(&mut self, slot: Slot) -> Result<Option<Span>> {
        if let Some(Node::Bytes(span) | Node::ByteArray(span)) = self.view().node(slot) {
            let span = *span;
            // `finish` copies the bytes out of the pickle, once for each object that refers to them.
            self.budget.spend(span.len)?;
            return Ok(Some(span));
        }
        // Spent before the string is looked at, because it may turn out not to be Latin-1.
        self.budget.spend(self.view().byte_len(slot))?;
        let Some(bytes) = self.view().latin1(slot).map(Cow::into_owned) else { return Ok(None) };
        Ok(Some(self.add_bytes(&bytes)))
    }

    fn scalar(&mut self, dtype: Slot, value: Slot) -> Result<Option<Node>> {
        let Some(dtype) = self.intern_dtype(dtype)? else { return Ok(None) };
        if self.dtype(dtype.stored).has_object() {
            return Ok(None);
        }
        let Some(span) = self.bytes_span(value)? else { return Ok(None) };
        if self.dtype(dtype.stored).item_size() != span.len {
            let header = Header::new(self.dtype(dtype.stored).clone(), Order::C, Vec::new().into())?;
            check_byte_len(span.len, &header)?;
        }
        let span = self.span_in_native_order(&dtype, span, &[])?;
        Ok(Some(Node::Scalar(dtype.native, span)))
    }

    /// Converts bytes to native byte order, as NumPy does for all arrays except those of `_frombuffer`.
    pub(super) fn span_in_native_order(
        &mut self,
        dtype: &DTypeIndices,
        span: Span,
        dims: &[usize],
    ) -> Result<Span> {
        if dtype.stored == dtype.native || span.len == 0 {
            return Ok(span);
        }
        let (stored, native) = (self.dtype(dtype.stored).clone(), self.dtype(dtype.native).clone());
        let header = Header::new(stored, Order::C, dims.to_vec().into())?;
        let array = DynArray::from_header_and_bytes(header, self.graph.bytes_in(self.source, span))?;
        let swapped = array.cast_to(&native, Casting::Safe)?;
        Ok(self.add_bytes(swapped.bytes()))
    }

    /// Returns an array with the given bytes. If there are `axes`, they are those of the array, by their
    /// places in `dims`, and the bytes are rearranged in C order.
    fn array_of_bytes(
        &mut self,
        dtype: u32,
        (dims, order): (Vec<usize>, Order),
        axes: Option<&[usize]>,
        bytes: Slot,
    ) -> Result<Option<Node>> {
        let Some(mut span) = self.bytes_span(bytes)? else { return Ok(None) };
        let header = Header::new(self.dtype(dtype).clone(), order, dims.into())?;
        check_byte_len(span.len, &header)?;
        let Some(axes) = axes else { return Ok(Some(self.add_array(dtype, &header, span))) };
        let item = header.dtype().item_size();
        self.budget.spend(span.len)?;
        let bytes = self.graph.bytes_in(self.source, span);
        let Some(rearranged) = permute_axes(axes, header.shape(), item, bytes) else { return Ok(None) };
        span = self.add_bytes(&rearranged);
        let dims: Vec<usize> = axes.iter().map(|axis| header.shape()[*axis]).collect();
        let header = Header::new(header.dtype().clone(), order, dims.into())?;
        Ok(Some(self.add_array(dtype, &header, span)))
    }

    pub(super) fn add_array(&mut self, dtype: u32, header: &Header, items: Span) -> Node {
        let rest = self.graph.rare_tables_mut();
        let start = rest.axis_lengths.len();
        rest.axis_lengths.extend_from_slice(header.shape());
        let dims = Span::new(start..rest.axis_lengths.len());
        let has_objects = header.dtype().has_object();
        rest.arrays.push(ArrayParts { dtype, order: header.order(), dims, items, has_objects });
        Node::Array(rest.arrays.len() as u32 - 1)
    }

    /// Turns a call whose state was just set into an array, if the call creates one.
    pub(super) fn convert_call_to_array(&mut self, number: u32) -> Result<()> {
        let Node::Call(call) = self.graph.nodes[number as usize] else { return Ok(()) };
        let CallParts { callable, args, state, items, pairs, .. } = *self.graph.call(call);
        let view = self.view();
        let class = view.tuple(args).and_then(|args| args.first().copied()).unwrap_or(Slot::ABSENT);
        let is_plain = items.len == 0 && pairs.len == 0;
        let is_instance = self.global_kind(callable) == GlobalKind::CopyregReconstructor;
        if self.global_kind(if is_instance { class } else { callable }) == GlobalKind::JoblibArray {
            return self.read_joblib_array(number, state);
        }
        if !is_plain
            || self.global_kind(callable) != GlobalKind::NumpyReconstruct
            || self.global_kind(class) != GlobalKind::NdArray
        {
            return Ok(());
        }
        let Some(state) = view.tuple(state) else { return Ok(()) };
        // Early versions of NumPy wrote only four parts, without a version number.
        let ([_, dims, dtype, is_fortran, data] | [dims, dtype, is_fortran, data]) = *state else {
            return Err(malformed("the state of an array does not have five parts"));
        };
        let (dims, order) = shape_and_order(view, dims, is_fortran)?;
        let Some(dtype) = self.intern_dtype(dtype)? else { return Ok(()) };
        let stored = self.dtype(dtype.stored).clone();
        let node = if stored.has_object() {
            let Some(Node::List(span)) = self.view().node(data) else {
                return Err(malformed("the elements of an array of objects are not a list"));
            };
            let span = *span;
            let header = Header::new(stored, order, dims.into())?;
            check_element_count(span.len, &header)?;
            // Arrays created from the same list share its slots, but each is later visited separately.
            self.budget.spend(4 * span.len)?;
            self.add_array(dtype.stored, &header, span)
        } else {
            let Some(span) = self.bytes_span(data)? else {
                return Err(malformed("the elements of an array are not bytes"));
            };
            let header = Header::new(stored, order, dims.into())?;
            check_byte_len(span.len, &header)?;
            let span = self.span_in_native_order(&dtype, span, header.shape())?;
            self.add_array(dtype.native, &header, span)
        };
        self.graph.nodes[number as usize] = node;
        Ok(())
    }
}
