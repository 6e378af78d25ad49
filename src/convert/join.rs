//! Joins arrays into one: computes the header of the result and the position of each input.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Conversion;
use crate::bytes::{self, Region};
use crate::dynamic::DynArray;
use crate::element::{Change, change};
use crate::error::{Error, ErrorKind, Help, LimitKind, Result};
use crate::header::Header;
use crate::io::ArrayFormat;
use crate::io::change::{FileId, id_of, temporary_folder, unnamed};
use crate::limits::{self, Limits};
use crate::options::ReadOptions;
use crate::parts::{ArrayFile, NpyFile};
use crate::shape::Order;
use crate::transfer::tiles::{Axis, Move, Plan, Side, Work, Writes, move_all, move_in_order};
use crate::transfer::{Sink, os};

/// How the inputs are arranged in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Concatenated along an existing axis.
    Axis(usize),
    /// Stacked along a new axis.
    NewAxis(usize),
    /// A single input.
    Alone,
    /// A part of a single input: `len` indices of `axis`, starting at `first`.
    #[cfg_attr(not(feature = "object"), allow(dead_code))]
    Piece { axis: usize, first: usize, len: usize },
}

/// The arrays to be joined.
#[derive(Default)]
pub(super) struct Inputs {
    headers: Vec<Header>,
    sources: Vec<Box<dyn Input>>,
    /// The identity of each file, and the number of bytes after its array.
    files: Vec<(Option<FileId>, Option<u64>)>,
}

/// A callback that receives the bytes of an array.
type Call<'a> = dyn FnMut(Region<'_>) -> Result<()> + 'a;

/// The source of the bytes of an array.
trait Input: Sync {
    /// Invokes the callback with the bytes.
    fn with(&self, call: &mut Call<'_>) -> Result<()>;

    /// Adds the file name to an error.
    fn named(&self, error: Error) -> Error;
}

impl<F: ArrayFormat> Input for ArrayFile<F> {
    fn with(&self, call: &mut Call<'_>) -> Result<()> {
        call(self.payload())
    }

    fn named(&self, error: Error) -> Error {
        self.at_path(error)
    }
}

/// A file that is reopened when it is needed, because the number of files a process can open is limited.
struct Closed {
    path: PathBuf,
    header: Header,
    options: ReadOptions,
}

impl Input for Closed {
    fn with(&self, call: &mut Call<'_>) -> Result<()> {
        let file = NpyFile::open_with(&self.path, &self.options)?;
        if *file.header() != self.header {
            let reason = "the file contains a different array than when the operation began".into();
            return Err(self.named(ErrorKind::ArrayChanged { reason }.into()));
        }
        file.check_complete()?;
        call(file.payload())
    }

    fn named(&self, error: Error) -> Error {
        error.at_path(&self.path)
    }
}

impl Input for DynArray {
    fn with(&self, call: &mut Call<'_>) -> Result<()> {
        call(Region::of_memory(self.bytes()))
    }

    fn named(&self, error: Error) -> Error {
        error
    }
}

impl Inputs {
    /// Opens NPY files.
    pub(super) fn open<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Self> {
        /// The number of files to keep open. The limit for a process can be as low as 256.
        const OPEN: usize = 64;
        let mut inputs = Self::default();
        for path in paths {
            let path = path.as_ref();
            let file = NpyFile::open_with(path, options)?;
            let header = file.header().clone();
            inputs.add(file)?;
            if inputs.sources.len() > OPEN {
                inputs.sources.pop();
                let (path, options) = (path.to_owned(), options.clone());
                inputs.sources.push(Box::new(Closed { path, header, options }));
            }
        }
        Ok(inputs)
    }

    pub(super) fn of_file<F: ArrayFormat>(file: ArrayFile<F>) -> Result<Self> {
        let mut inputs = Self::default();
        inputs.add(file)?;
        Ok(inputs)
    }

    fn add<F: ArrayFormat>(&mut self, file: ArrayFile<F>) -> Result<()> {
        file.check_complete()?;
        self.headers.push(file.header().clone());
        self.files.push((file.id()?, file.trailing_len()?));
        self.sources.push(Box::new(file));
        Ok(())
    }

