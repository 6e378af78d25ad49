//! Arrays without `ndarray`: a shape, an order and the elements in a vector or slice.

use ndarray::{ArrayD, ArrayView, ArrayViewD, Dimension, IxDyn, ShapeBuilder};

use super::private::Sealed;
use super::read::read_items;
use super::view::view;
use super::write::{SinkRef, WriteArray};
use super::{ReadNpyExt, ReadRaExt, ViewNpyExt, ViewRaExt, WriteNpyExt, WriteRaExt};
use crate::elements::{ReadableElement, ViewElement, WritableElement, inner_axes_of};
use crate::error::{Error, Fault, Result, WantedShape};
use crate::header::Header;
use crate::io::{Expected, Payload, ReadArray};
use crate::options::{ReadOptions, WriteOptions};
use crate::shape::{Order, Shape};

/// An array of any number of axes as a flat vector: the elements in the order of the file, and the shape.
///
/// It takes the place of an `ndarray` array in the functions that read or write an entire one (of readers, files, archives, stacks and
/// other sources), for programs that use another version of `ndarray`, another matrix library, or plain vectors. Nothing is copied
/// or transposed: an array in Fortran order has its elements in that order. (Elements `[T; N]` are the exception: their parts are
/// contiguous in C order only.)
///
/// Two arrays are equal if their shapes, their orders and their elements are.
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::{FlatArray, read_npy, write_npy};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// write_npy(&path, &FlatArray::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![2, 3], Order::C)?)?;
/// let array: FlatArray<f64> = read_npy(&path)?;
/// assert_eq!((array.shape(), array.order()), (&[2, 3][..], Order::C));
/// let (items, shape, order) = array.into_parts();
/// assert_eq!(items[4], 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatArray<T> {
    items: Vec<T>,
    shape: Vec<usize>,
    order: Order,
}

/// A view of an array of any number of axes as a flat slice: the elements in the order of the file, and the shape.
///
/// It is what [`FlatArray`] is, without owning the elements: for writing a slice, and for viewing the bytes of a file.
///
/// ```
/// use ndarray_io::header::Order;
/// use ndarray_io::{FlatView, ViewNpyExt, WriteNpyExt};
///
/// let mut file = Vec::new();
/// FlatView::new(&[1u8, 2, 3, 4, 5, 6], &[2, 3], Order::Fortran)?.write_npy(&mut file)?;
/// let view = FlatView::<u8>::view_npy(&file)?;
/// assert_eq!((view.items(), view.order()), (&[1, 2, 3, 4, 5, 6][..], Order::Fortran));
/// # Ok::<(), ndarray_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlatView<'a, T> {
    items: &'a [T],
    shape: Vec<usize>,
    order: Order,
}

/// Fails unless the shape has this number of elements.
fn check_element_count(count: usize, shape: &[usize]) -> Result<()> {
    let shape = Shape::from(shape);
    match shape.len() {
        Some(len) if len != count as u64 => Err(Fault::ShapeMismatch {
            found: [count].as_slice().into(),
            wanted: WantedShape::Exactly(shape),
        }
        .into()),
        Some(_) if shape.fits_memory(1) => Ok(()),
        _ => Err(Fault::Overflow { what: format!("an array of shape {shape}") }.into()),
    }
}

impl<T> FlatArray<T> {
    /// Creates an array from its elements, in this order.
    ///
    /// # Errors
    ///
    /// [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the shape has another number of elements.
    pub fn new(items: Vec<T>, shape: Vec<usize>, order: Order) -> Result<Self> {
        check_element_count(items.len(), &shape)?;
        Ok(Self { items, shape, order })
    }

    /// Returns the elements, in the order of [`order`](Self::order).
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns which axis varies fastest: the last one in C order, the first one in Fortran order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the elements, the lengths of the axes, and the order.
    pub fn into_parts(self) -> (Vec<T>, Vec<usize>, Order) {
        (self.items, self.shape, self.order)
    }

    /// Returns a view of the array.
    pub fn view(&self) -> FlatView<'_, T> {
        FlatView { items: &self.items, shape: self.shape.clone(), order: self.order }
    }
}

impl<'a, T> FlatView<'a, T> {
    /// Creates a view of elements, in this order.
    ///
    /// # Errors
    ///
    /// [`ShapeMismatch`](crate::error::ErrorKind::ShapeMismatch) if the shape has another number of elements.
    pub fn new(items: &'a [T], shape: &[usize], order: Order) -> Result<Self> {
        check_element_count(items.len(), shape)?;
        Ok(Self { items, shape: shape.to_vec(), order })
    }

