//! A writer that compresses by Zstandard, whose library has threads of its own.

use std::io::{self, Write};

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::Sink;
use crate::error::Result;

/// Compresses what is written to it. Only what `finish` has ended is a whole stream.
pub(crate) struct Zstd<'a, 's> {
    sink: &'a mut Sink<'s>,
    encoder: Encoder<'static>,
    out: Vec<u8>,
    packed: u64,
}

impl<'a, 's> Zstd<'a, 's> {
    pub(crate) fn new(sink: &'a mut Sink<'s>, level: i32, threads: usize) -> Result<Self> {
        let mut encoder = Encoder::new(level)?;
        if threads > 1 {
            encoder.set_parameter(CParameter::NbWorkers(u32::try_from(threads).unwrap_or(1)))?;
        }
        Ok(Self { sink, encoder, out: vec![0; 128 << 10], packed: 0 })
    }

    fn step(
        &mut self,
        mut run: impl FnMut(&mut Encoder<'static>, &mut OutBuffer<'_, Vec<u8>>) -> io::Result<bool>,
    ) -> Result<()> {
        let mut is_done = false;
        while !is_done {
            self.out.clear();
            self.out.reserve(128 << 10);
            let mut out = OutBuffer::around(&mut self.out);
            is_done = run(&mut self.encoder, &mut out)?;
            self.sink.write(&self.out)?;
            self.packed += self.out.len() as u64;
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
