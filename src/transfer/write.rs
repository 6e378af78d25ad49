//! Writes elements as payloads, with one loop for each write plan.

use ndarray::ArrayViewD;

use super::gather::{BlockPlan, gather};
use super::{Effort, Sink, os, pipeline};
use crate::element::WritePlan;
use crate::error::Result;
use crate::header::Header;
use crate::options::WriteOptions;

/// The elements of an array, in the order of the file.
pub(crate) enum Items<'a, T> {
    /// Elements that are contiguous in memory.
    Contiguous(&'a [T]),
    /// The elements of this view, in C order.
    Strided(ArrayViewD<'a, T>),
}

impl<'a, T> Items<'a, T> {
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = &T> + '_> {
        match self {
            Self::Contiguous(items) => Box::new(items.iter()),
            Self::Strided(view) => Box::new(view.iter()),
        }
    }

    fn into_view(self) -> ArrayViewD<'a, T> {
        match self {
            Self::Contiguous(items) => ndarray::aview1(items).into_dyn(),
            Self::Strided(view) => view,
        }
    }
}

/// Writes a header and the elements, and flushes.
pub(crate) fn write<T: Send + Sync>(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    items: Items<'_, T>,
    write_plan: &WritePlan<T>,
    options: &WriteOptions,
) -> Result<()> {
    write_unflushed(sink, head, header, items, write_plan, options)?;
    sink.flush()
}

/// Like [`write`], without flushing, since more data follows.
pub(crate) fn write_unflushed<T: Send + Sync>(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    items: Items<'_, T>,
    write_plan: &WritePlan<T>,
    options: &WriteOptions,
) -> Result<()> {
    if let Some(bytes) = header.payload_len() {
        sink.announce_len((head.len() as u64).saturating_add(bytes), options)?;
    }
    match (write_plan, items) {
        (WritePlan::Bitwise(out), Items::Contiguous(items)) if !out.needs_swap() => {
            write_head_and_payload(sink, head, out.bytes(items))
        }
        (WritePlan::Bitwise(out), items) => {
            write_blocks(sink, head, header, items, options, |block, bytes| {
                gather(block, out, bytes);
                out.swap_to_file_order(bytes);
                Ok(())
            })
        }
        (WritePlan::PerItem(encode), items) => {
            let item = header.dtype().item_size();
            write_blocks(sink, head, header, items, options, |block, bytes| {
                if let Some(items) = block.to_slice() {
                    return encode.encode_all(items, item, bytes);
                }
                let mut slots = bytes.chunks_exact_mut(item.max(1));
                block.iter().zip(slots.by_ref()).try_for_each(|(element, slot)| encode.encode(element, slot))
            })
        }
        (WritePlan::Opaque(encode), items) => {
            let payload = encode.encode(&mut items.iter(), header, options)?;
            sink.announce_len(head.len() as u64 + payload.len() as u64, options)?;
            write_head_and_payload(sink, head, &payload)
        }
    }
}

/// Writes a header and a payload of bytes, and flushes.
pub(crate) fn write_bytes(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    payload: &[u8],
    options: &WriteOptions,
) -> Result<()> {
    sink.announce_len(head.len() as u64 + payload.len() as u64, options)?;
    write_head_and_payload(sink, head, payload)?;
    sink.flush()
}

/// Writes a header and a payload; a small payload is written by the same call as the header.
fn write_head_and_payload(sink: &mut Sink<'_>, mut head: Vec<u8>, payload: &[u8]) -> Result<()> {
    const MAX_JOINED_PAYLOAD_LEN: usize = 8 << 10;
    if payload.len() <= MAX_JOINED_PAYLOAD_LEN {
        head.extend_from_slice(payload);
        return sink.write(&head);
    }
    sink.write(&head)?;
    sink.write(payload)
}

/// Writes a header and a payload that is produced block by block.
fn write_blocks<T: Send + Sync>(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    items: Items<'_, T>,
    options: &WriteOptions,
    fill: impl Fn(&ArrayViewD<'_, T>, &mut [u8]) -> Result<()> + Sync,
) -> Result<()> {
    let plan = BlockPlan::new(items.into_view(), header.dtype().item_size());
    sink.write(&head)?;
    let make = |index: usize, bytes: &mut Vec<u8>| {
        let block = plan.block(index);
        let length = block.len() * plan.item_size();
        if bytes.capacity() < length {
            // A new buffer: growing the old one would copy its content, which is overwritten anyway.
            *bytes = vec![0; length]; // zeroed by the system on first access
            os::advise_huge_pages((bytes.as_ptr(), length));
        }
        bytes.resize(length, 0);
        fill(&block, bytes)
    };
    let bytes = header.payload_len().unwrap_or_default();
    let threads = Effort::moving(bytes.saturating_mul(2)).threads(|| options.get_threads());
    pipeline::make_blocks_in_order(plan.count(), threads, &make, &mut |bytes| sink.write(bytes))
}
