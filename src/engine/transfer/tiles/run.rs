//! The loop that moves tiles.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use super::plan::{Tile, TilePlan};
use crate::bytes::kernels::{gather, permute_axes};
use crate::bytes::{HAS_CONCURRENT_READS, ReadBuf, Region, Runs, scatter_runs};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::transfer::parallel::for_each_parallel;
use crate::transfer::{Effort, Sink, aligned_bytes, os, pipeline, truncated};

/// Converts elements: reads them from the first slice, and writes the results to the second.
type Recode<'a> = dyn Fn(&mut [u8], &mut [u8]) -> Result<()> + Sync + 'a;

/// The processing of elements while they are moved, a tile at a time.
#[derive(Clone, Copy)]
pub(crate) enum TileConversion<'a> {
    Nothing,
    /// Changes the elements in place.
    InPlace(&'a (dyn Fn(&mut [u8]) + Sync)),
    /// Converts the elements to another dtype, whose size may differ.
    ///
    /// The first slice may be modified. Errors refer to elements by their index in that slice.
    Into(&'a Recode<'a>),
}

/// A source, the plan to move it, and the processing of its elements.
pub(crate) struct TileMove<'a> {
    pub(crate) source: Region<'a>,
    pub(crate) plan: TilePlan,
    pub(crate) conversion: TileConversion<'a>,
    /// The header of the source.
    pub(crate) header: &'a Header,
    /// Adds the name of the source to an error.
    pub(crate) name_error: &'a (dyn Fn(Error) -> Error + Sync),
    /// If nothing else changes the target: who may write the gaps between runs.
    pub(crate) gap_lock: Option<&'a GapLock>,
}

/// Orders the threads that write to one file: what is in a gap is read and written again only while no other thread
/// writes.
#[derive(Debug, Default)]
pub(crate) struct GapLock(RwLock<()>);

/// Two buffers for a tile, before and after a processing step.
#[derive(Default)]
struct TileBuffers {
    current: Vec<u128>,
    next: Vec<u128>,
}

impl TileMove<'_> {
    /// Reads and processes a tile, and returns the bytes to be written, in the order of the target.
    fn make_tile<'r>(&self, tile: &Tile, buffers: &'r mut TileBuffers) -> Result<&'r [u8]> {
        self.read_and_convert(tile, buffers).map_err(self.name_error)
    }

    fn read_and_convert<'r>(&self, tile: &Tile, buffers: &'r mut TileBuffers) -> Result<&'r [u8]> {
        let (plan, count) = (&self.plan, tile.len());
        let (from, to) = (plan.source().item_size, plan.target().item_size);
        let mut order = plan.source_order();
        let runs = order.iter().map(|&axis| (tile.lens[axis], plan.axes()[axis].source_stride)).collect();
        let source_runs = Runs::with_byte_strides(tile.source_start, runs, from);
        let bytes = aligned_bytes(&mut buffers.current, count * from)?;
        match self.source.bytes() {
            Some(source) => {
                if source_runs.end() > source.len() as u64 {
                    return Err(truncated(self.header, source.len() as u64));
                }
                let axes =
                    tile.lens.iter().zip(plan.axes()).map(|(len, axis)| (*len, axis.source_stride as usize));
                gather(source, tile.source_start as usize, &axes.collect::<Vec<_>>(), from, bytes);
                order.sort_unstable(); // `gather` writes in the target's order
            }
            None => {
                if self.source.fill_runs(&source_runs, &mut ReadBuf::of(bytes), usize::MAX, 0)? < bytes.len()
                {
                    return Err(truncated(self.header, self.source.len()?));
                }
            }
        }
        // The tile is permuted before or after the conversion, whenever its elements are smaller.
        if from <= to {
            self.permute_tile(tile, &mut order, from, buffers)?;
        }
        match self.conversion {
            TileConversion::Nothing => {}
            TileConversion::InPlace(convert) => convert(aligned_bytes(&mut buffers.current, count * from)?),
            TileConversion::Into(convert) => {
                let TileBuffers { current, next } = buffers;
                convert(aligned_bytes(current, count * from)?, aligned_bytes(next, count * to)?)
                    .map_err(|error| self.locate_error(error, tile, &order))?;
                std::mem::swap(current, next);
            }
        }
        self.permute_tile(tile, &mut order, to, buffers)?;
        Ok(&bytemuck::cast_slice(&buffers.current)[..count * to])
    }

    /// Permutes a tile into the order of the target, unless it is already in that order.
    fn permute_tile(
        &self,
        tile: &Tile,
        order: &mut [usize],
        item: usize,
        buffers: &mut TileBuffers,
    ) -> Result<()> {
        let is_longer = |axis: &&usize| tile.lens[**axis] > 1;
        if order.iter().filter(is_longer).is_sorted() {
            return Ok(());
        }
        let TileBuffers { current, next } = buffers;
        let lens: Vec<usize> = order.iter().map(|&axis| tile.lens[axis]).collect();
        let mut wanted: Vec<usize> = (0..order.len()).collect();
        wanted.sort_by_key(|&at| order[at]);
        let len = tile.len() * item;
        permute_axes(aligned_bytes(current, len)?, &lens, &wanted, item, aligned_bytes(next, len)?);
        std::mem::swap(current, next);
        order.sort_unstable();
        Ok(())
    }

    /// Replaces the element index in an error, which is that in the tile, by the index in the source.
    ///
    /// `order` is the order of the tile's axes.
    fn locate_error(&self, error: Error, tile: &Tile, order: &[usize]) -> Error {
        let Some(number) = error.element() else { return error };
        let place = self.plan.source_offset(tile, order, number);
        let place = (place / self.plan.source().item_size.max(1) as u64) as usize;
        self.header.add_axis_indices(error.at_element(place), 0)
    }

    /// Writes a tile to its location in the file.
    fn write_tile(&self, tile: &Tile, bytes: &[u8], file: &File, start: u64) -> Result<()> {
        let runs =
            tile.lens.iter().zip(self.plan.axes()).map(|(len, axis)| (*len, axis.target_stride)).collect();
        let target_runs = Runs::with_byte_strides(tile.target_start, runs, self.plan.target().item_size);
        if let Some(GapLock(lock)) = self.gap_lock {
            if target_runs.coalescible_count(MAX_GAP) > 1 {
                let _alone = lock.write().unwrap_or_else(PoisonError::into_inner);
                return self.write_with_gaps(&target_runs, bytes, file, start);
            }
            let _shared = lock.read().unwrap_or_else(PoisonError::into_inner);
            return write_runs(&target_runs, bytes, file, start);
        }
        write_runs(&target_runs, bytes, file, start)
    }

    /// Writes runs together with what is between those that are close together, which is read before.
    fn write_with_gaps(&self, target_runs: &Runs, bytes: &[u8], file: &File, start: u64) -> Result<()> {
        let (mut done, mut scratch) = (0, Vec::new());
        let (target, coalescible_count) = (Region::of_file(file), target_runs.coalescible_count(MAX_GAP));
        while done < bytes.len() {
            let (range, count) =
                target_runs.coalesced(done as u64, (bytes.len() - done) as u64, coalescible_count, MAX_SPAN);
            let (place, runs) =
                (start + range.start, &bytes[done..][..count as usize * target_runs.run_len()]);
            done += runs.len();
            if count == 1 {
                os::write_all_at(file, runs, place)?;
                continue;
            }
            scratch.resize((range.end - range.start) as usize, 0);
            if target.fill_at(&mut scratch, place)? < scratch.len() {
                return Err(truncated(self.header, target.len()?));
            }
            scatter_runs(&mut scratch, range.start, target_runs, (done - runs.len()) as u64, runs);
            os::write_all_at(file, &scratch, place)?;
        }
        Ok(())
    }
}

