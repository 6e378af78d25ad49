//! [`with_numbers!`](crate::with_numbers): generic code over the numbers in an array.

use super::DynArray;
use crate::error::{Error, Fault};

/// Runs code with the elements of a [`DynArray`], for any integer or float type.
///
/// The code receives an `ArrayViewD` and is compiled once for each of `i8` to `i64`, `u8` to `u64`, `f32` and
/// `f64`. Its result must have the same type for all of them.
///
/// Evaluates to a `Result`. The error is [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if the
/// elements have any other type, and [`NeedsCopy`](crate::error::ErrorKind::NeedsCopy) if they are
/// numbers that are not in native byte order. [`DynArray::cast`] converts such arrays where possible.
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::{with_numbers, DynArray};
///
/// for array in [DynArray::new(&arr1(&[1u8, 2]))?, DynArray::new(&arr1(&[1.5, -1.5]))?] {
///     let largest: f64 = with_numbers!(array, |view| view.iter().map(|item| *item as f64).fold(0.0, f64::max))?;
///     assert!(largest >= 1.5);
/// }
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[macro_export]
macro_rules! with_numbers {
    ($array:expr, |$view:ident| $code:expr) => {{
        let array: &$crate::DynArray = &$array;
        $crate::with_numbers!(@types array, $view, $code;
            Int 1 i8, Int 2 i16, Int 4 i32, Int 8 i64, Uint 1 u8, Uint 2 u16, Uint 4 u32, Uint 8 u64, Float 4 f32,
            Float 8 f64)
    }};
    (@types $array:ident, $view:ident, $code:expr; $($kind:ident $size:literal $type:ty),*) => {
        match $array.dtype().as_scalar().map(|scalar| (scalar.kind(), scalar.size())) {
            $(Some(($crate::dtype::Kind::$kind, $size)) => $array.__view_any::<$type>().map(|$view| {
                // The caller's code may cast to a type that `$view` already has.
                #[allow(clippy::unnecessary_cast, clippy::let_and_return, clippy::let_unit_value)]
                let made = $code;
                made
            }),)*
            _ => Err($array.__no_number()),
        }
    };
}

impl DynArray {
    #[doc(hidden)]
    pub fn __view_any<A: crate::ViewElement>(&self) -> crate::Result<ndarray::ArrayViewD<'_, A>> {
        self.view()
    }

    #[doc(hidden)]
    pub fn __no_number(&self) -> Error {
        let reason = format!("expected integers, or floats of 32 or 64 bits, found {}", self.dtype());
        Fault::NotConvertible { reason }.into()
    }
}
