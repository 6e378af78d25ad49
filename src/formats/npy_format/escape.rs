//! The escapes of Python's string literals.

/// Resolves the escape after a backslash, calls `push` with its characters, and returns its length, including the backslash.
pub(super) fn resolve_escape(
    rest: &str,
    is_bytes: bool,
    push: &mut dyn FnMut(char),
) -> Result<usize, String> {
    let first = rest.chars().next().ok_or("unclosed string")?;
    let char = match first {
        // A backslash before a line end continues the string and adds nothing to it.
        '\n' => return Ok(2),
        '\r' => return Ok(if rest.starts_with("\r\n") { 3 } else { 2 }),
        '\\' | '\'' | '"' => first,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => {
            let length = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            return push_code_point(&rest[..length], 8, 1 + length, push);
        }
        'x' => return push_hex_escape(rest, 2, push),
        'u' if !is_bytes => return push_hex_escape(rest, 4, push),
        'U' if !is_bytes => return push_hex_escape(rest, 8, push),
        'N' if !is_bytes => {
            return Err("unsupported escape \\N{…}".into());
        }
        _ => {
            // Python keeps the backslash of an unknown escape.
            push('\\');
            push(first);
            return Ok(1 + first.len_utf8());
        }
    };
    push(char);
    Ok(2)
}

fn push_hex_escape(rest: &str, digits: usize, push: &mut dyn FnMut(char)) -> Result<usize, String> {
    match rest.get(1..1 + digits) {
        Some(text) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            push_code_point(text, 16, 2 + digits, push)
        }
        _ => Err(format!("an escape \\{} needs {digits} hexadecimal digits", &rest[..1])),
    }
}

fn push_code_point(
    digits: &str,
    radix: u32,
    length: usize,
    push: &mut dyn FnMut(char),
) -> Result<usize, String> {
    let code = u32::from_str_radix(digits, radix).ok();
    match code.and_then(char::from_u32) {
        Some(char) => {
            push(char);
            Ok(length)
        }
        None => {
            Err(format!("the escape \\{digits} is not a character (a lone surrogate, or beyond Unicode)"))
        }
    }
}
