//! Whether objects are equal, in time that their number bounds.

use std::collections::HashMap;
use std::sync::Arc;

use super::{PyObject, PyValue};
use crate::dynamic::DynArray;

/// Floats are compared by their bits.
impl PartialEq for PyValue {
    fn eq(&self, other: &Self) -> bool {
        Comparison::default().values(self, other)
    }
}

impl Eq for PyValue {}

/// Whether the objects of two arrays are equal.
pub(in super::super) fn items_equal(one: &[PyValue], two: &[PyValue]) -> bool {
    Comparison::default().all(one, two)
}

/// Objects that are equal as far as has been seen, in sets of which each knows its first. Two that are compared become one set:
/// so there are no more comparisons than objects, however they share their parts. If any two differ, all is over, and nobody asks
/// again.
#[derive(Default)]
struct Comparison {
    firsts: HashMap<*const (), *const ()>,
}

impl Comparison {
    fn values(&mut self, one: &PyValue, two: &PyValue) -> bool {
        use PyValue::*;
        match (one, two) {
            (None, None) => true,
            (Bool(one), Bool(two)) => one == two,
            (Int(one), Int(two)) => one == two,
            (Float(one), Float(two)) => one.to_bits() == two.to_bits(),
            (Complex(one), Complex(two)) => {
                (one.re.to_bits(), one.im.to_bits()) == (two.re.to_bits(), two.im.to_bits())
            }
            (Str(one), Str(two)) => one == two,
            (Decimal(one), Decimal(two)) => one == two,
            (Bytes(one), Bytes(two)) | (ByteArray(one), ByteArray(two)) => one == two,
            (List(one), List(two))
            | (Tuple(one), Tuple(two))
            | (Set(one), Set(two))
            | (FrozenSet(one), FrozenSet(two)) => self.once(one, two, |this| this.all(one, two)),
            (Dict(one), Dict(two)) => self.once(one, two, |this| this.pairs(one, two)),
            (Scalar(one), Scalar(two)) | (Array(one), Array(two)) => {
                self.once(one, two, |this| this.arrays(one, two))
            }
            (Date(one), Date(two)) => one == two,
            (Time(one), Time(two)) => one == two,
            (Datetime(one, at), Datetime(two, other)) => (one, at) == (two, other),
            (Timedelta(one), Timedelta(two)) => one == two,
            (Global(one), Global(two)) => one == two,
            (Object(one), Object(two)) => self.once(one, two, |this| this.objects(one, two)),
            _ => false,
        }
    }

    fn once<T>(&mut self, one: &Arc<T>, two: &Arc<T>, compare: impl FnOnce(&mut Self) -> bool) -> bool {
        if Arc::ptr_eq(one, two) {
            return true;
        }
        // What nobody else has is met once for each that it is compared with.
        if Arc::strong_count(one) > 1 || Arc::strong_count(two) > 1 {
            let (one, two) = (self.first(Arc::as_ptr(one).cast()), self.first(Arc::as_ptr(two).cast()));
            if one == two {
                return true;
            }
            self.firsts.insert(one, two);
        }
        compare(self)
    }

    /// The first of the set that an object is in. The way there is made shorter for who asks next.
    fn first(&mut self, object: *const ()) -> *const () {
        let mut first = object;
        while let Some(next) = self.firsts.get(&first) {
            first = *next;
        }
        let mut at = object;
        while at != first {
            at = self.firsts.insert(at, first).unwrap_or(first);
        }
        first
    }

    fn all(&mut self, one: &[PyValue], two: &[PyValue]) -> bool {
        one.len() == two.len() && one.iter().zip(two).all(|(one, two)| self.values(one, two))
    }

    fn pairs(&mut self, one: &[(PyValue, PyValue)], two: &[(PyValue, PyValue)]) -> bool {
        let mut pairs = one.iter().zip(two);
        one.len() == two.len()
            && pairs.all(|(one, two)| self.values(&one.0, &two.0) && self.values(&one.1, &two.1))
    }

    fn arrays(&mut self, one: &DynArray, two: &DynArray) -> bool {
        one.header == two.header
            && match (&one.objects, &two.objects) {
                (Some(one), Some(two)) => self.once(one, two, |this| this.all(one, two)),
                _ => one.bytes() == two.bytes(),
            }
    }

    fn objects(&mut self, one: &PyObject, two: &PyObject) -> bool {
        let mut both = |one: &Option<PyValue>, two: &Option<PyValue>| match (one, two) {
            (Some(one), Some(two)) => self.values(one, two),
            (one, two) => one.is_none() && two.is_none(),
        };
        both(&one.kwargs, &two.kwargs)
            && both(&one.state, &two.state)
            && one.is_new == two.is_new
            && self.values(&one.callable, &two.callable)
            && self.values(&one.args, &two.args)
            && self.all(&one.items, &two.items)
            && self.pairs(&one.pairs, &two.pairs)
    }
}
