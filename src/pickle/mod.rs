//! Opcodes of pickles, in which NumPy stores Python objects, and the values that refer to no others.
//!
//! `dynamic::object` builds objects from them. [`Writer`] writes opcodes; [`read_one`] finds where a pickle
//! ends.

mod atom;
pub(crate) mod opcode;
mod scan;
pub(crate) mod text;
mod write;

pub(crate) use atom::{Atom, atom, line};
pub(crate) use scan::read_one;
pub(crate) use write::Writer;
