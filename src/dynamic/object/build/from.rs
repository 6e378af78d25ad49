//! Conversions from Rust values to objects.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use num_complex::Complex;

use super::super::graph::{ArrayParts, Node, Slot, Span};
use super::super::times::{Date, Time, Timedelta};
use super::super::{Int, Object};
use super::{Key, build_object};
use crate::dynamic::DynArray;

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)*) => {$(
        impl From<$type> for Object {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

fn slot_object(slot: Slot) -> Object {
    Object { slot, graph: None }
}

from! {
    bool => |value| slot_object(Slot::bool(value));
    i8 => |number| slot_object(Slot::int(number.into()));
    i16 => |number| slot_object(Slot::int(number.into()));
    i32 => |number| slot_object(Slot::int(number.into()));
    i64 => |number| slot_object(Slot::int(number));
    u8 => |number| slot_object(Slot::int(number.into()));
    u16 => |number| slot_object(Slot::int(number.into()));
    u32 => |number| slot_object(Slot::int(number.into()));
    isize => |number| Int::from(number as i64).into();
    usize => |number| Int::from(number as u64).into();
    u64 => |number| Int::from(number).into();
    i128 => |number| Int::from(number).into();
    u128 => |number| Int::from(number).into();
    f32 => |number| slot_object(Slot::float(number.into()));
    f64 => |number| slot_object(Slot::float(number));
    Complex<f32> => |number| Complex::new(f64::from(number.re), f64::from(number.im)).into();
    Complex<f64> => |number| build_object(|_| Node::Complex(number));
    char => |char| Object::from(&*char.encode_utf8(&mut [0; 4]));
    &String => |text| text.as_str().into();
    String => |text| text.as_str().into();
    &[u8] => |bytes| build_object(|build| Node::Bytes(build.add_bytes(bytes)));
    Date => |date| build_object(|_| Node::Date(date));
    Time => |time| build_object(|_| Node::Time(time));
    Timedelta => |length| build_object(|_| Node::Timedelta(length));
    DynArray => |array| (&array).into();
}

impl From<&str> for Object {
    fn from(text: &str) -> Self {
        match Slot::short(text.as_bytes()) {
            Some(text) => slot_object(text),
            None => build_object(|build| Node::Text(build.graph.add_text(text))),
        }
    }
}

impl From<Int> for Object {
    fn from(number: Int) -> Self {
        match number.small_or_large() {
            Ok(number) => slot_object(Slot::int(number)),
            Err(number) => build_object(|build| {
                build.graph.rare_tables_mut().bigs.push(Arc::clone(number));
                Node::Big(0)
            }),
        }
    }
}

/// Converts to a `numpy.ndarray`, with a copy of the elements.
impl From<&DynArray> for Object {
    fn from(array: &DynArray) -> Self {
        build_object(|build| {
            let dtype = build.add_dtype(array.dtype());
            let objects = array.objects.as_ref();
            let items = match objects {
                Some(items) => {
                    let items = super::super::rearranged(items, &array.header, crate::shape::Order::C);
                    build.add_objects(items.iter().cloned())
                }
                None => build.add_bytes(array.bytes()),
            };
            let rest = build.graph.rare_tables_mut();
            rest.axis_lengths.extend_from_slice(array.shape());
            let dims = Span::new(0..rest.axis_lengths.len());
            let has_objects = objects.is_some();
            rest.arrays.push(ArrayParts { dtype, order: array.order(), dims, items, has_objects });
            Node::Array(0)
        })
    }
}

impl From<super::super::ObjectRef<'_>> for Object {
    fn from(object: super::super::ObjectRef<'_>) -> Self {
        object.to_object()
    }
}

impl From<&Object> for Object {
    fn from(object: &Object) -> Self {
        object.clone()
    }
}

/// Converts to a list.
impl<T: Into<Object>> From<Vec<T>> for Object {
    fn from(items: Vec<T>) -> Self {
        Self::list(items)
    }
}

/// Converts to a list.
impl<T: Into<Object>, const N: usize> From<[T; N]> for Object {
    fn from(items: [T; N]) -> Self {
        Self::list(items)
    }
}

/// Converts `None` to Python's `None`.
impl<T: Into<Object>> From<Option<T>> for Object {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::none, Into::into)
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        /// Converts to a tuple.
        impl<$($name: Into<Object>),*> From<($($name,)*)> for Object {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Self {
                let items: Vec<Self> = vec![$($name.into()),*];
                Self::tuple(items)
            }
        }
    )*};
}

tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }

/// Collects pairs into a dict; if keys are equal, the value of the last one is kept.
impl<K: Key, V: Into<Object>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self::dict(pairs).expect("what is a `Key` can be the key of a dict")
    }
}

/// Converts to a dict, in the map's arbitrary order.
impl<K: Key, V: Into<Object>, S> From<HashMap<K, V, S>> for Object {
    fn from(pairs: HashMap<K, V, S>) -> Self {
        pairs.into_iter().collect()
    }
}

/// Converts to a dict, in the order of the keys.
impl<K: Key, V: Into<Object>> From<BTreeMap<K, V>> for Object {
    fn from(pairs: BTreeMap<K, V>) -> Self {
        pairs.into_iter().collect()
    }
}
