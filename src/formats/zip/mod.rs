//! The records of ZIP archives: encoding and decoding, without I/O.
//!
//! To read an archive, pass its last bytes to [`find_end`], which locates the central directory, and pass the
//! central directory to [`directory`]. When a member is opened, [`checked_content_offset`] compares its local header
//! with the directory: the name, method, sizes and checksum must agree. So must those of a data descriptor
//! ([`check_after_content`]), since programs that read archives as they come know nothing else.

mod name;
mod parse;
mod write;

use std::fmt;

use parse::DIRECTORY_RECORD_SIZE;
pub(crate) use parse::{
    EndRecord, LOCAL_HEADER_SIZE, MAX_TAIL_LEN, MISSING_BYTES, block_index, check_after_content,
    checked_content_offset, directory, extra_len, find_end, find_record, local_member, preserved_fields,
};
#[cfg(feature = "object")]
pub(crate) use parse::{MAX_DESCRIPTOR_LEN, after_content};
pub(crate) use write::{
    MADE_BY, SizesLocation, ZIP64_VERSION, block_index_field, descriptor, directory_end, directory_record,
    extra_fields_fit, local_record, local_record_patches,
};

/// Defines the methods by one table, so that nothing that belongs to a method can be forgotten.
macro_rules! methods {
    (
        $(#[$enum_doc:meta])*
        enum Method {
            $($(#[$doc:meta])* $method:ident = $number:literal, $name:literal, $highest_ratio:expr, $can_have_index:literal;)*
        }
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $method,)*
            /// Any other method, by its number in the ZIP specification.
            Other(u16),
        }

        impl Method {
            fn from_number(number: u16) -> Self {
                match number {
                    $($number => Self::$method,)*
                    other => Self::Other(other),
                }
            }

            fn number(self) -> u16 {
                match self {
                    $(Self::$method => $number,)*
                    Self::Other(number) => number,
                }
            }

            /// Returns the most bytes of content for each compressed byte, if the format has such a limit.
            pub(crate) fn highest_ratio(self) -> Option<u64> {
                match self {
                    $(Self::$method => $highest_ratio,)*
                    Self::Other(_) => None,
                }
            }

            /// Returns whether members compressed in this way can have a block index.
            pub(crate) fn can_have_index(self) -> bool {
                match self {
                    $(Self::$method => $can_have_index,)*
                    Self::Other(_) => false,
                }
            }
        }

        impl fmt::Display for Method {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$method => f.write_str($name),)*
                    Self::Other(number) => write!(f, "method {number}"),
                }
            }
        }

        /// The name of each method.
        #[cfg(test)]
        const METHOD_NAMES: &[&str] = &[$($name),*];
    };
}

// Variant = number, name, the highest ratio of content to compressed bytes, whether members can have a block index.
methods! {
    /// The compression method of a member.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use ndarray_io::npz::Method;
    /// # use ndarray_io::{NpzReader, NpzWriter};
    /// let mut npz = NpzWriter::new_compressed(Vec::new());
    /// npz.add("a", &arr1(&[0.0; 100]))?;
    /// let npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
    /// assert_eq!(npz.members()[0].method(), Method::Deflated);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    enum Method {
        /// Not compressed.
        Stored = 0, "stored", Some(1), false;
        /// Deflate, as in `numpy.savez_compressed`.
        Deflated = 8, "deflated", Some(1032), true; // a match of 258 bytes needs at least two bits
        /// Deflate64: Deflate with a window of 64 KiB.
        Deflate64 = 9, "deflate64", Some(29_128), false; // a match of 65,538 bytes needs at least 18 bits
        // A block of 900,000 bytes, each five of which are a run of 255, needs at least 24 bytes.
        /// bzip2.
        Bzip2 = 12, "bzip2", Some(1_912_500), false;
        // A range coder spends next to nothing on what it expects.
        /// LZMA.
        Lzma = 14, "lzma", None, false;
        /// Zstandard.
        Zstd = 93, "zstd", Some(32 << 10), true; // a block of 128 KiB needs at least four bytes
        /// XZ.
        Xz = 95, "xz", None, false;
    }
}

