use ndarray::Array1;
use ndarray_io::element::Datetime64;
use ndarray_io::element::units::{Day, Second};
use ndarray_io::{read_npy, write_npy};

fn main() -> ndarray_io::Result<()> {
    let times: Array1<Datetime64<Second>> = read_npy("times.npy")?;
    for time in times.iter().filter(|time| !time.is_nat()) {
        println!("{time}");
    }
    let days = times.iter().map(|time| time.in_unit::<Day>());
    let days: Vec<Datetime64<Day>> = days.collect::<Result<_, _>>()?;
    write_npy("days.npy", &days)
}
