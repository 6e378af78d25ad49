//! The loop that moves tiles.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use super::plan::{Plan, Tile};
use crate::bytes::{READS_ANYWHERE, Region, Room, Runs, place_runs};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::transfer::gather::turn;
use crate::transfer::pick::pick;
use crate::transfer::share::share_out;
use crate::transfer::{Effort, Sink, aligned, os, pipeline, truncated};

/// Converts elements: reads them from the first slice, and writes the results to the second.
type Recode<'a> = dyn Fn(&mut [u8], &mut [u8]) -> Result<()> + Sync + 'a;

/// The processing of elements while they are moved, a tile at a time.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    Nothing,
    /// Changes the elements in place.
    InPlace(&'a (dyn Fn(&mut [u8]) + Sync)),
    /// Converts the elements to another dtype, whose size may differ.
    ///
    /// The first slice may be modified. Errors refer to elements by their index in that slice.
    Into(&'a Recode<'a>),
}

/// A source, the plan to move it, and the processing of its elements.
pub(crate) struct Move<'a> {
    pub(crate) source: Region<'a>,
    pub(crate) plan: Plan,
    pub(crate) work: Work<'a>,
    /// The header of the source.
    pub(crate) header: &'a Header,
    /// Adds the name of the source to an error.
    pub(crate) named: &'a (dyn Fn(Error) -> Error + Sync),
    /// If nothing else changes the target: who may write the gaps between runs.
    pub(crate) gaps: Option<&'a Gaps>,
}

/// Orders the threads that write to one file: what is in a gap is read and written again only while no other thread
/// writes.
#[derive(Debug, Default)]
pub(crate) struct Gaps(RwLock<()>);

/// Two buffers for a tile, before and after a processing step.
#[derive(Default)]
struct TileBuffers {
    now: Vec<u128>,
    next: Vec<u128>,
}

impl Move<'_> {
    /// Reads and processes a tile, and returns the bytes to be written, in the order of the target.
    fn make<'r>(&self, tile: &Tile, room: &'r mut TileBuffers) -> Result<&'r [u8]> {
        self.make_tile(tile, room).map_err(self.named)
    }

    fn make_tile<'r>(&self, tile: &Tile, room: &'r mut TileBuffers) -> Result<&'r [u8]> {
        let (plan, count) = (&self.plan, tile.len());
        let (from, to) = (plan.from().item, plan.to().item);
        let mut order = plan.order_of_source();
        let runs = order.iter().map(|&axis| (tile.lens[axis], plan.axes()[axis].from)).collect();
        let picked = Runs::of_bytes(tile.from, runs, from);
        let bytes = aligned(&mut room.now, count * from)?;
        match self.source.bytes() {
            Some(source) => {
                if picked.end() > source.len() as u64 {
                    return Err(truncated(self.header, source.len() as u64));
                }
                let axes = tile.lens.iter().zip(plan.axes()).map(|(len, axis)| (*len, axis.from as usize));
                pick(source, tile.from as usize, &axes.collect::<Vec<_>>(), from, bytes);
                order.sort_unstable(); // `pick` writes in the target's order
            }
            None => {
                if self.source.fill_runs(&picked, &mut Room::of(bytes), usize::MAX, 0)? < bytes.len() {
                    return Err(truncated(self.header, self.source.len()?));
                }
            }
        }
        // The tile is permuted before or after the conversion, whenever its elements are smaller.
        if from <= to {
            self.turn(tile, &mut order, from, room)?;
        }
        match self.work {
            Work::Nothing => {}
            Work::InPlace(work) => work(aligned(&mut room.now, count * from)?),
            Work::Into(work) => {
                let TileBuffers { now, next } = room;
                work(aligned(now, count * from)?, aligned(next, count * to)?)
                    .map_err(|error| self.located(error, tile, &order))?;
                std::mem::swap(now, next);
            }
        }
        self.turn(tile, &mut order, to, room)?;
        Ok(&bytemuck::cast_slice(&room.now)[..count * to])
    }

    /// Permutes a tile into the order of the target, unless it is already in that order.
    fn turn(&self, tile: &Tile, order: &mut [usize], item: usize, room: &mut TileBuffers) -> Result<()> {
        let is_longer = |axis: &&usize| tile.lens[**axis] > 1;
        if order.iter().filter(is_longer).is_sorted() {
            return Ok(());
        }
        let TileBuffers { now, next } = room;
        let lens: Vec<usize> = order.iter().map(|&axis| tile.lens[axis]).collect();
        let mut wanted: Vec<usize> = (0..order.len()).collect();
        wanted.sort_by_key(|&at| order[at]);
        let len = tile.len() * item;
        turn(aligned(now, len)?, &lens, &wanted, item, aligned(next, len)?);
        std::mem::swap(now, next);
        order.sort_unstable();
        Ok(())
    }

    /// Replaces the element index in an error, which is that in the tile, by the index in the source.
    ///
    /// `order` is the order of the tile's axes.
    fn located(&self, error: Error, tile: &Tile, order: &[usize]) -> Error {
        let Some(number) = error.element() else { return error };
        let place = self.plan.place(tile, order, number);
        let place = (place / self.plan.from().item.max(1) as u64) as usize;
        self.header.name_element(error.at_element(place), 0, false)
    }

    /// Writes a tile to its location in the file.
    fn put(&self, tile: &Tile, bytes: &[u8], file: &File, start: u64) -> Result<()> {
        let runs = tile.lens.iter().zip(self.plan.axes()).map(|(len, axis)| (*len, axis.to)).collect();
        let places = Runs::of_bytes(tile.to, runs, self.plan.to().item);
        if let Some(Gaps(lock)) = self.gaps {
            if places.close(GAP) > 1 {
                let _alone = lock.write().unwrap_or_else(PoisonError::into_inner);
                return self.put_with_gaps(&places, bytes, file, start);
            }
            let _shared = lock.read().unwrap_or_else(PoisonError::into_inner);
            return put_runs(&places, bytes, file, start);
        }
        put_runs(&places, bytes, file, start)
    }

    /// Writes runs together with what is between those that are close together, which is read before.
    fn put_with_gaps(&self, places: &Runs, bytes: &[u8], file: &File, start: u64) -> Result<()> {
        let (mut done, mut scratch) = (0, Vec::new());
        let (target, close) = (Region::of_file(file), places.close(GAP));
        while done < bytes.len() {
            let (range, count) = places.together(done as u64, (bytes.len() - done) as u64, close, SPAN);
            let (place, runs) = (start + range.start, &bytes[done..][..count as usize * places.run()]);
            done += runs.len();
            if count == 1 {
                os::write_all_at(file, runs, place)?;
                continue;
            }
            scratch.resize((range.end - range.start) as usize, 0);
            if target.fill_at(&mut scratch, place)? < scratch.len() {
                return Err(truncated(self.header, target.len()?));
            }
            place_runs(&mut scratch, range.start, places, (done - runs.len()) as u64, runs);
            os::write_all_at(file, &scratch, place)?;
        }
        Ok(())
    }
}

