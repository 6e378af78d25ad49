//! Formats dtypes as NumPy does where it shows an array.

use crate::dtype::{ByteOrder, DType, Kind, Quoted, Record, Scalar, TimeStep, TimeUnit, Title};

/// Formats a dtype as the argument `dtype=` of an array.
pub(super) fn dtype_argument(dtype: &DType) -> String {
    let DType::Scalar(scalar) = dtype else {
        return if *dtype == DType::Object { "object".to_owned() } else { constructor_argument(dtype) };
    };
    let is_foreign = scalar.byte_order().is_some_and(|order| order != ByteOrder::NATIVE);
    let bits = 8 * scalar.size();
    let time = |name: &str, step: TimeStep| match step.unit {
        TimeUnit::Generic => name.to_owned(),
        _ => format!("'{name}[{step}]'"),
    };
    match scalar.kind() {
        Kind::Bytes | Kind::Text | Kind::Void => dtype.to_string(),
        Kind::Narrow(narrow) => narrow.name().to_owned(),
        _ if is_foreign => dtype.to_string(),
        Kind::Bool => "bool".to_owned(),
        Kind::Int => format!("int{bits}"),
        Kind::Uint => format!("uint{bits}"),
        Kind::Float => format!("float{bits}"),
        Kind::Complex => format!("complex{bits}"),
        Kind::Datetime(step) => time("datetime64", step),
        Kind::Timedelta(step) => time("timedelta64", step),
    }
}

/// Formats a dtype as an object of its own.
pub(super) fn repr(dtype: &DType) -> String {
    let DType::Scalar(scalar) = dtype else { return format!("dtype({})", constructor_argument(dtype)) };
    let is_native = scalar.byte_order().is_none_or(|order| order == ByteOrder::NATIVE);
    match scalar.kind() {
        Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Complex if is_native => {
            format!("dtype('{}')", dtype_argument(dtype))
        }
        _ => format!("dtype({})", constructor_argument(dtype)),
    }
}

/// Formats a dtype as the first argument of `numpy.dtype`.
pub(super) fn constructor_argument(dtype: &DType) -> String {
    match dtype {
        DType::Object => "'O'".to_owned(),
        DType::Scalar(scalar) => scalar_constructor_argument(dtype, scalar),
        DType::Subarray(subarray) => {
            let dims = crate::shape::Shape::from(subarray.shape().to_vec());
            format!("({}, {dims})", constructor_argument(subarray.base()))
        }
        DType::Record(record) => record_constructor_argument(record),
    }
}

fn scalar_constructor_argument(dtype: &DType, scalar: &Scalar) -> String {
    match scalar.kind() {
        Kind::Bool => "'?'".to_owned(),
        // NumPy leaves out the sign for dtypes without a byte order, and the width of those without bytes.
        _ => match (dtype.to_string().replace('|', ""), scalar.size()) {
            (shown, 0) => shown.replace('0', ""),
            (shown, _) => shown,
        },
    }
}

fn format_title(title: Option<&Title>) -> Option<String> {
    title.map(|title| match title {
        Title::Text(text) => Quoted(text).to_string(),
        Title::Int(number) => number.to_string(),
    })
}

fn record_constructor_argument(record: &Record) -> String {
    let fields = record.fields();
    let mut end = 0;
    let is_packed = fields.iter().all(|field| {
        let starts_there = field.offset() == end;
        end = field.offset() + field.dtype().item_size();
        starts_there
    });
    let list = |show: &dyn Fn(&crate::dtype::Field) -> String| {
        let shown: Vec<String> = fields.iter().map(show).collect();
        format!("[{}]", shown.join(", "))
    };
    if is_packed && end == record.size() {
        return list(&|field| {
            let name = match format_title(field.title()) {
                Some(title) => format!("({title}, {})", Quoted(field.name())),
                None => Quoted(field.name()).to_string(),
            };
            // The dtype and the shape of a subarray are items of their own.
            let dtype = constructor_argument(field.dtype());
            match field.dtype() {
                DType::Subarray(_) => format!("({name}, {}", &dtype[1..]),
                _ => format!("({name}, {dtype})"),
            }
        });
    }
    let titles = match fields.iter().any(|field| field.title().is_some()) {
        true => {
            format!(
                ", 'titles': {}",
                list(&|field| format_title(field.title()).unwrap_or_else(|| "None".to_owned()))
            )
        }
        false => String::new(),
    };
    format!(
        "{{'names': {}, 'formats': {}, 'offsets': {}{titles}, 'itemsize': {}}}",
        list(&|field| Quoted(field.name()).to_string()),
        list(&|field| constructor_argument(field.dtype())),
        list(&|field| field.offset().to_string()),
        record.size()
    )
}
