//! Arrays on their way from one place to another, tile by tile: into another order, byte order or dtype, out of a larger array or
//! into one. [`Plan`] says which tiles, [`run`] moves them.

mod memory;
mod plan;
mod run;

pub(crate) use memory::{pick_all, recode_all};

pub(crate) use plan::{Axis, Plan, Side, Writes};
pub(crate) use run::{Move, Work, move_all, move_in_order};
