//! Pictures of two axes.

use std::io::Write;

use ndarray_io::DType;
use ndarray_io::dtype::Kind;

use super::Canvas;
use super::colour::{Axis, ColourMap, ColourSupport, Limits, Rgb, brightness, shade};
use super::figure::Key;
use super::lines::short_number;
use super::plane::{Grid, NO_NUMBERS, NO_POSITIVE_NUMBERS, Plane};
use crate::failure::Failure;

/// How numbers become colors.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// 1, or the number of channels of numbers that are colors.
    pub(super) channels: usize,
    /// Those of the numbers, if none.
    pub(super) limits: Option<Limits>,
    pub(super) axis: Axis,
    pub(super) map: ColourMap,
}

/// A grid, and how its numbers are colored.
struct Painter {
    grid: Grid,
    style: Style,
    limits: Limits,
    /// What is said of the numbers that the picture does not show as they are.
    note: String,
}

impl Painter {
    fn new(plane: &Plane<'_>, style: Style, height: usize, width: usize) -> Result<Self, Failure> {
        let Style { channels, axis, .. } = style;
        let grid = plane.grid(height, width, channels)?;
        let (low, high) = grid.values.range.ok_or(NO_NUMBERS)?;
        let whole = match axis {
            Axis::Linear => Limits { low, high },
            Axis::Log => Limits { low: grid.values.least_positive.ok_or(NO_POSITIVE_NUMBERS)?, high },
        };
        let mut notes = Vec::new();
        let sample = || grid.values.sample.iter().copied().filter(|number| axis.has(*number)).collect();
        let limits = match (style.limits, channels) {
            (Some(limits), _) => limits,
            (None, 1) if grid.has_middles() => whole,
            (None, 1) => Limits::robust(sample(), whole),
            _ => Limits { low: 0.0, high: full_brightness(plane.source.dtype(), &grid) },
        };
        if axis == Axis::Log {
            notes.push("logarithmic".to_owned());
        }
        if channels == 1 && limits != (Limits { low, high }) {
            notes.push(format!("data from {} to {}", short_number(low), short_number(high)));
        }
        let (rows, columns) = (plane.dims()[0].div_ceil(height), plane.dims()[1].div_ceil(width));
        if channels == 1 && rows * columns > 1 {
            let what = if grid.has_middles() { "one" } else { "the mean" };
            notes.push(format!("a point is {what} of up to {rows} × {columns}"));
        }
        if grid.values.not_finite > 0 {
            notes.push(format!("{} not finite", grid.values.not_finite));
        }
        if axis == Axis::Log && grid.values.not_positive > 0 {
            notes.push(format!("{} not above 0", grid.values.not_positive));
        }
        let note = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        Ok(Self { grid, style, limits, note })
    }

    /// Returns the number of a point of a picture, which may be larger than the grid, as a fraction of the limits. `None` if there is none.
    fn fraction(
        &self,
        (row, height): (usize, usize),
        (column, width): (usize, usize),
        channel: usize,
    ) -> Option<f64> {
        let (row, column) = (row * self.grid.height / height, column * self.grid.width / width);
        // The sum of a cell may overflow.
        let number = self.grid.get(row, column, channel).clamp(f64::MIN, f64::MAX);
        let axis = self.style.axis;
        axis.has(number).then(|| axis.fraction(number, self.limits))
    }

    /// Returns the color and the opacity of a point; `None` for one without a number, and for a transparent one.
    fn colour(&self, row: (usize, usize), column: (usize, usize)) -> Option<(Rgb, u8)> {
        let fraction = |channel| self.fraction(row, column, channel);
        if self.style.channels == 1 {
            return fraction(0).map(|fraction| (self.style.map.colour(fraction), 255));
        }
        let level = |channel| fraction(channel).map_or(0, |fraction| (fraction * 255.0).round() as u8);
        let alpha = if self.style.channels == 4 { level(3) } else { 255 };
        (fraction(0).is_some() && alpha > 0).then(|| ([level(0), level(1), level(2)], alpha))
    }

    /// Returns the brightness of a point, for terminals without colors.
    fn brightness(&self, row: (usize, usize), column: (usize, usize)) -> Option<f64> {
        match self.style.channels {
            1 => self.fraction(row, column, 0),
            _ => self.colour(row, column).map(|(colour, _)| brightness(colour)),
        }
    }
}

/// Returns the number that means full brightness.
///
/// That is the maximum of `u8` and `u16`. For other types it is 1, or 255 if any number is clearly above 1.
fn full_brightness(dtype: &DType, grid: &Grid) -> f64 {
    /// Numbers up to this still count as 0 to 1: rounding and sharpening can slightly exceed 1.
    const UNIT_SCALE_LIMIT: f64 = 2.0;
    match dtype.as_scalar().map(|scalar| (scalar.kind(), scalar.size())) {
        Some((Kind::Bool, _)) => 1.0,
        Some((Kind::Uint, 1)) => 255.0,
        Some((Kind::Uint, 2)) => 65_535.0,
        _ if grid.means().any(|number| number > UNIT_SCALE_LIMIT) => 255.0,
        _ => 1.0,
    }
}

