//! The header of an array that is written incrementally: its dtype, its shape, and how it is rewritten.

use std::borrow::Cow;
use std::io::{Seek, SeekFrom, Write};

use super::super::change::{self, LockTimeout};
use crate::dtype::{ByteOrder, DType, Kind};
use crate::elements::WritableElement;
use crate::error::{Error, Fault, Remedy, Result};
use crate::header::{GroupedHeader, Header};
use crate::options::WriteOptions;
use crate::shape::{Order, Shape};
use crate::transfer::{Sink, os, streams};

/// Returns the dtype for elements that are written later.
pub(super) fn dtype_for<A: WritableElement>(options: &WriteOptions) -> Result<DType> {
    const { A::FILE_LAYOUT.assert_writable() };
    if A::FILE_LAYOUT.takes_len && options.text_width.is_none() {
        let reason = "text that is written incrementally needs a width".into();
        return Err(Error::from(Fault::BadOption { reason }).with_help(Remedy::TextWidth));
    }
    let dtype = A::dtype_for(&mut std::iter::empty(), options)?;
    refuse_objects(&dtype)?;
    Ok(dtype)
}

/// Returns an error for elements that cannot be written one after another.
pub(crate) fn refuse_objects(dtype: &DType) -> Result<()> {
    match dtype.has_object() {
        false => Ok(()),
        true => {
            let reason =
                "Python objects are stored as one pickle, which cannot be written incrementally".into();
            Err(Fault::BadOption { reason }.into())
        }
    }
}

/// Returns the options with the text width of a file's dtype.
pub(super) fn with_text_width_of<A: WritableElement>(dtype: &DType, options: &WriteOptions) -> WriteOptions {
    let base = if let DType::Subarray(subarray) = dtype { subarray.base() } else { dtype };
    match base.as_scalar() {
        Some(scalar) if A::FILE_LAYOUT.takes_len => {
            // The width counts code points of 4 bytes each in NumPy's text, and bytes otherwise.
            let unit = if scalar.kind() == Kind::Text { 4 } else { 1 };
            options.for_field(Some(scalar.size() / unit))
        }
        _ => options.clone(),
    }
}

/// Returns the shape of an array of `rows` rows.
pub(super) fn shape_of_rows(row: &Shape, order: Order, rows: usize) -> Shape {
    let mut dims = row.dims().to_vec();
    let at = if order == Order::C { 0 } else { dims.len() };
    dims.insert(at, rows);
    dims.into()
}

/// Returns the length of the axis that grows.
pub(super) fn growing_axis_len(order: Order, shape: &Shape) -> usize {
    let axis = if order == Order::C { shape.dims().first() } else { shape.dims().last() };
    axis.copied().unwrap_or(0)
}

/// Rewrites a header, with a single positioned write if the writer is a file.
pub(super) fn rewrite_header<W: Write + Seek>(
    writer: &mut W,
    start: u64,
    head: &[u8],
    lock_timeout: &mut LockTimeout,
) -> Result<()> {
    if let Some(file) = streams::as_file(writer) {
        let _lock = change::lock_header(file, change::LockMode::Exclusive, lock_timeout);
        return os::write_all_at(file, head, start).map_err(|error| Error::from(error).while_writing());
    }
    // The lock is taken through a second handle of the same open file, because the writer is borrowed for
    // writing.
    let file = streams::as_file_or_buffered(writer).and_then(|file| file.try_clone().ok());
    let _lock =
        file.as_ref().map(|file| change::lock_header(file, change::LockMode::Exclusive, lock_timeout));
    let end = writer.stream_position()?;
    writer.seek(SeekFrom::Start(start))?;
    Sink::of(writer).write(head)?;
    writer.seek(SeekFrom::Start(end))?;
    // Flushed before the header lock is released, so that a reader never sees a partially written header.
    Sink::of(writer).flush()
}

/// Returns a file's header for elements of a type, with their inner axes moved into the dtype.
///
/// Used to write parts of a file in place. See [`Header::group_inner_axes`].
pub(crate) fn group_inner_axes_for<A: WritableElement>(
    header: &Header,
    ndim: Option<usize>,
) -> Result<Cow<'_, Header>> {
    let own = if A::FILE_LAYOUT.is_array() { Some(DType::of::<A>()?) } else { None };
    let inner = match &own {
        Some(DType::Subarray(own)) => own.shape(),
        _ => &[],
    };
    let GroupedHeader { header, is_scattered } = header.group_inner_axes(inner, ndim)?;
    if is_scattered {
        let reason = "elements that are arrays are not contiguous in a file in Fortran order".into();
        return Err(Fault::BadOption { reason }.into());
    }
    Ok(header)
}

/// Returns the options with which a Rust type produces exactly a file's dtype, or an error if there are none.
pub(crate) fn options_for<A: WritableElement>(dtype: &DType, options: &WriteOptions) -> Result<WriteOptions> {
    let of = |order| with_text_width_of::<A>(dtype, &options.clone().byte_order(order));
    const { A::FILE_LAYOUT.assert_writable() };
    let made = |options: &WriteOptions| A::dtype_for(&mut std::iter::empty(), options);
    let orders = [ByteOrder::NATIVE, ByteOrder::Little, ByteOrder::Big];
    if let Some(options) = orders
        .map(of)
        .into_iter()
        .find(|options| made(options).is_ok_and(|own| own == *dtype || own.stored() == *dtype))
    {
        return Ok(options);
    }
    let wanted = made(&of(ByteOrder::NATIVE))?;
    let error = Error::from(Fault::DTypeMismatch { found: wanted, wanted: dtype.clone() });
    Err(error.with_help(Remedy::FileDType))
}
