//! Two processes at one file: the first is stopped before one of its system calls, the second runs to its end, and then the first
//! goes on. Whatever both have reported, the file is what the calls that succeeded make of it in one order or the other; and
//! a reader has seen the file as it was at some time. `docs/pairs.md` says what comes of each pair, and this test holds it.
//! Then one process alone: it is killed before each of its calls, and each of them fails in turn.
//!
//! Without a variable, up to eight system calls of each pair are tried. With NDARRAY_IO_PAIRS=all, each of them is, and with
//! NDARRAY_IO_UPDATE the table is written anew. The first process is stopped as a debugger does it, so that this runs on
//! Linux on x86-64 alone; elsewhere it says so.

#![allow(unsafe_code)] // ptrace, and maps of files that are the test's own

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod pairs {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::sync::Mutex;

    use ndarray::{Array2, Ix2, arr1, arr2, s};
    use ndarray_io::{
        Conversion, DynArray, NpyFile, NpyMmap, NpyMmapMut, NpyWriter, NpzUpdate, Order, Result, Surplus,
        WriteOptions, concatenate_npy, create_new_npy, make_room, read_npy, read_npz, write_npy, write_npz,
    };

    /// What is done to a file of three rows of two numbers.
    const NPY: &[&str] = &[
        "write",
        "create",
        "create new",
        "append",
        "make room",
        "convert",
        "map mut",
        "slab",
        "read",
        "slice",
        "map",
    ];
    /// What is done to an archive of one member.
    const NPZ: &[&str] = &["npz write", "npz update", "npz read"];
    /// Of these, the calls are more, and what two of them see of each other is the same.
    const SYNCED: &[&str] = &["write synced", "append synced"];
    /// The program, of which only the faults are tried.
    const NDIO: &[&str] = &["ndio convert FILE FILE --order fortran", "ndio convert FILE FILE --dtype f4"];
    const PROGRAM: Option<&str> = option_env!("CARGO_BIN_EXE_ndio");

    /// What changes nothing.
    const READERS: &[&str] = &["read", "slice", "map", "npz read"];

    /// What two begin with: if one of them makes a new file, with none.
    fn prepare(path: &Path, first: &str, second: &str) {
        let _ = fs::remove_file(path);
        match (first, second) {
            ("create new", _) | (_, "create new") => {}
            (first, _) if first.starts_with("npz") => write_npz(path, &[("a", &arr1(&[1u64]))]).unwrap(),
            _ => write_npy(path, &arr2(&[[1u64, 2], [3, 4], [5, 6]])).unwrap(),
        }
    }

    /// Does it, and says what a reader has seen. `number` tells two of a kind apart.
    fn act(what: &str, path: &Path, number: u64) -> Result<String> {
        let row = arr1(&[number, number]);
        match what {
            "write" => write_npy(path, &arr2(&[[number, number]]))?,
            "create" => {
                let mut writer = NpyWriter::create(path, &[2])?;
                writer.push(&row)?;
                writer.checkpoint()?;
                writer.push(&row)?;
                writer.finish()?;
            }
            "write synced" => {
                let options = WriteOptions::new().sync(true);
                ndarray_io::write_npy_with(path, &arr2(&[[number, number]]), &options)?;
            }
            "append synced" => {
                let options = WriteOptions::new().sync(true);
                NpyWriter::append_with(path, Surplus::Refuse, &options)?.push_and_finish(&row)?;
            }
            "create new" => create_new_npy(path, &arr2(&[[number]]))?,
            "append" => {
                NpyWriter::append(path)?.push_and_finish(&row)?;
            }
            "make room" => make_room(path)?,
            "convert" => {
                concatenate_npy(&[path, path], path, 0, Conversion::new().order(Order::C))?;
            }
            // SAFETY: the other process of the pair changes other elements, if any.
            "map mut" => unsafe {
                let mut map = NpyMmapMut::<u64, Ix2>::open(path)?;
                map.view_mut()[[0, 0]] = number;
                map.flush()?;
            },
            // SAFETY: as above.
            "slab" => unsafe {
                let mut map = NpyMmapMut::<u64, Ix2>::open_slab(path, 1..2)?;
                map.view_mut()[[0, number as usize % 2]] = number;
                map.flush()?;
            },
            "read" => return Ok(format!("{:?}", read_npy::<_, Array2<u64>>(path)?)),
            "slice" => {
                let file = NpyFile::open(path)?;
                return Ok(format!("{:?}", file.slice::<u64, _>(s![..;2, ..])?));
            }
            // SAFETY: nothing is read from the map while the other process runs.
            "map" => unsafe {
                let map = NpyMmap::<u64, Ix2>::open(path)?;
                return Ok(format!("{:?}", map.shape()));
            },
            "npz write" => write_npz(path, &[("x", &arr1(&[number]))])?,
            "npz update" => {
                NpzUpdate::open(path)?.add(&format!("b{number}"), &arr1(&[number]))?.finish()?;
            }
            "npz read" => return Ok(seen(path, true)),
            other => panic!("nothing is called {other}"),
        }
        Ok(String::new())
    }

    /// What is in a file.
    fn seen(path: &Path, is_archive: bool) -> String {
        match is_archive {
            true => format!(
                "{:?}",
                read_npz(path).map(|arrays| {
                    arrays.into_iter().map(|(name, array)| (name, array.to_string())).collect::<Vec<_>>()
                })
            ),
            false => match read_npy::<_, DynArray>(path) {
                Ok(array) => format!("{:?} {array}", array.shape()),
                Err(error) => format!("not an array: {error}"),
            },
        }
    }

    /// A system call that nothing else makes: between two of them is what the child does.
    fn mark() {
        // SAFETY: there is no such process, and the call has no other effect.
        unsafe { libc::syscall(libc::SYS_getpgid, MARK) };
    }

    const MARK: i64 = 0x4E44_4152;

    /// The child: does one thing, and says what came of it.
    pub(super) fn child(what: &str) {
        let path = PathBuf::from(std::env::var_os("NDARRAY_IO_PATH").unwrap());
        let number = std::env::var("NDARRAY_IO_NUMBER").unwrap().parse().unwrap();
        mark();
        let done = act(what, &path, number);
        mark();
        match done {
            Ok(seen) => print!("ok {seen}"),
            Err(error) => print!("error {error}"),
        }
    }

    fn start(what: &str, path: &Path, number: u64, is_traced: bool) -> Child {
        let mut command = match what.strip_prefix("ndio ") {
            Some(_) if PROGRAM.is_none() => panic!("the program is not built"),
            Some(verb) => {
                let mut program = Command::new(PROGRAM.unwrap_or_default());
                let words =
                    verb.split(' ').map(|word| if word == "FILE" { path.as_os_str() } else { word.as_ref() });
                program.args(words).stderr(Stdio::null());
                program
            }
            None => Command::new(std::env::current_exe().unwrap()),
        };
        command.env("NDARRAY_IO_CHILD", what).env("NDARRAY_IO_PATH", path);
        command.env("NDARRAY_IO_NUMBER", number.to_string()).stdout(Stdio::piped());
        if is_traced {
            let traced = || {
                // SAFETY: the call has no arguments that matter.
                match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            };
            // SAFETY: what is called between fork and exec allocates nothing and takes no lock.
            unsafe { command.pre_exec(traced) };
        }
        command.spawn().unwrap()
    }

    fn answer(child: &mut Child) -> String {
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }

    fn run(what: &str, path: &Path, number: u64) -> String {
        let mut child = start(what, path, number, false);
        let said = answer(&mut child);
        assert!(child.wait().unwrap().success(), "{what}: {said}");
        said
    }

    /// Waits until a traced child stops; `None` if it has ended.
    fn wait(child: &Child) -> Option<i32> {
        let mut status = 0;
        // SAFETY: the status lives until the call returns.
        let waited = unsafe { libc::waitpid(child.id() as i32, &raw mut status, 0) };
        assert!(waited > 0);
        libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status))
    }

    fn trace(request: libc::c_uint, child: &Child, data: usize) {
        // SAFETY: the child is this thread's to trace, and is stopped.
        let result = unsafe { libc::ptrace(request, child.id() as i32, 0, data) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    }

    /// The number of the system call that a child is about to make or has made, and its first argument.
    fn call(child: &Child) -> (i64, u64) {
        // SAFETY: the structure is nothing but numbers, for which zero is valid.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        // SAFETY: the child is stopped, and the structure lives until the call returns.
        unsafe { libc::ptrace(libc::PTRACE_GETREGS, child.id() as i32, 0, &raw mut registers) };
        (registers.orig_rax as i64, registers.rdi)
    }

    /// A child that does something and is stopped before a system call of its own.
    struct Stopped {
        child: Child,
        said: std::process::ChildStdout,
        /// How many calls it has made by then.
        calls: usize,
        /// Whether it has come so far, and not to its end.
        is_there: bool,
    }

    impl Stopped {
        fn before(what: &str, path: &Path, stop: usize) -> Self {
            let mut child = start(what, path, 100, true);
            let said = child.stdout.take().unwrap();
            assert_eq!(wait(&child), Some(libc::SIGTRAP));
            let options = (libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL) as usize;
            trace(libc::PTRACE_SETOPTIONS, &child, options);
            // The program says nothing of where its work begins: all of its calls count.
            let (mut marks, mut calls, mut enters) = (usize::from(what.starts_with("ndio")), 0, false);
            loop {
                trace(libc::PTRACE_SYSCALL, &child, 0);
                match wait(&child) {
                    None => return Self { child, said, calls, is_there: false },
                    Some(signal) if signal == libc::SIGTRAP | 0x80 => enters = !enters,
                    Some(_) => continue,
                }
                if !enters {
                    continue;
                }
                if call(&child) == (libc::SYS_getpgid, MARK as u64) {
                    marks += 1;
                    continue;
                }
                calls += usize::from(marks == 1);
                if marks == 1 && calls == stop {
                    return Self { child, said, calls, is_there: true };
                }
            }
        }

        /// Lets it go on, and says what it said.
        fn go_on(mut self) -> String {
            if self.is_there {
                trace(libc::PTRACE_DETACH, &self.child, 0);
            }
            self.end()
        }

        fn end(&mut self) -> String {
            let mut text = String::new();
            self.said.read_to_string(&mut text).unwrap();
            let _ = self.child.wait();
            text
        }

        /// Ends it without a chance to clean up.
        fn kill(mut self) {
            self.child.kill().unwrap();
            self.end();
        }

        /// Lets the call fail, which is not made; and lets it go on. Says which call it was as well.
        fn fail(self, error: i32) -> (i64, String) {
            // SAFETY: the structure is nothing but numbers, and the child is stopped.
            let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
            let mut change = |request, change: &dyn Fn(&mut libc::user_regs_struct)| {
                // SAFETY: as above.
                unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.child.id() as i32, 0, &raw mut registers) };
                let number = registers.orig_rax as i64;
                change(&mut registers);
                // SAFETY: as above.
                unsafe { libc::ptrace(request, self.child.id() as i32, 0, &raw mut registers) };
                number
            };
            let number = change(libc::PTRACE_SETREGS, &|registers| registers.orig_rax = u64::MAX);
            trace(libc::PTRACE_SYSCALL, &self.child, 0);
            assert_eq!(wait(&self.child), Some(libc::SIGTRAP | 0x80));
            change(libc::PTRACE_SETREGS, &|registers| registers.rax = -i64::from(error) as u64);
            (number, self.go_on())
        }
    }

    /// What a file may be after the calls that succeeded, in one order or the other, and what may be seen on the way.
    struct Allowed {
        /// By which of the two succeeded.
        after: BTreeMap<(bool, bool), BTreeSet<String>>,
        /// What each of them may have seen, if it is a reader.
        seen: [BTreeSet<String>; 2],
    }

    fn allowed(first: &str, second: &str, path: &Path, is_archive: bool) -> Allowed {
        let mut after = BTreeMap::<_, BTreeSet<String>>::new();
        let mut views: [BTreeSet<String>; 2] = Default::default();
        let both = [(first, 100, 0), (second, 101, 1)];
        for (orders, succeeded) in [
            (vec![vec![]], (false, false)),
            (vec![vec![0]], (true, false)),
            (vec![vec![1]], (false, true)),
            (vec![vec![0, 1], vec![1, 0]], (true, true)),
        ] {
            for order in orders {
                prepare(path, first, second);
                let mut all_good = true;
                for &index in &order {
                    let (what, number, of) = both[index];
                    let said = run(what, path, number);
                    all_good &= said.starts_with("ok");
                    views[of].insert(said);
                }
                if all_good {
                    after.entry(succeeded).or_default().insert(seen(path, is_archive));
                }
            }
        }
        // A writer in place lets its rows be seen one by one: that is what its checkpoints are for.
        for (of, other) in [(0, second), (1, first)] {
            if other == "create" && READERS.contains(&both[of].0) {
                let number = if of == 0 { 101u64 } else { 100 };
                for rows in [0, 1] {
                    write_npy(path, &Array2::from_elem((rows, 2), number)).unwrap();
                    views[of].insert(run(both[of].0, path, both[of].1));
                }
            }
        }
        Allowed { after, seen: views }
    }

    /// Tries one pair; says what came of it.
    fn pair(first: &str, second: &str, folder: &Path, most: usize) -> (BTreeSet<&'static str>, usize) {
        let is_archive = first.starts_with("npz");
        let path = folder.join(if is_archive { "a.npz" } else { "a.npy" });
        let allowed = allowed(first, second, &path, is_archive);
        prepare(&path, first, second);
        let calls = count_calls(first, &path);
        let mut outcomes = BTreeSet::new();
        let mut tried = 0;
        for stop in (1..=calls).step_by(calls.div_ceil(most).max(1)) {
            prepare(&path, first, second);
            let stopped = Stopped::before(first, &path, stop);
            assert!(stopped.is_there, "{first} makes {calls} calls, and not {stop}");
            let two = run(second, &path, 101);
            let one = stopped.go_on();
            let place = format!("'{first}' stopped before call {stop} of {calls}, then '{second}'");
            let succeeded = (one.starts_with("ok"), two.starts_with("ok"));
            for (said, what, views) in [(&one, first, &allowed.seen[0]), (&two, second, &allowed.seen[1])] {
                let is_fine = !READERS.contains(&what) || said.starts_with("error") || views.contains(said);
                assert!(is_fine, "{place}: '{what}' has seen {said}\nand not one of {views:#?}");
            }
            let found = seen(&path, is_archive);
            let is_fine = allowed.after.get(&succeeded).is_some_and(|after| after.contains(&found));
            assert!(is_fine, "{place}: {one}; {two}; the file is {found}\nand not {:#?}", allowed.after);
            let left: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(left.len() <= 1, "{place}: {left:?}");
            outcomes.insert(match succeeded {
                (true, true) => "both",
                (true, false) => "first",
                (false, true) => "second",
                (false, false) => "neither",
            });
            tried += 1;
        }
        (outcomes, tried)
    }

    fn count_calls(what: &str, path: &Path) -> usize {
        let mut stopped = Stopped::before(what, path, usize::MAX);
        stopped.end();
        assert!(stopped.calls > 0, "{what} makes no calls");
        stopped.calls
    }

    /// What may be in the file when something has been broken off: what was there, what should come of it, and of writers in
    /// place what they make of it step by step.
    /// The second value is what it is at the end.
    fn broken_off(what: &str, path: &Path) -> (BTreeSet<String>, String) {
        prepare(path, what, what);
        let is_archive = what.starts_with("npz");
        let mut states = BTreeSet::from([committed(path, is_archive)]);
        run(what, path, 100);
        let done = committed(path, is_archive);
        states.insert(done.clone());
        if what == "create" {
            states.insert("not an array".into()); // truncated, and without a header yet
            for rows in [0, 1] {
                write_npy(path, &Array2::from_elem((rows, 2), 100u64)).unwrap();
                states.insert(committed(path, is_archive));
            }
        }
        (states, done)
    }

    /// What counts in a file: rows after the array do not.
    fn committed(path: &Path, is_archive: bool) -> String {
        if is_archive {
            return seen(path, true);
        }
        match NpyFile::open(path).and_then(|file| file.read::<DynArray>()) {
            Ok(array) => format!("{:?} {array}", array.shape()),
            Err(error) if error.is_io() => "no file".into(),
            Err(_) => "not an array".into(),
        }
    }

    /// Kills a process before each of its calls, and lets each fail in turn: the file is what it was or what it should become,
    /// and what a killed process has left beside it goes with the next change. Says how many calls were tried.
    fn faults(what: &str, folder: &Path, most: usize) -> usize {
        let is_archive = what.starts_with("npz");
        let path = folder.join(if is_archive { "a.npz" } else { "a.npy" });
        let (allowed, done) = broken_off(what, &path);
        prepare(&path, what, what);
        let calls = count_calls(what, &path);
        let check = |place: &str| {
            let found = committed(&path, is_archive);
            assert!(allowed.contains(&found), "{place}: the file is {found}\nand not one of {allowed:#?}");
            let other = folder.join("other.npy");
            write_npy(&other, &arr1(&[1u8])).unwrap();
            write_npy(&other, &arr1(&[2u8])).unwrap();
            fs::remove_file(&other).unwrap();
            let left: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(left.len() <= 1, "{place}: {left:?} are left");
            found
        };
        let mut tried = 0;
        for stop in (1..=calls).step_by(calls.div_ceil(most).max(1)) {
            prepare(&path, what, what);
            Stopped::before(what, &path, stop).kill();
            check(&format!("'{what}' killed before call {stop} of {calls}"));
            for error in [libc::EIO, libc::ENOSPC, libc::EACCES, libc::EINTR] {
                prepare(&path, what, what);
                let stopped = Stopped::before(what, &path, stop);
                // Without random numbers the standard library's maps cannot be made: it panics.
                if call(&stopped.child).0 == libc::SYS_getrandom {
                    stopped.kill();
                    continue;
                }
                let (number, said) = stopped.fail(error);
                let place =
                    format!("'{what}', call {stop} of {calls} (number {number}) fails with {error}: {said}");
                let found = check(&place);
                if what.starts_with("ndio") {
                    continue; // before the program has begun, a fault is the system's to report
                }
                assert!(said.starts_with("ok") || said.starts_with("error"), "{place}");
                assert!(
                    !said.starts_with("ok") || found == done,
                    "{place}: the file is {found}, and not {done}"
                );
                const RETRIED: &[i64] = &[
                    libc::SYS_openat,
                    libc::SYS_read,
                    libc::SYS_pread64,
                    libc::SYS_write,
                    libc::SYS_pwrite64,
                    libc::SYS_fallocate,
                    libc::SYS_ftruncate,
                    libc::SYS_fsync,
                    libc::SYS_fdatasync,
                    libc::SYS_fcntl,
                ];
                if error == libc::EINTR && RETRIED.contains(&number) {
                    assert!(said.starts_with("ok"), "{place}");
                }
            }
            tried += 5;
        }
        tried
    }

    pub(super) fn all() {
        let is_full = std::env::var_os("NDARRAY_IO_PAIRS").is_some_and(|which| which == "all");
        let most = if is_full { usize::MAX } else { 8 };
        let kinds = [NPY, NPZ];
        let work: Vec<(&str, &str)> = kinds
            .iter()
            .flat_map(|kind| kind.iter().flat_map(|first| kind.iter().map(move |second| (*first, *second))))
            .collect();
        let queue = Mutex::new(work.iter());
        let found = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let Some((first, second)) = queue.lock().unwrap().next() else { return };
                        let folder = tempfile::tempdir().unwrap();
                        let outcome = pair(first, second, folder.path(), most);
                        found.lock().unwrap().insert((*first, *second), outcome);
                    }
                });
            }
        });
        let found = found.into_inner().unwrap();
        let queue = Mutex::new(
            NPY.iter()
                .chain(NPZ)
                .chain(SYNCED)
                .chain(NDIO.iter().filter(|_| PROGRAM.is_some()))
                .filter(|what| !READERS.contains(what)),
        );
        let faults_tried = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let Some(what) = queue.lock().unwrap().next() else { return };
                        let folder = tempfile::tempdir().unwrap();
                        let tried = faults(what, folder.path(), most);
                        faults_tried.fetch_add(tried, std::sync::atomic::Ordering::Relaxed);
                    }
                });
            }
        });
        let faults_tried = faults_tried.into_inner();
        check_table(&work, &found, faults_tried, is_full);
        let stops: usize = found.values().map(|(_, tried)| tried).sum();
        println!(
            "{} pairs of processes at one file, {stops} stops; {faults_tried} kills and faults",
            work.len()
        );
    }

    type Found<'a> = BTreeMap<(&'a str, &'a str), (BTreeSet<&'static str>, usize)>;

    /// The table of the documentation says which calls may succeed.
    fn check_table(work: &[(&str, &str)], found: &Found<'_>, faults: usize, is_full: bool) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pairs.md");
        let rows: Vec<String> = work
            .iter()
            .map(|pair| {
                let outcomes: Vec<&str> = found[pair].0.iter().copied().collect();
                format!("| {} | {} | {} |", pair.0, pair.1, outcomes.join(", "))
            })
            .collect();
        if is_full && std::env::var_os("NDARRAY_IO_UPDATE").is_some() {
            let text = fs::read_to_string(&path).unwrap();
            let head = text.split("\n| first |").next().unwrap();
            let stops: usize = found.values().map(|(_, tried)| tried).sum();
            let table = format!("\n| first | second | succeed |\n|---|---|---|\n{}\n", rows.join("\n"));
            fs::write(
                &path,
                format!(
                    "{head}{table}\n{stops} stops, and {faults} kills and faults of one process alone.\n"
                ),
            )
            .unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        for ((first, second), (outcomes, _)) in found {
            let start = format!("| {first} | {second} | ");
            let row = text
                .lines()
                .find_map(|line| line.strip_prefix(&start))
                .unwrap_or_else(|| panic!("no row {start}"));
            let known: BTreeSet<&str> = row.trim_end_matches(" |").split(", ").collect();
            let is_held = if is_full { known == *outcomes } else { outcomes.is_subset(&known) };
            assert!(is_held, "{start}{known:?} in docs/pairs.md, and {outcomes:?} were found");
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    match std::env::var("NDARRAY_IO_CHILD") {
        Ok(what) => pairs::child(&what),
        Err(_) => pairs::all(),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("pairs: not run here: processes are stopped on Linux on x86-64 alone");
}
