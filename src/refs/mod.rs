//! References that let Zarr readers open NPY, NPZ and RA files in place: zarr-python, xarray and Dask read them with ranged requests, on
//! any number of machines, and nothing is copied.
//!
//! ```
//! use ndarray::Array2;
//! use ndarray_io::refs::{RefOptions, References, ZarrFormat};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("temperature.npy");
//! ndarray_io::write_npy(&path, &Array2::<f32>::zeros((1000, 50)))?;
//! let mut references = References::new(ZarrFormat::V2);
//! references.add(&path, &RefOptions::new().chunk(250).location("s3://bucket/temperature.npy"))?;
//! references.write(std::fs::File::create(folder.path().join("refs.json"))?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In Python, `xarray.open_dataset("reference://", engine="zarr", consolidated=False, backend_kwargs={"storage_options": {"fo":
//! "refs.json"}})` has an array `temperature` then, in four chunks.
//!
//! # What can be referred to
//!
//! NPY files, RA files whose data are not packed, stored members of NPZ archives, and stacks ([`stack`](crate::stack)). The result is a
//! group with an array for each file or member, named by the file's stem or the member; `/` in a member's name makes groups. Zarr has
//! numbers, text, times and, in format 2, records of these without gaps; everything else is
//! [`NotExpressible`](crate::error::ErrorKind::NotExpressible).
//!
//! # Chunks
//!
//! A chunk is contiguous in its file, so chunks follow the file's slowest axis: the first in C order, the last in Fortran order
//! and in RA files (the first that is longer than 1). All chunks of a Zarr array have one length, and readers refuse a reference that is
//! shorter. If the length that is asked for does not divide the axis, the largest divisor of at least half that length is used; otherwise the
//! last chunk is put into the references, padded with zeros, if it has at most [`RefOptions::inline_limit`] bytes, for which chunks may become
//! shorter; otherwise the largest divisor is used, which may be 1. [`References::notes`] tells what was chosen.
//!
//! Of a pipe or a compressed file there is nothing to refer to. References say nothing of a file that changes later: they have its shape
//! of now.

mod grid;
mod meta;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use grid::{Layout, Place, Wish};
use meta::Described;
pub use meta::ZarrFormat;

use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::header::{Header, Order};
use crate::io::ArrayFormat;
use crate::npz::{Method, NpzFile};
use crate::parts::{ArrayFile, NpyFile, RaFile};
use crate::stack::NpyStack;
#[cfg(feature = "object-store-0_14")]
use crate::store::Remote;
use crate::transfer::Anywhere;

/// About how many bytes a chunk has, if nobody asks for a length.
const BYTES: u64 = 32 << 20;
/// The most that is put into the references of an array's end, whatever is asked for: it is in memory several times.
const INLINE: u64 = 64 << 20;

/// How an array is referred to.
///
/// ```
/// use ndarray_io::refs::RefOptions;
/// let options = RefOptions::new().chunk(1000).dims(["time", "y", "x"]);
/// ```
#[derive(Clone, Debug)]
pub struct RefOptions {
    name: Option<String>,
    location: Option<String>,
    member: Option<String>,
    chunk: Option<usize>,
    inline_limit: u64,
    dims: Option<Vec<String>>,
}

impl Default for RefOptions {
    fn default() -> Self {
        Self { name: None, location: None, member: None, chunk: None, inline_limit: 1 << 20, dims: None }
    }
}

impl RefOptions {
    /// Everything by default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the array. By default the file's stem, or the member's name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where readers find the file: a URL, or a path as they see it. By default the path that is given. Of a stack, it is the folder.
    #[must_use]
    pub fn location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Only this member of an archive. By default all of them that are arrays.
    #[must_use]
    pub fn member(mut self, name: impl Into<String>) -> Self {
        self.member = Some(name.into());
        self
    }

    /// How many indices a chunk has along the slowest axis. By default about 32 MiB; a single index that is larger is cut along the next
    /// axes as well.
    #[must_use]
    pub fn chunk(mut self, length: usize) -> Self {
        self.chunk = Some(length);
        self
    }

