//! `ndio diff`: compares two arrays or archives.

mod compare;
mod long_doubles;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray_io::header::Order;
use ndarray_io::{DType, NpzFile, ReadOptions};
use serde_json::{Map, Value, json};

use super::failure::{Failure, at, escape_for_terminal, in_block, is_broken_pipe, report};
use super::formats::Format;
use super::input::{Input, for_each_file, is_stack, temporary_file};
use super::places::{Places, index_text};
use super::progress::Progress;
use super::select::Selection;
use super::source::Source;
use super::terminal::EscapingWriter;
use compare::{BlockPair, Differences, are_comparable, compare, unequal_blocks_and_byte_len};

/// Parses a tolerance.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("expected a number that is not negative".into()),
    }
}

/// Compare two files or folders; exit code 0 if they are equal, 1 if not
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio diff x.npy y.npy --rtol 1e-6 --ignore-dtype\n  ndio diff a.npz a.npz"
)]
pub(crate) struct Arguments {
    /// Relative tolerance, as a fraction of the second number
    #[arg(long, default_value_t = 0.0, value_name = "FRACTION", value_parser = parse_tolerance, allow_hyphen_values = true)]
    rtol: f64,
    /// Absolute tolerance
    #[arg(long, default_value_t = 0.0, value_name = "NUMBER", value_parser = parse_tolerance, allow_hyphen_values = true)]
    atol: f64,
    /// How many places are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    limit: usize,
    /// How many floats between two are a tolerance, too: units in the last place of the narrower type
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    ulp: u64,
    /// Compare folders, as without it
    #[arg(long, short, hide = true)]
    recursive: bool,
    /// Print JSON, one line for each pair of arrays
    #[arg(long)]
    json: bool,
    /// Treat NaN as unequal to NaN
    #[arg(long)]
    strict_nan: bool,
    /// Allow numbers of different types to be equal
    #[arg(long)]
    ignore_dtype: bool,
    /// Compare Python objects, as data
    #[arg(long, alias = "allow-pickle")]
    allow_objects: bool,
    #[command(flatten)]
    selection: Selection,
    /// The first file, or a folder, whose files are compared with those of the same names in the other
    a: PathBuf,
    /// The second file, or folder
    b: PathBuf,
}

/// What is found of a pair of arrays, or of what only one side has: printed as lines of text, or as one of JSON.
struct Report<'a> {
    is_json: bool,
    name: &'a str,
    facts: Map<String, Value>,
    text: String,
}

impl<'a> Report<'a> {
    fn new(name: &'a str, arguments: &Arguments) -> Self {
        Self { is_json: arguments.json, name, facts: Map::new(), text: String::new() }
    }

    fn say(&mut self, key: &str, value: impl Into<Value>, text: impl Display) {
        self.facts.insert(key.into(), value.into());
        self.text += &format!("{}{text}\n", prefix(self.name));
    }

    fn print(mut self, are_equal: bool, out: &mut dyn Write) -> Result<bool, Failure> {
        if !self.is_json {
            out.write_all(self.text.as_bytes())?;
            return Ok(are_equal);
        }
        self.facts.insert("equal".into(), are_equal.into());
        if !self.name.is_empty() {
            self.facts.insert("name".into(), self.name.into());
        }
        writeln!(out, "{}", Value::Object(self.facts))?;
        Ok(are_equal)
    }
}

fn prefix(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{}: ", escape_for_terminal(name)) }
}

/// Says that only one side has something.
fn report_lone(
    name: &str,
    owner: &Path,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let mut report = Report::new(name, arguments);
    report.say("only_in", owner.to_string_lossy(), format_args!("only in {}", owner.display()));
    report.print(false, out)
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    // JSON has escapes of its own.
    let out: &mut dyn Write = if arguments.json { out } else { &mut EscapingWriter(out) };
    let is_folder = |path: &Path| path.is_dir() && !is_stack(path);
    if is_folder(&arguments.a) && is_folder(&arguments.b) {
        return compare_folders(arguments, out);
    }
    Ok(u8::from(!compare_paths(arguments, "", [&arguments.a, &arguments.b], out)?))
}

