//! Inputs: each is opened once, and never again by its path.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use flate2::read::MultiGzDecoder;
use ndarray_io::bytes::{Folder, LocalFile, LocalFolder, ReadAt, fill_at};
use ndarray_io::dask::NpyStack;
use ndarray_io::{NpyFile, NpyReader, NpzFile, ReadOptions};

use super::failure::{Failure, at, with_advice};
use super::formats::Format;
use super::growth;
use super::remote;

/// A file, a pipe, a folder of files that form one array, or an object in a store.
pub(crate) struct Input {
    /// What messages call it: the path that the user gave, or a URL without its query.
    name: PathBuf,
    content: InputContent,
    /// Whether it is also the output, and is locked.
    is_output: bool,
    /// A copy of an object, where a reader needs a file.
    copy: OnceLock<File>,
}

enum InputContent {
    Bytes {
        bytes: Arc<dyn ReadAt>,
        /// The first few bytes.
        first: Vec<u8>,
    },
    Folder(Arc<dyn Folder>),
}

impl Input {
    /// Opens a file, a folder, an object, or standard input (`-`). What comes through a pipe is copied to a file without a name, so that
    /// every verb accepts it; and what is compressed by gzip is decompressed there.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Self::open_packed(path)?.gunzipped()
    }

    /// Returns what is in a file that is compressed by gzip; any other input as it is.
    pub(crate) fn gunzipped(self) -> Result<Self, Failure> {
        // As for pickles in `scan`: a small file does not fill a disk.
        const MAX_BYTES: u64 = 1 << 30;
        const MAX_TIMES: u64 = 64;
        if !self.first_bytes().starts_with(&[0x1F, 0x8B]) {
            return Ok(self);
        }
        let max_bytes = MAX_BYTES.max(self.size()?.saturating_mul(MAX_TIMES));
        let mut file = temporary_file()?;
        let packed = SequentialReader::new(self.bytes()?);
        let bytes = MultiGzDecoder::new(io::BufReader::with_capacity(1 << 20, packed));
        let count = io::copy(&mut bytes.take(max_bytes + 1), &mut file);
        match count.map_err(|error| self.at(format!("damaged gzip data: {error}")))? {
            count if count > max_bytes => {
                Err(self.at(format!("more than {max_bytes} bytes; decompress it first, with gunzip")))
            }
            _ => Self::of_file(file, &self.name),
        }
    }

    /// Opens an input as `open` does, but does not decompress it.
    pub(crate) fn open_packed(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Self::from_pipe(path, &mut Self::stdin()?);
        }
        if remote::is_url(path) {
            let (name, source) = remote::open(path)?;
            return match source {
                remote::RemoteObject::Bytes(bytes) => Self::of_bytes(name, bytes),
                remote::RemoteObject::Folder(folder) => Ok(Self::new(name, InputContent::Folder(folder))),
            };
        }
        if is_stack(path) {
            return Ok(Self::new(
                path.to_owned(),
                InputContent::Folder(Arc::new(LocalFolder(path.to_owned()))),
            ));
        }
        let mut file = File::open(path).map_err(|error| open_error(path, error))?;
        if path.is_dir() {
            return Err(at(path, "it is a folder, but not a stack: name the files in it".into()));
        }
        if file.metadata()?.is_file() { Self::of_file(file, path) } else { Self::from_pipe(path, &mut file) }
    }

    /// Returns standard input, once.
    pub(crate) fn stdin() -> Result<Box<dyn Read>, Failure> {
        static IS_STDIN_USED: AtomicBool = AtomicBool::new(false);
        match IS_STDIN_USED.swap(true, Ordering::Relaxed) {
            true => Err("standard input can be used only once".into()),
            false => Ok(Box::new(io::stdin().lock())),
        }
    }

    /// Wraps an open file; its path is only a name.
    pub(crate) fn of_file(file: File, path: &Path) -> Result<Self, Failure> {
        Self::of_bytes(path.to_owned(), Arc::new(LocalFile(file)))
    }

    /// Wraps the file that is to be replaced.
    pub(crate) fn of_output(file: File, path: &Path) -> Result<Self, Failure> {
        Ok(Self { is_output: true, ..Self::of_file(file, path)? })
    }

    /// Whether the input is also the output, which replaces it.
    pub(crate) fn is_output(&self) -> bool {
        self.is_output
    }

    pub(crate) fn from_pipe(path: &Path, pipe: &mut dyn Read) -> Result<Self, Failure> {
        let mut file = temporary_file()?;
        io::copy(pipe, &mut file).map_err(|error| at(path, error.into()))?;
        Self::of_file(file, path)
    }

    fn of_bytes(name: PathBuf, bytes: Arc<dyn ReadAt>) -> Result<Self, Failure> {
        let first = read_up_to(&*bytes, 0, 16).map_err(|error| error.at_path(&name))?;
        growth::add_input(bytes.size().unwrap_or(0));
        Ok(Self::new(name, InputContent::Bytes { bytes, first }))
    }

    fn new(name: PathBuf, content: InputContent) -> Self {
        Self { name, content, is_output: false, copy: OnceLock::new() }
    }

    /// Returns what messages call the input.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Adds the name to an error, unless its message begins with it.
    pub(crate) fn at(&self, failure: impl Into<Failure>) -> Failure {
        at(&self.name, failure.into())
    }

    /// Returns the first few bytes; none of a folder.
    pub(crate) fn first_bytes(&self) -> &[u8] {
        match &self.content {
            InputContent::Bytes { first, .. } => first,
            InputContent::Folder(_) => &[],
        }
    }

    /// Detects the format from the first bytes; `None` if they are those of no array.
    pub(crate) fn detected_format(&self) -> Option<Format> {
        match &self.content {
            InputContent::Bytes { first, .. } => Format::detect(first),
            InputContent::Folder(_) => Some(Format::Stack),
        }
    }

    /// Returns the format of an array file.
    ///
    /// If the first bytes are truncated or unknown, the extension decides, so that the reader of that format can report the error.
    pub(crate) fn format(&self) -> Format {
        let by_name = || Format::of_input(&self.name).filter(|format| format.has_header());
        self.detected_format().or_else(by_name).unwrap_or(Format::Npy)
    }

    /// Returns the bytes; an error for a folder.
    pub(crate) fn bytes(&self) -> Result<Arc<dyn ReadAt>, Failure> {
        match &self.content {
            InputContent::Bytes { bytes, .. } => Ok(Arc::clone(bytes)),
            InputContent::Folder(_) => Err(self.at("it is a folder")),
        }
    }

    /// Returns the size in bytes, if it is one file.
    pub(crate) fn size(&self) -> Result<u64, Failure> {
        Ok(self.bytes()?.size().map_err(|error| error.at_path(&self.name))?)
    }

    /// Whether it is in an object store.
    pub(crate) fn is_remote(&self) -> bool {
        match &self.content {
            InputContent::Bytes { bytes, .. } => bytes.file().is_none(),
            InputContent::Folder(_) => remote::is_url(&self.name),
        }
    }

    /// Returns the open file, at its beginning, for what reads from front to back. An object is copied first.
    pub(crate) fn file(&self) -> Result<File, Failure> {
        let bytes = self.bytes()?;
        let mut file = match (bytes.file(), self.copy.get()) {
            (Some((file, 0)), _) => file.try_clone(),
            (_, Some(copy)) => copy.try_clone(),
            _ => {
                let copy = temporary_file()?;
                let mut bytes =
                    io::BufReader::with_capacity(16 << 20, SequentialReader::new(Arc::clone(&bytes)));
                io::copy(&mut bytes, &mut &copy).map_err(|error| self.at(error))?;
                self.copy.get_or_init(|| copy).try_clone()
            }
        }
        .map_err(|error| self.at(error))?;
        file.rewind().map_err(|error| self.at(error))?;
        Ok(file)
    }

    /// Opens an NPY or RA file for partial reads.
    pub(crate) fn array(&self, options: &ReadOptions) -> Result<NpyFile, Failure> {
        let opened = options.open_source(self.bytes()?);
        Ok(opened.map_err(|error| error.at_path(&self.name))?.with_path(&self.name))
    }

    /// Opens an RA file for reading from front to back.
    pub(crate) fn ra_reader(&self, options: &ReadOptions) -> Result<NpyReader<File>, Failure> {
        Ok(options.ra_reader(self.file()?).map_err(|error| error.at_path(&self.name))?)
    }

    /// Opens an archive.
    pub(crate) fn npz(&self, options: &ReadOptions) -> Result<NpzFile, Failure> {
        let opened = options.open_npz_source(self.bytes()?);
        Ok(opened.map_err(|error| error.at_path(&self.name))?.with_path(&self.name))
    }

    /// Opens what is left of an archive whose directory is damaged.
    pub(crate) fn damaged_npz(&self, options: &ReadOptions) -> Result<NpzFile, Failure> {
        let opened = NpzFile::salvage(self.bytes()?, options);
        Ok(opened.map_err(|error| error.at_path(&self.name))?.with_path(&self.name))
    }

    /// Opens a folder of files that form one array.
    pub(crate) fn stack(&self, options: &ReadOptions) -> Result<NpyStack, Failure> {
        match &self.content {
            InputContent::Folder(folder) => Ok(NpyStack::from_folder(Arc::clone(folder), options)?),
            InputContent::Bytes { .. } => Err(self.at("it is not a folder")),
        }
    }
}

