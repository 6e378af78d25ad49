//! Unpacking streams, piece by piece.

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{ErrorKind, Result};

/// What a step of unpacking did.
pub(crate) struct Unpacked {
    pub(crate) taken: usize,
    pub(crate) made: usize,
    pub(crate) end: End,
}

/// What has ended with the bytes that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Nothing,
    /// A frame, which another one may follow.
    Frame,
    Stream,
}

/// Unpacks a stream.
pub(crate) enum Unpacker {
    Deflate(Decompress),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::stream::raw::Decoder<'static>>),
}

impl Unpacker {
    pub(crate) fn deflate() -> Self {
        Self::Deflate(Decompress::new(false))
    }

    #[cfg(feature = "zstd")]
    pub(crate) fn zstd() -> Result<Self> {
        Ok(Self::Zstd(Box::new(zstd::stream::raw::Decoder::new()?)))
    }

    /// Unpacks what it can of `packed` into `into`.
    pub(crate) fn unpack(&mut self, packed: &[u8], into: &mut [u8]) -> Result<Unpacked> {
        match self {
            Self::Deflate(stream) => {
                let (taken, made) = (stream.total_in(), stream.total_out());
                let status = stream.decompress(packed, into, FlushDecompress::None);
                let status = status.map_err(|error| ErrorKind::BadDeflate { reason: error.to_string() })?;
                Ok(Unpacked {
                    taken: (stream.total_in() - taken) as usize,
                    made: (stream.total_out() - made) as usize,
                    end: if status == Status::StreamEnd { End::Stream } else { End::Nothing },
                })
            }
            #[cfg(feature = "zstd")]
            Self::Zstd(stream) => {
                use zstd::stream::raw::Operation;
                let status = stream.run_on_buffers(packed, into).map_err(|error| ErrorKind::BadZip {
                    reason: format!("its compressed content is malformed: {error}"),
                })?;
                let end = if status.remaining == 0 { End::Frame } else { End::Nothing };
                Ok(Unpacked { taken: status.bytes_read, made: status.bytes_written, end })
            }
        }
    }
}
