//! Tables of pages have a row for everything that they promise to list.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ndarray_io::dtype::Narrow;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The part of a text from one mark to the next line that begins with another.
fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, section) = text.split_once(from).unwrap_or_else(|| panic!("there is no '{from}'"));
    section.split_once(to).map_or(section, |(section, _)| section)
}

/// Fails with all that a page lacks, and where to add it.
fn assert_lists(page: &str, text: &str, names: &[String]) {
    assert!(!names.is_empty(), "nothing was found that {page} could lack");
    let missing: Vec<_> = names.iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert!(
        missing.is_empty(),
        "{page} does not list {missing:?}: add a row, or name them in an existing one"
    );
}

#[test]
fn features_are_listed_in_readme_and_crate_documentation() {
    let manifest = read("Cargo.toml");
    let features = section(&manifest, "[features]\n", "\n[");
    // Names for those who come from `ndarray-npy`, and groups, have a sentence of their own in the documentation of the crate.
    let aliases = ["default", "half", "compressed_npz", "num-complex-0_4"];
    let names: Vec<String> = features
        .lines()
        .filter_map(|line| line.split_once(" = [").map(|(name, _)| name.to_owned()))
        .filter(|name| !aliases.contains(&name.as_str()))
        .collect();
    assert_lists("README.md, Features,", section(&read("README.md"), "## Features", "\n## "), &names);
    let library = read("src/lib.rs");
    assert_lists("src/lib.rs, Features,", section(&library, "//! # Features", "\n\n#!["), &names);
    let full = features.lines().find_map(|line| line.strip_prefix("full = ")).expect("a feature `full`");
    let missing: Vec<_> =
        names.iter().filter(|name| *name != "full" && !full.contains(&format!("\"{name}\""))).collect();
    assert!(missing.is_empty(), "the feature `full` of Cargo.toml lacks {missing:?}");
}

#[test]
fn limits_are_listed_in_the_safety_guide() {
    let source = read("src/model/limits.rs");
    let names: Vec<String> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn ")?.split_once("(mut self"))
        .map(|(name, _)| name.to_owned())
        .collect();
    let guide = read("docs/safety.md");
    assert_lists(
        "docs/safety.md, the table of limits,",
        section(&guide, "| limit | default |", "\n\n"),
        &names,
    );
    for file in ["python/src/options.rs", "python/ndarray_io/_options.py"] {
        let text = read(file);
        let missing: Vec<_> = names.iter().filter(|name| !text.contains(&format!("\"{name}\""))).collect();
        assert!(missing.is_empty(), "{file} does not have the limits {missing:?}");
    }
}

/// Each kind is in the row of its group.
#[test]
fn kinds_of_errors_are_listed_with_their_groups() {
    let (source, page) = (read("src/model/error/fault.rs"), read("docs/errors.md"));
    let classes = section(&source, "pub(super) fn class(self) -> Class {", "\n    }\n");
    let mut count = 0;
    let mut kinds = Vec::new();
    for line in classes.lines() {
        kinds.extend(line.split("Self::").skip(1).map(|rest| {
            rest.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned()
        }));
        let Some((_, class)) = line.split_once("Class::") else { continue };
        let group = match class.trim_end_matches(',') {
            "NotFound" => "is_not_found".to_owned(),
            class => format!("is_{}", class.to_lowercase()),
        };
        let row = section(&page, &format!("| `{group}()` |"), "\n");
        for kind in kinds.drain(..) {
            assert!(
                row.contains(&format!("`{kind}`")),
                "docs/errors.md: `{kind}` is missing in the row of `{group}`"
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn narrow_types_are_listed_in_the_element_guide() {
    let source = read("src/model/dtype/narrow.rs");
    let names: Vec<String> = section(&source, "pub fn name(self)", "\n    }\n")
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(names.iter().all(|name| Narrow::from_name(name).is_some()), "{names:?}");
    assert_lists("docs/dtypes.md", &read("docs/dtypes.md"), &names);
}

/// What an enum of the library is called in the file that has to consider all of its variants. Matches outside of the crate have an arm for
/// all others, for enums to which variants may be added.
#[test]
fn programs_consider_all_variants() {
    let variants = |file: &str, name: &str| -> Vec<String> {
        let source = read(file);
        let lines = section(&source, &format!("pub enum {name} {{\n"), "\n}").to_owned();
        let variants: Vec<String> = lines
            .lines()
            .filter_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase)))
            .map(|line| {
                line.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default().to_owned()
            })
            .collect();
        assert!(variants.len() > 2, "{file} has no enum {name}");
        variants
    };
    let considered = [
        ("src/model/dtype/scalar.rs", "Kind", "refs/src/meta.rs"),
        ("src/model/dtype/scalar.rs", "Kind", "ndio/src/exact/values.rs"),
        ("src/containers/npz/member.rs", "Remark", "tests/files/index.rs"),
        ("src/containers/npz/member.rs", "Remark", "ndio/src/verify.rs"),
    ];
    for (file, name, other) in considered {
        let text = read(other);
        let missing: Vec<_> = variants(file, name)
            .into_iter()
            .filter(|variant| {
                let text_of_variant = format!("{name}::{variant}");
                let mut after = text.split(&text_of_variant).skip(1);
                !after.any(|rest| !rest.starts_with(char::is_alphanumeric))
            })
            .collect();
        assert!(
            missing.is_empty(),
            "{other} does not name {missing:?} of {name} ({file}): what does it do with them? (If nothing: add them to the arm \
             of those that need nothing.)"
        );
    }
}

/// The program says remedies in terms of its flags, or decides not to.
#[test]
fn programs_consider_all_remedies() {
    let ids = |file: &str| -> Vec<String> {
        let source = read(file);
        let arms = source.split("fn id(").last().unwrap().split("\n    }\n").next().unwrap().to_owned();
        arms.lines()
            .filter_map(|line| Some(line.split_once("=> \"")?.1.split('"').next()?.to_owned()))
            .collect()
    };
    // Those of limits are beside the methods that raise them.
    let limits = read("src/model/error/fault.rs");
    let limits = limits.split("Some((\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    let ids =
        [ids("src/model/error/help.rs"), ids("src/model/error/file_kind.rs"), limits.collect()].concat();
    assert!(ids.len() > 60 && ids.iter().collect::<BTreeSet<_>>().len() == ids.len(), "{ids:?}");
    let program = read("ndio/src/failure.rs");
    let missing: Vec<_> = ids.iter().filter(|id| !program.contains(&format!("\"{id}\""))).collect();
    assert!(
        missing.is_empty(),
        "ndio/src/failure.rs does not name {missing:?}: what does it say about them?"
    );
}

/// Lines that rustdoc hides are visible where the pages are read as Markdown.
#[test]
fn rust_blocks_of_pages_hide_no_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<_> =
        pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for block in text.split("\n```rust").skip(1) {
            let code = block.split("\n```").next().unwrap();
            let hidden = code.lines().skip(1).find(|line| *line == "#" || line.starts_with("# "));
            assert_eq!(
                hidden,
                None,
                "{}: write the program so that no line has to be hidden",
                page.display()
            );
        }
    }
}
