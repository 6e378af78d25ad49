//! A part of an array as the page shows it: as text, a table, numbers about it, a histogram, a line or a picture.

use ndarray::{ArrayD, ArrayViewD, Axis, Ix2, SliceInfoElem};
use ndarray_io::DynArray;
use ndarray_io::dtype::{Casting, Kind};
use ndarray_io::options::Look;
use num_complex::Complex;
use serde_json::{Value, json};

/// The table has as many rows and columns as this at most, a line as many points, a picture as many pixels each way.
const ROWS: usize = 100;
const COLUMNS: usize = 20;
const PIXELS: usize = 512;
const BARS: usize = 32;

/// Four bytes a pixel: red, green, blue and alpha.
#[derive(Default)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

/// What there is to see of a part of an array.
pub fn look(part: &DynArray) -> (Value, Picture) {
    let mut seen = json!({
        "dtype": part.dtype().to_string(),
        "shape": part.shape(),
        "text": part.shown(&Look::new().width(100)),
        "table": table(part),
    });
    let Some(numbers) = numbers(part) else { return (seen, Picture::default()) };
    seen["statistics"] = statistics(&numbers);
    seen["histogram"] = histogram(&numbers);
    if numbers.ndim() == 1 {
        let step = numbers.len().div_ceil(2 * PIXELS).max(1);
        let line: Vec<_> = numbers.iter().step_by(step).map(|number| finite(*number)).collect();
        seen["line"] = json!({ "step": step, "values": line });
    }
    let picture = picture(part, &numbers).unwrap_or_default();
    (seen, picture)
}

/// JSON has no NaN and no infinity.
fn finite(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { Value::Null }
}

/// The first rows of the last two axes, each element as text.
fn table(part: &DynArray) -> Vec<Vec<String>> {
    let dims = part.shape();
    let kept = dims.len().min(2);
    let mut slice = vec![SliceInfoElem::Index(0); dims.len() - kept];
    for (axis, most) in
        (dims.len() - kept..dims.len()).zip(if kept == 2 { [ROWS, COLUMNS] } else { [ROWS, 0] })
    {
        let end = Some(dims[axis].min(most) as isize);
        slice.push(SliceInfoElem::Slice { start: 0, end, step: 1 });
    }
    let Ok(first) = part.slice(&slice[..]) else { return Vec::new() }; // an axis before them has the length 0
    let columns = if kept == 2 { first.shape()[1] } else { 1 };
    let texts: Vec<String> = first.texts().collect();
    texts.chunks(columns.max(1)).map(<[String]>::to_vec).collect()
}

/// The elements as numbers, complex ones by their absolute values; nothing if they are no numbers.
fn numbers(part: &DynArray) -> Option<ArrayD<f64>> {
    match part.dtype().as_scalar()?.kind() {
        Kind::Bool | Kind::Int | Kind::Uint | Kind::Float => part.cast(Casting::Unsafe).ok(),
        Kind::Complex => {
            let numbers: ArrayD<Complex<f64>> = part.cast(Casting::Unsafe).ok()?;
            Some(numbers.mapv(|number| number.re.hypot(number.im)))
        }
        _ => None,
    }
}

/// The smallest and the largest of the numbers that are finite.
fn range(numbers: &ArrayD<f64>) -> Option<(f64, f64)> {
    let finite = numbers.iter().copied().filter(|number| number.is_finite());
    finite.fold(None, |range, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((low.min(number), high.max(number)))
    })
}

fn statistics(numbers: &ArrayD<f64>) -> Value {
    let (mut sum, mut count) = (0.0, 0);
    for number in numbers.iter().filter(|number| number.is_finite()) {
        sum += number;
        count += 1;
    }
    let (low, high) = range(numbers).unwrap_or((f64::NAN, f64::NAN));
    json!({
        "count": numbers.len(),
        "not finite": numbers.len() - count,
        "minimum": finite(low),
        "maximum": finite(high),
        "mean": finite(sum / f64::from(u32::try_from(count).unwrap_or(u32::MAX))),
    })
}

/// How many numbers there are in each of equal ranges, as `numpy.histogram` counts them.
fn histogram(numbers: &ArrayD<f64>) -> Value {
    let Some((low, high)) = range(numbers) else { return Value::Null };
    let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
    let mut counts = vec![0_u64; BARS];
    for number in numbers.iter().filter(|number| number.is_finite()) {
        let place = (number / (high - low) - low / (high - low)) * BARS as f64;
        counts[(place as usize).min(BARS - 1)] += 1;
    }
    json!({ "low": finite(low), "high": finite(high), "counts": counts })
}

/// Every n-th pixel of two axes; with a third of length 3 or 4, bytes are colours.
fn picture(part: &DynArray, numbers: &ArrayD<f64>) -> Option<Picture> {
    let is_bytes =
        part.dtype().as_scalar().is_some_and(|scalar| (scalar.kind(), scalar.size()) == (Kind::Uint, 1));
    let is_coloured = is_bytes && numbers.ndim() == 3 && [3, 4].contains(&numbers.shape()[2]);
    if numbers.is_empty() || !(numbers.ndim() == 2 || is_coloured) {
        return None;
    }
    let (low, high) = range(numbers).unwrap_or((0.0, 1.0));
    let colours: Vec<ArrayViewD<'_, f64>> = match is_coloured {
        true => numbers.axis_iter(Axis(2)).collect(),
        false => vec![numbers.view()],
    };
    let step = |axis: usize| numbers.shape()[axis].div_ceil(PIXELS).max(1);
    let (rows, columns) = (numbers.shape()[0].div_ceil(step(0)), numbers.shape()[1].div_ceil(step(1)));
    let mut pixels = Vec::with_capacity(4 * rows * columns);
    let planes: Vec<_> =
        colours.into_iter().filter_map(|plane| plane.into_dimensionality::<Ix2>().ok()).collect();
    for row in 0..rows {
        for column in 0..columns {
            let at = [row * step(0), column * step(1)];
            match &planes[..] {
                [red, green, blue, alpha @ ..] => {
                    let alpha = alpha.first().map_or(255, |alpha| alpha[at] as u8);
                    pixels.extend([red[at] as u8, green[at] as u8, blue[at] as u8, alpha]);
                }
                planes => pixels.extend(colour((planes[0][at] - low) / (high - low).max(f64::MIN_POSITIVE))),
            }
        }
    }
    Some(Picture { width: columns, height: rows, pixels })
}

/// From dark blue over green to yellow; nothing where there is no number.
fn colour(part: f64) -> [u8; 4] {
    const STOPS: [[f64; 3]; 5] = [
        [68.0, 1.0, 84.0],
        [59.0, 82.0, 139.0],
        [33.0, 145.0, 140.0],
        [94.0, 201.0, 98.0],
        [253.0, 231.0, 37.0],
    ];
    if !part.is_finite() {
        return [0; 4];
    }
    let place = part.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let stop = (place as usize).min(STOPS.len() - 2);
    let between = place - stop as f64;
    let [red, green, blue] = std::array::from_fn(|index| {
        STOPS[stop][index] + between * (STOPS[stop + 1][index] - STOPS[stop][index])
    });
    [red.round() as u8, green.round() as u8, blue.round() as u8, 255]
}
