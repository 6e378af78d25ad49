//! Other arrays out of a [`DynArray`]: of elements of another type, or in the other byte order.

use ndarray::{Array, Dimension};

use super::{Data, DynArray};
#[cfg(feature = "object")]
use crate::dtype::ByteOrder;
use crate::dtype::Casting;
use crate::dtype::DType;
#[cfg(feature = "object")]
use crate::element::mismatch;
use crate::element::{Change, ReadableElement, change};
use crate::error::Result;
use crate::header::Header;
use crate::options::ReadOptions;
use crate::transfer::tiles::{Work, recode_all};

impl DynArray {
    /// The elements converted to another type, by the rules of [`Casting`].
    ///
    /// # Errors
    ///
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the rule does not allow the conversion,
    /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a value has no counterpart,
    /// [`TextTooLong`](crate::error::ErrorKind::TextTooLong) if a text does not fit,
    /// [`RankMismatch`](crate::error::ErrorKind::RankMismatch) if the number of axes is another.
    ///
    /// # Examples
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

    /// The elements converted to a dtype that is known only when the program runs, by the rules of [`Casting`]: numbers and bools
    /// to one another, text (`U`, `S`) to text of another width or kind, numbers to text and back as NumPy spells and reads them,
    /// and times to other units. Text that does not fit is an error, and so are times that are too far away. Also into the other
    /// byte order, which elements of every dtype can be.
    ///
    /// # Errors
    ///
    /// [`DTypeMismatch`](crate::error::ErrorKind::DTypeMismatch) if the rule does not allow the conversion,
    /// [`NotConvertible`](crate::error::ErrorKind::NotConvertible) if a value has no counterpart,
    /// [`TextTooLong`](crate::error::ErrorKind::TextTooLong) if a text does not fit; [`Objects`](crate::error::ErrorKind::Objects) of
    /// Python objects; an error of the [format](crate::Error::is_format) if an element is not valid.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{arr1, Ix1};
    /// use ndarray_io::dtype::{ByteOrder, Kind, Scalar};
    /// use ndarray_io::{Casting, DynArray};
    ///
    /// let dtype = Scalar::new(Kind::Float, 4, ByteOrder::Big).unwrap();
    /// let array = DynArray::new(&arr1(&[1i64, -2]))?.cast_to(&dtype.into(), Casting::SameKind)?;
    /// assert_eq!(array.dtype().to_string(), "'>f4'");
    /// assert_eq!(array.bytes(), [0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn cast_to(&self, dtype: &DType, casting: Casting) -> Result<Self> {
        #[cfg(feature = "object")]
        if let Some(objects) = &self.objects {
            let native = |dtype: &DType| dtype.with_byte_order(ByteOrder::NATIVE);
            if native(self.dtype()) != native(dtype) {
                return Err(mismatch(self.dtype(), dtype.clone(), false));
            }
            let header = Header::new(dtype.clone(), self.order(), self.shape().into())?;
            return Ok(Self::of_objects(header, objects.clone()));
        }
        let change = change(self.dtype(), dtype, casting)?;
        let work = match &change {
            Change::Nothing => return Ok(self.clone()),
            Change::Swap(swap) => Work::InPlace(swap),
            Change::Recode(recode) => Work::Into(recode),
        };
        let header = Header::new(dtype.clone(), self.order(), self.shape().into())?;
        let mut data = Data::new(header.in_memory()?.1)?;
        let (item, made) = (self.dtype().item_size(), dtype.item_size());
        let threads = || ReadOptions::new().get_threads();
        recode_all(self.bytes(), item, data.bytes_mut(), made, work, threads)?;
        Ok(Self::of_data(header, data))
    }
}
