//! Arrays in object stores: Amazon S3 and compatible stores, Google Cloud Storage, Azure, and web servers.
//!
//! Opening an object yields the same types as opening a file: an [`NpyFile`] or [`NpzFile`] that fetches only
//! the bytes that are needed, with range requests.
//!
//! ```no_run
//! use ndarray::{Array2, s};
//! use ndarray_io::store::Remote;
//!
//! let file = Remote::parse("s3://bucket/measured/volume.npy")?.open_npy()?;
//! let slice: Array2<f32> = file.slice(s![1000..1100, ..;2])?; // fetches these rows
//! let archive = Remote::parse("https://example.org/model.npz")?.open_npz()?;
//! let weights: Array2<f32> = archive.read("weights")?;
//! Remote::parse("s3://bucket/result.npy")?.write_npy(&weights)?;
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! The URLs are those of the [`object_store`](object_store_0_14) crate: `s3://bucket/key`, `gs://bucket/key`,
//! `az://container/key` and `https://…`, which may be signed. Credentials and endpoints come from the
//! environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`) or from [`StoreOptions`]; pass any other store of that crate
//! to [`Remote::new`]. Errors identify the object by its URL without the query. Of a server's response,
//! errors contain only the status and the store's error code, such as `NoSuchBucket`.
//!
//! # Requests
//!
//! - Opening an NPY or RA file sends one request for the first 64 KiB, which contain all of a small array.
//!   Opening an archive sends one request for the end of the object (two on Azure, which has no suffix
//!   requests, and more if the directory exceeds 64 KiB).
//! - An entire array is fetched in requests of up to 16 MiB, eight at a time, directly into its memory.
//! - A slice is fetched in requests of up to 16 MiB, eight at a time. Nearby ranges are merged as long as a
//!   request fetches at most twice the bytes it needs, or if the gap between two ranges is at most 1 KiB.
//! - An archive member needs one request for its local header, and then the same requests as an array.
//!   Members that this library has compressed are fetched and decompressed block by block; other compressed
//!   members are decompressed into a temporary file when they are opened.
//!
//! Reading into an existing array whose strides differ from those of the file proceeds in blocks of 128 MiB.
//! Up to 32 MiB of recently fetched data is cached.
//!
//! # When objects change
//!
//! All requests are for the version that was opened: they carry its entity tag, and the tag in the response
//! is compared. If another process replaces the object, the next request fails with
//! [`ArrayChanged`](crate::error::ErrorKind::ArrayChanged). If the server sends no tag or a weak one,
//! requests carry the modification time instead, and the response must have the same weak tag or modification
//! time, and the same length; [`Version::is_verified`] returns whether there is a strong tag. A server that
//! ignores ranges and sends entire objects (such as Python's `http.server`) can serve [`NpyFile::read`] with
//! its single response; slices and archives fail before anything is fetched.
//!
//! # Threads and tasks
//!
//! All functions that send requests block, except those that are `async`. They may be called anywhere,
//! including within Tokio tasks: requests use the library's own runtime, which has two threads. [`AsyncFile`]
//! has async methods; dropping one of their futures cancels its requests. (A store passed to [`Remote::new`]
//! may have connections that only its own runtime drives: within a single-threaded runtime, use
//! [`AsyncFile`].)

mod asynchronous;
mod bytes;
mod failure;
mod place;
mod plan;
mod response;
mod runtime;
mod service;
mod upload;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store_0_14::path::Path;
use object_store_0_14::{ObjectMeta, ObjectStore};

pub use asynchronous::AsyncFile;
use bytes::{AT_ONCE, Bytes, WINDOW};
use place::ObjectLocation;
pub use place::StoreOptions;
use plan::PART;
use runtime::Stop;
use service::RequestExtras;
pub use upload::{Upload, UploadOptions};

use crate::array::{WriteArray, store_npy};
use crate::bytes::{Folder, ReadAt, fill_at};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{ArrayFormat, FromPayload};
use crate::npz::NpzFile;
use crate::options::{ReadOptions, WriteOptions};
use crate::parts::{ArrayFile, NpyFile, RaFile};
use crate::zip;

