//! Sources of bytes and a folder that `ndarray-io` knows nothing about.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ndarray_io::bytes::{Folder, ReadAt, ReadHints, Runs};
use ndarray_io::{Error, Result};

/// What is wrong with a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing, but reads are short.
    ShortReads,
    /// The call with this number fails.
    Fails(usize),
    /// The call with this number panics.
    Panics(usize),
    /// The call with this number is interrupted.
    Interrupts(usize),
    /// From the call with this number on, the source has no more bytes.
    Ends(usize),
    /// The call with this number reports more bytes than were asked for.
    ReportsTooMany(usize),
    /// Batches report more parts than were asked for.
    TooManyParts,
    /// Batches are never complete, although all parts are there.
    ReportsNoParts,
    /// The bytes differ in each call.
    Changes,
    /// The size is larger than the number of bytes.
    ClaimsMore,
    /// The size is smaller than the number of bytes.
    ClaimsLess,
    /// The size cannot be told.
    NoSize,
    /// Some bytes are said to be missing.
    Missing,
    /// The hints are absurd.
    OddHints,
}

/// Bytes in memory, which the library does not see, and a fault.
#[derive(Debug)]
pub struct FaultySource {
    bytes: Arc<Vec<u8>>,
    fault: Fault,
    calls: AtomicUsize,
}

impl FaultySource {
    pub fn new(bytes: &Arc<Vec<u8>>, fault: Fault) -> Self {
        Self { bytes: Arc::clone(bytes), fault, calls: AtomicUsize::new(0) }
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl ReadAt for FaultySource {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        /// The longest read.
        const MAX_READ_LEN: usize = 7000;
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Fails(at) if at == call => return Err(io::Error::other("the source fails").into()),
            Fault::Panics(at) if at == call => panic!("the source panics"),
            Fault::Interrupts(at) if at == call => {
                return Err(io::Error::from(io::ErrorKind::Interrupted).into());
            }
            Fault::Ends(at) if at <= call => return Ok(0),
            Fault::ReportsTooMany(at) if at == call => return Ok(into.len() + 1),
            _ => {}
        }
        let rest =
            usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or_default();
        let count = rest.len().min(into.len()).min(MAX_READ_LEN);
        into[..count].copy_from_slice(&rest[..count]);
        if self.fault == Fault::Changes {
            into[..count].iter_mut().for_each(|byte| *byte = byte.wrapping_add(call as u8));
        }
        Ok(count)
    }

    fn size(&self) -> Result<u64> {
        match self.fault {
            Fault::ClaimsMore => Ok(self.bytes.len() as u64 + 1_000_000),
            Fault::ClaimsLess => Ok(self.bytes.len() as u64 / 2),
            Fault::NoSize => Err(io::Error::other("the size is unknown").into()),
            _ => Ok(self.bytes.len() as u64),
        }
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
        assert!(parts.len() <= 65_536 && parts.is_sorted_by_key(|(offset, _)| *offset));
        match self.fault {
            Fault::TooManyParts => return Ok(parts.len() + 1),
            Fault::ReportsNoParts => return Ok(0),
            _ => {}
        }
        let mut complete = 0;
        for (offset, part) in parts {
            let mut done = 0;
            while done < part.len() {
                match self.read_at(&mut part[done..], *offset + done as u64)? {
                    0 => return Ok(complete),
                    count if count > part.len() - done => return Ok(complete),
                    count => done += count,
                }
            }
            complete += 1;
        }
        Ok(complete)
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        match self.fault {
            Fault::Missing if runs.byte_len() > 0 => Err(io::Error::other("a part is missing").into()),
            _ => Ok(()),
        }
    }

    fn hints(&self) -> ReadHints {
        match self.fault {
            Fault::OddHints => ReadHints {
                block: Some(0),
                boundary: Some(0),
                concurrency: (usize::MAX, 0),
                gap: u64::MAX,
                span: u64::MAX,
                batches: false,
            },
            _ => ReadHints { concurrency: (2, 3), block: Some(10_000), ..ReadHints::default() },
        }
    }
}