fn compare_paths(
    arguments: &Arguments,
    name: &str,
    [a, b]: [&Path; 2],
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let options = crate::reading::options().allow_objects(arguments.allow_objects);
    let (a, of_a) = arguments.selection.open(a)?;
    let (b, of_b) = arguments.selection.open(b)?;
    let are_archives = a.format() == Format::Npz && b.format() == Format::Npz;
    match are_archives && !of_a.selects_array() && !of_b.selects_array() {
        true if of_a.array.is_some() => Err("--array is for NPY files".into()),
        true => compare_archives(arguments, name, [(&a, &of_a), (&b, &of_b)], &options, out),
        false => compare_files(arguments, name, [(&a, &of_a), (&b, &of_b)], &options, out),
    }
}

/// Whether a file has arrays by its name, or is a table.
fn has_arrays(name: &Path) -> bool {
    Format::of_input(name).is_some_and(|format| format.has_header() || format.is_table())
}

/// Compares files of other kinds.
fn compare_bytes(
    arguments: &Arguments,
    name: &str,
    [one, two]: [&Path; 2],
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let open = |path: &Path| File::open(path).map_err(|error| at(path, error.into()));
    let mut compared = ComparingWriter { wanted: BufReader::new(open(one)?), is_same: true };
    io::copy(&mut open(two)?, &mut compared).map_err(|error| at(two, error.into()))?;
    let is_same = compared.is_same && compared.wanted.fill_buf()?.is_empty();
    report_bytes(name, is_same, arguments, out)
}

fn report_bytes(
    name: &str,
    is_same: bool,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let mut report = Report::new(name, arguments);
    if !is_same {
        report.say("same_bytes", false, "the bytes differ");
    }
    report.print(is_same, out)
}

/// Compares the files of two folders by their names: arrays and tables by their elements, others by their bytes. One that cannot be read does not keep the others from being compared.
fn compare_folders(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let names = |folder: &PathBuf| -> Result<BTreeSet<PathBuf>, Failure> {
        let mut names = BTreeSet::new();
        for_each_file(
            std::slice::from_ref(folder),
            |_| true,
            |path| {
                names.extend(path?.strip_prefix(folder).map(Path::to_owned));
                Ok(())
            },
        )?;
        Ok(names)
    };
    let (of_a, of_b) = (names(&arguments.a)?, names(&arguments.b)?);
    let (mut code, mut equal_count) = (0, 0);
    for name in of_a.union(&of_b) {
        let paths = [&arguments.a, &arguments.b].map(|folder| folder.join(name));
        let text = &*name.to_string_lossy();
        let compared = match (of_a.contains(name), of_b.contains(name)) {
            (true, true) if has_arrays(name) || is_stack(&paths[0]) => {
                compare_paths(arguments, text, [&paths[0], &paths[1]], out)
            }
            (true, true) => compare_bytes(arguments, text, [&paths[0], &paths[1]], out),
            (is_first, _) => {
                report_lone(text, if is_first { &arguments.a } else { &arguments.b }, arguments, out)
            }
        };
        match compared {
            Ok(true) => equal_count += 1,
            Ok(false) => code = code.max(1),
            Err(failure) if is_broken_pipe(&*failure) => return Err(failure),
            Err(failure) => {
                out.flush()?;
                report(&failure);
                code = 2;
            }
        }
    }
    if code > 0 && !arguments.json {
        writeln!(out, "{equal_count} of the files are equal")?;
    }
    Ok(code)
}

/// Compares the arrays of two files, each of which may have several.
fn compare_files(
    arguments: &Arguments,
    name: &str,
    [(a, of_a), (b, of_b)]: [(&Input, &Selection); 2],
    options: &ReadOptions,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    // The choice applies to the file of the two that has several arrays: at least one of them.
    if let Err(failure) = of_a.check_format(a, a.format())
        && of_b.check_format(b, b.format()).is_err()
    {
        return Err(failure);
    }
    let of = |input: &Input, selection: &Selection| Selection {
        member: selection.member.clone().filter(|_| input.format() == Format::Npz),
        index: selection.index.filter(|_| input.format() == Format::Npz),
        array: selection.array.filter(|_| input.format() == Format::Npy),
        ..selection.clone()
    };
    let (of_a, of_b) = (of(a, of_a), of(b, of_b));
    let (mut ones, mut twos) = (of_a.open_all(a, options, true)?, of_b.open_all(b, options, true)?);
    let mut are_equal = true;
    for number in 0.. {
        let name = match (number, name) {
            (0, name) => name.to_owned(),
            (_, "") => format!("array {number}"),
            (_, name) => format!("{name}: array {number}"),
        };
        match (ones.next().transpose()?, twos.next().transpose()?) {
            (None, None) => break,
            (Some(one), Some(two)) => {
                are_equal &=
                    compare_arrays(&name, &one.ensure_iterable()?, &two.ensure_iterable()?, arguments, out)?;
            }
            (one, _) => {
                let input = if one.is_some() { a } else { b };
                return report_lone(&name, input.name(), arguments, out);
            }
        }
    }
    ones.check_end()?;
    twos.check_end()?;
    Ok(are_equal)
}

