// Programs as users of `ndarray-npy` write them. The module `npy`, beside this one, is the crate that they use.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use ndarray::{
    Array, Array1, Array2, Array3, ArrayD, ArrayView2, ArrayViewD, ArrayViewMut3, Axis, Data, Dimension, Ix1, Ix2,
    OwnedRepr, ShapeBuilder, s,
};

use super::npy::{
    NpzReader, NpzWriter, ReadNpyError, ReadNpyExt, ReadableElement, ViewMutNpyExt, ViewNpyExt, WritableElement,
    WriteNpyError, WriteNpyExt, create_new_npy, read_npy, write_npy, write_zeroed_npy,
};

type ProgramResult<T> = Result<T, Box<dyn Error>>;

/// The levels of a quadtree, computed once and kept in a folder.
pub fn quadtree_cache(folder: &Path) -> ProgramResult<f64> {
    fn cached_level(folder: &Path, depth: usize) -> ProgramResult<Array2<f64>> {
        let path = folder.join(format!("level-{depth}.npy"));
        if path.exists() {
            return Ok(read_npy(&path)?);
        }
        let side = 1 << depth;
        let level = Array2::from_shape_fn((side, side), |(row, column)| (row * side + column) as f64);
        create_new_npy(&path, &level)?;
        Ok(level)
    }
    let first: f64 = (0..5).map(|depth| Ok(cached_level(folder, depth)?.sum())).sum::<ProgramResult<f64>>()?;
    let again: f64 = (0..5).map(|depth| Ok(cached_level(folder, depth)?.sum())).sum::<ProgramResult<f64>>()?;
    assert_eq!(first, again);
    Ok(first)
}

/// A network of two layers, whose weights are the members of an archive.
pub fn network_weights(folder: &Path) -> ProgramResult<Array1<f32>> {
    struct Layer {
        weights: Array2<f32>,
        bias: Array1<f32>,
    }

    fn save<W: Write + Seek>(writer: W, layers: &[Layer]) -> ProgramResult<()> {
        let mut npz = NpzWriter::new_compressed(writer);
        for (number, layer) in layers.iter().enumerate() {
            npz.add_array(format!("weights{number}"), &layer.weights)?;
            npz.add_array(format!("bias{number}"), &layer.bias)?;
        }
        npz.finish()?;
        Ok(())
    }

    fn load<R: Read + Seek>(reader: R) -> ProgramResult<Vec<Layer>> {
        let mut npz = NpzReader::new(reader)?;
        let count = npz.len() / 2;
        let layer = |number| {
            Ok(Layer { weights: npz.by_name(&format!("weights{number}"))?, bias: npz.by_name(&format!("bias{number}.npy"))? })
        };
        (0..count).map(layer).collect()
    }

    let layers = [(3, 4), (4, 2)].map(|(inputs, outputs)| Layer {
        weights: Array2::from_shape_fn((outputs, inputs), |(row, column)| (row as f32 - column as f32) / 2.0),
        bias: Array1::linspace(0.0, 1.0, outputs),
    });
    let path = folder.join("weights.npz");
    save(File::create(&path)?, &layers)?;
    let mut values = Array1::from(vec![1.0, 0.5, -1.0]);
    for layer in load(File::open(&path)?)? {
        values = (layer.weights.dot(&values) + &layer.bias).mapv(|value: f32| value.abs());
    }
    Ok(values.mapv(|value| (12.0 * value).round()))
}

/// The levels of an image, each half as large as the one before, which are views of it.
pub fn mipmaps(folder: &Path) -> ProgramResult<Vec<Vec<usize>>> {
    let image = Array3::from_shape_fn((16, 24, 3).f(), |(row, column, channel)| (row * 40 + column + channel * 7) as u16);
    let mut level = image.view();
    let mut shapes = Vec::new();
    while level.shape()[0] > 0 && level.shape()[1] > 1 {
        let path = folder.join(format!("mip-{}.npy", shapes.len()));
        write_npy(&path, &level)?;
        let back: ArrayD<u16> = read_npy(&path)?;
        assert_eq!(back, level.view().into_dyn());
        shapes.push(back.shape().to_vec());
        level = level.slice_move(s![..;2, ..;2, ..]);
    }
    Ok(shapes)
}

/// The nearest row of a table, which is viewed in the bytes of a file.
pub fn code_book(folder: &Path) -> ProgramResult<usize> {
    fn nearest(codes: ArrayView2<'_, f32>, wanted: &[f32]) -> usize {
        let distance = |row: ndarray::ArrayView1<'_, f32>| row.iter().zip(wanted).map(|(one, other)| (one - other).powi(2)).sum::<f32>();
        let distances: Vec<f32> = codes.axis_iter(Axis(0)).map(distance).collect();
        (0..distances.len()).min_by(|one, other| distances[*one].total_cmp(&distances[*other])).unwrap()
    }

    let path = folder.join("codes.npy");
    write_npy(&path, &Array2::from_shape_fn((256, 4), |(row, column)| (row * 4 + column) as f32))?;
    // A map of a file begins at a page; bytes in memory may not be aligned.
    let file = fs::read(&path)?;
    let mut words = vec![0u64; file.len().div_ceil(8)];
    let bytes = bytemuck::cast_slice_mut::<u64, u8>(&mut words);
    bytes[..file.len()].copy_from_slice(&file);
    Ok(nearest(ArrayView2::<f32>::view_npy(&bytes[..file.len()])?, &[401.0, 400.5, 402.0, 403.0]))
}

