//! What a conversion changes of an array, and the elements that result, as a stream of bytes.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use ndarray_io::blocks::{Block, Blocks};
use ndarray_io::convert::Conversion;
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::header::{Header, Order};
use ndarray_io::npy::Version;
use ndarray_io::{ByteOrder, Casting, DType, DynArray, ReadOptions, WriteOptions, npy};

use super::convert::Arguments;
use super::failure::Failure;
use super::progress::Progress;
use super::source::{Source, SourceArray};

/// What is changed: nothing that is `None`.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    pub(crate) order: Option<Order>,
    pub(crate) byte_order: Option<ByteOrder>,
    pub(crate) dtype: Option<(DType, Casting)>,
    pub(crate) version: Option<Version>,
}

impl Changes {
    pub(crate) fn is_none(&self) -> bool {
        self.order.is_none() && self.byte_order.is_none() && self.dtype.is_none() && self.version.is_none()
    }

    /// Returns an error if the elements are Python objects, of which only the order can change.
    pub(crate) fn check_applicable(&self, source: &Source) -> Result<(), Failure> {
        let is_wanted = self.dtype.is_some() || self.byte_order.is_some() || self.version.is_some();
        match source.dtype().has_object() && is_wanted {
            true => {
                let name = source.name().display();
                Err(format!("{name}: the dtype, byte order and version of Python objects cannot be changed")
                    .into())
            }
            false => Ok(()),
        }
    }

    /// Returns the header of the result; `order` is its order unless another is wanted.
    pub(crate) fn header(&self, source: &Source, order: Order) -> Result<Header, Failure> {
        self.check_applicable(source)?;
        let conversion = self.base_conversion(WriteOptions::new()).order(self.order.unwrap_or(order));
        let header = match &source.array {
            SourceArray::File(file) => conversion.header_of(file),
            SourceArray::Objects(array) => {
                Header::new(array.dtype().clone(), order, array.shape().to_vec().into())
            }
        };
        Ok(header.map_err(|error| source.name_error(error))?)
    }

    /// Returns the elements of the result, in the order and with the dtype of this header.
    pub(crate) fn elements<'a>(&self, source: &'a Source, header: &Header) -> Elements<'a> {
        const BLOCK_BYTES: usize = 4 << 20;
        // Elements may become longer.
        let (item, made) = (source.dtype().item_size().max(1), header.dtype().item_size().max(1));
        let block = BLOCK_BYTES / made.div_ceil(item);
        let casting = self.dtype.as_ref().map_or(Casting::Safe, |(_, casting)| *casting);
        Elements {
            blocks: source.blocks().order(header.order()).bytes(block),
            remaining_bytes: header.payload_len().unwrap_or_default(),
            progress_total: source.byte_len(),
            converter: BlockConverter {
                source,
                dtype: header.dtype().clone(),
                order: header.order(),
                options: crate::reading::options().casting(casting),
            },
        }
    }

    /// Returns an NPY file with the result, and its length in bytes. Not for Python objects.
    pub(crate) fn npy_reader<'a>(&self, source: &'a Source) -> Result<(impl Read + use<'a>, u64), Failure> {
        let header = self.header(source, source.order())?;
        let head = npy::format(&header, self.version).map_err(|error| source.name_error(error))?;
        let len = head.len() as u64 + header.payload_len().unwrap_or_default();
        Ok((io::Cursor::new(head).chain(self.elements(source, &header).into_reader()), len))
    }

    /// Writes an NPY file with the result. Not for Python objects.
    pub(crate) fn write_npy(
        &self,
        source: &Source,
        progress: &mut Progress,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let header = self.header(source, source.order())?;
        out.write_all(&npy::format(&header, self.version).map_err(|error| source.name_error(error))?)?;
        self.elements(source, &header).write_to(progress, out)
    }

    /// Returns the result as an array, for what reads it element by element: made in a file without a name, unless nothing changes.
    pub(crate) fn applied(&self, source: Source, arguments: &Arguments) -> Result<Source, Failure> {
        self.check_applicable(&source)?;
        if self.is_none() || source.dtype().has_object() {
            return Ok(source);
        }
        let mut made = arguments.temporary_file_near_output()?;
        self.write_npy(&source, &mut Progress::new(), &mut made)?;
        let header = self.header(&source, source.order())?;
        reopened(made, header.dtype(), source.name())
    }

    /// Returns the same as a conversion of the library, which shows progress.
    pub(crate) fn conversion<'a>(&self, write: WriteOptions, progress: &'a mut Progress) -> Conversion<'a> {
        self.base_conversion(write).progress(|done, total| {
            progress.set(done, total);
            ControlFlow::Continue(())
        })
    }

    fn base_conversion(&self, write: WriteOptions) -> Conversion<'static> {
        let write = self.version.map_or_else(|| write.clone(), |version| write.clone().version(version));
        let mut conversion = Conversion::new()
            .read_options(crate::reading::options())
            .write_options(write)
            // What follows the array has been looked at.
            .drop_trailing(true);
        if let Some(order) = self.order {
            conversion = conversion.order(order);
        }
        if let Some(order) = self.byte_order {
            conversion = conversion.byte_order(order);
        }
        if let Some((dtype, casting)) = &self.dtype {
            conversion = conversion.dtype(dtype.clone(), *casting);
        }
        conversion
    }
}

