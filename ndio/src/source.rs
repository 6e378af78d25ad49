//! One array that can be read in parts (from a file, an archive member or memory), and all arrays of a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use clap::Args;
use ndarray::SliceInfoElem;
use ndarray_io::blocks::Blocks;
use ndarray_io::header::Order;
use ndarray_io::npz::Method;
use ndarray_io::ra::RaFile;
use ndarray_io::{DType, DynArray, NpyFile, NpyReader, NpzFile, ReadOptions};

use super::Failure;
use super::failure::{at, told};
use super::input::shown;
use super::open::{Format, format_of, member_index, npy, npz, ra_file, read, remote, stack};

/// The choice of one array of a file with several.
#[derive(Args, Clone)]
pub(crate) struct Choice {
    /// The array of an archive
    #[arg(long, value_name = "NAME", conflicts_with = "array")]
    pub(crate) member: Option<String>,
    /// The array of an NPY file with several concatenated ones, counted from 0
    #[arg(long, value_name = "NUMBER")]
    pub(crate) array: Option<usize>,
}

impl Choice {
    /// Opens the chosen array, or the only one, for partial reads.
    pub(crate) fn open(&self, path: &Path, options: &ReadOptions) -> Result<Source, Failure> {
        self.open_by(path, options, Source::open)
    }

    /// Like `open`, but for reading the entire array: the checksum of a member is verified first.
    pub(crate) fn open_all(&self, path: &Path, options: &ReadOptions) -> Result<Source, Failure> {
        self.open_by(path, options, Source::open_all)
    }

    fn open_by(
        &self,
        path: &Path,
        options: &ReadOptions,
        open: impl FnOnce(&Path, Option<&str>, &ReadOptions) -> Result<Source, Failure>,
    ) -> Result<Source, Failure> {
        if let Some(wanted) = self.array {
            return Source::numbered(path, wanted, options);
        }
        if self.member.is_none() && remote(path)?.is_none() && format_of(path)? == Format::Npy {
            refuse_several(path, "--array selects one, counted from 0")?;
        }
        open(path, self.member.as_deref(), options)
    }

    /// Opens the chosen array, or all arrays of the file if none is chosen. With `is_whole`, the checksum of
    /// a member is verified.
    pub(crate) fn all<'a>(
        &self,
        path: &'a Path,
        options: &'a ReadOptions,
        is_whole: bool,
    ) -> Result<Arrays<'a>, Failure> {
        let open = || if is_whole { self.open_all(path, options) } else { self.open(path, options) };
        let is_file = remote(path)?.is_none();
        match is_file && self.array.is_none() && self.member.is_none() && format_of(path)? == Format::Npy {
            true => Ok(Arrays::of(path, options)),
            false => {
                Ok(Arrays { only: Some(open()?), next: None, end: u64::MAX, ..Arrays::of(path, options) })
            }
        }
    }
}

/// An array that can be read in parts from a file, or is in memory if it is compressed or a pickle.
pub(crate) enum Source {
    Npy(NpyFile),
    Ra(RaFile),
    Memory(Box<DynArray>),
}

impl Source {
    /// Opens a file, or a member of an archive, for partial reads. If the file has several arrays, opens the
    /// first.
    pub(crate) fn open(path: &Path, member: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        Ok(match format_of(path)? {
            Format::Npz => {
                let archive = npz(path, options)?;
                let index = member_index(&archive, path, member)?;
                return Self::member(&archive, index);
            }
            _ if member.is_some() => Self::Memory(Box::new(read(path, member, options)?)),
            Format::Stack => Self::Npy(stack(path, options)?.into_file()),
            // Compressed RA data and pickles cannot be read in parts.
            Format::Npy => match npy(path, options) {
                Ok(file) if !file.dtype().has_object() => Self::Npy(file),
                _ => Self::Memory(Box::new(read(path, None, options)?)),
            },
            Format::Ra => match ra_file(path, options) {
                Ok(file) => Self::Ra(file),
                Err(_) => Self::Memory(Box::new(read(path, None, options)?)),
            },
        })
    }

    /// Like `open`, but for reading the entire array: the checksum of a member is verified first.
    pub(crate) fn open_all(
        path: &Path,
        member: Option<&str>,
        options: &ReadOptions,
    ) -> Result<Self, Failure> {
        Self::open_any(path, member, options)?.readable(path)
    }

