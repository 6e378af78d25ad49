//! What Python would do to load the objects in files.
//!
//! [`scan`] looks for pickles wherever NumPy, pickle, joblib and PyTorch find them, and says what loading them would import and call.
//! Nothing is executed. It fails closed: what it cannot account for, byte by byte, is listed in [`Scan::unseen`].
//!
//! ```
//! use ndarray_io::bytes::InMemory;
//! use ndarray_io::ReadOptions;
//!
//! let pickle = InMemory(b"cposix\nsystem\n(S'true'\ntR.".to_vec());
//! let scan = ndarray_io::scan::scan(pickle, &ReadOptions::new(), &[])?;
//! assert!(scan.is_complete());
//! assert_eq!(scan.pickles[0].calls[0].text, "posix.system('true')");
//! # Ok::<(), ndarray_io::Error>(())
//! ```

mod cursor;
mod parts;
mod preview;
mod tar;

use std::sync::Arc;

use crate::NpzFile;
use crate::bytes::ReadAt;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use parts::Scanner;

/// What loading the objects of a file in Python would do, and what of the file was not looked at.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Scan {
    /// The pickles that were found, in their order.
    pub pickles: Vec<ScannedPickle>,
    /// What was not looked at. If this is empty, every byte of the file is part of a pickle, or of something that has no objects.
    pub unseen: Vec<Unseen>,
    /// Whether the file is none of the kinds that are known to have objects: neither an array, nor a pickle, nor an archive.
    pub is_other_kind: bool,
}

impl Scan {
    /// Returns whether all of the file was looked at.
    pub fn is_complete(&self) -> bool {
        self.unseen.is_empty()
    }

    /// Adds what was found in a part of the file, for instance in a file of a folder.
    pub fn append(&mut self, member: &str, part: Self) {
        let place =
            |inner: String| if inner.is_empty() { member.to_owned() } else { format!("{member}/{inner}") };
        let pickles = part.pickles.into_iter();
        self.pickles.extend(pickles.map(|pickle| ScannedPickle { member: place(pickle.member), ..pickle }));
        let unseen = part.unseen.into_iter();
        self.unseen.extend(unseen.map(|unseen| Unseen { member: place(unseen.member), ..unseen }));
    }
}

/// What Python would do to load one pickle, or several with equal effects that follow one another.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScannedPickle {
    /// The member of the archive that has the pickle: empty for the file itself, `a.zip/b.npy` for archives in archives.
    pub member: String,
    /// How many pickles these are.
    pub count: usize,
    /// What Python would look up, each name once.
    pub names: Vec<ScannedName>,
    /// The codes of Python's extension registry that it would look up.
    pub extension_codes: Vec<u32>,
    /// The calls of what only some programs need, in their order: those of [usual](ScannedName::is_usual) names are left out.
    pub calls: Vec<ScannedCall>,
}

/// A class or function that Python would look up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScannedName {
    /// The module and the name in it, separated by a dot.
    pub name: String,
    /// Whether it is [usual in data](crate::object::Global::is_usual_in_data).
    pub is_usual: bool,
}

/// A call that Python would make.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScannedCall {
    /// What is called, as Python shows it.
    pub function: String,
    /// The call with the beginning of its arguments, as Python shows it.
    pub text: String,
}

/// Something that a scan has not looked at.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unseen {
    /// The member of the archive, as in [`ScannedPickle::member`].
    pub member: String,
    /// Where it begins in the file or the member.
    pub offset: u64,
    /// Why it was not looked at.
    pub reason: Error,
}

/// Knows a kind of file that has no objects, or members of archives that have none.
pub trait Recognizer {
    /// Returns whether a source is, from its first byte to its last one, of this kind.
    ///
    /// # Errors
    ///
    /// Those of the source.
    fn has_no_objects(&self, source: &Arc<dyn ReadAt>) -> Result<bool> {
        let _ = source;
        Ok(false)
    }

    /// Returns whether a member of an archive has nothing but numbers, because the archive is of this kind.
    fn is_member_of_numbers(&self, archive: &NpzFile, index: usize) -> bool {
        let _ = (archive, index);
        false
    }
}

/// Says what Python would do to load the objects of a file, and what of the file was not looked at.
///
/// Pickles are found in NPY and NPZ files, files of `pickle`, `joblib` and `torch.save`, archives in archives, and in what of these is
/// compressed. Of other kinds, `recognizers` say that they have no objects.
///
/// # Errors
///
/// That of [`ReadAt::size`]. What cannot be read later, is malformed, exceeds a limit, or has to be decompressed by a method that is
/// not enabled, is in [`Scan::unseen`] instead.
pub fn scan<S: ReadAt + 'static>(
    source: S,
    options: &ReadOptions,
    recognizers: &[&dyn Recognizer],
) -> Result<Scan> {
    let source: Arc<dyn ReadAt> = Arc::new(source);
    let len = source.size()?;
    let mut scanner = Scanner::new(options, recognizers, len);
    // What was found before a source fails is not lost.
    if let Err(reason) = scanner.scan_source(&source, String::new(), 0) {
        scanner.found.unseen.push(Unseen { member: String::new(), offset: 0, reason });
    }
    Ok(scanner.found)
}
