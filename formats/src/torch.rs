//! Tensors in archives that `torch.save` has written: `.pt`, `.pth`, `.bin`. Nothing of them is executed.
//!
//! An archive has a pickle, which is read as data, and storages, which are plain bytes. Tensors within dicts, lists, tuples and
//! objects are found wherever they are, and named by their keys: `model.layer1.weight`. What `torch.load` would import and call is
//! listed by [`Pickle::globals`] for the member `data.pkl`.
//!
//! Files of PyTorch before 1.6, TorchScript's code and tensors on other devices' formats (quantized, sparse, nested) are not read.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ndarray_io::dtype::{ByteOrder, Kind, Narrow, Scalar};
use ndarray_io::error::{Error, ErrorKind, FilePart, Result};
use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::object::{Call, ObjectRef, Pickle, View};
use ndarray_io::{DType, DynArray, DynView, NpyFile, NpzFile, ReadOptions};

/// The tensors of an archive of PyTorch.
///
/// ```no_run
/// use ndarray::Array2;
/// use ndarray_io_formats::torch::Torch;
///
/// let file = Torch::open("model.pt")?;
/// for tensor in file.tensors() {
///     println!("{} {:?}", tensor.name(), tensor.shape());
/// }
/// let weight: Array2<f32> = file.read("layer1.weight")?.into_array()?;
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Torch {
    archive: NpzFile,
    tensors: Vec<TorchTensor>,
    by_name: HashMap<String, usize>,
}

/// A tensor in an archive of PyTorch: a view of a storage, which others may share.
#[derive(Clone, Debug)]
pub struct TorchTensor {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    /// The distances between elements along each axis, in elements.
    strides: Vec<usize>,
    /// The number of the first element in the storage.
    first: usize,
    /// The index of the storage's member.
    member: usize,
}

impl TorchTensor {
    /// Returns the name: the keys on the way to it, with dots between them.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the dtype.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the distances between neighboring elements along each axis, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Returns the order in which the elements are contiguous, if there is one.
    fn order(&self) -> Option<Order> {
        let shape = Shape::from(self.shape.as_slice());
        [Order::C, Order::Fortran].into_iter().find(|order| {
            let mut wanted = 1_u64;
            let axes: Box<dyn Iterator<Item = usize>> = match order {
                Order::C => Box::new((0..self.shape.len()).rev()),
                Order::Fortran => Box::new(0..self.shape.len()),
            };
            shape.len() == Some(0)
                || axes.into_iter().all(|axis| {
                    let is_right = self.shape[axis] == 1 || self.strides[axis] as u64 == wanted;
                    wanted = wanted.saturating_mul(self.shape[axis] as u64);
                    is_right
                })
        })
    }

    /// Returns the number of elements of the storage that the tensor spans.
    fn span(&self) -> usize {
        match self.shape.contains(&0) {
            true => 0,
            false => {
                self.shape
                    .iter()
                    .zip(&self.strides)
                    .map(|(length, stride)| (length - 1) * stride)
                    .sum::<usize>()
                    + 1
            }
        }
    }
}