/// Files in memory, each with the same fault.
#[derive(Debug)]
pub struct FaultyFolder {
    pub files: BTreeMap<String, Arc<Vec<u8>>>,
    pub fault: Fault,
}

impl Folder for FaultyFolder {
    fn names(&self) -> Result<Vec<String>> {
        Ok(self.files.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>> {
        let file =
            self.files.get(name).ok_or_else(|| Error::from(io::Error::from(io::ErrorKind::NotFound)))?;
        Ok(Arc::new(FaultySource::new(file, self.fault)))
    }

    fn path(&self) -> PathBuf {
        "memory:stack".into()
    }
}

/// A folder of sources that hold only what has been fetched.
#[derive(Debug)]
pub struct PartlyFetchedFolder(pub Vec<Arc<PartlyFetchedSource>>);

impl Folder for PartlyFetchedFolder {
    fn names(&self) -> Result<Vec<String>> {
        Ok((0..self.0.len()).map(|number| format!("{number}.npy")).collect())
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>> {
        let number = name.strip_suffix(".npy").and_then(|number| number.parse::<usize>().ok());
        match number.and_then(|number| self.0.get(number)) {
            Some(file) => Ok(Arc::clone(file) as Arc<dyn ReadAt>),
            None => Err(Error::from(io::Error::from(io::ErrorKind::NotFound))),
        }
    }

    fn path(&self) -> PathBuf {
        "memory:stack".into()
    }
}

/// A source that holds only what has been fetched, as where someone else does the I/O.
#[derive(Debug)]
pub struct PartlyFetchedSource {
    bytes: Arc<Vec<u8>>,
    /// Which pages have been fetched.
    fetched_pages: Mutex<BTreeSet<u64>>,
    /// What it lacked, and was told of.
    reported_missing: Mutex<Vec<Range<u64>>>,
}

impl PartlyFetchedSource {
    /// The unit in which bytes are fetched.
    const PAGE_LEN: u64 = 512;

    pub fn new(bytes: &Arc<Vec<u8>>) -> Self {
        Self { bytes: Arc::clone(bytes), fetched_pages: Mutex::default(), reported_missing: Mutex::default() }
    }

    /// Fetches what it lacked, and returns how many bytes that were.
    pub fn fetch_reported(&self) -> u64 {
        let reported_missing = std::mem::take(&mut *self.reported_missing.lock().unwrap());
        self.fetch(&reported_missing)
    }

    fn report_missing(&self, missing: Vec<Range<u64>>) -> Result<()> {
        if missing.is_empty() {
            return Ok(());
        }
        self.reported_missing.lock().unwrap().extend_from_slice(&missing);
        Err(Error::not_loaded(missing))
    }

    /// Fetches ranges, and returns how many bytes that were.
    pub fn fetch(&self, missing: &[Range<u64>]) -> u64 {
        let mut pages = self.fetched_pages.lock().unwrap();
        let before = pages.len();
        for range in missing {
            pages.extend(range.start / Self::PAGE_LEN..range.end.div_ceil(Self::PAGE_LEN));
        }
        (pages.len() - before) as u64 * Self::PAGE_LEN
    }

    fn missing(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let pages = self.fetched_pages.lock().unwrap();
        let range = range.start.min(self.bytes.len() as u64)..range.end.min(self.bytes.len() as u64);
        let wanted = range.start / Self::PAGE_LEN..range.end.div_ceil(Self::PAGE_LEN);
        let missing: Vec<_> = wanted.filter(|page| !pages.contains(page)).collect();
        missing.into_iter().map(|page| page * Self::PAGE_LEN..(page + 1) * Self::PAGE_LEN)
    }
}

impl ReadAt for PartlyFetchedSource {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.report_missing(self.missing(offset..offset + into.len() as u64).collect())?;
        self.bytes.as_slice().read_at(into, offset)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn check(&self, runs: &Runs) -> Result<()> {
        self.report_missing(runs.iter().flat_map(|run| self.missing(run)).collect())
    }

    /// Gaps are not fetched.
    fn hints(&self) -> ReadHints {
        ReadHints { gap: 0, ..ReadHints::default() }
    }
}
