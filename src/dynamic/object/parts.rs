//! Objects with parts: sequences, dicts, arrays and scalars.

use std::fmt;
use std::sync::Arc;

use ndarray::{ArrayView, Dimension};

use super::graph::{ArrayParts, Node, ObjectId, SharedGraph, Slot, SlotContents};
use super::key_index::MAX_WITHOUT_INDEX;
use super::{Object, ObjectRef, keys};
use crate::bytes::AsChunks;
use crate::dtype::Casting;
use crate::dtype::DType;
use crate::dynamic::DynArray;
use crate::elements::{ReadableElement, ViewElement};
use crate::error::Result;
use crate::header::Header;
use crate::shape::Order;

/// The items of a list, tuple or set, of a call, or of an array of objects.
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

    /// Creates the items of a call, or those of an array of objects.
    pub(super) fn of(owner: ObjectRef<'a>, slots: &'a [Slot]) -> Self {
        Self { owner, slots }
    }

    fn graph(self) -> Option<&'a Arc<SharedGraph>> {
        self.owner.graph
    }

    pub(super) fn slots(self) -> &'a [Slot] {
        self.slots
    }

    /// Returns the number of items.
    pub fn len(self) -> usize {
        self.slots.len()
    }

    /// Returns whether there are no items.
    pub fn is_empty(self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the item at an index, or `None` if there are fewer items.
    pub fn get(self, index: usize) -> Option<ObjectRef<'a>> {
        self.slots.get(index).map(|slot| ObjectRef::new(slot, self.graph()))
    }

    /// Iterates over the items.
    pub fn iter(self) -> impl ExactSizeIterator<Item = ObjectRef<'a>> + DoubleEndedIterator + Clone + 'a {
        let graph = self.graph();
        self.slots.iter().map(move |slot| ObjectRef::new(slot, graph))
    }

    /// Returns whether a key is one of the items.
    ///
    /// Equality is Python's: `1`, `1.0` and `True` are the same key. Lists and tuples are searched item by
    /// item. For a set of more than 8 items, the first lookup builds an index in linear time, and later
    /// lookups take constant time.
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
            _ => self.iter().any(|item| keys::are_same_key(item, key.as_ref())),
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
    keys_and_values: Items<'a>,
}

impl<'a> Dict<'a> {
    pub(super) fn new(owner: ObjectRef<'a>) -> Self {
        Self { keys_and_values: Items::new(owner) }
    }

    pub(super) fn of(owner: ObjectRef<'a>, slots: &'a [Slot]) -> Self {
        Self { keys_and_values: Items::of(owner, slots) }
    }

    /// Returns the number of pairs.
    pub fn len(self) -> usize {
        self.keys_and_values.len() / 2
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(self) -> bool {
        self.keys_and_values.is_empty()
    }

    /// Iterates over the keys and their values, in the order of the file.
    pub fn iter(
        self,
    ) -> impl ExactSizeIterator<Item = (ObjectRef<'a>, ObjectRef<'a>)> + DoubleEndedIterator + Clone + 'a
    {
        let graph = self.keys_and_values.graph();
        let pairs = self.keys_and_values.slots.chunks_of::<2>().iter();
        pairs.map(move |[key, value]| (ObjectRef::new(key, graph), ObjectRef::new(value, graph)))
    }

    /// Returns the value for a key, or `None` if the key is missing.
    ///
    /// Equality is Python's: `1`, `1.0` and `True` are the same key. For a dict of more than 8 keys, the
    /// first lookup builds an index in linear time, and later lookups take constant time. The pairs of a
    /// [`Call`](super::Call) are searched one by one.
    pub fn get(self, key: impl Into<Object>) -> Option<ObjectRef<'a>> {
        self.find(key.into().as_ref())
    }

