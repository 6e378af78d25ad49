//! [`parse_slice`]: slices as text.

use ndarray::{Slice, SliceInfoElem};

use crate::error::{Error, Fault, Remedy, Result};

/// Parses a slice in NumPy's notation, for an array of this shape: what a user of a program or a service asks for.
///
/// As in NumPy, bounds of ranges are clipped to the axis, a negative step counts down, `...` is all axes that are not named, and axes at the end may be
/// left out. An index is not clipped: that it is out of bounds is an error when the array is sliced.
///
/// # Errors
///
/// - [`BadOption`](crate::error::ErrorKind::BadOption) if the text is not a slice, or has more parts than the array has axes.
///
/// # Examples
///
/// ```
/// use ndarray::{Array2, arr2};
/// use ndarray_io::file::parse_slice;
/// use ndarray_io::{NpyFile, write_npy};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// write_npy(&path, &arr2(&[[1, 2, 3], [4, 5, 6]]))?;
/// let file = NpyFile::open(&path)?;
/// let part = file.slice_any(&parse_slice("1:100, ::-2", file.shape())?[..])?;
/// assert_eq!(part.to_string(), "[[6, 4]]");
/// assert!(parse_slice("1, 2, 3", file.shape()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_slice(text: &str, shape: &[usize]) -> Result<Vec<SliceInfoElem>> {
    let listed = text.trim();
    // As in Python, or only what is within the brackets.
    let listed = listed.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(listed).trim();
    // A comma may follow the last part, as in Python.
    let listed = listed.strip_suffix(',').filter(|listed| !listed.is_empty()).unwrap_or(listed);
    let parts: Vec<&str> = match listed {
        "" => Vec::new(),
        listed => listed.split(',').map(str::trim).collect(),
    };
    let adds_axis = |part: &str| ["None", "newaxis", "np.newaxis", "numpy.newaxis"].contains(&part);
    if let Some(part) = parts.iter().find(|part| adds_axis(part)) {
        return Err(bad_slice(format!("the slice '{text}' has {part}: new axes are not supported")));
    }
    if parts.iter().any(|part| part.starts_with(['[', '('])) {
        return Err(bad_slice(format!(
            "the slice '{text}' has lists: a part is an index or a slice, such as 0:3:2"
        )));
    }
    if parts.iter().any(|part| part.starts_with(['\'', '"'])) {
        return Err(bad_slice(format!("the slice '{text}' names a field")).with_help(Remedy::TakeField));
    }
    let given = parts.iter().filter(|part| **part != "...").count();
    if given > shape.len() {
        return Err(bad_slice(format!(
            "the slice '{text}' has {given} parts, but the array has {} axes",
            shape.len()
        )));
    }
    let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
    let mut elements = Vec::new();
    let mut has_dots = false;
    for part in parts {
        match part {
            "..." if has_dots => return Err(bad_slice(format!("the slice '{text}' has '...' twice"))),
            "..." => {
                has_dots = true;
                elements.extend(std::iter::repeat_n(all, shape.len() - given));
            }
            part => {
                let length = shape[elements.len()];
                elements.push(parse_part(part, length).ok_or_else(|| {
                    bad_slice(format!("'{part}' is not an index or a slice, as in NumPy: 3, 0:2, ::-1, ..."))
                })?);
            }
        }
    }
    elements.resize(shape.len(), all);
    Ok(elements)
}

fn bad_slice(reason: String) -> Error {
    Fault::BadOption { reason }.into()
}

/// Parses one part: an index or `start:end:step`, for an axis of this length.
fn parse_part(part: &str, length: usize) -> Option<SliceInfoElem> {
    let number = |text: &str| match text.trim() {
        "" => Some(None),
        digits => digits.parse::<isize>().ok().map(Some),
    };
    let parts: Vec<&str> = part.split(':').collect();
    let (start, end, step) = match parts[..] {
        [index] => return index.trim().parse().ok().map(SliceInfoElem::Index),
        [start, end] => (number(start)?, number(end)?, 1),
        [start, end, step] => (number(start)?, number(end)?, number(step)?.unwrap_or(1)),
        _ => return None,
    };
    let length = isize::try_from(length).ok()?;
    let inside = |index: isize| if index < 0 { (index + length).max(0) } else { index.min(length) };
    if step >= 0 {
        let (start, end) = (start.map_or(0, inside), end.map_or(length, inside));
        let step = Some(step).filter(|step| *step > 0)?;
        return Some(SliceInfoElem::Slice { start, end: Some(end.max(start)), step });
    }
    // For a negative step, NumPy counts down from `start` to before `end`; ndarray takes the same range
    // ascending, and reverses it.
    let last = length - 1;
    let high = start.map_or(last, |start| if start < 0 { start + length } else { start.min(last) });
    let low = end.map_or(-1, |end| if end < 0 { (end + length).max(-1) } else { end.min(last) });
    let (start, end) = ((low + 1).max(0), (high + 1).max(0));
    Some(Slice::new(start, Some(end.max(start)), step).into())
}
