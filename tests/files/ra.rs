//! RA files: those that `testdata/make_ra.py` makes without this library, each with its array as an NPY file;
//! those of the format's own programs, if `NDARRAY_IO_RA` names their folder; and those that this library
//! writes.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayD, ArrayView2, ArrayViewMut2, ShapeBuilder, arr1, arr2, s};
use ndarray_io::convert::{Conversion, convert_npy_to_ra, convert_ra_to_npy};
use ndarray_io::error::ErrorKind;
use ndarray_io::header::{Extent, Order};
use ndarray_io::options::Trailing;
use ndarray_io::ra::{ReadRaExt, ViewMutRaExt, ViewRaExt, WriteRaExt, ra_query, read_ra, write_ra};
use ndarray_io::{ByteOrder, DynArray, Error, ReadOptions, Result, WriteOptions, ra, read_npy};
use num_complex::Complex;
use serde_json::Value;

use crate::support::error_class::error_class;

fn testdata_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/ra")
}

fn cases() -> Vec<(String, PathBuf, Value)> {
    let lines = fs::read_to_string(testdata_folder().join("ra.jsonl")).unwrap();
    let case = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["id"].as_str().unwrap().to_owned();
        (id.clone(), testdata_folder().join(format!("{id}.ra")), line)
    };
    lines.lines().map(case).collect()
}

/// Options for the byte order of `testdata`.
fn little_endian_options() -> WriteOptions {
    WriteOptions::new().byte_order(ByteOrder::Little)
}

/// The names of this machine's byte order and of the other one in file names.
const NATIVE_AND_FOREIGN: [&str; 2] =
    if cfg!(target_endian = "little") { ["little", "big"] } else { ["big", "little"] };

/// Returns the name of an error in `testdata/ra.jsonl`, which does not tell limits and parts of a file apart.
fn coarse_error_class(error: &Error) -> &'static str {
    match error_class(error) {
        "truncated_header" | "truncated_data" => "truncated",
        "header_too_large" | "payload_too_large" => "limit",
        class => class,
    }
}

/// Whether the header has an axis or a length that does not fit into 32 bits.
fn is_beyond_32_bits(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    let numbers = bytes
        .get(24..)
        .unwrap_or_default()
        .chunks_exact(8)
        .map(|number| u64::from_le_bytes(number.try_into().unwrap()));
    let [elbyte, size, ndim, dims @ ..] = &numbers.collect::<Vec<_>>()[..] else { return false };
    let dims = &dims[..dims.len().min(*ndim as usize)];
    let product = dims.iter().try_fold(*elbyte, |product, dim| product.checked_mul(*dim));
    [product.unwrap_or(u64::MAX), *size, *elbyte].iter().chain(dims).any(|number| *number > i32::MAX as u64)
}

/// A reader that returns one byte at a time.
struct OneByteReader<R>(R);

impl<R: Read> Read for OneByteReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = into.len().min(1);
        self.0.read(&mut into[..most])
    }
}

/// Returns the dtype, the shape, and the elements as bytes in C order.
fn dtype_shape_and_bytes(array: &DynArray) -> (String, Vec<usize>, Vec<u8>) {
    let mut file = Vec::new();
    WriteOptions::new().order(Order::C).write_to(&mut file, &array).unwrap();
    let bytes = file[file.len() - array.bytes().len()..].to_vec();
    (array.dtype().to_string(), array.shape().to_vec(), bytes)
}

type Route = fn(&Path, &ReadOptions) -> Result<DynArray>;

const ROUTES: &[(&str, Route)] = &[
    ("path", |path, options| options.read_ra(path)),
    ("slice", |path, options| options.read_ra_from::<DynArray>(&fs::read(path)?[..])),
    ("drops", |path, options| options.read_ra_from::<DynArray>(OneByteReader(File::open(path)?))),
    ("reader", |path, options| {
        let mut reader = options.ra_reader(File::open(path)?)?;
        match reader.read::<ArrayD<String>>() {
            Err(error) if error.is_mismatch() => reader.read(), // after a mismatch, another type can be tried
            read => Err(read.unwrap_err()),
        }
    }),
    ("file", |path, options| match options.open(path) {
        Err(error) if error.message().starts_with("the data is compressed or stored as single bits") => {
            options.read_ra(path)
        }
        file => file?.read(),
    }),
    ("rows", |path, options| {
        // By conversion to NPY in small pieces, unless NPY cannot represent the dtype.
        let Ok(file) = options.open(path) else { return options.read_ra(path) };
        if file.shape().is_empty() || file.shape().contains(&0) {
            return file.read();
        }
        let npy = crate::support::temp::file()?.into_temp_path();
        match convert_ra_to_npy(
            path,
            &npy,
            Conversion::new().memory(40).drop_trailing(true).read_options(options.clone()),
        ) {
            Err(error) if error.message().contains("cannot represent") => file.read(),
            converted => converted.and_then(|()| read_npy(&npy)),
        }
    }),
];

