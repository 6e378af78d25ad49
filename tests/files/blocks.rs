//! Compressed members with a block index: parts are read alone, and the data takes precedence over the index.

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ndarray::{Array1, Array2, Ix2, s};
use ndarray_io::error::ErrorKind;
use ndarray_io::npz::IndexState;
use ndarray_io::{Compression, DynArray, NpzFile, NpzUpdate, ReadOptions, WriteOptions};

use crate::support::error_class::error_class;
use crate::support::random::Random;

const BLOCK_LEN: usize = 1 << 20;
const ROWS: usize = 5000;

fn compressions() -> Vec<Compression> {
    #[cfg(feature = "zstd")]
    return vec![Compression::Deflated(1), Compression::Deflated(6), Compression::Zstd(3)];
    #[cfg(not(feature = "zstd"))]
    vec![Compression::Deflated(1), Compression::Deflated(6)]
}

fn options(compression: Compression, threads: usize) -> WriteOptions {
    WriteOptions::new().threads(threads).compression(compression)
}

/// An array of 5 MB, compressed in six blocks: the numbers repeat, but no two rows are the same.
fn array() -> Array2<u32> {
    Array2::from_shape_fn((ROWS, 250), |(row, column)| (row * row) as u32 / 7 + column as u32 % 5)
}

fn compressed_archive(compression: Compression) -> Vec<u8> {
    let mut npz = options(compression, 2).npz_writer(Vec::new()).unwrap();
    npz.add("a", &array()).unwrap();
    npz.finish().unwrap()
}

fn write_archive(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("a.npz");
    fs::write(&path, bytes).unwrap();
    path
}

/// Where the index entries of an archive with one member are, and the compressed blocks that they describe.
struct IndexRanges {
    entries: Vec<Range<usize>>,
    blocks: Vec<Range<usize>>,
}

/// Finds the index as `docs/internals/block-index.md` describes it.
fn find_index(bytes: &[u8]) -> IndexRanges {
    let central = bytes.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut at = central + 46 + u16_at(central + 28);
    while &bytes[at..at + 2] != b"nd" {
        at += 4 + u16_at(at + 2);
    }
    let (field, len) = (at + 4, u16_at(at + 2));
    assert_eq!(&bytes[field..field + 2], [1, 20]);
    assert_eq!(u32_at(field + 2), u32_at(central + 16), "the checksum of all");
    let entries: Vec<_> = (field + 22..field + len).step_by(8).map(|at| at..at + 8).collect();
    let mut start = 30 + u16_at(26) + u16_at(28);
    let blocks = entries.iter().map(|entry| {
        let block = start..start + u32_at(entry.start) as usize;
        start = block.end;
        block
    });
    let blocks = blocks.collect();
    assert_eq!(start, 30 + u16_at(26) + u16_at(28) + u32_at(central + 20) as usize);
    IndexRanges { entries, blocks }
}

#[test]
fn partial_read_ignores_damage_in_other_blocks() {
    for compression in compressions() {
        let folder = crate::support::temp::folder().unwrap();
        let mut bytes = compressed_archive(compression);
        let index = find_index(&bytes);
        assert_eq!(index.blocks.len(), (ROWS * 1000 + 128).div_ceil(BLOCK_LEN));
        // All blocks except the first, with the header, and the third are damaged; the third can still be
        // read.
        for (_, block) in index.blocks.iter().enumerate().filter(|(number, _)| ![0, 2].contains(number)) {
            bytes[block.start + block.len() / 2..block.end - 10].fill(0xA5);
        }
        let path = write_archive(&folder, &bytes);
        let member = NpzFile::open(&path).unwrap().open_member("a").unwrap();
        let rows = 2 * BLOCK_LEN / 1000 + 1..3 * BLOCK_LEN / 1000 - 1;
        let part: Array2<u32> = member.slice(s![rows.clone(), ..]).unwrap();
        assert_eq!(part, array().slice(s![rows, ..]));
        let column: Array1<u32> = member.slice(s![2200..3000;100, 7]).unwrap();
        assert_eq!(column, array().slice(s![2200..3000;100, 7]));
        // Reading a damaged part is an error, both times.
        let error = member.slice::<u32, _>(s![1100..1110, ..]).map(|_: Array2<u32>| ()).unwrap_err();
        let is_damage = |error: &ndarray_io::Error| {
            ["bad_zip", "bad_deflate", "crc_mismatch"].contains(&error_class(error))
        };
        assert!(is_damage(&error), "{error:?}");
        let again = member.slice::<u32, _>(s![1100..1110, ..]).map(|_: Array2<u32>| ()).unwrap_err();
        assert!(is_damage(&again), "{again:?}");
        let error = NpzFile::open(&path).unwrap().read::<Array2<u32>>("a").unwrap_err();
        assert!(error.is_format(), "{error:?}");
        assert!(NpzFile::open(&path).unwrap().verify().is_err());
    }
}

