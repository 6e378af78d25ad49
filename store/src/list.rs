//! [`Listing`]: the objects whose names begin alike.

use std::collections::VecDeque;
use std::io;

use http::Method;
use ndarray_io::error::ErrorKind;
use ndarray_io::{Error, Result};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use crate::address::{Address, StoreKind, bad_option, percent_encoded};
use crate::location::ObjectLocation;
use crate::options::StoreOptions;
use crate::runtime::wait;

/// An object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    url: String,
    key: String,
    size: u64,
}

impl Listed {
    /// Returns the key of the object, literally: everything after the bucket.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the URL of the object, which [`Remote::parse`](crate::Remote::parse) opens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the size of the object in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// An iterator over the objects of a bucket whose keys begin alike, in the order of the store: see [`list`].
///
/// Pages of up to 1,000 (Azure: 5,000) objects are requested as they are needed.
#[derive(Debug)]
pub struct Listing {
    address: Address,
    options: StoreOptions,
    /// Whether only objects without a further slash are listed.
    is_flat: bool,
    pattern: Option<glob::Pattern>,
    page: VecDeque<Listed>,
    next: NextPage,
    /// How many pages in a row had no object.
    empty_pages: u32,
    /// The key at the beginning of the last page that had one.
    first_key: Option<String>,
}

/// Stores may have nothing to say for a page, where objects were deleted.
const MAX_EMPTY_PAGES: u32 = 1000;

/// Where the next page begins.
#[derive(Debug)]
enum NextPage {
    First,
    At(String),
    End,
}

/// Lists the objects of a bucket whose keys begin with the key in a URL, such as `s3://bucket/measured/`, or `s3://bucket/`.
///
/// Sends no request until the first object is asked for.
///
/// # Errors
///
/// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if this is not the URL of a bucket in S3, Google Cloud Storage or Azure: web servers
/// have no listings. The iterator returns [`Io`](ndarray_io::error::ErrorKind::Io) if the store does not respond or denies access.
///
/// # Examples
///
/// ```no_run
/// use ndarray_io_store::{Remote, StoreOptions, list};
///
/// for object in list("s3://bucket/measured/", &StoreOptions::new())? {
///     let file = Remote::parse(object?.url())?.open_array()?;
///     println!("{:?}", file.shape());
/// }
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn list(url: &str, options: &StoreOptions) -> Result<Listing> {
    Listing::new(Address::parse_prefix(url)?, options, false)
}

impl Listing {
    pub(crate) fn new(address: Address, options: &StoreOptions, is_flat: bool) -> Result<Self> {
        if address.kind == StoreKind::Web {
            return Err(bad_option("web servers do not list what they have").at_path(&address.display_name()));
        }
        let (options, page) = (options.clone(), VecDeque::new());
        let next = NextPage::First;
        Ok(Self { address, options, is_flat, pattern: None, page, next, empty_pages: 0, first_key: None })
    }

    /// Lists only objects whose entire key matches a pattern of the shell: `*` and `?` match no slash, `**` all.
    ///
    /// # Errors
    ///
    /// [`BadOption`](ndarray_io::error::ErrorKind::BadOption) if this is not a pattern.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use ndarray_io_store::{StoreOptions, list};
    /// let arrays = list("s3://bucket/measured/", &StoreOptions::new())?.matching("measured/*/x.npy")?;
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn matching(mut self, pattern: &str) -> Result<Self> {
        let parsed =
            glob::Pattern::new(pattern).map_err(|error| bad_option(format!("not a pattern: {error}")))?;
        self.pattern = Some(parsed);
        Ok(self)
    }

    /// Requests the next page.
    fn fetch_page(&mut self) -> Result<()> {
        let Self { address, options, .. } = &*self;
        let at = match &self.next {
            NextPage::At(at) => Some(&**at),
            _ => None,
        };
        let page_query = page_query(address, self.is_flat, at);
        let body = wait(ObjectLocation::send_request(address, options, Method::GET, &page_query))
            .map_err(|error| error.at_path(&address.display_name()))?;
        let text = String::from_utf8_lossy(&body);
        let malformed =
            |reason: &str| Error::new(ErrorKind::BadSource, reason).at_path(&address.display_name());
        let (objects, next) = page(&text, address.kind)
            .map_err(|_| malformed("the listing of the store is malformed or incomplete"))?;
        // Tokens tell nothing: a server can make new ones without end.
        let first_key = objects.first().map(|(key, _)| key.clone());
        let empty_pages = if objects.is_empty() { self.empty_pages + 1 } else { 0 };
        if empty_pages > MAX_EMPTY_PAGES {
            return Err(malformed("the store lists pages without objects, and no end"));
        }
        if first_key.is_some() && first_key == self.first_key {
            return Err(malformed("the store lists the same page again"));
        }
        let is_wanted = |key: &str| {
            let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
            self.pattern.as_ref().is_none_or(|pattern| pattern.matches_with(key, options))
        };
        let listed = objects.into_iter().filter(|(key, _)| is_wanted(key)).map(|(key, size)| Listed {
            url: format!("{}://{}/{key}", address.scheme, address.bucket),
            key,
            size,
        });
        let page = listed.collect();
        self.page = page;
        self.next = next.map_or(NextPage::End, NextPage::At);
        self.empty_pages = empty_pages;
        self.first_key = first_key.or(self.first_key.take());
        Ok(())
    }
}

impl Iterator for Listing {
    type Item = Result<Listed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(object) = self.page.pop_front() {
                return Some(Ok(object));
            }
            if matches!(self.next, NextPage::End) {
                return None;
            }
            if let Err(error) = self.fetch_page() {
                self.next = NextPage::End;
                return Some(Err(error));
            }
        }
    }
}

