//! Payloads of elements that are themselves arrays.

use ndarray::Dimension;

use crate::elements::{ReadableElement, inner_axes_of};
use crate::error::{Fault, Result};
use crate::header::{GroupedHeader, Header};
use crate::io::{Payload, PayloadReader, PayloadRef};
use crate::options::ReadOptions;
use crate::transfer::{self, Source};

/// Returns the header with the inner axes of the element type moved into the dtype.
///
/// Fails if the array does not have these axes.
pub(crate) fn group_inner_axes<'h, A: ReadableElement, D: Dimension>(
    header: &'h Header,
    options: &ReadOptions,
) -> Result<GroupedHeader<'h>> {
    header.group_inner_axes(&inner_axes_of::<A>(), D::NDIM, options.is_innermost_first())
}

/// Invokes `read` with the payload, whose header has the inner axes moved into the dtype.
///
/// If the parts of an element are not contiguous in the file (Fortran order), the payload is first transposed
/// to C order in memory, which requires twice the payload's size.
pub(crate) fn with_inner_axes_grouped<A: ReadableElement, D: Dimension>(
    payload: Payload<'_, '_>,
    read: &mut PayloadReader<'_>,
) -> Result<()> {
    if const { A::IS_READ_AS_BYTES } {
        return read(PayloadRef(payload)); // there are no inner axes
    }
    let grouped = group_inner_axes::<A, D>(payload.header, payload.options)?;
    read_grouped(payload, grouped, read)
}

/// Not generic, so that it is compiled once.
fn read_grouped(
    Payload { source, header, options }: Payload<'_, '_>,
    GroupedHeader { header: elements, is_scattered }: GroupedHeader<'_>,
    read: &mut PayloadReader<'_>,
) -> Result<()> {
    if !is_scattered {
        return read(PayloadRef::new(source, &elements, options));
    }
    // A pickle has no fixed item size, so its parts cannot be transposed.
    if header.payload_len().is_none() {
        return Err(Fault::Objects { found: header.dtype().clone() }.into());
    }
    let bytes = transfer::read_bytes(source, header, options)?;
    let mut transposed = transfer::zeroed_words_for_bytes(bytes.len())?;
    let transposed = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut transposed)[..bytes.len()];
    let lens: Vec<usize> = header.shape().iter().rev().copied().collect();
    let order: Vec<usize> = (0..lens.len()).rev().collect();
    transfer::permute_axes(&bytes, &lens, &order, header.dtype().item_size(), transposed);
    // Freed before decoding, so that at most two copies exist at a time.
    drop(bytes);
    let options = options.without_progress(); // already reported by `read_bytes`
    let mut transposed = &transposed[..];
    let mut source = Source::of(&mut transposed);
    // The elements were read in C order, but errors count them in the order of the file.
    let in_file = |element: usize| {
        let shape = elements.shape_ref();
        shape.linear_index(&shape.index_of(element as u64, elements.order()), header.order()) as usize
    };
    read(PayloadRef::new(&mut source, &elements, &options)).map_err(|error| error.map_element(in_file))
}
