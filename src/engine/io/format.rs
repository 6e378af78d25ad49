//! What readers, files and maps need to know of a format: how a header is parsed, and what is special about the elements after it.

use std::borrow::Cow;

use super::ra;
use crate::error::{Error, Fault, Remedy, Result};
use crate::header::{Header, Parsed};
use crate::npy_format::{self as npy, NpyHeader};
use crate::options::{ReadOptions, WriteOptions};
use crate::ra_format::{self, RaHeader};
use crate::shape::Order;
use crate::transfer::Source;

/// The formats that store a header before the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Npy,
    Ra,
}

/// The format that a header is expected to have. Public for signatures of hidden functions: users cannot name it.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    Only(Format),
    /// That of which it has the magic bytes; NPY, if it has none.
    Any,
}

impl Expected {
    /// NPY only, as NumPy reads.
    pub(crate) const NPY: Self = Self::Only(Format::Npy);
    pub(crate) const RA: Self = Self::Only(Format::Ra);

    fn format(self, bytes: &[u8]) -> Format {
        match self {
            Self::Only(format) => format,
            Self::Any if ra_format::has_magic(bytes) => Format::Ra,
            Self::Any => Format::Npy,
        }
    }

    pub(crate) fn parse(self, bytes: &[u8], options: &ReadOptions) -> Result<Parsed<FormatHeader>> {
        match self.format(bytes) {
            Format::Npy => parse_npy(bytes, options)?.try_map(|found| Ok(FormatHeader::Npy(found))),
            Format::Ra => ra_format::parse(bytes)?
                .try_map(|found| ra::apply_options(found, options).map(FormatHeader::Ra)),
        }
    }

    /// Returns the error for a source that ends after these bytes where `parse` needs `need`.
    pub(crate) fn truncated(self, bytes: &[u8], need: usize) -> Error {
        match self.format(bytes) {
            Format::Npy => npy::truncated(bytes.len(), need),
            Format::Ra => ra_format::truncated(bytes.len(), need),
        }
    }
}

pub(super) fn parse_npy(bytes: &[u8], options: &ReadOptions) -> Result<Parsed<NpyHeader>> {
    npy::parse_with(bytes, options.get_limits())?.try_map(|mut found| {
        if let Some(narrow) = options.raw_bytes_type {
            found.header = found.header.with_raw_bytes_as(narrow)?;
        }
        found.header.check_empty_items()?;
        Ok(found)
    })
}

/// Encodes the header of a new file.
pub(crate) fn format_header(format: Format, header: &Header, options: &WriteOptions) -> Result<Vec<u8>> {
    match format {
        Format::Npy => format_npy_header(header, options),
        Format::Ra if header.order() == Order::C && header.shape_ref().ndim() > 1 => {
            let reason = "expected Fortran order: the first axis of an RA file varies fastest".into();
            Err(Error::from(Fault::BadOption { reason }).with_help(Remedy::FortranOrder))
        }
        Format::Ra => ra_format::format(header),
    }
}

pub(crate) fn format_npy_header(header: &Header, options: &WriteOptions) -> Result<Vec<u8>> {
    npy::format(header, options.version)
}

/// The header of a file: a [`Header`] and the fields that only its format has.
#[derive(Clone, Debug)]
pub(crate) enum FormatHeader {
    Npy(NpyHeader),
    Ra(RaHeader),
}

impl FormatHeader {
    pub(crate) fn header(&self) -> &Header {
        match self {
            Self::Npy(found) => &found.header,
            Self::Ra(found) => &found.header,
        }
    }

    /// Returns what a later header of the same file must be.
    pub(crate) fn expected(&self) -> Expected {
        match self {
            Self::Npy(_) => Expected::NPY,
            Self::Ra(_) => Expected::RA,
        }
    }

    pub(crate) fn npy(&self) -> Option<&NpyHeader> {
        match self {
            Self::Npy(found) => Some(found),
            Self::Ra(_) => None,
        }
    }

    pub(crate) fn ra(&self) -> Option<&RaHeader> {
        match self {
            Self::Npy(_) => None,
            Self::Ra(found) => Some(found),
        }
    }

    /// Returns whether a file may contain other bytes after the array.
    pub(crate) fn allows_trailing(&self) -> bool {
        self.ra().is_some()
    }

    /// Returns an error unless the elements are stored uncompressed.
    pub(crate) fn check_uncompressed(&self, options: &ReadOptions) -> Result<()> {
        self.ra().map_or(Ok(()), |found| ra::check_uncompressed(found, options))
    }

    /// Returns an error if NPY files cannot represent the elements.
    pub(crate) fn check_representable_in_npy(&self) -> Result<()> {
        self.ra().map_or(Ok(()), ra::check_representable_in_npy)
    }

    /// Returns the size of the stored elements in bytes, if the header declares it.
    pub(crate) fn stored_len(&self) -> Option<u64> {
        match self {
            Self::Npy(found) => found.header.payload_len(),
            Self::Ra(found) => ra::stored_len(found),
        }
    }

    /// Returns the size in bytes that the stored elements have at least.
    pub(crate) fn min_stored_len(&self) -> u64 {
        match (self.stored_len(), self) {
            (None, Self::Ra(found)) => found.header.len(),
            (known, _) => known.unwrap_or_default(),
        }
    }

    /// Returns the options, extended by what dispatch on the element type needs to know about the format.
    pub(crate) fn dispatch_options<'o>(&self, options: &'o ReadOptions) -> Cow<'o, ReadOptions> {
        match self {
            Self::Npy(_) => Cow::Borrowed(options),
            Self::Ra(found) => ra::dispatch_options(found, options),
        }
    }

    /// Returns the uncompressed elements if they are compressed, and otherwise `None`: the source has them.
    pub(super) fn unpack<'u>(
        &self,
        source: &mut Source<'_>,
        options: &ReadOptions,
    ) -> Result<Option<Source<'u>>> {
        self.ra().map_or(Ok(None), |found| ra::unpack(found, source, options))
    }
}
