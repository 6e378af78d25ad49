//! Files out of files, of any size, in memory that does not depend on it: another order, byte order or dtype, and several
//! files as one.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use crate::array::store_npy;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::dynamic::DynArray;
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::io::change::{self, Locked};
use crate::io::{ArrayFormat, RaReader};
use crate::npy;
use crate::options::{Casting, ReadOptions, WriteOptions};
use crate::parts::{ArrayFile, NpyFile, RaFile};
use crate::path;
use crate::progress::go_on;
use crate::ra;
use crate::shape::Order;
use crate::transfer::Sink;

/// What becomes of a file on its way to another, and how.
///
/// ```
/// use ndarray_io::{ByteOrder, Conversion, Order};
/// use std::ops::ControlFlow;
///
/// let conversion = Conversion::new()
///     .order(Order::Fortran)
///     .byte_order(ByteOrder::Little)
///     .progress(|done, all| {
///         eprintln!("{done} of {all} bytes");
///         ControlFlow::Continue(()) // or Break, which cancels
///     });
/// ```
#[derive(Default)]
pub struct Conversion<'a> {
    order: Option<Order>,
    byte_order: Option<ByteOrder>,
    dtype: Option<(DType, Casting)>,
    memory: Option<usize>,
    drop_trailing: bool,
    progress: Option<Box<Progress<'a>>>,
    read: ReadOptions,
    write: WriteOptions,
}

/// Is told how many bytes are done, and of how many.
type Progress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

impl<'a> Conversion<'a> {
    /// Changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The order of the new file. By default that of the old one.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// The byte order of the new file, in all of its elements. By default that of the old one.
    #[must_use]
    pub fn byte_order(mut self, order: ByteOrder) -> Self {
        self.byte_order = Some(order);
        self
    }

    /// Another dtype, as [`DynArray::cast_to`] makes it.
    #[must_use]
    pub fn dtype(mut self, dtype: DType, casting: Casting) -> Self {
        self.dtype = Some((dtype, casting));
        self
    }

    /// About how many bytes are in memory at a time. By default 64 MiB.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Calls with the bytes done and those in all, again and again; if the call breaks off, the conversion is cancelled, and
    /// the new file never appears.
    #[must_use]
    pub fn progress(mut self, call: impl FnMut(u64, u64) -> ControlFlow<()> + 'a) -> Self {
        self.progress = Some(Box::new(call));
        self
    }

    /// Leaves away what stands behind the array of an RA file, for which NPY has no place. By default it is an error.
    #[must_use]
    pub fn drop_trailing(mut self, drop: bool) -> Self {
        self.drop_trailing = drop;
        self
    }

    /// Options for the files that are read: limits, threads.
    #[must_use]
    pub fn read(mut self, options: ReadOptions) -> Self {
        self.read = options;
        self
    }

    /// Options for the new file: its version, `sync`, threads.
    #[must_use]
    pub fn write(mut self, options: WriteOptions) -> Self {
        self.write = options.without_progress(); // which it has itself
        self
    }

    fn tell(&mut self, done: u64, all: u64) -> Result<()> {
        match self.progress.as_mut().map(|call| call(done, all)) {
            Some(answer) => go_on(answer),
            None => Ok(()),
        }
    }

    fn casting(&self) -> Casting {
        self.dtype.as_ref().map_or(Casting::Safe, |(_, casting)| *casting)
    }

    fn target(&self, dtype: &DType) -> DType {
        let target = self.dtype.as_ref().map_or(dtype, |(dtype, _)| dtype);
        self.byte_order.map_or_else(|| target.clone(), |order| target.with_byte_order(order))
    }
}

impl std::fmt::Debug for Conversion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { order, byte_order, dtype, memory, .. } = self;
        f.debug_struct("Conversion")
            .field("order", order)
            .field("byte_order", byte_order)
            .field("dtype", dtype)
            .field("memory", memory)
            .finish_non_exhaustive()
    }
}

