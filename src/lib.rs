//! Reads, writes, views and memory-maps NumPy's NPY and NPZ files, and RA files, as [`ndarray`] arrays.
//!
//! ```
//! use ndarray::{arr2, Array2};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("a.npy");
//! let a = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
//! ndarray_io::write_npy(&path, &a)?; // the bytes of numpy.save
//! let b: Array2<f64> = ndarray_io::read_npy(&path)?;
//! assert_eq!(a, b);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which item do I need?
//!
//! | to | use |
//! |---|---|
//! | read or write a file by its path | [`read_npy`], [`write_npy`]; with options, [`ReadOptions::read_npy`], [`WriteOptions::write_npy`] |
//! | read from or write to a stream | [`ReadNpyExt`], [`WriteNpyExt`]; in pieces, [`NpyReader`], [`NpyWriter`] |
//! | read parts of a file: slices, chunks, random rows | [`NpyFile`] |
//! | append rows, or write an array piece by piece | [`NpyWriter`] |
//! | fill a file from several threads or processes | [`NpyFileMut`], [`NpyMmapMut::open_slab`] |
//! | map a file, or view bytes, without a copy | [`NpyMmap`], [`NpyMmapMut`], [`ViewNpyExt`] |
//! | read or write an archive | [`read_npz`], [`write_npz`], [`NpzFile`], [`NpzUpdate`]; any writer, [`NpzWriter`]; any reader that can seek, [`NpzReader`]; maps, [`npz::NpzMmap`] |
//! | read and write structs, enums, and types of your own | [`#[derive(Record)]`](macro@Record), [`#[derive(Element)]`](macro@Element) |
//! | read an array whose type is known only at run time | [`DynArray`], [`with_numbers!`](crate::with_numbers) |
//! | write a function for any type of elements | [`ReadableElement`], [`WritableElement`]; of arrays, [`ReadArray`], [`WriteArray`] |
//! | use another version of `ndarray`, another library, or plain vectors | [`FlatArray`], [`FlatView`] |
//! | read into existing memory | [`ReadOptions::read_into`], [`NpyFile::slice_into`] |
//! | convert or join files of any size | [`convert`] |
//! | convert numbers while reading, set limits, choose the number of threads | [`ReadOptions`], [`Limits`] |
//! | choose order, byte order, version, durability | [`WriteOptions`] |
//! | find out what went wrong | [`Error::kind`], [`Error::help`] |
//! | read or write RA files | [`ra`] |
//! | read Python objects as data | [`object`](mod@object) |
//! | read or write a stack of files, as Dask writes them | [`dask`] |
//! | parse and format headers yourself | [`npy`], [`ra`] |
//! | read and write in S3, GCS and Azure, and on web servers | the crate `ndarray-io-store` |
//! | let zarr-python, xarray and Dask read files in place | the crate `ndarray-io-refs` |
//!
//! [`guide`] begins with a [tutorial](guide::tutorial) and a [cookbook](guide::cookbook), and has a page for each topic.
//!
//! # Compatibility with NumPy
//!
//! The library writes what `numpy.save` of NumPy 2 writes, byte for byte. The exceptions are pickles of
//! Python objects, for which the output of NumPy itself can differ between equal arrays (the pickles load as
//! equal objects), and the header of a file that has been appended to, which keeps the length with which it was created.
//!
//! The library reads files as NumPy does, except where NumPy's leniency hides damage ([all differences](guide::numpy_differences)). Above all, these are
//! errors: a bool other than 0 and 1, a key that occurs twice in a header, bytes after the array at the end
//! of a file, and invalid text that is read as `String`. Reading from a reader consumes exactly one array.
//!
//! # Untrusted files
//!
//! No input can make this library panic, overflow, or allocate memory out of proportion to the size of the
//! input, or to the content that compressed input can have. The length of a file is checked before memory is allocated; when
//! reading from a stream, memory grows with the bytes that arrive. [`Limits`] restrict files further.
//!
//! # Features
//!
//! - `derive` (default): `#[derive(Record)]` and `#[derive(Element)]`.
//! - `mmap` (default): memory maps.
//! - `npz` (default): archives, stored and deflated.
//! - `py_literal` (default): headers in any spelling that Python accepts. Headers of all known writers can be
//!   read without it.
//! - `zstd`: archive members compressed with Zstandard.
//! - `zip-methods`: reading members compressed with bzip2, LZMA, XZ or deflate64; with `object`, files of joblib compressed with the
//!   first three.
//! - `zip-encryption`: reading members that are encrypted, with AES or the traditional ZIP encryption.
//! - `libdeflate`: a C library that decompresses deflated members faster.
//! - `lz4`: RA files and, with `object`, files of joblib that are compressed with LZ4.
//! - `object`: Python objects as data ([`object`](mod@object)).
//! - `dask`: stacks of files, as Dask writes them ([`dask`]).
//! - `serde-1`: dtypes, headers, shapes and options in configuration files; with `object`,
//!   conversions between Python objects and types of `serde`.
//! - `num-bigint-0_4`: conversions between Python's integers and those of this crate.
//! - `half-2` (alias `half`): `f16` and `bf16`.
//! - `narrow`: the numbers of the Python package `ml_dtypes` as types of elements.
//! - `chrono-0_4`, `jiff-0_2`: conversions of [`Datetime64`](element::Datetime64) and [`Timedelta64`](element::Timedelta64) to and from types of these
//!   crates.
//! - `full`: all of these.
//! - `compressed_npz` and `num-complex-0_4`: names that ease migration from `ndarray-npy`. They add nothing
//!   to the default features.

