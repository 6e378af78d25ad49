//! An array of objects as a pickle: NumPy pickles the whole array.

use std::sync::Arc;

use ndarray::{ArrayViewD, ShapeBuilder};

use super::known::{self, Objects, bad};
use super::write::Pickler;
use super::{Object, View, finish};
use crate::dtype::DType;
use crate::error::{ErrorKind, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::{Order, Shape};
use crate::transfer::make_each;

/// The elements of the array that is pickled, in the order that the header says; and how many bytes the pickle takes, with the
/// white space that some writers leave behind it. It has to be the array that the header says. In the pickle the elements are in
/// C order, whatever it says of the array.
pub(in super::super) fn decode(
    payload: &[u8],
    header: &Header,
    options: &ReadOptions,
) -> Result<(Vec<Object>, usize)> {
    let (object, used) = finish::read(payload, options.get_limits(), options.get_old_text())?;
    let found = match object.view() {
        View::Array(array) => array.objects().map(|items| Objects {
            dtype: array.dtype().clone(),
            dims: array.shape().to_vec(),
            order: array.order(),
            items: items.slots(),
        }),
        // A matrix of objects, or records with some.
        _ => known::objects_of_state(object.as_ref()),
    };
    let Some(Objects { dtype, dims, order, items: slots }) = found else {
        let reason =
            "it is no array of objects that is pickled, or one of a dtype that is not known here".into();
        return Err(ErrorKind::UnsupportedPickle { reason }.into());
    };
    // The header of an array that is no record says `'O'`, whatever the items of the list are to be.
    if header.dtype() != &dtype {
        return Err(bad(format!("the header says the dtype {}, and the pickle {dtype}", header.dtype())));
    }
    if header.shape() != dims {
        let shape = Shape::from(dims);
        return Err(bad(format!("the header says the shape {}, and the pickle {shape}", header.the_shape())));
    }
    let is_same_both_ways = dims_above_one(header) < 2;
    if order != header.order() && !is_same_both_ways {
        return Err(bad("header and pickle say different orders"));
    }
    // Where all are in their slots, nobody needs the graph, and several can make them.
    let has_nodes = slots.iter().any(|slot| slot.node().is_some());
    let threads = || if has_nodes { 1 } else { options.get_threads() };
    let graph = object.graph.as_ref();
    let mut items = make_each(slots.len(), threads, |index| {
        let slot = slots[index];
        Ok(Object { slot, graph: slot.node().and(graph).cloned() })
    })?;
    if header.order() == Order::Fortran && !is_same_both_ways {
        items = turned(&items, header.the_shape(), Order::C);
    }
    let rest = &payload[used..];
    Ok((items, if rest.trim_ascii().is_empty() { payload.len() } else { used }))
}

/// Of how many axes the order matters.
fn dims_above_one(header: &Header) -> usize {
    header.shape().iter().filter(|dim| **dim != 1).count()
}

/// The pickle of an array, whose elements come in the order that the header says.
pub(in super::super) fn encode(
    items: &mut dyn Iterator<Item = &Object>,
    header: &Header,
    options: &WriteOptions,
) -> Result<Vec<u8>> {
    if header.dtype() != &DType::Object && !header.dtype().has_object() {
        return Err(bad("the array has no objects"));
    }
    let items: Vec<&Object> = items.collect();
    let is_fortran = header.order() == Order::Fortran && dims_above_one(header) > 1;
    let items = if is_fortran { turned(&items, header.the_shape(), Order::Fortran) } else { items };
    Pickler::new(options)?.array(&items, header, is_fortran)
}

/// Objects that stand in one order in the other.
pub(in super::super) fn rearranged(
    items: &Arc<Vec<Object>>,
    header: &Header,
    order: Order,
) -> Arc<Vec<Object>> {
    if header.order() == order || dims_above_one(header) < 2 {
        return Arc::clone(items);
    }
    Arc::new(turned(items, header.the_shape(), header.order()))
}

/// Items that stand in this order in the other.
fn turned<T: Clone>(items: &[T], shape: &Shape, order: Order) -> Vec<T> {
    let of = shape.dims().set_f(order == Order::Fortran);
    // There are just the items of the shape.
    let view = ArrayViewD::from_shape(of, items).expect("an item for each element");
    let view = if order == Order::C { view.reversed_axes() } else { view };
    view.iter().cloned().collect()
}
