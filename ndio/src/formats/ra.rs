//! RA files.

use std::io::Write;
use std::rc::Rc;

use ndarray_io::Compression;
use ndarray_io::header::{Header, Order};
use ndarray_io::ra::{self};
use ndarray_io::{DType, DynView, WriteOptions};

use super::{
    CompressionName, CreateContext, FileFormat, Format, PendingArray, PendingArrays, open_only_array,
    single_array,
};
use crate::cells::dtype_text;
use crate::convert::Arguments;
use crate::failure::{Failure, at};
use crate::input::Input;
use crate::output::Content;
use crate::progress::Progress;
use crate::source::Source;

pub(super) struct Ra;

impl FileFormat for Ra {
    fn name(&self) -> &'static str {
        "ra"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ra"]
    }

    fn sniff(&self, first: &[u8]) -> bool {
        first.starts_with(b"rawarray") || first.starts_with(b"yarrawar")
    }

    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let options = arguments.read_options();
        let source = Source::open_single_array(input, Format::Ra, &options)?;
        if !arguments.drop_trailing {
            // Of packed data, the header says where they end only in some files.
            let trailing = input.ra_reader(&options)?.extent().and_then(ndarray_io::header::Extent::trailing);
            if let Some(bytes @ 1..) = trailing {
                return Err(
                    input.at(format!("found {bytes} bytes after the array; --drop-trailing drops them"))
                );
            }
        }
        let selection = arguments.selection.clone();
        Ok(single_array(PendingArray::new(None, move || selection.part_of(source))))
    }

    fn create(&self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        let CreateContext { arguments, changes, output, stdout } = context;
        let source = open_only_array(arrays, arguments)?;
        let header = changes.header(&source, Order::Fortran)?;
        if let DType::Record(_) = header.dtype() {
            let dtype = dtype_text(header.dtype());
            let text =
                format!("RA cannot represent elements of {dtype}: the names of its fields would be lost");
            return Err(at(source.name(), text.into()));
        }
        let head = ra::format(&header).map_err(|error| source.name_error(error))?;
        let mut progress = Progress::new();
        // What is read is closed before the output is in place: some systems do not replace a file that is open.
        output.write(stdout, Content::Binary, move |mut sink| {
            let source = source;
            let elements = changes.elements(&source, &header);
            let is_packed = match arguments.compression {
                None | Some(CompressionName::None) => false,
                Some(CompressionName::Lz4) => true,
                Some(CompressionName::Deflate | CompressionName::Zstd) => {
                    return Err("RA files are packed with lz4 only".into());
                }
            };
            if is_packed {
                // LZ4 packs the data as one piece.
                source.check_complete()?;
                let mut payload = Vec::new();
                payload.try_reserve_exact(usize::try_from(header.payload_len().unwrap_or(u64::MAX))?)?;
                elements.write_to(&mut progress, &mut payload)?;
                let view = fortran_view(&payload, &header)?;
                return Ok(WriteOptions::new().compression(Compression::Lz4).write_ra_to(sink, &view)?);
            }
            sink.write_all(&head)?;
            elements.write_to(&mut progress, &mut sink)
        })
    }
}

/// Views elements as RA files have them: in Fortran order. Of an array in C order, that has the axes reversed.
fn fortran_view<'a>(payload: &'a [u8], header: &Header) -> Result<DynView<'a>, Failure> {
    let mut shape = header.shape().to_vec();
    if header.order() == Order::C {
        shape.reverse();
    }
    let item = header.dtype().item_size() as isize;
    let strides: Vec<isize> = shape
        .iter()
        .scan(item, |stride, length| {
            let own = *stride;
            *stride = stride.saturating_mul(*length as isize);
            Some(own)
        })
        .collect();
    Ok(DynView::new(payload, 0, header.dtype().clone(), shape, &strides)?)
}
