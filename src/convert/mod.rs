//! Converts, concatenates and stacks files of any size in bounded memory.
//!
//! The order, byte order, dtype and format of the result can differ from those of the inputs.

mod conversion;
mod join;

use std::fs::File;
use std::io::Write;
use std::path::Path;

pub use conversion::Conversion;
use join::{Inputs, JoinKind};

#[cfg(feature = "dask")]
use crate::dtype::Casting;
use crate::dtype::DType;
use crate::dynamic::DynArray;
use crate::error::{CopyReason, Error, Fault, Remedy, Result};
use crate::header::{Extent, Header};
use crate::io::change::{self, Locked};
use crate::io::{Expected, FormatHeader};
use crate::npy_format as npy;
use crate::options::{Trailing, Verb};
use crate::parts::NpyFile;
use crate::path;
use crate::ra_format::RaHeader;
use crate::shape::{AxisIndex, Order};

impl Conversion<'_> {
    /// Returns the header of the NPY file that this conversion makes of an open array.
    ///
    /// This checks what does not depend on the elements: that the file is complete, and that the casting rule allows the
    /// conversion.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`Truncated`](crate::error::ErrorKind::Truncated) if the file is shorter than its header declares.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements cannot be converted.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::convert::Conversion;
    /// use ndarray_io::{Casting, NpyFile, WriteNpyExt};
    ///
    /// let mut bytes = Vec::new();
    /// arr1(&[1u16, 2]).write_npy(&mut bytes)?;
    /// let file = NpyFile::from_source(InMemory(bytes))?;
    /// // As wide as the longest number.
    /// let header = Conversion::new().dtype("U".parse()?, Casting::Safe).header_of(&file)?;
    /// assert_eq!(header.dtype(), &"<U5".parse()?);
    /// assert!(Conversion::new().dtype("i1".parse()?, Casting::Safe).header_of(&file).is_err());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn header_of(&self, file: &NpyFile) -> Result<Header> {
        Inputs::of_file(file)?.header(JoinKind::Single, self)
    }
}

/// Converts an NPY file of any size to another NPY file.
///
/// An existing output is replaced atomically, unless the options request writing in place. Input and output
/// may be the same file.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the elements cannot be converted or are Python objects.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the requested version, or if the input would be
///   overwritten in place.
/// - A [conflict](crate::Error::is_conflict) if the existing output is locked or cannot be replaced.
/// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if the output is also an input, and has rows
///   of an interrupted append, which would be lost.
///
/// # Examples
///
/// ```
/// use ndarray::Array2;
/// use ndarray_io::convert::{Conversion, convert_npy};
/// use ndarray_io::header::Order;
/// use ndarray_io::NpyFile;
///
/// # let folder = tempfile::tempdir()?;
/// # let (c, f) = (folder.path().join("c.npy"), folder.path().join("f.npy"));
/// ndarray_io::write_npy(&c, &Array2::<f32>::zeros((1000, 20)))?;
/// convert_npy(&c, &f, Conversion::new().order(Order::Fortran))?;
/// assert_eq!(NpyFile::open(&f)?.order(), Order::Fortran);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_npy<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q, conversion: Conversion<'_>) -> Result<()> {
    join_npy(&[from], to.as_ref(), JoinKind::Single, conversion)
}

