//! Rows that another process appends are printed as they come.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use ndarray::arr1;
use ndarray_io::NpyWriter;

/// A program that runs on, until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn appended_rows_are_printed_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let mut writer = NpyWriter::<f64, _>::append_or_create(&path, &[2]).unwrap();
    for row in [[1.0, 2.0], [3.5, f64::NAN]] {
        writer.push(&arr1(&row)).unwrap();
    }
    writer.finish().unwrap();
    let follow = |options: &[&str]| {
        let mut command = Command::new(super::PROGRAM);
        command.arg("show").arg("--follow").args(options).arg(&path).stdout(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let lines = BufReader::new(running.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        (running, lines)
    };
    let (_json, mut json) = follow(&["--json"]);
    let (_table, mut table) = follow(&["--tail", "1"]);
    assert_eq!([json.next().unwrap(), json.next().unwrap()], ["[1.0,2.0]", "[3.5,null]"]);
    assert_eq!([table.next().unwrap(), table.next().unwrap()], ["     0    1", "1  3.5  NaN"]);
    for number in 2..4 {
        let mut writer = NpyWriter::<f64, _>::append(&path).unwrap();
        writer.push(&arr1(&[f64::from(number), 0.25])).unwrap();
        writer.finish().unwrap();
        assert_eq!(json.next().unwrap(), format!("[{number}.0,0.25]"));
        assert_eq!(table.next().unwrap().split_whitespace().collect::<Vec<_>>().len(), 3);
    }
    // Another array in its place is an end.
    let said = follow(&[]);
    std::fs::remove_file(&path).unwrap();
    let (mut running, lines) = said;
    assert!(lines.count() <= 5);
    assert_eq!(running.0.wait().unwrap().code(), Some(2));
}