/// Returns the query that asks for a page.
fn page_query(address: &Address, is_flat: bool, at: Option<&str>) -> String {
    let query = |text: &str| percent_encoded(text).replace('/', "%2F");
    let (kind, marker) = match address.kind {
        StoreKind::Azure => ("comp=list&restype=container", "marker"),
        _ => ("encoding-type=url&list-type=2", "continuation-token"),
    };
    let mut page_query = format!("?{kind}&prefix={}", query(&address.key));
    if is_flat {
        page_query += "&delimiter=%2F";
    }
    if let Some(at) = at {
        page_query += &format!("&{marker}={}", query(at));
    }
    page_query
}

/// Keys and sizes, and where the next page begins.
type Page = (Vec<(String, u64)>, Option<String>);

/// Reads a page: the names of its elements differ from store to store, and blanks around a key belong to it.
fn page(text: &str, kind: StoreKind) -> Result<Page, quick_xml::Error> {
    let (root, object, key, size, marker) = match kind {
        StoreKind::Azure => ("EnumerationResults", "Blob", "Name", "Content-Length", "NextMarker"),
        _ => ("ListBucketResult", "Contents", "Key", "Size", "NextContinuationToken"),
    };
    let (mut is_whole, mut is_truncated) = (false, false);
    let (mut objects, mut next) = (Vec::new(), None);
    let (mut is_encoded, mut are_encoded) = (false, false);
    let (mut last_key, mut last_size) = (String::new(), 0);
    let mut reader = Reader::from_str(text);
    let mut content = String::new();
    loop {
        match reader.read_event()? {
            Event::Start(start) => {
                content.clear();
                // Azure encodes the names that XML cannot state, each for itself.
                is_encoded = start.attributes().flatten().any(|attribute| {
                    attribute.key.as_ref() == b"Encoded" && attribute.value.as_ref() == b"true"
                });
            }
            Event::Text(part) => content += &part.decode()?,
            Event::CData(part) => content += &part.decode()?,
            Event::GeneralRef(reference) => match reference.resolve_char_ref()? {
                Some(char) => content.push(char),
                None => content += resolve_predefined_entity(&reference.decode()?).unwrap_or_default(),
            },
            Event::End(end) => {
                let name = end.local_name();
                let is = |other: &str| name.as_ref() == other.as_bytes();
                let content = std::mem::take(&mut content);
                if is("EncodingType") {
                    are_encoded = true; // before or after the keys
                } else if is(key) {
                    last_key =
                        if std::mem::take(&mut is_encoded) { percent_decoded(&content) } else { content };
                } else if is(size) {
                    last_size = content.trim().parse().unwrap_or(0);
                } else if is(object) {
                    objects.push((std::mem::take(&mut last_key), std::mem::take(&mut last_size)));
                } else if is(marker) {
                    next = Some(content).filter(|next| !next.is_empty());
                } else if is("IsTruncated") {
                    is_truncated = content.trim() == "true";
                } else if is(root) {
                    is_whole = true;
                }
            }
            Event::Empty(element) => is_whole |= element.local_name().as_ref() == root.as_bytes(),
            Event::Eof => break,
            _ => {}
        }
    }
    if are_encoded {
        // As in a form, with `+` for a blank.
        objects
            .iter_mut()
            .for_each(|(key, _): &mut (String, u64)| *key = percent_decoded(&key.replace('+', " ")));
    }
    match is_whole && (next.is_some() || !is_truncated) {
        true => Ok((objects, next)),
        false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

fn percent_decoded(key: &str) -> String {
    percent_encoding::percent_decode_str(key).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As documented by the stores.
    #[test]
    fn listing_pages_of_s3_and_azure_are_parsed() {
        let s3 = "<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name><IsTruncated>true</IsTruncated>\
            <NextContinuationToken>a+/=</NextContinuationToken><Contents><Key>a+b%2Bc/%0A</Key>\
            <ETag>&quot;x&quot;</ETag><Size>7</Size></Contents><CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes><EncodingType>url</EncodingType></ListBucketResult>";
        assert_eq!(page(s3, StoreKind::S3).unwrap(), (vec![("a b+c/\n".into(), 7)], Some("a+/=".into())));
        let plain = "<ListBucketResult><Contents><Key> a&amp;&#x41;+%2B </Key><Size>1</Size></Contents></ListBucketResult>";
        assert_eq!(page(plain, StoreKind::S3).unwrap(), (vec![(" a&A+%2B ".into(), 1)], None));
        let azure = "<EnumerationResults><Prefix>p</Prefix><Blobs><Blob><Name Encoded=\"true\">%EF%BF%BE+</Name><Properties>\
            <Content-Length>5</Content-Length></Properties></Blob><BlobPrefix><Name>x/</Name></BlobPrefix><Blob><Name> a%20 </Name>\
            <Properties><Content-Length>6</Content-Length></Properties></Blob></Blobs><NextMarker /></EnumerationResults>";
        let objects = vec![("\u{fffe}+".into(), 5), (" a%20 ".into(), 6)];
        assert_eq!(page(azure, StoreKind::Azure).unwrap(), (objects, None));
        // Neither the beginning of a page nor what is not one is an empty page, nor one of which the rest cannot be had.
        for text in [
            "<a><b></a>",
            "",
            "{}",
            "<ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key></Contents>",
        ] {
            assert!(page(text, StoreKind::S3).is_err(), "{text}");
        }
        assert!(
            page("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", StoreKind::S3)
                .is_err()
        );
        assert_eq!(page("<ListBucketResult/>", StoreKind::S3).unwrap(), (vec![], None));
    }
}