    /// Returns the array, unless it has too many elements to iterate over.
    pub(crate) fn readable(self, path: &Path) -> Result<Self, Failure> {
        /// A small file may declare any number of zero-sized elements.
        const MOST: u64 = 1 << 20;
        match self.dtype().item_size() == 0 && self.len() > MOST {
            true => Err(format!(
                "{}: it has {} elements of zero bytes, too many to iterate over",
                shown(path),
                self.len()
            )
            .into()),
            false => Ok(self),
        }
    }

    fn open_any(path: &Path, member: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        if format_of(path)? == Format::Npz {
            let archive = npz(path, options)?;
            let index = member_index(&archive, path, member)?;
            return Self::whole_member(&archive, index);
        }
        Self::open(path, member, options)
    }

    /// Opens one of several arrays of an NPY file by its number.
    fn numbered(path: &Path, wanted: usize, options: &ReadOptions) -> Result<Self, Failure> {
        if remote(path)?.is_some() || format_of(path)? != Format::Npy {
            return Err(format!("{}: --array is for NPY files", shown(path)).into());
        }
        let mut count = 0;
        for array in Arrays::of(path, options) {
            let array = array?;
            if count == wanted {
                return Ok(array);
            }
            count += 1;
        }
        Err(no_array(path, wanted, count))
    }

    /// Opens a member of an archive by its index, for partial reads.
    pub(crate) fn member(archive: &NpzFile, index: usize) -> Result<Self, Failure> {
        let has_object = archive.peek(index).is_ok_and(|found| found.header.dtype().has_object());
        Ok(match has_object {
            true => Self::Memory(Box::new(archive.read(index)?)), // one pickle
            false => Self::Npy(archive.open_member(index)?),
        })
    }

    /// Like `member`, but verifies the checksum of a stored member first. Reads of compressed members always
    /// verify it.
    pub(crate) fn whole_member(archive: &NpzFile, index: usize) -> Result<Self, Failure> {
        let is_stored = archive.members().get(index).is_some_and(|member| member.method() == Method::Stored);
        if is_stored {
            archive.verify_member(index)?;
        }
        Self::member(archive, index)
    }

    pub(crate) fn dtype(&self) -> &DType {
        match self {
            Self::Npy(file) => file.dtype(),
            Self::Ra(file) => file.dtype(),
            Self::Memory(array) => array.dtype(),
        }
    }

    pub(crate) fn order(&self) -> Order {
        match self {
            Self::Npy(file) => file.order(),
            Self::Ra(file) => file.order(),
            Self::Memory(array) => array.order(),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Npy(file) => file.shape(),
            Self::Ra(file) => file.shape(),
            Self::Memory(array) => array.shape(),
        }
    }

    /// The number of elements, which may be more than this machine can address.
    pub(crate) fn len(&self) -> u64 {
        // The lengths of the other axes of an empty array could overflow the product.
        if self.shape().contains(&0) {
            return 0;
        }
        self.shape().iter().fold(1, |all: u64, length| all.saturating_mul(*length as u64))
    }

    /// The size of the elements in bytes.
    pub(crate) fn byte_len(&self) -> u64 {
        self.len().saturating_mul(self.dtype().item_size() as u64)
    }

    /// Returns the slice that selects the entire array.
    pub(crate) fn all(&self) -> Vec<SliceInfoElem> {
        vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; self.shape().len()]
    }

    pub(crate) fn slice(&self, slice: &[SliceInfoElem]) -> Result<DynArray, Failure> {
        Ok(match self {
            Self::Npy(file) => file.slice_any(slice)?,
            Self::Ra(file) => file.slice_any(slice)?,
            Self::Memory(array) => array.slice(slice)?,
        })
    }

    /// Adds the path of the file to an error.
    pub(crate) fn named(&self, error: ndarray_io::Error) -> ndarray_io::Error {
        let path = match self {
            Self::Npy(file) => file.path(),
            Self::Ra(file) => file.path(),
            Self::Memory(_) => None,
        };
        match path {
            Some(path) => error.at_path(path),
            None => error,
        }
    }

    /// Visits the array in blocks.
    pub(crate) fn blocks(&self) -> Blocks<'_, DynArray> {
        match self {
            Self::Npy(file) => file.blocks(),
            Self::Ra(file) => file.blocks(),
            Self::Memory(array) => array.blocks(),
        }
    }
}

