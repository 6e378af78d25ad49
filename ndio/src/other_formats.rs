//! Files of other formats: `ndio convert` between archives and safetensors and between sparse and dense arrays, and what `ndio info`
//! says of them.

use std::io::Write;
use std::path::Path;

use ndarray_io::error::Help;
use ndarray_io::header::Extent;
use ndarray_io::{Error, WriteOptions};
use ndarray_io_formats::safetensors::{SafeTensors, npz_to_safetensors, safetensors_to_npz};
use ndarray_io_formats::sparse::{MEMBER_NAMES, Sparse, SparseInfo};

use super::convert::Arguments;
use super::failure::Failure;
use super::formats::{Format, compression_of};
use super::growth;
use super::input::Input;
use super::output::{Content, Output};

/// How the elements of a sparse matrix are stored.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SparseLayout {
    /// Rows
    Csr,
    /// Columns
    Csc,
    /// Coordinates
    Coo,
}

/// What a conversion makes of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherFormatConversion {
    FromSafetensors,
    ToSafetensors,
    ToDense,
    ToSparse,
}

/// Whether a file is one of safetensors, by its name.
pub(crate) fn has_safetensors_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"))
}

impl OtherFormatConversion {
    /// Returns the conversion that is asked for, if it is one of these. `to` is the format of the output, if it has a name.
    fn of(arguments: &Arguments, input: &Input, to: Option<Format>) -> Result<Option<Self>, Failure> {
        if arguments.has_from() && arguments.sparse.is_none() {
            return Ok(None); // what the input is was said
        }
        let from = input.detected_format();
        if arguments.sparse.is_some() {
            return match (from, to) {
                (Some(Format::Npy | Format::Npz), Some(Format::Npz)) => Ok(Some(Self::ToSparse)),
                _ => Err(input.at("--sparse makes an archive of an NPY file or of a sparse matrix")),
            };
        }
        if has_safetensors_extension(input.name()) && from.is_none() {
            return match to {
                Some(Format::Npz) => Ok(Some(Self::FromSafetensors)),
                _ => Err(input.at("safetensors are converted to an archive: name an .npz file")),
            };
        }
        if has_safetensors_extension(arguments.output()) && arguments.to().is_none() {
            return match from {
                Some(Format::Npz) => Ok(Some(Self::ToSafetensors)),
                _ => Err(input.at("safetensors are made of an archive: convert it to an .npz file first")),
            };
        }
        let is_sparse = from == Some(Format::Npz)
            && to == Some(Format::Npy)
            && !arguments.selection.selects_array()
            && SparseInfo::of(&input.npz(&crate::reading::options())?)?.is_some();
        Ok(is_sparse.then_some(Self::ToDense))
    }
}

/// Converts a file if it, or what it becomes, is of another format; otherwise returns the output.
pub(crate) fn convert_or_return_output(
    arguments: &Arguments,
    input: &Input,
    to: Option<Format>,
    output: Output,
    out: &mut dyn Write,
) -> Result<Option<Output>, Failure> {
    let Some(conversion) = OtherFormatConversion::of(arguments, input, to)? else { return Ok(Some(output)) };
    if let Some(name) = arguments.given_array_option() {
        return Err(format!("{name} has no effect here: convert the arrays of the archive").into());
    }
    let is_archive =
        matches!(conversion, OtherFormatConversion::FromSafetensors | OtherFormatConversion::ToSparse);
    if arguments.compression.is_some() && !is_archive {
        return Err("--compression is for archives and RA files".into());
    }
    let archive = WriteOptions::new().compression(compression_of(arguments.compression, arguments.level)?);
    let options = crate::reading::options();
    // What is wrong with the input is said of it; the rest is the output's.
    let of_input = |error: Error| if error.is_io() { error } else { error.at_path(input.name()) };
    let matrix = match conversion {
        OtherFormatConversion::ToDense => {
            let matrix = read_sole_matrix(input).map_err(|failure| input.at(failure))?;
            check_dense_size(&matrix)?;
            Some(matrix)
        }
        OtherFormatConversion::ToSparse => {
            Some(read_as_sparse(input, arguments.sparse.flatten()).map_err(|failure| input.at(failure))?)
        }
        _ => None,
    };
    output.write(out, Content::Binary, |mut sink| {
        let written = match (conversion, matrix) {
            (OtherFormatConversion::ToDense, Some(matrix)) => matrix.write_dense_to(&mut sink),
            (_, Some(matrix)) => matrix.write_to(&mut sink, &archive),
            (OtherFormatConversion::FromSafetensors, None) => {
                safetensors_to_npz(&open_safetensors(input)?, &mut sink, &archive)
            }
            (_, None) => npz_to_safetensors(&input.npz(&options)?, &mut sink, &Default::default()),
        };
        Ok(written.map_err(of_input)?)
    })?;
    Ok(None)
}

