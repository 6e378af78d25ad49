//! The traits for RA files, parallel to those for NPY.

use std::io::{Read, Write};

use ndarray::{ArrayBase, ArrayRef, ArrayView, ArrayViewMut, Data, DataOwned, Dimension};

use super::private::Sealed;
use super::view::{ViewMutNpyExt, ViewNpyExt};
use super::write::{SinkRef, WriteArray};
use crate::elements::{ViewElement, ViewMutElement};
use crate::error::{Fault, Result};
use crate::header::Header;
use crate::io::{Expected, NpyReader, ReadArray, change};
use crate::options::{Compression, ReadOptions, Trailing, Verb, WriteOptions};
use crate::ra_format::RaHeader;
use crate::transfer::Sink;

/// Reads arrays from RA files.
///
/// The trait is implemented for the same arrays as [`ReadNpyExt`](crate::ReadNpyExt). The first axis of an RA
/// file varies fastest, so the array has Fortran strides, and nothing is transposed. (Its `reversed_axes` are
/// in C order.)
///
/// ```
/// use ndarray::{arr2, Array2};
/// use ndarray_io::ra::{ReadRaExt, WriteRaExt};
///
/// let a = arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let mut file = Vec::new();
/// a.write_ra(&mut file)?;
/// assert_eq!(Array2::<f64>::read_ra(&file[..])?, a);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// Elements of a composite type (0) can be read as any struct that derives [`Record`](macro@crate::Record)
/// and has their size. The file does not describe them further, so **only the size is checked**.
/// [`Void`](crate::elements::Void) reads them as raw bytes.
pub trait ReadRaExt: ReadArray + Sealed {
    /// Reads one array, and leaves the bytes after it in the reader.
    ///
    /// To read the trailing bytes, use an [`NpyReader`] and its [`trailing`](NpyReader::trailing).
    ///
    /// # Errors
    ///
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type or number of axes.
    fn read_ra<R: Read>(reader: R) -> Result<Self> {
        ReadOptions::new().read_ra_from(reader)
    }
}

/// Writes arrays as RA files.
///
/// The trait is implemented for the types that implement [`WriteNpyExt`](crate::WriteNpyExt). The file has the
/// shape of the array; the elements of an array in C order are transposed while they are written, unless
/// [`WriteOptions::order`] is `C`: then readers see the axes in reverse.
///
/// RA can represent integers, floats, complex numbers, raw bytes and structs, and, with
/// [`WriteOptions::ra_bools`], `bool`. It cannot represent text or times.
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::ra::WriteRaExt;
///
/// let mut file = Vec::new();
/// arr1(&[1.0f32, 2.0]).write_ra(&mut file)?;
/// assert_eq!(file.len(), 48 + 8 + 8);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub trait WriteRaExt: WriteArray {
    /// Writes the array and flushes the writer.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if writing fails.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the format or the options cannot
    ///   represent the elements.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the options are incompatible with the call, or an
    ///   array to be compressed is larger than an LZ4 block can be (2,113,929,216 bytes).
    /// - [`Cancelled`](crate::error::ErrorKind::Cancelled) if the progress callback cancels the operation.
    fn write_ra<W: Write>(&self, writer: W) -> Result<()> {
        WriteOptions::new().write_ra_to(writer, self)
    }
}

/// Views the bytes of an RA file as an array, without copying them.
///
/// ```
/// use ndarray::{arr1, ArrayView1};
/// use ndarray_io::ra::{ViewRaExt, WriteRaExt};
///
/// let mut bytes = Vec::new();
/// arr1(&[1u8, 2, 3]).write_ra(&mut bytes)?;
/// assert_eq!(ArrayView1::<u8>::view_ra(&bytes)?, arr1(&[1, 2, 3]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub trait ViewRaExt<'a>: ViewNpyExt<'a> {
    /// Views an entire file; bytes after the array are ignored.
    ///
    /// # Errors
    ///
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated, or an element is
    ///   invalid.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, number of axes, byte
    ///   order or memory layout, or are misaligned or compressed.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    fn view_ra(bytes: &'a [u8]) -> Result<Self> {
        ReadOptions::new().view_ra(bytes)
    }
}

/// Views the bytes of an RA file as a mutable array, to change them in place.
///
/// ```
/// use ndarray::{arr1, Array1, ArrayViewMut1};
/// use ndarray_io::ra::{ReadRaExt, ViewMutRaExt, WriteRaExt};
///
/// let mut bytes = Vec::new();
/// arr1(&[1u8, 2, 3]).write_ra(&mut bytes)?;
/// ArrayViewMut1::<u8>::view_mut_ra(&mut bytes)?[1] = 20;
/// assert_eq!(Array1::<u8>::read_ra(&bytes[..])?, arr1(&[1, 20, 3]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub trait ViewMutRaExt<'a>: ViewMutNpyExt<'a> {
    /// Views an entire file; bytes after the array are ignored.
    ///
    /// # Errors
    ///
    /// - A [format error](crate::Error::is_format) if the file is malformed or truncated, or an element is
    ///   invalid.
    /// - A [mismatch](crate::Error::is_mismatch) if the elements have a different type, number of axes, byte
    ///   order or memory layout, or are misaligned or compressed.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if one of the [`Limits`](crate::Limits) is exceeded.
    fn view_mut_ra(bytes: &'a mut [u8]) -> Result<Self> {
        ReadOptions::new().view_mut_ra(bytes)
    }
}

