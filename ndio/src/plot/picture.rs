//! Pictures of two axes.

use std::io::{BufWriter, Write};
use std::path::Path;

use ndarray_io::DType;
use ndarray_io::dtype::Kind;

use super::Canvas;
use super::colour::{ColourSupport, Limits, Rgb, brightness, shade, viridis};
use super::lines::short_number;
use super::plane::{Grid, Plane};
use crate::failure::Failure;
use crate::output::{Content, Output};

/// A grid, and how its numbers are colored.
struct Painter {
    grid: Grid,
    channels: usize,
    limits: Limits,
    /// What is said of the numbers that the picture does not show as they are.
    note: String,
}

impl Painter {
    fn new(
        plane: &Plane<'_>,
        channels: usize,
        limits: Option<Limits>,
        height: usize,
        width: usize,
    ) -> Result<Self, Failure> {
        let grid = plane.grid(height, width, channels)?;
        let (low, high) = grid.values.range.ok_or(super::lines::NO_NUMBERS_MESSAGE)?;
        let whole = Limits { low, high };
        let mut notes = Vec::new();
        let limits = match (limits, channels) {
            (Some(limits), _) => limits,
            (None, 1) if grid.has_middles() => whole,
            (None, 1) => Limits::robust(&grid.values.sample, whole),
            _ => Limits { low: 0.0, high: full_brightness(plane.source.dtype(), &grid) },
        };
        if channels == 1 && limits != whole {
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
        let note = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        Ok(Self { grid, channels, limits, note })
    }

    /// Returns the color of a point of a picture, which may be larger than the grid.
    ///
    /// `None` if there is no number, or the point is transparent.
    fn colour(&self, (row, height): (usize, usize), (column, width): (usize, usize)) -> Option<Rgb> {
        let (row, column) = (row * self.grid.height / height, column * self.grid.width / width);
        let number = |channel| self.grid.get(row, column, channel);
        if self.channels == 1 {
            let number = number(0);
            return (!number.is_nan()).then(|| viridis(self.limits.fraction(number)));
        }
        let level = |channel: usize| (self.limits.fraction(number(channel)) * 255.0).round() as u8;
        let is_clear = self.channels == 4 && level(3) == 0;
        (!number(0).is_nan() && !is_clear).then(|| [level(0), level(1), level(2)])
    }

    /// Returns the opacity of a point.
    fn alpha(&self, (row, height): (usize, usize), (column, width): (usize, usize)) -> u8 {
        let (row, column) = (row * self.grid.height / height, column * self.grid.width / width);
        match self.channels {
            4 => (self.limits.fraction(self.grid.get(row, column, 3)) * 255.0).round() as u8,
            _ => 255,
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

impl Painter {
    /// Returns the brightness of a point, for terminals without colors.
    fn brightness(&self, row: (usize, usize), column: (usize, usize)) -> Option<f64> {
        let colour = self.colour(row, column)?;
        let number =
            || self.grid.get(row.0 * self.grid.height / row.1, column.0 * self.grid.width / column.1, 0);
        Some(if self.channels == 1 { self.limits.fraction(number()) } else { brightness(colour) })
    }
}

/// Draws in the terminal, two points per character: one as its foreground, one as its background.
pub(super) fn draw(
    plane: &Plane<'_>,
    channels: usize,
    limits: Option<Limits>,
    canvas: &Canvas,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let (rows, columns) = (plane.dims()[0], plane.dims()[1]);
    let (height, width) = fitted_size(rows, columns, 2 * canvas.lines, canvas.columns);
    let painter = Painter::new(plane, channels, limits, height, width)?;
    let point = |row: usize, column: usize| painter.colour((row, height), (column, width));
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
    if channels == 1 {
        draw_scale(painter.limits, &painter.note, canvas, out)?;
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
fn draw_scale(limits: Limits, note: &str, canvas: &Canvas, out: &mut dyn Write) -> Result<(), Failure> {
    const SCALE_WIDTH: usize = 32;
    let cell = |index: usize| {
        let fraction = index as f64 / (SCALE_WIDTH - 1) as f64;
        let colour = Some(viridis(fraction));
        match canvas.colours {
            ColourSupport::None => shade(fraction).to_string(),
            colours => half_blocks(colours, colour, colour),
        }
    };
    let bar: String = (0..SCALE_WIDTH).map(cell).collect();
    let end = canvas.colours.reset_sequence();
    Ok(writeln!(out, "{} {bar}{end} {}{note}", short_number(limits.low), short_number(limits.high))?)
}

/// Writes a PNG file with one pixel per element, downsampled to at most 4096 on the longer side.
pub(super) fn write_png(
    plane: &Plane<'_>,
    channels: usize,
    limits: Option<Limits>,
    (path, output): (&Path, Output),
    out: &mut dyn Write,
) -> Result<(), Failure> {
    const MAX_SIDE: usize = 4096;
    let (rows, columns) = (plane.dims()[0], plane.dims()[1]);
    let longer = rows.max(columns);
    let resized = |length: usize| match longer {
        longer if longer > MAX_SIDE => (length as u128 * MAX_SIDE as u128 / longer as u128).max(1) as usize,
        _ => length,
    };
    let (height, width) = (resized(rows), resized(columns));
    let painter = Painter::new(plane, channels, limits, height, width)?;
    let mut points = Vec::with_capacity(height * width * 4);
    for row in 0..height {
        for column in 0..width {
            match painter.colour((row, height), (column, width)) {
                Some([red, green, blue]) => {
                    let alpha = painter.alpha((row, height), (column, width));
                    points.extend([red, green, blue, alpha]);
                }
                None => points.extend([0; 4]),
            }
        }
    }
    let is_printed = path == Path::new("-");
    output.write(out, Content::Binary, |sink| {
        let (width, height) = (u32::try_from(width)?, u32::try_from(height)?);
        let mut encoder = png::Encoder::new(BufWriter::new(sink), width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&points)?;
            writer.finish()
        });
        // Of writing, not of the encoder: a reader that has left is not an error.
        written.map_err(|error| match error {
            png::EncodingError::IoError(error) => Failure::from(error),
            error => error.into(),
        })
    })?;
    if is_printed {
        return Ok(()); // nothing but the picture
    }
    let Limits { low, high } = painter.limits;
    let note = &painter.note;
    writeln!(
        out,
        "{}: {width} × {height} points, from {} to {}{note}",
        path.display(),
        short_number(low),
        short_number(high)
    )?;
    Ok(())
}
