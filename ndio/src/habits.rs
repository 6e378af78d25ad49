//! What people type before they have read the help: verbs of other programs, files without a verb, and what may be meant by the rest.

use std::ffi::OsString;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::{Program, remote, select};

/// Adds the verb that files alone mean: `info` of one file, and `ls` of several or of a folder.
pub(crate) fn with_verb(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let is_verb = |name: &OsString| {
        let names =
            |verb: &Command| verb.get_name() == name || verb.get_all_aliases().any(|alias| alias == name);
        name == "help" || Program::command().get_subcommands().any(names)
    };
    if let [_, verb, rest @ ..] = &arguments[..]
        && let Some(translated) = verb.to_str().and_then(|verb| translated(verb, rest))
    {
        arguments.splice(1.., translated);
        return arguments;
    }
    match &arguments[1..] {
        [first, ..] if is_verb(first) || !exists(first) => {}
        [file] if !Path::new(file).is_dir() => arguments.insert(1, "info".into()),
        [_, others @ ..] if others.iter().all(exists) => arguments.insert(1, "ls".into()),
        _ => {}
    }
    arguments
}

/// Whether an argument names an existing file or folder, with a part of it or without.
fn exists(argument: &OsString) -> bool {
    select::file_of(Path::new(argument)).exists()
}

/// Whether an argument is a file rather than a condition: also standard input, and any object.
fn is_file(argument: &OsString) -> bool {
    argument == "-" || remote::is_url(Path::new(argument)) || exists(argument)
}

/// Takes the number of rows from options such as `-n 3`, `-n3` and `-3`.
fn take_count(rest: &mut Vec<OsString>) -> Option<OsString> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let at = rest.iter().position(|argument| {
        let text = argument.to_str().and_then(|text| text.strip_prefix('-')).unwrap_or_default();
        is_number(text) || text.strip_prefix('n').is_some_and(|text| text.is_empty() || is_number(text))
    })?;
    let text = rest.remove(at).into_string().ok()?;
    match text.trim_start_matches(['-', 'n']) {
        "" if at < rest.len() => Some(rest.remove(at)),
        "" => None,
        number => Some(number.into()),
    }
}

/// Takes the output that `-o` names.
fn take_output(rest: &mut Vec<OsString>) -> Option<OsString> {
    let at =
        rest.iter().position(|word| word == "-o" || word == "--output").filter(|at| at + 1 < rest.len())?;
    rest.remove(at);
    Some(rest.remove(at))
}

/// Takes the first argument that is not an option, nor a file, and satisfies a condition.
fn take_word(rest: &mut Vec<OsString>, is_wanted: fn(&str) -> bool) -> Option<OsString> {
    let is_it = |word: &OsString| {
        !is_file(word) && word.to_str().is_some_and(|word| !word.starts_with('-') && is_wanted(word))
    };
    let at = rest.iter().position(is_it)?;
    Some(rest.remove(at))
}

/// The arguments after a verb.
struct Rest {
    all: Vec<OsString>,
    /// Those that are not options, nor values of `-o`.
    words: Vec<OsString>,
    has_output: bool,
}

/// Returns the arguments of this program for a verb of others, and puts the file first where a condition precedes it.
fn translated(verb: &str, rest: &[OsString]) -> Option<Vec<OsString>> {
    if let Some(help) = rest.iter().find(|word| *word == "-h" || *word == "--help") {
        return Some(vec![verb_of(verb)?.into(), help.clone()]);
    }
    let is_word = |word: &&OsString| !word.to_string_lossy().starts_with('-') || *word == "-";
    let rest = Rest {
        all: rest.to_vec(),
        words: rest.iter().filter(is_word).cloned().collect(),
        has_output: rest.iter().any(|word| word == "-o" || word.to_string_lossy().starts_with("--output")),
    };
    let makers = [as_question, as_selection, as_archive_change, as_conversion];
    makers.iter().find_map(|make| make(verb, &rest))
}

