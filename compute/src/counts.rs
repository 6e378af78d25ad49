//! Distinct values, and how often each of them occurs.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use ndarray_io::dtype::Kind;
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, DType, DynArray};

use crate::error::{Error, Result};
use crate::expression::ranks;
use crate::{MEMORY_BYTES, Source};

/// The distinct values of an array.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Counts {
    /// How many elements there are.
    pub total: u64,
    /// How many distinct values there are.
    pub distinct: u64,
    /// The most frequent values, as an array of one axis in native byte order, those that occur equally often in the order of the values.
    pub values: DynArray,
    /// How often each of them occurs.
    pub counts: Vec<u64>,
}

/// Counts the distinct values of an array, of which the `top` most frequent ones are returned. Like `numpy.unique`, it takes all NaN for one
/// value, and -0.0 for 0.0.
///
/// The array is read once if the distinct values fit in [`MEMORY_BYTES`], and otherwise once for each part of them that does.
///
/// # Errors
///
/// Those of reading the array; [`Error::Operands`] if the elements are Python objects.
pub fn count(source: &dyn Source, top: usize) -> Result<Counts> {
    let dtype = source.dtype().with_byte_order(ByteOrder::NATIVE);
    if dtype.has_object() {
        return Err(Error::operands("Python objects are not counted"));
    }
    let size = dtype.item_size();
    // A key, its count, and what a table has for each entry.
    let max_entries = (MEMORY_BYTES as usize / (2 * (size.max(8) + 24))).max(1 << 10);
    let total = source.shape().iter().fold(1u64, |all, length| all.saturating_mul(*length as u64));
    let mut parts = 1;
    let (found, distinct) = loop {
        match count_in_parts(source, &dtype, parts, (max_entries, top))? {
            Some(found) => break found,
            None => parts *= 4,
        }
    };
    let bytes: Vec<u8> = found.iter().flat_map(|(key, _)| key.iter().copied()).collect();
    let values = DynArray::from_bytes(dtype, vec![found.len()], Order::C, &bytes)?;
    Ok(Counts { total, distinct, values, counts: found.into_iter().map(|(_, count)| count).collect() })
}

/// The bytes of values, and how often each of them occurs.
type Entries = Vec<(Vec<u8>, u64)>;

/// Counts the values in this number of parts; `None` if one of them does not fit in memory.
fn count_in_parts(
    source: &dyn Source,
    dtype: &DType,
    parts: u64,
    (max_entries, top): (usize, usize),
) -> Result<Option<(Entries, u64)>> {
    let (mut found, mut distinct) = (Entries::new(), 0);
    for part in 0..parts {
        let Some(counted) = count_part(source, dtype, (part, parts), max_entries)? else { return Ok(None) };
        distinct += counted.len() as u64;
        found.extend(counted);
        keep_most_frequent(&mut found, dtype, top)?;
    }
    Ok(Some((found, distinct)))
}

/// How often each key occurs.
enum Table {
    /// Keys of up to 8 bytes.
    Words(HashMap<u64, u64>),
    Bytes(HashMap<Vec<u8>, u64>),
}

impl Table {
    fn new(size: usize) -> Self {
        if size <= 8 { Self::Words(HashMap::new()) } else { Self::Bytes(HashMap::new()) }
    }

    fn len(&self) -> usize {
        match self {
            Self::Words(table) => table.len(),
            Self::Bytes(table) => table.len(),
        }
    }

    /// Adds the elements of one of `parts` parts of all values.
    fn add(&mut self, bytes: &[u8], size: usize, (part, parts): (u64, u64)) {
        let is_mine = |hash: u64| parts == 1 || hash % parts == part;
        match self {
            Self::Words(table) => {
                let mut last: Option<(u64, u64)> = None;
                let mut add = |word: u64, count: u64| {
                    if is_mine(mixed(word)) {
                        *table.entry(word).or_insert(0) += count;
                    }
                };
                // Equal neighbours, as in labels, are looked up once.
                let mut see = |word: u64| match &mut last {
                    Some((known, count)) if *known == word => *count += 1,
                    _ => {
                        if let Some((word, count)) = last.replace((word, 1)) {
                            add(word, count);
                        }
                    }
                };
                macro_rules! words {
                    ($($size:literal $type:ty),*) => {
                        match size {
                            $($size => bytes.as_chunks::<$size>().0.iter().for_each(|one| see(<$type>::from_ne_bytes(*one).into())),)*
                            _ => bytes.chunks_exact(size).for_each(|one| {
                                let mut word = [0; 8];
                                word[..size].copy_from_slice(one);
                                see(u64::from_ne_bytes(word));
                            }),
                        }
                    };
                }
                words!(1 u8, 2 u16, 4 u32, 8 u64);
                if let Some((word, count)) = last {
                    add(word, count);
                }
            }
            Self::Bytes(table) => {
                for one in bytes.chunks_exact(size) {
                    if is_mine(one.iter().fold(0, |hash, byte| mixed(hash ^ u64::from(*byte)))) {
                        *table.entry_ref(one).or_insert(0) += 1;
                    }
                }
            }
        }
    }

    fn into_entries(self, size: usize) -> Entries {
        match self {
            Self::Words(table) => {
                let bytes = |word: u64| match size {
                    1 => (word as u8).to_ne_bytes().to_vec(),
                    2 => (word as u16).to_ne_bytes().to_vec(),
                    4 => (word as u32).to_ne_bytes().to_vec(),
                    _ => word.to_ne_bytes()[..size].to_vec(),
                };
                table.into_iter().map(|(word, count)| (bytes(word), count)).collect()
            }
            Self::Bytes(table) => table.into_iter().collect(),
        }
    }

    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Words(all), Self::Words(more)) => {
                more.into_iter().for_each(|(word, count)| *all.entry(word).or_insert(0) += count)
            }
            (Self::Bytes(all), Self::Bytes(more)) => {
                more.into_iter().for_each(|(key, count)| *all.entry(key).or_insert(0) += count)
            }
            _ => unreachable!("the elements have one size"),
        }
    }
}

