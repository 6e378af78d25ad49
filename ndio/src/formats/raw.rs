//! Raw elements without a header.

use std::rc::Rc;

use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::{DType, NpyFile};

use super::npy::dtype;
use super::{AllPending, FileFormat, Making, Pending, just, the_only};
use crate::convert::Arguments;
use crate::failure::Failure;
use crate::input::Input;
use crate::output::Content;
use crate::progress::Progress;
use crate::select::headed;
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

    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<AllPending, Failure> {
        let dtype = dtype(arguments.dtype.as_deref().ok_or("raw bytes need --dtype")?)?;
        let shape = shape(arguments.shape.as_deref().ok_or("raw bytes need --shape")?)?;
        let order = arguments.order.map_or(Order::C, Into::into);
        let offset = arguments.offset.unwrap_or(0);
        refuse_objects(&dtype)?;
        let wanted = shape
            .byte_len(dtype.item_size())
            .ok_or_else(|| format!("an array of shape {shape} is too large"))?;
        let found = input.size()?.saturating_sub(offset);
        if found != wanted {
            let found = if found < wanted { found.to_string() } else { "more".to_owned() };
            return Err(input.at(format!(
                "an array of shape {shape} and dtype {dtype} needs {wanted} bytes, found {found}"
            )));
        }
        let header = Header::new(dtype, order, shape)?;
        // The bytes after a header are an NPY file.
        let bytes = headed(&header, input.bytes()?, offset)?;
        let (name, which) = (input.name().to_owned(), arguments.which.clone());
        Ok(just(Pending::new(None, move || {
            let file = NpyFile::from_source_with(bytes, &crate::reading::options())?.with_path(&name);
            which.part_of(Source::npy(file, &name))
        })))
    }

    fn create(&self, arrays: AllPending, making: Making<'_, '_>) -> Result<(), Failure> {
        let Making { arguments, changes, output, out } = making;
        let source = the_only(arrays, arguments)?.readable()?;
        refuse_objects(source.dtype())?;
        let header = changes.header(&source, source.order())?;
        output.write(out, Content::Binary, move |mut sink| {
            let source = source;
            changes.elements(&source, &header).write_to(&mut Progress::new(), &mut sink)
        })
    }
}

fn refuse_objects(dtype: &DType) -> Result<(), Failure> {
    if dtype.has_object() { Err("Python objects have no raw bytes".into()) } else { Ok(()) }
}

/// Parses the lengths of the axes: 100,3 or 100x3.
fn shape(text: &str) -> Result<Shape, Failure> {
    // A comma may follow the last length, as in Python.
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    let lengths = text.split([',', 'x']).map(str::trim).filter(|_| !text.is_empty());
    let lengths = lengths.map(|length| {
        length.parse::<usize>().map_err(|_| format!("'{length}' is not the length of an axis"))
    });
    Ok(Shape::from(lengths.collect::<Result<Vec<_>, _>>()?))
}