/// Returns the verb whose help explains a verb of others.
fn verb_of(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "head" | "tail" | "sample" | "sort" | "get" | "filter" | "select" => "show",
        "hist" | "histogram" | "draw" | "view" | "image" => "plot",
        "median" | "percentile" | "quantile" => "stats",
        "where" | "argmin" | "argmax" => "find",
        "rm" | "remove" | "delete" | "mv" | "rename" | "add" | "append" => "pack",
        "transpose" | "reshape" | "slice" => "convert",
        "min" | "max" | "mean" | "std" | "sum" => "calc",
        "zeros" => "new",
        _ => return None,
    })
}

/// Puts a verb of this program, and its options, before other arguments.
fn line(ours: &[&str], rest: impl IntoIterator<Item = OsString>) -> Option<Vec<OsString>> {
    Some(ours.iter().map(OsString::from).chain(rest).collect())
}

fn as_question(verb: &str, Rest { all, words, has_output }: &Rest) -> Option<Vec<OsString>> {
    let mut rest = all.clone();
    match verb {
        "head" | "tail" | "sample" => {
            let count = take_count(&mut rest).unwrap_or_else(|| "10".into());
            line(&["show", &format!("--{verb}={}", count.to_string_lossy())], rest)
        }
        "hist" | "histogram" => line(&["plot", "--histogram"], rest),
        "draw" | "view" | "image" => line(&["plot"], rest),
        "median" => line(&["stats", "--percentiles=50"], rest),
        "min" | "max" | "mean" | "std" | "sum" if words.len() == 1 => {
            line(&["calc", &format!("{verb}(x)")], rest)
        }
        "argmin" | "argmax" if words.len() == 1 => {
            rest.push(verb.into());
            line(&["find"], rest)
        }
        // Without an expectation, of damage.
        "check" if !rest.is_empty() && words.len() == rest.len() => line(&["verify"], rest),
        "stats" | "describe" => {
            let at = rest.iter().position(|word| word == "--median")?;
            rest[at] = "--percentiles=50".into();
            line(&["stats"], rest)
        }
        // As the program of this name prints files.
        "cat" if words.len() == 1 && !*has_output => line(&["show"], rest),
        _ => None,
    }
}

fn is_condition(word: &str) -> bool {
    word.contains(['<', '>', '=', '(', ' ']) || matches!(word, "nan" | "isnan" | "isinf" | "isfinite")
}

/// The file and the condition may be in either order.
fn as_selection(verb: &str, Rest { all, words, .. }: &Rest) -> Option<Vec<OsString>> {
    let mut rest = all.clone();
    match verb {
        "filter" | "select" => {
            let condition = take_word(&mut rest, is_condition)?;
            line(&["show", "--where"], [condition].into_iter().chain(rest))
        }
        "find" | "where" | "count" | "query" if words.len() > 1 => {
            let condition = take_word(&mut rest, is_condition)?;
            // Otherwise it is the name of a file that does not exist.
            rest.iter().find(|word| is_file(word))?;
            match verb {
                "query" => line(&["show", "--where"], [condition].into_iter().chain(rest)),
                "count" => {
                    rest.push(condition);
                    line(&["find", "--limit", "0"], rest)
                }
                _ => {
                    rest.push(if condition == "nan" { "isnan".into() } else { condition });
                    line(&["find"], rest)
                }
            }
        }
        "get" => {
            let index =
                take_word(&mut rest, |word| word.bytes().all(|byte| b"0123456789,:- ".contains(&byte)))?;
            line(&["show", &format!("--slice={}", index.to_str()?)], rest)
        }
        "sort" => {
            let is_reversed = rest.iter().any(|word| word == "-r" || word == "--reverse");
            rest.retain(|word| word != "-r" && word != "--reverse");
            let count = take_count(&mut rest).map(|count| format!("--head={}", count.to_string_lossy()));
            let at = rest.iter().position(|word| ["-k", "--by", "--key"].iter().any(|key| word == key))?;
            rest.remove(at);
            let key = (at < rest.len()).then(|| rest.remove(at))?;
            let sign = if is_reversed { "-" } else { "" };
            let sort = format!("--sort={sign}{}", key.to_str()?);
            line(&["show", &sort], count.map(OsString::from).into_iter().chain(rest))
        }
        "percentile" | "quantile" => {
            let option = rest.iter().position(|word| word == "-q" || word == "-p");
            let list = match option.filter(|at| at + 1 < rest.len()) {
                Some(at) => rest.drain(at..at + 2).next_back(),
                None => take_word(&mut rest, |word| word.split(',').all(|one| one.parse::<f64>().is_ok())),
            }?;
            let scale = if verb == "quantile" { 100.0 } else { 1.0 };
            let numbers = list.to_str()?.split(',').filter_map(|one| one.parse::<f64>().ok());
            let list: Vec<String> = numbers.map(|one| (one * scale).to_string()).collect();
            line(&["stats", &format!("--percentiles={}", list.join(","))], rest)
        }
        "unique" | "value_counts" => {
            rest.retain(|word| word != "-c" && word != "--counts");
            let top = take_count(&mut rest).map(|count| format!("--top={}", count.to_string_lossy()));
            line(&["count"], top.map(OsString::from).into_iter().chain(rest))
        }
        _ => None,
    }
}

