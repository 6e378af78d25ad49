//! `ndio`: look at, check and convert array files from the shell. It is made of the library's public functions alone: a verb is
//! a file.

mod blocks;
mod cells;
mod convert;
mod csv;
mod diff;
mod exact;
mod failure;
mod in_turn;
mod info;
mod input;
mod interrupt;
mod join;
mod manual;
mod open;
mod pack;
mod password;
mod plot;
mod progress;
mod query;
mod raw;
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

/// As `diff` has them.
const EXIT_CODES: &str = "A file may be - for standard input, a pipe, or a URL: s3://, gs://, az://, https://. ndio help VERB has examples.

Exit codes:
  0  done; the files are equal, sound, whole
  1  diff: they differ; verify: one is not sound; info: one is cut
  2  it could not be done, or not be read";

/// Look at, check and convert array files: NumPy's NPY and NPZ, and RA.
#[derive(Parser)]
#[command(name = "ndio", version, after_help = EXIT_CODES)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    password: password::Arguments,
}

#[derive(Subcommand)]
enum Verb {
    Info(info::Arguments),
    Show(show::Arguments),
    Convert(convert::Arguments),
    /// Put NPY files one behind the other, along an axis that they have
    #[command(after_help = "Example:\n  ndio cat x.npy x.npy --axis 1 -o wide.npy")]
    Cat(join::Files),
    /// Put NPY files of one shape one behind the other, along a new axis
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
    // The form that oracles compare, which few want.
    #[command(hide = true)]
    Json(exact::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl Verb {
    /// The files that are read, of which each may be standard input or a pipe.
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
            Self::Json(arguments) => arguments.inputs(),
            // Their files are more than bytes: names of what is made of them.
            Self::Split(_) | Self::Pack(_) | Self::Refs(_) | Self::Completions(_) | Self::Man(_) => {
                Vec::new()
            }
        }
    }

    /// New files, which no verb but `convert` puts into a store.
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

    /// Whether only what is needed of an object in a store is fetched. The others get all of it, as a file.
    fn reads_parts(&self) -> bool {
        matches!(self, Self::Info(_) | Self::Show(_) | Self::Plot(_) | Self::Verify(_))
    }

    fn run(&self, out: &mut dyn Write) -> Result<u8, Failure> {
        match self {
            Self::Info(arguments) => info::run(arguments, out),
            Self::Show(arguments) => show::run(arguments, out),
            Self::Convert(arguments) => convert::run(arguments, out),
            Self::Cat(arguments) => join::cat(arguments),
            Self::Stack(arguments) => join::stack(arguments),
            Self::Split(arguments) => join::split(arguments, out),
            Self::Pack(arguments) => pack::pack(arguments),
            Self::Unpack(arguments) => pack::unpack(arguments, out),
            Self::Refs(arguments) => refs::refs(arguments, out),
            Self::Diff(arguments) => diff::run(arguments, &mut Unread::new(out)),
            Self::Plot(arguments) => plot::run(arguments, out),
            Self::Verify(arguments) => verify::run(arguments, &mut Unread::new(out)),
            Self::Query(arguments) => query::run(arguments, out),
            Self::Json(arguments) => exact::run(arguments, out),
            Self::Completions(arguments) => manual::completions(arguments, out),
            Self::Man(arguments) => manual::man(arguments, out),
        }
    }
}

fn main() -> ExitCode {
    let Program { mut verb, password } = Program::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let inputs = password::find(&password).and_then(|()| {
        let reads_parts = verb.reads_parts();
        verb.outputs().into_iter().try_for_each(open::refuse_url)?;
        input::without_pipes(verb.inputs(), reads_parts)
    });
    // The files that were made of pipes stay until all is done.
    let done = inputs.and_then(|_files| verb.run(&mut out)).and_then(|code| match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code),
    });
    match done {
        Ok(code) => ExitCode::from(code),
        // Who reads has seen enough: `ndio show x.npy | head`.
        Err(failure) if is_closed(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "ndio: {}", told(&failure)); // there is nobody else to tell
            ExitCode::from(2)
        }
    }
}

/// The output of a verb whose exit code matters: the verb does its work to the end, even if the reader of a pipe has gone.
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
