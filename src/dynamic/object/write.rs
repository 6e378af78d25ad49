//! Writes objects as pickles that NumPy loads.

mod numpy;
mod recent;

use std::collections::HashMap;

use numpy::is_fortran;
use recent::{Lookup, MAX_CACHED_LEN, RecentStrings, hash_of};

use super::graph::{Id, Node, Slot, SlotContents};
use super::walk::{Step, Walk};
use super::{Array, Object, ObjectRef, View, times};
use crate::dtype::DType;
use crate::error::{Error, Fault, Remedy, Result};
use crate::header::Header;
use crate::options::WriteOptions;
use crate::pickle::OpcodeWriter;

/// A writer of objects: each is written once, and later occurrences are written as its memo index.
pub(super) struct Pickler<'a> {
    out: OpcodeWriter,
    /// Memo indices of the objects that were written, in one table per graph, indexed by node.
    memo: Vec<Vec<u32>>,
    table_by_graph: HashMap<usize, usize>,
    /// The address of the graph that was looked up last, and the index of its table.
    last_table: (usize, usize),
    memoized_globals: HashMap<String, HashMap<String, u32>>,
    memoized_dtypes: HashMap<DType, u32>,
    /// Recently written strings that are stored in their slots.
    recent_short_strings: RecentStrings<Slot>,
    /// Recently written longer strings.
    recent_texts: RecentStrings<&'a str>,
    /// Number of unfinished objects that were started again within themselves.
    open_cycles: u64,
    /// The bytes of arrays that are stored outside of the pickle; `None` if all are stored in it.
    buffers: Option<Vec<&'a [u8]>>,
}

/// The state of an object that is being written.
#[derive(Clone, Copy, Default)]
struct WriteState {
    /// Whether the object was written completely within itself, so its remaining parts are skipped.
    is_written_within_itself: bool,
    /// Whether the object was started again within itself.
    is_restarted: bool,
}

const NOT_WRITTEN: u32 = u32::MAX;

/// The number of a call's parts that are written before the call. Later parts apply to its result.
const PARTS_BEFORE_CALL: usize = 3;

/// Maximum number of items that one opcode appends, as in Python. This keeps the stack small when loading.
const BATCH: usize = 1000;

/// Pickles a `numpy.dtype`.
pub(super) fn pickled_dtype(dtype: &DType) -> Result<Vec<u8>> {
    let mut pickler = Pickler::new(&WriteOptions::new())?;
    pickler.dtype(dtype)?;
    Ok(pickler.out.finish())
}

impl<'a> Pickler<'a> {
    /// Creates a writer.
    ///
    /// # Errors
    ///
    /// [`BadOption`](crate::error::ErrorKind::BadOption) if the protocol is not 2, 3 or 4.
    pub(super) fn new(options: &WriteOptions) -> Result<Self> {
        let protocol = options.get_pickle_protocol();
        if !(2..=4).contains(&protocol) {
            let reason = format!("expected pickle protocol 2, 3 or 4, found {protocol}");
            return Err(Fault::BadOption { reason }.into());
        }
        Ok(Self::of_protocol(protocol))
    }

    fn of_protocol(protocol: u8) -> Self {
        Self {
            out: OpcodeWriter::new(protocol),
            memo: Vec::new(),
            table_by_graph: HashMap::new(),
            last_table: (0, 0),
            memoized_globals: HashMap::new(),
            memoized_dtypes: HashMap::new(),
            recent_short_strings: RecentStrings::new(),
            recent_texts: RecentStrings::new(),
            open_cycles: 0,
            buffers: None,
        }
    }

    /// Pickles one object in protocol 5, and returns the pickle and the bytes of the arrays that are not in it.
    pub(super) fn pickle_with_buffers(object: ObjectRef<'a>) -> Result<(Vec<u8>, Vec<&'a [u8]>)> {
        let mut pickler = Self { buffers: Some(Vec::new()), ..Self::of_protocol(5) };
        pickler.write_tree(object)?;
        Ok((pickler.out.finish(), pickler.buffers.unwrap_or_default()))
    }

