//! Figures in SVG: lines, bars and pictures with axes.

use std::fmt::Write;

use base64::Engine;

use super::colour::{Axis, ColourMap, Limits};
use super::lines::{Histogram, Spans, short_number};

/// The area of the data, and the space around it for numbers.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 40.0;
const RIGHT: f64 = 110.0;
/// The numbers that an axis has at most.
const TICKS: f64 = 6.0;

/// The points of a line per point of the figure's width.
pub(super) const LINE_POINTS: usize = WIDTH as usize;

/// matplotlib's colors of lines.
const LINE_COLOURS: [&str; 8] =
    ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"];

/// A figure that is being drawn.
struct Figure {
    svg: String,
    width: f64,
    height: f64,
}

/// The numbers along one side.
#[derive(Clone, Copy)]
struct Scale {
    limits: Limits,
    axis: Axis,
    /// The least distance of those that are written: 1 of indices.
    least_step: f64,
}

impl Scale {
    fn of_values(limits: Limits, axis: Axis) -> Self {
        Self { limits, axis, least_step: 0.0 }
    }

    fn of_indices(low: f64, high: f64) -> Self {
        Self { limits: Limits { low, high }, axis: Axis::Linear, least_step: 1.0 }
    }

    /// Returns numbers that are easy to read, with their places from 0 to 1.
    fn ticks(self) -> Vec<(f64, f64)> {
        let Limits { low, high } = self.limits;
        let numbers: Vec<f64> = match self.axis {
            Axis::Linear if low == high => vec![low],
            Axis::Linear => {
                // Divided first, because the difference of two floats may overflow.
                let rough = (high / TICKS - low / TICKS).max(f64::MIN_POSITIVE);
                let power = 10f64.powf(rough.log10().floor());
                let step = power
                    * [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough).unwrap_or(10.0);
                let step = step.max(self.least_step);
                let first = (low / step).ceil();
                (0..=2 * TICKS as u32).map(|number| (first + f64::from(number)) * step).collect()
            }
            Axis::Log => {
                let decades = (low.log10().ceil() as i32, high.log10().floor() as i32);
                let step = ((decades.1 - decades.0) / TICKS as i32).max(1);
                let numbers: Vec<f64> =
                    (decades.0..=decades.1).step_by(step as usize).map(|power| 10f64.powi(power)).collect();
                if numbers.is_empty() { vec![low, high] } else { numbers }
            }
        };
        let inside = numbers.into_iter().filter(|number| (low..=high).contains(number));
        inside.map(|number| (number, self.axis.fraction(number, self.limits))).collect()
    }
}

impl Figure {
    fn new(width: f64, height: f64) -> Self {
        let mut svg = String::new();
        let (all_width, all_height) = (LEFT + width + RIGHT, TOP + height + BOTTOM);
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_width} {all_height}\" width=\"{all_width}\" height=\"{all_height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        );
        Self { svg, width, height }
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let _ = writeln!(self.svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
    }

    /// Draws the frame, the numbers of both axes, and lines towards them. Indices of rows count from the top.
    fn axes(&mut self, x: Scale, y: Scale, is_y_from_top: bool) {
        let (width, height) = (self.width, self.height);
        let mut path = String::new();
        for (number, place) in x.ticks() {
            let at = LEFT + place * width;
            let _ = write!(path, "M{at:.1} {:.1}v5", TOP + height);
            self.text(at, TOP + height + 18.0, "middle", &number_text(number));
        }
        for (number, place) in y.ticks() {
            let at = TOP + height * if is_y_from_top { place } else { 1.0 - place };
            let _ = write!(path, "M{LEFT} {at:.1}h-5");
            self.text(LEFT - 8.0, at + 4.0, "end", &number_text(number));
        }
        let _ = writeln!(
            self.svg,
            "<path d=\"{path}M{LEFT} {TOP}h{width}v{height}h-{width}z\" fill=\"none\" stroke=\"black\"/>"
        );
    }

    /// Draws the colors of numbers, to the right.
    fn scale_bar(&mut self, scale: Scale, map: ColourMap) {
        const STOPS: u32 = 64;
        let (x, height) = (LEFT + self.width + 20.0, self.height);
        for stop in 0..STOPS {
            let [red, green, blue] = map.colour(f64::from(stop) / f64::from(STOPS - 1));
            let (top, high) =
                (TOP + height * f64::from(STOPS - 1 - stop) / f64::from(STOPS), height / f64::from(STOPS));
            let _ = writeln!(
                self.svg,
                "<rect x=\"{x}\" y=\"{top:.2}\" width=\"14\" height=\"{:.2}\" fill=\"#{red:02x}{green:02x}{blue:02x}\"/>",
                high + 0.3
            );
        }
        for (number, place) in scale.ticks() {
            self.text(x + 20.0, TOP + height * (1.0 - place) + 4.0, "start", &number_text(number));
        }
    }

    fn finish(mut self) -> String {
        self.svg += "</svg>\n";
        self.svg
    }
}

