//! Finds the end of a pickle in a stream that continues after it.

use super::opcode::*;

/// Reads exactly one pickle.
///
/// `more` appends the given number of bytes and returns how many it appended. It is called only for bytes
/// that the pickle must contain. If the source ends early, the incomplete pickle is returned, and the decoder
/// reports the error.
pub(crate) fn read_one<E>(mut more: impl FnMut(&mut Vec<u8>, u64) -> Result<u64, E>) -> Result<Vec<u8>, E> {
    let mut bytes = Vec::new();
    let mut at = 0;
    loop {
        if ends_while_filling(&mut bytes, at, 1, &mut more)? {
            return Ok(bytes);
        }
        let opcode = bytes[at];
        at += 1;
        let lines = match opcode {
            STOP => return Ok(bytes),
            INT | LONG | FLOAT | STRING | UNICODE | GET | PUT | PERSID => 1,
            GLOBAL | INST => 2,
            _ => 0,
        };
        for _ in 0..lines {
            loop {
                if ends_while_filling(&mut bytes, at, 1, &mut more)? {
                    return Ok(bytes);
                }
                at += 1;
                if bytes[at - 1] == b'\n' {
                    break;
                }
            }
        }
        // The width of the argument in bytes, and whether it is the length of data that follows.
        let (width, is_length) = match opcode {
            BININT1 | BINGET | BINPUT | PROTO | EXT1 => (1, false),
            BININT2 | EXT2 => (2, false),
            BININT | LONG_BINGET | LONG_BINPUT | EXT4 => (4, false),
            BINFLOAT => (8, false),
            LONG1 | SHORT_BINUNICODE | SHORT_BINBYTES | SHORT_BINSTRING => (1, true),
            LONG4 | BINUNICODE | BINBYTES | BINSTRING => (4, true),
            BINUNICODE8 | BINBYTES8 | BYTEARRAY8 | FRAME => (8, true),
            _ => continue,
        };
        if ends_while_filling(&mut bytes, at, width, &mut more)? {
            return Ok(bytes);
        }
        let mut number = [0; 8];
        number[..width as usize].copy_from_slice(&bytes[at..][..width as usize]);
        at += width as usize;
        if is_length {
            let len = u64::from_le_bytes(number);
            // The length is negative, an error that the decoder reports.
            if matches!(opcode, LONG4 | BINSTRING) && len > i32::MAX as u64 {
                return Ok(bytes);
            }
            if ends_while_filling(&mut bytes, at, len, &mut more)? {
                return Ok(bytes);
            }
            // The content of a frame consists of opcodes, which are scanned too.
            at += if opcode == FRAME { 0 } else { len as usize };
        }
    }
}

/// Makes `count` bytes available at index `at`; returns whether the source ended before that.
fn ends_while_filling<E>(
    bytes: &mut Vec<u8>,
    at: usize,
    count: u64,
    more: &mut impl FnMut(&mut Vec<u8>, u64) -> Result<u64, E>,
) -> Result<bool, E> {
    let there = (bytes.len() - at) as u64;
    match count.checked_sub(there) {
        None | Some(0) => Ok(false),
        Some(missing) => Ok(more(bytes, missing)? < missing),
    }
}
