//! In which order arrays and shapes of ndarray's are.

use ndarray::{ArrayRef, ArrayView, Dimension};

use crate::shape::{Order, Shape};

/// The order in which NumPy saves an array: Fortran order if it is contiguous in that order alone.
pub(crate) fn order_of<A, D: Dimension>(array: &ArrayRef<A, D>) -> Order {
    let is_fortran = !array.is_standard_layout() && array.t().is_standard_layout();
    if is_fortran { Order::Fortran } else { Order::C }
}

/// The order and the lengths that a shape asks for (`(3, 4).f()` is in Fortran order).
pub(crate) fn parts_of<D: Dimension>(shape: ndarray::Shape<D>) -> (Order, Shape) {
    /// As many elements as there may be, of no size.
    static UNITS: [(); usize::MAX] = [(); usize::MAX];
    let lengths = Shape::from(shape.raw_dim().slice());
    // ndarray shows the order of a shape only by building an array with it; a shape that is too large has none.
    let order = ArrayView::from_shape(shape, &UNITS).map_or(Order::C, |view| order_of(&view));
    (order, lengths)
}

#[cfg(test)]
mod tests {
    use ndarray::ShapeBuilder;

    use super::*;

    #[test]
    fn shapes_keep_their_order() {
        assert_eq!(parts_of((3, 4).into_shape_with_order()), (Order::C, Shape::from([3, 4])));
        assert_eq!(parts_of((3, 4).f()), (Order::Fortran, Shape::from([3, 4])));
        assert_eq!(parts_of(3.f()), (Order::C, Shape::from([3])));
        assert_eq!(parts_of((1 << 20, 1 << 10).f()).0, Order::Fortran);
        assert_eq!(parts_of((usize::MAX, 2).f()), (Order::C, Shape::from([usize::MAX, 2])));
    }
}