/// The largest gap between runs that is read and written with them: a call costs as much as copying a page twice.
const GAP: u64 = 2 << 10;
/// How much is read and written at a time, which fits the nearest caches.
const SPAN: u64 = 128 << 10;

fn put_runs(places: &Runs, bytes: &[u8], file: &File, start: u64) -> Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let (place, left) = places.find(done as u64);
        os::write_all_at(file, &bytes[done..done + left], start + place)?;
        done += left;
    }
    Ok(())
}

/// Moves an array to offset `start` of a file, on up to `threads` threads.
///
/// `tell` is called with the number of bytes that have been written since its last call.
pub(crate) fn move_all(
    work: &Move<'_>,
    (file, start): (&File, u64),
    threads: usize,
    tell: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let count = work.plan.count();
    let written = AtomicU64::new(0);
    let bytes = work.header.payload_len().unwrap_or_default();
    let worth = Effort::moving(bytes.saturating_mul(2)).threads(|| threads);
    let threads = if READS_ANYWHERE { worth.min(count) } else { 1 };
    let run = |room: &mut TileBuffers, number: usize| {
        let tile = work.plan.tile(number);
        let bytes = work.make(&tile, room)?;
        work.put(&tile, bytes, file, start)?;
        written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    };
    let mut tell_all = || match written.swap(0, Ordering::Relaxed) {
        0 => Ok(()), // nothing new to report
        bytes => tell(bytes),
    };
    share_out(0..count, threads, &TileBuffers::default, &run, &mut tell_all)?;
    tell_all()
}

/// Moves an array into a sequential sink, given a plan with [`Writes::InOrder`](super::Writes::InOrder).
pub(crate) fn move_in_order(
    work: &Move<'_>,
    sink: &mut Sink<'_>,
    threads: usize,
    tell: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    // Tile buffers are reused through a pool, since the threads of the pipeline have no state of their own.
    let rooms = Mutex::new(Vec::<TileBuffers>::new());
    let lock = || rooms.lock().unwrap_or_else(PoisonError::into_inner);
    let make = |number: usize, block: &mut Vec<u8>| {
        let mut room = lock().pop().unwrap_or_default();
        block.clear();
        block.extend_from_slice(work.make(&work.plan.tile(number), &mut room)?);
        lock().push(room);
        Ok(())
    };
    pipeline::blocks(work.plan.count(), threads.min(work.plan.count()).max(1), &make, &mut |block| {
        sink.write(block)?;
        tell(block.len() as u64)
    })
}