    pub(super) fn of_memory(array: DynArray) -> Self {
        let (headers, sources) = (vec![array.header().clone()], vec![Box::new(array) as Box<dyn Input>]);
        Self { headers, sources, files: Vec::new() }
    }

    /// Returns an error if an input is also the target and has uncommitted rows, which would be lost.
    pub(super) fn refuse_uncounted_rows(&self, target: &File) -> Result<()> {
        let target = id_of(target)?;
        for ((header, source), (file, trailing)) in self.headers.iter().zip(&self.sources).zip(&self.files) {
            if let (true, Some(bytes @ 1..)) = (target == *file, *trailing) {
                let rows = bytes.checked_div(header.row_bytes()).unwrap_or(0);
                return Err(source.named(ErrorKind::UncommittedRows { bytes, rows }.into()));
            }
        }
        Ok(())
    }

    /// Checks that the inputs are compatible, and returns the header of the result.
    pub(super) fn header(&self, along: Along, conversion: &Conversion<'_>) -> Result<Header> {
        let Some(first) = self.headers.first() else {
            return Err(ErrorKind::BadOption { reason: "there are no input files".into() }.into());
        };
        let dtype = conversion.target(first.dtype());
        let mut dims = first.shape().to_vec();
        let (axis, is_new) = match along {
            Along::Axis(axis) => (axis, false),
            Along::NewAxis(axis) => (axis, true),
            Along::Alone => (0, false),
            Along::Piece { axis, len, .. } => {
                dims[axis] = len;
                (axis, false)
            }
        };
        for (header, source) in self.headers.iter().zip(&self.sources) {
            // Checked even for empty arrays, so that success does not depend on the lengths of the inputs.
            change(header.dtype(), &conversion.target(header.dtype()), conversion.casting())
                .map_err(|error| source.named(error))?;
            // A header may declare any number of zero-byte elements, to which the conversion would add bytes.
            if header.dtype().item_size() == 0 && dtype.item_size() > 0 {
                limits::check(LimitKind::EmptyItems, header.len(), Limits::EMPTY_ITEMS as u64)
                    .map_err(|error| source.named(error))?;
            }
        }
        let has_axis = matches!(along, Along::Axis(_) | Along::NewAxis(_));
        if has_axis && axis >= dims.len() + usize::from(is_new) {
            let reason = format!("axis {axis} is out of range for arrays of shape {}", first.shape_ref());
            return Err(ErrorKind::BadOption { reason }.into());
        }
        for (header, source) in self.headers.iter().zip(&self.sources).skip(1) {
            let others = header.shape();
            let fits =
                |(at, (one, other)): (usize, (&usize, &usize))| one == other || (at == axis && !is_new);
            if others.len() != dims.len() || !dims.iter().zip(others).enumerate().all(fits) {
                let (found, wanted) = (header.shape_ref().clone(), first.shape_ref().clone());
                return Err(source.named(ErrorKind::ShapeMismatch { found, wanted }.into()));
            }
            if conversion.target(header.dtype()) != dtype {
                let found = header.dtype().clone();
                let error = Error::from(ErrorKind::DTypeMismatch { found, wanted: dtype });
                return Err(source.named(error.with_help(Help::OneDType)));
            }
            if !is_new {
                dims[axis] = dims[axis].checked_add(others[axis]).ok_or_else(|| {
                    Error::from(ErrorKind::Overflow { what: "the total length of all files".into() })
                })?;
            }
        }
        if is_new {
            dims.insert(axis, self.headers.len());
        }
        Header::new(dtype, conversion.order.unwrap_or(first.order()), dims.into())
    }

