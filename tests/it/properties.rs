//! Properties over shapes, strides, orders and dtypes. Files are compared with a payload that is assembled
//! here, element by element, and not only with what the library reads.

use ndarray::{Array, ArrayD, Axis, IxDyn, ShapeBuilder, Slice};
use ndarray_io::header::Order;
use ndarray_io::{ByteOrder, NpyReader, ViewMutElement, WritableElement, WriteOptions};
use num_complex::Complex;
use proptest::prelude::*;

use crate::support::manifest::TestElement;
use crate::support::routes;

/// How an array is laid out: its shape, the permutation of its axes, and the step along each.
#[derive(Clone, Debug)]
struct Layout {
    dims: Vec<usize>,
    axis_order: Vec<usize>,
    steps: Vec<isize>,
    fortran: bool,
}

fn layouts() -> impl Strategy<Value = Layout> {
    (0usize..5).prop_flat_map(|axes| {
        let dims = proptest::collection::vec(0usize..7, axes);
        let order = Just((0..axes).collect::<Vec<_>>()).prop_shuffle();
        let step = prop_oneof![3 => Just(1isize), 1 => Just(-1), 1 => Just(2), 1 => Just(-3)];
        (dims, order, proptest::collection::vec(step, axes), any::<bool>())
            .prop_map(|(dims, axes, steps, fortran)| Layout { dims, axis_order: axes, steps, fortran })
    })
}

/// Creates an array with this layout and numbered elements, and passes its view to `use_it`.
fn with_view<A: Copy>(
    layout: &Layout,
    make: impl Fn(u64) -> A,
    use_it: impl FnOnce(ndarray::ArrayViewD<'_, A>),
) {
    let wide: Vec<usize> =
        layout.dims.iter().zip(&layout.steps).map(|(length, step)| length * step.unsigned_abs()).collect();
    let mut number = 0;
    let array = Array::<A, IxDyn>::from_shape_simple_fn(wide.set_f(layout.fortran), || {
        number += 1;
        make(u64::wrapping_mul(number, 0x9E37_79B9_7F4A_7C15))
    });
    let mut view = array.view();
    for (axis, &step) in layout.steps.iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
    }
    use_it(view.permuted_axes(layout.axis_order.clone()));
}

fn check_round_trip<A>(layout: &Layout, order: Option<Order>, byte_order: ByteOrder, make: impl Fn(u64) -> A)
where
    A: ViewMutElement + WritableElement + TestElement + Default + Copy,
{
    with_view(layout, make, |view| {
        let mut options = WriteOptions::new().byte_order(byte_order);
        if let Some(order) = order {
            options = options.order(order);
        }
        let mut file = Vec::new();
        options.write_to(&mut file, &view).unwrap();
        let reader = NpyReader::new(&file[..]).unwrap();
        assert_eq!(reader.shape(), view.shape());

        // NumPy's rule for the order: Fortran order if the array is contiguous in that order only.
        let is_contiguous = |shape: &[usize], strides: &[isize]| {
            let mut expected = 1;
            let axes = shape.iter().zip(strides).rev();
            shape.contains(&0)
                || axes.filter(|(length, _)| **length > 1).all(|(length, stride)| {
                    let fits = *stride == expected;
                    expected *= *length as isize;
                    fits
                })
        };
        let reversed = view.view().reversed_axes();
        let is_fortran = !is_contiguous(view.shape(), view.strides())
            && is_contiguous(reversed.shape(), reversed.strides());
        let expected = order.unwrap_or(if is_fortran { Order::Fortran } else { Order::C });
        assert_eq!(reader.order(), expected);

        let logical = if expected == Order::Fortran { reversed } else { view.view() };
        let payload: Vec<u8> = logical.iter().flat_map(|item| item.bytes(byte_order)).collect();
        assert_eq!(file[reader.data_offset() as usize..], payload);

        let in_file = reader.dtype().as_scalar().unwrap().byte_order();
        let header = routes::Header {
            shape: view.shape(),
            byte_order: in_file,
            data_offset: reader.data_offset() as usize,
        };
        let bits = |array: &ArrayD<A>| -> Vec<u8> {
            array.iter().flat_map(|item| item.bytes(ByteOrder::Big)).collect()
        };
        for &route in routes::ALL {
            if let Some(read) = routes::read::<A>(route, &file, header) {
                assert_eq!(bits(&read.unwrap()), bits(&view.to_owned()), "{route:?}");
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn arrays_of_random_layout_round_trip(
        layout in layouts(),
        order in prop_oneof![Just(None), Just(Some(Order::C)), Just(Some(Order::Fortran))],
        big: bool,
        kind in 0..7,
    ) {
        let byte_order = if big { ByteOrder::Big } else { ByteOrder::Little };
        match kind {
            0 => check_round_trip(&layout, order, byte_order, |number| number % 2 == 0),
            1 => check_round_trip(&layout, order, byte_order, |number| number as i8),
            2 => check_round_trip(&layout, order, byte_order, |number| number as u16),
            3 => check_round_trip(&layout, order, byte_order, |number| f32::from_bits(number as u32)),
            4 => check_round_trip(&layout, order, byte_order, |number| number as i64),
            5 => check_round_trip(&layout, order, byte_order, f64::from_bits),
            _ => check_round_trip(&layout, order, byte_order, |number| {
                Complex::new(f64::from_bits(number), f64::from_bits(number.rotate_left(17)))
            }),
        }
    }
}
