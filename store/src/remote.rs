//! [`Remote`]: an object in a store, and [`Version`].

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use ndarray_io::bytes::{Folder, ReadAt, fill_at};
use ndarray_io::{NpyFile, NpzFile, ReadArray, ReadOptions, Result, WriteNpyExt, WriteOptions};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::address::{Address, SCHEMES, bad_option};
use crate::async_file::AsyncFile;
use crate::async_upload::AsyncUpload;
use crate::bytes::{MIN_WINDOW, ObjectBytes};
use crate::failure::failure;
use crate::limits::Limits;
use crate::list::{Listed, Listing};
use crate::location::{ObjectLocation, path_of};
use crate::options::StoreOptions;
use crate::runtime::{blocking_runtime, task_result, wait};
use crate::upload::Upload;
use crate::upload_options::UploadOptions;

const NO_PATH_MESSAGE: &str = "no path of the crate object_store names this object";

/// How much of the end of an archive is enough for its end records, with the longest possible comment.
const MAX_END_RECORDS_LEN: u64 = 22 + 65_535 + 20 + 56;

/// An object in a store.
///
/// See [the documentation of the crate](crate) for the number of requests, consistency and threads.
///
/// ```
/// use ndarray::{Array1, arr1, s};
/// use ndarray_io_store::Remote;
/// use object_store::memory::InMemory;
/// use std::sync::Arc;
///
/// let store = Arc::new(InMemory::new());
/// let remote = Remote::in_bucket(store, "data/a.npy")?;
/// remote.write_npy(&arr1(&[1, 2, 3]))?;
/// let part: Array1<i32> = remote.open_array()?.slice(s![1..])?;
/// assert_eq!(part, arr1(&[2, 3]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone)]
pub struct Remote {
    pub(crate) location: ObjectLocation,
    /// The address and options, from which uploads create a store that adds a condition to requests.
    address: Option<(Address, StoreOptions)>,
}

/// Shows only the name: URLs may contain secrets.
impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Remote").field(&self.location.display_name).finish()
    }
}

/// The objects whose names begin with that of this one and a slash.
impl Folder for Remote {
    fn names(&self) -> Result<Vec<String>> {
        let Some((address, options)) = &self.address else {
            return self.location.names_within().map_err(|error| self.location.name_error(error));
        };
        let folder = format!("{}/", address.key.strip_suffix('/').unwrap_or(&address.key));
        let listing = Listing::new(Address { key: folder.clone(), ..address.clone() }, options, true)?;
        let named = |object: Result<Listed>| Ok(object?.key().strip_prefix(&folder).map(str::to_owned));
        listing.filter_map(|object| named(object).transpose()).collect()
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
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if `url` is not the URL of an object; [`Io`](ndarray_io::error::ErrorKind::Io) if the
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
    /// As for [`Remote::parse`]; [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if the store does not support an
    /// option's key.
    pub fn parse_with(url: &str, options: &StoreOptions) -> Result<Self> {
        let address = Address::parse(url)?;
        let location = ObjectLocation::of(&address, options, None)?;
        Ok(Self { location, address: Some((address, options.clone())) })
    }

    /// Creates a handle to an object in a store of the `object_store` crate, whose key is taken literally.
    ///
    /// Sends no request. The conditions of uploads of several parts are checked before their last request, and not by it; a store that
    /// cannot keep attributes of objects, such as a folder, refuses conditional uploads.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if that crate has no path for the key, which then begins or ends with a slash, or has
    /// an empty part, or one of dots.
    pub fn in_bucket(store: Arc<dyn ObjectStore>, key: &str) -> Result<Self> {
        let path = path_of(key).filter(|path| !path.is_root());
        let path = path.ok_or_else(|| bad_option(NO_PATH_MESSAGE).at_path(key))?;
        let display_name = format!("{store}/{path}").into();
        Ok(Self {
            location: ObjectLocation { store, path, display_name, limits: Limits::default(), is_web: false },
            address: None,
        })
    }

    /// Returns whether a string looks like the URL of an object rather than a path.
    ///
    /// Only the scheme is checked.
    ///
    /// ```
    /// use ndarray_io_store::Remote;
    /// assert!(Remote::is_url("gs://bucket/a.npy"));
    /// assert!(!Remote::is_url("data/a.npy") && !Remote::is_url("C:\\a.npy"));
    /// ```
    pub fn is_url(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| SCHEMES.iter().any(|(known, _)| known.eq_ignore_ascii_case(scheme)))
    }

