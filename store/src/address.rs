//! [`Address`]: which object a URL names.
//!
//! In `s3://bucket/key`, everything after the bucket is the key, as for the tools of the stores: `#`, `?`, `%20` and blanks have no
//! meaning of their own. An address on the web is one as in a browser.

use std::fmt::Write;

use ndarray_io::error::ErrorKind;
use ndarray_io::{Error, Result};
use url::Url;

/// The kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    S3,
    Gcs,
    Azure,
    Web,
}

/// The schemes of URLs, and the stores that they lead to.
pub(crate) const SCHEMES: [(&str, StoreKind); 10] = [
    ("s3", StoreKind::S3),
    ("s3a", StoreKind::S3),
    ("gs", StoreKind::Gcs),
    ("az", StoreKind::Azure),
    ("azure", StoreKind::Azure),
    ("adl", StoreKind::Azure),
    ("abfs", StoreKind::Azure),
    ("abfss", StoreKind::Azure),
    ("http", StoreKind::Web),
    ("https", StoreKind::Web),
];

/// The place of an object, as a URL states it.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) kind: StoreKind,
    pub(crate) scheme: &'static str,
    /// The bucket; in `abfs://container@account…` with the account. Of a web address the server.
    pub(crate) bucket: String,
    /// The key of the object, of a web address its path.
    pub(crate) key: String,
    /// The query of a web address, which may be a signature.
    pub(crate) query: Option<String>,
    /// The name and the password for a web server.
    pub(crate) login: Option<(String, String)>,
}

/// Omits the login and the query, which may be secret.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display_name())
    }
}

pub(crate) fn bad_option(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadOption, reason)
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let address = Self::parse_prefix(text)?;
        match address.key.is_empty() {
            true => Err(bad_option("the URL does not name an object").at_path(&address.display_name())),
            false => address.check_key(),
        }
    }

    /// Parses a URL whose key may be the beginning of several, or empty.
    pub(crate) fn parse_prefix(text: &str) -> Result<Self> {
        const NOT_AN_OBJECT_URL: &str =
            "not the URL of an object, expected s3://, gs://, az://, http:// or https://";
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad_option(NOT_AN_OBJECT_URL))?;
        let known = SCHEMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(scheme));
        let (scheme, kind) = *known.ok_or_else(|| bad_option(NOT_AN_OBJECT_URL))?;
        if kind == StoreKind::Web {
            return Self::parse_web(text, scheme);
        }
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        check_bucket(bucket, scheme)?;
        Ok(Self { kind, scheme, bucket: bucket.into(), key: key.into(), query: None, login: None })
    }

    fn parse_web(text: &str, scheme: &'static str) -> Result<Self> {
        let mut url = Url::parse(text).map_err(|error| bad_option(format!("not a URL: {error}")))?;
        let decoded = |text: &str| {
            let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
            decoded.map(Into::into).map_err(|_| bad_option("the login in the URL is not UTF-8"))
        };
        let login = match (url.username(), url.password()) {
            ("", None) => None,
            (name, password) => Some((decoded(name)?, decoded(password.unwrap_or_default())?)),
        };
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Ok(Self {
            kind: StoreKind::Web,
            scheme,
            bucket: url[url::Position::BeforeHost..url::Position::AfterPort].into(),
            key: url.path().strip_prefix('/').unwrap_or_default().into(),
            query: url.query().map(str::to_owned),
            login,
        })
    }

    /// Refuses keys that no request can name: servers and clients take these segments for steps through folders.
    fn check_key(self) -> Result<Self> {
        match self.key.split('/').find(|segment| matches!(*segment, "." | "..")) {
            Some(segment) if self.kind != StoreKind::Web => {
                let reason = format!("no request can name an object with '{segment}' as a part of its name");
                Err(bad_option(reason).at_path(&self.display_name()))
            }
            _ => Ok(self),
        }
    }

    /// Returns the address of an object whose name begins with that of this one and a slash.
    pub(crate) fn child(&self, name: &str) -> Result<Self> {
        if self.query.is_some() {
            return Err(
                bad_option("a signed URL names a single object, not a folder").at_path(&self.display_name())
            );
        }
        if name.split('/').any(|segment| matches!(segment, "." | "..")) {
            return Err(
                bad_option(format!("no request can name '{name}' in a folder")).at_path(&self.display_name())
            );
        }
        let folder = self.key.strip_suffix('/').unwrap_or(&self.key);
        let name = if self.kind == StoreKind::Web { percent_encoded(name) } else { name.to_owned() };
        Self { key: format!("{folder}/{name}"), ..self.clone() }.check_key()
    }

    /// Returns the name in messages: the URL without its login and query.
    pub(crate) fn display_name(&self) -> String {
        format!("{}://{}/{}", self.scheme, self.bucket, self.key)
    }

    /// Returns the part of a request that names the object, after the bucket or the server.
    pub(crate) fn target(&self) -> String {
        match (self.kind, &self.query) {
            (StoreKind::Web, Some(query)) => format!("{}?{query}", self.key),
            (StoreKind::Web, None) => self.key.clone(),
            _ => percent_encoded(&self.key),
        }
    }
}

