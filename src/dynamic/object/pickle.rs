//! A pickle by itself.

use std::io::Read;

use super::graph::Name;
use super::write::Pickler;
use super::{Global, Object, ObjectRef, View, finish, walk};
use crate::error::{Error, Result};
use crate::options::{ReadOptions, WriteOptions};
use crate::pickle::read_one;

/// A pickle that is no array: of `pickle.dump`, of `dask`, of `scikit-learn`. Nothing of it is executed.
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
    /// Of all that is looked up, be it a part of the object or not.
    names: Vec<Name>,
}

impl Pickle {
    /// Reads one pickle and not a byte more. (Protocols before 4 are read byte by byte: let the source be a
    /// [`BufReader`](std::io::BufReader).)
    ///
    /// # Errors
    ///
    /// A pickle that is malformed, or beyond a limit; a file of `joblib.dump`, which mixes the bytes of arrays into it.
    pub fn read(reader: impl Read) -> Result<Self> {
        Self::read_with(reader, &ReadOptions::new())
    }

    /// The same with options.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`].
    pub fn read_with(mut reader: impl Read, options: &ReadOptions) -> Result<Self> {
        let most = options.get_limits();
        let bytes = read_one(|bytes, count| {
            most.check_payload((bytes.len() as u64).saturating_add(count))?;
            let came = reader.by_ref().take(count).read_to_end(bytes);
            came.map(|came| came as u64).map_err(Error::from)
        })?;
        Self::from_bytes_with(&bytes, options)
    }

    /// The pickle that bytes begin with.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`].
    pub fn from_bytes_with(bytes: &[u8], options: &ReadOptions) -> Result<Self> {
        let read = super::machine::read(bytes, options.get_limits(), options.get_old_text())?;
        let names = read.graph.rest.as_ref().map_or_else(Vec::new, |rest| rest.names.clone());
        Ok(Self { object: finish::finish(read, bytes, options.get_limits())?, names })
    }

    /// What it is a pickle of.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// What it is a pickle of.
    pub fn into_object(self) -> Object {
        self.object
    }

    /// Every class and function that Python would look up to load it, each once: those that are called, and those that are not,
    /// and those of what is thrown away on the way. To look one up, Python imports its module.
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
        self.names.iter().map(Global::new)
    }

    /// Every call that Python would make for what is a part of the object. Not among them are calls whose meaning is known here (as
    /// `complex`), and those of what is thrown away on the way: what these could be is among the [`globals`](Self::globals).
    pub fn calls(&self) -> Vec<ObjectRef<'_>> {
        walk::all(self.object.as_ref())
            .into_iter()
            .filter(|object| matches!(object.view(), View::Call(_)))
            .collect()
    }

    /// The pickle of an object, in the protocol that the options say.
    ///
    /// # Errors
    ///
    /// An object that needs a later protocol, or that nobody else could load: a persistent id, a buffer.
    pub fn write(object: &Object, options: &WriteOptions) -> Result<Vec<u8>> {
        Pickler::new(options)?.object(object.as_ref())
    }
}
