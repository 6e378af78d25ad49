//! Tensors in archives that `torch.save` has written: `.pt`, `.pth`, `.bin`. Nothing of them is executed.
//!
//! An archive has a pickle, which is read as data, and storages, which are plain bytes. Tensors within dicts, lists, tuples, sets and
//! objects are found, and named by their keys: `model.layer1.weight`. A key that is neither a text nor an integer of 64 bits is `…`; a name that is
//! taken gets a number: `a#2`. A tensor that is in several places has each of their names, but a dict or list that is in several places is
//! looked at once. What `torch.load` would import and call is listed by [`Pickle::globals`](ndarray_io::object::Pickle::globals) for the member `data.pkl`.
//!
//! Files of PyTorch before 1.6 are not read. Tensors of other kinds (quantized, sparse, nested) are listed by [`Torch::others`].

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ndarray_io::dtype::{Kind, Narrow, Scalar};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Header, Order, Shape};
use ndarray_io::object::{ObjectRef, View};
use ndarray_io::{ByteOrder, DType, DynArray, DynView, Error, NpyFile, NpzFile, ReadOptions, Result};

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
    others: Vec<(String, String)>,
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
    storage_offset: usize,
    /// The index of the storage's member.
    member_index: usize,
    /// What is still to be done with the elements, as PyTorch does when they are used.
    pending: Pending,
}

