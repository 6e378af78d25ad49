//! Writes opcodes of protocols 2, 3 and 4, and buffers of protocol 5.

use super::opcode::*;
use super::text::push_utf8;

/// A writer of the opcodes of a pickle.
#[derive(Debug)]
pub(crate) struct OpcodeWriter {
    bytes: Vec<u8>,
    protocol: u8,
    next_memo_index: u32,
    /// The start of the open frame (since protocol 4). A frame lets readers load many opcodes with one read.
    frame_start: Option<usize>,
}

/// Length of a frame in bytes, as in Python. Data of this length or more is put between frames.
const FRAME_LEN: usize = 64 << 10;
/// Length of a frame's header, in bytes: the opcode and the frame's length.
const FRAME_HEADER_LEN: usize = 9;

impl OpcodeWriter {
    pub(crate) fn new(protocol: u8) -> Self {
        Self { bytes: vec![PROTO, protocol], protocol, next_memo_index: 0, frame_start: None }
    }

    pub(crate) fn protocol(&self) -> u8 {
        self.protocol
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(STOP);
        self.end_frame();
        self.bytes
    }

    /// Ends a frame that is long enough and starts the next one. Callers call this between values.
    #[inline]
    pub(crate) fn replace_full_frame(&mut self) {
        if self.protocol < 4 {
            return;
        }
        match self.frame_start {
            Some(start) if self.bytes.len() - start < FRAME_LEN + FRAME_HEADER_LEN => {}
            _ => self.begin_frame(),
        }
    }

