//! Arrays in object stores: Amazon S3 and compatible stores, Google Cloud Storage, Azure, and web servers.
//!
//! Opening an object yields the same types as opening a file: an [`NpyFile`](ndarray_io::NpyFile) or [`NpzFile`](ndarray_io::NpzFile) that fetches only
//! the bytes that are needed, with range requests.
//!
//! ```no_run
//! use ndarray::{Array2, s};
//! use ndarray_io_store::Remote;
//!
//! let file = Remote::parse("s3://bucket/measured/volume.npy")?.open_array()?;
//! let slice: Array2<f32> = file.slice(s![1000..1100, ..;2])?; // fetches these rows
//! let archive = Remote::parse("https://example.org/model.npz")?.open_npz()?;
//! let weights: Array2<f32> = archive.read("weights")?;
//! Remote::parse("s3://bucket/result.npy")?.write_npy(&weights)?;
//! # Ok::<(), ndarray_io::Error>(())
//! ```
//!
//! URLs are `s3://bucket/key`, `gs://bucket/key`, `az://container/key` and `https://…`, which may be signed. After the bucket
//! everything is the key, literally: `s3://bucket/hash#2.npy` is `hash#2.npy`, and `a%20b` has a percent sign. Credentials and
//! endpoints come from the environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`) or from [`StoreOptions`]; pass any other store of the
//! crate [`object_store`] to [`Remote::in_bucket`]. Errors identify the object by its URL without the query. Of a server's response,
//! errors contain only the status and the store's error code, such as `NoSuchBucket`.
//!
//! # Requests
//!
//! - Opening an NPY or RA file sends one request for the first 64 KiB, which contain all of a small array.
//!   Opening an archive sends one request for the end of the object (two on Azure, which has no suffix
//!   requests, and more if the directory exceeds 64 KiB).
//! - An entire array or a slice is fetched in requests of up to 16 MiB, directly into its memory, and what is read in sequence is fetched
//!   ahead. All objects together have at most 128 requests of 128 MiB in progress and in memory, but each at least one, and take turns
//!   ([`StoreOptions::requests`], [`StoreOptions::in_flight`]). Nearby ranges are merged as long as a
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
//! [`Changed`](ndarray_io::error::ErrorKind::Changed). If the server sends no tag or a weak one,
//! requests carry the modification time instead, and the response must have the same weak tag or modification
//! time, and the same length; [`Version::is_verified`] returns whether there is a strong tag. A server that
//! ignores ranges and sends entire objects (such as Python's `http.server`) can serve [`NpyFile::read`](ndarray_io::NpyFile::read) with
//! its single response; slices and archives fail before anything is fetched.
//!
//! # Threads and tasks
//!
//! All functions that send requests block, except those that are `async`. They may be called anywhere,
//! including within Tokio tasks: requests use the library's own runtime, which has two threads in each process that needs it. [`AsyncFile`]
//! and [`AsyncUpload`] have async methods, for any executor; dropping one of their futures cancels its requests. (A store passed to [`Remote::in_bucket`]
//! may have connections that only its own runtime drives: within a single-threaded runtime, use
//! [`AsyncFile`].)

mod address;
mod async_file;
mod async_upload;
mod bytes;
mod client;
mod failure;
mod limits;
mod list;
mod loaded;
mod location;
mod options;
mod plan;
mod profile;
mod rate_guard;
mod read_ahead;
mod remote;
mod response;
mod runtime;
mod service;
mod upload;
mod upload_options;

pub use async_file::{AsyncFile, BlockStream};
pub use async_upload::AsyncUpload;
pub use list::{Listed, Listing, list};
pub use options::StoreOptions;
pub use remote::{Remote, Version};
pub use upload::{Buffer, Upload};
pub use upload_options::UploadOptions;

/// Compiles the examples in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