/// Concatenates NPY files along an existing axis.
///
/// All other axes must have equal lengths. The dtypes must be equal after [`Conversion::dtype`] and
/// [`Conversion::byte_order`] are applied. The order is that of the first file unless [`Conversion::order`]
/// sets it.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the elements cannot be converted or are Python objects.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the requested version, or if an input would be overwritten
///   in place, or if `from` is empty.
/// - [`Changed`](crate::error::ErrorKind::Changed) if an input is replaced by a different array
///   during the conversion, and this is detected when the file is reopened.
/// - A [conflict](crate::Error::is_conflict) if the existing output is locked or cannot be replaced.
/// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if the output is also an input, and has rows
///   of an interrupted append, which would be lost.
/// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the arrays do not have the axis.
/// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the shapes are incompatible.
/// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the dtypes differ.
/// - [`Malformed`](crate::error::ErrorKind::Malformed) if the result is too large.
///
/// # Examples
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::convert::{Conversion, concatenate_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let (a, b, all) = (folder.path().join("a.npy"), folder.path().join("b.npy"), folder.path().join("all.npy"));
/// ndarray_io::write_npy(&a, &arr1(&[1, 2]))?;
/// ndarray_io::write_npy(&b, &arr1(&[3]))?;
/// concatenate_npy(&[a, b], &all, 0, Conversion::new())?;
/// assert_eq!(ndarray_io::read_npy::<_, Array1<i32>>(&all)?, arr1(&[1, 2, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn concatenate_npy<P, Q>(
    from: &[P],
    to: Q,
    axis: impl AxisIndex,
    conversion: Conversion<'_>,
) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    join_npy(from, to.as_ref(), JoinKind::Axis(axis.number()), conversion)
}

/// Stacks NPY files of equal shape along a new axis, like `numpy.stack`.
///
/// In all other respects, it works like [`concatenate_npy`].
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the elements cannot be converted or are Python objects.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the requested version, or if an input would be overwritten
///   in place, or if `from` is empty.
/// - [`Changed`](crate::error::ErrorKind::Changed) if an input is replaced by a different array
///   during the conversion, and this is detected when the file is reopened.
/// - A [conflict](crate::Error::is_conflict) if the existing output is locked or cannot be replaced.
/// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if the output is also an input, and has rows
///   of an interrupted append, which would be lost.
/// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the arrays do not have the axis.
/// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the shapes are incompatible.
/// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the dtypes differ.
/// - [`Malformed`](crate::error::ErrorKind::Malformed) if the result is too large.
///
/// # Examples
///
/// ```
/// use ndarray::{arr1, arr2, Array2};
/// use ndarray_io::convert::{Conversion, stack_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let (a, b, all) = (folder.path().join("a.npy"), folder.path().join("b.npy"), folder.path().join("all.npy"));
/// ndarray_io::write_npy(&a, &arr1(&[1, 2]))?;
/// ndarray_io::write_npy(&b, &arr1(&[3, 4]))?;
/// stack_npy(&[a, b], &all, 1, Conversion::new())?;
/// assert_eq!(ndarray_io::read_npy::<_, Array2<i32>>(&all)?, arr2(&[[1, 3], [2, 4]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stack_npy<P, Q>(from: &[P], to: Q, axis: impl AxisIndex, conversion: Conversion<'_>) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    join_npy(from, to.as_ref(), JoinKind::NewAxis(axis.number()), conversion)
}

fn join_npy<P: AsRef<Path>>(
    from: &[P],
    to: &Path,
    along: JoinKind,
    conversion: Conversion<'_>,
) -> Result<()> {
    conversion.write.check_at_path(Verb::Convert, to)?;
    let locked = lock_if_input(to, from, &conversion)?;
    join(Inputs::open(from, &conversion.read)?, locked, to, along, conversion)
}

fn join(
    inputs: Inputs<'_>,
    locked: Option<Locked>,
    to: &Path,
    along: JoinKind,
    mut conversion: Conversion<'_>,
) -> Result<()> {
    if let Some(target) = &locked {
        inputs.check_uncommitted_rows(target)?;
    }
    let header = inputs.header(along, &conversion)?;
    let head = npy::format(&header, conversion.write.version)?;
    write_file(to, locked, inputs, along, (&header, &head), &[], &mut conversion)
}

