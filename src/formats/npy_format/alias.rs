//! The strings that name a scalar dtype: `<f8`, and the other spellings that `numpy.dtype` accepts (with the package
//! `ml_dtypes`, also the names of its types).
//!
//! The platform-dependent types (`int`, `long`, `intp`) have their sizes on 64-bit Linux, the most common
//! platform on which files are written.

use crate::dtype::{ByteOrder, DType, Kind, Narrow, Record, Scalar, TimeStep, TimeUnit};

/// Returns the dtype that a string names, or a message that says what is wrong.
pub(super) fn dtype(code: &str) -> Result<DType, String> {
    if code.contains(',') {
        return parse_comma_separated(code);
    }
    let (order, rest) = split_order(code);
    let bytes = rest.as_bytes();
    // Times come first, since a unit may follow `m8`, which is a letter and a size.
    if let Some(text) = split_time_code(rest) {
        return time_dtype(text.0, text.1, order);
    }
    match bytes {
        [] => Err("the type is empty".into()),
        [letter] => dtype_by_letter(*letter, order)
            .ok_or_else(|| format!("there is no type '{}'", char::from(*letter))),
        [letter, ..] => match rest.get(1..).and_then(leading_number) {
            Some((size, "")) if size >= 0 => {
                dtype_by_size(*letter, usize::try_from(size).unwrap_or(usize::MAX), order)
            }
            _ if rest.len() == code.len() => {
                dtype_by_numpy_name(rest).ok_or_else(|| "there is no type of that name".into())
            }
            _ => Err("expected a letter and a size after the byte order".into()),
        },
    }
}

/// Parses a record written as `f4,i4`, whose fields are named `f0`, `f1` and so on.
///
/// The shapes that NumPy allows in such a list (`2f4`, `(2,)f4`) are not supported: no known writer uses
/// them, or even such lists, in files.
fn parse_comma_separated(code: &str) -> Result<DType, String> {
    // What `\s` of Python's regular expressions matches.
    let is_space = |char: char| char.is_whitespace() || ('\x1c'..='\x1f').contains(&char);
    let mut record = Record::default();
    let codes = code.trim_end_matches(is_space);
    for (index, code) in codes.strip_suffix(',').unwrap_or(codes).split(',').enumerate() {
        let code = if index > 0 { code.trim_start_matches(is_space) } else { code };
        let code = code.trim_end_matches(is_space);
        if !code.chars().all(|char| char.is_ascii_alphanumeric() || "<>=|?[]".contains(char)) {
            return Err("a list of types may contain only type codes".into());
        }
        // The codes no longer contain commas, so `dtype` recurses only once.
        record.push(format!("f{index}"), None, dtype(code)?).map_err(|error| error.to_string())?;
    }
    Ok(record.into())
}

fn split_order(code: &str) -> (ByteOrder, &str) {
    match code.as_bytes() {
        [b'<', ..] => (ByteOrder::Little, &code[1..]),
        [b'>', ..] => (ByteOrder::Big, &code[1..]),
        [b'=' | b'|', ..] => (ByteOrder::NATIVE, &code[1..]),
        _ => (ByteOrder::NATIVE, code),
    }
}

/// Parses the number that a text begins with, as C's `strtol` does, and returns it with what follows it: whitespace
/// and a sign may come first. A number that overflows becomes one that exceeds every limit.
fn leading_number(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = digits.trim_start_matches(|char: char| char.is_ascii_digit());
    let digits = &digits[..digits.len() - rest.len()];
    let number = match digits {
        "" => return None,
        _ => digits.parse().unwrap_or(i64::MAX),
    };
    Some((if text.starts_with('-') { -number } else { number }, rest))
}

