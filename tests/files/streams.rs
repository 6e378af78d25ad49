//! Readers and writers that fail, return wrong counts, or are interrupted, at each call of each operation in
//! turn.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use ndarray::{Array1, Array2, arr1, s};
use ndarray_io::ReadOptions;
use ndarray_io::header::Order;
use ndarray_io::ra::WriteRaExt;
use ndarray_io::{DynArray, NpyReader, NpyWriter, ReadNpyExt, Result, WriteNpyExt, WriteOptions};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Fails,
    Interrupted,
    /// Returns 0 without an error.
    ReturnsZero,
    /// Returns a larger count than was asked for.
    ReturnsTooMuch,
}

/// Bytes that can be read, written and sought, with a fault at one call.
struct FaultyStream {
    inner: Cursor<Vec<u8>>,
    calls: usize,
    fault: Option<(usize, Fault)>,
    /// Whether the fault was at a seek, which is not retried.
    failed_at_seek: bool,
}

impl FaultyStream {
    fn new(bytes: &[u8], fault: Option<(usize, Fault)>) -> Self {
        Self { inner: Cursor::new(bytes.to_vec()), calls: 0, fault, failed_at_seek: false }
    }

    fn injected_fault(&mut self, len: usize) -> Option<io::Result<usize>> {
        self.calls += 1;
        let (at, fault) = self.fault?;
        (at == self.calls).then(|| match fault {
            Fault::Fails => Err(io::Error::other("broken")),
            Fault::Interrupted => Err(io::ErrorKind::Interrupted.into()),
            Fault::ReturnsZero => Ok(0),
            Fault::ReturnsTooMuch => Ok(len + 1),
        })
    }
}

impl Read for FaultyStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(1000);
        self.injected_fault(into.len()).unwrap_or_else(|| self.inner.read(&mut into[..most]))
    }
}

impl Write for FaultyStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.injected_fault(bytes.len()).unwrap_or_else(|| self.inner.write(&bytes[..bytes.len().min(1000)]))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.injected_fault(0).map_or(Ok(()), |met| met.map(drop))
    }
}

impl Seek for FaultyStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self.injected_fault(0) {
            Some(Err(error)) => {
                self.failed_at_seek = true;
                Err(error)
            }
            _ => self.inner.seek(to),
        }
    }
}

fn array() -> Array2<f64> {
    Array2::from_shape_fn((40, 30), |(row, column)| (row * 30 + column) as f64)
}

/// An operation; returns what it has read as text, or nothing if it writes.
type Operation = fn(&mut FaultyStream) -> Result<String>;

fn npy_of_two_arrays() -> Vec<u8> {
    let mut bytes = Vec::new();
    array().write_npy(&mut bytes).unwrap();
    arr1(&["a".to_owned(), "bc".into()]).write_npy(&mut bytes).unwrap();
    bytes
}

fn ra() -> Vec<u8> {
    let mut bytes = Vec::new();
    array().write_ra(&mut bytes).unwrap();
    [&bytes[..], b"a note"].concat()
}

const NPY_READS: &[(&str, Operation)] = &[
    ("read", |file| Ok(format!("{:?}", Array2::<f64>::read_npy(file)?))),
    ("cast", |file| {
        let options = ndarray_io::ReadOptions::new().casting(ndarray_io::Casting::Unsafe);
        Ok(format!("{:?}", options.read_from::<Array2<i16>>(file)?))
    }),
    ("any", |file| Ok(DynArray::read_npy(file)?.to_string())),
    ("into", |file| {
        let mut into = Array2::<f64>::zeros((40, 60));
        ReadOptions::new().read_into(file, &mut into.slice_mut(s![.., ..;2]))?;
        Ok(format!("{into:?}"))
    }),
    ("in a row", |file| {
        let mut reader = NpyReader::new(file)?;
        let first: Array2<f64> = reader.read()?;
        if !reader.next_array()? {
            return Ok("one array".into());
        }
        let second: Array1<String> = reader.read()?;
        Ok(format!("{first:?} {second:?} {}", reader.next_array()?))
    }),
    ("skip", |file| {
        let mut reader = NpyReader::new(file)?;
        reader.skip()?;
        if !reader.next_array()? {
            return Ok("one array".into());
        }
        Ok(format!("{:?}", reader.read_bytes()?))
    }),
    ("slice", |file| Ok(format!("{:?}", NpyReader::new(file)?.slice::<f64, _>(s![..;3, 4..9])?))),
];

const RA_READS: &[(&str, Operation)] = &[("ra", |file| {
    let mut reader = ndarray_io::ReadOptions::new().ra_reader(file)?;
    let array: Array2<f64> = reader.read()?;
    Ok(format!("{array:?} {:?}", reader.trailing()?))
})];