/// An object in a store.
///
/// See [the module documentation](self) for the number of requests, consistency and threads.
///
/// ```
/// use ndarray::{Array1, arr1, s};
/// use ndarray_io::store::Remote;
/// use object_store_0_14::memory::InMemory;
/// use std::sync::Arc;
///
/// let store = Arc::new(InMemory::new());
/// let remote = Remote::new(store, "data/a.npy")?;
/// remote.write_npy(&arr1(&[1, 2, 3]))?;
/// let part: Array1<i32> = remote.open_npy()?.slice(s![1..])?;
/// assert_eq!(part, arr1(&[2, 3]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone)]
pub struct Remote {
    place: ObjectLocation,
    /// The URL and options, from which uploads create a store that adds a condition to requests.
    url: Option<(Arc<str>, StoreOptions)>,
}

/// Shows only the name: URLs may contain secrets.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Remote").field(&self.place.shown).finish()
    }
}

/// The objects whose names begin with that of this one and a slash.
impl Folder for Remote {
    fn names(&self) -> Result<Vec<String>> {
        self.place.names_within().map_err(|error| self.place.named(error))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadAt>> {
        self.child(name)?.source()
    }

    fn path(&self) -> PathBuf {
        self.name().into()
    }

    fn path_of(&self, name: &str) -> PathBuf {
        format!("{}/{name}", self.name().trim_end_matches('/')).into()
    }
}

impl Remote {
    /// Creates a handle to the object at a URL.
    ///
    /// Sends no request.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if `url` is not the URL of an object; [`Io`](ErrorKind::Io) if the
    /// credentials in the environment are malformed.
    pub fn parse(url: &str) -> Result<Self> {
        Self::parse_with(url, &StoreOptions::new())
    }

    /// Creates a handle to the object at a URL, with options for the store.
    ///
    /// Sends no request.
    ///
    /// # Errors
    ///
    /// As for [`Remote::parse`]; [`BadOption`](ErrorKind::BadOption) if the store does not support an
    /// option's key.
    pub fn parse_with(url: &str, options: &StoreOptions) -> Result<Self> {
        let place = ObjectLocation::parse(url, options, RequestExtras::default())?;
        Ok(Self { place, url: Some((url.into(), options.clone())) })
    }

    /// Creates a handle to an object in a store of the `object_store` crate.
    ///
    /// Sends no request.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if the path is not a valid object path.
    pub fn new(store: Arc<dyn ObjectStore>, path: &str) -> Result<Self> {
        let path = Path::parse(path).map_err(|error| {
            Error::from(ErrorKind::BadOption { reason: format!("not a valid path of an object: {error}") })
        })?;
        let shown = format!("{store}/{path}").into();
        Ok(Self {
            place: ObjectLocation {
                store,
                path,
                shown,
                retries: StoreOptions::new().get_retries(),
                is_web: false,
            },
            url: None,
        })
    }

