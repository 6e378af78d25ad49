//! The dtypes of a pickle, each decoded once.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::dtypes::decode_with_cache;
use super::super::graph::{Slot, StoredDType};
use super::super::graph_view::GraphView;
use super::Unpickler;
use crate::dtype::{ByteOrder, DType};
use crate::error::Result;

/// The indices of a dtype in the graph's table: as stored in the pickle, and in native byte order.
#[derive(Clone, Copy)]
pub(in super::super) struct DTypeIndices {
    pub(in super::super) stored: u32,
    pub(in super::super) native: u32,
}

/// A cache of the dtypes of a pickle: each is decoded once, no matter how many objects refer to it.
#[derive(Default)]
pub(in super::super) struct DTypeCache {
    /// The dtypes, by the index of the object; `None` if the object is not a known dtype.
    decoded: HashMap<u32, Option<Arc<DType>>>,
    /// The table indices of the dtypes of arrays and scalars, by the index of the object.
    indices: HashMap<u32, DTypeIndices>,
}

impl DTypeCache {
    /// Removes the dtype of an object that has changed.
    pub(super) fn forget(&mut self, number: u32) {
        if self.decoded.remove(&number).is_some() {
            self.indices.remove(&number);
        }
    }
}

impl Unpickler<'_> {
    /// Decodes the dtype that an object represents, and adds it to the table.
    pub(super) fn intern_dtype(&mut self, slot: Slot) -> Result<Option<DTypeIndices>> {
        let Some(number) = slot.node() else { return Ok(None) };
        if let Some(known) = self.dtypes.indices.get(&number) {
            return Ok(Some(*known));
        }
        let view = GraphView::new(&self.graph, self.source);
        let stored = decode_with_cache(view, slot, &mut self.dtypes.decoded, &self.budget)?;
        let Some(stored) = stored else { return Ok(None) };
        // NumPy converts numbers, strings and times to native byte order, and leaves records unchanged.
        let native = match &*stored {
            DType::Scalar(_) => Arc::new((*stored).clone().with_byte_order(ByteOrder::NATIVE)),
            _ => Arc::clone(&stored),
        };
        let dtypes = &mut self.graph.rare_tables_mut().dtypes;
        let mut push = |dtype: Arc<DType>, origin: Slot| {
            dtypes.push(StoredDType { dtype, origin });
            dtypes.len() as u32 - 1
        };
        let is_native = native == stored;
        let stored = push(stored, slot);
        let native = if is_native { stored } else { push(native, Slot::ABSENT) };
        let known = DTypeIndices { stored, native };
        self.dtypes.indices.insert(number, known);
        Ok(Some(known))
    }
}
