//! Views of bytes as elements, and of fields of records.

use ndarray::{Array2, ArrayView, ArrayView1, ArrayView2, ArrayViewMut, ArrayViewMut1, Ix1, Ix2, s};
use ndarray_io::element::{Bytes, Chars, Datetime64, LongDouble, Timedelta64, Void, units};
use ndarray_io::header::Order;
use ndarray_io::{
    DynArray, ReadNpyExt, ReadableElement, Record, ViewMutNpyExt, ViewNpyExt, WriteNpyExt, WriteOptions,
};
use num_complex::Complex;

use crate::{Aligned, npy, with_byte_order};

#[test]
fn zero_sized_elements_are_viewed() {
    let descr = with_byte_order("[('x', '=f8'), ('nothing', '|V0'), ('none', '|S0')]", true);
    let bytes = npy(&descr, false, "(2, 3)", &[0; 48]);
    let mut array = DynArray::read_npy(&bytes[..]).unwrap();
    for order in [Order::C, Order::Fortran] {
        assert_eq!(array.field_view::<Void<0>, Ix2>("nothing").unwrap().dim(), (2, 3));
        assert_eq!(array.field_view_mut::<Void<0>, Ix2>("nothing").unwrap().iter_mut().count(), 6);
        assert_eq!(array.field_view_mut::<Bytes<0>, Ix2>("none").unwrap().rows().into_iter().count(), 2);
        array = DynArray::from_bytes(array.dtype().clone(), [2, 3], order, array.bytes()).unwrap();
    }
    let mut file = Aligned::new(&npy("'|V0'", false, "(5,)", &[]));
    assert_eq!(ArrayView1::<Void<0>>::view_npy(file.get()).unwrap().len(), 5);
    assert_eq!(ArrayViewMut1::<Void<0>>::view_mut_npy(file.get_mut()).unwrap().iter_mut().count(), 5);
}

/// `into_array` hands over the memory, if it is that of such elements.
#[test]
fn into_array_reuses_memory_of_matching_dtypes() {
    /// Returns whether the memory was handed over.
    fn reuses_memory<A>(descr: &str, item: &[u8], wanted: &A) -> bool
    where
        A: ReadableElement + PartialEq + std::fmt::Debug,
    {
        let mut handed_over = Vec::new();
        for (is_fortran, count) in [(false, 6), (true, 6), (false, 0)] {
            let bytes = npy(descr, is_fortran, &format!("({}, 3)", count / 3), &item.repeat(count));
            let any = DynArray::read_npy(&bytes[..]).unwrap();
            let before = any.bytes().as_ptr();
            let array: Array2<A> = any.into_array().unwrap();
            assert_eq!((array.dim(), array.is_standard_layout()), ((count / 3, 3), !is_fortran));
            assert!(array.iter().all(|item| item == wanted));
            if count > 0 {
                handed_over.push(std::ptr::eq(before, array.as_ptr().cast()));
            }
        }
        assert_eq!(handed_over[0], handed_over[1]);
        handed_over[0]
    }
    let own = |code: &str| with_byte_order(code, true);
    let other = |code: &str| with_byte_order(code, false);
    assert!(reuses_memory(&own("'=f8'"), &1.5f64.to_ne_bytes(), &1.5f64));
    assert!(reuses_memory(&own("'=i2'"), &(-3i16).to_ne_bytes(), &-3i16));
    assert!(reuses_memory("'|u1'", &[7], &7u8));
    assert!(reuses_memory("'|b1'", &[1], &true));
    let complex = [0.5f32.to_ne_bytes(), 2.0f32.to_ne_bytes()].concat();
    assert!(reuses_memory(&own("'=c8'"), &complex, &Complex::new(0.5f32, 2.0)));
    assert!(reuses_memory("'|S3'", b"abc", &Bytes::<3>::new(b"abc").unwrap()));
    let swapped: Vec<u8> = 9u32.to_ne_bytes().into_iter().rev().collect();
    assert!(reuses_memory(&other("'=u4'"), &swapped, &9u32));
    // Other memory: longer texts, another type.
    assert!(!reuses_memory("'|S2'", b"ab", &Bytes::<3>::new(b"ab").unwrap()));
    assert!(!reuses_memory("'|S2'", b"ab", &b"ab".to_vec()));

    // What is invalid stays as it was.
    let bytes = npy("'|b1'", false, "(3,)", &[1, 2, 0]);
    let error = DynArray::read_npy(&bytes[..]).unwrap().into_array::<bool, Ix1>().unwrap_err();
    assert_eq!(error.error().element(), Some(1));
    assert_eq!(error.into_inner().bytes(), [1, 2, 0]);
}

