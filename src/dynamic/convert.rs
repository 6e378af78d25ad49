//! Conversion of a [`DynArray`] to another element type or byte order.

use ndarray::{Array, Dimension};

use super::{AlignedBytes, DynArray};
#[cfg(feature = "object")]
use crate::dtype::ByteOrder;
use crate::dtype::Casting;
use crate::dtype::DType;
#[cfg(feature = "object")]
use crate::elements::mismatch;
use crate::elements::{DTypeConversion, ReadableElement, dtype_conversion, resolve_target_dtype};
use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::transfer::tiles::{TileConversion, recode_all};

impl DynArray {
    /// Converts the elements to a Rust type, by the rules of [`Casting`].
    ///
    /// `how` is a [`Casting`], or options: the casting (by default none, so that the dtype must be that of the type),
    /// the format of `longdouble`s, and all others that apply to a file's elements.
    ///
    /// # Errors
    ///
    /// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the rules do not allow the conversion.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a value cannot be represented, or if a text does not fit.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the number of axes differs.
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the array cannot be allocated.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects and the requested
    ///   type is not.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::{Casting, DynArray};
    ///
    /// let array = DynArray::new(&arr1(&[1.9, -300.0]))?;
    /// assert_eq!(array.cast::<i8, _>(Casting::Unsafe)?, arr1(&[1, -128]));
    /// assert!(array.cast::<i8, ndarray::Ix1>(Casting::Safe).is_err());
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn cast<A: ReadableElement, D: Dimension>(&self, how: impl Into<ReadOptions>) -> Result<Array<A, D>> {
        self.to_array_with(&how.into())
    }

    /// Converts the elements to a dtype that is known only at run time, by the rules of [`Casting`].
    ///
    /// Numbers and bools convert to one another, text (`U`, `S`) to text of another width or kind, numbers and
    /// points in time to text and back in NumPy's notation, durations to text, and times to other units. Elements of every dtype convert to the
    /// other byte order. Text that is too long and times that are out of range are errors. As in NumPy, text without a width
    /// (`U`, `S`) has the width that NumPy reserves for the type (of durations, some need more, which is an error), and a time without a unit (`M8`, `m8`) keeps its unit. (A Rust type is a
    /// complete dtype: read as `Datetime64<Generic>`, a time loses its unit.)
    ///
    /// `how` is a [`Casting`], or options: the casting (by default `Safe`), the format of `longdouble`s, which numbers raw
    /// bytes are, and the number of threads.
    ///
    /// # Errors
    ///
    /// - [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the rules do not allow the conversion.
    /// - [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a value cannot be represented, or if a text does not fit.
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects, and the dtypes differ in
    ///   more than byte order.
    /// - A [format error](crate::Error::is_format) if an element is invalid.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the array cannot be allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndarray_io::dtype::{Kind, LongDoubleFormat, Scalar};
    /// use ndarray_io::{ByteOrder, Casting, DynArray, ReadOptions};
    ///
    /// let dtype = Scalar::new(Kind::Float, 4, ByteOrder::Big).unwrap();
    /// let array = DynArray::new(&arr1(&[1i64, -2]))?.cast_to(&dtype.into(), Casting::SameKind)?;
    /// assert_eq!(array.dtype().to_string(), "'>f4'");
    /// assert_eq!(array.bytes(), [0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0]);
    ///
    /// let quad = ReadOptions::new().long_double(LongDoubleFormat::Quad);
    /// let array = DynArray::new(&arr1(&[0.5]))?.cast_to(&"<f16".parse()?, &quad)?;
    /// assert_eq!(array.bytes()[14..], [0xFE, 0x3F]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn cast_to(&self, dtype: &DType, how: impl Into<ReadOptions>) -> Result<Self> {
        self.cast_by(dtype, &how.into())
    }

    fn cast_by(&self, dtype: &DType, options: &ReadOptions) -> Result<Self> {
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            // Objects stay as they are: only the byte order in the dtype may differ.
            let native = |dtype: &DType| dtype.with_byte_order(ByteOrder::NATIVE);
            if native(self.dtype()) != native(dtype) {
                return Err(mismatch(self.dtype(), dtype.clone(), false));
            }
            let header = Header::new(dtype.clone(), self.order(), self.shape().into())?;
            return Ok(self.with_objects(header, objects.clone()));
        }
        let header = self.header_with_raw_bytes_option(options)?;
        let dtype = &resolve_target_dtype(header.dtype(), dtype);
        let rules = options.rules_with_casting(options.get_casting().unwrap_or(Casting::Safe));
        let dtype_conversion = dtype_conversion(header.dtype(), dtype, rules)?;
        let conversion = match &dtype_conversion {
            DTypeConversion::Nothing if self.dtype() == dtype => return Ok(self.clone()),
            DTypeConversion::Nothing => TileConversion::Nothing,
            DTypeConversion::Swap(swap) => TileConversion::InPlace(swap),
            DTypeConversion::Recode(recode) => TileConversion::Into(recode),
        };
        let header = Header::new(dtype.clone(), self.order(), self.shape().into())?;
        let mut data = AlignedBytes::new(&header)?;
        let (item, made) = (self.dtype().item_size(), dtype.item_size());
        let threads = || options.get_threads();
        recode_all(self.bytes(), item, data.bytes_mut(), made, conversion, threads)
            .map_err(|error| self.element_error(error))?;
        Ok(Self::of_data(header, data))
    }
}