/// Returns the error for a path that cannot be opened, and what may have been meant by it.
fn open_error(path: &Path, error: io::Error) -> Failure {
    let is_missing = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let failure = at(path, error.into());
    let Some(text) = path.to_str().filter(|_| is_missing) else { return failure };
    if let Some(rest) = text.strip_prefix("file://") {
        return with_advice(failure, &format!("a path has no scheme: {rest}"));
    }
    if text.contains("://") {
        return with_advice(failure, "URLs are those of s3, gs, az, http and https");
    }
    // A member or a field that was written like a file: a.npz/weights, a.npz:weights.
    let parted = |at: usize| (Path::new(&text[..at]), &text[at + 1..]);
    let (file, part) = match text.rfind([':', '/']).map(parted) {
        Some((file, part)) if file.is_file() && !part.is_empty() => (file, part),
        _ => return failure,
    };
    let option = if Format::of_extension(file) == Some(Format::Npz) { "--member" } else { "--field" };
    with_advice(failure, &format!("{option} selects a part: {} {option} {part}", file.display()))
}

/// The bytes of a source, read from front to back.
pub(crate) struct SequentialReader {
    bytes: Arc<dyn ReadAt>,
    position: u64,
}

impl SequentialReader {
    pub(crate) fn new(bytes: Arc<dyn ReadAt>) -> Self {
        Self { bytes, position: 0 }
    }
}

