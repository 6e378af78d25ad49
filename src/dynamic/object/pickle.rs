//! Pickles that are not array files.

use std::io::Read;

use super::graph::BackingBytes;
use super::load_effects::LoadEffects;
use super::source::PickleSource;
use super::write::Pickler;
use super::{Global, Object, ObjectRef, finish};
use crate::error::{Error, Result};
use crate::options::{ReadOptions, WriteOptions};
use crate::pickle::read_one;

/// A pickle that is not in an array file, such as those of `pickle.dump`, `dask` and `scikit-learn`.
///
/// The pickle is decoded as data; nothing in it is executed.
///
/// ```
/// use ndarray_io::object::Pickle;
///
/// // pickle.dumps({"a": [1, 2]})
/// let bytes = b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94\x8c\x01a\x94]\x94(K\x01K\x02es.";
/// let pickle = Pickle::read(&bytes[..])?;
/// assert_eq!(pickle.object().to_string(), "{'a': [1, 2]}");
/// assert_eq!(pickle.globals().count(), 0);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pickle {
    object: Object,
    load_effects: LoadEffects,
}

impl Pickle {
    /// Reads exactly one pickle.
    ///
    /// Never reads beyond the end of the pickle. Pickles before protocol 4 are read in small pieces, so wrap
    /// the source in a [`BufReader`](std::io::BufReader). The pickle is kept in memory until it is decoded.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`](crate::error::ErrorKind::Io) if reading fails.
    /// - [`ErrorKind::Malformed`](crate::error::ErrorKind::Malformed) if the pickle is malformed or
    ///   truncated.
    /// - [`ErrorKind::Limit`](crate::error::ErrorKind::Limit) if the pickle exceeds one of the
    ///   [limits](crate::Limits).
    /// - [`ErrorKind::Unsupported`](crate::error::ErrorKind::Unsupported) if the pickle was
    ///   written by `joblib.dump`, which puts the bytes of arrays into the pickle: see
    ///   [`read_joblib`](Self::read_joblib).
    pub fn read(reader: impl Read) -> Result<Self> {
        ReadOptions::new().read_pickle(reader)
    }

