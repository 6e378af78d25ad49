//! [`DisplayOptions`]: how arrays are formatted as text.

use crate::dtype::LongDoubleFormat;

/// Options for formatting an array as text: the number of elements, the width and the number of digits.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::DynArray;
/// use ndarray_io::options::DisplayOptions;
///
/// let array = DynArray::new(&arr1(&[1.0 / 3.0, 2.0, 0.25, 1e9]))?;
/// let look = DisplayOptions::new().precision(3).width(40);
/// assert_eq!(array.display_with(&look).to_string(), "[       0.333,          2.0,\n         0.25, 1000000000.0]");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DisplayOptions {
    /// Arrays with more elements show only the first and last indices of each long axis.
    pub(crate) threshold: usize,
    /// The maximum number of elements to show. If an array has many axes, even its edges are many elements.
    pub(crate) max_elements: usize,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
    pub(crate) long_double: Option<LongDoubleFormat>,
}

impl Default for DisplayOptions {
    fn default() -> Self {
        Self { threshold: 1000, max_elements: 10_000, width: usize::MAX, precision: None, long_double: None }
    }
}

impl DisplayOptions {
    /// Returns the defaults, as `Display` formats arrays.
    ///
    /// Arrays of more than 1000 elements show only the first and last indices of long axes. Each row is one
    /// line, and floating-point numbers have the fewest digits that round-trip.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows all elements, even of a large array.
    #[must_use]
    pub fn all(self) -> Self {
        Self { threshold: usize::MAX, max_elements: usize::MAX, ..self }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.threshold == usize::MAX
    }

    pub(crate) fn get_width(&self) -> usize {
        self.width
    }

    /// Sets the number of columns of text after which a row continues on the next line.
    ///
    /// By default, the width is unlimited.
    #[must_use]
    pub fn width(self, columns: usize) -> Self {
        Self { width: columns, ..self }
    }

    /// Sets the maximum number of digits after the decimal point of floating-point numbers.
    ///
    /// A nonzero number that would be shown as zero is shown with an exponent instead.
    #[must_use]
    pub fn precision(self, digits: usize) -> Self {
        // `format!` supports this precision, and no `f64` has more than 1074 digits after the decimal point.
        Self { precision: Some(digits.min(1100)), ..self }
    }

    /// Sets the format of `longdouble`s (`f16`, `c32`), which files do not say, so that they are shown as numbers.
    ///
    /// By default their bytes are shown.
    ///
    /// ```
    /// use ndarray_io::dtype::LongDoubleFormat;
    /// use ndarray_io::options::DisplayOptions;
    /// use ndarray_io::{DynArray, ReadOptions};
    /// use ndarray::arr1;
    ///
    /// let options = ReadOptions::new().long_double(LongDoubleFormat::X87);
    /// let long = DynArray::new(&arr1(&[1e300]))?.cast_to(&"<f16".parse()?, &options)?;
    /// let look = DisplayOptions::new().long_double(LongDoubleFormat::X87);
    /// assert_eq!(long.display_with(&look).to_string(), "[1.0000000000000000525e300]"); // more digits than the `f64` needed
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    #[must_use]
    pub fn long_double(self, format: LongDoubleFormat) -> Self {
        Self { long_double: Some(format), ..self }
    }
}
