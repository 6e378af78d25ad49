//! Copies of scattered elements out of maps.
#![allow(unsafe_code)]

use std::sync::Arc;

use memmap2::MmapOptions;
use ndarray::{Array, ArrayD, Dimension, IxDyn, ShapeBuilder, SliceArg};

use super::NpyMmap;
use crate::bytes::{InMemory, ReadAt, Region, Runs, len_of_regular};
use crate::elements::{ReadPlan, ViewElement};
use crate::error::{Error, Fault, Result};
use crate::header::Header;
use crate::options::ReadOptions;
use crate::parts::{Axes, NpyFile, Selection, arranged};
use crate::shape::{AxisIndex, Order};
use crate::transfer::{self, Source};

impl NpyFile {
    /// Maps the elements, so that scattered ones are copied from memory.
    ///
    /// A part that consists of many short runs, such as the rows of [`take`](NpyFile::take), or a column, is then
    /// copied out of the map instead of being read by one system call a run, or together with the bytes between them. That is
    /// several times faster if the system has cached the file. If it has not, pages are loaded one after another as
    /// they are accessed, where reading without a map requests all of them at once. Runs of 16 KiB or more, and parts that
    /// are one run, are read as without a map.
    ///
    /// [`refresh`](NpyFile::refresh) maps the new rows as well.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the elements are not
    ///   stored as they are in a regular file.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if the elements do not fit into the address space.
    ///
    /// # Safety
    ///
    /// From this call on, while the handle exists, nothing in this process or another may change the file's elements
    /// or truncate the file, as for [`NpyMmap::open`](crate::NpyMmap); of a member, that is its archive. Appending rows, and replacing the file as
    /// [`write_npy`](crate::write_npy) does, is harmless.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, arr2};
    /// use ndarray_io::NpyFile;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::from_shape_fn((1000, 3), |(row, column)| (row * 10 + column) as u64))?;
    /// // SAFETY: nothing changes this file.
    /// let file = unsafe { NpyFile::open(&path)?.with_map()? };
    /// let batch: Array2<u64> = file.take(0, &[700, 2])?;
    /// assert_eq!(batch, arr2(&[[7000, 7001, 7002], [20, 21, 22]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "mmap")))]
    pub unsafe fn with_map(mut self) -> Result<Self> {
        // SAFETY: the caller upholds the same contract.
        let map = || unsafe { map_elements(&self) };
        let map = map().map_err(|error| self.at_path(error))?;
        self.set_map(map, |file| {
            // SAFETY: the handle has this function only from the caller of `with_map`, whose contract holds until the
            // handle is dropped.
            unsafe { map_elements(file) }
        });
        Ok(self)
    }
}

/// Maps the elements of a file.
///
/// # Safety
///
/// As for [`NpyFile::with_map`].
unsafe fn map_elements(file: &NpyFile) -> Result<Arc<dyn ReadAt>> {
    let refused = |reason: &str| Error::from(Fault::BadOption { reason: reason.into() });
    let payload = file.payload();
    let Some((regular, at)) = payload.file() else {
        return Err(refused("only elements that are stored as they are in a regular file can be mapped"));
    };
    // What is missing is not mapped: accessing a page past the end of a file would be a fault. The file itself says where it
    // ends; the size of a source may be a lie.
    let Some(end) = len_of_regular(regular) else {
        return Err(refused("it is not a regular file: only regular files can be mapped"));
    };
    let len = end.saturating_sub(at).min(file.header().payload_len().unwrap_or_default());
    let mut how = MmapOptions::new();
    how.offset(at).len(usize::try_from(len).map_err(|_| Fault::OutOfMemory { bytes: len })?);
    // SAFETY: the caller guarantees that these bytes do not change.
    Ok(Arc::new(InMemory(unsafe { how.map(regular)? })))
}

impl<A: ViewElement, D: Dimension> NpyMmap<A, D> {
    /// Copies the part of the array that ndarray's `slice` would select, on several threads if it is large.
    ///
    /// The elements are those of `map.view().slice(…)`. A slice that is out of bounds is an error instead of a panic.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the slice is out of bounds, [`BadOption`](crate::error::ErrorKind::BadOption) if it
    ///   has a step of 0.
    /// - [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the slice has a different number of axes.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if there is not enough memory for the copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array2, Ix2, arr2, s};
    /// use ndarray_io::NpyMmap;
    ///
    /// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
    /// ndarray_io::write_npy(&path, &Array2::from_shape_fn((100, 3), |(row, column)| (row * 10 + column) as u64))?;
    /// // SAFETY: nothing changes this file.
    /// let map = unsafe { NpyMmap::<u64, Ix2>::open(&path)? };
    /// assert_eq!(map.slice(s![..2, ..;2])?, arr2(&[[0, 2], [10, 12]]));
    /// assert_eq!(map.take(0, &[70, 0])?, arr2(&[[700, 701, 702], [0, 1, 2]]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice<I: SliceArg<IxDyn>>(&self, slice: I) -> Result<Array<A, I::OutDim>> {
        let header = &self.mapped.header;
        let selection = Axes::of(header, 0)?.selection(&slice)?;
        let (header, picked) = selection.locate(header)?;
        arranged(&selection, self.copy_runs(&header, &picked)?)
    }

    /// Copies the given indices along an axis, in the given order, as `numpy.take` does.
    ///
    /// An index may occur more than once. See [`slice`](NpyMmap::slice) for an example.
    ///
    /// # Errors
    ///
    /// - [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the axis does not exist or an index is out of bounds.
    /// - [`Malformed`](crate::error::ErrorKind::Malformed) if the copy would be larger than the address space.
    /// - [`OutOfMemory`](crate::error::ErrorKind::OutOfMemory) if there is not enough memory for the copy.
    #[expect(clippy::missing_panics_doc, reason = "what is expected holds by construction")]
    pub fn take(&self, axis: impl AxisIndex, indices: &[usize]) -> Result<Array<A, D>> {
        let (header, picked) = Selection::locate_indices(&self.mapped.header, axis.number(), indices)?;
        let array = self.copy_runs(&header, &picked)?;
        Ok(array.into_dimensionality().expect("as many axes as the array has"))
    }

    /// Copies selected elements.
    fn copy_runs(&self, header: &Header, picked: &Runs) -> Result<ArrayD<A>> {
        let mut source = Source::runs(Region::of_memory(&self.map), picked);
        let how = ReadPlan::Bitwise(self.mapped.bitwise.duplicate());
        let items = transfer::read(&mut source, header, how, &ReadOptions::new())?;
        let shape = IxDyn(header.shape()).set_f(header.order() == Order::Fortran);
        Ok(ArrayD::from_shape_vec(shape, items).expect("an element for each of the shape"))
    }
}