/// Converts an open array to an NPY file: a file, a member of an archive, a stack, or any other source.
///
/// If the new file is the one that is read, it is replaced when it is complete, under the lock of writers. A
/// compressed member, a stack, and a source without [`file`](crate::bytes::ReadAt::file) and
/// [`lock_file`](crate::bytes::ReadAt::lock_file) do not say which file they read: do not overwrite it with
/// [`in_place`](crate::WriteOptions::in_place).
///
/// # Errors
///
/// As for [`convert_npy`].
///
/// # Examples
///
/// ```
/// use ndarray::{Array2, arr2};
/// use ndarray_io::bytes::InMemory;
/// use ndarray_io::convert::{Conversion, convert_file};
/// use ndarray_io::{Casting, NpyFile, WriteNpyExt};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npy");
/// let mut bytes = Vec::new();
/// arr2(&[[1i16, 2], [3, 4]]).write_npy(&mut bytes)?;
/// let file = NpyFile::from_source(InMemory(bytes))?;
/// convert_file(&file, &path, Conversion::new().dtype("<f8".parse()?, Casting::Safe))?;
/// assert_eq!(ndarray_io::read_npy::<_, Array2<f64>>(&path)?, arr2(&[[1.0, 2.0], [3.0, 4.0]]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_file<Q>(from: &NpyFile, to: Q, conversion: Conversion<'_>) -> Result<()>
where
    Q: AsRef<Path>,
{
    join_files([from], to.as_ref(), JoinKind::Single, conversion)
}

/// Concatenates open arrays along an axis, like [`concatenate_npy`].
///
/// # Errors
///
/// As for [`concatenate_npy`].
pub fn concatenate_files<Q>(
    from: &[&NpyFile],
    to: Q,
    axis: impl AxisIndex,
    conversion: Conversion<'_>,
) -> Result<()>
where
    Q: AsRef<Path>,
{
    join_files(from.iter().copied(), to.as_ref(), JoinKind::Axis(axis.number()), conversion)
}

/// Stacks open arrays along a new axis, like [`stack_npy`].
///
/// # Errors
///
/// As for [`stack_npy`].
pub fn stack_files<Q>(
    from: &[&NpyFile],
    to: Q,
    axis: impl AxisIndex,
    conversion: Conversion<'_>,
) -> Result<()>
where
    Q: AsRef<Path>,
{
    join_files(from.iter().copied(), to.as_ref(), JoinKind::NewAxis(axis.number()), conversion)
}

/// Converts an open array like [`convert_file`], into an open, empty file.
///
/// This is for callers who replace a file by themselves, such as with
/// [`FileReplacement`](crate::file::FileReplacement). Rows of an interrupted append would be lost then: the caller looks for them
/// ([`check_end`](NpyFile::check_end)).
///
/// # Errors
///
/// As for [`convert_npy`], except for the errors of replacing a file.
///
/// # Examples
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::convert::{Conversion, convert_file_into};
/// use ndarray_io::{Casting, WriteOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npy");
/// ndarray_io::write_npy(&path, &arr1(&[1i16, 2, 3]))?;
/// let old = WriteOptions::new().begin_replacement(&path)?; // locked from here on
/// let array = ndarray_io::ReadOptions::new().open_file(old.file().try_clone()?)?;
/// array.check_end()?;
/// let conversion = Conversion::new().dtype("<f8".parse()?, Casting::Safe);
/// old.replace_with(|new| convert_file_into(&array, new, conversion))?;
/// assert_eq!(ndarray_io::read_npy::<_, Array1<f64>>(&path)?, arr1(&[1.0, 2.0, 3.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_file_into(from: &NpyFile, to: &File, conversion: Conversion<'_>) -> Result<()> {
    join_files_into([from], to, JoinKind::Single, conversion)
}

/// Concatenates open arrays like [`concatenate_files`], into an open, empty file.
///
/// # Errors
///
/// As for [`concatenate_npy`], except for the errors of replacing a file.
pub fn concatenate_files_into(
    from: &[&NpyFile],
    to: &File,
    axis: impl AxisIndex,
    conversion: Conversion<'_>,
) -> Result<()> {
    join_files_into(from.iter().copied(), to, JoinKind::Axis(axis.number()), conversion)
}

