//! Compares objects with NumPy, which executes the pickle.
//!
//! Run with `cargo bench -p ndarray-io-benches --bench objects`.
//!
//! Each measurement is a separate process, in alternating rounds: the time of Python's garbage collector
//! depends on what the process did before.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ndarray::Array1;
use ndarray_io::object::Object;
use ndarray_io::{read_npy, write_npy};

/// The kinds of objects: a name, the number of elements `n`, and the Python expression for them.
const KINDS: &[(&str, usize, &str)] = &[
    ("str", 1_000_000, "[f'item {i}' for i in range(n)]"),
    ("int", 1_000_000, "[i * 1000 for i in range(n)]"),
    ("float", 1_000_000, "[i * 0.5 for i in range(n)]"),
    ("None", 1_000_000, "[None] * n"),
    ("str, 4 distinct", 1_000_000, "[('red', 'green', 'blue', 'colourless')[i % 4] for i in range(n)]"),
    ("str of 40", 1_000_000, "[f'{i:040}' for i in range(n)]"),
    ("dict", 100_000, "[{'name': f'row {i}', 'size': i, 'weight': i / 3} for i in range(n)]"),
    ("tuple", 100_000, "[(f'row {i}', i, i / 3) for i in range(n)]"),
    (
        "datetime",
        100_000,
        "[datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=i) for i in range(n)]",
    ),
    (
        "datetime, zone",
        100_000,
        "[datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=i) for i in range(n)]",
    ),
    ("Decimal", 100_000, "[decimal.Decimal(i) / 8 for i in range(n)]"),
    ("named tuple", 100_000, "[statistics.LinearRegression(i, i / 3) for i in range(n)]"),
    (
        "dataclass",
        100_000,
        "[pstats.FunctionProfile(str(i), i / 3, 0.5, 0.1, 0.1, 'f.py', i) for i in range(n)]",
    ),
    ("nested list", 100_000, "[[[i, i + 1], [i * 0.5, [i]]] for i in range(n)]"),
    ("np.float64", 100_000, "[np.float64(i) for i in range(n)]"),
    ("small array", 100_000, "[np.arange(3.0) + i for i in range(n)]"),
];

const MAKE: &str = "
import sys, time, datetime, decimal, statistics, pstats
import numpy as np
what, path, kind, n = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
if what == 'read':
    start = time.perf_counter_ns()
    a = np.load(path, allow_pickle=True)
    print(time.perf_counter_ns() - start)
else:
    a = np.empty(n, dtype=object)
    a[:] = eval(kind) if 'np.arange' not in kind else [None] * n
    if 'np.arange' in kind:
        for i, item in enumerate(eval(kind)):
            a[i] = item
    start = time.perf_counter_ns()
    np.save(path, a)
    print(time.perf_counter_ns() - start)
";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, what, path, out] = &args[..]
        && (what == "read" || what == "write")
    {
        return measure_once(what, Path::new(path), Path::new(out));
    }
    let rounds = std::env::var("ROUNDS").map_or(15, |rounds| rounds.parse().unwrap());
    let only = std::env::var("ONLY").unwrap_or_default();
    let python = std::env::var("PYTHON").unwrap_or("python3".into());
    let folder = std::env::temp_dir().join(format!("ndarray-io-objects-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (theirs, ours) = (folder.join("numpy.npy"), folder.join("ours.npy"));
    println!("Medians of {rounds} rounds; > 1: ours is faster.\n");
    println!(
        "| objects | read | NumPy reads | ratio | write | NumPy writes | ratio | NumPy reads ours | of its own | file, of NumPy's |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, count, kind) in KINDS.iter().filter(|(name, ..)| name.contains(&only)) {
        let numpy = |what: &str, path: &Path| {
            let mut command = Command::new(&python);
            let command = command.args(["-c", MAKE, what]).arg(path).arg(kind).arg(count.to_string());
            nanoseconds(command)
        };
        let own = |what: &str, out: &Path| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            nanoseconds(command.arg(what).arg(&theirs).arg(out))
        };
        let mut all = [const { Vec::new() }; 5];
        for _ in 0..rounds {
            all[3].push(numpy("write", &theirs));
            all[0].push(own("read", &ours));
            all[1].push(numpy("read", &theirs));
            all[2].push(own("write", &ours));
            all[4].push(numpy("read", &ours));
        }
        let [read, numpy_reads, write, numpy_writes, numpy_reads_ours] = all.map(median);
        let len = |path: &Path| std::fs::metadata(path).unwrap().len() as f64;
        let ratio = |measure_once: Duration, two: Duration| measure_once.as_secs_f64() / two.as_secs_f64();
        println!(
            "| {count} {name} | {read:.1?} | {numpy_reads:.1?} | {:.2} | {write:.1?} | {numpy_writes:.1?} | {:.2} | {numpy_reads_ours:.1?} | {:.2} | {:.2} |",
            ratio(numpy_reads, read),
            ratio(numpy_writes, write),
            ratio(numpy_reads_ours, numpy_reads),
            len(&ours) / len(&theirs),
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Measures once, in this process.
fn measure_once(what: &str, path: &Path, out: &Path) {
    let start = Instant::now();
    let array: Array1<Object> = read_npy(path).unwrap();
    let mut taken = start.elapsed();
    if what == "write" {
        let start = Instant::now();
        write_npy(out, &array).unwrap();
        taken = start.elapsed();
    }
    println!("{}", taken.as_nanos());
}

fn nanoseconds(command: &mut Command) -> Duration {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let number =
        text.trim().parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    Duration::from_nanos(number)
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}