const WRITES: &[(&str, Operation)] = &[
    ("write", |file| array().write_npy(file).map(|()| String::new())),
    ("write strided", |file| array().slice(s![..;-1, ..;2]).write_npy(file).map(|()| String::new())),
    ("write swapped", |file| {
        let options = WriteOptions::new().byte_order(ndarray_io::ByteOrder::Big).order(Order::Fortran);
        options.write_to(file, &array()).map(|()| String::new())
    }),
    ("write ra", |file| array().write_ra(file).map(|()| String::new())),
    ("rows", |file| {
        let mut writer = NpyWriter::new(file, &[30])?;
        for row in array().rows() {
            writer.push(&row)?;
            writer.commit()?;
        }
        writer.finish().map(|_| String::new())
    }),
    ("elements", |file| {
        let mut writer = NpyWriter::with_shape(file, (40, 30))?;
        writer.extend(array())?;
        writer.finish().map(|_| String::new())
    }),
    #[cfg(feature = "npz")]
    ("archive", |file| {
        let mut npz = ndarray_io::NpzWriter::new(file);
        npz.add("a", &array())?;
        npz.add_raw("b.txt", &b"some text"[..], 9)?;
        npz.finish().map(|_| String::new())
    }),
    #[cfg(feature = "npz")]
    ("deflated archive", |file| {
        let mut npz = ndarray_io::NpzWriter::new_compressed(file);
        npz.add("a", &array())?;
        npz.add("large", &Array1::from_shape_fn(40_000, |index| (index * index % 977) as f32))?;
        npz.finish().map(|_| String::new())
    }),
];

#[cfg(feature = "npz")]
fn npz() -> Vec<u8> {
    let mut npz = ndarray_io::NpzWriter::new_compressed(Vec::new());
    npz.add("a", &array()).unwrap();
    npz.add("large", &Array1::from_shape_fn(40_000, |index| (index * index % 977) as f32)).unwrap();
    npz.finish().unwrap()
}

#[cfg(feature = "npz")]
const NPZ_READS: &[(&str, Operation)] = &[("read archive", |file| {
    let mut npz = ndarray_io::NpzReader::new(file)?;
    let (a, large): (Array2<f64>, Array1<f32>) = (npz.read("a")?, npz.read("large")?);
    Ok(format!("{a:?} {} {:?}", large.sum(), npz.peek("a")?.header.shape()))
})];

/// Checks that each fault is an error or changes nothing, and that interrupted reads and writes are retried.
fn check_each_fault(operations: &[(&str, Operation)], bytes: &[u8]) -> usize {
    let mut tried = 0;
    for (name, operation) in operations {
        let mut sound = FaultyStream::new(bytes, None);
        let expected = operation(&mut sound).unwrap_or_else(|error| panic!("{name}: {error}"));
        let written = sound.inner.into_inner();
        assert!(sound.calls > 3, "{name} makes {} calls", sound.calls);
        for call in 1..=sound.calls {
            for fault in [Fault::Fails, Fault::Interrupted, Fault::ReturnsZero, Fault::ReturnsTooMuch] {
                let mut faulty = FaultyStream::new(bytes, Some((call, fault)));
                let done = operation(&mut faulty);
                let place = format!("{name}, call {call} of {}: {fault:?}", sound.calls);
                match done {
                    // A reader that returns 0 is at its end, which is allowed after an array.
                    Ok(_) if fault == Fault::ReturnsZero && !bytes.is_empty() => {}
                    Ok(found) => {
                        assert!(found == expected, "{place}: {found:.200}");
                        assert!(faulty.inner.get_ref() == &written, "{place}: other bytes");
                        // A failed read may have been repeated, but a failed write must be reported.
                        assert!(fault != Fault::Fails || !bytes.is_empty(), "{place}: it was not noticed");
                    }
                    Err(error) => {
                        assert!(error.is_io() || error.is_format(), "{place}: {error}");
                        assert!(fault != Fault::Interrupted || faulty.failed_at_seek, "{place}: {error}");
                    }
                }
                tried += 1;
            }
        }
    }
    tried
}

#[test]
fn fault_at_any_call_is_reported_or_harmless() {
    let tried = check_each_fault(NPY_READS, &npy_of_two_arrays())
        + check_each_fault(RA_READS, &ra())
        + check_each_fault(WRITES, &[]);
    #[cfg(feature = "npz")]
    let tried = tried + check_each_fault(NPZ_READS, &npz());
    assert!(tried > 1000, "{tried}");
}