    /// Returns the elements, in the order of [`order`](Self::order).
    pub fn items(&self) -> &'a [T] {
        self.items
    }

    /// Returns the lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns which axis varies fastest: the last one in C order, the first one in Fortran order.
    pub fn order(&self) -> Order {
        self.order
    }

    pub(super) fn array(&self) -> ArrayViewD<'a, T> {
        let shape = IxDyn(&self.shape).set_f(self.order == Order::Fortran);
        ArrayViewD::from_shape(shape, self.items).expect("the number of elements has been checked") // by `check_element_count`
    }
}

/// The elements of an `ndarray` view, which must be contiguous, as those of every file are.
///
/// This is how a memory map is a slice:
///
/// ```
/// # #[cfg(feature = "mmap")] {
/// use ndarray::IxDyn;
/// use ndarray_io::{FlatView, NpyMmap, write_npy};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// write_npy(&path, &[1.0, 2.0, 3.0])?;
/// // SAFETY: no other program changes the file.
/// let map = unsafe { NpyMmap::<f64, IxDyn>::open(&path)? };
/// let view = FlatView::try_from(map.view())?;
/// assert_eq!(view.items(), [1.0, 2.0, 3.0]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'a, T, D: Dimension> TryFrom<ArrayView<'a, T, D>> for FlatView<'a, T> {
    type Error = Error;

    fn try_from(array: ArrayView<'a, T, D>) -> Result<Self> {
        let is_c = array.is_standard_layout();
        let shape = array.shape().to_vec();
        let contiguous = if is_c { array } else { array.reversed_axes() };
        let order = if is_c { Order::C } else { Order::Fortran };
        match contiguous.to_slice() {
            Some(items) => Ok(Self { items, shape, order }),
            None => {
                let reason = "the elements of the view are not contiguous".into();
                Err(Fault::BadOption { reason }.into())
            }
        }
    }
}

impl<T> From<FlatArray<T>> for ArrayD<T> {
    fn from(flat: FlatArray<T>) -> Self {
        let shape = IxDyn(&flat.shape).set_f(flat.order == Order::Fortran);
        Self::from_shape_vec(shape, flat.items).expect("the number of elements has been checked") // by `check_element_count`
    }
}

impl<T> Sealed for FlatArray<T> {}
impl<T> Sealed for FlatView<'_, T> {}
impl<T> ReadNpyExt for FlatArray<T> where Self: ReadArray {}
impl<T> ReadRaExt for FlatArray<T> where Self: ReadArray {}

impl<T: ReadableElement> ReadArray for FlatArray<T> {
    fn inner_ndim() -> usize {
        inner_axes_of::<T>().len()
    }

    fn from_payload(payload: Payload<'_, '_>) -> Result<Self> {
        let (dim, order, items) = read_items::<T, IxDyn>(payload)?;
        Ok(Self { items, shape: dim.slice().to_vec(), order })
    }
}

impl<'a, T: ViewElement> ViewNpyExt<'a> for FlatView<'a, T> {
    fn view_file(bytes: &'a [u8], expected: Expected, options: &ReadOptions) -> Result<Self> {
        view::<T, IxDyn>(bytes, expected, options)?.try_into()
    }
}

impl<'a, T: ViewElement> ViewRaExt<'a> for FlatView<'a, T> {}

/// Implements writing for types that are an `ndarray` view in another form.
macro_rules! written {
    ($([$($generics:tt)*] $type:ty: |$self:ident| $array:expr;)*) => {$(
        impl<T: WritableElement, $($generics)*> WriteArray for $type {
            fn byte_len(&self) -> usize {
                let $self = self;
                $array.map_or(0, |array| WriteArray::byte_len(&array))
            }

            fn header(&self, options: &WriteOptions) -> Result<Header> {
                let $self = self;
                WriteArray::header(&$array?, options)
            }

            fn store(&self, sink: SinkRef<'_>, head: Vec<u8>, header: &Header, options: &WriteOptions) -> Result<()> {
                let $self = self;
                WriteArray::store(&$array?, sink, head, header, options)
            }
        }

        impl<T, $($generics)*> WriteNpyExt for $type where Self: WriteArray {}
        impl<T, $($generics)*> WriteRaExt for $type where Self: WriteArray {}
    )*};
}

/// Returns a view with one axis; an error for items without size that are more than an array can have.
pub(super) fn one_axis_view<T>(items: &[T]) -> Result<ArrayViewD<'_, T>> {
    FlatView::new(items, &[items.len()], Order::C).map(|view| view.array())
}

written! {
    [] FlatArray<T>: |flat| Ok::<_, Error>(flat.view().array());
    [] FlatView<'_, T>: |flat| Ok::<_, Error>(flat.array());
    [] [T]: |items| one_axis_view(items);
    [] Vec<T>: |items| one_axis_view(items);
    [const N: usize] [T; N]: |items| one_axis_view(items);
}

impl<T> Sealed for [T] {}
impl<T> Sealed for Vec<T> {}
impl<T, const N: usize> Sealed for [T; N] {}
