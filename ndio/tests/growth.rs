//! Small files that promise much: what each verb writes is in proportion to what it reads, as `--max-growth` says, and so is its memory.

#![cfg(target_os = "linux")] // where the shell limits memory

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns an NPY file, of which the array may be longer than its data.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let len = u32::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x02\x00", &len[..], header.as_bytes(), data].concat()
}

/// Makes files, and returns how long each is, decompressed.
fn make_files(folder: &Path) -> Vec<(&'static str, u64)> {
    let fields: Vec<String> = (0..1000).map(|number| format!("('f{number}', '|V0')")).collect();
    // A list of one long text, again and again.
    let text = "x".repeat(100_000);
    let same = format!("(lV{text}\np0\na{}.", "g0\na".repeat(99_999));
    let archive = |name: &str, members: &[(&str, Vec<u8>)]| {
        let mut writer = zip::ZipWriter::new(fs::File::create(folder.join(name)).unwrap());
        for (name, content) in members {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut writer, content).unwrap();
        }
        writer.finish().unwrap();
    };
    let int = |number: i64| number.to_le_bytes();
    let matrix = [
        ("format.npy", npy("'|S3'", "()", b"coo")),
        ("shape.npy", npy("'<i8'", "(2,)", &[int(1 << 20), int(1 << 20)].concat())),
        ("row.npy", npy("'<i8'", "(1,)", &int(7))),
        ("col.npy", npy("'<i8'", "(1,)", &int(7))),
        ("data.npy", npy("'<f8'", "(1,)", &[0; 8])),
    ];
    archive("matrix.npz", &matrix);
    archive("zeros.npz", &[("zeros.npy", npy("'<f4'", "(400000,)", &vec![0; 1_600_000]))]);
    let tiny: Vec<(String, Vec<u8>)> =
        (0..3000).map(|number| (format!("{number}.npy"), npy("'|i1'", "()", &[0]))).collect();
    let tiny: Vec<(&str, Vec<u8>)> = tiny.iter().map(|(name, content)| (&**name, content.clone())).collect();
    archive("members.npz", &tiny);
    let plain = [
        ("fields.npy", npy(&format!("[{}]", fields.join(", ")), "(300000,)", b"")),
        ("same.npy", npy("'|O'", "(100000,)", same.as_bytes())),
        ("columns.npy", npy("'<f8'", "(1000000000, 0)", b"")),
        ("axes.npy", npy("'|i1'", &format!("({})", "2, ".repeat(20)), &vec![0; 1 << 20])),
        ("cells.npy", npy("[('a', '|V0', (1000000000,))]", "(1,)", b"")),
        ("lists.npy", npy("[('a', '<f8', (1000000000, 0))]", "(1,)", b"")),
        ("names.npy", npy(&format!("[('{}', '|i1')]", "n".repeat(10_000)), "(10000,)", &[0; 10_000])),
        ("empty.npy", npy("'|V0'", "(1000000,)", b"")),
        ("wide.csv", ("a\n".repeat(3000) + &"x".repeat(30_000)).into_bytes()),
        ("many.pkl", b"cos\nsystem\n.".repeat(100_000)),
        ("calls.pkl", [&b"(l"[..], &b"cos\nsystem\n(tRa".repeat(50_000), b"."].concat()),
    ];
    for (name, content) in &plain {
        fs::write(folder.join(name), content).unwrap();
    }
    let len = |name: &str| fs::metadata(folder.join(name)).unwrap().len();
    let mut files: Vec<_> = plain.iter().map(|(name, _)| (*name, len(name))).collect();
    files.extend([
        ("matrix.npz", len("matrix.npz")),
        ("members.npz", len("members.npz")),
        ("zeros.npz", 1_600_000),
    ]);
    files
}

/// Returns how many bytes the files of a folder have.
fn size_of(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| size_of(&entry.unwrap().path())).sum(),
        Err(_) => fs::metadata(path).map_or(0, |metadata| metadata.len()),
    }
}

#[test]
fn outputs_are_in_proportion_to_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let commands = [
        "info FILE",
        "info --json FILE",
        "info --stats FILE",
        "show FILE --allow-objects",
        "show --json FILE --allow-objects",
        "verify FILE",
        "verify --read FILE",
        "scan FILE",
        "scan --json FILE",
        "diff FILE FILE --allow-objects",
        "plot FILE",
        "plot FILE -o OUT.png",
        "split FILE --size 100 -o OUT",
        "unpack FILE -o OUT",
        "refs FILE -o OUT.json",
        "cat FILE FILE -o OUT.npy",
        "stack FILE FILE -o OUT.npy",
        "convert FILE OUT.npy --allow-objects",
        "convert FILE OUT.npy --dtype str",
        "convert FILE OUT.csv --allow-objects",
        "convert FILE OUT.npz --allow-objects",
        "convert FILE OUT.npz --sparse",
        "convert FILE OUT.ra",
        "convert FILE OUT.raw --to raw",
        "convert FILE OUT.safetensors",
    ];
    let (mut written_anything, mut failures) = (0, Vec::new());
    for (name, len) in make_files(folder.path()) {
        for command in commands {
            let out = tempfile::tempdir_in(folder.path()).unwrap();
            let place = out.path().join("x");
            let command = command.replace("FILE", name).replace("OUT", place.to_str().unwrap());
            let limited = format!("ulimit -v 2000000; exec timeout 60 \"$PROGRAM\" {command}");
            let mut shell = Command::new("sh");
            shell.args(["-c", &limited]).current_dir(folder.path());
            let done = shell.env("PROGRAM", env!("CARGO_BIN_EXE_ndio")).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(
                done.status.code().is_some_and(|code| code <= 2),
                "{command}: {}: {said:.300}",
                done.status
            );
            let written = (done.stdout.len() + done.stderr.len()) as u64 + size_of(out.path());
            if written > 64 * len + (2 << 20) {
                failures.push(format!("{command}: {written} bytes of {len}"));
            }
            written_anything += u32::from(written > 0);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(written_anything > 200);
}
