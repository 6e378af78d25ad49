//! The password of encrypted members: from a file, an environment variable or the terminal, but never from
//! the command line, which other users of the machine can see.

use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;

use super::failure::Failure;

static PASSWORD: OnceLock<Vec<u8>> = OnceLock::new();

/// The source of the password. The options are of every verb, and are explained once, by `ndio --help`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Read the password of encrypted members from the first line of a file
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    password_file: Option<PathBuf>,
    /// Read the password of encrypted members from an environment variable
    #[arg(long, global = true, value_name = "VARIABLE", conflicts_with = "password_file", hide = true)]
    password_env: Option<std::ffi::OsString>,
    /// Ask for the password of encrypted members on the terminal
    #[arg(
        long,
        global = true,
        conflicts_with_all = ["password_file", "password_env"],
        hide = true
    )]
    ask_password: bool,
}

/// Reads the password, and sets it for all further reads.
pub(crate) fn load(arguments: &Arguments) -> Result<(), Failure> {
    let password = if let Some(path) = &arguments.password_file {
        let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        line.strip_suffix(b"\r").unwrap_or(line).to_vec()
    } else if let Some(name) = &arguments.password_env {
        let Some(value) = std::env::var_os(name) else {
            return Err(format!("there is no environment variable '{}'", name.display()).into());
        };
        value.into_encoded_bytes()
    } else if arguments.ask_password {
        let asked = rpassword::prompt_password("Password: ");
        let advice = "--password-file and --password-env need none";
        asked.map_err(|error| format!("--ask-password needs a terminal: {error}; {advice}"))?.into_bytes()
    } else {
        return Ok(());
    };
    PASSWORD.get_or_init(|| password);
    Ok(())
}

/// Returns the password, if there is one.
pub(crate) fn get() -> Option<&'static [u8]> {
    PASSWORD.get().map(Vec::as_slice)
}
