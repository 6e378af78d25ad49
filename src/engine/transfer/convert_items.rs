//! Loads memory with elements that are converted from the items of a source. Not generic: this is compiled once.

use super::BLOCK_LEN;
use super::items::{ItemBlock, PositionedItems, load_block};
use super::parallel::{for_each_parallel, piece_len};
use super::source::Source;
use crate::elements::ItemConversion;
use crate::elements::cast::MemoryPart;
use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// Converts items of a source with random access, on several threads.
pub(super) fn convert_items(
    items: &PositionedItems<'_>,
    part: MemoryPart<'_>,
    conversion: &ItemConversion,
    options: &ReadOptions,
) -> Result<()> {
    let (threads, block) = items.threads_and_block(conversion.nanos_per_element(), options);
    let (size, (_, bytes)) = (conversion.made_size(), part.memory());
    let piece = piece_len(bytes / size, threads) * size;
    let parts = part.split(piece, piece);
    let work = |words: &mut Vec<u128>, mut part: MemoryPart<'_>| {
        while !part.is_done() {
            let (first, (_, left)) = (part.position() / size, part.memory());
            let count = block.min(left / size);
            items.with_block(&(first..first + count), words, &mut |block| {
                match (block, conversion.shared_loop()) {
                    (ItemBlock::Shared(items), Some(convert)) => {
                        let mut made = part.next_block(count * size);
                        convert(items, made.buf());
                        made.commit()?;
                    }
                    (ItemBlock::Shared(_), None) => return Ok(false),
                    (ItemBlock::Owned(items), _) => {
                        convert_block(&mut part, (first, count), items, conversion)?;
                    }
                }
                Ok(true)
            })?;
        }
        Ok(())
    };
    let threads = threads.min(parts.len());
    for_each_parallel(parts.into_iter(), threads, &Vec::new, &work, &mut || Ok(()))
}

/// Converts the next items of a source, which may be a stream.
pub(super) fn convert_stream(
    source: &mut Source<'_>,
    header: &Header,
    mut part: MemoryPart<'_>,
    conversion: &ItemConversion,
    reporter: &ProgressReporter,
) -> Result<()> {
    let (item, size) = (conversion.item_size(), conversion.made_size());
    let per_block = (BLOCK_LEN / item.max(1)).max(1);
    let mut block = Vec::new();
    while !part.is_done() {
        let (first, (_, left)) = (part.position() / size, part.memory());
        let count = per_block.min(left / size);
        load_block(source, header, &mut block, count * item, first * item)?;
        reporter.add(count * item)?;
        convert_block(&mut part, (first, count), &mut block, conversion)?;
    }
    Ok(())
}

/// Loads the next elements of a part, which have these numbers in the array.
fn convert_block(
    part: &mut MemoryPart<'_>,
    (first, count): (usize, usize),
    items: &mut [u8],
    conversion: &ItemConversion,
) -> Result<()> {
    let mut made = part.next_block(count * conversion.made_size());
    conversion.convert(items, count, made.buf()).map_err(|error| error.offset_element(first))?;
    made.commit()
}
