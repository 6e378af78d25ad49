//! [`Place`]: where an object is, and how requests for it are made.

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
use super::service::Added;
use crate::error::{Error, ErrorKind, Result};

/// How a store is reached: credentials and endpoints that are not in the environment, timeouts, retries.
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

/// Names of keys, and not what they are set to, which may be secret.
impl std::fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&String> = self.keys.iter().map(|(key, _)| key).collect();
        let mut shown = f.debug_struct("StoreOptions");
        shown.field("keys", &keys).field("read_timeout", &self.read_timeout);
        shown.field("connect_timeout", &self.connect_timeout).field("retries", &self.retries).finish()
    }
}

impl StoreOptions {
    /// What the environment says, 60 seconds for an answer to go on, and 5 retries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key of the store, as the environment would (in lower case): `aws_access_key_id`, `aws_endpoint`, `azure_storage_account_key`,
    /// `google_service_account`, and those of the client, such as `proxy_url` and `allow_http`. The documentation of `object_store` lists
    /// them. A key that a store does not have is an error when it is opened.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.keys.push((key.into(), value.into()));
        self
    }

    /// How long to wait for the next bytes of an answer.
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

    /// How long to wait for a connection.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How often a request is repeated that fails for a reason that may pass: the network, or an answer of 429 or 5xx. The time between two
    /// tries grows from 0.1 to 15 seconds.
    #[must_use]
    pub fn retries(mut self, retries: usize) -> Self {
        self.retries = retries;
        self
    }
}

/// An object in a store.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) path: Path,
    /// What errors call it: the URL without what may be secret in it.
    pub(super) shown: PathBuf,
    pub(super) retries: usize,
    /// A web server, to which an object is sent in one part.
    pub(super) is_web: bool,
}

/// A store shows the names of its keys.
impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Place").field(&self.shown).finish()
    }
}

impl Place {
    pub(super) fn parse(url: &str, options: &StoreOptions, added: Added) -> Result<Self> {
        let bad = |reason: String| Error::from(ErrorKind::BadOption { reason });
        let parsed = Url::parse(url).map_err(|error| bad(format!("it is not a URL: {error}")))?;
        let shown = shown(url, &parsed);
        Self::of_url(&parsed, options, added, &shown).map_err(|error| error.at_path(&shown))
    }

    fn of_url(url: &Url, options: &StoreOptions, mut added: Added, shown: &std::path::Path) -> Result<Self> {
        let bad = |reason: &str| Error::from(ErrorKind::BadOption { reason: reason.into() });
        let is_http = matches!(url.scheme(), "http" | "https");
        if is_http && (!url.username().is_empty() || url.password().is_some()) {
            return Err(bad("passwords in URLs are not supported"));
        }
        let (mut scheme, mut path) = ObjectStoreScheme::parse(url)
            .map_err(|_| bad("the URLs of stores begin with s3://, gs://, az://, http:// or https://"))?;
        if is_http && url.query().is_some() {
            // Signed for this one object, so that it is fetched from there as from any web server.
            (scheme, path) = (ObjectStoreScheme::Http, Path::from("signed"));
            added.target = Some(url[url::Position::BeforePath..url::Position::AfterQuery].into());
        }
        if path.as_ref().is_empty() {
            return Err(bad("the URL names no object"));
        }
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: options.retries,
            retry_timeout: options.read_timeout.saturating_mul(30),
        };
        let client = [
            // The whole of a request may take long; that nothing comes may not.
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
                        key.parse().map_err(|_| bad(&format!("the store has no key '{key}'")))?;
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
                // http:// is allowed to those who ask for it, and https:// is not redirected to it.
                let is_plain = (url.scheme() == "http").to_string();
                let builder = builder.with_config(ClientConfigKey::AllowHttp, is_plain);
                built!(builder, ClientConfigKey, std::convert::identity)
            }
            _ => return Err(bad("files are opened by their paths")),
        };
        Ok(Self { store, path, shown: shown.to_owned(), retries: options.retries, is_web })
    }

    /// The object of a name in the folder that this one would be.
    pub(super) fn child(&self, name: &str) -> Self {
        let shown = format!("{}/{name}", self.shown.to_string_lossy().trim_end_matches('/'));
        Self { path: self.path.clone().join(name), shown: shown.into(), ..self.clone() }
    }

    /// What the store says of the object, without its bytes.
    pub(super) async fn head(&self) -> object_store_0_14::Result<GetResult> {
        let head = GetOptions { head: true, ..GetOptions::default() };
        self.store.get_opts(&self.path, head).await
    }

    /// The names of the objects in the folder that this one would be. Web servers have no lists.
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

/// A URL without passwords and queries.
fn shown(text: &str, url: &Url) -> PathBuf {
    if url.password().is_none() && url.username().is_empty() {
        return text.split(['?', '#']).next().unwrap_or_default().into();
    }
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_password(None);
    // In `abfs://container@account` it is a part of the place.
    if !url.scheme().starts_with("abfs") {
        let _ = url.set_username("");
    }
    url.as_str().into()
}
