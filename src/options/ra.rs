//! Options for writing RA files.

use super::WriteOptions;
use crate::shape::Order;

/// Options for writing RA files.
///
/// ```
/// use ndarray::arr2;
/// use ndarray_io::ra::{RaOptions, WriteRaExt};
///
/// let mut file = Vec::new();
/// arr2(&[[1u8, 2], [3, 4]]).write_ra_with(&mut file, &RaOptions::new().reversed(true))?;
/// assert!(file.ends_with(&[1, 2, 3, 4]));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", default, deny_unknown_fields))]
pub struct RaOptions {
    #[cfg_attr(feature = "serde-1", serde(rename = "write_options"))]
    write: WriteOptions,
    reversed: bool,
    compressed: bool,
    eltype_5: bool,
    trailing: Trailing,
}

/// What happens to bytes that follow the array when an RA file is replaced.
///
/// ```
/// use ndarray::arr1;
/// use ndarray_io::options::Trailing;
/// use ndarray_io::ra::{RaOptions, write_ra, write_ra_with};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.ra");
/// let note = RaOptions::new().trailing(Trailing::Write(b"taken on Monday".to_vec()));
/// write_ra_with(&path, &arr1(&[1.0]), &note)?;
/// assert!(write_ra(&path, &arr1(&[2.0])).unwrap_err().is_conflict()); // the note would be lost
/// write_ra_with(&path, &arr1(&[2.0]), &RaOptions::new().trailing(Trailing::Keep))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde-1", derive(serde_1::Serialize, serde_1::Deserialize))]
#[cfg_attr(feature = "serde-1", serde(crate = "serde_1", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Trailing {
    /// Protects the bytes: if there are any, the write fails with
    /// [`CannotReplace`](crate::error::ErrorKind::CannotReplace).
    #[default]
    Protect,
    /// Keeps the bytes, after the new array.
    ///
    /// Writing to a writer instead of a path is then an error,
    /// [`BadOption`](crate::error::ErrorKind::BadOption), because there is no existing file.
    Keep,
    /// Replaces the bytes with these, which may be empty.
    Write(Vec<u8>),
}

impl RaOptions {
    /// Returns the defaults: the array's own shape, and its elements uncompressed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the options that all formats share. The version and the order have no effect on RA files.
    #[must_use]
    pub fn write_options(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Writes the axes in reverse order, as some versions of the format's Python program do.
    ///
    /// The first axis of an RA file varies fastest. With this option, an array in C order (ndarray's default)
    /// need not be transposed, but readers see its axes in reverse order.
    #[must_use]
    pub fn reversed(mut self, reversed: bool) -> Self {
        self.reversed = reversed;
        self
    }

    /// Compresses the data as a single LZ4 block, as the format's C program does.
    ///
    /// The compressed data is buffered in memory. An array of more than 2,113,929,216 bytes is an error,
    /// [`BadOption`](crate::error::ErrorKind::BadOption); so is any array without the feature `lz4`.
    #[must_use]
    pub fn compressed(mut self, compressed: bool) -> Self {
        self.compressed = compressed;
        self
    }

    /// Writes `bool`, `bf16` and all other raw elements of 2 bytes as element type 5.
    ///
    /// Some programs interpret this type by its size, some always as `bool` or always as `bf16`, and some
    /// cannot read it. By default, `bool` is an error,
    /// [`NotRepresentable`](crate::error::ErrorKind::NotRepresentable), and `bf16` is written as raw bytes.
    #[must_use]
    pub fn eltype_5(mut self, eltype_5: bool) -> Self {
        self.eltype_5 = eltype_5;
        self
    }

    /// Sets what follows the array in the new file.
    #[must_use]
    pub fn trailing(mut self, trailing: Trailing) -> Self {
        self.trailing = trailing;
        self
    }

    /// Returns whether the data is compressed.
    pub(crate) fn get_compressed(&self) -> bool {
        self.compressed
    }

    /// Returns the value set with [`eltype_5`](Self::eltype_5).
    pub(crate) fn get_eltype_5(&self) -> bool {
        self.eltype_5
    }

    /// Returns the value set with [`trailing`](Self::trailing).
    pub(crate) fn get_trailing(&self) -> &Trailing {
        &self.trailing
    }

    /// Returns the options for the elements, in the order that the header assumes.
    pub(crate) fn element_options(&self) -> WriteOptions {
        let order = if self.reversed { Order::C } else { Order::Fortran };
        self.write.clone().order(order)
    }
}
