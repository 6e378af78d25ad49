//! An HTTP layer below the store: literal names, upload conditions, and responses that ignore ranges.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::ready;
use futures_util::stream::{BoxStream, Stream, unfold};
use futures_util::{StreamExt, TryStreamExt};
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH,
    LAST_MODIFIED, RANGE, TRANSFER_ENCODING,
};
use http::{Method, StatusCode, Uri};
use http_body::Frame;
use http_body_util::StreamBody;
use object_store::ClientOptions;
use object_store::aws::{AwsAuthorizer, AwsCredentialProvider};
use object_store::azure::{AzureAuthorizer, AzureCredentialProvider};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};

use crate::client::{Clients, is_public, send_following_redirects, shared_client};
use crate::rate_guard::RateGuard;

/// The path of an object whose name `object_store` would change; this layer puts the name in its place. Of letters only: nothing
/// encodes them.
pub(crate) const PATH_PLACEHOLDER: &str = "NdarrayIoObject";

/// What this layer adds to requests.
#[derive(Clone, Default)]
pub(crate) struct RequestExtras {
    /// The encoded key, or the path and query of an address on the web, which take the place of [`PATH_PLACEHOLDER`].
    pub(crate) target: Option<Arc<str>>,
    /// The condition of an upload.
    pub(crate) condition: Option<Condition>,
    /// Which requests state the condition as well, where `object_store` does not see to it.
    pub(crate) needs_condition: Option<fn(&HttpRequest) -> bool>,
    /// Signs requests whose target this layer has put in.
    pub(crate) signer: Option<Arc<Signer>>,
    /// What is asked for in place of the object.
    pub(crate) method_override: Option<Method>,
    /// Headers for a web server.
    pub(crate) headers: HeaderMap,
    /// Certificates that are trusted in addition to those of the system.
    pub(crate) certificates: Arc<[String]>,
    /// Whether redirects to other hosts are refused.
    pub(crate) is_same_host: bool,
    /// How much a server has to send, in bytes a second.
    pub(crate) min_byte_rate: u64,
}

/// A condition for replacing an object.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// The object does not exist.
    New,
    /// The object still has this entity tag.
    Unchanged { tag: String, number: Option<String> },
}

/// Marks a response that contains the entire object although a range was requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntireObject;

/// Signs requests of which `object_store` does not know the final name. The credentials come from the store, once it is made.
pub(crate) enum Signer {
    S3 { region: String, requester_pays: bool, credentials: OnceLock<AwsCredentialProvider> },
    Azure { account: String, credentials: OnceLock<AzureCredentialProvider> },
}

impl Signer {
    async fn sign(&self, request: &mut HttpRequest) -> object_store::Result<()> {
        match self {
            Self::S3 { region, requester_pays, credentials } => {
                let Some(credentials) = credentials.get() else { return Ok(()) };
                let credential = credentials.get_credential().await?;
                let authorizer =
                    AwsAuthorizer::new(&credential, "s3", region).with_request_payer(*requester_pays);
                authorizer.try_authorize(request, None)
            }
            Self::Azure { account, credentials } => {
                let Some(credentials) = credentials.get() else { return Ok(()) };
                let credential = credentials.get_credential().await?;
                AzureAuthorizer::new(&credential, account).try_authorize(request)
            }
        }
    }
}

/// Omits everything that may be secret.
impl std::fmt::Debug for RequestExtras {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestExtras").field("condition", &self.condition).finish_non_exhaustive()
    }
}

impl HttpConnector for RequestExtras {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let process_client =
            Mutex::new((std::process::id(), shared_client(options, &self.certificates, false)?));
        Ok(HttpClient::new(Service { process_client, options: options.clone(), extras: self.clone() }))
    }
}

#[derive(Debug)]
struct Service {
    /// A client, and the process that has made it.
    process_client: Mutex<(u32, reqwest::Client)>,
    options: ClientOptions,
    extras: RequestExtras,
}

impl Clients for Service {
    fn is_public(&self, address: IpAddr) -> bool {
        is_public(address)
    }

    fn is_same_host(&self) -> bool {
        self.extras.is_same_host
    }

