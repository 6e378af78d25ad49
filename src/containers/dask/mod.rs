//! Stacks of NPY files, as written and read by [Dask](https://docs.dask.org).
//!
//! In Dask, the functions are `dask.array.to_npy_stack` and `dask.array.from_npy_stack`.
//!
//! A stack is a folder with the files `0.npy`, `1.npy`, …, which form one array concatenated along an axis,
//! and a file `info` (a pickle) with the lengths of the parts, the dtype and the axis. Several machines can
//! read or compute parts independently.
//!
//! ```
//! use ndarray::{Array2, arr2, s};
//! use ndarray_io::dask::{NpyStack, NpyStackWriter};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path().join("steps");
//! // Parts of shape (_, 3), concatenated along axis 0.
//! let mut writer = NpyStackWriter::create(&folder, &"<f8".parse()?, &[3], 0)?;
//! writer.push(&arr2(&[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]))?;
//! writer.push(&arr2(&[[6.0, 7.0, 8.0]]))?;
//! writer.finish()?; // now dask.array.from_npy_stack("steps") has both parts
//!
//! let stack = NpyStack::open(&folder)?;
//! assert_eq!(stack.shape(), [3, 3]);
//! assert_eq!(stack.lengths(), [2, 1]);
//! let part: Array2<f64> = stack.slice(s![1.., ..;2])?; // reads only what it needs
//! assert_eq!(part, arr2(&[[3.0, 5.0], [6.0, 8.0]]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Supported stacks
//!
//! Stacks that Dask writes can be read, and so can folders without `info` whose parts are numbered without
//! gaps. The parts may be in C or Fortran order and in either byte order, and may have a length of 0. Lengths
//! that Dask did not know (`nan`) are read from the parts. Stacks without axes, stacks of Python objects, and
//! stacks whose `info` names another dtype than that of the parts are not supported. (The last kind results
//! from a wrong `meta` in Dask.)
//!
//! # Performance
//!
//! Reading is as fast as reading one file if all parts have the same order and byte order and are
//! concatenated along the slowest axis (the first in C order). Along another axis, each row spans all parts:
//! up to 64 files stay open, and if there are more, files are reopened every few megabytes. A part whose
//! order or byte order differs from that of the whole array is read completely; about 256 MiB of such parts
//! and one more are cached.
//! [`convert_stack_to_npy`] reads parts of the same layout together where their rows interleave, and otherwise
//! one part after another.
//!
//! # Security
//!
//! `info` is read as data: nothing in the pickle is executed. (Dask's `from_npy_stack` executes it.)
//!
//! # Concurrent access
//!
//! Only `info` determines which parts belong to the stack. [`NpyStackWriter`] writes each part by the
//! protocol of `docs/concurrency.md`, and then an `info` that includes it. A reader sees either only the old
//! parts or also the new ones. A writer that is killed leaves at most parts that are not in `info`, about which the next
//! writer decides ([`WriteOptions::uncommitted`](crate::WriteOptions::uncommitted)). A new stack appears with its `info`, and that of a conversion when it is complete.

mod convert;
mod info;
mod parts;
mod writer;

use std::io;
use std::path::Path;
use std::sync::Arc;

use ndarray::{Array, Dimension, IxDyn, SliceArg};

pub use convert::{convert_file_to_stack, convert_npy_to_stack, convert_stack_to_npy};
use info::{Info, are_equal_except_byte_order, malformed_stack};
use parts::JoinedParts;
pub use writer::NpyStackWriter;

use crate::blocks::Chunks;
use crate::bytes::{FirstNotLoaded, Folder, LocalFolder, ReadAt, Region};
use crate::dtype::DType;
use crate::elements::ReadableElement;
use crate::error::{Error, Fault, Result, WantedShape};
use crate::header::AxisIndex;
use crate::io::ReadArray;
use crate::options::ReadOptions;
use crate::parts::NpyFile;
use crate::transfer::{Source, read_rest};

