//! The operations on files, the child processes that run them, and the resulting contents.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use ndarray::{Array1, Array2, Ix2, arr1, arr2, s};
use ndarray_io::NpyFileMut;
use ndarray_io::convert::{Conversion, concatenate_npy};
use ndarray_io::dask::{NpyStack, NpyStackWriter};
use ndarray_io::header::Order;
use ndarray_io::ra::{ReadRaExt, WriteRaExt, read_ra, write_ra};
use ndarray_io::{
    Compression, DType, DynArray, NpyFile, NpyMmap, NpyMmapMut, NpyWriter, NpzFile, NpzUpdate, ReadNpyExt,
    Record, Result, WriteArray, WriteNpyExt, WriteOptions, read_npy, read_npz, write_npy, write_npz,
};

/// Operations on an array of three rows of two numbers.
pub(crate) const NPY_OPERATIONS: &[&str] = &[
    "write",
    "create",
    "create new",
    "log new",
    "append or create",
    "append",
    "replace",
    "make room",
    "convert",
    "map mut",
    "slab",
    "exclusive",
    "read",
    "slice",
    "map",
];
/// Operations on an archive of one member.
pub(crate) const NPZ_OPERATIONS: &[&str] = &["npz write", "npz create new", "npz update", "npz read"];
/// Operations on an RA file.
pub(crate) const RA_OPERATIONS: &[&str] = &["ra write", "ra create new", "ra replace", "ra read"];
/// Operations on a stack of two parts.
pub(crate) const STACK_OPERATIONS: &[&str] = &["stack append", "stack read"];
/// Variants with syncing: they make more calls, but two of them interact in the same way.
pub(crate) const SYNCED_OPERATIONS: &[&str] = &[
    "npz write synced",
    "npz update synced",
    "ra write synced",
    "stack append synced",
    "write synced",
    "append synced",
    "append long synced",
    "create synced",
    "create new synced",
    "log new synced",
];

/// A record whose header is longer than a sector of 512 bytes. NumPy would put the first digit of the length
/// into the last byte of that sector.
#[derive(Clone, Copy, Record)]
pub(crate) struct LongNameRecord {
    #[record(
        rename = "a name of four hundred and forty-two letters, most of which are xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
    )]
    pub(crate) number: u64,
}
/// The program whose commands are operations: `ndio …`, where FILE, ARCHIVE or RAFILE is the file that it changes, and OTHER another one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
/// A file that commands read beside the one that they change.
static OTHER_FILE: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program, which is tested, and the other file that its commands read.
pub(crate) fn set_program(program: &str, other: &Path) {
    write_npy(other, &arr1(&[7u64, 8])).unwrap();
    PROGRAM.set(program.into()).unwrap();
    OTHER_FILE.set(other.to_owned()).unwrap();
}

/// Whether an operation is a command of the program.
pub(crate) fn is_program_command(what: &str) -> bool {
    what.starts_with("ndio ")
}

/// The operations that change nothing.
pub(crate) const READ_OPERATIONS: &[&str] = &["read", "slice", "map", "npz read", "ra read", "stack read"];

/// Returns the path that an operation works on.
pub(crate) fn operation_path(folder: &Path, what: &str) -> PathBuf {
    folder.join(match what {
        _ if what.starts_with("npz") || what.contains(" ARCHIVE") => "a.npz",
        _ if what.starts_with("ra") || what.contains(" RAFILE") => "a.ra",
        _ if what.starts_with("stack") => "a.stack",
        _ => "a.npy",
    })
}

/// Creates the initial file for two operations, or none if one of them creates a new file.
pub(crate) fn prepare_file(path: &Path, first: &str, second: &str) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    match (first, second) {
        ("stack create", _) | (_, "stack create") => {}
        (first, _) if first.starts_with("stack") => {
            let mut writer = NpyStackWriter::create(path, &DType::of::<u64>().unwrap(), &[2], 0).unwrap();
            writer.push(&arr2(&[[1u64, 2], [3, 4]])).unwrap();
            writer.push(&arr2(&[[5u64, 6]])).unwrap();
            writer.finish().unwrap();
        }
        (first, second)
            if [first, second]
                .iter()
                .any(|what| NEW_FILE_OPERATIONS.iter().any(|new| what.starts_with(new))) => {}
        ("append long synced", _) => write_long_records(path, &[1, 2, 3]),
        (first, _) if operation_path(path, first).ends_with("a.npz") => {
            write_npz(path, &[("a", &arr1(&[1u64]))]).unwrap()
        }
        (first, _) if operation_path(path, first).ends_with("a.ra") => {
            write_ra(path, &arr2(&[[1u64, 2], [3, 4], [5, 6]])).unwrap()
        }
        _ => write_npy(path, &arr2(&[[1u64, 2], [3, 4], [5, 6]])).unwrap(),
    }
}

