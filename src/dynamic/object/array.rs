//! An array of objects as a pickle: NumPy pickles the whole array.

use std::sync::Arc;

use ndarray::{ArrayViewD, ShapeBuilder};

use super::read::{Reader, bad};
use super::write::PickleWriter;
use super::{PyGlobal, PyValue, numpy};
use crate::dtype::DType;
use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::options::{ReadOptions, WriteOptions};
use crate::pickle::{self, Node};
use crate::shape::{Order, Shape};
use crate::transfer::make_each;

/// The elements of the array that is pickled, in the order that the header says; and how many bytes the pickle takes, with the
/// white space that some writers leave behind it. It has to be the array that the header says. In the pickle the elements are in
/// C order, whatever it says of the array.
pub(in super::super) fn decode(
    payload: &[u8],
    header: &Header,
    options: &ReadOptions,
) -> Result<(Vec<PyValue>, usize)> {
    let graph = pickle::parse(payload, options.the_limits())?;
    let mut reader = Reader::new(payload, &graph, options.takes_old_text_as_bytes());
    let no_array = || {
        Error::from(ErrorKind::UnsupportedPickle {
            reason: "it is no array of objects that is pickled".into(),
        })
    };
    let Some(Node::Call(call)) = reader.node(graph.top) else { return Err(no_array()) };
    // The list of the elements may be long: its items become the elements, and it no object of its own.
    reader.begin(graph.top);
    let state = call.state.and_then(|state| reader.node(state));
    let Some(Node::Tuple(state)) = state else { return Err(no_array()) };
    let [_, dims, dtype, is_fortran, list] = state[..] else { return Err(no_array()) };
    let Some(Node::List(items)) = reader.node(list) else { return Err(no_array()) };
    reader.begin(list);

    let callable = reader.value(call.callable)?;
    match &callable {
        PyValue::Global(global) if numpy::is_reconstruct(name_of(global)) => {}
        _ => return Err(no_array()),
    }
    let (dims, order) = numpy::shape_and_order(&reader.value(dims)?, &reader.value(is_fortran)?)?;
    let dtype = reader.value(dtype)?;
    let dtype = reader.dtypes.of(&dtype)?.map(|dtype| dtype.stored);
    match dtype {
        // The header of an array that is no record says `'O'`, whatever the items of the list are to be.
        Some(DType::Object) if header.dtype() == &DType::Object => {}
        Some(dtype) if &dtype == header.dtype() => {}
        Some(dtype) => {
            let promised = header.dtype();
            return Err(bad(format!("the header says the dtype {promised}, and the pickle {dtype}")));
        }
        None => {
            return Err(ErrorKind::UnsupportedPickle {
                reason: "the array's dtype is not known here".into(),
            }
            .into());
        }
    }
    if header.shape().dims() != dims {
        let shape = Shape::from(dims);
        return Err(bad(format!("the header says the shape {}, and the pickle {shape}", header.shape())));
    }
    let is_same_both_ways = dims_above_one(header) < 2;
    if order != header.order() && !is_same_both_ways {
        return Err(bad("header and pickle say different orders"));
    }
    numpy::check_count(items.len(), header)?;
    for item in items.iter().filter(|item| item.place().is_ok()) {
        reader.value(*item)?;
    }
    let mut items = make_each(items.len(), || options.thread_count(), |index| reader.part(items[index]))?;
    if header.order() == Order::Fortran && !is_same_both_ways {
        items = turned(&items, header.shape(), Order::C);
    }
    let rest = &payload[graph.used..];
    Ok((items, if rest.trim_ascii().is_empty() { payload.len() } else { graph.used }))
}

fn name_of(global: &PyGlobal) -> (&str, &str) {
    (&global.module, &global.name)
}

/// Of how many axes the order matters.
fn dims_above_one(header: &Header) -> usize {
    header.shape().dims().iter().filter(|dim| **dim != 1).count()
}

/// The pickle of an array, whose elements come in the order that the header says.
pub(in super::super) fn encode(
    items: &mut dyn Iterator<Item = &PyValue>,
    header: &Header,
    options: &WriteOptions,
) -> Result<Vec<u8>> {
    let protocol = options.the_pickle_protocol();
    if !(2..=4).contains(&protocol) {
        let reason = format!("pickles are written in the protocols 2, 3 and 4, and not in {protocol}");
        return Err(ErrorKind::BadOption { reason }.into());
    }
    let mut writer = PickleWriter::new(protocol);
    let is_fortran = header.order() == Order::Fortran && dims_above_one(header) > 1;
    writer.array(header.shape().dims(), header.dtype(), is_fortran, |writer| match is_fortran {
        false => writer.list(items),
        true => {
            let items: Vec<&PyValue> = items.collect();
            writer.list(&mut turned(&items, header.shape(), Order::Fortran).into_iter())
        }
    })?;
    Ok(writer.finish())
}

/// Objects that stand in one order in the other.
pub(in super::super) fn rearranged(
    items: &Arc<Vec<PyValue>>,
    header: &Header,
    order: Order,
) -> Arc<Vec<PyValue>> {
    if header.order() == order || dims_above_one(header) < 2 {
        return Arc::clone(items);
    }
    Arc::new(turned(items, header.shape(), header.order()))
}

/// Items that stand in this order in the other.
fn turned<T: Clone>(items: &[T], shape: &Shape, order: Order) -> Vec<T> {
    let of = shape.dims().set_f(order == Order::Fortran);
    // There are just the items of the shape.
    let view = ArrayViewD::from_shape(of, items).expect("an item for each element");
    let view = if order == Order::C { view.reversed_axes() } else { view };
    view.iter().cloned().collect()
}
