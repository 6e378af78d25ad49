//! Elements that are arrays, `[T; N]`.
//!
//! In a file, an array element is not an element but additional axes: the innermost ones, whose items are
//! contiguous in C order.

use std::borrow::Cow;

use super::{Header, Order, Shape};
use crate::dtype::{DType, Subarray};
use crate::error::{Error, Fault, Result, WantedShape};

/// A header with the innermost axes moved into the dtype, which becomes a subarray.
pub(crate) struct GroupedHeader<'h> {
    pub(crate) header: Cow<'h, Header>,
    /// Whether the items of an element are scattered, because the file is in Fortran order.
    ///
    /// The payload must then be put into C order before it can be decoded into these elements.
    pub(crate) is_scattered: bool,
}

impl Header {
    /// Returns the shape of the array without the axes of its elements, of which there are `inner`.
    pub(crate) fn outer_shape(&self, inner: usize) -> Shape {
        let (dims, inner) = (self.shape(), inner.min(self.shape().len()));
        if self.innermost_first { dims[inner..].into() } else { dims[..dims.len() - inner].into() }
    }

    /// Adds the index along each axis of the element that an error names by its number in the file.
    pub(crate) fn add_axis_indices(&self, error: Error, inner: usize) -> Error {
        match error.element() {
            Some(_) => error.with_axis_indices(&self.outer_shape(inner), self.order),
            None => error,
        }
    }

    /// Returns the header with the axes `inner` of an array element moved into the dtype.
    ///
    /// `inner` is empty for most types. The call fails if the array does not have `ndim` further axes, or if its innermost axes
    /// are not `inner`.
    pub(crate) fn group_inner_axes(&self, inner: &[usize], ndim: Option<usize>) -> Result<GroupedHeader<'_>> {
        let is_grouped = |subarray: &Subarray| {
            subarray.shape() == inner && ndim.is_none_or(|ndim| ndim == self.shape.ndim())
        };
        if inner.is_empty() || matches!(&self.dtype, DType::Subarray(found) if is_grouped(found)) {
            return Ok(GroupedHeader { header: Cow::Borrowed(self), is_scattered: false });
        }
        let dims = self.shape();
        let outer = ndim.unwrap_or(dims.len().saturating_sub(inner.len()));
        if dims.len() != outer + inner.len() {
            return Err(Fault::ShapeMismatch {
                found: self.shape.clone(),
                wanted: WantedShape::Axes(outer + inner.len()),
            }
            .into());
        }
        let (outer, wanted) = if self.innermost_first {
            let outer = &dims[inner.len()..];
            (outer, inner.iter().rev().chain(outer).copied().collect::<Vec<_>>())
        } else {
            let outer = &dims[..outer];
            (outer, outer.iter().chain(inner).copied().collect())
        };
        if wanted != dims {
            let (found, wanted) = (self.shape.clone(), wanted.into());
            return Err(Fault::ShapeMismatch { found, wanted: WantedShape::Exactly(wanted) }.into());
        }
        let Some(dtype) = Subarray::new(self.dtype.clone(), Shape::from(inner)) else {
            let what = format!("a subarray of shape {} and dtype {}", Shape::from(inner), self.dtype);
            return Err(Fault::Overflow { what }.into());
        };
        // With at most one axis longer than 1, both orders are the same.
        let is_scattered = self.order == Order::Fortran
            && !self.innermost_first
            && self.len > 0
            && dims.iter().filter(|length| **length > 1).count() > 1;
        let order = if is_scattered || !self.innermost_first { Order::C } else { Order::Fortran };
        let header = Self::new(dtype.into(), order, outer.into())?;
        Ok(GroupedHeader { header: Cow::Owned(header), is_scattered })
    }

    /// Returns the header as a file stores it: the axes of a subarray become axes of the array.
    ///
    /// In Fortran order, they come first and are reversed.
    pub(crate) fn ungroup_inner_axes(&self) -> Result<Cow<'_, Self>> {
        let DType::Subarray(subarray) = &self.dtype else { return Ok(Cow::Borrowed(self)) };
        let (outer, inner) = (self.shape().iter(), subarray.shape().iter());
        let dims: Vec<usize> = match self.order {
            Order::C => outer.chain(inner).copied().collect(),
            Order::Fortran => inner.rev().chain(outer).copied().collect(),
        };
        Ok(Cow::Owned(Self::new(subarray.base().clone(), self.order, dims.into())?))
    }
}
