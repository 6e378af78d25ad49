//! Dtypes and headers, serialized with `serde`. (Options and small enums derive it.)

use std::borrow::Cow;

use serde_1::de::Error as _;
use serde_1::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dtype::{Casting, DType, Narrow};
use crate::header::{Header, Order, Shape};
use crate::options::ChosenCasting;

impl Serialize for ChosenCasting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Casting::from(*self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChosenCasting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Casting::deserialize(deserializer).map(Self::from)
    }
}

/// A dtype is text, as in a header: `<f8` (without quotes), `[('x', '<f4')]`. Any text that [`FromStr`](std::str::FromStr) accepts
/// can be deserialized.
impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_string();
        serializer.serialize_str(text.trim_matches('\''))
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The name of the type, such as `bfloat16`.
impl Serialize for Narrow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Narrow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name)
            .ok_or_else(|| D::Error::custom(format!("'{name}' is not the name of a narrow type")))
    }
}

/// The fields of a [`Header`].
#[derive(Serialize, Deserialize)]
#[serde(crate = "serde_1", deny_unknown_fields)]
struct Fields<'a> {
    dtype: Cow<'a, DType>,
    #[serde(default)]
    order: Order,
    shape: Cow<'a, [usize]>,
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields =
            Fields { dtype: Cow::Borrowed(self.dtype()), order: self.order(), shape: self.shape().into() };
        fields.serialize(serializer)
    }
}

/// The dtype, the order and the shape are checked as [`Header::new`] does.
impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        Self::new(fields.dtype.into_owned(), fields.order, Shape::from(&*fields.shape))
            .map_err(D::Error::custom)
    }
}
