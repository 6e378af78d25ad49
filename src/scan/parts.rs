//! Finds the pickles in files and in what they contain.

use std::io::Read;
use std::sync::Arc;

use super::cursor::{Cursor, PartOfFile};
use super::preview::{dotted_name, preview, shortened};
use super::tar;
use super::{Recognizer, Scan, ScannedCall, ScannedName, ScannedPickle, Unseen};
use crate::NpzFile;
use crate::bytes::{InMemory, LocalFile, ReadAt};
use crate::dynamic::object::{FileCompression, Pickle, View, is_usual_name, python_3_name};
use crate::error::{Error, Fault, FileKind, FilePart, Result};
use crate::io::change::{create_unnamed_file, temporary_folder};
use crate::io::{Expected, NpyReader, read_header};
use crate::options::ReadOptions;
use crate::pickle::{End, effects};
use crate::transfer::Source;

/// What is looked at of a pickle that cannot be read as a whole.
const MAX_DAMAGED_LEN: usize = 64 << 20;
/// Archives in archives, and files that are compressed several times.
const MAX_DEPTH: u32 = 8;
/// How many bytes are decompressed: this number, and this factor times the length of the file.
const MIN_CONTENT: u64 = 1 << 30;
const CONTENT_FACTOR: u64 = 64;
/// How many bytes of text the calls may have: this number, and the factor times the length of the file.
const MIN_TEXT: u64 = 1 << 20;

