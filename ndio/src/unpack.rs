//! `ndio unpack`: extracts the members of archives.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use ndarray_io::NpzFile;
use ndarray_io::npz::NpzMember;

use super::failure::{Failure, at, escape_for_terminal, is_damage, report};
use super::input::Input;
use super::output::{Content, Output, already_exists_failure, folder_of, is_regular, is_same_file};
use super::progress::Progress;
use super::remote;
use super::select::{first_member_names, no_member_failure};

/// Extract the members of an archive
#[derive(Args)]
#[command(after_help = "Examples:\n  ndio unpack a.npz -o members\n  ndio unpack a.npz x -o members --force")]
pub(crate) struct Unpack {
    /// The output folder
    #[arg(long, short, short_aliases = ['d', 'C'], default_value = ".")]
    output: PathBuf,
    /// Replace existing files
    #[arg(long, alias = "replace")]
    force: bool,
    /// Only the member of this number, counted from 0: for names that occur twice; may be repeated
    #[arg(long, value_name = "NUMBER", conflicts_with = "members")]
    index: Vec<usize>,
    /// The archive
    archive: PathBuf,
    /// Only these members
    members: Vec<String>,
}

pub(crate) fn unpack(arguments: &Unpack, out: &mut dyn Write) -> Result<u8, Failure> {
    if remote::is_url(&arguments.output) {
        let name = remote::redacted_url(&arguments.output)?;
        return Err(format!("{}: members are written to a folder", name.display()).into());
    }
    let input = Input::open(&arguments.archive)?;
    let (archive, is_damaged) = open_or_salvage(&input)?;
    let members = archive.members();
    for wanted in &arguments.members {
        if !members.iter().any(|member| is_named(member, wanted)) {
            let names = first_member_names(&archive);
            let is_folder = wanted.ends_with('/') || Path::new(wanted).is_dir();
            let advice =
                if is_folder { format!("; -o {wanted} unpacks into a folder") } else { String::new() };
            return Err(input.at(format!("there is no member '{wanted}'; the members are {names}{advice}")));
        }
    }
    if let Some(index) = arguments.index.iter().find(|index| **index >= members.len()) {
        return Err(no_member_failure(&input, *index, members.len()));
    }
    let is_wanted =
        |(index, member): &(usize, &NpzMember)| match (&arguments.index[..], &arguments.members[..]) {
            ([], []) => true,
            ([], names) => names.iter().any(|wanted| is_named(member, wanted)),
            (indices, _) => indices.contains(index),
        };
    check_folder(&arguments.output)?;
    // All is looked at before the first is written.
    let wanted = members.iter().enumerate().filter(is_wanted);
    let work = plan(wanted, arguments, &input, is_damaged)?;
    let all = work.iter().fold(0, |all: u64, work| all.saturating_add(work.member.size()));
    let mut progress = Progress::new();
    let make_folder = |path: &Path| fs::create_dir_all(path).map_err(|error| at(path, error.into()));
    // Where the last member ends that has been written: what is found within it is an archive in an archive.
    let (mut written_end, mut has_damaged_members) = (0, false);
    for Work { index, member, path, is_folder, is_existing } in work {
        if is_damaged && member.range().start < written_end {
            continue;
        }
        if is_folder {
            make_folder(&path)?;
            continue;
        }
        make_folder(&folder_of(&path))?;
        // What was not there is made by no one else.
        let copied = Output::new(&path, arguments.force && is_existing)?.write(
            &mut io::sink(),
            Content::Binary,
            |sink| {
                archive.copy_raw(index, sink)?;
                Ok(())
            },
        );
        match copied {
            // The others may be whole.
            Err(failure) if is_damaged || is_damage(&failure) => {
                report(&input.at(failure));
                has_damaged_members = true;
                continue;
            }
            copied => copied?,
        }
        written_end = member.range().end;
        progress.add(member.size(), all);
        writeln!(out, "{}", escape_for_terminal(&path.to_string_lossy()))?;
    }
    Ok(u8::from(is_damaged || has_damaged_members))
}

