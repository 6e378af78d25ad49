//! Other arrays out of a [`DynArray`]: of numbers of another type, or in the other byte order.

use ndarray::{Array, ArrayD, Dimension};
use num_complex::Complex;

use super::DynArray;
use crate::dtype::{ByteOrder, DType, Kind};
use crate::element::{ReadableElement, WritableElement, swap_between};
use crate::error::{ErrorKind, Result};
use crate::header::Header;
use crate::options::{Casting, ReadOptions};

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

    /// The elements converted to a dtype that is known only when the program runs, by the rules of [`Casting`]: numbers to
    /// numbers, and text (`U`, `S`) to text of another width or kind, where an element that does not fit is an error. Also
    /// into the other byte order, which elements of every dtype can be.
    ///
    /// ```
    /// use ndarray::{arr1, Ix1};
    /// use ndarray_io::{ByteOrder, Casting, DynArray, Kind, Scalar};
    ///
    /// let dtype = Scalar::new(Kind::Float, 4, ByteOrder::Big).unwrap();
    /// let array = DynArray::new(&arr1(&[1i64, -2]))?.cast_to(&dtype.into(), Casting::SameKind)?;
    /// assert_eq!(array.dtype().to_string(), "'>f4'");
    /// assert_eq!(array.bytes(), [0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn cast_to(&self, dtype: &DType, casting: Casting) -> Result<Self> {
        if self.dtype().with_byte_order(ByteOrder::NATIVE) == dtype.with_byte_order(ByteOrder::NATIVE) {
            return self.reordered(dtype);
        }
        if let Some(texts) = self.cast_text(dtype, casting) {
            return texts?.reordered(dtype);
        }
        let number = dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
        let native = match number {
            Some((Kind::Int, 1)) => self.converted::<i8>(casting),
            Some((Kind::Int, 2)) => self.converted::<i16>(casting),
            Some((Kind::Int, 4)) => self.converted::<i32>(casting),
            Some((Kind::Int, 8)) => self.converted::<i64>(casting),
            Some((Kind::Uint, 1)) => self.converted::<u8>(casting),
            Some((Kind::Uint, 2)) => self.converted::<u16>(casting),
            Some((Kind::Uint, 4)) => self.converted::<u32>(casting),
            Some((Kind::Uint, 8)) => self.converted::<u64>(casting),
            #[cfg(feature = "half")]
            Some((Kind::Float, 2)) => self.converted::<half::f16>(casting),
            Some((Kind::Float, 4)) => self.converted::<f32>(casting),
            Some((Kind::Float, 8)) => self.converted::<f64>(casting),
            Some((Kind::Complex, 8)) => self.converted::<Complex<f32>>(casting),
            Some((Kind::Complex, 16)) => self.converted::<Complex<f64>>(casting),
            _ => {
                let advice =
                    "numbers are converted to integers, floats and complex numbers, and text to text".into();
                return Err(ErrorKind::DTypeMismatch {
                    found: self.dtype().clone(),
                    wanted: dtype.clone(),
                    advice,
                }
                .into());
            }
        };
        native?.reordered(dtype)
    }

    fn converted<A: ReadableElement + WritableElement>(&self, casting: Casting) -> Result<Self> {
        let array: ArrayD<A> = self.cast(casting)?;
        Self::new(&array)
    }

    /// The same elements with each byte order as in a dtype that differs in nothing else.
    pub(super) fn reordered(&self, dtype: &DType) -> Result<Self> {
        let header = Header::new(dtype.clone(), self.order(), self.shape().into())?;
        let mut data = self.data.clone();
        swap_between(self.dtype(), dtype, data.bytes_mut());
        Ok(Self {
            header,
            data,
            #[cfg(feature = "object")]
            objects: self.objects.clone(),
        })
    }
}
