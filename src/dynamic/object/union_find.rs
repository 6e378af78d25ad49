//! Sets of objects that are equal as far as they have been compared.

use std::collections::HashMap;

use super::graph::Id;
use crate::dtype::DType;

/// A union-find structure of objects that are equal as far as they have been compared.
///
/// Comparing two objects joins their sets. So there are no more comparisons than objects, even if objects
/// share parts, and comparing objects that contain themselves terminates. Joining the sets before the parts
/// are compared is sound, because the first difference ends the entire comparison.
#[derive(Default)]
pub(super) struct UnionFind {
    parents: HashMap<Id, Id>,
}

impl UnionFind {
    /// Joins the sets of two objects; returns whether they had not been compared before.
    pub(super) fn join(&mut self, one: Option<Id>, two: Option<Id>) -> bool {
        let Some((one, two)) = one.zip(two) else { return true };
        let (one, two) = (self.representative(one), self.representative(two));
        one != two && {
            self.parents.insert(one, two);
            true
        }
    }

    /// Returns whether two objects have been joined.
    pub(super) fn are_joined(&mut self, one: Option<Id>, two: Option<Id>) -> bool {
        one.zip(two).is_some_and(|(one, two)| self.representative(one) == self.representative(two))
    }

    /// Returns whether two dtypes are equal; they are compared once, however many scalars and arrays share them.
    pub(super) fn are_equal_dtypes(&mut self, one: &DType, two: &DType) -> bool {
        let id = |dtype: &DType| Some(Id { graph: std::ptr::from_ref(dtype).addr(), number: 0 });
        !self.join(id(one), id(two)) || one == two
    }

    /// Returns the representative of an object's set, and shortens the path to it for later calls.
    fn representative(&mut self, object: Id) -> Id {
        let mut representative = object;
        while let Some(next) = self.parents.get(&representative) {
            representative = *next;
        }
        let mut at = object;
        while at != representative {
            at = self.parents.insert(at, representative).unwrap_or(representative);
        }
        representative
    }
}
