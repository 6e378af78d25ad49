//! What a caller may ask for when RA files are written.

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
pub struct RaOptions {
    write: WriteOptions,
    reversed: bool,
    compressed: bool,
    eltype_5: bool,
    trailing: Trailing,
}

/// What happens to bytes that stand behind the array of an RA file which is replaced.
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
#[non_exhaustive]
pub enum Trailing {
    /// They are not lost by accident: it is an error if there are any.
    #[default]
    Protect,
    /// They are kept, behind the new array.
    Keep,
    /// These bytes are written instead, which may be none.
    Write(Vec<u8>),
}

impl RaOptions {
    /// The defaults: the array's own shape, its elements as they are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Options that every format has. (Of them, version and order have no effect.)
    #[must_use]
    pub fn write(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Writes the axes in reverse, as some copies of the format's Python program do. The first dimension of an RA file varies
    /// fastest, so that the elements of an array in C order (ndarray's default) need not be turned round then; but whoever
    /// reads the file finds its axes reversed.
    #[must_use]
    pub fn reversed(mut self, reversed: bool) -> Self {
        self.reversed = reversed;
        self
    }

    /// Packs the data as one block of LZ4, as the format's program in C does. All of them are in memory for that.
    #[cfg(feature = "lz4")]
    #[must_use]
    pub fn compressed(mut self, compressed: bool) -> Self {
        self.compressed = compressed;
        self
    }

    /// Writes `bool` and `bf16` as the type 5, which some programs take for the one and some for the other, by the size, and
    /// the format's own do not know. By default `bool` is refused, and `bf16` is written as raw bytes.
    #[must_use]
    pub fn eltype_5(mut self, eltype_5: bool) -> Self {
        self.eltype_5 = eltype_5;
        self
    }

    /// What stands behind the array in the new file.
    #[must_use]
    pub fn trailing(mut self, trailing: Trailing) -> Self {
        self.trailing = trailing;
        self
    }

    /// What [`write`](Self::write) has set.
    pub fn get_write(&self) -> &WriteOptions {
        &self.write
    }

    /// What [`reversed`](Self::reversed) has set.
    pub fn get_reversed(&self) -> bool {
        self.reversed
    }

    /// Whether the data are packed.
    pub fn get_compressed(&self) -> bool {
        self.compressed
    }

    /// What [`eltype_5`](Self::eltype_5) has set.
    pub fn get_eltype_5(&self) -> bool {
        self.eltype_5
    }

    /// What [`trailing`](Self::trailing) has set.
    pub fn get_trailing(&self) -> &Trailing {
        &self.trailing
    }

    /// The options for the elements: the order is the one that needs no word in the header.
    pub(crate) fn element_options(&self) -> WriteOptions {
        let order = if self.reversed { Order::C } else { Order::Fortran };
        self.write.clone().order(order)
    }
}
