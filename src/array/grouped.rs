//! Payloads of elements that are arrays themselves.

use ndarray::Dimension;

use crate::element::ReadableElement;
use crate::error::{ErrorKind, Result};
use crate::header::{Grouped, Header};
use crate::io::Payload;
use crate::options::ReadOptions;
use crate::transfer::{self, Source};

/// The header as elements of the type see it: an error if the array has other axes than theirs.
pub(crate) fn grouped<'h, A: ReadableElement, D: Dimension>(
    header: &'h Header,
    options: &ReadOptions,
) -> Result<Grouped<'h>> {
    let mut inner = Vec::new();
    A::inner_axes(&mut inner);
    header.grouped(&inner, D::NDIM, options.is_innermost_first())
}

/// Calls with the payload as elements of the type see it. If their parts are apart in the file, it is put into C order in
/// memory first, which takes its size twice.
pub(crate) fn with_grouped<A: ReadableElement, D: Dimension, T>(
    payload: Payload<'_, '_>,
    read: impl FnOnce(Payload<'_, '_>) -> Result<T>,
) -> Result<T> {
    let Payload { source, header, options } = payload;
    let Grouped { header: elements, is_scattered } = grouped::<A, D>(header, options)?;
    if !is_scattered {
        return read(Payload { source, header: &elements, options });
    }
    if header.payload_len().is_none() {
        return Err(ErrorKind::Objects { found: header.dtype().clone() }.into());
    }
    let bytes = transfer::read_bytes(source, header, options)?;
    let mut turned = transfer::zeroed_words(bytes.len())?;
    let turned = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut turned)[..bytes.len()];
    let lens: Vec<usize> = header.shape().iter().rev().copied().collect();
    let order: Vec<usize> = (0..lens.len()).rev().collect();
    transfer::turn(&bytes, &lens, &order, header.dtype().item_size(), turned);
    drop(bytes);
    let options = options.without_progress(); // which `read_bytes` has told
    read(Payload { source: &mut Source::of(&mut &turned[..]), header: &elements, options: &options })
}
