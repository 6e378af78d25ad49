//! Streams of decoded content whose size is declared.

use std::io::Read;

use crate::codec::UnorderedCrc;
use crate::error::{Fault, FilePart, Result};
use crate::options::ReadOptions;
use crate::transfer::{ObservedReader, Observer, Source};
use crate::zip::Member;

/// What reads the content of a member.
pub(super) type ContentReader<'a> = dyn FnMut(&mut Source<'_>) -> Result<()> + 'a;

/// Invokes `call` with the decoded stream, and fails unless the stream has exactly the stated size.
pub(super) fn with_exact_size(
    stream: &mut dyn Read,
    member: &Member,
    options: &ReadOptions,
    checksum: &UnorderedCrc,
    call: &mut ContentReader<'_>,
) -> Result<()> {
    let mut observed = ObservedReader::new(stream, checksum);
    let mut source = Source::of(&mut observed);
    call(&mut source)?;
    // With trailing bytes allowed, `call` may stop early. Read the rest, so that the size can be verified.
    if options.allows_trailing() {
        source.skip(member.size.saturating_sub(source.position()))?;
    }
    // Try to read one more byte, to detect content that is too long.
    let is_longer = source.skip(1)? > 0;
    let made = source.position();
    if is_longer || made != member.size {
        let more = if is_longer { "or more " } else { "" };
        let (packed, size) = (member.packed, member.size);
        let reason =
            format!("expected {size} bytes of content, found {made} {more}in {packed} compressed bytes");
        return Err(Fault::Malformed { part: FilePart::Archive, reason, offset: None }.into());
    }
    Ok(())
}

impl Observer for UnorderedCrc {
    fn observe(&self, at: u64, bytes: &[u8]) {
        self.add(at, bytes);
    }
}
