//! Arrays on disk: NumPy's NPY and NPZ files, and RA files, as [`ndarray`] arrays, read, written, viewed and mapped.
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
//! # The tour
//!
//! | to | use |
//! |---|---|
//! | read or write a file by its path | [`read_npy`], [`write_npy`], [`create_new_npy`] |
//! | read from or write to anything | [`ReadNpyExt::read_npy`], [`WriteNpyExt::write_npy`] |
//! | read into an array that is there | [`ReadNpyIntoExt::read_npy_into`] |
//! | look before reading, or read arrays in a row | [`NpyReader`] |
//! | read and write structs | [`#[derive(Record)]`](macro@Record) |
//! | take an array of whatever type, and look | [`DynArray`] |
//! | write an array piece by piece, or append to a file | [`NpyWriter`] |
//! | read parts of a file: slices, chunks, rows at random | [`NpyFile`] |
//! | convert or join files of any size | [`convert_npy`](convert::convert_npy), [`concatenate_npy`](convert::concatenate_npy), [`stack_npy`](convert::stack_npy) |
//! | read or write a stack of files, as Dask has them | [`NpyStack`](stack::NpyStack), [`NpyStackWriter`](stack::NpyStackWriter) |
//! | let zarr-python, xarray and Dask read files in place | [`References`](refs::References) |
//! | read and write in S3, GCS, Azure and on web servers | [`Remote`](store::Remote) |
//! | fill a file from several threads or processes | [`NpyFile::write_slice`], [`NpyMmapMut::open_slab`] |
//! | read or write an archive of arrays | [`read_npz`], [`write_npz`], [`NpzReader`], [`NpzWriter`] |
//! | read an archive from several threads, and parts of its arrays | [`NpzFile`], [`NpzFile::open_member`] |
//! | add, replace or remove members of an archive | [`NpzUpdate`](npz::NpzUpdate) |
//! | map an archive | [`NpzMmap`](npz::NpzMmap), [`NpzMmapMut`](npz::NpzMmapMut) |
//! | read or write RA files | [`read_ra`](ra::read_ra), [`write_ra`](ra::write_ra), [`ReadRaExt`](ra::ReadRaExt), [`WriteRaExt`](ra::WriteRaExt), [`RaReader`](ra::RaReader), [`RaFile`](ra::RaFile), [`RaMmap`](ra::RaMmap) |
//! | make the one out of the other | [`convert_npy_to_ra`](convert::convert_npy_to_ra), [`convert_ra_to_npy`](convert::convert_ra_to_npy) |
//! | view bytes without copying | [`ViewNpyExt::view_npy`], [`ViewMutNpyExt::view_mut_npy`] |
//! | map a file | [`NpyMmap`], [`NpyMmapMut`] |
//! | make a file larger than memory | [`NpyMmapMut::create`], [`write_zeroed_npy`] |
//! | convert numbers, set limits, take one thread | [`ReadOptions`] |
//! | choose order, byte order, version, durability | [`WriteOptions`] |
//! | know what went wrong | [`Error::kind`] |
//! | parse headers yourself | [`npy::parse`], [`npy::format`], [`ra::parse`], [`ra::format`] |
//!
//! # Elements
//!
//! | dtype | Rust type | read | view | write |
//! |---|---|---|---|---|
//! | `b1` | `bool` | yes, checked | yes, checked | yes |
//! | `i1`, `i2`, `i4`, `i8` | `i8`, `i16`, `i32`, `i64` | yes | yes | yes |
//! | `u1`, `u2`, `u4`, `u8` | `u8`, `u16`, `u32`, `u64` | yes | yes | yes |
//! | `f2` | `half::f16` (feature `half-2`) | yes | yes | yes |
//! | `f4`, `f8` | `f32`, `f64` | yes | yes | yes |
//! | `f16` | [`LongDouble`], to be converted by saying which of its two formats it is | yes | yes | yes |
//! | `c8`, `c16`, `c32` | `num_complex::Complex<f32>`, `Complex<f64>`, `Complex<LongDouble>` | yes | yes | yes |
//! | complex of 2 × 16 bits, in RA files | `Complex<half::f16>` (feature `half-2`) | yes | yes | yes |
//! | `S5` | [`Bytes<5>`](Bytes) (and shorter ones on reading) | yes | yes | yes |
//! | `S5` | `Vec<u8>`, `String` (checked to be UTF-8; written as `U`) | yes | no | yes |
//! | `U5` | [`Chars<5>`](Chars) (and shorter ones on reading) | yes | yes | yes |
//! | `U5` | `String` (checked) | yes | no | yes |
//! | `V5` | [`Void<5>`](Void) | yes | yes | yes |
//! | `V2` | `half::bf16` (feature `half-2`), as `ml_dtypes` and JAX write it | yes | yes | yes |
//! | `M8[25s]` | [`Datetime64`]`<units::Times<25, units::Second>>` | yes | yes | yes |
//! | `m8[ns]` | [`Timedelta64`]`<units::Nanosecond>` | yes | yes | yes |
//! | records | a struct that derives [`Record`](macro@Record) | yes | with `#[repr(C)]` or `#[repr(C, packed)]`; mutably without padding | yes |
//! | the innermost axis; subarrays in records | `[T; N]`: an `Array1<[f32; 3]>` has the shape (n, 3) in the file | yes | in C order | in C order |
//! | as what it wraps | a `#[repr(transparent)]` struct that derives [`Element`](macro@Element) | as that | as that | as that |
//! | integers | an enum with an integer `repr` that derives [`Element`](macro@Element) | yes, checked | yes, checked | yes |
//! | objects (`O`), of `StringDType` too; records with objects | [`object::Object`] (feature `object`) | yes | no | objects |
//!
//! Either byte order is read; a view needs this machine's. Every dtype of NumPy's is parsed and shown ([`DType`]), be
//! there a Rust type for it or not.
//!
//! # What a file means
//!
//! What is written equals what `numpy.save` of NumPy 2 writes, to the byte; but for the pickle of Python objects, of which NumPy itself
//! writes two for equal arrays: it loads as the same objects. What is read is read as NumPy reads it, with
//! exceptions where NumPy's laxness hides damage: a bool other than 0 and 1, a key that stands twice in a header, and
//! bytes behind an array that should be the last thing in its file, and invalid text read as `String`, are errors. From a reader exactly one array is taken.
//!
//! A file is not trusted: no input makes this library panic, overflow, or take memory out of proportion to what is
//! there. From a file of known length the length is checked first; from a stream memory grows with what arrives.
//! [`Limits`] bound it further.
//!
//! # Features
//!
//! `py_literal` (default): headers of any spelling that Python takes; those of all known writers are read without it.
//! `derive` (default): `#[derive(Record)]` and `#[derive(Element)]`. `mmap` (default): maps. `npz` (default): archives. `zstd`: archives whose
//! members are compressed by Zstandard. `zip-methods`: members that are encrypted (AES and the old encryption of ZIP) or compressed by
//! bzip2, LZMA, XZ or deflate64, for reading. `libdeflate`: a C library that inflates faster. `lz4`: RA files whose data are packed. `object`: Python objects
//! ([`object`](mod@object)), read as data and written; nothing of them is ever executed. It also has stacks of files ([`stack`]). `refs`: references for readers of Zarr ([`refs`]). `object-store` (or `object-store-0_14`, where types of that crate are used): arrays in S3, GCS, Azure and on web servers ([`store`]). `serde-1`: objects as `serde` knows values.
//! `num-bigint-0_4`: Python's integers to and from that crate's. `half-2`: `f16` and `bf16` (`half` is another name for it). `chrono-0_4`, `jiff-0_2`: conversions between
//! [`Datetime64`], [`Timedelta64`] and the times of these crates. `compressed_npz` and `num-complex-0_4` exist as names, for
//! those who come from `ndarray-npy`: what they ask for is always there. `full`: all of these. `cli`: the program `ndio`.