/// The metadata of a member in the central directory.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The full name, including its suffix.
    pub(crate) name: String,
    /// The name as stored in the archive, if it is not the UTF-8 encoding of `name`.
    pub(crate) stored_name: Option<Box<[u8]>>,
    pub(crate) flags: u16,
    pub(crate) method: Method,
    pub(crate) crc: u32,
    /// The size of the content in the archive, in bytes.
    pub(crate) packed: u64,
    /// The uncompressed size, in bytes.
    pub(crate) size: u64,
    /// The offset of the local header in the file.
    pub(crate) offset: u64,
    /// The offset at which the next record starts. The member must end before it.
    pub(crate) next_record_offset: u64,
    /// The offset of the member's central directory record in the file.
    #[cfg_attr(not(feature = "mmap"), expect(dead_code, reason = "only a map changes it"))]
    pub(crate) central_offset: u64,
    /// The DOS timestamp. This and all further fields are kept when a member is copied.
    pub(crate) dos_timestamp: u32,
    pub(crate) attributes: u32,
    /// The system and the format version of the program that made the member.
    pub(crate) made_by: u16,
    /// The format version that is needed to read the member.
    pub(crate) version_needed: u16,
    pub(crate) internal_attributes: u16,
    /// The extra fields of the central directory record, except the regenerated Zip64 and padding fields.
    pub(crate) extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
}

impl Member {
    /// Returns the name as stored in the archive.
    pub(crate) fn raw_name(&self) -> &[u8] {
        self.stored_name.as_deref().unwrap_or(self.name.as_bytes())
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED_FLAG != 0
    }

    /// Returns whether a data descriptor with sizes and checksum follows the content.
    pub(crate) fn has_descriptor(&self) -> bool {
        self.flags & DESCRIPTOR_FLAG != 0
    }

    /// Returns the actual compression method of a member that is encrypted with AES.
    pub(crate) fn method_inside_aes(&self) -> Option<Method> {
        if self.method.number() != AES_METHOD {
            return None;
        }
        match parse::field(&self.extra, AES_FIELD)? {
            [_, _, b'A', b'E', _, low, high, ..] => {
                Some(Method::from_number(u16::from_le_bytes([*low, *high])))
            }
            _ => None,
        }
    }
}

#[cfg(feature = "mmap")]
impl Member {
    /// Returns the offsets of both copies of the checksum, given the offset of the content.
    ///
    /// `record` starts with the local header. The flags in this header say whether the second copy is in the
    /// header or in a data descriptor after the content; some writers set the flag only in the central
    /// directory.
    pub(crate) fn crc_offsets(&self, content: u64, record: Option<&[u8]>) -> [u64; 2] {
        let flags = match record.and_then(|record| record.get(6..8)) {
            Some(flags) => u16::from_le_bytes([flags[0], flags[1]]),
            None => self.flags,
        };
        let copy = match flags & DESCRIPTOR_FLAG {
            0 => self.offset + 14,
            _ => content + self.packed + 4, // after the signature, which nearly all writers include
        };
        [self.central_offset + 16, copy]
    }
}

const ENCRYPTED_FLAG: u16 = 1;
/// The method number of AES-encrypted members. The actual method is in an extra field.
const AES_METHOD: u16 = 99;
const AES_FIELD: u16 = 0x9901;
/// General purpose flag: a data descriptor with sizes and checksum follows the content.
const DESCRIPTOR_FLAG: u16 = 1 << 3;
const PATCH_FLAG: u16 = 1 << 5;
const STRONGLY_ENCRYPTED_FLAG: u16 = 1 << 6;
pub(crate) const UTF8_FLAG: u16 = 1 << 11;

pub(crate) const LOCAL_HEADER_SIGNATURE: u32 = 0x0403_4B50;
const DIRECTORY_RECORD_SIGNATURE: u32 = 0x0201_4B50;
const DESCRIPTOR_SIGNATURE: u32 = 0x0807_4B50;
const END_SIGNATURE: u32 = 0x0605_4B50;
const END64_SIGNATURE: u32 = 0x0606_4B50;
const LOCATOR64_SIGNATURE: u32 = 0x0706_4B50;
/// The Zip64 extra field, which contains 64-bit sizes and offsets.
const ZIP64_FIELD: u16 = 1;
/// The extra field with the name in UTF-8, of programs that store another one.
const UNICODE_NAME_FIELD: u16 = 0x7075;
/// The extra field with the block index of a member. See `docs/internals/block-index.md`.
const BLOCK_INDEX_FIELD: u16 = u16::from_le_bytes(*b"nd");
/// The padding extra field, with the identifier that Android's tools use for it.
const PADDING_FIELD: u16 = 0xD935;

#[cfg(test)]
mod tests {
    use super::METHOD_NAMES;

    #[test]
    fn guide_lists_every_method() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/archives.md");
        let page = std::fs::read_to_string(path).unwrap().to_lowercase();
        let words: Vec<_> = page.split(|char: char| !char.is_alphanumeric()).collect();
        for name in METHOD_NAMES {
            let word = match *name {
                "deflated" => "deflate",
                "zstd" => "zstandard",
                name => name,
            };
            assert!(
                words.contains(&word),
                "docs/archives.md does not say whether members compressed as {name} are read"
            );
        }
    }
}
