//! Objects of pickles as values of Python. Nothing that a file names is imported or called, except what the caller has listed: a class
//! that is not plain data becomes a `Call`, which says what Python's own `pickle` would have called.

use std::collections::HashMap;

use ndarray_io::header::Order;
use ndarray_io::object::{Call, Date, Global, Int, ObjectId, ObjectRef, Pickle, Time, View, Zone};
use ndarray_io::{DType, DynArray};
use num_bigint::BigInt;
use numpy::PyUntypedArray;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyFrozenSet, PyList, PySet, PyString, PyTuple,
};

use crate::memory::fill_array;
use crate::options::ReadArgs;

/// Makes an array of Python from one of any dtype.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    array: &DynArray,
    make: &Bound<'py, PyAny>,
    reading: &ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(objects) = array.objects() else {
        return plain_array(py, array.dtype(), array.shape(), array.order(), array.bytes(), make);
    };
    let mut converter = Converter::new(py, make, reading);
    let items = PyList::empty(py);
    for object in objects {
        items.append(converter.convert(object.as_ref())?)?;
    }
    if reading.allows_globals() {
        converter.make_discarded_calls(array.calls().into_iter())?;
    }
    make.call1((array.shape().to_vec(), array.dtype().to_string(), array.order() == Order::Fortran, items))
}

/// Converts the object of a pickle.
pub(crate) fn pickle_to_python<'py>(
    py: Python<'py>,
    pickle: &Pickle,
    make: &Bound<'py, PyAny>,
    reading: &ReadArgs,
) -> PyResult<Bound<'py, PyAny>> {
    let mut converter = Converter::new(py, make, reading);
    let value = converter.convert(pickle.object().as_ref())?;
    if reading.allows_globals() {
        converter.make_discarded_calls(pickle.calls())?;
    }
    Ok(value)
}

/// Makes an array of plain elements.
fn plain_array<'py>(
    py: Python<'py>,
    dtype: &DType,
    shape: &[usize],
    order: Order,
    bytes: &[u8],
    make: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let new = make.call1((shape.to_vec(), dtype.to_string(), order == Order::Fortran, py.None()))?;
    let is_same = fill_array(new.cast::<PyUntypedArray>()?, |memory| {
        let is_same = memory.len() == bytes.len();
        if is_same {
            memory.copy_from_slice(bytes);
        }
        is_same
    })?;
    match is_same {
        true => Ok(new),
        false => {
            Err(PyTypeError::new_err(format!("NumPy and the file differ about the size of dtype {dtype}")))
        }
    }
}

