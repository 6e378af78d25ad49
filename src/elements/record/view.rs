//! Traits for viewing records. A record can be viewed only if all its fields can be viewed.
//!
//! If a direct bound on a field's type were not met, the derive itself would fail to compile. With a bound on
//! [`Of`], whose lifetime the `where` clause introduces, only code that views the record fails to compile.

use std::marker::PhantomData;

use crate::elements::{ViewElement, ViewMutElement};

/// Wraps a field's type within a `where` clause.
pub struct Of<'a, F>(PhantomData<&'a F>);

/// A type that can be viewed within a record.
#[diagnostic::on_unimplemented(
    message = "a field of the struct cannot be viewed in a file's bytes: `{Self}`",
    label = "the struct has a field with another layout in memory than in a file",
    note = "String and Vec<u8> can be read, and Chars<N> and Bytes<N> also viewed"
)]
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

/// Returns whether fields of these sizes fill a struct, which means that it has no padding.
pub const fn fills<T>(sizes: &[usize]) -> bool {
    let (mut sum, mut index) = (0, 0);
    while index < sizes.len() {
        sum += sizes[index];
        index += 1;
    }
    sum == size_of::<T>()
}
