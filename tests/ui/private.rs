//! A public struct may have fields of private types and may be in a module.
#![deny(warnings)]

pub mod stars {
    use ndarray_io::Record;

    #[derive(Record, Clone)]
    struct Place {
        x: f32,
    }

    #[derive(Record, Clone)]
    pub(crate) struct Mass {
        kilograms: f64,
    }

    #[derive(Record, Clone)]
    pub struct Star {
        place: Place,
        pub(crate) mass: [Mass; 2],
    }

    #[derive(Record, Clone)]
    pub struct Either<T: Clone> {
        place: Place,
        other: T,
    }

    impl Star {
        pub fn new() -> Self {
            let mass = Mass { kilograms: 1.0 };
            Self { place: Place { x: 1.0 }, mass: [mass.clone(), mass] }
        }
    }

    pub fn either() -> Either<f32> {
        Either { place: Place { x: 1.0 }, other: 2.0 }
    }
}

fn main() {
    use ndarray_io::WriteNpyExt;

    ndarray::arr1(&[stars::Star::new()]).write_npy(std::io::sink()).unwrap();
    ndarray::arr1(&[stars::either()]).write_npy(std::io::sink()).unwrap();
}
