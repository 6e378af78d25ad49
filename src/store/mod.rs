//! Arrays in object stores: Amazon S3 and what is like it, Google Cloud Storage, Azure, and web servers.
//!
//! An object is opened as a file is, and what is opened is the same type: an [`NpyFile`] or [`NpzFile`] reads only the bytes that it needs,
//! with requests for ranges.
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
//! The URLs are those of the crate [`object_store`](object_store_0_14): `s3://bucket/key`, `gs://bucket/key`, `az://container/key` and
//! `https://…`, which may be signed. Credentials and endpoints come from the environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`) or from
//! [`StoreOptions`]; any other store of that crate is given to [`Remote::new`]. Errors name the object by its URL without the query, and say
//! nothing that the server sent but its status.
//!
//! # Requests
//!
//! - Opening an NPY or RA file is one request for 64 KiB, which are all of a small array. An archive's directory is one request for its end
//!   (two in Azure, which has no such request, and more for a directory of more than 64 KiB).
//! - A whole array comes in requests of 8 to 16 MiB, eight at a time, straight into its memory.
//! - A slice is fetched in as few requests as fetch no more than twice the bytes that it needs, or than it needs and 1 KiB for each request
//!   that is saved; eight at a time.
//! - A member of an archive costs a request for what is in front of it, and then what an array costs. Parts of a member that this library has
//!   compressed are fetched and unpacked block by block; other compressed members are unpacked into a temporary file when they are opened.
//!
//! Reading into an array that exists, of other strides, goes block by block of 128 MiB; up to 32 MiB of what was fetched last are kept.
//!
//! # When objects change
//!
//! All requests are for the version that was opened: they carry its entity tag, and the answer's is compared. If another process replaces the object,
//! the next request fails with [`ArrayChanged`](crate::error::ErrorKind::ArrayChanged). Where a server has no tag or a weak one, the time
//! and the length are compared, as far as it tells them; [`Version::is_verified`] tells which. A server that sends only whole objects (as Python's `http.server`
//! does) serves [`NpyFile::read`] with its one answer; slices and archives are an error before anything is fetched.
//!
//! # Threads and tasks
//!
//! All functions but those of [`AsyncFile`] block, and may be called anywhere, also within Tokio's tasks: requests run on two threads of the
//! library's own. [`AsyncFile`] has the same for tasks, and a dropped future ends its requests. (A store that is given to [`Remote::new`]
//! may have connections that only its own runtime drives: within a runtime of one thread, use [`AsyncFile`].)

mod asynchronous;
mod bytes;
mod failure;
mod place;
mod plan;
mod runtime;
mod service;
mod upload;

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use object_store_0_14::path::Path;
use object_store_0_14::{ObjectMeta, ObjectStore};

pub use asynchronous::AsyncFile;
use bytes::{AT_ONCE, Bytes, WINDOW};
use place::Place;
pub use place::StoreOptions;
use plan::PART;
use runtime::Stop;
use service::Added;
pub use upload::{Upload, UploadOptions};

use crate::array::{WriteArray, store_npy};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{ArrayFormat, FromPayload};
use crate::limits::Limits;
use crate::npz::{Holder, NpzFile};
use crate::options::{ReadOptions, WriteOptions};
use crate::parts::{ArrayFile, FileBytes, NpyFile, RaFile};
use crate::transfer::ReadAt;
use crate::zip;

/// An object in a store. See [the module](self).
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
    place: Place,
    /// How to reach the place again under a condition.
    url: Option<(Arc<str>, StoreOptions)>,
}

/// URLs may be secret.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Remote").field(&self.place.shown).finish()
    }
}

impl Remote {
    /// The object of a URL. Nothing is requested.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if it is not the URL of an object; [`Io`](ErrorKind::Io) if the environment's
    /// credentials are malformed.
    pub fn parse(url: &str) -> Result<Self> {
        Self::parse_with(url, &StoreOptions::new())
    }

    /// The object of a URL in a store that is reached with options.
    ///
    /// # Errors
    ///
    /// As for [`Remote::parse`], and [`BadOption`](ErrorKind::BadOption) if the store has no key of a name.
    pub fn parse_with(url: &str, options: &StoreOptions) -> Result<Self> {
        let place = Place::parse(url, options, Added::default())?;
        Ok(Self { place, url: Some((url.into(), options.clone())) })
    }

