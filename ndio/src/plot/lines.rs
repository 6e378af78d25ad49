//! Line plots of one axis, and histograms.

use std::io::Write;
use std::num::NonZeroUsize;

use super::Canvas;
use super::colour::{Axis, Limits};
use super::plane::{NO_NUMBERS, NO_POSITIVE_NUMBERS, Plane};
use crate::failure::Failure;
use crate::source::Source;
use crate::summary;

/// The dots of a Braille character: two columns of four.
const DOTS_ACROSS: usize = 2;
const DOTS_DOWN: usize = 4;

/// The least and the largest number at each place of a line, and where lines must not cross.
pub(super) struct Spans {
    pub(super) spans: Vec<Option<(f64, f64)>>,
    /// Places with missing numbers.
    pub(super) is_gap: Vec<bool>,
    pub(super) limits: Limits,
    /// How many finite numbers have no place on the axis.
    left_out: u64,
}

impl Spans {
    /// Finds them at this number of places, over which a few numbers are spread; or says why there is nothing to draw.
    pub(super) fn of(
        plane: &Plane<'_>,
        axis: Axis,
        width: usize,
    ) -> Result<Result<Self, &'static str>, Failure> {
        let length = plane.dims()[0];
        let (mut spans, mut is_gap) = (vec![None::<(f64, f64)>; width], vec![false; width]);
        let mut left_out = 0_u64;
        plane.for_each_block(|block, first| {
            for (index, number) in block.iter().enumerate() {
                let at = index + first[0];
                let column = if length > 1 {
                    (at as u128 * (width - 1) as u128 / (length - 1) as u128) as usize
                } else {
                    0
                };
                if !axis.has(*number) {
                    left_out += u64::from(number.is_finite());
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
        Ok(match low <= high {
            true => Ok(Self { spans, is_gap, limits: Limits { low, high }, left_out }),
            false if left_out > 0 => Err(NO_POSITIVE_NUMBERS),
            false => Err(NO_NUMBERS),
        })
    }
}

/// Draws the columns of an array of two axes as line plots, one below the other.
pub(super) fn draw_columns(
    source: &Source,
    axis: Axis,
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    const MIN_LINES: usize = 4;
    let count = source.shape()[1];
    // Each plot also has a line for its name and two for its axis.
    let lines = (canvas.lines / count.max(1)).saturating_sub(3).max(MIN_LINES);
    for column in 0..count {
        writeln!(out, "column {column}")?;
        let canvas = Canvas { lines, ..*canvas };
        match Spans::of(&Plane::column(source, column), axis, dots_across(&canvas))? {
            Ok(line) => draw_spans(&line, source.shape()[0], axis, &canvas, out)?,
            Err(reason) => writeln!(out, "  {reason}")?,
        }
    }
    Ok(())
}

/// Draws a line plot. Where several numbers share a column, the line spans their range.
pub(super) fn draw_line(
    plane: &Plane<'_>,
    axis: Axis,
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let line = Spans::of(plane, axis, dots_across(canvas))??;
    draw_spans(&line, plane.dims()[0], axis, canvas, out)
}

/// The columns to the left of a line plot, for the numbers of its axis.
const LABEL_COLUMNS: usize = 12;

/// Returns how many dots are beside one another.
fn dots_across(canvas: &Canvas) -> usize {
    (canvas.columns - LABEL_COLUMNS - 2).max(4) * DOTS_ACROSS
}

fn draw_spans(
    line: &Spans,
    length: usize,
    axis: Axis,
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (label, columns) = (LABEL_COLUMNS, line.spans.len() / DOTS_ACROSS);
    let dots = dots(line, axis, canvas.lines * DOTS_DOWN);
    for at in 0..canvas.lines {
        let name = match at {
            0 => short_number(line.limits.high),
            _ if at + 1 == canvas.lines => short_number(line.limits.low),
            _ => String::new(),
        };
        let text: String = (0..columns).map(|column| braille(&dots, at, column)).collect();
        writeln!(out, "{name:>label$} ┤{}", text.trim_end_matches('\u{2800}'))?;
    }
    let last = (length - 1).to_string();
    writeln!(out, "{:>label$} └{}", "", "─".repeat(columns))?;
    writeln!(out, "{:>label$}  0{:>width$}", "", last, width = columns - 1)?;
    match (axis, line.left_out) {
        (Axis::Linear, _) => {}
        (Axis::Log, 0) => writeln!(out, "logarithmic")?,
        (Axis::Log, left_out) => writeln!(out, "logarithmic; {left_out} not above 0")?,
    }
    Ok(())
}

/// Returns which dots of a line plot are drawn, by rows.
fn dots(line: &Spans, axis: Axis, height: usize) -> Vec<Vec<bool>> {
    let row = |number: f64| {
        height - 1 - (axis.fraction(number, line.limits) * (height - 1) as f64).round() as usize
    };
    let mut dots = vec![vec![false; line.spans.len()]; height];
    let mut before: Option<(usize, usize)> = None;
    for (column, span) in line.spans.iter().enumerate() {
        let Some((low, high)) = span else {
            before = before.filter(|_| !line.is_gap[column]);
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
    dots
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

/// How many numbers are in each of the equal parts of their range.
pub(super) struct Histogram {
    pub(super) counts: Vec<u64>,
    pub(super) limits: Limits,
    not_finite: u64,
    all: u64,
}

impl Histogram {
    pub(super) fn of(plane: &Plane<'_>, bins: usize) -> Result<Self, Failure> {
        let (low, high) = summary::compute(plane.source)?.range()?;
        if low.is_nan() || low > high {
            return Err(NO_NUMBERS.into());
        }
        let limits = Limits { low, high };
        let mut found = Self { counts: vec![0; bins], limits, not_finite: 0, all: 0 };
        plane.for_each_block(|block, _| {
            for number in block {
                found.all += 1;
                if !number.is_finite() {
                    found.not_finite += 1;
                    continue;
                }
                let fraction = Axis::Linear.fraction(*number, limits);
                found.counts[((fraction * bins as f64) as usize).min(bins - 1)] += 1;
            }
        })?;
        Ok(found)
    }
}

/// Draws a histogram.
pub(super) fn draw_histogram(
    plane: &Plane<'_>,
    (bins, axis): (Option<NonZeroUsize>, Axis),
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let label = LABEL_COLUMNS;
    let columns = canvas.columns - label - 2;
    let bins = bins.map_or(columns, |bins| bins.get().min(columns));
    let Histogram { counts, limits, not_finite, all } = Histogram::of(plane, bins)?;
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let size = |count: u64| if axis == Axis::Log { (count as f64).ln_1p() } else { count as f64 };
    let eighths = |count: u64| (size(count) / size(most) * (canvas.lines * 8) as f64).ceil() as usize;
    for line in (0..canvas.lines).rev() {
        let name = match line {
            _ if line + 1 == canvas.lines => most.to_string(),
            0 => "0".into(),
            _ => String::new(),
        };
        let bar =
            |column: usize| BARS[eighths(counts[column * bins / columns]).saturating_sub(line * 8).min(8)];
        let text: String = (0..columns).map(bar).collect();
        writeln!(out, "{name:>label$} ┤{}", text.trim_end())?;
    }
    writeln!(out, "{:>label$} └{}", "", "─".repeat(columns))?;
    let (low, high) = (short_number(limits.low), short_number(limits.high));
    writeln!(
        out,
        "{:>label$}  {low}{high:>width$}",
        "",
        width = columns.saturating_sub(low.chars().count())
    )?;
    if not_finite > 0 {
        writeln!(out, "{not_finite} of {all} are not finite")?;
    }
    if axis == Axis::Log {
        writeln!(out, "logarithmic: the height is log(1 + count)")?;
    }
    Ok(())
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
