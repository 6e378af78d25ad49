//! Which conversions between dtypes are allowed.

/// Which conversions a read may do, by NumPy's rules (`numpy.can_cast`).
///
/// Numbers are converted as Rust's `as` does it: a float becomes an integer by cutting off what follows the point, saturates, and
/// NaN becomes 0 (in NumPy what does not fit is what the machine makes of it). Everything but zero is true. Times become those of
/// another unit, the earlier one if they fall between two; one that is too far away is an error. Numbers become text as NumPy
/// spells them, and are read from it as Python reads them; text that does not fit its width is an error, and never cut.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{Casting, ReadNpyExt, ReadOptions, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[1i16, -2]).write_npy(&mut file)?;
/// let options = ReadOptions::new().casting(Casting::Safe);
/// assert_eq!(Array1::<f64>::read_npy_with(&file[..], &options)?, arr1(&[1.0, -2.0]));
/// assert!(Array1::<u8>::read_npy_with(&file[..], &options).is_err()); // it would lose the sign
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Casting {
    /// Only conversions that keep every value (with NumPy's exception of 64-bit integers to `f64`), to text if it is wide enough for
    /// every number of its type.
    Safe,
    /// Also within a kind, and to a later one in the order bool, unsigned, signed, float, complex.
    SameKind,
    /// Any conversion that there is: also numbers to bools, times to numbers, and text to numbers.
    Unsafe,
}
