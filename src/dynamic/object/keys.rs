//! Keys of dicts and sets: which of them are one, as Python has it.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use num_bigint::BigInt;
use num_complex::Complex;
use num_traits::FromPrimitive;

use super::equal::Sets;
use super::graph::{Graph, Held, Id, Node};
use super::times::{Date, Time, Timedelta};
use super::{ObjectRef, Text, View};
use crate::dtype::{DType, Kind};

/// A key that has no parts, so that those that Python takes for one are equal.
#[derive(PartialEq, Eq, Hash)]
enum Leaf<'a> {
    None,
    Int(i64),
    Big(Cow<'a, BigInt>),
    Float(u64),
    Complex(u64, u64),
    /// A decimal number that is no other: its digits, and the power of ten.
    Digits(bool, String, i64),
    Text(Cow<'a, str>),
    Codes(Vec<u32>),
    Bytes(&'a [u8]),
    Date(Date),
    Time(Time),
    Datetime(Date, Time),
    Timedelta(Timedelta),
    Global(&'a str, &'a str),
    Scalar(&'a DType, &'a [u8]),
    Extension(u32),
    /// What is equal to itself alone, as far as anybody knows.
    Itself(Id),
}

impl Leaf<'_> {
    fn is_nan(&self) -> bool {
        let is_nan = |bits: u64| f64::from_bits(bits).is_nan();
        match self {
            Self::Float(bits) => is_nan(*bits),
            Self::Complex(re, im) => is_nan(*re) || is_nan(*im),
            Self::Digits(_, digits, _) => digits.to_ascii_lowercase().contains("nan"),
            _ => false,
        }
    }
}

/// What a key is.
enum KeyKind<'a> {
    Leaf(Leaf<'a>),
    Tuple,
    FrozenSet,
    /// What cannot be a key.
    None,
}

fn kind(key: ObjectRef<'_>) -> KeyKind<'_> {
    let leaf = match key.view() {
        View::None => Leaf::None,
        View::Bool(value) => Leaf::Int(value.into()),
        View::Int(_) => match (key.slot.held(), key.node()) {
            (Held::Int(number), _) => Leaf::Int(number),
            (_, Some((graph, Node::Big(number)))) => {
                Leaf::Big(Cow::Borrowed(&graph.rest().bigs[*number as usize]))
            }
            _ => unreachable!("an integer is small or large"),
        },
        View::Float(number) => float(number),
        View::Complex(number) => complex(number),
        View::Str(text) => match text.as_str() {
            Some(text) => Leaf::Text(Cow::Borrowed(text)),
            None => Leaf::Codes(Text::code_points(text).collect()),
        },
        View::Bytes(bytes) => Leaf::Bytes(bytes),
        View::Decimal(digits) => decimal(digits),
        View::Date(date) => Leaf::Date(date),
        // Python looks at clocks, which do not show the fold.
        View::Time(time) => Leaf::Time(time.fold(false)),
        View::Datetime(date, time) => Leaf::Datetime(date, time.fold(false)),
        View::Timedelta(length) => Leaf::Timedelta(length),
        View::Scalar(scalar) => {
            let kind = scalar.dtype().as_scalar().map(|scalar| scalar.kind());
            let made = match kind {
                Some(Kind::Bool | Kind::Int) => scalar.cast::<i64>().ok().map(Leaf::Int),
                Some(Kind::Uint) => scalar.cast::<u64>().ok().map(|number| match i64::try_from(number) {
                    Ok(number) => Leaf::Int(number),
                    Err(_) => Leaf::Big(Cow::Owned(number.into())),
                }),
                Some(Kind::Float) => scalar.cast::<f64>().ok().map(float),
                Some(Kind::Complex) => scalar.cast::<Complex<f64>>().ok().map(complex),
                Some(Kind::Text) => scalar.cast::<String>().ok().map(|text| Leaf::Text(Cow::Owned(text))),
                Some(Kind::Bytes) => {
                    let bytes = scalar.bytes();
                    let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                    Some(Leaf::Bytes(&bytes[..len]))
                }
                _ => None,
            };
            made.unwrap_or(Leaf::Scalar(scalar.dtype(), scalar.bytes()))
        }
        View::Global(global) => Leaf::Global(global.module(), global.name()),
        View::Extension(code) => Leaf::Extension(code),
        View::Tuple(_) => return KeyKind::Tuple,
        View::FrozenSet(_) => return KeyKind::FrozenSet,
        View::Call(_) | View::Persistent(_) | View::Buffer(_) => match key.id() {
            Some(id) => Leaf::Itself(id),
            None => return KeyKind::None,
        },
        View::List(_) | View::Dict(_) | View::Set(_) | View::ByteArray(_) | View::Array(_) => {
            return KeyKind::None;
        }
    };
    KeyKind::Leaf(leaf)
}

/// A float, which is one key with the integer that is as large.
fn float<'a>(number: f64) -> Leaf<'a> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() != 0.0 || !number.is_finite() {
        return Leaf::Float(number.to_bits());
    }
    if (-LIMIT..LIMIT).contains(&number) {
        return Leaf::Int(number as i64);
    }
    BigInt::from_f64(number).map_or(Leaf::Float(number.to_bits()), |number| Leaf::Big(Cow::Owned(number)))
}

fn complex<'a>(number: Complex<f64>) -> Leaf<'a> {
    match number.im == 0.0 {
        true => float(number.re),
        // Zeros of both signs are equal.
        false => Leaf::Complex((number.re + 0.0).to_bits(), (number.im + 0.0).to_bits()),
    }
}

/// A decimal number: sign, digits, and the power of ten that they are multiplied by.
fn digits(text: &str) -> Option<(bool, String, i64)> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some((is_negative, digits, i64::from(power) - fraction.len() as i64))
}

