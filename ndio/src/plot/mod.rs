//! `ndio plot`: draws arrays.

mod colour;
mod figure;
mod lines;
mod picture;
mod plane;

use std::io::{IsTerminal, Write, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ndarray_io::dtype::Kind;
use ndarray_io::header::Shape;

use super::list;
use super::output::{Content, Output, is_regular, is_same_file};
use super::remote::display_name;
use super::select::Selection;
use super::source::Source;
use crate::failure::{Failure, at};
use colour::{Axis, ColourMap, ColourSupport};
use picture::Style;
use plane::Plane;

/// Draw an array: a picture, lines, or a histogram
///
/// Two axes are drawn as a picture, one axis or a few columns as lines. Without --slice, any further axes are drawn at their middle index.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio plot x.npy\n  ndio plot x.npy --histogram\n  ndio plot x.npy --log --cmap magma\n  ndio plot x.npy -o x.png"
)]
pub(crate) struct Arguments {
    /// Draw a histogram
    #[arg(long)]
    histogram: bool,
    /// How many bars a histogram has, at most as many as fit; default: one per column, 64 in a file
    #[arg(long, value_name = "NUMBER", requires = "histogram")]
    bins: Option<NonZeroUsize>,
    /// Draw a picture, even of a long array of few columns, which is drawn as lines by default
    #[arg(long, conflicts_with = "histogram")]
    picture: bool,
    /// Write a file instead: PNG with one point per element of a picture, or SVG with axes
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// Width in columns; default: the terminal's
    #[arg(long, conflicts_with = "output")]
    width: Option<usize>,
    /// Maximum height in lines
    #[arg(long, conflicts_with = "output")]
    height: Option<usize>,
    /// The values that are darkest and brightest: -1:1; default: the 1st and 99th percentile, of labels the first and last
    #[arg(long, value_name = "LOW:HIGH", value_parser = parse_limits, allow_hyphen_values = true)]
    limits: Option<colour::Limits>,
    /// Logarithmic: the colors of a picture, the heights of lines, or the counts of a histogram
    #[arg(long)]
    log: bool,
    /// Colors of a picture: viridis, magma, inferno, plasma, RdBu or gray; reversed with _r at the end
    #[arg(long, value_name = "NAME", value_parser = ColourMap::of_name)]
    cmap: Option<ColourMap>,
    /// Points of the PNG file per element, in each direction
    #[arg(long, value_name = "NUMBER", requires = "output")]
    scale: Option<NonZeroUsize>,
    /// Use colors; default: auto, on a terminal that supports them, unless NO_COLOR is set
    #[arg(long, value_enum, conflicts_with = "output")]
    color: Option<ColorChoice>,
    #[command(flatten)]
    selection: Selection,
    /// The file; - is standard input
    file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

fn parse_limits(text: &str) -> Result<colour::Limits, String> {
    let numbers = text
        .split_once(':')
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    match numbers {
        Some((low, high)) if low < high => Ok(colour::Limits { low, high }),
        _ => Err("expected two numbers, the lower first: -1:1".into()),
    }
}

/// The size and colors of the output.
#[derive(Clone, Copy)]
struct Canvas {
    columns: usize,
    lines: usize,
    colours: ColourSupport,
}

impl Canvas {
    fn of(arguments: &Arguments) -> Self {
        let size = terminal_size::terminal_size();
        let (columns, lines) =
            size.map_or((80usize, 24usize), |(width, height)| (width.0.into(), height.0.into()));
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_true_colours =
            std::env::var("COLORTERM").is_ok_and(|value| ["truecolor", "24bit"].contains(&&*value));
        let has_256_colours = std::env::var("TERM").is_ok_and(|name| name.contains("256color"));
        let colours = match (arguments.color.unwrap_or(ColorChoice::Auto), has_true_colours) {
            (ColorChoice::Never, _) => ColourSupport::None,
            (ColorChoice::Auto, _) if !stdout().is_terminal() || is_set("NO_COLOR") => ColourSupport::None,
            (_, true) => ColourSupport::True,
            (_, false) if has_256_colours => ColourSupport::Indexed,
            (ColorChoice::Auto, false) => ColourSupport::None,
            (ColorChoice::Always, false) => ColourSupport::True,
        };
        Self {
            columns: arguments.width.unwrap_or(columns).clamp(20, 1000),
            lines: arguments.height.unwrap_or(lines.saturating_sub(4)).clamp(4, 1000),
            colours,
        }
    }
}

/// What an array is drawn as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawing {
    Histogram,
    Line,
    Columns,
    Picture,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options();
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    let source = selection.open_one(&input, &options, true)?.ensure_iterable()?;
    if source.len() == 0 {
        return Err(input.at(format!("there is nothing to draw in shape {}", source.display_shape())));
    }
    let drawing = arguments.drawing(source.shape())?;
    let axis = if arguments.log { Axis::Log } else { Axis::Linear };
    match &arguments.output {
        Some(path) if is_same_file(path, input.name()) => {
            Err(at(path, "the picture would take the place of the array".into()))
        }
        Some(path) => arguments.write_file(&source, drawing, axis, path, out),
        None => {
            let canvas = Canvas::of(arguments);
            match drawing {
                Drawing::Histogram => {
                    lines::draw_histogram(&Plane::whole(&source), (arguments.bins, axis), &canvas, out)
                }
                Drawing::Line => lines::draw_line(&Plane::whole(&source), axis, &canvas, out),
                Drawing::Columns => lines::draw_columns(&source, axis, &canvas, out),
                Drawing::Picture => {
                    let style = arguments.style(&source, axis)?;
                    picture::draw(&Plane::picture(&source, style.channels), style, &canvas, out)
                }
            }
        }
    }?;
    Ok(0)
}

