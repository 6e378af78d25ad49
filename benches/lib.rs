//! Races: several programs do the same work in alternating rounds.
//!
//! The usual harnesses run one function to the end before the next, and cannot measure another process. These
//! machines are shared and their speed drifts within seconds, so only alternating rounds can be compared, and
//! NumPy is one of the competitors. In each round, every runner works once (small work is repeated many
//! times). The results are the medians, and their ratios to the median of this library.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A Python process that does work with NumPy on demand, and reports how long it took.
pub struct NumPy {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    pub version: String,
}

impl NumPy {
    /// Starts `numpy_side.py` with the interpreter in `PYTHON`, or with `python3`. `None` if it has no NumPy.
    pub fn start() -> Option<Self> {
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/numpy_side.py");
        let mut command = Command::new(python);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (to, from) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut numpy = Self { child, to, from, version: String::new() };
        numpy.version = numpy.answer().filter(|version| !version.is_empty())?;
        Some(numpy)
    }

    /// From now on, times are those of the processor.
    pub fn count_processor_time(&mut self) {
        self.time("let clock = time.process_time", 1);
    }

    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        self.from.read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    }

    /// Runs the work in NumPy `times` times; returns the mean time.
    pub fn time(&mut self, work: &str, times: u32) -> Duration {
        writeln!(self.to, "{times} {work}").expect("NumPy's side listens");
        let seconds: f64 = self.answer().expect("NumPy's side answers").parse().expect("it answers a number");
        Duration::from_secs_f64(seconds / f64::from(times))
    }
}

impl Drop for NumPy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the time of some work, without dropping its result.
pub fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let made = black_box(work());
    let time = start.elapsed();
    drop(made);
    time
}

/// Measures the processor time of some work, in all threads and in processes that it has waited for.
pub fn cpu_timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = cpu_time();
    let made = black_box(work());
    let time = cpu_time() - start;
    drop(made);
    time
}

#[cfg(unix)]
fn cpu_time() -> Duration {
    let times = |who| {
        // SAFETY: `getrusage` fills the struct, for which zeros are valid.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, 1000 * time.tv_usec as u32);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    times(libc::RUSAGE_SELF) + times(libc::RUSAGE_CHILDREN)
}

/// Elsewhere, the time that has passed.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Returns the mean time of small work that is repeated many times.
pub fn timed_small<T>(mut work: impl FnMut() -> T) -> Duration {
    const TIMES: u32 = 20_000;
    timed(|| (0..TIMES).for_each(|_| drop(black_box(work())))) / TIMES
}

type Runner<'a> = (&'static str, Box<dyn FnMut() -> Duration + 'a>);

/// Some work, and its runners. The first runner is this library.
pub struct Race<'a> {
    work: String,
    runners: Vec<Runner<'a>>,
}

impl<'a> Race<'a> {
    pub fn new(work: impl Into<String>) -> Self {
        Self { work: work.into(), runners: Vec::new() }
    }

    pub fn runner(mut self, name: &'static str, run: impl FnMut() -> Duration + 'a) -> Self {
        self.runners.push((name, Box::new(run)));
        self
    }

    /// Runs this many rounds after a warm-up, and prints a row of a Markdown table for each runner.
    pub fn run(mut self, rounds: usize) {
        if std::env::args().nth(1).is_some_and(|filter| filter != "--bench" && !self.work.contains(&filter)) {
            return;
        }
        let mut times = vec![Vec::new(); self.runners.len()];
        for round in 0..=rounds {
            // The order of the runners changes, because the caches and pending writes of one affect the next.
            for place in 0..self.runners.len() {
                let index = (round + if round % 2 == 0 { place } else { self.runners.len() - 1 - place })
                    % self.runners.len();
                let time = (self.runners[index].1)();
                if round > 0 {
                    times[index].push(time);
                }
            }
        }
        let medians: Vec<Duration> = times
            .iter_mut()
            .map(|times| {
                times.sort();
                times[times.len() / 2]
            })
            .collect();
        for (((name, _), times), median) in self.runners.iter().zip(&times).zip(&medians) {
            let mut row = String::new();
            let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
            let _ = write!(row, "| {} | {name} | {} | {} | ", self.work, shown(times[0]), shown(*median));
            println!("{row}{ratio:.2} × |");
        }
    }
}

fn shown(time: Duration) -> String {
    match time.as_nanos() {
        0..10_000 => format!("{} ns", time.as_nanos()),
        10_000..1_000_000 => format!("{:.1} µs", time.as_secs_f64() * 1e6),
        _ => format!("{:.2} ms", time.as_secs_f64() * 1e3),
    }
}

/// Prints the head of the table of results.
pub fn print_head(numpy: Option<&NumPy>) {
    println!("NumPy {}\n", numpy.map_or("is not there", |numpy| &numpy.version));
    println!("| work | who | least | median | of ours |\n|---|---|---|---|---|");
}
