use ndarray_io::convert::{Conversion, convert_npy};
use ndarray_io::header::Order;
use ndarray_io::{Casting, DType};

fn main() -> ndarray_io::Result<()> {
    let conversion = Conversion::new()
        .dtype("float16".parse::<DType>()?, Casting::SameKind)
        .order(Order::Fortran)
        .memory(16 << 20); // about this much, however large the file
    convert_npy("volume.npy", "half.npy", conversion)
}
