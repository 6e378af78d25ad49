//! The stored elements in the order of their places.

use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, Casting, DynArray, Error, ReadableElement, Result, with_numbers};
use num_complex::Complex;

use super::check::numbers;
use super::dense::ZeroDetector;
use super::{Layout, Sparse, index_array};

/// A stored element: the number of its place in C order, and its number in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StoredElement {
    pub(super) position: u64,
    pub(super) data_index: usize,
}

impl Sparse {
    /// Returns the places of all stored elements, in the order of the data. (The sparse array has been checked.)
    pub(super) fn places(&self) -> Vec<StoredElement> {
        let numbers = |array: &DynArray| numbers("", array).unwrap_or_default();
        let columns = *self.shape.last().unwrap_or(&0) as u64;
        let mut places = Vec::new();
        // `f` is called with the row or column, the index and the number of each entry.
        let each = |indices: &DynArray, indptr: &DynArray, f: &mut dyn FnMut(u64, u64, usize)| {
            let indices = numbers(indices);
            for (major, pair) in numbers(indptr).windows(2).enumerate() {
                let first = pair[0] as usize;
                for (item, index) in indices[first..pair[1] as usize].iter().enumerate() {
                    f(major as u64, *index as u64, first + item);
                }
            }
        };
        match &self.layout {
            Layout::Csr { indices, indptr } => each(indices, indptr, &mut |row, column, data_index| {
                places.push(StoredElement { position: row * columns + column, data_index });
            }),
            Layout::Csc { indices, indptr } => each(indices, indptr, &mut |column, row, data_index| {
                places.push(StoredElement { position: row * columns + column, data_index });
            }),
            Layout::Bsr { indices, indptr } => {
                let [_, height, width] = *self.data.shape() else { return places };
                // Each block is in C order.
                each(indices, indptr, &mut |row, column, block| {
                    for y in 0..height {
                        for x in 0..width {
                            let position = (row * height as u64 + y as u64) * columns
                                + (column * width as u64 + x as u64);
                            places.push(StoredElement {
                                position,
                                data_index: (block * height + y) * width + x,
                            });
                        }
                    }
                });
            }
            Layout::Coo { coords } => {
                places = (0..self.data.len())
                    .map(|data_index| StoredElement { position: 0, data_index })
                    .collect();
                for (coords, length) in coords.iter().zip(&self.shape) {
                    for (place, index) in places.iter_mut().zip(numbers(coords)) {
                        place.position = place.position * *length as u64 + index as u64;
                    }
                }
            }
            Layout::Dia { offsets } => {
                let ([_, length], [rows, columns]) = (self.data.shape(), self.shape.as_slice()) else {
                    return places;
                };
                for (number, offset) in numbers(offsets).into_iter().enumerate() {
                    for column in 0..*length.min(columns) {
                        let row = i128::from(offset);
                        let row = column as i128 - row;
                        if (0..*rows as i128).contains(&row) {
                            let position = row as u64 * *columns as u64 + column as u64;
                            places.push(StoredElement { position, data_index: number * length + column });
                        }
                    }
                }
            }
        }
        places
    }

    /// Returns the places in C order, and the elements: those of one place are added, in their order.
    pub(super) fn sum_duplicates(&self) -> Result<(Vec<StoredElement>, DynArray)> {
        let dtype = self.data.dtype().with_byte_order(ByteOrder::NATIVE);
        let data = self.data.in_order(Order::C)?.cast_to(&dtype, Casting::Safe)?;
        let mut places = self.places();
        places.sort_unstable();
        if !places.windows(2).any(|pair| pair[0].position == pair[1].position) {
            return Ok((places, data));
        }
        let kind = dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
        let sums = match kind {
            Some((Kind::Bool, _)) => merge_duplicates(&mut places, items::<bool>(&data)?.into_iter()),
            Some((Kind::Complex, 8)) => {
                merge_duplicates(&mut places, items::<Complex<f32>>(&data)?.into_iter())
            }
            Some((Kind::Complex, 16)) => {
                merge_duplicates(&mut places, items::<Complex<f64>>(&data)?.into_iter())
            }
            _ => with_numbers!(data, |view| merge_duplicates(&mut places, view.iter().copied()))
                .unwrap_or_else(|_| {
                    let reason = "elements of one place cannot be added";
                    Err(Error::not_representable("a sparse matrix", &dtype, reason))
                }),
        };
        Ok((places, sums?))
    }