#[test]
fn reads_of_indexed_members_agree_across_apis() {
    let array = array();
    for compression in compressions() {
        let folder = crate::support::temp::folder().unwrap();
        let bytes = compressed_archive(compression);
        let path = write_archive(&folder, &bytes);
        for threads in [1, 2, 5] {
            let options = ReadOptions::new().threads(threads);
            let npz = options.open_npz(&path).unwrap();
            assert!(matches!(npz.members()[0].index_state(), IndexState::Used { .. }));
            npz.verify().unwrap();
            assert_eq!(npz.read::<Array2<u32>>("a").unwrap(), array);
            assert_eq!(npz.read::<DynArray>("a").unwrap().view::<u32, Ix2>().unwrap(), array);
            let raw = npz.read_raw("a.npy").unwrap();
            let mut copy = Vec::new();
            npz.copy_raw("a.npy", &mut copy).unwrap();
            assert!(raw == copy && raw[128..] == *bytemuck::cast_slice::<u32, u8>(array.as_slice().unwrap()));
            let mut reader = options.npz_reader(Cursor::new(&bytes)).unwrap();
            assert_eq!(reader.read::<Array2<u32>>("a").unwrap(), array);

            let member = npz.open_member("a").unwrap();
            assert_eq!(member.read::<Array2<u32>>().unwrap(), array);
            let wide: Array2<f64> = options
                .clone()
                .casting(ndarray_io::Casting::Safe)
                .open_npz(&path)
                .unwrap()
                .read("a")
                .unwrap();
            assert_eq!(wide, array.mapv(f64::from));
            let mut random = Random::new(threads as u64);
            for _ in 0..50 {
                let (from, to) = (random.below(ROWS), random.below(ROWS));
                let (from, to) = (from.min(to), from.max(to));
                let step = 1 + random.below(4) as isize;
                let slice = s![from..to;step, 3..;50];
                assert_eq!(member.slice::<u32, _>(slice).unwrap(), array.slice(slice));
            }
            let rows: Vec<usize> = (0..200).map(|_| random.below(ROWS)).collect();
            assert_eq!(member.take::<Array2<u32>>(0, &rows).unwrap(), array.select(ndarray::Axis(0), &rows));
            let chunks: Vec<Array2<u32>> =
                member.chunks::<u32, Ix2>(0, 777).unwrap().map(|chunk| chunk.unwrap()).collect();
            let views: Vec<_> = chunks.iter().map(|chunk| chunk.view()).collect();
            assert_eq!(ndarray::concatenate(ndarray::Axis(0), &views).unwrap(), array);
        }
    }
}

