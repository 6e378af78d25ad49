//! A part of an array as the page shows it: as text, a table, numbers about it, a histogram, a line or a picture.

use ndarray::{ArrayD, ArrayViewD, Axis, Ix2, SliceInfoElem};
use ndarray_io::DynArray;
use ndarray_io::dtype::{Casting, Kind};
use ndarray_io::options::DisplayOptions;
use num_complex::Complex;
use serde_json::{Value, json};

/// The table has as many rows and columns as this at most, a line as many points, a picture as many pixels each way.
const ROWS: usize = 100;
const COLUMNS: usize = 20;
const PIXELS: usize = 512;
const BARS: usize = 32;
/// A cell has as many characters at most.
const CELL: usize = 200;
/// Arrays with more elements are shown without numbers about them: each takes eight bytes more.
const COUNTED: usize = 64 << 20;

/// Four bytes a pixel: red, green, blue and alpha.
#[derive(Default)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    /// Every n-th row and column is there.
    pub steps: [usize; 2],
    pub pixels: Vec<u8>,
}

/// What there is to see of a part of an array.
pub fn look(part: &DynArray) -> (Value, Picture) {
    let mut seen = json!({
        "dtype": part.dtype().to_string(),
        "shape": part.shape(),
        "table": table(part),
        "of": "the elements",
    });
    // A wide record has as much text in each element as a small array.
    if part.dtype().item_size() <= 1 << 12 {
        seen["text"] = part.shown(&DisplayOptions::new().width(100)).into();
    }
    if part.len() > COUNTED {
        seen["of"] = "too many elements for statistics: select a slice".into();
        return (seen, Picture::default());
    }
    let Some(numbers) = numbers(part) else { return (seen, Picture::default()) };
    if matches!(part.dtype().as_scalar().map(|scalar| scalar.kind()), Some(Kind::Complex)) {
        seen["of"] = "absolute values".into();
    }
    seen["statistics"] = statistics(part, &numbers);
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
    let texts: Vec<String> = texts.into_iter().map(|text| clipped(&text)).collect();
    texts.chunks(columns.max(1)).map(<[String]>::to_vec).collect()
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(CELL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the elements as numbers, complex ones as their absolute values, or `None` if they are not numbers.
fn numbers(part: &DynArray) -> Option<ArrayD<f64>> {
    match part.dtype().as_scalar()?.kind() {
        Kind::Bool | Kind::Int | Kind::Uint | Kind::Float => part.cast(Casting::Unsafe).ok(),
        Kind::Complex => {
            let numbers: ArrayD<Complex<f64>> = part.cast(Casting::Unsafe).ok()?;
            Some(numbers.map(|number| number.re.hypot(number.im)))
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

/// The extremes are texts of the elements themselves: an `f64` cannot represent every large integer.
fn statistics(part: &DynArray, numbers: &ArrayD<f64>) -> Value {
    let (mut sum, mut count) = (0.0, 0_u32);
    let mut ends: Option<[(usize, f64); 2]> = None;
    for (index, number) in numbers.iter().copied().enumerate().filter(|(_, number)| number.is_finite()) {
        sum += number;
        count += 1;
        let [low, high] = ends.unwrap_or([(index, number); 2]);
        let low = if number < low.1 { (index, number) } else { low };
        let high = if number > high.1 { (index, number) } else { high };
        ends = Some([low, high]);
    }
    let is_complex = matches!(part.dtype().as_scalar().map(|scalar| scalar.kind()), Some(Kind::Complex));
    let text = |(index, number): (usize, f64)| match is_complex {
        true => finite(number),
        false => text_of(part, index).map_or(finite(number), Value::from),
    };
    json!({
        "count": numbers.len(),
        "not finite": numbers.len() - count as usize,
        "minimum": ends.map(|[low, _]| text(low)),
        "maximum": ends.map(|[_, high]| text(high)),
        "mean": finite(sum / f64::from(count)),
    })
}

/// One element, by its number in C order.
fn text_of(part: &DynArray, mut number: usize) -> Option<String> {
    let mut slice = Vec::new();
    for length in part.shape().iter().rev() {
        slice.push(SliceInfoElem::Index((number % length) as isize));
        number /= length;
    }
    slice.reverse();
    part.slice(&slice[..]).ok()?.texts().next()
}

/// How many numbers there are in each of equal ranges, as `numpy.histogram` counts them: the place that is computed is compared with
/// the edges.
fn histogram(numbers: &ArrayD<f64>) -> Value {
    let Some((low, high)) = range(numbers) else { return Value::Null };
    let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
    // So that no difference is beyond all numbers.
    let scale = if (high - low).is_finite() { 1.0 } else { 0.25 };
    let (first, last) = (low * scale, high * scale);
    let step = (last - first) / BARS as f64;
    let edge = |bar: usize| if bar == BARS { last } else { bar as f64 * step + first };
    let mut counts = vec![0_u64; BARS];
    for number in numbers.iter().filter(|number| number.is_finite()).map(|number| number * scale) {
        let mut bar = (((number - first) / (last - first) * BARS as f64) as usize).min(BARS - 1);
        if number < edge(bar) {
            bar -= 1;
        } else if bar + 1 < BARS && number >= edge(bar + 1) {
            bar += 1;
        }
        counts[bar] += 1;
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
    let (middle, half) = (low / 2.0 + high / 2.0, (high / 2.0 - low / 2.0).max(f64::MIN_POSITIVE));
    let colours: Vec<ArrayViewD<'_, f64>> = match is_coloured {
        true => numbers.axis_iter(Axis(2)).collect(),
        false => vec![numbers.view()],
    };
    // One step for both axes, so that nothing is out of shape; a long and narrow array loses no column.
    let (rows, columns) = (numbers.shape()[0], numbers.shape()[1]);
    let step = rows.max(columns).div_ceil(PIXELS).max(1);
    let steps =
        if rows.min(columns) < step { [rows.div_ceil(PIXELS), columns.div_ceil(PIXELS)] } else { [step; 2] };
    let (rows, columns) = (rows.div_ceil(steps[0]), columns.div_ceil(steps[1]));
    let mut pixels = Vec::with_capacity(4 * rows * columns);
    let planes: Vec<_> =
        colours.into_iter().filter_map(|plane| plane.into_dimensionality::<Ix2>().ok()).collect();
    for row in 0..rows {
        for column in 0..columns {
            let at = [row * steps[0], column * steps[1]];
            match &planes[..] {
                [red, green, blue, alpha @ ..] => {
                    let alpha = alpha.first().map_or(255, |alpha| alpha[at] as u8);
                    pixels.extend([red[at] as u8, green[at] as u8, blue[at] as u8, alpha]);
                }
                planes => pixels.extend(colour((planes[0][at] / 2.0 - middle / 2.0) / half + 0.5)),
            }
        }
    }
    Some(Picture { width: columns, height: rows, steps, pixels })
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
