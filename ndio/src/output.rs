//! Outputs: one rule for every verb that writes.
//!
//! A regular file that exists is replaced only with `--force`; otherwise the file is created, and is an error if someone else has created
//! it. Pipes and devices are written. `-` is standard output. A file that is also the input is locked before it is read.

use std::fs::File;
use std::io::{self, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};

use ndarray_io::WriteOptions;
use ndarray_io::file::FileReplacement;

use super::failure::{Failure, at};
use super::input::{Input, temporary_file};
use super::remote;

/// Where a result is written to.
pub(crate) struct Output {
    path: PathBuf,
    force: bool,
    /// The old file, if it is also the input.
    old: Option<FileReplacement>,
}

/// What a result is written with.
pub(crate) enum Sink<'a> {
    File(&'a File),
    Stream(&'a mut dyn Write),
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stream(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stream(out) => out.flush(),
        }
    }
}

/// Whether an output is text, which may be shown in a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Text,
    Binary,
}

impl Output {
    /// Returns an error if a regular file exists and is not to be replaced.
    pub(crate) fn new(path: &Path, force: bool) -> Result<Self, Failure> {
        let output = Self { path: path.to_owned(), force, old: None };
        if !output.is_path() {
            return Ok(output);
        }
        match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
            Some(_) if path.to_string_lossy().contains(":/") => Err(format!(
                "{}: it is not a URL of s3, gs, az, http or https, and a path has no scheme",
                path.display()
            )
            .into()),
            Some(folder) => {
                Err(format!("{}: there is no folder '{}'", path.display(), folder.display()).into())
            }
            None if !force && is_regular(path) => Err(already_exists_failure(path)),
            None => Ok(output),
        }
    }

    /// Opens an input. If it is the file that is to be replaced, it is locked from now on.
    pub(crate) fn open_input(&mut self, input: &Path) -> Result<Input, Failure> {
        if self.is_path() {
            refuse_in_stack(&self.path, input)?;
        }
        if !self.is_path() || !is_same_file(input, &self.path) {
            return Input::open(input);
        }
        let old = match self.old.take() {
            Some(old) => old,
            None => WriteOptions::new().begin_replacement(&self.path)?,
        };
        let file = self.old.insert(old).file().try_clone().map_err(|error| at(input, error.into()))?;
        Input::of_output(file, input)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Whether it is a path of the file system.
    pub(crate) fn is_path(&self) -> bool {
        !self.is_stdout() && !remote::is_url(&self.path)
    }

    /// Returns the path and how it is written, for functions of the library that do so; `None` if it is none, or is also the input.
    pub(crate) fn path_and_options(&self) -> Option<(&Path, WriteOptions)> {
        (self.is_path() && self.old.is_none()).then(|| (&*self.path, self.options()))
    }

    fn options(&self) -> WriteOptions {
        // What is not a regular file is written in place.
        let is_new = !self.force && (!self.path.exists() || is_regular(&self.path));
        WriteOptions::new().create_new(is_new)
    }

    /// Writes the result; `out` is standard output.
    pub(crate) fn write(
        self,
        out: &mut dyn Write,
        content: Content,
        make: impl FnOnce(Sink<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.is_stdout() {
            if content == Content::Binary && io::stdout().is_terminal() {
                return Err("binary data is not written to a terminal: name a file, or redirect it".into());
            }
            return make(Sink::Stream(out));
        }
        let (path, name) = (&self.path, PathBuf::from(remote::display_name(&self.path)));
        let named = |failure| with_output_name(failure, &name);
        if remote::is_url(path) {
            let mut file = temporary_file()?;
            make(Sink::File(&file)).map_err(named)?;
            file.rewind()?;
            return remote::write(path, self.force, &file);
        }
        let options = self.options();
        let make = |file: &File| make(Sink::File(file)).map_err(named);
        match self.old {
            Some(old) => old.replace_with(make),
            None => options.replace_file(path, make),
        }
    }
}

/// Returns the folder for intermediate files of an output, which have no names: where the result needs space as well.
pub(crate) fn temporary_folder_for(path: &Path) -> PathBuf {
    let is_elsewhere = path == Path::new("-") || remote::is_url(path) || path.exists() && !is_regular(path);
    if is_elsewhere { std::env::temp_dir() } else { folder_of(path) }
}

/// Adds the name of the output to an error of writing to it: those of reading have the name of the input.
fn with_output_name(failure: Failure, path: &Path) -> Failure {
    let failure = match failure.downcast::<io::Error>() {
        Ok(error) => ndarray_io::Error::from(*error).into(),
        Err(failure) => failure,
    };
    match failure.downcast::<ndarray_io::Error>() {
        Ok(error) if error.path().is_none() => error.at_path(path).into(),
        Ok(error) => error,
        Err(failure) => failure,
    }
}

/// Whether a path leads to a regular file, or to a link that leads nowhere.
pub(crate) fn is_regular(path: &Path) -> bool {
    match path.metadata() {
        Ok(metadata) => metadata.is_file(),
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

/// Whether two paths lead to one file.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Returns an error if a new file would be in the folder of a stack that is read.
pub(crate) fn refuse_in_stack(new: &Path, input: &Path) -> Result<(), Failure> {
    // An existing file may be a link to a file in another folder.
    let place = std::fs::canonicalize(new).ok();
    let folder = place.as_deref().map_or_else(|| folder_of(new), folder_of);
    match input.is_dir() && is_same_file(&folder, input) {
        true => Err(at(new, "the new file would be in the folder of the stack".into())),
        false => Ok(()),
    }
}

/// The error for a file that would be replaced.
pub(crate) fn already_exists_failure(path: &Path) -> Failure {
    let what = if crate::formats::Format::of_extension(path) == Some(crate::formats::Format::Npz) {
        "the whole archive; ndio pack --update changes members of one"
    } else {
        "it"
    };
    format!("{}: it already exists; --force replaces {what}", path.display()).into()
}

pub(crate) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