fn dtype_by_size(letter: u8, size: usize, order: ByteOrder) -> Result<DType, String> {
    let (kind, bytes) = match letter {
        b'b' => (Kind::Bool, size),
        b'i' => (Kind::Int, size),
        b'u' => (Kind::Uint, size),
        // NumPy writes these for `float8_e5m2` and the complex numbers of `ml_dtypes`, and does not read them.
        b'f' if size == 1 => return Ok(Narrow::Float8E5M2.into()),
        b'W' if size == 4 && order == ByteOrder::Little => (Kind::Void, size),
        b'f' => (Kind::Float, size),
        b'c' => (Kind::Complex, size),
        b'S' | b'a' => (Kind::Bytes, size),
        b'U' => (Kind::Text, size.saturating_mul(4)),
        b'V' => (Kind::Void, size),
        b'M' => (Kind::Datetime(TimeStep::GENERIC), size),
        b'm' => (Kind::Timedelta(TimeStep::GENERIC), size),
        b'O' if size == 4 || size == 8 => return Ok(DType::Object),
        _ => return Err(format!("there is no type '{}' with a size", char::from(letter).escape_debug())),
    };
    match Scalar::new(kind, bytes, order).map(DType::from) {
        Some(dtype) if !dtype.is_foreign_to_numpy() => Ok(dtype),
        _ => Err(format!("there is no type '{}' of the size {size}", kind.letter())),
    }
}

/// Returns the dtype of one of NumPy's one-letter codes.
fn dtype_by_letter(letter: u8, order: ByteOrder) -> Option<DType> {
    let (kind, size) = match letter {
        b'?' => (Kind::Bool, 1),
        b'b' => (Kind::Int, 1),
        b'h' => (Kind::Int, 2),
        b'i' => (Kind::Int, 4),
        b'l' | b'q' | b'p' | b'n' => (Kind::Int, 8),
        b'B' => (Kind::Uint, 1),
        b'H' => (Kind::Uint, 2),
        b'I' => (Kind::Uint, 4),
        b'L' | b'Q' | b'P' | b'N' => (Kind::Uint, 8),
        b'e' => (Kind::Float, 2),
        b'f' => (Kind::Float, 4),
        b'd' => (Kind::Float, 8),
        b'g' => (Kind::Float, 16),
        b'F' => (Kind::Complex, 8),
        b'D' => (Kind::Complex, 16),
        b'G' => (Kind::Complex, 32),
        b'c' => (Kind::Bytes, 1),
        b'S' | b'a' => (Kind::Bytes, 0),
        b'U' => (Kind::Text, 0),
        b'V' => (Kind::Void, 0),
        b'O' => return Some(DType::Object),
        _ => return None,
    };
    Scalar::new(kind, size, order).map(DType::from)
}

/// Returns the dtype of one of NumPy's names, which cannot have a byte order prefix.
fn dtype_by_numpy_name(name: &str) -> Option<DType> {
    let (kind, size) = match name {
        "bool" | "bool_" => (Kind::Bool, 1),
        "int8" | "byte" => (Kind::Int, 1),
        "int16" | "short" => (Kind::Int, 2),
        "int32" | "intc" => (Kind::Int, 4),
        "int64" | "int" | "int_" | "intp" | "long" | "longlong" => (Kind::Int, 8),
        "uint8" | "ubyte" => (Kind::Uint, 1),
        "uint16" | "ushort" => (Kind::Uint, 2),
        "uint32" | "uintc" => (Kind::Uint, 4),
        "uint64" | "uint" | "uintp" | "ulong" | "ulonglong" => (Kind::Uint, 8),
        "float16" | "half" => (Kind::Float, 2),
        "float32" | "single" => (Kind::Float, 4),
        "float64" | "float" | "double" => (Kind::Float, 8),
        "float128" | "longdouble" => (Kind::Float, 16),
        "complex64" | "csingle" => (Kind::Complex, 8),
        "complex128" | "complex" | "cdouble" => (Kind::Complex, 16),
        "complex256" | "clongdouble" => (Kind::Complex, 32),
        "bytes" | "bytes_" => (Kind::Bytes, 0),
        "str" | "str_" | "unicode" => (Kind::Text, 0),
        "void" => (Kind::Void, 0),
        "complex32" | "bcomplex32" => (Kind::Void, 4), // of `ml_dtypes`: as it writes them
        "object" | "object_" => return Some(DType::Object),
        _ => return Narrow::from_name(name).map(DType::from),
    };
    Scalar::new(kind, size, ByteOrder::NATIVE).map(DType::from)
}