/// Checks that text is the name of a bucket.
///
/// The message does not show it: in `s3://key:secret@bucket/x`, which is an error, it is a secret.
fn check_bucket(bucket: &str, scheme: &str) -> Result<()> {
    let is_name = |text: &str| {
        !text.chars().all(|char| char == '.') // which would be a step through folders
            && text.chars().all(|char| char.is_ascii_alphanumeric() || ['.', '-', '_', '$'].contains(&char))
    };
    let is_bucket = match bucket.split_once('@') {
        Some((container, account)) => scheme.starts_with("abfs") && is_name(container) && is_name(account),
        None => is_name(bucket),
    };
    match is_bucket {
        true => Ok(()),
        false => Err(bad_option(format!("{scheme}:// is not followed by the name of a bucket"))),
    }
}

/// Encodes a key for a request, so that the server sees the same key.
pub(crate) fn percent_encoded(key: &str) -> String {
    key.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(byte.into())
            }
            byte => drop(write!(out, "%{byte:02X}")), // a `String` takes everything
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (StoreKind, String, String) {
        let address = Address::parse(text).unwrap();
        (address.kind, address.bucket, address.key)
    }

    #[test]
    fn key_after_the_bucket_is_taken_literally() {
        for key in [
            "hash#2.npy",
            "what?.npy",
            "a//b",
            "a%20b",
            "a b",
            "/a",
            "a/",
            "\u{e9}\u{1f40d}",
            "x+y=&;",
            "..a/.b",
            "C:\\a",
        ] {
            for (scheme, kind) in [("s3", StoreKind::S3), ("gs", StoreKind::Gcs), ("AZ", StoreKind::Azure)] {
                let found = parts(&format!("{scheme}://bucket.a-b_c/{key}"));
                assert_eq!(found, (kind, "bucket.a-b_c".into(), key.into()));
            }
        }
        assert_eq!(
            parts("abfss://box@account.dfs.core.windows.net/a/b#").1,
            "box@account.dfs.core.windows.net"
        );
        let address = Address::parse("s3://bucket/a%20b/c d#\u{e9}?").unwrap();
        assert_eq!(address.target(), "a%2520b/c%20d%23%C3%A9%3F");
        assert_eq!(address.display_name(), "s3://bucket/a%20b/c d#\u{e9}?");
    }

    #[test]
    fn web_addresses_keep_their_query_and_lose_their_fragment() {
        let address =
            Address::parse("https://a%40b:secret@example.org:8080/x//y%2Fz?sig=a%2Fb#there").unwrap();
        assert_eq!(address.target(), "x//y%2Fz?sig=a%2Fb");
        assert_eq!(address.display_name(), "https://example.org:8080/x//y%2Fz");
        assert_eq!(address.login, Some(("a@b".into(), "secret".into())));
        assert!(address.child("0.npy").is_err());
        let folder = Address::parse("http://example.org/steps/").unwrap();
        assert_eq!(folder.child("a #?.npy").unwrap().target(), "steps/a%20%23%3F.npy");
    }

    #[test]
    fn urls_that_name_no_object_are_refused() {
        for key in ["a/../b", "..", "./a", "a/."] {
            let error = Address::parse(&format!("s3://bucket/{key}")).unwrap_err();
            assert!(error.to_string().contains("no request can name"), "{error}");
        }
        for text in [
            "s3://bucket",
            "s3://bucket/",
            "s3:///a",
            "s3://../b/a",
            "s3://./b/a",
            "file:///a",
            "a.npy",
            "https://example.org/",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
        let error = Address::parse("s3://AKIA:secret@bucket/a.npy").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
