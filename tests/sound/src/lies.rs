//! Readers, writers and elements of others that do not keep the contracts of their traits.

use std::fmt::Debug;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayD, ArrayView1, arr1, s};
use ndarray_io::bytes::{InMemory, ReadAt};
use ndarray_io::{
    Casting, DType, DynArray, Element, NpyFile, NpyReader, NpzReader, ReadNpyExt, ReadOptions, Record,
    Result, ViewNpyExt, WriteNpyExt, WriteOptions,
};

use crate::{Aligned, npy, with_byte_order};

/// What a reader does after its first bytes.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// More bytes than the buffer has room for.
    ClaimsTooMany,
    /// As many as the buffer has, without writing them.
    WritesNothing,
    Panic,
    Fail,
    Interrupted,
}

struct LyingReader<'a> {
    bytes: &'a [u8],
    position: usize,
    honest_len: usize,
    lie: Lie,
    interruptions: usize,
}

impl Read for LyingReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.honest_len {
            self.position += into.len();
            return match self.lie {
                Lie::ClaimsTooMany => Ok(into.len() + 1),
                Lie::WritesNothing => Ok(into.len()),
                Lie::Panic => panic!("as a reader may"),
                Lie::Fail => Err(io::ErrorKind::PermissionDenied.into()),
                Lie::Interrupted if self.interruptions < 3 => {
                    self.interruptions += 1;
                    Err(io::ErrorKind::Interrupted.into())
                }
                Lie::Interrupted => Ok(0),
            };
        }
        let count = into.len().min(self.honest_len - self.position);
        into[..count].copy_from_slice(&self.bytes[self.position..][..count]);
        self.position += count;
        Ok(count)
    }
}

impl Seek for LyingReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = match to {
            SeekFrom::Start(at) => at as usize,
            SeekFrom::End(by) => self.bytes.len().saturating_add_signed(by as isize),
            SeekFrom::Current(by) => self.position.saturating_add_signed(by as isize),
        };
        // Where it is, is a lie as well.
        Ok(self.position as u64 + u64::from(matches!(self.lie, Lie::ClaimsTooMany)))
    }
}

/// Runs `work`, which may fail or panic.
fn ignore_failure<T: Debug>(work: impl FnOnce() -> Result<T>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(work())));
}

#[test]
fn lying_readers_give_no_uninitialized_memory() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut numbers = Vec::new();
    Array1::from_iter(0..500u32).write_npy(&mut numbers).unwrap();
    let mut texts = Vec::new();
    arr1(&["a".to_owned(), "bc".to_owned()]).write_npy(&mut texts).unwrap();
    let mut archive = io::Cursor::new(Vec::new());
    // Miri takes minutes to compress and decompress.
    let mut writer = match cfg!(miri) {
        true => ndarray_io::NpzWriter::new(&mut archive),
        false => ndarray_io::NpzWriter::new_compressed(&mut archive),
    };
    writer.add("numbers", &Array1::from_iter(0..500u32)).unwrap();
    writer.finish().unwrap();
    let archive = archive.into_inner();
    for lie in [Lie::ClaimsTooMany, Lie::WritesNothing, Lie::Panic, Lie::Fail, Lie::Interrupted] {
        for bytes in [&numbers, &texts] {
            let places = [129, bytes.len() - 1, 0, 5, 10, 127, 128, bytes.len()];
            for honest_len in places.into_iter().take(if cfg!(miri) { 1 } else { 8 }) {
                let liar = || LyingReader {
                    bytes,
                    position: 0,
                    honest_len: honest_len.min(bytes.len()),
                    lie,
                    interruptions: 0,
                };
                // Whatever is read is read: Miri says whether it is initialized.
                ignore_failure(|| {
                    Array1::<u32>::read_npy(liar())
                        .map(|array| array.iter().map(|item| u64::from(*item)).sum::<u64>())
                });
                ignore_failure(|| {
                    ArrayD::<String>::read_npy(liar())
                        .map(|array| array.iter().map(String::len).sum::<usize>())
                });
                ignore_failure(|| {
                    DynArray::read_npy(liar())
                        .map(|array| array.bytes().iter().map(|byte| usize::from(*byte)).sum::<usize>())
                });
                ignore_failure(|| NpyReader::new(liar()).map(|reader| reader.dtype().clone()));
            }
        }
        let step = if cfg!(miri) { 601 } else { 3 };
        for honest_len in (0..=archive.len()).step_by(step) {
            ignore_failure(|| {
                let mut npz = NpzReader::new(LyingReader {
                    bytes: &archive,
                    position: 0,
                    honest_len,
                    lie,
                    interruptions: 0,
                })?;
                npz.by_name::<_, ndarray::Ix1>("numbers").map(|array: Array1<u32>| array.sum())
            });
        }
    }
    let _ = std::panic::take_hook();
}

