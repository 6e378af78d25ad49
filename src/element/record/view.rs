//! Traits for viewing records, which requires that all their fields can be viewed.
//!
//! A direct bound on a field's type would be an error at the derive if it did not hold. Wrapped in [`Of`],
//! whose lifetime is bound in the `where` clause, it is an error only where the record is viewed.

use std::marker::PhantomData;

use crate::element::{ViewElement, ViewMutElement};

/// A field's type, within a `where` clause.
pub struct Of<'a, F>(PhantomData<&'a F>);

/// A type that can be viewed within a record.
pub trait ViewField {}

/// A type that can be changed in place within a record.
pub trait ViewMutField: ViewField {
    /// Compiles only if the type has no padding, as in [`ViewMutElement`].
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

/// Returns whether fields of these sizes fill a struct, without padding.
pub const fn fills<T>(sizes: &[usize]) -> bool {
    let (mut sum, mut index) = (0, 0);
    while index < sizes.len() {
        sum += sizes[index];
        index += 1;
    }
    sum == size_of::<T>()
}