/// Elements that are checked, byte-swapped or decoded one by one may cross block boundaries.
#[test]
fn elements_across_block_boundaries_are_read() {
    let bools = Array1::from_shape_fn(3 * BLOCK_LEN + 17, |index| index % 3 == 0);
    let texts = Array1::from_shape_fn(200_000, |index| format!("text {index}"));
    let large = Array1::from_shape_fn(400_000, |index| index as f64 / 3.0);
    for compression in compressions() {
        let options = WriteOptions::new().compression(compression);
        let mut npz = options.npz_writer(Vec::new()).unwrap();
        npz.add("bools", &bools).unwrap();
        npz.add("texts", &texts).unwrap();
        npz.add_with("large", &large, &options.clone().byte_order(ndarray_io::ByteOrder::Big)).unwrap();
        let folder = crate::support::temp::folder().unwrap();
        let path = write_archive(&folder, &npz.finish().unwrap());
        for threads in [1, 3] {
            let npz = ReadOptions::new().threads(threads).open_npz(&path).unwrap();
            assert!(
                npz.members().iter().all(|member| matches!(member.index_state(), IndexState::Used { .. }))
            );
            assert_eq!(npz.read::<Array1<bool>>("bools").unwrap(), bools);
            assert_eq!(npz.read::<Array1<String>>("texts").unwrap(), texts);
            assert_eq!(npz.read::<Array1<f64>>("large").unwrap(), large);
            let member = npz.open_member("texts").unwrap();
            assert_eq!(member.slice::<String, _>(s![..;-7]).unwrap(), texts.slice(s![..;-7]));
        }
    }
}

/// An index that does not match the content is ignored.
#[test]
fn index_that_contradicts_content_is_ignored() {
    let array = array();
    for compression in compressions() {
        let sound = compressed_archive(compression);
        let IndexRanges { entries, blocks } = find_index(&sound);
        let mut corrupted_archives: Vec<(&str, Vec<u8>)> = Vec::new();
        let mut add_corrupted = |name, change: &dyn Fn(&mut [u8])| {
            let mut bytes = sound.clone();
            change(&mut bytes);
            corrupted_archives.push((name, bytes));
        };
        let length = |bytes: &mut [u8], entry: usize, more: i64| {
            let at = entries[entry].start;
            let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            bytes[at..at + 4].copy_from_slice(&((i64::from(length) + more) as u32).to_le_bytes());
        };
        for more in [1, -1, 5, 1000] {
            add_corrupted("a boundary is elsewhere, and all lengths fit", &|bytes| {
                length(bytes, 1, more);
                length(bytes, 2, -more);
            });
        }
        add_corrupted("the blocks are longer than the member", &|bytes| length(bytes, 3, 1));
        add_corrupted("a block has no bytes", &|bytes| {
            let all = blocks[0].len() as i64;
            length(bytes, 0, -all);
            length(bytes, 1, all);
        });
        add_corrupted("a checksum is another", &|bytes| bytes[entries[2].start + 4] ^= 1);
        add_corrupted("two checksums are exchanged", &|bytes| {
            let (one, two) = (entries[1].start + 4, entries[2].start + 4);
            (0..4).for_each(|byte| bytes.swap(one + byte, two + byte));
        });
        add_corrupted("it is of a later version", &|bytes| bytes[entries[0].start - 22] = 2);
        add_corrupted("its step is another", &|bytes| bytes[entries[0].start - 21] = 21);
        add_corrupted("its step is none", &|bytes| bytes[entries[0].start - 21] = 200);
        add_corrupted("it is of another member", &|bytes| bytes[entries[0].start - 20] ^= 1);
        for (name, bytes) in corrupted_archives {
            let folder = crate::support::temp::folder().unwrap();
            let npz = NpzFile::open(write_archive(&folder, &bytes)).unwrap();
            npz.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(npz.read::<Array2<u32>>("a").unwrap(), array, "{name}");
            // What is read twice is told once: the numbers of a callback never fall, up to the whole.
            let reports = Arc::new(Mutex::new(Vec::new()));
            let callback_reports = Arc::clone(&reports);
            let options = ReadOptions::new().progress(move |done, all| {
                callback_reports.lock().unwrap().push((done, all));
                ControlFlow::Continue(())
            });
            options.open_npz(folder.path().join("a.npz")).unwrap().read::<Array2<u32>>("a").unwrap();
            let reports = reports.lock().unwrap();
            let whole = (ROWS * 1000) as u64;
            assert!(reports.is_sorted(), "{name}: {reports:?}");
            assert_eq!(reports.last(), Some(&(whole, whole)), "{name}");
            let mut copy = Vec::new();
            npz.copy_raw("a.npy", &mut copy).unwrap();
            assert_eq!(copy.len(), ROWS * 1000 + 128, "{name}");
            assert_eq!(copy[128..], *bytemuck::cast_slice::<u32, u8>(array.as_slice().unwrap()), "{name}");
            let member = npz.open_member("a").unwrap();
            for rows in [0..10, 1000..3000, 4990..5000] {
                let part: Array2<u32> = member.slice(s![rows.clone(), ..]).unwrap();
                assert_eq!(part, array.slice(s![rows, ..]), "{name}");
            }
        }
    }
}

