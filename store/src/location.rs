//! [`ObjectLocation`]: the location of an object, and the store that leads to it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use http::Method;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use ndarray_io::{Error, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as S3Key, AwsCredential};
use object_store::azure::{AzureConfigKey as AzureKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as GoogleKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, GetOptions, GetResult, ObjectStore, RetryConfig, StaticCredentialProvider,
};

use crate::address::{Address, StoreKind, bad_option};
use crate::client::is_true;
use crate::failure::failure;
use crate::limits::Limits;
use crate::options::StoreOptions;
use crate::profile::Profile;
use crate::runtime::wait;
use crate::service::{Condition, PATH_PLACEHOLDER, RequestExtras, Signer, is_upload_completion, is_write};

/// The location of an object in a store.
#[derive(Clone)]
pub(crate) struct ObjectLocation {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    /// The name in error messages: the URL without secrets.
    pub(crate) display_name: PathBuf,
    pub(crate) limits: Limits,
    /// Whether the object is on a web server, which accepts an object only as a single part.
    pub(crate) is_web: bool,
}

/// Omits the store, whose `Debug` output contains the IDs of access keys.
impl std::fmt::Debug for ObjectLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ObjectLocation").field(&self.display_name).finish()
    }
}

/// Returns the limit for the total duration of retries of one request.
///
/// Uploads have a `read_timeout` of at least 15 minutes, 30 times which would be most of a day.
fn retry_timeout(read_timeout: Duration) -> Duration {
    /// 30 times the default `read_timeout`.
    const DEFAULT_RETRY_TIMEOUT: Duration = Duration::from_secs(30 * 60);
    read_timeout.saturating_mul(30).min(DEFAULT_RETRY_TIMEOUT.max(read_timeout.saturating_mul(2)))
}

/// Returns the path that `object_store` has for a key, if it leaves the key as it is.
pub(crate) fn path_of(key: &str) -> Option<Path> {
    Path::parse(key).ok().filter(|path| path.as_ref() == key)
}

impl ObjectLocation {
    /// Returns the location of the object at an address, whose uploads have a condition.
    pub(crate) fn of(
        address: &Address,
        options: &StoreOptions,
        condition: Option<Condition>,
    ) -> Result<Self> {
        Self::with(address, options, RequestExtras { condition, ..RequestExtras::default() })
            .map_err(|error| error.at_path(&address.display_name()))
    }

    /// Sends a request to the bucket of an address, or its object, and returns the body of the answer.
    pub(crate) async fn send_request(
        address: &Address,
        options: &StoreOptions,
        method: Method,
        target: &str,
    ) -> Result<Bytes> {
        let method_override = RequestExtras {
            method_override: Some(method),
            target: Some(target.into()),
            ..RequestExtras::default()
        };
        let location = Self::with(address, options, method_override)?;
        let answer = location.store.get_opts(&location.path, GetOptions::default()).await;
        let body = async { answer?.bytes().await };
        body.await.map_err(|error| failure(&error))
    }

    fn with(address: &Address, options: &StoreOptions, extras: RequestExtras) -> Result<Self> {
        let mut extras = RequestExtras {
            needs_condition: match address.kind {
                StoreKind::S3 => Some(is_upload_completion),
                StoreKind::Web => Some(is_write),
                // Google documents that it checks no condition when an upload of several parts is completed.
                StoreKind::Gcs | StoreKind::Azure => None,
            },
            certificates: options.certificates.clone().into(),
            is_same_host: options.is_same_host,
            min_byte_rate: options.limits.min_byte_rate,
            ..extras
        };
        let path = match address.kind {
            _ if extras.target.is_some() => None,
            StoreKind::Web => None,
            _ => path_of(&address.key),
        };
        if path.is_none() {
            extras.target.get_or_insert_with(|| address.target().into());
        }
        if address.kind == StoreKind::Web {
            extras.headers = web_headers(address, options)?;
        }
        Ok(Self {
            store: StoreBuilder { address, options }.store(extras)?,
            path: path.unwrap_or_else(|| Path::from(PATH_PLACEHOLDER)),
            display_name: address.display_name().into(),
            limits: options.limits.clone(),
            is_web: address.kind == StoreKind::Web,
        })
    }

    /// Returns the location of an object in the folder at this location, by the same store if its key needs no help.
    pub(crate) fn child_location(&self, address: &Address, options: &StoreOptions) -> Result<Self> {
        match path_of(&address.key).filter(|_| !self.is_web && !self.has_placeholder()) {
            Some(path) => Ok(Self { path, display_name: address.display_name().into(), ..self.clone() }),
            None => Self::of(address, options, None),
        }
    }

    fn has_placeholder(&self) -> bool {
        self.path.as_ref() == PATH_PLACEHOLDER
    }

    /// Requests the object's metadata.
    pub(crate) async fn head(&self) -> object_store::Result<GetResult> {
        let head = GetOptions { head: true, ..GetOptions::default() };
        self.store.get_opts(&self.path, head).await
    }

