//! Progress callbacks, and canceling through them.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use ndarray::{Array1, Array2};
use ndarray_io::error::ErrorKind;
use ndarray_io::{DynArray, ReadOptions, Result, WriteOptions, read_npy, write_npy};

const PAYLOAD_LEN: u64 = 24 << 20;

/// The progress reports of an operation.
#[derive(Clone, Default)]
struct ProgressLog(Arc<Mutex<Vec<(u64, u64)>>>);

impl ProgressLog {
    /// Returns a callback that cancels at its `most`-th call.
    fn callback_cancelling_at(
        &self,
        most: usize,
    ) -> impl Fn(u64, u64) -> ControlFlow<()> + Send + Sync + 'static {
        let reports = Arc::clone(&self.0);
        move |done, all| {
            let mut reports = reports.lock().unwrap();
            reports.push((done, all));
            if reports.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    /// Checks that progress was reported often, strictly increased, and reached the total.
    fn assert_complete(&self, all: u64) {
        let reports = std::mem::take(&mut *self.0.lock().unwrap());
        assert!(reports.len() >= 8, "{reports:?}");
        assert!(reports.is_sorted_by(|one, other| one.0 < other.0), "{reports:?}");
        assert!(reports.iter().all(|(_, whole)| *whole == all), "{reports:?}");
        assert_eq!(reports.last().unwrap().0, all);
    }
}

struct UnseekableFile(File);

impl Read for UnseekableFile {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

type ReadFn<'a> = &'a dyn Fn(&ReadOptions) -> Result<()>;

#[test]
fn reads_report_progress_and_can_be_cancelled() {
    let path = crate::support::temp::file().unwrap().into_temp_path();
    write_npy(&path, &Array1::from_iter((0..PAYLOAD_LEN / 8).map(|number| number as f64))).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut ready = Array1::<f64>::zeros(PAYLOAD_LEN as usize / 8);
    let ready = Mutex::new(&mut ready);
    let ways: [(&str, ReadFn<'_>); 7] = [
        ("path", &|options| options.read_npy::<Array1<f64>>(&path).map(drop)),
        ("stream", &|options| options.read_from::<Array1<f64>>(UnseekableFile(File::open(&path)?)).map(drop)),
        ("slice", &|options| options.read_from::<Array1<f64>>(&bytes[..]).map(drop)),
        ("cast", &|options| {
            options.clone().casting(ndarray_io::Casting::Unsafe).read_npy::<Array1<f32>>(&path).map(drop)
        }),
        ("one thread", &|options| options.clone().threads(1).read_npy::<Array1<f64>>(&path).map(drop)),
        ("any type", &|options| options.read_npy::<DynArray>(&path).map(drop)),
        ("into", &|options| options.read_into(File::open(&path)?, &mut ready.lock().unwrap())),
    ];
    for (name, read) in ways {
        let reports = ProgressLog::default();
        read(&ReadOptions::new().progress(reports.callback_cancelling_at(usize::MAX)))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        reports.assert_complete(PAYLOAD_LEN);
        let error = read(&ReadOptions::new().progress(reports.callback_cancelling_at(2))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");
        assert!(reports.0.lock().unwrap().len() < 6, "{name}: it went on");
    }
}

#[test]
fn writes_report_progress_and_can_be_cancelled() {
    let folder = crate::support::temp::folder().unwrap();
    let path = folder.path().join("a.npy");
    let array = Array2::from_shape_fn((3 << 10, 1 << 10), |(row, column)| (row * column) as f64);
    let any = DynArray::new(&array).unwrap();
    type WriteFn<'a> = &'a dyn Fn(&WriteOptions) -> Result<()>;
    let ways: [(&str, WriteFn<'_>); 4] = [
        ("path", &|options| options.write_npy(&path, &array)),
        ("strided", &|options| {
            options.write_to(Cursor::new(Vec::new()), &array.slice(ndarray::s![..;-1, ..]))
        }),
        ("swapped", &|options| {
            let options = options.clone().byte_order(ndarray_io::ByteOrder::Big);
            options.write_to(Vec::new(), &array)
        }),
        ("any type", &|options| options.write_npy(&path, &any)),
    ];
    for (name, write) in ways {
        let reports = ProgressLog::default();
        write(&WriteOptions::new().progress(reports.callback_cancelling_at(usize::MAX)))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        reports.assert_complete(PAYLOAD_LEN + 128);
        let error = write(&WriteOptions::new().progress(reports.callback_cancelling_at(2))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{name}: {error}");
        assert!(reports.0.lock().unwrap().len() < 6, "{name}: it went on");
    }
    assert_eq!(read_npy::<_, Array2<f64>>(&path).unwrap(), array, "what was cancelled replaced nothing");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "and left nothing behind");
}

#[cfg(feature = "npz")]
#[test]
fn archive_members_report_progress() {
    use ndarray_io::{Compression, WriteOptions};
    let array = Array1::from_iter((0..PAYLOAD_LEN / 8).map(|number| number as f64));
    for compression in [Compression::Stored, Compression::Deflated(1)] {
        let reports = ProgressLog::default();
        let write = WriteOptions::new().progress(reports.callback_cancelling_at(usize::MAX));
        let mut npz = write.compression(compression).npz_writer(Vec::new()).unwrap();
        npz.add("a", &array).unwrap();
        reports.assert_complete(PAYLOAD_LEN + 128);
        let npz = npz.finish().unwrap();
        let options = ReadOptions::new().progress(reports.callback_cancelling_at(usize::MAX));
        let read: Array1<f64> = options.npz_reader(Cursor::new(npz)).unwrap().by_index(0).unwrap();
        assert_eq!(read, array);
        reports.assert_complete(PAYLOAD_LEN);
    }
}
