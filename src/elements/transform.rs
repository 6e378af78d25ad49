//! Transforms bytes in place between file and memory: swaps their byte order and checks their validity.
//!
//! Transforms work on a block at a time, while the block is in the cache.

use std::sync::Arc;

use bytemuck::CheckedBitPattern;

use super::swap::{swap_column, swap_unit_of, swap_units};
use crate::dtype::DType;
use crate::error::{Error, Fault, Result};

/// The transformation to apply to the bytes of each element.
#[derive(Clone)]
pub(crate) struct ByteTransform {
    item_size: usize,
    kind: TransformKind,
}

#[derive(Clone)]
enum TransformKind {
    Nothing,
    /// Reverse the bytes of each unit of this size.
    Swap(usize),
    Check {
        check: FindInvalidFn,
        explain: ExplainFn,
        unit: usize,
    },
    /// Transform these fields of a record; the other fields need nothing.
    Fields(Arc<[FieldTransform]>),
}

/// Returns the index of the first invalid item.
pub(super) type FindInvalidFn = fn(&[u8]) -> Option<usize>;
/// Returns the error that explains why the bytes of an item are invalid.
pub(super) type ExplainFn = fn(&[u8]) -> Fault;

/// The transformation of one field of a record, which consists of one or more consecutive elements.
#[derive(Clone)]
pub(super) struct FieldTransform {
    pub(super) name: &'static str,
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) transform: ByteTransform,
}

impl ByteTransform {
    /// Creates a transform for elements of `item_size` bytes.
    ///
    /// With `swap`, each unit of `unit` bytes is reversed.
    pub(super) fn units(item_size: usize, unit: usize, swap: bool) -> Self {
        let kind = if swap && unit > 1 { TransformKind::Swap(unit) } else { TransformKind::Nothing };
        Self { item_size, kind }
    }

    /// Creates a transform that checks elements for which some bit patterns are invalid.
    pub(super) fn check<T: CheckedBitPattern>(explain: ExplainFn) -> Self {
        let kind = TransformKind::Check { check: first_invalid::<T>, explain, unit: 1 };
        Self { item_size: size_of::<T>(), kind }
    }

    /// Adds a check after the swap. The transform must not have a check yet.
    pub(super) fn with_check(self, check: FindInvalidFn, explain: ExplainFn) -> Self {
        let unit = if let TransformKind::Swap(unit) = self.kind { unit } else { 1 };
        Self { kind: TransformKind::Check { check, explain, unit }, ..self }
    }

    /// Creates a transform for records of `item_size` bytes.
    pub(super) fn fields(item_size: usize, mut fields: Vec<FieldTransform>) -> Self {
        // Drop fields that need nothing: a record of only such fields needs no pass over its bytes.
        fields.retain(|field| field.transform.is_needed() && field.size > 0);
        // Neighbors that are reversed in the same units are reversed together.
        fields.dedup_by(|next, field| {
            let is_one = match (&field.transform.kind, &next.transform.kind) {
                (TransformKind::Swap(unit), TransformKind::Swap(other)) => {
                    unit == other && field.offset + field.size == next.offset
                }
                _ => false,
            };
            field.size += if is_one { next.size } else { 0 };
            is_one
        });
        let kind = match fields[..] {
            [] => TransformKind::Nothing,
            [
                FieldTransform {
                    offset: 0,
                    size,
                    transform: ByteTransform { kind: TransformKind::Swap(unit), .. },
                    ..
                },
            ] if size == item_size => TransformKind::Swap(unit),
            _ => TransformKind::Fields(fields.into()),
        };
        Self { item_size, kind }
    }

    /// Returns the transform for arrays of `item_size` bytes that are made of such elements.
    pub(super) fn repeated(&self, item_size: usize) -> Self {
        let inner = FieldTransform { name: "", offset: 0, size: item_size, transform: self.clone() };
        // A swap is the same for any number of units. Checks and fields need the bounds of each element.
        match self.kind {
            TransformKind::Swap(_) | TransformKind::Nothing => Self { item_size, kind: self.kind.clone() },
            TransformKind::Check { .. } | TransformKind::Fields(_) => Self::fields(item_size, vec![inner]),
        }
    }

    /// Returns the size of an element in bytes.
    pub(super) fn item_size(&self) -> usize {
        self.item_size
    }

    /// Returns whether the bytes of an element are reversed, if that is all that is done with them.
    pub(super) fn as_identity_or_reversal(&self) -> Option<bool> {
        match self.kind {
            TransformKind::Nothing => Some(false),
            TransformKind::Swap(unit) if unit == self.item_size => Some(true),
            _ => None,
        }
    }

    pub(super) fn is_needed(&self) -> bool {
        !matches!(self.kind, TransformKind::Nothing)
    }

