//! Implements `Display` for dtypes, as the Python literals that NumPy writes to a header.

use std::fmt;

use super::{ByteOrder, DType, Field, Kind, Quoted, Record, Scalar, TimeStep, TimeUnit, Title};

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => write!(f, "'{scalar}'"),
            Self::Subarray(subarray) => write!(f, "({}, {})", subarray.base(), subarray.shape_ref()),
            Self::Record(record) => record.fmt(f),
            Self::Object => f.write_str("'|O'"),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Kind::Narrow(narrow) = self.kind() {
            return f.write_str(narrow.name());
        }
        let order = match self.byte_order() {
            None => '|',
            Some(ByteOrder::Little) => '<',
            Some(ByteOrder::Big) => '>',
        };
        let size = if self.kind() == Kind::Text { self.size() / 4 } else { self.size() };
        write!(f, "{order}{}{size}", self.kind().letter())?;
        #[deny(clippy::wildcard_enum_match_arm)] // a parameter of a new kind has to be written
        match self.kind() {
            Kind::Datetime(step) | Kind::Timedelta(step) if step.unit != TimeUnit::Generic => {
                write!(f, "[{step}]")
            }
            Kind::Datetime(_)
            | Kind::Timedelta(_)
            | Kind::Bool
            | Kind::Int
            | Kind::Uint
            | Kind::Float
            | Kind::Complex
            | Kind::Bytes
            | Kind::Text
            | Kind::Void
            | Kind::Narrow(_) => Ok(()),
        }
    }
}

/// Formats the step as NumPy does between the brackets: `25s`.
impl fmt::Display for TimeStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(self.unit.symbol()),
            count => write!(f, "{count}{}", self.unit.symbol()),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let mut end = 0;
        for (index, field) in self.fields().iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            // NumPy spells padding as a void field with an empty name.
            if field.offset() > end {
                write!(f, "('', '|V{}'), ", field.offset() - end)?;
            }
            field.fmt(f)?;
            end = field.offset() + field.dtype().item_size();
        }
        if self.size() > end {
            let comma = if self.fields().is_empty() { "" } else { ", " };
            write!(f, "{comma}('', '|V{}')", self.size() - end)?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.title() {
            None => write!(f, "({}", Quoted(self.name()))?,
            Some(Title::Text(title)) => write!(f, "(({}, {})", Quoted(title), Quoted(self.name()))?,
            Some(Title::Int(title)) => write!(f, "(({title}, {})", Quoted(self.name()))?,
        }
        match self.dtype() {
            DType::Subarray(subarray) => write!(f, ", {}, {})", subarray.base(), subarray.shape_ref()),
            dtype => write!(f, ", {dtype})"),
        }
    }
}