#[test]
fn ra_testdata_reads_as_expected_by_every_route() {
    let mut seen = 0;
    for (id, path, line) in cases() {
        if !cfg!(feature = "lz4") && id.contains("lz4") {
            continue;
        }
        for (way, options) in
            [("expect", ReadOptions::new()), ("ignoring_flags", ReadOptions::new().ignore_ra_flags(true))]
        {
            // Without the feature, it is not known whether floats that are marked as compressed are an LZ4 block.
            let may_be_packed =
                id == "marked-but-plain" || id.starts_with("julia-complex") || id == "julia-half";
            let expect = match line[way].as_str().or(line["expect"].as_str()).unwrap() {
                _ if !cfg!(feature = "lz4") && may_be_packed && way == "expect" => "unsupported_packing",
                expect => expect,
            };
            for (name, route) in ROUTES {
                match route(&path, &options) {
                    Ok(found) => {
                        assert_eq!(expect, "ok", "{id} by {name}: was read");
                        let wanted: DynArray = read_npy(path.with_extension("npy")).unwrap();
                        if id == "complex-2x16" {
                            assert_eq!(found.bytes(), wanted.bytes(), "{id} by {name}");
                        } else {
                            assert_eq!(
                                dtype_shape_and_bytes(&found),
                                dtype_shape_and_bytes(&wanted),
                                "{id} by {name}"
                            );
                        }
                    }
                    // On 32 bits, a length that cannot be addressed is reported before missing data.
                    Err(error) if usize::BITS < 64 && is_beyond_32_bits(&path) => {
                        assert!(
                            ["overflow", expect].contains(&coarse_error_class(&error)),
                            "{id} by {name}: {error}"
                        );
                    }
                    Err(error) => assert_eq!(coarse_error_class(&error), expect, "{id} by {name}: {error}"),
                }
            }
        }
        seen += 1;
    }
    assert!(seen > 120, "{seen}");
}

#[test]
fn files_are_written_back_to_the_same_bytes() {
    let mut seen = 0;
    for (id, path, line) in cases() {
        let Some(back) = line["back"].as_str() else { continue };
        let options = WriteOptions::new().ra_bools(back == "eltype_5");
        let array: DynArray = read_ra(&path).unwrap();
        let mut file = Vec::new();
        options.write_ra_to(&mut file, &array).unwrap();
        assert_eq!(file, fs::read(&path).unwrap(), "{id}");
        seen += 1;
    }
    assert!(seen > 70, "{seen}");
}

