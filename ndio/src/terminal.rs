//! The writers of what verbs print.

use std::fmt;
use std::io::{self, Write};

use ndarray_io::error::is_invisible;

use super::failure::escape_for_terminal;

/// An error of writing to standard output.
#[derive(Debug)]
pub(crate) struct StdoutError(io::Error);

impl fmt::Display for StdoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "standard output: {}", self.0)
    }
}

impl std::error::Error for StdoutError {}

/// A writer whose errors say that they are of standard output. That its reader has closed a pipe is not a fault.
pub(crate) struct StdoutWriter<W>(pub(crate) W);

impl<W: Write> StdoutWriter<W> {
    fn as_stdout_error<T>(done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, StdoutError(error)),
        })
    }
}

impl<W: Write> Write for StdoutWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::as_stdout_error(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::as_stdout_error(self.0.flush())
    }
}

/// Text in which names of files, members and fields, and values, may be anything: what would move the cursor, change colors or reorder
/// text on a terminal is escaped, wherever it comes from. Ends of lines are kept: a name that may have one goes through `escape_for_terminal`.
pub(crate) struct EscapingWriter<'a>(pub(crate) &'a mut dyn Write);

impl Write for EscapingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Everything is written by `write!`, so that characters are complete.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (line, end) = line.strip_suffix(b"\n").map_or((line, &b""[..]), |line| (line, b"\n"));
            match line.is_ascii() && !line.iter().any(u8::is_ascii_control) {
                true => self.0.write_all(line)?,
                false => self.0.write_all(escape_for_terminal(&String::from_utf8_lossy(line)).as_bytes())?,
            }
            self.0.write_all(end)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// JSON in which texts may have any characters: those that cannot be seen are escaped. Ends of lines are kept.
pub(crate) struct JsonWriter<'a>(pub(crate) &'a mut dyn Write);

impl Write for JsonWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Everything is written by `write!`, so that characters are complete.
        let is_plain = |byte: &u8| byte.is_ascii() && *byte != 0x7F;
        if bytes.iter().all(is_plain) {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut text = String::with_capacity(bytes.len());
        for char in String::from_utf8_lossy(bytes).chars() {
            match is_invisible(char) && !(char.is_ascii() && char != '\u{7F}') {
                true => {
                    text.extend(char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")))
                }
                false => text.push(char),
            }
        }
        self.0.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The output of a verb whose exit code matters: the verb runs to its end even if the reader closes the pipe.
pub(crate) struct PipeCloseTolerantWriter<'a> {
    out: &'a mut dyn Write,
    is_closed: bool,
}

impl<'a> PipeCloseTolerantWriter<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_closed: false }
    }

    fn ignore_closed<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl Write for PipeCloseTolerantWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.is_closed { Ok(bytes.len()) } else { self.out.write(bytes) };
        self.ignore_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.is_closed { Ok(()) } else { self.out.flush() };
        self.ignore_closed(flushed, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_except_newlines_are_escaped() {
        let mut out = Vec::new();
        write!(EscapingWriter(&mut out), "a\u{1b}[31mb\u{202e}\tü\nnext c\r\n").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[31mb\\u{202e}\\tü\nnext c\\r\n");
    }

    #[test]
    fn invisible_characters_in_json_are_escaped_without_loss() {
        let text = "\u{1b}\u{7f}\u{9b}\u{ad}\u{61c}\u{2028}\u{202e}\u{feff}\u{e0041}\n\u{200d}é";
        let mut out = Vec::new();
        writeln!(JsonWriter(&mut out), "{}", serde_json::json!({ "a": text })).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(!out.trim_end().contains(is_invisible), "{out}");
        let read: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(read["a"], text);
    }
}
