//! The header of an array that is written piece by piece: its dtype, its shape, and writing it again.

use std::borrow::Cow;
use std::io::{Seek, SeekFrom, Write};

use super::super::change;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::WritableElement;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::header::{Grouped, Header};
use crate::options::WriteOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{Sink, os};

/// The dtype of elements that are not there yet.
pub(super) fn dtype_for<A: WritableElement>(options: &WriteOptions) -> Result<DType> {
    if A::FILE_LAYOUT.takes_len && options.get_text_width().is_none() {
        let reason = "text that is written piece by piece needs a width".into();
        return Err(Error::from(ErrorKind::BadOption { reason }).with_help(Help::TextWidth));
    }
    let dtype = A::dtype_for(&mut std::iter::empty(), options)?;
    match dtype.has_object() {
        false => Ok(dtype),
        true => {
            let reason = "Python objects are one pickle, which cannot be written piece by piece".into();
            Err(ErrorKind::BadOption { reason }.into())
        }
    }
}

/// The options with the width that a file's text has.
pub(super) fn width_of<A: WritableElement>(dtype: &DType, options: &WriteOptions) -> WriteOptions {
    let base = if let DType::Subarray(subarray) = dtype { subarray.base() } else { dtype };
    match base.as_scalar() {
        Some(scalar) if A::FILE_LAYOUT.takes_len => {
            let unit = if scalar.kind() == Kind::Text { 4 } else { 1 };
            options.for_field(Some(scalar.size() / unit))
        }
        _ => options.clone(),
    }
}

/// The shape of so many rows.
pub(super) fn grown(row: &Shape, order: Order, rows: usize) -> Shape {
    let mut dims = row.dims().to_vec();
    let at = if order == Order::C { 0 } else { dims.len() };
    dims.insert(at, rows);
    dims.into()
}

/// The length of the axis that grows.
pub(super) fn growing_axis(order: Order, shape: &Shape) -> usize {
    let axis = if order == Order::C { shape.dims().first() } else { shape.dims().last() };
    axis.copied().unwrap_or(0)
}

/// Writes a header again: of a file at its place, in one write.
pub(super) fn rewrite<W: Write + Seek>(writer: &mut W, start: u64, head: &[u8]) -> Result<()> {
    if let Some(file) = os::as_file(writer) {
        let write = || os::write_all_at(file, head, start);
        return Ok(change::with_header_lock(file, change::Mode::Exclusive, write)?);
    }
    // The handle for the lock is another of the same open file, so that the writer can be used meanwhile.
    let file = os::as_any_file(writer).and_then(|file| file.try_clone().ok());
    let mut write = || -> Result<()> {
        let end = writer.stream_position()?;
        writer.seek(SeekFrom::Start(start))?;
        Sink::of(writer).write(head)?;
        writer.seek(SeekFrom::Start(end))?;
        Sink::of(writer).flush()
    };
    match &file {
        Some(file) => change::with_header_lock(file, change::Mode::Exclusive, write),
        None => write(),
    }
}

/// The header of a file as elements of a type see it, of which parts are written where they are.
pub(crate) fn grouped_for<A: WritableElement>(
    header: &Header,
    ndim: Option<usize>,
    innermost_first: bool,
) -> Result<Cow<'_, Header>> {
    let own = if A::FILE_LAYOUT.is_array() { Some(DType::of::<A>()?) } else { None };
    let inner = match &own {
        Some(DType::Subarray(own)) => own.shape(),
        _ => &[],
    };
    let Grouped { header, is_scattered } = header.grouped(inner, ndim, innermost_first)?;
    if is_scattered {
        let reason = "elements that are arrays themselves are apart in a file in Fortran order".into();
        return Err(ErrorKind::BadOption { reason }.into());
    }
    Ok(header)
}

/// The options with which elements of a type are those of a file; an error if no options make them so.
pub(crate) fn options_for<A: WritableElement>(dtype: &DType, options: &WriteOptions) -> Result<WriteOptions> {
    let of = |order| width_of::<A>(dtype, &options.clone().byte_order(order));
    let made = |options: &WriteOptions| A::dtype_for(&mut std::iter::empty(), options);
    let orders = [ByteOrder::NATIVE, ByteOrder::Little, ByteOrder::Big];
    if let Some(options) =
        orders.map(of).into_iter().find(|options| made(options).is_ok_and(|own| own == *dtype))
    {
        return Ok(options);
    }
    let wanted = made(&of(ByteOrder::NATIVE))?;
    let error = Error::from(ErrorKind::DTypeMismatch { found: wanted, wanted: dtype.clone() });
    Err(error.with_help(Help::FileDType))
}
