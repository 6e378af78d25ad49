//! Files of `joblib.dump`.

use std::io::Read;

use super::Pickle;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::options::ReadOptions;

impl Pickle {
    /// Reads a file of `joblib.dump`, as scikit-learn uses it for models.
    ///
    /// Such a file is a pickle into which the bytes of arrays are mixed, and may be compressed as a whole: with zlib or
    /// gzip it is unpacked here. The file is read until its end, and is kept in memory until it is decoded. The class
    /// of an array, if it is not `ndarray`, is left out, as joblib does with NumPy 2.
    ///
    /// # Errors
    ///
    /// As for [`Pickle::read`]; [`ErrorKind::UnsupportedPickle`] if the file is compressed by another method, or was
    /// written by a version of joblib before 0.10, which stores each array in a file of its own.
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
        Self::of_joblib(&Source::new(&unpacked), options)
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
    Other(&'static str),
}

impl Packing {
    /// Recognizes a method by the first bytes of the file, as joblib does.
    fn of(file: &[u8]) -> Option<Self> {
        Some(match file {
            [0x78, 0x01 | 0x5E | 0x9C | 0xDA, ..] => Self::Zlib,
            [0x1F, 0x8B, ..] => Self::Gzip,
            [b'B', b'Z', b'h', ..] => Self::Other("bzip2"),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Self::Other("XZ"),
            [0x5D, 0, 0, ..] => Self::Other("LZMA"),
            [0x04, 0x22, 0x4D, 0x18, ..] => Self::Other("LZ4"),
            [b'Z', b'F', ..] => Self::Other("a version of joblib before 0.10"),
            _ => return None,
        })
    }

    #[cfg(feature = "npz")]
    fn unpack(self, packed: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let mut reader: Box<dyn Read> = match self {
            Self::Zlib => Box::new(flate2::read::ZlibDecoder::new(packed)),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
            Self::Other(method) => return Err(unsupported(method)),
        };
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

    #[cfg(not(feature = "npz"))]
    fn unpack(self, _: &[u8], _: &Limits) -> Result<Vec<u8>> {
        match self {
            Self::Zlib | Self::Gzip => {
                let error = Error::from(ErrorKind::UnsupportedPickle { reason: PACKED.into() });
                Err(error.with_help(crate::error::Help::Feature { name: "npz" }))
            }
            Self::Other(method) => Err(unsupported(method)),
        }
    }
}

#[cfg(not(feature = "npz"))]
const PACKED: &str = "a file of joblib.dump that is compressed by zlib or gzip";

#[cfg(feature = "npz")]
fn damaged(error: std::io::Error) -> Error {
    ErrorKind::BadPickle { reason: format!("its compressed bytes are damaged: {error}"), offset: None }.into()
}

fn unsupported(method: &str) -> Error {
    let reason =
        format!("a file of joblib.dump that is compressed by {method}, which has to be unpacked first");
    ErrorKind::UnsupportedPickle { reason }.into()
}
