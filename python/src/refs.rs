//! References that let readers of Zarr open files in place.

use std::path::PathBuf;

use ndarray_io_refs::{RefOptions, References, ZarrFormat};
use pyo3::prelude::*;

use crate::load::url_of;
use crate::options::ReadArgs;
use crate::work::{CancelToken, run};

/// How arrays become chunks.
#[derive(FromPyObject)]
pub(crate) struct Chunking {
    member: Option<String>,
    axis: Option<usize>,
    chunk: Option<usize>,
    dims: Option<Vec<String>>,
    inline_limit: Option<u64>,
    zarr_format: u8,
}

impl Chunking {
    fn options(&self, reading: &ReadArgs) -> RefOptions {
        let mut options = RefOptions::new().read_options(reading.options(&CancelToken::default()));
        if let Some(member) = &self.member {
            options = options.member(member);
        }
        if let Some(chunk) = self.chunk {
            options = options.chunk(chunk);
        }
        if let Some(dims) = &self.dims {
            options = options.dims(dims);
        }
        match self.inline_limit {
            Some(bytes) => options.inline_limit(bytes),
            None => options,
        }
    }
}

/// Returns references as JSON, and sentences about chunks that are not as they were asked for. Each file has the name of its array, if
/// it is not its own, and the location where readers find it.
#[pyfunction]
pub(crate) fn refs(
    py: Python<'_>,
    files: Vec<(Option<String>, PathBuf, String)>,
    chunking: Chunking,
    reading: ReadArgs,
) -> PyResult<(String, Vec<String>)> {
    run(py, u64::MAX, |_| {
        let mut references =
            References::new(if chunking.zarr_format == 3 { ZarrFormat::V3 } else { ZarrFormat::V2 });
        let options = chunking.options(&reading);
        let named = |name: &Option<String>| match name {
            Some(name) => options.clone().name(name),
            None => options.clone(),
        };
        if let (Some(axis), Some((name, ..))) = (chunking.axis, files.first()) {
            let located: Vec<_> = files.iter().map(|(_, path, location)| (path, location)).collect();
            references.concatenate_at(&located, axis, &named(name))?;
        } else {
            for (name, path, location) in &files {
                let options = named(name).location(location);
                match url_of(path) {
                    Some(url) => references.add_source(reading.remote(url)?.source()?, &options)?,
                    None => references.add(path, &options)?,
                }
            }
        }
        Ok((references.to_string(), references.notes().to_vec()))
    })
}
