//! Arrays of objects as pickles: NumPy pickles the entire array as one object.

use std::sync::Arc;

use ndarray::{ArrayViewD, ShapeBuilder};

use super::array_state::{self, ObjectArrayState};
use super::graph_view::malformed;
use super::load_effects::LoadEffects;
use super::write::Pickler;
use super::{Object, View, finish};
use crate::dtype::DType;
use crate::error::{Fault, FilePart, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::{Order, Shape};
use crate::transfer::make_each;

/// Decodes the pickle of an array.
///
/// Returns the elements in the order that the header declares, what loading them does, and the length of the pickle
/// in bytes, including the trailing white space that some writers add. The dtype, shape and order of the array must
/// match the header. Within the pickle, the list of elements is always in C order.
pub(in super::super) fn decode(
    payload: &[u8],
    header: &Header,
    options: &ReadOptions,
) -> Result<(Vec<Object>, LoadEffects, usize)> {
    let (object, load_effects, used) = finish::read(payload, options.get_limits(), options.old_text)?;
    let found = match object.view() {
        View::Array(array) => array.objects().map(|items| ObjectArrayState {
            dtype: array.dtype().clone(),
            dims: array.shape().to_vec(),
            order: array.order(),
            items: items.slots(),
        }),
        // A matrix of objects, or records that contain some.
        _ => array_state::objects_of_state(object.as_ref()),
    };
    let Some(ObjectArrayState { dtype, dims, order, items: slots }) = found else {
        let reason = "the pickle is not an array of objects, or has an unknown dtype".into();
        return Err(Fault::Unsupported { part: FilePart::Pickle, reason }.into());
    };
    // Unless the dtype is a record, the header declares `'O'`, even for a dtype that headers cannot express.
    if header.dtype() != &dtype {
        return Err(malformed(format!(
            "the header declares the dtype {}, the pickle {dtype}",
            header.dtype()
        )));
    }
    if header.shape() != dims {
        let shape = Shape::from(dims);
        return Err(malformed(format!(
            "the header declares the shape {}, the pickle {shape}",
            header.shape_ref()
        )));
    }
    // If at most one axis is longer than 1, both orders are identical.
    let is_same_both_ways = count_axes_not_one(header) < 2;
    if order != header.order() && !is_same_both_ways {
        return Err(malformed("header and pickle declare different orders"));
    }
    // If all elements are stored in their slots, the graph is not needed, and several threads can create the
    // objects.
    let has_nodes = slots.iter().any(|slot| slot.node().is_some());
    let threads = || if has_nodes { 1 } else { options.get_threads() };
    let graph = object.graph.as_ref();
    let mut items = make_each(slots.len(), threads, |index| {
        let slot = slots[index];
        Ok(Object { slot, graph: slot.node().and(graph).cloned() })
    })?;
    if header.order() == Order::Fortran && !is_same_both_ways {
        items = to_other_order(&items, header.shape_ref(), Order::C);
    }
    let rest = &payload[used..];
    Ok((items, load_effects, if rest.trim_ascii().is_empty() { payload.len() } else { used }))
}

/// Counts the axes that the order depends on.
fn count_axes_not_one(header: &Header) -> usize {
    header.shape().iter().filter(|dim| **dim != 1).count()
}

/// Encodes an array as a pickle; `items` are in the order that the header declares.
pub(in super::super) fn encode(
    items: &mut dyn Iterator<Item = &Object>,
    header: &Header,
    options: &WriteOptions,
) -> Result<Vec<u8>> {
    if header.dtype() != &DType::Object && !header.dtype().has_object() {
        return Err(malformed("the array has no objects"));
    }
    let items: Vec<&Object> = items.collect();
    let is_fortran = header.order() == Order::Fortran && count_axes_not_one(header) > 1;
    let items = if is_fortran { to_other_order(&items, header.shape_ref(), Order::Fortran) } else { items };
    Pickler::new(options)?.pickle_array(&items, header, is_fortran)
}

/// Rearranges objects from the order that the header declares into `order`.
pub(in super::super) fn rearranged(
    items: &Arc<Vec<Object>>,
    header: &Header,
    order: Order,
) -> Arc<Vec<Object>> {
    if header.order() == order || count_axes_not_one(header) < 2 {
        return Arc::clone(items);
    }
    Arc::new(to_other_order(items, header.shape_ref(), header.order()))
}

/// Rearranges items from `order` into the other order.
fn to_other_order<T: Clone>(items: &[T], shape: &Shape, order: Order) -> Vec<T> {
    let of = shape.dims().set_f(order == Order::Fortran);
    // The caller passes one item for each element of the shape.
    let view = ArrayViewD::from_shape(of, items).expect("an item for each element");
    let view = if order == Order::C { view.reversed_axes() } else { view };
    view.iter().cloned().collect()
}