    /// Returns whether a string looks like the URL of an object rather than a path.
    ///
    /// Only the scheme is checked.
    ///
    /// ```
    /// use ndarray_io::store::Remote;
    /// assert!(Remote::is_url("gs://bucket/a.npy"));
    /// assert!(!Remote::is_url("data/a.npy") && !Remote::is_url("C:\\a.npy"));
    /// ```
    pub fn is_url(text: &str) -> bool {
        const SCHEMES: &[&str] = &["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https"];
        text.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&&*scheme.to_ascii_lowercase()))
    }

    /// Returns the name of the object in error messages: its URL without credentials and query.
    pub fn name(&self) -> String {
        self.place.shown.to_string_lossy().into_owned()
    }

    /// Opens an NPY object, with one request for its first 64 KiB.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the object does not exist, the store does not respond, or access is denied;
    /// otherwise as for [`NpyFile::open`].
    pub fn open_npy(&self) -> Result<NpyFile> {
        self.open_npy_with(&ReadOptions::new())
    }

    /// Opens an NPY object with options that apply to everything read from it.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`].
    pub fn open_npy_with(&self, options: &ReadOptions) -> Result<NpyFile> {
        self.bytes(None).and_then(|bytes| self.array_in(&bytes, options))
    }

    /// Opens an RA object, with one request for its first 64 KiB.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`], and [`Packed`](ErrorKind::Packed) if the data is compressed or stored as
    /// single bits.
    pub fn open_ra(&self) -> Result<RaFile> {
        self.open_ra_with(&ReadOptions::new())
    }

    /// Opens an RA object with options that apply to everything read from it.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_ra`].
    pub fn open_ra_with(&self, options: &ReadOptions) -> Result<RaFile> {
        self.bytes(None).and_then(|bytes| self.array_in(&bytes, options))
    }

    /// Opens an NPZ archive, with one request for its end.
    ///
    /// Azure needs two requests; a directory of more than 64 KiB needs more.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`] and [`NpzFile::open`]; [`BadSource`](ErrorKind::BadSource) if the server
    /// ignores range requests.
    pub fn open_npz(&self) -> Result<NpzFile> {
        self.open_npz_with(&ReadOptions::new())
    }

    /// Opens an NPZ archive with options that apply to everything read from it.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npz`].
    pub fn open_npz_with(&self, options: &ReadOptions) -> Result<NpzFile> {
        self.end_bytes(None).and_then(|bytes| self.archive_in(&bytes, options))
    }

    /// Reads an entire NPY object as an array.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`] and [`NpyFile::read`].
    pub fn read_npy<T: FromPayload>(&self) -> Result<T> {
        self.open_npy()?.read()
    }

    /// Returns the first bytes of the object, at most 64 KiB, and its version.
    ///
    /// Sends one request. The bytes suffice to detect the format.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the object does not exist, the store does not respond, or access is denied.
    pub fn first_bytes(&self) -> Result<(Vec<u8>, Version)> {
        let bytes = self.bytes(None)?;
        Ok((bytes.beginning().to_vec(), Version::of(bytes.meta())))
    }

    /// Returns a handle to an object in the folder at this handle's path.
    fn child(&self, name: &str) -> Result<Self> {
        let place = self.place.child(name);
        let url = match &self.url {
            Some((url, options)) => {
                let (folder, query) = url.split_once('?').unwrap_or((url, ""));
                if !query.is_empty() {
                    let reason = "a signed URL names a single object, not a folder".into();
                    return Err(self.place.named(ErrorKind::BadOption { reason }.into()));
                }
                Some((format!("{}/{name}", folder.trim_end_matches('/')).into(), options.clone()))
            }
            None => None,
        };
        Ok(Self { place, url })
    }

    /// Copies the bytes of the object to a writer, and returns how many there were.
    ///
    /// At most 128 MiB are in memory at a time.
    ///
    /// # Errors
    ///
    /// As for [`Remote::first_bytes`]; [`ArrayChanged`](ErrorKind::ArrayChanged) if the object is replaced
    /// during the copy; [`Io`](ErrorKind::Io) if the writer fails.
    pub fn copy_to<W: Write>(&self, mut writer: W) -> Result<u64> {
        self.bytes(None).and_then(|bytes| self.copy_of(&bytes, &mut writer))
    }

    fn copy_of(&self, bytes: &Bytes, writer: &mut dyn Write) -> Result<u64> {
        let mut copy = || {
            let mut block = Vec::new();
            let mut done = 0;
            while done < bytes.len() {
                let left = usize::try_from(bytes.len() - done).unwrap_or(usize::MAX);
                // The size of all concurrent requests together.
                block.resize(left.min(AT_ONCE * PART), 0);
                let count = fill_at(bytes, &mut block, done)?;
                writer.write_all(&block[..count])?;
                done += count as u64;
            }
            Ok(done)
        };
        copy().map_err(|error| self.place.named(error))
    }

    /// Returns the current version of the object.
    ///
    /// Sends one request.
    ///
    /// # Errors
    ///
    /// As for [`Remote::first_bytes`].
    pub fn version(&self) -> Result<Version> {
        self.bytes(None).map(|bytes| Version::of(bytes.meta()))
    }

    /// Opens an NPY object for use in async tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`].
    pub async fn open_npy_async(&self, options: &ReadOptions) -> Result<AsyncFile<NpyFile>> {
        AsyncFile::open(self, options, Self::bytes, Self::array_in).await
    }

    /// Opens an RA object for use in async tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_ra`].
    pub async fn open_ra_async(&self, options: &ReadOptions) -> Result<AsyncFile<RaFile>> {
        AsyncFile::open(self, options, Self::bytes, Self::array_in).await
    }

    /// Opens an NPZ archive for use in async tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npz`].
    pub async fn open_npz_async(&self, options: &ReadOptions) -> Result<AsyncFile<NpzFile>> {
        AsyncFile::open(self, options, Self::end_bytes, Self::archive_in).await
    }

    /// Writes an array as the object, replacing any existing object.
    ///
    /// The object becomes visible only once it is complete.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the store does not respond or denies access; otherwise as for
    /// [`WriteNpyExt::write_npy`](crate::WriteNpyExt::write_npy).
    pub fn write_npy<T: WriteArray + ?Sized>(&self, array: &T) -> Result<()> {
        self.write_npy_with(array, &WriteOptions::new(), &UploadOptions::new())
    }

    /// Writes an array with options for the format and the upload.
    ///
    /// Unless [`UploadOptions::len`] is set, the length is derived from the size of the array.
    ///
    /// # Errors
    ///
    /// As for [`Remote::write_npy`] and [`Upload::finish`].
    pub fn write_npy_with<T: WriteArray + ?Sized>(
        &self,
        array: &T,
        options: &WriteOptions,
        upload: &UploadOptions,
    ) -> Result<()> {
        /// More than enough for a header.
        const HEADER: u64 = 1 << 20;
        let len = array.payload_len(options).map(|len| len.saturating_add(HEADER));
        let upload = match (upload.get_len(), len) {
            (None, Some(len)) => upload.clone().len(len),
            _ => upload.clone(),
        };
        let mut upload = self.upload(&upload)?;
        store_npy(array, &mut upload, options).map_err(|error| self.place.named(error))?;
        upload.finish().map(drop)
    }

    /// Starts an upload to the object.
    ///
    /// The result implements [`Write`]: for example, an [`NpzWriter`](crate::NpzWriter) can write an archive
    /// to it.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](ErrorKind::OutOfMemory) if a part is larger than the address space; otherwise as for
    /// [`Remote::parse_with`].
    pub fn upload(&self, options: &UploadOptions) -> Result<Upload> {
        /// The time limit for sending one part.
        const UPLOAD: Duration = Duration::from_secs(15 * 60);
        let place = match &self.url {
            Some((url, store)) => {
                // The response arrives only after the entire part has been sent, which may take a long time.
                let store = store.clone().read_timeout(store.get_read_timeout().max(UPLOAD));
                ObjectLocation::parse(
                    url,
                    &store,
                    RequestExtras { condition: options.condition(), ..RequestExtras::default() },
                )?
            }
            None => self.place.clone(),
        };
        Upload::new(place, options)
    }

    /// Opens the object as a source of bytes, which fetches what is read.
    ///
    /// # Errors
    ///
    /// As for [`open_npy`](Self::open_npy), but for the format.
    pub fn source(&self) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(self.bytes(None)?))
    }

    fn bytes(&self, stop: Option<Arc<Stop>>) -> Result<Bytes> {
        Bytes::open(&self.place, stop).map_err(|error| self.place.named(error))
    }

    fn end_bytes(&self, stop: Option<Arc<Stop>>) -> Result<Bytes> {
        // Enough for the end record of an archive with the longest possible comment.
        let len = zip::TAIL.max(WINDOW);
        Bytes::open_end(&self.place, len, stop).map_err(|error| self.place.named(error))
    }

    fn array_in<F: ArrayFormat>(&self, bytes: &Bytes, options: &ReadOptions) -> Result<ArrayFile<F>> {
        let opened = ArrayFile::from_source_with(bytes.clone(), options);
        let file = opened.map_err(|error| self.place.named(error))?.with_path(&self.place.shown);
        Ok(file.fixed("an object cannot be refreshed: open it again"))
    }

    fn archive_in(&self, bytes: &Bytes, options: &ReadOptions) -> Result<NpzFile> {
        let opened = NpzFile::from_source_with(bytes.clone(), options);
        Ok(opened.map_err(|error| self.place.named(error))?.with_path(&self.place.shown))
    }
}

/// A version of an object, for conditional writes.
///
/// [`UploadOptions::replacing`] replaces the object only if this is still its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    tag: Option<String>,
    /// The version number that some stores use in addition to the tag, such as Google's generation.
    number: Option<String>,
    size: u64,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        Self { tag: meta.e_tag.clone(), number: meta.version.clone(), size: meta.size }
    }

    /// Returns the entity tag, if the server sent one.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the size of the object in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the server sent a strong entity tag, to which requests can be bound.
    ///
    /// Without a strong tag, only the modification time, the length and a weak tag are compared.
    pub fn is_verified(&self) -> bool {
        self.tag.as_ref().is_some_and(|tag| !tag.starts_with("W/"))
    }
}
