//! The client of HTTP: one for all stores with equal options, with TLS of its own, and redirects that give nothing away.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    IF_UNMODIFIED_SINCE, LOCATION, RANGE,
};
use http::{Method, StatusCode, Uri};
use hyper_util::client::legacy::connect::HttpInfo;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
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
    is_public_only: bool,
) -> object_store::Result<reqwest::Client> {
    /// The maximum number of shared clients.
    ///
    /// Programs use few configurations; a program that creates them in a loop must not leak clients.
    const MAX_CLIENTS: usize = 16;
    static CLIENTS: Mutex<Vec<(String, reqwest::Client)>> = Mutex::new(Vec::new());
    let key = format!("{} {options:?} {certificates:?} {is_public_only}", std::process::id());
    let kept = || CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = kept().iter().find(|(known, _)| *known == key) {
        return Ok(client.clone());
    }
    // Created without holding the lock, which would make other threads wait.
    let client = build_client(options, certificates, is_public_only)
        .map_err(|source| object_store::Error::Generic { store: "HTTP", source })?;
    let mut kept = kept();
    if kept.len() == MAX_CLIENTS {
        kept.remove(0);
    }
    kept.push((key, client.clone()));
    Ok(client)
}

fn build_client(
    options: &ClientOptions,
    certificates: &[String],
    is_public_only: bool,
) -> Result<reqwest::Client, BoxError> {
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
    // What a name leads to is judged when it is connected to: it may be something else than a moment before.
    if is_public_only {
        builder = builder.dns_resolver(Arc::new(PublicAddresses));
    }
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

/// The clients with which a request is sent.
pub(crate) trait Clients {
    /// Returns whether an address is one that anyone can reach.
    fn is_public(&self, address: IpAddr) -> bool;

    /// Returns whether redirects to other hosts are refused.
    fn is_same_host(&self) -> bool;

    fn client(&self) -> Result<reqwest::Client, HttpError>;

    /// Returns a client that connects to public addresses only, as far as names lead to them.
    fn public_client(&self) -> Result<reqwest::Client, HttpError>;
}

/// Sends a request, and follows where the server redirects it.
///
/// Another host gets only headers that say what is wanted, and no credentials of any kind. A server at a public address cannot redirect
/// to one that only this machine or its network can reach.
pub(crate) async fn send_following_redirects(
    clients: &impl Clients,
    mut request: HttpRequest,
) -> Result<HttpResponse, HttpError> {
    /// The maximum number of redirects, as in other programs.
    const MAX_REDIRECTS: usize = 10;
    let refused = |text: String| HttpError::new(HttpErrorKind::Unknown, std::io::Error::other(text));
    let mut client = clients.client()?;
    let mut is_from_public = false;
    for _ in 0..MAX_REDIRECTS {
        let original = request.clone();
        let response = client.call(request).await?;
        // Of a proxy, which connects in place of this machine, it is the proxy's.
        let address = response.extensions().get::<HttpInfo>().map(|info| info.remote_addr().ip());
        let before = original.uri().clone();
        let Some(next) = redirect_request(original, &response) else { return Ok(response) };
        if clients.is_same_host() && !is_same_host(&before, next.uri()) {
            let host = next.uri().authority().map_or("", |host| host.as_str());
            return Err(refused(format!("the server redirects to another host, {host}")));
        }
        if !is_from_public && address.is_some_and(|address| clients.is_public(address)) {
            is_from_public = true;
            client = clients.public_client()?;
        }
        let host = next.uri().host().unwrap_or_default();
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if is_from_public && literal.is_ok_and(|address| !clients.is_public(address)) {
            return Err(refused(format!("the server redirects to {host}, which is a private address")));
        }
        request = next;
    }
    Err(refused(format!("more than {MAX_REDIRECTS} redirects")))
}

/// Resolves names to public addresses.
struct PublicAddresses;

impl Resolve for PublicAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found = tokio::net::lookup_host((&*name, 0)).await?;
            let found: Vec<_> = found.filter(|address| is_public(address.ip())).collect();
            if found.is_empty() {
                return Err(format!("the server redirects to {name}, which has no public address").into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is neither private nor this machine's nor of its network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            // 100.64.0.0/10 is shared by the customers of a provider.
            let is_shared = a == 100 && b & 0xC0 == 64;
            // Those of a network's own protocols, of tests of networks, and for uses to come.
            let is_special = a == 192 && b == 0 && c == 0 || a == 198 && b & 0xFE == 18 || a >= 240;
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || a == 0
                || is_shared
                || is_special)
        }
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(inner) => is_public(IpAddr::V4(inner)),
            None => {
                !(address.is_loopback()
                    || address.is_unspecified()
                    || address.is_multicast()
                    || address.is_unique_local()
                    || address.is_unicast_link_local()
                    // Addresses of IPv4 that something translates, and those of a site, which are no longer used.
                    || matches!(
                        address.segments(),
                        [0, 0, 0, 0, 0, 0, ..]
                            | [0x64, 0xFF9B, ..]
                            | [0x2001, 0, ..]
                            | [0x2002, ..]
                            | [0xFEC0..=0xFEFF, ..]
                    ))
            }
        },
    }
}

