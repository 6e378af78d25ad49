//! Writes elements as payloads, with one loop for each write plan.

use ndarray::ArrayViewD;

use super::item_blocks::ItemBlocks;
use super::{BLOCK_LEN, Effort, Sink, os, pipeline};
use crate::elements::cast::StridedBytes;
use crate::elements::{ByteTransform, ItemEncoder, WritableElement, WritePlan};
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
pub(crate) fn write<T: WritableElement>(
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

/// Writes a header and elements that are bytes, without flushing, since more data may follow.
pub(crate) fn write_strided(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    items: &StridedBytes<'_>,
    transform: &ByteTransform,
    options: &WriteOptions,
) -> Result<()> {
    announce(sink, &head, header, options)?;
    if let Some(bytes) = items.as_contiguous() {
        return write_contiguous(sink, head, header, (bytes, items.item_size()), transform, options);
    }
    write_blocks(sink, head, header, items.block_count(), options, &|index, make| {
        let block = items.block(index);
        make(block.byte_len(), &mut |bytes| {
            block.gather(bytes);
            transform.swap(bytes);
            Ok(())
        })
    })
}

/// Like [`write`], without flushing, since more data follows.
pub(crate) fn write_unflushed<T: WritableElement>(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    items: Items<'_, T>,
    write_plan: &WritePlan<T>,
    options: &WriteOptions,
) -> Result<()> {
    match (write_plan, items) {
        (WritePlan::Bitwise(out), items) => {
            let view = items.into_view();
            write_strided(sink, head, header, &out.strided(&view, false), out.transform(), options)
        }
        _ if const { T::IS_ALWAYS_BITWISE } => unreachable!("its plan is bitwise"),
        (WritePlan::PerItem(encode), items) => write_encoded(sink, head, header, items, &**encode, options),
        (WritePlan::Opaque(encode), items) => {
            let payload = encode.encode(&mut items.iter(), header, options)?;
            sink.announce_len(head.len() as u64 + payload.len() as u64, options)?;
            write_head_and_payload(sink, head, &payload)
        }
    }
}

/// Writes elements that are encoded one by one.
fn write_encoded<T: Send + Sync>(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    items: Items<'_, T>,
    encode: &dyn ItemEncoder<T>,
    options: &WriteOptions,
) -> Result<()> {
    let item = header.dtype().item_size();
    announce(sink, &head, header, options)?;
    let plan = ItemBlocks::new(items.into_view(), item);
    write_blocks(sink, head, header, plan.count(), options, &|index, make| {
        let block = plan.block(index);
        make(block.len() * item, &mut |bytes| {
            if let Some(items) = block.to_slice() {
                return encode.encode_all(items, item, bytes);
            }
            let mut slots = bytes.chunks_exact_mut(item.max(1));
            block.iter().zip(slots.by_ref()).try_for_each(|(element, slot)| encode.encode(element, slot))
        })
    })
}

fn announce(sink: &mut Sink<'_>, head: &[u8], header: &Header, options: &WriteOptions) -> Result<()> {
    match header.payload_len() {
        Some(bytes) => sink.announce_len((head.len() as u64).saturating_add(bytes), options),
        None => Ok(()),
    }
}

/// Writes elements of `item` bytes that are contiguous in memory.
fn write_contiguous(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    (items, item): (&[u8], usize),
    transform: &ByteTransform,
    options: &WriteOptions,
) -> Result<()> {
    if !transform.needs_swap() {
        return write_head_and_payload(sink, head, items);
    }
    let block = (BLOCK_LEN / item.max(1)).max(1) * item.max(1);
    write_blocks(sink, head, header, items.len().div_ceil(block), options, &|index, make| {
        let start = index * block;
        let items = &items[start..items.len().min(start + block)];
        make(items.len(), &mut |bytes| {
            bytes.copy_from_slice(items);
            transform.swap(bytes);
            Ok(())
        })
    })
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

/// What is given the length of a block, and a function that fills it.
type MakeBlock<'a> = dyn FnMut(usize, &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<()> + 'a;

/// Writes a header and a payload that is produced block by block: `make` is called with the index of each block.
fn write_blocks(
    sink: &mut Sink<'_>,
    head: Vec<u8>,
    header: &Header,
    count: usize,
    options: &WriteOptions,
    make: &(dyn Fn(usize, &mut MakeBlock<'_>) -> Result<()> + Sync),
) -> Result<()> {
    sink.write(&head)?;
    let make = |index: usize, bytes: &mut Vec<u8>| {
        make(index, &mut |length, fill| {
            if bytes.capacity() < length {
                // A new buffer: growing the old one would copy its content, which is overwritten anyway.
                *bytes = vec![0; length]; // zeroed by the system on first access
                os::advise_huge_pages((bytes.as_ptr(), length));
            }
            bytes.resize(length, 0);
            fill(bytes)
        })
    };
    let bytes = header.payload_len().unwrap_or_default();
    let threads = Effort::moving(bytes.saturating_mul(2)).threads(|| options.get_threads());
    pipeline::make_blocks_in_order(count, threads, &make, &mut |bytes| sink.write(bytes))
}
