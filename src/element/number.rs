//! Integers and floats: their memory is the file's bytes, in one order or the other.

use super::cast::{self, Plain, PlainOut};
use super::{Emit, How, ReadableElement, ViewElement, ViewMutElement, WritableElement, convert, mismatch};
use crate::dtype::{ByteOrder, DType, Kind, Scalar};
use crate::error::Result;
use crate::options::{ReadOptions, WriteOptions};

/// A type of NumPy's whose memory any bytes may be, made of units that are swapped one by one.
pub(super) trait Number: bytemuck::Pod + Send + Sync + convert::Convert {
    const KIND: Kind;
    /// The size of what is swapped: the whole, but half of a complex number.
    const UNIT: usize;
}

pub(super) fn dtype<T: Number>(order: ByteOrder) -> DType {
    let scalar = Scalar::new(T::KIND, size_of::<T>(), order);
    // The table below names no size that a kind does not have; the tests write and read each of them.
    DType::from(scalar.expect("each number's kind has its size"))
}

pub(super) fn accept<T: Number>(dtype: &DType, options: &ReadOptions) -> Result<How<T>> {
    if let DType::Scalar(scalar) = dtype {
        if (scalar.kind(), scalar.size()) == (T::KIND, size_of::<T>()) {
            return Ok(How::Plain(Plain::pod(T::UNIT, scalar.is_foreign())));
        }
        if let Some(casting) = options.the_casting() {
            return convert::accept(scalar, casting, self::dtype::<T>(ByteOrder::NATIVE));
        }
    }
    let can_convert = dtype.as_scalar().is_some_and(|scalar| T::decoder(scalar).is_some());
    Err(mismatch(dtype, self::dtype::<T>(ByteOrder::NATIVE), can_convert))
}

/// Gives number types the four traits.
macro_rules! elements {
    ($($type:ty: $kind:ident, $unit:expr;)*) => {$(
        impl $crate::element::number::Number for $type {
            const KIND: Kind = Kind::$kind;
            const UNIT: usize = $unit;
        }

        impl ReadableElement for $type {
            fn accept(dtype: &DType, options: &ReadOptions) -> Result<How<Self>> {
                $crate::element::number::accept(dtype, options)
            }
        }

        impl WritableElement for $type {
            fn dtype_for(_: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
                Ok($crate::element::number::dtype::<Self>(options.the_byte_order()))
            }

            fn emit(dtype: &DType) -> Emit<Self> {
                let swap = dtype.as_scalar().is_some_and(Scalar::is_foreign);
                Emit::Plain(PlainOut::new($unit, swap))
            }
        }

        impl ViewElement for $type {
            fn view(bytes: &[u8], len: usize) -> Result<&[Self]> {
                cast::view(&Plain::pod($unit, false), bytes, len)
            }
        }

        impl ViewMutElement for $type {
            fn view_mut(bytes: &mut [u8], len: usize) -> Result<&mut [Self]> {
                cast::view_mut(&Plain::pod($unit, false), bytes, len)
            }
        }
    )*};
}
pub(super) use elements;

/// The kinds and sizes that have a Rust type here, for messages.
pub(super) const TYPES: &[(Kind, usize, &str)] = &[
    (Kind::Int, 1, "i8"),
    (Kind::Int, 2, "i16"),
    (Kind::Int, 4, "i32"),
    (Kind::Int, 8, "i64"),
    (Kind::Uint, 1, "u8"),
    (Kind::Uint, 2, "u16"),
    (Kind::Uint, 4, "u32"),
    (Kind::Uint, 8, "u64"),
    #[cfg(feature = "half")]
    (Kind::Float, 2, "half::f16"),
    #[cfg(not(feature = "half"))]
    (Kind::Float, 2, "half::f16 (with the feature `half`)"),
    (Kind::Float, 4, "f32"),
    (Kind::Float, 8, "f64"),
];

elements! {
    i8: Int, 1;
    i16: Int, 2;
    i32: Int, 4;
    i64: Int, 8;
    u8: Uint, 1;
    u16: Uint, 2;
    u32: Uint, 4;
    u64: Uint, 8;
    f32: Float, 4;
    f64: Float, 8;
}

#[cfg(feature = "half")]
elements! {
    half::f16: Float, 2;
}