/// Whether Python's `Decimal` takes a text.
pub(super) fn is_decimal(text: &str) -> bool {
    let unsigned = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    let nan = unsigned.strip_prefix('s').unwrap_or(&unsigned).strip_prefix("nan");
    let is_nan = nan.is_some_and(|payload| payload.bytes().all(|digit| digit.is_ascii_digit()));
    text.len() <= unsigned.len() + 1
        && (is_nan || matches!(&*unsigned, "inf" | "infinity") || digits(text).is_some())
}

/// A decimal number, which is one key with the integer or float that is as large. (Of integers with so many digits that it would
/// take long, only those that are written out.)
fn decimal<'a>(text: &str) -> Leaf<'a> {
    const MANY: usize = 400;
    let Some((is_negative, digits, power)) = digits(text) else {
        return match text.to_ascii_lowercase().trim_start_matches(['-', '+']) {
            "inf" | "infinity" if text.starts_with('-') => float(f64::NEG_INFINITY),
            "inf" | "infinity" => float(f64::INFINITY),
            _ => Leaf::Digits(false, text.to_owned(), 0), // a NaN
        };
    };
    let kept = digits.trim_start_matches('0').trim_end_matches('0');
    let power = power + (digits.len() - digits.trim_end_matches('0').len()) as i64;
    if kept.is_empty() {
        return Leaf::Int(0);
    }
    let sign = if is_negative { "-" } else { "" };
    if power >= 0 && (kept.len() as i64 + power <= MANY.max(text.len()) as i64) && text.len() <= 10 * MANY {
        let whole = format!("{sign}{kept}{}", "0".repeat(power as usize));
        return match (whole.parse::<i64>(), whole.parse::<BigInt>()) {
            (Ok(number), _) => Leaf::Int(number),
            (_, Ok(number)) => Leaf::Big(Cow::Owned(number)),
            _ => unreachable!("these are digits"),
        };
    }
    // A float is a decimal number with as many digits behind the point as it has halvings.
    if power < 0 && kept.len() < MANY && power > -1100 {
        let number: f64 = format!("{sign}{kept}e{power}").parse().expect("these are digits");
        let written = format!("{:.*}", power.unsigned_abs() as usize, number.abs());
        let is_all = written.replace('.', "").trim_start_matches('0') == kept;
        let further = format!("{:.1100}", number.abs());
        if is_all && further.trim_end_matches('0').len() <= written.len() {
            return float(number);
        }
    }
    Leaf::Digits(is_negative, kept.to_owned(), power)
}

