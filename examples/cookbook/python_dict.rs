use ndarray::Array0;
use ndarray_io::object::{Object, View};
use ndarray_io::read_npy;

fn main() -> ndarray_io::Result<()> {
    // np.save("config.npy", {…}) is an array without axes.
    let config: Array0<Object> = read_npy("config.npy")?;
    let config = config.into_scalar();
    println!("{config}");
    if let Some(View::Float(rate)) =
        config.get("rate").map(|rate| rate.view())
    {
        println!("the rate is {rate}");
    }
    Ok(())
}
