//! `docs/ndio.md` lists each verb, and the pages of the program name no option that it does not have.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{ROOT, program::program};

fn help(arguments: &[&str]) -> String {
    let done = program(crate::PROGRAM).args(arguments).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn guide_lists_all_verbs_and_only_known_options() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/ndio.md")).unwrap();
    let all = help(&["help"]);
    let (_, commands) = all.split_once("Commands:\n").expect("a list of commands");
    let verbs: Vec<&str> = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split(' ').next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() > 10, "{all}");
    let rows: String = page.lines().filter(|line| line.starts_with("| ")).collect();
    let missing: Vec<_> = verbs.iter().filter(|verb| !rows.contains(&format!("`{verb}`"))).collect();
    assert!(missing.is_empty(), "docs/ndio.md has no row for {missing:?}");

    let options_of = |text: &str| -> BTreeSet<String> {
        text.split("--")
            .skip(1)
            .map(|rest| {
                rest.chars().take_while(|char| char.is_ascii_lowercase() || *char == '-').collect::<String>()
            })
            .filter(|option| option.starts_with(|char: char| char.is_ascii_lowercase()))
            .collect()
    };
    let mut known = options_of(&all);
    // Of Cargo, in the commands that install the program; and an alias that the help does not show.
    known.extend(["features", "git", "replace"].map(str::to_owned));
    for verb in verbs {
        known.extend(options_of(&help(&["help", verb])));
    }
    let promises = fs::read_to_string(Path::new(ROOT).join("docs/ndio-promises.md")).unwrap();
    let unknown: Vec<_> = options_of(&(page.clone() + &promises)).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "the pages of the program name options that no verb has: {unknown:?}");

    let (_, recipes) = page.rsplit_once("```sh\n").expect("recipes");
    let (recipes, _) = recipes.split_once("```").unwrap();
    let commands: Vec<&str> = recipes.lines().filter(|line| line.starts_with("ndio ")).collect();
    assert!(commands.len() > 8, "{recipes}");
    for command in commands {
        // Options and their values are looked at up to `--help`, and nothing is done.
        let command = command.split(" | ").next().unwrap_or_default();
        let words = command.split('\'').enumerate().flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let done = program(crate::PROGRAM).args(words.skip(1)).arg("--help").output().unwrap();
        assert!(
            done.status.success(),
            "`{command}` of docs/ndio.md: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}