#[test]
fn mutable_views_change_the_underlying_bytes() {
    fn check_change_through_view<A>(descr: &str, item: &[u8], other: A)
    where
        A: ndarray_io::ViewMutElement + Copy + PartialEq + std::fmt::Debug,
    {
        for is_fortran in [false, true] {
            let mut file =
                Aligned::new(&npy(&with_byte_order(descr, true), is_fortran, "(2, 2)", &item.repeat(4)));
            let view = ArrayView2::<A>::view_npy(file.get()).unwrap();
            let first = view[[0, 0]];
            assert!(view.iter().all(|item| *item == first));
            let mut view = ArrayViewMut::<A, Ix2>::view_mut_npy(file.get_mut()).unwrap();
            view[[1, 0]] = other;
            let view = ArrayView::<A, Ix2>::view_npy(file.get()).unwrap();
            assert_eq!((view[[0, 1]], view[[1, 0]]), (first, other));
        }
    }
    check_change_through_view("'|u1'", &[3], 9u8);
    check_change_through_view("'=i2'", &[3, 4], 9i16);
    check_change_through_view("'=u4'", &[3; 4], 9u32);
    check_change_through_view("'=f8'", &1.5f64.to_ne_bytes(), 9f64);
    check_change_through_view("'|b1'", &[1], false);
    check_change_through_view("'=c8'", &[0; 8], Complex::new(1f32, 2.0));
    check_change_through_view("'|S3'", b"abc", Bytes::<3>::new(b"xyz").unwrap());
    check_change_through_view("'=U1'", &u32::from('a').to_ne_bytes(), Chars::<1>::new("b").unwrap());
    check_change_through_view("'|V5'", &[7; 5], Void([1, 2, 3, 4, 5]));
    check_change_through_view("'=f16'", &[1; 16], LongDouble::default());
    check_change_through_view("'=M8[s]'", &[1; 8], Datetime64::<units::Second>::new(7));
    check_change_through_view("'=m8[s]'", &[1; 8], Timedelta64::<units::Second>::new(7));
    // An array as the element has inner axes.
    let mut file = Aligned::new(&npy("'|u1'", false, "(2, 3)", &[1, 2, 3, 4, 5, 6]));
    ArrayViewMut1::<[u8; 3]>::view_mut_npy(file.get_mut()).unwrap()[1][2] = 60;
    assert!(file.get().ends_with(&[4, 5, 60]));
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[repr(C, packed)]
struct Packed {
    flag: bool,
    number: f64,
    pair: [u16; 2],
}

#[test]
fn misaligned_views_are_refused_and_packed_records_are_not() {
    let bytes = npy(&with_byte_order("'=u4'", true), false, "(3,)", &[1; 12]);
    let mut shifted = Aligned::new(&[&[0][..], &bytes].concat());
    let error = ArrayView1::<u32>::view_npy(&shifted.get()[1..]).unwrap_err();
    assert!(error.message().starts_with("misaligned: expected a multiple of"));
    assert!(ArrayViewMut1::<u32>::view_mut_npy(&mut shifted.get_mut()[1..]).is_err());

    let descr = with_byte_order("[('flag', '|b1'), ('number', '=f8'), ('pair', '=u2', (2,))]", true);
    let rows =
        [&[1][..], &1.5f64.to_ne_bytes(), &[1, 0, 2, 0], &[0], &2.5f64.to_ne_bytes(), &[0; 4]].concat();
    let bytes = npy(&descr, false, "(2,)", &rows);
    let mut shifted = Aligned::new(&[&[0][..], &bytes].concat());
    let view = ArrayView1::<Packed>::view_npy(&shifted.get()[1..]).unwrap();
    assert_eq!(({ view[0].number }, { view[1].number }), (1.5, 2.5));
    let mut view = ArrayViewMut1::<Packed>::view_mut_npy(&mut shifted.get_mut()[1..]).unwrap();
    view[1] = Packed { flag: true, number: -1.0, pair: [5, 6] };

    // Fields that are not contiguous: aligned ones are viewed, others copied.
    let mut array = DynArray::read_npy(&bytes[..]).unwrap();
    array.field_view_mut::<bool, Ix1>("flag").unwrap().fill(true);
    assert_eq!(array.field_view::<bool, Ix1>("flag").unwrap(), ndarray::arr1(&[true, true]));
    assert!(array.field_view::<f64, Ix1>("number").is_err());
    let copied = array.field("number").unwrap().into_array::<f64, Ix1>().unwrap();
    assert_eq!(copied, ndarray::arr1(&[1.5, 2.5]));
}

#[test]
fn strided_fields_with_invalid_bytes_are_refused() {
    let descr = "[('flag', '|b1'), ('rest', '|u1')]";
    let mut array = DynArray::read_npy(&npy(descr, true, "(2, 2)", &[1, 9, 0, 9, 3, 9, 1, 9])[..]).unwrap();
    let error = array.field_view::<bool, Ix2>("flag").unwrap_err();
    assert_eq!((error.element(), error.index()), (Some(2), Some(&[0, 1][..]))); // in the order of the file
    assert!(array.field_view_mut::<bool, Ix2>("flag").is_err());
    array.field_view_mut::<u8, Ix2>("rest").unwrap()[[1, 0]] = 4;
    assert_eq!(array.bytes(), [1, 9, 0, 4, 3, 9, 1, 9]);
}

/// Elements are written from where ndarray has them, and from nowhere if there are none.
#[test]
fn reversed_and_empty_views_are_written() {
    let array = ndarray::Array3::from_shape_fn((3, 4, 5), |(i, j, k)| (i * 20 + j * 5 + k) as f64);
    let file = {
        let mut file = Vec::new();
        array.write_npy(&mut file).unwrap();
        file
    };
    let dynamic = DynArray::read_npy(&file[..]).unwrap();
    let parts = [
        s![..;-1, .., ..;2],
        s![..;-1, ..;-2, ..;-1],
        s![..;-1, 2..2, ..;2],
        s![..;-1, ..;-1, 5..],
        s![1..2;-1, 3..4;-1, ..;-3],
        s![3..;-1, ..;-1, ..;-1],
    ];
    for part in parts {
        let view = array.slice(part);
        // NumPy's order of the elements, by ndarray's own iterator.
        let expected: Vec<u8> = view.iter().flat_map(|item| item.to_ne_bytes()).collect();
        let transposed: Vec<u8> = view.t().iter().flat_map(|item| item.to_ne_bytes()).collect();
        let sliced = dynamic.slice(part).unwrap();
        assert_eq!(sliced.shape(), view.shape());
        assert_eq!(sliced.bytes(), expected);
        for (order, bytes) in [(Order::C, &expected), (Order::Fortran, &transposed)] {
            let mut written = Vec::new();
            WriteOptions::new().order(order).write_to(&mut written, &view).unwrap();
            assert_eq!(DynArray::read_npy(&written[..]).unwrap().bytes(), bytes, "{part:?}");
            let options = WriteOptions::new().order(order);
            let mut written = options.writer_of_shape::<f64, _>(Vec::new(), view.raw_dim()).unwrap();
            written.push(&view).unwrap();
            let written = written.finish().unwrap();
            assert_eq!(DynArray::read_npy(&written[..]).unwrap().bytes(), bytes, "{part:?} in rows");
        }
    }
}