/// The bytes of an archive do not depend on the number of threads or on how the content arrives.
#[test]
fn archive_bytes_are_independent_of_threads_and_pieces() {
    let array = array();
    for compression in compressions() {
        let wanted = compressed_archive(compression);
        for threads in [1, 3, 8] {
            let options = options(compression, threads);
            let mut at_once = options.npz_writer(Vec::new()).unwrap();
            at_once.add("a", &array).unwrap();
            assert!(at_once.finish().unwrap() == wanted, "{compression:?}, {threads} threads");
            for rows in [1, 37, 600, 4999] {
                let mut pieces = options.npz_writer(Vec::new()).unwrap();
                let write = |writer: &mut ndarray_io::NpyWriter<u32, &mut dyn Write>| {
                    array.axis_chunks_iter(ndarray::Axis(0), rows).try_for_each(|chunk| writer.push(&chunk))
                };
                pieces.add_pieces("a", array.raw_dim(), write).unwrap();
                assert!(
                    pieces.finish().unwrap() == wanted,
                    "{compression:?}, {threads} threads, {rows} rows"
                );
            }
        }
    }
}

/// One block, exact multiples of a block, and one byte more.
#[test]
fn lengths_around_block_boundaries_round_trip() {
    for compression in compressions() {
        for len in [
            0,
            1,
            BLOCK_LEN - 129,
            BLOCK_LEN - 128,
            BLOCK_LEN - 127,
            2 * BLOCK_LEN - 128,
            2 * BLOCK_LEN - 127,
            7 * BLOCK_LEN - 128,
        ] {
            let array = Array1::from_shape_fn(len, |index| (index / 3) as u8);
            let folder = crate::support::temp::folder().unwrap();
            let path = folder.path().join("a.npz");
            options(compression, 2).write_npz(&path, &[("a", &array)]).unwrap();
            let has_index = fs::read(&path)
                .unwrap()
                .windows(4)
                .any(|four| four[..2] == *b"nd" && four[2..] == [22 + 8 * 2, 0]);
            assert_eq!(has_index, (BLOCK_LEN + 1..=2 * BLOCK_LEN).contains(&(len + 128)), "{len}");
            let npz = NpzFile::open(&path).unwrap();
            npz.verify().unwrap();
            assert_eq!(npz.read::<Array1<u8>>("a").unwrap(), array, "{len}");
            assert_eq!(npz.open_member("a").unwrap().read::<Array1<u8>>().unwrap(), array, "{len}");
        }
    }
}

/// An update keeps the index of members that it copies, and writes one for new members.
#[test]
#[cfg_attr(target_os = "wasi", ignore = "needs to know whether a file is in append mode")]
fn update_copies_block_indexes_and_writes_new_ones() {
    for compression in compressions() {
        let folder = crate::support::temp::folder().unwrap();
        let path = folder.path().join("a.npz");
        options(compression, 2).write_npz(&path, &[("a", &array())]).unwrap();
        let before = fs::read(&path).unwrap();
        let small = ndarray::arr1(&[1u8]);
        NpzUpdate::open(&path).unwrap().add("b", &small).unwrap().finish().unwrap();
        NpzUpdate::open(&path).unwrap().remove("b").unwrap().finish().unwrap();
        assert!(fs::read(&path).unwrap() == before);
        let other = &array() + 1;
        let options = options(compression, 1);
        options.update_npz(&path).unwrap().replace("a", &other).unwrap().finish().unwrap();
        assert_eq!(find_index(&fs::read(&path).unwrap()).blocks.len(), 5);
        assert_eq!(NpzFile::open(&path).unwrap().read::<Array2<u32>>("a").unwrap(), other);
    }
}