    fn begin_frame(&mut self) {
        self.end_frame();
        self.frame_start = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[FRAME, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    fn end_frame(&mut self) {
        if let Some(start) = self.frame_start.take() {
            let len = (self.bytes.len() - start - FRAME_HEADER_LEN) as u64;
            match len {
                // Nothing was written into the frame, so it is omitted.
                0 => self.bytes.truncate(start),
                _ => self.bytes[start + 1..start + FRAME_HEADER_LEN].copy_from_slice(&len.to_le_bytes()),
            }
        }
    }

    /// Writes an opcode, a length and bytes, which are put between frames if they are long.
    fn length_prefixed(&mut self, opcode: u8, len: &[u8], bytes: &[u8]) {
        let is_long = self.protocol >= 4 && bytes.len() >= FRAME_LEN;
        if is_long {
            self.end_frame();
        }
        self.push_opcode_and_argument(opcode, len);
        self.bytes.extend_from_slice(bytes);
        if is_long {
            self.begin_frame();
        }
    }

    pub(crate) fn none(&mut self) {
        self.bytes.push(NONE);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.bytes.push(if value { NEWTRUE } else { NEWFALSE });
    }

    pub(crate) fn int(&mut self, number: i64) {
        match (u8::try_from(number), u16::try_from(number), i32::try_from(number)) {
            (Ok(number), _, _) => self.bytes.extend([BININT1, number]),
            (_, Ok(number), _) => {
                let [a, b] = number.to_le_bytes();
                self.bytes.extend_from_slice(&[BININT2, a, b]);
            }
            (_, _, Ok(number)) => {
                let [a, b, c, d] = number.to_le_bytes();
                self.bytes.extend_from_slice(&[BININT, a, b, c, d]);
            }
            _ => {
                let bytes = number.to_le_bytes();
                // The number is shortened to the fewest bytes that preserve the sign.
                let fill = if number < 0 { 0xFF } else { 0 };
                let mut len = 8;
                while len > 1 && bytes[len - 1] == fill && (bytes[len - 2] ^ fill) & 0x80 == 0 {
                    len -= 1;
                }
                self.long(&bytes[..len]);
            }
        }
    }

    /// Writes an integer in two's complement, little-endian.
    pub(crate) fn long(&mut self, bytes: &[u8]) {
        match u8::try_from(bytes.len()) {
            Ok(len) => self.bytes.extend([LONG1, len]),
            Err(_) => self.push_opcode_and_argument(LONG4, &(bytes.len() as u32).to_le_bytes()),
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn float(&mut self, number: f64) {
        let [a, b, c, d, e, f, g, h] = number.to_be_bytes();
        self.bytes.extend_from_slice(&[BINFLOAT, a, b, c, d, e, f, g, h]); // one call is faster than two
    }

    pub(crate) fn str(&mut self, text: &str) {
        self.utf8(text.as_bytes());
    }

    /// Writes a string of code points, which may be surrogates.
    pub(crate) fn code_points(&mut self, codes: &[u32]) {
        let mut utf8 = Vec::new();
        // The code points come from a Python string, so all of them can be encoded.
        codes.iter().for_each(|code| push_utf8(*code, &mut utf8).unwrap_or_default());
        self.utf8(&utf8);
    }

    fn utf8(&mut self, text: &[u8]) {
        match (u8::try_from(text.len()), u32::try_from(text.len())) {
            (Ok(len), _) if self.protocol >= 4 => self.length_prefixed(SHORT_BINUNICODE, &[len], text),
            (_, Ok(len)) => self.length_prefixed(BINUNICODE, &len.to_le_bytes(), text),
            _ => self.length_prefixed(BINUNICODE8, &(text.len() as u64).to_le_bytes(), text),
        }
    }

    /// Writes bytes, which requires protocol 3.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        match (u8::try_from(bytes.len()), u32::try_from(bytes.len())) {
            (Ok(len), _) => self.length_prefixed(SHORT_BINBYTES, &[len], bytes),
            (_, Ok(len)) => self.length_prefixed(BINBYTES, &len.to_le_bytes(), bytes),
            _ => self.length_prefixed(BINBYTES8, &(bytes.len() as u64).to_le_bytes(), bytes),
        }
    }

    /// Discards the top of the stack.
    pub(crate) fn pop(&mut self) {
        self.bytes.push(POP);
    }

    /// Discards the items above the last mark, and the mark.
    pub(crate) fn pop_mark(&mut self) {
        self.bytes.push(POP_MARK);
    }

    pub(crate) fn global(&mut self, module: &str, name: &str) {
        if self.protocol >= 4 {
            self.str(module);
            self.str(name);
            self.bytes.push(STACK_GLOBAL);
        } else {
            self.push_opcode_and_argument(GLOBAL, module.as_bytes());
            self.push_opcode_and_argument(b'\n', name.as_bytes());
            self.bytes.push(b'\n');
        }
    }

    pub(crate) fn mark(&mut self) {
        self.bytes.push(MARK);
    }

    pub(crate) fn empty_list(&mut self) {
        self.bytes.push(EMPTY_LIST);
    }

    pub(crate) fn appends(&mut self) {
        self.bytes.push(APPENDS);
    }

    pub(crate) fn empty_dict(&mut self) {
        self.bytes.push(EMPTY_DICT);
    }

    pub(crate) fn set_items(&mut self) {
        self.bytes.push(SETITEMS);
    }

    pub(crate) fn empty_set(&mut self) {
        self.bytes.push(EMPTY_SET);
    }

    pub(crate) fn add_set_items(&mut self) {
        self.bytes.push(ADDITEMS);
    }

    pub(crate) fn frozen_set(&mut self) {
        self.bytes.push(FROZENSET);
    }

    /// Creates a tuple of the items above the mark.
    pub(crate) fn tuple(&mut self) {
        self.bytes.push(TUPLE);
    }

    /// Creates a tuple of the last `count` items, at most three.
    pub(crate) fn tuple_of(&mut self, count: u8) {
        self.bytes.push(if count == 0 { EMPTY_TUPLE } else { TUPLE1 + count - 1 });
    }

    /// Refers to the next buffer that is stored outside of the pickle, which requires protocol 5.
    pub(crate) fn next_buffer(&mut self) {
        self.bytes.push(NEXT_BUFFER);
    }

    pub(crate) fn reduce(&mut self) {
        self.bytes.push(REDUCE);
    }

    pub(crate) fn new_object(&mut self, has_kwargs: bool) {
        self.bytes.push(if has_kwargs { NEWOBJ_EX } else { NEWOBJ });
    }

    pub(crate) fn build(&mut self) {
        self.bytes.push(BUILD);
    }

    /// Adds the top of the stack to the memo and returns the index of the entry.
    pub(crate) fn memoize(&mut self) -> u32 {
        let index = self.next_memo_index;
        match u8::try_from(index) {
            _ if self.protocol >= 4 => self.bytes.push(MEMOIZE),
            Ok(index) => self.bytes.extend([BINPUT, index]),
            Err(_) => self.push_opcode_and_argument(LONG_BINPUT, &index.to_le_bytes()),
        }
        self.next_memo_index += 1;
        index
    }

    pub(crate) fn get(&mut self, index: u32) {
        match u8::try_from(index) {
            Ok(index) => self.bytes.extend([BINGET, index]),
            Err(_) => self.push_opcode_and_argument(LONG_BINGET, &index.to_le_bytes()),
        }
    }

    fn push_opcode_and_argument(&mut self, opcode: u8, bytes: &[u8]) {
        self.bytes.push(opcode);
        self.bytes.extend_from_slice(bytes);
    }
}
