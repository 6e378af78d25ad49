//! From objects to a pickle that NumPy loads.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::{self, Discriminant};
use std::sync::Arc;

use super::check::{Hashable, check};
use super::compat::python_2;
use super::read::MOST_NESTED;
use super::rearranged;
use super::{PyDate, PyGlobal, PyInt, PyStr, PyTime, PyTimedelta, PyValue};
use crate::dtype::{DType, Title};
use crate::dynamic::DynArray;
use crate::error::{ErrorKind, Limited, Result};
use crate::limits;
use crate::pickle::Writer;
use crate::shape::Order;

/// Writes objects; those that are shared once, and from then on by their number.
pub(super) struct PickleWriter {
    out: Writer,
    /// The numbers of shared objects, by where they are and which kind of object they are the parts of.
    shared: HashMap<(*const (), Discriminant<PyValue>), u32>,
    depth: usize,
    hashable: Hashable,
}

impl PickleWriter {
    pub(super) fn new(protocol: u8) -> Self {
        Self { out: Writer::new(protocol), shared: HashMap::new(), depth: 0, hashable: Hashable::new() }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out.finish()
    }

    fn multiarray(&self) -> &'static str {
        // NumPy 2 has given the module another name; the old one is what every version loads.
        if self.out.protocol() >= 4 { "numpy._core.multiarray" } else { "numpy.core.multiarray" }
    }

    /// A class or function by its name in Python 3.
    fn global(&mut self, module: &str, name: &str) -> Result<()> {
        let (module, name) = if self.out.protocol() < 3 { python_2(module, name) } else { (module, name) };
        // In older protocols a name ends with its line: what followed would be taken for opcodes.
        if self.out.protocol() < 4 && (module.contains('\n') || name.contains('\n')) {
            let reason =
                format!("the name {module:?}.{name:?} has a line end, which protocol 4 alone can write");
            return Err(ErrorKind::BadOption { reason }.into());
        }
        self.out.global(module, name);
        Ok(())
    }

    /// An array, whose elements `data` writes.
    pub(super) fn array(
        &mut self,
        dims: &[usize],
        dtype: &DType,
        is_fortran: bool,
        data: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.global(self.multiarray(), "_reconstruct")?;
        self.global("numpy", "ndarray")?;
        self.out.int(0);
        self.out.tuple_of(1);
        self.out.bytes(b"b");
        self.out.tuple_of(3);
        self.out.reduce();
        self.out.mark();
        self.out.int(1);
        self.dims(dims);
        self.dtype(dtype)?;
        self.out.bool(is_fortran);
        data(self)?;
        self.out.tuple();
        self.out.build();
        Ok(())
    }

    fn dims(&mut self, dims: &[usize]) {
        self.out.mark();
        dims.iter().for_each(|dim| self.out.int(*dim as i64)); // no axis is as long as half the address space
        self.out.tuple();
    }

    fn dtype(&mut self, dtype: &DType) -> Result<()> {
        if dtype.is_foreign_to_numpy() {
            let advice = "NumPy has no complex numbers of 2 × 16 bits".into();
            return Err(ErrorKind::NotExpressible { format: "NPY", dtype: dtype.clone(), advice }.into());
        }
        self.global("numpy", "dtype")?;
        self.format(dtype);
        self.out.tuple_of(1);
        self.out.reduce();
        Ok(())
    }

    /// What `numpy.dtype` takes.
    fn format(&mut self, dtype: &DType) {
        match dtype {
            DType::Object => self.out.str("O"),
            DType::Scalar(_) => self.out.str(dtype.to_string().trim_matches('\'')),
            DType::Subarray(subarray) => {
                self.format(subarray.base());
                self.dims(subarray.shape().dims());
                self.out.tuple_of(2);
            }
            DType::Record(record) => {
                let fields = record.fields();
                self.out.empty_dict();
                self.out.mark();
                self.list_of("names", fields, |writer, field| writer.out.str(field.name()));
                self.list_of("formats", fields, |writer, field| writer.format(field.dtype()));
                self.list_of("offsets", fields, |writer, field| writer.out.int(field.offset() as i64));
                if fields.iter().any(|field| field.title().is_some()) {
                    self.list_of("titles", fields, |writer, field| match field.title() {
                        Some(Title::Text(title)) => writer.out.str(title),
                        Some(Title::Int(title)) => writer.out.int(*title),
                        _ => writer.out.none(),
                    });
                }
                self.out.str("itemsize");
                self.out.int(record.size() as i64);
                self.out.set_items();
            }
        }
    }

    fn list_of<T>(&mut self, name: &str, parts: &[T], write: impl Fn(&mut Self, &T)) {
        self.out.str(name);
        self.out.empty_list();
        self.out.mark();
        parts.iter().for_each(|part| write(self, part));
        self.out.appends();
    }

    /// A list, in batches, so that Python's stack stays small.
    pub(super) fn list(&mut self, items: &mut dyn Iterator<Item = &PyValue>) -> Result<()> {
        self.out.empty_list();
        self.items(items)
    }

    fn items(&mut self, items: &mut dyn Iterator<Item = &PyValue>) -> Result<()> {
        const BATCH: usize = 1000;
        let mut items = items.peekable();
        while items.peek().is_some() {
            self.out.mark();
            for item in items.by_ref().take(BATCH) {
                self.value(item)?;
            }
            self.out.appends();
        }
        Ok(())
    }

    fn pairs(&mut self, pairs: &[(PyValue, PyValue)]) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        self.out.mark();
        for (key, value) in pairs {
            self.value(key)?;
            self.value(value)?;
        }
        self.out.set_items();
        Ok(())
    }

    fn value(&mut self, value: &PyValue) -> Result<()> {
        check(value, &mut self.hashable)?;
        match value {
            PyValue::None => self.out.none(),
            PyValue::Bool(value) => self.out.bool(*value),
            PyValue::Int(number) => self.int(number),
            PyValue::Float(number) => self.out.float(*number),
            PyValue::Str(text) => self.text(value, text),
            PyValue::Bytes(bytes) => self.sharing(value, bytes, |writer| {
                writer.out.bytes(bytes);
                Ok(())
            })?,
            PyValue::List(items) => self.sharing(value, items, |writer| writer.list(&mut items.iter()))?,
            PyValue::Tuple(items) => self.sharing(value, items, |writer| writer.tuple(items))?,
            PyValue::Dict(pairs) => self.sharing(value, pairs, |writer| {
                writer.out.empty_dict();
                writer.pairs(pairs)
            })?,
            PyValue::Array(array) => self.sharing(value, array, |writer| writer.dyn_array(array))?,
            PyValue::Object(object) => self.sharing(value, object, |writer| writer.object(object))?,
            other => self.further(other)?,
        }
        Ok(())
    }

    /// The values that Python itself writes as calls, or that are rare.
    fn further(&mut self, value: &PyValue) -> Result<()> {
        match value {
            PyValue::Complex(number) => {
                self.global("builtins", "complex")?;
                self.out.float(number.re);
                self.out.float(number.im);
                self.out.tuple_of(2);
                self.out.reduce();
            }
            PyValue::ByteArray(bytes) => self.sharing(value, bytes, |writer| {
                writer.global("builtins", "bytearray")?;
                writer.out.bytes(bytes);
                writer.out.tuple_of(1);
                writer.out.reduce();
                Ok(())
            })?,
            PyValue::Set(items) => self.sharing(value, items, |writer| writer.set(items, "set"))?,
            PyValue::FrozenSet(items) => {
                self.sharing(value, items, |writer| writer.set(items, "frozenset"))?
            }
            PyValue::Scalar(array) => self.sharing(value, array, |writer| {
                writer.global(writer.multiarray(), "scalar")?;
                writer.dtype(array.dtype())?;
                writer.out.bytes(array.bytes());
                writer.out.tuple_of(2);
                writer.out.reduce();
                Ok(())
            })?,
            PyValue::Date(date) => self.time("date", &packed_date(date, false))?,
            PyValue::Time(time) => {
                let mut packed = packed_time(time);
                packed[0] |= u8::from(time.is_fold) << 7;
                self.time("time", &packed)?;
            }
            PyValue::Datetime(date, time) => {
                let packed = [&packed_date(date, time.is_fold)[..], &packed_time(time)].concat();
                self.time("datetime", &packed)?;
            }
            PyValue::Timedelta(PyTimedelta { days, seconds, microseconds }) => {
                self.global("datetime", "timedelta")?;
                [days, seconds, microseconds].into_iter().for_each(|number| self.out.int((*number).into()));
                self.out.tuple_of(3);
                self.out.reduce();
            }
            PyValue::Decimal(digits) => {
                self.global("decimal", "Decimal")?;
                self.out.str(digits);
                self.out.tuple_of(1);
                self.out.reduce();
            }
            PyValue::Global(global) => self.named(global)?,
            _ => unreachable!("`value` writes all others"),
        }
        Ok(())
    }

    fn named(&mut self, global: &PyGlobal) -> Result<()> {
        self.global(&global.module, &global.name)
    }

    fn int(&mut self, number: &PyInt) {
        match number.small_or_bytes() {
            Ok(number) => self.out.int(number),
            Err(bytes) => self.out.long(&bytes),
        }
    }

    fn text(&mut self, value: &PyValue, text: &PyStr) {
        /// What is shorter is not worth a number; and may stand in the object itself.
        const LONG: usize = 64;
        match text.as_str() {
            Some(text) if text.len() > LONG => {
                // Copies of a long text stand at the same place; whether there are any, nobody says.
                match self.shared.entry((text.as_ptr().cast(), mem::discriminant(value))) {
                    Entry::Occupied(number) => self.out.get(*number.get()),
                    Entry::Vacant(place) => {
                        self.out.str(text);
                        place.insert(self.out.memoize());
                    }
                }
            }
            Some(text) => self.out.str(text),
            None => self.out.code_points(&text.code_points()),
        }
    }

    fn time(&mut self, kind: &str, packed: &[u8]) -> Result<()> {
        self.global("datetime", kind)?;
        self.out.bytes(packed);
        self.out.tuple_of(1);
        self.out.reduce();
        Ok(())
    }

    fn tuple(&mut self, items: &[PyValue]) -> Result<()> {
        self.out.mark();
        items.iter().try_for_each(|item| self.value(item))?;
        self.out.tuple();
        Ok(())
    }

    fn set(&mut self, items: &[PyValue], kind: &str) -> Result<()> {
        if self.out.protocol() < 4 {
            self.global("builtins", kind)?;
            self.list(&mut items.iter())?;
            self.out.tuple_of(1);
            self.out.reduce();
            return Ok(());
        }
        if kind == "set" {
            self.out.empty_set();
        }
        self.out.mark();
        items.iter().try_for_each(|item| self.value(item))?;
        if kind == "set" {
            self.out.add_items()
        } else {
            self.out.frozen_set()
        }
        Ok(())
    }

    fn dyn_array(&mut self, array: &DynArray) -> Result<()> {
        let is_fortran = array.order() == Order::Fortran && array.shape().len() > 1;
        self.array(array.shape(), array.dtype(), is_fortran, |writer| match &array.objects {
            Some(items) => writer.list(&mut rearranged(items, &array.header, Order::C).iter()),
            None => {
                writer.out.bytes(array.bytes());
                Ok(())
            }
        })
    }

    fn object(&mut self, object: &super::PyObject) -> Result<()> {
        self.value(&object.callable)?;
        self.value(&object.args)?;
        match (&object.kwargs, object.is_new) {
            (Some(_), _) if self.out.protocol() < 4 => {
                let reason = "an object that is made with arguments by name needs protocol 4".into();
                return Err(ErrorKind::BadOption { reason }.into());
            }
            (Some(kwargs), _) => {
                self.value(kwargs)?;
                self.out.new_object(true);
            }
            (None, true) => self.out.new_object(false),
            (None, false) => self.out.reduce(),
        }
        self.items(&mut object.items.iter())?;
        self.pairs(&object.pairs)?;
        if let Some(state) = &object.state {
            self.value(state)?;
            self.out.build();
        }
        Ok(())
    }

    /// Writes what may be shared: once, and from then on its number.
    fn sharing<T: ?Sized>(
        &mut self,
        value: &PyValue,
        object: &Arc<T>,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let is_shared = Arc::strong_count(object) > 1;
        let place = (Arc::as_ptr(object).cast::<()>(), mem::discriminant(value));
        if is_shared && let Some(number) = self.shared.get(&place) {
            self.out.get(*number);
            return Ok(());
        }
        self.depth += 1;
        limits::check(Limited::ObjectNesting, self.depth as u64, MOST_NESTED as u64)?;
        write(self)?;
        self.depth -= 1;
        if is_shared {
            let number = self.out.memoize();
            self.shared.insert(place, number);
        }
        Ok(())
    }
}

fn packed_date(date: &PyDate, is_fold: bool) -> [u8; 4] {
    let [high, low] = date.year.to_be_bytes();
    [high, low, date.month | u8::from(is_fold) << 7, date.day]
}

fn packed_time(time: &PyTime) -> [u8; 6] {
    let [_, a, b, c] = time.microsecond.to_be_bytes();
    [time.hour, time.minute, time.second, a, b, c]
}
