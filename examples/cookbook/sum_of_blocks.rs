use ndarray::ArrayD;
use ndarray_io::{Error, NpyFile};

fn main() -> ndarray_io::Result<()> {
    let file = NpyFile::open("volume.npy")?;
    let mut sum = 0.0;
    file.blocks::<ArrayD<f32>>().par_map(
        // on several threads: a block of a few megabytes
        |block| {
            block
                .array()
                .iter()
                .map(|&item| f64::from(item))
                .sum::<f64>()
        },
        // here, in the order of the file
        |part| {
            sum += part;
            Ok::<(), Error>(())
        },
    )?;
    println!("{:?}: {sum}", file.shape());
    Ok(())
}