/// Spreads the bits of a word over all bits.
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    word ^ word >> 32
}

/// Counts the values of a part of all values; `None` if they are too many.
fn count_part(
    source: &dyn Source,
    dtype: &DType,
    part: (u64, u64),
    max_entries: usize,
) -> Result<Option<Entries>> {
    const BLOCK_BYTES: usize = 1 << 20;
    let size = dtype.item_size();
    if size == 0 {
        let len: u64 = source.shape().iter().map(|length| *length as u64).product();
        return Ok(Some(if len > 0 { vec![(Vec::new(), len)] } else { Vec::new() }));
    }
    let tables: Mutex<Vec<Table>> = Mutex::new(Vec::new());
    let lock = || tables.lock().unwrap_or_else(PoisonError::into_inner);
    // Threads count in tables of their own, which have to fit together.
    let threads = ndarray_io::ReadOptions::new().get_threads();
    let mut is_too_large = false;
    let counted = source.blocks().bytes(BLOCK_BYTES).par_map(
        |block| {
            let native = canonical(block.array(), dtype).map_err(|error| block.located(error))?;
            let taken = lock().pop();
            let mut table = taken.unwrap_or_else(|| Table::new(size));
            table.add(native.bytes(), size, part);
            let len = table.len();
            lock().push(table);
            Ok::<usize, Error>(len)
        },
        |len: Result<usize>| {
            is_too_large |= len? > max_entries / (threads + 1);
            if is_too_large { Err(Error::TooLarge(String::new())) } else { Ok(()) }
        },
    );
    match counted {
        Err(Error::TooLarge(_)) if is_too_large => return Ok(None),
        counted => counted?,
    }
    let mut tables = tables.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
    let mut all = tables.next().unwrap_or_else(|| Table::new(size));
    tables.for_each(|table| all.merge(table));
    Ok(Some(all.into_entries(size)))
}

/// Returns the elements in native byte order, with one form of NaN and of zero.
fn canonical(array: &DynArray, dtype: &DType) -> ndarray_io::Result<DynArray> {
    let native = array.cast_to(dtype, ndarray_io::Casting::Safe)?;
    let scalar = dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
    let mut bytes;
    match scalar {
        Some((Kind::Float, 4) | (Kind::Complex, 8)) => {
            bytes = native.bytes().to_vec();
            for one in bytes.as_chunks_mut::<4>().0 {
                let number = f32::from_ne_bytes(*one);
                *one = if number.is_nan() { f32::NAN } else { number + 0.0 }.to_ne_bytes();
            }
        }
        Some((Kind::Float, 8) | (Kind::Complex, 16)) => {
            bytes = native.bytes().to_vec();
            for one in bytes.as_chunks_mut::<8>().0 {
                let number = f64::from_ne_bytes(*one);
                *one = if number.is_nan() { f64::NAN } else { number + 0.0 }.to_ne_bytes();
            }
        }
        Some((Kind::Float, 2)) => {
            bytes = native.bytes().to_vec();
            for one in bytes.as_chunks_mut::<2>().0 {
                let number = half::f16::from_ne_bytes(*one);
                let number = if number.is_nan() { half::f16::NAN } else { number };
                *one = if number == half::f16::ZERO { half::f16::ZERO } else { number }.to_ne_bytes();
            }
        }
        Some((Kind::Bool, _)) => bytes = native.bytes().iter().map(|byte| u8::from(*byte != 0)).collect(),
        _ => return Ok(native),
    }
    DynArray::from_bytes(dtype.clone(), native.shape().to_vec(), native.order(), &bytes)
}

/// Keeps the most frequent values, and sorts them.
fn keep_most_frequent(found: &mut Entries, dtype: &DType, top: usize) -> Result<()> {
    // Those that occur equally often are ordered by their values, of which only the ones that may be kept are compared.
    if found.len() > top && top > 0 {
        found.select_nth_unstable_by(top - 1, |one, two| two.1.cmp(&one.1));
        let least = found[top - 1].1;
        found.retain(|(_, count)| *count >= least);
    }
    let bytes: Vec<u8> = found.iter().flat_map(|(key, _)| key.iter().copied()).collect();
    let array = DynArray::from_bytes(dtype.clone(), vec![found.len()], Order::C, &bytes)?;
    let order = ranks(&array)?;
    let mut places: Vec<usize> = (0..found.len()).collect();
    places.sort_by(|one, two| found[*two].1.cmp(&found[*one].1).then_with(|| order[*one].cmp(&order[*two])));
    places.truncate(top);
    *found = places.into_iter().map(|at| std::mem::take(&mut found[at])).collect();
    Ok(())
}

/// Returns for each row of an array which place a key has among the keys of all rows; equal keys have the same, and NaN and NaT have
/// `u32::MAX`.
///
/// # Errors
///
/// Those of the expression; [`Error::TooLarge`] if the keys do not fit in memory.
pub fn row_ranks(source: &dyn Source, key: &crate::Expression) -> Result<Vec<u32>> {
    let bound = key.bind_fields(source)?;
    let rows = source.shape().first().copied().unwrap_or(0);
    if bound.shape() != [rows] {
        return Err(Error::operands(format!(
            "the key has the shape {}, and there are {rows} rows",
            ndarray_io::header::Shape::from(bound.shape())
        )));
    }
    if rows as u64 > MEMORY_BYTES / 16 {
        return Err(Error::TooLarge(format!("{rows} rows are too many to be sorted: choose a part")));
    }
    bound.ranks()
}
