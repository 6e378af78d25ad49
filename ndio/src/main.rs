//! `ndio`: inspects, checks and converts array files from the shell.
//!
//! It uses only the library's public API. Each verb has its own module, opens what it reads by `input`, chooses by `select`, and writes by
//! `output`.

#![forbid(unsafe_code)]

mod calc;
mod cells;
mod changes;
mod check;
mod convert;
mod count;
mod diff;
#[cfg(feature = "oracle")]
mod exact;
mod failure;
mod find;
mod form;
mod formats;
mod growth;
mod habits;
mod info;
mod input;
mod join;
mod list;
mod manual;
mod new;
mod other_formats;
mod output;
mod pack;
mod password;
mod places;
mod plot;
mod progress;
mod query;
mod reading;
mod refs;
mod remote;
mod repair;
mod rows;
mod scan;
mod select;
mod show;
mod source;
mod split;
mod stats;
mod summary;
mod terminal;
mod textconv;
mod unpack;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use failure::{Failure, is_broken_pipe, report};
use terminal::{EscapingWriter, JsonWriter, PipeCloseTolerantWriter, StdoutWriter};

/// The exit codes follow the convention of `diff`.
const AFTER_HELP: &str =
    "A file may be - (standard input), a pipe, a .gz, or a URL (s3://, gs://, az://, https://), with its
part: ck.npz:layer2.weight[17, 190:210], points.npy:pos.x, 'x.npy[5]'. Without a verb, one file is
info, several are ls. ndio VERB -h has examples, ndio --help exit codes and options for rare files.";

const AFTER_LONG_HELP: &str = "A file may be - for standard input, a pipe, a .gz, or a URL: s3://, gs://, az://, https://. ndio help VERB has
examples. A part is written with the file: ck.npz:layer2.weight[17, 190:210], points.npy:pos.x, 'x.npy[5]'. A file
without a verb is info, several files and folders are ls.

The password of encrypted members, for every command that reads archives:
  --password-file FILE       from the first line of a file
  --password-env VARIABLE    from an environment variable
  --ask-password             from the terminal

Exit codes:
  0  success; the files are equal, valid, complete
  1  diff: they differ; verify, unpack, repair: a file is damaged; check: one is not as expected;
     scan: not plain data; info, ls: a file is truncated
  2  an error: a file could not be read or written. With --json, it is {\"error\": {\"kind\", \"message\", \"file\", ...}}";

/// Look at, check and convert array files: NumPy's NPY and NPZ, and RA.
#[derive(Parser)]
#[command(name = "ndio", version, after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
struct Program {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    reading: reading::Options,
}

#[derive(Subcommand)]
enum Verb {
    Ls(list::Arguments),
    #[command(alias = "list")]
    Info(info::Arguments),
    #[command(aliases = ["print", "dump"])]
    Show(show::Arguments),
    Convert(convert::Arguments),
    /// Concatenate arrays along an existing axis
    #[command(aliases = ["concat", "concatenate", "join"], after_help = "Example:\n  ndio cat x.npy x.npy --axis 1 -o wide.npy")]
    Cat(join::JoinArguments),
    /// Stack arrays of equal shape along a new axis
    #[command(after_help = "Example:\n  ndio stack x.npy x.npy -o both.npy")]
    Stack(join::JoinArguments),
    Split(split::Split),
    Pack(pack::Pack),
    #[command(aliases = ["extract", "unzip"])]
    Unpack(unpack::Unpack),
    Repair(repair::Arguments),
    Refs(refs::Refs),
    #[command(aliases = ["compare", "cmp"])]
    Diff(diff::Arguments),
    Plot(plot::Arguments),
    #[command(alias = "eval")]
    Calc(calc::Arguments),
    #[command(alias = "describe")]
    Stats(stats::Arguments),
    #[command(aliases = ["unique", "value_counts"])]
    Count(count::Arguments),
    Find(find::Arguments),
    Check(check::Arguments),
    Verify(verify::Arguments),
    Scan(scan::Arguments),
    Query(query::Arguments),
    New(new::Arguments),
    Textconv(textconv::Arguments),
    // The exact form is for test oracles, so it is not listed in the help.
    #[cfg(feature = "oracle")]
    #[command(hide = true)]
    Json(exact::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl Verb {
    fn run(&self, out: &mut dyn Write) -> Result<u8, Failure> {
        match self {
            Self::Ls(arguments) => {
                list::run(arguments, &mut PipeCloseTolerantWriter::new(&mut JsonWriter(out)))
            }
            Self::Info(arguments) => {
                info::run(arguments, &mut PipeCloseTolerantWriter::new(&mut JsonWriter(out)))
            }
            Self::Show(arguments) => show::run(arguments, out),
            Self::Convert(arguments) => convert::run(arguments, out),
            Self::Cat(arguments) => join::cat(arguments, out),
            Self::Stack(arguments) => join::stack(arguments, out),
            Self::Split(arguments) => {
                split::split(arguments, &mut PipeCloseTolerantWriter::new(&mut EscapingWriter(out)))
            }
            Self::Pack(arguments) => pack::pack(arguments, out),
            Self::Unpack(arguments) => {
                unpack::unpack(arguments, &mut PipeCloseTolerantWriter::new(&mut EscapingWriter(out)))
            }
            Self::Repair(arguments) => repair::run(arguments, out),
            Self::New(arguments) => new::run(arguments, out),
            Self::Textconv(arguments) => textconv::run(arguments, out),
            Self::Refs(arguments) => refs::refs(arguments, out),
            Self::Diff(arguments) => diff::run(arguments, &mut PipeCloseTolerantWriter::new(out)),
            Self::Plot(arguments) => plot::run(arguments, out),
            Self::Calc(arguments) => calc::run(arguments, out),
            Self::Stats(arguments) => stats::run(arguments, out),
            Self::Count(arguments) => count::run(arguments, out),
            Self::Find(arguments) => find::run(arguments, out),
            Self::Check(arguments) => check::run(arguments, &mut EscapingWriter(out)),
            Self::Verify(arguments) => {
                verify::run(arguments, &mut PipeCloseTolerantWriter::new(&mut EscapingWriter(out)))
            }
            Self::Scan(arguments) => {
                scan::run(arguments, &mut PipeCloseTolerantWriter::new(&mut JsonWriter(out)))
            }
            Self::Query(arguments) => query::run(arguments, &mut EscapingWriter(out)),
            #[cfg(feature = "oracle")]
            Self::Json(arguments) => exact::run(arguments, out),
            Self::Completions(arguments) => manual::completions(arguments, out),
            Self::Man(arguments) => manual::man(arguments, out),
        }
    }
}

fn main() -> ExitCode {
    let matches = Program::command()
        .try_get_matches_from(habits::with_verb(std::env::args_os()))
        .unwrap_or_else(|error| exit_with_usage_error(&error));
    let Program { verb, reading } = Program::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    failure::set_verb_flags(accepted_flags(&matches), has_json(&matches));
    let mut out = io::BufWriter::new(StdoutWriter(io::stdout().lock()));
    let done = reading::set(&reading).and_then(|()| verb.run(&mut out)).and_then(|code| match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(code),
    });
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader of the pipe has closed it (`ndio show x.npy | head`), which is not an error.
        Err(failure) if is_broken_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure);
            ExitCode::from(2)
        }
    }
}