/// Operations whose file grows as they write.
pub(crate) const GROWING_OPERATIONS: &[&str] = &["create", "log new", "append or create"];
/// Operations that begin without a file.
const NEW_FILE_OPERATIONS: &[&str] =
    &["create new", "log new", "append or create", "npz create new", "ra create new"];

/// Writes an array of long records with a writer.
pub(crate) fn write_long_records(path: &Path, numbers: &[u64]) {
    let mut writer = NpyWriter::create(path, &[]).unwrap();
    writer.extend(numbers.iter().map(|&number| LongNameRecord { number })).unwrap();
    writer.finish().unwrap();
}

/// Operations whose system calls are counted: each has a number of items, and works on a file that is prepared for them.
pub(crate) const COUNTED_OPERATIONS: &[&str] = &[
    "count: rows read in part",
    "count: rows written in part",
    "count: members that stay",
    "count: members removed",
    "count: members written",
    "count: members verified",
    "count: members read",
];

/// Creates the file for an operation whose system calls are counted.
pub(crate) fn prepare_counted_file(what: &str, path: &Path, items: usize) {
    let _ = fs::remove_file(path);
    if what.contains("rows") {
        return write_npy(path, &Array2::<u8>::zeros((items, 3))).unwrap();
    }
    let (item, names) = (arr1(&[1u64]), (0..items).map(|number| format!("{number}")).collect::<Vec<_>>());
    let arrays: Vec<(&str, &dyn WriteArray)> =
        names.iter().map(|name| (&name[..], &item as &dyn WriteArray)).collect();
    let options = WriteOptions::new().compression(Compression::DEFLATE);
    options.write_npz(path, &arrays).unwrap();
}

/// Runs an operation whose system calls are counted, on all items of a file.
fn run_counted_operation(what: &str, path: &Path) -> Result<()> {
    let new = arr1(&[2u64]);
    match what {
        "count: rows read in part" => {
            NpyFile::open(path)?.slice::<u8, _>(s![.., ..;2])?;
        }
        "count: rows written in part" => {
            let file = NpyFileMut::open_exclusive(path)?;
            let part = Array2::<u8>::ones((file.shape()[0], 2));
            file.write_slice(s![.., ..;2], &part)?;
        }
        "count: members that stay" => NpzUpdate::open(path)?.add("new", &new)?.finish()?,
        "count: members removed" => {
            let names = NpzFile::open(path)?.names()?;
            let mut update = NpzUpdate::open(path)?;
            for name in names.iter().step_by(2) {
                update.remove(name)?;
            }
            update.finish()?;
        }
        "count: members written" => {
            let names = NpzFile::open(path)?.names()?;
            let arrays: Vec<(&str, &dyn WriteArray)> =
                names.iter().map(|name| (&name[..], &new as &dyn WriteArray)).collect();
            write_npz(path, &arrays)?;
        }
        "count: members verified" => NpzFile::open(path)?.verify().map(drop)?,
        "count: members read" => {
            let npz = NpzFile::open(path)?;
            for name in npz.names()? {
                npz.read::<Array1<u64>>(&name)?;
            }
        }
        other => panic!("nothing is called {other}"),
    }
    Ok(())
}

