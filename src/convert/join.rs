//! Arrays that become one: where in it each of them goes.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Conversion;
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
use crate::transfer::{Anywhere, Sink, os};

/// How arrays follow one another in the one that they become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Along an axis that they have.
    Axis(usize),
    /// Along one that they get.
    NewAxis(usize),
    /// There is but one.
    Alone,
    /// There is but one, of which only these indices are taken: along the axis, from the first, so many.
    #[cfg_attr(not(feature = "object"), allow(dead_code))]
    Piece { axis: usize, first: usize, len: usize },
}

/// The arrays that become one.
#[derive(Default)]
pub(super) struct Inputs {
    headers: Vec<Header>,
    sources: Vec<Box<dyn Input>>,
    /// Of the files, what they are, and how many bytes follow their arrays.
    files: Vec<(Option<FileId>, Option<u64>)>,
}

/// Is given the bytes of an array.
type Call<'a> = dyn FnMut(Anywhere<'_>) -> Result<()> + 'a;

/// Where the bytes of an array are.
trait Input: Sync {
    /// Calls with the bytes.
    fn with(&self, call: &mut Call<'_>) -> Result<()>;

    /// An error with the name of the file.
    fn named(&self, error: Error) -> Error;
}

impl<F: ArrayFormat> Input for ArrayFile<F> {
    fn with(&self, call: &mut Call<'_>) -> Result<()> {
        call(self.anywhere())
    }

    fn named(&self, error: Error) -> Error {
        self.at_path(error)
    }
}

/// A file that is opened again when it is its turn, because a process may not have so many open at once.
struct Closed {
    path: PathBuf,
    header: Header,
    options: ReadOptions,
}

impl Input for Closed {
    fn with(&self, call: &mut Call<'_>) -> Result<()> {
        let file = NpyFile::open_with(&self.path, &self.options)?;
        if *file.header() != self.header {
            let reason = "the file holds another array than when the work began".into();
            return Err(self.named(ErrorKind::ArrayChanged { reason }.into()));
        }
        file.check_complete()?;
        call(file.anywhere())
    }

    fn named(&self, error: Error) -> Error {
        error.at_path(&self.path)
    }
}

impl Input for DynArray {
    fn with(&self, call: &mut Call<'_>) -> Result<()> {
        call(Anywhere::Bytes(self.bytes()))
    }

    fn named(&self, error: Error) -> Error {
        error
    }
}

impl Inputs {
    /// NPY files.
    pub(super) fn open<P: AsRef<Path>>(paths: &[P], options: &ReadOptions) -> Result<Self> {
        /// So many files stay open, of the 256 or more that a process may have.
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

    /// An error if one of the files is the target and has rows that an append has left uncounted: they would be lost with it.
    pub(super) fn refuse_uncounted_rows(&self, target: &File) -> Result<()> {
        let target = id_of(target)?;
        for ((header, source), (file, trailing)) in self.headers.iter().zip(&self.sources).zip(&self.files) {
            if let (true, Some(bytes @ 1..)) = (target == *file, *trailing) {
                let rows = bytes.checked_div(header.row_bytes()).unwrap_or(0);
                return Err(source.named(ErrorKind::Trailing { bytes, at_least: false, rows }.into()));
            }
        }
        Ok(())
    }

    /// The header of all arrays together.
    pub(super) fn header(&self, along: Along, conversion: &Conversion<'_>) -> Result<Header> {
        let Some(first) = self.headers.first() else {
            return Err(ErrorKind::BadOption { reason: "there is no file to make one of".into() }.into());
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
            // Whether there are elements or not.
            change(header.dtype(), &conversion.target(header.dtype()), conversion.casting())
                .map_err(|error| source.named(error))?;
            // Elements that take no bytes in their file may be more than there is room for.
            if header.dtype().item_size() == 0 && dtype.item_size() > 0 {
                limits::check(LimitKind::EmptyItems, header.len(), Limits::EMPTY_ITEMS as u64)
                    .map_err(|error| source.named(error))?;
            }
        }
        let has_axis = matches!(along, Along::Axis(_) | Along::NewAxis(_));
        if has_axis && axis >= dims.len() + usize::from(is_new) {
            let reason = format!("arrays of shape {} have no axis {axis} to stand along", first.the_shape());
            return Err(ErrorKind::BadOption { reason }.into());
        }
        for (header, source) in self.headers.iter().zip(&self.sources).skip(1) {
            let others = header.shape();
            let fits =
                |(at, (one, other)): (usize, (&usize, &usize))| one == other || (at == axis && !is_new);
            if others.len() != dims.len() || !dims.iter().zip(others).enumerate().all(fits) {
                let (found, wanted) = (header.the_shape().clone(), first.the_shape().clone());
                return Err(source.named(ErrorKind::ShapeMismatch { found, wanted }.into()));
            }
            if conversion.target(header.dtype()) != dtype {
                let found = header.dtype().clone();
                let error = Error::from(ErrorKind::DTypeMismatch { found, wanted: dtype });
                return Err(source.named(error.with_help(Help::OneDType)));
            }
            if !is_new {
                dims[axis] = dims[axis].checked_add(others[axis]).ok_or_else(|| {
                    Error::from(ErrorKind::Overflow { what: "the length of all files together".into() })
                })?;
            }
        }
        if is_new {
            dims.insert(axis, self.headers.len());
        }
        Header::new(dtype, conversion.order.unwrap_or(first.order()), dims.into())
    }

    /// Writes all of them into a new file, behind its header.
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
        let has_places = os::len_of_regular(file).is_some() && !os::only_appends(file);
        if has_places {
            let start = file.stream_position()?;
            self.move_to(Some(start), file, along, header, conversion, &mut told)?;
            file.seek(SeekFrom::Start(start + all))?;
        } else if self.follow_one_another(along, header) {
            self.move_to(None, file, along, header, conversion, &mut told)?;
        } else {
            // Parts of each array in turn, which only a file can take.
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

    /// Whether the arrays stand one behind the other in the new file.
    fn follow_one_another(&self, along: Along, header: &Header) -> bool {
        let (Along::Axis(axis) | Along::NewAxis(axis)) = along else { return true };
        let slowest =
            if header.order() == Order::C { 0 } else { header.the_shape().ndim().saturating_sub(1) };
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
        // In memory are a tile for each thread, and of what is written in order two more.
        let memory = conversion.most() / if start.is_some() { threads } else { 3 * threads };
        let writes = if start.is_some() { Writes::Anywhere } else { Writes::InOrder };
        let item = target.dtype().item_size();
        let to = target.the_shape().strides(target.order());
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
            let from = header.the_shape().strides(header.order());
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
                // Both blocks come to have room for the larger items.
                Change::Recode(recode) => (Work::Into(recode), memory / (2 * own.max(item)) * (own + item)),
            };
            let plan = Plan::new(axes, from, Side { start: place, item }, memory, writes);
            let named = |error| source.named(error);
            let mut run = |bytes: Anywhere<'_>| {
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