/// What an object with parts becomes when its parts are there. Containers that can contain themselves exist from the beginning.
#[derive(Clone)]
enum FrameKind<'py> {
    List(Bound<'py, PyList>),
    Dict(Bound<'py, PyDict>),
    Set(Bound<'py, PySet>),
    /// A call, whose parts are the callable, the arguments, those by name, the state, the items and the pairs.
    Call {
        call: Bound<'py, PyAny>,
        parts: CallParts,
    },
    /// A call of what the caller has listed, with the object when it has been made.
    AllowedCall {
        class: Bound<'py, PyAny>,
        object: Option<Bound<'py, PyAny>>,
        parts: CallParts,
    },
    Array(Bound<'py, PyAny>),
    Tuple,
    FrozenSet,
    Persistent,
}

/// Which parts a call has.
#[derive(Clone, Copy)]
struct CallParts {
    /// Whether the class's `__new__` is called.
    calls_new: bool,
    has_kwargs: bool,
    has_state: bool,
    item_count: usize,
}

/// The most objects that the hash of a key looks at.
const MAX_KEY_OBJECTS: u64 = 1 << 20;

/// An object that is being converted.
struct Frame<'a, 'py> {
    object: ObjectRef<'a>,
    kind: FrameKind<'py>,
    parts: Vec<ObjectRef<'a>>,
    done: Vec<Bound<'py, PyAny>>,
}

struct Converter<'py, 'm> {
    py: Python<'py>,
    make_array: &'m Bound<'py, PyAny>,
    /// The classes and functions that may be called, by their names.
    allowed_globals: Option<Bound<'py, PyDict>>,
    /// The objects that have been converted: shared ones stay shared.
    converted: HashMap<ObjectId, Bound<'py, PyAny>>,
    /// The frames of objects that are being converted, and exist only when all of their parts do.
    open_frames: HashMap<ObjectId, usize>,
    /// How many objects the hash of a tuple looks at, shared ones each time.
    hash_weights: HashMap<ObjectId, u64>,
    poll_count: u32,
}

/// What a step of a conversion gives.
enum BeginOutcome<'a, 'py> {
    Value(Bound<'py, PyAny>),
    Parts(Frame<'a, 'py>),
    /// It is being converted: by this frame.
    Open(usize),
}

/// Returns a function or class of Python that makes plain data.
macro_rules! imported {
    ($py:expr, $module:literal, $name:literal) => {{
        static IMPORTED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        IMPORTED
            .get_or_try_init($py, || Ok::<_, PyErr>($py.import($module)?.getattr($name)?.unbind()))?
            .bind($py)
    }};
}

impl<'py, 'm> Converter<'py, 'm> {
    fn new(py: Python<'py>, make_array: &'m Bound<'py, PyAny>, reading: &ReadArgs) -> Self {
        let allowed_globals = reading.bind_allowed_globals(py);
        let (converted, open_frames, hash_weights) = Default::default();
        Self { py, make_array, allowed_globals, converted, open_frames, hash_weights, poll_count: 0 }
    }

    /// Converts an object, one part after another, without recursion: objects may be nested deeply.
    fn convert(&mut self, object: ObjectRef<'_>) -> PyResult<Bound<'py, PyAny>> {
        let mut frames = match self.begin(object)? {
            BeginOutcome::Value(value) => return Ok(value),
            BeginOutcome::Parts(frame) => vec![frame],
            BeginOutcome::Open(_) => return Err(PyMemoryError::new_err("an object before its beginning")),
        };
        self.note_open(&frames);
        while let Some(frame) = frames.last_mut() {
            self.make_allowed_object(frame)?;
            if let Some(part) = frame.parts.get(frame.done.len()) {
                match self.begin(*part)? {
                    BeginOutcome::Value(value) => frame.done.push(value),
                    BeginOutcome::Parts(next) => {
                        frames.push(next);
                        self.note_open(&frames);
                    }
                    BeginOutcome::Open(index)
                        if matches!(frames[index].kind, FrameKind::AllowedCall { .. }) =>
                    {
                        return Err(PyValueError::new_err("an object is one of the arguments that make it"));
                    }
                    BeginOutcome::Open(index) => {
                        // What contains itself through a list goes on here, within itself: the outer frame only takes the result.
                        let outer = &mut frames[index];
                        let (object, kind) = (outer.object, outer.kind.clone());
                        let (parts, done) =
                            (std::mem::take(&mut outer.parts), std::mem::take(&mut outer.done));
                        frames.push(Frame { object, kind, parts, done });
                        self.note_open(&frames);
                    }
                }
                continue;
            }
            let Some(frame) = frames.pop() else { break };
            let value = self.end(frame)?;
            match frames.last_mut() {
                Some(outer) => outer.done.push(value),
                None => return Ok(value),
            }
        }
        Err(PyMemoryError::new_err("an object without an end"))
    }

    fn note_open(&mut self, frames: &[Frame<'_, 'py>]) {
        if let Some(Frame {
            object,
            kind:
                FrameKind::Tuple | FrameKind::FrozenSet | FrameKind::Persistent | FrameKind::AllowedCall { .. },
            ..
        }) = frames.last()
            && let Some(id) = object.id()
        {
            self.open_frames.insert(id, frames.len() - 1);
        }
    }

    /// Makes the calls of listed functions whose results are discarded, in their order: they set the state of objects.
    fn make_discarded_calls<'a>(&mut self, calls: impl Iterator<Item = ObjectRef<'a>>) -> PyResult<()> {
        for object in calls {
            let is_discarded = object.id().is_some_and(|id| !self.converted.contains_key(&id));
            let View::Call(call) = object.view() else { continue };
            if is_discarded && self.allowed_callable(call)?.is_some() {
                self.convert(object)?;
            }
        }
        Ok(())
    }

    /// Looks for signals now and then: objects are converted with the interpreter.
    fn poll_signals(&mut self) -> PyResult<()> {
        self.poll_count = self.poll_count.wrapping_add(1);
        if self.poll_count.is_multiple_of(1 << 10) { self.py.check_signals() } else { Ok(()) }
    }

    fn begin<'a>(&mut self, object: ObjectRef<'a>) -> PyResult<BeginOutcome<'a, 'py>> {
        self.poll_signals()?;
        if let Some(id) = object.id() {
            if let Some(value) = self.converted.get(&id) {
                return Ok(BeginOutcome::Value(value.clone()));
            }
            if let Some(frame) = self.open_frames.get(&id) {
                return Ok(BeginOutcome::Open(*frame));
            }
        }
        let (kind, parts) = match object.view() {
            View::List(items) => (FrameKind::List(PyList::empty(self.py)), items.iter().collect()),
            View::Dict(pairs) => (
                FrameKind::Dict(PyDict::new(self.py)),
                pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
            ),
            View::Set(items) => (FrameKind::Set(PySet::empty(self.py)?), items.iter().collect()),
            View::Tuple(items) => (FrameKind::Tuple, items.iter().collect()),
            View::FrozenSet(items) => (FrameKind::FrozenSet, items.iter().collect()),
            View::Array(array) if array.objects().is_some() => {
                let is_fortran = array.order() == Order::Fortran;
                let made = self.make_array.call1((
                    array.shape().to_vec(),
                    array.dtype().to_string(),
                    is_fortran,
                    self.py.None(),
                ))?;
                (FrameKind::Array(made), array.objects().into_iter().flat_map(|items| items.iter()).collect())
            }
            View::Persistent(of) => (FrameKind::Persistent, vec![of]),
            View::Call(call) => {
                if let Some(value) = self.plain_value_of_call(object, call)? {
                    return Ok(BeginOutcome::Value(self.record_converted(object, value)));
                }
                let mut parts = vec![call.callable(), call.args()];
                parts.extend(call.kwargs());
                parts.extend(call.state());
                parts.extend(call.items().iter());
                parts.extend(call.pairs().iter().flat_map(|(key, value)| [key, value]));
                let has = CallParts {
                    calls_new: call.is_new(),
                    has_kwargs: call.kwargs().is_some(),
                    has_state: call.state().is_some(),
                    item_count: call.items().len(),
                };
                let kind = match self.allowed_callable(call)? {
                    Some(class) => FrameKind::AllowedCall { class, object: None, parts: has },
                    None => {
                        let call = imported!(self.py, "ndarray_io._objects", "Call").call0()?;
                        FrameKind::Call { call, parts: has }
                    }
                };
                (kind, parts)
            }
            view => {
                let value = self.leaf(&view)?;
                return Ok(BeginOutcome::Value(self.record_converted(object, value)));
            }
        };
        match &kind {
            FrameKind::List(list) => drop(self.record_converted(object, list.clone().into_any())),
            FrameKind::Dict(dict) => drop(self.record_converted(object, dict.clone().into_any())),
            FrameKind::Set(set) => drop(self.record_converted(object, set.clone().into_any())),
            FrameKind::Call { call, .. } => drop(self.record_converted(object, call.clone())),
            FrameKind::Array(array) => drop(self.record_converted(object, array.clone())),
            _ => {}
        }
        Ok(BeginOutcome::Parts(Frame { object, kind, parts, done: Vec::new() }))
    }

    fn record_converted(&mut self, object: ObjectRef<'_>, value: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        if let Some(id) = object.id() {
            self.converted.insert(id, value.clone());
        }
        value
    }

    /// Refuses keys whose hash would look at very many objects: a tuple does not keep its hash, so shared ones are looked at each time.
    fn check_hash_weights<'a>(&self, mut keys: impl Iterator<Item = &'a ObjectRef<'a>>) -> PyResult<()> {
        match keys.any(|key| self.hash_weight(*key) > MAX_KEY_OBJECTS) {
            true => {
                let text = format!("a key of a dict or set consists of more than {MAX_KEY_OBJECTS} objects");
                let error = imported!(self.py, "ndarray_io._errors", "LimitError").call1((text,))?;
                Err(PyErr::from_value(error))
            }
            false => Ok(()),
        }
    }

    fn hash_weight(&self, object: ObjectRef<'_>) -> u64 {
        object.id().and_then(|id| self.hash_weights.get(&id)).copied().unwrap_or(1)
    }

    fn end(&mut self, frame: Frame<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let Frame { object, kind, parts, done } = frame;
        if let (FrameKind::Tuple | FrameKind::FrozenSet | FrameKind::Persistent, Some(id)) =
            (&kind, object.id())
        {
            self.open_frames.remove(&id);
            // What contains itself through a list was completed within itself: that one is in the list.
            if let Some(value) = self.converted.get(&id) {
                return Ok(value.clone());
            }
        }
        match &kind {
            FrameKind::Tuple => {
                let sum = parts.iter().fold(1, |sum: u64, part| sum.saturating_add(self.hash_weight(*part)));
                object.id().map(|id| self.hash_weights.insert(id, sum));
            }
            FrameKind::Dict(_) => self.check_hash_weights(parts.iter().step_by(2))?,
            FrameKind::Set(_) | FrameKind::FrozenSet => self.check_hash_weights(parts.iter())?,
            _ => {}
        }
        let value = match kind {
            FrameKind::List(list) => {
                done.iter().try_for_each(|item| list.append(item))?;
                return Ok(list.into_any());
            }
            FrameKind::Dict(dict) => {
                for pair in done.chunks_exact(2) {
                    self.poll_signals()?;
                    dict.set_item(&pair[0], &pair[1])?;
                }
                return Ok(dict.into_any());
            }
            FrameKind::Set(set) => {
                for item in done {
                    self.poll_signals()?;
                    set.add(item)?;
                }
                return Ok(set.into_any());
            }
            FrameKind::Call { call, parts } => {
                let mut rest = done.into_iter();
                call.setattr("callable", rest.next())?;
                call.setattr("args", rest.next())?;
                if parts.has_kwargs {
                    call.setattr("kwargs", rest.next())?;
                }
                if parts.has_state {
                    call.setattr("state", rest.next())?;
                }
                call.setattr("is_new", parts.calls_new)?;
                let (items, pairs) = self.items_and_pairs(rest, parts)?;
                call.setattr("items", items)?;
                call.setattr("pairs", pairs)?;
                return Ok(call);
            }
            FrameKind::AllowedCall { object: Some(made), parts, .. } => {
                let mut rest = done.into_iter().skip(2 + usize::from(parts.has_kwargs));
                // In the order of `pickle`: items and pairs come before the state.
                let state = if parts.has_state { rest.next() } else { None };
                let (items, pairs) = self.items_and_pairs(rest, parts)?;
                let complete = imported!(self.py, "ndarray_io._objects", "complete");
                complete.call1((&made, parts.has_state, state, items, pairs))?;
                return Ok(made);
            }
            FrameKind::AllowedCall { object: None, .. } => {
                return Err(PyMemoryError::new_err("an object without its arguments"));
            }
            FrameKind::Tuple => PyTuple::new(self.py, done)?.into_any(),
            FrameKind::FrozenSet => PyFrozenSet::new(self.py, done)?.into_any(),
            FrameKind::Persistent => {
                let call = imported!(self.py, "ndarray_io._objects", "Call").call0()?;
                call.setattr("callable", "persistent_load")?;
                call.setattr("args", PyTuple::new(self.py, done)?)?;
                call
            }
            FrameKind::Array(array) => {
                let items = PyList::new(self.py, done)?;
                imported!(self.py, "ndarray_io._dtypes", "fill").call1((&array, items))?;
                return Ok(array);
            }
        };
        Ok(self.record_converted(object, value))
    }

    /// Returns the parts of a call that are added to the object.
    fn items_and_pairs(
        &self,
        mut rest: impl Iterator<Item = Bound<'py, PyAny>>,
        parts: CallParts,
    ) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
        let items = PyList::empty(self.py);
        rest.by_ref().take(parts.item_count).try_for_each(|item| items.append(item))?;
        let rest: Vec<_> = rest.collect();
        let pairs = rest.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        Ok((items, PyList::new(self.py, pairs.collect::<Vec<_>>())?))
    }

    /// Returns the class or function that a call is of, if the caller has listed it.
    fn allowed_callable(&self, call: Call<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.allowed_globals.is_none() {
            return Ok(None);
        }
        let of_class = |name: &str| -> PyResult<bool> {
            let class = call.args().items().and_then(|args| args.iter().next()).and_then(dotted_name);
            let is_function =
                call.global().is_some_and(|global| (global.module(), global.name()) == ("copyreg", name));
            Ok(is_function && class.map_or(Ok(None), |class| self.allowed_by_name(&class))?.is_some())
        };
        // Functions to which a class is an argument.
        if of_class("_reconstructor")? {
            return Ok(Some(imported!(self.py, "ndarray_io._objects", "reconstruct").clone()));
        }
        if of_class("__newobj__")? {
            return Ok(Some(imported!(self.py, "ndarray_io._objects", "new_object").clone()));
        }
        dotted_name(call.callable()).map_or(Ok(None), |name| self.allowed_by_name(&name))
    }

    fn allowed_by_name(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.allowed_globals.as_ref().map_or(Ok(None), |listed| listed.get_item(name))
    }

    /// Returns what a name refers to: what the caller has listed, or if anything is listed, a plain type.
    fn resolve_global(&self, global: Global<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.allowed_globals.is_none() {
            return Ok(None);
        }
        match self.allowed_by_name(&format!("{}.{}", global.module(), global.name()))? {
            None if global.module() == "builtins" => {
                let plain =
                    imported!(self.py, "ndarray_io._objects", "plain_type").call1((global.name(),))?;
                Ok((!plain.is_none()).then_some(plain))
            }
            listed => Ok(listed),
        }
    }

    /// Makes the object of a call that the caller has listed, when its arguments are there: later parts may refer to it.
    fn make_allowed_object(&mut self, frame: &mut Frame<'_, 'py>) -> PyResult<()> {
        let FrameKind::AllowedCall { class, object: object @ None, parts } = &mut frame.kind else {
            return Ok(());
        };
        if frame.done.len() < 2 + usize::from(parts.has_kwargs) {
            return Ok(());
        }
        let kwargs = if parts.has_kwargs { Some(frame.done[2].clone()) } else { None };
        let construct = imported!(self.py, "ndarray_io._objects", "construct");
        let made = construct.call1((&*class, parts.calls_new, frame.done[1].clone(), kwargs))?;
        *object = Some(made.clone());
        if let Some(id) = frame.object.id() {
            self.open_frames.remove(&id);
        }
        self.record_converted(frame.object, made);
        Ok(())
    }

    /// Returns the value of a call that makes plain data: a dtype, or a time with a zone.
    fn plain_value_of_call(
        &self,
        object: ObjectRef<'_>,
        call: Call<'_>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(name) = dotted_name(object)
            && let Some(listed) = self.allowed_by_name(&name)?
        {
            return Ok(Some(listed)); // a class within a class
        }
        // Names first: the rest looks at the arguments, which very many calls may share.
        let Some(global) = call.global() else { return Ok(None) };
        if global.name() == "dtype" && global.module().starts_with("numpy") {
            let Some(dtype) = object.as_dtype() else { return Ok(None) };
            return imported!(self.py, "ndarray_io._dtypes", "dtype_of")
                .call1((dtype.to_string(),))
                .map(Some);
        }
        if global.module() != "datetime" || call.args().items().is_none_or(|args| args.len() > 8) {
            return Ok(None);
        }
        if has_named_offset(object) {
            return Ok(None); // `datetime.timezone` with a name, which the offset alone would lose
        }
        if let Some((date, time, zone)) = object.as_aware() {
            let Some(zone) = self.zone(&zone)? else { return Ok(None) };
            return self.datetime(date, time, Some(zone)).map(Some);
        }
        if let Some((time, zone)) = object.as_aware_time() {
            let Some(zone) = self.zone(&zone)? else { return Ok(None) };
            return self.time(time, Some(zone)).map(Some);
        }
        Ok(None)
    }

    /// Returns a time zone; `None` if this machine does not have one of the name.
    fn zone(&self, zone: &Zone<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match zone {
            Zone::Offset(offset) => {
                let offset = self.timedelta((offset.days(), offset.seconds(), offset.microseconds()))?;
                imported!(self.py, "datetime", "timezone").call1((offset,)).map(Some)
            }
            Zone::Named(name) => {
                let zone = imported!(self.py, "ndarray_io._objects", "zone").call1((*name,))?;
                Ok((!zone.is_none()).then_some(zone))
            }
            _ => Ok(None),
        }
    }

    fn timedelta(&self, parts: (i32, u32, u32)) -> PyResult<Bound<'py, PyAny>> {
        imported!(self.py, "datetime", "timedelta").call1(parts)
    }

    fn datetime(
        &self,
        date: Date,
        time: Time,
        zone: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = PyDict::new(self.py);
        kwargs.set_item("tzinfo", zone)?;
        kwargs.set_item("fold", u8::from(time.is_fold()))?;
        let (date, time) = (
            (date.year(), date.month(), date.day()),
            (time.hour(), time.minute(), time.second(), time.microsecond()),
        );
        let all = (date.0, date.1, date.2, time.0, time.1, time.2, time.3);
        imported!(self.py, "datetime", "datetime").call(all, Some(&kwargs))
    }

    fn time(&self, time: Time, zone: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = PyDict::new(self.py);
        kwargs.set_item("tzinfo", zone)?;
        kwargs.set_item("fold", u8::from(time.is_fold()))?;
        let parts = (time.hour(), time.minute(), time.second(), time.microsecond());
        imported!(self.py, "datetime", "time").call(parts, Some(&kwargs))
    }

    fn int(&self, number: &Int) -> PyResult<Bound<'py, PyAny>> {
        match i64::try_from(number) {
            Ok(number) => Ok(number.into_pyobject(self.py)?.into_any()),
            Err(_) => Ok(BigInt::from(number).into_pyobject(self.py)?.into_any()),
        }
    }

    /// Converts an object without parts.
    fn leaf(&self, view: &View<'_>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match view {
            View::None => py.None().into_bound(py),
            View::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            View::Int(number) => self.int(number)?,
            View::Float(number) => PyFloat::new(py, *number).into_any(),
            View::Complex(number) => PyComplex::from_doubles(py, number.re, number.im).into_any(),
            View::Str(text) => match text.as_str() {
                Some(text) => PyString::new(py, text).into_any(),
                None => {
                    // Lone surrogates, which a `str` of Python can have.
                    let units: Vec<u8> = text.code_points().flat_map(u32::to_le_bytes).collect();
                    PyBytes::new(py, &units).call_method1("decode", ("utf-32-le", "surrogatepass"))?
                }
            },
            View::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            View::ByteArray(bytes) => PyByteArray::new(py, bytes).into_any(),
            View::Scalar(scalar) => {
                let array = plain_array(py, scalar.dtype(), &[], Order::C, scalar.bytes(), self.make_array)?;
                array.get_item(PyTuple::empty(py))?
            }
            View::Array(array) => {
                plain_array(py, array.dtype(), array.shape(), array.order(), array.bytes(), self.make_array)?
            }
            View::Date(date) => {
                imported!(py, "datetime", "date").call1((date.year(), date.month(), date.day()))?
            }
            View::Time(time) => self.time(*time, None)?,
            View::Datetime(date, time) => self.datetime(*date, *time, None)?,
            View::Timedelta(length) => {
                self.timedelta((length.days(), length.seconds(), length.microseconds()))?
            }
            View::Decimal(digits) => imported!(py, "decimal", "Decimal").call1((*digits,))?,
            View::Global(global) => match self.resolve_global(*global)? {
                Some(listed) => listed,
                None => {
                    imported!(py, "ndarray_io._objects", "Global").call1((global.module(), global.name()))?
                }
            },
            View::Extension(code) => {
                let call = imported!(py, "ndarray_io._objects", "Call").call0()?;
                call.setattr("callable", "copyreg extension")?;
                call.setattr("args", (*code,))?;
                call
            }
            _ => return Err(PyTypeError::new_err("the pickle refers to data that is stored outside of it")),
        })
    }
}

