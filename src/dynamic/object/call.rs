//! Objects described by the call that would create them, and the meaning of some of these calls.

use std::fmt;

use super::global_kind::{GlobalKind, is_numpy_reconstruct};
use super::graph::{CallParts, Name};
use super::{Date, Dict, Items, ObjectRef, Time, Timedelta, View, array_state, dtypes, times};
use crate::dtype::DType;
use crate::dynamic::DynArray;

/// A class or function, identified only by its name.
///
/// ```
/// use ndarray_io::object::{Object, View};
///
/// let object = Object::global("os.path", "join");
/// let View::Global(global) = object.view() else { panic!("a function") };
/// assert_eq!((global.module(), global.name()), ("os.path", "join"));
/// ```
#[derive(Clone, Copy)]
pub struct Global<'a> {
    name: &'a Name,
}

/// Returns what [`Global::is_usual_in_data`] says of a name.
#[cfg(feature = "npz")]
pub(crate) fn is_usual_name(module: &str, name: &str) -> bool {
    Global::new(&Name { module: module.into(), name: name.into(), stored: None }).is_usual_in_data()
}

impl<'a> Global<'a> {
    pub(super) fn new(name: &'a Name) -> Self {
        Self { name }
    }

    /// Returns the name of the module in Python 3.
    pub fn module(self) -> &'a str {
        &self.name.module
    }

    /// Returns the name within the module in Python 3.
    pub fn name(self) -> &'a str {
        &self.name.name
    }

    /// Returns the module and the name as spelled in the pickle: before protocol 3, those of Python 2.
    pub fn stored(self) -> (&'a str, &'a str) {
        match &self.name.stored {
            Some(stored) => (&stored.0, &stored.1),
            None => (self.module(), self.name()),
        }
    }

    /// Returns whether it is usual in plain data: numbers, text, containers, dates, NumPy's arrays and dtypes.
    ///
    /// The names are a closed list. That a pickle has no other names does not make it safe to load: Python can be made to
    /// crash, and more, with NumPy's functions alone, if their arguments are forged.
    ///
    /// ```
    /// use ndarray_io::object::Pickle;
    ///
    /// let pickle = Pickle::read(&b"\x80\x02cos\nsystem\n0ccollections\nOrderedDict\n."[..])?;
    /// let is_usual: Vec<_> = pickle.globals().map(|global| global.is_usual_in_data()).collect();
    /// assert_eq!(is_usual, [false, true]);
    /// # Ok::<(), ndarray_io::Error>(())
    /// ```
    pub fn is_usual_in_data(self) -> bool {
        const USUAL_BUILTINS: [&str; 10] =
            ["bool", "dict", "float", "int", "list", "object", "range", "slice", "str", "tuple"];
        const USUAL_NUMPY_NAMES: [&str; 11] = [
            "bool",
            "bool_",
            "bytes_",
            "clongdouble",
            "datetime64",
            "dtype",
            "longdouble",
            "object_",
            "str_",
            "timedelta64",
            "void",
        ];
        let is_one_of = |names: &[&str]| names.contains(&self.name());
        match self.module() {
            _ if self.is_data_constructor() => true,
            "builtins" => is_one_of(&USUAL_BUILTINS),
            "collections" => is_one_of(&["OrderedDict"]),
            "datetime" => is_one_of(&["timezone"]),
            "numpy" => {
                let bare = self.name().trim_end_matches(|last: char| last.is_ascii_digit());
                is_one_of(&USUAL_NUMPY_NAMES)
                    || bare != self.name() && ["int", "uint", "float", "complex"].contains(&bare)
            }
            "numpy._core._internal" | "numpy.core._internal" => {
                is_one_of(&["_convert_to_stringdtype_kwargs"])
            }
            "numpy.ma" | "numpy.ma.core" => is_one_of(&["MaskedArray", "_mareconstruct"]),
            "zoneinfo" => is_one_of(&["ZoneInfo", "ZoneInfo._unpickle"]),
            _ => false,
        }
    }

    /// Returns whether it only makes values that are represented as data here.
    pub(super) fn is_data_constructor(self) -> bool {
        // The last two make what their arguments say.
        !matches!(
            GlobalKind::of(self.module(), self.name()),
            GlobalKind::Unknown | GlobalKind::CopyregReconstructor | GlobalKind::JoblibArray
        )
    }

    pub(super) fn is(self, module: &str, name: &str) -> bool {
        (self.module(), self.name()) == (module, name)
    }
}