/// The number of a key, and whether somebody else can have an equal one.
#[derive(Clone, Copy)]
struct Hashed {
    hash: u64,
    is_known: bool,
}

/// Numbers for keys, of which equal ones have the same, whoever they are compared with.
#[derive(Default)]
pub(super) struct Keys {
    state: RandomState,
    /// Of those with nodes, each is gone through once.
    made: HashMap<Id, Hashed>,
    equal: Sets,
    /// Whether no NaN is equal to another, as among the keys of one dict; to look one up, its bits count.
    nans_differ: bool,
}

impl Keys {
    /// The number of a key; `None` if it cannot be one.
    fn hash(&mut self, key: ObjectRef<'_>) -> Option<u64> {
        self.hashed(key).map(|hashed| hashed.hash)
    }

    fn hashed(&mut self, key: ObjectRef<'_>) -> Option<Hashed> {
        let mut open = vec![(key, 0)];
        while let Some((object, next)) = open.pop() {
            if object.id().is_some_and(|id| self.made.contains_key(&id)) {
                continue;
            }
            match kind(object) {
                KeyKind::None => return None,
                KeyKind::Leaf(leaf) => {
                    let hash = self.state.hash_one(&leaf);
                    let hashed = Hashed { hash, is_known: !matches!(leaf, Leaf::Itself(_)) };
                    match object.id() {
                        Some(id) => drop(self.made.insert(id, hashed)),
                        None if open.is_empty() => return Some(hashed),
                        None => {}
                    }
                }
                KeyKind::Tuple | KeyKind::FrozenSet => match object.items().and_then(|items| items.get(next))
                {
                    Some(part) => {
                        open.push((object, next + 1));
                        open.push((part, 0));
                    }
                    None => {
                        let hash = self.of_parts(object);
                        // What has parts has a node.
                        object.id().map(|id| self.made.insert(id, hash));
                    }
                },
            }
        }
        key.id().map(|id| self.made[&id])
    }

    fn of_parts(&self, object: ObjectRef<'_>) -> Hashed {
        let parts =
            (0..object.part_count()).filter_map(|index| object.part(index)).map(|part| match part.id() {
                Some(id) => self.made[&id],
                None => match kind(part) {
                    KeyKind::Leaf(leaf) => Hashed { hash: self.state.hash_one(&leaf), is_known: true },
                    _ => unreachable!("what has parts has a node"),
                },
            });
        let is_set = matches!(object.view(), View::FrozenSet(_));
        let mut parts: Vec<Hashed> = parts.collect();
        if is_set {
            // Whatever their order; and one that was just read may have an item twice.
            parts.sort_unstable_by_key(|part| part.hash);
            parts.dedup_by_key(|part| part.hash);
        }
        let mut hasher = self.state.build_hasher();
        (is_set, parts.len()).hash(&mut hasher);
        parts.iter().for_each(|part| part.hash.hash(&mut hasher));
        Hashed { hash: hasher.finish(), is_known: parts.iter().all(|part| part.is_known) }
    }

