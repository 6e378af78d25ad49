//! Fields of a [`DynArray`] of records: copied into separate arrays, or viewed in place.

use std::collections::HashSet;

use ndarray::{ArrayView, ArrayViewMut, Dimension};

use super::{AlignedBytes, DynArray};
use crate::array::dimension;
use crate::dtype::{DType, Field, FieldPath};
use crate::elements::cast::{self, StridedLayout};
use crate::elements::{ViewElement, ViewMutElement, mismatch, view_token};
use crate::error::{Error, Fault, Result};
use crate::header::Header;
use crate::options::ReadOptions;
use crate::shape::Order;
use crate::transfer::tiles::gather_strided_parallel;

impl DynArray {
    /// Copies one field of an array of records.
    ///
    /// The field is selected by its name, title, number or path: see [`FieldPath`]. If the field is itself an
    /// array, its axes follow those of the records. If the type is known, [`DynArray::field_view`] avoids the
    /// copy.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) if there is no such field,
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if a text matches several fields.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the records contain Python objects.
    /// - [`Limit`](crate::error::ErrorKind::Limit) if the field would have more than 64 axes.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the copy cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::{DynArray, ReadNpyExt};
    ///
    /// # let payload = [1u8, 0, 0, 128, 63, 2, 0, 0, 0, 64];
    /// # let text = "{'descr': [('id', '|u1'), ('x', '<f4')], 'fortran_order': False, 'shape': (2,), }";
    /// # let file = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &payload[..]].concat();
    /// let points = DynArray::read_npy(&file[..])?; // of dtype [('id', '|u1'), ('x', '<f4')]
    /// let x: Array1<f32> = points.field("x")?.into_array()?;
    /// assert_eq!(x, arr1(&[1.0, 2.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn field<'p>(&self, path: impl Into<FieldPath<'p>>) -> Result<Self> {
        let column = FieldLayout::of(self, &path.into())?;
        let header = column.header(self)?;
        let mut data = AlignedBytes::new(&header)?;
        if data.len() == 0 {
            return Ok(Self::of_data(header, data)); // without bytes, the number of elements is not bounded by memory
        }
        // Records are contiguous in any order of the array; within a field, the elements are in C order.
        let records = (self.len(), self.dtype().item_size());
        let inner = column.subarray_dims.iter().copied().zip(column.inner_strides.iter().copied());
        let axes: Vec<(usize, usize)> = match self.order() {
            Order::C => std::iter::once(records).chain(inner).collect(),
            Order::Fortran => inner.rev().chain([records]).collect(),
        };
        let (part, threads) = (header.dtype().item_size(), || ReadOptions::new().get_threads());
        gather_strided_parallel(self.bytes(), column.offset, &axes, part, data.bytes_mut(), threads);
        Ok(Self::of_data(header, data))
    }

    /// Returns one field of an array of records as a strided view.
    ///
    /// Nothing is copied, and the time does not depend on the number of records unless values of the type can
    /// be invalid: then every element is checked, as for `bool`. For a field that cannot be viewed,
    /// [`DynArray::field`] makes a copy.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) if there is no such field,
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if a text matches several fields.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the records contain Python objects.
    /// - A [mismatch](crate::Error::is_mismatch) if the field has a different type or number of axes, is in
    ///   the other byte order, is misaligned, or has a stride that is not a multiple of its size. (NumPy's
    ///   `align=True` prevents the latter two for integers and floats.)
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, arr2, Ix1, Ix2};
    /// use ndarray_io::{DynArray, ReadNpyExt};
    ///
    /// # let payload: Vec<u8> = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    /// # let text = "{'descr': [('mass', '<f4'), ('at', '<f4', (2,))], 'fortran_order': False, 'shape': (2,), }";
    /// # let file = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &payload[..]].concat();
    /// let points = DynArray::read_npy(&file[..])?; // of dtype [('mass', '<f4'), ('at', '<f4', (2,))]
    /// assert_eq!(points.field_view::<f32, Ix1>("mass")?, arr1(&[1.0, 4.0]));
    /// assert_eq!(points.field_view::<f32, Ix2>("at")?, arr2(&[[2.0, 3.0], [5.0, 6.0]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn field_view<'p, A: ViewElement, D: Dimension>(
        &self,
        path: impl Into<FieldPath<'p>>,
    ) -> Result<ArrayView<'_, A, D>> {
        let path = path.into();
        let column = FieldLayout::of(self, &path)?;
        let strided_layout = column.strided_layout(self)?;
        let bitwise = view_token(column.dtype, &ReadOptions::new())
            .map_err(|error| error.at_field(&path.to_string()))?;
        cast::view_strided(&bitwise, self.bytes(), strided_layout).map_err(error_locator(
            &self.header,
            column.header(self)?,
            &path,
        ))
    }

    /// Returns one field of an array of records as a mutable strided view.
    ///
    /// This is the mutable counterpart of [`DynArray::field_view`].
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](crate::error::ErrorKind::NoSuchName) if there is no such field,
    ///   [`BadOption`](crate::error::ErrorKind::BadOption) if a text matches several fields.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the records contain Python objects.
    /// - A [mismatch](crate::Error::is_mismatch) if the field has a different type or number of axes, is in
    ///   the other byte order, is misaligned, or has a stride that is not a multiple of its size.
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    ///
    /// # Examples
    ///
    /// ```
    /// # use ndarray::{arr1, Ix1};
    /// # use ndarray_io::{DynArray, ReadNpyExt};
    /// # let text = "{'descr': [('id', '|u1'), ('x', '|u1')], 'fortran_order': False, 'shape': (2,), }";
    /// # let file = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &[1, 2, 3, 4]].concat();
    /// let mut points = DynArray::read_npy(&file[..])?; // of dtype [('id', '|u1'), ('x', '|u1')]
    /// points.field_view_mut::<u8, Ix1>("x")?.fill(9);
    /// assert_eq!(points.bytes(), [1, 9, 3, 9]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn field_view_mut<'p, A: ViewMutElement, D: Dimension>(
        &mut self,
        path: impl Into<FieldPath<'p>>,
    ) -> Result<ArrayViewMut<'_, A, D>> {
        let path = path.into();
        let column = FieldLayout::of(self, &path)?;
        let strided_layout = column.strided_layout(self)?;
        let bitwise = view_token(column.dtype, &ReadOptions::new())
            .map_err(|error| error.at_field(&path.to_string()))?;
        bitwise.check_no_padding(column.dtype).map_err(|error| error.at_field(&path.to_string()))?;
        let error_locator = error_locator(&self.header, column.header(self)?, &path);
        cast::view_strided_mut(&bitwise, self.data.bytes_mut(), strided_layout).map_err(error_locator)
    }
}