    /// Returns the matrix or vector with sorted rows and without duplicates, which are added; SciPy's `tocsr` and `sum_duplicates`.
    ///
    /// It works on a copy: the elements and their places are in memory twice.
    ///
    /// # Errors
    ///
    /// - [`Malformed`](ndarray_io::error::ErrorKind::Malformed) if it has more than two axes.
    /// - [`NotConvertible`](ndarray_io::error::ErrorKind::NotConvertible) if duplicate elements cannot be added: those of `longdouble`, for example.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::DynArray;
    /// use ndarray_io_formats::sparse::{Layout, Sparse};
    ///
    /// let numbers = |numbers: &[i32]| DynArray::new(&arr1(numbers));
    /// let coords = vec![numbers(&[1, 0, 1])?, numbers(&[2, 0, 2])?];
    /// let matrix = Sparse::new(Layout::Coo { coords }, [2, 3], DynArray::new(&arr1(&[1.5, 2.5, 3.5]))?)?;
    /// let matrix = matrix.to_csr()?;
    /// let Layout::Csr { indices, indptr } = matrix.layout() else { panic!("CSR") };
    /// assert_eq!((indices.to_string(), indptr.to_string()), ("[0, 2]".into(), "[0, 1, 2]".into()));
    /// assert_eq!(matrix.data().view::<f64, _>()?, arr1(&[2.5, 5.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn to_csr(&self) -> Result<Self> {
        let (rows, columns) = self.rows_and_columns()?;
        let (places, data) = self.canonical()?;
        let place_of = |place: &StoredElement| {
            ((place.position / columns as u64) as usize, (place.position % columns as u64) as usize)
        };
        let (indices, indptr) = indices_and_indptr(places.iter().map(place_of), rows, columns)?;
        self.with_layout(Layout::Csr { indices, indptr }, &data, &places)
    }

    /// Returns the matrix with sorted columns and without duplicates, which are added; SciPy's `tocsc` and `sum_duplicates`.
    ///
    /// It works on a copy, as [`to_csr`](Self::to_csr) does. A vector has no columns: it is an error.
    ///
    /// # Errors
    ///
    /// Those of [`to_csr`](Self::to_csr).
    pub fn to_csc(&self) -> Result<Self> {
        if self.shape.len() == 1 {
            return Err(super::malformed("1 axis, expected 2"));
        }
        let (rows, columns) = self.rows_and_columns()?;
        let (mut places, data) = self.canonical()?;
        let place_of = |place: &StoredElement| {
            ((place.position % columns as u64) as usize, (place.position / columns as u64) as usize)
        };
        places.sort_unstable_by_key(place_of);
        let (indices, indptr) = indices_and_indptr(places.iter().map(place_of), columns, rows)?;
        self.with_layout(Layout::Csc { indices, indptr }, &data, &places)
    }

    /// Returns the coordinates of all elements in C order, without duplicates, which are added: SciPy's `tocsr` and `tocoo`.
    ///
    /// It works on a copy, as [`to_csr`](Self::to_csr) does. There may be any number of axes.
    ///
    /// # Errors
    ///
    /// Those of [`to_csr`](Self::to_csr), except for the number of axes.
    pub fn to_coo(&self) -> Result<Self> {
        let (places, data) = self.canonical()?;
        let positions: Vec<u64> = places.iter().map(|place| place.position).collect();
        self.with_layout(Layout::Coo { coords: coordinates(&positions, &self.shape)? }, &data, &places)
    }

    /// Returns the matrix in another layout, with the elements of the places, in their order.
    fn with_layout(&self, layout: Layout, data: &DynArray, places: &[StoredElement]) -> Result<Self> {
        let size = data.dtype().item_size();
        let mut bytes = Vec::with_capacity(places.len() * size);
        for StoredElement { data_index, .. } in places {
            bytes.extend_from_slice(&data.bytes()[data_index * size..][..size]);
        }
        let data = DynArray::from_bytes(data.dtype().clone(), [places.len()], Order::C, &bytes)?;
        Ok(Self { layout, shape: self.shape.clone(), data, is_array: self.is_array })
    }

    /// Returns the elements in C order without duplicates, and of diagonals without the zeros that fill them, which SciPy leaves out as well.
    fn canonical(&self) -> Result<(Vec<StoredElement>, DynArray)> {
        let (mut places, data) = self.sum_duplicates()?;
        if let (Layout::Dia { .. }, Some(zeros)) = (&self.layout, ZeroDetector::of(data.dtype())) {
            let size = data.dtype().item_size();
            places.retain(|place| !zeros.are_zero(&data.bytes()[place.data_index * size..][..size]));
        }
        Ok((places, data))
    }

    /// Returns the numbers of rows and columns; a vector is one row.
    fn rows_and_columns(&self) -> Result<(usize, usize)> {
        match self.shape[..] {
            [columns] => Ok((1, columns)),
            [rows, columns] => Ok((rows, columns)),
            _ => Err(super::malformed(format!("{} axes, expected 1 or 2", self.shape.len()))),
        }
    }
}