pub(super) struct Scanner<'a> {
    options: ReadOptions,
    recognizers: &'a [&'a dyn Recognizer],
    pub(super) found: Scan,
    /// How many bytes may still be decompressed.
    content_budget: u64,
    /// How many bytes of text the calls may still have.
    text_budget: u64,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(options: &ReadOptions, recognizers: &'a [&'a dyn Recognizer], len: u64) -> Self {
        Self {
            options: options.clone().allow_objects(true),
            recognizers,
            found: Scan::default(),
            content_budget: MIN_CONTENT.saturating_add(len.saturating_mul(CONTENT_FACTOR)),
            text_budget: MIN_TEXT.saturating_add(len.saturating_mul(CONTENT_FACTOR)),
        }
    }

    /// Scans a file, or what a file contains.
    pub(super) fn scan_source(&mut self, source: &Arc<dyn ReadAt>, member: String, depth: u32) -> Result<()> {
        let len = source.size()?;
        let first = Cursor::new(source).peek(tar::BLOCK_LEN)?;
        if len == 0 || first.starts_with(b"\x93NUMPY") {
            return self.scan_sequence(source, &member, depth);
        }
        if depth > MAX_DEPTH {
            self.leave_out(&member, 0, malformed(FilePart::Archive, "it is nested too deep"));
            return Ok(());
        }
        let kind = FileKind::of(&first);
        let is_of_other_kind = kind == Some(FileKind::Zip)
            || tar::entry(&first).is_some()
            || kind == Some(FileKind::Ra)
            || self.has_no_objects(source)?;
        if is_of_other_kind {
            // It can be a pickle all the same, for a program that takes it for one.
            self.add_damaged_pickle(source, 0, &member, true)?;
        }
        match kind {
            Some(FileKind::Zip) => return self.scan_archive(source, &member, depth),
            Some(FileKind::Ra) => return self.scan_ra(source, &member),
            _ if tar::entry(&first).is_some() => return self.scan_tar(source, &member, depth),
            _ if is_of_other_kind => return Ok(()),
            _ => {}
        }
        if let Some(compression) = FileCompression::of(&first)
            && self.scan_compressed(source, compression, &member, depth)?
        {
            return Ok(());
        }
        self.scan_sequence(source, &member, depth)
    }

    fn has_no_objects(&self, source: &Arc<dyn ReadAt>) -> Result<bool> {
        for recognizer in self.recognizers {
            if recognizer.has_no_objects(source)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Scans the arrays and pickles that follow one another in a file.
    fn scan_sequence(&mut self, source: &Arc<dyn ReadAt>, member: &str, depth: u32) -> Result<()> {
        let len = source.size()?;
        let mut cursor = Cursor::new(source);
        while cursor.position() < len {
            let start = cursor.position();
            let first = cursor.peek(FileKind::PREFIX_LEN)?;
            if first.starts_with(b"\x93NUMPY") {
                if !self.skip_array(source, &mut cursor, member)? {
                    return Ok(());
                }
                continue;
            }
            match self.options.read_pickle(&mut cursor) {
                Ok(pickle) => {
                    self.add_pickle(member, &pickle);
                    // Some writers put a line break after a pickle.
                    if cursor.peek(1)?.first().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                        cursor.set_position(cursor.position() + 1);
                    }
                }
                // Only joblib skips the bytes of arrays: any other loader executes them.
                Err(error) if start == 0 && matches!(error.fault(), Fault::Unsupported { .. }) => {
                    cursor.set_position(start);
                    let mut bytes = Vec::new();
                    cursor.read_to_end(&mut bytes)?;
                    let read = Pickle::of_joblib(&bytes, None, &self.options);
                    if let Ok((pickle, _)) = &read {
                        self.add_pickle(member, pickle);
                    }
                    self.add_damaged_pickle(source, start, member, false)?;
                    match read {
                        Ok((_, used)) => cursor.set_position(start + used as u64),
                        Err(error) => return self.leave_rest_out(member, start, error),
                    }
                }
                Err(error) if error.is_io() => return Err(error),
                Err(error) => {
                    let damaged = self.add_damaged_pickle(source, start, member, false)?;
                    if start == 0 && damaged != Damaged::HasCalls {
                        let is_inert = matches!(damaged, Damaged::IsNone | Damaged::HasNames);
                        if depth > 0 && is_inert && is_text(source)? {
                            return Ok(()); // notes, and numbers of versions
                        }
                        self.found.is_other_kind |=
                            depth == 0 && first[0] != 0x80 && damaged != Damaged::HasNoNames;
                    }
                    // What else it is says more, if nothing shows that it is a pickle.
                    let is_pickle = start > 0 || first[0] == 0x80 || damaged != Damaged::IsNone;
                    let error = if is_pickle { error } else { Fault::bad_magic("NPY", &first) };
                    return self.leave_rest_out(member, start, error);
                }
            }
        }
        Ok(())
    }

    /// Skips the header of an array, and its elements if they are not objects; returns whether what follows can be looked at.
    fn skip_array(
        &mut self,
        source: &Arc<dyn ReadAt>,
        cursor: &mut Cursor<'_>,
        member: &str,
    ) -> Result<bool> {
        let start = cursor.position();
        let header = NpyReader::expecting(&mut *cursor, Expected::NPY, &self.options).map(|array| {
            let bytes = crate::shape::Shape::from(array.shape()).byte_len(array.dtype().item_size());
            (array.data_offset(), bytes.filter(|_| !array.dtype().has_object()).unwrap_or(0))
        });
        match header {
            Ok((data, bytes)) => {
                let end = start.saturating_add(data).saturating_add(bytes);
                cursor.set_position(end);
                if end > source.size()? {
                    let error = malformed(FilePart::Header, "it declares more bytes than the file has");
                    self.leave_rest_out(member, start, error)?;
                    return Ok(false);
                }
                Ok(true)
            }
            Err(error) if error.is_io() => Err(error),
            // NumPy may read it all the same, and what follows as a pickle.
            Err(error) => {
                cursor.set_position(start);
                let line = cursor.peek(1 << 16)?;
                let end = line.iter().position(|byte| *byte == b'\n').map_or(line.len(), |end| end + 1);
                self.add_damaged_pickle(source, start + end as u64, member, false)?;
                self.leave_rest_out(member, start, error)?;
                Ok(false)
            }
        }
    }

    /// Scans the members of an archive.
    fn scan_archive(&mut self, source: &Arc<dyn ReadAt>, place: &str, depth: u32) -> Result<()> {
        let archive = match self.options.open_npz_source(Arc::clone(source)) {
            Ok(archive) => archive,
            Err(error) if error.is_io() => return Err(error),
            Err(error) => return self.leave_rest_out(place, 0, error),
        };
        if archive.prefix_len() > 0 {
            self.leave_out(place, 0, malformed(FilePart::Archive, "other bytes are before its first member"));
        }
        for (index, member) in archive.members().iter().enumerate() {
            let name = match place {
                "" => member.file_name().to_owned(),
                place => format!("{place}/{}", member.file_name()),
            };
            if let Err(error) = self.scan_member(&archive, index, &name, depth) {
                if error.is_io() {
                    return Err(error);
                }
                self.leave_out(&name, 0, error);
            }
        }
        Ok(())
    }

    fn scan_member(&mut self, archive: &NpzFile, index: usize, name: &str, depth: u32) -> Result<()> {
        let member = &archive.members()[index];
        match archive.unaccounted_len(index)? {
            0 => {}
            gap => {
                let reason = format!("{gap} bytes follow it that belong to no member");
                self.leave_out(name, member.compressed_size(), malformed(FilePart::Archive, reason));
            }
        }
        if self.recognizers.iter().any(|recognizer| recognizer.is_member_of_numbers(archive, index)) {
            return Ok(());
        }
        // Of an array of numbers, the header says all.
        if let Ok((found, data_offset)) = archive.peek_with_offset(index)
            && let Some(payload) = found.header.payload_len()
            && (data_offset as u64).checked_add(payload) == Some(member.size())
        {
            return Ok(());
        }
        self.spend_content(member.size())?;
        let file = create_unnamed_file(&temporary_folder())?;
        // Python has loaded what is before the damage when it finds it.
        let copied = archive.copy_raw(index, &file);
        let source: Arc<dyn ReadAt> = Arc::new(LocalFile(file));
        self.scan_source(&source, name.to_owned(), depth + 1)?;
        copied.map(drop)
    }

    fn scan_compressed(
        &mut self,
        source: &Arc<dyn ReadAt>,
        compression: FileCompression,
        member: &str,
        depth: u32,
    ) -> Result<bool> {
        let mut packed = Vec::new();
        Cursor::new(source).read_to_end(&mut packed)?;
        let most = self.content_budget.min(self.options.get_limits().get_payload());
        let (mut content, limits) = (Vec::new(), self.options.get_limits().payload(most));
        let (unpacked, rest) = compression.unpack_into(&mut content, &packed, &limits);
        if content.is_empty() && unpacked.is_err() {
            // A pickle may begin in the same way.
            if matches!(packed[..], [0x78 | b'B' | b'Z' | 0x5D, ..]) {
                return Ok(false);
            }
            self.add_damaged_pickle(source, 0, member, false)?;
        }
        drop(packed);
        self.spend_content(content.len() as u64)?;
        let content: Arc<dyn ReadAt> = Arc::new(InMemory(content));
        self.scan_source(&content, member.to_owned(), depth + 1)?;
        match (unpacked, rest) {
            (Err(error), _) => self.leave_out(member, 0, error),
            (Ok(()), 0) => {}
            (Ok(()), rest) => {
                let reason = format!("{rest} bytes follow what is compressed");
                self.leave_out(member, 0, malformed(FilePart::Content, reason));
            }
        }
        Ok(true)
    }

    fn scan_tar(&mut self, source: &Arc<dyn ReadAt>, place: &str, depth: u32) -> Result<()> {
        let (len, mut at) = (source.size()?, 0);
        let mut cursor = Cursor::new(source);
        while at < len {
            cursor.set_position(at);
            let block = cursor.peek(tar::BLOCK_LEN)?;
            if block.iter().all(|byte| *byte == 0) {
                at += block.len() as u64;
                continue;
            }
            let start = at + tar::BLOCK_LEN as u64;
            let Some((entry, end)) = tar::entry(&block)
                .and_then(|entry| start.checked_add(entry.len).map(|end| (entry, end)))
                .filter(|(_, end)| *end <= len)
            else {
                let error = malformed(FilePart::Archive, "it is neither an entry of a tar file nor its end");
                return self.leave_rest_out(place, at, error);
            };
            let name = if place.is_empty() { entry.name } else { format!("{place}/{}", entry.name) };
            let part: Arc<dyn ReadAt> =
                Arc::new(PartOfFile { source: Arc::clone(source), range: start..end });
            self.scan_source(&part, name, depth + 1)?;
            at = end.next_multiple_of(tar::BLOCK_LEN as u64);
        }
        Ok(())
    }

    /// Looks at an RA file, which has numbers only: the header says how long it is, also if they are compressed.
    fn scan_ra(&mut self, source: &Arc<dyn ReadAt>, member: &str) -> Result<()> {
        let len = source.size()?;
        let mut cursor = Cursor::new(source);
        let end = read_header(&mut Source::of(&mut cursor), Expected::RA, &self.options)
            .map(|(found, used)| found.stored_len().and_then(|stored| stored.checked_add(used as u64)));
        match end {
            Ok(Some(end)) if end == len => Ok(()),
            Ok(_) => self.leave_rest_out(
                member,
                0,
                malformed(FilePart::Header, "it declares another number of bytes than the file has"),
            ),
            Err(error) if error.is_io() => Err(error),
            Err(error) => self.leave_rest_out(member, 0, error),
        }
    }

    /// Adds what loading a pickle would do.
    fn add_pickle(&mut self, member: &str, pickle: &Pickle) {
        let mut extension_codes = Vec::new();
        for code in pickle.extension_codes() {
            if !extension_codes.contains(&code) {
                extension_codes.push(code);
            }
        }
        let names: Vec<_> = pickle
            .globals()
            .map(|global| ScannedName { name: dotted_name(global), is_usual: global.is_usual_in_data() })
            .collect();
        let mut calls = Vec::new();
        for object in pickle.calls() {
            let View::Call(call) = object.view() else { continue };
            if call.global().is_some_and(|global| global.is_usual_in_data()) {
                continue;
            }
            let call = ScannedCall { function: preview(call.callable()), text: preview(object) };
            match self.text_budget.checked_sub((call.function.len() + call.text.len()) as u64) {
                Some(rest) => self.text_budget = rest,
                None => {
                    self.leave_out(member, 0, unsupported("it makes more calls than are listed"));
                    break;
                }
            }
            calls.push(call);
        }
        self.add(ScannedPickle { member: member.to_owned(), count: 1, names, extension_codes, calls });
    }

    fn add(&mut self, pickle: ScannedPickle) {
        match self.found.pickles.last_mut() {
            Some(last)
                if pickle.calls.is_empty()
                    && last.calls.is_empty()
                    && last.member == pickle.member
                    && last.names == pickle.names
                    && last.extension_codes == pickle.extension_codes =>
            {
                last.count += 1;
            }
            _ => self.found.pickles.push(pickle),
        }
    }

    /// Adds the names in a pickle up to where it is damaged: Python finds the damage after it has executed what comes before.
    ///
    /// Nothing is added of words in a text that only look like names. If `needs_calls`, names that are not called are not added either.
    fn add_damaged_pickle(
        &mut self,
        source: &Arc<dyn ReadAt>,
        start: u64,
        member: &str,
        needs_calls: bool,
    ) -> Result<Damaged> {
        let (mut bytes, mut cursor) = (Vec::new(), Cursor::new(source));
        cursor.set_position(start);
        // Nearly all files that are not pickles are damaged at their beginning.
        let mut found = Default::default();
        for most in [1 << 16, MAX_DAMAGED_LEN] {
            let came = cursor.by_ref().take((most - bytes.len()) as u64).read_to_end(&mut bytes)?;
            if came > 0 {
                found = effects(&bytes);
            }
            if found.end != Some(End::Truncated) {
                break;
            }
        }
        let is_name = |(module, name): &(String, String)| is_importable(module) && is_importable(name);
        // All bytes have been read, unless there are very many.
        let is_truncated = found.end == Some(End::Truncated) && bytes.len() < MAX_DAMAGED_LEN;
        let is_certain = is_truncated || found.end == Some(End::Damaged);
        let is_plausible = match found.has_calls {
            false if needs_calls => false,
            false if is_printable(&bytes) => found.names.iter().any(is_name),
            _ => !found.names.is_empty() || !found.extension_codes.is_empty(),
        };
        if !is_plausible {
            return Ok(if is_certain { Damaged::IsNone } else { Damaged::HasNoNames });
        }
        let is_old = !matches!(bytes[..], [0x80, 3..=5, ..]);
        let names = found.names.iter().map(|(module, name)| {
            let (module, name) = if is_old { python_3_name(module, name) } else { (&**module, &**name) };
            ScannedName {
                name: shortened(&format!("{module}.{name}")),
                is_usual: is_usual_name(module, name),
            }
        });
        let (member, names) = (member.to_owned(), names.collect::<Vec<_>>());
        let extension_codes = found.extension_codes;
        // What was read of the same bytes in another way may have said it.
        if let Some(last) = self.found.pickles.last()
            && last.member == member
            && names.iter().all(|name| last.names.contains(name))
            && extension_codes.is_empty()
        {
            return Ok(Damaged::HasNames);
        }
        self.add(ScannedPickle { member, count: 1, names, extension_codes, calls: Vec::new() });
        Ok(if found.has_calls { Damaged::HasCalls } else { Damaged::HasNames })
    }

    fn spend_content(&mut self, count: u64) -> Result<()> {
        match self.content_budget.checked_sub(count) {
            Some(rest) => {
                self.content_budget = rest;
                Ok(())
            }
            None => Err(unsupported("it has more content than is decompressed for a file of this length")),
        }
    }

    fn leave_out(&mut self, member: &str, offset: u64, reason: Error) {
        let reason = if member.is_empty() { reason } else { reason.at_member(member) };
        self.found.unseen.push(Unseen { member: member.to_owned(), offset, reason });
    }

    fn leave_rest_out(&mut self, member: &str, offset: u64, reason: Error) -> Result<()> {
        self.leave_out(member, offset, reason);
        Ok(())
    }
}

