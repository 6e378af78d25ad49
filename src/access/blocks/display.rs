//! The text of all elements of a file, block by block.

use std::io::Write;

use ndarray::{Dimension, SliceInfoElem};

use super::Block;
use crate::dynamic::DynArray;
use crate::error::Result;
use crate::options::DisplayOptions;
use crate::parts::NpyFile;
use crate::shape::Order;

/// The size of the blocks that are formatted: their text is several times as long.
const BLOCK_BYTES: usize = 128 << 10;

impl NpyFile {
    /// Writes the array as the `Display` of [`DynArray`] does, with the width, length and precision from a [`DisplayOptions`].
    ///
    /// Of an array with more than 1000 elements, only the edges are read and written. If all elements are wanted ([`DisplayOptions::all`]), they are read twice, block by block: the first time for the width of
    /// the columns. Memory does not depend on the size of the array.
    ///
    /// # Errors
    ///
    /// - [`Io`](crate::error::ErrorKind::Io) if reading or writing fails.
    /// - The [errors of reading](crate::error#errors-of-reading).
    /// - [`Objects`](crate::error::ErrorKind::Objects) if the elements are Python objects.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::arr2;
    /// use ndarray_io::bytes::InMemory;
    /// use ndarray_io::options::DisplayOptions;
    /// use ndarray_io::{NpyFile, WriteNpyExt};
    ///
    /// let mut bytes = Vec::new();
    /// arr2(&[[1.0, 0.5], [-100.25, 2.0]]).write_npy(&mut bytes)?;
    /// let mut text = Vec::new();
    /// NpyFile::from_source(InMemory(bytes))?.display_to(&DisplayOptions::new().all(), &mut text)?;
    /// assert_eq!(text, b"[[    1.0,     0.5],\n [-100.25,     2.0]]");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn display_to<W: Write>(&self, options: &DisplayOptions, mut writer: W) -> Result<()> {
        let dims = self.shape();
        if !options.is_all() || dims.contains(&0) {
            let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
            let text = self.preview_with(&vec![all; dims.len()][..], options)?;
            return Ok(writer.write_all(text.as_bytes())?);
        }
        let blocks = || self.blocks::<DynArray>().order(Order::C).bytes(BLOCK_BYTES);
        let mut column_width = 0;
        let widest = |block: Block<DynArray>| block.array().max_element_width(options);
        blocks().par_map(widest, |found| -> Result<()> {
            column_width = column_width.max(found);
            Ok(())
        })?;
        let layout = Layout { dims, column_width, line_width: options.get_width() };
        let text = |block: Block<DynArray>| layout.text(&block, options);
        writer.write_all("[".repeat(dims.len()).as_bytes())?;
        blocks().par_map(text, |text: Result<String>| {
            Ok::<(), crate::Error>(writer.write_all(text?.as_bytes())?)
        })?;
        Ok(writer.write_all("]".repeat(dims.len()).as_bytes())?)
    }
}

/// How elements are laid out in lines and brackets.
struct Layout<'a> {
    dims: &'a [usize],
    /// The width of a column.
    column_width: usize,
    /// The width of a line.
    line_width: usize,
}

impl Layout<'_> {
    /// Formats the elements of a block, each with what separates it from the one before.
    fn text(&self, block: &Block<DynArray>, options: &DisplayOptions) -> Result<String> {
        let array = block.array().in_order(Order::C)?;
        let lengths: Vec<usize> = block.ranges().iter().map(ExactSizeIterator::len).collect();
        let mut text = String::new();
        for (number, within) in ndarray::indices(&lengths[..]).into_iter().enumerate() {
            let axes = block.ranges().iter().zip(within.slice());
            let index: Vec<usize> = axes.map(|(range, index)| range.start + index).collect();
            self.push_separator(&index, &mut text);
            let item = array.format_element(number, options);
            text.extend(std::iter::repeat_n(' ', self.column_width.saturating_sub(item.chars().count())));
            text.push_str(&item);
        }
        Ok(text)
    }

    /// Appends what is between an element and the one before.
    fn push_separator(&self, index: &[usize], text: &mut String) {
        // The axis whose index has just grown: the indices of those within it are 0.
        let Some(axis) = index.iter().rposition(|at| *at > 0) else { return };
        let within = self.dims.len() - axis - 1;
        if within > 0 {
            // One line break for each inner axis, indented by the number of open brackets.
            text.extend(std::iter::repeat_n(']', within));
            text.push(',');
            text.extend(std::iter::repeat_n('\n', within));
            text.extend(std::iter::repeat_n(' ', axis + 1));
            text.extend(std::iter::repeat_n('[', within));
            return;
        }
        // The number of elements that fit on a line, each followed by a comma and a space.
        let room = self.line_width.saturating_sub(axis + 1) / self.column_width.saturating_add(2);
        if index[axis] % room.max(1) == 0 {
            text.push_str(",\n");
            text.extend(std::iter::repeat_n(' ', axis + 1));
        } else {
            text.push_str(", ");
        }
    }
}
