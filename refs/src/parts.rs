//! Arrays that consist of parts in several files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::Dimension;
use ndarray_io::bytes::{ReadAt, fill_at};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Header, Order};
use ndarray_io::{DType, Error, NpyFile, Result};

use crate::grid::{ChunkLocation, ChunkRequest, Grid, Layout};
use crate::meta::{self, ArrayMetadata};
use crate::options::RefOptions;
use crate::references::{Ref, References};

/// The approximate size of a chunk in bytes, if no length is requested.
const DEFAULT_CHUNK_BYTES: u64 = 32 << 20;
/// The maximum size of an embedded last chunk in bytes, even if the options allow more.
///
/// Several copies of the chunk are in memory at the same time.
const MAX_INLINE_BYTES: u64 = 64 << 20;

/// The bytes of an array, or of one part of it, in a file.
pub(crate) struct ReferencedPart {
    path: PathBuf,
    pub(crate) location: Arc<str>,
    /// The offset of the data in the file.
    offset: u64,
    pub(crate) header: Header,
    /// The source, kept only for the last part, whose end may have to be read.
    ///
    /// There may be more parts than a process can have open files.
    source: Option<Arc<dyn ReadAt>>,
}

impl ReferencedPart {
    /// Creates a part from a file, and the source that it was opened from.
    pub(crate) fn new(
        path: &Path,
        file: &NpyFile,
        source: Arc<dyn ReadAt>,
        location: String,
    ) -> Result<Self> {
        file.check_complete()?;
        let (offset, header, source) = (file.offset_in_source(), header_of(file)?, Some(source));
        Ok(Self { path: path.to_owned(), location: location.into(), offset, header, source })
    }

    pub(crate) fn name_error(&self, error: Error) -> Error {
        error.at_path(&self.path)
    }

    /// Reads the last chunk, and pads it with zeros to the size of the other chunks.
    fn read_padded_chunk(&self, place: &ChunkLocation, full: u64) -> Result<Ref> {
        let Some(source) = &self.source else {
            unreachable!("the source of the last part is kept, and no other is padded")
        };
        let mut bytes = vec![0; full as usize]; // `full` is at most `MAX_INLINE_BYTES`
        let wanted = &mut bytes[..place.len as usize];
        let at = self.offset + place.start;
        let came = fill_at(&**source, wanted, at).map_err(|error| self.name_error(error))?;
        if came < wanted.len() {
            // It was complete when it was opened.
            let reason = format!("the file ends {} bytes before its array", wanted.len() - came);
            return Err(self.name_error(Error::new(ErrorKind::Changed, reason)));
        }
        Ok(Ref::Text(format!("base64:{}", meta::base64(&bytes))))
    }
}

/// Appends a part, and closes the source of the previous part.
pub(crate) fn push_closing_previous(parts: &mut Vec<ReferencedPart>, part: ReferencedPart) {
    if let Some(last) = parts.last_mut() {
        last.source = None;
    }
    parts.push(part);
}

impl References {
    /// Adds an array from its parts, none of which is empty.
    pub(crate) fn add_parts(
        &mut self,
        name: &str,
        whole: &Header,
        axis: usize,
        parts: Vec<ReferencedPart>,
        options: &RefOptions,
    ) -> Result<()> {
        self.check_name(name)?;
        meta::refuse_zero_sized(whole.dtype())?;
        let order = common_order(&parts, whole)?;
        let lengths: Vec<usize> =
            parts.iter().map(|part| part.header.shape().get(axis).copied().unwrap_or(1)).collect();
        refuse_unequal_lengths(&parts, &lengths)?;
        let layout = Layout {
            shape: whole.shape(),
            order,
            item_size: whole.dtype().item_size(),
            concat_axis: axis,
            part_lengths: &lengths,
        };
        let request = ChunkRequest {
            length: options.chunk,
            target_bytes: DEFAULT_CHUNK_BYTES,
            max_inline_bytes: options.inline_limit.min(MAX_INLINE_BYTES),
        };
        if options.chunk == Some(0) {
            return Err(Error::new(ErrorKind::BadOption, "the length of a chunk must be at least 1"));
        }
        let grid = layout.grid(request).map_err(|error| match parts.last() {
            Some(last) => last.name_error(error),
            None => error,
        })?;
        let dims = self.dims(name, whole, options)?;
        let metadata = ArrayMetadata {
            dtype: whole.dtype(),
            order,
            shape: whole.shape(),
            chunk_shape: &grid.chunk_shape,
            dims: &dims,
        };
        let mut added: Vec<(String, Ref)> = Vec::new();
        for (file, value) in self.format.array_metadata(&metadata)? {
            added.push((format!("{name}/{file}"), value.into()));
        }
        let counts = layout.chunk_counts(&grid);
        let chunks = checked_chunk_count(self.chunk_count, &counts)?;
        let full = layout.full_chunk_len(&grid);
        // An array without parts has no chunks.
        let all = (!parts.is_empty()).then(|| ndarray::indices(&counts[..]));
        for numbers in all.into_iter().flatten() {
            let numbers = numbers.slice();
            let place = layout.locate(&grid, numbers);
            let part = &parts[place.part];
            let value = match place.len == full {
                true => Ref::Bytes(Arc::clone(&part.location), part.offset + place.start, full),
                false => part.read_padded_chunk(&place, full)?,
            };
            added.push((format!("{name}/{}", self.format.chunk_key(numbers)), value));
        }
        // Nothing below can fail, so the array is added either completely or not at all.
        self.notes.extend(chunk_note(name, &layout, &grid, options));
        self.chunk_count = chunks;
        self.dim_lengths.extend(dims.into_iter().zip(whole.shape().iter().copied()));
        self.add_parent_groups(name);
        self.refs.extend(added);
        let from = parts.first().map_or_else(String::new, |part| part.location.to_string());
        self.array_locations.insert(name.to_owned(), from);
        Ok(())
    }
}