fn as_archive_change(verb: &str, Rest { all, words, has_output }: &Rest) -> Option<Vec<OsString>> {
    let mut rest = all.clone();
    match verb {
        // The archive comes first.
        "rm" | "remove" | "delete" if words.len() == 2 => {
            line(&["pack", "--update", "--remove"], vec![words[1].clone(), words[0].clone()])
        }
        "mv" | "rename" if words.len() == 3 => {
            let renaming = format!("--rename={}={}", words[1].to_str()?, words[2].to_str()?);
            line(&["pack", "--update", &renaming], vec![words[0].clone()])
        }
        "add" | "append"
            if words.first().is_some_and(|word| word.to_string_lossy().ends_with(".npz")) && !*has_output =>
        {
            line(&["pack", "--update"], rest)
        }
        "repair" if words.len() == 2 && !*has_output => {
            let output = rest.remove(rest.iter().rposition(|word| *word == words[1])?);
            line(&["repair", "-o"], [output].into_iter().chain(rest))
        }
        "pack" if *has_output => {
            let output = take_output(&mut rest)?;
            line(&["pack"], [output].into_iter().chain(rest))
        }
        // One member as one file.
        "extract" | "unpack" if words.len() == 3 && *has_output => {
            let output = take_output(&mut rest)?;
            let is_file = output.to_string_lossy().ends_with(".npy") && !Path::new(&output).is_dir();
            let [archive, member] = &rest[..] else { return None };
            is_file.then(|| line(&["convert", "--member"], vec![member.clone(), archive.clone(), output]))?
        }
        _ => None,
    }
}

fn is_picture_name(name: &OsString) -> bool {
    [".png", ".svg"].iter().any(|end| name.to_string_lossy().ends_with(end))
}

