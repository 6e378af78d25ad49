//! The traits on ndarray's arrays. Each body is header → rank → gate → transfer → shape, and rank and dtype are
//! settled before any payload is touched.

mod grouped;
mod into;
mod ra;
mod read;
mod view;
#[cfg(test)]
mod whole;
mod write;

use ndarray::{Dimension, IntoDimension};

pub(crate) use grouped::{grouped, with_grouped};
pub use into::ReadNpyIntoExt;
pub(crate) use into::read_into;
pub(crate) use ra::store_ra;
pub use ra::{ReadRaExt, ViewMutRaExt, ViewRaExt, WriteRaExt};
pub use read::ReadNpyExt;
pub(crate) use view::viewable_as;
#[cfg(feature = "mmap")]
pub(crate) use view::{Place, locate};
pub use view::{ViewMutNpyExt, ViewNpyExt};
pub use write::WriteNpyExt;

use crate::error::{ErrorKind, Result};
use crate::shape::Shape;

/// The shape as a dimension of ndarray's: an error if the type has another number of axes, or this machine's memory no room.
pub(crate) fn dimension<D: Dimension>(shape: &Shape) -> Result<D> {
    if !shape.fits_memory(1) {
        let what = format!("an array of shape {shape} in this machine's memory");
        return Err(ErrorKind::Overflow { what }.into());
    }
    let dim = D::from_dimension(&shape.dims().into_dimension());
    dim.ok_or_else(|| {
        // Only a fixed number of axes can be the wrong one.
        let wanted = D::NDIM.unwrap_or_default();
        ErrorKind::RankMismatch { found: shape.clone(), wanted }.into()
    })
}

/// The lengths of axes as a shape.
fn shape_of<D: Dimension>(dim: &D) -> Shape {
    Shape::from(dim.slice())
}

pub(crate) use private::Sealed;
pub use write::WriteArray;
#[cfg(feature = "npz")]
pub(crate) use write::store_npy_into;
pub(crate) use write::{Format, SinkRef, store_npy};

mod private {
    use ndarray::Dimension;

    /// Keeps the traits of this library to its own types, so that methods can be added to them.
    pub trait Sealed {}

    impl<S: ndarray::RawData, D> Sealed for ndarray::ArrayBase<S, D> {}
    impl<A, D: Dimension> Sealed for ndarray::ArrayRef<A, D> {}
}