    /// Whether Python takes two keys for one.
    pub(super) fn same(&mut self, one: ObjectRef<'_>, two: ObjectRef<'_>) -> bool {
        let mut open = vec![(one, two)];
        while let Some((one, two)) = open.pop() {
            if one.is_same(two) {
                continue;
            }
            match (kind(one), kind(two)) {
                (KeyKind::Leaf(one), KeyKind::Leaf(two))
                    if one == two && !(self.nans_differ && one.is_nan()) => {}
                (KeyKind::Tuple, KeyKind::Tuple) | (KeyKind::FrozenSet, KeyKind::FrozenSet)
                    if one.part_count() == two.part_count() || matches!(one.view(), View::FrozenSet(_)) =>
                {
                    if !self.equal.join(one.id(), two.id()) {
                        continue; // they have been compared
                    }
                    if matches!(one.view(), View::FrozenSet(_)) {
                        let Some(of_one) = self.sorted(one) else { return false };
                        let Some(of_two) = self.sorted(two) else { return false };
                        if of_one.len() != of_two.len() {
                            self.equal = Sets::default();
                            return false;
                        }
                        open.extend(of_one.into_iter().zip(of_two));
                        continue;
                    }
                    open.extend(
                        (0..one.part_count()).filter_map(|index| one.part(index).zip(two.part(index))),
                    );
                }
                _ => {
                    // What was taken for equal on the way here may be not.
                    self.equal = Sets::default();
                    return false;
                }
            }
        }
        true
    }

    fn sorted<'a>(&mut self, set: ObjectRef<'a>) -> Option<Vec<ObjectRef<'a>>> {
        let parts = (0..set.part_count()).filter_map(|index| set.part(index));
        let mut parts = parts.map(|part| Some((self.hash(part)?, part))).collect::<Option<Vec<_>>>()?;
        parts.sort_by_key(|(hash, _)| *hash);
        parts.dedup_by_key(|(hash, _)| *hash); // a set that was just read may have an item twice
        Some(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// Where the keys of a dict (at every second place) or set stand that remain if of equal ones the last counts, at the place of the
    /// first; `None` within if all do, and outside if one can be no key.
    pub(super) fn distinct(&mut self, owner: ObjectRef<'_>, step: usize) -> Option<Option<Vec<[usize; 2]>>> {
        let count = owner.part_count() / step;
        let Some((graph, number)) = owner.place() else { return Some(None) };
        let key = |index: usize| *graph.part(number, index * step);
        let is_simple = count <= FEW && (0..count).all(|index| key(index).is_simple());
        if is_simple && (1..count).all(|index| (0..index).all(|before| key(index) != key(before))) {
            return Some(None);
        }
        self.nans_differ = true;
        let mut places = Places::default();
        let mut kept: Vec<[usize; 2]> = Vec::with_capacity(count);
        for index in 0..count {
            let part = owner.part(index * step)?;
            let hash = self.hash(part)?;
            let known = places.all(hash).find(|known| {
                owner.part(kept[*known as usize][0] * step).is_some_and(|other| self.same(part, other))
            });
            match known {
                Some(known) => kept[known as usize][1] = index,
                None => {
                    places.insert(hash, kept.len() as u32);
                    kept.push([index, index]);
                }
            }
        }
        Some((kept.len() < count).then_some(kept))
    }
}

/// Numbers by hashes, each of which has one, nearly always.
#[derive(Default)]
struct Places {
    first: HashMap<u64, u32>,
    further: Vec<(u64, u32)>,
}

impl Places {
    fn insert(&mut self, hash: u64, place: u32) {
        match self.first.entry(hash) {
            std::collections::hash_map::Entry::Vacant(entry) => drop(entry.insert(place)),
            std::collections::hash_map::Entry::Occupied(_) => self.further.push((hash, place)),
        }
    }

    fn all(&self, hash: u64) -> impl Iterator<Item = u32> + '_ {
        let further = self.further.iter().filter(move |(other, _)| *other == hash).map(|(_, place)| *place);
        self.first.get(&hash).copied().into_iter().chain(further)
    }
}

/// Which key of a dict or set stands where.
pub(super) struct Index {
    state: RandomState,
    places: Places,
}

/// The indexes of a graph's dicts and sets, each made when somebody looks into it for the first time. (Behind this trait, an object is
/// the key of a map without its being said to be mutable: what is looked up changes nothing of it.)
pub(super) trait Indexes: Send + Sync {
    fn once(&self, number: u32, make: &dyn Fn() -> Option<Index>) -> Option<Arc<Index>>;
}

