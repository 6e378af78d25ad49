//! Writes the parts of NumPy's objects: names, bytes, dtypes and the state of arrays.

use super::super::compat::python_2_name;
use super::super::{Array, Global};
use super::Pickler;
use crate::dtype::{DType, Title};
use crate::error::{Error, Fault, Remedy, Result};
use crate::shape::Order;

impl<'a> Pickler<'a> {
    /// Writes bytes.
    ///
    /// Protocol 2 cannot represent bytes. It stores them as text, which Python encodes when loading.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.out.protocol() >= 3 {
            self.out.bytes(bytes);
            return Ok(());
        }
        if bytes.is_empty() {
            self.write_global("builtins", "bytes")?;
            self.out.tuple_of(0);
            self.out.reduce();
            return Ok(());
        }
        self.write_global("_codecs", "encode")?;
        let text: String = bytes.iter().copied().map(char::from).collect();
        self.out.str(&text);
        self.text("latin1");
        self.out.tuple_of(2);
        self.out.reduce();
        Ok(())
    }

    pub(super) fn global(&mut self, global: Global<'a>) -> Result<()> {
        self.write_global(global.module(), global.name())
    }

    /// Writes a class or function, given its name in Python 3.
    pub(super) fn write_global(&mut self, module: &str, name: &str) -> Result<()> {
        let (module, name) =
            if self.out.protocol() < 3 { python_2_name(module, name) } else { (module, name) };
        if let Some(number) = self.memoized_globals.get(module).and_then(|names| names.get(name)) {
            self.out.get(*number);
            return Ok(());
        }
        // In older protocols, names end with a line end, so one within a name could smuggle in opcodes.
        if self.out.protocol() < 4 && (module.contains('\n') || name.contains('\n')) {
            let reason = format!(
                "protocols before 4 cannot represent the name {module:?}.{name:?}, which has a line end"
            );
            let error = Error::from(Fault::BadOption { reason });
            return Err(error.with_help(Remedy::PickleProtocol { protocol: 4 }));
        }
        match name.split_once('.') {
            // Older protocols support only names at the top level of a module; `getattr` looks up nested
            // names.
            Some((first, rest)) if self.out.protocol() < 4 => {
                let (builtins, getattr) = match self.out.protocol() {
                    2 => python_2_name("builtins", "getattr"),
                    _ => ("builtins", "getattr"),
                };
                rest.split('.').for_each(|_| self.out.global(builtins, getattr));
                self.out.global(module, first);
                for part in rest.split('.') {
                    self.out.str(part);
                    self.out.tuple_of(2);
                    self.out.reduce();
                }
            }
            _ => self.out.global(module, name),
        }
        let number = self.out.memoize();
        self.memoized_globals.entry(module.to_owned()).or_default().insert(name.to_owned(), number);
        Ok(())
    }

    pub(super) fn multiarray_module(&self) -> &'static str {
        // NumPy 2 renamed the module; all versions load the old name.
        if self.out.protocol() >= 4 { "numpy._core.multiarray" } else { "numpy.core.multiarray" }
    }

    /// Writes the call that creates an array, which is empty until its state is set.
    pub(super) fn begin_array(&mut self) -> Result<()> {
        self.write_global(self.multiarray_module(), "_reconstruct")?;
        self.write_global("numpy", "ndarray")?;
        self.out.int(0);
        self.out.tuple_of(1);
        self.bytes(b"b")?;
        self.out.tuple_of(3);
        self.out.reduce();
        Ok(())
    }

    /// Writes the start of an array's state; the dtype must follow.
    pub(super) fn begin_array_state(&mut self, dims: &[usize]) -> Result<()> {
        self.out.mark();
        self.out.int(1);
        self.dims(dims);
        Ok(())
    }

    pub(super) fn dims(&mut self, dims: &[usize]) {
        let few = u8::try_from(dims.len()).ok().filter(|count| *count <= 3);
        if few.is_none() {
            self.out.mark();
        }
        dims.iter().for_each(|dim| self.out.int(*dim as i64)); // lossless: no axis exceeds i64::MAX
        match few {
            Some(count) => self.out.tuple_of(count),
            None => self.out.tuple(),
        }
    }

    pub(super) fn dtype(&mut self, dtype: &DType) -> Result<()> {
        if dtype.is_foreign_to_numpy() {
            let reason = DType::FOREIGN_REASON.into();
            return Err(Fault::NotRepresentable { format: "NPY", dtype: dtype.clone(), reason }.into());
        }
        if let Some(number) = self.memoized_dtypes.get(dtype) {
            self.out.get(*number);
            return Ok(());
        }
        self.write_global("numpy", "dtype")?;
        self.write_numpy_dtype_argument(dtype);
        self.out.tuple_of(1);
        self.out.reduce();
        let number = self.out.memoize();
        self.memoized_dtypes.insert(dtype.clone(), number);
        Ok(())
    }

    /// Writes the argument of `numpy.dtype`.
    pub(super) fn write_numpy_dtype_argument(&mut self, dtype: &DType) {
        match dtype {
            DType::Object => self.out.str("O"),
            DType::Scalar(_) => self.out.str(dtype.to_string().trim_matches('\'')),
            DType::Subarray(subarray) => {
                self.write_numpy_dtype_argument(subarray.base());
                self.dims(subarray.shape());
                self.out.tuple_of(2);
            }
            DType::Record(record) => {
                let fields = record.fields();
                self.out.empty_dict();
                self.out.mark();
                self.write_named_list("names", fields, |writer, field| writer.out.str(field.name()));
                self.write_named_list("formats", fields, |writer, field| {
                    writer.write_numpy_dtype_argument(field.dtype())
                });
                self.write_named_list("offsets", fields, |writer, field| {
                    writer.out.int(field.offset() as i64)
                });
                if fields.iter().any(|field| field.title().is_some()) {
                    self.write_named_list("titles", fields, |writer, field| match field.title() {
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

    pub(super) fn write_named_list<T>(&mut self, name: &str, parts: &[T], write: impl Fn(&mut Self, &T)) {
        self.out.str(name);
        self.out.empty_list();
        self.out.mark();
        parts.iter().for_each(|part| write(self, part));
        self.out.appends();
    }
}
pub(super) fn is_fortran(array: Array<'_>) -> bool {
    array.order() == Order::Fortran && array.shape().len() > 1
}