#![cfg_attr(docsrs, feature(doc_cfg))] // on docs.rs, each item shows the feature that it needs

mod access;
mod array;
pub mod bytes;
mod codec;
mod containers;
pub mod convert;
mod dynamic;
mod elements;
mod engine;
mod formats;
mod model;
#[cfg(all(feature = "object", feature = "npz"))]
pub mod scan;

pub use access::*;
#[cfg(any(feature = "npz", feature = "dask"))]
pub use containers::*;
use engine::*;
use formats::*;
pub use model::*;

pub use array::{FlatArray, FlatView, ReadNpyExt, ViewMutNpyExt, ViewNpyExt, WriteArray, WriteNpyExt};
#[doc(hidden)]
pub use compat::*;
pub use dtype::casting::Casting;
pub use dtype::scalar::ByteOrder;
pub use dtype::value::DType;
#[cfg(feature = "object")]
pub use dynamic::object;
pub use dynamic::{DynArray, DynView};
pub use elements::{ReadableElement, ViewElement, ViewMutElement, WritableElement};
pub use error::value::{Error, Result};
pub use io::{NpyReader, NpyWriter, ReadArray};
pub use limits::Limits;
#[cfg(feature = "mmap")]
pub use mmap::{NpyMmap, NpyMmapMut};
#[cfg(feature = "npz")]
pub use npz::file::{NpzFile, read_npz};
#[cfg(feature = "npz")]
pub use npz::reader::NpzReader;
#[cfg(feature = "npz")]
pub use npz::update::NpzUpdate;
#[cfg(feature = "npz")]
pub use npz::writer::{NpzWriter, write_npz};
pub use options::formats::Compression;
pub use options::read::ReadOptions;
pub use options::write::WriteOptions;
pub use parts::{NpyFile, NpyFileMut};
pub use path::{read_npy, write_npy, write_zeroed_npy};

/// Structs, enums and other types as elements: `#[derive(Record)]`, `#[derive(Element)]`.
#[cfg(feature = "derive")]
pub use ndarray_io_derive::{Element, Record};

pub mod file {
    //! Replacing files, headers of the caller, and slices as text.

    pub use crate::array::{header_of, write_headed};
    #[cfg(feature = "mmap")]
    pub use crate::mmap::MapAdvice;
    pub use crate::parts::parse_slice;
    pub use crate::path::FileReplacement;
}

pub mod element {
    //! Types of elements beyond Rust's numbers: text, bytes, times, long doubles, and bytes without a meaning.

    pub use crate::elements::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void, units};
}

