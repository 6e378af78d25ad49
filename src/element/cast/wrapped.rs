//! Types that derive `Element`: a newtype is what it wraps, and an enum the number that its variants have.

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
/// The struct has `#[repr(transparent)]`, and `Inner` is the type of its field that has a size; other fields can be
/// conjured up.
#[doc(hidden)]
pub unsafe trait Newtype: Sized + Send + Sync + 'static {
    /// What it wraps.
    type Inner: ReadableElement + WritableElement + 'static;

    /// Compiles if the other fields are markers.
    fn markers(&self);
}

/// An enum without fields.
///
/// # Safety
///
/// The enum has the representation `Number`, and `is_valid` is true only of the numbers of its variants.
#[doc(hidden)]
pub unsafe trait Enumeration: Sized + Send + Sync + 'static {
    /// What it is in memory and in a file.
    type Number: Number;
    /// Its name, for errors.
    const NAME: &'static str;
    /// Whether a variant has the number 0.
    const HAS_ZERO: bool;

    /// Whether a variant has this number.
    fn is_valid(number: Self::Number) -> bool;
}

/// What can be the number of a variant.
#[doc(hidden)]
pub trait Number: Pod + Into<i128> + ReadableElement + WritableElement {}

impl<N: Pod + Into<i128> + ReadableElement + WritableElement> Number for N {}

impl<T> Bitwise<T> {
    /// The proof for a newtype of such elements.
    pub(in crate::element) fn wrapped<O: Newtype<Inner = T>>(self) -> Bitwise<O> {
        const { assert!(has_same_layout::<T, O>()) };
        // By the contract of Newtype, the bytes are those of the inner element.
        Bitwise { fix: self.fix, is_full: self.is_full, type_: std::marker::PhantomData }
    }

    /// The proof for an enum of such numbers, which are checked.
    pub(in crate::element) fn enumerated<E: Enumeration<Number = T>>(self) -> Bitwise<E>
    where
        T: Number,
    {
        const { assert!(has_same_layout::<T, E>()) };
        let fix = self
            .fix
            .with_check(first_invalid::<E>, |item| no_variant::<E>(bytemuck::pod_read_unaligned(item)));
        // By the contract of Enumeration, a number that has passed is a variant.
        Bitwise { fix, is_full: true, type_: std::marker::PhantomData }
    }
}

impl<T> BitwiseOut<T> {
    /// The proof for a newtype of such elements.
    pub(in crate::element) fn wrapped<O: Newtype<Inner = T>>(self) -> BitwiseOut<O> {
        const { assert!(has_same_layout::<T, O>()) };
        BitwiseOut { fix: self.fix, type_: std::marker::PhantomData }
    }

    /// The proof for an enum of such numbers.
    pub(in crate::element) fn enumerated<E: Enumeration<Number = T>>(self) -> BitwiseOut<E> {
        const { assert!(has_same_layout::<T, E>()) };
        BitwiseOut { fix: self.fix, type_: std::marker::PhantomData }
    }
}

/// What the contracts promise, as far as it can be looked at.
const fn has_same_layout<A, B>() -> bool {
    size_of::<A>() == size_of::<B>() && align_of::<A>() == align_of::<B>()
}

/// Which number is the first that no variant has.
fn first_invalid<E: Enumeration>(bytes: &[u8]) -> Option<usize> {
    let numbers = bytes.chunks_exact(size_of::<E>());
    numbers.map(bytemuck::pod_read_unaligned).position(|number| !E::is_valid(number))
}

fn no_variant<E: Enumeration>(number: E::Number) -> ErrorKind {
    ErrorKind::NoVariant { found: number.into(), of: E::NAME, number: std::any::type_name::<E::Number>() }
}

/// Elements as newtypes.
pub(in crate::element) fn wrap<O: Newtype>(items: Vec<O::Inner>) -> Vec<O> {
    // SAFETY: by the contract of Newtype, both have the same layout, and each inner element is a newtype.
    unsafe { transmuted(items) }
}

/// Newtypes as elements.
pub(in crate::element) fn unwrap<O: Newtype>(items: Vec<O>) -> Vec<O::Inner> {
    // SAFETY: by the contract of Newtype, both have the same layout, and each newtype is an inner element.
    unsafe { transmuted(items) }
}

/// A newtype as the element that it wraps.
pub(in crate::element) fn inner<O: Newtype>(item: &O) -> &O::Inner {
    // SAFETY: by the contract of Newtype, both have the same layout. The reference lives as long.
    unsafe { &*std::ptr::from_ref(item).cast() }
}

/// Newtypes as the elements that they wrap.
pub(in crate::element) fn inner_slice<O: Newtype>(items: &[O]) -> &[O::Inner] {
    // SAFETY: as in `inner`, for as many.
    unsafe { slice::from_raw_parts(items.as_ptr().cast(), items.len()) }
}

/// Numbers as variants: an error names the first that is none.
pub(in crate::element) fn variants<E: Enumeration>(numbers: Vec<E::Number>) -> Result<Vec<E>> {
    if let Some(index) = numbers.iter().position(|number| !E::is_valid(*number)) {
        return Err(Error::from(no_variant::<E>(numbers[index])).at_element(index));
    }
    // SAFETY: by the contract of Enumeration, both have the same layout, and each number has been found to be a variant.
    Ok(unsafe { transmuted(numbers) })
}

/// The same memory as elements of another type.
///
/// # Safety
///
/// The types have the same layout, and each item is a valid one of the other type.
unsafe fn transmuted<A, B>(items: Vec<A>) -> Vec<B> {
    const { assert!(has_same_layout::<A, B>()) };
    let mut items = ManuallyDrop::new(items);
    // SAFETY: pointer, length and capacity are those of a Vec of the same layout, which is forgotten; that the items are
    // valid, the caller promises.
    unsafe { Vec::from_raw_parts(items.as_mut_ptr().cast(), items.len(), items.capacity()) }
}
