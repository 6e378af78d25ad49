//! `ndio new`: makes arrays to try things with.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ndarray_io::dtype::{Kind, Scalar};
use ndarray_io::header::{Header, Order};
use ndarray_io::{ByteOrder, Casting, DType, DynArray, npy};

use super::calc::check_npy_name;
use super::failure::Failure;
use super::formats::{parse_dtype, parse_shape, shape_words};
use super::output::{Content, Output};

/// Make an array of zeros, of ascending numbers or of random ones
///
/// Random floats are from 0 to 1, and random integers all of the type.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio new zeros --shape 3,4 -o z.npy\n  ndio new random --shape 1000 --dtype i2 --seed 7 -o r.npy"
)]
pub(crate) struct Arguments {
    /// What is in it
    #[arg(value_enum)]
    content: NewContent,
    /// Its shape: 100,3
    #[arg(long, value_name = "LENGTHS", allow_hyphen_values = true)]
    shape: String,
    /// The type of the elements, in NumPy's notation
    #[arg(long, value_name = "DTYPE", default_value = "f8")]
    dtype: String,
    /// Which random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Replace an existing file
    #[arg(long, alias = "replace")]
    force: bool,
    /// The new file; - is standard output
    #[arg(long, short)]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NewContent {
    Zeros,
    Arange,
    Random,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    const BLOCK_ELEMENTS: u64 = 1 << 16;
    let dtype = parse_dtype(&arguments.dtype)?;
    if dtype.has_object() {
        return Err("it makes no Python objects".into());
    }
    if shape_words(&arguments.shape).contains(&"-1") {
        return Err("a new array has no length of -1".into());
    }
    check_npy_name(&arguments.output)?;
    let shape = parse_shape(&arguments.shape, 0, &dtype)?;
    let kind = dtype.as_scalar().map(ndarray_io::dtype::Scalar::kind);
    if arguments.content != NewContent::Zeros
        && !(matches!(kind, Some(Kind::Bool | Kind::Int | Kind::Uint | Kind::Float))
            && dtype.item_size() <= 8
            || kind == Some(Kind::Complex) && dtype.item_size() <= 16)
    {
        return Err(format!("only zeros have the dtype {dtype}").into());
    }
    let header = Header::new(dtype.clone(), Order::C, shape)?;
    let (head, len) = (npy::format(&header, None)?, header.len());
    let bits = 8 * dtype.item_size() as u32 - u32::from(kind == Some(Kind::Int));
    if arguments.content == NewContent::Arange
        && matches!(kind, Some(Kind::Int | Kind::Uint))
        && bits < 64
        && len > 1 << bits
    {
        return Err(format!("{len} ascending numbers do not fit {dtype}").into());
    }
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    let output = Output::new(&arguments.output, arguments.force)?;
    output.write(out, Content::Binary, |sink| {
        let mut sink = BufWriter::new(sink);
        sink.write_all(&head)?;
        for start in (0..len).step_by(BLOCK_ELEMENTS as usize) {
            let end = len.min(start + BLOCK_ELEMENTS);
            sink.write_all(&elements(arguments.content, start..end, &dtype, &mut random)?)?;
        }
        Ok(sink.flush()?)
    })?;
    Ok(0)
}

/// Returns the bytes of some of the elements.
fn elements(
    content: NewContent,
    numbers: std::ops::Range<u64>,
    dtype: &DType,
    random: &mut fastrand::Rng,
) -> Result<Vec<u8>, Failure> {
    let count = (numbers.end - numbers.start) as usize;
    let kind = dtype.as_scalar().map_or(Kind::Void, ndarray_io::dtype::Scalar::kind);
    let mut made = vec![0; count * dtype.item_size()];
    let mut bytes: Vec<u8> = Vec::new();
    match (content, kind) {
        (NewContent::Zeros, _) => return Ok(made),
        (NewContent::Random, Kind::Int | Kind::Uint) => {
            random.fill(&mut made);
            return Ok(made);
        }
        (NewContent::Random, Kind::Bool) => {
            made.fill_with(|| u8::from(random.bool()));
            return Ok(made);
        }
        (NewContent::Arange, Kind::Float | Kind::Bool) => {
            numbers.for_each(|number| bytes.extend((number as f64).to_ne_bytes()));
        }
        (NewContent::Arange, Kind::Complex) => {
            numbers.for_each(|number| bytes.extend([number as f64, 0.0].map(f64::to_ne_bytes).concat()));
        }
        (NewContent::Arange, _) => numbers.for_each(|number| bytes.extend(number.to_ne_bytes())),
        (NewContent::Random, _) => {
            let parts = if kind == Kind::Complex { 2 } else { 1 };
            (0..count * parts).for_each(|_| bytes.extend(random.f64().to_ne_bytes()));
        }
    }
    // The widest type of the kind, so that a number that does not fit is an error.
    let wide = match kind {
        Kind::Bool => Scalar::new(Kind::Float, 8, ByteOrder::NATIVE),
        kind => Scalar::new(kind, if kind == Kind::Complex { 16 } else { 8 }, ByteOrder::NATIVE),
    };
    let wide: DType = wide.ok_or("the dtype is not a number")?.into();
    let all = DynArray::from_bytes(wide, vec![count], Order::C, &bytes)?;
    let casting = if kind == Kind::Bool { Casting::Unsafe } else { Casting::SameKind };
    Ok(all.cast_to(dtype, casting)?.bytes().to_vec())
}
