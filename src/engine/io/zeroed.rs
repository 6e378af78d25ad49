//! Files filled with zeros, which are sparse until they are written to, unless preallocation is requested.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use ndarray::Dimension;

use super::change;
use super::format::{self, Format};
use super::order::order_and_lengths;
use crate::elements::WritableElement;
use crate::error::{Error, Fault, Result};
use crate::header::Header;
use crate::options::WriteOptions;
use crate::transfer::os;

/// Writes a header at the file's position, and sets the file's length so that an array of zeros follows.
pub(crate) fn write_zeroed<A: WritableElement, D: Dimension>(
    file: &File,
    shape: ndarray::Shape<D>,
    format: Format,
    options: &WriteOptions,
) -> Result<()> {
    const {
        assert!(
            A::FILE_LAYOUT.is_zero_valid(),
            "the elements have no zero value: no variant of the enum has the value 0"
        );
    }
    let (order, shape) = order_and_lengths(shape);
    const { A::FILE_LAYOUT.assert_writable() };
    let dtype = A::dtype_for(&mut std::iter::empty(), options)?;
    let header = Header::new(dtype, options.order.unwrap_or(order), shape)?;
    let Some(bytes) = header.payload_len() else {
        return Err(Fault::BadOption {
            reason: "an array of Python objects cannot be filled with zeros".into(),
        }
        .into());
    };
    let head = format::format_header(format, &header, options)?;
    write_header_and_zeros(file, &head, bytes, options).map_err(Error::while_writing)
}

/// Writes a header, and this many zeros.
fn write_header_and_zeros(mut file: &File, head: &[u8], bytes: u64, options: &WriteOptions) -> Result<()> {
    file.write_all(head)?;
    let start = file.stream_position()?;
    let Some(end) = start.checked_add(bytes) else {
        return Err(Fault::Overflow { what: format!("a file with {bytes} bytes of elements") }.into());
    };
    change::set_len(file, start)?; // truncated first, so that no old content remains
    change::set_len(file, end)?;
    if options.preallocate && !os::allocate_zeros(file, start, bytes)? {
        // The system cannot reserve disk space, so zeros are written.
        const BLOCK_LEN: usize = 1 << 20;
        let zeros = vec![0; bytes.min(BLOCK_LEN as u64) as usize];
        let mut left = bytes;
        while left > 0 {
            let written = left.min(BLOCK_LEN as u64);
            file.write_all(&zeros[..written as usize])?;
            left -= written;
        }
    }
    file.seek(SeekFrom::Start(end))?;
    Ok(())
}