/// Stacks open arrays like [`stack_files`], into an open, empty file.
///
/// # Errors
///
/// As for [`stack_npy`], except for the errors of replacing a file.
pub fn stack_files_into(
    from: &[&NpyFile],
    to: &File,
    axis: impl AxisIndex,
    conversion: Conversion<'_>,
) -> Result<()> {
    join_files_into(from.iter().copied(), to, JoinKind::NewAxis(axis.number()), conversion)
}

/// Returns an error if an NPY file cannot have all that is in a file with this header.
fn check_representable_in_npy(
    found: &FormatHeader,
    trailing: Option<u64>,
    conversion: &Conversion<'_>,
) -> Result<()> {
    if let (true, false, Some(bytes @ 1..)) = (found.allows_trailing(), conversion.drop_trailing, trailing) {
        let error = Error::from(Fault::Trailing { bytes, at_least: false, rows: 0 });
        return Err(error.with_help(Remedy::DropTrailing));
    }
    found.check_representable_in_npy()
}

fn check_all_representable_as_npy<'f>(
    files: impl IntoIterator<Item = &'f NpyFile>,
    conversion: &Conversion<'_>,
) -> Result<()> {
    files.into_iter().try_for_each(|file| {
        check_representable_in_npy(file.format_header(), file.extent()?.trailing(), conversion)
            .map_err(|error| file.at_path(error))
    })
}

fn join_files_into<'f>(
    from: impl IntoIterator<Item = &'f NpyFile> + Clone,
    to: &File,
    along: JoinKind,
    mut conversion: Conversion<'_>,
) -> Result<()> {
    conversion.write.check_for(Verb::Convert)?;
    check_all_representable_as_npy(from.clone(), &conversion)?;
    let inputs = Inputs::of_files(from)?;
    let header = inputs.header(along, &conversion)?;
    let head = npy::format(&header, conversion.write.version)?;
    inputs.write(to, along, (&header, &head), &mut conversion)
}

fn join_files<'f>(
    from: impl IntoIterator<Item = &'f NpyFile> + Clone,
    to: &Path,
    along: JoinKind,
    conversion: Conversion<'_>,
) -> Result<()> {
    conversion.write.check_at_path(Verb::Convert, to)?;
    check_all_representable_as_npy(from.clone(), &conversion)?;
    let ids = from.clone().into_iter().map(NpyFile::id).collect::<Result<Vec<_>>>()?;
    let locked =
        change::lock_if_open_input(to, &ids, &conversion.write).map_err(|error| error.at_path(to))?;
    join(Inputs::of_files(from)?, locked, to, along, conversion)
}

