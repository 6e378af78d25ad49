//! [`StoreOptions`]: credentials, endpoints, timeouts, retries.

use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use ndarray_io::Result;

use crate::address::bad_option;
use crate::limits::Limits;

/// Options for accessing a store: credentials, endpoints, timeouts, retries.
///
/// Credentials and endpoints need to be set only if they are not in the environment.
///
/// ```
/// use ndarray_io_store::StoreOptions;
/// use std::time::Duration;
///
/// let options = StoreOptions::new()
///     .set("aws_region", "eu-central-1")
///     .anonymous() // a public bucket
///     .read_timeout(Duration::from_secs(10))
///     .retries(3);
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct StoreOptions {
    pub(crate) keys: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) certificates: Vec<String>,
    pub(crate) is_anonymous: bool,
    pub(crate) is_same_host: bool,
    pub(crate) read_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) limits: Limits,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            headers: HeaderMap::new(),
            certificates: Vec::new(),
            is_anonymous: false,
            is_same_host: false,
            read_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            limits: Limits::default(),
        }
    }
}

/// Shows the names of keys and headers but not their values, which may be secret.
impl std::fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&String> = self.keys.iter().map(|(key, _)| key).collect();
        let mut shown = f.debug_struct("StoreOptions");
        shown.field("keys", &keys).field("headers", &self.headers.keys().collect::<Vec<_>>());
        shown.field("is_anonymous", &self.is_anonymous).field("same_host", &self.is_same_host);
        shown.field("read_timeout", &self.read_timeout);
        shown.field("connect_timeout", &self.connect_timeout).field("retries", &self.limits.retries);
        shown
            .field("requests", &self.limits.requests())
            .field("slowest", &self.limits.min_byte_rate)
            .field("in_flight", &self.limits.bytes_in_flight())
            .field("part_size", &self.limits.part_size())
            .finish_non_exhaustive()
    }
}

impl StoreOptions {
    /// Creates options with the configuration from the environment and default timeouts.
    ///
    /// The defaults are a read timeout of 60 seconds, a connect timeout of 10 seconds, 5 retries, 128 concurrent requests, and no server that sends less than 1 KiB a second.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a configuration key of the store, overriding the environment.
    ///
    /// Keys are the names of environment variables in lower case, such as `aws_access_key_id`,
    /// `aws_endpoint`, `azure_storage_account_key` and `google_service_account`, and the options of the HTTP
    /// client, such as `proxy_url` and `allow_http`. The documentation of `object_store` lists the keys.
    /// [`Remote::parse_with`](crate::Remote::parse_with) rejects keys that the store does not support.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.keys.push((key.into(), value.into()));
        self
    }

    /// Sends requests without credentials, as public buckets expect.
    ///
    /// For an address on the web this is the default.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    /// Adds a header to all requests to a web server (not to those to a store).
    ///
    /// The header is not sent to another host to which the server redirects.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if this is not a valid header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let name: HeaderName =
            name.parse().map_err(|_| bad_option(format!("'{name}' is not the name of a header")))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| bad_option(format!("the value of the header '{name}' is not valid")))?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sends a bearer token to a web server, as the header `Authorization`.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if the token has characters that no header can have.
    pub fn bearer_token(self, token: &str) -> Result<Self> {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Refuses redirects to other hosts, and to other ports.
    ///
    /// By default they are followed, since large sites redirect downloads: without credentials, and never from a server at a public address to
    /// a private one. If a proxy connects in place of this program, it has to see to the latter.
    #[must_use]
    pub fn same_host(mut self) -> Self {
        self.is_same_host = true;
        self
    }

    /// Trusts further certificates, in the PEM format, such as that of a server of your own.
    #[must_use]
    pub fn root_certificates(mut self, pem: impl Into<String>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// Sets how long to wait for the next bytes of a response; the default is 60 seconds.
    ///
    /// A failing request is retried for at most 30 times this duration, but not for more than 30 minutes or twice
    /// this duration, whichever is longer. Uploads wait at least 15 minutes for the response to a part.
    #[must_use]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = timeout;
        self
    }

    /// Sets how long to wait for a connection; the default is 10 seconds.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the maximum number of retries after transient failures; the default is 5.
    ///
    /// Transient failures are network errors and responses with status 429 or 5xx. The delay between attempts
    /// grows from 0.1 to 15 seconds. A response that breaks off is resumed without delay, up to this many
    /// times in a row without progress.
    #[must_use]
    pub fn retries(mut self, retries: usize) -> Self {
        self.limits.retries = retries;
        self
    }

    /// Sets how many requests are sent at a time: from 1 to 256; the default is 128.
    ///
    /// All objects that are opened with these options, or clones of them, share this limit and that of [`in_flight`](Self::in_flight), and take turns;
    /// one request of each object is always allowed. Objects for which neither is set share the defaults. Large requests count for
    /// several: together, they are for at most `in_flight` bytes.
    #[must_use]
    pub fn requests(mut self, requests: usize) -> Self {
        self.limits.set_requests(requests);
        self
    }

    /// Sets how many bytes are requested at a time, from 1 MiB on; the default is 128 MiB.
    ///
    /// This is also what bytes take in memory, in addition to results: those that are fetched ahead of what is read in sequence (seven eighths of it at most),
    /// and the parts of uploads that are being sent. See [`requests`](Self::requests) for who shares it.
    #[must_use]
    pub fn in_flight(mut self, bytes: u64) -> Self {
        self.limits.set_bytes_in_flight(bytes);
        self
    }

    /// Sets the size of the largest request for a part of an object, from 64 KiB on; the default is 16 MiB.
    ///
    /// Larger parts have fewer requests, smaller ones more that are in progress at a time. No request is for more than [`in_flight`](Self::in_flight).
    #[must_use]
    pub fn part_size(mut self, bytes: usize) -> Self {
        self.limits.set_part_size(bytes);
        self
    }

    /// Sets how much a server has to send, in bytes a second over 30 seconds; the default is 1,024.
    ///
    /// If all responses for an object together are slower, they are given up as if they had broken off, and are [retried](Self::retries). Pages of a listing,
    /// credentials and errors are given up for good. With 0, only [`read_timeout`](Self::read_timeout) limits how long a response takes.
    #[must_use]
    pub fn slowest(mut self, bytes_per_second: u64) -> Self {
        self.limits.min_byte_rate = bytes_per_second;
        self
    }
}
