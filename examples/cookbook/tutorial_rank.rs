use ndarray::Array2;
use ndarray_io::read_npy;

fn main() -> ndarray_io::Result<()> {
    let images: Array2<u8> = read_npy("images.npy")?;
    println!("{:?}", images.shape());
    Ok(())
}