/// Makes an NPY file out of another one, of any size. The new file replaces an old one of its name whole or not at all; it
/// may be the very file that is read.
///
/// ```
/// use ndarray::Array2;
/// use ndarray_io::{Conversion, NpyFile, Order, convert_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let (c, f) = (folder.path().join("c.npy"), folder.path().join("f.npy"));
/// ndarray_io::write_npy(&c, &Array2::<f32>::zeros((1000, 20)))?;
/// convert_npy(&c, &f, Conversion::new().order(Order::Fortran))?;
/// assert_eq!(NpyFile::open(&f)?.order(), Order::Fortran);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_npy<P: AsRef<Path>, Q: AsRef<Path>>(from: P, to: Q, conversion: Conversion<'_>) -> Result<()> {
    concatenate_npy(&[from], to, 0, conversion)
}

/// Makes one NPY file out of several, one behind the other along an axis. They have to be of the same shape along the
/// others, and of the same dtype, unless [`Conversion::dtype`] says which. The order is that of the first.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{Conversion, concatenate_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let (a, b, all) = (folder.path().join("a.npy"), folder.path().join("b.npy"), folder.path().join("all.npy"));
/// ndarray_io::write_npy(&a, &arr1(&[1, 2]))?;
/// ndarray_io::write_npy(&b, &arr1(&[3]))?;
/// concatenate_npy(&[a, b], &all, 0, Conversion::new())?;
/// assert_eq!(ndarray_io::read_npy::<_, Array1<i32>>(&all)?, arr1(&[1, 2, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn concatenate_npy<P, Q>(from: &[P], to: Q, axis: usize, mut conversion: Conversion<'_>) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    let to = to.as_ref();
    let locked = lock_if_input(to, from, &conversion)?;
    let files =
        from.iter().map(|from| NpyFile::open_with(from, &conversion.read)).collect::<Result<Vec<_>>>()?;
    if let Some(target) = &locked {
        // Rows that an append has left uncounted would be lost with the old file.
        let target = target.metadata()?;
        for file in &files {
            if let (true, Some(bytes @ 1..)) =
                (change::is_same(&target, &file.metadata()?), file.trailing_len()?)
            {
                let rows = bytes.checked_div(file.row_bytes()).unwrap_or(0);
                return Err(file.at_path(ErrorKind::Trailing { bytes, at_least: false, rows }.into()));
            }
        }
    }
    let header = joined(&files, axis, &conversion)?;
    let head = npy::format(&header, conversion.write.the_version())?;
    write_file(to, locked.as_ref(), &files, axis, (&header, &head), &mut conversion)
}

/// Makes an RA file out of an NPY file, of any size. The axes stay as they are, in RA's order; with
/// [`order(Order::C)`](Conversion::order) the elements stay in the order of C, and the axes are reversed. What RA has no word
/// for (text, times, bool, the names of fields) is an error.
///
/// ```
/// use ndarray::{Array2, arr2};
/// use ndarray_io::{Conversion, convert_npy_to_ra, convert_ra_to_npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let (npy, ra) = (folder.path().join("a.npy"), folder.path().join("a.ra"));
/// ndarray_io::write_npy(&npy, &arr2(&[[1, 2, 3], [4, 5, 6]]))?;
/// convert_npy_to_ra(&npy, &ra, Conversion::new())?;
/// assert_eq!(ndarray_io::read_ra::<_, Array2<i32>>(&ra)?[[1, 0]], 4);
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
    let locked = lock_if_input(to, &[&from], &conversion)?;
    let file = NpyFile::open_with(from, &conversion.read)?;
    conversion.order = conversion.order.or(Some(Order::Fortran));
    let header = joined(std::slice::from_ref(&file), 0, &conversion)?;
    if let DType::Record(_) = header.dtype() {
        let advice = "the names of its fields would be lost".into();
        let dtype = header.dtype().clone();
        return Err(Error::from(ErrorKind::NotExpressible { format: "RA", dtype, advice }).at_path(to));
    }
    let head = ra::format(&header).map_err(|error| error.at_path(to))?;
    if locked.is_some() {
        return write_file(to, locked.as_ref(), &[file], 0, (&header, &head), &mut conversion); // an NPY file has no such bytes
    }
    let options = conversion.write.clone();
    let files = [file];
    let write = |to: &File, _: &[u8]| write_joined(to, &files, 0, &header, &head, &mut conversion);
    change::replace_after_look(to, &options, path::refuse_trailing, write).map_err(|error| error.at_path(to))
}