    /// How many bytes a last chunk may have that is put into the references, padded. By default 1 MiB, and at most 64 MiB.
    #[must_use]
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.inline_limit = bytes;
        self
    }

    /// The names of the dimensions. By default `<array>_dim_0` and so on, so that arrays of different shapes are one dataset in xarray.
    #[must_use]
    pub fn dims<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.dims = Some(names.into_iter().map(Into::into).collect());
        self
    }
}

/// A group of arrays that are in files.
///
/// See [the module](self).
#[derive(Clone, Debug)]
pub struct References {
    format: ZarrFormat,
    refs: BTreeMap<String, Ref>,
    /// The names of the arrays, and what they are in.
    arrays: BTreeMap<String, String>,
    /// The lengths of the dimensions, which are the same for all arrays that have them.
    dims: BTreeMap<String, usize>,
    chunks: usize,
    notes: Vec<String>,
}

/// What is under a key.
#[derive(Clone, Debug)]
enum Ref {
    /// Metadata, or a chunk in base64.
    Text(String),
    /// Bytes of a file: where it is, where in it they begin, and how many there are.
    Bytes(Arc<str>, u64, u64),
}

impl From<Value> for Ref {
    /// References have metadata as text.
    fn from(metadata: Value) -> Self {
        Self::Text(metadata.to_string())
    }
}

/// The bytes of an array, or of a part of one, in a file.
struct Part {
    path: PathBuf,
    location: Arc<str>,
    /// Where in the file the data begin.
    offset: u64,
    header: Header,
    /// The file of the last part, of which the end may have to be read: there may be more parts than a process can have files open.
    file: Option<Box<dyn Bytes>>,
}

/// A file whose data are as they are in memory.
trait Bytes {
    fn read(&self, start: u64, into: &mut [u8]) -> Result<()>;
}

impl<F: ArrayFormat> Bytes for ArrayFile<F> {
    fn read(&self, start: u64, into: &mut [u8]) -> Result<()> {
        match self.anywhere().fill_at(into, start)? {
            came if came == into.len() => Ok(()),
            _ => self.check_complete(), // it was complete when it was opened
        }
    }
}

impl Part {
    /// An open file as a part of an array.
    fn new<F: ArrayFormat + 'static>(path: &Path, file: ArrayFile<F>, location: String) -> Result<Self> {
        file.check_complete()?;
        let offset = match file.anywhere() {
            Anywhere::File(_, offset) | Anywhere::Other(_, offset) => offset,
            _ => unreachable!("only plain files, objects and stored members are opened here"),
        };
        let header = file.header().clone();
        let location = location.into();
        Ok(Self { path: path.to_owned(), location, offset, header, file: Some(Box::new(file)) })
    }

    fn named(&self, error: Error) -> Error {
        error.at_path(&self.path)
    }

    /// The chunk at the end, with zeros to the length that all chunks have.
    fn padded(&self, place: &Place, full: u64) -> Result<Ref> {
        let Some(file) = &self.file else {
            unreachable!("the file of the last part is open, and no other is padded")
        };
        let mut bytes = vec![0; full as usize]; // at most `INLINE`
        file.read(place.start, &mut bytes[..place.len as usize]).map_err(|error| self.named(error))?;
        Ok(Ref::Text(format!("base64:{}", meta::base64(&bytes))))
    }
}

/// Adds a part after the others, whose files are closed.
fn push(parts: &mut Vec<Part>, part: Part) {
    if let Some(last) = parts.last_mut() {
        last.file = None;
    }
    parts.push(part);
}

impl References {
    /// An empty group.
    pub fn new(format: ZarrFormat) -> Self {
        let (file, group) = format.group();
        let refs = BTreeMap::from([(file.to_owned(), Ref::from(group))]);
        Self { format, refs, arrays: BTreeMap::new(), dims: BTreeMap::new(), chunks: 0, notes: Vec::new() }
    }

