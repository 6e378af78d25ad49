//! The ways to read. Every case runs over each of them; a new one is a line of `ALL` and an arm of `read`.

use std::io::{self, Read, Seek, SeekFrom};

use ndarray::{Array, ArrayD, ArrayView, ArrayViewMut, IxDyn, ShapeBuilder};
use ndarray_io::header::Order;
use ndarray_io::{
    ByteOrder, DynArray, FlatArray, FlatView, NpyReader, ReadNpyExt, ReadOptions, ReadableElement, Result,
    ViewMutElement, ViewMutNpyExt, ViewNpyExt,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Slice,
    OneByte,
    ChunkedReader,
    Interrupted,
    OneThread,
    File,
    FileBorrowed,
    FileAtAnOffset,
    Reader,
    Path,
    View,
    ViewMut,
    #[cfg(feature = "mmap")]
    Map,
    #[cfg(feature = "mmap")]
    MapMut,
    #[cfg(feature = "mmap")]
    MapCow,
    Into,
    IntoFortran,
    IntoStrided,
    IntoFromFile,
    Flat,
    FlatView,
    StreamBlocks,
    StreamChunks,
    StreamElements,
    IntoBytes,
}

pub(crate) const ALL: &[Route] = &[
    Route::Slice,
    Route::OneByte,
    Route::ChunkedReader,
    Route::Interrupted,
    Route::OneThread,
    Route::File,
    Route::FileBorrowed,
    Route::FileAtAnOffset,
    Route::Reader,
    Route::Path,
    Route::View,
    Route::ViewMut,
    #[cfg(feature = "mmap")]
    Route::Map,
    #[cfg(feature = "mmap")]
    Route::MapMut,
    #[cfg(feature = "mmap")]
    Route::MapCow,
    Route::Into,
    Route::IntoFortran,
    Route::IntoStrided,
    Route::IntoFromFile,
    Route::Flat,
    Route::FlatView,
    Route::StreamBlocks,
    Route::StreamChunks,
    Route::StreamElements,
    Route::IntoBytes,
];

impl Route {
    /// Whether the route views the bytes without decoding, which their layout must allow.
    pub(crate) fn is_view(self) -> bool {
        #[cfg(feature = "mmap")]
        if matches!(self, Self::Map | Self::MapMut | Self::MapCow) {
            return true;
        }
        matches!(self, Self::View | Self::ViewMut | Self::FlatView)
    }

    /// Whether the array must be at the end, so that trailing bytes are an error.
    pub(crate) fn refuses_trailing_bytes(self) -> bool {
        matches!(self, Self::Path | Self::View | Self::ViewMut | Self::FlatView)
    }
}