/// Makes an NPY file out of an RA file, of any size; of one whose data are packed, all of them are in memory meanwhile. What
/// stands behind the array is an error, unless [`Conversion::drop_trailing`] leaves it away.
pub fn convert_ra_to_npy<P, Q>(from: P, to: Q, mut conversion: Conversion<'_>) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    let (from, to) = (from.as_ref(), to.as_ref());
    let locked = lock_if_input(to, &[from], &conversion)?;
    let mut reader = File::open(from)
        .map_err(Error::from)
        .and_then(|file| RaReader::with_options(file, &conversion.read))
        .map_err(|error| error.at_path(from))?;
    if !conversion.drop_trailing
        && let Some(bytes @ 1..) = reader.trailing_len()
    {
        return Err(Error::from(ErrorKind::Trailing { bytes, at_least: false, rows: 0 }).at_path(from));
    }
    if matches!(reader.eltype(), 1..=4)
        && reader.dtype().as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Void)
    {
        let advice = format!("it is a number of {} bytes in the RA file", reader.elbyte());
        let dtype = reader.dtype().clone();
        return Err(Error::from(ErrorKind::NotExpressible { format: "NPY", dtype, advice }).at_path(from));
    }
    match RaFile::open_with(from, &conversion.read) {
        Ok(file) => {
            let header = joined(std::slice::from_ref(&file), 0, &conversion)?;
            let head =
                npy::format(&header, conversion.write.the_version()).map_err(|error| error.at_path(from))?;
            write_file(to, locked.as_ref(), &[file], 0, (&header, &head), &mut conversion)
        }
        Err(error) if matches!(error.kind(), ErrorKind::Packed) => {
            let array: DynArray = reader.read().map_err(|error| error.at_path(from))?;
            let array = match conversion.target(array.dtype()) {
                dtype if dtype == *array.dtype() => array,
                dtype => array.cast_to(&dtype, conversion.casting())?,
            };
            let options = match conversion.order {
                Some(order) => conversion.write.clone().order(order),
                None => conversion.write.clone(),
            };
            put(to, locked.as_ref(), &options, |file| store_npy(&array, file, &options))
        }
        Err(error) => Err(error),
    }
}

fn write_file<F: ArrayFormat>(
    to: &Path,
    locked: Option<&Locked>,
    files: &[ArrayFile<F>],
    axis: usize,
    (header, head): (&Header, &[u8]),
    conversion: &mut Conversion<'_>,
) -> Result<()> {
    let options = conversion.write.clone();
    put(to, locked, &options, |file| write_joined(file, files, axis, header, head, conversion))
}

/// Puts a new file in its place, of which the old one may have been read.
fn put(
    to: &Path,
    locked: Option<&Locked>,
    options: &WriteOptions,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let put = match locked {
        Some(old) => change::replace_locked(to, old, options, write),
        None => change::replace(to, options, write),
    };
    put.map_err(|error| error.at_path(to))
}

fn lock_if_input<P: AsRef<Path>>(
    to: &Path,
    from: &[P],
    conversion: &Conversion<'_>,
) -> Result<Option<Locked>> {
    change::lock_if_input(to, from, &conversion.write).map_err(|error| error.at_path(to))
}

