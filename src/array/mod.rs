//! The extension traits on ndarray's arrays.
//!
//! Each trait handles the header, the number of axes, the dtype, the payload and the shape, in this order. So
//! a wrong number of axes or a wrong dtype is reported before any of the payload is read. (Elements `[T; N]` of a file in Fortran order are the
//! exception: their payload is transposed first.)

mod flat;
mod grouped;
mod into;
#[cfg(test)]
mod opaque;
mod ra;
mod read;
mod rows;
mod view;
mod write;

use ndarray::{Axis, Dimension, IntoDimension};

pub use flat::{FlatArray, FlatView};
pub(crate) use grouped::{GroupedPayload, group_inner_axes};
pub(crate) use into::read_into;
pub(crate) use ra::store_ra;
pub use ra::{ReadRaExt, ViewMutRaExt, ViewRaExt, WriteRaExt};
pub use read::ReadNpyExt;
pub(crate) use view::prepare_view;
pub use view::{ViewMutNpyExt, ViewNpyExt};
pub use write::WriteNpyExt;

use crate::error::{Fault, Result, WantedShape};
use crate::shape::{AxisIndex, Shape};

/// Converts a shape to an `ndarray` dimension.
///
/// Fails if the number of axes differs, or if the array is larger than this machine can address.
pub(crate) fn dimension<D: Dimension>(shape: &Shape) -> Result<D> {
    if !shape.fits_memory(1) {
        let what = format!("an array of shape {shape}");
        return Err(Fault::Overflow { what }.into());
    }
    let dim = D::from_dimension(&shape.dims().into_dimension());
    dim.ok_or_else(|| {
        // Only a dimension with a fixed number of axes can mismatch.
        let wanted = D::NDIM.unwrap_or_default();
        Fault::ShapeMismatch { found: shape.clone(), wanted: WantedShape::Axes(wanted) }.into()
    })
}

impl crate::shape::private::Sealed for Axis {}

impl AxisIndex for Axis {
    fn number(self) -> usize {
        self.0
    }
}

/// Converts an `ndarray` dimension to a shape.
fn shape_of<D: Dimension>(dim: &D) -> Shape {
    Shape::from(dim.slice())
}

pub(crate) use private::Sealed;
pub use rows::Rows;
pub(crate) use write::{SinkRef, store_npy};
pub use write::{WriteArray, header_of, write_headed};

mod private {
    use ndarray::Dimension;

    /// Seals the traits of this crate, so that adding methods to them is not a breaking change.
    pub trait Sealed {}

    impl<S: ndarray::RawData, D> Sealed for ndarray::ArrayBase<S, D> {}
    impl<A, D: Dimension> Sealed for ndarray::ArrayRef<A, D> {}
}
