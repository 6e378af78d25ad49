//! [`ObjectLocation`]: the location of an object, and the configuration of requests for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store_0_14::aws::AmazonS3Builder;
use object_store_0_14::azure::MicrosoftAzureBuilder;
use object_store_0_14::gcp::GoogleCloudStorageBuilder;
use object_store_0_14::http::HttpBuilder;
use object_store_0_14::path::Path;
use object_store_0_14::{
    BackoffConfig, ClientConfigKey, GetOptions, GetResult, ObjectStore, ObjectStoreScheme, RetryConfig,
};
use url::Url;

use super::failure::failure;
use super::runtime::wait;
use super::service::RequestExtras;
use crate::error::{Error, ErrorKind, Result};

/// Options for accessing a store: credentials, endpoints, timeouts, retries.
///
/// Credentials and endpoints need to be set only if they are not in the environment.
///
/// ```
/// use ndarray_io::store::StoreOptions;
/// use std::time::Duration;
///
/// let options = StoreOptions::new()
///     .set("aws_region", "eu-central-1")
///     .set("aws_skip_signature", "true") // a public bucket
///     .read_timeout(Duration::from_secs(10))
///     .retries(3);
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct StoreOptions {
    keys: Vec<(String, String)>,
    read_timeout: Duration,
    connect_timeout: Duration,
    retries: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let (read_timeout, connect_timeout) = (Duration::from_secs(60), Duration::from_secs(10));
        Self { keys: Vec::new(), read_timeout, connect_timeout, retries: 5 }
    }
}

/// Shows the names of keys but not their values, which may be secret.
impl std::fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&String> = self.keys.iter().map(|(key, _)| key).collect();
        let mut shown = f.debug_struct("StoreOptions");
        shown.field("keys", &keys).field("read_timeout", &self.read_timeout);
        shown.field("connect_timeout", &self.connect_timeout).field("retries", &self.retries).finish()
    }
}

impl StoreOptions {
    /// Creates options with the configuration from the environment and default timeouts.
    ///
    /// The defaults are a read timeout of 60 seconds, a connect timeout of 10 seconds, and 5 retries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a configuration key of the store, overriding the environment.
    ///
    /// Keys are the names of environment variables in lower case, such as `aws_access_key_id`,
    /// `aws_endpoint`, `azure_storage_account_key` and `google_service_account`, and the options of the HTTP
    /// client, such as `proxy_url` and `allow_http`. The documentation of `object_store` lists the keys.
    /// [`Remote::parse_with`](super::Remote::parse_with) rejects keys that the store does not support.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.keys.push((key.into(), value.into()));
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

    pub(super) fn get_retries(&self) -> usize {
        self.retries
    }

    pub(super) fn get_read_timeout(&self) -> Duration {
        self.read_timeout
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
        self.retries = retries;
        self
    }
}

/// The location of an object in a store.
#[derive(Clone)]
pub(super) struct ObjectLocation {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
    /// The name in error messages: the URL without secrets.
    pub(super) shown: PathBuf,
    pub(super) retries: usize,
    /// Whether the object is on a web server, which accepts an object only as a single part.
    pub(super) is_web: bool,
}

/// Omits the store, whose `Debug` output contains the IDs of access keys.
impl std::fmt::Debug for ObjectLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ObjectLocation").field(&self.shown).finish()
    }
}

/// Returns the limit for the total duration of retries of one request.
///
/// Uploads have a `read_timeout` of at least 15 minutes, 30 times which would be most of a day.
fn retry_timeout(read_timeout: Duration) -> Duration {
    /// 30 times the default `read_timeout`.
    const USUAL: Duration = Duration::from_secs(30 * 60);
    read_timeout.saturating_mul(30).min(USUAL.max(read_timeout.saturating_mul(2)))
}

impl ObjectLocation {
    pub(super) fn parse(url: &str, options: &StoreOptions, added: RequestExtras) -> Result<Self> {
        let bad = |reason: String| Error::from(ErrorKind::BadOption { reason });
        let parsed = Url::parse(url).map_err(|error| bad(format!("not a URL: {error}")))?;
        let shown = shown(url, &parsed);
        Self::of_url(&parsed, options, added, &shown).map_err(|error| error.at_path(&shown))
    }