    /// Returns the name of the object in error messages: its URL without credentials and query.
    pub fn name(&self) -> String {
        self.location.display_name.to_string_lossy().into_owned()
    }

    /// Opens an NPY or RA object, with one request for its first 64 KiB.
    ///
    /// # Errors
    ///
    /// [`Io`](ndarray_io::error::ErrorKind::Io) if the object does not exist, the store does not respond, or access is denied;
    /// otherwise as for [`NpyFile::open`].
    pub fn open_array(&self) -> Result<NpyFile> {
        self.open_array_with(&ReadOptions::new())
    }

    /// Opens an NPY or RA object with options that apply to everything read from it.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_array`].
    pub fn open_array_with(&self, options: &ReadOptions) -> Result<NpyFile> {
        self.open_bytes().and_then(|bytes| self.array_of(Arc::new(bytes), options))
    }

    /// Opens an NPZ archive, with one request for its end.
    ///
    /// Azure needs two requests; a directory of more than 64 KiB needs more.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_array`] and [`NpzFile::open`]; [`BadSource`](ndarray_io::error::ErrorKind::BadSource) if the server
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
        self.open_end_bytes().and_then(|bytes| self.open_archive(Arc::new(bytes), options))
    }

    /// Reads an entire NPY object as an array.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_array`] and [`NpyFile::read`].
    pub fn read_npy<T: ReadArray>(&self) -> Result<T> {
        self.open_array()?.read()
    }

    /// Returns the first bytes of the object, at most 64 KiB, and its version.
    ///
    /// Sends one request. The bytes suffice to detect the format.
    ///
    /// # Errors
    ///
    /// [`Io`](ndarray_io::error::ErrorKind::Io) if the object does not exist, the store does not respond, or access is denied.
    pub fn first_bytes(&self) -> Result<(Vec<u8>, Version)> {
        let bytes = self.open_bytes()?;
        Ok((bytes.first_bytes().to_vec(), Version::of(bytes.meta())))
    }

    /// Returns a handle to an object in the folder at this handle's path.
    fn child(&self, name: &str) -> Result<Self> {
        let Some((address, options)) = &self.address else {
            let (key, display_name) = (format!("{}/{name}", self.location.path), self.path_of(name));
            let Some(path) = path_of(&key) else {
                return Err(bad_option(NO_PATH_MESSAGE).at_path(&display_name));
            };
            return Ok(Self {
                location: ObjectLocation { path, display_name, ..self.location.clone() },
                address: None,
            });
        };
        let address = address.child(name)?;
        let location = self.location.child_location(&address, options)?;
        Ok(Self { location, address: Some((address, options.clone())) })
    }

    /// Copies the bytes of the object to a writer, and returns how many there were.
    ///
    /// What is fetched ahead of the writer is limited by [`StoreOptions::in_flight`].
    ///
    /// # Errors
    ///
    /// As for [`Remote::first_bytes`]; [`Changed`](ndarray_io::error::ErrorKind::Changed) if the object is replaced
    /// during the copy; [`Io`](ndarray_io::error::ErrorKind::Io) if the writer fails.
    pub fn copy_to<W: Write>(&self, mut writer: W) -> Result<u64> {
        self.open_bytes().and_then(|bytes| self.copy_bytes(&bytes, &mut writer))
    }

    fn copy_bytes(&self, bytes: &ObjectBytes, writer: &mut dyn Write) -> Result<u64> {
        /// Such reads are sequential: what follows is fetched ahead.
        const BLOCK_LEN: usize = 1 << 20;
        let mut copy = || {
            let mut block = vec![0; usize::try_from(bytes.len()).unwrap_or(BLOCK_LEN).min(BLOCK_LEN)];
            let mut done = 0;
            while done < bytes.len() {
                let count = fill_at(bytes, &mut block, done)?;
                writer.write_all(&block[..count])?;
                done += count as u64;
            }
            Ok(done)
        };
        copy().map_err(|error| self.location.name_error(error))
    }

    /// Returns whether the object exists.
    ///
    /// Sends one request.
    ///
    /// # Errors
    ///
    /// [`Io`](ndarray_io::error::ErrorKind::Io) if the store does not respond or denies access.
    pub fn exists(&self) -> Result<bool> {
        wait(async {
            match self.location.head().await {
                Ok(_) => Ok(true),
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                Err(error) => Err(self.location.name_error(failure(&error))),
            }
        })
    }

    /// Deletes the object, which may be missing already.
    ///
    /// # Errors
    ///
    /// [`Io`](ndarray_io::error::ErrorKind::Io) if the store does not respond or denies access.
    pub fn delete(&self) -> Result<()> {
        let missing = |error: &object_store::Error| matches!(error, object_store::Error::NotFound { .. });
        let deleted = wait(async {
            match &self.address {
                // By a request for this object: `object_store` deletes in S3 by lists of names, some of which it would change.
                Some((address, options)) => {
                    let deleted =
                        ObjectLocation::send_request(address, options, Method::DELETE, &address.target())
                            .await;
                    deleted.map(drop).or_else(|error| if error.is_not_found() { Ok(()) } else { Err(error) })
                }
                None => match self.location.store.delete(&self.location.path).await {
                    Err(error) if !missing(&error) => Err(failure(&error)),
                    _ => Ok(()),
                },
            }
        });
        deleted.map_err(|error| self.location.name_error(error.while_writing()))
    }

    /// Returns the current version of the object.
    ///
    /// Sends one request.
    ///
    /// # Errors
    ///
    /// As for [`Remote::first_bytes`].
    pub fn version(&self) -> Result<Version> {
        self.open_bytes().map(|bytes| Version::of(bytes.meta()))
    }

    /// Opens an NPY or RA object for use in async tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_array`].
    pub async fn open_array_async(&self, options: &ReadOptions) -> Result<AsyncFile<NpyFile>> {
        let location = self.location.clone();
        AsyncFile::open(self, options, async move { ObjectBytes::open(&location).await }, Self::array_of)
            .await
    }

    /// Opens an NPZ archive for use in async tasks.
    ///
    /// # Errors
    ///
    /// As for [`Remote::open_npz`].
    pub async fn open_npz_async(&self, options: &ReadOptions) -> Result<AsyncFile<NpzFile>> {
        let location = self.location.clone();
        let bytes =
            async move { ObjectBytes::open_at_end(&location, MAX_END_RECORDS_LEN.max(MIN_WINDOW)).await };
        AsyncFile::open(self, options, bytes, Self::open_archive).await
    }

    /// Writes an array as the object, replacing any existing object.
    ///
    /// The object becomes visible only once it is complete.
    ///
    /// # Errors
    ///
    /// [`Io`](ndarray_io::error::ErrorKind::Io) if the store does not respond or denies access; otherwise as for
    /// [`WriteNpyExt::write_npy`](ndarray_io::WriteNpyExt::write_npy).
    pub fn write_npy<T: WriteNpyExt + ?Sized>(&self, array: &T) -> Result<()> {
        self.write_npy_with(array, &WriteOptions::new(), &UploadOptions::new()).map(drop)
    }

    /// Writes an array with options for the format and the upload, and returns the version of the object.
    ///
    /// Unless [`UploadOptions::len`] is set, the length is derived from the size of the array.
    ///
    /// # Errors
    ///
    /// As for [`Remote::write_npy`] and [`Upload::finish`].
    pub fn write_npy_with<T: WriteNpyExt + ?Sized>(
        &self,
        array: &T,
        options: &WriteOptions,
        upload: &UploadOptions,
    ) -> Result<Version> {
        /// More than enough for a header.
        const MAX_HEADER_LEN: u64 = 1 << 20;
        let len = array.payload_len(options).map(|len| len.saturating_add(MAX_HEADER_LEN));
        let upload = match (upload.get_len(), len) {
            (None, Some(len)) => upload.clone().len(len),
            _ => upload.clone(),
        };
        let mut upload = self.upload(&upload)?;
        options.write_to(&mut upload, &array).map_err(|error| self.location.name_error(error))?;
        upload.finish()
    }

    /// Writes an array from a task. A thread is occupied while it is written.
    ///
    /// If the future is dropped, the array may still be written.
    ///
    /// # Errors
    ///
    /// As for [`Remote::write_npy_with`].
    pub async fn write_npy_async<T>(
        &self,
        array: T,
        options: &WriteOptions,
        upload: &UploadOptions,
    ) -> Result<Version>
    where
        T: WriteNpyExt + Send + 'static,
    {
        let (remote, options, upload) = (self.clone(), options.clone(), upload.clone());
        task_result(
            blocking_runtime()?
                .spawn_blocking(move || remote.write_npy_with(&array, &options, &upload))
                .await,
        )
    }

    /// Starts an upload to the object.
    ///
    /// The result implements [`Write`]: for example, an [`NpzWriter`](ndarray_io::NpzWriter) can write an archive
    /// to it.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if a part is larger than the address space; otherwise as for
    /// [`Remote::parse_with`].
    pub fn upload(&self, options: &UploadOptions) -> Result<Upload> {
        self.upload_async(options).map(Upload::new)
    }

    /// Starts an upload from a task.
    ///
    /// # Errors
    ///
    /// As for [`upload`](Self::upload).
    pub fn upload_async(&self, options: &UploadOptions) -> Result<AsyncUpload> {
        /// The time limit for sending one part.
        const PART_UPLOAD_TIMEOUT: Duration = Duration::from_secs(15 * 60);
        let location = match &self.address {
            Some((address, store)) => {
                // The response arrives only after the entire part has been sent, which may take a long time.
                let store = store.clone().read_timeout(store.read_timeout.max(PART_UPLOAD_TIMEOUT));
                ObjectLocation::of(address, &store, options.condition())?
            }
            None => self.location.clone(),
        };
        AsyncUpload::new(location, options)
    }

    /// Opens the object as a source of bytes, which fetches what is read.
    ///
    /// # Errors
    ///
    /// As for [`open_array`](Self::open_array), but for the format.
    pub fn source(&self) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(self.open_bytes()?))
    }

    fn open_bytes(&self) -> Result<ObjectBytes> {
        wait(ObjectBytes::open(&self.location)).map_err(|error| self.location.name_error(error))
    }

    fn open_end_bytes(&self) -> Result<ObjectBytes> {
        wait(ObjectBytes::open_at_end(&self.location, MAX_END_RECORDS_LEN.max(MIN_WINDOW)))
            .map_err(|error| self.location.name_error(error))
    }

    fn array_of(&self, bytes: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<NpyFile> {
        let opened = options.open_source(bytes);
        Ok(opened.map_err(|error| self.location.name_error(error))?.with_path(&self.location.display_name))
    }

    fn open_archive(&self, bytes: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<NpzFile> {
        let opened = options.open_npz_source(bytes);
        Ok(opened.map_err(|error| self.location.name_error(error))?.with_path(&self.location.display_name))
    }
}

/// A version of an object, for conditional writes.
///
/// [`UploadOptions::replacing`] replaces the object only if this is still its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub(crate) tag: Option<String>,
    /// The version number that some stores use in addition to the tag, such as Google's generation.
    pub(crate) number: Option<String>,
    pub(crate) size: u64,
}

impl Version {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
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
