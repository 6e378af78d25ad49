//! An array that need not fit into memory, block by block: each is a stretch of the elements as they lie in the file.

use std::borrow::Cow;
use std::path::Path;

use ndarray::SliceInfoElem;
use ndarray_io::header::Order;
use ndarray_io::npz::Method;
use ndarray_io::ra::RaFile;
use ndarray_io::{DType, DynArray, NpyFile, NpzFile, ReadNpyExt, ReadOptions, WriteNpyExt, WriteOptions};

use super::Failure;
use super::open::{Format, format_of, member_index, read};

/// An array of which parts can be read: a file's, or one that is in memory because it was packed or came from a pipe.
pub(crate) enum Source {
    Npy(NpyFile),
    Ra(RaFile),
    Memory(Box<DynArray>),
}

impl Source {
    /// Opens a file, standard input (`-`), or a member of an archive, to read parts of it.
    pub(crate) fn open(path: &Path, member: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::Memory(Box::new(read(path, member, options)?)));
        }
        Ok(match format_of(path)? {
            Format::Npz => {
                let archive = NpzFile::open_with(path, options)?;
                let index = member_index(&archive, path, member)?;
                return Self::member(&archive, index);
            }
            _ if member.is_some() => Self::Memory(Box::new(read(path, member, options)?)),
            // What is packed, or a pickle, is read in one go.
            Format::Npy => match NpyFile::open_with(path, options) {
                Ok(file) if !file.dtype().has_object() => Self::Npy(file),
                _ => Self::Memory(Box::new(read(path, None, options)?)),
            },
            Format::Ra => match RaFile::open_with(path, options) {
                Ok(file) => Self::Ra(file),
                Err(_) => Self::Memory(Box::new(read(path, None, options)?)),
            },
        })
    }

    /// The same to read all of it: the checksum of a member is compared first.
    pub(crate) fn open_all(
        path: &Path,
        member: Option<&str>,
        options: &ReadOptions,
    ) -> Result<Self, Failure> {
        let source = Self::open_any(path, member, options)?;
        /// Of elements without a byte a small file may promise any number.
        const MOST: usize = 1 << 20;
        match source.dtype().item_size() == 0 && source.len() > MOST {
            true => {
                Err(format!("{}: it has {} elements that take no bytes", path.display(), source.len()).into())
            }
            false => Ok(source),
        }
    }

    fn open_any(path: &Path, member: Option<&str>, options: &ReadOptions) -> Result<Self, Failure> {
        if path != Path::new("-") && format_of(path)? == Format::Npz {
            let archive = NpzFile::open_with(path, options)?;
            let index = member_index(&archive, path, member)?;
            return Self::whole_member(&archive, index);
        }
        Self::open(path, member, options)
    }

    /// The member of an archive by its number, to read parts of it.
    pub(crate) fn member(archive: &NpzFile, index: usize) -> Result<Self, Failure> {
        let has_object = archive.peek_index(index).is_ok_and(|found| found.header.dtype().has_object());
        Ok(match has_object {
            true => Self::Memory(Box::new(archive.read_index(index)?)), // one pickle
            false => Self::Npy(archive.open_member_index(index)?),
        })
    }

    /// The same to read all of it: its checksum is compared first, where neither unpacking it nor reading its blocks does that.
    pub(crate) fn whole_member(archive: &NpzFile, index: usize) -> Result<Self, Failure> {
        let is_stored = archive.members().get(index).is_some_and(|member| member.method() == Method::Stored);
        if is_stored {
            archive.verify_index(index)?;
        }
        Self::member(archive, index)
    }

    pub(crate) fn dtype(&self) -> &DType {
        match self {
            Self::Npy(file) => file.dtype(),
            Self::Ra(file) => file.dtype(),
            Self::Memory(array) => array.dtype(),
        }
    }

    pub(crate) fn order(&self) -> Order {
        match self {
            Self::Npy(file) => file.order(),
            Self::Ra(file) => file.order(),
            Self::Memory(array) => array.order(),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::Npy(file) => file.shape(),
            Self::Ra(file) => file.shape(),
            Self::Memory(array) => array.shape(),
        }
    }

    /// The number of elements, which is that of an array that has been opened: it does not overflow.
    pub(crate) fn len(&self) -> usize {
        // The axes of an empty array may be endless.
        if self.shape().contains(&0) { 0 } else { self.shape().iter().product() }
    }

    /// The slice that is the whole array.
    pub(crate) fn all(&self) -> Vec<SliceInfoElem> {
        vec![SliceInfoElem::Slice { start: 0, end: None, step: 1 }; self.shape().len()]
    }

    pub(crate) fn slice(&self, slice: &[SliceInfoElem]) -> Result<DynArray, Failure> {
        Ok(match self {
            Self::Npy(file) => file.slice_any(slice)?,
            Self::Ra(file) => file.slice_any(slice)?,
            Self::Memory(array) => array.slice(slice)?,
        })
    }

    /// The blocks, each of about so many bytes, in this order of the elements.
    pub(crate) fn blocks(&self, order: Order, bytes: usize) -> Blocks {
        self.blocks_of(self.shape(), order, bytes)
    }

    /// The same of a part that has this shape.
    pub(crate) fn blocks_of(&self, shape: &[usize], order: Order, bytes: usize) -> Blocks {
        Blocks::new(shape, order, (bytes / self.dtype().item_size().max(1)).max(1))
    }
}