/// Formats a number of an axis without zeros at its end.
fn number_text(number: f64) -> String {
    let text = short_number(number);
    match text.contains(['e', 'N', 'i']) {
        true => text,
        false if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Draws lines over the indices of their numbers. Where several numbers share a place, the line spans their range.
pub(super) fn lines(lines: &[(usize, Spans)], length: usize, axis: Axis) -> String {
    let mut figure = Figure::new(WIDTH, HEIGHT);
    let all = || lines.iter().map(|(_, line)| line.limits);
    let limits = Limits {
        low: all().map(|limits| limits.low).reduce(f64::min).unwrap_or(0.0),
        high: all().map(|limits| limits.high).reduce(f64::max).unwrap_or(1.0),
    };
    let y_of = |number: f64| TOP + HEIGHT * (1.0 - axis.fraction(number, limits));
    for (shown, (column, line)) in lines.iter().enumerate() {
        let colour = LINE_COLOURS[column % LINE_COLOURS.len()];
        let (mut path, mut pen) = (String::new(), 'M');
        for (place, span) in line.spans.iter().enumerate() {
            let Some((low, high)) = span else {
                pen = if line.is_gap[place] { 'M' } else { pen };
                continue;
            };
            let x = LEFT + WIDTH * place as f64 / (line.spans.len() - 1).max(1) as f64;
            let _ = write!(path, "{pen}{x:.1} {:.1}", y_of(*low));
            pen = 'L';
            // A point on its own is seen by its round ends.
            let _ = write!(path, "V{:.1}", y_of(*high));
        }
        let _ = writeln!(
            figure.svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>"
        );
        if lines.len() > 1 {
            let y = TOP + 12.0 + 18.0 * shown as f64;
            let _ = writeln!(
                figure.svg,
                "<path d=\"M{} {}h20\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                LEFT + WIDTH + 10.0,
                y - 4.0
            );
            figure.text(LEFT + WIDTH + 36.0, y, "start", &format!("column {column}"));
        }
    }
    figure.axes(Scale::of_indices(0.0, (length - 1) as f64), Scale::of_values(limits, axis), false);
    figure.finish()
}

/// Draws bars.
pub(super) fn histogram(found: &Histogram, axis: Axis) -> String {
    let mut figure = Figure::new(WIDTH, HEIGHT);
    let most = found.counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    // On a logarithmic axis, one is seen, and none is not.
    let limits = Limits { low: if axis == Axis::Log { 0.5 } else { 0.0 }, high: most };
    let wide = WIDTH / found.counts.len() as f64;
    for (bar, count) in found.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let high = HEIGHT * axis.fraction(*count as f64, limits);
        let _ = writeln!(
            figure.svg,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{wide:.2}\" height=\"{high:.2}\" fill=\"{}\"/>",
            LEFT + wide * bar as f64,
            TOP + HEIGHT - high,
            LINE_COLOURS[0]
        );
    }
    figure.axes(Scale::of_values(found.limits, Axis::Linear), Scale::of_values(limits, axis), false);
    figure.finish()
}

/// What the colors of a picture mean, if they are not the colors themselves.
pub(super) type Key = Option<(Limits, Axis, ColourMap)>;

/// Puts a picture, as the bytes of a PNG file, between axes of the indices of its rows and columns.
pub(super) fn picture(png: &[u8], (rows, columns): (usize, usize), key: Key) -> String {
    // The sides are as the data's, unless one of them could not be seen.
    const MIN_SIDE: f64 = 60.0;
    let factor = (WIDTH / columns as f64).min(HEIGHT / rows as f64);
    let side = |length: usize, most: f64| (length as f64 * factor).clamp(MIN_SIDE, most);
    let mut figure = Figure::new(side(columns, WIDTH), side(rows, HEIGHT));
    let _ = writeln!(
        figure.svg,
        "<image x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" preserveAspectRatio=\"none\" style=\"image-rendering: pixelated\" href=\"data:image/png;base64,{}\"/>",
        figure.width,
        figure.height,
        base64::engine::general_purpose::STANDARD.encode(png)
    );
    // From the edge of the first to that of the last.
    let along = |length: usize| Scale::of_indices(-0.5, length as f64 - 0.5);
    figure.axes(along(columns), along(rows), true);
    if let Some((limits, axis, map)) = key {
        figure.scale_bar(Scale::of_values(limits, axis), map);
    }
    figure.finish()
}

#[cfg(test)]
mod tests {
    use super::{Axis, Limits, Scale};

    /// The ticks are those of matplotlib 3.11's `MaxNLocator(6, steps=[1, 2, 5, 10])` and `LogLocator`.
    #[test]
    fn ticks_are_round_numbers_within_the_limits() {
        let ticks = |low, high, axis| -> Vec<f64> {
            let found = Scale::of_values(Limits { low, high }, axis).ticks();
            found.into_iter().map(|(number, _)| number).collect()
        };
        assert_eq!(ticks(0.0, 63.0, Axis::Linear), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!(ticks(-1.0, 1.0, Axis::Linear), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        assert_eq!(ticks(-0.5, 7.5, Axis::Linear), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(ticks(0.5, 2000.0, Axis::Log), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(2.0, 5.0, Axis::Log), [2.0, 5.0]);
        assert!(ticks(-1.7e308, 1.7e308, Axis::Linear).iter().all(|number| number.is_finite()));
        assert_eq!(ticks(3.0, 3.0, Axis::Linear), [3.0]);
        let of_two_rows: Vec<f64> =
            Scale::of_indices(-0.5, 1.5).ticks().iter().map(|(number, _)| *number).collect();
        assert_eq!(of_two_rows, [0.0, 1.0]);
    }
}
