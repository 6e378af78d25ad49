//! [`DisplayOptions`]: how arrays are formatted as text.

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
/// assert_eq!(array.shown(&look), "[       0.333,          2.0,\n         0.25, 1000000000.0]");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DisplayOptions {
    /// Arrays with more elements show only the first and last indices of each long axis.
    pub(crate) most: usize,
    /// The maximum number of elements to show. If an array has many axes, even its edges are many elements.
    pub(crate) last: usize,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
}

impl Default for DisplayOptions {
    fn default() -> Self {
        Self { most: 1000, last: 10_000, width: usize::MAX, precision: None }
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
        Self { most: usize::MAX, last: usize::MAX, ..self }
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
}
