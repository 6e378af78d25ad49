use ndarray::Array3;
use ndarray_io::error::ErrorKind;
use ndarray_io::read_npy;

fn main() {
    match read_npy::<_, Array3<u8>>("part.npy") {
        Ok(images) => println!("{:?}", images.shape()),
        Err(error) => match error.kind() {
            ErrorKind::Truncated => println!("{error}; copy it again"),
            _ => println!("{error:#}"),
        },
    }
}