/// Runs an operation and returns what a reader has seen. `number` tells two operations of a kind apart.
#[expect(clippy::too_many_lines, reason = "a list of operations")]
pub(crate) fn run_operation(what: &str, path: &Path, number: u64) -> Result<String> {
    let row = arr1(&[number, number]);
    match what {
        "write" => write_npy(path, &arr2(&[[number, number]]))?,
        "create" => {
            let mut writer = NpyWriter::create(path, &[2])?;
            writer.push(&row)?;
            writer.commit()?;
            writer.push(&row)?;
            writer.finish()?;
        }
        "write synced" => {
            let options = WriteOptions::new().sync(true);
            options.write_npy(path, &arr2(&[[number, number]]))?;
        }
        "append synced" => {
            let mut writer = WriteOptions::new().sync(true).append(path)?;
            for _ in 0..7 {
                // The length grows from one digit to two.
                writer.push(&row)?;
                writer.commit()?;
                mark_commit();
            }
            writer.finish()?;
        }
        "append long synced" => {
            let mut writer = WriteOptions::new().sync(true).append(path)?;
            for _ in 0..7 {
                writer.extend([LongNameRecord { number }])?;
                writer.commit()?;
                mark_commit();
            }
            writer.finish()?;
        }
        "create synced" => {
            let mut writer = WriteOptions::new().sync(true).create(path, &[2])?;
            writer.push(&row)?;
            writer.commit()?;
            mark_commit();
            writer.push(&row)?;
            writer.finish()?;
        }
        "create new synced" => {
            WriteOptions::new().sync(true).create_new(true).write_npy(path, &arr2(&[[number, number]]))?;
        }
        "create new" => WriteOptions::new().create_new(true).write_npy(path, &arr2(&[[number]]))?,
        "log new" | "log new synced" => {
            let options = WriteOptions::new().create_new(true).sync(what.ends_with("synced"));
            options.create(path, &[2])?.push_and_finish(&row)?;
        }
        "append or create" => {
            NpyWriter::append_or_create(path, &[2])?.push_and_finish(&row)?;
        }
        "replace" => {
            // Adds a row to what it has read.
            let old = WriteOptions::new().begin_replacement(path)?;
            let mut array = Array2::<u64>::read_npy(old.file())?;
            if array.push_row(row.view()).is_err() {
                array.fill(number); // it has one column
            }
            old.replace_with(|new| array.write_npy(new))?;
        }
        "append" => {
            NpyWriter::append(path)?.push_and_finish(&row)?;
        }
        "make room" => WriteOptions::new().grow_header(path)?,
        "convert" => {
            concatenate_npy(&[path, path], path, 0, Conversion::new().order(Order::C))?;
        }
        // SAFETY: one process of a pair is stopped while the other runs, so accesses are never concurrent.
        "map mut" => unsafe {
            let mut map = NpyMmapMut::<u64, Ix2>::open(path)?;
            map.view_mut()[[0, 0]] = number;
            map.sync()?;
        },
        // SAFETY: as above.
        "slab" => unsafe {
            let mut map = NpyMmapMut::<u64, Ix2>::open_slab(path, 1..2)?;
            map.view_mut()[[0, number as usize % 2]] = number;
            map.sync()?;
        },
        "zeros" => {
            let options = WriteOptions::new().preallocate(true);
            options.replace_file(path, |file| options.write_zeroed_npy::<u64, _>(file, (3, 2)))?;
        }
        "exclusive" => {
            // The second column, whose runs are written together with the first one.
            let file = NpyFileMut::open_exclusive(path)?;
            let rows = file.shape()[0];
            file.write_slice(s![.., 1], &Array1::from_elem(rows, number))?;
        }
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
        "npz create new" => {
            let options = WriteOptions::new().create_new(true);
            options.write_npz(path, &[("x", &arr1(&[number]))])?;
        }
        "ra write" => write_ra(path, &arr2(&[[number, number]]))?,
        "ra create new" => {
            let options = WriteOptions::new().create_new(true);
            options.write_ra(path, &arr2(&[[number, number]]))?;
        }
        "ra replace" => {
            let old = WriteOptions::new().begin_replacement(path)?;
            let mut array = Array2::<u64>::read_ra(old.file())?;
            array.push_row(row.view()).expect("rows of two numbers");
            old.replace_with(|new| array.write_ra(new))?;
        }
        "ra read" => return Ok(format!("{:?}", read_ra::<_, Array2<u64>>(path)?)),
        "npz write" => write_npz(path, &[("x", &arr1(&[number]))])?,
        "npz write synced" => {
            let options = WriteOptions::new().sync(true);
            options.write_npz(path, &[("x", &arr1(&[number])), ("y", &arr2(&[[number, 1], [2, 3]]))])?;
        }
        "npz update synced" => {
            let options = WriteOptions::new().sync(true);
            options.update_npz(path)?.add("b", &arr1(&[number]))?.finish()?;
        }
        "ra write synced" => {
            let options = WriteOptions::new().sync(true);
            options.write_ra(path, &arr2(&[[number, number]]))?;
        }
        "npz update" => {
            NpzUpdate::open(path)?.add(format!("b{number}"), &arr1(&[number]))?.finish()?;
        }
        "stack append" => {
            let mut writer = NpyStackWriter::append(path)?;
            writer.push(&arr2(&[[number, 0]]))?;
            writer.push(&arr2(&[[number, 1], [number, 2]]))?;
            writer.finish()?;
        }
        "stack append synced" => {
            let options = WriteOptions::new().sync(true);
            let mut writer = options.append_stack(path)?;
            for _ in 0..2 {
                writer.push(&arr2(&[[number, 1], [number, 2]]))?;
                writer.commit()?;
                mark_commit();
            }
            writer.finish()?;
        }
        "stack create" => {
            let mut writer = NpyStackWriter::create(path, &DType::of::<u64>()?, &[2], 0)?;
            writer.push(&arr2(&[[number, 0]]))?;
            writer.finish()?;
        }
        "stack read" => return Ok(format!("{:?}", NpyStack::open(path)?.read::<Array2<u64>>()?)),
        "npz read" => return Ok(contents_text(path)),
        other => run_counted_operation(other, path)?,
    }
    Ok(String::new())
}