#![cfg_attr(docsrs, feature(doc_cfg))] // on docs.rs, each item shows the feature that it needs

mod array;
mod codec;
pub mod convert;
pub mod dtype;
mod dynamic;
mod element;
pub mod error;
pub mod header;
mod io;
mod limits;
#[cfg(feature = "mmap")]
mod mmap;
mod npy_format;
#[cfg(feature = "npz")]
pub mod npz;
pub mod options;
mod parts;
mod path;
#[cfg(feature = "object")]
mod pickle;
mod progress;
mod ra_format;
#[cfg(feature = "refs")]
pub mod refs;
mod shape;
#[cfg(feature = "object")]
pub mod stack;
#[cfg(feature = "object-store-0_14")]
pub mod store;
mod transfer;
#[cfg(feature = "npz")]
mod zip;

pub use array::{ReadNpyExt, ReadNpyIntoExt, ViewMutNpyExt, ViewNpyExt, WriteNpyExt};
pub use dtype::{Casting, DType};
pub use dynamic::DynArray;
#[cfg(feature = "object")]
pub use dynamic::object;
pub use element::{
    Bytes, Chars, Datetime64, LongDouble, ReadableElement, Timedelta64, ViewElement, ViewMutElement, Void,
    WritableElement, units,
};
pub use error::{Error, Result};
pub use io::{NpyReader, NpyWriter};
pub use limits::Limits;
#[cfg(feature = "mmap")]
pub use mmap::{NpyMmap, NpyMmapMut};
#[cfg(feature = "npz")]
pub use npz::{NpzFile, NpzReader, NpzWriter, read_npz, write_npz};
pub use options::{ReadOptions, WriteOptions};
pub use parts::NpyFile;
pub use path::{create_new_npy, read_npy, read_npy_with, write_npy, write_npy_with, write_zeroed_npy};

