//! [`References`]: arrays in files, and what their chunks refer to.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use ndarray_io::bytes::{LocalFile, ReadAt, fill_at};
use ndarray_io::dask::NpyStack;
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{AxisIndex, Header, Order, Shape};
use ndarray_io::npz::Method;
use ndarray_io::{Error, NpyFile, NpzFile, Result};

use crate::meta::ZarrFormat;
use crate::options::RefOptions;
use crate::parts::{ReferencedPart, header_of, push_closing_previous, refuse_other_dtype};

/// A group of arrays in files, for Zarr readers.
///
/// References to the chunks are kept in memory; there can be at most 2 million of them. See
/// [the crate](crate) for an example.
#[derive(Clone, Debug)]
pub struct References {
    pub(crate) format: ZarrFormat,
    pub(crate) refs: BTreeMap<String, Ref>,
    /// The arrays by name, each with the location of its first file.
    pub(crate) array_locations: BTreeMap<String, String>,
    /// The lengths of the dimensions. Arrays that share a dimension must have the same length along it.
    pub(crate) dim_lengths: BTreeMap<String, usize>,
    pub(crate) chunk_count: usize,
    pub(crate) notes: Vec<String>,
}

/// The value of a key.
#[derive(Clone, Debug)]
pub(crate) enum Ref {
    /// Metadata, or an embedded chunk in base64.
    Text(String),
    /// A byte range of a file: the location of the file, the offset, and the length.
    Bytes(Arc<str>, u64, u64),
}

impl From<Value> for Ref {
    /// Encodes metadata as text, as the format of references requires.
    fn from(metadata: Value) -> Self {
        Self::Text(metadata.to_string())
    }
}

impl References {
    /// Creates an empty group.
    pub fn new(format: ZarrFormat) -> Self {
        let (file, group) = format.group_metadata();
        let refs = BTreeMap::from([(file.to_owned(), Ref::from(group))]);
        Self {
            format,
            refs,
            array_locations: BTreeMap::new(),
            dim_lengths: BTreeMap::new(),
            chunk_count: 0,
            notes: Vec::new(),
        }
    }

    /// Adds the array of a file or stack, or the arrays of an archive.
    ///
    /// After an error, the references are unchanged.
    ///
    /// # Errors
    ///
    /// - [`Io`](ErrorKind::Io) if reading fails.
    /// - A [format error](Error::is_format) if the file is malformed or truncated.
    /// - [`NeedsCopy`](ErrorKind::NeedsCopy) if a member is compressed or encrypted, or an RA file is compressed.
    /// - [`Changed`](ErrorKind::Changed) if a file has become shorter since it was opened.
    /// - [`NotConvertible`](ErrorKind::NotConvertible) if Zarr cannot represent the dtype, and
    ///   [`Objects`](ErrorKind::Objects) if the elements are Python objects.
    /// - [`NoSuchName`](ErrorKind::NoSuchName) or [`AmbiguousName`](ErrorKind::AmbiguousName) if not
    ///   exactly one member has the name in the options.
    /// - [`BadOption`](ErrorKind::BadOption) if the name is invalid or already used, the options do not fit
    ///   the array, the parts of a stack have different lengths or orders, or there would be more than 2
    ///   million chunks.
    /// - [`DTypeMismatch`](ErrorKind::DTypeMismatch) if the parts of a stack have different dtypes.
    pub fn add<P: AsRef<Path>>(&mut self, path: P, options: &RefOptions) -> Result<()> {
        let path = path.as_ref();
        self.add_path(path, options).map_err(|error| error.at_path(path))
    }

    fn add_path(&mut self, path: &Path, options: &RefOptions) -> Result<()> {
        let location = location(path, options)?;
        if path.is_dir() && options.member.is_some() {
            return Err(not_an_archive());
        }
        if path.is_dir() {
            let stack = NpyStack::open(path)?;
            let name = array_name(path, options)?;
            let whole = header_of(stack.as_file())?;
            let mut parts = Vec::new();
            for (number, length) in stack.lengths().iter().enumerate() {
                // A part without elements has no bytes to refer to.
                if *length > 0 && whole.len() > 0 {
                    let location = format!("{}/{number}.npy", location.trim_end_matches('/'));
                    let path = path.join(format!("{number}.npy"));
                    let file = stack.part(number)?;
                    let source = open_source(&path).map_err(|error| error.at_path(&path))?;
                    push_closing_previous(&mut parts, ReferencedPart::new(&path, &file, source, location)?);
                }
            }
            return self.add_parts(&name, &whole, stack.axis(), parts, options);
        }
        self.add_bytes(open_source(path)?, path, location, options)
    }