/// The largest gap between runs that is read and written with them: a call costs as much as copying a page twice.
const MAX_GAP: u64 = 2 << 10;
/// How much is read and written at a time, which fits the nearest caches.
const MAX_SPAN: u64 = 128 << 10;

fn write_runs(target_runs: &Runs, bytes: &[u8], file: &File, start: u64) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let (place, left) = target_runs.offset_at(done as u64);
        os::write_all_at(file, &bytes[done..done + left], start + place)?;
        done += left;
    }
    Ok(())
}

/// Moves an array to offset `start` of a file, on up to `threads` threads.
///
/// `report` is called with the number of bytes that have been written since its last call.
pub(crate) fn move_all(
    tile_move: &TileMove<'_>,
    (file, start): (&File, u64),
    threads: usize,
    report: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let count = tile_move.plan.count();
    let written = AtomicU64::new(0);
    let bytes = tile_move.header.payload_len().unwrap_or_default();
    let worth = Effort::moving(bytes.saturating_mul(2)).threads(|| threads);
    let threads = if HAS_CONCURRENT_READS { worth.min(count) } else { 1 };
    let run = |buffers: &mut TileBuffers, number: usize| {
        let tile = tile_move.plan.tile(number);
        let bytes = tile_move.make_tile(&tile, buffers)?;
        tile_move.write_tile(&tile, bytes, file, start)?;
        written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    };
    let mut report_all = || match written.swap(0, Ordering::Relaxed) {
        0 => Ok(()), // nothing new to report
        bytes => report(bytes),
    };
    for_each_parallel(0..count, threads, &TileBuffers::default, &run, &mut report_all)?;
    report_all()
}

/// Moves an array into a sequential sink, given a plan with [`WriteAccess::InOrder`](super::WriteAccess::InOrder).
pub(crate) fn move_in_order(
    tile_move: &TileMove<'_>,
    sink: &mut Sink<'_>,
    threads: usize,
    report: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    // Tile buffers are reused through a pool, since the threads of the pipeline have no state of their own.
    let pool = Mutex::new(Vec::<TileBuffers>::new());
    let lock = || pool.lock().unwrap_or_else(PoisonError::into_inner);
    let make = |number: usize, block: &mut Vec<u8>| {
        let mut buffers = lock().pop().unwrap_or_default();
        block.clear();
        block.extend_from_slice(tile_move.make_tile(&tile_move.plan.tile(number), &mut buffers)?);
        lock().push(buffers);
        Ok(())
    };
    pipeline::make_blocks_in_order(
        tile_move.plan.count(),
        threads.min(tile_move.plan.count()).max(1),
        &make,
        &mut |block| {
            sink.write(block)?;
            report(block.len() as u64)
        },
    )
}