    fn public_client(&self) -> Result<reqwest::Client, HttpError> {
        let client = shared_client(&self.options, &self.extras.certificates, true);
        client.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))
    }

    /// Returns the client of this process: one that was forked may not use the connections of its parent.
    fn client(&self) -> Result<reqwest::Client, HttpError> {
        let mut process_client = self.process_client.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if process_client.0 != process {
            let own = shared_client(&self.options, &self.extras.certificates, false);
            let own = own.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
            std::mem::forget(std::mem::replace(&mut *process_client, (process, own)));
        }
        Ok(process_client.1.clone())
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let extras = &self.extras;
        for (name, value) in &extras.headers {
            request.headers_mut().insert(name, value.clone());
        }
        if let Some(condition) = &extras.condition
            && extras.needs_condition.is_some_and(|applies| applies(&request))
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
        // Requests for credentials go to other places, through the same layer.
        if let Some(target) = &extras.target
            && request.uri().path().ends_with(PATH_PLACEHOLDER)
        {
            let unknown = |error| HttpError::new(HttpErrorKind::Unknown, error);
            *request.uri_mut() = with_target(request.uri(), target).map_err(unknown)?;
            if let Some(method) = &extras.method_override {
                *request.method_mut() = method.clone();
            }
            if let Some(signer) = &extras.signer {
                request.headers_mut().remove(AUTHORIZATION);
                let signed = signer.sign(&mut request).await;
                signed.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
            }
        }
        let (end, method) = (prefix_end(&request), request.method().clone());
        let is_object = request.headers().contains_key(RANGE);
        let response = send_following_redirects(self, request).await?;
        if method == Method::HEAD {
            return Ok(response); // it has no body
        }
        let is_success = response.status().is_success();
        // Those of objects are counted together; to an upload, stores send a byte now and then until it is complete.
        let response = match is_success && (is_object || method != Method::GET) {
            true => response,
            false => not_too_slow(response, extras.min_byte_rate),
        };
        if !is_success {
            return Ok(bounded(as_ascii(response), MAX_ERROR_LEN));
        }
        if extras.method_override.is_some() {
            return as_object_response(response).await;
        }
        // What comes of an object is counted where it is taken.
        if !is_object {
            return Ok(bounded(response, MAX_ANSWER_LEN));
        }
        let response = match end {
            Some(end) if response.status() == StatusCode::OK => {
                as_partial_content(response, end, extras.min_byte_rate).await?
            }
            _ => response,
        };
        Ok(end_at_first_error(response))
    }
}

/// How much is read of an answer that is an error.
const MAX_ERROR_LEN: usize = 64 << 10;
/// How much is read of an answer, such as credentials or what an upload is called.
const MAX_ANSWER_LEN: usize = 1 << 20;
/// How much is read of a page of a listing, which has at most 5,000 names of 1,024 characters.
const MAX_PAGE_LEN: usize = 64 << 20;
/// How much is kept of an object whose length the server does not say.
const MAX_OBJECT_LEN: usize = 128 << 20;

/// Replaces what is not ASCII in the text of an error, of which the end may be left out.
fn as_ascii(response: HttpResponse) -> HttpResponse {
    let ascii = |chunk: Bytes| chunk.iter().map(|byte| if byte.is_ascii() { *byte } else { b'?' }).collect();
    response.map(|body| body_of(body.bytes_stream().map(move |chunk| chunk.map(ascii)).boxed()))
}

/// Lets the body of an answer end after this number of bytes.
fn bounded(response: HttpResponse, max_len: usize) -> HttpResponse {
    let (mut parts, body) = response.into_parts();
    // It may claim more than is passed on.
    parts.headers.remove(CONTENT_LENGTH);
    let chunks = body.bytes_stream().scan(max_len, |left, chunk| {
        let is_over = *left == 0;
        let chunk = chunk.map(|mut chunk| {
            chunk.truncate(*left);
            *left -= chunk.len();
            chunk
        });
        ready((!is_over).then_some(chunk))
    });
    HttpResponse::from_parts(parts, body_of(chunks.boxed()))
}

/// Lets the body of an answer that comes too slowly end with an error.
fn not_too_slow(response: HttpResponse, min_byte_rate: u64) -> HttpResponse {
    response.map(|body| {
        let guard = RateGuard::new(min_byte_rate, Box::new(AtomicU64::new(0)));
        let state = Some((guard, body.bytes_stream()));
        let chunks = unfold(state, async |state| {
            let (mut guard, mut chunks) = state?;
            let chunk = guard.next(&mut chunks).await?;
            let state = chunk.is_ok().then_some((guard, chunks));
            Some((chunk, state))
        });
        body_of(chunks.fuse().boxed())
    })
}

/// Makes a body of chunks.
fn body_of(chunks: BoxStream<'static, Result<Bytes, HttpError>>) -> HttpResponseBody {
    HttpResponseBody::new(StreamBody::new(SyncChunks(Mutex::new(chunks))))
}

