//! Archives.

use std::io::{self, Seek, Write};
use std::rc::Rc;

use ndarray_io::npz::{Method, NpzMember};
use ndarray_io::{Compression, NpzWriter, WriteOptions};

use super::npy::in_order;
use super::{CompressionName, CreateContext, FileFormat, Member, PendingArray, PendingArrays};
use crate::changes::Changes;
use crate::convert::Arguments;
use crate::failure::{Failure, report};
use crate::input::Input;
use crate::output::{Content, Sink};
use crate::progress::{Progress, ProgressReader};
use crate::source::{Source, SourceArray};

pub(super) struct Npz;

impl FileFormat for Npz {
    fn name(&self) -> &'static str {
        "npz"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }

    fn sniff(&self, first: &[u8]) -> bool {
        matches!(first, [b'P', b'K', 3 | 5 | 7, 4 | 6 | 8, ..])
    }

    fn open(&self, input: &Rc<Input>, arguments: &Arguments) -> Result<PendingArrays, Failure> {
        let (options, selection) = (arguments.read_options(), arguments.selection.clone());
        let archive = Rc::new(input.npz(&options)?);
        // An archive keeps all of its arrays; other formats have room for one.
        let indices = match !selection.selects_array() && arguments.is_output_archive() {
            true => 0..archive.len(),
            false => {
                let index = selection.index_in(&archive, input)?;
                index..index + 1
            }
        };
        let input = Rc::clone(input);
        Ok(Box::new(indices.map(move |index| {
            let (shared, selection, input) = (Rc::clone(&archive), selection.clone(), Rc::clone(&input));
            let array = PendingArray::new(Some(archive.members()[index].name().to_owned()), move || {
                let source = Source::open_member(&shared, index, &input, selection.slice.is_none())?;
                if let SourceArray::File(file) = &source.array
                    && let Err(error) = file.check_end()
                {
                    // NumPy does not look at it.
                    if input.is_output() {
                        let advice = "; another output leaves it out";
                        let lost =
                            format!("what follows the array of a member would be lost: {error}{advice}");
                        return Err(lost.into());
                    }
                    report(&format!("what follows the array of a member is left out: {error}").into());
                }
                selection.part_of(source)
            });
            PendingArray { member: Some(Member { archive: Rc::clone(&archive), index }), ..array }
        })))
    }

    fn create(&self, arrays: PendingArrays, context: CreateContext<'_, '_>) -> Result<(), Failure> {
        let CreateContext { arguments, changes, output, stdout } = context;
        let mut arrays = arrays.peekable();
        let is_one = arrays.len() == 1;
        if !is_one && arrays.peek().is_some_and(|array| array.member.is_some()) && arguments.name.is_some() {
            return Err("--name names one member, and the input has several; --member selects one".into());
        }
        compression_of(arguments.compression, arguments.level)?; // before anything is written
        let is_same = changes.is_none() && !arguments.selection.is_partial() && !arguments.form.is_given();
        let mut progress = Progress::new();
        output.write(stdout, Content::Binary, |sink| {
            write(sink, |archive| {
                for (number, mut array) in arrays.enumerate() {
                    let name = arguments.member_file_name(array.name.as_deref(), number, is_one);
                    let from = array.member.as_ref().map(|member| &member.archive.members()[member.index]);
                    let options = options_like(arguments.compression, arguments.level, from)?;
                    if let Some(member) = array.member.take() {
                        let is_array = member.archive.holds_array(member.index)?;
                        // What nothing changes, and what is not an array, is copied as it is.
                        if is_same || !is_array {
                            copy_member(
                                archive,
                                &member,
                                is_array.then_some(name),
                                &options,
                                &mut progress,
                                arguments,
                            )?;
                            continue;
                        }
                    }
                    add(archive, name, array.open()?, changes, &options, &mut progress)?;
                }
                Ok(())
            })
        })
    }
}

/// Copies a member, by another name if one is given.
fn copy_member(
    archive: &mut ArchiveWriter<'_>,
    member: &Member,
    name: Option<String>,
    options: &WriteOptions,
    progress: &mut Progress,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let mut file = arguments.temporary_file_near_output()?;
    let len = member.archive.copy_raw(member.index, &file)?;
    file.rewind()?;
    let name = name.unwrap_or_else(|| member.archive.members()[member.index].file_name().to_owned());
    archive.add_raw(name, ProgressReader { input: file, progress, total_bytes: len }, len, options)
}