/// A stack of NPY files, which can be read like a single file.
///
/// Opening reads `info` and the header of one part; other headers are read only if there is no `info`, or if
/// it lacks the lengths of parts. All other parts are opened, and compared with `info`, when elements of them
/// are read. About 64 files are open at a time. A stack can be shared between threads.
///
/// ```
/// use ndarray::{Array2, Ix2};
/// use ndarray_io::dask::{NpyStack, convert_npy_to_stack};
/// use ndarray_io::convert::Conversion;
///
/// # let temporary = tempfile::tempdir()?;
/// # let (path, folder) = (temporary.path().join("a.npy"), temporary.path().join("a"));
/// ndarray_io::write_npy(&path, &Array2::<f32>::ones((1000, 20)))?;
/// convert_npy_to_stack(&path, &folder, 0, 300, Conversion::new())?;
///
/// let stack = NpyStack::open(&folder)?;
/// assert_eq!(stack.lengths(), [300, 300, 300, 100]);
/// let mut sum = 0.0;
/// for chunk in stack.chunks::<f32, Ix2>(0, 50)? {
///     sum += chunk?.sum();
/// }
/// assert_eq!(sum, 20_000.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NpyStack {
    folder: Arc<dyn Folder>,
    info: Info,
    /// All parts, presented as one file.
    whole: NpyFile,
    options: ReadOptions,
}