/// Constructs the kind of a time from its step.
type TimeKind = fn(TimeStep) -> Kind;

/// Splits the name of a time type from its unit; returns `None` if the string names another type.
fn split_time_code(code: &str) -> Option<(TimeKind, &str)> {
    let prefixes: [(&str, TimeKind); 4] = [
        ("datetime64", Kind::Datetime),
        ("timedelta64", Kind::Timedelta),
        ("M8", Kind::Datetime),
        ("m8", Kind::Timedelta),
    ];
    if code == "M" || code == "m" {
        return Some((if code == "M" { Kind::Datetime } else { Kind::Timedelta }, ""));
    }
    let (kind, rest) =
        prefixes.iter().find_map(|&(prefix, kind)| Some((kind, code.strip_prefix(prefix)?)))?;
    (rest.is_empty() || rest.starts_with('[')).then_some((kind, rest))
}

fn time_dtype(kind: TimeKind, unit: &str, order: ByteOrder) -> Result<DType, String> {
    let step = match unit.strip_prefix('[').map(|inner| inner.strip_suffix(']')) {
        None => TimeStep::GENERIC,
        Some(inner) => inner.and_then(parse_time_step).ok_or("unknown unit of time")?,
    };
    Scalar::new(kind(step), 8, order).map(DType::from).ok_or_else(|| "a time has 8 bytes".into())
}

/// Parses a step of time: `25s`, or `s/10` for a tenth.
fn parse_time_step(text: &str) -> Option<TimeStep> {
    // NumPy stores the count as a C `int`.
    const MAX_COUNT: u32 = i32::MAX as u32;
    let factor = |number: i64| u32::try_from(number).ok().filter(|&number| (1..=MAX_COUNT).contains(&number));
    let (count, rest) = leading_number(text).unwrap_or((1, text));
    let (symbol, divisor) = match rest.split_once('/') {
        None => (rest, 1),
        Some((symbol, divisor)) => match leading_number(divisor)? {
            (divisor, "") => (symbol, divisor),
            _ => return None,
        },
    };
    let (count, divisor) = (factor(count)?, factor(divisor)?);
    let unit = *TimeUnit::ALL.iter().find(|unit| unit.symbol() == symbol)?;
    let step = match unit {
        TimeUnit::Generic if divisor == 1 => TimeStep::GENERIC,
        _ if divisor == 1 => TimeStep::new(count, unit),
        _ => divide_unit(count, unit, divisor)?,
    };
    (step.count <= MAX_COUNT).then_some(step)
}

/// Converts a fraction of a unit to a multiple of the longest shorter unit that divides evenly.
fn divide_unit(count: u32, unit: TimeUnit, divisor: u32) -> Option<TimeStep> {
    use TimeUnit::*;
    let shorter: &[(u32, TimeUnit)] = match unit {
        Generic | Attosecond => &[],
        Year => &[(12, Month), (52, Week), (365, Day)],
        Month => &[(4, Week), (30, Day), (720, Hour)],
        Week => &[(7, Day), (168, Hour), (10_080, Minute)],
        Day => &[(24, Hour), (1440, Minute), (86_400, Second)],
        Hour => &[(60, Minute), (3600, Second)],
        Minute => &[(60, Second), (60_000, Millisecond)],
        Second => &[(1000, Millisecond), (1_000_000, Microsecond)],
        Millisecond => &[(1000, Microsecond), (1_000_000, Nanosecond)],
        Microsecond => &[(1000, Nanosecond), (1_000_000, Picosecond)],
        Nanosecond => &[(1000, Picosecond), (1_000_000, Femtosecond)],
        Picosecond => &[(1000, Femtosecond), (1_000_000, Attosecond)],
        Femtosecond => &[(1000, Attosecond)],
    };
    let (factor, unit) = *shorter.iter().find(|(factor, _)| factor % divisor == 0)?;
    Some(TimeStep::new(count.checked_mul(factor / divisor)?, unit))
}

