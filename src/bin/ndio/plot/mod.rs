//! `ndio plot`: what an array looks like.

mod colour;
mod lines;
mod picture;
mod plane;

use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ndarray_io::dtype::Kind;

use super::Failure;
use super::blocks::Source;
use super::show::{Which, part};
use plane::Plane;

/// Draw an array: pictures of two axes, lines of one, histograms of anything. Without --slice, of more axes the middle is drawn
#[derive(Args)]
pub(crate) struct Arguments {
    /// How often which numbers occur
    #[arg(long)]
    histogram: bool,
    /// Write a PNG file instead
    #[arg(long, short, value_name = "FILE.png")]
    output: Option<PathBuf>,
    /// So many columns wide; without it, as wide as the terminal
    #[arg(long)]
    width: Option<usize>,
    /// At most so many lines high
    #[arg(long)]
    height: Option<usize>,
    /// The numbers that are darkest and brightest: -1:1. Without it, one in a hundred lies outside at each end
    #[arg(long, value_name = "LOW:HIGH", value_parser = limits, allow_hyphen_values = true)]
    limits: Option<colour::Limits>,
    /// Whether there are colours; without it, in a terminal that has them if NO_COLOR is not set
    #[arg(long, value_enum, default_value = "auto")]
    color: Color,
    #[command(flatten)]
    which: Which,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

fn limits(text: &str) -> Result<colour::Limits, String> {
    let numbers = text
        .split_once(':')
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    match numbers {
        Some((low, high)) if low < high => Ok(colour::Limits { low, high }),
        _ => Err("it is not two numbers, the lower first: -1:1".into()),
    }
}

/// Where it is drawn.
struct Canvas {
    columns: usize,
    lines: usize,
    has_colours: bool,
}

impl Canvas {
    fn of(arguments: &Arguments) -> Self {
        let size = terminal_size::terminal_size();
        let (columns, lines) =
            size.map_or((80usize, 24usize), |(width, height)| (width.0.into(), height.0.into()));
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_true_colours =
            std::env::var("COLORTERM").is_ok_and(|value| ["truecolor", "24bit"].contains(&&*value));
        let has_colours = match arguments.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stdout().is_terminal() && has_true_colours && !is_set("NO_COLOR"),
        };
        Self {
            columns: arguments.width.unwrap_or(columns).clamp(20, 1000),
            lines: arguments.height.unwrap_or(lines.saturating_sub(4)).clamp(4, 1000),
            has_colours,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let options = crate::password::options();
    let which = &arguments.which;
    let source = match &which.slice {
        Some(_) => Source::Memory(Box::new(part(which, &options)?)),
        None => Source::open_all(&which.file, which.member.as_deref(), &options)?,
    };
    if source.len() == 0 {
        let shape = ndarray_io::header::Shape::from(source.shape().to_vec());
        return Err(
            format!("{}: an array of shape {shape} has nothing to be drawn", which.file.display()).into()
        );
    }
    let canvas = Canvas::of(arguments);
    let ndim = source.shape().len();
    if arguments.histogram || ndim == 0 {
        if arguments.output.is_some() {
            return Err("a histogram is drawn in the terminal alone; --output is for pictures".into());
        }
        return lines::histogram(&Plane::new(source, ndim), &canvas, out);
    }
    if ndim == 1 {
        if arguments.output.is_some() {
            return Err("a line is drawn in the terminal alone; --output is for arrays of two axes".into());
        }
        return lines::line(&Plane::new(source, 1), &canvas, out);
    }
    let channels = channels(&source);
    let plane = Plane::new(source, if channels > 1 { 3 } else { 2 });
    match &arguments.output {
        Some(path) => picture::png(&plane, channels, arguments.limits, path, out)?,
        None => picture::draw(&plane, channels, arguments.limits, &canvas, out)?,
    }
    Ok(0)
}

/// Three or four, if the last axis is that of a picture's colours.
fn channels(source: &Source) -> usize {
    /// What has fewer numbers a side is hardly a picture.
    const PICTURE: usize = 16;
    let kind = source.dtype().as_scalar().map(|scalar| (scalar.kind(), scalar.size()));
    match source.shape() {
        [.., _, _, channels @ (3 | 4)] if kind == Some((Kind::Uint, 1)) => *channels,
        [.., height, width, channels @ (3 | 4)]
            if matches!(kind, Some((Kind::Float, _))) && *height.min(width) >= PICTURE =>
        {
            *channels
        }
        _ => 1,
    }
}
