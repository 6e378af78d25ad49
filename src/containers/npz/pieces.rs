//! Members whose content is streamed into the archive.

use std::io::{Read, Write};

use ndarray::{Dimension, ShapeBuilder};

use super::NpzWriter;
use super::archive::name_in_archive;
use super::writer::Content;
use crate::bytes;
use crate::elements::WritableElement;
use crate::error::{Fault, Result};
use crate::io::NpyWriter;
use crate::options::{Verb, WriteOptions};
use crate::transfer;

impl<W: Write> NpzWriter<W> {
    /// Adds an array that is written in pieces.
    ///
    /// The array need not fit into memory. `write` receives a writer for the member and must push exactly the
    /// elements that `shape` declares.
    ///
    /// After an error, the archive can still be used if the declared array occupies at most 64 KiB in memory.
    /// A larger array may already have been partially written; all later calls then fail.
    ///
    /// # Errors
    ///
    /// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if a member of this name already exists.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the member's name is longer than 65,535 bytes or contains a NUL, or if the
    ///   options contradict the call, or if text has no width, or if the elements are Python objects.
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) after an earlier error left an incomplete member, or if `write` pushes more or
    ///   fewer elements than declared.
    /// - Any error that `write` returns.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray::{Array1, Array2};
    /// use ndarray_io::{NpzReader, NpzWriter};
    /// use std::io::Cursor;
    ///
    /// let mut npz = NpzWriter::new_compressed(Vec::new());
    /// npz.add_pieces("steps", (1000, 3), |steps| {
    ///     (0..1000).try_for_each(|step| steps.push(&Array1::from_elem(3, f64::from(step))))
    /// })?;
    /// let steps: Array2<f64> = NpzReader::new(Cursor::new(npz.finish()?))?.by_name("steps")?;
    /// assert_eq!(steps[[999, 0]], 999.0);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn add_pieces<A, Sh>(
        &mut self,
        name: impl Into<String>,
        shape: Sh,
        write: impl FnOnce(&mut NpyWriter<A, &mut dyn Write>) -> Result<()>,
    ) -> Result<()>
    where
        A: WritableElement,
        Sh: ShapeBuilder,
    {
        let shape = shape.into_shape_with_order();
        // An overflowing shape is rejected by `NpyWriter::of_shape`. Here it may saturate, because the number only
        // selects the path for large members.
        let elements = shape.raw_dim().slice().iter().fold(1, |all: usize, axis| all.saturating_mul(*axis));
        let make = |writer: &mut dyn Write, options: &WriteOptions| {
            let mut pieces = NpyWriter::of_shape(writer, shape, options)?;
            write(&mut pieces)?;
            pieces.finish().map(drop)
        };
        let options = self.options.clone();
        let item = A::dtype_for(&mut std::iter::empty(), &options).map(|dtype| dtype.item_size());
        let payload_len = item.ok().and_then(|item| (item as u64).checked_mul(elements as u64));
        let byte_len = payload_len.map_or(usize::MAX, |len| usize::try_from(len).unwrap_or(usize::MAX));
        options.check_for(Verb::AddWith)?;
        let content = Content::Once { byte_len, len: payload_len, write: Box::new(make) };
        self.add_member(name_in_archive(name.into()), content, &options)
    }
}

impl<W: Write> NpzWriter<W> {
    /// Adds a member of `len` arbitrary bytes under exactly this name.
    ///
    /// Use it for existing NPY files, and for metadata that accompanies the arrays. No suffix is added. Only
    /// the first `len` bytes of the reader are read.
    ///
    /// # Errors
    ///
    /// - [`BadSource`](crate::error::ErrorKind::BadSource) if the reader has fewer than `len` bytes.
    /// - [`BadOption`](crate::error::ErrorKind::BadOption) if the name is longer than 65,535 bytes or contains a NUL, or if
    ///   the options request a sync and the writer is not a file.
    /// - [`OutOfTurn`](crate::error::ErrorKind::OutOfTurn) after an earlier error left an incomplete member.
    /// - [`AmbiguousName`](crate::error::ErrorKind::AmbiguousName) if a member of this name already exists.
    /// - [`Io`](crate::error::ErrorKind::Io) if an I/O operation fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::{NpzReader, NpzWriter};
    /// use std::io::Cursor;
    ///
    /// let mut npz = NpzWriter::new(Vec::new());
    /// npz.add_raw("about.txt", &b"a run"[..], 5)?;
    /// let mut npz = NpzReader::new(Cursor::new(npz.finish()?))?;
    /// assert_eq!(npz.read_raw("about.txt")?, b"a run");
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn add_raw<R: Read>(&mut self, name: impl Into<String>, reader: R, len: u64) -> Result<()> {
        let options = self.options.clone();
        self.add_raw_with(name, reader, len, &options)
    }

    /// Adds a member of `len` arbitrary bytes with its own options, such as a different compression.
    ///
    /// # Errors
    ///
    /// As for [`add_raw`](Self::add_raw), and [`BadOption`](crate::error::ErrorKind::BadOption) for a compression whose
    /// feature is not enabled.
    ///
    /// # Examples
    ///
    /// ```
    /// use ndarray_io::{Compression, NpzWriter, WriteOptions};
    ///
    /// let mut npz = NpzWriter::new(Vec::new());
    /// let deflated = WriteOptions::new().compression(Compression::DEFLATE);
    /// npz.add_raw_with("log.txt", &[b'.'; 10_000][..], 10_000, &deflated)?;
    /// npz.add_raw("about.txt", &b"a run"[..], 5)?; // as it is
    /// assert!(npz.finish()?.len() < 1000);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn add_raw_with<R: Read>(
        &mut self,
        name: impl Into<String>,
        mut reader: R,
        len: u64,
        options: &WriteOptions,
    ) -> Result<()> {
        options.check_for(Verb::AddRawWith)?;
        let make = move |writer: &mut dyn Write, _: &WriteOptions| {
            let mut block = vec![0; usize::try_from(len).unwrap_or(usize::MAX).min(transfer::BLOCK_LEN)];
            let mut copied = 0;
            while copied < len {
                let max_len = usize::try_from(len - copied).unwrap_or(usize::MAX).min(block.len());
                let came = bytes::fill(&mut block[..max_len], &mut reader)?;
                writer.write_all(&block[..came])?;
                copied += came as u64;
                if came < max_len {
                    let reason = format!("expected {len} bytes from the reader, found {copied}");
                    return Err(Fault::BadSource { reason }.into());
                }
            }
            Ok(())
        };
        let byte_len = usize::try_from(len).unwrap_or(usize::MAX);
        let content = Content::Once { byte_len, len: Some(len), write: Box::new(make) };
        self.add_member(name.into(), content, options)
    }
}
