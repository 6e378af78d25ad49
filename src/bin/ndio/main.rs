//! `ndio`: look at, check and convert array files from the shell. It is made of the library's public functions alone: a verb is
//! a file.

mod blocks;
mod convert;
mod csv;
mod diff;
mod exact;
mod info;
mod interrupt;
mod join;
mod manual;
mod open;
mod pack;
mod plot;
mod progress;
mod query;
mod raw;
mod show;
mod stats;
mod verify;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Look at, check and convert array files: NumPy's NPY and NPZ, and RA.
#[derive(Parser)]
#[command(name = "ndio", version, about, disable_help_subcommand = true)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
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

/// What went wrong, in one line.
type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let program = Program::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match program.verb {
        Verb::Info(arguments) => info::run(&arguments, &mut out),
        Verb::Show(arguments) => show::run(&arguments, &mut out),
        Verb::Convert(arguments) => convert::run(&arguments, &mut out),
        Verb::Cat(arguments) => join::cat(&arguments),
        Verb::Stack(arguments) => join::stack(&arguments),
        Verb::Split(arguments) => join::split(&arguments, &mut out),
        Verb::Pack(arguments) => pack::pack(&arguments),
        Verb::Unpack(arguments) => pack::unpack(&arguments, &mut out),
        Verb::Diff(arguments) => diff::run(&arguments, &mut out),
        Verb::Plot(arguments) => plot::run(&arguments, &mut out),
        Verb::Verify(arguments) => verify::run(&arguments, &mut out),
        Verb::Query(arguments) => query::run(&arguments, &mut out),
        Verb::Json(arguments) => exact::run(&arguments, &mut out),
        Verb::Completions(arguments) => manual::completions(&arguments, &mut out),
        Verb::Man(arguments) => manual::man(&arguments, &mut out),
    };
    let done = done.and_then(|code| Ok(out.flush().map(|()| code)?));
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

/// An error that names its file, once.
fn at(path: &Path, failure: Failure) -> Failure {
    let (text, name) = (failure.to_string(), path.display().to_string());
    if text.starts_with(&name) { failure } else { format!("{name}: {text}").into() }
}

/// An error as who uses the program wants it: the library's advice is that of options here.
fn told(failure: &Failure) -> String {
    const ADVICE: [(&str, &str); 10] = [
        (
            "the file has '|O', but the type to read holds '|O'; its Python objects are read as object::Object; DynArray takes them with \
             ReadOptions::allow_objects(true)",
            "it holds Python objects; --allow-objects takes them, as data",
        ),
        (
            "its Python objects are read as object::Object; DynArray takes them with ReadOptions::allow_objects(true)",
            "--allow-objects takes its objects, as data",
        ),
        ("the type to read holds", "what is asked for is"),
        ("; Casting::Unsafe does", "; --casting unsafe does"),
        ("Casting::SameKind does", "--casting same-kind does"),
        ("Casting::Safe does", "--casting safe does"),
        ("; NpzUpdate::replace puts another in its place", ""),
        ("; u8 reads it as it is", ""),
        (", and if an append was cut off, NpyWriter::append_with takes them up or removes them", ""),
        (", where it should end; ReadOptions::allow_trailing(true) passes over them", ""),
    ];
    let text = ADVICE.iter().fold(failure.to_string(), |text, (from, to)| text.replace(from, to));
    text.replace('\n', " ")
}

fn is_closed(failure: &(dyn std::error::Error + 'static)) -> bool {
    let is_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    let by_table = failure.downcast_ref::<::csv::Error>().map(::csv::Error::kind);
    failure.downcast_ref::<io::Error>().is_some_and(is_pipe)
        || matches!(by_table, Some(::csv::ErrorKind::Io(error)) if is_pipe(error))
}
