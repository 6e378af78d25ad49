//! Deflate: blocks that can be made at the same time and joined.

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::error::Result;

/// How far back a block may refer.
pub(crate) const WINDOW: usize = 32 << 10;

/// Makes blocks. It can be used again, which saves setting it up.
pub(crate) struct Deflater(Compress);

impl Deflater {
    /// With a level from 0 to 9.
    pub(crate) fn new(level: u32) -> Self {
        Self(Compress::new(Compression::new(level.min(9)), false))
    }

    /// Appends a block whose bytes follow those of `window`. Blocks behind one another are a stream if the last is marked
    /// so, and no other.
    pub(crate) fn block(
        &mut self,
        window: &[u8],
        bytes: &[u8],
        is_last: bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let broken = |what: &dyn std::fmt::Display| std::io::Error::other(format!("deflate failed: {what}"));
        self.0.reset();
        if !window.is_empty() {
            self.0.set_dictionary(window).map_err(|error| broken(&error))?;
        }
        let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
        loop {
            let taken = self.0.total_in() as usize;
            if out.capacity() - out.len() < 64 {
                out.reserve((bytes.len() - taken) / 2 + 1024);
            }
            let room = out.capacity() - out.len();
            let status = self.0.compress_vec(&bytes[taken..], out, flush).map_err(|error| broken(&error))?;
            // Room that is left over says that all has been flushed.
            let is_flushed = self.0.total_in() as usize == bytes.len() && out.capacity() - out.len() > 0;
            match status {
                Status::StreamEnd => return Ok(()),
                _ if !is_last && is_flushed => return Ok(()),
                Status::BufError if room >= 64 => return Err(broken(&"it makes no progress").into()),
                _ => {}
            }
        }
    }
}