/// Operations that PyTorch has only noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    conjugate: bool,
    negate: bool,
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

    /// Does what PyTorch does when the elements are used: it changes signs.
    fn apply_pending_signs(&self, bytes: &mut [u8]) {
        let size = self.dtype.item_size();
        let Some(scalar) = self.dtype.as_scalar() else { return };
        let part = if scalar.kind() == Kind::Complex { size / 2 } else { size };
        let sign = if scalar.byte_order() == Some(ByteOrder::Big) { 0 } else { part - 1 };
        for item in bytes.chunks_exact_mut(size) {
            for (number, part) in item.chunks_exact_mut(part).enumerate() {
                let is_imaginary = number == 1;
                if self.pending.negate != (self.pending.conjugate && is_imaginary) {
                    part[sign] ^= 0x80;
                }
            }
        }
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
    /// - A [format error](Error::is_format) if it is not an archive of PyTorch (files before 1.6 are pickles), or contradicts itself.
    /// - [`Unsupported`](ErrorKind::Unsupported) for files of PyTorch before 1.6, and code of TorchScript without tensors.
    pub fn open<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// Opens an archive with options for reading, whose limits also hold for the pickle.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_with<P: AsRef<Path>>(path: P, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::open_in_with(options.open_npz(path)?, options);
        open().map_err(|error: Error| error.at_path(path))
    }

    /// Finds the tensors in an opened archive.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_in(archive: NpzFile) -> Result<Self> {
        Self::open_in_with(archive, &ReadOptions::new())
    }

    /// Finds the tensors in an opened archive, with options for the pickle.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_in_with(archive: NpzFile, options: &ReadOptions) -> Result<Self> {
        let member_indices: HashMap<&str, usize> =
            archive.members().iter().enumerate().map(|(index, member)| (member.file_name(), index)).collect();
        let mut names = archive.members().iter().map(|member| member.file_name());
        let pickle = names.find_map(|name| {
            name.strip_suffix("data.pkl").filter(|folder| {
                folder.is_empty() || folder.ends_with('/') && folder.matches('/').count() == 1
            })
        });
        let Some(folder) = pickle.map(str::to_owned) else {
            let reason = "no member data.pkl: not of torch.save since PyTorch 1.6";
            return Err(Error::new(ErrorKind::Unsupported, format!("unsupported archive: {reason}")));
        };
        let order = match member_indices.get(format!("{folder}byteorder").as_str()) {
            Some(index) if archive.members()[*index].size() == 3 && archive.read_raw(*index)? == b"big" => {
                ByteOrder::Big
            }
            _ => ByteOrder::Little,
        };
        let bytes = archive.read_raw(member_indices[format!("{folder}data.pkl").as_str()])?;
        let pickle = options.unpickle(&bytes)?;
        let mut finder = Finder {
            folder: &folder,
            member_indices: &member_indices,
            archive: &archive,
            order,
            tensors: Vec::new(),
            others: Vec::new(),
            name_budget: bytes.len().saturating_mul(64).saturating_add(1 << 20),
        };
        finder.collect_tensors(pickle.object().as_ref())?;
        let (mut tensors, others) = (finder.tensors, finder.others);
        drop(member_indices);
        let (mut by_name, mut counts) = (HashMap::new(), HashMap::new());
        for (index, tensor) in tensors.iter_mut().enumerate() {
            // Keys may have dots themselves, and some have no text.
            let original = tensor.name.clone();
            while by_name.contains_key(&tensor.name) {
                let count = counts.entry(original.clone()).or_insert(1_usize);
                *count += 1;
                tensor.name = format!("{original}#{count}");
            }
            by_name.insert(tensor.name.clone(), index);
        }
        Ok(Self { archive, tensors, by_name, others })
    }

    /// Returns the tensors, in the order of the pickle.
    pub fn tensors(&self) -> &[TorchTensor] {
        &self.tensors
    }

    /// Returns the names of the tensors of other kinds, such as sparse and quantized ones, and what they are.
    pub fn others(&self) -> &[(String, String)] {
        &self.others
    }

    /// Returns a tensor by its name.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](ErrorKind::NoSuchName) if there is none.
    /// - [`Unsupported`](ErrorKind::Unsupported) if it is of another kind.
    pub fn get(&self, name: &str) -> Result<&TorchTensor> {
        match self.by_name.get(name) {
            Some(index) => Ok(&self.tensors[*index]),
            None => match self.others.iter().find(|(other, _)| other == name) {
                Some((_, what)) => {
                    let error = unsupported(what);
                    Err(error.at_member(name))
                }
                None => Err(Error::no_such_member(name, self.tensors.iter().map(TorchTensor::name))),
            },
        }
    }

    /// Opens a tensor whose elements are contiguous, of which parts can be read.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](ErrorKind::NoSuchName) if there is none of the name.
    /// - [`Unsupported`](ErrorKind::Unsupported) if its elements are not contiguous: [`read`](Self::read) them.
    /// - Those of [`NpzFile::open_elements`].
    pub fn open_tensor(&self, name: &str) -> Result<NpyFile> {
        let tensor = self.get(name)?;
        let Some(order) = tensor.order() else {
            let reason = "a tensor whose elements are not contiguous has no parts: read all of it";
            return Err(unsupported(reason).at_member(name));
        };
        if tensor.pending != Pending::default() {
            let reason =
                "a tensor that is conjugated or negated when it is used has no parts: read all of it";
            return Err(unsupported(reason).at_member(name));
        }
        if tensor.storage_offset == 0 {
            let header = Header::new(tensor.dtype.clone(), order, tensor.shape.as_slice().into())?;
            return Ok(self.archive.open_elements(tensor.member_index, header)?.with_member(name));
        }
        let storage = self.storage(tensor)?;
        let offset = (tensor.storage_offset * tensor.dtype.item_size()) as u64;
        let header = Header::new(tensor.dtype.clone(), order, tensor.shape.as_slice().into())?;
        Ok(ndarray_io::ReadOptions::new().open_elements(Storage(storage), offset, header)?.with_member(name))
    }

    /// Reads a tensor, of any strides, in C order or in Fortran order if it is contiguous only so.
    ///
    /// # Errors
    ///
    /// - [`NoSuchName`](ErrorKind::NoSuchName) if there is none of the name.
    /// - Those of reading the archive.
    pub fn read(&self, name: &str) -> Result<DynArray> {
        let tensor = self.get(name)?;
        let read = || {
            let size = tensor.dtype.item_size();
            let storage = self.storage(tensor)?;
            let (start, count) = (tensor.storage_offset * size, tensor.span() * size);
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(count).map_err(|_| Error::out_of_memory(count as u64))?;
            bytes.resize(count, 0);
            let part = ndarray::SliceInfoElem::Slice {
                start: start as isize,
                end: Some((start + count) as isize),
                step: 1,
            };
            storage.slice_into_bytes::<&[ndarray::SliceInfoElem]>(&[part], &mut bytes, None)?;
            tensor.apply_pending_signs(&mut bytes);
            // The distance along an axis of one element may be any number.
            let stride =
                |(stride, length): (&usize, &usize)| if *length > 1 { (stride * size) as isize } else { 0 };
            let strides: Vec<isize> = tensor.strides.iter().zip(&tensor.shape).map(stride).collect();
            DynView::new(&bytes, 0, tensor.dtype.clone(), tensor.shape.as_slice(), &strides)?.to_array()
        };
        read().map_err(|error: Error| error.at_member(name))
    }

    /// Opens the bytes of a tensor's storage, as far as the tensor needs them.
    fn storage(&self, tensor: &TorchTensor) -> Result<NpyFile> {
        let bytes = (tensor.storage_offset + tensor.span()) * tensor.dtype.item_size();
        let header = Header::new("|u1".parse()?, Order::C, [bytes].into())?;
        let file = self.archive.open_elements(tensor.member_index, header)?;
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
    member_indices: &'a HashMap<&'a str, usize>,
    archive: &'a NpzFile,
    order: ByteOrder,
    tensors: Vec<TorchTensor>,
    others: Vec<(String, String)>,
    /// How many bytes of names may still be made.
    name_budget: usize,
}