/// Opens the array of an NPY file that has been written, whose elements have this dtype.
pub(crate) fn reopened(mut made: File, dtype: &DType, name: &Path) -> Result<Source, Failure> {
    made.rewind()?;
    // The file has raw bytes for numbers that NPY does not know.
    let mut options = crate::reading::options();
    if let Some(Kind::Narrow(narrow)) = dtype.as_scalar().map(Scalar::kind) {
        options = options.raw_bytes_are(narrow);
    }
    Ok(Source::npy(options.open_file(made)?.with_path(name), name))
}

/// The elements of an array, converted block by block.
pub(crate) struct Elements<'a> {
    blocks: Blocks<'a, DynArray>,
    converter: BlockConverter<'a>,
    /// How many bytes are still to come.
    remaining_bytes: u64,
    /// The number of bytes of all the work, for the progress.
    progress_total: u64,
}

/// What blocks are converted to.
struct BlockConverter<'a> {
    source: &'a Source,
    dtype: DType,
    order: Order,
    options: ReadOptions,
}

impl BlockConverter<'_> {
    fn convert(&self, block: Block<DynArray>) -> ndarray_io::Result<DynArray> {
        let (place, array) = block.take_array();
        let array = match array.dtype() == &self.dtype {
            true => array,
            false => array
                .cast_to(&self.dtype, &self.options)
                .map_err(|error| self.source.name_error(place.located(error)))?,
        };
        Ok(array.in_order(self.order)?.into_owned())
    }
}

impl<'a> Elements<'a> {
    /// Returns only the elements within these ranges.
    pub(crate) fn within(mut self, part: &[Range<usize>]) -> Result<Self, Failure> {
        self.blocks = self.blocks.within(part)?;
        let len: u64 = part.iter().map(|range| range.len() as u64).product();
        self.remaining_bytes = len * self.converter.dtype.item_size() as u64;
        Ok(self)
    }

    /// Sets the number of bytes of all the work of which this is a part.
    pub(crate) fn with_progress_total(self, progress_total: u64) -> Self {
        Self { progress_total, ..self }
    }

    /// Writes the elements, while other threads read and convert the next ones.
    pub(crate) fn write_to(self, progress: &mut Progress, out: &mut dyn Write) -> Result<(), Failure> {
        let Self { blocks, converter, progress_total, .. } = self;
        blocks.par_map(
            |block| converter.convert(block),
            |array: ndarray_io::Result<DynArray>| -> Result<(), Failure> {
                let array = array.map_err(|error| converter.source.name_error(error))?;
                out.write_all(array.bytes())?;
                progress.add(array.bytes().len() as u64, progress_total);
                Ok(())
            },
        )
    }

    /// Returns the elements as a reader.
    fn into_reader(self) -> ElementsReader<'a> {
        ElementsReader { elements: self, block: None, position: 0 }
    }
}

/// A reader of elements.
struct ElementsReader<'a> {
    elements: Elements<'a>,
    block: Option<DynArray>,
    /// How many bytes of the block have been read.
    position: usize,
}

impl Read for ElementsReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(block) = &self.block
                && self.position < block.bytes().len()
            {
                let rest = &block.bytes()[self.position..];
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                self.position += count;
                self.elements.remaining_bytes = self.elements.remaining_bytes.saturating_sub(count as u64);
                return Ok(count);
            }
            if self.elements.remaining_bytes == 0 {
                return Ok(0);
            }
            // An error ends the iteration: what is short is never taken for the end.
            let Some(block) = self.elements.blocks.next() else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let converter = &self.elements.converter;
            let block = block.and_then(|block| converter.convert(block)).map_err(|error| {
                let error = io::Error::from(converter.source.name_error(error));
                // Nor is it to be tried again, as that of a reader.
                if error.kind() == io::ErrorKind::Interrupted { io::Error::other(error) } else { error }
            })?;
            (self.block, self.position) = (Some(block), 0);
        }
    }
}