fn compare_archives(
    arguments: &Arguments,
    file: &str,
    [(a, of_a), (b, of_b)]: [(&Input, &Selection); 2],
    options: &ReadOptions,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let (one, two) = (a.npz(options)?, b.npz(options)?);
    let mut are_equal = true;
    // Members with duplicate names are paired by position: the first with the first, and so on.
    let places = |archive: &NpzFile| -> BTreeMap<(String, usize), usize> {
        let mut seen = BTreeMap::new();
        let members = archive.members().iter().enumerate().map(|(index, member)| {
            let name = member.file_name().to_owned();
            let count = seen.entry(name.clone()).or_insert(0);
            *count += 1;
            ((name, *count), index)
        });
        members.collect()
    };
    let (ones, twos) = (places(&one), places(&two));
    let member_text = |(name, count): &(String, usize)| match count {
        1 => format!("{}{name}", prefix(file)),
        count => format!("{}{name} ({count})", prefix(file)),
    };
    let mut equal_count = 0;
    let mut in_order: Vec<_> = ones.iter().collect();
    in_order.sort_by_key(|(_, index)| **index);
    for (name, index) in in_order {
        let Some(other) = twos.get(name) else {
            are_equal = report_lone(&member_text(name), a.name(), arguments, out)?;
            continue;
        };
        let is_equal = if one.holds_array(*index)? {
            let of = |archive: &NpzFile, index: usize, input: &Input, selection: &Selection| {
                let member = Source::open_member(archive, index, input, selection.slice.is_none())?;
                selection.part_of(member)?.ensure_iterable()
            };
            let (one, two) = (of(&one, *index, a, of_a)?, of(&two, *other, b, of_b)?);
            compare_arrays(&member_text(name), &one, &two, arguments, out)?
        } else {
            let is_same = one.members()[*index].size() == two.members()[*other].size()
                && have_same_bytes((&one, *index), (&two, *other))?;
            report_bytes(&member_text(name), is_same, arguments, out)?
        };
        are_equal &= is_equal;
        equal_count += usize::from(is_equal);
    }
    let mut others: Vec<_> = twos.iter().filter(|(name, _)| !ones.contains_key(*name)).collect();
    others.sort_by_key(|(_, index)| **index);
    for (name, _) in others {
        are_equal = report_lone(&member_text(name), b.name(), arguments, out)?;
    }
    if !are_equal && equal_count > 0 && !arguments.json {
        writeln!(out, "{}{equal_count} of the members are equal", prefix(file))?;
    }
    Ok(are_equal)
}

/// Compares the bytes of two members that are not arrays, which may be larger than memory.
fn have_same_bytes(
    (one, index): (&NpzFile, usize),
    (two, other): (&NpzFile, usize),
) -> Result<bool, Failure> {
    let mut file = temporary_file()?;
    one.copy_raw(index, &file)?;
    file.rewind()?;
    let mut compared = ComparingWriter { wanted: BufReader::new(file), is_same: true };
    two.copy_raw(other, &mut compared)?;
    Ok(compared.is_same && compared.wanted.fill_buf()?.is_empty())
}

/// A writer that compares what is written with what a reader has.
struct ComparingWriter<R> {
    wanted: R,
    is_same: bool,
}

