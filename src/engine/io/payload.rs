//! A payload that has not been read yet, of any format, and what follows once it has been.

use std::borrow::Cow;

use super::FormatHeader;
use super::read::check_end;
use super::reader_state::State;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::options::ReadOptions;
use crate::transfer::Source;

/// The inputs from which an array is read. Public for signatures of hidden functions: users can neither name nor construct it.
#[doc(hidden)]
pub struct Payload<'p, 's> {
    pub(crate) source: &'p mut Source<'s>,
    pub(crate) header: &'p Header,
    pub(crate) options: &'p ReadOptions,
}

/// A payload whose header has been read, until its elements have been.
///
/// What comes before and after the elements is not generic over the array, so that programs do not compile it again for each type that they
/// read.
pub(crate) struct PendingPayload<'p, 's> {
    source: &'p mut Source<'s>,
    /// Where the elements are if the source does not have them as they are: unpacked, or read together with the header.
    elements: Option<Source<'s>>,
    found: Cow<'p, FormatHeader>,
    options: Cow<'p, ReadOptions>,
    /// How many axes each element has.
    inner: usize,
    follow_up: FollowUp<'p>,
}

/// What follows after the elements.
pub(super) enum FollowUp<'p> {
    /// Nothing else may, unless the options allow it.
    End,
    /// The state of a reader says what has been read.
    Reader(&'p mut State),
}

impl<'p, 's> PendingPayload<'p, 's> {
    /// Returns the payload after a header, which comes next in the source, or in `stored` if it has been read already.
    pub(super) fn new(
        source: &'p mut Source<'s>,
        mut stored: Option<Source<'s>>,
        found: Cow<'p, FormatHeader>,
        (options, inner): (&'p ReadOptions, usize),
        follow_up: FollowUp<'p>,
    ) -> Result<Self> {
        let options = found.dispatch_options(options);
        let unpacked = found.unpack(stored.as_mut().unwrap_or(source), &options);
        let mut pending = Self { source, elements: stored, found, options, inner, follow_up };
        match unpacked {
            Ok(None) => {}
            Ok(unpacked) => pending.elements = unpacked,
            Err(error) => return Err(pending.fail(error)),
        }
        Ok(pending)
    }

    /// Accepts other bytes after the elements.
    pub(super) fn allow_trailing(self) -> Self {
        Self { options: Cow::Owned(self.options.into_owned().allow_trailing(true)), ..self }
    }

    /// Reads the elements, and does what follows.
    pub(crate) fn read<T>(mut self, read: impl FnOnce(Payload<'_, '_>) -> Result<T>) -> Result<T> {
        let source = self.elements.as_mut().unwrap_or(self.source);
        match read(Payload { source, header: self.found.header(), options: &self.options }) {
            Ok(made) => self.succeed().map(|()| made),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn succeed(self) -> Result<()> {
        match self.follow_up {
            FollowUp::End if self.found.allows_trailing() => Ok(()),
            FollowUp::End => check_end(self.source, self.found.header(), &self.options),
            FollowUp::Reader(state) => {
                self.source.sync_file_position()?;
                *state = State::AtEnd;
                Ok(())
            }
        }
    }

    fn fail(self, error: Error) -> Error {
        if let FollowUp::Reader(state) = self.follow_up {
            // The type and the limits are checked before the payload is read, so another type can be tried.
            // (A payload of undeclared size, a pickle, may exceed a limit while it is being read.)
            let can_retry = error.is_mismatch() || error.is_limit();
            if can_retry && (self.source.position() == 0 || self.source.restart()) {
                *state = State::AtPayload;
            }
        }
        self.found.header().add_axis_indices(error, self.inner)
    }
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
    fn from_payload(payload: Payload<'_, '_>) -> Result<Self>;
}