/// Bytes after the array are treated as in a member without an index.
#[test]
fn trailing_bytes_of_indexed_member_are_reported() {
    for compression in compressions() {
        let mut content = Vec::new();
        ndarray_io::WriteNpyExt::write_npy(&array(), &mut content).unwrap();
        content.extend([7; 3]);
        let mut npz = options(compression, 2).npz_writer(Vec::new()).unwrap();
        npz.add_raw("a.npy", &content[..], content.len() as u64).unwrap();
        let folder = crate::support::temp::folder().unwrap();
        let path = write_archive(&folder, &npz.finish().unwrap());
        let error = NpzFile::open(&path).unwrap().read::<Array2<u32>>("a").unwrap_err();
        assert!(error.message().starts_with("found 3 bytes"), "{error}");
        let lax = ReadOptions::new().allow_trailing(true);
        assert_eq!(lax.open_npz(&path).unwrap().read::<Array2<u32>>("a").unwrap(), array());
        // The checksum covers these bytes, although they are not part of the array.
        let mut bytes = fs::read(&path).unwrap();
        let last = find_index(&bytes).blocks.last().unwrap().clone();
        bytes[last.end - 6] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        assert!(lax.open_npz(&path).unwrap().read::<Array2<u32>>("a").is_err());
    }
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "needs threads")]
fn threads_read_slices_of_one_member_concurrently() {
    let array = array();
    let folder = crate::support::temp::folder().unwrap();
    let path = write_archive(&folder, &compressed_archive(Compression::Deflated(1)));
    let npz = NpzFile::open(&path).unwrap();
    let member = npz.open_member("a").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (member, array) = (&member, &array);
            scope.spawn(move || {
                for row in (thread..ROWS).step_by(61) {
                    assert_eq!(member.slice::<u32, _>(s![row, ..]).unwrap(), array.row(row));
                }
            });
        }
    });
}

#[test]
fn reading_truncated_blocks_of_open_archive_is_an_error() {
    let folder = crate::support::temp::folder().unwrap();
    let bytes = compressed_archive(Compression::Deflated(1));
    let path = write_archive(&folder, &bytes);
    let npz = NpzFile::open(&path).unwrap();
    let member = npz.open_member("a").unwrap();
    let blocks = find_index(&bytes).blocks;
    File::options().write(true).open(&path).unwrap().set_len(blocks[3].start as u64 + 10).unwrap();
    assert_eq!(member.slice::<u32, _>(s![10, ..]).unwrap(), array().row(10));
    assert!(member.slice::<u32, _>(s![ROWS - 1, ..]).map(|_: Array1<u32>| ()).is_err());
    assert!(npz.read::<Array2<u32>>("a").is_err());
}

