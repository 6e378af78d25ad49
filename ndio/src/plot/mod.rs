//! `ndio plot`: draws arrays.

mod colour;
mod lines;
mod picture;
mod plane;

use std::io::{IsTerminal, Write, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ndarray_io::dtype::Kind;
use ndarray_io::header::Shape;

use super::output::{Output, is_regular, is_same_file};
use super::remote::display_name;
use super::select::Selection;
use super::source::Source;
use crate::failure::{Failure, at};
use colour::ColourSupport;
use plane::Plane;

/// Draw an array: a picture, lines, or a histogram
///
/// Two axes are drawn as a picture, one axis or a few columns as lines. Without --slice, any further axes are drawn at their middle index.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ndio plot x.npy\n  ndio plot x.npy --histogram\n  ndio plot x.npy -o x.png"
)]
pub(crate) struct Arguments {
    /// Draw a histogram
    #[arg(long)]
    histogram: bool,
    /// How many bars a histogram has; default: one per column
    #[arg(long, value_name = "NUMBER", requires = "histogram")]
    bins: Option<NonZeroUsize>,
    /// Draw a picture, even of a long array of few columns, which is drawn as lines by default
    #[arg(long, conflicts_with = "histogram")]
    picture: bool,
    /// Write a PNG file instead, of a picture: one point per element
    #[arg(long, short, value_name = "FILE.png")]
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

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::reading::options();
    let (input, selection) = arguments.selection.open(&arguments.file)?;
    let source = selection.open_one(&input, &options, true)?.ensure_iterable()?;
    if source.len() == 0 {
        return Err(input.at(format!("there is nothing to draw in shape {}", source.display_shape())));
    }
    if let Some(path) = &arguments.output {
        let is_file = path != Path::new("-") && (!path.exists() || is_regular(path));
        if is_file && !display_name(path).to_ascii_lowercase().ends_with(".png") {
            return Err(format!("{}: the name of a picture must end in .png", display_name(path)).into());
        }
        if is_same_file(path, input.name()) {
            return Err(at(path, "the picture would take the place of the array".into()));
        }
    }
    let canvas = Canvas::of(arguments);
    let ndim = source.shape().len();
    let is_picture = ndim > 1 && !arguments.histogram;
    let is_lines =
        is_picture && arguments.output.is_none() && !arguments.picture && is_series(source.shape());
    if arguments.limits.is_some() && (!is_picture || is_lines) {
        return Err("--limits applies to pictures only".into());
    }
    if arguments.picture && ndim < 2 {
        return Err(
            format!("a picture needs two axes, the array has shape {}", Shape::from(source.shape())).into()
        );
    }
    if arguments.histogram || ndim == 0 {
        if arguments.output.is_some() {
            return Err("histograms are drawn in the terminal only".into());
        }
        return lines::draw_histogram(&Plane::new(&source, ndim), arguments.bins, &canvas, out);
    }
    if ndim == 1 {
        if arguments.output.is_some() {
            return Err("lines are drawn in the terminal only".into());
        }
        return lines::draw_line(&Plane::new(&source, 1), &canvas, out);
    }
    if is_lines {
        return lines::draw_columns(&source, &canvas, out);
    }
    let channels = channels(&source);
    let plane = Plane::new(&source, if channels > 1 { 3 } else { 2 });
    match &arguments.output {
        Some(path) => {
            let output = Output::new(path, arguments.force)?;
            picture::write_png(&plane, channels, arguments.limits, (path, output), out)?;
        }
        None => picture::draw(&plane, channels, arguments.limits, &canvas, out)?,
    }
    Ok(0)
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
