//! The views of a part of an array that the page shows: text, table, statistics, histogram, line and picture.

use ndarray::{ArrayD, ArrayViewD, Axis, Ix2, SliceInfoElem};
use ndarray_io::dtype::Kind;
use ndarray_io::options::DisplayOptions;
use ndarray_io::{Casting, DynArray};
use num_complex::Complex;
use serde_json::{Value, json};

/// The maximum numbers of rows and columns of the table, and of pixels of a picture in each direction; and
/// the number of bars of the histogram.
const ROWS: usize = 100;
const COLUMNS: usize = 20;
const PIXELS: usize = 512;
const BARS: usize = 32;
/// The maximum number of characters in a cell of the table.
const CELL: usize = 200;
/// Arrays with more elements are shown without statistics and pictures, which need eight more bytes per
/// element.
const MAX_COUNTED: usize = 64 << 20;

/// An image with four bytes per pixel: red, green, blue and alpha.
#[derive(Default)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    /// The distances between the rows and columns that are shown: every n-th one.
    pub steps: [usize; 2],
    pub pixels: Vec<u8>,
}

/// Returns what the page shows of a part of an array.
pub fn look(part: &DynArray) -> (Value, Picture) {
    let mut summary = json!({
        "dtype": part.dtype().to_string(),
        "shape": part.shape(),
        "table": table(part),
        "of": "the elements",
    });
    // An element of a wide record can have as much text as a small array.
    if part.dtype().item_size() <= 1 << 12 {
        summary["text"] = part.display_with(&DisplayOptions::new().width(100)).to_string().into();
    }
    if part.len() > MAX_COUNTED {
        summary["of"] = "too many elements for statistics: select a slice".into();
        return (summary, Picture::default());
    }
    let Some(numbers) = numbers(part) else { return (summary, Picture::default()) };
    if matches!(part.dtype().as_scalar().map(|scalar| scalar.kind()), Some(Kind::Complex)) {
        summary["of"] = "absolute values".into();
    }
    summary["statistics"] = statistics(part, &numbers);
    summary["histogram"] = histogram(&numbers);
    if numbers.ndim() == 1 {
        let step = numbers.len().div_ceil(2 * PIXELS).max(1);
        let line: Vec<_> = numbers.iter().step_by(step).map(|number| finite(*number)).collect();
        summary["line"] = json!({ "step": step, "values": line });
    }
    let picture = picture(part, &numbers).unwrap_or_default();
    (summary, picture)
}

/// Converts a number to JSON, which cannot represent NaN and infinities.
fn finite(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { Value::Null }
}

/// Formats the first rows and columns of the last two axes, each element as text.
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
    let texts: Vec<String> = texts.into_iter().map(|text| truncated(&text)).collect();
    texts.chunks(columns.max(1)).map(<[String]>::to_vec).collect()
}

fn truncated(text: &str) -> String {
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

/// Returns the smallest and the largest finite number.
fn range(numbers: &ArrayD<f64>) -> Option<(f64, f64)> {
    let finite = numbers.iter().copied().filter(|number| number.is_finite());
    finite.fold(None, |range, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((low.min(number), high.max(number)))
    })
}

/// Computes statistics. The extremes are formatted from the elements, since an `f64` cannot represent every
/// large integer.
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

/// Formats one element, given by its number in C order.
fn text_of(part: &DynArray, mut number: usize) -> Option<String> {
    let mut slice = Vec::new();
    for length in part.shape().iter().rev() {
        slice.push(SliceInfoElem::Index((number % length) as isize));
        number /= length;
    }
    slice.reverse();
    part.slice(&slice[..]).ok()?.texts().next()
}

/// Counts the numbers in bins of equal width, as `numpy.histogram` does.
///
/// The bin that is computed for a number is checked against its edges.
fn histogram(numbers: &ArrayD<f64>) -> Value {
    let Some((low, high)) = range(numbers) else { return Value::Null };
    let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
    // Scaled, so that the difference does not overflow.
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

/// Makes a picture of every n-th element of two axes. Bytes with a third axis of length 3 or 4 are colors.
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
    // The same step for both axes keeps the proportions. A long and narrow array does not lose columns.
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

/// Returns a color between dark blue, green and yellow, or a transparent one if there is no number.
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