fn as_conversion(verb: &str, Rest { all, words, has_output }: &Rest) -> Option<Vec<OsString>> {
    let mut rest = all.clone();
    match verb {
        // The output as in other verbs, or as in this one.
        "convert" | "transpose" => {
            let output = take_output(&mut rest);
            let is_picture = output.as_ref().or(words.last()).is_some_and(is_picture_name);
            let ours: &[&str] = match verb {
                "transpose" => &["convert", "--transpose=T"],
                _ if is_picture => &["plot", "-o"],
                _ => &["convert"],
            };
            match (is_picture, output) {
                (true, Some(output)) => line(ours, [output].into_iter().chain(rest)),
                (true, None) => {
                    let at = rest.iter().rposition(is_picture_name)?;
                    let output = rest.remove(at);
                    line(ours, [output].into_iter().chain(rest))
                }
                (false, Some(output)) => line(ours, rest.into_iter().chain([output])),
                (false, None) => line(ours, rest),
            }
        }
        "reshape" => {
            let output = take_output(&mut rest);
            let shape = take_word(&mut rest, |word| {
                word.bytes().all(|byte| byte.is_ascii_digit() || b",x-".contains(&byte))
            })?;
            line(
                &["convert", &format!("--reshape={}", shape.to_str()?.replace('x', ","))],
                rest.into_iter().chain(output),
            )
        }
        "slice" => {
            let output = take_output(&mut rest);
            let slice = take_word(&mut rest, |word| word.contains([':', ',']) && !word.contains(".np"))?;
            line(&["convert", &format!("--slice={}", slice.to_str()?)], rest.into_iter().chain(output))
        }
        "zeros" => {
            let shape = take_word(&mut rest, |word| {
                word.bytes().all(|byte| byte.is_ascii_digit() || b",x".contains(&byte))
            });
            let shape = shape.map(|shape| format!("--shape={}", shape.to_string_lossy().replace('x', ",")));
            let output = if *has_output { None } else { Some("-o".into()) };
            line(&["new", "zeros"], shape.map(OsString::from).into_iter().chain(output).chain(rest))
        }
        _ => None,
    }
}

/// Returns what may be meant by a verb that does not exist.
pub(crate) fn meant_by(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "add" | "append" | "update" | "rm" | "mv" => {
            "ndio pack --update changes the members of an archive, ndio calc 'a + b' a=FILE b=FILE computes, and ndio cat joins"
        }
        "percentile" | "quantile" | "nlargest" => {
            "ndio stats -p 5,50,95 prints percentiles, and ndio show --sort=-FIELD --head 5 the largest"
        }
        "min" | "max" | "mean" | "sum" | "std" | "argmin" | "argmax" => {
            "ndio stats FILE:FIELD prints them, and ndio calc 'mean(x, axis=0)' FILE computes"
        }
        "shape" | "dtype" | "header" | "size" => "ndio info, or ndio ls of many files",
        "grep" | "filter" | "select" | "search" => {
            "ndio find says where a condition holds, and ndio show --where prints the rows"
        }
        "sort" => "ndio show --sort=-FIELD --head 5",
        "get" => "ndio show 'x.npy[3, 5]', and ndio convert saves a part",
        "inspect" => {
            "ndio info describes, ndio show prints, and ndio scan says what Python would run to load objects"
        }
        "zip" | "compress" => "ndio pack ARCHIVE.npz FILES --deflate",
        "create" | "ones" | "full" | "random" | "arange" => {
            "ndio new zeros|arange|random --shape 3,4 -o FILE"
        }
        "slice" | "crop" | "cast" | "astype" | "reshape" | "csv" => {
            "ndio convert; a part is written with the file: 'x.npy[:10]'"
        }
        "validate" | "test" | "fsck" => {
            "ndio verify looks for damage, and ndio check compares with what is expected"
        }
        _ => return None,
    })
}

/// Returns what may be meant by an argument that a verb does not have.
pub(crate) fn usage_advice(verb: &str, argument: &str) -> Option<&'static str> {
    let is_value = !argument.is_empty() && !argument.starts_with('-');
    Some(match verb {
        "show" | "print" | "dump" | "head" if is_value => {
            "one file at a time; --member NAME selects an array of an archive"
        }
        "convert" if is_value => {
            "one input and one output; pack puts several files into an archive, cat and stack join them"
        }
        "convert" if ["-o", "--output"].contains(&argument) => "the output is the second argument",
        "plot" if is_value => "-o FILE.png writes a picture, -o FILE.svg a figure",
        "split" if is_value => {
            "--parts NUMBER makes that many files, --size LENGTH files of that many indices"
        }
        _ => return None,
    })
}