    pub(crate) fn needs_swap(&self) -> bool {
        match &self.kind {
            TransformKind::Nothing => false,
            TransformKind::Swap(_) => true,
            TransformKind::Check { unit, .. } => *unit > 1,
            TransformKind::Fields(fields) => fields.iter().any(|field| field.transform.needs_swap()),
        }
    }

    pub(super) fn needs_check(&self) -> bool {
        match &self.kind {
            TransformKind::Nothing | TransformKind::Swap(_) => false,
            TransformKind::Check { .. } => true,
            TransformKind::Fields(fields) => fields.iter().any(|field| field.transform.needs_check()),
        }
    }

    /// Converts the bytes of complete elements to native byte order and checks them.
    ///
    /// An error names the element.
    pub(super) fn apply(&self, bytes: &mut [u8]) -> Result<()> {
        // Swap first, because checks need native values, such as the number of an enum.
        self.swap(bytes);
        self.check_all(bytes)
    }

    /// Swaps the bytes of complete elements.
    pub(crate) fn swap(&self, bytes: &mut [u8]) {
        match &self.kind {
            TransformKind::Nothing | TransformKind::Check { unit: 1, .. } => {}
            TransformKind::Swap(unit) | TransformKind::Check { unit, .. } => swap_units(bytes, *unit),
            TransformKind::Fields(fields) => {
                for FieldTransform { offset, size, transform, .. } in
                    fields.iter().filter(|field| field.transform.needs_swap())
                {
                    /// A loop over more units than this is as fast as one over all records for each unit.
                    const MAX_COLUMN_SWAPS: usize = 8;
                    match transform.kind {
                        TransformKind::Swap(unit) if *size <= MAX_COLUMN_SWAPS * unit => {
                            let units = (*offset..*offset + *size).step_by(unit);
                            units.for_each(|at| swap_column(bytes, self.item_size, at, unit));
                        }
                        _ => {
                            let records = bytes.chunks_exact_mut(self.item_size);
                            records.for_each(|record| transform.swap(&mut record[*offset..][..*size]));
                        }
                    }
                }
            }
        }
    }

    /// Checks the bytes of complete elements. An error names the first invalid element.
    pub(super) fn check_all(&self, bytes: &[u8]) -> Result<()> {
        match &self.kind {
            TransformKind::Nothing | TransformKind::Swap(_) => Ok(()),
            TransformKind::Check { check, explain, .. } => match check(bytes) {
                None => Ok(()),
                Some(index) => {
                    let kind = explain(&bytes[index * self.item_size..][..self.item_size]);
                    Err(Error::from(kind).at_element(index))
                }
            },
            TransformKind::Fields(fields) => {
                if !self.needs_check() {
                    return Ok(());
                }
                for (index, record) in bytes.chunks_exact(self.item_size).enumerate() {
                    for field in fields.iter() {
                        let checked = field.transform.check_all(&record[field.offset..][..field.size]);
                        checked.map_err(|error| error.at_field(field.name).at_element(index))?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns the index of the first item whose bytes are not valid for `T`.
fn first_invalid<T: CheckedBitPattern>(bytes: &[u8]) -> Option<usize> {
    let is_valid = |item: &[u8]| T::is_valid_bit_pattern(&bytemuck::pod_read_unaligned::<T::Bits>(item));
    let items = || bytes.chunks_exact(size_of::<T>().max(1));
    // The fold has no early exit, so its speed is limited only by the cache. Only invalid data is searched a
    // second time.
    match items().fold(true, |all, item| all & is_valid(item)) {
        true => None,
        false => items().position(|item| !is_valid(item)),
    }
}

/// Returns what converts elements in place from one dtype to another that differs only in byte order.
pub(crate) fn swap_between(from: &DType, to: &DType) -> impl Fn(&mut [u8]) + Send + Sync + use<> {
    let transform = swap_transform(from, to);
    move |bytes| transform.swap(bytes)
}

fn swap_transform(from: &DType, to: &DType) -> ByteTransform {
    match (from, to) {
        (DType::Scalar(from), DType::Scalar(to)) => {
            ByteTransform::units(from.size(), swap_unit_of(from), from.byte_order() != to.byte_order())
        }
        (DType::Subarray(from), DType::Subarray(to)) => {
            swap_transform(from.base(), to.base()).repeated(from.size())
        }
        (DType::Record(from), DType::Record(to)) => {
            let fields = from.fields().iter().zip(to.fields()).map(|(from, to)| FieldTransform {
                name: "",
                offset: from.offset(),
                size: from.dtype().item_size(),
                transform: swap_transform(from.dtype(), to.dtype()),
            });
            ByteTransform::fields(from.size(), fields.collect())
        }
        _ => ByteTransform::units(from.item_size(), 1, false),
    }
}
