//! Pickles, in which NumPy stores Python objects: their opcodes, and the values that refer to no others.
//!
//! What is made of them is no matter here: see `dynamic::object`. [`Writer`] writes opcodes; [`end`] finds where a pickle ends.

mod atom;
pub(crate) mod opcode;
mod scan;
pub(crate) mod text;
mod write;

pub(crate) use atom::{Atom, atom, line};
pub(crate) use scan::read_one;
pub(crate) use write::Writer;