    /// Lists the names of the objects in the folder at this path, as `object_store` does.
    pub(crate) fn names_within(&self) -> Result<Vec<String>> {
        let listed = wait(async {
            self.store.list_with_delimiter(Some(&self.path)).await.map_err(|error| failure(&error))
        })?;
        Ok(listed.objects.iter().filter_map(|object| object.location.filename().map(str::to_owned)).collect())
    }

    pub(crate) fn name_error(&self, error: Error) -> Error {
        error.at_path(&self.display_name)
    }
}

/// Returns the headers for a web server.
fn web_headers(address: &Address, options: &StoreOptions) -> Result<HeaderMap> {
    let mut headers = options.headers.clone();
    if let Some((name, password)) = &address.login {
        let login = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
        let value = HeaderValue::from_str(&format!("Basic {login}"));
        let mut value = value.map_err(|_| bad_option("the login in the URL is not valid"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

/// Checks a URL of the configuration, which `object_store` takes to be one.
fn check_url(what: &str, text: &str) -> Result<()> {
    match url::Url::parse(text).is_ok() && text.parse::<http::Uri>().is_ok() {
        true => Ok(()),
        false => Err(bad_option(format!("{what} is not a URL"))),
    }
}

/// Checks a text of the configuration, which `object_store` takes to be what a header can have. It may be secret.
fn check_header(what: &str, text: Option<&str>) -> Result<()> {
    match text.is_none_or(|text| HeaderValue::from_str(text).is_ok()) {
        true => Ok(()),
        false => {
            Err(bad_option(format!("{what} has a character, such as the end of a line, that it cannot have")))
        }
    }
}

/// Makes the store that an address leads to.
struct StoreBuilder<'a> {
    address: &'a Address,
    options: &'a StoreOptions,
}

/// Configures a builder: retries and timeouts, and what the caller has set. All builders have these methods, but no trait for them.
macro_rules! configured {
    ($maker:expr, $builder:expr, $key:ty, $of_client:expr) => {{
        let mut builder = $builder.with_retry($maker.retry());
        for (key, value) in $maker.timeouts() {
            builder = builder.with_config($of_client(key), value);
        }
        for (key, value) in &$maker.options.keys {
            let key = key.to_ascii_lowercase();
            let parsed: $key =
                key.parse().map_err(|_| bad_option(format!("unknown option '{key}' for this store")))?;
            builder = builder.with_config(parsed, value);
        }
        builder
    }};
}

impl StoreBuilder<'_> {
    fn retry(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: self.options.limits.retries,
            retry_timeout: retry_timeout(self.options.read_timeout),
        }
    }

    fn timeouts(&self) -> [(ClientConfigKey, String); 3] {
        let text = |time: Duration| format!("{}ms", time.as_millis());
        [
            // A request may take a long time in total, provided that data keeps arriving.
            (ClientConfigKey::Timeout, "6h".to_owned()),
            (ClientConfigKey::ReadTimeout, text(self.options.read_timeout)),
            (ClientConfigKey::ConnectTimeout, text(self.options.connect_timeout)),
        ]
    }

    fn store(&self, extras: RequestExtras) -> Result<Arc<dyn ObjectStore>> {
        match self.address.kind {
            StoreKind::S3 => self.s3(extras),
            StoreKind::Gcs => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&self.address.bucket);
                let mut builder = configured!(self, builder, GoogleKey, GoogleKey::Client);
                if self.options.is_anonymous {
                    builder = builder.with_skip_signature(true);
                }
                if let Some(base) = builder.get_config_value(&GoogleKey::BaseUrl) {
                    check_url("the base URL of Google Cloud Storage", &base)?;
                }
                Ok(Arc::new(builder.with_http_connector(extras).build().map_err(|error| failure(&error))?))
            }
            StoreKind::Azure => self.azure(extras),
            StoreKind::Web => {
                let address = self.address;
                let builder = HttpBuilder::new().with_url(format!("{}://{}", address.scheme, address.bucket));
                // Plain HTTP is allowed only for http:// URLs: https:// is never redirected to http://.
                let is_plain = (address.scheme == "http").to_string();
                let builder = builder.with_config(ClientConfigKey::AllowHttp, is_plain);
                let builder = configured!(self, builder, ClientConfigKey, std::convert::identity);
                Ok(Arc::new(builder.with_http_connector(extras).build().map_err(|error| failure(&error))?))
            }
        }
    }

    fn s3(&self, mut extras: RequestExtras) -> Result<Arc<dyn ObjectStore>> {
        let builder = AmazonS3Builder::from_env().with_bucket_name(&self.address.bucket);
        let mut builder = configured!(self, builder, S3Key, S3Key::Client);
        if self.options.is_anonymous {
            builder = builder.with_skip_signature(true);
        }
        let value = |builder: &AmazonS3Builder, key: S3Key| builder.get_config_value(&key);
        let is =
            |builder: &AmazonS3Builder, key: S3Key| value(builder, key).is_some_and(|text| is_true(&text));
        let is_signed = !is(&builder, S3Key::SkipSignature);
        let needs_keys = is_signed && value(&builder, S3Key::AccessKeyId).is_none();
        let profile = match Profile::read() {
            // What the files do not say is not needed.
            Err(_) if !needs_keys => Profile::default(),
            profile => profile?,
        };
        // What says where else credentials are to be had precedes the files, unless a profile was chosen.
        let others = [S3Key::WebIdentityTokenFile, S3Key::ContainerCredentialsRelativeUri];
        let has_others = others.into_iter().any(|key| value(&builder, key).is_some());
        if needs_keys
            && (profile.is_explicit() || !has_others)
            && let Some((id, secret, token)) = profile.credentials()?
        {
            for (name, text) in [("aws_access_key_id", Some(id)), ("aws_session_token", token)] {
                check_header(name, text)?;
            }
            let (key_id, secret_key, token) = (id.to_owned(), secret.to_owned(), token.map(str::to_owned));
            let credential = AwsCredential { key_id, secret_key, token };
            builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(credential)));
        }
        if let (Some(region), None) = (profile.get("region"), value(&builder, S3Key::Region)) {
            builder = builder.with_region(region);
        }
        let endpoint = value(&builder, S3Key::S3Endpoint).or(value(&builder, S3Key::Endpoint));
        if let (Some(endpoint), None) = (profile.get("endpoint_url"), &endpoint) {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(endpoint) = endpoint.or(profile.get("endpoint_url").map(str::to_owned)) {
            check_url("the endpoint of S3", &endpoint)?;
            // The caller's own word for it.
            if endpoint.starts_with("http://") {
                builder = builder.with_allow_http(true);
            }
        }
        let region = value(&builder, S3Key::Region).or(value(&builder, S3Key::DefaultRegion));
        check_header("the access key ID", value(&builder, S3Key::AccessKeyId).as_deref())?;
        check_header("the session token", value(&builder, S3Key::Token).as_deref())?;
        if region
            .as_deref()
            .is_some_and(|region| region.contains(|char: char| !char.is_ascii_alphanumeric() && char != '-'))
        {
            return Err(bad_option("the region is not the name of one"));
        }
        let signer = match &extras.target {
            Some(_) if is_signed => Some(Arc::new(Signer::S3 {
                region: region.unwrap_or_else(|| "us-east-1".to_owned()),
                requester_pays: is(&builder, S3Key::RequestPayer),
                credentials: OnceLock::new(),
            })),
            _ => None,
        };
        if signer.is_some() {
            builder = builder.with_skip_signature(true);
        }
        extras.signer = signer.clone();
        let store = builder.with_http_connector(extras).build().map_err(|error| failure(&error))?;
        if let Some(Signer::S3 { credentials, .. }) = signer.as_deref() {
            let _ = credentials.set(Arc::clone(store.credentials())); // it has just been made
        }
        Ok(Arc::new(store))
    }

    fn azure(&self, mut extras: RequestExtras) -> Result<Arc<dyn ObjectStore>> {
        let address = self.address;
        let builder = match address.scheme {
            "abfs" | "abfss" => MicrosoftAzureBuilder::from_env()
                .with_url(format!("{}://{}/", address.scheme, address.bucket)),
            _ => MicrosoftAzureBuilder::from_env().with_container_name(&address.bucket),
        };
        let mut builder = configured!(self, builder, AzureKey, AzureKey::Client);
        if self.options.is_anonymous {
            builder = builder.with_skip_signature(true);
        }
        let is = |key: AzureKey| builder.get_config_value(&key).is_some_and(|text| is_true(&text));
        // In `abfs://container@account.dfs…`, the account precedes that of the environment.
        let in_url = address.bucket.split_once('@').and_then(|(_, account)| account.split('.').next());
        let account = match in_url {
            Some(account) => Some(account.to_owned()),
            None if is(AzureKey::UseEmulator) => Some("devstoreaccount1".to_owned()),
            None => builder.get_config_value(&AzureKey::AccountName),
        };
        let signer = match (&extras.target, account) {
            (Some(_), Some(account)) if !is(AzureKey::SkipSignature) => {
                Some(Arc::new(Signer::Azure { account, credentials: OnceLock::new() }))
            }
            _ => None,
        };
        if signer.is_some() {
            builder = builder.with_skip_signature(true);
        }
        extras.signer = signer.clone();
        let store = builder.with_http_connector(extras).build().map_err(|error| failure(&error))?;
        if let Some(Signer::Azure { credentials, .. }) = signer.as_deref() {
            let _ = credentials.set(Arc::clone(store.credentials())); // it has just been made
        }
        Ok(Arc::new(store))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_timeout_follows_read_timeout_up_to_limit() {
        for (seconds, limit) in [(1, 30), (60, 1800), (15 * 60, 1800), (7200, 14_400)] {
            assert_eq!(retry_timeout(Duration::from_secs(seconds)), Duration::from_secs(limit));
        }
    }
}
