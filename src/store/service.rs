//! An HTTP layer below the store: signed queries, upload conditions, and responses that ignore ranges.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderValue, IF_MATCH, IF_NONE_MATCH, RANGE};
use http::{Method, StatusCode, Uri};
use object_store_0_14::ClientOptions;
use object_store_0_14::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

/// What this layer adds to requests.
#[derive(Clone, Default)]
pub(super) struct RequestExtras {
    /// The path and query of the given URL, verbatim, since they may be signed.
    pub(super) target: Option<Arc<str>>,
    /// The condition of an upload.
    pub(super) condition: Option<Condition>,
}

/// A condition for replacing an object.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// The object does not exist.
    New,
    /// The object still has this entity tag.
    Unchanged { tag: String, number: Option<String> },
}

/// Marks a response that contains the entire object although a range was requested.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsWhole;

/// Omits the query, which may be secret.
impl std::fmt::Debug for RequestExtras {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestExtras").field("condition", &self.condition).finish_non_exhaustive()
    }
}

impl HttpConnector for RequestExtras {
    fn connect(&self, options: &ClientOptions) -> object_store_0_14::Result<HttpClient> {
        Ok(HttpClient::new(Service { client: client_for(options)?, added: self.clone() }))
    }
}

/// Returns a client with these options, shared by all stores with equal options.
///
/// Creating a client takes milliseconds, since it reads the system's certificates. Sharing reuses
/// connections.
fn client_for(options: &ClientOptions) -> object_store_0_14::Result<HttpClient> {
    /// The maximum number of shared clients.
    ///
    /// Programs use few configurations; a program that creates them in a loop must not leak clients.
    const KEPT: usize = 16;
    static CLIENTS: Mutex<Vec<(String, HttpClient)>> = Mutex::new(Vec::new());
    let key = format!("{options:?}");
    let kept = || CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = kept().iter().find(|(known, _)| *known == key) {
        return Ok(client.clone());
    }
    // Created without holding the lock, which would make other threads wait.
    let client = ReqwestConnector::default().connect(options)?;
    let mut kept = kept();
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push((key, client.clone()));
    Ok(client)
}

#[derive(Debug)]
struct Service {
    client: HttpClient,
    added: RequestExtras,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if let Some(target) = &self.added.target {
            *request.uri_mut() = with_target(request.uri(), target)
                .map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        }
        if let Some(condition) = &self.added.condition
            && completes_upload(&request)
        {
            let (name, value) = match condition {
                Condition::New => (IF_NONE_MATCH, "*"),
                Condition::Unchanged { tag, .. } => (IF_MATCH, &**tag),
            };
            // Conditional headers need not be signed.
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(name, value);
            }
        }
        let end = first_bytes(&request);
        let response = self.client.execute(request).await?;
        Ok(match end {
            Some(end) if response.status() == StatusCode::OK => as_first_part(response, end),
            _ => response,
        })
    }
}

fn with_target(uri: &Uri, target: &str) -> Result<Uri, http::Error> {
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// Returns whether a request completes a multipart upload, in the protocol of S3.
fn completes_upload(request: &HttpRequest) -> bool {
    request.method() == Method::POST && request.uri().query().is_some_and(|query| query.contains("uploadId="))
}

/// Returns the end of the requested range, if it begins at offset 0.
fn first_bytes(request: &HttpRequest) -> Option<u64> {
    let last = request.headers().get(RANGE)?.to_str().ok()?.strip_prefix("bytes=0-")?;
    last.parse::<u64>().ok()?.checked_add(1)
}

/// Relabels a response with the entire object as the requested prefix.
///
/// Otherwise the store would reject the response, and the object would have to be requested again.
fn as_first_part(mut response: HttpResponse, end: u64) -> HttpResponse {
    let len = response.headers().get(CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
    if let Some(len @ 1..) = len
        && let Ok(range) = HeaderValue::from_str(&format!("bytes 0-{}/{len}", end.min(len) - 1))
    {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        response.headers_mut().insert(CONTENT_RANGE, range);
        response.extensions_mut().insert(IsWhole);
    }
    response
}
