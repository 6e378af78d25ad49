//! The client of HTTP: one for all stores with equal options, with TLS of its own, and redirects that give nothing away.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    IF_UNMODIFIED_SINCE, LOCATION, RANGE,
};
use http::{Method, StatusCode};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientConfigKey, ClientOptions};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use url::Url;

/// Whether the text of an option means yes, as `object_store` reads it.
pub(crate) fn is_true(text: &str) -> bool {
    ["1", "true", "on", "yes", "y"].contains(&&*text.to_ascii_lowercase())
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Returns a client with these options, shared by all stores with equal options of this process.
///
/// Creating a client takes milliseconds, since it reads the system's certificates. Sharing reuses connections, which a process
/// that was forked may not do with those of its parent.
pub(crate) fn shared_client(
    options: &ClientOptions,
    certificates: &[String],
) -> object_store::Result<reqwest::Client> {
    /// The maximum number of shared clients.
    ///
    /// Programs use few configurations; a program that creates them in a loop must not leak clients.
    const MAX_CLIENTS: usize = 16;
    static CLIENTS: Mutex<Vec<(String, reqwest::Client)>> = Mutex::new(Vec::new());
    let key = format!("{} {options:?} {certificates:?}", std::process::id());
    let kept = || CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = kept().iter().find(|(known, _)| *known == key) {
        return Ok(client.clone());
    }
    // Created without holding the lock, which would make other threads wait.
    let client = build_client(options, certificates)
        .map_err(|source| object_store::Error::Generic { store: "HTTP", source })?;
    let mut kept = kept();
    if kept.len() == MAX_CLIENTS {
        kept.remove(0);
    }
    kept.push((key, client.clone()));
    Ok(client)
}

fn build_client(options: &ClientOptions, certificates: &[String]) -> Result<reqwest::Client, BoxError> {
    let text = |key: ClientConfigKey| options.get_config_value(&key);
    let is_set = |key: ClientConfigKey| text(key).is_some_and(|text| is_true(&text));
    let time = |key: ClientConfigKey| -> Result<Option<Duration>, BoxError> {
        Ok(text(key).map(|text| humantime::parse_duration(&text)).transpose()?)
    };
    let unsupported = [
        (ClientConfigKey::AllowInvalidCertificates, "allow_invalid_certificates"),
        (ClientConfigKey::NoSystemCertificates, "no_system_certificates"),
    ];
    for (key, name) in unsupported {
        if is_set(key) {
            return Err(format!(
                "the option {name} is not supported: StoreOptions::root_certificates adds a certificate"
            )
            .into());
        }
    }
    let without_effect = [
        (ClientConfigKey::ProxyCaCertificate, "proxy_ca_certificate"),
        (ClientConfigKey::Http2KeepAliveInterval, "http2_keep_alive_interval"),
        (ClientConfigKey::Http2KeepAliveTimeout, "http2_keep_alive_timeout"),
        (ClientConfigKey::Http2MaxFrameSize, "http2_max_frame_size"),
    ];
    if let Some((_, name)) = without_effect.into_iter().find(|(key, _)| text(*key).is_some()) {
        return Err(format!("the option {name} is not supported").into());
    }
    let (allows_http, is_http1) = (is_set(ClientConfigKey::AllowHttp), is_set(ClientConfigKey::Http1Only));
    let agent = concat!("ndarray-io/", env!("CARGO_PKG_VERSION"));
    let mut builder = reqwest::Client::builder()
        .user_agent(text(ClientConfigKey::UserAgent).unwrap_or_else(|| agent.to_owned()))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .https_only(!allows_http)
        .tls_backend_preconfigured(tls_config(certificates, is_http1, allows_http)?);
    if let Some(time) = time(ClientConfigKey::Timeout)? {
        builder = builder.timeout(time);
    }
    if let Some(time) = time(ClientConfigKey::ReadTimeout)? {
        builder = builder.read_timeout(time);
    }
    if let Some(time) = time(ClientConfigKey::ConnectTimeout)? {
        builder = builder.connect_timeout(time);
    }
    if let Some(time) = time(ClientConfigKey::PoolIdleTimeout)? {
        builder = builder.pool_idle_timeout(time);
    }
    if let Some(most) = text(ClientConfigKey::PoolMaxIdlePerHost) {
        builder = builder.pool_max_idle_per_host(most.parse()?);
    }
    if is_http1 {
        builder = builder.http1_only();
    }
    if is_set(ClientConfigKey::Http2Only) {
        builder = builder.http2_prior_knowledge();
    }
    if let Some(proxy) = text(ClientConfigKey::ProxyUrl) {
        let mut proxy = reqwest::Proxy::all(proxy)?;
        if let Some(excluded) = text(ClientConfigKey::ProxyExcludes) {
            proxy = proxy.no_proxy(reqwest::NoProxy::from_string(&excluded));
        }
        builder = builder.proxy(proxy);
    }
    Ok(builder.build()?)
}

/// Configures TLS with `ring`, for this client alone: the process may have a provider of its own choice.
fn tls_config(
    certificates: &[String],
    is_http1: bool,
    allows_http: bool,
) -> Result<rustls::ClientConfig, BoxError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut added = Vec::new();
    for pem in certificates {
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            added.push(certificate.map_err(|error| format!("not a certificate: {error}"))?);
        }
    }
    let verifier = match Verifier::new_with_extra_roots(added, Arc::clone(&provider)) {
        Ok(verifier) => Some(verifier),
        // A system without certificates can still use plain connections.
        Err(_) if allows_http => None,
        Err(error) => return Err(error.into()),
    };
    let builder =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = match verifier {
        Some(verifier) => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
        None => builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth(),
    };
    if !is_http1 {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(config)
}

/// Sends a request, and follows where the server redirects it.
///
/// Another host gets only headers that say what is wanted, and no credentials of any kind.
pub(crate) async fn send_following_redirects(
    client: &reqwest::Client,
    mut request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    /// The maximum number of redirects, as in other programs.
    const MAX_REDIRECTS: usize = 10;
    for _ in 0..MAX_REDIRECTS {
        let original = request.clone();
        let response = client.call(request).await?;
        match redirect_request(original, &response) {
            None => return Ok(response),
            Some(next) => request = next,
        }
    }
    Err(HttpError::new(
        HttpErrorKind::Unknown,
        std::io::Error::other(format!("more than {MAX_REDIRECTS} redirects")),
    ))
}

/// Returns the request that a response asks for, if it asks for one.
fn redirect_request(request: HttpRequest, response: &HttpResponse) -> Option<HttpRequest> {
    let (mut parts, body) = request.into_parts();
    let is_reading = matches!(parts.method, Method::GET | Method::HEAD);
    match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => {}
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER if is_reading => {}
        _ => return None,
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    let before: Url = parts.uri.to_string().parse().ok()?;
    let next = before.join(location).ok()?;
    if next.origin() != before.origin() {
        // What was written is for the server that was asked.
        if !is_reading {
            return None;
        }
        parts.headers = headers_without_credentials(&parts.headers);
    }
    parts.uri = next.as_str().parse().ok()?;
    Some(HttpRequest::from_parts(parts, body))
}

fn headers_without_credentials(headers: &HeaderMap) -> HeaderMap {
    let kept = [
        ACCEPT,
        CONTENT_LENGTH,
        CONTENT_TYPE,
        IF_MATCH,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        IF_UNMODIFIED_SINCE,
        RANGE,
    ];
    kept.into_iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone()))).collect()
}