/// Compares the names in Python 3.
impl PartialEq for Global<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.module(), self.name()) == (other.module(), other.name())
    }
}

impl Eq for Global<'_> {}

impl std::hash::Hash for Global<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.module(), self.name()).hash(state);
    }
}

/// Formats the name as Python does: built-ins without their module.
impl fmt::Display for Global<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.module() {
            "builtins" => f.write_str(self.name()),
            module => write!(f, "{module}.{}", self.name()),
        }
    }
}

impl fmt::Debug for Global<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An object described by the call that Python would make to create it.
///
/// ```
/// use ndarray_io::object::{Object, View};
///
/// let command = Object::call("os", "system", ["echo hello"]);
/// assert_eq!(command.to_string(), "os.system('echo hello')");
/// let View::Call(call) = command.view() else { panic!("a call") };
/// assert_eq!(call.global().unwrap().module(), "os");
/// assert_eq!(call.args().items().unwrap().len(), 1);
/// ```
#[derive(Clone, Copy)]
pub struct Call<'a> {
    object: ObjectRef<'a>,
    parts: &'a CallParts,
}

impl<'a> Call<'a> {
    pub(super) fn new(object: ObjectRef<'a>, parts: &'a CallParts) -> Self {
        Self { object, parts }
    }

    fn slots(self, span: super::graph::Span) -> &'a [super::Slot] {
        self.object.graph.map_or(&[], |graph| graph.slots(span))
    }

    /// Returns the callable, which is nearly always a [`Global`].
    pub fn callable(self) -> ObjectRef<'a> {
        self.object.part(0).unwrap_or(self.object)
    }

    /// Returns the class or function that would be called, if it is given by name.
    pub fn global(self) -> Option<Global<'a>> {
        match self.callable().view() {
            View::Global(global) => Some(global),
            _ => None,
        }
    }

    /// Returns the positional arguments, which are nearly always a tuple.
    pub fn args(self) -> ObjectRef<'a> {
        self.object.part(1).unwrap_or(self.object)
    }

    /// Returns the keyword arguments, a dict.
    pub fn kwargs(self) -> Option<ObjectRef<'a>> {
        self.object.part(2)
    }

    /// Returns whether the class's `__new__` would be called instead of the class.
    pub fn is_new(self) -> bool {
        self.parts.calls_new
    }

    /// Returns the state that the object would be given after the call.
    pub fn state(self) -> Option<ObjectRef<'a>> {
        self.object.part(self.object.part_count() - 1)
    }

    /// Returns the items that would be appended to the object.
    pub fn items(self) -> Items<'a> {
        Items::of(self.object, self.slots(self.parts.items))
    }

    /// Returns the keys and values that would be set on the object; a key may occur several times.
    pub fn pairs(self) -> Dict<'a> {
        Dict::of(self.object, self.slots(self.parts.pairs))
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

/// The time zone of a time.
///
/// See [`ObjectRef::as_aware`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Zone<'a> {
    /// A fixed offset, which is added to UTC.
    Offset(Timedelta),
    /// A zone of the IANA database, such as `Europe/Berlin`.
    Named(&'a str),
}