/// Returns the order of all parts, which have the dtype of the whole array.
fn common_order(parts: &[ReferencedPart], whole: &Header) -> Result<Order> {
    // A part whose elements are at the same positions in both orders does not determine the order.
    let order = first_definite_order(parts).unwrap_or(whole.order());
    for part in parts {
        if part.header.order() != order && !is_same_in_both_orders(&part.header) {
            let (found, wanted) = (order_name(part.header.order()), order_name(order));
            let reason =
                format!("it is in {found} order, and other parts of the array are in {wanted} order");
            return Err(part.name_error(Error::new(ErrorKind::BadOption, reason)));
        }
        refuse_other_dtype(part, whole.dtype())?;
    }
    Ok(order)
}

/// Returns what users should know of the chunks: that they are of another length, or large.
fn chunk_note(name: &str, layout: &Layout<'_>, grid: &Grid, options: &RefOptions) -> Option<String> {
    let full = layout.full_chunk_len(grid);
    if let Some(wanted) = grid.replaced_length {
        let axis = grid.divided_axis;
        let (length, chunk) = (layout.shape[axis], grid.chunk_shape[axis]);
        let of = if options.chunk.is_some() { "requested" } else { "about 32 MiB" };
        let parts = if layout.part_lengths.len() > 1 { " and its parts" } else { "" };
        return Some(format!(
            "{name}: chunks of {chunk} along axis {axis}; {wanted} ({of}) does not divide its length {length}{parts}"
        ));
    }
    (options.chunk.is_none() && full > 2 * DEFAULT_CHUNK_BYTES).then(|| {
        format!("{name}: chunks of {full} bytes, since the lengths of its axes have no suitable divisors")
    })
}

pub(crate) fn refuse_other_dtype(part: &ReferencedPart, dtype: &DType) -> Result<()> {
    if part.header.dtype() == dtype {
        return Ok(());
    }
    let text = format!(
        "expected elements of {:.200}, found {:.200}",
        dtype.to_string(),
        part.header.dtype().to_string()
    );
    Err(part.name_error(Error::new(ErrorKind::DTypeMismatch, text)))
}

/// Returns the common order of the parts: that of the first part for which the two orders differ.
fn first_definite_order(parts: &[ReferencedPart]) -> Option<Order> {
    parts.iter().map(|part| &part.header).find(|header| !is_same_in_both_orders(header)).map(Header::order)
}

fn order_name(order: Order) -> &'static str {
    if order == Order::C { "C" } else { "Fortran" }
}

/// Rejects parts of different lengths. Only the last part may be shorter than the others.
fn refuse_unequal_lengths(parts: &[ReferencedPart], lengths: &[usize]) -> Result<()> {
    let Some((first, last)) = lengths.first().zip(lengths.last()) else { return Ok(()) };
    let other =
        lengths.iter().position(|length| length != first).filter(|at| at + 1 < lengths.len() || last > first);
    match other {
        None => Ok(()),
        Some(at) => {
            let (one, other) = (&parts[0].location, &parts[at].location);
            let reason = format!(
                "Zarr's chunks have one length: '{one}' has {first} along the axis, and '{other}' has {}",
                lengths[at]
            );
            Err(Error::new(ErrorKind::BadOption, reason))
        }
    }
}

/// Returns the number of chunks after adding an array, or an error if there are too many.
fn checked_chunk_count(others: usize, counts: &[usize]) -> Result<usize> {
    /// The maximum number of references: readers keep all of them in memory, as Python objects.
    const MAX_REFERENCES: usize = 2_000_000;
    let count = counts.iter().fold(1usize, |all, count| all.saturating_mul(*count)).saturating_add(others);
    if count > MAX_REFERENCES {
        let reason = format!("{count} chunks exceed the limit of readers of references (2 million)");
        return Err(Error::new(ErrorKind::BadOption, reason));
    }
    Ok(count)
}

/// Returns the header of a file's array.
pub(crate) fn header_of(file: &NpyFile) -> Result<Header> {
    Header::new(file.dtype().clone(), file.order(), file.shape().into())
}

/// Returns whether the elements are at the same positions in both orders.
fn is_same_in_both_orders(header: &Header) -> bool {
    header.shape().contains(&0) || header.shape().iter().filter(|length| **length > 1).count() < 2
}
