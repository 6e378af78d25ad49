//! `ndio diff`: what two arrays, or two archives, have different.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use ndarray::IxDyn;
use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType, DynArray, NpzFile, ReadOptions};

use super::Failure;
use super::blocks::{Source, in_order};
use super::open::{Format, format_of};
use super::progress::Progress;

/// Compare two files: shapes, types and elements; exit code 0 if they are equal, 1 if not
#[derive(Args)]
pub(crate) struct Arguments {
    /// Numbers may differ by this part of the second
    #[arg(long, default_value_t = 0.0, value_name = "PART")]
    rtol: f64,
    /// Numbers may differ by this
    #[arg(long, default_value_t = 0.0, value_name = "NUMBER")]
    atol: f64,
    /// NaN is not equal to NaN
    #[arg(long)]
    strict_nan: bool,
    /// Compare Python objects, as data
    #[arg(long)]
    allow_objects: bool,
    /// The one
    a: PathBuf,
    /// The other
    b: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::password::options().allow_objects(arguments.allow_objects);
    let is_archive =
        |path: &Path| Ok::<_, Failure>(path != Path::new("-") && format_of(path)? == Format::Npz);
    let are_equal = if is_archive(&arguments.a)? && is_archive(&arguments.b)? {
        archives(arguments, &options, out)?
    } else {
        let (one, two) = (
            Source::open_all(&arguments.a, None, &options)?,
            Source::open_all(&arguments.b, None, &options)?,
        );
        arrays("", &one, &two, arguments, out)?
    };
    Ok(u8::from(!are_equal))
}

fn archives(arguments: &Arguments, options: &ReadOptions, out: &mut dyn Write) -> Result<bool, Failure> {
    let one = NpzFile::open_with(&arguments.a, options)?;
    let two = NpzFile::open_with(&arguments.b, options)?;
    let mut are_equal = true;
    let places = |archive: &NpzFile| -> Vec<(String, usize)> {
        archive
            .members()
            .iter()
            .enumerate()
            .map(|(index, member)| (member.file_name().to_owned(), index))
            .collect()
    };
    let (ones, twos) = (places(&one), places(&two));
    for (name, index) in &ones {
        let Some((_, other)) = twos.iter().find(|(other, _)| other == name) else {
            writeln!(out, "{name}: only in {}", arguments.a.display())?;
            are_equal = false;
            continue;
        };
        are_equal &= if one.members()[*index].is_array() {
            let (one, two) = (Source::whole_member(&one, *index)?, Source::whole_member(&two, *other)?);
            arrays(&format!("{name}: "), &one, &two, arguments, out)?
        } else {
            let is_same = one.read_raw_index(*index)? == two.read_raw_index(*other)?;
            if !is_same {
                writeln!(out, "{name}: the bytes differ")?;
            }
            is_same
        };
    }
    for (name, _) in twos.iter().filter(|(name, _)| !ones.iter().any(|(one, _)| one == name)) {
        writeln!(out, "{name}: only in {}", arguments.b.display())?;
        are_equal = false;
    }
    Ok(are_equal)
}

/// What has been found of the elements.
#[derive(Default)]
struct Found {
    differing: u64,
    first: Option<String>,
    /// The largest differences, and where they are.
    absolute: Option<(f64, String)>,
    relative: Option<(f64, String)>,
}

fn arrays(
    name: &str,
    one: &Source,
    two: &Source,
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let shape = |source: &Source| ndarray_io::header::Shape::from(source.shape().to_vec());
    if one.shape() != two.shape() {
        writeln!(out, "{name}shape {} and {}", shape(one), shape(two))?;
        return Ok(false);
    }
    let (a, b) = (one.dtype(), two.dtype());
    // The byte order is a matter of the file and not of the array.
    let same = |dtype: &DType| dtype.with_byte_order(ndarray_io::dtype::ByteOrder::NATIVE);
    let has_other_dtype = same(a) != same(b);
    if has_other_dtype {
        writeln!(out, "{name}dtype {a} and {b}")?;
        if !is_number(a) || !is_number(b) {
            return Ok(false);
        }
    }
    /// Of both files.
    const BLOCK: usize = 4 << 20;
    let mut found = Found::default();
    let wide = if a.item_size() < b.item_size() { two } else { one };
    let all_bytes = (wide.len() * wide.dtype().item_size()) as u64;
    let mut progress = Progress::new();
    // As they lie, if both lie so; else as they are counted.
    let order = if one.order() == two.order() { one.order() } else { Order::C };
    for (slice, first) in wide.blocks(order, BLOCK) {
        let (one, two) = (one.slice(&slice)?, two.slice(&slice)?);
        compare(&one, &two, &first, arguments, &mut found)?;
        progress.add(one.bytes().len().max(two.bytes().len()) as u64, all_bytes);
    }
    drop(progress);
    if found.differing == 0 {
        return Ok(!has_other_dtype);
    }
    let all = one.len();
    write!(out, "{name}{} of {all} elements differ", found.differing)?;
    if let Some(first) = found.first {
        write!(out, ", first at {first}")?;
    }
    writeln!(out)?;
    for (what, largest) in [("absolute", found.absolute), ("relative", found.relative)] {
        if let Some((difference, place)) = largest {
            writeln!(out, "{name}largest {what} difference {difference:?} at {place}")?;
        }
    }
    Ok(false)
}

fn is_number(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| {
        matches!(scalar.kind(), Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex)
            && scalar.size() <= 16
    })
}

