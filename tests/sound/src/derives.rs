//! Derives in programs that redirect what the generated code refers to, and types with odd properties.

use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::{Array1, ArrayView1, ArrayViewMut1, arr1};
use ndarray_io::{Casting, Element, ReadNpyExt, ReadOptions, Record, ViewMutNpyExt, ViewNpyExt, WriteNpyExt};

use crate::{Aligned, npy, with_byte_order};

/// The library, with other macros and functions in the places where generated code could look for them.
#[allow(unused_imports, unused_macros, dead_code, clippy::extra_unused_type_parameters)]
mod own {
    pub(crate) use ndarray_io::*;

    pub(crate) mod __private {
        pub(crate) use ndarray_io::__private::*;

        pub(crate) mod core {
            pub(crate) use core::*;

            macro_rules! always {
                ($($any:tt)*) => {
                    true
                };
            }
            macro_rules! nothing {
                ($($any:tt)*) => {};
            }
            pub(crate) use {always as matches, nothing as assert};

            pub(crate) mod mem {
                pub(crate) use core::mem::*;

                macro_rules! start {
                    ($($any:tt)*) => {
                        0
                    };
                }
                pub(crate) use start as offset_of;
            }
        }

        pub(crate) const fn fills<T>(_: &[usize]) -> bool {
            true
        }
    }
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[element(crate = own)]
#[repr(u8)]
enum Tissue {
    Air = 1,
    Bone = 7,
}

#[test]
fn invalid_variants_are_refused_with_redirected_matches() {
    for number in [0, 2, 8, 255] {
        let mut file = Aligned::new(&npy("'|u1'", false, "(3,)", &[1, 7, number]));
        let read = Array1::<Tissue>::read_npy(file.get()).unwrap_err();
        assert!(
            read.message().starts_with("expected a variant of enum")
                && read.message().ends_with(&format!("found {number}"))
        );
        assert_eq!(read.element(), Some(2));
        assert!(ArrayView1::<Tissue>::view_npy(file.get()).is_err());
        assert!(ArrayViewMut1::<Tissue>::view_mut_npy(file.get_mut()).is_err());
    }
    let file = Aligned::new(&npy("'|u1'", false, "(3,)", &[1, 7, 1]));
    assert_eq!(
        Array1::<Tissue>::read_npy(file.get()).unwrap(),
        arr1(&[Tissue::Air, Tissue::Bone, Tissue::Air])
    );
    // Numbers of another type are converted, then checked.
    let file = npy(
        &with_byte_order("'=i2'", true),
        false,
        "(2,)",
        &[7i16.to_ne_bytes(), 1i16.to_ne_bytes()].concat(),
    );
    let options = ReadOptions::new().casting(Casting::Unsafe);
    let read = options.read_from::<Array1<Tissue>>(&file[..]).unwrap();
    assert_eq!(read, arr1(&[Tissue::Bone, Tissue::Air]));
    let file = npy(
        &with_byte_order("'=i2'", true),
        false,
        "(2,)",
        &[7i16.to_ne_bytes(), 3i16.to_ne_bytes()].concat(),
    );
    assert_eq!(options.read_from::<Array1<Tissue>>(&file[..]).unwrap_err().element(), Some(1));
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(crate = own)]
#[repr(C)]
struct Row {
    number: u64,
    flag: bool,
    rest: u32,
}

/// The layout of `Row` in a file, with these bytes for the flags of two rows.
fn file_of_rows(flags: [u8; 2]) -> Aligned {
    let mut payload = Vec::new();
    for (number, flag) in (5u64..).zip(flags) {
        payload.extend(number.to_ne_bytes());
        payload.extend([flag, 0xEE, 0xEE, 0xEE]);
        payload.extend((number as u32 + 100).to_ne_bytes());
    }
    let descr = with_byte_order("[('number', '=u8'), ('flag', '|b1'), ('', '|V3'), ('rest', '=u4')]", true);
    Aligned::new(&npy(&descr, false, "(2,)", &payload))
}

#[test]
fn field_offsets_are_right_with_redirected_offset_of() {
    let file = file_of_rows([1, 0]);
    let wanted = arr1(&[Row { number: 5, flag: true, rest: 105 }, Row { number: 6, flag: false, rest: 106 }]);
    assert_eq!(Array1::<Row>::read_npy(file.get()).unwrap(), wanted);
    assert_eq!(ArrayView1::<Row>::view_npy(file.get()).unwrap(), wanted);
    let mut written = Vec::new();
    wanted.write_npy(&mut written).unwrap();
    assert_eq!(Array1::<Row>::read_npy(&written[..]).unwrap(), wanted);
    for flags in [[2, 0], [0, 255]] {
        let file = file_of_rows(flags);
        assert!(Array1::<Row>::read_npy(file.get()).is_err());
        assert!(ArrayView1::<Row>::view_npy(file.get()).is_err());
    }
}

#[test]
fn padding_is_detected_with_redirected_fills() {
    let error = ArrayViewMut1::<Row>::view_mut_npy(file_of_rows([1, 0]).get_mut()).unwrap_err();
    assert!(error.message().contains("does not have the memory layout"), "{error}");
}

/// The derive of a padded record, without its own implementation of `ViewMutElement`.
#[allow(dead_code)]
mod no_views {
    pub(crate) use ndarray_io::*;

