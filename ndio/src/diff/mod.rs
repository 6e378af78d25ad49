//! `ndio diff`: compares two arrays or archives.

mod compare;
mod long_doubles;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::PathBuf;

use clap::Args;
use ndarray_io::header::Order;
use ndarray_io::{DType, NpzFile, ReadOptions};

use super::failure::{Failure, escape_for_terminal, in_block};
use super::formats::Format;
use super::input::{Input, temporary_file};
use super::places::{Places, index_text};
use super::progress::Progress;
use super::select::Selection;
use super::source::Source;
use compare::{BlockPair, Differences, are_comparable, compare, unequal_blocks_and_byte_len};

/// Parses a tolerance.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("expected a number that is not negative".into()),
    }
}

/// Compare two files: shapes, types and elements; exit code 0 if they are equal, 1 if not
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
    /// The first file
    a: PathBuf,
    /// The second file
    b: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options().allow_objects(arguments.allow_objects);
    let (a, of_a) = arguments.selection.open(&arguments.a)?;
    let (b, of_b) = arguments.selection.open(&arguments.b)?;
    let are_archives = a.format() == Format::Npz && b.format() == Format::Npz;
    let are_equal = match are_archives && !of_a.selects_array() && !of_b.selects_array() {
        true if of_a.array.is_some() => return Err("--array is for NPY files".into()),
        true => compare_archives(arguments, [(&a, &of_a), (&b, &of_b)], &options, out)?,
        false => compare_files(arguments, [(&a, &of_a), (&b, &of_b)], &options, out)?,
    };
    Ok(u8::from(!are_equal))
}

/// Compares the arrays of two files, each of which may have several.
fn compare_files(
    arguments: &Arguments,
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
        let name = if number == 0 { String::new() } else { format!("array {number}: ") };
        match (ones.next().transpose()?, twos.next().transpose()?) {
            (None, None) => break,
            (Some(one), Some(two)) => {
                are_equal &=
                    compare_arrays(&name, &one.ensure_iterable()?, &two.ensure_iterable()?, arguments, out)?;
            }
            (one, _) => {
                let input = if one.is_some() { a } else { b };
                writeln!(out, "{name}only in {}", input.name().display())?;
                return Ok(false);
            }
        }
    }
    ones.check_end()?;
    twos.check_end()?;
    Ok(are_equal)
}

fn compare_archives(
    arguments: &Arguments,
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
        1 => escape_for_terminal(name),
        count => format!("{} ({count})", escape_for_terminal(name)),
    };
    let mut equal_count = 0;
    let mut in_order: Vec<_> = ones.iter().collect();
    in_order.sort_by_key(|(_, index)| **index);
    for (name, index) in in_order {
        let Some(other) = twos.get(name) else {
            writeln!(out, "{}: only in {}", member_text(name), a.name().display())?;
            are_equal = false;
            continue;
        };
        let is_equal = if one.holds_array(*index)? {
            let of = |archive: &NpzFile, index: usize, input: &Input, selection: &Selection| {
                let member = Source::open_member(archive, index, input, selection.slice.is_none())?;
                selection.part_of(member)?.ensure_iterable()
            };
            let (one, two) = (of(&one, *index, a, of_a)?, of(&two, *other, b, of_b)?);
            compare_arrays(&format!("{}: ", member_text(name)), &one, &two, arguments, out)?
        } else {
            let is_same = one.members()[*index].size() == two.members()[*other].size()
                && have_same_bytes((&one, *index), (&two, *other))?;
            if !is_same {
                writeln!(out, "{}: the bytes differ", member_text(name))?;
            }
            is_same
        };
        are_equal &= is_equal;
        equal_count += usize::from(is_equal);
    }
    let mut others: Vec<_> = twos.iter().filter(|(name, _)| !ones.contains_key(*name)).collect();
    others.sort_by_key(|(_, index)| **index);
    for (name, _) in others {
        writeln!(out, "{}: only in {}", member_text(name), b.name().display())?;
        are_equal = false;
    }
    if !are_equal && equal_count > 0 {
        writeln!(out, "{equal_count} of the members are equal")?;
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
    let has_other_shape = one.shape() != two.shape();
    let (of_one, of_two) = (one.name().display(), two.name().display());
    if has_other_shape {
        let (a, b) = (one.display_shape(), two.display_shape());
        writeln!(out, "{name}shape {a} in {of_one}, {b} in {of_two}")?;
    }
    let (a, b) = (one.dtype(), two.dtype());
    // The byte order belongs to the file, not to the values.
    let native = |dtype: &DType| dtype.with_byte_order(ndarray_io::ByteOrder::NATIVE);
    let has_other_dtype = native(a) != native(b);
    let can_compare = !has_other_dtype || are_comparable(a, b);
    if has_other_dtype && !(arguments.ignore_dtype && can_compare) {
        let advice = if can_compare { "; --ignore-dtype compares their values alone" } else { "" };
        writeln!(out, "{name}dtype {a} in {of_one}, {b} in {of_two}{advice}")?;
    }
    if !can_compare || has_other_shape {
        return Ok(false);
    }
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
    let Differences { places, values, .. } = &differences;
    if places.count == 0 {
        return Ok(!has_other_dtype || arguments.ignore_dtype);
    }
    writeln!(out, "{name}{} of {} elements differ{}", places.count, one.len(), places.box_text())?;
    for (index, [first, second]) in places.indices.iter().zip(values) {
        writeln!(out, "{name}  {}  {first} and {second}", index_text(index))?;
    }
    if let Some(rest) = places.rest_text() {
        writeln!(out, "{name}  {rest}")?;
    }
    if differences.fields.len() > 1 {
        let counts =
            differences.fields.iter().map(|(field, count)| format!("{} {count}", escape_for_terminal(field)));
        writeln!(out, "{name}of the fields: {}", counts.collect::<Vec<_>>().join(", "))?;
    }
    if differences.lone_nan_count > 0 {
        writeln!(out, "{name}NaN in one of them: {}", differences.lone_nan_count)?;
    }
    for (what, largest) in [("absolute", differences.absolute), ("relative", differences.relative)] {
        if let Some((difference, place)) = largest {
            writeln!(out, "{name}largest {what} difference {difference:?} at {place}")?;
        }
    }
    Ok(false)
}
