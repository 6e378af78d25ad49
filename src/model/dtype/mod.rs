//! The dtype of a file's elements: a scalar, a subarray, a record or a Python object.
//!
//! Dtypes are plain data. Formats parse them from headers, `element` compares them with the dtypes of Rust
//! types, and `Display` formats them as NumPy spells them in a header. The constructors enforce NumPy's limit
//! of 2³¹ − 1 bytes per element, so sizes can be added and compared without further checks.

mod builder;
pub(crate) mod casting;
mod descr;
mod names;
mod narrow;
mod path;
mod quoted;
mod record;
pub(crate) mod scalar;
pub(crate) mod value;

pub use builder::RecordBuilder;
pub(crate) use builder::RecordError;
pub(crate) use casting::Casting;
pub(crate) use casting::CastingRules;
pub use casting::LongDoubleFormat;
pub use narrow::Narrow;
pub use path::FieldPath;
pub(crate) use quoted::Quoted;
#[cfg(feature = "object")]
pub(crate) use quoted::write_quoted;
pub use record::{Field, Record, Subarray, Title};
pub(crate) use scalar::ByteOrder;
pub use scalar::{Kind, Scalar, TimeStep, TimeUnit};
pub(crate) use value::MAX_ITEM_SIZE;
pub(crate) use value::{DType, MAX_NESTING};