/// Converts an NPY file of any size to an RA file.
///
/// The axes are kept, and the elements are rearranged into RA's order. With
/// [`order(Order::C)`](Conversion::order) the elements stay in C order, and the axes are reversed. Dtypes
/// that RA cannot represent (text, times, bool, records with named fields) are an error.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the elements cannot be converted, are Python objects, or
///   cannot be represented in RA.
/// - A [conflict](crate::Error::is_conflict) if the existing output is locked or cannot be replaced, or if bytes
///   that follow its array would be lost.
/// - [`Uncommitted`](crate::error::ErrorKind::Uncommitted) if the output is also an input, and has rows
///   of an interrupted append, which would be lost.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the input would be overwritten in place.
///
/// # Examples
///
/// ```
/// use ndarray::{Array2, arr2};
/// use ndarray_io::convert::{Conversion, convert_npy_to_ra, convert_ra_to_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let (npy, ra) = (folder.path().join("a.npy"), folder.path().join("a.ra"));
/// ndarray_io::write_npy(&npy, &arr2(&[[1, 2, 3], [4, 5, 6]]))?;
/// convert_npy_to_ra(&npy, &ra, Conversion::new())?;
/// assert_eq!(ndarray_io::ra::read_ra::<_, Array2<i32>>(&ra)?[[1, 0]], 4);
/// convert_ra_to_npy(&ra, &npy, Conversion::new())?;
/// # assert_eq!(ndarray_io::read_npy::<_, Array2<i32>>(&npy)?[[1, 0]], 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_npy_to_ra<P, Q>(from: P, to: Q, mut conversion: Conversion<'_>) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    let to = to.as_ref();
    conversion.write.check_at_path(Verb::ConvertToRa, to)?;
    let locked = lock_if_input(to, &[&from], &conversion)?;
    let inputs = Inputs::of_file(NpyFile::open_expecting(from.as_ref(), Expected::NPY, &conversion.read)?)?;
    conversion.order = conversion.order.or(Some(Order::Fortran));
    let header = inputs.header(JoinKind::Single, &conversion)?;
    if let DType::Record(_) = header.dtype() {
        let reason = "the names of its fields would be lost".into();
        let dtype = header.dtype().clone();
        return Err(Error::from(Fault::NotRepresentable { format: "RA", dtype, reason }).at_path(to));
    }
    let head =
        RaHeader::of(&header, conversion.write.ra_bools).map_err(|error| error.at_path(to))?.to_bytes();
    let heads = (&header, &head[..]);
    if let Some(target) = &locked {
        inputs.check_uncommitted_rows(target)?;
        // The old file is the input: it is NPY, and has no bytes to keep or to protect.
        let trailing = match conversion.write.get_trailing() {
            Trailing::Write(bytes) => bytes.clone(),
            Trailing::Protect | Trailing::Keep => Vec::new(),
        };
        return write_file(to, locked, inputs, JoinKind::Single, heads, &trailing, &mut conversion);
    }
    let options = conversion.write.clone();
    let write = |mut to: &File, trailing: &[u8]| {
        inputs.write(to, JoinKind::Single, heads, &mut conversion)?;
        Ok(to.write_all(trailing)?)
    };
    path::replace_with_trailing(to, &options, write).map_err(|error| error.at_path(to))
}

/// Converts an RA file of any size to an NPY file.
///
/// A compressed RA file is read entirely into memory. Bytes that follow the array are an error unless
/// [`Conversion::drop_trailing`] is set.
///
/// # Errors
///
/// - The [errors of reading](crate::error#errors-of-reading).
/// - A [mismatch](crate::Error::is_mismatch) if the elements cannot be converted, or cannot be represented
///   in NPY.
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the header does not fit the requested version, or if the input would be
///   overwritten in place.
/// - A [conflict](crate::Error::is_conflict) if the existing output is locked or cannot be replaced.
/// - [`Trailing`](crate::error::ErrorKind::Trailing) if bytes follow the array.
pub fn convert_ra_to_npy<P, Q>(from: P, to: Q, mut conversion: Conversion<'_>) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    let (from, to) = (from.as_ref(), to.as_ref());
    conversion.write.check_at_path(Verb::Convert, to)?;
    // What follows the array is an error already, unless it is dropped.
    conversion.read = conversion.read.with_default_trailing();
    let locked = lock_if_input(to, &[from], &conversion)?;
    let mut reader = File::open(from)
        .map_err(Error::from)
        .and_then(|file| conversion.read.ra_reader(file))
        .map_err(|error| error.at_path(from))?;
    let trailing = reader.extent().and_then(Extent::trailing);
    check_representable_in_npy(reader.format_header(), trailing, &conversion)
        .map_err(|error| error.at_path(from))?;
    let inputs = match NpyFile::open_expecting(from, Expected::RA, &conversion.read) {
        Ok(file) => Inputs::of_file(file)?,
        Err(error) if matches!(error.fault(), Fault::NeedsCopy(CopyReason::Packed)) => {
            let array: DynArray = reader.read().map_err(|error| error.at_path(from))?;
            Inputs::of_memory(array)
        }
        Err(error) => return Err(error),
    };
    let header = inputs.header(JoinKind::Single, &conversion)?;
    let head = npy::format(&header, conversion.write.version).map_err(|error| error.at_path(from))?;
    drop(reader);
    write_file(to, locked, inputs, JoinKind::Single, (&header, &head), &[], &mut conversion)
}

