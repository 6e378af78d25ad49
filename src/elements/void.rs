//! Raw bytes without a meaning.

use std::fmt;

use super::ReadPlan;
use super::cast::Bitwise;
use super::fixed::{ScalarElement, elements};
use crate::dtype::{ByteOrder, DType, Kind, MAX_ITEM_SIZE, Scalar};
use crate::options::ReadOptions;

/// `N` raw bytes without a meaning (`|V4` is `Void<4>`).
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::element::Void;
/// use ndarray_io::{ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[Void([1, 2, 3])]).write_npy(&mut file)?;
/// assert_eq!(Array1::<Void<3>>::read_npy(&file[..])?[0].0, [1, 2, 3]);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Void<const N: usize>(pub [u8; N]);

impl<const N: usize> Default for Void<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Formats bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Formats the bytes in hexadecimal digits: `0x0102`.
impl<const N: usize> fmt::Display for Void<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl<const N: usize> ScalarElement for Void<N> {
    const SWAP_UNIT: usize = 1;

    fn scalar(order: ByteOrder) -> Scalar {
        const { assert!(N <= MAX_ITEM_SIZE, "NumPy limits elements to 2147483647 bytes") };
        Scalar::new(Kind::Void, N, order).expect("the size has been checked") // above
    }

    fn implicit_read_plan(found: &DType, _: &ReadOptions) -> Option<ReadPlan<Self>> {
        (found.stored() == Self::scalar(ByteOrder::NATIVE).into())
            .then(|| ReadPlan::Bitwise(Bitwise::pod(1, false)))
    }
}

elements! {
    [const N: usize] Void<N>;
}