/// The header of all files together.
fn joined<F: ArrayFormat>(
    files: &[ArrayFile<F>],
    axis: usize,
    conversion: &Conversion<'_>,
) -> Result<Header> {
    let Some(first) = files.first() else {
        return Err(ErrorKind::BadOption { reason: "there is no file to make one of".into() }.into());
    };
    let dtype = conversion.target(first.dtype());
    let mut dims = first.shape().dims().to_vec();
    if files.len() > 1 && axis >= dims.len() {
        let reason = format!("arrays of shape {} have no axis {axis} to stand along", first.shape());
        return Err(ErrorKind::BadOption { reason }.into());
    }
    for file in &files[1..] {
        let mut others = file.shape().dims().to_vec();
        let length = others.get(axis).copied().unwrap_or(0);
        let mut wanted = dims.clone();
        wanted[axis] = length;
        if others != wanted {
            let (found, wanted) = (file.shape().clone(), first.shape().clone());
            return Err(file.at_path(ErrorKind::ShapeMismatch { found, wanted }.into()));
        }
        if conversion.target(file.dtype()) != dtype {
            let advice = "Conversion::dtype makes them the same".into();
            let found = file.dtype().clone();
            return Err(file.at_path(ErrorKind::DTypeMismatch { found, wanted: dtype, advice }.into()));
        }
        others.clear();
        dims[axis] = dims[axis].checked_add(length).ok_or_else(|| {
            Error::from(ErrorKind::Overflow { what: "the length of all files together".into() })
        })?;
    }
    Header::new(dtype, conversion.order.unwrap_or(first.order()), dims.into())
}

fn write_joined<F: ArrayFormat>(
    mut file: &File,
    files: &[ArrayFile<F>],
    axis: usize,
    header: &Header,
    head: &[u8],
    conversion: &mut Conversion<'_>,
) -> Result<()> {
    /// How much is in memory at a time if nobody says it: pieces are read, converted and joined, and stand twice then.
    const MEMORY: usize = 64 << 20;
    let mut sink = Sink::of(&mut file);
    sink.write(head)?;
    let all = header.payload_len().unwrap_or_default() as u64;
    let mut done = 0;
    let ndim = header.shape().ndim();
    let slowest = if header.order() == Order::C { 0 } else { ndim.saturating_sub(1) };
    if ndim == 0 {
        let array = files[0].read::<DynArray>()?;
        return recast(array, header, conversion)?.put(&mut sink, header.order(), &conversion.write);
    }
    if header.len() == 0 {
        return conversion.tell(0, 0);
    }
    // Either the files follow one another, or a piece has a part of each.
    let groups: Vec<&[ArrayFile<F>]> = if slowest == axis { files.chunks(1).collect() } else { vec![files] };
    for group in groups {
        let rows = group[0].shape().dims()[slowest];
        let bytes = |file: &ArrayFile<F>| {
            let item = file.dtype().item_size().max(header.dtype().item_size());
            file.shape().byte_len(item).unwrap_or(usize::MAX) / rows.max(1)
        };
        let row: usize = group.iter().map(bytes).sum();
        let step = (conversion.memory.unwrap_or(MEMORY) / 3 / row.max(1)).max(1);
        for start in (0..rows).step_by(step) {
            let count = step.min(rows - start);
            let parts = group
                .iter()
                .map(|file| recast(file.part(slowest, start, count)?, header, conversion))
                .collect::<Result<Vec<_>>>()?;
            let piece = match <[DynArray; 1]>::try_from(parts) {
                Ok([one]) => one,
                Err(parts) => DynArray::join(&parts, axis)?,
            };
            piece.put(&mut sink, header.order(), &conversion.write)?;
            done += piece.bytes().len() as u64;
            conversion.tell(done, all)?;
        }
    }
    file.flush()?;
    Ok(())
}

fn recast(array: DynArray, header: &Header, conversion: &Conversion<'_>) -> Result<DynArray> {
    if array.dtype() == header.dtype() {
        return Ok(array);
    }
    array.cast_to(header.dtype(), conversion.casting())
}