/// Returns an error if the dense form of a matrix is much larger.
fn check_dense_size(matrix: &Sparse) -> Result<(), Failure> {
    let lengths = matrix.shape().iter().map(|length| *length as u64);
    growth::add_output(lengths.fold(matrix.data().dtype().item_size() as u64, u64::saturating_mul))
}

/// Returns the sparse matrix of a dense array or of another sparse matrix.
fn read_as_sparse(input: &Input, layout: Option<SparseLayout>) -> Result<Sparse, Failure> {
    let options = crate::reading::options();
    let (matrix, is_sorted) = match input.detected_format() {
        Some(Format::Npz) => {
            let matrix = read_sole_matrix(input)?;
            // CSR and CSC have a number for each index of an axis.
            let longest = matrix.shape().iter().max().copied().unwrap_or(0) as u64;
            if layout != Some(SparseLayout::Coo) && matrix.shape().len() <= 2 {
                growth::add_output(longest.saturating_mul(8))?;
            }
            (matrix, false)
        }
        _ => {
            let file = input.array(&options)?;
            if file.extent()? != Extent::Whole {
                return Err("it has other arrays or bytes after the array, which would be left out".into());
            }
            (Sparse::from_dense(&file)?, true)
        }
    };
    Ok(match layout {
        None if is_sorted => matrix,
        None if matrix.shape().len() > 2 => matrix.to_coo()?,
        None | Some(SparseLayout::Csr) => matrix.to_csr()?,
        Some(SparseLayout::Csc) => matrix.to_csc()?,
        Some(SparseLayout::Coo) => matrix.to_coo()?,
    })
}

/// Reads the sparse matrix of an archive that has nothing else: other members would be left out, and lost if the output is the input.
fn read_sole_matrix(input: &Input) -> Result<Sparse, Failure> {
    let archive = input.npz(&crate::reading::options())?;
    let is_other = |name: &str| !MEMBER_NAMES.contains(&name);
    if let Some(other) = archive.members().iter().find(|member| is_other(member.name())) {
        let name = other.name().escape_debug();
        return Err(
            format!("it has the member '{name}' beside the sparse matrix, which would be left out").into()
        );
    }
    let matrix = Sparse::read_from(&archive)?;
    archive.members().iter().for_each(|member| growth::add_decoded(member.size()));
    Ok(matrix)
}

/// Whether a file is one of safetensors, by its name or its content.
pub(crate) fn is_safetensors(input: &Input) -> bool {
    let error = ndarray_io::NpyReader::new(input.first_bytes()).err();
    let is_named = has_safetensors_extension(input.name());
    input.detected_format().is_none()
        && match error.and_then(|error| error.help()).as_ref().map(Help::id) {
            Some("file-safetensors") => true,
            // A download may have failed.
            Some("file-html" | "file-git-lfs") => false,
            _ => is_named,
        }
}

/// Opens a file of safetensors.
pub(crate) fn open_safetensors(input: &Input) -> Result<SafeTensors, Failure> {
    Ok(SafeTensors::from_source_with(input.bytes()?, &crate::reading::options())?)
}