/// Structs and enums as elements: `#[derive(Record)]`, `#[derive(Element)]`.
#[cfg(feature = "derive")]
pub use ndarray_io_derive::{Element, Record};

pub mod file {
    //! Readers, writers, files and maps of one array, whatever its format; and what is done to files.
    //!
    //! [`ArrayReader`], [`ArrayFile`] and [`ArrayMmap`] are the same code for NPY ([`Npy`]) and RA ([`Ra`]). For NPY they are
    //! called [`NpyReader`](crate::NpyReader), [`NpyFile`](crate::NpyFile) and `NpyMmap`; for RA see [`ra`](crate::ra).

    pub use crate::array::WriteArray;
    pub use crate::io::{
        ArrayFormat, ArrayReader, FromPayload, Npy, Ra, UncommittedRows, grow_header, grow_header_with,
    };
    #[cfg(feature = "mmap")]
    pub use crate::mmap::{ArrayMmap, ArrayMmapMut, MapAdvice};
    pub use crate::parts::{ArrayFile, Chunks};
    pub use crate::path::replace_file_with;
}

pub mod npy {
    //! NPY headers by themselves, and the functions that few need.
    //!
    //! [`parse`] and [`format()`] do no I/O: they are for those who move the bytes themselves.

    #[cfg(all(fuzzing, feature = "py_literal"))]
    #[doc(hidden)]
    pub use crate::npy_format::compare_header_paths;
    pub use crate::npy_format::{NpyHeader, Parsed, Version, format, parse, parse_with};
    pub use crate::path::{create_new_npy_with, write_zeroed_npy_with};
}

pub mod ra {
    //! RA files, as they are used in magnetic resonance imaging: arrays of numbers behind a header of fixed fields.
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
    pub use crate::io::RaReader;
    #[cfg(feature = "mmap")]
    pub use crate::mmap::{RaMmap, RaMmapMut};
    pub use crate::options::ra::RaOptions;
    pub use crate::parts::RaFile;
    pub use crate::path::{ra_query, read_ra, read_ra_with, write_ra, write_ra_with};
    pub use crate::ra_format::{Parsed, RaHeader, format, parse, query};
}

/// What `derive(Record)` needs. It may change with every version.
#[doc(hidden)]
pub mod __private {
    /// What the derive's code names: `::core` could be another crate there.
    pub use ::core;

    pub use crate::element::record::*;
    pub use crate::element::{
        Enumeration, Newtype, ReadPlan, WritePlan, accept_enum, accept_newtype, emit_enum, emit_newtype,
        enum_dtype, enum_filed, newtype_axes, newtype_dtype, newtype_filed,
    };
}

/// The name that `ndarray-npy` has for [`Error`].
pub type ReadNpyError = Error;
/// The name that `ndarray-npy` has for [`Error`].
pub type WriteNpyError = Error;
/// The name that `ndarray-npy` has for [`Error`].
pub type ViewNpyError = Error;
/// The name that `ndarray-npy` has for [`Error`].
pub type ReadNpzError = Error;
/// The name that `ndarray-npy` has for [`Error`].
pub type WriteNpzError = Error;