    /// Adds the array of a file or stack, or the arrays of an archive.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the system fails; an error of the [format](Error::is_format) if the file is malformed or truncated;
    /// [`NotStored`](ErrorKind::NotStored) of compressed members and [`Packed`](ErrorKind::Packed) of packed RA files;
    /// [`NotExpressible`](ErrorKind::NotExpressible) if Zarr cannot represent the elements; [`BadOption`](ErrorKind::BadOption) if
    /// there is an array of the name, the options do not fit the array, or the parts of a stack have unequal lengths.
    pub fn add<P: AsRef<Path>>(&mut self, path: P, options: &RefOptions) -> Result<()> {
        let path = path.as_ref();
        self.add_at(path, options).map_err(|error| error.at_path(path))
    }

    fn add_at(&mut self, path: &Path, options: &RefOptions) -> Result<()> {
        let location = location(path, options)?;
        let is_archive = !path.is_dir() && first_bytes(path)? == *b"PK";
        if options.member.is_some() && !is_archive {
            let reason = "it is not an archive, which has members".into();
            return Err(ErrorKind::BadOption { reason }.into());
        }
        if path.is_dir() {
            let stack = NpyStack::open(path)?;
            let name = name_of(path, options)?;
            let whole = stack.as_file().header().clone();
            let mut parts = Vec::new();
            for (number, length) in stack.lengths().iter().enumerate() {
                if *length > 0 && whole.len() > 0 {
                    let location = format!("{}/{number}.npy", location.trim_end_matches('/'));
                    let path = path.join(format!("{number}.npy"));
                    push(&mut parts, Part::new(&path, stack.part(number)?, location)?);
                }
            }
            return self.add_parts(&name, &whole, stack.axis(), parts, options);
        }
        match first_bytes(path)? {
            [b'P', b'K', ..] => self.add_archive(&NpzFile::open(path)?, path, &location, options),
            [b'r' | b'y', b'a', ..] => {
                let file = RaFile::open(path)?;
                self.add_file(path, &name_of(path, options)?, file, location, options)
            }
            _ => {
                let file = NpyFile::open(path)?;
                self.add_file(path, &name_of(path, options)?, file, location, options)
            }
        }
    }

