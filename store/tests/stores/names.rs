//! Names of objects, which requests have to state literally, and what goes along with requests.

use ndarray::Array2;
use ndarray_io_store::{Remote, StoreOptions};

use super::server::{Answer, Object, Server};
use super::{bytes_of, numbers};

/// Keys, and how the path of a request to S3 states them: all but `A-Za-z0-9-_.~/` is encoded.
const KEYS: &[(&str, &str)] = &[
    ("a.npy", "a.npy"),
    ("hash#2.npy", "hash%232.npy"),
    ("what?.npy", "what%3F.npy"),
    ("a//b", "a//b"),
    ("//", "//"),
    ("/a", "/a"),
    ("a/", "a/"),
    ("a%20b", "a%2520b"),
    ("a b+c", "a%20b%2Bc"),
    ("a..b/.c/d.", "a..b/.c/d."),
    ("\u{e9}\u{1f40d}", "%C3%A9%F0%9F%90%8D"),
    ("tab\there", "tab%09here"),
    ("=&;:@$,!*'()[]", "%3D%26%3B%3A%40%24%2C%21%2A%27%28%29%5B%5D"),
];

#[test]
fn keys_are_requested_literally() {
    let array = numbers(3, 4);
    let modified = Some("Wed, 01 Jan 2025 00:00:00 GMT".into()); // Azure's client needs it
    let server = Server::of(Object { bytes: bytes_of(&array), tag: Some("\"one\"".into()), modified }, false);
    let s3 = StoreOptions::new()
        .set("aws_access_key_id", "id")
        .set("aws_secret_access_key", "secret")
        .set("aws_endpoint", server.url("").trim_end_matches('/'))
        .set("allow_http", "true");
    let azure = StoreOptions::new()
        .set("azure_storage_account_name", "account")
        .set("azure_storage_account_key", "c2VjcmV0")
        .set("azure_endpoint", server.url("").trim_end_matches('/'))
        .set("allow_http", "true");
    let service = r#"{"gcs_base_url": "URL", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}"#;
    let gcs = StoreOptions::new()
        .set("google_service_account_key", service.replace("URL", server.url("").trim_end_matches('/')))
        .set("allow_http", "true");
    for (scheme, options) in [("s3", &s3), ("az", &azure), ("gs", &gcs)] {
        for (key, path) in KEYS {
            let remote = Remote::parse_with(&format!("{scheme}://bucket/{key}"), options).unwrap();
            assert_eq!(remote.name(), format!("{scheme}://bucket/{key}"));
            assert_eq!(remote.read_npy::<Array2<u64>>().unwrap(), array, "{scheme} {key:?}");
            for request in server.take_requests() {
                let decoded = percent_encoding::percent_decode_str(&request.target).decode_utf8().unwrap();
                assert_eq!(decoded, format!("/bucket/{key}"), "{scheme}");
                if scheme == "s3" {
                    assert_eq!(request.target, format!("/bucket/{path}"));
                }
                assert_eq!(request.authorization.is_some(), scheme != "gs", "{scheme} {key:?}");
            }
        }
    }
    // Another region, in the signature of a key that `object_store` knows and of one that it does not.
    for key in ["a", "a//b"] {
        let options = s3.clone().set("aws_region", "eu-central-1");
        Remote::parse_with(&format!("s3://bucket/{key}"), &options).unwrap().version().unwrap();
        let signed = server.take_requests()[0].authorization.clone().unwrap();
        assert!(signed.contains("/eu-central-1/s3/aws4_request"), "{signed}");
        // Without credentials.
        let remote = Remote::parse_with(&format!("s3://bucket/{key}"), &options.anonymous()).unwrap();
        remote.version().unwrap();
        assert_eq!(server.take_requests()[0].authorization, None);
    }
}

#[test]
fn web_addresses_are_requested_unchanged() {
    let array = numbers(3, 4);
    let server = Server::new(&bytes_of(&array));
    for target in ["a//b/", "%2Fa%20b", "a+b=c", "x?key=a%2Fb&c", "x?"] {
        assert_eq!(Remote::parse(&server.url(target)).unwrap().read_npy::<Array2<u64>>().unwrap(), array);
        assert_eq!(server.take_requests()[0].target, format!("/{target}"));
    }
}