/// Whether two addresses are of one server: TLS may have a port of its own.
fn is_same_host(one: &Uri, other: &Uri) -> bool {
    let (host, port) = (one.host() == other.host(), one.port_u16() == other.port_u16());
    host && port && (one.scheme() == other.scheme() || other.scheme_str() == Some("https"))
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{IpAddr, TcpListener};

    use http::Uri;
    use object_store::client::{HttpError, HttpRequest, HttpRequestBody};

    use super::{Clients, build_client, is_public, is_same_host, send_following_redirects};

    /// The examples of the registries of special addresses (RFC 6890 and its successors).
    #[test]
    fn private_addresses_are_not_public() {
        let all = [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.255.255",
            "192.168.1.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.0.8",
            "198.19.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "64:ff9b::7f00:1",
        ];
        for address in all {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    /// Takes 127.0.0.2 for public.
    #[derive(Default)]
    struct Pretending {
        is_same_host: bool,
    }

    impl Clients for Pretending {
        fn is_public(&self, address: IpAddr) -> bool {
            address == IpAddr::from([127, 0, 0, 2])
        }

        fn is_same_host(&self) -> bool {
            self.is_same_host
        }

        fn client(&self) -> Result<reqwest::Client, HttpError> {
            let options = object_store::ClientOptions::new().with_allow_http(true);
            Ok(build_client(&options, &[], false).unwrap())
        }

        fn public_client(&self) -> Result<reqwest::Client, HttpError> {
            let options = object_store::ClientOptions::new().with_allow_http(true);
            Ok(build_client(&options, &[], true).unwrap())
        }
    }

    /// Answers one request on a loopback address, and returns where it listens.
    fn answer_once(address: &str, answer: String) -> u16 {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        port
    }

    #[test]
    fn server_is_the_same_with_tls_and_not_without() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        for (to, is_same) in [
            ("http://a.org/y", true),
            ("https://a.org/x", true),
            ("http://b.a.org/x", false),
            ("http://a.org:8080/x", false),
        ] {
            assert_eq!(is_same_host(&uri("http://a.org/x"), &uri(to)), is_same, "{to}");
        }
        assert!(!is_same_host(&uri("https://a.org/x"), &uri("http://a.org/x")));
    }

    #[cfg(target_os = "linux")] // elsewhere, 127.0.0.2 is not an address of the machine
    #[test]
    fn public_server_cannot_redirect_to_private_address() {
        let send = |clients: Pretending, from: &str, to: &str| {
            let target = answer_once("127.0.0.1", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".into());
            let moved =
                format!("HTTP/1.1 302 Found\r\nLocation: http://{to}:{target}/\r\nContent-Length: 0\r\n\r\n");
            let port = answer_once(from, moved);
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = format!("http://{from}:{port}/").parse().unwrap();
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(send_following_redirects(&clients, request))
        };
        let refused = |error: &HttpError, words: &str| {
            let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
            assert!(causes.map(|cause| cause.to_string()).any(|text| text.contains(words)), "{error:?}");
        };
        for to in ["127.0.0.1", "localhost"] {
            refused(&send(Pretending::default(), "127.0.0.2", to).unwrap_err(), to);
        }
        assert_eq!(send(Pretending::default(), "127.0.0.1", "localhost").unwrap().status(), 200);
        // Neither another name nor another port is the same server.
        for to in ["127.0.0.1", "localhost"] {
            let clients = Pretending { is_same_host: true };
            refused(&send(clients, "127.0.0.1", to).unwrap_err(), &format!("another host, {to}:"));
        }
    }
}