/// A cube of photon counts, made of zeros, and filled in place.
pub fn photon_cube(folder: &Path) -> ProgramResult<u32> {
    let path = folder.join("photons.npy");
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    write_zeroed_npy::<u32, _>(&file, (4, 5, 6))?;
    let file = fs::read(&path)?;
    let mut words = vec![0u64; file.len().div_ceil(8)];
    let bytes = bytemuck::cast_slice_mut::<u64, u8>(&mut words);
    bytes[..file.len()].copy_from_slice(&file);
    let mut cube = ArrayViewMut3::<u32>::view_mut_npy(&mut bytes[..file.len()])?;
    for photon in 0..1000usize {
        cube[[photon % 4, photon % 5, photon % 6]] += 1;
    }
    fs::write(&path, &bytes[..file.len()])?;
    let cube: Array3<u32> = read_npy(&path)?;
    assert!(cube.is_standard_layout());
    Ok(cube[[1, 3, 3]])
}

/// Scores as they come from a service, in memory.
pub fn scores() -> ProgramResult<(usize, f64)> {
    let mut body = Vec::new();
    Array1::from_iter((0..100).map(|score| f64::from(score) / 3.0)).write_npy(&mut body)?;
    let scores = Array1::<f64>::read_npy(Cursor::new(&body))?;
    let mut passed = Cursor::new(Vec::new());
    scores.mapv(|score| score >= 20.0).write_npy(&mut passed)?;
    let passed = Array1::<bool>::read_npy(&passed.into_inner()[..])?;
    // A type or a number of axes that is not that of the file is an error.
    assert!(Array1::<f32>::read_npy(&body[..]).is_err() && Array2::<f64>::read_npy(&body[..]).is_err());
    assert!(Array1::<f64>::read_npy(&body[..body.len() - 1]).is_err());
    Ok((passed.iter().filter(|passed| **passed).count(), scores[99]))
}

/// Functions for any element and any number of axes, with the errors of the crate.
pub fn generic_loaders(folder: &Path) -> ProgramResult<Vec<usize>> {
    fn load<A: ReadableElement, D: Dimension>(folder: &Path, name: &str) -> Result<Array<A, D>, ReadNpyError> {
        read_npy(folder.join(name))
    }

    fn save<S, D>(folder: &Path, name: &str, array: &ndarray::ArrayBase<S, D>) -> Result<(), WriteNpyError>
    where
        S: Data,
        S::Elem: WritableElement,
        D: Dimension,
    {
        array.write_npy(File::create(folder.join(name)).map_err(WriteNpyError::from)?)
    }

    fn load_all<'a>(arrays: impl IntoIterator<Item = &'a (dyn Fn() -> Result<usize, ReadNpyError> + 'a)>) -> ProgramResult<Vec<usize>> {
        Ok(arrays.into_iter().map(|array| array()).collect::<Result<_, _>>()?)
    }

    save(folder, "ints.npy", &Array1::from(vec![1i64, -2, 3]))?;
    save(folder, "flags.npy", &Array2::from_elem((2, 3), true).t())?;
    save(folder, "bytes.npy", &ArrayViewD::from_shape(vec![1, 2, 1], &[7u8, 9])?)?;
    assert!(load::<i64, Ix1>(folder, "missing.npy").is_err());
    load_all([
        &(|| load::<i64, Ix1>(folder, "ints.npy").map(|array| array.len())) as &dyn Fn() -> Result<usize, ReadNpyError>,
        &|| load::<bool, Ix2>(folder, "flags.npy").map(|array| array.shape()[0]),
        &|| load::<u8, ndarray::IxDyn>(folder, "bytes.npy").map(|array| array.ndim()),
    ])
}

/// Copies the members of an archive, by number, to another one that is not compressed.
pub fn archive_repacking(folder: &Path) -> ProgramResult<BTreeMap<String, f64>> {
    let (from, to) = (folder.join("from.npz"), folder.join("to.npz"));
    let mut npz = NpzWriter::new_compressed(File::create(&from)?);
    for number in 0..4 {
        npz.add_array(format!("{number}"), &Array2::from_elem((number + 1, 10), number as f64))?;
    }
    npz.finish()?;
    let mut old = NpzReader::new(File::open(&from)?)?;
    let mut new = NpzWriter::new(File::create(&to)?);
    let mut names = old.names()?;
    names.sort();
    for index in 0..old.len() {
        let array = old.by_index::<OwnedRepr<f64>, Ix2>(index)?;
        new.add_array(array.len().to_string(), &array)?;
    }
    new.finish()?;
    let mut new = NpzReader::new(File::open(&to)?)?;
    assert_eq!((old.len(), new.len(), new.is_empty()), (4, 4, false));
    let sum = |name: String| {
        let array: Array2<f64> = new.by_name(&name)?;
        Ok((name, array.sum()))
    };
    ["10", "20", "30", "40"].map(str::to_owned).into_iter().map(sum).collect()
}
