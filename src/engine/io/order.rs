//! The memory order of `ndarray` arrays and shapes.

use ndarray::{ArrayRef, ArrayView, Dimension};

use crate::shape::{Order, Shape};

/// Returns the order in which NumPy saves an array: Fortran if it is contiguous only in Fortran order.
pub(crate) fn order_of<A, D: Dimension>(array: &ArrayRef<A, D>) -> Order {
    let is_fortran = !array.is_standard_layout() && array.t().is_standard_layout();
    if is_fortran { Order::Fortran } else { Order::C }
}

/// Returns the order and the lengths of a shape (`(3, 4).f()` is in Fortran order).
pub(crate) fn order_and_lengths<D: Dimension>(shape: ndarray::Shape<D>) -> (Order, Shape) {
    /// A slice of the maximum length; its elements occupy no memory.
    static UNIT_VALUES: [(); usize::MAX] = [(); usize::MAX];
    let lengths = Shape::from(shape.raw_dim().slice());
    // `ndarray` reveals the order of a shape only through an array of that shape. Shapes that are too large
    // for an array are treated as being in C order.
    let order = ArrayView::from_shape(shape, &UNIT_VALUES).map_or(Order::C, |view| order_of(&view));
    (order, lengths)
}

#[cfg(test)]
mod tests {
    use ndarray::ShapeBuilder;

    use super::*;

    #[test]
    fn shape_builder_yields_its_order_and_shape() {
        assert_eq!(order_and_lengths((3, 4).into_shape_with_order()), (Order::C, Shape::from([3, 4])));
        assert_eq!(order_and_lengths((3, 4).f()), (Order::Fortran, Shape::from([3, 4])));
        assert_eq!(order_and_lengths(3.f()), (Order::C, Shape::from([3])));
        assert_eq!(order_and_lengths((1 << 20, 1 << 10).f()).0, Order::Fortran);
        assert_eq!(order_and_lengths((usize::MAX, 2).f()), (Order::C, Shape::from([usize::MAX, 2])));
    }
}
