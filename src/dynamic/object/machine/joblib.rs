//! Arrays that `joblib.dump` writes into the pickle, each after an object that describes it.

use super::super::graph::{Node, Slot};
use super::super::known::bad;
use super::super::source::Source;
use super::super::{dtypes, finish};
use super::{Read, Unpickler};
use crate::error::Result;
use crate::header::Header;
use crate::shape::Order;

impl Unpickler<'_> {
    /// Replaces the description of an array by the array, whose bytes come next in the pickle.
    pub(in super::super) fn joblib_array(&mut self, number: u32, state: Slot) -> Result<()> {
        let look = self.look();
        /// The dict is searched for each part, and any number of arrays may share a large one.
        const MOST_PARTS: usize = 16;
        let state = look.dict(state).filter(|state| state.len() <= MOST_PARTS);
        let state = state.ok_or_else(|| bad("an array of joblib has no description"))?;
        let named = |name: &str| {
            // Bytes are not taken for a name: they would be checked to be text each time.
            let may_be = |key: &Slot| matches!(look.node(*key), None | Some(Node::Text(_)));
            let is_it = |key: &Slot| may_be(key) && look.text(*key).is_some_and(|key| key == name);
            state.iter().rev().find(|[key, _]| is_it(key)).map(|[_, part]| *part)
        };
        let dims = named("shape").and_then(|dims| look.dims(dims));
        let dims = dims.ok_or_else(|| bad("the shape of an array of joblib is not a tuple of lengths"))?;
        let is_fortran = named("order").is_some_and(|order| Slot::short(b"F") == Some(order));
        let order = if is_fortran { Order::Fortran } else { Order::C };
        // Before joblib 1.2, arrays were not aligned.
        let is_aligned = named("numpy_array_alignment_bytes").is_some_and(|bytes| bytes != Slot::NONE);
        let dtype = named("dtype").map(|dtype| dtypes::of(self, dtype)).transpose()?.flatten();
        let dtype = dtype.ok_or_else(|| bad("the dtype of an array of joblib is unknown"))?;
        let stored = self.graph.dtype(dtype.stored).dtype.clone();
        if stored.has_object() {
            let node = self.joblib_objects()?;
            self.graph.nodes[number as usize] = node;
            return Ok(());
        }
        if is_aligned {
            let [padding] = self.take()?;
            self.span(padding.into())?;
        }
        let header = Header::new((*stored).clone(), order, dims.into())?;
        let len = header.payload_len().ok_or_else(|| bad("an array of joblib has too many elements"))?;
        let span = self.span(len)?;
        let span = self.native(&dtype, span, header.shape())?;
        let node = self.array(dtype.native, &header, span);
        self.graph.nodes[number as usize] = node;
        Ok(())
    }

    /// Reads the pickle of an array of objects that comes next.
    fn joblib_objects(&mut self) -> Result<Node> {
        let rest = Source::new(&self.pickle[self.at..]);
        let mut inner = Unpickler::new(&rest, self.limits, self.old_text);
        // Where the inner pickle ends is not known, so what it needs cannot be estimated.
        inner.next_estimate = usize::MAX;
        // What the inner pickles copy and how many objects they have counts for the whole.
        inner.count = self.count;
        std::mem::swap(&mut inner.budget, &mut self.budget);
        let top = inner.run();
        std::mem::swap(&mut inner.budget, &mut self.budget);
        let top = top?;
        self.at += inner.at;
        self.count = inner.count;
        let inner_protocol = inner.protocol;
        let read = Read { graph: inner.graph, top, used: inner.at };
        let (object, loading) = finish::finish(read, &rest, None, self.limits)?;
        let protocol = std::mem::replace(&mut self.protocol, inner_protocol);
        for name in loading.names() {
            let stored = name.stored.as_deref().map(|(module, name)| (&**module, &**name));
            let (module, name) = stored.unwrap_or((&name.module, &name.name));
            self.check_nodes()?;
            self.global(module, name)?;
        }
        self.protocol = protocol;
        let rest = self.graph.rest_mut();
        rest.foreign.push(object);
        rest.foreign_calls.push(loading.calls);
        Ok(Node::Foreign(rest.foreign.len() as u32 - 1))
    }
}

/// Returns whether this is a class of joblib that describes an array, and whether the array follows.
pub(in super::super) fn is_description(module: &str, name: &str) -> Option<bool> {
    match (module.strip_prefix("sklearn.externals.").unwrap_or(module), name) {
        ("joblib.numpy_pickle", "NumpyArrayWrapper") => Some(true),
        ("joblib.numpy_pickle" | "joblib.numpy_pickle_compat", "NDArrayWrapper" | "ZNDArrayWrapper") => {
            Some(false)
        }
        _ => None,
    }
}
