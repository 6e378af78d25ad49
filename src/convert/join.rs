//! Joins arrays into one: computes the header of the result and the position of each input.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Conversion;
use crate::bytes::{self, FirstNotLoaded, JoinLayout, ReadAt, Region};
use crate::dynamic::DynArray;
use crate::elements::{DTypeConversion, dtype_conversion};
use crate::error::{Error, Fault, LimitKind, Remedy, Result, WantedShape};
use crate::header::Header;
use crate::io::Expected;
use crate::io::change::{FileId, create_unnamed_file, id_of, temporary_folder};
use crate::limits::{self, Limits};
use crate::options::ReadOptions;
use crate::parts::NpyFile;
use crate::shape::Order;
use crate::transfer::tiles::{
    Axis, SideLayout, TileConversion, TileMove, TilePlan, WriteAccess, move_all, move_in_order,
};
use crate::transfer::{Sink, os, truncated};

/// How the inputs are arranged in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinKind {
    /// Concatenated along an existing axis.
    Axis(usize),
    /// Stacked along a new axis.
    NewAxis(usize),
    /// A single input.
    Single,
    /// A part of a single input: `len` indices of `axis`, starting at `first`.
    #[cfg_attr(not(feature = "dask"), allow(dead_code))]
    Piece { axis: usize, first: usize, len: usize },
}

/// The arrays to be joined.
#[derive(Default)]
pub(super) struct Inputs<'a> {
    headers: Vec<Header>,
    sources: Vec<Box<dyn Input + 'a>>,
    /// The identity of each file, and the number of bytes after its array.
    files: Vec<(Option<FileId>, Option<u64>)>,
    /// Whether some inputs are opened only while they are read.
    has_reopened: bool,
}

/// A callback that receives the bytes of an array.
type RegionCallback<'a> = dyn FnMut(Region<'_>) -> Result<()> + 'a;

/// The source of the bytes of an array.
trait Input: Sync {
    /// Invokes the callback with the bytes.
    fn with_region(&self, call: &mut RegionCallback<'_>) -> Result<()>;

    /// Adds the file name to an error.
    fn name_error(&self, error: Error) -> Error;
}

/// A file that is open, owned or borrowed.
struct OpenInput<B>(B);

impl<B: Borrow<NpyFile> + Sync> Input for OpenInput<B> {
    fn with_region(&self, call: &mut RegionCallback<'_>) -> Result<()> {
        call(self.0.borrow().payload())
    }

    fn name_error(&self, error: Error) -> Error {
        self.0.borrow().at_path(error)
    }
}

/// A file that is reopened when it is needed, because the number of files a process can open is limited.
struct ReopenedInput {
    path: PathBuf,
    header: Header,
    options: ReadOptions,
}

impl Input for ReopenedInput {
    fn with_region(&self, call: &mut RegionCallback<'_>) -> Result<()> {
        let file = NpyFile::open_expecting(&self.path, Expected::NPY, &self.options)?;
        if *file.header() != self.header {
            let reason = "the file contains a different array than when the operation began".into();
            return Err(self.name_error(Fault::ArrayChanged { reason }.into()));
        }
        file.check_complete()?;
        call(file.payload())
    }

    fn name_error(&self, error: Error) -> Error {
        error.at_path(&self.path)
    }
}

impl Input for DynArray {
    fn with_region(&self, call: &mut RegionCallback<'_>) -> Result<()> {
        call(Region::of_memory(self.bytes()))
    }

    fn name_error(&self, error: Error) -> Error {
        error
    }
}

/// Inputs of the same layout, as the bytes of one array.
struct JoinedInputs<'i, 'a> {
    inputs: &'i Inputs<'a>,
    header: Header,
    layout: JoinLayout,
}

impl JoinedInputs<'_, '_> {
    fn fill(&self, number: usize, pieces: &mut [(u64, &mut [u8])]) -> Result<bool> {
        let (source, header) = (&self.inputs.sources[number], &self.inputs.headers[number]);
        let mut read = |region: Region<'_>| match region.fill_parts(pieces)? {
            true => Ok(()),
            false => Err(truncated(header, region.len()?)),
        };
        source.with_region(&mut read).map_err(|error| source.name_error(error)).map(|()| true)
    }
}

impl std::fmt::Debug for JoinedInputs<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} arrays", self.inputs.headers.len())
    }
}

impl ReadAt for JoinedInputs<'_, '_> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        self.layout.read_at(into, offset, |number, pieces| self.fill(number, pieces))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.layout.byte_len())
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<usize> {
        self.layout.read_parts(parts, |number, pieces| self.fill(number, pieces))
    }
}