/// Draws in the terminal, two points per character: one as its foreground, one as its background.
pub(super) fn draw(
    plane: &Plane<'_>,
    style: Style,
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (rows, columns) = (plane.dims()[0], plane.dims()[1]);
    let (height, width) = fitted_size(rows, columns, 2 * canvas.lines, canvas.columns);
    let painter = Painter::new(plane, style, height, width)?;
    let point =
        |row: usize, column: usize| painter.colour((row, height), (column, width)).map(|(colour, _)| colour);
    let bright = |row: usize, column: usize| painter.brightness((row, height), (column, width));
    for top in (0..height).step_by(2) {
        let mut line = String::new();
        for column in 0..width {
            let has_lower = top + 1 < height;
            if canvas.colours != ColourSupport::None {
                let lower = if has_lower { point(top + 1, column) } else { None };
                line += &half_blocks(canvas.colours, point(top, column), lower);
            } else {
                let lower = if has_lower { bright(top + 1, column) } else { None };
                line.push(shade_char_of_pair(bright(top, column), lower));
            }
        }
        line += canvas.colours.reset_sequence();
        writeln!(out, "{}", line.trim_end())?;
    }
    if !plane.leading_indices.is_empty() {
        let leading_indices: Vec<String> = plane.leading_indices.iter().map(usize::to_string).collect();
        writeln!(
            out,
            "at index [{}] of the leading axes; --slice selects another",
            leading_indices.join(", ")
        )?;
    }
    if style.channels == 1 {
        draw_scale(&painter, canvas, out)?;
    }
    Ok(())
}

/// Returns the largest size that fits and keeps the aspect ratio, but with sides of at least 8 points where
/// they fit.
fn fitted_size(rows: usize, columns: usize, height: usize, width: usize) -> (usize, usize) {
    const MIN_SIDE: usize = 8;
    let factor = (height as f64 / rows as f64).min(width as f64 / columns as f64);
    let fit =
        |length: usize, most: usize| ((length as f64 * factor).round() as usize).max(MIN_SIDE).clamp(1, most);
    (fit(rows, height), fit(columns, width))
}

fn half_blocks(colours: ColourSupport, upper: Option<Rgb>, lower: Option<Rgb>) -> String {
    let end = colours.reset_sequence();
    match (upper, lower) {
        (None, None) => format!("{end} "),
        (Some(upper), None) => format!("{end}{}▀", colours.foreground(upper)),
        (None, Some(lower)) => format!("{end}{}▄", colours.foreground(lower)),
        (Some(upper), Some(lower)) => format!("{}{}▀", colours.foreground(upper), colours.background(lower)),
    }
}

fn shade_char_of_pair(upper: Option<f64>, lower: Option<f64>) -> char {
    let there: Vec<f64> = [upper, lower].into_iter().flatten().collect();
    match there.len() {
        0 => ' ',
        count => shade(there.iter().sum::<f64>() / count as f64),
    }
}

/// Draws the color scale.
fn draw_scale(painter: &Painter, canvas: &Canvas, out: &mut dyn Write) -> Result<(), Failure> {
    const SCALE_WIDTH: usize = 32;
    let cell = |index: usize| {
        let fraction = index as f64 / (SCALE_WIDTH - 1) as f64;
        let colour = Some(painter.style.map.colour(fraction));
        match canvas.colours {
            ColourSupport::None => shade(fraction).to_string(),
            colours => half_blocks(colours, colour, colour),
        }
    };
    let bar: String = (0..SCALE_WIDTH).map(cell).collect();
    let end = canvas.colours.reset_sequence();
    let Limits { low, high } = painter.limits;
    Ok(writeln!(out, "{} {bar}{end} {}{}", short_number(low), short_number(high), painter.note)?)
}

/// A picture in a file, and what is said about it.
pub(super) struct PictureFile {
    pub(super) png: Vec<u8>,
    pub(super) key: Key,
    pub(super) text: String,
}

/// Makes a PNG file with `enlarged` times `enlarged` pixels per element, downsampled to at most 4096 elements on the longer side.
pub(super) fn make_png(plane: &Plane<'_>, style: Style, enlarged: usize) -> Result<PictureFile, Failure> {
    const MAX_SIDE: usize = 4096;
    const MAX_PIXELS: usize = 2 * MAX_SIDE;
    let (rows, columns) = (plane.dims()[0], plane.dims()[1]);
    let longer = rows.max(columns);
    let resized = |length: usize| match longer {
        longer if longer > MAX_SIDE => (length as u128 * MAX_SIDE as u128 / longer as u128).max(1) as usize,
        _ => length,
    };
    let (height, width) = (resized(rows), resized(columns));
    let painter = Painter::new(plane, style, height, width)?;
    let (height, width) = (height.saturating_mul(enlarged), width.saturating_mul(enlarged));
    if height.max(width) > MAX_PIXELS {
        return Err(
            format!("{width} × {height} points are too many: at most {MAX_PIXELS} on each side").into()
        );
    }
    let mut points = Vec::with_capacity(height * width * 4);
    for row in 0..height {
        for column in 0..width {
            match painter.colour((row, height), (column, width)) {
                Some(([red, green, blue], alpha)) => points.extend([red, green, blue, alpha]),
                None => points.extend([0; 4]),
            }
        }
    }
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, u32::try_from(width)?, u32::try_from(height)?);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&points)?;
    writer.finish()?;
    let Limits { low, high } = painter.limits;
    let (low_text, high_text, note) = (short_number(low), short_number(high), &painter.note);
    let text = format!("{width} × {height} points, from {low_text} to {high_text}{note}");
    let key = (style.channels == 1).then_some((painter.limits, style.axis, style.map));
    Ok(PictureFile { png, key, text })
}
