//! Files of `joblib.dump`.

use std::io::Read;
use std::sync::Arc;

use super::Pickle;
use super::graph::BackingBytes;
#[cfg(not(all(feature = "npz", feature = "zip-methods", feature = "lz4", feature = "zstd")))]
use crate::error::Remedy;
use crate::error::{Error, Fault, FilePart, Result};
use crate::limits::Limits;
use crate::options::ReadOptions;

impl Pickle {
    /// Reads a file of `joblib.dump`, as scikit-learn uses it for models.
    ///
    /// Such a file is a pickle into which the bytes of arrays are mixed, and may be compressed as a whole. It
    /// is unpacked here: from zlib and gzip with the feature `npz`, from bzip2, XZ and LZMA with `zip-methods`, from LZ4
    /// with `lz4`, from Zstandard with `zstd`. The file is read until its end, and is kept in memory until it is decoded. The class
    /// of an array, if it is not `ndarray`, is left out, as joblib does with NumPy 2.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`]; [`Unsupported`](crate::error::ErrorKind::Unsupported) if the file is compressed by a method whose feature is not
    /// enabled, or was written by a version of joblib before 0.10, which stores each array in a file of its own.
    ///
    /// ```
    /// use ndarray_io::ReadOptions;
    /// use ndarray_io::object::Pickle;
    ///
    /// // joblib.dump([1, 2], file)
    /// let file = b"\x80\x04\x95\x09\0\0\0\0\0\0\0]\x94(K\x01K\x02e.";
    /// let pickle = Pickle::read_joblib(&file[..], &ReadOptions::new())?;
    /// assert_eq!(pickle.object().to_string(), "[1, 2]");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn read_joblib(mut reader: impl Read, options: &ReadOptions) -> Result<Self> {
        let limits = options.get_limits();
        let packed = read_all(&mut reader, limits)?;
        let unpacked = match FileCompression::of(&packed) {
            None => packed,
            Some(packing) => packing.unpack(&packed, limits)?,
        };
        Self::of_joblib(&unpacked, None, options).map(|(pickle, _)| pickle)
    }

    /// Reads a file of `joblib.dump` without copying its arrays, as `joblib.load(…, mmap_mode="r")` does.
    ///
    /// `bytes` is the whole file, for instance a memory map of it. Arrays in the other byte order are copied, and so are
    /// those within arrays of objects; if the file is compressed, everything is.
    /// Since version 1.2, joblib aligns arrays in the file to 16 bytes, so [`view`](super::Array::view) needs no copy
    /// either if `bytes` is aligned as a map is.
    ///
    /// The object keeps `bytes` until it is dropped; [`detach`](super::Object::detach) makes it independent.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read_joblib`].
    ///
    /// # Panics
    ///
    /// If `bytes` later returns fewer bytes than at first, access to those that are missing panics.
    ///
    /// ```
    /// use ndarray_io::ReadOptions;
    /// use ndarray_io::object::Pickle;
    ///
    /// // joblib.dump([1, 2], file)
    /// let file = b"\x80\x04\x95\x09\0\0\0\0\0\0\0]\x94(K\x01K\x02e.";
    /// let pickle = Pickle::view_joblib(file, &ReadOptions::new())?;
    /// assert_eq!(pickle.object().to_string(), "[1, 2]");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn view_joblib(
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        options: &ReadOptions,
    ) -> Result<Self> {
        let limits = options.get_limits();
        let backing: BackingBytes = Arc::new(bytes);
        let file = (*backing).as_ref();
        limits.check_payload(file.len() as u64)?;
        let read = match FileCompression::of(file) {
            None => Self::of_joblib(file, Some(&backing), options),
            Some(packing) => Self::of_joblib(&packing.unpack(file, limits)?, None, options),
        };
        read.map(|(pickle, _)| pickle)
    }
}

/// Reads until the end, or until the limit on the payload is exceeded.
fn read_all(reader: &mut dyn Read, limits: &Limits) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limits.get_payload().saturating_add(1)).read_to_end(&mut bytes).map_err(Error::from)?;
    limits.check_payload(bytes.len() as u64)?;
    Ok(bytes)
}

/// The methods by which joblib compresses files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileCompression {
    Zlib,
    Gzip,
    Bzip2,
    Xz,
    Lzma,
    Lz4,
    /// Not by joblib, but by its users.
    Zstd,
    /// zlib, by a version of joblib that stores each array in a file of its own.
    Legacy,
}

impl FileCompression {
    /// Recognizes a method by the first bytes of the file, as joblib does.
    pub(crate) fn of(file: &[u8]) -> Option<Self> {
        Some(match file {
            [0x78, ..] => Self::Zlib,
            [0x1F, 0x8B, ..] => Self::Gzip,
            [b'B', b'Z', ..] => Self::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', ..] => Self::Xz,
            [0x5D, 0, ..] => Self::Lzma,
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Lz4,
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Self::Zstd,
            [b'Z', b'F', ..] => Self::Legacy,
            _ => return None,
        })
    }