    /// Reads exactly one pickle of protocol 5 whose buffers are stored outside of it, as in `pickle.loads(…, buffers=…)`.
    ///
    /// A buffer is a [`ByteArray`](super::View::ByteArray), or [`Bytes`](super::View::Bytes) if the pickle says that it is read-only;
    /// arrays are made of buffers as of bytes. Without this method, buffers are [numbers](super::View::Buffer).
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`], and [`ErrorKind::Malformed`](crate::error::ErrorKind::Malformed) if there are fewer
    /// buffers than the pickle needs. More are ignored, as in Python.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::object::{Object, Pickle};
    /// use ndarray_io::{DynArray, ReadOptions};
    ///
    /// let object = Object::from(&DynArray::new(&arr1(&[1.5, 2.5]))?);
    /// let (pickle, buffers) = Pickle::write_with_buffers(&object)?;
    /// assert_eq!(buffers, [bytemuck::bytes_of(&[1.5, 2.5])]);
    /// let again = Pickle::read_with_buffers(&pickle[..], &buffers, &ReadOptions::new())?;
    /// assert_eq!(again.object(), &object);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_with_buffers(
        reader: impl Read,
        buffers: &[impl AsRef<[u8]>],
        options: &ReadOptions,
    ) -> Result<Self> {
        let bytes = read_pickle_bytes(reader, options)?;
        let buffers: Vec<&[u8]> = buffers.iter().map(AsRef::as_ref).collect();
        Self::of_source(&PickleSource::with_buffers(&bytes, &buffers)?, options)
    }

    fn of_source(source: &PickleSource<'_>, options: &ReadOptions) -> Result<Self> {
        Self::from_unpickled(
            super::machine::read(source, options.get_limits(), options.old_text)?,
            source,
            None,
            options,
        )
    }

    /// Decodes a file of joblib that is not compressed, and returns how many bytes it has; if `backing` has the same bytes, what it has
    /// need not be copied.
    pub(crate) fn of_joblib(
        bytes: &[u8],
        backing: Option<&BackingBytes>,
        options: &ReadOptions,
    ) -> Result<(Self, usize)> {
        let source = PickleSource::new(bytes);
        let read = super::machine::read_joblib(&source, options.get_limits(), options.old_text)?;
        let len = read.pickle_len;
        Ok((Self::from_unpickled(read, &source, backing, options)?, len))
    }

    fn from_unpickled(
        read: super::machine::Unpickled,
        source: &PickleSource<'_>,
        backing: Option<&BackingBytes>,
        options: &ReadOptions,
    ) -> Result<Self> {
        let (object, load_effects) = finish::finish(read, source, backing, options.get_limits())?;
        Ok(Self { object, load_effects })
    }

    /// Returns the object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Converts into the object.
    pub fn into_object(self) -> Object {
        self.object
    }

    /// Returns the classes and functions that Python would look up to load the pickle, each spelling once.
    ///
    /// This includes those that are not called, and those used by objects that are discarded while loading.
    /// To look one up, Python imports its module.
    ///
    /// ```
    /// use ndarray_io::object::Pickle;
    ///
    /// let pickle = Pickle::read(&b"cposix\nsystem\n(S'true'\ntR."[..])?;
    /// let names: Vec<_> = pickle.globals().map(|global| (global.module(), global.name())).collect();
    /// assert_eq!(names, [("posix", "system")]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn globals(&self) -> impl Iterator<Item = Global<'_>> + '_ {
        self.load_effects.names().map(Global::new)
    }

    /// Returns the codes of Python's extension registry in the pickle, for each of which Python would import a class or function.
    ///
    /// ```
    /// use ndarray_io::object::Pickle;
    ///
    /// let pickle = Pickle::read(&b"\x80\x02\x82\x05."[..])?;
    /// assert_eq!(pickle.extension_codes().collect::<Vec<_>>(), [5]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn extension_codes(&self) -> impl Iterator<Item = u32> + '_ {
        self.load_effects.extension_codes()
    }

    /// Returns every call that Python would make to load the pickle, in the order in which it would make them.
    ///
    /// This includes calls for objects that are discarded while loading. It does not include those whose meaning this
    /// library knows (such as `complex`): they only make values; nor those of methods of what these return, such as `append` and
    /// `__setstate__`, whose arguments are parts of the [`Call`](super::Call).
    ///
    /// ```
    /// use ndarray_io::object::Pickle;
    ///
    /// // Python calls posix.system, discards what it returns, and loads the number 1.
    /// let pickle = Pickle::read(&b"cposix\nsystem\n(S'true'\ntR0I1\n."[..])?;
    /// assert_eq!(pickle.object().to_string(), "1");
    /// let calls: Vec<_> = pickle.calls().map(|call| call.to_string()).collect();
    /// assert_eq!(calls, ["posix.system('true')"]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn calls(&self) -> impl Iterator<Item = ObjectRef<'_>> + '_ {
        self.load_effects.calls.iter().map(Object::as_ref)
    }

    /// Pickles an object with the protocol that is set in `options`: 2, 3 or 4.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::BadOption`](crate::error::ErrorKind::BadOption) if another protocol is set, if the
    ///   object requires a later protocol, or if it contains something that only the program that wrote it
    ///   can load: a persistent id, an extension code or a buffer.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the object contains a dtype that NumPy does not have, or more than
    ///   65,536 objects that contain themselves are nested.
    pub fn write(object: &Object, options: &WriteOptions) -> Result<Vec<u8>> {
        Pickler::new(options)?.pickle_object(object.as_ref())
    }

    /// Pickles an object in protocol 5 and returns the bytes of its arrays separately, without a copy.
    ///
    /// This is what `pickle.dumps(…, protocol=5, buffer_callback=…)` does; `pickle.loads(…, buffers=…)` and
    /// [`read_with_buffers`](Self::read_with_buffers) take both. Arrays of objects and empty arrays are in the pickle.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::write`].
    pub fn write_with_buffers(object: &Object) -> Result<(Vec<u8>, Vec<&[u8]>)> {
        Pickler::pickle_with_buffers(object.as_ref())
    }
}

impl ReadOptions {
    /// Reads a pickle. See [`Pickle::read`].
    ///
    /// # Errors
    ///
    /// Those of [`Pickle::read`].
    pub fn read_pickle(&self, reader: impl Read) -> Result<Pickle> {
        self.unpickle(&read_pickle_bytes(reader, self)?)
    }

    /// Decodes the pickle at the start of `bytes`, and ignores what follows it. See [`Pickle::read`].
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`], except for I/O errors.
    pub fn unpickle(&self, bytes: &[u8]) -> Result<Pickle> {
        self.get_limits().check_payload(bytes.len() as u64)?;
        Pickle::of_source(&PickleSource::new(bytes), self)
    }
}

/// Reads the bytes of exactly one pickle.
fn read_pickle_bytes(mut reader: impl Read, options: &ReadOptions) -> Result<Vec<u8>> {
    let most = options.get_limits();
    read_one(|bytes, count| {
        // The check precedes the read, because the count comes from the pickle and cannot be trusted.
        most.check_payload((bytes.len() as u64).saturating_add(count))?;
        let came = reader.by_ref().take(count).read_to_end(bytes);
        came.map(|came| came as u64).map_err(Error::from)
    })
}
