//! [`Look`]: how an array is shown.

/// How an array is shown: how much of it, how wide, and with how many digits.
///
/// # Examples
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::DynArray;
/// use ndarray_io::options::Look;
///
/// let array = DynArray::new(&arr1(&[1.0 / 3.0, 2.0, 0.25, 1e9]))?;
/// let look = Look::new().precision(3).width(40);
/// assert_eq!(array.shown(&look), "[       0.333,          2.0,\n         0.25, 1000000000.0]");
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Look {
    /// Arrays of more elements show their edges only.
    pub(crate) most: usize,
    /// An array of many axes has many edges: after so many elements the rest is left out.
    pub(crate) last: usize,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
}

impl Default for Look {
    fn default() -> Self {
        Self { most: 1000, last: 10_000, width: usize::MAX, precision: None }
    }
}

impl Look {
    /// As `Display` shows arrays: the edges alone of more than 1000 elements, a line for each row, all digits that matter.
    pub fn new() -> Self {
        Self::default()
    }

    /// All elements, of however large an array.
    #[must_use]
    pub fn all(self) -> Self {
        Self { most: usize::MAX, last: usize::MAX, ..self }
    }

    /// Rows of more columns of text than this go on in another line.
    #[must_use]
    pub fn width(self, columns: usize) -> Self {
        Self { width: columns, ..self }
    }

    /// Floating-point numbers have at most so many digits after the point.
    #[must_use]
    pub fn precision(self, digits: usize) -> Self {
        // What `format!` can write, and more than any number has.
        Self { precision: Some(digits.min(1100)), ..self }
    }
}