    fn add_file<F: ArrayFormat + 'static>(
        &mut self,
        path: &Path,
        name: &str,
        file: ArrayFile<F>,
        location: String,
        options: &RefOptions,
    ) -> Result<()> {
        let header = file.header().clone();
        // What can be padded at the end: the slowest axis that is longer than 1.
        let is_long = |axis: &usize| header.shape()[*axis] > 1;
        let mut axes = 0..header.shape().len();
        let axis = match header.order() {
            Order::C => axes.find(is_long),
            Order::Fortran => axes.rev().find(is_long),
        };
        let axis = axis.unwrap_or(0);
        let parts = if header.len() > 0 { vec![Part::new(path, file, location)?] } else { Vec::new() };
        self.add_parts(name, &header, axis, parts, options)
    }

    /// Adds the array of an object in a store, or the arrays of an archive in one. Readers find it by its URL, without a query, unless the
    /// options have a location.
    ///
    /// # Errors
    ///
    /// As for [`References::add`] and [`Remote::open_npy`].
    ///
    /// ```no_run
    /// use ndarray_io::refs::{RefOptions, References, ZarrFormat};
    /// use ndarray_io::store::Remote;
    ///
    /// let mut references = References::new(ZarrFormat::V2);
    /// references.add_remote(&Remote::parse("s3://bucket/temperature.npy")?, &RefOptions::new())?;
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[cfg(feature = "object-store-0_14")]
    pub fn add_remote(&mut self, remote: &Remote, options: &RefOptions) -> Result<()> {
        let shown = PathBuf::from(remote.name());
        let mut add = || {
            let (first, _) = remote.first_bytes()?;
            let location = options.location.clone().unwrap_or_else(|| remote.name());
            let name = name_of(&shown, options);
            match first.get(..2) {
                Some(b"PK") => self.add_archive(&remote.open_npz()?, &shown, &location, options),
                _ if options.member.is_some() => {
                    let reason = "it is not an archive, which has members".into();
                    Err(ErrorKind::BadOption { reason }.into())
                }
                Some(b"ra" | b"ya") => self.add_file(&shown, &name?, remote.open_ra()?, location, options),
                _ => self.add_file(&shown, &name?, remote.open_npy()?, location, options),
            }
        };
        add().map_err(|error: Error| error.at_path(&shown))
    }

    fn add_archive(
        &mut self,
        archive: &NpzFile,
        path: &Path,
        location: &str,
        options: &RefOptions,
    ) -> Result<()> {
        let chosen = options.member.as_deref().map(|name| archive.index_of(name)).transpose()?;
        let is_chosen =
            |index: usize| chosen.map_or(archive.members()[index].is_array(), |chosen| chosen == index);
        let indices: Vec<usize> = (0..archive.len()).filter(|index| is_chosen(*index)).collect();
        if options.name.is_some() && indices.len() > 1 {
            let reason = format!("one name for the {} arrays of an archive", indices.len());
            return Err(ErrorKind::BadOption { reason }.into());
        }
        let mut added = self.clone(); // all of them, or none
        for index in indices {
            let member = &archive.members()[index];
            if member.method() != Method::Stored || member.is_encrypted() {
                let (packed, size) = (member.packed_size(), member.size());
                return Err(Error::from(ErrorKind::NotStored { packed, size }).at_member(member.name()));
            }
            let file = archive.open_member_index(index)?;
            let name = options.name.as_deref().unwrap_or(member.name());
            added
                .add_file(path, name, file, location.to_owned(), options)
                .map_err(|error| error.at_member(member.name()))?;
        }
        *self = added;
        Ok(())
    }

    /// Adds an array that several files are along an axis. All have to have the same dtype, order and lengths; along the slowest axis, the
    /// last file may be shorter. Files without elements are left out. Readers find them by the paths that are given.
    ///
    /// # Errors
    ///
    /// As for [`References::add`]; [`BadOption`](ErrorKind::BadOption) if the files do not fit together, which names them.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_io::refs::{RefOptions, References, ZarrFormat};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let paths = [folder.path().join("monday.npy"), folder.path().join("tuesday.npy")];
    /// for path in &paths {
    ///     ndarray_io::write_npy(path, &Array2::<f32>::zeros((24, 10)))?;
    /// }
    /// let mut references = References::new(ZarrFormat::V2);
    /// references.concatenate(&paths, 0, &RefOptions::new().name("week"))?; // of shape (48, 10)
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn concatenate<P: AsRef<Path>>(
        &mut self,
        paths: &[P],
        axis: usize,
        options: &RefOptions,
    ) -> Result<()> {
        let located = paths.iter().map(|path| {
            let path = path.as_ref();
            Ok((path, location(path, &RefOptions::new()).map_err(|error| error.at_path(path))?))
        });
        self.concatenate_at(&located.collect::<Result<Vec<_>>>()?, axis, options)
    }

    /// Adds an array that several files are along an axis, each with the location at which readers find it: a URL, or a path as they see
    /// it. See [`concatenate`](Self::concatenate).
    ///
    /// # Errors
    ///
    /// As for [`References::concatenate`].
    pub fn concatenate_at<P, L>(&mut self, files: &[(P, L)], axis: usize, options: &RefOptions) -> Result<()>
    where
        P: AsRef<Path>,
        L: AsRef<str>,
    {
        let Some((first_path, _)) = files.first() else {
            return Err(ErrorKind::BadOption { reason: "there is no file to refer to".into() }.into());
        };
        let name = name_of(first_path.as_ref(), options)?;
        if options.member.is_some() || options.location.is_some() {
            let reason = "neither a member nor one location is that of several files".into();
            return Err(ErrorKind::BadOption { reason }.into());
        }
        let (mut parts, mut first, mut all) = (Vec::new(), None, 0usize);
        for (path, location) in files {
            let (path, location) = (path.as_ref(), location.as_ref().to_owned());
            let open = || match first_bytes(path)? {
                [b'P', b'K'] => {
                    let reason = "an archive cannot be one of several files that are one array".into();
                    Err(ErrorKind::BadOption { reason }.into())
                }
                [b'r' | b'y', b'a'] => Part::new(path, RaFile::open(path)?, location),
                _ => Part::new(path, NpyFile::open(path)?, location),
            };
            let part = open().map_err(|error: Error| error.at_path(path))?;
            let first = first.get_or_insert_with(|| part.header.clone());
            let Some(&length) = part.header.shape().get(axis) else {
                let reason = format!("an array of shape {} has no axis {axis}", part.header.the_shape());
                return Err(part.named(ErrorKind::BadOption { reason }.into()));
            };
            let mut shape = first.shape().to_vec();
            if let Some(own) = shape.get_mut(axis) {
                *own = length;
            }
            if part.header.shape() != shape {
                let (found, wanted) = (part.header.the_shape().clone(), first.the_shape().clone());
                return Err(part.named(ErrorKind::ShapeMismatch { found, wanted }.into()));
            }
            refuse_other_dtype(&part, first.dtype())?;
            all = all.checked_add(length).ok_or_else(|| {
                Error::from(ErrorKind::Overflow { what: "the length of all files together".into() })
            })?;
            // Files without elements have nothing to refer to.
            if part.header.len() > 0 {
                push(&mut parts, part);
            }
        }
        let Some(first) = first else { unreachable!("there is a file") };
        let mut shape = first.shape().to_vec();
        shape[axis] = all;
        let whole = Header::new(first.dtype().clone(), first.order(), shape.into())?;
        self.add_parts(&name, &whole, axis, parts, options)
    }

    /// Adds an array of parts, each of which has elements.
    fn add_parts(
        &mut self,
        name: &str,
        whole: &Header,
        axis: usize,
        parts: Vec<Part>,
        options: &RefOptions,
    ) -> Result<()> {
        self.check_name(name)?;
        meta::check_item(whole.dtype())?;
        let order = order_of(&parts).unwrap_or(whole.order());
        for part in &parts {
            if part.header.order() != order && !part.header.the_shape().is_any_order() {
                let (found, wanted) = (spelled(part.header.order()), spelled(order));
                let reason =
                    format!("it is in {found} order, and other parts of the array are in {wanted} order");
                return Err(part.named(ErrorKind::BadOption { reason }.into()));
            }
            refuse_other_dtype(part, whole.dtype())?;
        }
        let lengths: Vec<usize> =
            parts.iter().map(|part| part.header.shape().get(axis).copied().unwrap_or(1)).collect();
        refuse_unequal(&parts, &lengths)?;
        let layout =
            Layout { shape: whole.shape(), order, item: whole.dtype().item_size(), axis, lengths: &lengths };
        let wish = Wish { length: options.chunk, bytes: BYTES, inline: options.inline_limit.min(INLINE) };
        if options.chunk == Some(0) {
            return Err(ErrorKind::BadOption { reason: "chunks have a length of at least 1".into() }.into());
        }
        let grid = layout.grid(wish).map_err(|error| match parts.last() {
            Some(last) => last.named(error),
            None => error,
        })?;
        let dims = self.dims(name, whole, options)?;
        let described =
            Described { dtype: whole.dtype(), order, shape: whole.shape(), chunk: &grid.chunk, dims: &dims };
        let mut added: Vec<(String, Ref)> = Vec::new();
        for (file, value) in self.format.array(&described)? {
            added.push((format!("{name}/{file}"), value.into()));
        }
        let counts = layout.counts(&grid);
        let chunks = check_count(self.chunks, &counts)?;
        let full =
            grid.chunk.iter().fold(layout.item as u64, |all, length| all.saturating_mul(*length as u64));
        let mut numbers = vec![0; counts.len()];
        let mut has_more = !parts.is_empty() && !counts.contains(&0);
        while has_more {
            let place = layout.place(&grid, &numbers);
            let part = &parts[place.part];
            let value = match place.len == full {
                true => Ref::Bytes(Arc::clone(&part.location), part.offset + place.start, full),
                false => part.padded(&place, full)?,
            };
            added.push((format!("{name}/{}", self.format.key(&numbers)), value));
            has_more = next(&mut numbers, &counts);
        }
        // Nothing is added of what cannot be added as a whole.
        if let Some(wanted) = grid.wanted {
            let (length, chunk) = (whole.shape()[grid.cut], grid.chunk[grid.cut]);
            let of = if options.chunk.is_some() { "asked for" } else { "about 32 MiB" };
            let parts = if lengths.len() > 1 { " and its parts" } else { "" };
            self.notes.push(format!(
                "{name}: chunks of {chunk} along axis {}, and not {wanted} ({of}), which does not divide its length {length}{parts}",
                grid.cut
            ));
        } else if options.chunk.is_none() && full > 2 * BYTES {
            self.notes.push(format!(
                "{name}: chunks of {full} bytes, since the lengths of its axes have no suitable divisors"
            ));
        }
        self.chunks = chunks;
        self.dims.extend(dims.into_iter().zip(whole.shape().iter().copied()));
        self.add_groups(name);
        self.refs.extend(added);
        let from = parts.first().map_or_else(String::new, |part| part.location.to_string());
        self.arrays.insert(name.to_owned(), from);
        Ok(())
    }

    /// An error if an array of this name cannot be added.
    fn check_name(&self, name: &str) -> Result<()> {
        /// Each group of the name has a file.
        const LONGEST: usize = 1024;
        let is_bad = |part: &str| {
            part.is_empty()
                || part == "."
                || part == ".."
                || part.starts_with(".z")
                || part.starts_with("__")
                || part.contains('\\')
                || part == "zarr.json"
        };
        if name.len() > LONGEST || name.split('/').any(is_bad) {
            let name: String = name.chars().take(100).collect();
            let reason = format!("Zarr has no array of the name {name:?}");
            return Err(ErrorKind::BadOption { reason }.into());
        }
        if let Some(from) = self.arrays.get(name) {
            let reason = format!("there is an array of the name '{name}' already, of '{from}'");
            return Err(ErrorKind::BadOption { reason }.into());
        }
        let inner = format!("{name}/");
        let within = self
            .arrays
            .range(inner.clone()..)
            .next()
            .map(|(other, _)| other)
            .filter(|other| other.starts_with(&inner));
        let around = name
            .match_indices('/')
            .find_map(|(at, _)| self.arrays.get_key_value(&name[..at]))
            .map(|(other, _)| other);
        match within.or(around) {
            Some(other) => {
                let reason = format!("an array cannot be within another one: '{name}' and '{other}'");
                Err(ErrorKind::BadOption { reason }.into())
            }
            None => Ok(()),
        }
    }

    fn add_groups(&mut self, name: &str) {
        let (file, group) = self.format.group();
        for (at, _) in name.match_indices('/') {
            self.refs.insert(format!("{}/{file}", &name[..at]), group.clone().into());
        }
    }

    fn dims(&self, name: &str, header: &Header, options: &RefOptions) -> Result<Vec<String>> {
        let count = header.shape().len();
        let Some(dims) = &options.dims else {
            let name = name.replace('/', "_");
            return Ok((0..count).map(|axis| format!("{name}_dim_{axis}")).collect());
        };
        let is_twice = dims.iter().enumerate().any(|(at, dim)| dims[..at].contains(dim));
        if dims.len() != count || is_twice {
            let reason = match is_twice {
                true => format!("two dimensions have the same name: {}", dims.join(", ")),
                false => format!("{} names of dimensions ({}) for {count} axes", dims.len(), dims.join(", ")),
            };
            return Err(ErrorKind::BadOption { reason }.into());
        }
        for (dim, length) in dims.iter().zip(header.shape()) {
            if let Some(known) = self.dims.get(dim).filter(|known| *known != length) {
                let reason = format!(
                    "the dimension '{dim}' has the length {known} in another array, and {length} in '{name}'"
                );
                return Err(ErrorKind::BadOption { reason }.into());
            }
        }
        Ok(dims.clone())
    }

    /// What was chosen otherwise than asked for, a sentence for each array.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How many arrays there are.
    pub fn len(&self) -> usize {
        self.arrays.len()
    }

    /// Whether there are no arrays.
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// Writes the references as JSON: version 1 of [kerchunk's format](https://fsspec.github.io/kerchunk/spec.html).
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the writer fails.
    pub fn write(&self, mut writer: impl Write) -> Result<()> {
        Ok(self.put(&mut writer).and_then(|()| writer.write_all(b"\n")).and_then(|()| writer.flush())?)
    }

    /// One by one, since there may be millions.
    fn put(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        writer.write_all(b"{\"version\":1,\"refs\":{")?;
        for (number, (key, value)) in self.refs.iter().enumerate() {
            if number > 0 {
                writer.write_all(b",")?;
            }
            serde_json::to_writer(&mut *writer, key)?;
            writer.write_all(b":")?;
            match value {
                Ref::Text(text) => serde_json::to_writer(&mut *writer, text)?,
                Ref::Bytes(location, start, len) => {
                    writer.write_all(b"[")?;
                    serde_json::to_writer(&mut *writer, &**location)?;
                    write!(writer, ",{start},{len}]")?;
                }
            }
        }
        writer.write_all(b"}}")
    }
}

