//! The records of ZIP archives: bytes to what they say, and back. It does no I/O.
//!
//! What reads an archive asks for its last bytes ([`find_end`]), for the directory that they point to ([`directory`]),
//! and, when a member is opened, for the record in front of it ([`check_local`]). Everything that two records both say is
//! compared; what they contradict each other in is an error.

mod name;
mod parse;
mod write;

pub(crate) use parse::{LOCAL_SIZE, TAIL, check_local, directory, find_end};
pub(crate) use write::{descriptor, directory_end, directory_record, local_record, patch};

/// How a member's bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Stored,
    Deflated,
    #[cfg(feature = "zstd")]
    Zstd,
    /// One that is not known here, by its number.
    Other(u16),
}

impl Method {
    fn of(number: u16) -> Self {
        match number {
            0 => Self::Stored,
            8 => Self::Deflated,
            #[cfg(feature = "zstd")]
            93 => Self::Zstd,
            other => Self::Other(other),
        }
    }

    fn number(self) -> u16 {
        match self {
            Self::Stored => 0,
            Self::Deflated => 8,
            #[cfg(feature = "zstd")]
            Self::Zstd => 93,
            Self::Other(number) => number,
        }
    }
}

/// What the directory says of a member.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The whole name, with its suffix.
    pub(crate) name: String,
    /// The name's bytes as they stand in the archive.
    pub(crate) raw_name: Vec<u8>,
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
    /// Date and time, and what the file's attributes were: kept when a member is copied.
    pub(crate) stamp: u32,
    pub(crate) attributes: u32,
}

#[cfg(feature = "mmap")]
impl Member {
    /// Where in the file its checksum stands, if its content is at this place: each copy of it.
    pub(crate) fn crc_places(&self, content: u64) -> [u64; 2] {
        let copy = match self.flags & DESCRIPTOR {
            0 => self.offset + 14,
            _ => content + self.packed + 4, // behind the signature that nearly every writer puts there
        };
        [self.central + 16, copy]
    }
}

const ENCRYPTED: u16 = 1;
/// Sizes and checksum follow the content.
const DESCRIPTOR: u16 = 1 << 3;
const PATCH: u16 = 1 << 5;
const STRONGLY_ENCRYPTED: u16 = 1 << 6;
const UTF8: u16 = 1 << 11;

const LOCAL: u32 = 0x0403_4B50;
const CENTRAL: u32 = 0x0201_4B50;
const END: u32 = 0x0605_4B50;
const END64: u32 = 0x0606_4B50;
const LOCATOR64: u32 = 0x0706_4B50;
/// The extra field that holds numbers of 64 bits.
const EXTRA64: u16 = 1;