/// Returns a function that adds a field to an error, and the element that has it.
///
/// The error counts the items of the field, whose header is `column`, in C order.
fn error_locator(array: &Header, column: Header, path: &FieldPath<'_>) -> impl Fn(Error) -> Error {
    let (array, path) = (array.clone(), path.to_string());
    move |error| {
        let in_array = |item: usize| {
            let index = column.shape_ref().index_of(item as u64, Order::C);
            array.shape_ref().linear_index(&index, array.order()) as usize
        };
        array.add_axis_indices(error.map_element(in_array), 0).at_field(&path)
    }
}

/// The position of a field within each record.
struct FieldLayout<'a> {
    offset: usize,
    /// The dtype of its elements; never a subarray.
    dtype: &'a DType,
    /// The lengths of the axes of all subarrays on the path to the elements.
    subarray_dims: Vec<usize>,
    /// The strides of these axes, in bytes.
    inner_strides: Vec<usize>,
}

impl<'a> FieldLayout<'a> {
    fn of(array: &'a DynArray, path: &FieldPath<'_>) -> Result<Self> {
        if array.dtype().has_object() {
            return Err(mismatch(array.dtype(), array.dtype().clone(), false));
        }
        let start =
            Self { offset: 0, dtype: array.dtype(), subarray_dims: Vec::new(), inner_strides: Vec::new() };
        let mut found = Vec::new();
        match path {
            FieldPath::Index(index) => {
                let field = start.dtype.as_record().and_then(|record| record.fields().get(*index));
                found.extend(field.map(|field| start.nested(field)));
            }
            FieldPath::Names(names) if names.is_empty() => {}
            FieldPath::Names(names) => {
                let nested =
                    |column: Self, name: &&str| Some(column.nested(column.dtype.as_record()?.field(name)?));
                found.extend(names.iter().try_fold(start, nested));
            }
            FieldPath::Text(text) => start.collect_matches(text, &mut found, &mut HashSet::new()),
        }
        let path = path.to_string();
        Err(match found.len() {
            1 => return Ok(found.remove(0)),
            0 => Fault::NoSuchField { field: path, available: first_field_names(array.dtype()) },
            _ => Fault::BadOption {
                reason: format!("'{}' could be several of the fields", path.escape_debug()),
            },
        }
        .into())
    }

