//! The layout of a struct in a file, computed at compile time where possible.
//!
//! A wrong offset is therefore a compile error.

use crate::dtype::{DType, Record, Title};
use crate::error::{Error, Fault, Result};
use crate::options::WriteOptions;

use super::{RecordField, RecordType};

/// The size, alignment and properties of a type in a file.
#[derive(Clone, Copy)]
pub struct FileLayout {
    pub(super) size: usize,
    align: usize,
    /// Whether a field of the type has a declared width (the `len` of text).
    pub takes_len: bool,
    /// Whether the type is a struct with text of no declared width, which can be read and not written.
    pub(super) lacks_len: bool,
    /// Whether the type has values that may not fit the field.
    may_not_fit: bool,
    /// Whether the type adds axes to an array in a file.
    is_array: bool,
    /// Whether all-zero bytes are a valid value.
    is_zero_valid: bool,
}

impl FileLayout {
    /// Returns the layout of a type that has the same size in a file as in memory.
    pub const fn of<T>() -> Self {
        Self {
            size: size_of::<T>(),
            align: align_of::<T>(),
            takes_len: false,
            lacks_len: false,
            may_not_fit: false,
            is_array: false,
            is_zero_valid: true,
        }
    }

    /// Returns the layout of an enum.
    pub(crate) const fn of_enum<T>(is_zero_valid: bool) -> Self {
        Self { is_zero_valid, ..Self::of::<T>() }
    }

    /// Returns the layout of text whose width is in units of `unit` bytes.
    pub(crate) const fn text(unit: usize) -> Self {
        Self { size: unit, align: unit, takes_len: true, may_not_fit: true, ..Self::of::<u8>() }
    }

    const fn times(self, count: usize) -> Self {
        Self { size: self.size.saturating_mul(count), ..self }
    }

    /// Returns the layout of an array of `count` elements.
    pub(in crate::elements) const fn repeated(self, count: usize) -> Self {
        Self { is_array: true, ..self.times(count) }
    }

    /// Fails to compile unless elements of the type can be written.
    pub(crate) const fn assert_writable(self) {
        assert!(!self.lacks_len, "a text in a record needs a width to be written: #[record(len = 16)]");
    }

    pub(crate) const fn is_zero_valid(self) -> bool {
        self.is_zero_valid
    }

    pub(crate) const fn is_array(self) -> bool {
        self.is_array
    }

    pub(crate) const fn may_not_fit(self) -> bool {
        self.may_not_fit
    }
}

/// The description of a field, from the struct's attributes and types.
pub struct FieldSpec {
    pub(super) name: &'static str,
    /// Other names that the field may have in a file when it is read.
    pub(super) aliases: &'static [&'static str],
    title: Option<&'static str>,
    pub(super) len: Option<usize>,
    offset: Option<usize>,
    file_layout: FileLayout,
    dtype: fn(&WriteOptions) -> Result<DType>,
    /// The flattened struct, whose fields are fields of the record itself.
    flat: Option<&'static RecordSpec>,
}

impl FieldSpec {
    /// Describes a field of type `F`.
    pub const fn of<F: RecordField>(
        name: &'static str,
        aliases: &'static [&'static str],
        title: Option<&'static str>,
        len: Option<usize>,
        offset: Option<usize>,
    ) -> Self {
        let file_layout = match len {
            Some(len) => F::FILE_LAYOUT.times(len),
            None => F::FILE_LAYOUT,
        };
        let dtype = |options: &WriteOptions| F::dtype_for(&mut std::iter::empty(), options);
        Self { name, aliases, title, len, offset, file_layout, dtype, flat: None }
    }

    /// Describes the fields of a flattened struct, which are fields of the record itself.
    pub const fn flat<R: RecordType>(offset: Option<usize>) -> Self {
        let dtype = |options: &WriteOptions| R::SPEC.dtype(options);
        let (file_layout, flat) = (R::SPEC.file_layout(), Some(R::SPEC));
        Self { name: "", aliases: &[], title: None, len: None, offset, file_layout, dtype, flat }
    }

    /// Returns whether two fields share a name, title or alias.
    ///
    /// A title counts as a name because NumPy keeps both in one dictionary.
    const fn collides(&self, other: &Self) -> bool {
        match (self.flat, other.flat) {
            (Some(flat), _) => return flat.collides(other),
            (None, Some(flat)) => return flat.collides(self),
            (None, None) => {}
        }
        let mut index = 0;
        while let Some(name) = self.nth_name(index) {
            let mut number = 0;
            while let Some(other) = other.nth_name(number) {
                if str_eq(name, other) {
                    return true;
                }
                number += 1;
            }
            index += 1;
        }
        false
    }

    /// Returns one of the field's names: its name, its title and its aliases, in this order.
    const fn nth_name(&self, index: usize) -> Option<&'static str> {
        let title = self.title.is_some() as usize;
        match index {
            0 => Some(self.name),
            1 if title == 1 => self.title,
            _ if index - 1 - title < self.aliases.len() => Some(self.aliases[index - 1 - title]),
            _ => None,
        }
    }
}

/// The description of a struct, from its attributes and types.
pub struct RecordSpec {
    pub(super) fields: &'static [FieldSpec],
    /// The upper limit for the alignment of fields.
    pack: usize,
    /// The lower limit for the alignment of the record.
    align: usize,
    size: Option<usize>,
}

