//! Raw elements without a header.

use std::rc::Rc;

use ndarray_io::DType;
use ndarray_io::header::{Header, Order, Shape};

use super::npy::parse_dtype;
use super::{CreateContext, FileFormat, PendingArray, PendingArrays, open_only_array, single_array};
use crate::convert::Arguments;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Content;
use crate::progress::Progress;
use crate::select::with_header;
use crate::source::Source;

pub(super) struct Raw;

impl FileFormat for Raw {
    fn name(&self) -> &'static str {
        "raw"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["raw", "bin", "dat"]
    }

    fn sniff(&self, _: &[u8]) -> bool {
        false
    }

    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let dtype = parse_dtype(arguments.dtype.as_deref().ok_or("raw bytes need --dtype")?)?;
        let order = arguments.order.map_or(Order::C, Into::into);
        let offset = arguments.offset.unwrap_or(0);
        refuse_objects(&dtype)?;
        let size = input.size()?;
        let found = size.checked_sub(offset).ok_or_else(|| {
            input.at(format!("--offset {offset} is beyond the end: the file has {size} bytes"))
        })?;
        let lengths =
            arguments.shape.as_deref().ok_or("raw bytes need --shape: 100,3, or -1 for one axis")?;
        let shape = parse_shape(lengths, found, &dtype).map_err(|failure| input.at(failure))?;
        let wanted = shape
            .byte_len(dtype.item_size())
            .ok_or_else(|| format!("an array of shape {shape} is too large"))?;
        if found != wanted {
            let advice = match found.checked_sub(wanted) {
                Some(more) if offset == 0 && wanted > 0 => format!(
                    "; a length of -1 takes all of them; if the file begins with a header of {more} bytes, --offset {more} skips it"
                ),
                _ => String::new(),
            };
            return Err(input.at(format!(
                "an array of shape {shape} and dtype {dtype} needs {wanted} bytes, found {found}{advice}"
            )));
        }
        let header = Header::new(dtype, order, shape)?;
        // The bytes after a header are an NPY file.
        let bytes = with_header(&header, input.bytes()?, offset)?;
        let (name, selection) = (input.name().to_owned(), arguments.selection.clone());
        Ok(single_array(PendingArray::new(None, move || {
            let file = crate::reading::options().open_source(bytes)?.with_path(&name);
            selection.part_of(Source::npy(file, &name))
        })))
    }

    fn create(&self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        let CreateContext { arguments, changes, output, stdout } = context;
        let source = open_only_array(arrays, arguments)?.ensure_iterable()?;
        refuse_objects(source.dtype())?;
        // Raw bytes do not say their order, so it is the one in which they are read, as with `tofile` of NumPy.
        let header = changes.header(&source, Order::C)?;
        output.write(stdout, Content::Binary, move |mut sink| {
            let source = source;
            changes.elements(&source, &header).write_to(&mut Progress::new(), &mut sink)
        })
    }
}

fn refuse_objects(dtype: &DType) -> Result<(), Failure> {
    if dtype.has_object() { Err("Python objects have no raw bytes".into()) } else { Ok(()) }
}

/// Divides a shape into its lengths: 100,3 or 100x3. A comma may follow the last length, as in Python.
pub(crate) fn shape_words(text: &str) -> Vec<&str> {
    let text = text.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let text = text.strip_suffix(',').unwrap_or(text);
    text.split([',', 'x']).map(str::trim).filter(|_| !text.is_empty()).collect()
}

/// Parses the lengths of the axes: 100,3 or 100x3. One of them may be -1: as many as there are bytes for.
pub(crate) fn parse_shape(text: &str, bytes: u64, dtype: &DType) -> Result<Shape, Failure> {
    let lengths = shape_words(text);
    let known = |length: &&str| match length.parse::<usize>() {
        Ok(length) => Ok(length),
        Err(_) => Err(format!("'{length}' is not the length of an axis, as in 100,3")),
    };
    let Some(open) = lengths.iter().position(|length| *length == "-1") else {
        return Ok(Shape::from(lengths.iter().map(known).collect::<Result<Vec<_>, _>>()?));
    };
    let others = lengths.iter().enumerate().filter(|(number, _)| *number != open);
    let others = others.map(|(_, length)| known(length)).collect::<Result<Vec<_>, _>>()?;
    let each = Shape::from(&others[..])
        .byte_len(dtype.item_size())
        .filter(|each| *each > 0 && bytes.is_multiple_of(*each));
    let length = each.and_then(|each| usize::try_from(bytes / each).ok()).ok_or_else(|| {
        let others = Shape::from(&others[..]);
        format!("the length of the axis of -1 is unknown: {bytes} bytes are not a multiple of {} elements of {dtype}", others.len().unwrap_or(0))
    })?;
    let mut all = others;
    all.insert(open, length);
    Ok(Shape::from(all))
}
