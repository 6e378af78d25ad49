//! Which records can be viewed: those whose fields can.
//!
//! A bound on a field's type would be an error at the derive if it does not hold. Behind [`Of`], which has a lifetime that
//! is bound in the `where` clause, it is one where somebody wants to view the record.

use std::marker::PhantomData;

use crate::element::{ViewElement, ViewMutElement};

/// A field's type, within a `where` clause.
pub struct Of<'a, F>(PhantomData<&'a F>);

/// A type that can be viewed within a record.
pub trait ViewField {}

/// A type that can be changed in place within a record.
pub trait ViewMutField: ViewField {
    /// As of [`ViewMutElement`].
    const IS_FULL: ();
}

impl<T: ViewElement> ViewField for T {}
impl<T: ViewMutElement> ViewMutField for T {
    const IS_FULL: () = <T as ViewMutElement>::IS_FULL;
}

impl<F: ViewField> ViewField for Of<'_, F> {}

impl<F: ViewMutField> ViewMutField for Of<'_, F> {
    const IS_FULL: () = F::IS_FULL;
}

/// Whether fields of these sizes take all of a struct.
pub const fn fills<T>(sizes: &[usize]) -> bool {
    let (mut sum, mut index) = (0, 0);
    while index < sizes.len() {
        sum += sizes[index];
        index += 1;
    }
    sum == size_of::<T>()
}