/// A source that begins to lie at an offset.
#[derive(Debug)]
struct LyingSource {
    bytes: Arc<[u8]>,
    honest_len: u64,
    lie: Lie,
}

impl ReadAt for LyingSource {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        if offset >= self.honest_len {
            return match self.lie {
                Lie::ClaimsTooMany => Ok(into.len() + 1),
                Lie::WritesNothing => Ok(into.len()),
                Lie::Panic => panic!("as a source may"),
                Lie::Fail => Err(io::Error::from(io::ErrorKind::PermissionDenied).into()),
                Lie::Interrupted => Ok(0),
            };
        }
        let honest_len = into.len().min((self.honest_len - offset) as usize);
        self.bytes.read_at(&mut into[..honest_len], offset)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }
}

/// Reads an array in all ways, and uses each element: Miri says whether it is initialized.
fn read_in_all_ways(open: impl Fn() -> Result<NpyFile>) {
    let sum = |array: Array2<u32>| array.iter().map(|item| u64::from(*item)).sum::<u64>();
    ignore_failure(|| open()?.read::<Array2<u32>>().map(sum));
    ignore_failure(|| open()?.slice::<u32, _>(s![1..;3, ..]).map(sum));
    ignore_failure(|| open()?.slice::<u32, _>(s![.., ..;2]).map(sum));
    ignore_failure(|| open()?.take::<Array2<u32>>(0, &[7, 1, 7]).map(sum));
    ignore_failure(|| {
        open()?.read::<DynArray>().map(|array| array.bytes().iter().map(|byte| u64::from(*byte)).sum::<u64>())
    });
    ignore_failure(|| {
        let mut into = Array2::<u32>::ones((20, 9));
        let _ = open()?.slice_into(s![.., ..], &mut into);
        Ok(sum(into))
    });
    ignore_failure(|| {
        let mut into = Array2::<u32>::ones((20, 9));
        let _ = open()?.slice_into(s![..;-1, ..], &mut into);
        Ok(sum(into))
    });
}

/// Memory that arrays are read into is not cleared first: what is missing must not be seen.
#[test]
fn lying_sources_give_no_uninitialized_memory() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    Array2::from_shape_fn((20, 9), |(row, column)| (row * 10 + column) as u32).write_npy(&mut bytes).unwrap();
    let bytes: Arc<[u8]> = bytes.into();
    for honest_len in [129, 500, bytes.len()] {
        for lie in [Lie::ClaimsTooMany, Lie::WritesNothing, Lie::Panic, Lie::Fail, Lie::Interrupted] {
            read_in_all_ways(|| {
                NpyFile::from_source(LyingSource {
                    bytes: Arc::clone(&bytes),
                    honest_len: honest_len as u64,
                    lie,
                })
            });
        }
        read_in_all_ways(|| NpyFile::from_source(InMemory(bytes[..honest_len].to_vec())));
        ignore_failure(|| Array2::<u32>::read_npy(&bytes[..honest_len]).map(|array| array.sum()));
    }
    let _ = std::panic::take_hook();
}

struct LyingWriter(usize);