impl Input for JoinedInputs<'_, '_> {
    fn with_region(&self, call: &mut RegionCallback<'_>) -> Result<()> {
        call(Region::of(self))
    }

    /// Names the file and the element in it, rather than that of the joined array.
    fn name_error(&self, error: Error) -> Error {
        let Some(element) = error.element().filter(|_| error.path().is_none()) else { return error };
        let item = self.header.dtype().item_size().max(1) as u64;
        let (number, place, _) = self
            .layout
            .locate((element as u64).saturating_mul(item).min(self.layout.byte_len().saturating_sub(1)));
        let header = &self.inputs.headers[number];
        let error = header.add_axis_indices(error.at_element((place / item) as usize), 0);
        self.inputs.sources[number].name_error(error)
    }
}

impl<'a> Inputs<'a> {
    /// Opens NPY files.
    pub(super) fn open<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Self> {
        /// The number of files to keep open. The limit for a process can be as low as 256.
        const MAX_OPEN_FILES: usize = 64;
        let mut inputs = Self::default();
        for path in paths {
            let path = path.as_ref();
            let file = NpyFile::open_expecting(path, Expected::NPY, options)?;
            let header = file.header().clone();
            inputs.add(file)?;
            if inputs.sources.len() > MAX_OPEN_FILES {
                inputs.sources.pop();
                let (path, options) = (path.to_owned(), options.clone());
                inputs.sources.push(Box::new(ReopenedInput { path, header, options }));
                inputs.has_reopened = true;
            }
        }
        Ok(inputs)
    }

    pub(super) fn of_file(file: impl Borrow<NpyFile> + Sync + 'a) -> Result<Self> {
        let mut inputs = Self::default();
        inputs.add(file)?;
        Ok(inputs)
    }

    pub(super) fn of_files(files: impl IntoIterator<Item = &'a NpyFile>) -> Result<Self> {
        let (mut inputs, mut not_loaded) = (Self::default(), FirstNotLoaded::default());
        files.into_iter().try_for_each(|file| not_loaded.defer(inputs.add(file)).map(drop))?;
        not_loaded.into_result()?;
        Ok(inputs)
    }

    fn add(&mut self, file: impl Borrow<NpyFile> + Sync + 'a) -> Result<()> {
        let opened = file.borrow();
        opened.check_complete()?;
        self.headers.push(opened.header().clone());
        self.files.push((opened.id()?, opened.extent()?.trailing()));
        self.sources.push(Box::new(OpenInput(file)));
        Ok(())
    }

    pub(super) fn of_memory(array: DynArray) -> Self {
        let (headers, sources) = (vec![array.header().clone()], vec![Box::new(array) as Box<dyn Input>]);
        Self { headers, sources, ..Self::default() }
    }

    /// Returns an error if an input is also the target and has uncommitted rows, which would be lost.
    pub(super) fn check_uncommitted_rows(&self, target: &File) -> Result<()> {
        let target = id_of(target)?;
        for ((header, source), (file, trailing)) in self.headers.iter().zip(&self.sources).zip(&self.files) {
            if let (true, Some(bytes @ 1..)) = (target == *file, *trailing) {
                let rows = bytes.checked_div(header.row_bytes()).unwrap_or(0);
                return Err(source.name_error(Fault::Uncommitted { bytes, rows, parts: 0 }.into()));
            }
        }
        Ok(())
    }

