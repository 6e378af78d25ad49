//! The type of the field is a macro that becomes another type each time.
// refused with E0308
#![forbid(unsafe_code)]

#[cfg(attack)]
type ChangingType = ();
#[cfg(not(attack))]
type ChangingType = u64;

#[cfg(attack)]
#[derive(ndarray_io::Element)]
#[repr(transparent)]
pub struct Wrapper(meddle::turn!(u64 f64 i64));
#[cfg(not(attack))]
#[derive(ndarray_io::Element)]
#[repr(transparent)]
pub struct Wrapper(ChangingType);

fn main() {
    let _: ChangingType;
}
