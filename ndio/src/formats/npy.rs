//! NPY files, of one array or several.

use ndarray_io::convert::convert_file_into;
use ndarray_io::error::ErrorKind;
use ndarray_io::{DType, DynArray, NpyFile, WriteOptions, npy};

use super::{FileFormat, Making, Pending};
use crate::changes::Changes;
use crate::convert::Arguments;
use crate::failure::{Failure, note};
use crate::input::Input;
use crate::output::{Content, Sink};
use crate::progress::Progress;
use crate::select::{Arrays, no_array};
use crate::source::{Source, Whole};

pub(super) struct Npy;

impl FileFormat for Npy {
    fn name(&self) -> &'static str {
        "npy"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn sniff(&self, first: &[u8]) -> bool {
        first.starts_with(b"\x93NUMPY")
    }

    fn open(&self, input: &Input, arguments: &Arguments) -> Result<Vec<Pending>, Failure> {
        let options = arguments.options();
        let which = &arguments.which;
        let mut arrays = Arrays::of(input, &options);
        let mut all = Vec::new();
        for array in arrays.by_ref() {
            all.push(array?);
            if arguments.drop_trailing && which.array.is_none() {
                break;
            }
        }
        let count = all.len();
        if let Some(wanted) = which.array {
            all = all.into_iter().nth(wanted).into_iter().collect();
            if all.is_empty() {
                return Err(no_array(input, wanted, count));
            }
        } else if let (false, Some(last)) = (arguments.drop_trailing, all.last()) {
            refuse_trailing(input, &arrays, (last, count), "; --drop-trailing drops them")?;
        }
        let all = all.into_iter().map(|source| {
            let which = which.clone();
            Pending::new(None, move || which.part_of(source))
        });
        Ok(all.collect())
    }

    fn create(&self, arrays: Vec<Pending>, making: Making<'_, '_>) -> Result<(), Failure> {
        let Making { changes, output, out, .. } = making;
        let mut progress = Progress::new();
        let is_one = arrays.len() == 1;
        output.write(out, Content::Binary, |mut sink| {
            arrays.into_iter().try_for_each(|array| {
                let source = array.open()?;
                // The library converts one array to one file on all cores.
                if let (true, Sink::File(file)) = (is_one, &sink) {
                    changes.check(&source)?;
                    let conversion = changes.conversion(WriteOptions::new(), &mut progress);
                    match &source.array {
                        Whole::Npy(array) => return Ok(convert_file_into(array, file, conversion)?),
                        Whole::Ra(array) => return Ok(convert_file_into(array, file, conversion)?),
                        Whole::Objects(_) => {}
                    }
                }
                write(source, changes, &mut progress, &mut sink)
            })
        })
    }
}

/// Returns an error if the file is also the output, and has rows that its header does not count, which would be lost.
pub(crate) fn refuse_uncommitted(input: &Input, file: &NpyFile) -> Result<(), Failure> {
    if input.is_output() { Ok(file.check_end()?) } else { Ok(()) }
}

/// Returns an error if bytes that are not an array follow the last one. Rows that an append has not counted yet, or that an interrupted
/// one has left, are not part of the array: they are left out, which is noted.
pub(crate) fn refuse_trailing(
    input: &Input,
    arrays: &Arrays<'_>,
    (last, count): (&Source, usize),
    advice: &str,
) -> Result<(), Failure> {
    let more = input.size()?.saturating_sub(arrays.bytes().end);
    if more == 0 {
        return Ok(());
    }
    if let (Whole::Npy(_), 1) = (&last.array, count)
        && let Err(error) = input.npy(&crate::reading::options())?.check_end()
    {
        let rows = match error.kind() {
            ErrorKind::Trailing { rows, .. } => *rows,
            _ => 0,
        };
        if rows == 0 || input.is_output() {
            let advice = if input.is_output() { "" } else { advice };
            return Err(input.at(format!("{error}{advice}")));
        }
        note(&input.at(format!("rows that its header does not count are left out: {rows}")));
        return Ok(());
    }
    match (&last.array, count) {
        (Whole::Npy(_), 1) => Ok(()), // they are being appended
        _ => Err(input.at(format!("{more} bytes that are not an array follow its last array{advice}"))),
    }
}

/// Writes an array as an NPY file.
pub(super) fn write(
    source: Source,
    changes: &Changes,
    progress: &mut Progress,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    if let Whole::Objects(array) = &source.array
        && source.dtype().has_object()
    {
        changes.check(&source)?;
        return Ok(ndarray_io::WriteNpyExt::write_npy_with(
            &*in_order(array, changes)?,
            sink,
            &WriteOptions::new(),
        )?);
    }
    changes.write_npy(&source, progress, sink)
}

/// Returns an array in the order that is wanted.
pub(super) fn in_order<'a>(
    array: &'a DynArray,
    changes: &Changes,
) -> Result<std::borrow::Cow<'a, DynArray>, Failure> {
    Ok(array.in_order(changes.order.unwrap_or(array.order()))?)
}

/// Parses a dtype in NumPy's notation, with or without byte order and quotes.
pub(crate) fn dtype(text: &str) -> Result<DType, Failure> {
    let descr = if text.starts_with(['[', '{', '(', '\'']) { text.to_owned() } else { format!("'{text}'") };
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (), }}");
    let mut file = b"\x93NUMPY\x02\x00".to_vec();
    file.extend((header.len() as u32 + 1).to_le_bytes());
    file.extend(header.bytes().chain([b'\n']));
    match npy::parse(&file) {
        Ok(npy::Parsed::Done(found, _)) => Ok(found.header.dtype().clone()),
        _ => Err(format!(
            "'{text}' is not a dtype; examples are f4, '>i8', U10, M8[ns], [('x', 'f8'), ('n', 'i4')]"
        )
        .into()),
    }
}
