//! Converts errors of the `object_store` crate.

use std::io;

use ndarray_io::Error;
use ndarray_io::error::ErrorKind;

/// Converts the error of a request.
///
/// Of the server's response, the error contains only the status and an alphanumeric code: some servers
/// respond with the signature that they expected, or echo the request.
pub(crate) fn failure(error: &object_store::Error) -> Error {
    use object_store::Error as Store;
    match error {
        Store::NotFound { .. } => {
            let code = describe(error);
            let is_of_bucket =
                ["NoSuchBucket", "ContainerNotFound"].iter().any(|known| code.ends_with(known));
            io(
                io::ErrorKind::NotFound,
                if is_of_bucket { "there is no such bucket" } else { "there is no such object" },
            )
        }
        Store::AlreadyExists { .. } => ErrorKind::AlreadyExists.into(),
        Store::Precondition { .. } | Store::NotModified { .. } => changed(),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            io(io::ErrorKind::PermissionDenied, &format!("the store refuses access ({})", describe(error)))
        }
        Store::NotSupported { .. } | Store::NotImplemented { .. } => {
            io(io::ErrorKind::Unsupported, "the store does not support this request")
        }
        // The address at which machines in the cloud find their credentials, which is asked when there are none elsewhere.
        _ if chain_text(error).contains("169.254.169.254") => io(
            io::ErrorKind::PermissionDenied,
            "unable to locate credentials in the environment or in the files of the store's own programs; an object that is public has an https:// URL",
        ),
        _ => match describe(error) {
            // Not everywhere `object_store` says it itself.
            description if description.starts_with("412 ") => changed(),
            description => io(io::ErrorKind::Other, &description),
        },
    }
}

pub(crate) fn changed() -> Error {
    Error::new(ErrorKind::Changed, "the object in the store is not the expected version")
}

pub(crate) fn io(kind: io::ErrorKind, text: &str) -> Error {
    io::Error::new(kind, text.to_owned()).into()
}

fn chain_text(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text += &error.to_string();
        source = error.source();
    }
    text
}

/// Describes the innermost error of the chain, without response bodies and URL queries.
fn describe(error: &object_store::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    let mut status = None;
    loop {
        let text = last.to_string();
        // "…status code: 403 Forbidden: <body>", or "Server returned error response: <body>".
        if let Some((_, rest)) = text.split_once("status code: ") {
            status = Some((rest.split(':').next().unwrap_or_default().to_owned(), error_code_in(rest)));
        } else if let Some((_, rest)) = text.split_once("error response: ") {
            status = Some(("an error instead of an answer".to_owned(), error_code_in(rest)));
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
            // Quoted text was sent by the server, or comes from the caller's options: it may be secret.
            text if text.contains(['"', '\'']) => "malformed response or option".into(),
            text => text.split_whitespace().map(without_query).collect::<Vec<_>>().join(" "),
        },
    }
}

/// Extracts the error code of S3, GCS or Azure from a response body, such as `NoSuchBucket`.
fn error_code_in(body: &str) -> Option<String> {
    let code = body.split_once("<Code>")?.1.split_once("</Code>")?.0;
    // Real codes are shorter; longer text might contain data.
    let is_code = code.len() <= 60 && code.chars().all(|char| char.is_ascii_alphanumeric());
    is_code.then(|| code.to_owned())
}

fn without_query(word: &str) -> &str {
    match word.contains("://") {
        true => word.split('?').next().unwrap_or_default(),
        false => word,
    }
}
