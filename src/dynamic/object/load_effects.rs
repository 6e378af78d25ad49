//! What Python would do to load a pickle: the names that it would look up, and the calls that it would make.

use std::fmt;
use std::sync::Arc;

use super::graph::{Name, Node, SharedGraph};
use super::{Global, Object, View};

/// The names and calls in a pickle, whether they belong to its object or not.
#[derive(Clone, Default)]
pub(crate) struct LoadEffects {
    pub(super) graph: Option<Arc<SharedGraph>>,
    /// The calls, in the order in which Python would make them.
    pub(super) calls: Vec<Object>,
}

impl LoadEffects {
    /// Returns the names, each once.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> + '_ {
        self.graph.iter().filter_map(|graph| graph.rare_tables.as_ref()).flat_map(|rest| &rest.names)
    }

    /// Returns the codes of Python's extension registry.
    pub(super) fn extension_codes(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = self.graph.iter().flat_map(|graph| &graph.nodes);
        nodes.filter_map(|node| match node {
            Node::Extension(code) => Some(*code),
            _ => None,
        })
    }

    /// Returns whether the pickle describes plain data, so that nothing needs to be remembered but its object.
    pub(super) fn is_plain(&self) -> bool {
        let is_plain = |global: Global<'_>| global.is_data_constructor() || global.is("numpy", "dtype");
        let is_plain_call = |call: &Object| match call.view() {
            View::Call(call) => call.global().is_some_and(is_plain),
            _ => false,
        };
        self.names().map(Global::new).all(is_plain)
            && self.calls.iter().all(is_plain_call)
            && self.extension_codes().next().is_none()
    }
}

impl fmt::Debug for LoadEffects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loading")
    }
}