impl Indexes for Mutex<HashMap<u32, Arc<Index>>> {
    fn once(&self, number: u32, make: &dyn Fn() -> Option<Index>) -> Option<Arc<Index>> {
        let mut indexes = self.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = indexes.get(&number) {
            return Some(Arc::clone(index));
        }
        let index = Arc::new(make()?);
        indexes.insert(number, Arc::clone(&index));
        Some(index)
    }
}

/// Room for the indexes of a graph, if it has a dict or set that is worth one.
pub(super) fn room_for_indexes(graph: &Graph) -> Option<Box<dyn Indexes>> {
    let is_worth_it = |node: &Node| match node {
        Node::Dict(span) => span.len / 2 > FEW,
        Node::Set(span) | Node::FrozenSet(span) => span.len > FEW,
        _ => false,
    };
    graph.nodes.iter().any(is_worth_it).then(|| Box::<Mutex<_>>::default() as Box<dyn Indexes>)
}

/// Of so few keys, each is looked at.
pub(super) const FEW: usize = 8;

/// The number of a key in a dict or set.
pub(super) fn find(owner: ObjectRef<'_>, key: ObjectRef<'_>) -> Option<usize> {
    let (graph, number) = owner.place()?;
    let step = if matches!(graph.nodes[number as usize], Node::Dict(_)) { 2 } else { 1 };
    let index = match &graph.indexes {
        Some(indexes) => indexes.once(number, &|| index(owner, step)),
        None => index(owner, step).map(Arc::new),
    }?;
    let mut keys = Keys { state: index.state.clone(), ..Keys::default() };
    let hash = keys.hash(key)?;
    let is_it = |place: &u32| owner.part(*place as usize * step).is_some_and(|other| keys.same(key, other));
    index.places.all(hash).find(is_it).map(|place| place as usize)
}

fn index(owner: ObjectRef<'_>, step: usize) -> Option<Index> {
    let mut keys = Keys::default();
    let mut places = Places::default();
    for number in 0..owner.part_count() / step {
        places.insert(keys.hash(owner.part(number * step)?)?, number as u32);
    }
    Some(Index { state: keys.state, places })
}

/// Whether Python takes two keys for one.
pub(super) fn same(one: ObjectRef<'_>, two: ObjectRef<'_>) -> bool {
    Keys::default().same(one, two)
}

/// Matches the keys of two dicts or sets.
#[derive(Default)]
pub(super) struct Matcher {
    keys: Keys,
}

impl Matcher {
    /// Which part of `two` is the key that each part of `one` is, if each has one. What is equal to itself alone is matched
    /// with what looks the same.
    pub(super) fn pairs(
        &mut self,
        one: ObjectRef<'_>,
        two: ObjectRef<'_>,
        step: usize,
    ) -> Option<Vec<usize>> {
        let count = one.part_count() / step;
        let mut places = Places::default();
        // What is equal to itself alone is matched with what looks the same.
        let mut unknown: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for number in 0..count {
            let part = two.part(number * step)?;
            let hashed = self.keys.hashed(part)?;
            match hashed.is_known {
                true => places.insert(hashed.hash, number as u32),
                false => unknown.entry(looks(part)).or_default().push_back(number),
            }
        }
        let mut is_taken = vec![false; count];
        let mut matched = Vec::with_capacity(count);
        for number in 0..count {
            let part = one.part(number * step)?;
            let hashed = self.keys.hashed(part)?;
            let mut is_it = |place: &u32| {
                let place = *place as usize;
                !is_taken[place] && two.part(place * step).is_some_and(|other| self.keys.same(part, other))
            };
            let place = match hashed.is_known {
                true => places.all(hashed.hash).find(&mut is_it)? as usize,
                false => unknown.get_mut(&looks(part))?.pop_front()?,
            };
            is_taken[place] = true;
            matched.push(place);
        }
        Some(matched)
    }
}

/// A number that objects have in common which are equal.
fn looks(object: ObjectRef<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.hash(&mut hasher);
    hasher.finish()
}
