//! Arrays in the state of objects whose class is derived from `ndarray`.

use super::global_kind::is_numpy_reconstruct;
use super::graph::Slot;
use super::graph_view::{GraphView, check_byte_len, shape_and_order};
use super::source::PickleSource;
use super::{ObjectRef, dtypes};
use crate::dtype::DType;
use crate::dynamic::DynArray;
use crate::header::Header;
use crate::shape::Order;

/// The state of an object array whose class is derived from `ndarray`.
pub(super) struct ObjectArrayState<'a> {
    pub(super) dtype: DType,
    pub(super) dims: Vec<usize>,
    pub(super) order: Order,
    pub(super) items: &'a [Slot],
}

/// Decodes the state of an object into [`ObjectArrayState`].
pub(super) fn objects_of_state(object: ObjectRef<'_>) -> Option<ObjectArrayState<'_>> {
    let view = GraphView::new(object.graph?, PickleSource::EMPTY);
    let call = view.call(*object.slot)?;
    view.global_name(call.callable).filter(|name| is_numpy_reconstruct(*name))?;
    let [_, dims, dtype, is_fortran, data] = *view.tuple(call.state)? else { return None };
    let (dims, order) = shape_and_order(view, dims, is_fortran).ok()?;
    let items = view.list_or_tuple(data)?;
    let dtype = dtypes::decode_in_graph(view, dtype)?;
    let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(*dim))?;
    (count == items.len()).then_some(ObjectArrayState { dtype, dims, order, items })
}

/// Decodes the array in the state of an object whose class is derived from `ndarray`.
///
/// If `which` is 0, this is the array's data. Otherwise, it is the mask: an array of bools of the same shape,
/// whose bytes follow the data.
pub(super) fn array_of_state(object: ObjectRef<'_>, which: usize) -> Option<DynArray> {
    let graph = object.graph?;
    let view = GraphView::new(graph, PickleSource::EMPTY);
    let call = view.call(*object.slot)?;
    let state = view.tuple(call.state)?;
    // A derived class may wrap the state of the array in its own: `(state of the array, more)`.
    let state = match state {
        [inner, ..] if view.tuple(*inner).is_some_and(|inner| inner.len() >= 5) => view.tuple(*inner)?,
        state => state,
    };
    let [_, dims, dtype, is_fortran, data, more @ ..] = state else { return None };
    let (dims, order) = shape_and_order(view, *dims, *is_fortran).ok()?;
    let (dtype, data) = match which {
        0 => (dtypes::decode_in_graph(view, *dtype)?, *data),
        _ => (
            DType::from(crate::dtype::Scalar::new(
                crate::dtype::Kind::Bool,
                1,
                crate::dtype::ByteOrder::NATIVE,
            )?),
            *more.first()?,
        ),
    };
    let header = Header::new(dtype, order, dims.into()).ok()?;
    let bytes = view.latin1(data)?;
    check_byte_len(bytes.len(), &header).ok()?;
    DynArray::from_header_and_bytes(header, &bytes).ok()
}