impl Arguments {
    fn drawing(&self, shape: &[usize]) -> Result<Drawing, Failure> {
        let drawing = match shape.len() {
            _ if self.histogram => Drawing::Histogram,
            0 | 1 if self.picture => {
                return Err(
                    format!("a picture needs two axes, the array has shape {}", Shape::from(shape)).into()
                );
            }
            0 => Drawing::Histogram,
            1 => Drawing::Line,
            _ if !self.picture && is_series(shape) => Drawing::Columns,
            _ => Drawing::Picture,
        };
        let of_pictures = [
            ("--limits", self.limits.is_some()),
            ("--cmap", self.cmap.is_some()),
            ("--scale", self.scale.is_some()),
        ];
        match of_pictures.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) if drawing != Drawing::Picture => {
                Err(format!("{name} applies to pictures only").into())
            }
            _ => Ok(drawing),
        }
    }

    /// Returns how the numbers of a picture become colors.
    fn style(&self, source: &Source, axis: Axis) -> Result<Style, Failure> {
        let channels = channels(source);
        if channels > 1 && (self.log || self.cmap.is_some()) {
            return Err("--log and --cmap apply to pictures of one channel; --slice ...,0 selects one".into());
        }
        if self.log && self.limits.is_some_and(|limits| limits.low <= 0.0) {
            return Err("--log requires --limits above 0".into());
        }
        Ok(Style { channels, limits: self.limits, axis, map: self.cmap.unwrap_or(ColourMap::VIRIDIS) })
    }

    /// Writes a file: of pictures PNG or SVG, as its name says; of others SVG.
    fn write_file(
        &self,
        source: &Source,
        drawing: Drawing,
        axis: Axis,
        path: &Path,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        const BINS: usize = 64;
        const MAX_BINS: usize = figure::LINE_POINTS;
        let name = display_name(path).to_ascii_lowercase();
        let is_svg = name.ends_with(".svg");
        let has_free_name = path == Path::new("-") || path.exists() && !is_regular(path);
        if !has_free_name && !is_svg && (drawing != Drawing::Picture || !name.ends_with(".png")) {
            let wanted =
                if drawing == Drawing::Picture { ".png or .svg" } else { ".svg, for lines and histograms" };
            return Err(format!("{}: the name of a picture must end in {wanted}", display_name(path)).into());
        }
        let output = Output::new(path, self.force)?;
        let (bytes, text) = match drawing {
            Drawing::Histogram => {
                let plane = Plane::whole(source);
                let bins = self.bins.map_or(BINS, NonZeroUsize::get).min(MAX_BINS);
                let found = lines::Histogram::of(&plane, bins)?;
                (figure::histogram(&found, axis).into_bytes(), format!("{} bars", found.counts.len()))
            }
            Drawing::Line | Drawing::Columns => {
                let planes: Vec<Plane<'_>> = match source.shape() {
                    [_, columns] => (0..*columns).map(|column| Plane::column(source, column)).collect(),
                    _ => vec![Plane::whole(source)],
                };
                let (mut found, mut nothing) = (Vec::new(), None);
                for (column, plane) in planes.iter().enumerate() {
                    match lines::Spans::of(plane, axis, figure::LINE_POINTS)? {
                        Ok(line) => found.push((column, line)),
                        Err(reason) => nothing = Some(reason),
                    }
                }
                if let Some(reason) = nothing.filter(|_| found.is_empty()) {
                    return Err(reason.into());
                }
                let text = list::plural(found.len(), "line");
                (figure::lines(&found, source.shape()[0], axis).into_bytes(), text)
            }
            Drawing::Picture => {
                let style = self.style(source, axis)?;
                let plane = Plane::picture(source, style.channels);
                let made = picture::make_png(&plane, style, self.scale.map_or(1, NonZeroUsize::get))?;
                let size = (plane.dims()[0], plane.dims()[1]);
                let bytes =
                    if is_svg { figure::picture(&made.png, size, made.key).into_bytes() } else { made.png };
                (bytes, made.text)
            }
        };
        let content = if drawing == Drawing::Picture && !is_svg { Content::Binary } else { Content::Text };
        output.write(out, content, |mut sink| Ok(sink.write_all(&bytes)?))?;
        match path == Path::new("-") {
            true => Ok(()), // nothing but the picture
            false => Ok(writeln!(out, "{}: {text}", path.display())?),
        }
    }
}

/// Whether an array of two axes is a series of measurements, drawn as lines, rather than a picture.
fn is_series(shape: &[usize]) -> bool {
    const MAX_SERIES: usize = 8;
    /// The minimum ratio of rows to columns; pictures are not that long.
    const MIN_ASPECT_RATIO: usize = 32;
    matches!(shape, [rows, columns] if *columns <= MAX_SERIES && *rows >= MIN_ASPECT_RATIO * columns)
}

/// Returns 3 or 4 if the last axis has the color channels of a picture, else 1.
fn channels(source: &Source) -> usize {
    /// An array with a shorter side than this is probably not a picture.
    const MIN_PICTURE_SIDE: usize = 16;
    let kind = source.dtype().as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
    match source.shape() {
        [.., _, _, channels @ (3 | 4)] if kind == Some((Kind::Uint, 1)) => *channels,
        [.., height, width, channels @ (3 | 4)]
            if matches!(kind, Some((Kind::Float, _))) && *height.min(width) >= MIN_PICTURE_SIDE =>
        {
            *channels
        }
        _ => 1,
    }
}
