//! Converts an NPY file to a stack and back, in bounded memory.

use std::path::Path;

use super::{NpyStackWriter, parts};
use crate::blocks::check_division;
use crate::convert::{Conversion, Splitter, concatenate_as, convert_file};
use crate::error::{Error, Fault, Result};
use crate::header::AxisIndex;
use crate::io::Expected;
use crate::parts::NpyFile;

/// Converts an NPY file of any size to a new stack, with parts of `length` indices along an axis.
///
/// The last part may be shorter. Dask reads the stack with `dask.array.from_npy_stack`.
///
/// # Errors
///
/// [`AlreadyExists`](crate::error::ErrorKind::AlreadyExists) if the folder already contains an `info` or parts;
/// [`OutOfBounds`](crate::error::ErrorKind::OutOfBounds) if the array does not have the axis, [`BadOption`](crate::error::ErrorKind::BadOption) if `length` is 0; otherwise as for
/// [`convert_npy`](crate::convert::convert_npy).
///
/// The stack appears when it is complete: until then, its parts are in a folder `.ndarray-io-N.draft` beside it, which a
/// killed process leaves and a later change beside it removes. If the folder exists, parts are written into it, and
/// `info` counts them at the end. After an error, everything that was written is removed, unless the error says that the
/// stack is in place.
///
/// # Examples
///
/// See [`NpyStack`](super::NpyStack).
pub fn convert_npy_to_stack<P, Q>(
    from: P,
    folder: Q,
    axis: impl AxisIndex,
    length: usize,
    conversion: Conversion<'_>,
) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    let from = NpyFile::open_expecting(from.as_ref(), Expected::NPY, conversion.get_read_options())?;
    convert_file_to_stack(&from, folder, axis, length, conversion)
}

/// Converts an open array to a new stack, like [`convert_npy_to_stack`].
///
/// # Errors
///
/// As for [`convert_npy_to_stack`]; a [mismatch](crate::Error::is_mismatch) if NPY cannot represent the elements.
///
/// # Examples
///
/// ```
/// use ndarray::{Array2, arr2};
/// use ndarray_io::convert::Conversion;
/// use ndarray_io::dask::{NpyStack, convert_file_to_stack};
/// use ndarray_io::ra::write_ra;
/// use ndarray_io::NpyFile;
///
/// # let temporary = tempfile::tempdir()?;
/// # let (path, folder) = (temporary.path().join("a.ra"), temporary.path().join("a"));
/// write_ra(&path, &arr2(&[[1, 2], [3, 4], [5, 6]]))?;
/// convert_file_to_stack(&NpyFile::open(&path)?, &folder, 0, 2, Conversion::new())?;
/// assert_eq!(NpyStack::open(&folder)?.lengths(), [2, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_file_to_stack<Q>(
    from: &NpyFile,
    folder: Q,
    axis: impl AxisIndex,
    length: usize,
    mut conversion: Conversion<'_>,
) -> Result<()>
where
    Q: AsRef<Path>,
{
    let (folder, axis) = (folder.as_ref(), axis.number());
    let pieces = Splitter::of_file(from, &conversion)?;
    let header = pieces.header(&conversion)?;
    let mut others = header.shape().to_vec();
    check_division(header.shape_ref(), axis, length).map_err(|error| from.at_path(error))?;
    let all = others.remove(axis);
    let write = conversion.get_write_options().clone();
    let mut writer = NpyStackWriter::make(folder, header.dtype(), (&others, axis), true, &write)?;
    let mut write_all = || {
        (0..all).step_by(length).try_for_each(|first| {
            let length = length.min(all - first);
            writer
                .push_with(|path| pieces.write(path, (axis, first, length), &mut conversion).map(|()| length))
        })
    };
    match write_all().and_then(|()| writer.end()) {
        Ok(()) => Ok(()),
        Err(error) => {
            writer.discard_new_stack();
            Err(error)
        }
    }
}

/// Converts a stack of any size to one NPY file, which atomically replaces an existing one.
///
/// The order is that of the part that determines the [dtype](super::NpyStack::dtype), unless the conversion sets
/// another.
///
/// # Errors
///
/// As for [`NpyStack::open`](super::NpyStack::open) and [`convert_npy`](crate::convert::convert_npy);
/// [`BadOption`](crate::error::ErrorKind::BadOption) if the new file would be in the folder of the stack.
///
/// ```
/// use ndarray::{Array1, arr1};
/// use ndarray_io::convert::Conversion;
/// use ndarray_io::dask::{convert_npy_to_stack, convert_stack_to_npy};
///
/// # let temporary = tempfile::tempdir()?;
/// # let (path, folder) = (temporary.path().join("a.npy"), temporary.path().join("a"));
/// ndarray_io::write_npy(&path, &arr1(&[1, 2, 3]))?;
/// convert_npy_to_stack(&path, &folder, 0, 2, Conversion::new())?;
/// convert_stack_to_npy(&folder, &path, Conversion::new())?;
/// assert_eq!(ndarray_io::read_npy::<_, Array1<i32>>(&path)?, arr1(&[1, 2, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert_stack_to_npy<P, Q>(folder: P, to: Q, conversion: Conversion<'_>) -> Result<()>
where
    P: AsRef<Path>,
    Q: AsRef<Path>,
{
    let (folder, to) = (folder.as_ref(), to.as_ref());
    let stack = conversion.get_read_options().open_stack(folder)?;
    if is_in_folder(to, folder) {
        let reason = "the new file would be in the folder of the stack".into();
        return Err(Error::from(Fault::BadOption { reason }).at_path(to));
    }
    let parts: Vec<_> = (0..stack.lengths().len()).map(|number| folder.join(parts::name(number))).collect();
    // Checked before anything is written: below, the parts are opened by name and not compared with `info`.
    (0..parts.len()).try_for_each(|number| stack.part(number).map(drop))?; // compares them with `info`
    let (axis, whole) = (stack.axis(), stack.into_file());
    match parts.is_empty() {
        true => convert_file(&whole, to, conversion),
        // Concatenated from the parts, which is fast for parts of any layout.
        false => concatenate_as(&parts, to, axis, whole.header(), conversion),
    }
}

/// Returns whether a new file would be in a folder.
fn is_in_folder(file: &Path, folder: &Path) -> bool {
    // An existing file may be a link to a file in another folder.
    let place = std::fs::canonicalize(file).ok();
    let parent = place.as_deref().unwrap_or(file).parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    match (std::fs::canonicalize(parent), std::fs::canonicalize(folder)) {
        (Ok(parent), Ok(folder)) => parent == folder,
        _ => parent == folder, // for systems without `canonicalize`
    }
}