/// Returns the contents of a file, an archive or a stack as text.
pub(crate) fn contents_text(path: &Path) -> String {
    let array = match path.extension().and_then(|extension| extension.to_str()) {
        Some("npz") => {
            let arrays = read_npz(path).map(|arrays| {
                arrays.into_iter().map(|(name, array)| (name, array.to_string())).collect::<Vec<_>>()
            });
            return format!("{arrays:?}");
        }
        Some("ra") => read_ra(path),
        Some("stack") => NpyStack::open(path).and_then(|stack| stack.read()),
        _ => read_npy::<_, DynArray>(path),
    };
    match array {
        Ok(array) => format!("{:?} {array}", array.shape()),
        Err(error) => format!("not an array: {error}"),
    }
}

/// Makes a system call that nothing else makes: the child's operation is between two of them.
pub(crate) fn mark_boundary() {
    // SAFETY: no process has this number, and the call has no other effect.
    unsafe { libc::syscall(libc::SYS_getpgid, MARK_ARGUMENT) };
}

pub(crate) const MARK_ARGUMENT: i64 = 0x4E44_4152;
/// The number of the call after which the rows counted by a commit must survive.
pub(crate) const COMMIT_ARGUMENT: i64 = MARK_ARGUMENT + 1;

fn mark_commit() {
    // SAFETY: as for `mark_boundary`.
    unsafe { libc::syscall(libc::SYS_getpgid, COMMIT_ARGUMENT) };
}

/// Runs one operation in the child and prints its result.
pub(crate) fn run_as_child(what: &str) {
    let path = PathBuf::from(std::env::var_os("NDARRAY_IO_PATH").unwrap());
    let number = std::env::var("NDARRAY_IO_NUMBER").unwrap().parse().unwrap();
    mark_boundary();
    let done = run_operation(what, &path, number);
    mark_boundary();
    match done {
        Ok(seen) => print!("ok {seen}"),
        Err(error) => print!("error {error}"),
    }
}

pub(crate) fn start_child(what: &str, path: &Path, number: u64, is_traced: bool) -> Child {
    let mut command = match what.strip_prefix("ndio ") {
        Some(verb) => {
            let mut program = Command::new(PROGRAM.get().expect("the program has been set"));
            let other = OTHER_FILE.get().expect("it is set with the program");
            program.args(verb.split(' ').map(|word| match word {
                "FILE" | "ARCHIVE" | "RAFILE" => path.as_os_str(),
                "OTHER" => other.as_os_str(),
                word => word.as_ref(),
            }));
            program.stderr(Stdio::null());
            program
        }
        None => Command::new(std::env::current_exe().unwrap()),
    };
    command.env("NDARRAY_IO_CHILD", what).env("NDARRAY_IO_PATH", path);
    command.env("NDARRAY_IO_NUMBER", number.to_string()).stdout(Stdio::piped());
    if is_traced {
        let traced = || {
            // SAFETY: the arguments of this call are ignored.
            match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: the code between fork and exec neither allocates nor takes a lock.
        unsafe { command.pre_exec(traced) };
    }
    command.spawn().unwrap()
}

/// Reads what a child says, to its end. Of the program, its exit code is the answer.
pub(crate) fn wait_for_result(what: &str, child: &mut Child, output: &mut ChildStdout) -> String {
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    match (child.wait(), is_program_command(what)) {
        (Ok(status), true) if status.success() => "ok".into(),
        (Ok(status), true) => format!("error: {status}"),
        _ => said, // a child that has been waited for has no status any more
    }
}

pub(crate) fn run_in_child(what: &str, path: &Path, number: u64) -> String {
    let mut child = start_child(what, path, number, false);
    let mut output = child.stdout.take().unwrap();
    let said = wait_for_result(what, &mut child, &mut output);
    assert!(said.starts_with("ok") || said.starts_with("error"), "{what}: {said}");
    said
}
