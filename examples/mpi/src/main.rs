//! Many ranks fill one NPY file, each with its own rows, and then read rows of other ranks:
//!
//!     cargo build --release && mpirun -n 4 target/release/ndarray-io-mpi field.npy 1000 2000
//!
//! Until all ranks have written and synced their rows, the file is called `field.npy.unfinished`. If a rank
//! dies, the file keeps that name, and an existing `field.npy` is not changed. `--die RANK` shows this.
//!
//! This requires a file system on which ranks see each other's writes to different parts of a file: see
//! `docs/scaling.md`.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

use mpi::collective::SystemOperation;
use mpi::traits::*;
use ndarray::{Array2, s};
use ndarray_io::NpyFileMut;
use ndarray_io::{NpyFile, write_zeroed_npy};

/// Returns the value of the field at a position, so that every reader can check it.
fn value(row: usize, column: usize) -> f64 {
    (1000 * row + column) as f64
}

/// Returns the rows of a rank, distributed as equally as possible.
fn rows_of(rank: usize, ranks: usize, rows: usize) -> std::ops::Range<usize> {
    rank * rows / ranks..(rank + 1) * rows / ranks
}

/// Returns an error on all ranks if one of them has failed, so that no rank waits for one that has failed.
fn check_all_ranks<C: Communicator>(
    world: &C,
    done: Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mine, mut all) = (done.is_ok(), false);
    world.all_reduce_into(&mine, &mut all, SystemOperation::logical_and());
    match (done, all) {
        (Err(error), _) => Err(error),
        (Ok(()), false) => Err("another rank has failed".into()),
        (Ok(()), true) => Ok(()),
    }
}

/// Creates the file, full of zeros. One rank does this before the others open the file.
fn create(path: &Path, rows: usize, columns: usize) -> Result<(), Box<dyn Error>> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    write_zeroed_npy::<f64, _>(&file, (rows, columns))?;
    Ok(file.sync_all()?)
}

/// Writes this rank's rows, a few at a time, as a simulation would.
fn fill(path: &Path, rows: std::ops::Range<usize>, columns: usize) -> Result<(), Box<dyn Error>> {
    const BLOCK_ROWS: usize = 64;
    // Several processes can open the file in this way. Another one cannot append to it or replace it:
    // `Locked`.
    let file = NpyFileMut::open(path)?;
    for first in rows.clone().step_by(BLOCK_ROWS) {
        let last = (first + BLOCK_ROWS).min(rows.end);
        let block =
            Array2::from_shape_fn((last - first, columns), |(row, column)| value(first + row, column));
        file.write_slice(s![first as isize..last as isize, ..], &block)?;
    }
    Ok(file.sync()?)
}

/// Reads and checks the rows that another rank has written.
fn check(path: &Path, rows: std::ops::Range<usize>) -> Result<(), Box<dyn Error>> {
    let file = NpyFile::open(path)?;
    let part: Array2<f64> = file.slice(s![rows.start as isize..rows.end as isize, ..])?;
    let is_right =
        part.indexed_iter().all(|((row, column), found)| *found == value(rows.start + row, column));
    if is_right { Ok(()) } else { Err(format!("rows {rows:?} are not what their rank has written").into()) }
}

fn run<C: Communicator>(world: &C, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [path, rows, columns, rest @ ..] = arguments else {
        return Err("usage: ndarray-io-mpi FILE ROWS COLUMNS [--die RANK]".into());
    };
    let (rows, columns) = (rows.parse()?, columns.parse()?);
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let path = PathBuf::from(path);
    let unfinished = PathBuf::from(format!("{}.unfinished", path.display()));

    let created = if rank == 0 { create(&unfinished, rows, columns) } else { Ok(()) };
    check_all_ranks(world, created)?;
    if rest.first().is_some_and(|flag| flag == "--die") && rest.get(1) == Some(&rank.to_string()) {
        std::process::abort(); // simulates a crash; mpirun ends the other ranks
    }
    check_all_ranks(world, fill(&unfinished, rows_of(rank, ranks, rows), columns))?;
    // All rows are on the disk, so the file can get its final name.
    let named = if rank == 0 { std::fs::rename(&unfinished, &path).map_err(Into::into) } else { Ok(()) };
    check_all_ranks(world, named)?;
    let other_rank = (rank + 1) % ranks;
    check_all_ranks(world, check(&path, rows_of(other_rank, ranks, rows)))?;
    if rank == 0 {
        println!("{ranks} ranks have written {rows} rows of {columns} and read each other's");
    }
    Ok(())
}

fn main() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let world = universe.world();
    if let Err(error) = run(&world, &arguments) {
        eprintln!("rank {}: {error}", world.rank());
        world.abort(1); // the others do not wait for this rank
    }
}