    fn find(self, key: ObjectRef<'_>) -> Option<ObjectRef<'a>> {
        match self.keys_and_values.owner.node() {
            Some((_, Node::Dict(_))) if self.len() > MAX_WITHOUT_INDEX => {
                keys::find(self.keys_and_values.owner, key)
                    .and_then(|number| self.keys_and_values.get(2 * number + 1))
            }
            // The search starts from the end: a call may set a key twice, and then the last value is used.
            _ => self.iter().rev().find(|(name, _)| keys::are_same_key(*name, key)).map(|(_, value)| value),
        }
    }
}

impl fmt::Debug for Dict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keys_and_values.owner.fmt(f)
    }
}

/// A NumPy scalar.
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

    /// Returns the dtype.
    pub fn dtype(self) -> &'a DType {
        self.dtype
    }

    /// Returns the bytes, in the byte order of the dtype.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Copies the scalar into an array without axes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if memory cannot be allocated.
    pub fn to_dyn(self) -> Result<DynArray> {
        let header = Header::new(self.dtype().clone(), Order::C, Vec::new().into())?;
        DynArray::from_header_and_bytes(header, self.bytes)
    }

    /// Converts the value to a type that can represent every value of the dtype.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the type cannot represent
    /// every value of the dtype.
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

    fn graph(self) -> &'a Arc<SharedGraph> {
        self.object.graph.expect("an array has a node")
    }

    /// Returns the dtype of the elements.
    pub fn dtype(self) -> &'a DType {
        &self.graph().dtype(self.parts.dtype).dtype
    }

    /// Returns the lengths of the axes.
    pub fn shape(self) -> &'a [usize] {
        &self.graph().rare_tables().axis_lengths[self.parts.dims.range()]
    }

    /// Returns the order of the elements in memory.
    pub fn order(self) -> Order {
        self.parts.order
    }

    /// Returns the bytes of the elements, or an empty slice if the elements are objects.
    pub fn bytes(self) -> &'a [u8] {
        match self.parts.has_objects {
            true => &[],
            false => self.graph().bytes(self.parts.items),
        }
    }

    /// Returns the elements in C order (regardless of [`order`](Self::order)), if they are objects.
    pub fn objects(self) -> Option<Items<'a>> {
        self.parts.has_objects.then(|| Items::of(self.object, self.graph().slots(self.parts.items)))
    }

    pub(super) fn header(self) -> Result<Header> {
        Header::new(self.dtype().clone(), self.order(), self.shape().to_vec().into())
    }

    /// Copies the array.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if memory cannot be allocated.
    pub fn to_dyn(self) -> Result<DynArray> {
        let header = self.header()?;
        match self.objects() {
            None => DynArray::from_header_and_bytes(header, self.bytes()),
            Some(items) => {
                // `objects` are in C order, whereas those of a `DynArray` are in the order of its header.
                let in_c = Header::new(header.dtype().clone(), Order::C, header.shape_ref().clone())?;
                let items = Arc::new(items.iter().map(ObjectRef::to_object).collect());
                let items = super::rearranged(&items, &in_c, header.order());
                Ok(DynArray::of_objects(header, items))
            }
        }
    }

    /// Returns a typed view of the elements, without copying them.
    ///
    /// An array is aligned by chance, unless it is that of an aligned file: see
    /// [`Pickle::view_joblib`](super::Pickle::view_joblib).
    ///
    /// # Errors
    ///
    /// - A [mismatch](crate::Error::is_mismatch) if the elements are of another type, in the other byte order or
    ///   misaligned, or if the number of axes differs.
    /// - A [format error](crate::Error::is_format) if an element is invalid, as a `bool` of 2.
    ///
    /// ```
    /// use ndarray::{Ix1, arr1};
    /// use ndarray_io::DynArray;
    /// use ndarray_io::object::{Object, View};
    ///
    /// let object = Object::from(&DynArray::new(&arr1(&[1u8, 2]))?);
    /// let View::Array(array) = object.view() else { panic!("an array") };
    /// assert_eq!(array.view::<u8, Ix1>()?, arr1(&[1, 2]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn view<A: ViewElement, D: Dimension>(self) -> Result<ArrayView<'a, A, D>> {
        super::super::view_of(&self.header()?, self.bytes())
    }

    /// Copies the elements into an array of type `A`.
    ///
    /// # Errors
    ///
    /// An error if the elements are of another type, or the array does not have the number of axes of `D`:
    /// [`ErrorKind::DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch),
    /// [`ErrorKind::Objects`](crate::error::ErrorKind::Objects) or
    /// [`ErrorKind::ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch).
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
    /// Returns the text, if the object is a `str` without lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.as_ref().as_str()
    }

    /// Returns the bytes, if the object is a `bytes` or `bytearray`.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        self.as_ref().as_bytes()
    }

    /// Returns the items, if the object is a list, tuple or set.
    pub fn items(&self) -> Option<Items<'_>> {
        self.as_ref().items()
    }

    /// Returns the value for a key, if the object is a dict that has the key: see [`Dict::get`].
    pub fn get(&self, key: impl Into<Object>) -> Option<ObjectRef<'_>> {
        self.as_ref().get(key)
    }

    /// Returns whether the object is `None`.
    pub fn is_none(&self) -> bool {
        self.as_ref().is_none()
    }

    /// Returns whether both are the same object, as Python's `is` does for mutable objects.
    ///
    /// This is always false for values that are stored without a node: `None`, bools, floats, integers that
    /// fit into an `i64`, and strings of at most 14 bytes.
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
    /// Returns the text, if the object is a `str` without lone surrogates.
    pub fn as_str(self) -> Option<&'a str> {
        match (self.slot.contents(), self.node()) {
            (SlotContents::Short(text), _) => Some(text),
            (_, Some((graph, Node::Text(span)))) => Some(graph.text(*span)),
            _ => None,
        }
    }

    /// Returns the bytes, if the object is a `bytes` or `bytearray`.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self.node() {
            Some((graph, Node::Bytes(span) | Node::ByteArray(span))) => Some(graph.bytes(*span)),
            _ => None,
        }
    }

    /// Returns the items, if the object is a list, tuple or set.
    pub fn items(self) -> Option<Items<'a>> {
        match self.node() {
            Some((_, Node::List(_) | Node::Tuple(_) | Node::Set(_) | Node::FrozenSet(_))) => {
                Some(Items::new(self))
            }
            _ => None,
        }
    }

    /// Returns the value for a key, if the object is a dict that has the key: see [`Dict::get`].
    pub fn get(self, key: impl Into<Object>) -> Option<ObjectRef<'a>> {
        match self.node() {
            Some((_, Node::Dict(_))) => Dict::new(self).find(key.into().as_ref()),
            _ => None,
        }
    }

    /// Returns whether the object is `None`.
    pub fn is_none(self) -> bool {
        *self.slot == Slot::NONE
    }

    /// Returns the identity of the object, by which programs that follow references know the objects that they have met, as `id` in Python.
    ///
    /// It is valid as long as the object or one that contains it exists. Small values (`None`, bools, numbers of 64 bits, short strings) are
    /// stored where they occur and have no identity.
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let list = Object::from(vec![1]);
    /// let pair = Object::tuple([list.clone(), list]);
    /// let items = pair.items().unwrap();
    /// assert!(items.get(0).unwrap().id().is_some());
    /// assert_eq!(items.get(0).unwrap().id(), items.get(1).unwrap().id());
    /// assert_eq!(Object::from(1).as_ref().id(), None);
    /// ```
    pub fn id(self) -> Option<ObjectId> {
        self.graph_and_index()
            .map(|(graph, number)| ObjectId { graph: std::sync::Arc::as_ptr(graph).addr(), number })
    }

    /// Returns whether both are the same object: see [`Object::is_same`].
    pub fn is_same(self, other: ObjectRef<'_>) -> bool {
        match (self.id(), other.id()) {
            (Some(one), Some(two)) => one == two,
            _ => false,
        }
    }
}