/// Reads files of the format's own programs and writes their arrays to `NDARRAY_IO_WRITTEN`, for NumPy to
/// compare.
#[test]
#[ignore = "needs NDARRAY_IO_RA and NDARRAY_IO_WRITTEN"]
fn files_of_ra_reference_programs_round_trip() {
    let folder = crate::support::folder_from_env("NDARRAY_IO_RA");
    let written = crate::support::folder_from_env("NDARRAY_IO_WRITTEN");
    let mut seen = 0;
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "ra") {
            continue;
        }
        let array: DynArray = read_ra(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        ndarray_io::write_npy(written.join(format!("{name}.npy")), &array).unwrap();
        let mut again = Vec::new();
        if ReadOptions::new().ra_reader(File::open(&path).unwrap()).unwrap().ra_header().unwrap().flags == 0 {
            array.write_ra(&mut again).unwrap();
            assert_eq!(again, fs::read(&path).unwrap(), "{name}");
        }
        #[cfg(feature = "lz4")]
        WriteOptions::new()
            .compression(ndarray_io::Compression::Lz4)
            .write_ra(written.join(format!("{name}.lz4.ra")), &array)
            .unwrap();
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

/// Writes the example of the format's documentation, from its formula; the documentation has its checksum.
#[test]
fn documented_example_array_has_documented_bytes() {
    let value = |k: usize| Complex::new(k as f32, -(1.0 / k as f32));
    let array = Array2::from_shape_fn((3, 4), |(row, column)| value(row + 3 * column));
    let folder_ = crate::support::temp::folder().unwrap();
    let path = folder_.path().join("test.ra");
    little_endian_options().write_ra(&path, &array).unwrap();
    // Its MD5, 1dd9f98a0d57ec3c4d8ad50343bd20cd, is that of the file that `.ci/run` checks.
    assert_eq!(fs::read(&path).unwrap(), fs::read(testdata_folder().join("page.ra")).unwrap());
    assert_eq!(
        ra_query(&path).unwrap(),
        format!(
            "---\nname: {}\nendian: little\ntype: complex64\nsize: 96\ndimension: 2\nshape:\n  - 3\n  - 4\n...\n",
            path.display()
        )
    );
    let read: Array2<Complex<f32>> = read_ra(&path).unwrap();
    assert_eq!(read.strides(), [1, 3], "Fortran strides, nothing transposed");
    assert_eq!(read[[1, 1]], value(4));
}

#[cfg(feature = "derive")]
mod composites {
    use ndarray::Array1;
    use ndarray_io::Record;
    use ndarray_io::element::Void;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Record)]
    #[repr(C)]
    struct Entry {
        info: [u8; 12],
        index: u32,
        v: [f64; 8],
    }

    #[test]
    fn structs_are_read_by_their_size_alone() {
        for id in ["composite", "composite-big"] {
            let path = testdata_folder().join(format!("{id}.ra"));
            let entries: Array1<Entry> = read_ra(&path).unwrap();
            assert_eq!(entries.len(), 7);
            assert_eq!(&entries[6].info, b"number 6\0\0\0\0");
            assert_eq!(entries[6].index, 6u32.pow(9));
            assert!((-5.0..5.0).contains(&entries[3].v[7]) && entries[3].v[7] != 0.0);
            let again: Array1<Entry> = ndarray_io::NpyFile::open(&path).unwrap().slice(s![..;2]).unwrap();
            assert_eq!(again[3], entries[6]);
            let other = ndarray_io::NpyFile::open(&path).unwrap().with_options(&ReadOptions::new());
            assert_eq!(other.slice::<Entry, _>(s![..;2]).unwrap(), again);
            let order = if id == "composite" { ByteOrder::Little } else { ByteOrder::Big };
            let mut file = Vec::new();
            let options = WriteOptions::new().byte_order(order);
            options.write_ra_to(&mut file, &entries).unwrap();
            assert_eq!(file, fs::read(&path).unwrap(), "{id}");
        }
        let [own, foreign] = if NATIVE_AND_FOREIGN[0] == "little" {
            ["composite.ra", "composite-big.ra"]
        } else {
            ["composite-big.ra", "composite.ra"]
        };
        let bytes = fs::read(testdata_folder().join(own)).unwrap();
        let mut aligned = vec![0u64; bytes.len() / 8];
        bytemuck::cast_slice_mut(&mut aligned).copy_from_slice(&bytes);
        let view = ndarray::ArrayView1::<Entry>::view_ra(bytemuck::cast_slice(&aligned)).unwrap();
        assert_eq!(view[2].index, 512);
        assert!(
            ndarray::ArrayView1::<Entry>::view_ra(&fs::read(testdata_folder().join(foreign)).unwrap())
                .is_err()
        );
        let raw: Array1<Void<80>> = read_ra(testdata_folder().join(own)).unwrap();
        assert_eq!(&raw[0].0[..8], b"number 0");
        let error = read_ra::<_, Array1<Entry>>(testdata_folder().join("raw-int-3.ra")).unwrap_err();
        assert!(error.is_mismatch(), "{error}");
    }

    #[test]
    fn converting_named_fields_to_ra_is_refused() {
        let (npy, ra) = (crate::support::ClosedTempFile::new(), crate::support::ClosedTempFile::new());
        ndarray_io::write_npy(npy.path(), &arr1(&[Entry { info: [1; 12], index: 2, v: [3.0; 8] }])).unwrap();
        let error = convert_npy_to_ra(npy.path(), ra.path(), Conversion::new()).unwrap_err();
        assert!(error.message().contains("cannot represent"), "{error}");
    }
}