/// What is known of a damaged pickle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damaged {
    /// No unpickler takes it for a pickle.
    IsNone,
    HasNoNames,
    HasNames,
    HasCalls,
}

fn unsupported(reason: &str) -> Error {
    Fault::Unsupported { part: FilePart::Pickle, reason: reason.into() }.into()
}

/// Whether all of a source is text.
fn is_text(source: &Arc<dyn ReadAt>) -> Result<bool> {
    /// Notes are short.
    const MAX_TEXT_LEN: usize = 16 << 20;
    let mut bytes = Vec::new();
    let came = Cursor::new(source).take(MAX_TEXT_LEN as u64 + 1).read_to_end(&mut bytes)?;
    Ok(came <= MAX_TEXT_LEN && is_printable(&bytes))
}

/// Whether bytes are text without control characters.
fn is_printable(bytes: &[u8]) -> bool {
    let is_allowed = |char: char| !char.is_control() || char.is_ascii_whitespace();
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_allowed))
}

/// Whether Python could find a module or a function of this name.
fn is_importable(name: &str) -> bool {
    name.split('.').all(|part| {
        !part.is_empty() && part.chars().all(|char| char.is_alphanumeric() || matches!(char, '_' | '-'))
    })
}

fn malformed(part: FilePart, reason: impl Into<String>) -> Error {
    Fault::Malformed { part, reason: reason.into(), offset: None }.into()
}
