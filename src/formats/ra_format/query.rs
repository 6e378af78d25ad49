//! Formats a header as text.

use std::fmt::Write;

use super::RaHeader;

/// Formats a header as YAML, as the specification of the format shows it.
///
/// `name` is the name of the file. The text ends in one newline. As in the format's Julia program, the line
/// `compressed` is present only if a flag is set.
///
/// # Examples
///
/// ```
/// use ndarray_io::header::Parsed;
/// use ndarray_io::ra;
/// # let mut file = b"rawarray".to_vec();
/// # for number in [0u64, 4, 8, 96, 2, 3, 4] {
/// #     file.extend(number.to_le_bytes());
/// # }
/// let Parsed::Done(header, _) = ra::parse(&file)? else { panic!("the header is complete") };
/// assert_eq!(
///     ra::query(&header, "test.ra"),
///     "---\nname: test.ra\nendian: little\ntype: complex64\nsize: 96\ndimension: 2\nshape:\n  - 3\n  - 4\n...\n"
/// );
/// # Ok::<(), ndarray_io::Error>(())
/// ```
pub fn query(header: &RaHeader, name: &str) -> String {
    let kind = match (header.eltype, header.elbyte) {
        (0, _) => "user",
        (1, _) => "int",
        (2, _) => "uint",
        (3, _) => "float",
        (4, _) => "complex",
        (_, 2) => "bfloat",
        _ => "bool",
    };
    let bits = header.elbyte.saturating_mul(8);
    let endian = if header.is_big_endian() { "big" } else { "little" };
    let mut text = format!("---\nname: {name}\nendian: {endian}\n");
    // Writing into a string never fails.
    if header.flags != 0 {
        let _ = writeln!(text, "compressed: {}", header.flags & super::PACKED_FLAG);
    }
    let dims = header.header.shape();
    let _ = write!(text, "type: {kind}{bits}\nsize: {}\ndimension: {}\nshape:\n", header.size, dims.len());
    for dim in dims {
        let _ = writeln!(text, "  - {dim}");
    }
    text.push_str("...\n");
    text
}
