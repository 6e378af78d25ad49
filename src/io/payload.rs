//! A payload that has not been read yet, of any format: its header, its source, and the caller's options.

use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::transfer::Source;

/// The inputs from which an array is read.
pub(crate) struct Payload<'p, 's> {
    pub(crate) source: &'p mut Source<'s>,
    pub(crate) header: &'p Header,
    pub(crate) options: &'p ReadOptions,
}

/// [`Payload`] for public signatures: users can neither name nor construct it.
#[doc(hidden)]
pub struct PayloadRef<'p, 's>(pub(crate) Payload<'p, 's>);

impl<'p, 's> PayloadRef<'p, 's> {
    pub(crate) fn new(source: &'p mut Source<'s>, header: &'p Header, options: &'p ReadOptions) -> Self {
        Self(Payload { source, header, options })
    }

    pub(crate) fn into_inner(self) -> Payload<'p, 's> {
        self.0
    }
}

/// What reads a payload, and keeps the array that comes of it.
///
/// Functions between the bytes and the elements are not generic over the array, so that programs do not compile them again for each
/// type that they read.
pub(crate) type PayloadReader<'a> = dyn FnMut(PayloadRef<'_, '_>) -> Result<()> + 'a;

/// Calls `read_with` with a reader of payloads, and returns what it has made; if it was called twice, that of the second time.
pub(crate) fn output_of<T>(
    mut read: impl FnMut(PayloadRef<'_, '_>) -> Result<T>,
    read_with: impl FnOnce(&mut PayloadReader<'_>) -> Result<()>,
) -> Result<T> {
    let mut output = None;
    read_with(&mut |payload| {
        output = None; // before another one takes as much memory
        output = Some(read(payload)?);
        Ok(())
    })?;
    let Some(output) = output else { unreachable!("there was no error, so a payload has been read") };
    Ok(output)
}

/// A type into which the elements after a header can be read.
///
/// [`NpyReader::read`](super::NpyReader::read) returns a value of such a type. The trait is implemented for
/// every owned array of [`ReadableElement`](crate::ReadableElement)s, [`FlatArray`](crate::FlatArray) and [`DynArray`](crate::DynArray).
/// All formats use it.
///
/// ```
/// use ndarray_io::{NpyReader, ReadArray};
///
/// /// Reads the second array of a stream, as the type that the caller needs.
/// fn second<T: ReadArray>(stream: &[u8]) -> ndarray_io::Result<Option<T>> {
///     let mut reader = NpyReader::new(stream)?;
///     if reader.next_array()? { reader.read().map(Some) } else { Ok(None) }
/// }
/// # assert!(second::<ndarray::Array1<u8>>(b"").is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array that can be read",
    label = "not an owned array of elements that a file can have",
    note = "an `Array`, `ArcArray` or `CowArray` of ndarray 0.17 can be read, a `DynArray` of any dtype, and a `FlatArray`, for \
            vectors, other libraries and other versions of ndarray; usize and isize are not in files: u64 or i64 hold their values; a struct \
            derives Record; a view needs a map: see `NpyMmap`; if `!` is named, say which type is read, as in \
            `let a: Array2<f64> = …`"
)]
pub trait ReadArray: Sized {
    /// Returns how many innermost axes of a file belong to each element.
    #[doc(hidden)]
    fn inner_ndim() -> usize {
        0
    }

    /// Reads the entire payload.
    #[doc(hidden)]
    fn from_payload(payload: PayloadRef<'_, '_>) -> Result<Self>;
}