    fn of_url(
        url: &Url,
        options: &StoreOptions,
        mut added: RequestExtras,
        shown: &std::path::Path,
    ) -> Result<Self> {
        let bad = |reason: &str| Error::from(ErrorKind::BadOption { reason: reason.into() });
        let is_http = matches!(url.scheme(), "http" | "https");
        if is_http && (!url.username().is_empty() || url.password().is_some()) {
            return Err(bad("credentials in URLs are not supported"));
        }
        let (mut scheme, mut path) = ObjectStoreScheme::parse(url)
            .map_err(|_| bad("unsupported URL, expected s3://, gs://, az://, http:// or https://"))?;
        if is_http && url.query().is_some() {
            // The signature covers only this object, which is fetched as from any web server.
            (scheme, path) = (ObjectStoreScheme::Http, Path::from("signed"));
            added.target = Some(url[url::Position::BeforePath..url::Position::AfterQuery].into());
        }
        if path.as_ref().is_empty() {
            return Err(bad("the URL does not name an object"));
        }
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: options.retries,
            retry_timeout: retry_timeout(options.read_timeout),
        };
        let client = [
            // A request may take a long time in total, provided that data keeps arriving.
            (ClientConfigKey::Timeout, "6h".to_owned()),
            (ClientConfigKey::ReadTimeout, format!("{}ms", options.read_timeout.as_millis())),
            (ClientConfigKey::ConnectTimeout, format!("{}ms", options.connect_timeout.as_millis())),
        ];
        macro_rules! built {
            ($builder:expr, $key:ty, $of_client:expr) => {{
                let mut builder = $builder.with_retry(retry).with_http_connector(added);
                for (key, value) in client {
                    builder = builder.with_config($of_client(key), value);
                }
                for (key, value) in &options.keys {
                    let key = key.to_ascii_lowercase();
                    let parsed: $key =
                        key.parse().map_err(|_| bad(&format!("unknown option '{key}' for this store")))?;
                    builder = builder.with_config(parsed, value);
                }
                Arc::new(builder.build().map_err(|error| failure(&error))?) as Arc<dyn ObjectStore>
            }};
        }
        use object_store_0_14::aws::AmazonS3ConfigKey as S3Key;
        use object_store_0_14::azure::AzureConfigKey as AzureKey;
        use object_store_0_14::gcp::GoogleConfigKey as GoogleKey;
        let is_web = scheme == ObjectStoreScheme::Http;
        let store = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                built!(AmazonS3Builder::from_env().with_url(url.as_str()), S3Key, S3Key::Client)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                built!(
                    GoogleCloudStorageBuilder::from_env().with_url(url.as_str()),
                    GoogleKey,
                    GoogleKey::Client
                )
            }
            ObjectStoreScheme::MicrosoftAzure => {
                built!(MicrosoftAzureBuilder::from_env().with_url(url.as_str()), AzureKey, AzureKey::Client)
            }
            ObjectStoreScheme::Http => {
                let base = &url[..url::Position::BeforePath];
                let builder = HttpBuilder::new().with_url(base);
                // Plain HTTP is allowed only for http:// URLs: https:// is never redirected to http://.
                let is_plain = (url.scheme() == "http").to_string();
                let builder = builder.with_config(ClientConfigKey::AllowHttp, is_plain);
                built!(builder, ClientConfigKey, std::convert::identity)
            }
            _ => return Err(bad("a local file is not an object in a store")),
        };
        Ok(Self { store, path, shown: shown.to_owned(), retries: options.retries, is_web })
    }

    /// Returns the location of an object in the folder at this path.
    pub(super) fn child(&self, name: &str) -> Self {
        let shown = format!("{}/{name}", self.shown.to_string_lossy().trim_end_matches('/'));
        Self { path: self.path.clone().join(name), shown: shown.into(), ..self.clone() }
    }

    /// Requests the object's metadata.
    pub(super) async fn head(&self) -> object_store_0_14::Result<GetResult> {
        let head = GetOptions { head: true, ..GetOptions::default() };
        self.store.get_opts(&self.path, head).await
    }

    /// Lists the names of the objects in the folder at this path.
    ///
    /// Web servers do not support this.
    pub(super) fn names_within(&self) -> Result<Vec<String>> {
        let listed = wait(async {
            self.store.list_with_delimiter(Some(&self.path)).await.map_err(|error| failure(&error))
        })?;
        Ok(listed.objects.iter().filter_map(|object| object.location.filename().map(str::to_owned)).collect())
    }

    pub(super) fn named(&self, error: Error) -> Error {
        error.at_path(&self.shown)
    }
}

/// Returns a URL without credentials and query.
fn shown(text: &str, url: &Url) -> PathBuf {
    if url.password().is_none() && url.username().is_empty() {
        return text.split(['?', '#']).next().unwrap_or_default().into();
    }
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_password(None);
    // In `abfs://container@account` the user name is the container.
    if !url.scheme().starts_with("abfs") {
        let _ = url.set_username("");
    }
    url.as_str().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_end_after_half_an_hour_or_two_attempts() {
        for (seconds, limit) in [(1, 30), (60, 1800), (15 * 60, 1800), (7200, 14_400)] {
            assert_eq!(retry_timeout(Duration::from_secs(seconds)), Duration::from_secs(limit));
        }
    }
}
