//! NPY files, of one array or several.

use std::rc::Rc;

use ndarray_io::convert::convert_file_into;
use ndarray_io::{DType, DynArray, ReadOptions, WriteOptions, npy};

use super::{CreateContext, FileFormat, PendingArray, PendingArrays};
use crate::changes::Changes;
use crate::convert::Arguments;
use crate::failure::{Failure, report};
use crate::input::Input;
use crate::output::{Content, Sink};
use crate::progress::Progress;
use crate::select::{Arrays, no_array_failure};
use crate::source::{Source, SourceArray};

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

    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        /// How many arrays are kept open.
        const MAX_OPEN_ARRAYS: usize = 16;
        let (options, selection) = (arguments.read_options(), &arguments.selection);
        let mut arrays = Arrays::of(input, &options);
        let (mut found, mut count) = (Vec::new(), 0);
        while let Some(array) = arrays.next().transpose()? {
            if selection.array.is_none_or(|wanted| wanted == count) {
                // Of many arrays, only the offsets are kept.
                found.push((
                    arrays.last_byte_range().start,
                    (count < MAX_OPEN_ARRAYS).then(|| Box::new(array)),
                ));
            }
            count += 1;
            if arguments.drop_trailing {
                break;
            }
        }
        if let (Some(wanted), true) = (selection.array, found.is_empty()) {
            return Err(no_array_failure(input, wanted, count));
        }
        if !arguments.drop_trailing && (selection.array.is_none() || input.is_output()) {
            refuse_bytes_after(input, &arrays, count, "; --drop-trailing drops them")?;
        }
        let (shared, selection) = (Rc::clone(input), selection.clone());
        Ok(Box::new(found.into_iter().map(move |(begin, kept)| {
            let (input, options, selection) = (Rc::clone(&shared), options.clone(), selection.clone());
            PendingArray::new(None, move || match kept {
                Some(array) => selection.part_of(*array),
                None => selection.part_of(Arrays::open_at(&input, &options, begin)?),
            })
        })))
    }

    fn create(&self, mut arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        let CreateContext { changes, output, stdout, .. } = context;
        let mut progress = Progress::new();
        let is_one = arrays.len() == 1;
        output.write(stdout, Content::Binary, |mut sink| {
            arrays.try_for_each(|array| {
                let source = array.open()?;
                // The library converts one array to one file on all cores.
                if let (true, Sink::File(file)) = (is_one, &sink) {
                    changes.check_applicable(&source)?;
                    let conversion = changes.conversion(WriteOptions::new(), &mut progress);
                    match &source.array {
                        SourceArray::File(array) => return Ok(convert_file_into(array, file, conversion)?),
                        SourceArray::Objects(_) => {}
                    }
                }
                write(source, changes, &mut progress, &mut sink)
            })
        })
    }
}

/// Returns an error if bytes that are not an array follow the last one. Rows that an append has not counted yet, or that an interrupted
/// one has left, are not part of the array: they are left out, which is noted, unless they would be lost.
pub(crate) fn refuse_trailing(input: &Input, options: &ReadOptions, advice: &str) -> Result<(), Failure> {
    let mut arrays = Arrays::of(input, options);
    let mut count = 0;
    for array in arrays.by_ref() {
        array?;
        count += 1;
    }
    refuse_bytes_after(input, &arrays, count, advice)
}

/// Like [`refuse_trailing`], after all arrays have been visited.
pub(crate) fn refuse_bytes_after(
    input: &Input,
    arrays: &Arrays<'_>,
    count: usize,
    advice: &str,
) -> Result<(), Failure> {
    let more = input.size()?.saturating_sub(arrays.last_byte_range().end);
    if more == 0 {
        return Ok(());
    }
    if count > 1 || arrays.last_array_has_objects() {
        return Err(input.at(format!("{more} bytes that are not an array follow its last array{advice}")));
    }
    let Err(error) = input.array(&crate::reading::options())?.check_end() else {
        return Ok(()); // they are being appended
    };
    // Complete rows are perhaps those of an append that goes on.
    let may_be_rows = error.help().is_some_and(|help| help.id() == "recover-trailing");
    if !may_be_rows || input.is_output() {
        let advice = if input.is_output() { "" } else { advice };
        return Err(input.at(format!("{error}{advice}")));
    }
    report(&input.at(format!("{}: they are left out", error.message())));
    Ok(())
}

/// Writes an array as an NPY file.
pub(super) fn write(
    source: Source,
    changes: &Changes,
    progress: &mut Progress,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    if let SourceArray::Objects(array) = &source.array
        && source.dtype().has_object()
    {
        changes.check_applicable(&source)?;
        return Ok(WriteOptions::new().write_to(sink, &*in_order(array, changes)?)?);
    }
    changes.write_npy(&source.ensure_iterable()?, progress, sink)
}

/// Returns an array in the order that is wanted.
pub(super) fn in_order<'a>(
    array: &'a DynArray,
    changes: &Changes,
) -> Result<std::borrow::Cow<'a, DynArray>, Failure> {
    Ok(array.in_order(changes.order.unwrap_or(array.order()))?)
}

/// Parses a dtype in NumPy's notation, with or without byte order and quotes.
pub(crate) fn parse_dtype(text: &str) -> Result<DType, Failure> {
    let descr = if text.starts_with(['[', '{', '(', '\'']) { text.to_owned() } else { format!("'{text}'") };
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (), }}");
    let mut file = b"\x93NUMPY\x02\x00".to_vec();
    file.extend((header.len() as u32 + 1).to_le_bytes());
    file.extend(header.bytes().chain([b'\n']));
    match npy::parse(&file) {
        Ok(ndarray_io::header::Parsed::Done(found, _)) => Ok(found.header.dtype().clone()),
        _ => {
            // Those of Python and Rust that are not NumPy's.
            let other = match text {
                "str" | "String" | "string" => Some("U10"),
                "bytes" => Some("S10"),
                "datetime" => Some("M8[us]"),
                // Rust counts bits, NumPy bytes.
                "f32" => Some("f4"),
                "f64" => Some("f8"),
                "i16" => Some("i2"),
                "i32" => Some("i4"),
                "i64" => Some("i8"),
                "u16" => Some("u2"),
                "u32" => Some("u4"),
                "u64" => Some("u8"),
                _ => text.strip_prefix("np.").or_else(|| text.strip_prefix("numpy.")),
            };
            let other = other.filter(|other| parse_dtype(other).is_ok());
            let advice = other.map_or(String::new(), |other| format!("; '{other}' may be what is meant"));
            Err(format!(
                "'{text}' is not a dtype{advice}; examples are f4, '>i8', U10, M8[ns], [('x', 'f8'), ('n', 'i4')]"
            )
            .into())
        }
    }
}