#[cfg(feature = "half-2")]
#[test]
fn half_precision_numbers_round_trip_in_ra() {
    use half::{bf16, f16};
    use ndarray::Array1;
    let read: Array1<Complex<f16>> = read_ra(testdata_folder().join("complex-2x16.ra")).unwrap();
    assert_eq!(read[2], Complex::new(f16::from_f32(4.0), f16::from_f32(5.0)));
    let mut file = Vec::new();
    little_endian_options().write_ra_to(&mut file, &read).unwrap();
    assert_eq!(file, fs::read(testdata_folder().join("complex-2x16.ra")).unwrap());
    let error = ndarray_io::WriteNpyExt::write_npy(&read, Vec::new()).unwrap_err();
    assert!(error.message().starts_with("NPY cannot represent"), "{error}");
    let read: Array1<bf16> = read_ra(testdata_folder().join("bf16.ra")).unwrap();
    assert_eq!(read, arr1(&[1.0, -2.5, 256.0]).mapv(bf16::from_f64));
    for text in ["'<c4'", "'c4'"] {
        let head = format!("{{'descr': {text}, 'fortran_order': False, 'shape': (1,), }}\n");
        let mut npy = b"\x93NUMPY\x01\x00".to_vec();
        npy.extend((head.len() as u16).to_le_bytes());
        npy.extend(head.as_bytes());
        let error = ndarray_io::npy::parse(&npy).unwrap_err();
        assert!(error.message().starts_with("unsupported dtype"), "NumPy knows no {text}: {error}");
    }
}

