//! Files by path, archives, slices, maps, conversions and several processes. `tests/it` covers formats and
//! elements.
#![allow(clippy::incompatible_msrv, reason = "tests need a newer compiler than the library")]
#![allow(unsafe_code)] // opening a map is unsafe: the tests promise that their files are their own

#[path = "../it/support/mod.rs"]
mod support;

#[cfg(feature = "npz")]
mod blocks;
mod changes;
mod convert;
mod crowd;
#[cfg(all(feature = "derive", feature = "mmap"))]
mod elements;
#[cfg(feature = "npz")]
mod index;
mod maps;
#[cfg(all(feature = "zip-methods", feature = "zip-encryption"))]
mod methods;
#[cfg(feature = "npz")]
mod npz;
#[cfg(all(feature = "zip-methods", feature = "zip-encryption"))]
mod oracles;
mod parts;
mod paths;
mod processes;
mod progress;
mod ra;
#[cfg(all(feature = "dask", feature = "zstd", feature = "lz4"))]
mod releases;
mod replacing;
#[cfg(feature = "dask")]
mod stacks;
mod streams;
mod tiles;
mod windows;
mod writer;