impl Write for LyingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        if self.0 > 2 { Ok(bytes.len() + 1) } else { Ok(bytes.len().min(5)) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lying_writers_cause_no_undefined_behavior() {
    let array = ndarray::Array2::<u16>::zeros((30, 40));
    ignore_failure(|| array.write_npy(LyingWriter(0)));
    ignore_failure(|| array.t().write_npy(LyingWriter(0)));
    ignore_failure(|| array.slice(ndarray::s![..;3, ..;2]).write_npy(LyingWriter(0)));
    ignore_failure(|| arr1(&["text".to_owned()]).write_npy(LyingWriter(0)));
}

/// The names that the derive implements, for a type that implements the library's own by hand.
#[allow(unused_imports, dead_code)]
mod elsewhere {
    pub(crate) use ndarray_io::__private;
    pub(crate) use ndarray_io::{DType, ReadOptions, Result, WriteOptions};

    pub(crate) trait ReadableElement: Sized {
        const IS_READ_AS_BYTES: bool = false;
        fn inner_axes(_: &mut Vec<usize>) {}
        fn read_plan(dtype: &DType, options: &ReadOptions) -> Result<__private::ReadPlan<Self>>;
    }
    pub(crate) trait WritableElement: Sized {
        const FILE_LAYOUT: __private::FileLayout;
        const IS_ALWAYS_BITWISE: bool = false;
        fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType>;
        fn write_plan(dtype: &DType) -> __private::WritePlan<Self>;
    }
    pub(crate) trait ViewElement {}
    pub(crate) trait ViewMutElement {
        const IS_FULL: () = ();
    }
}

/// A record that says that it can be read from, and is written as, elements of other dtypes than its own.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(crate = elsewhere)]
#[repr(C)]
struct Imposter<const AXES: usize> {
    number: u64,
    flag: [bool; 8],
}

fn imposter_dtype() -> DType {
    with_byte_order("[('number', '=u8'), ('flag', '|b1', (8,))]", true).parse().expect("a dtype")
}

impl<const AXES: usize> ndarray_io::ReadableElement for Imposter<AXES> {
    fn inner_axes(axes: &mut Vec<usize>) {
        match AXES {
            0 => {}
            1 => axes.push(3),
            2 => axes.clear(),
            3 => axes.push(usize::MAX),
            _ => axes.extend([0, 0]),
        }
    }

    fn read_plan(_: &DType, options: &ReadOptions) -> Result<ndarray_io::__private::ReadPlan<Self>> {
        ndarray_io::__private::read_plan(&imposter_dtype(), options)
    }
}

impl<const AXES: usize> ndarray_io::WritableElement for Imposter<AXES> {
    fn dtype_for(_: &mut dyn Iterator<Item = &Self>, _: &WriteOptions) -> Result<DType> {
        match AXES {
            0 => Ok(imposter_dtype()),
            1 => "|u1".parse(),
            2 => "('<f8', (20,))".parse(),
            3 => "[('a', '|V300')]".parse(),
            _ => Ok(DType::Object),
        }
    }