#[cfg(feature = "narrow")]
pub mod narrow {
    //! The numbers of the Python package `ml_dtypes`: floats of 4, 6 and 8 bits, and integers of fewer than 8.
    //!
    //! NumPy writes such arrays as raw bytes (`float8_e5m2` as `<f1`, which it cannot read; it is read here), and so does this library: they are read by asking for the type, or with
    //! [`ReadOptions::raw_bytes_are`](crate::ReadOptions::raw_bytes_are) as numbers of any type. Each element has a byte of its own.
    //! (`bfloat16` is `half::bf16`, with the feature `half-2`. The complex numbers `complex32` and `bcomplex32` are raw
    //! bytes, `V4`, which `Complex<half::f16>` and `Complex<half::bf16>` read.)
    //!
    //! ```
    //! use ndarray::{Array1, arr1};
    //! use ndarray_io::narrow::Float8E4M3Fn;
    //! use ndarray_io::{ReadNpyExt, WriteNpyExt};
    //!
    //! let mut file = Vec::new();
    //! arr1(&[1.0, 0.3]).mapv(Float8E4M3Fn::from_f32).write_npy(&mut file)?;
    //! let read = Array1::<Float8E4M3Fn>::read_npy(&file[..])?;
    //! assert_eq!(read.mapv(f32::from), arr1(&[1.0, 0.3125]));
    //! # Ok::<(), ndarray_io::Error>(())
    //! ```

    pub use crate::elements::narrow::{
        Float4E2M1Fn, Float6E2M3Fn, Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz, Float8E4M3Fn,
        Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu, Int1, Int2, Int4, Uint1, Uint2, Uint4,
    };
}

pub mod npy {
    //! Parsing and formatting of NPY headers, and rarely needed functions.
    //!
    //! [`parse`] and [`format()`] do no I/O: they are for programs that read and write the bytes themselves.

    pub use crate::array::Rows;
    #[cfg(all(fuzzing, feature = "py_literal"))]
    #[doc(hidden)]
    pub use crate::npy_format::compare_header_paths;
    pub use crate::npy_format::{NpyHeader, Version, format, parse, parse_with};
}

pub mod ra {
    //! RA files, which are used in magnetic resonance imaging.
    //!
    //! An RA file has a header of fixed fields, followed by an array of numbers.
    //!
    //! ```
    //! use ndarray::{Array2, arr2};
    //! use ndarray_io::ra::{read_ra, write_ra};
    //!
    //! # let folder = tempfile::tempdir()?;
    //! # let path = folder.path().join("a.ra");
    //! write_ra(&path, &arr2(&[[1.0f32, 2.0]]))?;
    //! let a: Array2<f32> = read_ra(&path)?;
    //! assert_eq!(a[[0, 1]], 2.0);
    //! # Ok::<(), Box<dyn std::error::Error>>(())
    //! ```

    pub use crate::array::{ReadRaExt, ViewMutRaExt, ViewRaExt, WriteRaExt};
    pub use crate::path::{ra_query, read_ra, write_ra, write_zeroed_ra};
    pub use crate::ra_format::{RaHeader, format, parse, query};
}

#[cfg(any(doc, all(doctest, feature = "full")))]
pub mod guide;

/// Compiles the examples in the README.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Items that derived code uses. They may change in any version.
#[doc(hidden)]
pub mod __private {
    /// The `core` crate for derived code: where that code is expanded, `::core` could be another crate.
    pub use ::core;
    pub use std::vec::Vec;

    pub use crate::elements::record::*;
    pub use crate::elements::{
        Enumeration, Markers, Newtype, ReadPlan, WritePlan, converted, dtype_into, enum_dtype,
        enum_file_layout, enum_read_plan, enum_write_plan, newtype_axes, newtype_dtype, newtype_file_layout,
        newtype_is_always_bitwise, newtype_is_read_as_bytes, newtype_read_plan, newtype_write_plan,
        read_plan_from, write_plan_into,
    };
}

/// Names of `ndarray-npy` 0.10.
#[doc(hidden)]
pub mod compat {
    use std::path::Path;

    use crate::{Error, Result, WriteArray, WriteOptions};

    /// Writes an array to a new file.
    ///
    /// # Errors
    ///
    /// Those of [`WriteOptions::write_npy`].
    pub fn create_new_npy<P, T>(path: P, array: &T) -> Result<()>
    where
        P: AsRef<Path>,
        T: WriteArray + ?Sized,
    {
        WriteOptions::new().create_new(true).write_npy(path, array)
    }

    pub type ReadDataError = Error;
    pub type ReadNpyError = Error;
    pub type ReadNpzError = Error;
    pub type ViewDataError = Error;
    pub type ViewNpyError = Error;
    pub type WriteDataError = Error;
    pub type WriteNpyError = Error;
    pub type WriteNpzError = Error;
}