impl<'a> ObjectRef<'a> {
    fn as_call(self) -> Option<Call<'a>> {
        match self.view() {
            View::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the dtype, if the object is a `numpy.dtype`.
    ///
    /// Metadata and Python classes, which [`DType`] cannot represent, are left out. A `StringDType` becomes
    /// [`DType::Object`].
    ///
    /// ```
    /// use ndarray_io::object::Object;
    ///
    /// let dtype = Object::call("numpy", "dtype", ["f8"]);
    /// assert_eq!(dtype.as_ref().as_dtype().unwrap().to_string(), "'<f8'");
    /// ```
    pub fn as_dtype(self) -> Option<DType> {
        let global = self.as_call()?.global()?;
        if !global.is("numpy", "dtype") && global.name() != "_convert_to_stringdtype_kwargs" {
            return None;
        }
        // The decoder does not follow references to other graphs; a detached copy has none.
        let whole = self.to_object().detach();
        dtypes::decode_dtype_object(whole.as_ref())
    }

    /// Returns a copy of the array, if the object is an `ndarray` or an instance of a derived class.
    ///
    /// Examples of derived classes are `numpy.matrix`, `numpy.recarray` and `numpy.memmap`. For a
    /// `numpy.ma.MaskedArray`, the copy contains the data without the mask. The method also returns `None` if
    /// there is not enough memory for the copy.
    pub fn as_array(self) -> Option<DynArray> {
        if let View::Array(array) = self.view() {
            return array.to_dyn().ok();
        }
        let global = self.as_call()?.global()?;
        let is_masked =
            global.is("numpy.ma.core", "_mareconstruct") || global.is("numpy.ma", "_mareconstruct");
        let is_plain = is_numpy_reconstruct((global.module(), global.name()));
        if !is_masked && !is_plain {
            return None;
        }
        let whole = self.to_object().detach();
        array_state::array_of_state(whole.as_ref(), 0)
    }

    /// Returns a copy of the mask of a `numpy.ma.MaskedArray`, as an array of bools.
    ///
    /// [`as_array`](Self::as_array) returns the data.
    pub fn as_mask(self) -> Option<DynArray> {
        let global = self.as_call()?.global()?;
        let is_masked =
            global.is("numpy.ma.core", "_mareconstruct") || global.is("numpy.ma", "_mareconstruct");
        let whole = is_masked.then(|| self.to_object().detach())?;
        array_state::array_of_state(whole.as_ref(), 1)
    }

    /// Returns the date, time and zone of a `datetime.datetime` that has a time zone.
    ///
    /// Supported are fixed offsets of `datetime`, named zones of `zoneinfo` and `pytz`, and the UTC zones of
    /// `pytz` and `dateutil`. For other zones, the method returns `None`.
    ///
    /// ```
    /// use ndarray_io::object::{Object, Timedelta, Zone};
    ///
    /// let zone = Object::call("datetime", "timezone", [Object::from(Timedelta::new(0, 3600, 0).unwrap())]);
    /// let packed = Object::from(&b"\x07\xE8\x02\x1D\x0C\x00\x00\x00\x00\x00"[..]);
    /// let object = Object::call("datetime", "datetime", [packed, zone]);
    /// let (date, time, zone) = object.as_ref().as_aware().unwrap();
    /// assert_eq!((date.day(), time.hour()), (29, 12));
    /// assert_eq!(zone, Zone::Offset(Timedelta::new(0, 3600, 0).unwrap()));
    /// ```
    pub fn as_aware(self) -> Option<(Date, Time, Zone<'a>)> {
        let (packed, zone) = self.packed_and_zone("datetime")?;
        times::unpack(&packed).map(|(date, time)| (date, time, zone))
    }

    /// Returns the time and zone of a `datetime.time` with a time zone: see [`as_aware`](Self::as_aware).
    pub fn as_aware_time(self) -> Option<(Time, Zone<'a>)> {
        let (packed, zone) = self.packed_and_zone("time")?;
        Time::unpack_with_fold(&packed).map(|time| (time, zone))
    }

    /// Returns the packed bytes and the zone of an instance of a class in `datetime`.
    fn packed_and_zone(self, name: &str) -> Option<(Vec<u8>, Zone<'a>)> {
        let call = self.as_call()?;
        call.global().filter(|global| global.is("datetime", name))?;
        let args = call.args().items()?;
        let packed = match args.get(0)?.view() {
            View::Bytes(bytes) => bytes.to_vec(),
            View::Str(text) => text.to_latin1()?,
            _ => return None,
        };
        Some((packed, args.get(1)?.as_zone()?))
    }

    fn as_zone(self) -> Option<Zone<'a>> {
        let call = self.as_call()?;
        let args = call.args().items()?;
        let named = |index: usize| args.get(index).and_then(Self::as_str).map(Zone::Named);
        let Some(global) = call.global() else {
            // Before protocol 4, the function is itself the result of a call: `getattr(zoneinfo.ZoneInfo,
            // '_unpickle')`.
            let getattr = call.callable().as_call()?.global()?;
            return getattr.is("builtins", "getattr").then(|| named(0))?;
        };
        match (global.module(), global.name()) {
            ("datetime", "timezone") => match args.get(0)?.view() {
                View::Timedelta(length) => Some(Zone::Offset(length)),
                _ => None,
            },
            ("pytz", "_UTC") | ("dateutil.tz.tz", "tzutc") => Timedelta::new(0, 0, 0).map(Zone::Offset),
            ("zoneinfo", "ZoneInfo._unpickle" | "ZoneInfo") | ("pytz", "_p") => named(0),
            _ => None,
        }
    }
}
