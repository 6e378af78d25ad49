//! x
mod array; mod dtype; mod element; mod shape; mod error; mod limits; mod header; mod options; pub mod npy; mod io; mod transfer;
#[cfg(feature="mmap")] mod mmap;
mod path;
#[cfg(feature="mmap")] pub use mmap::*;
pub use path::*;
pub use array::*;
pub use element::{ReadableElement, ViewElement, ViewMutElement, WritableElement};
pub use dtype::*; pub use shape::*; pub use error::*; pub use limits::*; pub use header::*; pub use npy::*;
pub use options::*; pub use io::*;
