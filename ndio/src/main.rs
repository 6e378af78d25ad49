//! `ndio`: inspects, checks and converts array files from the shell.
//!
//! It uses only the library's public API. Each subcommand has its own module.

#![forbid(unsafe_code)]

mod cells;
mod convert;
mod csv;
mod diff;
#[cfg(feature = "oracle")]
mod exact;
mod failure;
mod info;
mod input;
mod interrupt;
mod join;
mod long_doubles;
mod manual;
mod open;
mod pack;
mod password;
mod plot;
mod progress;
mod query;
mod raw;
mod reading;
mod refs;
mod show;
mod slice;
mod source;
mod stats;
mod verify;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use failure::{Failure, at, is_closed, told};

/// The exit codes follow the convention of `diff`.
const EXIT_CODES: &str = "A file may be - for standard input, a pipe, or a URL: s3://, gs://, az://, https://. ndio help VERB has examples.

Exit codes:
  0  success; the files are equal, valid, complete
  1  diff: the files differ; verify: a file is damaged; info: a file is truncated
  2  an error: a file could not be read or written";

/// Look at, check and convert array files: NumPy's NPY and NPZ, and RA.
#[derive(Parser)]
#[command(name = "ndio", version, after_help = EXIT_CODES)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reading: reading::Options,
}

#[derive(Subcommand)]
enum Verb {
    Info(info::Arguments),
    Show(show::Arguments),
    Convert(convert::Arguments),
    /// Concatenate NPY files along an existing axis
    #[command(after_help = "Example:\n  ndio cat x.npy x.npy --axis 1 -o wide.npy")]
    Cat(join::Files),
    /// Stack NPY files of equal shape along a new axis
    #[command(after_help = "Example:\n  ndio stack x.npy x.npy -o both.npy")]
    Stack(join::Files),
    Split(join::Split),
    Pack(pack::Pack),
    Unpack(pack::Unpack),
    Refs(refs::Refs),
    Diff(diff::Arguments),
    Plot(plot::Arguments),
    Verify(verify::Arguments),
    Query(query::Arguments),
    // The exact form is for test oracles, so it is not listed in the help.
    #[cfg(feature = "oracle")]
    #[command(hide = true)]
    Json(exact::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl Verb {
    /// The input files; any of them may be standard input or a pipe.
    fn inputs(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Info(arguments) => arguments.inputs(),
            Self::Show(arguments) => arguments.inputs(),
            Self::Convert(arguments) => arguments.inputs(),
            Self::Cat(arguments) | Self::Stack(arguments) => arguments.inputs(),
            Self::Unpack(arguments) => arguments.inputs(),
            Self::Diff(arguments) => arguments.inputs(),
            Self::Plot(arguments) => arguments.inputs(),
            Self::Verify(arguments) => arguments.inputs(),
            Self::Query(arguments) => arguments.inputs(),
            #[cfg(feature = "oracle")]
            Self::Json(arguments) => arguments.inputs(),
            // These subcommands also use the file names that the user gave, so they replace pipes themselves.
            Self::Split(_) | Self::Pack(_) | Self::Refs(_) | Self::Completions(_) | Self::Man(_) => {
                Vec::new()
            }
        }
    }

    /// The output files. Only `convert` can write to a store.
    fn outputs(&self) -> Vec<&Path> {
        match self {
            Self::Cat(arguments) | Self::Stack(arguments) => arguments.outputs(),
            Self::Split(arguments) => arguments.outputs(),
            Self::Pack(arguments) => arguments.outputs(),
            Self::Unpack(arguments) => arguments.outputs(),
            Self::Refs(arguments) => arguments.outputs(),
            Self::Plot(arguments) => arguments.outputs(),
            _ => Vec::new(),
        }
    }

    /// Whether the subcommand reads only the parts of a remote object that it needs. Other subcommands
    /// download the object first.
    fn reads_parts(&self) -> bool {
        matches!(self, Self::Info(_) | Self::Show(_) | Self::Plot(_) | Self::Verify(_))
    }

    fn run(&self, out: &mut dyn Write) -> Result<u8, Failure> {
        match self {
            Self::Info(arguments) => info::run(arguments, out),
            Self::Show(arguments) => show::run(arguments, out),
            Self::Convert(arguments) => convert::run(arguments, out),
            Self::Cat(arguments) => join::cat(arguments, out),
            Self::Stack(arguments) => join::stack(arguments, out),
            Self::Split(arguments) => join::split(arguments, out),
            Self::Pack(arguments) => pack::pack(arguments),
            Self::Unpack(arguments) => pack::unpack(arguments, out),
            Self::Refs(arguments) => refs::refs(arguments, out),
            Self::Diff(arguments) => diff::run(arguments, &mut Unread::new(out)),
            Self::Plot(arguments) => plot::run(arguments, out),
            Self::Verify(arguments) => verify::run(arguments, &mut Unread::new(out)),
            Self::Query(arguments) => query::run(arguments, out),
            #[cfg(feature = "oracle")]
            Self::Json(arguments) => exact::run(arguments, out),
            Self::Completions(arguments) => manual::completions(arguments, out),
            Self::Man(arguments) => manual::man(arguments, out),
        }
    }
}

fn main() -> ExitCode {
    let Program { mut verb, reading } = Program::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let inputs = reading::set(&reading).and_then(|()| {
        let reads_parts = verb.reads_parts();
        verb.outputs().into_iter().try_for_each(open::refuse_url)?;
        input::without_pipes(verb.inputs(), reads_parts)
    });
    // The temporary files that replace pipes must outlive the subcommand.
    let done = inputs.and_then(|_files| verb.run(&mut out)).and_then(|code| match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code),
    });
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader of the pipe has closed it (`ndio show x.npy | head`), which is not an error.
        Err(failure) if is_closed(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "ndio: {}", told(&failure)); // nothing can be done if stderr fails
            ExitCode::from(2)
        }
    }
}

/// The output of a subcommand whose exit code matters: the subcommand runs to its end even if the reader
/// closes the pipe.
struct Unread<'a> {
    out: &'a mut dyn Write,
    is_closed: bool,
}

impl<'a> Unread<'a> {
    fn new(out: &'a mut dyn Write) -> Self {
        Self { out, is_closed: false }
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl Write for Unread<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.is_closed { Ok(bytes.len()) } else { self.out.write(bytes) };
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.is_closed { Ok(()) } else { self.out.flush() };
        self.unless_closed(flushed, ())
    }
}