/// Concatenates NPY files that differ at most in order and byte order.
///
/// Unless the conversion sets them, the order and dtype of the result are those of `header`.
#[cfg(feature = "dask")]
pub(crate) fn concatenate_as<P: AsRef<Path>>(
    from: &[P],
    to: &Path,
    axis: usize,
    header: &Header,
    mut conversion: Conversion<'_>,
) -> Result<()> {
    conversion.order = conversion.order.or(Some(header.order()));
    if conversion.dtype.is_none() && conversion.byte_order.is_none() {
        conversion.dtype = Some((header.dtype().clone(), Casting::Safe));
    }
    join_npy(from, to, JoinKind::Axis(axis), conversion)
}

/// A file to be split along an axis into several files.
#[cfg(feature = "dask")]
pub(crate) struct Splitter<'a>(Inputs<'a>);

#[cfg(feature = "dask")]
impl<'a> Splitter<'a> {
    pub(crate) fn of_file(file: &'a NpyFile, conversion: &Conversion<'_>) -> Result<Self> {
        conversion.write.check_for(Verb::Convert)?;
        check_all_representable_as_npy([file], conversion)?;
        Inputs::of_file(file).map(Self)
    }

    /// Returns the header of the entire array, which the pieces form together.
    pub(crate) fn header(&self, conversion: &Conversion<'_>) -> Result<Header> {
        self.0.header(JoinKind::Single, conversion)
    }

    /// Writes `len` indices of `axis`, starting at `first`, to a new file.
    pub(crate) fn write(
        &self,
        to: &Path,
        (axis, first, len): (usize, usize, usize),
        conversion: &mut Conversion<'_>,
    ) -> Result<()> {
        let along = JoinKind::Piece { axis, first, len };
        let header = self.0.header(along, conversion)?;
        let head = npy::format(&header, conversion.write.version)?;
        let options = conversion.write.clone();
        let before = conversion.series_progress.map_or(0, |(before, _)| before);
        let all = self.header(conversion)?.payload_len().unwrap_or_default();
        conversion.series_progress = Some((before, all));
        change::replace(to, &options, |file| self.0.write(file, along, (&header, &head), conversion))?;
        conversion.series_progress = Some((before + header.payload_len().unwrap_or_default(), all));
        Ok(())
    }
}

/// Writes the new file, with these bytes after its array, and moves it to its path; `locked` is the old file if that is also an input.
fn write_file(
    to: &Path,
    locked: Option<Locked>,
    inputs: Inputs<'_>,
    along: JoinKind,
    heads: (&Header, &[u8]),
    trailing: &[u8],
    conversion: &mut Conversion<'_>,
) -> Result<()> {
    let options = conversion.write.clone();
    // The closure owns the inputs, so they are closed before the rename: some systems cannot replace an open
    // file.
    let write = move |mut file: &File| {
        let inputs = inputs;
        inputs.write(file, along, heads, conversion)?;
        Ok(file.write_all(trailing)?)
    };
    let replaced = match locked {
        Some(old) => change::replace_locked(to, old, &options, |_, file| write(file)),
        None => change::replace(to, &options, write),
    };
    replaced.map_err(|error| error.at_path(to))
}

fn lock_if_input<P: AsRef<Path>>(
    to: &Path,
    from: &[P],
    conversion: &Conversion<'_>,
) -> Result<Option<Locked>> {
    change::lock_if_input(to, from, &conversion.write).map_err(|error| error.at_path(to))
}
