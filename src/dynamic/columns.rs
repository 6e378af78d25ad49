//! Building arrays of records from columns, and reshaping.

use std::borrow::Cow;

use super::{AlignedBytes, DynArray};
use crate::dtype::{DType, RecordBuilder, Subarray};
use crate::error::{Error, Fault, Result, WantedShape};
use crate::header::Header;
use crate::options::WriteOptions;
use crate::shape::{Order, Shape};
use crate::transfer::Sink;

impl DynArray {
    /// Creates an array of records from one array per field, in C order.
    ///
    /// This is the inverse of [`DynArray::field`]. The first axis of each column is the axis of the records;
    /// further axes become a subarray.
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use ndarray_io::DynArray;
    ///
    /// let mass = DynArray::new(&arr1(&[1.5f32, 2.5]))?;
    /// let place = DynArray::new(&arr2(&[[1i16, 2], [3, 4]]))?;
    /// let stars = DynArray::from_columns([("mass", &mass), ("place", &place)])?;
    /// assert_eq!(stars.dtype().to_string(), "[('mass', '<f4'), ('place', '<i2', (2,))]");
    /// assert_eq!(stars.field("place")?.bytes(), place.bytes());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the columns have different lengths.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if a column has Python objects.
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if a column has no axes.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if there are no columns, or a name is empty or repeated.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if a record would take 2³¹ bytes or more, or if a subarray or the array would be
    ///   too large.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the array cannot be allocated.
    pub fn from_columns<'a, N: Into<String>>(
        columns: impl IntoIterator<Item = (N, &'a Self)>,
    ) -> Result<Self> {
        let (mut builder, mut parts, mut length) = (RecordBuilder::new(), Vec::new(), None);
        for (name, column) in columns {
            let name = name.into();
            let part = column.dtype_as_field(&mut length).map_err(|error| error.at_field(&name))?;
            builder = builder.field(name, part);
            parts.push(column.in_order(Order::C)?);
        }
        let Some(length) = length else {
            return Err(Fault::BadOption { reason: "at least one column is required".into() }.into());
        };
        let header = Header::new(builder.build()?, Order::C, [length].into())?;
        let mut data = AlignedBytes::new(&header)?;
        let (size, into) = (header.dtype().item_size(), data.bytes_mut());
        let mut offset = 0;
        for part in &parts {
            let item = part.bytes().len().checked_div(length).unwrap_or_default();
            // A field without bytes has nothing to copy, and `chunks_exact` panics for a length of 0.
            if item == 0 {
                continue;
            }
            for (record, value) in into.chunks_exact_mut(size).zip(part.bytes().chunks_exact(item)) {
                record[offset..][..item].copy_from_slice(value);
            }
            offset += item;
        }
        Ok(Self::of_data(header, data))
    }

    /// Returns the same elements in another shape, in C order, as `numpy.reshape` does.
    ///
    /// The elements of an array in C order are not copied, unless they are Python objects.
    ///
    /// ```
    /// use ndarray::{arr1, arr2, Ix2};
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr1(&[1, 2, 3, 4, 5, 6]))?;
    /// assert_eq!(array.reshape([2, 3])?.view::<i32, Ix2>()?, arr2(&[[1, 2, 3], [4, 5, 6]]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the shape has a different number of
    /// elements; [`Limit`](crate::error::ErrorKind::Limit) if it has more than 64 axes.
    pub fn reshape(self, shape: impl Into<Shape>) -> Result<Self> {
        let wanted = shape.into();
        if wanted.len() != Some(self.len() as u64) {
            return Err(Fault::ShapeMismatch {
                found: self.shape().into(),
                wanted: WantedShape::Exactly(wanted),
            }
            .into());
        }
        let mut array = match self.in_order(Order::C)? {
            Cow::Owned(reordered) => reordered,
            Cow::Borrowed(_) => self,
        };
        array.header = Header::new(array.dtype().clone(), Order::C, wanted)?;
        Ok(array)
    }

    /// Returns the dtype of a field with these elements. The first axis is the axis of the records.
    ///
    /// The first column sets `length`, the number of records, and the others must match it.
    fn dtype_as_field(&self, length: &mut Option<usize>) -> Result<DType> {
        if self.dtype().has_object() {
            return Err(Fault::Objects { found: self.dtype().clone() }.into());
        }
        let Some((own, within)) = self.shape().split_first() else {
            return Err(Fault::NoSuchAxis { axis: 0, shape: self.shape().into() }.into());
        };
        if *length.get_or_insert(*own) != *own {
            let mut wanted = self.shape().to_vec();
            wanted[0] = length.unwrap_or(*own);
            return Err(Fault::ShapeMismatch {
                found: self.shape().into(),
                wanted: WantedShape::Exactly(wanted.into()),
            }
            .into());
        }
        if within.is_empty() {
            return Ok(self.dtype().clone());
        }
        let too_large = || {
            let what = format!("a subarray of shape {} and dtype {}", Shape::from(within), self.dtype());
            Error::from(Fault::Overflow { what })
        };
        Ok(Subarray::with_merged_axes(self.dtype().clone(), within.into()).ok_or_else(too_large)?.into())
    }

    /// Returns the array with its elements in this order, as a copy unless they are in it already.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if there is not enough memory for the copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::header::Order;
    /// use ndarray_io::DynArray;
    ///
    /// let array = DynArray::new(&arr2(&[[1u8, 2], [3, 4]]))?;
    /// assert_eq!(array.in_order(Order::Fortran)?.bytes(), [1, 3, 2, 4]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn in_order(&self, order: Order) -> Result<Cow<'_, Self>> {
        // With at most one axis longer than 1, both orders are the same.
        if self.order() == order || self.header.shape_ref().is_same_in_both_orders() {
            return Ok(Cow::Borrowed(self));
        }
        let header = Header::new(self.dtype().clone(), order, self.shape().into())?;
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            let items = super::object::rearranged(objects, &self.header, order);
            return Ok(Cow::Owned(self.with_objects(header, items)));
        }
        let mut data = AlignedBytes::new(&header)?;
        self.write_elements(&mut Sink::of(&mut data.bytes_mut()), order, &WriteOptions::new())?;
        Ok(Cow::Owned(Self::of_data(header, data)))
    }
}