impl NpyStack {
    /// Opens the stack in a folder.
    ///
    /// Without `info`, the parts are assumed to be concatenated along axis 0, and the header of each is read.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if the system fails, or the folder has neither `info` nor `0.npy`;
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) or another error of the [format](Error::is_format) if `info` or a
    ///   part is malformed, or a part is missing between others;
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) or [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if a part
    ///   does not match the others or `info`;
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects;
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the [`Limits`](crate::Limits) are exceeded.
    pub fn open<P: AsRef<Path>>(folder: P) -> Result<Self> {
        ReadOptions::new().open_stack(folder)
    }

    /// Opens a stack whose parts and `info` are in any [folder](Folder).
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), and those of the folder and its sources.
    pub fn from_folder<S: Folder + 'static>(folder: S, options: &ReadOptions) -> Result<Self> {
        Self::open_at(&(Arc::new(folder) as Arc<dyn Folder>), 0, options)
    }

    /// Opens a stack in any [folder](Folder), whose parts are concatenated along this axis.
    ///
    /// # Errors
    ///
    /// Those of [`open_along`](Self::open_along), and those of the folder and its sources.
    pub fn from_folder_along<S: Folder + 'static>(
        folder: S,
        axis: impl AxisIndex,
        options: &ReadOptions,
    ) -> Result<Self> {
        Self::open_at_along(&(Arc::new(folder) as Arc<dyn Folder>), axis.number(), options)
    }

    /// Opens a stack. Without `info`, its parts are concatenated along `axis`.
    fn open_at(folder: &Arc<dyn Folder>, axis: usize, options: &ReadOptions) -> Result<Self> {
        let info = match read_info(&**folder, options)? {
            Some((info, _)) => info,
            None => infer_info(&**folder, axis, options)?,
        };
        Self::of(folder, info, options)
    }

    /// Opens a stack whose parts are concatenated along the given axis, usually one without `info`.
    ///
    /// Without `info`, the header of each part is read. An existing `info` must name the same axis.
    ///
    /// # Errors
    ///
    /// As for [`NpyStack::open`], [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the parts have no such axis, and [`BadOption`](crate::error::ErrorKind::BadOption) if
    /// `info` names another axis.
    pub fn open_along<P: AsRef<Path>>(
        folder: P,
        axis: impl AxisIndex,
        options: &ReadOptions,
    ) -> Result<Self> {
        Self::open_at_along(&local_folder(folder.as_ref()), axis.number(), options)
    }

    fn open_at_along(folder: &Arc<dyn Folder>, axis: usize, options: &ReadOptions) -> Result<Self> {
        let stack = Self::open_at(folder, axis, options)?;
        if stack.axis() != axis {
            let reason = format!("the parts are concatenated along axis {}, expected {axis}", stack.axis());
            return Err(Error::from(Fault::BadOption { reason }).at_path(&folder.path()));
        }
        Ok(stack)
    }

    fn of(folder: &Arc<dyn Folder>, info: Info, options: &ReadOptions) -> Result<Self> {
        let whole = || options.open_source(JoinedParts::new(folder, info.clone(), options)?);
        let path = folder.path();
        let whole = whole().map_err(|error: Error| error.at_path(&path))?.with_path(&path);
        let whole =
            whole.without_refresh("the array of a stack cannot be refreshed: refresh the stack itself");
        Ok(Self { folder: Arc::clone(folder), info, whole, options: options.clone() })
    }

    /// Returns the shape of the entire array.
    pub fn shape(&self) -> &[usize] {
        self.whole.shape()
    }

    /// Returns the dtype of the elements, in the byte order of the part that determines the layout.
    ///
    /// That part is the first one whose layout depends on its order (at least two of its axes are longer than
    /// 1), or else the first one that is not empty.
    pub fn dtype(&self) -> &DType {
        self.whole.dtype()
    }

    /// Returns the axis along which the parts are concatenated.
    pub fn axis(&self) -> usize {
        self.info.axis
    }

    /// Returns the lengths of the parts along [`axis`](Self::axis).
    pub fn lengths(&self) -> &[usize] {
        &self.info.lengths
    }

    /// Opens one part as a file.
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::open`]; [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if there is no such part;
    /// [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) or [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if it does
    /// not match `info`.
    pub fn part(&self, number: usize) -> Result<NpyFile> {
        if number >= self.info.lengths.len() {
            let (index, length) = (number as i128, self.info.lengths.len() as u64);
            return Err(
                Error::from(Fault::OutOfBounds { index, length, axis: None }).at_path(&self.folder.path())
            );
        }
        parts::open(&*self.folder, &self.info, number, &self.options)
    }

    /// Returns the entire stack as one file.
    ///
    /// This gives access to all methods of [`NpyFile`], such as [`rows`](NpyFile::rows),
    /// [`take`](NpyFile::take), [`slice_any`](NpyFile::slice_any) and [`slice_into`](NpyFile::slice_into).
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_io::dask::NpyStack;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # ndarray_io::write_npy(folder.path().join("0.npy"), &arr1(&[1, 2]))?;
    /// # ndarray_io::write_npy(folder.path().join("1.npy"), &arr1(&[3, 4]))?;
    /// let stack = NpyStack::open(&folder)?;
    /// let picked: Array1<i32> = stack.as_file().take(0, &[3, 0])?;
    /// assert_eq!(picked, arr1(&[4, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_file(&self) -> &NpyFile {
        &self.whole
    }

    /// Converts the stack into one file. See [`as_file`](Self::as_file).
    pub fn into_file(self) -> NpyFile {
        self.whole
    }

    /// Reads the entire array.
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::read`]; [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) or
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if a part does not match `info`.
    pub fn read<T: ReadArray>(&self) -> Result<T> {
        self.whole.read()
    }

    /// Reads a slice of the array, selected as with ndarray's `slice`.
    ///
    /// Only the files that contain elements of the slice, and possibly files between these, are opened.
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::slice`]; [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) or
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if a part does not match `info`.
    pub fn slice<A, I>(&self, slice: I) -> Result<Array<A, I::OutDim>>
    where
        A: ReadableElement,
        I: SliceArg<IxDyn>,
    {
        self.whole.slice(slice)
    }

    /// Iterates over the array in chunks of `length` indices along any axis.
    ///
    /// The boundaries of chunks are independent of those of the files.
    ///
    /// # Errors
    ///
    /// As for [`NpyFile::chunks`].
    pub fn chunks<A: ReadableElement, D: Dimension>(
        &self,
        axis: impl AxisIndex,
        length: usize,
    ) -> Result<Chunks<'_, A, D>> {
        self.whole.chunks(axis, length)
    }

    /// Reads `info` again and returns whether another process has appended parts.
    ///
    /// If so, this stack then includes them.
    ///
    /// # Errors
    ///
    /// As for [`NpyStack::open`], and [`Changed`](crate::error::ErrorKind::Changed) if the stack does not begin
    /// with the parts that it had before, or has another shape or dtype. After an error, `self` is unchanged.
    pub fn refresh(&mut self) -> Result<bool> {
        // Opened completely before anything is replaced: after an error, `self` is unchanged.
        let reopened = Self::open_at(&self.folder, self.info.axis, &self.options)?;
        let (old, new) = (&self.info, &reopened.info);
        // The shapes may differ only along the axis.
        let is_same_but_longer = {
            let mut shape = new.shape.clone();
            shape.get_mut(new.axis).zip(old.shape.get(new.axis)).is_some_and(|(new, old)| {
                *new = *old;
                true
            }) && shape == old.shape
        };
        if !is_same_but_longer
            || new.axis != old.axis
            || !are_equal_except_byte_order(&old.dtype, &new.dtype)
            || !new.lengths.starts_with(&old.lengths)
        {
            let reason = "the folder holds another stack than when it was opened".into();
            return Err(Error::from(Fault::ArrayChanged { reason }).at_path(&self.folder.path()));
        }
        let has_more = new.lengths.len() > old.lengths.len();
        *self = reopened;
        Ok(has_more)
    }
}

/// The name of the file that describes a stack.
const INFO_FILE: &str = "info";

fn local_folder(folder: &Path) -> Arc<dyn Folder> {
    Arc::new(LocalFolder(folder.to_owned()))
}

/// Reads and parses `info`; `None` if it does not exist. Also returns its bytes.
fn read_info(folder: &dyn Folder, options: &ReadOptions) -> Result<Option<(Info, Vec<u8>)>> {
    let read = || {
        let bytes = match folder.open(INFO_FILE) {
            Err(error) if error.is_not_found() => return Ok(None),
            opened => read_info_bytes(&*opened?, options)?,
        };
        Ok(Some((Info::parse(&bytes, options, &part_shape_reader(folder, options))?, bytes)))
    };
    read().map_err(|error: Error| error.at_path(&folder.path_of(INFO_FILE)))
}

/// Returns a function that reads the shape of a part from its header.
fn part_shape_reader(folder: &dyn Folder, options: &ReadOptions) -> impl Fn(usize) -> Result<Vec<usize>> {
    move |number| Ok(parts::open_unchecked(folder, number, options)?.shape().to_vec())
}

/// Reads an entire `info`, as far as the limits allow.
fn read_info_bytes(info: &dyn ReadAt, options: &ReadOptions) -> Result<Vec<u8>> {
    read_rest(&mut Source::region(Region::of(info).with_known_end()?), &options.without_progress())
}

/// Creates the `info` for the parts in a folder, from their headers.
fn infer_info(folder: &dyn Folder, axis: usize, options: &ReadOptions) -> Result<Info> {
    let (numbers, path) = (parts::numbers(folder)?, folder.path());
    if numbers.is_empty() {
        let error = io::Error::new(io::ErrorKind::NotFound, "neither 'info' nor '0.npy' was found");
        return Err(Error::from(error).at_path(&path));
    }
    if let Some((missing, found)) = numbers.iter().enumerate().find(|(wanted, number)| wanted != *number) {
        let (missing, found) = (parts::name(missing), parts::name(*found));
        return Err(malformed_stack(format!("{missing} is missing, although {found} exists")).at_path(&path));
    }
    let mut first: Option<Info> = None;
    let (mut lengths, mut not_loaded) = (Vec::new(), FirstNotLoaded::default());
    for number in numbers {
        let Some(part) = not_loaded.defer(parts::open_unchecked(folder, number, options))? else { continue };
        let Some(&length) = part.shape().get(axis) else {
            let shape = part.header().shape_ref().clone();
            return Err(part.at_path(Fault::NoSuchAxis { axis, shape }.into()));
        };
        lengths.push(length);
        let Some(first) = &mut first else {
            first = Some(Info::new(part.dtype().clone(), part.shape().to_vec(), axis, vec![length])?);
            continue;
        };
        first.shape[axis] = length;
        if part.shape() != first.shape {
            let (found, wanted) = (part.shape().into(), first.shape.as_slice().into());
            return Err(
                part.at_path(Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(wanted) }.into())
            );
        }
        if !are_equal_except_byte_order(part.dtype(), &first.dtype) {
            let (found, wanted) = (part.dtype().clone(), first.dtype.clone());
            return Err(part.at_path(Fault::DTypeMismatch { found, wanted }.into()));
        }
    }
    not_loaded.into_result()?;
    let Some(first) = first else { unreachable!("there is a part") };
    Info::new(first.dtype, first.shape, axis, lengths).map_err(|error| error.at_path(&path))
}

impl ReadOptions {
    /// Opens a stack. See [`NpyStack::open`]. The options apply to all parts.
    ///
    /// # Errors
    ///
    /// Those of [`NpyStack::open`].
    pub fn open_stack(&self, folder: impl AsRef<Path>) -> Result<NpyStack> {
        NpyStack::open_at(&local_folder(folder.as_ref()), 0, self)
    }
}