impl Read for SequentialReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read_at(into, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

/// Creates a file without a name, in the folder for temporary files.
pub(crate) fn temporary_file() -> Result<File, Failure> {
    tempfile::tempfile().map_err(|error| at(&std::env::temp_dir(), error.into()))
}

/// Returns up to `len` bytes from an offset.
pub(crate) fn read_up_to(bytes: &dyn ReadAt, from: u64, len: usize) -> ndarray_io::Result<Vec<u8>> {
    let mut all = vec![0; len];
    let have = fill_at(bytes, &mut all, from)?;
    all.truncate(have);
    Ok(all)
}

/// Whether a path leads to what can be read once: a pipe or a device.
pub(crate) fn is_pipe_or_device(path: &Path) -> bool {
    !remote::is_url(path)
        && fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Whether a folder is a stack: it has an `info` file, or at least the first part.
pub(crate) fn is_stack(path: &Path) -> bool {
    path.is_dir() && (has_stack_info(path) || path.join("0.npy").is_file())
}

/// Whether a folder has a file `info` that begins like a pickle of protocol 2 or later.
fn has_stack_info(path: &Path) -> bool {
    let (mut first, info) = ([0], path.join("info"));
    // A pipe would wait for a writer.
    info.is_file()
        && File::open(info).is_ok_and(|mut file| file.read_exact(&mut first).is_ok())
        && first == [0x80]
}

/// Whether a file in a folder is an array file by its name.
pub(crate) fn has_array_extension(path: &Path) -> bool {
    Format::of_input(path).is_some_and(Format::has_header)
}

/// Calls `take` with each of the paths, and in place of a folder with those files in it that `is_wanted`, in order. A folder with the `info` of a stack
/// counts as one file. What cannot be listed is passed on as an error, and the rest goes on.
pub(crate) fn for_each_file(
    paths: &[PathBuf],
    is_wanted: fn(&Path) -> bool,
    mut take: impl FnMut(Result<&Path, Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for path in paths {
        let is_folder = path != Path::new("-") && fs::metadata(path).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || has_stack_info(path) {
            take(Ok(path))?;
            continue;
        }
        let mut is_any = false;
        for_each_in_folder(path, is_wanted, &mut |found| {
            is_any = true;
            take(found)
        })?;
        if !is_any {
            take(Err(at(path, "there are no array files in the folder".into())))?;
        }
    }
    Ok(())
}

/// What takes each file of a folder.
type TakeFile<'a> = dyn FnMut(Result<&Path, Failure>) -> Result<(), Failure> + 'a;

fn for_each_in_folder(
    folder: &Path,
    is_wanted: fn(&Path) -> bool,
    take: &mut TakeFile<'_>,
) -> Result<(), Failure> {
    let mut entries = Vec::new();
    let listed = fs::read_dir(folder).and_then(|list| {
        for entry in list {
            entries.push(entry?.path());
        }
        Ok(())
    });
    if let Err(error) = listed {
        take(Err(at(folder, error.into())))?;
    }
    entries.sort();
    for path in entries {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        if has_stack_info(&path) {
            take(Ok(&path))?;
        } else if is_folder {
            for_each_in_folder(&path, is_wanted, take)?; // links to folders are not followed: they may form a cycle
        } else if path.is_file() && is_wanted(&path) {
            take(Ok(&path))?;
        }
    }
    Ok(())
}
