//! Formats, elements, options and errors. `tests/files` covers files by path, archives and maps.
#![allow(clippy::incompatible_msrv, reason = "tests need a newer compiler than the library")]
#![allow(unsafe_code)] // strided views are made from pointers, and maps of files are unsafe to open

mod support;

#[cfg(feature = "object")]
mod bombs;
mod casts;
mod compat;
mod corpus;
mod dynamic;
mod faults;
mod flat;
mod hostile;
#[cfg(all(feature = "object", feature = "npz"))]
mod joblib;
mod layers;
#[cfg(feature = "full")]
mod limits;
#[cfg(all(feature = "full", target_endian = "little"))]
#[path = "../mistakes/library.rs"]
mod mistakes;
#[cfg(all(feature = "derive", feature = "mmap", feature = "npz"))]
mod names;
#[cfg(all(feature = "py_literal", feature = "narrow"))]
mod narrow;
#[cfg(feature = "object")]
mod object_values;
#[cfg(feature = "object")]
mod objects;
mod options;
mod pages;
mod properties;
mod reader;
#[cfg(feature = "derive")]
mod records;
mod reports;
#[cfg(all(feature = "serde-1", feature = "npz", feature = "py_literal"))]
mod serialized;
mod streams;
mod strides;
mod texts;
mod values;
#[cfg(feature = "full")]
mod verbs;
mod words;
