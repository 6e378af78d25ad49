//! Python objects as data: what a pickle says, of which nothing is ever executed.

mod array;
mod budget;
mod check;
mod compat;
mod convert;
mod element;
mod equal;
mod int;
mod numpy;
mod read;
mod show;
mod text;
mod write;

use std::sync::Arc;

use num_complex::Complex;

use super::DynArray;

pub(super) use array::{decode, encode, rearranged};
pub(super) use equal::items_equal;
pub use int::PyInt;
pub(super) use show::brief;
pub use text::PyStr;

/// A Python object.
///
/// An array of objects is read as any other array, by asking for this type. What the file says is shown as data; nothing is
/// executed, whatever it is: what Python would call is an [`Object`](Self::Object), which says what it would call with what.
///
/// ```
/// use ndarray::{arr1, Array1};
/// use ndarray_io::{PyValue, ReadNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// arr1(&[PyValue::from("text"), PyValue::from(2), PyValue::from(vec![1.5, 2.5])]).write_npy(&mut file)?;
/// let objects = Array1::<PyValue>::read_npy(&file[..])?;
/// assert_eq!(objects[0].as_str(), Some("text"));
/// assert_eq!(i64::try_from(&objects[1])?, 2);
/// assert_eq!(objects[2].to_string(), "[1.5, 2.5]"); // as Python shows it
/// # Ok::<(), ndarray_io::Error>(())
/// ```
///
/// Objects that a file refers to several times are shared here as well, so that a copy costs nothing. Two floats are equal if
/// their bits are.
///
/// Reading takes time in proportion to the pickle, and at most 256 bytes of memory for each of its bytes, whatever refers to what.
/// Objects within objects deeper than 1000 are an error, as are parts that would have to be copied more than 16 times the
/// pickle's length in all: NumPy reads such files. What Python could not hold (a day that there is not, a list as a key) is an
/// error when it is written.
#[derive(Clone)]
#[non_exhaustive]
pub enum PyValue {
    /// `None`
    None,
    /// `bool`
    Bool(bool),
    /// `int`, of any size
    Int(PyInt),
    /// `float`
    Float(f64),
    /// `complex`
    Complex(Complex<f64>),
    /// `str`
    Str(PyStr),
    /// `bytes`
    Bytes(Arc<[u8]>),
    /// `bytearray`
    ByteArray(Arc<[u8]>),
    /// `list`
    List(Arc<Vec<PyValue>>),
    /// `tuple`
    Tuple(Arc<Vec<PyValue>>),
    /// `dict`, in the order of the file
    Dict(Arc<Vec<(PyValue, PyValue)>>),
    /// `set`, in the order of the file
    Set(Arc<Vec<PyValue>>),
    /// `frozenset`, in the order of the file
    FrozenSet(Arc<Vec<PyValue>>),
    /// A scalar of NumPy's: an array without axes
    Scalar(Arc<DynArray>),
    /// A `numpy.ndarray`
    Array(Arc<DynArray>),
    /// `datetime.date`
    Date(PyDate),
    /// `datetime.time`, without a time zone
    Time(PyTime),
    /// `datetime.datetime`, without a time zone
    Datetime(PyDate, PyTime),
    /// `datetime.timedelta`
    Timedelta(PyTimedelta),
    /// `decimal.Decimal`, by its digits
    Decimal(Arc<str>),
    /// A class or function, by its name
    Global(Arc<PyGlobal>),
    /// Any other object: what Python would call to make it
    Object(Arc<PyObject>),
}

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PyDate {
    /// From 1 to 9999.
    pub year: u16,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PyTime {
    /// The hour.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second.
    pub second: u8,
    /// Millionths of a second.
    pub microsecond: u32,
    /// Whether it is the second of two times that clocks show alike when they are put back.
    pub is_fold: bool,
}

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PyTimedelta {
    /// Days, which carry the sign.
    pub days: i32,
    /// From 0 to 86,399.
    pub seconds: i32,
    /// From 0 to 999,999.
    pub microseconds: i32,
}

/// A class or function: its name, and nothing of what it does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PyGlobal {
    /// The module, as `os.path`.
    pub module: String,
    /// The name within it.
    pub name: String,
}

/// An object of which nothing is known but what Python would do to make it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PyObject {
    /// What would be called: nearly always a [`PyValue::Global`].
    pub callable: PyValue,
    /// With what: nearly always a [`PyValue::Tuple`].
    pub args: PyValue,
    /// With what by names, a [`PyValue::Dict`].
    pub kwargs: Option<PyValue>,
    /// Whether it is the class's `__new__` that would be called.
    pub is_new: bool,
    /// The state that the object would be given then.
    pub state: Option<PyValue>,
    /// What would be appended to it.
    pub items: Vec<PyValue>,
    /// What would be set by keys.
    pub pairs: Vec<(PyValue, PyValue)>,
}

impl PyObject {
    /// The class or function that would be called, if it is one by its name.
    ///
    /// ```
    /// # use ndarray_io::{PyObject, PyValue};
    /// let command = PyObject::call("os", "system", vec!["echo hello".into()]);
    /// assert_eq!(command.global().unwrap().module, "os");
    /// assert_eq!(PyValue::from(command).to_string(), "os.system('echo hello')");
    /// ```
    pub fn global(&self) -> Option<&PyGlobal> {
        match &self.callable {
            PyValue::Global(global) => Some(global),
            _ => None,
        }
    }

    /// What Python makes by a call.
    pub fn call(module: &str, name: &str, args: Vec<PyValue>) -> Self {
        Self {
            callable: PyValue::Global(Arc::new(PyGlobal {
                module: module.to_owned(),
                name: name.to_owned(),
            })),
            args: PyValue::Tuple(Arc::new(args)),
            kwargs: None,
            is_new: false,
            state: None,
            items: Vec::new(),
            pairs: Vec::new(),
        }
    }
}

impl Default for PyValue {
    /// `None`
    fn default() -> Self {
        Self::None
    }
}
