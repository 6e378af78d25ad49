//! The choice of arrays and of parts of them: one grammar for every verb that reads arrays.

mod arrays;
mod operand;
mod part;

use clap::Args;
use ndarray_io::error::ErrorKind;
use ndarray_io::file::parse_slice;
use ndarray_io::{DType, NpzFile, ReadOptions};

use super::failure::{Failure, at, with_advice};
use super::formats::{Format, refuse_trailing};
use super::input::Input;

use super::source::{Source, SourceArray};
pub(crate) use arrays::{Arrays, no_array_failure};
pub(crate) use operand::file_of;
pub(crate) use part::{HeadedBytes, with_header};

/// Which array, and which part of it.
#[derive(Args, Clone, Default)]
pub(crate) struct Selection {
    /// The array of an archive
    #[arg(long, value_name = "NAME", conflicts_with_all = ["index", "array"], help_heading = "Part")]
    pub(crate) member: Option<String>,
    /// The array of an archive by its number, counted from 0: for names that occur twice
    #[arg(long, value_name = "NUMBER", conflicts_with = "array", allow_hyphen_values = true, value_parser = parse_index, hide_short_help = true, help_heading = "Part")]
    pub(crate) index: Option<usize>,
    /// The array of an NPY file with several concatenated ones, counted from 0
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = parse_index, hide_short_help = true, help_heading = "Part")]
    pub(crate) array: Option<usize>,
    /// A field of records: x, or pos.x for a field within a field
    #[arg(long, alias = "column", value_name = "NAME", help_heading = "Part")]
    pub(crate) field: Option<String>,
    /// A part, as NumPy writes it: '0:10, ..., ::2'
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true, help_heading = "Part")]
    pub(crate) slice: Option<String>,
}

fn parse_index(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a number, counted from 0".to_owned())
}

impl Selection {
    /// Whether an array is chosen from several.
    pub(crate) fn selects_array(&self) -> bool {
        self.member.is_some() || self.index.is_some() || self.array.is_some()
    }

    /// Whether only a part of an array is wanted.
    pub(crate) fn is_partial(&self) -> bool {
        self.field.is_some() || self.slice.is_some()
    }

    /// Returns an error if the choice does not apply to a format.
    pub(crate) fn check_format(&self, input: &Input, format: Format) -> Result<(), Failure> {
        let wrong = match format {
            Format::Npz => self.array.is_some().then_some("--array is for NPY files"),
            _ if self.member.is_some() => Some("not an archive with members"),
            _ if self.index.is_some() => Some("--index is for archives"),
            Format::Npy => None,
            _ => self.array.is_some().then_some("--array is for NPY files"),
        };
        wrong.map_or(Ok(()), |wrong| Err(input.at(wrong)))
    }

    /// Opens the chosen array, or the only one. With `verifies_checksum`, for reading all of it: the checksum of a member is verified first.
    pub(crate) fn open_one(
        &self,
        input: &Input,
        options: &ReadOptions,
        verifies_checksum: bool,
    ) -> Result<Source, Failure> {
        let mut arrays = self.open_all(input, options, verifies_checksum)?;
        let first = arrays.next().ok_or_else(|| input.at("there is no array"))??;
        if arrays.has_more() {
            return Err(input.at("more arrays follow its first; --array selects one, counted from 0"));
        }
        Ok(first)
    }

    /// Opens the chosen array, or the only one, for reading all of what the file has: other bytes after it are an error.
    pub(crate) fn open_one_complete(&self, input: &Input, options: &ReadOptions) -> Result<Source, Failure> {
        let source = self.open_one(input, options, true)?;
        if input.format() == Format::Npy && (self.array.is_none() || input.is_output()) {
            refuse_trailing(input, options, "; ndio convert --drop-trailing drops them")?;
        }
        Ok(source)
    }