/// An archive that is being written, to a file or a stream.
pub(crate) enum ArchiveWriter<'a> {
    File(NpzWriter<&'a std::fs::File>),
    Stream(NpzWriter<&'a mut dyn Write>),
}

/// Writes an archive.
pub(crate) fn write(
    sink: Sink<'_>,
    add: impl FnOnce(&mut ArchiveWriter<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut archive = match sink {
        Sink::File(file) => ArchiveWriter::File(NpzWriter::new(file)),
        Sink::Stream(out) => ArchiveWriter::Stream(NpzWriter::new(out)),
    };
    add(&mut archive)?;
    match archive {
        ArchiveWriter::File(archive) => drop(archive.finish()?),
        ArchiveWriter::Stream(archive) => drop(archive.finish()?),
    }
    Ok(())
}

impl ArchiveWriter<'_> {
    /// Adds a member with these bytes.
    pub(crate) fn add_raw(
        &mut self,
        name: String,
        bytes: impl io::Read,
        len: u64,
        options: &WriteOptions,
    ) -> Result<(), Failure> {
        match self {
            Self::File(archive) => archive.add_raw_with(name, bytes, len, options)?,
            Self::Stream(archive) => archive.add_raw_with(name, bytes, len, options)?,
        }
        Ok(())
    }
}

/// Adds an array to an archive.
pub(crate) fn add(
    archive: &mut ArchiveWriter<'_>,
    name: String,
    source: Source,
    changes: &Changes,
    options: &WriteOptions,
    progress: &mut Progress,
) -> Result<(), Failure> {
    if let SourceArray::Objects(array) = &source.array
        && source.dtype().has_object()
    {
        changes.check_applicable(&source)?;
        let array = in_order(array, changes)?;
        let name = name.strip_suffix(".npy").unwrap_or(&name); // which the writer adds again
        match archive {
            ArchiveWriter::File(archive) => archive.add_with(name, &*array, options)?,
            ArchiveWriter::Stream(archive) => archive.add_with(name, &*array, options)?,
        }
        return Ok(());
    }
    let (bytes, len) = changes.npy_reader(&source)?;
    archive.add_raw(name, ProgressReader { input: bytes, progress, total_bytes: len }, len, options)
}

/// Returns the options for a member with the compression that was asked for, or that of a member of the input; if that cannot be written,
/// with the one most like it.
pub(crate) fn options_like(
    name: Option<CompressionName>,
    level: Option<u8>,
    member: Option<&NpzMember>,
) -> Result<WriteOptions, Failure> {
    let name = name.or_else(|| {
        Some(match member?.method() {
            Method::Stored => CompressionName::None,
            Method::Zstd => CompressionName::Zstd,
            _ => CompressionName::Deflate,
        })
    });
    Ok(WriteOptions::new().compression(compression_of(name, level)?))
}

pub(crate) fn compression_of(
    name: Option<CompressionName>,
    level: Option<u8>,
) -> Result<Compression, Failure> {
    Ok(match (name, level) {
        (None | Some(CompressionName::None), None) => Compression::Stored,
        (None | Some(CompressionName::None), Some(_)) => {
            return Err("--level is for --compression deflate and zstd".into());
        }
        (Some(CompressionName::Deflate), None) => Compression::DEFLATE,
        (Some(CompressionName::Deflate), Some(level @ 0..=9)) => Compression::Deflated(level.into()),
        (Some(CompressionName::Deflate), Some(_)) => return Err("--level of deflate is from 0 to 9".into()),
        (Some(CompressionName::Zstd), Some(level @ 1..=22)) => Compression::Zstd(level.into()),
        (Some(CompressionName::Zstd), Some(_)) => return Err("--level of zstd is from 1 to 22".into()),
        (Some(CompressionName::Zstd), None) => Compression::Zstd(3),
        (Some(CompressionName::Lz4), _) => return Err("--compression lz4 is for RA files".into()),
    })
}
