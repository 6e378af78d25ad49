use ndarray::Array2;
use ndarray_io::ra::read_ra;
use ndarray_io::write_npy;
use num_complex::Complex;

fn main() -> ndarray_io::Result<()> {
    let image: Array2<Complex<f32>> = read_ra("kspace.ra")?;
    write_npy("magnitude.npy", &image.mapv(|value| value.norm()))
}