fn is_complex(dtype: &DType) -> bool {
    dtype.as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Complex)
}

fn compare(
    one: &DynArray,
    two: &DynArray,
    first: &[usize],
    arguments: &Arguments,
    found: &mut Found,
) -> Result<(), Failure> {
    // Equal bytes are equal numbers, but for NaN if that matters.
    let has_same_bytes = one.objects().is_none()
        && one.dtype() == two.dtype()
        && one.order() == two.order()
        && one.bytes() == two.bytes();
    if has_same_bytes && !arguments.strict_nan {
        return Ok(());
    }
    if is_number(one.dtype()) && is_number(two.dtype()) {
        if is_complex(one.dtype()) || is_complex(two.dtype()) {
            type C = num_complex::Complex<f64>;
            let (a, b) = (one.cast::<C, IxDyn>(Casting::Unsafe)?, two.cast::<C, IxDyn>(Casting::Unsafe)?);
            for ((index, a), b) in a.indexed_iter().zip(&b) {
                let is_equal = a == b || !arguments.strict_nan && a.is_nan() && b.is_nan();
                found.see(is_equal, (a - b).norm(), b.norm(), arguments, || {
                    place(first, ndarray::Dimension::slice(&index))
                });
            }
            return Ok(());
        }
        // Integers of 64 bits are compared as they are: as floats, neighbours would be equal.
        let integers = (whole_numbers(one), whole_numbers(two));
        if let (Some(a), Some(b)) = integers {
            for (index, (a, b)) in a.iter().zip(&b).enumerate() {
                found.see(a == b, a.abs_diff(*b) as f64, *b as f64, arguments, || {
                    place_of(first, one.shape(), index)
                });
            }
            return Ok(());
        }
        let (a, b) = (one.cast::<f64, IxDyn>(Casting::Unsafe)?, two.cast::<f64, IxDyn>(Casting::Unsafe)?);
        for (index, (a, b)) in a.iter().zip(&b).enumerate() {
            let is_equal = a == b || !arguments.strict_nan && a.is_nan() && b.is_nan();
            found.see(is_equal, (a - b).abs(), b.abs(), arguments, || place_of(first, one.shape(), index));
        }
        return Ok(());
    }
    if let (Some(a), Some(b)) = (one.objects(), two.objects()) {
        for (index, (a, b)) in a.iter().zip(b).enumerate() {
            found.note(a == b, || place_of(first, one.shape(), index));
        }
        return Ok(());
    }
    // All else is equal if its bytes are, in one byte order and one order of the elements.
    let native = one.dtype().with_byte_order(ndarray_io::dtype::ByteOrder::NATIVE);
    let (a, b) = (with_dtype(one, &native)?, with_dtype(two, &native)?);
    let size = native.item_size().max(1);
    for (index, (a, b)) in a.bytes().chunks_exact(size).zip(b.bytes().chunks_exact(size)).enumerate() {
        found.note(a == b, || place_of(first, one.shape(), index));
    }
    Ok(())
}

fn with_dtype(array: &DynArray, dtype: &DType) -> Result<DynArray, Failure> {
    let array = if array.dtype() == dtype { array.clone() } else { array.cast_to(dtype, Casting::Safe)? };
    Ok(in_order(&array, Order::C)?.into_owned())
}

/// Integers and bools, in C order.
fn whole_numbers(array: &DynArray) -> Option<ndarray::Array1<i128>> {
    let kind = array.dtype().as_scalar()?.kind();
    let flat = |array: ndarray::ArrayD<i128>| array.iter().copied().collect();
    match kind {
        Kind::Int | Kind::Bool => {
            Some(flat(array.cast::<i64, IxDyn>(Casting::Unsafe).ok()?.mapv(i128::from)))
        }
        Kind::Uint => Some(flat(array.cast::<u64, IxDyn>(Casting::Unsafe).ok()?.mapv(i128::from))),
        _ => None,
    }
}

impl Found {
    fn note(&mut self, is_equal: bool, place: impl Fn() -> String) {
        if !is_equal {
            self.differing += 1;
            if self.first.is_none() {
                self.first = Some(place());
            }
        }
    }

    fn see(
        &mut self,
        is_equal: bool,
        apart: f64,
        size: f64,
        arguments: &Arguments,
        place: impl Fn() -> String,
    ) {
        if is_equal || apart <= arguments.atol + arguments.rtol * size.abs() {
            return;
        }
        self.note(false, &place);
        let larger =
            |largest: &Option<(f64, String)>, new: f64| largest.as_ref().is_none_or(|(old, _)| new > *old);
        if apart.is_finite() && larger(&self.absolute, apart) {
            self.absolute = Some((apart, place()));
        }
        let part = apart / size.abs();
        if part.is_finite() && larger(&self.relative, part) {
            self.relative = Some((part, place()));
        }
    }
}

/// The index of an element that stands in a block.
fn place(first: &[usize], within: &[usize]) -> String {
    let index: Vec<String> =
        first.iter().zip(within).map(|(from, index)| (from + index).to_string()).collect();
    format!("[{}]", index.join(", "))
}

/// The same by its number in C order.
fn place_of(first: &[usize], shape: &[usize], number: usize) -> String {
    let mut left = number;
    let mut within = vec![0; shape.len()];
    for (axis, length) in shape.iter().enumerate().rev() {
        within[axis] = left % length;
        left /= length;
    }
    place(first, &within)
}
