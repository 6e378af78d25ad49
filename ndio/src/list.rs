//! `ndio ls`: lists the objects of a store.

use std::io::Write;
use std::path::Path;

use clap::Args;
use ndarray_io_store::{StoreOptions, list};
use serde_json::json;

use super::failure::{Failure, escape_for_terminal};
use super::remote::is_url;

/// List objects in a store: sizes and URLs
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio ls s3://bucket/measured/\n  ndio ls gs://bucket/ --matching 'measured/*/x.npy'"
)]
pub(crate) struct Arguments {
    /// Only objects whose name after the bucket matches this pattern: * and ? match no slash, ** matches any
    #[arg(long, value_name = "PATTERN")]
    matching: Option<String>,
    /// Print a JSON object for each object
    #[arg(long)]
    json: bool,
    /// What the URLs of the objects begin with
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    for url in &arguments.urls {
        if !is_url(Path::new(url)) {
            return Err(format!(
                "{url}: ls lists the objects of a store, by a URL; ndio info lists the members of an archive"
            )
            .into());
        }
        let mut objects = list(url, &StoreOptions::new())?;
        if let Some(pattern) = &arguments.matching {
            objects = objects.matching(pattern)?;
        }
        for object in objects {
            let object = object?;
            match arguments.json {
                true => writeln!(out, "{}", json!({"size": object.size(), "url": object.url()}))?,
                false => writeln!(out, "{:>14}  {}", object.size(), escape_for_terminal(object.url()))?,
            }
        }
    }
    Ok(0)
}
