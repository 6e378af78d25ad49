//! `ndio`: look at, check and convert array files from the shell. It is made of the library's public functions alone: a verb is
//! a file.

mod blocks;
mod convert;
mod csv;
mod diff;
mod exact;
mod failure;
mod info;
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
mod show;
mod stats;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use failure::{Failure, at, is_closed, told};

/// Look at, check and convert array files: NumPy's NPY and NPZ, and RA.
#[derive(Parser)]
#[command(name = "ndio", version)]
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
    Cat(join::Files),
    /// Put NPY files of one shape one behind the other, along a new axis
    Stack(join::Files),
    Split(join::Split),
    Pack(pack::Pack),
    Unpack(pack::Unpack),
    Diff(diff::Arguments),
    Plot(plot::Arguments),
    Verify(verify::Arguments),
    Query(query::Arguments),
    Json(exact::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

fn main() -> ExitCode {
    let program = Program::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut run = |verb| match verb {
        Verb::Info(arguments) => info::run(&arguments, &mut out),
        Verb::Show(arguments) => show::run(&arguments, &mut out),
        Verb::Convert(arguments) => convert::run(&arguments, &mut out),
        Verb::Cat(arguments) => join::cat(&arguments),
        Verb::Stack(arguments) => join::stack(&arguments),
        Verb::Split(arguments) => join::split(&arguments, &mut out),
        Verb::Pack(arguments) => pack::pack(&arguments),
        Verb::Unpack(arguments) => pack::unpack(&arguments, &mut out),
        Verb::Diff(arguments) => diff::run(&arguments, &mut Unread::new(&mut out)),
        Verb::Plot(arguments) => plot::run(&arguments, &mut out),
        Verb::Verify(arguments) => verify::run(&arguments, &mut Unread::new(&mut out)),
        Verb::Query(arguments) => query::run(&arguments, &mut out),
        Verb::Json(arguments) => exact::run(&arguments, &mut out),
        Verb::Completions(arguments) => manual::completions(&arguments, &mut out),
        Verb::Man(arguments) => manual::man(&arguments, &mut out),
    };
    let done = password::find(&program.password).and_then(|()| run(program.verb));
    let done = done.and_then(|code| match out.flush() {
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