    /// An object in a store of the crate `object_store`.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if stores have no such path.
    pub fn new(store: Arc<dyn ObjectStore>, path: &str) -> Result<Self> {
        let path = Path::parse(path).map_err(|error| {
            Error::from(ErrorKind::BadOption { reason: format!("stores have no such path: {error}") })
        })?;
        let shown = format!("{store}/{path}").into();
        Ok(Self {
            place: Place { store, path, shown, retries: StoreOptions::new().get_retries(), is_web: false },
            url: None,
        })
    }

    /// Whether a text looks like the URL of an object, and not like a path.
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

    /// What the object is called: its URL without passwords and query.
    pub fn name(&self) -> String {
        self.place.shown.to_string_lossy().into_owned()
    }

    /// Opens an NPY object, with one request.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if there is no such object, or the store does not answer or refuses access; otherwise as for
    /// [`NpyFile::open`].
    pub fn open_npy(&self) -> Result<NpyFile> {
        self.open_npy_with(&ReadOptions::new())
    }

    /// Opens an NPY object with options for all that is read.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`].
    pub fn open_npy_with(&self, options: &ReadOptions) -> Result<NpyFile> {
        self.bytes(None).and_then(|bytes| self.array_in(&bytes, options))
    }

    /// Opens an RA object, with one request.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`], and [`Packed`](ErrorKind::Packed) if it is packed.
    pub fn open_ra(&self) -> Result<RaFile> {
        self.open_ra_with(&ReadOptions::new())
    }

    /// Opens an RA object with options for all that is read.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_ra`].
    pub fn open_ra_with(&self, options: &ReadOptions) -> Result<RaFile> {
        self.bytes(None).and_then(|bytes| self.array_in(&bytes, options))
    }

    /// Opens an archive, with one request for its end.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`] and [`NpzFile::open`].
    pub fn open_npz(&self) -> Result<NpzFile> {
        self.open_npz_with(&ReadOptions::new())
    }

    /// Opens an archive with options for all that is read.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npz`].
    pub fn open_npz_with(&self, options: &ReadOptions) -> Result<NpzFile> {
        self.end_bytes(None).and_then(|bytes| self.archive_in(&bytes, options))
    }

    /// Reads an NPY object.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`] and [`NpyFile::read`].
    pub fn read_npy<T: FromPayload>(&self) -> Result<T> {
        self.open_npy()?.read()
    }

    /// The first bytes, 64 KiB at most, which tell the format; and which version of the object they are of. This is one request.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if there is no such object, or the store does not answer or refuses access.
    pub fn first_bytes(&self) -> Result<(Vec<u8>, Version)> {
        let bytes = self.bytes(None)?;
        Ok((bytes.beginning().to_vec(), Version::of(bytes.meta())))
    }

    /// The object of a name in the folder that this one would be.
    pub(crate) fn child(&self, name: &str) -> Result<Self> {
        let place = self.place.child(name);
        let url = match &self.url {
            Some((url, options)) => {
                let (folder, query) = url.split_once('?').unwrap_or((url, ""));
                if !query.is_empty() {
                    let reason = "a signed URL is that of one object, and not of a folder".into();
                    return Err(self.place.named(ErrorKind::BadOption { reason }.into()));
                }
                Some((format!("{}/{name}", folder.trim_end_matches('/')).into(), options.clone()))
            }
            None => None,
        };
        Ok(Self { place, url })
    }

    /// The names of the objects in the folder that this one would be.
    pub(crate) fn names_within(&self) -> Result<Vec<String>> {
        self.place.names_within().map_err(|error| self.place.named(error))
    }

    /// All bytes of the object.
    pub(crate) fn read_raw(&self, limits: &Limits) -> Result<Vec<u8>> {
        let bytes = self.bytes(None)?;
        limits.check_payload(bytes.len()).map_err(|error| self.place.named(error))?;
        let mut all = Vec::new();
        self.copy_of(&bytes, &mut all)?;
        Ok(all)
    }

    /// Copies the object as it is, 128 MiB at a time; says how many bytes that were.
    ///
    /// # Errors
    ///
    /// As for [`Remote::first_bytes`], and [`Io`](ErrorKind::Io) if the writer fails.
    pub fn copy_to<W: Write>(&self, mut writer: W) -> Result<u64> {
        self.bytes(None).and_then(|bytes| self.copy_of(&bytes, &mut writer))
    }

    fn copy_of(&self, bytes: &Bytes, writer: &mut dyn Write) -> Result<u64> {
        let mut copy = || {
            let mut block = Vec::new();
            let mut done = 0;
            while done < bytes.len() {
                let left = usize::try_from(bytes.len() - done).unwrap_or(usize::MAX);
                block.resize(left.min(AT_ONCE * PART), 0);
                let count = bytes.fill_at(&mut block, done)?;
                writer.write_all(&block[..count])?;
                done += count as u64;
            }
            Ok(done)
        };
        copy().map_err(|error| self.place.named(error))
    }

