//! Presents the parts of a stack as one NPY file.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::info::{Info, are_equal_except_byte_order};
use crate::bytes::{FirstNotLoaded, Folder, InMemory, JoinLayout, ReadAt, ReadHints, Runs, SharedRegion};
use crate::dtype::Casting;
use crate::dynamic::DynArray;
use crate::error::{Fault, Result, WantedShape};
use crate::header::{Header, Order, Shape};
use crate::io::Expected;
use crate::npy_format;
use crate::options::{ReadOptions, WriteOptions};
use crate::parts::NpyFile;

/// Returns the file name of a part.
pub(super) fn name(number: usize) -> String {
    format!("{number}.npy")
}

/// Opens a part, without comparing it with `info`.
pub(super) fn open_unchecked(folder: &dyn Folder, number: usize, options: &ReadOptions) -> Result<NpyFile> {
    let (name, path) = (name(number), folder.path_of(&name(number)));
    let open = || NpyFile::open_region(SharedRegion::of(folder.open(&name)?), Expected::NPY, options);
    Ok(open().map_err(|error| error.at_path(&path))?.with_path(&path))
}

/// Opens a part and compares it with `info`.
pub(super) fn open(
    folder: &dyn Folder,
    info: &Info,
    number: usize,
    options: &ReadOptions,
) -> Result<NpyFile> {
    let file = open_unchecked(folder, number, options)?;
    let wanted = info.part_shape(number);
    if file.shape() != wanted {
        let (found, wanted) = (file.shape().into(), wanted.into());
        return Err(file.at_path(Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(wanted) }.into()));
    }
    if !are_equal_except_byte_order(file.dtype(), &info.dtype) {
        let (found, wanted) = (file.dtype().clone(), info.dtype.clone());
        return Err(file.at_path(Fault::DTypeMismatch { found, wanted }.into()));
    }
    file.check_length(file.header().payload_len().unwrap_or_default())?;
    Ok(file)
}

/// All parts, presented as the bytes of one NPY file.
///
/// The order and byte order are those of the first part that determines them.
#[derive(Debug)]
pub(super) struct JoinedParts {
    folder: Arc<dyn Folder>,
    info: Info,
    header: Header,
    options: ReadOptions,
    /// The bytes before the elements.
    head: Vec<u8>,
    layout: JoinLayout,
    /// Recently used parts in the layout of the entire array, the newest at the end.
    recent: Mutex<VecDeque<(usize, Arc<NpyFile>)>>,
    is_checked: Vec<AtomicBool>,
    hints: ReadHints,
}

impl JoinedParts {
    pub(super) fn new(folder: &Arc<dyn Folder>, info: Info, options: &ReadOptions) -> Result<Self> {
        // Which numbers raw bytes are is decided when the header of the entire array is read.
        let options = &options.clone().without_raw_bytes_type();
        // A part with at most one axis longer than 1 has the same bytes in either order.
        let order_tells = (0..info.lengths.len())
            .find(|part| !Shape::from(info.part_shape(*part)).is_same_in_both_orders());
        let first = order_tells.or_else(|| info.lengths.iter().position(|length| *length > 0));
        let (mut dtype, mut order, mut hints) = (info.dtype.clone(), Order::C, ReadHints::default());
        if let Some(first) = first {
            let file = open(&**folder, &info, first, options)?;
            (dtype, order, hints) = (file.dtype().stored(), file.order(), file.payload().hints());
        }
        let header = Header::new(dtype, order, info.shape.clone().into())?;
        let head = npy_format::format(&header, WriteOptions::new().version)?;
        let item = header.dtype().item_size() as u64;
        let step = header.shape_ref().strides(order)[info.axis].saturating_mul(item);
        let len = header.payload_len().unwrap_or_default();
        let layout = JoinLayout::new(info.lengths.iter().copied(), step, len);
        // Along any axis but the slowest, neighboring bytes may be in other files.
        let hints = if layout.has_contiguous_parts() { hints } else { ReadHints { batches: true, ..hints } };
        let is_checked = info.lengths.iter().map(|_| AtomicBool::new(false)).collect();
        let (folder, options) = (Arc::clone(folder), options.clone());
        let recent = Mutex::default();
        Ok(Self { folder, info, header, options, head, layout, recent, is_checked, hints })
    }

    fn open(&self, number: usize) -> Result<NpyFile> {
        open(&*self.folder, &self.info, number, &self.options)
    }

    /// Returns which parts have a range of bytes; all of them, if the range extends into another row.
    fn parts_in_range(&self, from: u64, len: u64) -> Range<usize> {
        let part_of = |at| self.layout.locate(at).0;
        match from % self.layout.row_bytes + len > self.layout.row_bytes {
            true => 0..self.info.lengths.len(),
            false => part_of(from)..part_of(from + len - 1) + 1,
        }
    }

