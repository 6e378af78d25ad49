//! Files with hand-made headers.

/// Long values of `descr`, on each of which a parser that is not linear would take forever, with the expected
/// result: the class of the error, or "ok".
pub(crate) fn long_descrs() -> Vec<(String, &'static str)> {
    let many = |item: &str, length: usize| item.repeat(length / item.len());
    let fields: String = (0..40_000).map(|field| format!("('f{field}', '<f4'),")).collect();
    vec![
        (format!("[{}]", many("('a', '<f4'),", 1_000_000)), "unsupported_dtype"),
        (format!("[{fields}]"), "ok"),
        (format!("({}'<f4')", many("('a'),", 900_000)), "header_too_large"),
        (many("'<'", 900_000), "unsupported_dtype"),
        (format!("'{}'", many("\\x41", 900_000)), "unsupported_dtype"),
        (format!("'<f4' {}", many("#\n", 900_000)), "ok"),
        (format!("[('a', '<f4', ({}))]", many("1,", 900_000)), "header_too_large"),
        (format!("'{}'", many("i4,", 900_000)), "ok"),
        (format!("'{}'", many("(1)i4,", 900_000)), "unsupported_dtype"),
        (many("(", 128), "header_too_large"),
        (format!("{}'a'{}", many("[", 120), many("]", 120)), "unsupported_dtype"),
        (format!("{}1{}", many("((1),", 300), many(")", 60)), "unsupported_dtype"),
    ]
}

/// Returns a file of version 2.0 with this header and payload.
pub(crate) fn file(header: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    let padding = 63 - (header.len() + 12) % 64;
    let length = header.len() + padding + 1;
    bytes.extend([2, 0]);
    bytes.extend((length as u32).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(std::iter::repeat_n(b' ', padding));
    bytes.push(b'\n');
    bytes.extend(payload);
    bytes
}
