//! Other arrays out of a [`DynArray`]: of numbers of another type, and of one field of its records.

use ndarray::{Array, ArrayD, Dimension, ShapeBuilder};

use super::{Data, DynArray};
use crate::dtype::{DType, Field};
use crate::element::ReadableElement;
use crate::error::{ErrorKind, Result};
use crate::header::Header;
use crate::options::{Casting, ReadOptions};
use crate::shape::{Order, Shape};

impl DynArray {
    /// The elements converted to another type, by the rules of [`Casting`].
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::{Casting, DynArray};
    ///
    /// let array = DynArray::new(&arr1(&[1.9, -300.0]))?;
    /// assert_eq!(array.cast::<i8, _>(Casting::Unsafe)?, arr1(&[1, -128]));
    /// assert!(array.cast::<i8, ndarray::Ix1>(Casting::Safe).is_err());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn cast<A: ReadableElement, D: Dimension>(&self, casting: Casting) -> Result<Array<A, D>> {
        self.to_array_with(&ReadOptions::new().casting(casting))
    }

    /// One field of an array of records, copied; a field of a field by a path with dots.
    ///
    /// A field that is itself an array becomes axes behind those of the records.
    ///
    /// ```
    /// use ndarray::{arr1, Array1};
    /// use ndarray_io::{DynArray, ReadNpyExt};
    ///
    /// # let payload = [1u8, 0, 0, 128, 63, 2, 0, 0, 0, 64];
    /// # let text = "{'descr': [('id', '|u1'), ('x', '<f4')], 'fortran_order': False, 'shape': (2,), }";
    /// # let file = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), &payload[..]].concat();
    /// let points = DynArray::read_npy(&file[..])?; // of dtype [('id', '|u1'), ('x', '<f4')]
    /// let x: Array1<f32> = points.field("x")?.into_array().map_err(|(_, error)| error)?;
    /// assert_eq!(x, arr1(&[1.0, 2.0]));
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn field(&self, path: &str) -> Result<Self> {
        let (field, behind) = find(self.dtype(), path).ok_or_else(|| {
            let reason = format!("there is no field '{}' in {}", path.escape_debug(), self.dtype());
            ErrorKind::BadOption { reason }
        })?;
        let taken = self.take(field)?;
        match behind {
            None => Ok(taken),
            Some(path) => taken.field(path),
        }
    }

    fn take(&self, field: &Field) -> Result<Self> {
        let (dtype, from) = (field.dtype(), field.offset());
        let (base, inner) = match dtype {
            DType::Subarray(subarray) => (subarray.base().clone(), subarray.shape().clone()),
            dtype => (dtype.clone(), Shape::default()),
        };
        let shape: Vec<usize> = self.shape().iter().chain(inner.dims()).copied().collect();
        let header = Header::new(base, self.order(), shape.into())?;
        let (size, part) = (dtype.item_size(), header.dtype().item_size());
        let mut data = Data::new(header.payload_len().unwrap_or_default());
        if size == 0 {
            return Ok(Self { header, data }); // of no bytes there may be more elements than memory
        }

        // Where each element of a field goes behind the first: within a field they are in C order.
        let places: Vec<usize> = match self.order() {
            Order::C => (0..inner.len().unwrap_or_default()).collect(),
            Order::Fortran => {
                let places =
                    ArrayD::from_shape_vec(inner.dims().f(), (0..inner.len().unwrap_or_default()).collect());
                // A subarray's shape has been checked, and there is a number for each of its elements.
                places.expect("a number for each element").iter().map(|place| place * self.len()).collect()
            }
        };
        let step = if self.order() == Order::C { places.len() } else { 1 };
        let into = data.bytes_mut();
        for (record, bytes) in self.bytes().chunks_exact(self.dtype().item_size().max(1)).enumerate() {
            for (value, place) in bytes[from..from + size].chunks_exact(part.max(1)).zip(&places) {
                into[(record * step + place) * part..][..part].copy_from_slice(value);
            }
        }
        Ok(Self { header, data })
    }
}

/// The field that a path begins with, and what follows it in the path. A name may have dots itself: the longest that fits
/// is taken.
fn find<'d, 'p>(dtype: &'d DType, path: &'p str) -> Option<(&'d Field, Option<&'p str>)> {
    let DType::Record(record) = dtype else { return None };
    let matching = record.fields().iter().filter_map(|field| match path.strip_prefix(field.name())? {
        "" => Some((field, None)),
        behind => Some((field, Some(behind.strip_prefix('.')?))),
    });
    matching.max_by_key(|(field, _)| field.name().len())
}
