//! Opcodes of pickles, in which NumPy stores Python objects, and values that do not refer to other values.
//!
//! `dynamic::object` builds objects from opcodes and values. [`OpcodeWriter`] writes opcodes; [`read_one`] finds
//! the end of a pickle.

mod atom;
#[cfg(feature = "npz")]
mod effects;
pub(crate) mod opcode;
mod scan;
pub(crate) mod text;
mod write;

pub(crate) use atom::{Atom, atom, line};
#[cfg(feature = "npz")]
pub(crate) use effects::{End, effects};
pub(crate) use scan::read_one;
pub(crate) use write::OpcodeWriter;
