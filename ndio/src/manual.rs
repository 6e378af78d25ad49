//! `ndio completions`, `ndio man`: shell completions and manual pages.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Program;
use super::failure::Failure;

/// Print a completion script for a shell
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page, for `man -l -`
#[derive(Args)]
pub(crate) struct Man {
    /// The command to document; default: ndio itself
    verb: Option<String>,
}

pub(crate) fn completions(arguments: &Completions, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Program::command(), "ndio", &mut script);
    out.write_all(&script)?;
    Ok(0)
}

pub(crate) fn man(arguments: &Man, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut program = Program::command();
    program.build();
    let command = match &arguments.verb {
        None => program,
        Some(verb) => {
            let found = program.find_subcommand(verb).cloned();
            found.ok_or_else(|| format!("unknown command '{verb}'; ndio --help lists them"))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    out.write_all(&page)?;
    Ok(0)
}