impl<S: DataOwned, D: Dimension> ReadRaExt for ArrayBase<S, D> where Self: ReadArray {}
impl<S: Data, D: Dimension> WriteRaExt for ArrayBase<S, D> where Self: WriteArray {}
impl<A, D: Dimension> WriteRaExt for ArrayRef<A, D> where Self: WriteArray {}
impl<'a, A: ViewElement, D: Dimension> ViewRaExt<'a> for ArrayView<'a, A, D> {}
impl<'a, A: ViewMutElement, D: Dimension> ViewMutRaExt<'a> for ArrayViewMut<'a, A, D> {}

impl ReadOptions {
    /// Reads an RA array from a reader. See [`ReadRaExt::read_ra`].
    ///
    /// # Errors
    ///
    /// Those of [`ReadRaExt::read_ra`].
    pub fn read_ra_from<T: ReadArray>(&self, reader: impl Read) -> Result<T> {
        NpyReader::expecting(reader, Expected::RA, self)?.read()
    }
}

impl WriteOptions {
    /// Writes an RA array to a writer. See [`WriteRaExt::write_ra`].
    ///
    /// The first axis of an RA file varies fastest. In [`order(Order::C)`](Self::order), an array in C order need not be transposed, but readers see
    /// its axes in reverse order.
    ///
    /// # Errors
    ///
    /// Those of [`WriteRaExt::write_ra`], and [`BadOption`](crate::error::ErrorKind::BadOption) for options that only files have, and for
    /// [`Trailing::Keep`].
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::WriteOptions;
    /// use ndarray_io::header::Order;
    ///
    /// let mut file = Vec::new();
    /// WriteOptions::new().order(Order::C).write_ra_to(&mut file, &arr2(&[[1u8, 2], [3, 4]]))?;
    /// assert!(file.ends_with(&[1, 2, 3, 4]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn write_ra_to<T: WriteArray + ?Sized>(&self, mut writer: impl Write, array: &T) -> Result<()> {
        self.check_for(Verb::WriteRaTo)?;
        let trailing = match self.get_trailing() {
            Trailing::Protect => &[],
            Trailing::Write(bytes) => &bytes[..],
            Trailing::Keep => {
                let reason = "a writer has no trailing bytes to keep".into();
                return Err(Fault::BadOption { reason }.into());
            }
        };
        // Checked first, so that a writer that cannot be synced receives nothing.
        change::check_can_sync(&mut writer, self)?;
        store_ra(&array, &mut writer, trailing, self)?;
        change::sync_writer(&mut writer, self)
    }
}

/// Writes an array as an RA file, followed by the trailing bytes, and flushes the writer.
pub(crate) fn store_ra<W: Write>(
    array: &dyn WriteArray,
    mut writer: W,
    trailing: &[u8],
    options: &WriteOptions,
) -> Result<()> {
    let write = options.for_ra();
    let header = array.header(&write)?;
    let found = RaHeader::of(&header, options.ra_bools)?;
    if options.compression == Compression::Lz4 {
        store_compressed(array, Sink::of(&mut writer), (&header, found), &write)?;
    } else {
        array.store(SinkRef::new(Sink::of(&mut writer)), found.to_bytes(), &header, &write)?;
    }
    Sink::of(&mut writer).write_and_flush(trailing)
}

#[cfg(feature = "lz4")]
fn store_compressed(
    array: &dyn WriteArray,
    mut sink: Sink<'_>,
    (header, mut found): (&Header, RaHeader),
    options: &WriteOptions,
) -> Result<()> {
    use crate::codec::lz4;

    /// Collects the encoded elements, or compresses them without a copy if all come with one call.
    struct PayloadPacker {
        payload_len: usize,
        bytes: Vec<u8>,
        packed: Option<Vec<u8>>,
    }

    impl Write for PayloadPacker {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if bytes.len() == self.payload_len {
                self.packed = Some(lz4::pack(bytes)?);
            } else {
                self.bytes.extend_from_slice(bytes);
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let (_, payload_len) = header.len_and_bytes_in_memory()?;
    let mut packer = PayloadPacker { payload_len, bytes: Vec::new(), packed: None };
    // The header has the compressed size, so it is written after the compression.
    array.store(SinkRef::new(Sink::of(&mut packer)), Vec::new(), header, options)?;
    let packed = match packer.packed {
        Some(packed) => packed,
        None => lz4::pack(&packer.bytes)?,
    };
    found.flags |= crate::ra_format::PACKED_FLAG;
    found.size = packed.len() as u64;
    sink.write(&found.to_bytes())?;
    sink.write(&packed)
}

#[cfg(not(feature = "lz4"))]
fn store_compressed(_: &dyn WriteArray, _: Sink<'_>, _: (&Header, RaHeader), _: &WriteOptions) -> Result<()> {
    Err(crate::error::Error::missing_feature("Compression::Lz4", "lz4"))
}
