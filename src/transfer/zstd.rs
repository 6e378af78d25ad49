//! A writer that compresses by Zstandard, whose library has threads of its own.

use std::io::{self, Write};

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::Sink;
use crate::error::Result;

/// How much is compressed at a time.
const OUT: usize = 128 << 10;

/// What compressing needs and can be used again: for small members, making it takes longer than using it.
pub(crate) struct ZstdEncoder {
    level: i32,
    threads: usize,
    encoder: Encoder<'static>,
    out: Vec<u8>,
}

impl ZstdEncoder {
    pub(crate) fn new(level: i32, threads: usize) -> Result<Self> {
        let mut encoder = Encoder::new(level)?;
        if threads > 1 {
            encoder.set_parameter(CParameter::NbWorkers(u32::try_from(threads).unwrap_or(1)))?;
        }
        Ok(Self { level, threads, encoder, out: Vec::with_capacity(OUT) })
    }

    pub(crate) fn is_for(&self, level: i32, threads: usize) -> bool {
        (self.level, self.threads) == (level, threads)
    }
}

impl std::fmt::Debug for ZstdEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ZstdEncoder of level {}", self.level)
    }
}

/// Compresses what is written to it. Only what `finish` has ended is a whole stream.
pub(crate) struct Zstd<'a, 's> {
    sink: &'a mut Sink<'s>,
    with: &'a mut ZstdEncoder,
    packed: u64,
}

impl<'a, 's> Zstd<'a, 's> {
    /// Begins a stream. What an earlier one has left, because of an error, is forgotten.
    pub(crate) fn new(sink: &'a mut Sink<'s>, with: &'a mut ZstdEncoder) -> Result<Self> {
        with.encoder.reinit()?;
        Ok(Self { sink, with, packed: 0 })
    }

    fn step(
        &mut self,
        mut run: impl FnMut(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> io::Result<bool>,
    ) -> Result<()> {
        let ZstdEncoder { encoder, out, .. } = self.with;
        let mut is_done = false;
        while !is_done {
            out.clear();
            out.reserve(OUT);
            is_done = run(encoder, &mut OutBuffer::around(out))?;
            self.sink.write(out)?;
            self.packed += out.len() as u64;
        }
        Ok(())
    }

    /// Ends the stream; says how long it is.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.step(|encoder, out| Ok(encoder.finish(out, true)? == 0))?;
        Ok(self.packed)
    }
}

impl Write for Zstd<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut input = InBuffer::around(bytes);
        self.step(|encoder, out| {
            encoder.run(&mut input, out)?;
            Ok(input.pos() == bytes.len())
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // the member is not at its end
    }
}