/// The references, as [`References::write`] writes them.
impl fmt::Display for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        self.put(&mut bytes).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

fn refuse_other_dtype(part: &Part, dtype: &DType) -> Result<()> {
    if part.header.dtype() == dtype {
        return Ok(());
    }
    let (found, wanted) = (part.header.dtype().clone(), dtype.clone());
    Err(part.named(ErrorKind::DTypeMismatch { found, wanted }.into()))
}

/// The order that all parts have which are not in both.
fn order_of(parts: &[Part]) -> Option<Order> {
    parts.iter().map(|part| &part.header).find(|header| !header.the_shape().is_any_order()).map(Header::order)
}

fn spelled(order: Order) -> &'static str {
    if order == Order::C { "C" } else { "Fortran" }
}

fn refuse_unequal(parts: &[Part], lengths: &[usize]) -> Result<()> {
    let Some((first, last)) = lengths.first().zip(lengths.last()) else { return Ok(()) };
    let other =
        lengths.iter().position(|length| length != first).filter(|at| at + 1 < lengths.len() || last > first);
    match other {
        None => Ok(()),
        Some(at) => {
            let (one, other) = (&parts[0].location, &parts[at].location);
            let reason = format!(
                "Zarr's chunks have one length: '{one}' has {first} along the axis, and '{other}' has {}",
                lengths[at]
            );
            Err(ErrorKind::BadOption { reason }.into())
        }
    }
}