    /// Adds the array, or all arrays of an archive, in a [source](ReadAt) of bytes.
    ///
    /// The options must have a [location](RefOptions::location), where readers will find the same bytes.
    ///
    /// # Errors
    ///
    /// As for [`References::add`], and those of the source.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::WriteNpyExt;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io_refs::{RefOptions, References, ZarrFormat};
    ///
    /// let mut bytes = Vec::new();
    /// ndarray::arr1(&[1.0, 2.0]).write_npy(&mut bytes)?;
    /// let mut references = References::new(ZarrFormat::V2);
    /// references.add_source(InMemory(bytes), &RefOptions::new().location("s3://bucket/a.npy"))?;
    /// assert!(references.to_string().contains("s3://bucket/a.npy"));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn add_source<S: ReadAt + 'static>(&mut self, source: S, options: &RefOptions) -> Result<()> {
        let Some(location) = &options.location else {
            let reason = "the location of the source is required";
            return Err(Error::new(ErrorKind::BadOption, reason));
        };
        let shown = PathBuf::from(location);
        self.add_bytes(Arc::new(source), &shown, location.clone(), options)
            .map_err(|error| error.at_path(&shown))
    }

    /// Formats are recognized by their first bytes, not by the name of the file.
    fn add_bytes(
        &mut self,
        source: Arc<dyn ReadAt>,
        path: &Path,
        location: String,
        options: &RefOptions,
    ) -> Result<()> {
        match &first_bytes(&*source)? {
            b"PK" => self.add_archive(
                &options.read.open_npz_source(Arc::clone(&source))?.with_path(path),
                path,
                source,
                &location,
                options,
            ),
            _ if options.member.is_some() => Err(not_an_archive()),
            _ => {
                let file = options.read.open_source(Arc::clone(&source))?.with_path(path);
                self.add_file(path, &array_name(path, options)?, file, source, location, options)
            }
        }
    }

    fn add_file(
        &mut self,
        path: &Path,
        name: &str,
        file: NpyFile,
        source: Arc<dyn ReadAt>,
        location: String,
        options: &RefOptions,
    ) -> Result<()> {
        let header = header_of(&file)?;
        // The last chunk can be padded only along the slowest axis that is longer than 1.
        let is_long = |axis: &usize| header.shape()[*axis] > 1;
        let mut axes = 0..header.shape().len();
        let axis = match header.order() {
            Order::C => axes.find(is_long),
            Order::Fortran => axes.rev().find(is_long),
        };
        let axis = axis.unwrap_or(0);
        let parts = match header.len() {
            0 => Vec::new(),
            _ => vec![ReferencedPart::new(path, &file, source, location)?],
        };
        self.add_parts(name, &header, axis, parts, options)
    }

    fn add_archive(
        &mut self,
        archive: &NpzFile,
        path: &Path,
        source: Arc<dyn ReadAt>,
        location: &str,
        options: &RefOptions,
    ) -> Result<()> {
        let chosen = options.member.as_deref().map(|name| archive.index_of(name)).transpose()?;
        let mut indices = Vec::new();
        for index in 0..archive.len() {
            if chosen.map_or_else(|| archive.holds_array(index), |chosen| Ok(chosen == index))? {
                indices.push(index);
            }
        }
        if options.name.is_some() && indices.len() > 1 {
            let reason = format!("one name was given for {} arrays of an archive", indices.len());
            return Err(Error::new(ErrorKind::BadOption, reason));
        }
        let mut added = self.clone(); // either all members are added or none
        for index in indices {
            let member = &archive.members()[index];
            if member.method() != Method::Stored || member.is_encrypted() {
                let (packed, size) = (member.compressed_size(), member.size());
                let text =
                    format!("expected an uncompressed member, found {size} bytes compressed to {packed}");
                return Err(Error::new(ErrorKind::NeedsCopy, text).at_member(member.name()));
            }
            let file = archive.open_member(index)?;
            let name = options.name.as_deref().unwrap_or(member.name());
            added
                .add_file(path, name, file, Arc::clone(&source), location.to_owned(), options)
                .map_err(|error| error.at_member(member.name()))?;
        }
        *self = added;
        Ok(())
    }

    /// Adds several files as one array, concatenated along an axis.
    ///
    /// All files must have the same dtype, order and lengths. Along the slowest axis, the last file may be
    /// shorter. Files without elements are skipped. Readers find the files by the given paths.
    ///
    /// # Errors
    ///
    /// As for [`References::add`], and:
    ///
    /// - [`ShapeMismatch`](ErrorKind::ShapeMismatch) or [`DTypeMismatch`](ErrorKind::DTypeMismatch) if a file
    ///   does not match the first one.
    /// - [`BadOption`](ErrorKind::BadOption) if there are no files, one of them is an archive, their orders or lengths differ, or the
    ///   options set a member or a location.
    /// - [`OutOfBounds`](ErrorKind::OutOfBounds) if a file does not have the axis.
    /// - [`Malformed`](ErrorKind::Malformed) if the shape is too large.
    ///
    /// An error about a file contains its path.
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_io_refs::{RefOptions, References, ZarrFormat};
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
        axis: impl AxisIndex,
        options: &RefOptions,
    ) -> Result<()> {
        let located = paths.iter().map(|path| {
            let path = path.as_ref();
            Ok((path, location(path, &RefOptions::new()).map_err(|error| error.at_path(path))?))
        });
        self.concatenate_at(&located.collect::<Result<Vec<_>>>()?, axis, options)
    }

    /// Adds several files as one array, each with the location at which readers find the file.
    ///
    /// A location is a URL, or a path that is valid for the readers. See [`concatenate`](Self::concatenate).
    ///
    /// # Errors
    ///
    /// As for [`References::concatenate`].
    pub fn concatenate_at<P, L>(
        &mut self,
        files: &[(P, L)],
        axis: impl AxisIndex,
        options: &RefOptions,
    ) -> Result<()>
    where
        P: AsRef<Path>,
        L: AsRef<str>,
    {
        let axis = axis.number();
        let Some((first_path, _)) = files.first() else {
            return Err(Error::new(ErrorKind::BadOption, "no files were given"));
        };
        let name = array_name(first_path.as_ref(), options)?;
        if options.member.is_some() || options.location.is_some() {
            let reason = "a member or a single location cannot apply to several files";
            return Err(Error::new(ErrorKind::BadOption, reason));
        }
        let (mut parts, mut first, mut all) = (Vec::new(), None, 0usize);
        for (path, location) in files {
            let (path, location) = (path.as_ref(), location.as_ref().to_owned());
            let open = || {
                let source = open_source(path)?;
                match &first_bytes(&*source)? {
                    b"PK" => Err(Error::new(
                        ErrorKind::BadOption,
                        "an archive cannot be part of a concatenated array",
                    )),
                    _ => {
                        let file = options.read.open_source(Arc::clone(&source))?;
                        ReferencedPart::new(path, &file, source, location)
                    }
                }
            };
            let part = open().map_err(|error: Error| error.at_path(path))?;
            let first = first.get_or_insert_with(|| part.header.clone());
            let Some(&length) = part.header.shape().get(axis) else {
                let shape = Shape::from(part.header.shape());
                let text = format!("an array of shape {shape} has no axis {axis}");
                return Err(part.name_error(Error::new(ErrorKind::OutOfBounds, text)));
            };
            let mut shape = first.shape().to_vec();
            if let Some(own) = shape.get_mut(axis) {
                *own = length;
            }
            if part.header.shape() != shape {
                let [wanted, found] = [first.shape(), part.header.shape()].map(Shape::from);
                let text = format!("expected shape {wanted}, found {found}");
                return Err(part.name_error(Error::new(ErrorKind::ShapeMismatch, text)));
            }
            refuse_other_dtype(&part, first.dtype())?;
            all = all.checked_add(length).ok_or_else(|| {
                Error::new(ErrorKind::Malformed, "the total length of all files is too large")
            })?;
            // An empty file has no bytes to refer to.
            if part.header.len() > 0 {
                push_closing_previous(&mut parts, part);
            }
        }
        let Some(first) = first else { unreachable!("there is a file") };
        let mut shape = first.shape().to_vec();
        shape[axis] = all;
        let whole = Header::new(first.dtype().clone(), first.order(), shape.into())?;
        self.add_parts(&name, &whole, axis, parts, options)
    }

    /// Checks that an array with this name can be added.
    pub(crate) fn check_name(&self, name: &str) -> Result<()> {
        /// The maximum length of a name, in bytes. Each `/` in a name adds a group with a metadata file.
        const MAX_NAME_LEN: usize = 1024;
        // Names of metadata files, reserved prefixes and relative paths have special meanings in Zarr.
        let is_bad = |part: &str| {
            part.is_empty()
                || part == "."
                || part == ".."
                || part.starts_with(".z")
                || part.starts_with("__")
                || part.contains('\\')
                || part == "zarr.json"
        };
        if name.len() > MAX_NAME_LEN || name.split('/').any(is_bad) {
            let name: String = name.chars().take(100).collect();
            let reason = format!("{name:?} is not a valid name of a Zarr array");
            return Err(Error::new(ErrorKind::BadOption, reason));
        }
        if let Some(from) = self.array_locations.get(name) {
            let reason = format!("the name '{name}' is already used by an array of '{from}'");
            return Err(Error::new(ErrorKind::BadOption, reason));
        }
        let inner = format!("{name}/");
        let within = self
            .array_locations
            .range(inner.clone()..)
            .next()
            .map(|(other, _)| other)
            .filter(|other| other.starts_with(&inner));
        let around = name
            .match_indices('/')
            .find_map(|(at, _)| self.array_locations.get_key_value(&name[..at]))
            .map(|(other, _)| other);
        match within.or(around) {
            Some(other) => {
                let reason = format!("an array cannot be within another one: '{name}' and '{other}'");
                Err(Error::new(ErrorKind::BadOption, reason))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn add_parent_groups(&mut self, name: &str) {
        let (file, group) = self.format.group_metadata();
        for (at, _) in name.match_indices('/') {
            self.refs.insert(format!("{}/{file}", &name[..at]), group.clone().into());
        }
    }

    pub(crate) fn dims(&self, name: &str, header: &Header, options: &RefOptions) -> Result<Vec<String>> {
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
            return Err(Error::new(ErrorKind::BadOption, reason));
        }
        // In an xarray dataset, a dimension has the same length in all arrays.
        for (dim, length) in dims.iter().zip(header.shape()) {
            if let Some(known) = self.dim_lengths.get(dim).filter(|known| *known != length) {
                let reason = format!(
                    "the dimension '{dim}' has the length {known} in another array, and {length} in '{name}'"
                );
                return Err(Error::new(ErrorKind::BadOption, reason));
            }
        }
        Ok(dims.clone())
    }

    /// Returns a sentence for each array whose chunks differ from the requested or default size.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of arrays.
    pub fn len(&self) -> usize {
        self.array_locations.len()
    }

    /// Returns whether there are no arrays.
    pub fn is_empty(&self) -> bool {
        self.array_locations.is_empty()
    }

    /// Writes the references as JSON: version 1 of [kerchunk's format](https://fsspec.github.io/kerchunk/spec.html).
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the writer fails.
    pub fn write(&self, mut writer: impl Write) -> Result<()> {
        Ok(self
            .write_entries(&mut writer)
            .and_then(|()| writer.write_all(b"\n"))
            .and_then(|()| writer.flush())?)
    }

    /// Writes the entries one at a time, since there may be millions of them.
    fn write_entries(&self, writer: &mut dyn Write) -> std::io::Result<()> {
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

/// Formats the references as [`References::write`] does, without the final newline.
impl fmt::Display for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        self.write_entries(&mut bytes).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

fn location(path: &Path, options: &RefOptions) -> Result<String> {
    match (&options.location, path.to_str()) {
        (Some(location), _) => Ok(location.clone()),
        (None, Some(path)) => Ok(path.to_owned()),
        (None, None) => {
            Err(Error::new(ErrorKind::BadOption, "the path is not valid Unicode, which references require"))
        }
    }
}

/// Returns the error for a member that was requested of another file than an archive.
fn not_an_archive() -> Error {
    Error::new(ErrorKind::BadOption, "a member was given, but the file is not an archive")
}

fn array_name(path: &Path, options: &RefOptions) -> Result<String> {
    if let Some(name) = &options.name {
        return Ok(name.clone());
    }
    let stem = if path.is_dir() { path.file_name() } else { path.file_stem() };
    let stem = stem.and_then(|stem| stem.to_str());
    stem.map(str::to_owned)
        .ok_or_else(|| Error::new(ErrorKind::BadOption, "no array name can be derived from the path"))
}

/// Opens a file as a source of bytes.
fn open_source(path: &Path) -> Result<Arc<dyn ReadAt>> {
    Ok(Arc::new(LocalFile(std::fs::File::open(path)?)))
}

/// Reads the first two bytes of a source, or zeros if it is shorter.
fn first_bytes(source: &dyn ReadAt) -> Result<[u8; 2]> {
    let mut first = [0; 2];
    fill_at(source, &mut first, 0)?;
    Ok(first)
}