impl<R: Read> Write for ComparingWriter<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut wanted = Vec::with_capacity(bytes.len());
        (&mut self.wanted).take(bytes.len() as u64).read_to_end(&mut wanted)?;
        self.is_same &= wanted == bytes;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn compare_arrays(
    name: &str,
    one: &Source,
    two: &Source,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let mut report = Report::new(name, arguments);
    let has_other_shape = one.shape() != two.shape();
    let (of_one, of_two) = (one.name().display(), two.name().display());
    if has_other_shape {
        let (a, b) = (one.display_shape(), two.display_shape());
        let text = format!("shape {a} in {of_one}, {b} in {of_two}");
        report.say("shapes", json!([one.shape(), two.shape()]), text);
    }
    let (a, b) = (one.dtype(), two.dtype());
    // The byte order belongs to the file, not to the values.
    let native = |dtype: &DType| dtype.with_byte_order(ndarray_io::ByteOrder::NATIVE);
    let has_other_dtype = native(a) != native(b);
    let can_compare = !has_other_dtype || are_comparable(a, b);
    if has_other_dtype && !(arguments.ignore_dtype && can_compare) {
        let advice = if can_compare { "; --ignore-dtype compares their values alone" } else { "" };
        let text = format!("dtype {a} in {of_one}, {b} in {of_two}{advice}");
        report.say("dtypes", json!([a.to_string(), b.to_string()]), text);
    }
    if !can_compare || has_other_shape {
        return report.print(false, out);
    }
    let differences = differences_of(one, two, arguments)?;
    if differences.places.count > 0 {
        report.add_differences(&differences, one.len());
    }
    let are_equal = differences.places.count == 0 && (!has_other_dtype || arguments.ignore_dtype);
    report.print(are_equal, out)
}

/// Reads two arrays of one shape side by side, and returns where they differ.
fn differences_of(one: &Source, two: &Source, arguments: &Arguments) -> Result<Differences, Failure> {
    let (a, b) = (one.dtype(), two.dtype());
    /// The size of the blocks that are read from each file, in bytes.
    const BLOCK_BYTES: usize = 1 << 20;
    let mut differences =
        Differences { places: Places::with_limit(arguments.limit), ..Differences::default() };
    let wider = if a.item_size() < b.item_size() { two } else { one };
    let all_bytes = wider.byte_len();
    let mut progress = Progress::new();
    // Read in the storage order if it is the same for both files, and in C order otherwise.
    let order = if one.order() == two.order() { one.order() } else { Order::C };
    wider.blocks().order(order).bytes(BLOCK_BYTES).par_map(
        |block| {
            let is_first = std::ptr::eq(wider, one);
            let other = if is_first { two } else { one };
            let other = other.slice(&block.slice())?;
            Ok(unequal_blocks_and_byte_len(block.take_array(), other, is_first, arguments))
        },
        |read: Result<_, Failure>| {
            let (bytes, differing) = read?;
            progress.add(bytes, all_bytes);
            match differing {
                Some(BlockPair { one: first_block, two: second_block, block }) => {
                    let both = [(&first_block, one), (&second_block, two)];
                    compare(both, block.ranges(), arguments, &mut differences)
                        .map_err(|failure| in_block(&block, failure))
                }
                None => Ok(()),
            }
        },
    )?;
    drop(progress);
    Ok(differences)
}

impl Report<'_> {
    fn add_differences(&mut self, found: &Differences, all: u64) {
        let Differences { places, values, .. } = found;
        self.facts.insert("elements".into(), all.into());
        self.facts.insert("box".into(), places.box_json());
        let text = format!("{} of {all} elements differ{}", places.count, places.box_text());
        self.say("differing", places.count, text);
        let listed = || places.indices.iter().zip(values);
        let one = |(index, values): (&Vec<usize>, &[String; 2])| json!({"index": index, "values": values});
        self.facts.insert("places".into(), listed().map(one).collect());
        for (index, [first, second]) in listed() {
            self.text += &format!("{}  {}  {first} and {second}\n", prefix(self.name), index_text(index));
        }
        if let Some(rest) = places.rest_text() {
            self.text += &format!("{}  {rest}\n", prefix(self.name));
        }
        if found.fields.len() > 1 {
            let counts =
                found.fields.iter().map(|(field, count)| format!("{} {count}", escape_for_terminal(field)));
            let text = format!("of the fields: {}", counts.collect::<Vec<_>>().join(", "));
            let counts = found.fields.iter().map(|(field, count)| (field.clone(), json!(count)));
            self.say("fields", Value::Object(counts.collect()), text);
        }
        if found.lone_nan_count > 0 {
            self.say(
                "lone_nan",
                found.lone_nan_count,
                format!("NaN in one of them: {}", found.lone_nan_count),
            );
        }
        if found.sign_count > 0 {
            self.say("sign_only", found.sign_count, format!("different in sign alone: {}", found.sign_count));
        }
        for (what, largest) in [("absolute", &found.absolute), ("relative", &found.relative)] {
            if let Some((difference, place)) = largest {
                let text = format!("largest {what} difference {difference:?} at {}", index_text(place));
                self.say(&format!("largest_{what}"), json!({"difference": difference, "index": place}), text);
            }
        }
    }
}
