//! Raw bytes without a meaning, and `bfloat16`, which other libraries store as raw bytes.

use super::fixed::{Fixed, elements};
use crate::dtype::{ByteOrder, Kind, MAX_ITEM_SIZE, Scalar};

/// `N` raw bytes without a meaning (`|V4` is `Void<4>`).
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{ReadNpyExt, Void, WriteNpyExt};
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

impl<const N: usize> Fixed for Void<N> {
    const UNIT: usize = 1;

    fn scalar(order: ByteOrder) -> Scalar {
        const { assert!(N <= MAX_ITEM_SIZE, "NumPy limits elements to 2147483647 bytes") };
        Scalar::new(Kind::Void, N, order).expect("the size has been checked") // above
    }
}

elements! {
    [const N: usize] Void<N>;
}

/// `bfloat16` as `ml_dtypes` and JAX store it: two raw bytes in little-endian order.
///
/// The header does not identify them as `bfloat16`, so they are read as such only if the caller asks for it.
#[cfg(feature = "half-2")]
mod bf16 {
    use half::bf16;

    use super::{ByteOrder, Kind, Scalar};
    use crate::dtype::DType;
    use crate::element::cast::{Bitwise, BitwiseOut};
    use crate::element::{
        ReadPlan, ReadableElement, ViewElement, ViewMutElement, WritableElement, WritePlan, mismatch,
    };
    use crate::error::{ErrorKind, Result};
    use crate::options::{ReadOptions, WriteOptions};

    /// Whether this machine's byte order differs from that of the bytes, which are little-endian.
    const IS_FOREIGN: bool = cfg!(target_endian = "big");

    fn dtype() -> DType {
        Scalar::new(Kind::Void, 2, ByteOrder::Little).expect("there are two raw bytes").into() // see Kind::allows
    }

    impl ReadableElement for bf16 {
        fn accept(found: &DType, _: &ReadOptions) -> Result<ReadPlan<Self>> {
            if *found == dtype() {
                Ok(ReadPlan::Bitwise(Bitwise::pod(2, IS_FOREIGN)))
            } else {
                Err(mismatch(found, dtype(), false))
            }
        }
    }

    impl WritableElement for bf16 {
        fn dtype_for(_: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
            // On big-endian machines, a request for big-endian order cannot be distinguished from the
            // default, which is native order.
            if options.get_byte_order() != ByteOrder::NATIVE && !IS_FOREIGN {
                let reason = "bf16 is stored as raw bytes, which have no byte order to choose".into();
                return Err(ErrorKind::BadOption { reason }.into());
            }
            Ok(dtype())
        }

        fn emit(_: &DType) -> WritePlan<Self> {
            WritePlan::Bitwise(BitwiseOut::new(2, IS_FOREIGN))
        }
    }

    impl ViewElement for bf16 {}
    impl ViewMutElement for bf16 {}
}