#[test]
fn logins_and_headers_stay_with_their_host() {
    let array = numbers(300, 400);
    let [first, second] = [(); 2].map(|()| Server::new(&bytes_of(&array)));
    let there = second.url("b.npy");
    first.answer_with(move |_, request| match request.target.starts_with("/here") {
        true => Answer::Correct,
        false => Answer::Redirect(if request.target == "/a" { "/here?hush".into() } else { there.clone() }),
    });
    let options = StoreOptions::new().header("X-Api-Key", "hush").unwrap();
    let read = |name: &str| {
        let url = first.url(name).replace("http://", "http://user:hush@");
        Remote::parse_with(&url, &options).unwrap().read_npy::<Array2<u64>>().unwrap()
    };
    // Within the server, all headers are kept; that which the server has said is not told to it again.
    assert_eq!(read("a"), array);
    for request in first.take_requests() {
        assert_eq!(request.authorization.as_deref(), Some("Basic dXNlcjpodXNo"));
        assert!(
            request.head.contains("hush") && !request.head.to_lowercase().contains("referer"),
            "{}",
            request.head
        );
    }
    assert_eq!(read("b?hush"), array);
    let requests = second.take_requests();
    assert!(requests.len() > 1 && requests.iter().all(|request| request.range.is_some()));
    for request in requests {
        assert!(!request.head.contains("hush") && !request.head.contains("Basic"), "{}", request.head);
    }
    // A bearer token takes the place of a login.
    let options = StoreOptions::new().bearer_token("t0ken").unwrap();
    Remote::parse_with(&first.url("here"), &options).unwrap().version().unwrap();
    assert_eq!(first.take_requests().pop().unwrap().authorization.as_deref(), Some("Bearer t0ken"));
}

#[test]
fn endless_redirects_are_an_error() {
    let server = Server::new(b"");
    server.answer_with(|_, _| Answer::Redirect("/again".into()));
    let options = StoreOptions::new().retries(0);
    let error = Remote::parse_with(&server.url("a"), &options).unwrap().open_array().unwrap_err();
    assert!(error.to_string().contains("redirects"), "{error}");
}

/// The account in a URL precedes that of the environment, in requests that `object_store` signs and in those that are signed here.
#[test]
fn account_in_the_url_signs_the_request() {
    let modified = Some("Wed, 01 Jan 2025 00:00:00 GMT".into());
    let server =
        Server::of(Object { bytes: bytes_of(&numbers(3, 4)), tag: Some("\"one\"".into()), modified }, false);
    let options = StoreOptions::new()
        .set("azure_storage_account_name", "other")
        .set("azure_storage_account_key", "c2VjcmV0")
        .set("azure_endpoint", server.url("").trim_end_matches('/'))
        .set("allow_http", "true");
    for key in ["a", "a//b"] {
        let url = format!("abfss://box@account.dfs.core.windows.net/{key}");
        Remote::parse_with(&url, &options).unwrap().version().unwrap();
        let signed = server.take_requests()[0].authorization.clone().unwrap();
        assert!(signed.starts_with("SharedKey account:"), "{signed}");
    }
}

#[test]
fn malformed_configurations_are_errors() {
    for (key, value) in [
        ("aws_endpoint", "http://127.0.0.1:99999"),
        ("aws_endpoint", "http://a b"),
        ("aws_endpoint_url_s3", "http://[::1"),
        ("aws_region", "eu west"),
        ("aws_access_key_id", "id\n"),
        ("aws_session_token", "hush\n"),
        ("proxy_ca_certificate", "x"),
        ("no_such_option", "x"),
    ] {
        let options = StoreOptions::new().set("aws_access_key_id", "id").set("aws_secret_access_key", "hush");
        let error = Remote::parse_with("s3://bucket/a", &options.set(key, value)).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{key}: {error}");
    }
    // Spellings of yes, for names that `object_store` knows and for others.
    let server = Server::new(&bytes_of(&numbers(3, 4)));
    for key in ["a", "a//b"] {
        let options = StoreOptions::new()
            .set("aws_endpoint", server.url("").trim_end_matches('/'))
            .set("aws_skip_signature", "1");
        Remote::parse_with(&format!("s3://bucket/{key}"), &options).unwrap().version().unwrap();
        assert_eq!(server.take_requests()[0].authorization, None);
    }
}
