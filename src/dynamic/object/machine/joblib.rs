//! Arrays that `joblib.dump` writes into the pickle, each after an object that describes it.

use super::super::finish;
use super::super::graph::{Node, Slot};
use super::super::graph_view::malformed;
use super::super::source::PickleSource;
use super::{Unpickled, Unpickler};
use crate::error::Result;
use crate::header::Header;
use crate::shape::Order;

impl Unpickler<'_> {
    /// Replaces the description of an array by the array, whose bytes come next in the pickle.
    pub(in super::super) fn read_joblib_array(&mut self, number: u32, state: Slot) -> Result<()> {
        self.end_frame()?;
        let view = self.view();
        /// The dict is searched for each part, and any number of arrays may share a large one.
        const MAX_STATE_ENTRIES: usize = 16;
        let state = view.dict(state).filter(|state| state.len() <= MAX_STATE_ENTRIES);
        let state = state.ok_or_else(|| malformed("an array of joblib has no description"))?;
        let named = |name: &str| {
            // Bytes are not taken for a name: they would be checked to be text each time.
            let may_be = |key: &Slot| matches!(view.node(*key), None | Some(Node::Text(_)));
            let is_name =
                |key: &Slot| may_be(key) && view.text_or_old_name(*key).is_some_and(|key| key == name);
            state.iter().rev().find(|[key, _]| is_name(key)).map(|[_, part]| *part)
        };
        let dims = named("shape").and_then(|dims| view.dims(dims));
        let dims =
            dims.ok_or_else(|| malformed("the shape of an array of joblib is not a tuple of lengths"))?;
        let is_fortran = named("order").is_some_and(|order| Slot::short(b"F") == Some(order));
        let order = if is_fortran { Order::Fortran } else { Order::C };
        // Before joblib 1.2, arrays were not aligned.
        let is_aligned = named("numpy_array_alignment_bytes").is_some_and(|bytes| bytes != Slot::NONE);
        let dtype = named("dtype").map(|dtype| self.intern_dtype(dtype)).transpose()?.flatten();
        let dtype = dtype.ok_or_else(|| malformed("the dtype of an array of joblib is unknown"))?;
        let stored = self.graph.dtype(dtype.stored).dtype.clone();
        if stored.has_object() {
            let node = self.read_joblib_objects()?;
            self.graph.nodes[number as usize] = node;
            return Ok(());
        }
        if is_aligned {
            let [padding] = self.take()?;
            self.take_span(padding.into())?;
        }
        let header = Header::new((*stored).clone(), order, dims.into())?;
        let len =
            header.payload_len().ok_or_else(|| malformed("an array of joblib has too many elements"))?;
        let span = self.take_span(len)?;
        let span = self.span_in_native_order(&dtype, span, header.shape())?;
        let node = self.add_array(dtype.native, &header, span);
        self.graph.nodes[number as usize] = node;
        Ok(())
    }

    /// Reads the pickle of an array of objects that comes next.
    fn read_joblib_objects(&mut self) -> Result<Node> {
        let rest = PickleSource::new(&self.pickle[self.position..]);
        let mut inner = Unpickler::new(&rest, self.limits, self.old_text);
        // Where the inner pickle ends is not known, so what it needs cannot be estimated.
        inner.next_estimate_position = usize::MAX;
        // What the inner pickles copy and how many objects they have counts for the whole.
        inner.object_count = self.object_count;
        std::mem::swap(&mut inner.budget, &mut self.budget);
        let top = inner.run();
        std::mem::swap(&mut inner.budget, &mut self.budget);
        let top = top?;
        self.position += inner.position;
        self.object_count = inner.object_count;
        let inner_protocol = inner.protocol;
        let read = Unpickled { graph: inner.graph, top, pickle_len: inner.position };
        let (object, load_effects) = finish::finish(read, &rest, None, self.limits)?;
        let protocol = std::mem::replace(&mut self.protocol, inner_protocol);
        for name in load_effects.names() {
            let stored = name.stored.as_deref().map(|(module, name)| (&**module, &**name));
            let (module, name) = stored.unwrap_or((&name.module, &name.name));
            self.check_node_count()?;
            self.global(module, name)?;
        }
        self.protocol = protocol;
        let rest = self.graph.rare_tables_mut();
        rest.foreign.push(object);
        rest.foreign_calls.push(load_effects.calls);
        Ok(Node::Foreign(rest.foreign.len() as u32 - 1))
    }
}