    /// Pickles one object.
    pub(super) fn pickle_object(mut self, object: ObjectRef<'a>) -> Result<Vec<u8>> {
        self.write_tree(object)?;
        Ok(self.out.finish())
    }

    /// Pickles an array; `items` are in C order.
    pub(super) fn pickle_array(
        mut self,
        items: &[&'a Object],
        header: &Header,
        is_fortran: bool,
    ) -> Result<Vec<u8>> {
        self.out.replace_full_frame();
        self.begin_array()?;
        self.begin_array_state(header.shape())?;
        self.dtype(header.dtype())?;
        self.out.bool(is_fortran);
        self.out.empty_list();
        for batch in items.chunks(BATCH) {
            self.out.mark();
            for item in batch {
                self.write_tree(item.as_ref())?;
            }
            self.out.appends();
        }
        self.out.tuple();
        self.out.build();
        Ok(self.out.finish())
    }

    fn write_tree(&mut self, object: ObjectRef<'a>) -> Result<()> {
        if self.write_if_in_slot(object)? {
            return Ok(());
        }
        let mut walk = Walk::new();
        self.begin(object, &mut walk)?;
        while let Some(step) = walk.step() {
            match step {
                Step::Part(_, PARTS_BEFORE_CALL.., _, WriteState { is_written_within_itself: true, .. }) => {}
                Step::Part(owner, number, part, note) => {
                    note.is_written_within_itself = self.write_before_part(owner, number)?;
                    if note.is_written_within_itself {
                        continue;
                    }
                    let Some(part) = part else {
                        self.write_missing_dtype(owner, number)?;
                        continue;
                    };
                    if !self.write_if_in_slot(part)? {
                        self.begin(part, &mut walk)?;
                    }
                }
                Step::End(owner, note) => {
                    self.open_cycles -= u64::from(note.is_restarted);
                    if !note.is_written_within_itself {
                        self.end(owner)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes an object if its value is stored in its slot; returns whether it is.
    #[inline]
    fn write_if_in_slot(&mut self, object: ObjectRef<'a>) -> Result<bool> {
        self.out.replace_full_frame();
        match object.slot.contents() {
            SlotContents::None | SlotContents::Absent => self.out.none(),
            SlotContents::Bool(value) => self.out.bool(value),
            SlotContents::Int(number) => self.out.int(number),
            SlotContents::Float(number) => self.out.float(number),
            SlotContents::Short(_) => self.write_short_str(object.slot),
            SlotContents::Node => return Ok(false),
        }
        Ok(true)
    }

    fn memo_entry(&mut self, Id { graph, number }: Id) -> &mut u32 {
        if self.last_table.0 != graph {
            let table = *self.table_by_graph.entry(graph).or_insert(self.memo.len());
            if table == self.memo.len() {
                self.memo.push(Vec::new());
            }
            self.last_table = (graph, table);
        }
        let table = &mut self.memo[self.last_table.1];
        if table.len() <= number as usize {
            table.resize(number as usize + 1, NOT_WRITTEN);
        }
        &mut table[number as usize]
    }

    /// Writes a reference to an object if the object was written before; returns whether it was.
    fn write_if_memoized(&mut self, object: ObjectRef<'a>) -> bool {
        match object.id().map(|id| *self.memo_entry(id)) {
            None | Some(NOT_WRITTEN) => false,
            Some(number) => {
                self.out.get(number);
                true
            }
        }
    }

    fn memoize(&mut self, object: ObjectRef<'a>) {
        if let Some(id) = object.id() {
            *self.memo_entry(id) = self.out.memoize();
        }
    }

    /// Writes an object, or its start if it has parts.
    fn begin(&mut self, object: ObjectRef<'a>, walk: &mut Walk<'a, WriteState>) -> Result<()> {
        if self.write_if_memoized(object) {
            return Ok(());
        }
        match object.view() {
            View::List(_) => {
                self.out.empty_list();
                self.memoize(object);
                walk.enter(object, WriteState::default());
            }
            View::Dict(_) => {
                self.out.empty_dict();
                self.memoize(object);
                walk.enter(object, WriteState::default());
            }
            View::Tuple(items) if items.is_empty() => self.out.tuple_of(0),
            View::Tuple(_)
            | View::FrozenSet(_)
            | View::Set(_)
            | View::Call(_)
            | View::Array(_)
            | View::Scalar(_) => {
                // An object that refers to itself through another object is started again within itself. This
                // terminates, because the other object is then in the memo.
                let is_first = walk.enter_unless_open(object, WriteState::default());
                if !is_first {
                    // Each open cycle is visited a second time, so the limit bounds the additional time and
                    // output.
                    const MAX_CYCLES: u64 = 1 << 16;
                    self.open_cycles += 1;
                    if self.open_cycles > MAX_CYCLES {
                        let reason =
                            format!("the objects contain themselves in more than {MAX_CYCLES} cycles");
                        return Err(Fault::NotConvertible { reason }.into());
                    }
                    walk.enter(object, WriteState { is_restarted: true, ..WriteState::default() });
                }
                self.write_start(object)?;
            }
            _ => self.write_without_parts(object)?,
        }
        Ok(())
    }

    fn write_start(&mut self, object: ObjectRef<'a>) -> Result<()> {
        match object.view() {
            View::Tuple(items) if items.len() > 3 => self.out.mark(),
            View::Tuple(_) => {}
            View::Set(_) if self.out.protocol() >= 4 => {
                self.out.empty_set();
                self.memoize(object);
            }
            View::FrozenSet(_) if self.out.protocol() >= 4 => self.out.mark(),
            View::Set(_) => {
                self.write_global("builtins", "set")?;
                self.out.empty_list();
            }
            View::FrozenSet(_) => {
                self.write_global("builtins", "frozenset")?;
                self.out.empty_list();
            }
            View::Array(array) if self.is_out_of_band(array) => {
                self.write_global("numpy._core.numeric", "_frombuffer")?;
                self.out.mark();
                self.out.next_buffer();
                if let Some(buffers) = &mut self.buffers {
                    buffers.push(array.bytes());
                }
            }
            View::Array(array) => {
                self.begin_array()?;
                self.memoize(object);
                self.begin_array_state(array.shape())?;
            }
            View::Scalar(_) => self.write_global(self.multiarray_module(), "scalar")?,
            _ => {}
        }
        Ok(())
    }

    /// Writes the opcodes before a part.
    ///
    /// Returns whether the object was written completely within itself. If so, its parts are skipped.
    fn write_before_part(&mut self, owner: ObjectRef<'a>, number: usize) -> Result<bool> {
        let batches = |writer: &mut OpcodeWriter, number: usize, step: usize, end: fn(&mut OpcodeWriter)| {
            if number % (step * BATCH) == 0 {
                if number > 0 {
                    end(writer);
                }
                writer.mark();
            }
        };
        match owner.node().map(|(_, node)| node) {
            Some(Node::List(_)) => batches(&mut self.out, number, 1, OpcodeWriter::appends),
            Some(Node::Dict(_)) => batches(&mut self.out, number, 2, OpcodeWriter::set_items),
            Some(Node::Set(_)) if self.out.protocol() >= 4 => {
                batches(&mut self.out, number, 1, OpcodeWriter::add_set_items)
            }
            Some(Node::Set(_) | Node::FrozenSet(_)) if self.out.protocol() < 4 => {
                batches(&mut self.out, number, 1, OpcodeWriter::appends)
            }
            Some(Node::Array(_)) if number >= 1 => {
                if number == 1 {
                    let View::Array(array) = owner.view() else { return Ok(false) };
                    self.out.bool(is_fortran(array));
                    self.out.empty_list();
                }
                batches(&mut self.out, number - 1, 1, OpcodeWriter::appends);
            }
            Some(Node::Call(_)) if number >= PARTS_BEFORE_CALL => {
                return self.write_before_call_part(owner, number);
            }
            _ => {}
        }
        Ok(false)
    }

    /// Writes the opcodes before the parts of a call that apply to its result: items, pairs, state.
    fn write_before_call_part(&mut self, owner: ObjectRef<'a>, number: usize) -> Result<bool> {
        let View::Call(call) = owner.view() else { return Ok(false) };
        let (items, pairs) = (call.items().len(), 2 * call.pairs().len());
        if number == PARTS_BEFORE_CALL {
            match (call.kwargs(), call.is_new()) {
                (Some(_), _) if self.out.protocol() < 4 => {
                    let reason =
                        "protocols before 4 cannot represent an object that is made with arguments by name"
                            .into();
                    let error = Error::from(Fault::BadOption { reason });
                    return Err(error.with_help(Remedy::PickleProtocol { protocol: 4 }));
                }
                (Some(_), _) => self.out.new_object(true),
                (None, true) => self.out.new_object(false),
                (None, false) => self.out.reduce(),
            }
            // If the arguments contain the object itself, it has already been written.
            let id = owner.id();
            match id.map(|id| *self.memo_entry(id)) {
                Some(known) if known != NOT_WRITTEN => {
                    self.out.pop();
                    self.out.get(known);
                    return Ok(true);
                }
                _ => self.memoize(owner),
            }
        }
        let number = number - PARTS_BEFORE_CALL;
        if number > 0 && number == items {
            self.out.appends();
        }
        if number > 0 && number == items + pairs && pairs > 0 {
            self.out.set_items();
        }
        let is_first_item = number == 0 && items > 0;
        let is_first_pair = number == items && pairs > 0;
        if is_first_item || is_first_pair {
            self.out.mark();
        } else if number < items && number % BATCH == 0 {
            self.out.appends();
            self.out.mark();
        } else if number < items + pairs && number > items && (number - items) % (2 * BATCH) == 0 {
            self.out.set_items();
            self.out.mark();
        }
        Ok(false)
    }

    /// Writes the dtype of an array or scalar if the object that it was decoded from is absent.
    fn write_missing_dtype(&mut self, owner: ObjectRef<'a>, number: usize) -> Result<()> {
        match owner.view() {
            View::Array(array) if number == 0 => self.dtype(array.dtype()),
            View::Scalar(scalar) if number == 0 => self.dtype(scalar.dtype()),
            _ => Ok(()),
        }
    }

    fn end(&mut self, object: ObjectRef<'a>) -> Result<()> {
        let count = object.part_count();
        match object.view() {
            View::List(_) if count > 0 => self.out.appends(),
            View::Dict(_) if count > 0 => self.out.set_items(),
            View::Set(_) if self.out.protocol() >= 4 && count > 0 => self.out.add_set_items(),
            View::Set(_) if self.out.protocol() >= 4 => {}
            View::Tuple(_) => {
                let is_known = object.id().is_some_and(|id| *self.memo_entry(id) != NOT_WRITTEN);
                if is_known {
                    // The tuple was written within itself, so these parts are discarded.
                    match count {
                        4.. => self.out.pop_mark(),
                        few => (0..few).for_each(|_| self.out.pop()),
                    }
                    self.write_if_memoized(object);
                    return Ok(());
                }
                match u8::try_from(count) {
                    Ok(count) if count <= 3 => self.out.tuple_of(count),
                    _ => self.out.tuple(),
                }
                self.memoize(object);
            }
            View::FrozenSet(_) if self.out.protocol() >= 4 => {
                self.out.frozen_set();
                self.replace_or_memoize(object);
            }
            View::Set(_) | View::FrozenSet(_) => {
                if count > 0 {
                    self.out.appends();
                }
                self.out.tuple_of(1);
                self.out.reduce();
                self.replace_or_memoize(object);
            }
            View::Array(array) if self.is_out_of_band(array) => {
                self.dims(array.shape());
                self.out.str(if is_fortran(array) { "F" } else { "C" });
                self.out.tuple();
                self.out.reduce();
                self.replace_or_memoize(object);
            }
            View::Array(array) => {
                match array.objects() {
                    Some(items) if !items.is_empty() => self.out.appends(),
                    Some(_) => {
                        self.out.bool(is_fortran(array));
                        self.out.empty_list();
                    }
                    None => {
                        self.out.bool(is_fortran(array));
                        self.bytes(array.bytes())?;
                    }
                }
                self.out.tuple();
                self.out.build();
            }
            View::Scalar(scalar) => {
                self.bytes(scalar.bytes())?;
                self.out.tuple_of(2);
                self.out.reduce();
                self.replace_or_memoize(object);
            }
            View::Call(call) if call.state().is_some() => self.out.build(),
            _ => {}
        }
        Ok(())
    }

    /// Returns whether the bytes of an array are stored outside of the pickle: not if there are none.
    fn is_out_of_band(&self, array: Array<'_>) -> bool {
        self.buffers.is_some() && !array.bytes().is_empty()
    }

    /// Adds an object to the memo, or replaces it with a reference if it was already written within itself.
    fn replace_or_memoize(&mut self, object: ObjectRef<'a>) {
        let known = object.id().map(|id| *self.memo_entry(id)).filter(|known| *known != NOT_WRITTEN);
        match known {
            Some(known) => {
                self.out.pop();
                self.out.get(known);
            }
            None => self.memoize(object),
        }
    }

    /// Writes an object without parts.
    fn write_without_parts(&mut self, object: ObjectRef<'a>) -> Result<()> {
        match object.view() {
            View::Str(text) => match text.as_str() {
                Some(text) => {
                    self.text(text);
                    // Longer strings are found by their identity, not by their content.
                    if text.len() > MAX_CACHED_LEN {
                        self.memoize(object);
                    }
                    return Ok(());
                }
                None => self.out.code_points(&text.code_points().collect::<Vec<_>>()),
            },
            View::Bytes(bytes) => self.bytes(bytes)?,
            View::Int(number) => {
                match number.small_or_large() {
                    Ok(number) => self.out.int(number),
                    Err(number) => self.out.long(&number.to_signed_bytes_le()),
                }
                return Ok(());
            }
            View::ByteArray(bytes) => {
                self.write_global("builtins", "bytearray")?;
                self.bytes(bytes)?;
                self.out.tuple_of(1);
                self.out.reduce();
            }
            View::Complex(number) => {
                self.write_global("builtins", "complex")?;
                self.out.float(number.re);
                self.out.float(number.im);
                self.out.tuple_of(2);
                self.out.reduce();
            }
            View::Date(date) => self.write_datetime_call("date", &date.packed(false))?,
            View::Time(time) => self.write_datetime_call("time", &time.packed_with_fold())?,
            View::Datetime(date, time) => self.write_datetime_call("datetime", &times::packed(date, time))?,
            View::Timedelta(length) => {
                self.write_global("datetime", "timedelta")?;
                self.out.int(length.days().into());
                self.out.int(length.seconds().into());
                self.out.int(length.microseconds().into());
                self.out.tuple_of(3);
                self.out.reduce();
            }
            View::Decimal(digits) => {
                self.write_global("decimal", "Decimal")?;
                self.text(digits);
                self.out.tuple_of(1);
                self.out.reduce();
            }
            View::Global(global) => return self.global(global),
            _ => {
                let reason = format!("{object} can only be loaded by the program that wrote it");
                return Err(Fault::BadOption { reason }.into());
            }
        }
        self.memoize(object);
        Ok(())
    }

    fn write_datetime_call(&mut self, kind: &str, packed: &[u8]) -> Result<()> {
        self.write_global("datetime", kind)?;
        self.bytes(packed)?;
        self.out.tuple_of(1);
        self.out.reduce();
        Ok(())
    }

    /// Writes a string that is stored in its slot; the cache compares the slot's two words.
    fn write_short_str(&mut self, slot: &'a Slot) {
        let found = self.recent_short_strings.find_or_reserve(slot.hash(), slot);
        write_str_or_reference(&mut self.out, found, slot.short_text());
    }

    fn text(&mut self, text: &'a str) {
        if text.len() > MAX_CACHED_LEN {
            return self.out.str(text);
        }
        let found = self.recent_texts.find_or_reserve(hash_of(text), &text);
        write_str_or_reference(&mut self.out, found, text);
    }
}

fn write_str_or_reference(out: &mut OpcodeWriter, found: Lookup<'_>, text: &str) {
    match found {
        Lookup::Hit(number) => out.get(number),
        Lookup::Vacant(memo_entry) => {
            out.str(text);
            *memo_entry = out.memoize();
        }
        Lookup::Occupied => out.str(text),
    }
}