    /// Which version of the object there is now. This is a request.
    ///
    /// # Errors
    ///
    /// As for [`Remote::first_bytes`].
    pub fn version(&self) -> Result<Version> {
        self.bytes(None).map(|bytes| Version::of(bytes.meta()))
    }

    /// Opens an NPY object for tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npy`].
    pub async fn open_npy_async(&self, options: &ReadOptions) -> Result<AsyncFile<NpyFile>> {
        AsyncFile::open(self, options, Self::bytes, Self::array_in).await
    }

    /// Opens an RA object for tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_ra`].
    pub async fn open_ra_async(&self, options: &ReadOptions) -> Result<AsyncFile<RaFile>> {
        AsyncFile::open(self, options, Self::bytes, Self::array_in).await
    }

    /// Opens an archive for tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npz`].
    pub async fn open_npz_async(&self, options: &ReadOptions) -> Result<AsyncFile<NpzFile>> {
        AsyncFile::open(self, options, Self::end_bytes, Self::archive_in).await
    }

    /// Writes an array as the object. It is visible once it is complete.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) if the store does not answer or refuses access; otherwise as for
    /// [`WriteNpyExt::write_npy`](crate::WriteNpyExt::write_npy).
    pub fn write_npy<T: WriteArray + ?Sized>(&self, array: &T) -> Result<()> {
        self.write_npy_with(array, &WriteOptions::new(), &UploadOptions::new())
    }

    /// Writes an array with options for the format and for the upload.
    ///
    /// # Errors
    ///
    /// As for [`Remote::write_npy`], and as for [`Upload::finish`].
    pub fn write_npy_with<T: WriteArray + ?Sized>(
        &self,
        array: &T,
        options: &WriteOptions,
        upload: &UploadOptions,
    ) -> Result<()> {
        /// More than any header of an array that has one.
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

    /// Begins to write the object, by anything that writes: [`NpzWriter`](crate::NpzWriter), for example.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ErrorKind::BadOption) if the options do not fit together.
    pub fn upload(&self, options: &UploadOptions) -> Result<Upload> {
        /// How long a part may take.
        const UPLOAD: Duration = Duration::from_secs(15 * 60);
        let place = match &self.url {
            Some((url, store)) => {
                // An answer to a part comes when the part has been sent, which may take long.
                let store = store.clone().read_timeout(store.get_read_timeout().max(UPLOAD));
                Place::parse(url, &store, Added { condition: options.condition(), ..Added::default() })?
            }
            None => self.place.clone(),
        };
        Upload::new(place, options)
    }

    fn bytes(&self, stop: Option<Arc<Stop>>) -> Result<Bytes> {
        Bytes::open(&self.place, stop).map_err(|error| self.place.named(error))
    }

    fn end_bytes(&self, stop: Option<Arc<Stop>>) -> Result<Bytes> {
        let len = zip::TAIL.max(WINDOW);
        Bytes::open_end(&self.place, len, stop).map_err(|error| self.place.named(error))
    }

    fn array_in<F: ArrayFormat>(&self, bytes: &Bytes, options: &ReadOptions) -> Result<ArrayFile<F>> {
        let all: Range<u64> = 0..bytes.len();
        let bytes = FileBytes::Other(Arc::new(bytes.clone()), all);
        let open = || {
            let found = bytes.read_header::<F>(options)?;
            ArrayFile::of(bytes, found, options)
        };
        Ok(open().map_err(|error| self.place.named(error))?.called(&self.place.shown))
    }

    fn archive_in(&self, bytes: &Bytes, options: &ReadOptions) -> Result<NpzFile> {
        let opened = NpzFile::of(Holder::Other(Arc::new(bytes.clone())), options);
        Ok(opened.map_err(|error| self.place.named(error))?.called(&self.place.shown))
    }
}

/// A version of an object: [`UploadOptions::replacing`] writes only if the object still is of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    tag: Option<String>,
    /// What some stores call a version of their own: a generation, in Google's.
    number: Option<String>,
    size: u64,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        Self { tag: meta.e_tag.clone(), number: meta.version.clone(), size: meta.size }
    }

    /// The entity tag, if the server has one.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// How many bytes the object has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether requests can be bound to the version: the server has a tag, and it is not a weak one. Else only the time and the length
    /// of what comes are compared.
    pub fn is_verified(&self) -> bool {
        self.tag.as_ref().is_some_and(|tag| !tag.starts_with("W/"))
    }
}