/// A false index costs neither memory nor time out of proportion to the archive.
#[test]
fn index_declaring_impossible_size_is_refused() {
    // A member of ten bytes whose directory entry and index declare 2^40 + 1, in two blocks that are not
    // valid.
    let (packed, size) = (10u64, (1u64 << 40) + 1);
    let mut field = vec![1, 40];
    field.extend([0; 4]);
    field.extend(size.to_le_bytes());
    field.extend(packed.to_le_bytes());
    for length in [9u32, 1] {
        field.extend(length.to_le_bytes());
        field.extend([0; 4]);
    }
    let mut extra = [1u16, 8].map(u16::to_le_bytes).concat();
    extra.extend(size.to_le_bytes());
    extra.extend(*b"nd");
    extra.extend((field.len() as u16).to_le_bytes());
    extra.extend(field);
    let local_extra = [&[1, 0, 16, 0][..], &size.to_le_bytes(), &packed.to_le_bytes()].concat();
    let record = |extra: &[u8]| {
        let mut record = [45u16, 0, 8, 0, 0x21].map(u16::to_le_bytes).concat();
        record.extend([0; 4]);
        let sizes = if extra == local_extra { [u32::MAX; 2] } else { [packed as u32, u32::MAX] };
        sizes.iter().for_each(|number| record.extend(number.to_le_bytes()));
        record.extend([5, 0]);
        record.extend((extra.len() as u16).to_le_bytes());
        record
    };
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(record(&local_extra));
    bytes.extend(b"a.npy");
    bytes.extend(&local_extra);
    bytes.extend([0; 10]);
    let start = bytes.len() as u32;
    bytes.extend(b"PK\x01\x02\x2d\x00");
    bytes.extend(record(&extra));
    bytes.extend([0; 14]);
    bytes.extend(b"a.npy");
    bytes.extend(extra);
    let len = bytes.len() as u32 - start;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend([len, start].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    let folder = crate::support::temp::folder().unwrap();
    let npz = NpzFile::open(write_archive(&folder, &bytes)).unwrap();
    assert_eq!(npz.members()[0].size(), size);
    assert!(npz.verify().is_err());
    assert!(npz.read::<DynArray>("a").is_err());
    assert!(npz.open_member("a").is_err());
}

/// The header's checksum is compared as well, although only a part is read.
#[test]
fn changed_header_is_reported_as_checksum_error() {
    let folder = crate::support::temp::folder().unwrap();
    let mut bytes = compressed_archive(Compression::Deflated(0));
    let at = bytes.windows(11).position(|text| text == b"(5000, 250)").unwrap();
    bytes[at..at + 11].copy_from_slice(b"(5000, 150)");
    let npz = NpzFile::open(write_archive(&folder, &bytes)).unwrap();
    assert!(npz.open_member("a").unwrap_err().message().starts_with("checksum mismatch"));
}

/// The limit applies to the data that is read, whether or not the index is right.
#[test]
fn payload_limit_counts_only_sliced_data() {
    let sound = compressed_archive(Compression::Deflated(1));
    let mut lying = sound.clone();
    let entries = find_index(&sound).entries;
    (0..4).for_each(|byte| lying.swap(entries[1].start + byte, entries[2].start + byte));
    for bytes in [sound, lying] {
        let folder = crate::support::temp::folder().unwrap();
        let path = write_archive(&folder, &bytes);
        let options = ReadOptions::new().limits(ndarray_io::Limits::default().payload(1 << 20));
        let npz = options.open_npz(&path).unwrap();
        let member = npz.open_member("a").unwrap();
        assert_eq!(member.slice::<u32, _>(s![2000..2010, ..]).unwrap(), array().slice(s![2000..2010, ..]));
        assert_eq!(npz.read::<Array2<u32>>("a").unwrap_err().kind(), ErrorKind::Limit);
    }
}

/// Rows in any order and columns are read correctly, without decompressing each block for each of them.
#[test]
fn random_row_and_column_access_to_member_is_correct() {
    let array = array();
    let folder = crate::support::temp::folder().unwrap();
    let path = write_archive(&folder, &compressed_archive(Compression::Deflated(1)));
    let npz = ReadOptions::new().threads(1).open_npz(&path).unwrap();
    let member = npz.open_member("a").unwrap();
    let rows: Vec<usize> = (0..3000).map(|number| number * 1777 % ROWS).collect();
    assert_eq!(member.take::<Array2<u32>>(0, &rows).unwrap(), array.select(ndarray::Axis(0), &rows));
    for (number, column) in member.chunks::<u32, Ix2>(1, 10).unwrap().enumerate() {
        assert_eq!(column.unwrap(), array.slice(s![.., 10 * number..10 * number + 10]));
    }
    for row in rows.iter().take(100) {
        assert_eq!(member.slice::<u32, _>(s![*row, ..]).unwrap(), array.row(*row));
    }
}
