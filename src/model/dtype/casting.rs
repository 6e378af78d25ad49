//! The casting rules for conversions between dtypes.

/// The format of NumPy's `longdouble`, which depends on the machine that wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LongDoubleFormat {
    /// The 80-bit format of the x87, in the first ten bytes: Linux and macOS on x86.
    X87,
    /// IEEE 754 binary128: Linux on most other machines.
    Quad,
    /// The sum of two `f64`, the larger one first: Linux and AIX on PowerPC.
    DoubleDouble,
}

/// The conversions that a read may perform, by NumPy's rules (`numpy.can_cast`).
///
/// Conversions follow these rules:
///
/// - An integer that the other type of integers does not have is an error, except with `Unsafe`, which keeps the
///   low bits as NumPy does (NumPy does so with `SameKind`, too).
/// - Floats are converted to integers by truncation; those out of range saturate, and NaN becomes zero. (In NumPy, the
///   result for them depends on the machine.) Floats that are too large for a smaller float become infinite, as in NumPy.
///   When numbers are converted to bools, anything but zero is `true`.
/// - Times are converted to another unit by rounding down; a time out of range is an error. Floats that are
///   converted to times become "not a time" if they are NaN or out of range.
/// - Numbers are converted to text in NumPy's spelling, and text is parsed as a number as Python does. Points in time are
///   text in ISO 8601, and durations such as `5 days`; text is parsed as a point in time in ISO 8601, and as a duration if it is a
///   number of ticks. Text that does not fit its width is an error; it is never truncated.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{Casting, ReadNpyExt, ReadOptions, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[1i16, -2]).write_npy(&mut file)?;
/// let options = ReadOptions::new().casting(Casting::Safe);
/// assert_eq!(options.read_from::<Array1<f64>>(&file[..])?, arr1(&[1.0, -2.0]));
/// assert!(options.read_from::<Array1<u8>>(&file[..]).is_err()); // it would lose the sign
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Casting {
    /// Only conversions that keep every value, and those that NumPy takes for such: 64-bit integers to `f64` (real or complex), dates in
    /// years and months to weeks and multiples of days, which are rounded down, and −2⁶³ to "not a time".
    ///
    /// Conversions to text are safe if the width is the one that NumPy reserves for the type, which may be more than any value
    /// needs. Integers to durations are safe, but for 64-bit unsigned ones.
    Safe,
    /// Also conversions within a kind, or to a later one in the order bool, unsigned, signed, float, complex.
    ///
    /// This includes numbers and text to text of any width, and times to a coarser unit.
    SameKind,
    /// Any supported conversion, including numbers to bools, times to numbers and text, and text to numbers and times.
    Unsafe,
}

/// What determines how elements are converted.
#[derive(Clone, Copy)]
pub(crate) struct CastingRules {
    pub(crate) casting: Casting,
    /// The format of `longdouble`s, without which they are not converted.
    pub(crate) long_double: Option<LongDoubleFormat>,
}