    fn write_plan(_: &DType) -> ndarray_io::__private::WritePlan<Self> {
        ndarray_io::__private::write_plan(&imposter_dtype())
    }
}

impl<const AXES: usize> ndarray_io::ViewElement for Imposter<AXES> {}
impl<const AXES: usize> ndarray_io::ViewMutElement for Imposter<AXES> {}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct RecordWithImposter<const AXES: usize> {
    before: u8,
    imposter: Imposter<AXES>,
    after: u16,
}

fn exercise_imposter<const AXES: usize>() {
    let item = Imposter::<AXES> { number: 1, flag: [true; 8] };
    let files = [
        npy("'|u1'", false, "(6,)", &[1; 6]),
        npy("'|V16'", true, "(2, 3)", &[2; 96]),
        npy("'|V48'", false, "(2,)", &[0; 96]),
        npy(&imposter_dtype().to_string(), false, "(2,)", &[1; 32]),
        npy(
            "[('before', '|u1'), ('', '|V7'), ('imposter', '|u1'), ('', '|V15'), ('after', '<u2'), ('', '|V6')]",
            false,
            "(2,)",
            &[1; 64],
        ),
        npy("[('before', '|u1'), ('imposter', '|V30'), ('after', '<u2')]", false, "(2,)", &[1; 66]),
    ];
    for file in files.into_iter().step_by(if cfg!(miri) { 2 } else { 1 }) {
        let mut file = Aligned::new(&file);
        ignore_failure(|| ArrayD::<Imposter<AXES>>::read_npy(file.get()).map(|array| format!("{array:?}")));
        ignore_failure(|| {
            ArrayD::<Imposter<AXES>>::read_npy(io::Cursor::new(file.get())).map(|array| format!("{array:?}"))
        });
        ignore_failure(|| {
            ArrayD::<[Imposter<AXES>; 2]>::read_npy(file.get()).map(|array| format!("{array:?}"))
        });
        ignore_failure(|| {
            ArrayD::<RecordWithImposter<AXES>>::read_npy(file.get()).map(|array| format!("{array:?}"))
        });
        ignore_failure(|| {
            ArrayView1::<Imposter<AXES>>::view_npy(file.get()).map(|array| format!("{array:?}"))
        });
        ignore_failure(|| {
            ArrayView1::<RecordWithImposter<AXES>>::view_npy(file.get()).map(|array| format!("{array:?}"))
        });
        ignore_failure(|| {
            ReadOptions::new()
                .view_mut_npy::<ndarray::ArrayViewMut1<Imposter<AXES>>>(file.get_mut())
                .map(|mut array| array.fill(item))
        });
        ignore_failure(|| {
            let mut dynamic = DynArray::read_npy(file.get())?;
            drop(dynamic.view_mut::<Imposter<AXES>, ndarray::Ix1>().map(|mut array| array.fill(item)));
            drop(
                dynamic
                    .field_view_mut::<Imposter<AXES>, ndarray::Ix1>("imposter")
                    .map(|mut array| array.fill(item)),
            );
            dynamic.into_array::<Imposter<AXES>, ndarray::Ix1>().map_err(ndarray_io::Error::from)
        });
    }
    let array = ndarray::Array2::from_elem((3, 4), item);
    let around =
        ndarray::Array2::from_elem((2, 2), RecordWithImposter { before: 1, imposter: item, after: 2 });
    ignore_failure(|| array.write_npy(Vec::new()));
    ignore_failure(|| array.t().write_npy(Vec::new()));
    ignore_failure(|| array.slice(ndarray::s![..;2, ..;2]).write_npy(Vec::new()));
    ignore_failure(|| ndarray::Array1::from_elem(3, [item; 2]).write_npy(Vec::new()));
    ignore_failure(|| around.write_npy(Vec::new()));
    ignore_failure(|| DynArray::new(&array).map(|array| format!("{array:?}")));
    ignore_failure(|| DynArray::new(&around).map(|array| format!("{array:?}")));
}

/// A number without 0 that says that it can be read from elements without bytes.
#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[element(crate = elsewhere)]
#[repr(u8)]
enum NeverZero {
    One = 1,
}

impl ndarray_io::ReadableElement for NeverZero {
    fn read_plan(_: &DType, options: &ReadOptions) -> Result<ndarray_io::__private::ReadPlan<Self>> {
        ndarray_io::__private::enum_read_plan(&"|u1".parse()?, options)
    }
}

#[test]
fn enum_with_a_false_dtype_is_refused() {
    for (descr, payload) in [("'|V0'", &[][..]), ("'|V1'", &[0; 3])] {
        let file = npy(descr, false, "(3,)", payload);
        assert!(ArrayD::<NeverZero>::read_npy(&file[..]).is_err());
        assert!(ArrayD::<NeverZero>::read_npy(io::Cursor::new(&file)).is_err());
        assert!(ArrayD::<[NeverZero; 3]>::read_npy(&file[..]).is_err());
    }
}

/// An enum of one byte, which is read as if every file had integers of four bytes.
#[derive(Element, Clone, Copy, Debug, PartialEq)]
#[element(crate = elsewhere)]
#[repr(u8)]
enum Converted {
    One = 1,
}

impl ndarray_io::ReadableElement for Converted {
    const IS_READ_AS_BYTES: bool = true;