impl RecordSpec {
    /// Describes a struct with these fields.
    pub const fn new(fields: &'static [FieldSpec], pack: usize, align: usize, size: Option<usize>) -> Self {
        Self { fields, pack, align, size }
    }

    /// Returns where a field starts, and where the field before it ends.
    const fn start_and_previous_end(&self, index: usize) -> (usize, usize) {
        let (mut start, mut end, mut at) = (0usize, 0, 0);
        while at <= index && at < self.fields.len() {
            if at > 0 {
                end = start.saturating_add(self.fields[at - 1].file_layout.size);
            }
            let field = &self.fields[at];
            start = match field.offset {
                Some(offset) => offset,
                None => round_up(end, min(field.file_layout.align, self.pack)),
            };
            at += 1;
        }
        (start, end)
    }

    /// Returns where the last field ends.
    const fn end(&self) -> usize {
        match self.fields.len() {
            0 => 0,
            count => self
                .start_and_previous_end(count - 1)
                .0
                .saturating_add(self.fields[count - 1].file_layout.size),
        }
    }

    /// Returns whether a field starts before the preceding field ends.
    pub const fn overlaps(&self, index: usize) -> bool {
        let (start, end) = self.start_and_previous_end(index);
        start < end
    }

    const fn alignment(&self) -> usize {
        let (mut align, mut index) = (self.align, 0);
        while index < self.fields.len() {
            let field = min(self.fields[index].file_layout.align, self.pack);
            align = if field > align { field } else { align };
            index += 1;
        }
        align
    }

    const fn collides(&self, other: &FieldSpec) -> bool {
        let mut index = 0;
        while index < self.fields.len() {
            if self.fields[index].collides(other) {
                return true;
            }
            index += 1;
        }
        false
    }

    /// Returns whether a field, or a field flattened into it, shares a name with another field.
    pub const fn shares_name(&self, index: usize) -> bool {
        let mut other = 0;
        while other < self.fields.len() {
            if other != index && self.fields[index].collides(&self.fields[other]) {
                return true;
            }
            other += 1;
        }
        false
    }

    /// Returns whether the declared size is smaller than the fields.
    pub const fn is_too_small(&self) -> bool {
        match self.size {
            Some(size) => size < self.end(),
            None => false,
        }
    }

    const fn size(&self) -> usize {
        match self.size {
            Some(size) => size,
            None => round_up(self.end(), self.alignment()),
        }
    }

    /// Returns the layout of the struct in a file.
    pub const fn file_layout(&self) -> FileLayout {
        let (mut may_not_fit, mut is_zero_valid, mut lacks_len, mut index) = (false, true, false, 0);
        while index < self.fields.len() {
            let layout = self.fields[index].file_layout;
            may_not_fit |= layout.may_not_fit;
            is_zero_valid &= layout.is_zero_valid;
            lacks_len |= layout.lacks_len || layout.takes_len && self.fields[index].len.is_none();
            index += 1;
        }
        FileLayout {
            size: self.size(),
            align: self.alignment(),
            takes_len: false,
            lacks_len,
            may_not_fit,
            is_array: false,
            is_zero_valid,
        }
    }

    /// Returns the dtype to write the struct as.
    pub(super) fn dtype(&self, options: &WriteOptions) -> Result<DType> {
        let mut record = Record::default();
        for (index, field) in self.fields.iter().enumerate() {
            let (start, _) = self.start_and_previous_end(index);
            // Overlaps and sizes are checked when the struct is compiled. Sums that overflow saturate, and
            // `pad` rejects them.
            record.pad(start.saturating_sub(record.size()))?;
            let default = options.default_text_width().filter(|_| field.file_layout.takes_len);
            let len = field.len.or(default);
            if field.file_layout.takes_len && len.is_none() {
                let reason = "a text in a record needs a width to be written: #[record(len = 16)]".into();
                return Err(Error::from(Fault::BadOption { reason }).at_field(field.name));
            }
            let dtype = (field.dtype)(&options.for_field(len)).map_err(|error| error.at_field(field.name))?;
            if dtype.has_object() {
                let reason = "a field of a struct cannot be a Python object".into();
                return Err(Error::from(Fault::BadOption { reason }).at_field(field.name));
            }
            if field.flat.is_some() {
                let DType::Record(flat) = &dtype else { unreachable!("a struct's dtype is a record") };
                let start = record.size();
                for field in flat.fields() {
                    record.pad((start + field.offset()).saturating_sub(record.size()))?;
                    let (name, title) = (field.name().to_owned(), field.title().cloned());
                    record.push(name, title, field.dtype().clone())?;
                }
                record.pad((start + flat.size()).saturating_sub(record.size()))?;
                continue;
            }
            let title = field.title.map(|title| Title::Text(title.to_owned()));
            record.push(field.name.to_owned(), title, dtype)?;
        }
        record.pad(self.size().saturating_sub(record.size()))?;
        Ok(record.into())
    }
}

/// Compares two strings from the end, which is where field names often differ.
const fn str_eq(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut left = one.len();
    while left > 0 && one[left - 1] == other[left - 1] {
        left -= 1;
    }
    left == 0
}

const fn min(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

const fn round_up(offset: usize, align: usize) -> usize {
    match offset.checked_next_multiple_of(align) {
        Some(offset) => offset,
        None => usize::MAX,
    }
}
