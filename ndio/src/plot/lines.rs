//! Line plots of one axis, and histograms.

use std::io::Write;
use std::num::NonZeroUsize;

use super::Canvas;
use super::plane::Plane;
use crate::failure::Failure;
use crate::source::Source;
use crate::summary;

/// The dots of a Braille character: two columns of four.
const DOTS_ACROSS: usize = 2;
const DOTS_DOWN: usize = 4;

/// The message for a plot or picture without a finite number.
pub(super) const NO_NUMBERS_MESSAGE: &str = "there are no finite numbers";

/// Scales a number between `low` and `high` to 0..1. Halves them first, because the difference of two floats
/// may overflow.
fn fraction(number: f64, low: f64, high: f64) -> f64 {
    (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
}

/// Draws the columns of an array of two axes as line plots, one below the other.
pub(super) fn draw_columns(source: &Source, canvas: &Canvas, out: &mut dyn Write) -> Result<u8, Failure> {
    const MIN_LINES: usize = 4;
    let count = source.shape()[1];
    // Each plot also has a line for its name and two for its axis.
    let lines = (canvas.lines / count.max(1)).saturating_sub(3).max(MIN_LINES);
    for column in 0..count {
        writeln!(out, "column {column}")?;
        let drawn = draw_line(&Plane::column(source, column), &Canvas { lines, ..*canvas }, out);
        match drawn {
            Err(failure) if failure.to_string() == NO_NUMBERS_MESSAGE => {
                writeln!(out, "  {NO_NUMBERS_MESSAGE}")?
            }
            drawn => drop(drawn?),
        }
    }
    Ok(0)
}

/// Draws a line plot. Where several numbers share a column, the line spans their range.
pub(super) fn draw_line(plane: &Plane<'_>, canvas: &Canvas, out: &mut dyn Write) -> Result<u8, Failure> {
    let length = plane.dims()[0];
    let label = 12;
    let columns = (canvas.columns - label - 2).max(4);
    let (width, height) = (columns * DOTS_ACROSS, canvas.lines * DOTS_DOWN);
    let mut spans = vec![None::<(f64, f64)>; width];
    // Columns with missing numbers, which lines must not cross.
    let mut is_gap = vec![false; width];
    plane.for_each_block(|block, first| {
        for (index, number) in block.iter().enumerate() {
            let at = index + first[0];
            // Spread a few numbers over the whole width.
            let column = if length > 1 {
                (at as u128 * (width - 1) as u128 / (length - 1) as u128) as usize
            } else {
                0
            };
            if !number.is_finite() {
                is_gap[column] = true;
                continue;
            }
            let (low, high) = spans[column].get_or_insert((*number, *number));
            (*low, *high) = (low.min(*number), high.max(*number));
        }
    })?;
    let finite = || spans.iter().flatten();
    let low = finite().map(|(low, _)| *low).fold(f64::INFINITY, f64::min);
    let high = finite().map(|(_, high)| *high).fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Err(NO_NUMBERS_MESSAGE.into());
    }
    let row = |number: f64| {
        let fraction = if high > low { fraction(number, low, high) } else { 0.5 };
        height - 1 - ((fraction * (height - 1) as f64).round() as usize).min(height - 1)
    };
    let mut dots = vec![vec![false; width]; height];
    let mut before: Option<(usize, usize)> = None;
    for (column, span) in spans.iter().enumerate() {
        let Some((low, high)) = span else {
            before = before.filter(|_| !is_gap[column]);
            continue;
        };
        let (top, bottom) = (row(*high), row(*low));
        dots.iter_mut().take(bottom + 1).skip(top).for_each(|line| line[column] = true);
        // Connect the points with a straight line.
        if let Some((from, level)) = before {
            let to = (top + bottom) / 2;
            let at = |between: usize| {
                let fraction = (between - from) as f64 / (column - from) as f64;
                (level as f64 + fraction * (to as f64 - level as f64)).round() as usize
            };
            (from + 1..column).for_each(|between| dots[at(between)][between] = true);
            if column == from + 1 {
                let (one, two) = (level.min(top), level.max(bottom));
                if two - one > bottom - top {
                    dots.iter_mut().take(two).skip(one + 1).for_each(|line| line[column] = true);
                }
            }
        }
        before = Some((column, (top + bottom) / 2));
    }
    for line in 0..canvas.lines {
        let name = match line {
            0 => short_number(high),
            _ if line + 1 == canvas.lines => short_number(low),
            _ => String::new(),
        };
        let text: String = (0..columns).map(|column| braille(&dots, line, column)).collect();
        writeln!(out, "{name:>label$} ┤{}", text.trim_end_matches('\u{2800}'))?;
    }
    let last = (length - 1).to_string();
    writeln!(out, "{:>label$} └{}", "", "─".repeat(columns))?;
    writeln!(out, "{:>label$}  0{:>width$}", "", last, width = columns - 1)?;
    Ok(0)
}

fn braille(dots: &[Vec<bool>], line: usize, column: usize) -> char {
    const DOT_BITS: [[u32; DOTS_DOWN]; DOTS_ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let mut code = 0x2800;
    for (across, bits) in DOT_BITS.iter().enumerate() {
        for (down, bit) in bits.iter().enumerate() {
            if dots[line * DOTS_DOWN + down][column * DOTS_ACROSS + across] {
                code |= bit;
            }
        }
    }
    char::from_u32(code).unwrap_or(' ')
}

/// Draws a histogram.
pub(super) fn draw_histogram(
    plane: &Plane<'_>,
    bins: Option<NonZeroUsize>,
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let source = plane.source;
    let (low, high) = summary::compute(source)?.range()?;
    if low.is_nan() || low > high {
        return Err(NO_NUMBERS_MESSAGE.into());
    }
    let label = 12;
    let columns = canvas.columns - label - 2;
    let bins = bins.map_or(columns, |bins| bins.get().min(columns));
    let mut counts = vec![0u64; bins];
    let (mut outside, mut all) = (0u64, 0u64);
    plane.for_each_block(|block, _| {
        for number in block {
            all += 1;
            if !number.is_finite() {
                outside += 1;
                continue;
            }
            let fraction = if high > low { fraction(*number, low, high) } else { 0.5 };
            counts[((fraction * bins as f64) as usize).min(bins - 1)] += 1;
        }
    })?;
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    for line in (0..canvas.lines).rev() {
        let name = match line {
            _ if line + 1 == canvas.lines => most.to_string(),
            0 => "0".into(),
            _ => String::new(),
        };
        let eighths = |count: u64| (count as f64 / most as f64 * (canvas.lines * 8) as f64).ceil() as usize;
        let bar =
            |column: usize| BARS[eighths(counts[column * bins / columns]).saturating_sub(line * 8).min(8)];
        let text: String = (0..columns).map(bar).collect();
        writeln!(out, "{name:>label$} ┤{}", text.trim_end())?;
    }
    writeln!(out, "{:>label$} └{}", "", "─".repeat(columns))?;
    let (low, high) = (short_number(low), short_number(high));
    writeln!(
        out,
        "{:>label$}  {low}{high:>width$}",
        "",
        width = columns.saturating_sub(low.chars().count())
    )?;
    if outside > 0 {
        writeln!(out, "{outside} of {all} are not finite")?;
    }
    Ok(0)
}

/// Formats a number in few characters.
pub(super) fn short_number(number: f64) -> String {
    let shown = format!("{number:?}");
    if shown.len() <= 10 {
        return shown;
    }
    match number.abs() {
        size if (1e-3..1e6).contains(&size) => format!("{number:.4}"),
        _ => format!("{number:.3e}"),
    }
}
