//! Arrays that are joined along an axis, as the bytes of one array.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};

/// The layout of arrays that form one along an axis.
#[derive(Debug)]
pub(crate) struct JoinLayout {
    /// The end of each part along the axis.
    ends: Vec<u64>,
    /// The size of one index along the axis, in bytes.
    bytes_per_index: u64,
    /// The size of a row in bytes: all indices along the axis, for one index of each slower axis.
    pub(crate) row_bytes: u64,
    /// The size of the entire array in bytes.
    byte_len: u64,
}

/// The first error that says what has to be loaded.
///
/// All sources of an operation are asked before it is returned, so that one repetition is enough once the headers are
/// known.
#[derive(Default)]
pub(crate) struct FirstNotLoaded(Option<Error>);

impl FirstNotLoaded {
    /// Keeps an error that says what has to be loaded, and returns any other.
    pub(crate) fn defer<T>(&mut self, done: Result<T>) -> Result<Option<T>> {
        match done {
            Err(error) if error.kind() == ErrorKind::NotLoaded => {
                self.0.get_or_insert(error);
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// Returns the first error that was kept.
    pub(crate) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Parts of a source: their offsets, which ascend, and their destinations.
type Pieces<'a> = Vec<(u64, &'a mut [u8])>;

/// How many pieces are requested at a time, which bounds the memory for them.
const MAX_PIECES: u64 = 1 << 18;

impl JoinLayout {
    /// `bytes_per_index` is the size of one index along the axis, and `byte_len` that of the entire array, in bytes.
    pub(crate) fn new(lengths: impl IntoIterator<Item = usize>, bytes_per_index: u64, byte_len: u64) -> Self {
        let ends: Vec<u64> = lengths
            .into_iter()
            .scan(0, |end, length| {
                *end += length as u64;
                Some(*end)
            })
            .collect();
        let row_bytes = bytes_per_index.saturating_mul(ends.last().copied().unwrap_or(0));
        Self { ends, bytes_per_index, row_bytes, byte_len }
    }

    pub(crate) fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// Returns whether all bytes of a part are adjacent in the array.
    pub(crate) fn has_contiguous_parts(&self) -> bool {
        self.row_bytes >= self.byte_len
    }

    /// Returns the part that contains a byte, the offset of the byte in it, and how many bytes from there on
    /// are in the same row.
    pub(crate) fn locate(&self, at: u64) -> (usize, u64, u64) {
        let (row, within) = (at / self.row_bytes, at % self.row_bytes);
        let number = self.ends.partition_point(|end| *end <= within / self.bytes_per_index);
        let start = if number == 0 { 0 } else { self.ends[number - 1] * self.bytes_per_index };
        let own_row = self.ends[number] * self.bytes_per_index - start;
        (number, row * own_row + (within - start), start + own_row - within)
    }

    /// Divides a range of bytes among the parts.
    fn divide<'a>(&self, mut at: u64, mut into: &'a mut [u8], pieces: &mut BTreeMap<usize, Pieces<'a>>) {
        while !into.is_empty() {
            let (number, place, left) = self.locate(at);
            let len = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (piece, rest) = into.split_at_mut(len);
            pieces.entry(number).or_default().push((place, piece));
            (at, into) = (at + len as u64, rest);
        }
    }

    /// Reads bytes at an offset, and returns how many were read.
    ///
    /// `fill` reads pieces of a part, and returns whether all of them were there.
    pub(crate) fn read_at(
        &self,
        into: &mut [u8],
        offset: u64,
        fill: impl Fn(usize, &mut [(u64, &mut [u8])]) -> Result<bool>,
    ) -> Result<usize> {
        let left = self.byte_len.saturating_sub(offset);
        let rows = (MAX_PIECES / self.ends.len().max(1) as u64).max(1);
        let max_len = left.min(rows.saturating_mul(self.row_bytes)).min(into.len() as u64) as usize;
        let complete = self.read_parts(&mut [(offset, &mut into[..max_len])], fill)?;
        Ok(if complete == 1 { max_len } else { 0 })
    }

    /// Reads parts of the array, and returns how many at the beginning of the list are complete.
    ///
    /// Each part that was joined is asked only once. What is adjacent in it, such as the rows of a range, can
    /// then be read by one call.
    pub(crate) fn read_parts(
        &self,
        parts: &mut [(u64, &mut [u8])],
        fill: impl Fn(usize, &mut [(u64, &mut [u8])]) -> Result<bool>,
    ) -> Result<usize> {
        let mut pieces = BTreeMap::new();
        let (mut taken, mut rows) = (0, 0);
        for (offset, part) in parts {
            if offset.saturating_add(part.len() as u64) > self.byte_len {
                break;
            }
            if !part.is_empty() {
                rows += part.len() as u64 / self.row_bytes + 1;
                if rows.saturating_mul(self.ends.len() as u64) > MAX_PIECES + 2 * self.ends.len() as u64 {
                    break; // the others are requested again, and a long one by `read_at`
                }
                self.divide(*offset, part, &mut pieces);
            }
            taken += 1;
        }
        for (number, mut own) in pieces {
            // The pieces of parts that overlap are not in order.
            own.sort_by_key(|(place, _)| *place);
            if !fill(number, &mut own)? {
                return Ok(0);
            }
        }
        Ok(taken)
    }
}
