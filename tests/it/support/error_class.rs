//! What the corpora call the errors, in one place: the tests of the library use it, and `ndio json` of the tests of the program.

use ndarray_io::Error;
use ndarray_io::error::{ElementFault, ErrorKind, FilePart, FileSection, LimitKind};

/// Returns the name that the corpora use for the class of an error.
pub(crate) fn error_class(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::Io(_) | ErrorKind::BadSource { .. } | ErrorKind::OutOfMemory { .. } => "io",
        ErrorKind::BadMagic { format: "NPZ", .. } => "bad_zip",
        ErrorKind::BadMagic { .. } => "bad_magic",
        ErrorKind::Unsupported { part: FilePart::Version, .. } => "bad_version",
        ErrorKind::Truncated { part: FileSection::Payload { .. } | FileSection::Packed, .. } => {
            "truncated_data"
        }
        ErrorKind::Truncated { .. } => "truncated_header",
        ErrorKind::Malformed { part: FilePart::Header, .. } => "bad_header",
        ErrorKind::Unsupported { part: FilePart::DType, .. } => "unsupported_dtype",
        ErrorKind::Overflow { .. } => "overflow",
        ErrorKind::Trailing { .. } => "extra_data",
        ErrorKind::InvalidElement(ElementFault::Bool { .. }) => "bad_bool",
        ErrorKind::InvalidElement(ElementFault::Unicode { .. }) => "bad_unicode",
        ErrorKind::Malformed { part: FilePart::Archive, .. } => "bad_zip",
        ErrorKind::Unsupported { part: FilePart::Archive, .. } | ErrorKind::Encrypted { .. } => {
            "unsupported_zip"
        }
        ErrorKind::Malformed { part: FilePart::Checksum, .. } => "crc_mismatch",
        ErrorKind::Malformed { part: FilePart::Content, .. } => "bad_deflate",
        ErrorKind::Objects { .. } => "object_needs_opt_in",
        ErrorKind::Unsupported { part: FilePart::Pickle, .. } => "unsupported_pickle",
        ErrorKind::Malformed { part: FilePart::Pickle, .. } => "bad_pickle",
        ErrorKind::Limit {
            limit_kind: LimitKind::ObjectNesting | LimitKind::Objects | LimitKind::Copies | LimitKind::Digits,
            ..
        } => "bad_pickle",
        ErrorKind::Limit { limit_kind: LimitKind::PayloadBytes, .. } => "payload_too_large",
        ErrorKind::Limit {
            limit_kind:
                LimitKind::HeaderBytes
                | LimitKind::Nesting
                | LimitKind::RecordNesting
                | LimitKind::Dimensions
                | LimitKind::Nodes
                | LimitKind::EmptyItems
                | LimitKind::Expansion,
            ..
        } => "header_too_large",
        ErrorKind::Unsupported { part: FilePart::Header, .. } => "unknown_flags",
        ErrorKind::Malformed { part: FilePart::Data, .. } => "bad_packing",
        ErrorKind::Unsupported { part: FilePart::Data, .. } => "unsupported_packing",
        _ => "other",
    }
}