impl Torch {
    /// Opens an archive and reads its pickle.
    ///
    /// # Errors
    ///
    /// - [`Io`](ErrorKind::Io) if it cannot be read.
    /// - A [format error](Error::is_format) if it is not an archive of PyTorch, or contradicts itself.
    /// - [`Unsupported`](ErrorKind::Unsupported) for tensors of other kinds than plain ones.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_in(NpzFile::open(path)?)
    }

    /// Opens an archive with options for reading.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        Self::open_in(NpzFile::open_with(path, options)?)
    }

    /// Finds the tensors in an opened archive.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_in(archive: NpzFile) -> Result<Self> {
        let named: HashMap<&str, usize> =
            archive.members().iter().enumerate().map(|(index, member)| (member.file_name(), index)).collect();
        let pickle = named.keys().find_map(|name| {
            name.strip_suffix("data.pkl").filter(|folder| {
                folder.is_empty() || folder.ends_with('/') && folder.matches('/').count() == 1
            })
        });
        let Some(folder) = pickle.map(str::to_owned) else {
            let reason = "no member data.pkl: not of torch.save since PyTorch 1.6";
            return Err(ErrorKind::unsupported(FilePart::Archive, reason).into());
        };
        let order = match named.get(format!("{folder}byteorder").as_str()) {
            Some(index) if archive.members()[*index].size() == 3 && archive.read_raw(*index)? == b"big" => {
                ByteOrder::Big
            }
            _ => ByteOrder::Little,
        };
        let bytes = archive.read_raw(named[format!("{folder}data.pkl").as_str()])?;
        let pickle = Pickle::from_bytes_with(&bytes, &ReadOptions::new())?;
        let mut finder =
            Finder { folder: &folder, named: &named, archive: &archive, order, tensors: Vec::new() };
        finder.find(pickle.object().as_ref())?;
        let mut tensors = finder.tensors;
        drop(named);
        let mut by_name = HashMap::new();
        for (index, tensor) in tensors.iter_mut().enumerate() {
            let mut name = tensor.name.clone();
            while by_name.contains_key(&name) {
                name += "'"; // keys may have dots themselves
            }
            tensor.name.clone_from(&name);
            by_name.insert(name, index);
        }
        Ok(Self { archive, tensors, by_name })
    }

    /// Returns the tensors, in the order of the pickle.
    pub fn tensors(&self) -> &[TorchTensor] {
        &self.tensors
    }

    /// Returns a tensor by its name.
    ///
    /// # Errors
    ///
    /// [`NoSuchMember`](ErrorKind::NoSuchMember) if there is none.
    pub fn get(&self, name: &str) -> Result<&TorchTensor> {
        match self.by_name.get(name) {
            Some(index) => Ok(&self.tensors[*index]),
            None => Err(ErrorKind::no_such_member(name, self.tensors.iter().map(TorchTensor::name)).into()),
        }
    }

    /// Opens a tensor whose elements are contiguous, of which parts can be read.
    ///
    /// # Errors
    ///
    /// - [`NoSuchMember`](ErrorKind::NoSuchMember) if there is none of the name.
    /// - [`Unsupported`](ErrorKind::Unsupported) if its elements are not contiguous: [`read`](Self::read) them.
    /// - Those of [`NpzFile::open_elements`].
    pub fn open_tensor(&self, name: &str) -> Result<NpyFile> {
        let tensor = self.get(name)?;
        let Some(order) = tensor.order() else {
            let reason = "a tensor whose elements are not contiguous has no parts: read all of it";
            return Err(Error::from(ErrorKind::unsupported(FilePart::Data, reason)).at_member(name));
        };
        if tensor.first == 0 {
            let header = Header::new(tensor.dtype.clone(), order, tensor.shape.as_slice().into())?;
            return self.archive.open_elements(tensor.member, header);
        }
        let storage = self.storage(tensor)?;
        let offset = (tensor.first * tensor.dtype.item_size()) as u64;
        let header = Header::new(tensor.dtype.clone(), order, tensor.shape.as_slice().into())?;
        Ok(NpyFile::from_elements(Storage(storage), offset, header)?.with_member(name))
    }

    /// Reads a tensor, of any strides, in C order or in Fortran order if it is contiguous only so.
    ///
    /// # Errors
    ///
    /// - [`NoSuchMember`](ErrorKind::NoSuchMember) if there is none of the name.
    /// - Those of reading the archive.
    pub fn read(&self, name: &str) -> Result<DynArray> {
        let tensor = self.get(name)?;
        let read = || {
            let size = tensor.dtype.item_size();
            let storage = self.storage(tensor)?;
            let (start, count) = (tensor.first * size, tensor.span() * size);
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(count).map_err(|_| ErrorKind::out_of_memory(count as u64))?;
            bytes.resize(count, 0);
            let part = ndarray::SliceInfoElem::Slice {
                start: start as isize,
                end: Some((start + count) as isize),
                step: 1,
            };
            storage.slice_into_bytes::<&[ndarray::SliceInfoElem]>(&[part], &mut bytes, None)?;
            let strides: Vec<isize> = tensor.strides.iter().map(|stride| (stride * size) as isize).collect();
            DynView::new(&bytes, 0, tensor.dtype.clone(), tensor.shape.as_slice(), &strides)?.to_array()
        };
        read().map_err(|error: Error| error.at_member(name))
    }

    /// Opens the bytes of a tensor's storage, as far as the tensor needs them.
    fn storage(&self, tensor: &TorchTensor) -> Result<NpyFile> {
        let bytes = (tensor.first + tensor.span()) * tensor.dtype.item_size();
        let header = Header::new("|u1".parse()?, Order::C, [bytes].into())?;
        let file = self.archive.open_elements(tensor.member, header)?;
        file.check_complete()?;
        Ok(file)
    }
}

/// The bytes of a storage, as a source.
#[derive(Debug)]
struct Storage(NpyFile);

impl ndarray_io::bytes::ReadAt for Storage {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let size = self.0.shape()[0] as u64;
        let count = into.len().min(usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX));
        let start = offset.min(size) as isize;
        let part = ndarray::SliceInfoElem::Slice { start, end: Some(start + count as isize), step: 1 };
        self.0.slice_into_bytes::<&[ndarray::SliceInfoElem]>(&[part], &mut into[..count], None)?;
        Ok(count)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.shape()[0] as u64)
    }
}

