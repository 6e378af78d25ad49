//! Moves arrays of any size tile by tile.
//!
//! A move can change the order, byte order or dtype; the source or the target can be part of a larger array.
//! [`TilePlan`] divides an array into tiles, and [`run`] moves them.

mod memory;
mod plan;
mod run;

pub(crate) use memory::{gather_strided_parallel, recode_all};

pub(crate) use plan::{Axis, SideLayout, TilePlan, WriteAccess};
pub(crate) use run::{GapLock, TileConversion, TileMove, move_all, move_in_order};
