//! What has parts: sequences, dicts, arrays, scalars.

use std::fmt;
use std::sync::Arc;

use ndarray::Dimension;

use super::graph::{ArrayParts, Held, Node, Shared, Slot};
use super::{Object, ObjectRef, keys};
use crate::dtype::Casting;
use crate::dtype::DType;
use crate::dynamic::DynArray;
use crate::element::ReadableElement;
use crate::error::Result;
use crate::header::Header;
use crate::shape::Order;

/// The items of a list, tuple or set.
///
/// ```
/// use ndarray_io::object::Object;
///
/// let list = Object::from(vec![1, 2, 3]);
/// let items = list.items().unwrap();
/// assert_eq!(items.len(), 3);
/// let numbers: Vec<i64> = items.iter().map(i64::try_from).collect::<Result<_, _>>()?;
/// assert_eq!(numbers, [1, 2, 3]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Items<'a> {
    owner: ObjectRef<'a>,
    slots: &'a [Slot],
}

impl<'a> Items<'a> {
    pub(super) fn new(owner: ObjectRef<'a>) -> Self {
        let slots = match owner.node() {
            Some((
                graph,
                Node::List(span)
                | Node::Tuple(span)
                | Node::Dict(span)
                | Node::Set(span)
                | Node::FrozenSet(span),
            )) => graph.slots(*span),
            _ => &[],
        };
        Self { owner, slots }
    }

    /// The items of a call, and the objects of an array.
    pub(super) fn of(owner: ObjectRef<'a>, slots: &'a [Slot]) -> Self {
        Self { owner, slots }
    }

    fn graph(self) -> Option<&'a Arc<Shared>> {
        self.owner.graph
    }

    pub(super) fn slots(self) -> &'a [Slot] {
        self.slots
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.slots.is_empty()
    }

    /// One of them.
    pub fn get(self, index: usize) -> Option<ObjectRef<'a>> {
        self.slots.get(index).map(|slot| ObjectRef::new(slot, self.graph()))
    }

    /// One after another.
    pub fn iter(self) -> impl ExactSizeIterator<Item = ObjectRef<'a>> + DoubleEndedIterator + Clone + 'a {
        let graph = self.graph();
        self.slots.iter().map(move |slot| ObjectRef::new(slot, graph))
    }

    /// Whether a set has this key, in constant time; of lists and tuples, every item is looked at. Python's equality counts:
    /// `1`, `1.0` and `True` are one key.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let set = Object::set([1, 2])?;
    /// assert!(set.items().unwrap().contains(2.0) && !set.items().unwrap().contains("2"));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn contains(self, key: impl Into<Object>) -> bool {
        let key = key.into();
        match self.owner.node() {
            Some((_, Node::Set(_) | Node::FrozenSet(_))) => keys::find(self.owner, key.as_ref()).is_some(),
            _ => self.iter().any(|item| keys::same(item, key.as_ref())),
        }
    }
}

impl fmt::Debug for Items<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.owner.fmt(f)
    }
}

/// The keys and values of a dict.
///
/// ```
/// use ndarray_io::object::{Object, View};
///
/// let object = Object::dict([(Object::from(1), Object::from("one")), ("two".into(), 2.into())])?;
/// let View::Dict(dict) = object.view() else { panic!("a dict") };
/// assert_eq!(dict.get(1).unwrap().as_str(), Some("one"));
/// assert_eq!(dict.iter().count(), 2);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Dict<'a> {
    all: Items<'a>,
}

impl<'a> Dict<'a> {
    pub(super) fn new(owner: ObjectRef<'a>) -> Self {
        Self { all: Items::new(owner) }
    }

    pub(super) fn of(owner: ObjectRef<'a>, slots: &'a [Slot]) -> Self {
        Self { all: Items::of(owner, slots) }
    }

    /// How many keys there are.
    pub fn len(self) -> usize {
        self.all.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.all.is_empty()
    }