/// Ends the program with an error of its arguments, or with the help that was asked for.
fn exit_with_usage_error(error: &clap::Error) -> ! {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render().to_string();
    let verb = std::env::args().nth(1).unwrap_or_default();
    // A value that looks like an option is rare here, and an option that does not exist is not.
    let is_poor = |line: &&str| {
        line.contains("tip: to pass '")
            || line.contains("similar subcommand") && habits::meant_by(&verb).is_some()
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_poor(line)).collect();
    let mut text = lines.join("\n");
    if std::env::args().any(|argument| argument == "--json") {
        let first: Vec<&str> =
            lines.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
        let message = first.join(" ").replacen("error: ", "", 1);
        let _ = writeln!(io::stderr(), "{}", json!({"error": {"kind": "usage", "message": message}}));
        std::process::exit(error.exit_code());
    }
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if error.kind() == ErrorKind::UnknownArgument => argument,
        _ => "",
    };
    let advice = match error.kind() {
        ErrorKind::InvalidSubcommand => habits::meant_by(&verb),
        _ => habits::usage_advice(&verb, argument),
    };
    if let Some(advice) = advice {
        text = text.replacen("\n\n", &format!("\n\n  tip: {advice}\n\n"), 1);
    }
    let _ = writeln!(io::stderr(), "{}", text.replace("\n\n\n", "\n\n").trim_end()); // nothing can be done if stderr fails
    std::process::exit(error.exit_code());
}

/// Whether the verb prints JSON.
fn has_json(matches: &ArgMatches) -> bool {
    let verb = matches.subcommand().map(|(_, verb)| verb);
    verb.is_some_and(|verb| matches!(verb.try_get_one("json"), Ok(Some(true))))
}

/// Returns the long flags of the verb that was given.
fn accepted_flags(matches: &ArgMatches) -> Vec<String> {
    let mut program = Program::command();
    program.build();
    let verb = matches.subcommand_name().and_then(|name| program.find_subcommand(name));
    let flags = verb.into_iter().flat_map(Command::get_arguments).filter_map(clap::Arg::get_long);
    flags.map(str::to_owned).collect()
}
