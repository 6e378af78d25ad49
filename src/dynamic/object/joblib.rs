//! Files of `joblib.dump`.

use std::io::Read;
use std::sync::Arc;

use super::Pickle;
use super::graph::Kept;
use crate::error::{Error, ErrorKind, Help, Result};
use crate::limits::Limits;
use crate::options::ReadOptions;

impl Pickle {
    /// Reads a file of `joblib.dump`, as scikit-learn uses it for models.
    ///
    /// Such a file is a pickle into which the bytes of arrays are mixed, and may be compressed as a whole. It
    /// is unpacked here: from zlib and gzip with the feature `npz`, from bzip2, XZ and LZMA with `zip-methods`, from LZ4
    /// with `lz4`. The file is read until its end, and is kept in memory until it is decoded. The class
    /// of an array, if it is not `ndarray`, is left out, as joblib does with NumPy 2.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`]; [`ErrorKind::UnsupportedPickle`] if the file is compressed by a method whose feature is not
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
        let unpacked = match Packing::of(&packed) {
            None => packed,
            Some(packing) => packing.unpack(&packed, limits)?,
        };
        Self::of_joblib(&unpacked, None, options)
    }

    /// Reads a file of `joblib.dump` without copying its arrays, as `joblib.load(…, mmap_mode="r")` does.
    ///
    /// `bytes` is the whole file, for instance a memory map of it. What is not a plain array, and what is in an array of
    /// objects, is copied, and so is everything if the file is compressed or has arrays in the other byte order.
    /// joblib aligns arrays, so [`view`](super::Array::view) needs no copy either.
    ///
    /// The object keeps `bytes` until it is dropped; [`detach`](super::Object::detach) makes it independent.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read_joblib`].
    ///
    /// # Panics
    ///
    /// Reading an array panics if `bytes` returns fewer bytes than at first.
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
        let kept: Kept = Arc::new(bytes);
        let file = (*kept).as_ref();
        limits.check_payload(file.len() as u64)?;
        match Packing::of(file) {
            None => Self::of_joblib(file, Some(&kept), options),
            Some(packing) => Self::of_joblib(&packing.unpack(file, limits)?, None, options),
        }
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
enum Packing {
    Zlib,
    Gzip,
    Bzip2,
    Xz,
    Lzma,
    Lz4,
    /// Not by a method that is read here, whatever the features.
    Early,
}

impl Packing {
    /// Recognizes a method by the first bytes of the file, as joblib does.
    fn of(file: &[u8]) -> Option<Self> {
        Some(match file {
            [0x78, 0x01 | 0x5E | 0x9C | 0xDA, ..] => Self::Zlib,
            [0x1F, 0x8B, ..] => Self::Gzip,
            [b'B', b'Z', b'h', ..] => Self::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x5D, 0, 0, ..] => Self::Lzma,
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Lz4,
            [b'Z', b'F', ..] => Self::Early,
            _ => return None,
        })
    }

    /// Returns the name of the method, and the feature with which it is unpacked.
    fn named(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Zlib => ("zlib", Some("npz")),
            Self::Gzip => ("gzip", Some("npz")),
            Self::Bzip2 => ("bzip2", Some("zip-methods")),
            Self::Xz => ("XZ", Some("zip-methods")),
            Self::Lzma => ("LZMA", Some("zip-methods")),
            Self::Lz4 => ("LZ4", Some("lz4")),
            Self::Early => ("a version of joblib before 0.10", None),
        }
    }

    fn unpack(self, packed: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let mut reader = self.reader(packed, limits)?;
        // A pack is checked as it grows, so a small file does not fill the memory.
        const PIECE: u64 = 64 << 20;
        let mut bytes = Vec::new();
        loop {
            let came = reader.by_ref().take(PIECE).read_to_end(&mut bytes).map_err(damaged)?;
            limits.check_payload(bytes.len() as u64)?;
            limits.check_expansion(bytes.len() as u64, packed.len() as u64)?;
            if came == 0 {
                return Ok(bytes);
            }
        }
    }

    #[cfg_attr(not(feature = "zip-methods"), expect(unused_variables))]
    fn reader<'a>(self, packed: &'a [u8], limits: &Limits) -> Result<Box<dyn Read + 'a>> {
        match self {
            #[cfg(feature = "npz")]
            Self::Zlib => Ok(Box::new(flate2::read::ZlibDecoder::new(packed))),
            #[cfg(feature = "npz")]
            Self::Gzip => Ok(Box::new(flate2::read::MultiGzDecoder::new(packed))),
            #[cfg(feature = "zip-methods")]
            Self::Bzip2 => Ok(Box::new(bzip2::read::MultiBzDecoder::new(packed))),
            #[cfg(feature = "zip-methods")]
            Self::Xz => {
                let memory = lzma_memory(packed, limits);
                Ok(Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, memory)))
            }
            #[cfg(feature = "zip-methods")]
            Self::Lzma => {
                let memory = lzma_memory(packed, limits);
                let reader = lzma_rust2::LzmaReader::new_mem_limit(packed, memory, None).map_err(damaged)?;
                Ok(Box::new(reader))
            }
            #[cfg(feature = "lz4")]
            Self::Lz4 if !crate::codec::lz4::frames_are_complete(packed) => {
                Err(damaged(std::io::ErrorKind::UnexpectedEof.into()))
            }
            #[cfg(feature = "lz4")]
            Self::Lz4 => Ok(Box::new(lz4_flex::frame::FrameDecoder::new(packed))),
            _ => {
                let (method, feature) = self.named();
                let reason = format!(
                    "a file of joblib.dump that is compressed by {method}, which has to be unpacked first"
                );
                let error = Error::from(ErrorKind::UnsupportedPickle { reason });
                Err(match feature {
                    Some(name) => error.with_help(Help::Feature { name }),
                    None => error,
                })
            }
        }
    }
}

/// Returns how much memory the dictionary of a file may need, in KiB.
///
/// The size of the dictionary is a claim of the file. The presets of XZ need 65 MiB at most; a larger
/// dictionary is of use only for more data.
#[cfg(feature = "zip-methods")]
fn lzma_memory(packed: &[u8], limits: &Limits) -> u32 {
    const PRESETS: u64 = 80 << 20;
    let most = PRESETS.max(16 * packed.len() as u64).min(limits.get_payload());
    u32::try_from(most >> 10).unwrap_or(u32::MAX)
}

fn damaged(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::OutOfMemory => {
            let reason = format!("a file of joblib.dump whose compression needs too much memory: {error}");
            ErrorKind::UnsupportedPickle { reason }.into()
        }
        _ => ErrorKind::BadPickle {
            reason: format!("its compressed bytes are damaged: {error}"),
            offset: None,
        }
        .into(),
    }
}
