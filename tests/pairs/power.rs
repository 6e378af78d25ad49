//! Simulates power loss: the writes of a process are recorded, and at each moment those that are not yet
//! synced are lost in part, in each way that a disk may lose them. The result must be the old array, the new
//! one, or that of a commit.
//!
//! A write consists of sectors of 512 bytes, each of which may be lost separately; so may a file's length and
//! the names in a folder. Syncing a file protects earlier writes to it; syncing a folder protects its names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::act::{COMMIT_ARGUMENT, MARK_ARGUMENT, operation_path, prepare_file};
use crate::faults::{committed_contents, states_after_interruption};
use crate::random::Random;
use crate::stop::{StoppedChild, registers, run_to_next_stop};

const SECTOR_LEN: u64 = 512;

/// A recorded operation that power loss could undo, or that protects others. Files are identified by inode.
#[derive(Clone, Debug)]
enum Event {
    Write {
        file: u64,
        at: u64,
        bytes: Vec<u8>,
    },
    Length {
        file: u64,
        len: u64,
    },
    Name {
        file: u64,
        name: String,
    },
    SyncFile(u64),
    SyncFolder,
    /// A commit has returned: the rows that it counts must survive.
    Commit,
}

/// Records the events of a process between its two marks.
fn record_events(what: &str, path: &Path) -> Vec<Event> {
    let stopped = StoppedChild::stop_before_call(what, path, 1);
    let pid = stopped.child.id();
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let text = |at: u64| -> String {
        let mut bytes = vec![0; 4096];
        let count = memory.read_at(&mut bytes, at).unwrap();
        let end = bytes[..count].iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    };
    let number = |descriptor: u64| {
        fs::metadata(format!("/proc/{pid}/fd/{descriptor}")).map(|file| (file.ino(), file.is_dir()))
    };
    let name_of = |path: &str| Path::new(path).file_name().unwrap().to_str().unwrap().to_owned();
    let mut numbers = BTreeMap::new(); // inode by name, as the process sees them
    numbers.extend(inodes_by_name(path));
    let mut events = Vec::new();
    loop {
        // The process is stopped at the entry of a call, then at its exit.
        let before = registers(&stopped.child);
        if (before.orig_rax as i64, before.rdi) == (libc::SYS_getpgid, MARK_ARGUMENT as u64) {
            stopped.continue_to_end();
            return events;
        }
        assert!(run_to_next_stop(&stopped.child), "{what} has ended without its second mark");
        let after = registers(&stopped.child);
        let (result, arguments) =
            (after.rax as i64, [before.rdi, before.rsi, before.rdx, before.r10, before.r8]);
        match before.orig_rax as i64 {
            libc::SYS_getpgid if arguments[0] == COMMIT_ARGUMENT as u64 => events.push(Event::Commit),
            _ if result < 0 => {}
            libc::SYS_write | libc::SYS_pwrite64 => {
                let (file, is_folder) = number(arguments[0]).unwrap();
                assert!(!is_folder);
                let mut bytes = vec![0; result as usize];
                memory.read_exact_at(&mut bytes, arguments[1]).unwrap();
                let at = match before.orig_rax as i64 {
                    libc::SYS_pwrite64 => arguments[3],
                    _ => {
                        let info =
                            fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", arguments[0])).unwrap();
                        let position = info.lines().find_map(|line| line.strip_prefix("pos:")).unwrap();
                        position.trim().parse::<u64>().unwrap() - result as u64
                    }
                };
                events.push(Event::Write { file, at, bytes });
            }
            libc::SYS_ftruncate => {
                events.push(Event::Length { file: number(arguments[0]).unwrap().0, len: arguments[1] });
            }
            libc::SYS_fsync | libc::SYS_fdatasync => events.push(match number(arguments[0]).unwrap() {
                (_, true) => Event::SyncFolder,
                (file, false) => Event::SyncFile(file),
            }),
            libc::SYS_linkat => {
                let descriptor = name_of(&text(arguments[1])).parse().unwrap();
                let (file, name) = (number(descriptor).unwrap().0, text(arguments[3]));
                numbers.insert(name.clone(), file);
                events.push(Event::Name { file, name });
            }
            libc::SYS_renameat | libc::SYS_renameat2 => {
                let (from, name) = (text(arguments[1]), text(arguments[3]));
                let file = numbers.remove(&from).expect("a file that is renamed was named before");
                numbers.insert(name.clone(), file);
                events.push(Event::Name { file, name });
            }
            libc::SYS_openat if arguments[2] as i32 & libc::O_CREAT != 0 => {
                let (file, name) = (number(result as u64).unwrap().0, name_of(&text(arguments[1])));
                if numbers.insert(name.clone(), file).is_none() {
                    events.push(Event::Name { file, name });
                }
            }
            libc::SYS_rename | libc::SYS_link | libc::SYS_copy_file_range | libc::SYS_sendfile => {
                panic!("the recorder does not know call {}", before.orig_rax)
            }
            _ => {}
        }
        assert!(run_to_next_stop(&stopped.child), "{what} has ended without its second mark");
    }
}