/// Returns an error with this advice if a file has more than one array.
pub(crate) fn refuse_several(path: &Path, advice: &str) -> Result<(), Failure> {
    let options = crate::reading::options();
    let mut arrays = Arrays::of(path, &options);
    match arrays.next() {
        Some(Ok(_)) if arrays.has_more() => {
            Err(format!("{}: more arrays follow its first; {advice}", shown(path)).into())
        }
        // The caller reads the file, and reports what is wrong.
        _ => Ok(()),
    }
}

/// Returns the error for an array number that the file does not have.
pub(crate) fn no_array(path: &Path, wanted: usize, count: usize) -> Failure {
    let path = shown(path);
    format!("{path}: there is no array {wanted}: the file has {count}, counted from 0").into()
}

/// Iterates over the arrays of an NPY file; most files have one.
///
/// Elements are not read, except for Python objects: a pickle must be read to find its end.
pub(crate) struct Arrays<'a> {
    path: &'a Path,
    options: &'a ReadOptions,
    /// The offset of the next array.
    next: Option<u64>,
    number: usize,
    only: Option<Source>,
    /// The start and end offset of the array returned last.
    begin: u64,
    end: u64,
}

impl<'a> Arrays<'a> {
    /// Iterates over the parts of a file that begin like an array.
    ///
    /// Only [`Arrays::end`] reports other trailing bytes, because a file that is being appended to has
    /// uncommitted rows.
    pub(crate) fn of(path: &'a Path, options: &'a ReadOptions) -> Self {
        Self { path, options, next: Some(0), number: 0, only: None, begin: 0, end: 0 }
    }

    /// Whether more arrays follow.
    pub(crate) fn has_more(&self) -> bool {
        self.only.is_some() || self.next.is_some()
    }

    /// The byte range in the file of the array returned last.
    pub(crate) fn bytes(&self) -> std::ops::Range<u64> {
        self.begin..self.end
    }

    /// Returns an error if bytes that are not an array follow the last one.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        match std::fs::metadata(self.path)?.len().saturating_sub(self.end) {
            0 => Ok(()),
            // Read the array normally, to get the usual error.
            _ if self.number == 1 => {
                Ok(ndarray_io::npy::read_npy_with::<_, DynArray>(self.path, self.options).map(drop)?)
            }
            more => {
                Err(format!("{}: {more} bytes that are not an array follow its last array", shown(self.path))
                    .into())
            }
        }
    }

    /// Adds the number of the array returned last to an error.
    pub(crate) fn numbered<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        done.map_err(|failure| match self.number.saturating_sub(1) {
            0 => at(self.path, failure),
            number => {
                let text = told(&failure);
                let text = text.strip_prefix(&format!("{}: ", shown(self.path))).unwrap_or(&text);
                at(self.path, format!("array {number}: {text}").into())
            }
        })
    }

    fn at(&self, begin: u64) -> Result<(Source, u64), Failure> {
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(begin))?;
        let mut reader = NpyReader::new_with(file, self.options)?;
        match reader.payload_len() {
            Some(len) => {
                let end = begin.saturating_add(reader.data_offset()).saturating_add(len);
                Ok((Source::Npy(reader.into_file()?.with_path(self.path)), end))
            }
            None => {
                let array = reader.read()?;
                Ok((Source::Memory(Box::new(array)), reader.into_inner().stream_position()?))
            }
        }
    }

    /// Whether another array follows the last one.
    fn is_followed(&self) -> Result<bool, Failure> {
        const MAGIC: &[u8; 6] = b"\x93NUMPY";
        let mut file = File::open(self.path)?;
        // Checked before seeking: a header may declare an end beyond what the system can seek to.
        if file.metadata()?.len() <= self.end {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.end))?;
        let mut first = Vec::new();
        file.take(MAGIC.len() as u64).read_to_end(&mut first)?;
        Ok(first == MAGIC)
    }
}

impl Iterator for Arrays<'_> {
    type Item = Result<Source, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(only) = self.only.take() {
            return Some(Ok(only));
        }
        let begin = self.next.take()?;
        let found = self.at(begin).and_then(|(source, end)| {
            (self.begin, self.end) = (begin, end);
            self.next = self.is_followed()?.then_some(end);
            Ok(source)
        });
        self.number += 1;
        Some(self.numbered(found))
    }
}