/// Puts the name of the object in its place.
fn with_target(uri: &Uri, target: &str) -> Result<Uri, http::Error> {
    let before = uri.path().strip_suffix(PATH_PLACEHOLDER).unwrap_or(uri.path());
    // A query that is asked of a bucket: its name is not a folder.
    let before = match before.strip_suffix('/') {
        Some(bucket) if target.starts_with('?') && !bucket.is_empty() => bucket,
        _ => before,
    };
    // A token may be in the query already.
    let joint = if target.contains('?') { '&' } else { '?' };
    let query = uri.query().map(|query| format!("{joint}{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(format!("{before}{target}{query}").parse()?);
    Ok(Uri::from_parts(parts)?)
}

/// Gives an answer the headers of an object, without which `object_store` does not return it.
async fn as_object_response(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let mut response =
        buffer_body(response, MAX_PAGE_LEN, "an answer that is longer than any that stores send").await?;
    let headers = response.headers_mut();
    headers.insert(LAST_MODIFIED, HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT"));
    headers.insert(ETAG, HeaderValue::from_static("\"answer\""));
    *response.status_mut() = StatusCode::OK;
    Ok(response)
}

/// Receives a response, and says how long it is.
async fn buffer_body(
    response: HttpResponse,
    max_len: usize,
    longer: &str,
) -> Result<HttpResponse, HttpError> {
    let (mut parts, body) = response.into_parts();
    let (mut stream, mut body) = (body.bytes_stream(), Vec::new());
    while let Some(chunk) = stream.try_next().await? {
        if body.len() + chunk.len() > max_len {
            return Err(HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(longer.to_owned())));
        }
        body.extend_from_slice(&chunk);
    }
    parts.headers.remove(TRANSFER_ENCODING);
    parts.headers.insert(CONTENT_LENGTH, body.len().into());
    Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(body)))
}

/// Returns whether a request completes a multipart upload, in the protocol of S3.
pub(crate) fn is_upload_completion(request: &HttpRequest) -> bool {
    request.method() == Method::POST && request.uri().query().is_some_and(|query| query.contains("uploadId="))
}

/// Returns whether a request writes an object.
pub(crate) fn is_write(request: &HttpRequest) -> bool {
    request.method() == Method::PUT
}

/// Returns the end of the requested range, if it begins at offset 0.
fn prefix_end(request: &HttpRequest) -> Option<u64> {
    let last = request.headers().get(RANGE)?.to_str().ok()?.strip_prefix("bytes=0-")?;
    last.parse::<u64>().ok()?.checked_add(1)
}

/// Lets a body that breaks off just end: what is missing is requested again at once, where `object_store` would wait first.
fn end_at_first_error(response: HttpResponse) -> HttpResponse {
    response.map(|body| body_of(body.bytes_stream().take_while(|chunk| ready(chunk.is_ok())).boxed()))
}

/// The chunks of a body. The mutex, which nothing waits for, makes it `Sync`.
struct SyncChunks(Mutex<BoxStream<'static, Result<Bytes, HttpError>>>);

impl Stream for SyncChunks {
    type Item = Result<Frame<Bytes>, HttpError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let stream = self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner);
        stream.poll_next_unpin(context).map(|chunk| Some(chunk?.map(Frame::data)))
    }
}

/// Relabels a response with the entire object as the requested prefix.
///
/// Otherwise the store would reject the response, and the object would have to be requested again. If the server does not say how
/// long it is, it is received first.
async fn as_partial_content(
    response: HttpResponse,
    end: u64,
    min_byte_rate: u64,
) -> Result<HttpResponse, HttpError> {
    let mut response = match response.headers().contains_key(CONTENT_LENGTH) {
        true => response,
        false => {
            buffer_body(
                not_too_slow(response, min_byte_rate),
                MAX_OBJECT_LEN,
                "an object of more than 128 MiB, whose length the server does not say",
            )
            .await?
        }
    };
    let len = response.headers().get(CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
    if let Some(len @ 1..) = len
        && let Ok(range) = HeaderValue::from_str(&format!("bytes 0-{}/{len}", end.min(len) - 1))
    {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        response.headers_mut().insert(CONTENT_RANGE, range);
        response.extensions_mut().insert(EntireObject);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    /// In a time that passes only where all wait.
    #[tokio::test(start_paused = true)]
    async fn answer_that_comes_too_slowly_is_given_up() {
        for (bytes, is_whole, seconds) in [(1, false, 30), (40_000, true, 100)] {
            let chunks = futures_util::stream::iter(0..10).then(move |_| async move {
                sleep(Duration::from_secs(10)).await;
                Ok(vec![0; bytes].into())
            });
            let began = Instant::now();
            let response = not_too_slow(HttpResponse::new(body_of(chunks.boxed())), 1024);
            let read = buffer_body(response, 1 << 20, "").await;
            assert_eq!((read.is_ok(), began.elapsed().as_secs()), (is_whole, seconds), "{bytes}");
        }
    }
}
