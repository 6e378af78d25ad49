//! Payloads of elements that are themselves arrays.

use std::borrow::Cow;
use std::io::Cursor;

use ndarray::Dimension;

use crate::bytes::kernels::permute_axes;
use crate::elements::{ReadableElement, inner_axes_of};
use crate::error::{Error, Fault, Result};
use crate::header::{GroupedHeader, Header};
use crate::io::Payload;
use crate::limits;
use crate::options::ReadOptions;
use crate::transfer::{self, Source};

/// Returns the header with the inner axes of the element type moved into the dtype.
///
/// Fails if the array does not have these axes.
pub(crate) fn group_inner_axes<'h, A: ReadableElement, D: Dimension>(
    header: &'h Header,
) -> Result<GroupedHeader<'h>> {
    header.group_inner_axes(&inner_axes_of::<A>(), D::NDIM)
}

/// A payload whose header has the inner axes of the elements moved into the dtype.
pub(crate) struct GroupedPayload<'p, 's> {
    source: &'p mut Source<'s>,
    /// The elements in C order, if their parts are not contiguous in the file, and options to read them with.
    transposed: Option<(Source<'s>, ReadOptions)>,
    /// As it is in the file.
    header: &'p Header,
    grouped: Cow<'p, Header>,
    options: &'p ReadOptions,
}

impl<'p, 's> GroupedPayload<'p, 's> {
    /// Groups the inner axes of the element type.
    ///
    /// If the parts of an element are not contiguous in the file (Fortran order), the payload is first read, to be transposed
    /// to C order in memory, which requires twice the payload's size.
    pub(crate) fn of<A: ReadableElement, D: Dimension>(payload: Payload<'p, 's>) -> Result<Self> {
        let grouped = match const { A::IS_READ_AS_BYTES } {
            true => GroupedHeader { header: Cow::Borrowed(payload.header), is_scattered: false }, // there are no inner axes
            false => group_inner_axes::<A, D>(payload.header)?,
        };
        Self::of_header(payload, grouped)
    }

    /// Not generic, so that it is compiled once.
    fn of_header(payload: Payload<'p, 's>, grouped: GroupedHeader<'p>) -> Result<Self> {
        let Payload { source, header, options } = payload;
        let transposed = grouped.is_scattered.then(|| transpose(source, header, options)).transpose()?;
        Ok(Self { source, transposed, header, grouped: grouped.header, options })
    }

    pub(crate) fn payload(&mut self) -> Payload<'_, 's> {
        let (source, options) = match &mut self.transposed {
            Some((transposed, options)) => (transposed, &*options),
            None => (&mut *self.source, self.options),
        };
        Payload { source, header: &self.grouped, options }
    }

    /// Returns the error of an element with its place in the file, which counts the elements in its own order.
    pub(crate) fn name_element(&self, error: Error) -> Error {
        if self.transposed.is_none() {
            return error;
        }
        error.map_element(|element| {
            let shape = self.grouped.shape_ref();
            let index = shape.index_of(element as u64, self.grouped.order());
            shape.linear_index(&index, self.header.order()) as usize
        })
    }
}

/// Reads a payload, and returns a source of its elements with their axes in C order.
fn transpose<'s>(
    source: &mut Source<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<(Source<'s>, ReadOptions)> {
    // A pickle has no fixed item size, so its parts cannot be transposed.
    if header.payload_len().is_none() {
        return Err(Fault::Objects { found: header.dtype().clone() }.into());
    }
    let bytes = transfer::read_bytes(source, header, options)?;
    let mut transposed = Vec::new();
    limits::resize(&mut transposed, bytes.len())?;
    let lens: Vec<usize> = header.shape().iter().rev().copied().collect();
    let order: Vec<usize> = (0..lens.len()).rev().collect();
    permute_axes(&bytes, &lens, &order, header.dtype().item_size(), &mut transposed);
    // The bytes are freed here, before decoding, so that at most two copies exist at a time.
    let elements = Source::of_owned(Box::new(Cursor::new(transposed)), bytes.len() as u64);
    Ok((elements, options.without_progress())) // already reported by `read_bytes`
}
