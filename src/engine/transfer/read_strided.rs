//! Reads contiguous elements into strided arrays.

use ndarray::ArrayViewMutD;

use super::parallel::for_each_parallel;
use super::source::Source;
use super::{Effort, truncated};
use crate::bytes::scratch;
use crate::elements::cast::{Bitwise, StridedBlockMut};
use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::progress::ProgressReporter;

/// Reads all elements into an array whose axes are in the order of the file.
///
/// Returns `false`, without having read anything, if the source has no positions, or if such elements cannot be moved as bytes.
pub(super) fn read_strided<T>(
    source: &mut Source<'_>,
    header: &Header,
    bitwise: &Bitwise<T>,
    target: &mut ArrayViewMutD<'_, T>,
    (reporter, options): (&ProgressReporter, &ReadOptions),
) -> Result<bool> {
    if source.positioned().is_none() {
        return Ok(false);
    }
    let Some(blocks) = bitwise.strided_blocks(target.view_mut()) else { return Ok(false) };
    read_blocks(source, header, blocks, (reporter, options))?;
    Ok(true)
}

/// Reads blocks of elements. Not generic, so that it is compiled once.
fn read_blocks(
    source: &mut Source<'_>,
    header: &Header,
    blocks: Vec<StridedBlockMut<'_>>,
    (reporter, options): (&ProgressReporter, &ReadOptions),
) -> Result<()> {
    let Some(positioned) = source.positioned() else { unreachable!("the caller has asked") };
    let bytes: usize = blocks.iter().map(StridedBlockMut::byte_len).sum();
    let effort = Effort::moving(2 * bytes as u64).and(positioned.run_lookup_effort());
    let threads = effort.threads_on(&positioned.hints(), || options.get_threads());
    let work = |words: &mut Vec<u128>, block: StridedBlockMut<'_>| {
        let (start, len) = (block.start, block.byte_len());
        let mut buf = scratch(words, len)?;
        let filled = positioned.fill_read_buf(&mut buf, usize::MAX, start)?;
        if buf.left() > 0 {
            return Err(truncated(header, (start + filled) as u64));
        }
        let item = header.dtype().item_size().max(1);
        block.load(buf.into_filled()).map_err(|error| error.offset_element(start / item))?;
        reporter.add(filled)
    };
    for_each_parallel(blocks.into_iter(), threads, &Vec::new, &work, &mut || Ok(()))?;
    source.advance(bytes as u64);
    Ok(())
}