/// Returns the name of a class or function, which may be an attribute of another one, as in pickles before protocol 4.
fn dotted_name(object: ObjectRef<'_>) -> Option<String> {
    const MAX_ATTRIBUTES: usize = 16;
    let (mut object, mut attributes): (_, Vec<String>) = (object, Vec::new());
    loop {
        match object.view() {
            View::Global(global) => {
                let mut name = format!("{}.{}", global.module(), global.name());
                attributes.iter().rev().for_each(|attribute| {
                    name.push('.');
                    name.push_str(attribute);
                });
                return Some(name);
            }
            View::Call(call) if attributes.len() < MAX_ATTRIBUTES => {
                call.global().filter(|global| (global.module(), global.name()) == ("builtins", "getattr"))?;
                let args = call.args().items().filter(|args| args.len() == 2)?;
                let mut args = args.iter();
                object = args.next()?;
                let View::Str(attribute) = args.next()?.view() else { return None };
                attributes.push(attribute.as_str()?.to_owned());
            }
            _ => return None,
        }
    }
}

/// Whether an object is a time whose zone is an offset with a name of its own.
fn has_named_offset(object: ObjectRef<'_>) -> bool {
    let View::Call(call) = object.view() else { return false };
    let zone = call.args().items().and_then(|args| args.iter().last());
    let zone = zone.map(ObjectRef::view);
    matches!(zone, Some(View::Call(zone)) if zone.args().items().is_some_and(|args| args.len() > 1)
        && zone.global().is_some_and(|global| global.name() == "timezone"))
}
