use ndarray::{Array1, Array2, Axis};
use ndarray_io::{NpzFile, read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let model = NpzFile::open("digits.npz")?;
    let weights: Array2<f32> = model.read("weights")?;
    let bias: Array1<f32> = model.read("bias")?;
    let images: Array2<f32> = read_npy("digits.npy")?;

    let scores = images.dot(&weights) + &bias;
    let labels: Array1<u8> = scores
        .axis_iter(Axis(0))
        .map(|row| {
            let best =
                (0..row.len()).max_by(|&i, &j| row[i].total_cmp(&row[j]));
            best.unwrap() as u8
        })
        .collect();
    println!("{labels}");
    write_npy("labels.npy", &labels)
}
