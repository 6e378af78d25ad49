//! Casts for types that derive `Element`.
//!
//! A newtype has the layout of the element that it wraps, and an enum has the layout of its number.

use std::marker::PhantomData;
use std::slice;

use bytemuck::Pod;

use super::{Bitwise, BitwiseOut};
use crate::elements::{ReadableElement, WritableElement};
use crate::error::{ElementFault, Fault};

/// A struct around one element.
///
/// # Safety
///
/// `Inner` is the type of a field, and `Markers` are pointers to each of the others, by their own types.
/// Casts compare the layout of the struct with that of `Inner`, so it need not be `repr(transparent)`.
#[doc(hidden)]
pub unsafe trait Newtype: Sized + Send + Sync + 'static {
    /// The type of the wrapped element.
    type Inner: ReadableElement + WritableElement + 'static;
    /// The types of the other fields: `(*const A, (*const B, ()))`.
    type Markers: Markers;

    /// Borrows the wrapped element.
    fn inner(&self) -> &Self::Inner;

    /// Wraps an element.
    fn wrap(inner: Self::Inner) -> Self;
}

/// Pointers to markers, which contain no data and can be created freely.
///
/// It is implemented for pairs alone, so no other crate can implement it for a type that looks like `PhantomData`.
#[diagnostic::on_unimplemented(
    message = "a newtype has one field, apart from markers of the type `core::marker::PhantomData`",
    label = "a field here is not a `PhantomData`"
)]
pub trait Markers {}

impl Markers for () {}
impl<M: ?Sized, Rest: Markers> Markers for (*const PhantomData<M>, Rest) {}

/// An enum without fields.
///
/// # Safety
///
/// The type is an enum without fields, and `from_number` returns a variant only for its number in `VARIANTS`. Casts
/// compare the bytes of each variant with those of its number.
#[doc(hidden)]
pub unsafe trait Enumeration: Sized + Send + Sync + 'static {
    /// The integer type of the enum, in memory and in a file.
    type Number: Number;
    /// The name of the enum, for errors.
    const NAME: &'static str;
    /// Whether a variant has the number 0.
    const HAS_ZERO: bool;
    /// The variants with their numbers.
    const VARIANTS: &'static [(Self, Self::Number)];

    /// Returns the variant that has this number.
    fn from_number(number: Self::Number) -> Option<Self>;
}

/// An integer type that an enum can have as its representation.
#[doc(hidden)]
pub trait Number: Pod + Into<i128> + ReadableElement + WritableElement {}

impl<N: Pod + Into<i128> + ReadableElement + WritableElement> Number for N {}

impl<T> Bitwise<T> {
    /// Converts the token to one for a newtype of such elements.
    pub(in crate::elements) fn wrapped<O: Newtype<Inner = T>>(self) -> Bitwise<O> {
        const { assert!(has_same_layout::<T, O>()) };
        // By the contract of Newtype, the bytes of a newtype are those of the inner element.
        Bitwise { transform: self.transform, has_no_padding: self.has_no_padding, type_: PhantomData }
    }

    /// Converts the token to one for an enum with this number type, and adds a check.
    pub(in crate::elements) fn enumerated<E: Enumeration<Number = T>>(self) -> Bitwise<E>
    where
        T: Number,
    {
        const { assert!(variants_match_numbers::<E>()) };
        let transform = self
            .transform
            .with_check(first_invalid::<E>, |item| no_variant::<E>(bytemuck::pod_read_unaligned(item)));
        // By the contract of Enumeration, a number that has passed the check is a variant.
        Bitwise { transform, has_no_padding: true, type_: PhantomData }
    }
}

impl<T> BitwiseOut<T> {
    /// Converts the token to one for a newtype of such elements.
    pub(in crate::elements) fn wrapped<O: Newtype<Inner = T>>(self) -> BitwiseOut<O> {
        const { assert!(has_same_layout::<T, O>()) };
        BitwiseOut { transform: self.transform, type_: PhantomData }
    }

    /// Converts the token to one for an enum with this number type.
    pub(in crate::elements) fn enumerated<E: Enumeration<Number = T>>(self) -> BitwiseOut<E> {
        const { assert!(variants_match_numbers::<E>()) };
        BitwiseOut { transform: self.transform, type_: PhantomData }
    }
}

/// Returns whether two types have equal size and alignment.
///
/// A struct of that size around an element has room for nothing else, so the element is at its start.
const fn has_same_layout<A, B>() -> bool {
    size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()
}

/// Returns whether each variant of an enum has the bytes of its number.
///
/// The `repr` that the derive has read may not be that of the enum: an attribute macro can change it.
const fn variants_match_numbers<E: Enumeration>() -> bool {
    if !has_same_layout::<E, E::Number>() {
        return false;
    }
    let mut index = 0;
    while index < E::VARIANTS.len() {
        let (variant, number) = &E::VARIANTS[index];
        let (variant, number) = (bytes(variant), bytes(number));
        let mut at = 0;
        while at < number.len() {
            if variant[at] != number[at] {
                return false;
            }
            at += 1;
        }
        index += 1;
    }
    true
}

/// Returns the bytes of an integer, or of an enum of the size of one.
const fn bytes<T>(value: &T) -> &[u8] {
    // SAFETY: neither has padding, so each byte is initialized; they are borrowed as long as the value.
    unsafe { slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// Returns the index of the first number that is not a variant.
fn first_invalid<E: Enumeration>(bytes: &[u8]) -> Option<usize> {
    let numbers = bytes.chunks_exact(size_of::<E>());
    numbers.map(bytemuck::pod_read_unaligned).position(|number| E::from_number(number).is_none())
}

/// Returns the error for a number that is not a variant.
fn no_variant<E: Enumeration>(number: E::Number) -> Fault {
    Fault::InvalidElement(ElementFault::Variant {
        found: number.into(),
        of: E::NAME,
        number: std::any::type_name::<E::Number>(),
    })
}

/// Casts newtypes to the elements that they wrap.
pub(in crate::elements) fn inner_slice<O: Newtype>(items: &[O]) -> &[O::Inner] {
    const { assert!(has_same_layout::<O, O::Inner>()) };
    // SAFETY: each item is an `O::Inner` and nothing else, by the contract of Newtype and the layout above. The
    // lifetime and the length are the same.
    unsafe { slice::from_raw_parts(items.as_ptr().cast(), items.len()) }
}
