use ndarray::{Array1, arr1};
use ndarray_io::{Compression, NpzFile, WriteOptions};

fn main() -> ndarray_io::Result<()> {
    let options = WriteOptions::new().compression(Compression::DEFLATE);
    // Others cannot change it from here on, so what is read is current.
    let mut update = options.update_npz("digits.npz")?;
    let bias: Array1<f32> = NpzFile::open("digits.npz")?.read("bias")?;
    let (doubled, version) = (2.0 * bias, arr1(&[2u32]));
    update
        .replace("bias", &doubled)?
        .add("version", &version)?
        .finish()?; // opened before this, it is the old archive

    println!("{:?}", NpzFile::open("digits.npz")?.names()?);
    Ok(())
}