/// Returns the inodes of a file, or of the files in a folder, by name.
fn inodes_by_name(path: &Path) -> BTreeMap<String, u64> {
    let of = |path: &Path| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::metadata(path).unwrap().ino())
    };
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| of(&entry.unwrap().path())).collect(),
        Err(_) => path.exists().then(|| of(path)).into_iter().collect(),
    }
}

/// A part of an event that is lost or kept separately.
#[derive(Clone)]
enum Piece {
    Bytes { file: u64, at: u64, bytes: Vec<u8> },
    Length { file: u64, len: u64 },
    Name { file: u64, name: String },
}

/// Splits events into pieces, in order, each with whether it may be lost.
fn pieces(events: &[Event]) -> Vec<(Piece, bool)> {
    let mut pieces = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let later = &events[index..];
        let synced =
            |file: u64| later.iter().any(|event| matches!(event, Event::SyncFile(synced) if *synced == file));
        let named = later.iter().any(|event| matches!(event, Event::SyncFolder));
        match event {
            Event::Write { file, at, bytes } => {
                let may_be_lost = !synced(*file);
                let mut done = 0;
                while done < bytes.len() as u64 {
                    let at = at + done;
                    let len = (SECTOR_LEN - at % SECTOR_LEN).min(bytes.len() as u64 - done);
                    let part = bytes[done as usize..(done + len) as usize].to_vec();
                    pieces.push((Piece::Bytes { file: *file, at, bytes: part }, may_be_lost));
                    done += len;
                }
            }
            Event::Length { file, len } => {
                pieces.push((Piece::Length { file: *file, len: *len }, !synced(*file)))
            }
            Event::Name { file, name } => {
                pieces.push((Piece::Name { file: *file, name: name.clone() }, !named))
            }
            Event::SyncFile(_) | Event::SyncFolder | Event::Commit => {}
        }
    }
    pieces
}

/// Returns sets of lost pieces: all subsets if there are few; otherwise every suffix, every one or two, and a
/// random sample.
fn all_or_sampled_subsets(count: usize) -> Vec<Vec<bool>> {
    const MAX_EXHAUSTIVE_COUNT: usize = 12;
    if count <= MAX_EXHAUSTIVE_COUNT {
        return (0..1u32 << count)
            .map(|set| (0..count).map(|index| set >> index & 1 == 1).collect())
            .collect();
    }
    let prefixes = (0..=count).map(|kept| (0..count).map(|index| index >= kept).collect());
    let omitted = (0..count).flat_map(|one| {
        (one..count).map(move |two| (0..count).map(|index| index == one || index == two).collect())
    });
    let mut random = Random::new(0);
    let sample = (0..1000).map(move |_| (0..count).map(|_| random.below(2) == 0).collect());
    prefixes.chain(omitted).chain(sample).collect()
}

/// The contents of files by inode, and their inodes by name.
type FolderState = (BTreeMap<u64, Vec<u8>>, BTreeMap<String, u64>);