    pub(crate) trait ViewElement {}
    pub(crate) trait ViewMutElement {
        const IS_FULL: ();
    }
}

#[derive(Record, Clone, Copy, Debug)]
#[record(crate = no_views)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

impl ndarray_io::ViewElement for Padded {}
impl ndarray_io::ViewMutElement for Padded {}

#[test]
fn padding_is_detected_with_handwritten_view_traits() {
    let file = npy(
        &with_byte_order("[('small', '|u1'), ('', '|V3'), ('large', '=u4')]", true),
        false,
        "(1,)",
        &[0; 8],
    );
    let mut file = Aligned::new(&file);
    assert_eq!(ArrayView1::<Padded>::view_npy(file.get()).unwrap()[0].large, 0);
    let error = ArrayViewMut1::<Padded>::view_mut_npy(file.get_mut()).unwrap_err();
    assert!(error.message().contains("does not have the memory layout"), "{error}");
    let mut dynamic = ndarray_io::DynArray::read_npy(file.get()).unwrap();
    assert!(dynamic.view_mut::<Padded, ndarray::Ix1>().is_err());
}

static DROP_COUNT: AtomicUsize = AtomicUsize::new(0);

#[derive(Element)]
#[repr(transparent)]
struct DropCounted(String);

impl Drop for DropCounted {
    fn drop(&mut self) {
        DROP_COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn newtypes_with_destructors_are_dropped_once() {
    let names = Array1::from_iter((0..50).map(|number| DropCounted(format!("name {number}"))));
    let mut file = Vec::new();
    names.write_npy(&mut file).unwrap();
    assert_eq!(DROP_COUNT.load(Ordering::Relaxed), 0);
    let read = Array1::<DropCounted>::read_npy(&file[..]).unwrap();
    assert!(read.iter().zip(&names).all(|(one, other)| one.0 == other.0));
    assert_eq!(DROP_COUNT.load(Ordering::Relaxed), 0);
    drop((names, read));
    assert_eq!(DROP_COUNT.load(Ordering::Relaxed), 100);
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(i64)]
enum Sign {
    Minus = i64::MIN,
    Nothing = 0,
    Plus = i64::MAX,
}

#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Signs<U: Send + Sync + 'static> {
    before: std::marker::PhantomData<fn(U)>,
    signs: [Sign; 2],
    after: std::marker::PhantomData<U>,
}

#[test]
fn newtypes_of_arrays_of_enums_are_viewed_in_place() {
    let numbers = [i64::MIN, 0, i64::MAX, 0].map(i64::to_ne_bytes).concat();
    let mut file = Aligned::new(&npy(&with_byte_order("'=i8'", true), false, "(2, 2)", &numbers));
    let read = Array1::<Signs<u8>>::read_npy(file.get()).unwrap();
    assert_eq!((read[0].signs, read[1].signs), ([Sign::Minus, Sign::Nothing], [Sign::Plus, Sign::Nothing]));
    let mut view = ArrayViewMut1::<Signs<String>>::view_mut_npy(file.get_mut()).unwrap();
    view[1].signs[1] = Sign::Plus;
    let numbers = ndarray::Array2::<i64>::read_npy(file.get()).unwrap();
    assert_eq!(numbers, ndarray::arr2(&[[i64::MIN, 0], [i64::MAX, i64::MAX]]));
}

/// Larger than the stack of a test's thread.
#[derive(Record)]
struct Large {
    small: u8,
    many: [f64; 300_000],
}

#[test]
#[cfg(not(miri))] // for which this is much
fn records_larger_than_the_stack_are_read() {
    for is_native in [true, false] {
        let one = if is_native {
            1f64.to_ne_bytes()
        } else {
            f64::from_bits(1f64.to_bits().swap_bytes()).to_ne_bytes()
        };
        let record: Vec<u8> = one.repeat(300_000).into_iter().chain([7]).collect();
        let descr = with_byte_order("[('many', '=f8', (300000,)), ('small', '|u1')]", is_native);
        let file = npy(&descr, false, "(2,)", &record.repeat(2));
        let read = Array1::<Large>::read_npy(&file[..]).unwrap();
        assert_eq!((read.len(), read[1].small, read[1].many[299_999]), (2, 7, 1.0));
    }
}