    /// Opens the chosen array, or all arrays of an NPY file if none is chosen.
    pub(crate) fn open_all<'a>(
        &'a self,
        input: &'a Input,
        options: &'a ReadOptions,
        verifies_checksum: bool,
    ) -> Result<Arrays<'a>, Failure> {
        let format = input.format();
        self.check_format(input, format)?;
        Ok(match (format, self.array) {
            (Format::Npz, _) => {
                let archive = input.npz(options)?;
                let index = self.index_in(&archive, input)?;
                let reads_all = verifies_checksum && self.slice.is_none();
                let member = Source::open_member(&archive, index, input, reads_all)?;
                Arrays::only(input, options, self.part_of(member)?)
            }
            (Format::Npy, Some(wanted)) => {
                let found = Arrays::of(input, options).nth_array(wanted)?;
                Arrays::only(input, options, self.part_of(found)?)
            }
            (Format::Npy, None) => Arrays::of(input, options).with_selection(self),
            _ => Arrays::only(
                input,
                options,
                self.part_of(Source::open_single_array(input, format, options)?)?,
            ),
        })
    }

    /// Returns the index of the chosen member, or of the only one.
    pub(crate) fn index_in(&self, archive: &NpzFile, input: &Input) -> Result<usize, Failure> {
        match (&self.member, self.index, archive.len()) {
            (_, Some(index), len) if index < len => Ok(index),
            (_, Some(index), len) => Err(no_member_failure(input, index, len)),
            (Some(name), ..) => archive.index_of(name).map_err(|error| match error.kind() {
                ErrorKind::AmbiguousName => {
                    input.at(with_advice(error.into(), "--index selects one, counted from 0"))
                }
                _ => input.at(error),
            }),
            (None, None, 1) => Ok(0),
            (None, None, 0) => Err(input.at("the archive has no members")),
            (None, None, count) if !(0..count).any(|index| archive.holds_array(index).unwrap_or(true)) => {
                Err(input.at("none of its members is an array"))
            }
            (None, None, _) => {
                let names = first_member_names(archive);
                Err(input.at(format!("the archive has several members; --member selects one: {names}")))
            }
        }
    }

    /// Returns the field and the slice of an array that are wanted.
    pub(crate) fn part_of(&self, source: Source) -> Result<Source, Failure> {
        if !self.is_partial() {
            return Ok(source);
        }
        let name = source.name().to_owned();
        let source = match source.array {
            SourceArray::Objects(array) => {
                let located = |error: ndarray_io::Error| error.at_path(&name);
                let array = match &self.field {
                    Some(_) if array.dtype() != &DType::Object => {
                        return Err(at(
                            &name,
                            "fields of records with Python objects cannot be selected".into(),
                        ));
                    }
                    Some(field) => array.field(field).map_err(located)?,
                    None => *array,
                };
                let part = match &self.slice {
                    Some(text) => array
                        .slice(&parse_slice(text, array.shape()).map_err(located)?[..])
                        .map_err(located)?,
                    None => array,
                };
                Source::objects(part, &name)
            }
            whole => {
                let source = Source::of(whole, &name);
                let selected = part::selected(source, self.field.as_deref(), self.slice.as_deref());
                selected.map_err(|failure| match &self.field {
                    Some(field) if field.contains(['/', '[']) => {
                        with_advice(failure, "a field within a field is written pos.x")
                    }
                    _ => failure,
                })?
            }
        };
        Ok(source)
    }
}

/// Returns the error for a member number that the archive does not have.
pub(crate) fn no_member_failure(input: &Input, index: usize, len: usize) -> Failure {
    input.at(format!("there is no member {index}: the archive has {len}, counted from 0"))
}

/// Lists the names of an archive's members for an error message, at most the first 20.
pub(crate) fn first_member_names(archive: &NpzFile) -> String {
    const MAX_NAMES: usize = 20;
    let names: Vec<&str> = archive.members().iter().take(MAX_NAMES).map(|member| member.name()).collect();
    match archive.len().saturating_sub(MAX_NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
