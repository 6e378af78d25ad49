//! Presents the parts of a stack as the bytes of one array.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::info::{Info, is_alike};
use crate::dtype::Casting;
use crate::dynamic::DynArray;
use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, Order, Shape};
use crate::options::{ReadOptions, WriteOptions};
use crate::parts::NpyFile;
#[cfg(feature = "object-store-0_14")]
use crate::store::Remote;
use crate::transfer::{ByteRuns, RandomAccess, ReadAt, ReadHint, Sink};

/// The location of a stack.
#[derive(Clone, Debug)]
pub(crate) enum Folder {
    Here(PathBuf),
    /// A folder in a store, at the path of this handle.
    #[cfg(feature = "object-store-0_14")]
    Far(Remote),
}

impl Folder {
    /// Opens a part, without comparing it with `info`.
    pub(super) fn part(&self, number: usize, options: &ReadOptions) -> Result<NpyFile> {
        match self {
            Self::Here(folder) => NpyFile::open_with(folder.join(name(number)), options),
            #[cfg(feature = "object-store-0_14")]
            Self::Far(folder) => folder.child(&name(number))?.open_npy_with(options),
        }
    }

    /// Returns the bytes of `info`, if it exists.
    pub(super) fn info(&self, options: &ReadOptions) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Here(folder) => match File::open(super::info_path(folder)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                opened => super::info_bytes(&opened?, options).map(Some),
            },
            #[cfg(feature = "object-store-0_14")]
            Self::Far(folder) => match folder.child("info")?.read_raw(options.get_limits()) {
                Err(error) if error.is_not_found() => Ok(None),
                read => read.map(Some),
            },
        }
    }

    /// Returns the name of the folder in error messages.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Here(folder) => folder.clone(),
            #[cfg(feature = "object-store-0_14")]
            Self::Far(folder) => folder.name().into(),
        }
    }

    /// Returns the numbers of the existing parts in ascending order, parsed from their names.
    pub(super) fn numbers(&self) -> Result<Vec<usize>> {
        match self {
            Self::Here(folder) => numbers(folder),
            #[cfg(feature = "object-store-0_14")]
            Self::Far(folder) => {
                let names = folder.names_within()?;
                let mut numbers: Vec<usize> = names.iter().filter_map(|name| number_of(name)).collect();
                numbers.sort_unstable();
                Ok(numbers)
            }
        }
    }
}

/// Returns the file name of a part.
pub(super) fn name(number: usize) -> String {
    format!("{number}.npy")
}

/// Opens a part and compares it with `info`.
pub(super) fn open(folder: &Folder, info: &Info, number: usize, options: &ReadOptions) -> Result<NpyFile> {
    let file = folder.part(number, options)?;
    let wanted = info.part_shape(number);
    if file.shape() != wanted {
        let (found, wanted) = (file.shape().into(), wanted.into());
        return Err(file.at_path(ErrorKind::ShapeMismatch { found, wanted }.into()));
    }
    if !is_alike(file.dtype(), &info.dtype) {
        let (found, wanted) = (file.dtype().clone(), info.dtype.clone());
        return Err(file.at_path(ErrorKind::DTypeMismatch { found, wanted }.into()));
    }
    file.check_complete()?;
    Ok(file)
}

/// All parts, presented in the layout of one array.
///
/// The order and byte order are those of the first part that determines them.
#[derive(Debug)]
pub(super) struct Parts {
    folder: Folder,
    info: Info,
    header: Header,
    options: ReadOptions,
    /// The end of each part along the axis.
    ends: Vec<u64>,
    /// The size of one index along the axis, in bytes.
    step: u64,
    /// The size of a row in bytes: all indices along the axis, for one index of each axis before it.
    row: u64,
    /// Recently used parts, the newest at the end.
    recent: Mutex<VecDeque<(usize, Arc<Part>)>>,
    is_checked: Vec<AtomicBool>,
}

/// A part in the layout of the entire array.
#[derive(Debug)]
enum Part {
    File(NpyFile),
    /// A converted copy of a part with another order or byte order.
    Memory(DynArray),
}