/// Reads a file of one array by a route; returns `None` if the route does not apply.
pub(crate) fn read<A>(route: Route, bytes: &[u8], header: Header<'_>) -> Option<Result<ArrayD<A>>>
where
    A: ViewMutElement + Clone + Default,
{
    if !route.is_view() {
        return read_owned(route, bytes, header);
    }
    let file = || temp_file(bytes, 0);
    header.is_viewable::<A>().then(|| match route {
        Route::View => ArrayView::<A, IxDyn>::view_npy(&Aligned::new(bytes)).map(|view| view.to_owned()),
        Route::ViewMut => {
            ArrayViewMut::<A, IxDyn>::view_mut_npy(&mut Aligned::new(bytes)).map(|view| view.to_owned())
        }
        Route::FlatView => FlatView::<A>::view_npy(&Aligned::new(bytes)).map(|view| {
            let (items, shape) = (view.items().to_vec(), view.shape().to_vec());
            FlatArray::new(items, shape, view.order()).unwrap().into()
        }),
        #[cfg(feature = "mmap")]
        Route::Map => read_map::<A>(file().path()),
        #[cfg(feature = "mmap")]
        Route::MapMut => read_map_mut::<A>(file().path(), true),
        #[cfg(feature = "mmap")]
        Route::MapCow => read_map_mut::<A>(file().path(), false),
        _ => unreachable!("the others do not view: {:?}", file()),
    })
}

/// As `read`, by few routes, for types that differ from one that takes all of them only in a marker or a width.
pub(crate) fn read_in_few_ways<A>(route: Route, bytes: &[u8], header: Header<'_>) -> Option<Result<ArrayD<A>>>
where
    A: ViewMutElement + Clone + Default,
{
    match route {
        Route::Slice => Some(ArrayD::read_npy(bytes)),
        Route::Into => Some(into(bytes, ArrayD::default(header.shape))),
        Route::View if header.is_viewable::<A>() => {
            Some(ArrayView::<A, IxDyn>::view_npy(&Aligned::new(bytes)).map(|view| view.to_owned()))
        }
        _ => None,
    }
}

/// As `read`, for types that cannot be viewed. The shape is needed by the routes that read into an array.
pub(crate) fn read_owned<A>(route: Route, bytes: &[u8], header: Header<'_>) -> Option<Result<ArrayD<A>>>
where
    A: ReadableElement + Clone + Default,
{
    let file = || temp_file(bytes, 0);
    Some(match route {
        Route::Slice => ArrayD::read_npy(bytes),
        Route::OneByte if bytes.len() > 100_000 => return None, // too slow
        Route::OneByte => ArrayD::read_npy(ChunkedReader::new(bytes, |_| 1)),
        Route::ChunkedReader => ArrayD::read_npy(ChunkedReader::new(bytes, |call| 1 + call * 7919 % 50_021)),
        Route::Interrupted => {
            ArrayD::read_npy(ChunkedReader::new(bytes, |call| if call % 3 == 1 { 0 } else { 65_521 }))
        }
        Route::OneThread => ReadOptions::new().threads(1).read_from::<ArrayD<_>>(file().reopen().unwrap()),
        Route::File => ArrayD::read_npy(file().reopen().unwrap()),
        Route::FileBorrowed => read_borrowed_file(bytes),
        Route::FileAtAnOffset => read_file_at_offset(bytes),
        Route::Reader => NpyReader::new(bytes).and_then(|mut reader| reader.read()),
        Route::Path => ndarray_io::read_npy(file().path()),
        Route::Into => into(bytes, ArrayD::default(header.shape)),
        Route::IntoFortran => into(bytes, ArrayD::default(header.shape.f())),
        Route::IntoStrided => read_into_strided(bytes, header.shape),
        Route::IntoFromFile => into(file().reopen().unwrap(), ArrayD::default(header.shape)),
        Route::Flat => FlatArray::<A>::read_npy(bytes).map(ArrayD::from),
        Route::StreamBlocks => stream_blocks(bytes),
        Route::StreamChunks => return stream_chunks(bytes),
        Route::StreamElements => stream_elements(bytes),
        Route::IntoBytes => read_via_bytes(bytes),
        view => {
            assert!(view.is_view());
            return None;
        }
    })
}

/// What a route must know about a file before reading it.
#[derive(Clone, Copy)]
pub(crate) struct Header<'a> {
    pub(crate) shape: &'a [usize],
    pub(crate) byte_order: Option<ByteOrder>,
    pub(crate) data_offset: usize,
}

impl Header<'_> {
    fn is_viewable<A>(&self) -> bool {
        let is_empty = self.shape.contains(&0);
        let is_native = self.byte_order.is_none_or(|order| order == ByteOrder::NATIVE);
        is_native && (is_empty || self.data_offset.is_multiple_of(align_of::<A>()))
    }
}

fn read_borrowed_file<A: ReadableElement>(bytes: &[u8]) -> Result<ArrayD<A>> {
    let mut file = temp_file(bytes, 0).reopen().unwrap();
    let array = ArrayD::read_npy(&file);
    if array.is_ok() {
        let left = bytes.len() as u64 - file.stream_position().unwrap();
        let again = NpyReader::new(bytes).and_then(|mut reader| {
            reader.skip()?;
            Ok(reader.into_inner().len() as u64)
        });
        assert_eq!(left, again.unwrap(), "the file stands right behind the array");
    }
    array
}

fn read_file_at_offset<A: ReadableElement>(bytes: &[u8]) -> Result<ArrayD<A>> {
    let mut file = temp_file(bytes, 13).reopen().unwrap();
    file.seek(SeekFrom::Start(13)).unwrap();
    ArrayD::read_npy(&mut file)
}

#[cfg(feature = "mmap")]
fn read_map<A: ViewMutElement + Clone>(path: &std::path::Path) -> Result<ArrayD<A>> {
    // SAFETY: the file belongs to this test.
    let map = unsafe { ndarray_io::NpyMmap::<A, IxDyn>::open(path)? };
    Ok(map.view().to_owned())
}

#[cfg(feature = "mmap")]
fn read_map_mut<A: ViewMutElement + Clone>(path: &std::path::Path, shared: bool) -> Result<ArrayD<A>> {
    // SAFETY: the file belongs to this test.
    let open = || unsafe { ndarray_io::NpyMmapMut::<A, IxDyn>::open(path) };
    // SAFETY: as above.
    let cow = || unsafe { ndarray_io::ReadOptions::new().map_cow::<A, IxDyn>(path) };
    let mut map = if shared { open()? } else { cow()? };
    Ok(map.view_mut().to_owned())
}

/// Reads block by block, each as soon as it has come.
fn stream_blocks<A: ReadableElement + Clone + Default>(bytes: &[u8]) -> Result<ArrayD<A>> {
    let mut reader = NpyReader::new(ChunkedReader::new(bytes, |call| 1 + call * 7919 % 211))?;
    let shape = outer_shape::<A>(reader.shape());
    let mut whole = match reader.order() {
        Order::C => ArrayD::<A>::default(shape),
        Order::Fortran => ArrayD::default(shape.f()),
    };
    for block in reader.blocks::<ArrayD<A>>()?.bytes(100) {
        let block = block?;
        whole.slice_mut(&block.slice()[..]).assign(block.array());
    }
    assert!(reader.read_bytes().unwrap_err().is_usage());
    Ok(whole)
}

/// Reads element by element.
fn stream_elements<A: ReadableElement>(bytes: &[u8]) -> Result<ArrayD<A>> {
    let mut reader = NpyReader::new(ChunkedReader::new(bytes, |call| 1 + call * 7919 % 211))?;
    let (shape, order) = (outer_shape::<A>(reader.shape()), reader.order());
    let items = reader.elements()?.collect::<Result<Vec<A>>>()?;
    Ok(FlatArray::new(items, shape, order)?.into())
}

/// Reads two indices of the slowest axis at a time.
fn stream_chunks<A: ReadableElement + Clone + Default>(bytes: &[u8]) -> Option<Result<ArrayD<A>>> {
    let read = |reader: &mut NpyReader<_>, axis| {
        let pieces = reader.chunks::<A, IxDyn>(axis, 2)?.collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = pieces.iter().map(|piece| piece.view()).collect();
        Ok(ndarray::concatenate(ndarray::Axis(axis), &views).unwrap())
    };
    match NpyReader::new(ChunkedReader::new(bytes, |call| 1 + call * 7919 % 50_021)) {
        Err(error) => Some(Err(error)),
        Ok(mut reader) => {
            let shape = outer_shape::<A>(reader.shape());
            let axis = if reader.order() == Order::C { 0 } else { shape.len().checked_sub(1)? };
            // As many chunks without bytes as a file may declare are refused.
            let is_endless = shape.contains(&0) && *shape.get(axis)? > 1 << 20;
            (*shape.get(axis)? > 0 && !is_endless).then(|| read(&mut reader, axis))
        }
    }
}

/// Returns the axes of the array that are not those of its elements.
fn outer_shape<A: ReadableElement>(shape: &[usize]) -> Vec<usize> {
    let inner = <ArrayD<A> as ndarray_io::ReadArray>::inner_ndim();
    shape[..shape.len().saturating_sub(inner)].to_vec()
}

/// Reads the bytes into memory, and makes an array of them.
fn read_via_bytes<A: ReadableElement>(bytes: &[u8]) -> Result<ArrayD<A>> {
    let mut reader = NpyReader::new(bytes)?;
    let (shape, order) = (reader.shape().to_vec(), reader.order());
    let have = bytes.len() as u64 - reader.data_offset();
    let len = reader.payload_len().filter(|len| *len <= have); // no more memory than there are bytes
    let mut memory = vec![0; len.unwrap_or_default() as usize];
    let dtype = reader.dtype().with_byte_order(ByteOrder::Big);
    if len.is_none() {
        return reader.read();
    }
    reader.read_into_bytes(&mut memory, Some(ByteOrder::Big))?;
    Ok(DynArray::from_bytes(dtype, shape, order, &memory)?.into_array()?)
}

fn into<A: ReadableElement>(reader: impl Read, mut array: ArrayD<A>) -> Result<ArrayD<A>> {
    ReadOptions::new().read_into(reader, &mut array)?;
    Ok(array)
}

/// Reads into every second element along each axis, in reverse order.
fn read_into_strided<A: ReadableElement + Clone + Default>(
    bytes: &[u8],
    shape: &[usize],
) -> Result<ArrayD<A>> {
    let wide: Vec<usize> =
        shape.iter().map(|length| if shape.len() > 8 { *length } else { 2 * length }).collect();
    let mut array = Array::<A, IxDyn>::default(wide);
    let mut view = array.view_mut();
    for axis in 0..view.ndim() {
        let step = if shape.len() > 8 { -1 } else { -2 };
        view.slice_axis_inplace(ndarray::Axis(axis), ndarray::Slice::new(0, None, step));
    }
    ReadOptions::new().read_into(bytes, &mut view)?;
    Ok(view.to_owned())
}

/// Returns a file with `before` other bytes before the content.
pub(crate) fn temp_file(bytes: &[u8], before: usize) -> tempfile::NamedTempFile {
    use io::Write;
    let mut file = crate::support::temp::file().unwrap();
    file.write_all(&vec![b'#'; before]).unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// A reader that returns `size(call)` bytes at each call; 0 is an interruption. It is one type for all
/// callers: with a closure's own type, the compiler would instantiate the library for each of them.
pub(crate) struct ChunkedReader<'a> {
    bytes: &'a [u8],
    size: fn(usize) -> usize,
    calls: usize,
}

impl<'a> ChunkedReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], size: fn(usize) -> usize) -> Self {
        Self { bytes, size, calls: 0 }
    }
}

impl Read for ChunkedReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        match (self.size)(self.calls) {
            0 => Err(io::ErrorKind::Interrupted.into()),
            most => {
                let length = most.min(into.len());
                self.bytes.read(&mut into[..length])
            }
        }
    }
}

/// Bytes at an address that is a multiple of 16, as in a map.
pub(crate) struct Aligned {
    words: Vec<u128>,
    byte_len: usize,
}

impl Aligned {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut aligned = Self { words: vec![0; bytes.len().div_ceil(16)], byte_len: bytes.len() };
        aligned.copy_from_slice(bytes);
        aligned
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.byte_len]
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.byte_len]
    }
}