    /// The keys and their values, in the order of the file.
    pub fn iter(
        self,
    ) -> impl ExactSizeIterator<Item = (ObjectRef<'a>, ObjectRef<'a>)> + DoubleEndedIterator + Clone + 'a
    {
        let graph = self.all.graph();
        let pairs = self.all.slots.as_chunks::<2>().0.iter();
        pairs.map(move |[key, value]| (ObjectRef::new(key, graph), ObjectRef::new(value, graph)))
    }

    /// The value of a key, in constant time. Python's equality counts: `1`, `1.0` and `True` are one key.
    pub fn get(self, key: impl Into<Object>) -> Option<ObjectRef<'a>> {
        self.find(key.into().as_ref())
    }

    fn find(self, key: ObjectRef<'_>) -> Option<ObjectRef<'a>> {
        match self.all.owner.node() {
            Some((_, Node::Dict(_))) if self.len() > keys::FEW => {
                keys::find(self.all.owner, key).and_then(|number| self.all.get(2 * number + 1))
            }
            // What a call sets may stand there twice.
            _ => self.iter().rev().find(|(name, _)| keys::same(*name, key)).map(|(_, value)| value),
        }
    }
}

impl fmt::Debug for Dict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.owner.fmt(f)
    }
}

/// A scalar of NumPy's.
///
/// ```
/// use ndarray::arr0;
/// use ndarray_io::DynArray;
/// use ndarray_io::object::{Object, View};
///
/// let object = Object::scalar(&DynArray::new(&arr0(1.5f32))?)?;
/// let View::Scalar(scalar) = object.view() else { panic!("a scalar") };
/// assert_eq!(scalar.dtype().to_string(), "'<f4'");
/// assert_eq!(scalar.cast::<f64>()?, 1.5);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar<'a> {
    dtype: &'a Arc<DType>,
    bytes: &'a [u8],
}

impl<'a> Scalar<'a> {
    pub(super) fn new(dtype: &'a Arc<DType>, bytes: &'a [u8]) -> Self {
        Self { dtype, bytes }
    }

    /// What it is.
    pub fn dtype(self) -> &'a DType {
        self.dtype
    }

    /// Its bytes, in the byte order of its dtype.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// An array without axes, of it alone.
    ///
    /// # Errors
    ///
    /// There may be no memory for it.
    pub fn to_dyn(self) -> Result<DynArray> {
        let header = Header::new(self.dtype().clone(), Order::C, Vec::new().into())?;
        DynArray::of_bytes(header, self.bytes)
    }

    /// The value as another type, if no value of its dtype could be lost by it.
    ///
    /// # Errors
    ///
    /// A type that cannot hold all values of the dtype.
    pub fn cast<A: ReadableElement>(self) -> Result<A> {
        let array = self.to_dyn()?.cast::<A, ndarray::Ix0>(Casting::Safe)?;
        Ok(array.into_scalar())
    }
}

/// A `numpy.ndarray` within an object.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::DynArray;
/// use ndarray_io::object::{Object, View};
///
/// let object = Object::from(&DynArray::new(&arr1(&[1.5, 2.5]))?);
/// let View::Array(array) = object.view() else { panic!("an array") };
/// assert_eq!(array.shape(), [2]);
/// let floats: Array1<f64> = array.to_array()?;
/// assert_eq!(floats.sum(), 4.0);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Array<'a> {
    object: ObjectRef<'a>,
    parts: &'a ArrayParts,
}

impl<'a> Array<'a> {
    pub(super) fn new(object: ObjectRef<'a>, parts: &'a ArrayParts) -> Self {
        Self { object, parts }
    }