/// A step on the way to an object.
#[derive(Clone, Copy)]
enum Key<'a> {
    Number(usize),
    Object(ObjectRef<'a>),
    None,
}

impl Key<'_> {
    /// Returns the length of its text, or more, and of what is between two keys.
    fn len(self) -> usize {
        match self {
            Self::Object(key) => match key.view() {
                View::Str(text) => text.as_str().map_or(24, str::len) + 1,
                _ => 24,
            },
            _ => 24,
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Object(key) => Some(key_text(key)),
            Self::None => None,
        }
    }
}

impl Finder<'_> {
    /// Looks at all containers, each once, in their order, and at all tensors.
    fn collect_tensors<'p>(&mut self, root: ObjectRef<'p>) -> Result<()> {
        let mut seen = HashSet::new();
        // The keys on the way to each object: with the number of the way before it. Names are made of tensors only.
        let mut key_paths: Vec<(usize, Key<'p>)> = Vec::new();
        let mut open = vec![(usize::MAX, root)];
        while let Some((key_path, object)) = open.pop() {
            if let Some(args) = tensor_args(object) {
                // A tensor that is shared has several names.
                let name = self.name(&key_paths, key_path)?;
                match self.tensor(name.clone(), &args) {
                    Ok(tensor) => self.tensors.push(tensor),
                    Err(error) => match error.kind() {
                        ErrorKind::Unsupported => self.others.push((
                            name,
                            shortened(error.message().strip_prefix(UNSUPPORTED).unwrap_or_default()),
                        )),
                        _ => return Err(error.at_member(&name)),
                    },
                }
                continue;
            }
            if object.id().is_some_and(|id| !seen.insert(id)) {
                continue;
            }
            let mut inner = Vec::new();
            let mut add = |key: Key<'p>, object: ObjectRef<'p>| {
                // What has no parts has no tensors.
                if object.id().is_some() {
                    inner.push((key, object));
                }
            };
            match object.view() {
                View::List(items) | View::Tuple(items) => {
                    items.iter().enumerate().for_each(|(at, item)| add(Key::Number(at), item));
                }
                View::Set(items) | View::FrozenSet(items) => {
                    items.iter().enumerate().for_each(|(at, item)| add(Key::Number(at), item));
                }
                View::Dict(pairs) => pairs.iter().for_each(|(key, value)| add(Key::Object(key), value)),
                View::Call(call) => {
                    let of_torch = call.global().filter(|global| global.module().starts_with("torch."));
                    if let Some(function) =
                        of_torch.filter(|function| function.name().starts_with("_rebuild"))
                    {
                        let name = self.name(&key_paths, key_path)?;
                        self.others.push((name, shortened(&format!("a tensor made by {function}"))));
                        continue;
                    }
                    add(Key::None, call.args()); // very many calls may share it
                    call.items().iter().enumerate().for_each(|(at, item)| add(Key::Number(at), item));
                    call.state().into_iter().for_each(|state| add(Key::None, state));
                    call.pairs().iter().for_each(|(key, value)| add(Key::Object(key), value));
                }
                _ => {}
            }
            for (key, object) in inner.into_iter().rev() {
                key_paths.push((key_path, key));
                open.push((key_paths.len() - 1, object));
            }
        }
        Ok(())
    }

    /// Returns the name of what is at the end of a way.
    fn name(&mut self, key_paths: &[(usize, Key<'_>)], mut key_path: usize) -> Result<String> {
        let mut keys = Vec::new();
        while let Some((before, key)) = key_paths.get(key_path) {
            // A long key may be shared by very many levels and tensors.
            self.name_budget = self
                .name_budget
                .checked_sub(key.len())
                .ok_or_else(|| malformed("the names of its tensors are very much longer than the pickle"))?;
            keys.extend(key.text());
            key_path = *before;
        }
        keys.reverse();
        Ok(keys.join("."))
    }

    /// Makes a tensor of its storage, offset, shape and strides, and in the third version its dtype.
    fn tensor(&self, name: String, args: &[ObjectRef<'_>]) -> Result<TorchTensor> {
        let [storage, first, shape, strides, ..] = args else {
            return Err(malformed(format!("a tensor of {} arguments", args.len())));
        };
        let View::Persistent(storage) = storage.view() else {
            return Err(malformed("a tensor without a storage"));
        };
        let parts = storage.items().filter(|items| items.len() == 5);
        let parts: Vec<_> = parts.into_iter().flat_map(|items| items.iter()).collect();
        let [_, class, key, _, count] = parts.as_slice() else {
            return Err(malformed("a storage that is not described by five values"));
        };
        let View::Global(class) = class.view() else { return Err(malformed("a storage without a class")) };
        let key = match key.view() {
            View::Str(text) => text.as_str().map(str::to_owned),
            _ => None,
        };
        let key = key.ok_or_else(|| malformed("a storage whose key is not a text"))?;
        let class_dtype = match class.name() {
            "UntypedStorage" => None,
            name => Some(dtype_of(name.strip_suffix("Storage").unwrap_or(name), self.order)?),
        };
        let (dtype, rest) = match (args.get(6).map(|dtype| dtype.view()), &class_dtype) {
            (Some(View::Global(global)), _) if global.module() == "torch" => {
                (dtype_of(global.name(), self.order)?, args.get(7))
            }
            (_, Some(dtype)) => (dtype.clone(), args.get(6)),
            (_, None) => return Err(malformed("a tensor of an untyped storage without a dtype")),
        };
        let pending = pending(rest)?;
        let has_sign = dtype.as_scalar().is_some_and(|scalar| {
            matches!(scalar.kind(), Kind::Float | Kind::Complex | Kind::Narrow(Narrow::BFloat16))
        });
        if pending != Pending::default() && !has_sign {
            return Err(unsupported(format!("{dtype} that is negated")));
        }
        let member = self.member_indices.get(format!("{}data/{key}", self.folder).as_str());
        let member = *member.ok_or_else(|| malformed(format!("no member for the storage {key:?}")))?;
        let (shape, mut strides) = (numbers(*shape)?, numbers(*strides)?);
        if shape.len() != strides.len() {
            return Err(malformed(format!("{} axes with {} strides", shape.len(), strides.len())));
        }
        let bytes = self.archive.members()[member].size();
        // The number of elements of a storage is in bytes if its class has no dtype.
        let of_count = number(*count)? as u128 * class_dtype.map_or(1, |dtype| dtype.item_size()) as u128;
        if of_count != u128::from(bytes) {
            return Err(malformed(format!("a storage of {of_count} bytes, whose member has {bytes}")));
        }
        let there = bytes / dtype.item_size() as u64;
        let len = Shape::from(shape.as_slice()).len().ok_or_else(|| crate::too_large("the shape"))?;
        let mut first = number(*first)?;
        let mut end = 0;
        if len == 0 {
            // An empty part may begin anywhere.
            first = 0;
            strides.fill(0);
        } else {
            end = first as u128 + 1;
            for (length, stride) in shape.iter().zip(&strides) {
                end = end.saturating_add((*length as u128 - 1).saturating_mul(*stride as u128));
            }
        }
        let fits = end.checked_mul(dtype.item_size() as u128).is_some_and(|end| usize::try_from(end).is_ok());
        if end <= u128::from(there) && !fits {
            return Err(crate::too_large("a storage for this machine"));
        }
        // A tensor of more elements than its storage repeats them: a small file could ask for any amount of memory.
        const MAX_REPEATED_ELEMENTS: u64 = 1 << 20;
        if end > u128::from(there) || len > there.max(MAX_REPEATED_ELEMENTS) {
            let reason = format!("{len} elements up to number {end} of a storage of {there}");
            return Err(malformed(reason));
        }
        Ok(TorchTensor { name, dtype, shape, strides, storage_offset: first, member_index: member, pending })
    }
}

/// Functions that make tensors have fewer arguments.
const MAX_ARGS: usize = 16;

/// Returns what is said of a tensor of another kind, without what a file could make long.
fn shortened(reason: &str) -> String {
    const MAX_CHARS: usize = 100;
    match reason.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// Returns the arguments of the call that makes a plain tensor, that of a parameter, or of a subclass.
fn tensor_args(object: ObjectRef<'_>) -> Option<Vec<ObjectRef<'_>>> {
    let mut object = object;
    for _ in 0..4 {
        let View::Call(call) = object.view() else { return None };
        let function = call.global().filter(|global| global.module().starts_with("torch."))?;
        // Very many calls may share long arguments.
        let mut args = call.args().items().filter(|args| args.len() <= MAX_ARGS)?.iter();
        match function.name() {
            "_rebuild_tensor" | "_rebuild_tensor_v2" | "_rebuild_tensor_v3" => return Some(args.collect()),
            "_rebuild_parameter" | "_rebuild_parameter_with_state" => object = args.next()?,
            // A function, a class, the function's arguments, and a state.
            "_rebuild_from_type" | "_rebuild_from_type_v2" => {
                let View::Global(function) = args.next()?.view() else { return None };
                let (_, inner) = (args.next()?, args.next()?);
                match function.name() {
                    "_rebuild_tensor" | "_rebuild_tensor_v2" | "_rebuild_tensor_v3" => {
                        return Some(inner.items().filter(|args| args.len() <= MAX_ARGS)?.iter().collect());
                    }
                    "_rebuild_parameter" => object = inner.items()?.iter().next()?,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    None
}

/// Returns what PyTorch has noted to do with the elements: a dict with known keys, if there is one.
fn pending(noted: Option<&ObjectRef<'_>>) -> Result<Pending> {
    let mut pending = Pending::default();
    let Some(View::Dict(pairs)) = noted.map(|noted| noted.view()) else { return Ok(pending) };
    for (key, value) in pairs.iter() {
        let is_set = matches!(value.view(), View::Bool(true));
        match key_text(key).as_str() {
            "conj" => pending.conjugate = is_set,
            "neg" => pending.negate = is_set,
            key => {
                let reason = format!("a tensor with the property {key:?}");
                return Err(unsupported(reason));
            }
        }
    }
    Ok(pending)
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
    let order = if order == ByteOrder::Big { "big-endian " } else { "" };
    dtype.ok_or_else(|| unsupported(format!("dtype {order}{name} of PyTorch")))
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

fn malformed(reason: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Malformed, format!("malformed pickle: {reason}"))
}

const UNSUPPORTED: &str = "unsupported encoding: ";

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{UNSUPPORTED}{what}"))
}