impl Parts {
    pub(super) fn new(folder: &Folder, info: Info, options: &ReadOptions) -> Result<Self> {
        // A part with at most one axis longer than 1 has the same bytes in either order.
        let order_tells =
            (0..info.lengths.len()).find(|part| !Shape::from(info.part_shape(*part)).is_any_order());
        let first = order_tells.or_else(|| info.lengths.iter().position(|length| *length > 0));
        let (mut dtype, mut order) = (info.dtype.clone(), Order::C);
        if let Some(first) = first {
            let file = open(folder, &info, first, options)?;
            (dtype, order) = (file.dtype().clone(), file.order());
        }
        let header = Header::new(dtype, order, info.shape.clone().into())?;
        let item = header.dtype().item_size() as u64;
        let step = header.shape_ref().strides(order)[info.axis].saturating_mul(item);
        let row = step.saturating_mul(info.shape[info.axis] as u64);
        let ends = info.lengths.iter().scan(0, |end, length| {
            *end += *length as u64;
            Some(*end)
        });
        let (ends, is_checked) =
            (ends.collect(), info.lengths.iter().map(|_| AtomicBool::new(false)).collect());
        let (folder, options) = (folder.clone(), options.clone());
        Ok(Self { folder, info, header, options, ends, step, row, recent: Mutex::default(), is_checked })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn open(&self, number: usize) -> Result<NpyFile> {
        open(&self.folder, &self.info, number, &self.options)
    }

    /// Returns which parts contain a range of bytes; all of them, if the range extends into another row.
    fn parts_of(&self, from: u64, len: u64) -> Range<usize> {
        let (start, end) = (from % self.row, from % self.row + len);
        if len == 0 || end > self.row {
            return 0..if len == 0 { 0 } else { self.ends.len() };
        }
        let part_of = |byte: u64| self.ends.partition_point(|end| *end <= byte / self.step);
        part_of(start)..part_of(end - 1) + 1
    }

    /// Returns a part from the cache, opening it if necessary.
    fn part(&self, number: usize) -> Result<Arc<Part>> {
        /// The maximum number of open files; some systems limit a process to 256.
        const OPEN: usize = 64;
        /// The approximate maximum size of cached converted parts, in bytes; at least one part is cached.
        const IN_MEMORY: usize = 256 << 20;
        let lock = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let find =
            |recent: &VecDeque<(usize, Arc<Part>)>| recent.iter().position(|(known, _)| *known == number);
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
        if self.is_laid_out_alike(&opened) {
            let part = Arc::new(Part::File(opened));
            let mut recent = lock();
            if recent.len() >= OPEN {
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
        let bytes_of = |(_, part): &(usize, Arc<Part>)| match &**part {
            Part::Memory(array) => array.bytes().len(),
            Part::File(_) => 0,
        };
        while recent.iter().map(bytes_of).sum::<usize>() > IN_MEMORY {
            let oldest = recent.iter().position(|part| bytes_of(part) > 0).unwrap_or(0);
            recent.remove(oldest);
        }
        let part = Arc::new(Part::Memory(self.laid_out(&opened)?));
        recent.push_back((number, Arc::clone(&part)));
        Ok(part)
    }

    fn is_laid_out_alike(&self, part: &NpyFile) -> bool {
        let is_same_order = part.order() == self.header.order() || part.header().shape_ref().is_any_order();
        is_same_order && part.dtype() == self.header.dtype()
    }

    /// Reads a part with another order or byte order, and converts it to the layout of the entire array.
    fn laid_out(&self, part: &NpyFile) -> Result<DynArray> {
        let target = Header::new(self.header.dtype().clone(), self.header.order(), part.shape().into())?;
        let mut read: DynArray = part.read()?;
        if read.dtype() != target.dtype() {
            read = read.cast_to(target.dtype(), Casting::Safe)?;
        }
        let mut bytes = Vec::new();
        read.put(&mut Sink::of(&mut bytes), target.order(), &WriteOptions::new())?;
        DynArray::of_bytes(target, &bytes)
    }
}

impl ReadAt for Parts {
    /// Reads from one part after another, so that each part is looked up only once.
    ///
    /// From each part, the requested bytes of all rows are read.
    fn fill_at(&self, into: &mut [u8], from: u64) -> Result<usize> {
        let most = usize::try_from(self.len().saturating_sub(from)).unwrap_or(usize::MAX);
        let most = most.min(into.len());
        if most == 0 {
            return Ok(0);
        }
        let end = from + most as u64;
        for number in self.parts_of(from, most as u64) {
            let start = if number == 0 { 0 } else { self.ends[number - 1] * self.step };
            let own_row = self.info.lengths[number] as u64 * self.step;
            if own_row == 0 {
                continue;
            }
            let part = self.part(number)?;
            for row in from / self.row..=(end - 1) / self.row {
                // The intersection of the part's range in this row with the requested range.
                let first = (row * self.row + start).max(from);
                let last = (row * self.row + start + own_row).min(end);
                if first >= last {
                    continue;
                }
                let place = row * own_row + (first - row * self.row - start);
                let rest = &mut into[(first - from) as usize..(last - from) as usize];
                let (came, wanted) = match &*part {
                    Part::File(file) => {
                        let came = file.anywhere().fill_at(rest, place);
                        (came.map_err(|error| file.at_path(error))?, rest.len())
                    }
                    Part::Memory(array) => {
                        (RandomAccess::Bytes(array.bytes()).fill_at(rest, place)?, rest.len())
                    }
                };
                if came < wanted {
                    self.open(number)?; // returns the error for the missing data
                    return Ok((first - from) as usize + came);
                }
            }
        }
        Ok(most)
    }

    fn len(&self) -> u64 {
        self.header.payload_len().unwrap_or_default()
    }

    fn read_hint(&self) -> Option<ReadHint> {
        match self.folder {
            Folder::Here(_) => None,
            // One request at a time would spend most of the time waiting for responses.
            #[cfg(feature = "object-store-0_14")]
            Folder::Far(_) => Some(ReadHint { bytes: 16 << 20, threads: 8 }),
        }
    }

    /// Along any axis but the slowest, gaps may be in other files.
    fn reads_gaps(&self) -> bool {
        self.row >= self.len()
    }

    fn check(&self, runs: &ByteRuns) -> Result<()> {
        let len = runs.len();
        if self.row == 0 {
            return Ok(()); // no part has any bytes
        }
        let (mut at, mut first_row) = (0, None);
        while at < len {
            let (place, left) = runs.find(at);
            // The selection is the same in each row, unless the runs are listed.
            let row = *first_row.get_or_insert(place / self.row);
            if row != place / self.row && !runs.is_listed() {
                break;
            }
            for number in self.parts_of(place, left as u64) {
                // Each part is checked only once; it is checked again only after an error.
                if self.info.lengths[number] > 0 && !self.is_checked[number].swap(true, Ordering::Relaxed) {
                    self.open(number)
                        .inspect_err(|_| self.is_checked[number].store(false, Ordering::Relaxed))?;
                }
            }
            at += left as u64;
        }
        Ok(())
    }
}

/// Returns the number of a part, parsed from its name.
fn number_of(file_name: &str) -> Option<usize> {
    // `007.npy` and `+7.npy` are not names of parts, although they would parse.
    file_name.strip_suffix(".npy")?.parse().ok().filter(|number| file_name == name(*number))
}

/// Returns the numbers of the parts in a folder in ascending order, parsed from their names.
pub(super) fn numbers(folder: &Path) -> Result<Vec<usize>> {
    let mut numbers = Vec::new();
    let mut list = || -> Result<()> {
        let entries = loop {
            match std::fs::read_dir(folder) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                listed => break listed?,
            }
        };
        for entry in entries {
            numbers.extend(entry?.file_name().to_str().and_then(number_of));
        }
        Ok(())
    };
    list().map_err(|error: Error| error.at_path(folder))?;
    numbers.sort_unstable();
    Ok(numbers)
}