/// Finds the tensors among the objects of a pickle.
struct Finder<'a> {
    folder: &'a str,
    named: &'a HashMap<&'a str, usize>,
    archive: &'a NpzFile,
    order: ByteOrder,
    tensors: Vec<TorchTensor>,
}

impl Finder<'_> {
    /// Looks at all objects, each once, in their order.
    fn find(&mut self, root: ObjectRef<'_>) -> Result<()> {
        /// The longest name of a tensor: a key may be shared by many levels.
        const LONGEST: usize = 64 << 10;
        let mut seen = HashSet::new();
        let mut open = vec![(String::new(), root)];
        while let Some((name, object)) = open.pop() {
            if let Some(call) = tensor_call(object) {
                // A tensor that is shared has several names.
                let args: Vec<_> = call.args().items().into_iter().flat_map(|items| items.iter()).collect();
                let tensor = self.tensor(name.clone(), &args);
                self.tensors.push(tensor.map_err(|error| error.at_member(&name))?);
                continue;
            }
            if object.id().is_some_and(|id| !seen.insert(id)) {
                continue;
            }
            let mut inner: Vec<(String, ObjectRef<'_>)> = Vec::new();
            let within = |key: &str| match name.is_empty() {
                true => key.to_owned(),
                false => format!("{name}.{key}"),
            };
            match object.view() {
                View::List(items) | View::Tuple(items) => {
                    inner.extend(items.iter().enumerate().map(|(at, item)| (within(&at.to_string()), item)));
                }
                View::Dict(pairs) => {
                    inner.extend(pairs.iter().map(|(key, value)| (within(&key_text(key)), value)));
                }
                View::Call(call) => {
                    let made_by = call.global().filter(|global| global.module() == "torch._utils");
                    if let Some(function) = made_by.filter(|function| function.name().starts_with("_rebuild"))
                    {
                        let error =
                            ErrorKind::unsupported(FilePart::Pickle, format!("a tensor made by {function}"));
                        return Err(Error::from(error).at_member(&name));
                    }
                    let args = call.args().items().into_iter().flat_map(|items| items.iter());
                    let listed = args.enumerate().chain(call.items().iter().enumerate());
                    inner.extend(listed.map(|(at, item)| (within(&at.to_string()), item)));
                    inner.extend(call.state().map(|state| (name.clone(), state)));
                    let pairs = call.pairs();
                    inner.extend(pairs.iter().map(|(key, value)| (within(&key_text(key)), value)));
                }
                _ => {}
            }
            if let Some((name, _)) = inner.iter().find(|(name, _)| name.len() > LONGEST) {
                return Err(malformed(format!("a key of {} bytes", name.len())));
            }
            open.extend(inner.into_iter().rev());
        }
        Ok(())
    }

    /// Makes a tensor of its storage, offset, shape and strides, and in the third version its dtype.
    fn tensor(&self, name: String, args: &[ObjectRef<'_>]) -> Result<TorchTensor> {
        let [storage, first, shape, strides, ..] = args else {
            return Err(malformed(format!("a tensor of {} arguments", args.len())));
        };
        let View::Persistent(storage) = storage.view() else {
            return Err(malformed("a tensor without a storage"));
        };
        let parts: Vec<_> = storage.items().into_iter().flat_map(|items| items.iter()).collect();
        let [_, class, key, _, count] = parts.as_slice() else {
            return Err(malformed("a storage that is not described by five values"));
        };
        let View::Global(class) = class.view() else { return Err(malformed("a storage without a class")) };
        let key = match key.view() {
            View::Str(text) => text.as_str().map(str::to_owned),
            _ => None,
        };
        let key = key.ok_or_else(|| malformed("a storage whose key is not a text"))?;
        let dtype = match args.get(6).map(|dtype| dtype.view()) {
            Some(View::Global(global)) if global.module() == "torch" => dtype_of(global.name(), self.order)?,
            _ => dtype_of(class.name().trim_end_matches("Storage"), self.order)?,
        };
        let member = self.named.get(format!("{}data/{key}", self.folder).as_str());
        let member = *member.ok_or_else(|| malformed(format!("no member for the storage {key:?}")))?;
        let (shape, strides) = (numbers(*shape)?, numbers(*strides)?);
        if shape.len() != strides.len() {
            return Err(malformed(format!("{} axes with {} strides", shape.len(), strides.len())));
        }
        let first = number(*first)?;
        // The number of elements of a storage is in bytes if its class has no dtype.
        let count = number(*count)?;
        let size = dtype.item_size() as u64;
        let there = self.archive.members()[member].size() / size;
        let len = Shape::from(shape.as_slice()).len().ok_or_else(|| ErrorKind::overflow("the shape"))?;
        let mut end = first as u128;
        if len > 0 {
            end += 1;
            for (length, stride) in shape.iter().zip(&strides) {
                end = end.saturating_add((*length as u128 - 1).saturating_mul(*stride as u128));
            }
        }
        // A tensor of more elements than its storage repeats them: a small file would ask for any amount of memory.
        if end > u128::from(there)
            || len > there
            || count as u64 > self.archive.members()[member].size().max(there)
        {
            let reason = format!("{len} elements up to number {end} of a storage of {there}");
            return Err(malformed(reason));
        }
        Ok(TorchTensor { name, dtype, shape, strides, first, member })
    }
}

/// Returns the call that makes a plain tensor, or the tensor of a parameter.
fn tensor_call(object: ObjectRef<'_>) -> Option<Call<'_>> {
    let View::Call(call) = object.view() else { return None };
    let function = call.global().filter(|global| global.module() == "torch._utils")?;
    match function.name() {
        "_rebuild_tensor" | "_rebuild_tensor_v2" | "_rebuild_tensor_v3" => Some(call),
        "_rebuild_parameter" | "_rebuild_parameter_with_state" => {
            let View::Call(inner) = call.args().items()?.iter().next()?.view() else { return None };
            let function = inner.global().filter(|global| global.module() == "torch._utils")?;
            function.name().starts_with("_rebuild_tensor").then_some(inner)
        }
        _ => None,
    }
}

/// Returns the dtype of a class of storages, or of PyTorch's name of it.
fn dtype_of(name: &str, order: ByteOrder) -> Result<DType> {
    let number = |kind, size| Scalar::new(kind, size, order).map(DType::from);
    let narrow = |narrow: Narrow| Some(DType::from(narrow));
    let dtype = match name {
        "Float" | "float32" => number(Kind::Float, 4),
        "Double" | "float64" => number(Kind::Float, 8),
        "Half" | "float16" => number(Kind::Float, 2),
        "BFloat16" | "bfloat16" if order == ByteOrder::Little => narrow(Narrow::BFloat16),
        "Long" | "int64" => number(Kind::Int, 8),
        "Int" | "int32" => number(Kind::Int, 4),
        "Short" | "int16" => number(Kind::Int, 2),
        "Char" | "int8" => number(Kind::Int, 1),
        "Byte" | "uint8" => number(Kind::Uint, 1),
        "uint16" => number(Kind::Uint, 2),
        "uint32" => number(Kind::Uint, 4),
        "uint64" => number(Kind::Uint, 8),
        "Bool" | "bool" => number(Kind::Bool, 1),
        "ComplexFloat" | "complex64" => number(Kind::Complex, 8),
        "ComplexDouble" | "complex128" => number(Kind::Complex, 16),
        "float8_e4m3fn" => narrow(Narrow::Float8E4M3Fn),
        "float8_e5m2" => narrow(Narrow::Float8E5M2),
        "float8_e4m3fnuz" => narrow(Narrow::Float8E4M3Fnuz),
        "float8_e5m2fnuz" => narrow(Narrow::Float8E5M2Fnuz),
        "float8_e8m0fnu" => narrow(Narrow::Float8E8M0Fnu),
        _ => None,
    };
    dtype.ok_or_else(|| ErrorKind::unsupported(FilePart::DType, format!("{name} of PyTorch")).into())
}

fn key_text(key: ObjectRef<'_>) -> String {
    match key.view() {
        View::Str(text) if text.as_str().is_some() => text.as_str().unwrap_or_default().to_owned(),
        View::Int(number) => {
            i64::try_from(&number).map_or_else(|_| "…".to_owned(), |number| number.to_string())
        }
        _ => "…".to_owned(),
    }
}

fn number(object: ObjectRef<'_>) -> Result<usize> {
    let number = match object.view() {
        View::Int(number) => i64::try_from(&number).ok().and_then(|number| usize::try_from(number).ok()),
        _ => None,
    };
    number.ok_or_else(|| malformed("expected a number from 0"))
}

fn numbers(object: ObjectRef<'_>) -> Result<Vec<usize>> {
    let items = object.items().ok_or_else(|| malformed("expected a tuple of numbers"))?;
    if items.len() > 64 {
        return Err(malformed(format!("a tensor of {} axes", items.len())));
    }
    items.iter().map(number).collect()
}

fn malformed(reason: impl Into<String>) -> Error {
    ErrorKind::malformed(FilePart::Pickle, reason, None).into()
}
