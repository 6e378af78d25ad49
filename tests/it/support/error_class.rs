//! What the corpora call the errors, in one place: the tests of the library use it, and `ndio json` of the tests of the program.

use ndarray_io::Error;
use ndarray_io::error::ErrorKind;

/// How the messages begin that the corpora tell apart, and what they call them.
const CLASSES: &[(ErrorKind, &str, &str)] = &[
    (ErrorKind::BadMagic, "expected an NPZ file", "bad_zip"),
    (ErrorKind::BadMagic, "", "bad_magic"),
    (ErrorKind::Truncated, "truncated: the header declares", "truncated_data"),
    (ErrorKind::Truncated, "truncated: the compressed data", "truncated_data"),
    (ErrorKind::Truncated, "", "truncated_header"),
    (ErrorKind::Malformed, "malformed header", "bad_header"),
    (ErrorKind::Malformed, "malformed archive", "bad_zip"),
    (ErrorKind::Malformed, "malformed compressed content", "bad_deflate"),
    (ErrorKind::Malformed, "malformed compressed data", "bad_packing"),
    (ErrorKind::Malformed, "malformed pickle", "bad_pickle"),
    (ErrorKind::Malformed, "checksum mismatch", "crc_mismatch"),
    (ErrorKind::Malformed, "expected a bool", "bad_bool"),
    (ErrorKind::Malformed, "expected a Unicode character", "bad_unicode"),
    (ErrorKind::Unsupported, "unsupported format version", "bad_version"),
    (ErrorKind::Unsupported, "unsupported dtype", "unsupported_dtype"),
    (ErrorKind::Unsupported, "unsupported header", "unknown_flags"),
    (ErrorKind::Unsupported, "unsupported encoding", "unsupported_packing"),
    (ErrorKind::Unsupported, "unsupported archive", "unsupported_zip"),
    (ErrorKind::Unsupported, "unsupported pickle", "unsupported_pickle"),
    (ErrorKind::Objects, "", "object_needs_opt_in"),
    (ErrorKind::Encrypted, "", "unsupported_zip"),
    (ErrorKind::Trailing, "", "extra_data"),
    (ErrorKind::Limit, "the data takes", "payload_too_large"),
];

/// Returns the name that the corpora use for the class of an error.
pub(crate) fn error_class(error: &Error) -> &'static str {
    let (kind, message) = (error.kind(), error.message());
    let known = CLASSES.iter().find(|(of, start, _)| *of == kind && message.starts_with(start));
    if let Some((.., class)) = known {
        return class;
    }
    match kind {
        ErrorKind::Io | ErrorKind::BadSource | ErrorKind::OutOfMemory => "io",
        ErrorKind::Malformed if message.ends_with("is too large") => "overflow",
        ErrorKind::Limit if message.contains("the pickle") || message.contains("decimal digits") => {
            "bad_pickle"
        }
        ErrorKind::Limit => "header_too_large",
        _ => "other",
    }
}
