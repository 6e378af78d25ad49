//! Files out of files, of any size, in memory that does not depend on it: another order, byte order or dtype, and several
//! files as one.

use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use ndarray::{ArrayViewD, Axis};

use crate::dtype::{ByteOrder, DType};
use crate::dynamic::DynArray;
use crate::element::WritableElement;
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::io::replace;
use crate::npy;
use crate::options::{Casting, WriteOptions};
use crate::parts::NpyFile;
use crate::progress::go_on;
use crate::shape::Order;
use crate::transfer::{self, Items, Sink};

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
    progress: Option<Box<Progress<'a>>>,
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

    /// Options for the new file: its version, `sync`, threads.
    #[must_use]
    pub fn write(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    fn tell(&mut self, done: u64, all: u64) -> Result<()> {
        match self.progress.as_mut().map(|call| call(done, all)) {
            Some(answer) => go_on(answer),
            None => Ok(()),
        }
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
    let files = from.iter().map(NpyFile::open).collect::<Result<Vec<_>>>()?;
    let header = joined(&files, axis, &conversion)?;
    let to = to.as_ref();
    let options = conversion.write.clone();
    let write = |file: &File| write_joined(file, &files, axis, &header, &mut conversion);
    replace::replace(to, &options, write).map_err(|error: Error| error.at_path(to))
}

/// The header of all files together.
fn joined(files: &[NpyFile], axis: usize, conversion: &Conversion<'_>) -> Result<Header> {
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

fn write_joined(
    mut file: &File,
    files: &[NpyFile],
    axis: usize,
    header: &Header,
    conversion: &mut Conversion<'_>,
) -> Result<()> {
    /// How much is in memory at a time if nobody says it: pieces are read, converted and joined, and stand twice then.
    const MEMORY: usize = 64 << 20;
    let mut sink = Sink::of(&mut file);
    sink.write(&npy::format(header, conversion.write.the_version())?)?;
    let all = header.payload_len().unwrap_or_default() as u64;
    let mut done = 0;
    let ndim = header.shape().ndim();
    let slowest = if header.order() == Order::C { 0 } else { ndim.saturating_sub(1) };
    if ndim == 0 {
        let array = files[0].read::<DynArray>()?;
        return put(&mut sink, &recast(array, header, conversion)?, header.order(), &conversion.write);
    }
    if header.len() == 0 {
        return conversion.tell(0, 0);
    }
    // Either the files follow one another, or a piece has a part of each.
    let groups: Vec<&[NpyFile]> = if slowest == axis { files.chunks(1).collect() } else { vec![files] };
    for group in groups {
        let rows = group[0].shape().dims()[slowest];
        let bytes = |file: &NpyFile| {
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
                Err(parts) => join(&parts, axis)?,
            };
            put(&mut sink, &piece, header.order(), &conversion.write)?;
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
    let casting = conversion.dtype.as_ref().map_or(Casting::Safe, |(_, casting)| *casting);
    array.cast_to(header.dtype(), casting)
}

/// Several arrays as one, along an axis.
fn join(parts: &[DynArray], axis: usize) -> Result<DynArray> {
    let views: Vec<ArrayViewD<'_, u8>> = parts.iter().map(bytes_of).collect();
    // Their shapes have been compared; the elements' own bytes are an axis behind all others.
    let joined = ndarray::concatenate(Axis(axis), &views).expect("the shapes fit");
    let mut dims = joined.shape().to_vec();
    dims.pop();
    let header = Header::new(parts[0].dtype().clone(), Order::C, dims.into())?;
    Ok(DynArray::from_bytes(header, &joined.as_standard_layout().iter().copied().collect::<Vec<u8>>()))
}

/// An array's elements as bytes, which are an axis of their own behind the others.
fn bytes_of(array: &DynArray) -> ArrayViewD<'_, u8> {
    words_of(array, array.bytes(), array.dtype().item_size())
}

/// An array's elements as words, so many to each: an axis of their own behind the others.
fn words_of<'a, W>(array: &DynArray, words: &'a [W], each: usize) -> ArrayViewD<'a, W> {
    let mut dims = array.shape().to_vec();
    let ndim = dims.len();
    if array.order() == Order::Fortran {
        dims.reverse();
    }
    dims.push(each);
    // A DynArray has just the bytes of its shape.
    let view = ArrayViewD::from_shape(dims, words).expect("just the words of the shape");
    match array.order() {
        Order::C => view,
        Order::Fortran => view.permuted_axes((0..ndim).rev().chain([ndim]).collect::<Vec<_>>()),
    }
}

/// Writes the elements of a piece in an order.
fn put(sink: &mut Sink<'_>, piece: &DynArray, order: Order, options: &WriteOptions) -> Result<()> {
    if order == piece.order() || piece.shape().len() < 2 {
        return sink.write(piece.bytes());
    }
    let (bytes, item) = (piece.bytes(), piece.dtype().item_size());
    match item {
        0 => Ok(()),
        2 => gathered::<u16>(sink, words_of(piece, bytemuck::cast_slice(bytes), 1), order, options),
        4 => gathered::<u32>(sink, words_of(piece, bytemuck::cast_slice(bytes), 1), order, options),
        8 => gathered::<u64>(sink, words_of(piece, bytemuck::cast_slice(bytes), 1), order, options),
        _ => gathered::<u8>(sink, bytes_of(piece), order, options),
    }
}

fn gathered<W: WritableElement>(
    sink: &mut Sink<'_>,
    mut view: ArrayViewD<'_, W>,
    order: Order,
    options: &WriteOptions,
) -> Result<()> {
    let ndim = view.ndim() - 1;
    if order == Order::Fortran {
        view = view.permuted_axes((0..ndim).rev().chain([ndim]).collect::<Vec<_>>());
    }
    let dtype = W::dtype_for(&mut std::iter::empty(), &WriteOptions::new())?;
    let header = Header::new(dtype, Order::C, [view.len()].into())?;
    let emit = W::emit(header.dtype());
    transfer::write_more(sink, Vec::new(), &header, Items::Strided(view), &emit, options)
}