/// Returns the indices and pointers of elements that are sorted by their row and column, or column and row. Both numbers come from the file.
fn indices_and_indptr(
    sorted_places: impl ExactSizeIterator<Item = (usize, usize)>,
    major_len: usize,
    minor_len: usize,
) -> Result<(DynArray, DynArray)> {
    let mut indptr = Vec::new();
    let bytes = (major_len as u64).saturating_add(1).saturating_mul(size_of::<usize>() as u64);
    let out_of_memory = |_| Error::out_of_memory(bytes);
    indptr.try_reserve_exact(major_len.saturating_add(1)).map_err(out_of_memory)?;
    indptr.resize(major_len + 1, 0);
    let largest = minor_len.max(sorted_places.len());
    let mut indices = Vec::with_capacity(sorted_places.len());
    for (major, minor) in sorted_places {
        indptr[major + 1] += 1;
        indices.push(minor);
    }
    for major in 0..major_len {
        indptr[major + 1] += indptr[major];
    }
    Ok((index_array(&indices, largest)?, index_array(&indptr, largest)?))
}

fn items<T: ReadableElement + Clone>(data: &DynArray) -> Result<Vec<T>> {
    Ok(data.cast::<T, ndarray::IxDyn>(Casting::Safe)?.into_iter().collect())
}

/// Adds the elements of each place, and makes the places refer to the sums.
fn merge_duplicates<T: Sum>(
    places: &mut Vec<StoredElement>,
    items: impl Iterator<Item = T>,
) -> Result<DynArray> {
    let items: Vec<T> = items.collect();
    let mut sums: Vec<T> = Vec::new();
    let mut kept: Vec<StoredElement> = Vec::new();
    for place in places.iter() {
        match (kept.last(), sums.last_mut()) {
            (Some(last), Some(sum)) if last.position == place.position => {
                *sum = sum.plus(items[place.data_index])
            }
            _ => {
                kept.push(StoredElement { position: place.position, data_index: sums.len() });
                sums.push(items[place.data_index]);
            }
        }
    }
    *places = kept;
    DynArray::new(&ndarray::Array1::from(sums))
}

/// Numbers that are added as NumPy adds them: integers wrap around.
pub(super) trait Sum: Copy + ndarray_io::WritableElement {
    fn plus(self, other: Self) -> Self;
}

macro_rules! wrapping {
    ($($type:ty)*) => {$(
        impl Sum for $type {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}

macro_rules! adding {
    ($($type:ty)*) => {$(
        impl Sum for $type {
            fn plus(self, other: Self) -> Self {
                self + other
            }
        }
    )*};
}

wrapping!(u8 u16 u32 u64 i8 i16 i32 i64);
adding!(f32 f64 Complex<f32> Complex<f64>);

impl Sum for bool {
    fn plus(self, other: Self) -> Self {
        self || other
    }
}

/// Returns the coordinates along each axis of positions in C order.
pub(super) fn coordinates(positions: &[u64], shape: &[usize]) -> Result<Vec<DynArray>> {
    let longest = shape.iter().copied().max().unwrap_or(0);
    let mut coords = vec![Vec::with_capacity(positions.len()); shape.len()];
    for position in positions {
        let mut rest = *position;
        for (coords, length) in coords.iter_mut().zip(shape).rev() {
            coords.push((rest % *length as u64) as usize);
            rest /= *length as u64;
        }
    }
    coords.iter().map(|coords| index_array(coords, longest)).collect()
}