/// Writes the file, or the folder of files, as it is after power loss.
fn write_state_after_loss(
    pieces: &[(Piece, bool)],
    lost: &[bool],
    old: &FolderState,
    path: &Path,
    into: &Path,
) {
    let (mut files, mut names) = old.clone();
    let mut lost = lost.iter();
    for (piece, may_be_lost) in pieces {
        if *may_be_lost && *lost.next().unwrap() {
            continue;
        }
        match piece {
            Piece::Bytes { file, at, bytes } => {
                let content = files.entry(*file).or_default();
                let (at, end) = (*at as usize, *at as usize + bytes.len());
                content.resize(content.len().max(end), 0);
                content[at..end].copy_from_slice(bytes);
            }
            Piece::Length { file, len } => files.entry(*file).or_default().resize(*len as usize, 0),
            Piece::Name { file, name } => drop(names.insert(name.clone(), *file)),
        }
    }
    let content = |file: &u64| files.get(file).map_or(&[][..], Vec::as_slice);
    if path.is_dir() {
        let _ = fs::remove_dir_all(into);
        fs::create_dir(into).unwrap();
        for (name, file) in names.iter().filter(|(name, _)| !name.starts_with('.')) {
            fs::write(into.join(name), content(file)).unwrap();
        }
        return;
    }
    let _ = fs::remove_file(into);
    if let Some(file) = names.get(path.file_name().unwrap().to_str().unwrap()) {
        fs::write(into, content(file)).unwrap();
    }
}

/// Simulates power loss at each moment of an operation, in each way; returns the number of states checked.
pub(crate) fn check_losses(what: &str, folder: &Path) -> usize {
    let path = operation_path(folder, what);
    let after = path.with_file_name(format!("after.{}", path.extension().unwrap().to_str().unwrap()));
    let (allowed, done) = states_after_interruption(what, &path);
    prepare_file(&path, what, what);
    let names = inodes_by_name(&path);
    let read = |name: &String| if path.is_dir() { fs::read(path.join(name)) } else { fs::read(&path) };
    let contents = names.iter().map(|(name, file)| (*file, read(name).unwrap())).collect();
    let old: FolderState = (contents, names);
    let events = record_events(what, &path);
    assert!(events.iter().any(|event| matches!(event, Event::SyncFile(_))), "{what}: {events:?}");
    let mut states = 0;
    let mut promised: Option<BTreeSet<String>> = None;
    for end in 0..=events.len() {
        let pieces = pieces(&events[..end]);
        let count = pieces.iter().filter(|(_, may_be_lost)| *may_be_lost).count();
        if end > 0 && matches!(events[end - 1], Event::Commit) || end == events.len() {
            assert!(
                end < events.len() || count == 0,
                "{what}: {count} pieces could be lost after it has returned"
            );
            // Promised rows survive: nothing that happens later takes them away.
            write_state_after_loss(&pieces, &vec![false; count], &old, &path, &after);
            let now = committed_contents(&after);
            promised =
                Some(allowed.iter().filter(|state| row_count(state) >= row_count(&now)).cloned().collect());
        }
        for lost in all_or_sampled_subsets(count) {
            write_state_after_loss(&pieces, &lost, &old, &path, &after);
            let found = committed_contents(&after);
            let is_fine = promised.as_ref().unwrap_or(&allowed).contains(&found);
            assert!(
                is_fine,
                "{what}, after {end} of {events:#?}\nwith {lost:?} lost: {found}\nand not one of {allowed:#?}"
            );
            states += 1;
        }
    }
    write_state_after_loss(&pieces(&events), &[], &old, &path, &after);
    assert_eq!(committed_contents(&after), done, "{what}: all that it has done makes its array");
    states
}

/// Returns the number of rows of a state: `[9, 2] …` has nine.
fn row_count(state: &str) -> usize {
    state.trim_start_matches('[').split([',', ']']).next().and_then(|rows| rows.parse().ok()).unwrap_or(0)
}