#[cfg(test)]
mod tests {
    use super::dtype;

    #[test]
    fn type_codes_parse_as_in_numpy() {
        // (code, numpy.dtype(code) in NumPy 2.4 on a little-endian machine)
        let cases = [
            ("f8", "'<f8'"),
            (">d", "'>f8'"),
            ("=i4", "'<i4'"),
            ("|u1", "'|u1'"),
            (">u1", "'|u1'"),
            ("?", "'|b1'"),
            ("b", "'|i1'"),
            ("float64", "'<f8'"),
            ("c", "'|S1'"),
            ("a3", "'|S3'"),
            ("U2", "'<U2'"),
            ("S03", "'|S3'"),
            ("|S+3", "'|S3'"),
            ("S-0", "'|S0'"),
            ("<f\t2", "'<f2'"),
            ("i 4", "'<i4'"),
            ("<U\n\x0b\x0c\r +02", "'<U2'"),
            ("O8", "'|O'"),
            ("M8", "'<M8'"),
            ("M 8", "'<M8'"),
            ("m+08", "'<m8'"),
            ("m8[7D]", "'<m8[7D]'"),
            ("<m8[2generic]", "'<m8'"),
            ("<M8[s/10]", "'<M8[100ms]'"),
            ("<M8[1s]", "'<M8[s]'"),
            ("<M8[\t+2s]", "'<M8[2s]'"),
            ("<M8[ 25s/ +04]", "'<M8[6250ms]'"),
            ("<M8[generic/1]", "'<M8'"),
            ("timedelta64[3h]", "'<m8[3h]'"),
            ("f4,i4", "[('f0', '<f4'), ('f1', '<i4')]"),
            ("<f8, >i2", "[('f0', '<f8'), ('f1', '>i2')]"),
            ("<i4,\t<f8", "[('f0', '<i4'), ('f1', '<f8')]"),
            ("<i4\t,\n\x1c<f8\x0b", "[('f0', '<i4'), ('f1', '<f8')]"),
            ("<i4,\u{a0}<f8 , ", "[('f0', '<i4'), ('f1', '<f8')]"),
        ];
        for (code, expected) in cases {
            let native = if cfg!(target_endian = "big") && !code.starts_with('<') { '>' } else { '<' };
            let expected = expected.replace('<', &native.to_string());
            if !code.contains(',') || cfg!(target_endian = "little") {
                assert_eq!(dtype(code).unwrap().to_string(), expected, "{code}");
            }
        }
    }

    #[test]
    fn type_codes_invalid_in_numpy_are_refused() {
        let codes = [
            "",
            "<",
            "<8",
            "<<f8",
            " <f8",
            "<f8 ",
            "<f8x",
            "|S-1",
            "|S1.5",
            "|S0x3",
            "|S+ 3",
            "|S \u{a0}3",
            "<f 2 ",
            "< f2",
            "<f\x1c2",
            "?\t1",
            "d 8",
            "<M8[]",
            "<M8[xs]",
            "<M8[ns",
            "<M8[-1s]",
            "M 4",
            "<M8 [s]",
            "<M 8[s]",
            "<M8[ s]",
            "<M8[+s]",
            "<M8[+ 2s]",
            "<M8[2 s]",
            "<M8[s /2]",
            "<M8[s/2 ]",
            "<M8[s/]",
            "<M8[s/ ]",
            "<M8[s/2/2]",
            "<M8[2/2]",
            "<M8[2generic/2]",
            "<M8[s/7]",
            "<M8[4294967296s]",
            "<i8[ns]",
            "<float64",
            "float65",
            "|T16",
            "ƒ8",
            "<f８",
            "i3",
            "i0",
            "c4",
            "|b2",
            "|S2147483648",
            "<U536870912",
            "|V18446744073709551617",
            "i4,,i4",
            "\ti4,f8",
            "i4,f8,,",
            "i4,>\tf8",
            "i4\t",
            "i4,<x8",
        ];
        for code in codes {
            assert!(dtype(code).is_err(), "{code}");
        }
    }
}
