//! [`PieceBuffer`]: pieces of an array that have been read together.

use ndarray::{Array, Dimension, ShapeBuilder};

use crate::shape::Order;

/// Elements of several pieces that have been read and not been returned.
pub(super) struct PieceBuffer<A, D> {
    items: std::vec::IntoIter<A>,
    axis: usize,
    order: Order,
    /// How many indices along the axis are left, and the elements of each.
    indices_left: usize,
    len_per_index: usize,
    /// The shape of all pieces.
    dim: D,
}

impl<A, D: Dimension> PieceBuffer<A, D> {
    /// Divides an array along an axis; `None` unless the pieces follow one another in memory.
    pub(super) fn of(pieces: Array<A, D>, axis: usize, order: Order) -> Option<Self> {
        let follow = match order {
            Order::Fortran => pieces.view().reversed_axes().is_standard_layout(),
            Order::C => pieces.is_standard_layout(),
        };
        let dim = pieces.raw_dim();
        let indices_left = dim[axis];
        match pieces.into_raw_vec_and_offset() {
            (items, None | Some(0)) if follow => {
                let len_per_index = items.len() / indices_left.max(1);
                Some(Self { items: items.into_iter(), axis, order, indices_left, len_per_index, dim })
            }
            _ => None,
        }
    }

    /// Returns the next piece of this length; the last one may be shorter.
    pub(super) fn next(&mut self, length: usize) -> Option<Array<A, D>> {
        if self.indices_left == 0 {
            return None;
        }
        let (length, mut dim) = (length.min(self.indices_left), self.dim.clone());
        dim[self.axis] = length;
        self.indices_left -= length;
        let items: Vec<A> = self.items.by_ref().take(length * self.len_per_index).collect();
        Array::from_shape_vec(dim.set_f(self.order == Order::Fortran), items).ok()
    }

    /// Returns how many indices along the axis are left.
    pub(super) fn indices_left(&self) -> usize {
        self.indices_left
    }
}
