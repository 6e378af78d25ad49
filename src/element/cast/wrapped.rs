//! Casts for types that derive `Element`.
//!
//! A newtype has the layout of the element that it wraps, and an enum has the layout of its number.

use std::mem::ManuallyDrop;
use std::slice;

use bytemuck::Pod;

use super::{Bitwise, BitwiseOut};
use crate::element::{ReadableElement, WritableElement};
use crate::error::{Error, ErrorKind, Result};

/// A struct around one element.
///
/// # Safety
///
/// The struct has `#[repr(transparent)]`, and `Inner` is the type of the only field that may have a size.
/// Values of the other fields contain no data, so they can be created freely.
#[doc(hidden)]
pub unsafe trait Newtype: Sized + Send + Sync + 'static {
    /// The type of the wrapped element.
    type Inner: ReadableElement + WritableElement + 'static;

    /// Compiles only if the other fields are `PhantomData`.
    fn markers(&self);
}

/// An enum without fields.
///
/// # Safety
///
/// The enum has the representation `Number`, and `is_valid` is true only for the numbers of its variants.
#[doc(hidden)]
pub unsafe trait Enumeration: Sized + Send + Sync + 'static {
    /// The integer type of the enum, in memory and in a file.
    type Number: Number;
    /// The name of the enum, for errors.
    const NAME: &'static str;
    /// Whether a variant has the number 0.
    const HAS_ZERO: bool;

    /// Returns whether a variant has this number.
    fn is_valid(number: Self::Number) -> bool;
}

/// An integer type that an enum can have as its representation.
#[doc(hidden)]
pub trait Number: Pod + Into<i128> + ReadableElement + WritableElement {}

impl<N: Pod + Into<i128> + ReadableElement + WritableElement> Number for N {}

impl<T> Bitwise<T> {
    /// Converts the token to one for a newtype of such elements.
    pub(in crate::element) fn wrapped<O: Newtype<Inner = T>>(self) -> Bitwise<O> {
        const { assert!(has_same_layout::<T, O>()) };
        // By the contract of Newtype, the bytes of a newtype are those of the inner element.
        Bitwise { fix: self.fix, is_full: self.is_full, type_: std::marker::PhantomData }
    }

    /// Converts the token to one for an enum with this number type, and adds a check.
    pub(in crate::element) fn enumerated<E: Enumeration<Number = T>>(self) -> Bitwise<E>
    where
        T: Number,
    {
        const { assert!(has_same_layout::<T, E>()) };
        let fix = self
            .fix
            .with_check(first_invalid::<E>, |item| no_variant::<E>(bytemuck::pod_read_unaligned(item)));
        // By the contract of Enumeration, a number that has passed the check is a variant.
        Bitwise { fix, is_full: true, type_: std::marker::PhantomData }
    }
}

impl<T> BitwiseOut<T> {
    /// Converts the token to one for a newtype of such elements.
    pub(in crate::element) fn wrapped<O: Newtype<Inner = T>>(self) -> BitwiseOut<O> {
        const { assert!(has_same_layout::<T, O>()) };
        BitwiseOut { fix: self.fix, type_: std::marker::PhantomData }
    }

    /// Converts the token to one for an enum with this number type.
    pub(in crate::element) fn enumerated<E: Enumeration<Number = T>>(self) -> BitwiseOut<E> {
        const { assert!(has_same_layout::<T, E>()) };
        BitwiseOut { fix: self.fix, type_: std::marker::PhantomData }
    }
}

/// Returns whether two types have equal size and alignment, the part of the contracts that can be checked.
const fn has_same_layout<A, B>() -> bool {
    size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()
}

/// Returns the index of the first number that is not a variant.
fn first_invalid<E: Enumeration>(bytes: &[u8]) -> Option<usize> {
    let numbers = bytes.chunks_exact(size_of::<E>());
    numbers.map(bytemuck::pod_read_unaligned).position(|number| !E::is_valid(number))
}

fn no_variant<E: Enumeration>(number: E::Number) -> ErrorKind {
    ErrorKind::NoVariant { found: number.into(), of: E::NAME, number: std::any::type_name::<E::Number>() }
}

/// Converts elements to newtypes, without copying.
pub(in crate::element) fn wrap<O: Newtype>(items: Vec<O::Inner>) -> Vec<O> {
    // SAFETY: by the contract of Newtype, the layouts are the same, and each inner element is a valid
    // newtype.
    unsafe { transmuted(items) }
}

/// Converts newtypes to the elements that they wrap, without copying.
pub(in crate::element) fn unwrap<O: Newtype>(items: Vec<O>) -> Vec<O::Inner> {
    // SAFETY: by the contract of Newtype, the layouts are the same, and each newtype is a valid inner
    // element.
    unsafe { transmuted(items) }
}

/// Casts a newtype to the element that it wraps.
pub(in crate::element) fn inner<O: Newtype>(item: &O) -> &O::Inner {
    // SAFETY: by the contract of Newtype, both have the same layout. The lifetimes are the same.
    unsafe { &*std::ptr::from_ref(item).cast() }
}

/// Casts newtypes to the elements that they wrap.
pub(in crate::element) fn inner_slice<O: Newtype>(items: &[O]) -> &[O::Inner] {
    // SAFETY: as in `inner`; the length is the same.
    unsafe { slice::from_raw_parts(items.as_ptr().cast(), items.len()) }
}

/// Converts numbers to enum variants, without copying. An error names the first number that is not a variant.
pub(in crate::element) fn variants<E: Enumeration>(numbers: Vec<E::Number>) -> Result<Vec<E>> {
    if let Some(index) = numbers.iter().position(|number| !E::is_valid(*number)) {
        return Err(Error::from(no_variant::<E>(numbers[index])).at_element(index));
    }
    // SAFETY: by the contract of Enumeration, both have the same layout, and each number has been checked.
    Ok(unsafe { transmuted(numbers) })
}

/// Reinterprets the memory of a `Vec` as elements of another type.
///
/// # Safety
///
/// The types have the same layout, and each item is valid as the other type.
unsafe fn transmuted<A, B>(items: Vec<A>) -> Vec<B> {
    const { assert!(has_same_layout::<A, B>()) };
    let mut items = ManuallyDrop::new(items);
    // SAFETY: pointer, length and capacity come from a Vec of the same layout, which is not dropped; the
    // caller guarantees that the items are valid.
    unsafe { Vec::from_raw_parts(items.as_mut_ptr().cast(), items.len(), items.capacity()) }
}