    fn graph(self) -> &'a Arc<Shared> {
        self.object.graph.expect("an array has a node")
    }

    /// What its elements are.
    pub fn dtype(self) -> &'a DType {
        &self.graph().dtype(self.parts.dtype).dtype
    }

    /// The lengths of its axes.
    pub fn shape(self) -> &'a [usize] {
        &self.graph().rest().lengths[self.parts.dims.range()]
    }

    /// How its elements follow one another.
    pub fn order(self) -> Order {
        self.parts.order
    }

    /// The bytes of its elements; of objects there are none.
    pub fn bytes(self) -> &'a [u8] {
        match self.parts.has_objects {
            true => &[],
            false => self.graph().data(&[], self.parts.items),
        }
    }

    /// Its elements in C order, if they are objects.
    pub fn objects(self) -> Option<Items<'a>> {
        self.parts.has_objects.then(|| Items::of(self.object, self.graph().slots(self.parts.items)))
    }

    pub(super) fn header(self) -> Result<Header> {
        Header::new(self.dtype().clone(), self.order(), self.shape().to_vec().into())
    }

    /// The same as an array of its own.
    ///
    /// # Errors
    ///
    /// There may be no memory for it.
    pub fn to_dyn(self) -> Result<DynArray> {
        let header = self.header()?;
        match self.objects() {
            None => DynArray::of_bytes(header, self.bytes()),
            Some(items) => {
                let in_c = Header::new(header.dtype().clone(), Order::C, header.the_shape().clone())?;
                let items = Arc::new(items.iter().map(ObjectRef::to_object).collect());
                let items = super::rearranged(&items, &in_c, header.order());
                Ok(DynArray::of_objects(header, items))
            }
        }
    }

    /// Its elements as an array of a type.
    ///
    /// # Errors
    ///
    /// They are of another type.
    pub fn to_array<A: ReadableElement, D: Dimension>(self) -> Result<ndarray::Array<A, D>> {
        Ok(self.to_dyn()?.into_array()?)
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl Object {
    /// The text of a `str`, if it is one without lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.as_ref().as_str()
    }

    /// The bytes of `bytes` or `bytearray`.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        self.as_ref().as_bytes()
    }

    /// The items of a list, tuple or set.
    pub fn items(&self) -> Option<Items<'_>> {
        self.as_ref().items()
    }

    /// The value of a key, if it is a dict that has it: see [`Dict::get`].
    pub fn get(&self, key: impl Into<Object>) -> Option<ObjectRef<'_>> {
        self.as_ref().get(key)
    }

    /// Whether it is `None`.
    pub fn is_none(&self) -> bool {
        self.as_ref().is_none()
    }

    /// Whether both are one object, as Python's `is` says of those that can be changed.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let list = Object::from(vec![1]);
    /// let pair = Object::tuple([list.clone(), list]);
    /// let items = pair.items().unwrap();
    /// assert!(items.get(0).unwrap().is_same(items.get(1).unwrap()));
    /// ```
    pub fn is_same(&self, other: &Self) -> bool {
        self.as_ref().is_same(other.as_ref())
    }
}

impl<'a> ObjectRef<'a> {
    /// The text of a `str`, if it is one without lone surrogates.
    pub fn as_str(self) -> Option<&'a str> {
        match (self.slot.held(), self.node()) {
            (Held::Short(text), _) => Some(text),
            (_, Some((graph, Node::Text(span)))) => Some(graph.text(*span)),
            _ => None,
        }
    }

    /// The bytes of `bytes` or `bytearray`.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self.node() {
            Some((graph, Node::Bytes(span) | Node::ByteArray(span))) => Some(graph.data(&[], *span)),
            _ => None,
        }
    }

    /// The items of a list, tuple or set.
    pub fn items(self) -> Option<Items<'a>> {
        match self.node() {
            Some((_, Node::List(_) | Node::Tuple(_) | Node::Set(_) | Node::FrozenSet(_))) => {
                Some(Items::new(self))
            }
            _ => None,
        }
    }

    /// The value of a key, if it is a dict that has it: see [`Dict::get`].
    pub fn get(self, key: impl Into<Object>) -> Option<ObjectRef<'a>> {
        match self.node() {
            Some((_, Node::Dict(_))) => Dict::new(self).find(key.into().as_ref()),
            _ => None,
        }
    }

    /// Whether it is `None`.
    pub fn is_none(self) -> bool {
        *self.slot == Slot::NONE
    }

    /// Whether both are one object: see [`Object::is_same`].
    pub fn is_same(self, other: ObjectRef<'_>) -> bool {
        match (self.id(), other.id()) {
            (Some(one), Some(two)) => one == two,
            _ => false,
        }
    }
}
