//! `ndio refs`: references that let Zarr readers open files in place.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use clap::{Args, ValueEnum};
use ndarray_io_refs::{RefOptions, References, ZarrFormat};

use super::failure::{Failure, at, report};
use super::formats::Format;
use super::input::{Input, is_pipe_or_device};
use super::join::normalize_axis;
use super::output::{Content, Output, is_same_file, refuse_in_stack};
use super::remote;
use super::select::Selection;

/// Create references with which zarr-python, xarray and Dask read files in place
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio refs x.npy --chunk 2 -o refs.json\n  ndio refs x.npy --prefix s3://bucket/ -o remote.json\n  ndio refs x.npy x.npy --concat 0 --name both -o both.json\n\nIn Python:\n  xarray.open_dataset('reference://', engine='zarr', consolidated=False,\n                      backend_kwargs={'storage_options': {'fo': 'refs.json'}})"
)]
pub(crate) struct Refs {
    /// Number of indices in each chunk, along the slowest axis; default: as many as fit in about 32 MiB
    #[arg(long, value_name = "LENGTH")]
    chunk: Option<usize>,
    /// Store a shorter last chunk in the references, padded, if chunks have at most this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    inline_limit: u64,
    /// The names of the dimensions, as t,y,x; default: ARRAY_dim_0 and so on
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    dims: Option<Vec<String>>,
    /// Concatenate all files along this axis; a negative one counts from the last
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    concat: Option<isize>,
    /// The name of the array; default: that of the file or archive member
    #[arg(long)]
    name: Option<String>,
    /// The array of an archive; default: all
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// The folder of all files in the references: s3://bucket/
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
    /// The version of Zarr's metadata
    #[arg(long, value_enum, default_value = "2")]
    zarr_format: ZarrVersion,
    /// The output file; - is standard output
    #[arg(long, short)]
    output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// NPY files, RA files, archives and stacks
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ZarrVersion {
    #[value(name = "2")]
    Two,
    #[value(name = "3")]
    Three,
}

pub(crate) fn refs(arguments: &Refs, out: &mut dyn Write) -> Result<u8, Failure> {
    if let Some(url) = arguments.files.iter().find(|file| remote::is_url(file))
        && (arguments.concat.is_some() || arguments.prefix.is_some())
    {
        let name = remote::redacted_url(url)?;
        return Err(format!("{}: --concat and --prefix are for local files", name.display()).into());
    }
    let output = Output::new(&arguments.output, arguments.force)?;
    let mut references = References::new(match arguments.zarr_format {
        ZarrVersion::Two => ZarrFormat::V2,
        ZarrVersion::Three => ZarrFormat::V3,
    });
    if arguments.name.is_some() && arguments.concat.is_none() && arguments.files.len() > 1 {
        return Err("--name is for one file, or for --concat".into());
    }
    if arguments.files.iter().any(|file| is_same_file(file, &arguments.output)) {
        return Err(at(&arguments.output, "the output is one of the files".into()));
    }
    if arguments.output != Path::new("-") && !remote::is_url(&arguments.output) {
        arguments.files.iter().try_for_each(|file| refuse_in_stack(&arguments.output, file))?;
    }
    if let Some(file) = arguments.files.iter().find(|file| *file == Path::new("-") || is_pipe_or_device(file))
    {
        return Err(at(file, "references are to files that readers can find".into()));
    }
    let options = arguments.options();
    match arguments.concat {
        Some(axis) => {
            let axis = match usize::try_from(axis) {
                Ok(axis) => axis,
                Err(_) => {
                    let selection = Selection { member: arguments.member.clone(), ..Selection::default() };
                    let first = selection.open_one(
                        &Input::open_packed(&arguments.files[0])?,
                        &crate::reading::options(),
                        false,
                    )?;
                    normalize_axis(axis, first.shape().len())?
                }
            };
            let files: Vec<(PathBuf, String)> = arguments.files_with_locations()?;
            references.concatenate_at(&files, axis, &options)?;
        }
        None => {
            for (path, location) in arguments.files_with_locations()? {
                if remote::is_url(&path) {
                    // Its name without a query, which may be a signature.
                    let object = Input::open_packed(&path)?;
                    let location = object.name().to_string_lossy().into_owned();
                    references.add_source(object.bytes()?, &options.clone().location(location))?;
                } else {
                    let input = Input::open_packed(&path)?;
                    if input.format() == Format::Npy
                        && let Err(error) = input.array(&crate::reading::options())?.check_end()
                    {
                        report(&format!("only the first array is referred to: {error}").into());
                    }
                    references.add(&path, &options.clone().location(location))?;
                }
            }
        }
    }
    for text in references.notes() {
        report(&text.clone().into());
    }
    output.write(out, Content::Text, |sink| {
        let mut out = std::io::BufWriter::new(sink);
        references.write(&mut out)?;
        Ok(out.flush()?)
    })?;
    Ok(0)
}

impl Refs {
    fn options(&self) -> RefOptions {
        let mut options =
            RefOptions::new().inline_limit(self.inline_limit).read_options(crate::reading::options());
        if let Some(name) = &self.name {
            options = options.name(name);
        }
        if let Some(member) = &self.member {
            options = options.member(member);
        }
        if let Some(chunk) = self.chunk {
            options = options.chunk(chunk);
        }
        if let Some(dims) = &self.dims {
            options = options.dims(dims.iter().map(|name| name.trim()));
        }
        options
    }

    /// Returns the files, and where readers will find each of them.
    fn files_with_locations(&self) -> Result<Vec<(PathBuf, String)>, Failure> {
        let files_with_locations = self.files.iter().map(|path| match (path.to_str(), &self.prefix) {
            (Some(name), None) => Ok((path.clone(), name.to_owned())),
            (Some(name), Some(prefix)) => Ok((path.clone(), with_prefix(prefix, path, name)?)),
            (None, _) => {
                Err(format!("{}: its name is not valid Unicode, which references require", path.display())
                    .into())
            }
        });
        files_with_locations.collect()
    }
}

/// Prepends the prefix to a relative name, which must not leave its folder.
///
/// If the prefix is a web URL, the name is percent-encoded.
fn with_prefix(prefix: &str, path: &Path, name: &str) -> Result<String, Failure> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::CurDir => {}
            _ => {
                return Err(
                    format!("{name}: with --prefix, names are relative and stay below their folder").into()
                );
            }
        }
    }
    let name = parts.join("/");
    // It is a folder: s3://bucket means s3://bucket/.
    let prefix = &if prefix.ends_with('/') { prefix.to_owned() } else { format!("{prefix}/") };
    if !prefix.starts_with("http://") && !prefix.starts_with("https://") {
        return Ok(format!("{prefix}{name}"));
    }
    let mut encoded = prefix.to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                encoded.push(byte.into())
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(encoded)
}
