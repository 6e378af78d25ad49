//! The records of ZIP archives: bytes to what they say, and back. It does no I/O.
//!
//! What reads an archive asks for its last bytes ([`find_end`]), for the directory that they point to ([`directory`]),
//! and, when a member is opened, for the record before it ([`check_local`]). The name, the method, the sizes and the checksum
//! that both state are compared; where they contradict each other, it is an error. (Where sizes and checksum follow the content,
//! those copies are not looked at: the content itself is.)

mod name;
mod parse;
mod write;

use std::fmt;

pub(crate) use parse::{
    End, LOCAL_SIZE, TAIL, block_index, check_local, directory, extra_len, find_end, own_fields,
};
pub(crate) use write::{
    MADE_BY, Sizes, VERSION, descriptor, directory_end, directory_record, fits, index_field, local_record,
    patch,
};

/// The method by which a member of an archive is compressed.
///
/// ```
/// # use ndarray::arr1;
/// # use ndarray_io::npz::{Method, NpzWriter};
/// # use ndarray_io::NpzReader;
/// let mut npz = NpzWriter::new_compressed(Vec::new());
/// npz.add_array("a", &arr1(&[0.0; 100]))?;
/// let npz = NpzReader::new(std::io::Cursor::new(npz.finish()?))?;
/// assert_eq!(npz.members()[0].method(), Method::Deflated);
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Not compressed.
    Stored,
    /// Deflate, as `numpy.savez_compressed` has it.
    Deflated,
    /// Deflate with a window of 64 KiB.
    Deflate64,
    /// bzip2.
    Bzip2,
    /// LZMA.
    Lzma,
    /// Zstandard.
    Zstd,
    /// XZ.
    Xz,
    /// Another method, by its number in the ZIP format.
    Other(u16),
}

impl Method {
    fn of(number: u16) -> Self {
        match number {
            0 => Self::Stored,
            8 => Self::Deflated,
            9 => Self::Deflate64,
            12 => Self::Bzip2,
            14 => Self::Lzma,
            93 => Self::Zstd,
            95 => Self::Xz,
            other => Self::Other(other),
        }
    }

    fn number(self) -> u16 {
        match self {
            Self::Stored => 0,
            Self::Deflated => 8,
            Self::Deflate64 => 9,
            Self::Bzip2 => 12,
            Self::Lzma => 14,
            Self::Zstd => 93,
            Self::Xz => 95,
            Self::Other(number) => number,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stored => "stored",
            Self::Deflated => "deflated",
            Self::Deflate64 => "deflate64",
            Self::Bzip2 => "bzip2",
            Self::Lzma => "lzma",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Other(number) => return write!(f, "method {number}"),
        })
    }
}

/// What the directory says of a member.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The whole name, with its suffix.
    pub(crate) name: String,
    /// The name's bytes in the archive, if they are not those of the name.
    pub(crate) other_name: Option<Box<[u8]>>,
    pub(crate) flags: u16,
    pub(crate) method: Method,
    pub(crate) crc: u32,
    /// How many bytes the member takes in the archive.
    pub(crate) packed: u64,
    /// How many bytes it has.
    pub(crate) size: u64,
    /// Where in the file the record in front of it begins.
    pub(crate) offset: u64,
    /// Where in the file it has to have ended, because something else begins.
    pub(crate) limit: u64,
    /// Where in the file its record in the directory begins.
    #[cfg_attr(not(feature = "mmap"), expect(dead_code, reason = "only a map changes it"))]
    pub(crate) central: u64,
    /// Date and time, and what the file's attributes were: kept when a member is copied, as all that follows.
    pub(crate) stamp: u32,
    pub(crate) attributes: u32,
    /// What made it, and what is needed to read it.
    pub(crate) made_by: u16,
    pub(crate) needed: u16,
    pub(crate) internal: u16,
    /// The fields of its record in the directory, but those that are made anew: numbers of 64 bits, and filling.
    pub(crate) extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
}

impl Member {
    /// The name's bytes in the archive.
    pub(crate) fn raw_name(&self) -> &[u8] {
        self.other_name.as_deref().unwrap_or(self.name.as_bytes())
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.flags & ENCRYPTED != 0
    }

    /// Whether sizes and checksum follow the content.
    #[cfg(feature = "zip-methods")]
    pub(crate) fn has_descriptor(&self) -> bool {
        self.flags & DESCRIPTOR != 0
    }

    /// Of a member that is encrypted by AES, the method by which it is compressed within.
    pub(crate) fn aes_method(&self) -> Option<Method> {
        if self.method.number() != AES {
            return None;
        }
        match parse::field(&self.extra, AES_FIELD)? {
            [_, _, b'A', b'E', _, low, high, ..] => Some(Method::of(u16::from_le_bytes([*low, *high]))),
            _ => None,
        }
    }
}

#[cfg(feature = "mmap")]
impl Member {
    /// Where in the file its checksum stands, if its content is at this place: each copy of it.
    ///
    /// The record in front of it, of which these are the bytes, says whether its own copy is there or follows the content:
    /// some writers set that flag in the directory alone.
    pub(crate) fn crc_places(&self, content: u64, record: Option<&[u8]>) -> [u64; 2] {
        let flags = match record.and_then(|record| record.get(6..8)) {
            Some(flags) => u16::from_le_bytes([flags[0], flags[1]]),
            None => self.flags,
        };
        let copy = match flags & DESCRIPTOR {
            0 => self.offset + 14,
            _ => content + self.packed + 4, // behind the signature that nearly every writer puts there
        };
        [self.central + 16, copy]
    }
}

const ENCRYPTED: u16 = 1;
/// The method of members that are encrypted by AES: the true one is in an extra field.
const AES: u16 = 99;
const AES_FIELD: u16 = 0x9901;
/// Sizes and checksum follow the content.
const DESCRIPTOR: u16 = 1 << 3;
const PATCH: u16 = 1 << 5;
const STRONGLY_ENCRYPTED: u16 = 1 << 6;
pub(crate) const UTF8: u16 = 1 << 11;

const LOCAL: u32 = 0x0403_4B50;
const CENTRAL: u32 = 0x0201_4B50;
const END: u32 = 0x0605_4B50;
const END64: u32 = 0x0606_4B50;
const LOCATOR64: u32 = 0x0706_4B50;
/// The extra field that holds numbers of 64 bits.
const EXTRA64: u16 = 1;
/// The extra field that says where the blocks of a member are. `docs/format.md` describes it.
const INDEX: u16 = u16::from_le_bytes(*b"nd");
/// The extra field that only fills up: the one that Android's tools have for it.
const FILL: u16 = 0xD935;