    /// Collects the fields that a text can name.
    ///
    /// A text matches a field with this name or title, or otherwise a path of names joined by dots. Since
    /// names may contain dots, a text can be ambiguous; the search stops at the second match. It skips the
    /// states in `dead_ends`, which led to no match, so that the number of splits does not grow exponentially.
    fn collect_matches(&self, text: &str, found: &mut Vec<Self>, dead_ends: &mut HashSet<(usize, usize)>) {
        let Some(record) = self.dtype.as_record() else { return };
        // A field with exactly this name has priority over a path.
        if let Some(field) = record.field(text) {
            found.push(self.nested(field));
            return;
        }
        // The remaining text is a suffix of the path, so its length identifies it.
        let (state, before) = ((record.fields().as_ptr().addr(), text.len()), found.len());
        if dead_ends.contains(&state) {
            return;
        }
        for (dot, _) in text.match_indices('.') {
            if let Some(field) = record.field(&text[..dot]) {
                self.nested(field).collect_matches(&text[dot + 1..], found, dead_ends);
            }
            if found.len() > 1 {
                return;
            }
        }
        if found.len() == before {
            dead_ends.insert(state);
        }
    }

    fn nested(&self, field: &'a Field) -> Self {
        let Self { offset, dtype, subarray_dims, inner_strides } = self;
        let mut column = Self {
            offset: offset + field.offset(),
            dtype,
            subarray_dims: subarray_dims.clone(),
            inner_strides: inner_strides.clone(),
        };
        column.set_dtype_and_add_axes(field.dtype());
        column
    }

    /// Sets the dtype to that of a field, and turns its subarrays, at any level, into axes.
    fn set_dtype_and_add_axes(&mut self, dtype: &'a DType) {
        self.dtype = dtype;
        while let DType::Subarray(subarray) = self.dtype {
            self.dtype = subarray.base();
            let size = self.dtype.item_size();
            self.subarray_dims.extend(subarray.shape());
            self.inner_strides
                .extend(subarray.shape_ref().strides(Order::C).iter().map(|stride| *stride as usize * size));
        }
    }

    /// Returns the header of the field as a separate array.
    fn header(&self, array: &DynArray) -> Result<Header> {
        let shape: Vec<usize> = array.shape().iter().chain(&self.subarray_dims).copied().collect();
        Header::new(self.dtype.clone(), array.order(), shape.into())
    }

    /// Returns the layout of the field's elements within the bytes of the array.
    fn strided_layout<D: Dimension>(&self, array: &DynArray) -> Result<StridedLayout<D>> {
        let header = self.header(array)?;
        let size = array.dtype().item_size();
        let outer = array.header.shape_ref().strides(array.order());
        let strides =
            outer.iter().map(|stride| *stride as usize * size).chain(self.inner_strides.iter().copied());
        Ok(StridedLayout {
            offset: self.offset,
            dim: dimension(header.shape_ref())?,
            strides: strides.collect(),
        })
    }
}

/// Returns the names of the fields for an error, at most 20 of them.
///
/// The error does not have the dtype: nested records share their parts, so its text can be larger than memory.
fn first_field_names(dtype: &DType) -> Vec<String> {
    const MAX_NAMES: usize = 20;
    let fields = dtype.as_record().map(|record| record.fields()).unwrap_or_default();
    fields.iter().take(MAX_NAMES).map(|field| field.name().to_owned()).collect()
}
