//! Code shared by the test binaries: NumPy's manifest, the ways to read, and hand-made headers.
#![allow(dead_code)] // each binary uses its own part

#[cfg(feature = "object")]
pub(crate) mod bombs;
pub(crate) mod error_class;
pub(crate) mod headers;
pub(crate) mod manifest;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod routes;
pub(crate) mod temp;
#[cfg(feature = "full")]
pub(crate) mod verbs;

#[allow(unused_imports)] // as above
pub(crate) use headers::{file, long_descrs};
use ndarray::ArrayD;
#[allow(unused_imports)]
pub(crate) use temp::ClosedTempFile;

/// Returns the folder that the variable `name` names. Tests that call this are ignored unless requested by
/// name.
pub(crate) fn folder_from_env(name: &str) -> std::path::PathBuf {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} names no folder")).into()
}

/// Returns the items of a payload in C order.
pub(crate) fn in_c_order(payload: &[u8], item: usize, shape: &[usize], is_fortran: bool) -> Vec<u8> {
    if !is_fortran || item == 0 || payload.is_empty() {
        return payload.to_vec();
    }
    let numbers: Vec<usize> = (0..payload.len() / item).collect();
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let places = ArrayD::from_shape_vec(reversed, numbers).unwrap().reversed_axes();
    places.iter().flat_map(|place| payload[place * item..][..item].iter().copied()).collect()
}

/// Replaces `<` in a dtype's text by this machine's byte order.
pub(crate) fn native_descr(text: &str) -> String {
    if cfg!(target_endian = "little") { text.to_owned() } else { text.replace('<', ">") }
}