    /// Writes the header and all inputs into a new file.
    pub(super) fn write(
        &self,
        mut file: &File,
        along: Along,
        (header, head): (&Header, &[u8]),
        conversion: &mut Conversion<'_>,
    ) -> Result<()> {
        let all = header.payload_len().unwrap_or_default();
        let mut sink = Sink::of(&mut file);
        sink.expect((head.len() as u64).saturating_add(all), &conversion.write)?;
        sink.write(head)?;
        let mut told = 0;
        let has_places = bytes::len_of_regular(file).is_some() && !os::only_appends(file);
        if has_places {
            let start = file.stream_position()?;
            self.move_to(Some(start), file, along, header, conversion, &mut told)?;
            file.seek(SeekFrom::Start(start + all))?;
        } else if self.follow_one_another(along, header) {
            self.move_to(None, file, along, header, conversion, &mut told)?;
        } else {
            // The target is a stream and the inputs interleave: build the payload in a temporary file first.
            let made = unnamed(&temporary_folder())?;
            self.move_to(Some(0), &made, along, header, conversion, &mut told)?;
            (&made).seek(SeekFrom::Start(0))?;
            std::io::copy(&mut &made, &mut file)?;
        }
        if told == 0 {
            conversion.tell(0, all)?;
        }
        Ok(())
    }

    /// Returns whether each input is contiguous in the new file.
    fn follow_one_another(&self, along: Along, header: &Header) -> bool {
        let (Along::Axis(axis) | Along::NewAxis(axis)) = along else { return true };
        let slowest =
            if header.order() == Order::C { 0 } else { header.shape_ref().ndim().saturating_sub(1) };
        self.headers.len() < 2 || axis == slowest
    }

    fn move_to(
        &self,
        start: Option<u64>,
        mut file: &File,
        along: Along,
        target: &Header,
        conversion: &mut Conversion<'_>,
        told: &mut u64,
    ) -> Result<()> {
        let all = target.payload_len().unwrap_or_default();
        if all == 0 {
            return Ok(());
        }
        let threads = conversion.write.get_threads();
        // Each thread needs memory for one tile. When writing in order, up to two more tiles per thread are
        // waiting for their turn.
        let memory = conversion.most() / if start.is_some() { threads } else { 3 * threads };
        let writes = if start.is_some() { Writes::RandomAccess } else { Writes::InOrder };
        let item = target.dtype().item_size();
        let to = target.shape_ref().strides(target.order());
        let mut first = 0;
        for (header, source) in self.headers.iter().zip(&self.sources) {
            let mut to: Vec<u64> = to.iter().map(|stride| stride.saturating_mul(item as u64)).collect();
            let (place, len) = match along {
                Along::Axis(axis) => (
                    to.get(axis).copied().unwrap_or(0) * first as u64,
                    header.shape().get(axis).copied().unwrap_or(0),
                ),
                Along::NewAxis(axis) => (to.remove(axis) * first as u64, 1),
                Along::Alone | Along::Piece { .. } => (0, 0),
            };
            first += len;
            let own = header.dtype().item_size();
            let from = header.shape_ref().strides(header.order());
            let (mut dims, mut begin) = (header.shape().to_vec(), 0);
            if let Along::Piece { axis, first, len } = along {
                begin = from[axis].saturating_mul(first as u64).saturating_mul(own as u64);
                dims[axis] = len;
            }
            let axes = dims.iter().zip(from).zip(to);
            let axes = axes
                .map(|((&len, from), to)| Axis { len, from: from.saturating_mul(own as u64), to })
                .collect();
            let from = Side { start: begin, item: own };
            let change = change(header.dtype(), target.dtype(), conversion.casting())
                .map_err(|error| source.named(error))?;
            let (work, memory) = match &change {
                Change::Nothing => (Work::Nothing, memory),
                Change::Swap(swap) => (Work::InPlace(swap), memory),
                // Both buffers are as large as the larger of the two item sizes requires.
                Change::Recode(recode) => (Work::Into(recode), memory / (2 * own.max(item)) * (own + item)),
            };
            let plan = Plan::new(axes, from, Side { start: place, item }, memory, writes);
            let named = |error| source.named(error);
            let mut run = |bytes: Region<'_>| {
                let work = Move { source: bytes, plan: plan.clone(), work, header, named: &named };
                let mut tell = |bytes| {
                    *told += bytes;
                    conversion.tell(*told, all)
                };
                match start {
                    Some(start) => move_all(&work, (file, start), threads, &mut tell),
                    None => move_in_order(&work, &mut Sink::of(&mut file), threads, &mut tell),
                }
            };
            source.with(&mut run)?;
        }
        Ok(())
    }
}