/// The array whose elements lie in this order. Where only one axis has a length, any order is the same.
pub(crate) fn in_order(array: &DynArray, order: Order) -> Result<Cow<'_, DynArray>, ndarray_io::Error> {
    if array.order() == order || array.shape().iter().filter(|length| **length != 1).count() < 2 {
        return Ok(Cow::Borrowed(array));
    }
    let mut file = Vec::new();
    array.write_npy_with(&mut file, &WriteOptions::new().order(order))?;
    Ok(Cow::Owned(DynArray::read_npy_with(&file[..], &crate::password::options().allow_objects(true))?))
}

/// Slices that cover an array, one stretch of elements behind the other.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The lengths of the axes, the one that varies slowest first.
    dims: Vec<usize>,
    order: Order,
    /// The axis that is cut: those before it are indexed, those behind it are whole.
    cut: usize,
    /// How many indices of it a block has.
    step: usize,
    /// Where the next block begins, on the axes up to the cut one; none behind the last.
    next: Option<Vec<usize>>,
}

impl Blocks {
    fn new(shape: &[usize], order: Order, most: usize) -> Self {
        let mut dims = shape.to_vec();
        if order == Order::Fortran {
            dims.reverse();
        }
        if dims.contains(&0) {
            return Self { dims, order, cut: 0, step: 1, next: None };
        }
        let mut cut = dims.len().saturating_sub(1);
        let mut within = 1;
        while cut > 0 && dims[cut] <= most / within {
            within *= dims[cut];
            cut -= 1;
        }
        let step = (most / within).max(1);
        let first = vec![0; if dims.is_empty() { 0 } else { cut + 1 }];
        Self { dims, order, cut, step, next: Some(first) }
    }
}

impl Iterator for Blocks {
    /// The slice, and where its first element stands among all.
    type Item = (Vec<SliceInfoElem>, Vec<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.next.take()?;
        let mut slice = Vec::new();
        for (axis, length) in self.dims.iter().enumerate() {
            let (start, end) = match axis {
                _ if axis < self.cut => (from[axis], from[axis] + 1),
                _ if axis == self.cut => (from[axis], (from[axis] + self.step).min(*length)),
                _ => (0, *length),
            };
            slice.push(SliceInfoElem::Slice { start: start as isize, end: Some(end as isize), step: 1 });
        }
        let mut after = from.clone();
        if let Some(last) = after.last_mut() {
            *last += self.step;
        }
        for axis in (0..after.len()).rev() {
            if after[axis] < self.dims[axis] {
                self.next = Some(after);
                break;
            }
            if axis == 0 {
                break;
            }
            after[axis] = 0;
            after[axis - 1] += 1;
        }
        let mut first = from;
        first.resize(self.dims.len(), 0);
        if self.order == Order::Fortran {
            slice.reverse();
            first.reverse();
        }
        Some((slice, first))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array;
    use ndarray_io::header::Order;

    use super::Blocks;

    #[test]
    fn blocks_are_all_elements_in_order() {
        for shape in [vec![], vec![7], vec![3, 5], vec![2, 3, 4], vec![1, 1, 9, 1], vec![0, 3]] {
            let len: usize = shape.iter().product();
            let array = Array::from_iter(0..len).into_shape_with_order(shape.clone()).unwrap();
            for most in [1, 2, 5, 12, 100] {
                let blocks = Blocks::new(&shape, Order::C, most);
                let parts = blocks.flat_map(|(slice, first)| {
                    let part = array.slice(&slice[..]).iter().copied().collect::<Vec<_>>();
                    assert!(part.len() <= most && part[0] == array[&first[..]]);
                    part
                });
                assert_eq!(parts.collect::<Vec<_>>(), (0..len).collect::<Vec<_>>(), "{shape:?} by {most}");
                let by_columns = Blocks::new(&shape, Order::Fortran, most);
                let parts = by_columns
                    .flat_map(|(slice, _)| array.slice(&slice[..]).t().iter().copied().collect::<Vec<_>>());
                assert_eq!(parts.collect::<Vec<_>>(), array.t().iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
