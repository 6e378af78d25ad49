//! References that let Zarr readers open NPY, NPZ and RA files in place.
//!
//! zarr-python, xarray and Dask read the files with range requests, from any number of machines. Nothing is
//! copied.
//!
//! ```
//! use ndarray::Array2;
//! use ndarray_io_refs::{RefOptions, References, ZarrFormat};
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
//! In Python, `xarray.open_dataset("reference://", engine="zarr", consolidated=False,
//! backend_kwargs={"storage_options": {"fo": "refs.json"}})` then has an array `temperature` in four chunks.
//!
//! # Supported files and dtypes
//!
//! References work for NPY files, uncompressed RA files, stored members of NPZ archives, and stacks
//! ([`dask`](ndarray_io::dask)), but not for pipes and compressed files. The result is a group with one array
//! per file or member, which is named after the stem of the file or after the member. A `/` in the name of a
//! member creates groups.
//!
//! Zarr can represent numbers, text, times and, in version 2, records of these without gaps between the
//! fields. Adding an array of any other dtype fails with
//! [`NotConvertible`](ndarray_io::error::ErrorKind::NotConvertible), or with
//! [`Objects`](ndarray_io::error::ErrorKind::Objects) for Python objects.
//!
//! References contain the shape that a file has when it is added. They are not updated if the file changes
//! later.
//!
//! # Chunks
//!
//! A chunk is contiguous in its file, so chunks follow the file's slowest axis: the first axis longer than 1
//! in C order, and the last axis longer than 1 in Fortran order and in RA files.
//!
//! All chunks of a Zarr array have the same length, and readers reject a reference that is shorter. If the
//! requested length does not divide the axis:
//!
//! 1. the largest smaller divisor is used if it is at least half the requested length;
//! 2. otherwise the larger of these two lengths is used: the largest divisor, which may be 1; and the largest
//!    length whose last chunk, padded with zeros and embedded in the references, has at most
//!    [`RefOptions::inline_limit`] bytes.
//!
//! [`References::notes`] describes the arrays for which a different length was chosen.

mod grid;
mod meta;
mod options;
mod parts;
mod references;

pub use meta::ZarrFormat;
pub use options::RefOptions;
pub use references::References;

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