    /// Checks that the inputs are compatible, and returns the header of the result.
    pub(super) fn header(&self, along: JoinKind, conversion: &Conversion<'_>) -> Result<Header> {
        let Some(first) = self.headers.first() else {
            return Err(Fault::BadOption { reason: "there are no input files".into() }.into());
        };
        let dtype = conversion.target(first.dtype());
        let mut dims = first.shape().to_vec();
        let (axis, is_new) = match along {
            JoinKind::Axis(axis) => (axis, false),
            JoinKind::NewAxis(axis) => (axis, true),
            JoinKind::Single => (0, false),
            JoinKind::Piece { axis, len, .. } => {
                dims[axis] = len;
                (axis, false)
            }
        };
        for (header, source) in self.headers.iter().zip(&self.sources) {
            // Checked even for empty arrays, so that success does not depend on the lengths of the inputs.
            dtype_conversion(header.dtype(), &conversion.target(header.dtype()), conversion.rules())
                .map_err(|error| source.name_error(error))?;
            // A header may declare any number of zero-byte elements, to which the conversion would add bytes.
            if header.dtype().item_size() == 0 && dtype.item_size() > 0 {
                limits::check(LimitKind::EmptyItems, header.len(), Limits::EMPTY_ITEMS as u64)
                    .map_err(|error| source.name_error(error))?;
            }
        }
        let has_axis = matches!(along, JoinKind::Axis(_) | JoinKind::NewAxis(_));
        if has_axis && axis >= dims.len() + usize::from(is_new) {
            return Err(Fault::NoSuchAxis { axis, shape: first.shape_ref().clone() }.into());
        }
        for (header, source) in self.headers.iter().zip(&self.sources).skip(1) {
            let others = header.shape();
            let fits =
                |(at, (one, other)): (usize, (&usize, &usize))| one == other || (at == axis && !is_new);
            if others.len() != dims.len() || !dims.iter().zip(others).enumerate().all(fits) {
                // Along the axis that is joined, any length fits.
                let mut wanted = dims.to_vec();
                if !is_new && others.len() == dims.len() && axis < dims.len() {
                    wanted[axis] = others[axis];
                }
                let (found, wanted) = (header.shape_ref().clone(), wanted.into());
                return Err(source.name_error(
                    Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(wanted) }.into(),
                ));
            }
            if conversion.target(header.dtype()) != dtype {
                let found = header.dtype().clone();
                let error = Error::from(Fault::DTypeMismatch { found, wanted: dtype });
                return Err(source.name_error(error.with_help(Remedy::OneDType)));
            }
            if !is_new {
                dims[axis] = dims[axis].checked_add(others[axis]).ok_or_else(|| {
                    Error::from(Fault::Overflow { what: "the total length of all files".into() })
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
        along: JoinKind,
        (header, head): (&Header, &[u8]),
        conversion: &mut Conversion<'_>,
    ) -> Result<()> {
        let all = header.payload_len().unwrap_or_default();
        let mut sink = Sink::of(&mut file);
        sink.announce_len((head.len() as u64).saturating_add(all), &conversion.write)?;
        sink.write(head)?;
        let mut reported = 0;
        let is_seekable = bytes::len_of_regular(file).is_some() && !os::is_append_only(file);
        if is_seekable {
            let start = file.stream_position()?;
            self.write_elements(Some(start), file, along, header, conversion, &mut reported)?;
            file.seek(SeekFrom::Start(start + all))?;
        } else if self.are_sequential(along, header) {
            self.write_elements(None, file, along, header, conversion, &mut reported)?;
        } else {
            // The target is a stream and the inputs interleave: build the payload in a temporary file first.
            let made = create_unnamed_file(&temporary_folder())?;
            self.write_elements(Some(0), &made, along, header, conversion, &mut reported)?;
            (&made).seek(SeekFrom::Start(0))?;
            std::io::copy(&mut &made, &mut file)?;
        }
        if reported == 0 {
            conversion.report(0, all)?;
        }
        Ok(())
    }

    /// Returns whether each input is contiguous in the new file.
    fn are_sequential(&self, along: JoinKind, header: &Header) -> bool {
        let (JoinKind::Axis(axis) | JoinKind::NewAxis(axis)) = along else { return true };
        let slowest =
            if header.order() == Order::C { 0 } else { header.shape_ref().ndim().saturating_sub(1) };
        self.headers.len() < 2 || axis == slowest
    }

    /// Returns all inputs as one array, if they have the same layout and their rows interleave.
    ///
    /// One by one, they would be written in runs as short as their rows.
    fn joined(&self, along: JoinKind, target: &Header) -> Result<Option<JoinedInputs<'_, 'a>>> {
        let (JoinKind::Axis(axis) | JoinKind::NewAxis(axis)) = along else { return Ok(None) };
        let Some(first) = self.headers.first().filter(|_| self.headers.len() > 1) else { return Ok(None) };
        let fixed_order = self.headers.iter().find(|header| !header.shape_ref().is_same_in_both_orders());
        let order = fixed_order.unwrap_or(first).order();
        let is_alike = |header: &Header| {
            header.dtype() == first.dtype()
                && (header.order() == order || header.shape_ref().is_same_in_both_orders())
        };
        let header = Header::new(first.dtype().clone(), order, target.shape_ref().clone())?;
        let len = header.payload_len().unwrap_or_default();
        if len == 0 || !self.headers.iter().all(is_alike) {
            return Ok(None);
        }
        let step = header.shape_ref().strides(order)[axis].saturating_mul(first.dtype().item_size() as u64);
        let lengths = self.headers.iter().map(|header| match along {
            JoinKind::Axis(axis) => header.shape().get(axis).copied().unwrap_or(0),
            _ => 1,
        });
        let layout = JoinLayout::new(lengths, step, len);
        let interleaves = !layout.has_contiguous_parts();
        Ok(interleaves.then_some(JoinedInputs { inputs: self, header, layout }))
    }

    fn write_elements(
        &self,
        start: Option<u64>,
        mut file: &File,
        along: JoinKind,
        target: &Header,
        conversion: &mut Conversion<'_>,
        reported: &mut u64,
    ) -> Result<()> {
        let all = target.payload_len().unwrap_or_default();
        if all == 0 {
            return Ok(());
        }
        let threads = conversion.write.get_threads();
        // Each thread needs memory for one tile. When writing in order, up to two more tiles per thread are
        // waiting for their turn.
        let memory = conversion.memory_budget() / if start.is_some() { threads } else { 3 * threads };
        let writes = if start.is_some() { WriteAccess::RandomAccess } else { WriteAccess::InOrder };
        let item = target.dtype().item_size();
        let to = target.shape_ref().strides(target.order());
        let mut first = 0;
        let joined = self.joined(along, target)?;
        let (along, inputs): (JoinKind, Vec<(&Header, &dyn Input)>) = match &joined {
            Some(joined) => (JoinKind::Single, vec![(&joined.header, joined)]),
            None => (along, self.headers.iter().zip(self.sources.iter().map(|source| &**source)).collect()),
        };
        // What is opened for each tile should be opened rarely.
        let long = if joined.is_some() && self.has_reopened { memory as u64 / 4 } else { 256 << 10 };
        for (header, source) in inputs {
            let mut to: Vec<u64> = to.iter().map(|stride| stride.saturating_mul(item as u64)).collect();
            let (place, len) = along.place_in_target(header, &mut to, first);
            first += len;
            let source_item = header.dtype().item_size();
            let from = header.shape_ref().strides(header.order());
            let (dims, begin) = along.part_of_input(header, &from);
            let axes = dims.iter().zip(from).zip(to);
            let axes = axes
                .map(|((&len, from), to)| Axis {
                    len,
                    source_stride: from.saturating_mul(source_item as u64),
                    target_stride: to,
                })
                .collect();
            let from = SideLayout { start: begin, item_size: source_item };
            let dtype_conversion = dtype_conversion(header.dtype(), target.dtype(), conversion.rules())
                .map_err(|error| source.name_error(error))?;
            let (tile_conversion, memory) = match &dtype_conversion {
                DTypeConversion::Nothing => (TileConversion::Nothing, memory),
                DTypeConversion::Swap(swap) => (TileConversion::InPlace(swap), memory),
                // Both buffers are as large as the larger of the two item sizes requires.
                DTypeConversion::Recode(recode) => (
                    TileConversion::Into(recode),
                    memory / (2 * source_item.max(item)) * (source_item + item),
                ),
            };
            let to = SideLayout { start: place, item_size: item };
            let plan = TilePlan::with_run_len(axes, from, to, memory, (writes, long));
            let name_error = |error| source.name_error(error);
            let mut run = |bytes: Region<'_>| {
                let tile_move = TileMove {
                    source: bytes,
                    plan: plan.clone(),
                    conversion: tile_conversion,
                    header,
                    name_error: &name_error,
                    gap_lock: None,
                };
                let mut report = |bytes| {
                    *reported += bytes;
                    conversion.report(*reported, all)
                };
                match start {
                    Some(start) => move_all(&tile_move, (file, start), threads, &mut report),
                    None => move_in_order(&tile_move, &mut Sink::of(&mut file), threads, &mut report),
                }
            };
            source.with_region(&mut run)?;
        }
        Ok(())
    }
}

impl JoinKind {
    /// Returns the byte of the target at which an input begins, and how many indices of the joined axis it has; `first` is the
    /// number of those before it. The strides become those of the input's axes.
    fn place_in_target(self, header: &Header, to: &mut Vec<u64>, first: usize) -> (u64, usize) {
        match self {
            Self::Axis(axis) => (
                to.get(axis).copied().unwrap_or(0) * first as u64,
                header.shape().get(axis).copied().unwrap_or(0),
            ),
            Self::NewAxis(axis) => (to.remove(axis) * first as u64, 1),
            Self::Single | Self::Piece { .. } => (0, 0),
        }
    }

    /// Returns the lengths of what is copied of an input, and the byte at which it begins.
    fn part_of_input(self, header: &Header, strides: &[u64]) -> (Vec<usize>, u64) {
        let mut dims = header.shape().to_vec();
        let Self::Piece { axis, first, len } = self else { return (dims, 0) };
        dims[axis] = len;
        let item_size = header.dtype().item_size() as u64;
        (dims, strides[axis].saturating_mul(first as u64).saturating_mul(item_size))
    }
}
