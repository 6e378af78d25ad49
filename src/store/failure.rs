//! What a store's errors become.

use std::io;

use crate::error::{Error, ErrorKind};

/// The error of a request. Nothing that the server sent is in it but the status and a code of letters: some servers answer with the
/// signature that they had expected, or with what they were sent.
pub(super) fn failure(error: &object_store_0_14::Error) -> Error {
    use object_store_0_14::Error as Store;
    match error {
        Store::NotFound { .. } => io(io::ErrorKind::NotFound, "there is no such object"),
        Store::AlreadyExists { .. } => ErrorKind::AlreadyExists.into(),
        Store::Precondition { .. } | Store::NotModified { .. } => changed(),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            io(io::ErrorKind::PermissionDenied, &format!("the store refuses access ({})", told_by(error)))
        }
        Store::NotSupported { .. } | Store::NotImplemented { .. } => {
            io(io::ErrorKind::Unsupported, "the store does not support this request")
        }
        _ => io(io::ErrorKind::Other, &told_by(error)),
    }
}

pub(super) fn changed() -> Error {
    ErrorKind::ArrayChanged { reason: "the object has been replaced since it was opened".into() }.into()
}

pub(super) fn io(kind: io::ErrorKind, text: &str) -> Error {
    io::Error::new(kind, text.to_owned()).into()
}

/// What the end of the chain of errors says, without the bodies of answers and without URLs.
fn told_by(error: &object_store_0_14::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    let mut status = None;
    loop {
        let text = last.to_string();
        // "…status code: 403 Forbidden: <body>", or "Server returned error response: <body>".
        if let Some((_, rest)) = text.split_once("status code: ") {
            status = Some((rest.split(':').next().unwrap_or_default().to_owned(), code_in(rest)));
        } else if let Some((_, rest)) = text.split_once("error response: ") {
            status = Some(("an error instead of an answer".to_owned(), code_in(rest)));
        }
        match last.source() {
            Some(source) => last = source,
            None => break,
        }
    }
    match status {
        Some((status, Some(code))) => format!("{status}, {code}"),
        Some((status, None)) => status,
        None => match last.to_string() {
            // What is quoted has come from the server, or from the caller's options.
            text if text.contains(['"', '\'']) => "the answer or an option is malformed".into(),
            text => text.split_whitespace().map(without_query).collect::<Vec<_>>().join(" "),
        },
    }
}

/// The code of an error of S3, GCS or Azure, such as `NoSuchBucket`.
fn code_in(body: &str) -> Option<String> {
    let code = body.split_once("<Code>")?.1.split_once("</Code>")?.0;
    let is_code = code.len() <= 60 && code.chars().all(|char| char.is_ascii_alphanumeric());
    is_code.then(|| code.to_owned())
}

fn without_query(word: &str) -> &str {
    match word.contains("://") {
        true => word.split('?').next().unwrap_or_default(),
        false => word,
    }
}
