//! Objects, against NumPy, which runs the pickle: `cargo bench -p ndarray-io-benches --bench objects`.

use std::cell::RefCell;
use std::fs::{self, File};
use std::time::Duration;

use ndarray::Array1;
use ndarray_io::{PyValue, WriteNpyExt, read_npy, write_npy};
use ndarray_io_benches::{NumPy, Race, print_head, timed};

const COUNT: usize = 1_000_000;
const ROUNDS: usize = 7;

fn main() {
    let folder = std::env::temp_dir().join(format!("ndarray-io-objects-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let numpy = RefCell::new(NumPy::start());
    print_head(numpy.borrow().as_ref());
    let strings = Array1::from_shape_fn(COUNT, |index| PyValue::from(format!("item {index}")));
    let mixed = Array1::from_shape_fn(COUNT, |index| match index % 5 {
        0 => PyValue::from(index as i64 * 1000),
        1 => PyValue::from(index as f64 * 0.5),
        2 => PyValue::None,
        3 => PyValue::from(index % 2 == 0),
        _ => PyValue::from(format!("{index}")),
    });
    for (name, array) in [("1 M small strings", &strings), ("1 M mixed scalars", &mixed)] {
        let theirs = folder.join("numpy.npy");
        let ours = folder.join("ours.npy");
        write_npy(&ours, array).unwrap();
        let ask =
            |work: String| numpy.borrow_mut().as_mut().map_or(Duration::ZERO, |numpy| numpy.time(&work, 1));
        // NumPy's own file is the one to read: it has frames and a memo.
        ask(format!("let items = np.load({ours:?}, allow_pickle=True); np.save({theirs:?}, items)"));
        assert!(numpy.borrow().is_none() || read_npy::<_, Array1<PyValue>>(&theirs).unwrap() == *array);
        let mut race = Race::new(format!("read {name}"))
            .runner("ndarray-io", || timed(|| read_npy::<_, Array1<PyValue>>(&theirs).unwrap()));
        if numpy.borrow().is_some() {
            race = race.runner("numpy", || ask(format!("np.load({theirs:?}, allow_pickle=True)")));
        }
        race.run(ROUNDS);
        let mut race = Race::new(format!("write {name}"))
            .runner("ndarray-io", || timed(|| array.write_npy(File::create(&ours).unwrap()).unwrap()));
        if numpy.borrow().is_some() {
            race = race.runner("numpy", || ask(format!("np.save({ours:?}, items)")));
        }
        race.run(ROUNDS);
    }
    fs::remove_dir_all(&folder).unwrap();
}