/// Opens an archive. Of a damaged one, what is sound can be taken: each member has a header and a checksum of its own. Returns whether it
/// is damaged.
pub(crate) fn open_or_salvage(input: &Input) -> Result<(NpzFile, bool), Failure> {
    let options = crate::reading::options();
    let failure = match input.npz(&options) {
        Ok(archive) => return Ok((archive, false)),
        Err(failure) => failure,
    };
    match input.damaged_npz(&options) {
        Ok(archive) if !archive.is_empty() => {
            report(&failure);
            Ok((archive, true))
        }
        _ => Err(failure),
    }
}

/// A member that is written.
struct Work<'a> {
    index: usize,
    member: &'a NpzMember,
    path: PathBuf,
    is_folder: bool,
    is_existing: bool,
}

/// Decides where members are written, and checks that nothing is lost.
fn plan<'a>(
    wanted: impl Iterator<Item = (usize, &'a NpzMember)>,
    arguments: &Unpack,
    input: &Input,
    is_damaged: bool,
) -> Result<Vec<Work<'a>>, Failure> {
    let (mut work, mut paths) = (Vec::new(), BTreeSet::new());
    for (index, member) in wanted {
        let path =
            arguments.output.join(member_path(member.file_name()).map_err(|failure| input.at(failure))?);
        // Archivers store a folder as an empty member.
        let is_folder = member.file_name().ends_with('/') && member.size() == 0;
        // A folder of the archive may be a link here, which leads anywhere.
        let folders = path.ancestors().skip(1).take_while(|folder| **folder != *arguments.output);
        let is_link = |folder: &&Path| fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink());
        if let Some(link) = folders.into_iter().find(is_link) {
            return Err(at(link, "it is a link, through which members are not written".into()));
        }
        // Two names may be one file, where case does not matter.
        let place = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if !is_folder && is_same_file(&path, &arguments.archive) {
            return Err(at(&path, "the archive itself would be replaced".into()));
        }
        if !is_folder && !paths.insert(place) && !is_damaged {
            let name = member.file_name();
            return Err(
                input.at(format!("several members are called '{name}'; --index selects one, counted from 0"))
            );
        }
        if !is_folder && path.is_dir() {
            return Err(at(&path, "it is a folder".into()));
        }
        let is_existing = is_regular(&path);
        if !is_folder && !arguments.force && is_existing {
            return Err(already_exists_failure(&path));
        }
        work.push(Work { index, member, path, is_folder, is_existing });
    }
    let is_below = |path: &Path| path.ancestors().skip(1).any(|folder| paths.contains(folder));
    if let Some(below) = work.iter().find(|work: &&Work<'_>| is_below(&work.path)) {
        let name = below.member.file_name();
        return Err(input.at(format!("the member '{name}' is below another one, which is a file")));
    }
    Ok(work)
}

fn is_named(member: &NpzMember, wanted: &str) -> bool {
    member.name() == wanted || member.file_name() == wanted
}

/// Returns the path of a member, or an error if it would be outside the output folder.
pub(crate) fn member_path(name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let is_somewhere = path.components().any(|part| matches!(part, Component::Normal(_)));
    match is_inside && is_somewhere && !name.contains('\\') {
        true => Ok(path.components().filter(|part| *part != Component::CurDir).collect()),
        false => {
            Err(format!("the member '{}' would be outside the output folder", name.escape_debug()).into())
        }
    }
}

/// Returns an error if the output cannot be a folder.
pub(super) fn check_folder(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err(
            "files are written to a folder, and not to standard output; ./- is a folder of that name".into(),
        );
    }
    match path.exists() && !path.is_dir() {
        true => Err(at(path, "it is a file; --output is a folder".into())),
        false => Ok(()),
    }
}