    /// Returns a part from the cache, opening it if necessary.
    fn part(&self, number: usize) -> Result<Arc<NpyFile>> {
        /// The maximum number of open files; some systems limit a process to 256.
        const MAX_OPEN_FILES: usize = 64;
        /// The approximate maximum size of cached converted parts, in bytes; at least one part is cached.
        const MAX_CONVERTED_BYTES: usize = 256 << 20;
        let lock = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let find =
            |recent: &VecDeque<(usize, Arc<NpyFile>)>| recent.iter().position(|(known, _)| *known == number);
        {
            let mut recent = lock();
            if let Some(at) = find(&recent) {
                let found = Arc::clone(&recent[at].1);
                if at + 1 < recent.len() {
                    let used = recent.remove(at);
                    recent.extend(used);
                }
                return Ok(found);
            }
        }
        // Opened without holding the lock, so that other threads can use their parts.
        let opened = self.open(number)?;
        if self.has_stack_layout(&opened) {
            let part = Arc::new(opened);
            let mut recent = lock();
            if recent.len() >= MAX_OPEN_FILES {
                recent.pop_front();
            }
            recent.push_back((number, Arc::clone(&part)));
            return Ok(part);
        }
        // Converted with the lock held: other threads that need the part wait, rather than also convert it.
        let mut recent = lock();
        if let Some(at) = find(&recent) {
            return Ok(Arc::clone(&recent[at].1));
        }
        let bytes_of = |(_, part): &(usize, Arc<NpyFile>)| part.payload().bytes().map_or(0, <[u8]>::len);
        while recent.iter().map(bytes_of).sum::<usize>() > MAX_CONVERTED_BYTES {
            let oldest = recent.iter().position(|part| bytes_of(part) > 0).unwrap_or(0);
            recent.remove(oldest);
        }
        let part = Arc::new(self.to_stack_layout(&opened)?);
        recent.push_back((number, Arc::clone(&part)));
        Ok(part)
    }

    fn has_stack_layout(&self, part: &NpyFile) -> bool {
        let is_same_order =
            part.order() == self.header.order() || part.header().shape_ref().is_same_in_both_orders();
        is_same_order && part.dtype() == self.header.dtype()
    }

    /// Reads a part with another order or byte order into a file in memory in the layout of the entire array.
    fn to_stack_layout(&self, part: &NpyFile) -> Result<NpyFile> {
        let mut read: DynArray = part.read()?;
        if read.dtype() != self.header.dtype() {
            read = read.cast_to(self.header.dtype(), Casting::Safe)?;
        }
        let mut bytes = Vec::new();
        WriteOptions::new().order(self.header.order()).write_to(&mut bytes, &read)?;
        self.options.open_source(InMemory(bytes))
    }

    /// Reads pieces of the elements of a part, and returns whether all of them were there.
    fn fill(&self, number: usize, pieces: &mut [(u64, &mut [u8])]) -> Result<bool> {
        let part = self.part(number)?;
        let is_complete = part.payload().fill_parts(pieces).map_err(|error| part.at_path(error))?;
        if !is_complete {
            self.open(number)?; // returns the error for the missing data
        }
        Ok(is_complete)
    }
}

impl ReadAt for JoinedParts {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        match usize::try_from(offset).ok().and_then(|offset| self.head.get(offset..)) {
            Some(head) if !head.is_empty() => head.read_at(into, 0),
            _ => {
                let from = offset - self.head.len() as u64;
                self.layout.read_at(into, from, |number, pieces| self.fill(number, pieces))
            }
        }
    }

    fn size(&self) -> Result<u64> {
        Ok(self.layout.byte_len().saturating_add(self.head.len() as u64))
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
        // The header is read by `read_at`.
        let head = self.head.len() as u64;
        let count = parts.partition_point(|(offset, _)| *offset < head);
        if count > 0 {
            return Ok(0);
        }
        parts.iter_mut().for_each(|(offset, _)| *offset -= head);
        let complete = self.layout.read_parts(parts, |number, pieces| self.fill(number, pieces));
        parts.iter_mut().for_each(|(offset, _)| *offset += head);
        complete
    }

    /// Those of the part that determines the layout.
    fn hints(&self) -> ReadHints {
        self.hints
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        let len = runs.byte_len();
        if self.layout.row_bytes == 0 {
            return Ok(()); // no part has any bytes
        }
        let head = self.head.len() as u64;
        let (mut at, mut first_row, mut not_loaded) = (0, None, FirstNotLoaded::default());
        while at < len {
            let (place, left) = runs.offset_at(at);
            let place = place.saturating_sub(head);
            // The selection is the same in each row, unless the runs are listed.
            let row = *first_row.get_or_insert(place / self.layout.row_bytes);
            if row != place / self.layout.row_bytes && !runs.is_listed() {
                break;
            }
            for number in self.parts_in_range(place, left as u64) {
                // Each part is checked only once; it is checked again only after an error.
                if self.info.lengths[number] > 0 && !self.is_checked[number].swap(true, Ordering::Relaxed) {
                    let checked = self.open(number).and_then(|part| part.check_complete());
                    self.is_checked[number].store(checked.is_ok(), Ordering::Relaxed);
                    not_loaded.defer(checked)?;
                }
            }
            at += left as u64;
        }
        not_loaded.into_result()
    }
}

/// Returns the numbers of the parts in a folder in ascending order, parsed from their names.
pub(super) fn numbers(folder: &dyn Folder) -> Result<Vec<usize>> {
    // `007.npy` and `+7.npy` are not names of parts, although they would parse.
    let number_of = |file_name: &String| {
        file_name.strip_suffix(".npy")?.parse().ok().filter(|number| *file_name == name(*number))
    };
    let mut numbers: Vec<usize> = folder.names()?.iter().filter_map(number_of).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