/// How many chunks there are with those of one more array.
fn check_count(others: usize, counts: &[usize]) -> Result<usize> {
    /// Readers have all references in memory, as objects of Python.
    const MOST: usize = 2_000_000;
    let count = counts.iter().fold(1usize, |all, count| all.saturating_mul(*count)).saturating_add(others);
    if count > MOST {
        let reason = format!("{count} chunks are more than readers of references can hold (2 million)");
        return Err(ErrorKind::BadOption { reason }.into());
    }
    Ok(count)
}

/// Counts on; the last axis fastest. `false` after the last.
fn next(numbers: &mut [usize], counts: &[usize]) -> bool {
    for (number, count) in numbers.iter_mut().zip(counts).rev() {
        *number += 1;
        if *number < *count {
            return true;
        }
        *number = 0;
    }
    false
}

fn location(path: &Path, options: &RefOptions) -> Result<String> {
    match (&options.location, path.to_str()) {
        (Some(location), _) => Ok(location.clone()),
        (None, Some(path)) => Ok(path.to_owned()),
        (None, None) => {
            Err(ErrorKind::BadOption { reason: "the path is not text, which references are".into() }.into())
        }
    }
}

fn name_of(path: &Path, options: &RefOptions) -> Result<String> {
    if let Some(name) = &options.name {
        return Ok(name.clone());
    }
    let stem = if path.is_dir() { path.file_name() } else { path.file_stem() };
    let stem = stem.and_then(|stem| stem.to_str());
    stem.map(str::to_owned).ok_or_else(|| {
        ErrorKind::BadOption { reason: "the path has no name that an array could have".into() }.into()
    })
}

/// The first two bytes.
fn first_bytes(path: &Path) -> Result<[u8; 2]> {
    use std::io::Read;
    let mut first = Vec::new();
    std::fs::File::open(path)?.take(2).read_to_end(&mut first)?;
    Ok(first.try_into().unwrap_or_default())
}