    fn read_plan(_: &DType, options: &ReadOptions) -> Result<ndarray_io::__private::ReadPlan<Self>> {
        ndarray_io::__private::enum_read_plan(&with_byte_order("=i4", true).parse()?, options)
    }
}

#[test]
fn enum_with_a_false_conversion_is_refused() {
    let options = ReadOptions::new().casting(Casting::Unsafe);
    let read = |descr: &str, payload: &[u8]| {
        let file = npy(&with_byte_order(descr, true), false, "(3,)", payload);
        let one = options.read_from::<Array1<Converted>>(&file[..]);
        let other = options.read_from::<Array1<Converted>>(io::Cursor::new(&file));
        assert_eq!(one.is_ok(), other.is_ok());
        one
    };
    let ones: Vec<u8> = [1i32; 3].iter().flat_map(|one| one.to_ne_bytes()).collect();
    assert_eq!(read("'=i4'", &ones).unwrap(), arr1(&[Converted::One; 3]));
    assert!(read("'=i4'", &[0; 12]).is_err());
    for (descr, len) in [("'=i2'", 6), ("'|u1'", 3), ("'=f8'", 24), ("'|V0'", 0), ("'|b1'", 3)] {
        assert!(read(descr, &vec![1; len]).is_err(), "{descr}");
    }
}

/// A text that says that it is read and written as its bytes are.
#[derive(Element, Clone, Debug, Default, PartialEq)]
#[element(crate = elsewhere)]
#[repr(transparent)]
struct FalseBytes(String);

impl ndarray_io::ReadableElement for FalseBytes {
    const IS_READ_AS_BYTES: bool = true;

    fn inner_axes(axes: &mut Vec<usize>) {
        axes.push(2);
    }

    fn read_plan(dtype: &DType, options: &ReadOptions) -> Result<ndarray_io::__private::ReadPlan<Self>> {
        ndarray_io::__private::newtype_read_plan(dtype, options)
    }
}

impl ndarray_io::WritableElement for FalseBytes {
    const IS_ALWAYS_BITWISE: bool = true;

    fn dtype_for(items: &mut dyn Iterator<Item = &Self>, options: &WriteOptions) -> Result<DType> {
        ndarray_io::__private::newtype_dtype(items, options)
    }

    fn write_plan(dtype: &DType) -> ndarray_io::__private::WritePlan<Self> {
        ndarray_io::__private::newtype_write_plan(dtype)
    }
}

#[test]
fn false_constants_cause_no_undefined_behavior() {
    std::panic::set_hook(Box::new(|_| {}));
    let texts = arr1(&[FalseBytes("a".into()), FalseBytes("bc".into())]);
    let mut file = Vec::new();
    arr1(&["a".to_owned(), "bc".to_owned()]).write_npy(&mut file).unwrap();
    ignore_failure(|| Array1::<FalseBytes>::read_npy(&file[..]));
    ignore_failure(|| Array1::<[FalseBytes; 2]>::read_npy(&file[..]));
    ignore_failure(|| ReadOptions::new().read_into(&file[..], &mut texts.clone()));
    ignore_failure(|| ReadOptions::new().read_into(&file[..], &mut texts.clone().slice_mut(s![..;-1])));
    ignore_failure(|| texts.write_npy(Vec::new()));
    ignore_failure(|| texts.slice(s![..;-1]).write_npy(Vec::new()));
    ignore_failure(|| ndarray::Array1::from_elem(2, [FalseBytes("d".into())]).write_npy(Vec::new()));
    let _ = std::panic::take_hook();
}

#[test]
fn elements_of_false_dtypes_cause_no_undefined_behavior() {
    std::panic::set_hook(Box::new(|_| {}));
    exercise_imposter::<1>();
    if !cfg!(miri) {
        exercise_imposter::<0>();
        exercise_imposter::<2>();
        exercise_imposter::<3>();
        exercise_imposter::<4>();
    }
    let _ = std::panic::take_hook();
}