    /// Returns the name of the method, and the feature with which it is unpacked.
    #[cfg(not(all(feature = "npz", feature = "zip-methods", feature = "lz4", feature = "zstd")))]
    fn name_and_feature(self) -> (&'static str, &'static str) {
        match self {
            Self::Zlib => ("zlib", "npz"),
            Self::Gzip => ("gzip", "npz"),
            Self::Bzip2 => ("bzip2", "zip-methods"),
            Self::Xz => ("XZ", "zip-methods"),
            Self::Lzma => ("LZMA", "zip-methods"),
            Self::Lz4 => ("LZ4", "lz4"),
            Self::Zstd => ("Zstandard", "zstd"),
            Self::Legacy => ("a version of joblib before 0.10", "npz"),
        }
    }

    fn unpack(self, packed: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.unpack_into(&mut bytes, packed, limits).0.map(|()| bytes)
    }

    /// Appends the content to `bytes`: after an error, that before the damage. Also returns how many bytes were not used.
    pub(crate) fn unpack_into(
        self,
        bytes: &mut Vec<u8>,
        packed: &[u8],
        limits: &Limits,
    ) -> (Result<()>, usize) {
        let mut rest = packed;
        let mut unpack = |rest: &mut &[u8]| {
            let mut reader = self.reader(rest)?;
            // A pack is checked as it grows, so a small file does not fill the memory.
            const MAX_UNCHECKED_LEN: u64 = 64 << 20;
            loop {
                let came = reader.by_ref().take(MAX_UNCHECKED_LEN).read_to_end(bytes).map_err(damaged)?;
                limits.check_payload(bytes.len() as u64)?;
                limits.check_expansion(bytes.len() as u64, packed.len() as u64)?;
                if came == 0 {
                    return Ok(());
                }
            }
        };
        loop {
            let unpacked = unpack(&mut rest);
            // Of LZ4, the decoder takes one frame after the other. What follows a stream of zlib or LZMA is ignored, as joblib does.
            if unpacked.is_err() || rest.is_empty() || self != Self::Lz4 {
                return (unpacked, rest.len());
            }
        }
    }

    /// Returns a reader of what follows in `rest`, of which it takes at least one stream.
    #[cfg_attr(not(any(feature = "npz", feature = "lz4")), expect(unused_variables))]
    fn reader<'a>(self, rest: &'a mut &[u8]) -> Result<Box<dyn Read + 'a>> {
        match self {
            // joblib reads one stream, and ignores what follows it.
            #[cfg(feature = "npz")]
            Self::Zlib => Ok(Box::new(flate2::bufread::ZlibDecoder::new(rest))),
            // After the name of the format come the length in hexadecimal digits, padded to 19 characters, and perhaps a space.
            #[cfg(feature = "npz")]
            Self::Legacy => {
                *rest = rest.get(2 + 19..).unwrap_or_default();
                *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                Ok(Box::new(flate2::bufread::ZlibDecoder::new(rest)))
            }
            #[cfg(feature = "zstd")]
            Self::Zstd => Ok(Box::new(zstd::stream::read::Decoder::with_buffer(rest).map_err(damaged)?)),
            #[cfg(feature = "npz")]
            Self::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(rest))),
            #[cfg(feature = "zip-methods")]
            Self::Bzip2 => Ok(Box::new(bzip2::bufread::MultiBzDecoder::new(rest))),
            #[cfg(feature = "zip-methods")]
            Self::Xz => Ok(Box::new(lzma_rust2::XzReader::new(rest, true))),
            #[cfg(feature = "zip-methods")]
            Self::Lzma => {
                // The memory for the dictionary grows with what is unpacked, and not with what the file claims.
                let reader = lzma_rust2::LzmaReader::new_mem_limit(ByteByByte(rest), u32::MAX, None);
                Ok(Box::new(reader.map_err(damaged)?))
            }
            // The decoder takes the end of a frame for that of the file, and does not require that there is one.
            #[cfg(feature = "lz4")]
            Self::Lz4 => {
                let frame = crate::codec::lz4::first_frame(rest);
                let frame = frame.ok_or_else(|| damaged(std::io::ErrorKind::UnexpectedEof.into()))?;
                *rest = &rest[frame.len()..];
                Ok(Box::new(lz4_flex::frame::FrameDecoder::new(frame)))
            }
            #[cfg(not(all(feature = "npz", feature = "zip-methods", feature = "lz4", feature = "zstd")))]
            _ => {
                let (method, feature) = self.name_and_feature();
                let reason = format!(
                    "a file of joblib.dump that is compressed by {method}, which has to be unpacked first"
                );
                let error = Error::from(Fault::Unsupported { part: FilePart::Pickle, reason });
                Err(error.with_help(Remedy::Feature { name: feature }))
            }
        }
    }
}

/// Reads single bytes, so that a decoder does not take more than it needs.
#[cfg(feature = "zip-methods")]
struct ByteByByte<'a, 'b>(&'a mut &'b [u8]);

#[cfg(feature = "zip-methods")]
impl Read for ByteByByte<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = into.len().min(1);
        self.0.read(&mut into[..count])
    }
}

fn damaged(error: std::io::Error) -> Error {
    Fault::Malformed {
        part: FilePart::Pickle,
        reason: format!("its compressed bytes are damaged: {error}"),
        offset: None,
    }
    .into()
}