#[test]
fn ra_bytes_depend_on_shape_not_memory_order() {
    let array = Array2::from_shape_fn((3, 4), |(row, column)| (row * 10 + column) as u16);
    let mut fortran = Array2::zeros((3, 4).f());
    fortran.assign(&array);
    let mut file = Vec::new();
    little_endian_options().write_ra_to(&mut file, &array).unwrap();
    let mut other = Vec::new();
    little_endian_options().write_ra_to(&mut other, &fortran).unwrap();
    assert_eq!(file, other, "the shape is what counts");
    assert_eq!(file[48..64], [3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(file[64..70], [0, 0, 10, 0, 20, 0]);
    assert_eq!(Array2::<u16>::read_ra(&file[..]).unwrap(), array);

    let mut reversed = Vec::new();
    little_endian_options().order(Order::C).write_ra_to(&mut reversed, &array).unwrap();
    assert_eq!(reversed[48..64], [4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(reversed[64..70], [0, 0, 1, 0, 2, 0]);
    assert_eq!(Array2::<u16>::read_ra(&reversed[..]).unwrap().reversed_axes(), array);

    let any = DynArray::new(&array).unwrap();
    for (options, wanted) in
        [(little_endian_options(), &file), (little_endian_options().order(Order::C), &reversed)]
    {
        let mut found = Vec::new();
        options.write_ra_to(&mut found, &any).unwrap();
        assert_eq!(&found, wanted);
    }
    let strided = array.slice(s![..;-1, 1..;2]);
    let mut file = Vec::new();
    strided.write_ra(&mut file).unwrap();
    assert_eq!(Array2::<u16>::read_ra(&file[..]).unwrap(), strided);
}

#[test]
fn types_without_ra_equivalent_are_refused() {
    let refused = |error: Error, help: &str| {
        assert!(error.message().starts_with("RA cannot represent"), "{error}");
        assert!(error.help().unwrap().to_string().contains(help), "{error}");
    };
    refused(arr1(&[true]).write_ra(Vec::new()).unwrap_err(), "u8");
    refused(arr1(&["a".to_owned()]).write_ra(Vec::new()).unwrap_err(), "Void");
    let error =
        WriteOptions::new().trailing(Trailing::Keep).write_ra_to(Vec::new(), &arr1(&[1.0])).unwrap_err();
    assert!(error.is_usage(), "{error}");
}

#[test]
fn replacing_ra_file_never_drops_trailing_bytes_silently() {
    let folder_ = crate::support::temp::folder().unwrap();
    let path = folder_.path().join("a.ra");
    for (id, trailing) in [("trailing", "taken on Monday"), ("lz4-trailing", "a note")] {
        if !cfg!(feature = "lz4") && id.contains("lz4") {
            continue;
        }
        fs::copy(testdata_folder().join(format!("{id}.ra")), &path).unwrap();
        for read_first in [true, false] {
            let mut reader = ReadOptions::new().ra_reader(File::open(&path).unwrap()).unwrap();
            assert_eq!(reader.extent().and_then(Extent::trailing), Some(trailing.len() as u64));
            if read_first {
                reader.read::<DynArray>().unwrap();
                assert_eq!(reader.extent().and_then(Extent::trailing), Some(trailing.len() as u64));
            }
            assert_eq!(reader.trailing().unwrap(), trailing.as_bytes());
        }
        let new = arr1(&[1u8, 2]);
        assert!(write_ra(&path, &new).unwrap_err().is_conflict());
        let npy = folder_.path().join("a.npy");
        ndarray_io::write_npy(&npy, &new).unwrap();
        assert!(convert_npy_to_ra(&npy, &path, Conversion::new()).unwrap_err().is_conflict());
        let error = convert_ra_to_npy(&path, &npy, Conversion::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Trailing, "{error}");
        WriteOptions::new().trailing(Trailing::Keep).write_ra(&path, &new).unwrap();
        let mut reader = ReadOptions::new().ra_reader(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.trailing().unwrap(), trailing.as_bytes());
        drop(reader);
        WriteOptions::new().trailing(Trailing::Write(Vec::new())).write_ra(&path, &new).unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 58);
        write_ra(&path, &new).unwrap();
    }
}

#[cfg(feature = "lz4")]
#[test]
fn compressed_ra_files_round_trip() {
    for (rows, columns) in [(0, 3), (1, 1), (300, 200), (2000, 700)] {
        let array = Array2::from_shape_fn((rows, columns), |(row, column)| ((row * column) % 37) as f32);
        for order in [Order::Fortran, Order::C] {
            let mut file = Vec::new();
            let options = little_endian_options().order(order).compression(ndarray_io::Compression::Lz4);
            options.write_ra_to(&mut file, &array).unwrap();
            let reader = ReadOptions::new().ra_reader(&file[..]).unwrap();
            assert_eq!(reader.ra_header().unwrap().flags, 2);
            assert_eq!(reader.ra_header().unwrap().size as usize, file.len() - 64);
            let read = Array2::<f32>::read_ra(&file[..]).unwrap();
            assert_eq!(if order == Order::C { read.reversed_axes() } else { read }, array);
        }
    }
}

#[test]
fn ra_views_equal_arrays_or_report_need_for_copy() {
    let [own, foreign] = NATIVE_AND_FOREIGN;
    let bytes = fs::read(testdata_folder().join(format!("f8-2-{own}.ra"))).unwrap();
    let mut aligned = vec![0u64; bytes.len() / 8];
    bytemuck::cast_slice_mut(&mut aligned).copy_from_slice(&bytes);
    let wanted: ndarray::Array3<f64> = read_npy(testdata_folder().join(format!("f8-2-{own}.npy"))).unwrap();
    let view = ndarray::ArrayView3::<f64>::view_ra(bytemuck::cast_slice(&aligned)).unwrap();
    assert_eq!(view, wanted);
    let bytes = fs::read(testdata_folder().join(format!("f8-2-{foreign}.ra"))).unwrap();
    let error = ndarray::ArrayView3::<f64>::view_ra(&bytes).unwrap_err();
    assert!(error.message().starts_with("expected this machine's byte order"), "{error}");
    let error = ArrayView2::<u16>::view_ra(&fs::read(testdata_folder().join("lz4.ra")).unwrap()).unwrap_err();
    assert!(error.message().starts_with("the data is compressed or stored as single bits"), "{error}");
    let mut file = Vec::new();
    arr2(&[[1u8, 2], [3, 4]]).write_ra(&mut file).unwrap();
    file.extend(b"more");
    ArrayViewMut2::<u8>::view_mut_ra(&mut file).unwrap()[[0, 1]] = 9;
    assert_eq!(Array2::<u8>::read_ra(&file[..]).unwrap(), arr2(&[[1, 9], [3, 4]]));
}

#[cfg(feature = "mmap")]
#[test]
fn mapped_ra_file_is_written_and_read() {
    use ndarray::Ix2;
    use ndarray_io::ra::write_zeroed_ra;
    use ndarray_io::{NpyMmap, NpyMmapMut};
    let folder_ = crate::support::temp::folder().unwrap();
    let path = folder_.path().join("a.ra");
    write_zeroed_ra::<f32, _>(&File::create(&path).unwrap(), (20, 30).f()).unwrap();
    // SAFETY: the file belongs to this test, here and below.
    let mut map = unsafe { NpyMmapMut::<f32, Ix2>::open(&path).unwrap() };
    map.view_mut()[[3, 4]] = 1.5;
    map.sync().unwrap();
    drop(map);
    assert_eq!(fs::metadata(&path).unwrap().len(), 64 + 2400);
    // SAFETY: as above.
    let map = unsafe { NpyMmap::<f32, Ix2>::open(&path).unwrap() };
    assert_eq!((map.view()[[3, 4]], map.data_offset(), map.extent()), (1.5, 64, Extent::Whole));
    assert_eq!(read_ra::<_, Array2<f32>>(&path).unwrap()[[3, 4]], 1.5);
    // SAFETY: as above.
    let slab = unsafe { NpyMmap::<f32, Ix2>::open_slab(&path, 4..6).unwrap() };
    assert_eq!((slab.shape(), slab.view()[[3, 0]]), (&[20, 2][..], 1.5));
    drop((map, slab)); // Windows does not truncate a mapped file
    let error = write_zeroed_ra::<f32, _>(&File::create(&path).unwrap(), (20, 30)).unwrap_err();
    assert!(error.is_usage(), "{error}");
    // SAFETY: as above.
    let error = unsafe { NpyMmap::<u16, Ix2>::open(testdata_folder().join("lz4.ra")).unwrap_err() };
    assert!(error.message().starts_with("the data is compressed or stored as single bits"), "{error}");
}

#[test]
fn npy_to_ra_conversion_round_trips() {
    let folder_ = crate::support::temp::folder().unwrap();
    let (ra, npy) = (folder_.path().join("a.ra"), folder_.path().join("a.npy"));
    let mut seen = 0;
    for (id, path, line) in cases() {
        let from = path.with_extension("npy");
        if line["expect"] != "ok"
            || id == "complex-2x16"
            || id.contains("bool")
            || id.starts_with("bits")
            || id == "julia-int128"
        {
            continue;
        }
        convert_npy_to_ra(&from, &ra, Conversion::new().memory(50)).unwrap();
        if line["back"] == "same" {
            assert_eq!(fs::read(&ra).unwrap(), fs::read(&path).unwrap(), "{id}");
        }
        convert_ra_to_npy(&ra, &npy, Conversion::new().order(Order::C)).unwrap();
        assert_eq!(
            dtype_shape_and_bytes(&read_npy(&npy).unwrap()),
            dtype_shape_and_bytes(&read_npy(&from).unwrap()),
            "{id}"
        );
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
    let error = convert_npy_to_ra(testdata_folder().join("bool.npy"), &ra, Conversion::new()).unwrap_err();
    assert_eq!(error.help().unwrap().id(), "ra-bool", "{error}");
    let error =
        convert_ra_to_npy(testdata_folder().join("raw-int-3.ra"), &npy, Conversion::new()).unwrap_err();
    assert!(error.message().contains("cannot represent"), "{error}");
}

/// A program, what it writes, each with the name of a file, and what it reads of ours.
#[cfg(feature = "lz4")]
type Program = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// What the programs write, in which file of `testdata/ra`, and what they read of files that this library writes.
#[cfg(feature = "lz4")]
const PROGRAMS: &[Program] = &[
    (
        "C, `ra`",
        &[
            ("numbers", "page"),
            ("LZ4", "lz4"),
            ("on a big-endian machine", "c-on-big-endian"),
            ("`squash`, until 2017", "marked-ints"),
        ],
        "all but element type 5; the data of big-endian files in the wrong order",
    ),
    (
        "Python, `ra.py`",
        &[("numbers", "f8-1-little"), ("big-endian arrays", "c16-1-big"), ("bools", "python-bools")],
        "what is not compressed and has nothing after it; big-endian data in the wrong order; nothing with NumPy 2.3 and later",
    ),
    (
        "Julia, `RawArray.jl`",
        &[
            ("numbers", "c16-2-little"),
            ("integers, `compress=true`", "leb128-i4"),
            ("integers of 128 bits, `compress=true`", "julia-int128"),
            ("bools, `compress=true`", "julia-bools"),
            ("floats, `compress=true`", "julia-half"),
            ("`BitArray`", "bits"),
            ("on a big-endian machine", "julia-on-big-endian"),
        ],
        "numbers and, with `WriteOptions::ra_bools`, bools; not LZ4; the data of big-endian files in the wrong order",
    ),
    (
        "Rust, `rawarray`",
        &[("numbers", "i4-1-little"), ("`bf16`", "bf16")],
        "what has no flags and nothing after it",
    ),
    ("BART", &[("complex numbers of 8 bytes", "page")], "complex numbers of 8 bytes without flags"),
];

/// Compares the table of `docs/npz-and-ra.md` with how the files are read. NDARRAY_IO_UPDATE rewrites it.
#[cfg(feature = "lz4")]
#[test]
fn files_of_other_programs_are_read_as_the_guide_says() {
    let mut table = "| program | writes | read as | reads of ours |\n|---|---|---|---|\n".to_owned();
    let options = [
        ("", ReadOptions::new()),
        (" (`ignore_ra_flags`)", ReadOptions::new().ignore_ra_flags(true)),
        (" (`ra_bytes_are_bools`)", ReadOptions::new().ra_bytes_are_bools(true)),
    ];
    for (program, files, reads) in PROGRAMS {
        for (number, (what, file)) in files.iter().enumerate() {
            let mut read: Vec<String> = Vec::new();
            for (name, options) in &options {
                let made = match options.read_ra::<DynArray>(testdata_folder().join(format!("{file}.ra"))) {
                    Ok(array) => {
                        format!("`{}`", array.dtype().to_string().trim_matches('\'').replace('|', "\\|"))
                    }
                    Err(error) => {
                        let kind = format!("{:?}", error.kind());
                        format!("the error `{}`", kind.split(' ').next().unwrap_or_default())
                    }
                };
                if !read.iter().any(|before| *before == made || before.starts_with(&format!("{made} ("))) {
                    read.push(format!("{made}{name}"));
                }
            }
            let (program, reads) = if number == 0 { (*program, *reads) } else { ("", "") };
            table += &format!("| {program} | {what} | {} | {reads} |\n", read.join(", "));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/npz-and-ra.md");
    let guide = fs::read_to_string(&path).unwrap();
    let (before, rest) = guide.split_once("tests/files/ra.rs. -->\n").unwrap();
    let (_, after) = rest.split_once("\n```rust").unwrap();
    let wanted = format!("{before}tests/files/ra.rs. -->\n{table}\n```rust{after}");
    if std::env::var_os("NDARRAY_IO_UPDATE").is_some() {
        fs::write(&path, wanted).unwrap();
    } else {
        assert_eq!(guide, wanted);
    }
}

/// Where compressed data ends is known if the header declares its size, and the file has it.
#[test]
fn ra_file_with_unknown_end_is_not_replaced() {
    let folder_ = crate::support::temp::folder().unwrap();
    let path = folder_.path().join("a.ra");
    for (id, is_replaced) in [
        ("leb128-i4", false),
        ("bad-leb128-cut", false),
        ("bad-lz4-promise", false),
        ("julia-half", true),
        ("lz4", true),
    ] {
        let old = fs::read(testdata_folder().join(format!("{id}.ra"))).unwrap();
        fs::write(&path, &old).unwrap();
        match write_ra(&path, &arr1(&[1.5])) {
            Ok(()) => assert!(is_replaced, "{id}"),
            Err(error) => {
                assert!(
                    !is_replaced && error.message().starts_with("the file cannot be replaced atomically"),
                    "{id}: {error}"
                );
                assert_eq!(fs::read(&path).unwrap(), old, "{id}");
            }
        }
    }
}

/// Elements that are arrays have the last axes, from whichever file the header comes.
#[test]
fn header_of_ra_file_describes_elements_alone() {
    let mut file = Vec::new();
    arr2(&[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]).write_ra(&mut file).unwrap();
    let ndarray_io::header::Parsed::Done(found, start) = ra::parse(&file).unwrap() else {
        panic!("the header is complete")
    };
    assert_eq!((found.header.shape(), found.header.order()), (&[3, 2][..], Order::Fortran));
    let source = ndarray_io::bytes::InMemory(file[start..].to_vec());
    let elements = ReadOptions::new().open_elements(source, 0, found.header).unwrap();
    let rows = elements.read::<ndarray::Array1<[f64; 2]>>().unwrap();
    assert_eq!(rows, arr1(&[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]));
}

/// The numbers of `ml_dtypes` are little-endian: a file whose flag says that it is big-endian has others.
#[cfg(feature = "half-2")]
#[test]
fn big_endian_composites_are_no_numbers_of_two_bytes() {
    use half::{bf16, f16};
    use ndarray::Array1;

    for (flags, is_read) in [(0, true), (1, false)] {
        let file = |size: u64| {
            let fields = [flags, 0, size, 2 * size, 1, 2].map(u64::to_le_bytes).concat();
            [&b"rawarray"[..], &fields, &[0; 8][..2 * size as usize]].concat()
        };
        assert_eq!(Array1::<Complex<f16>>::read_ra(&file(4)[..]).is_ok(), is_read);
        assert_eq!(Array1::<Complex<bf16>>::read_ra(&file(4)[..]).is_ok(), is_read);
        assert_eq!(Array1::<bf16>::read_ra(&file(2)[..]).is_ok(), is_read);
    }
}

/// `python-bools.ra` has the bools of `julia-bools.npy`, as `ra.py` writes them.
#[test]
fn one_byte_composites_are_bools_by_option() {
    let wanted: Array2<bool> = read_npy(testdata_folder().join("julia-bools.npy")).unwrap();
    let path = testdata_folder().join("python-bools.ra");
    let options = ReadOptions::new().ra_bytes_are_bools(true);
    assert_eq!(options.read_ra::<Array2<bool>>(&path).unwrap(), wanted);
    assert_eq!(options.open(&path).unwrap().read::<Array2<bool>>().unwrap(), wanted);
    assert!(read_ra::<_, Array2<bool>>(&path).unwrap_err().is_mismatch());
    // Other types are not affected, and other bytes than 0 and 1 are errors.
    let other: ArrayD<f64> = options.read_ra(testdata_folder().join("f8-1-little.ra")).unwrap();
    assert_eq!(other, read_npy::<_, ArrayD<f64>>(testdata_folder().join("f8-1-little.npy")).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() = 2;
    let error = options.read_ra_from::<Array2<bool>>(&bytes[..]).unwrap_err();
    assert!(error.message().starts_with("expected a bool"), "{error}");
}

/// Any file that is truncated, or whose header has a changed byte, is read or refused.
#[test]
fn damaged_ra_headers_are_errors_or_arrays() {
    for (id, path, _) in cases() {
        let file = fs::read(&path).unwrap();
        for end in 0..file.len().min(200) {
            match DynArray::read_ra(&file[..end]) {
                // Without the byte that is too many, it is sound.
                Ok(array) if id == "bad-leb128-long" => {
                    assert_eq!((end, array.bytes()), (92, &[0; 4 * 36][..]));
                }
                // What is missing follows the array.
                Ok(array) => {
                    let wanted: DynArray = read_npy(path.with_extension("npy")).unwrap();
                    assert_eq!(
                        dtype_shape_and_bytes(&array),
                        dtype_shape_and_bytes(&wanted),
                        "{id}, {end} bytes"
                    );
                }
                Err(error) => assert!(error.is_format() || error.is_limit(), "{id}, {end} bytes: {error}"),
            }
        }
        for at in 0..file.len().min(80) {
            for change in [1, 0x80, 0xFF] {
                let mut file = file.clone();
                file[at] ^= change;
                if let Err(error) = DynArray::read_ra(&file[..]) {
                    assert!(error.is_format() || error.is_limit(), "{id}, byte {at}: {error}");
                }
            }
        }
    }
    let error = ra::parse(b"rawarray").and_then(|_| DynArray::read_ra(&b"rawarray"[..])).unwrap_err();
    assert!(
        error.message().starts_with("truncated: expected a header of at least 48 bytes, found 8"),
        "{error}"
    );
}
