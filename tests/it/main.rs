//! The library's tests: one binary, a module for each subject.
#![allow(unsafe_code)] // opening a map is unsafe: the tests promise that their files are their own

mod compat;
mod convert;
mod corpus;
mod dynamic;
mod faults;
mod floors;
mod hostile;
mod manifest;
mod maps;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "object")]
mod objects;
mod options;
mod parts;
mod paths;
mod processes;
mod progress;
mod properties;
mod ra;
mod reader;
#[cfg(feature = "derive")]
mod records;
mod routes;
mod strides;
mod texts;
mod writer;
