//! Colors and shades for numbers.

use colorous::Gradient;

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// The numbers that are shown darkest and brightest. Numbers outside this range are clamped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Limits {
    /// Excludes 1 % of a sample at each end, so that outliers do not hide the rest, unless nothing is left.
    pub(super) fn robust(mut sample: Vec<f64>, whole: Self) -> Self {
        sample.sort_by(f64::total_cmp);
        let last = sample.len().saturating_sub(1);
        match (sample.get(last / 100), sample.get(last - last / 100)) {
            (Some(low), Some(high)) if low < high => Self { low: *low, high: *high },
            _ => whole,
        }
    }
}

/// What numbers are measured along: linear, or logarithmic, on which only positive numbers have a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Linear,
    Log,
}

impl Axis {
    pub(super) fn has(self, number: f64) -> bool {
        number.is_finite() && (self == Self::Linear || number > 0.0)
    }

    /// Returns where a number is between two others, from 0 to 1.
    pub(super) fn fraction(self, number: f64, Limits { low, high }: Limits) -> f64 {
        let fraction = match self {
            // Halve first, because the difference of two floats may overflow.
            Self::Linear => (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
            Self::Log => (number.ln() - low.ln()) / (high.ln() - low.ln()),
        };
        if fraction.is_nan() { 0.5 } else { fraction.clamp(0.0, 1.0) }
    }
}

/// The colors of numbers from 0 to 1, by matplotlib's names.
#[derive(Clone, Copy)]
pub(super) struct ColourMap {
    /// Without one, grays.
    gradient: Option<Gradient>,
    is_reversed: bool,
}

impl ColourMap {
    pub(super) const VIRIDIS: Self = Self { gradient: Some(colorous::VIRIDIS), is_reversed: false };

    const NAMES: [(&str, Option<Gradient>); 6] = [
        ("viridis", Some(colorous::VIRIDIS)),
        ("magma", Some(colorous::MAGMA)),
        ("inferno", Some(colorous::INFERNO)),
        ("plasma", Some(colorous::PLASMA)),
        ("RdBu", Some(colorous::RED_BLUE)),
        ("gray", None),
    ];

    pub(super) fn of_name(name: &str) -> Result<Self, String> {
        let (base, is_reversed) = match name.strip_suffix("_r") {
            Some(base) => (base, true),
            None => (name, false),
        };
        match Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(base)) {
            Some((_, gradient)) => Ok(Self { gradient: *gradient, is_reversed }),
            None => {
                let names = Self::NAMES.map(|(known, _)| known).join(", ");
                Err(format!("expected one of {names}; reversed with _r at the end"))
            }
        }
    }

    pub(super) fn colour(self, fraction: f64) -> Rgb {
        let fraction = if self.is_reversed { 1.0 - fraction } else { fraction };
        match self.gradient {
            Some(gradient) => gradient.eval_continuous(fraction).into_array(),
            None => [(fraction * 255.0).round() as u8; 3],
        }
    }
}

/// The colors that a terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColourSupport {
    None,
    /// The 256 colors of xterm: a cube of 6 by 6 by 6, and 24 grays.
    Indexed,
    True,
}

impl ColourSupport {
    /// Returns the escape sequence for this foreground color.
    pub(super) fn foreground(self, colour: Rgb) -> String {
        self.escape_sequence(38, colour)
    }

    /// Returns the escape sequence for this background color.
    pub(super) fn background(self, colour: Rgb) -> String {
        self.escape_sequence(48, colour)
    }

    /// Returns the escape sequence that resets all colors.
    pub(super) fn reset_sequence(self) -> &'static str {
        if self == Self::None { "" } else { "\x1b[0m" }
    }

    fn escape_sequence(self, layer: u8, [red, green, blue]: Rgb) -> String {
        match self {
            Self::None => String::new(),
            Self::Indexed => format!("\x1b[{layer};5;{}m", nearest_xterm_index([red, green, blue])),
            Self::True => format!("\x1b[{layer};2;{red};{green};{blue}m"),
        }
    }
}

/// Returns the index of the nearest of the 256 colors.
fn nearest_xterm_index(colour: Rgb) -> u8 {
    const CUBE_LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let apart = |other: Rgb| -> u32 {
        colour.iter().zip(other).map(|(one, two)| u32::from(one.abs_diff(two)).pow(2)).sum()
    };
    let place = |level: u8| {
        (0..6u8).min_by_key(|place| CUBE_LEVELS[usize::from(*place)].abs_diff(level)).unwrap_or(0)
    };
    let [red, green, blue] = colour.map(place);
    let in_cube = [red, green, blue].map(|place| CUBE_LEVELS[usize::from(place)]);
    let mean = (u32::from(colour[0]) + u32::from(colour[1]) + u32::from(colour[2])) / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    match apart([8 + 10 * grey; 3]) < apart(in_cube) {
        true => 232 + grey,
        false => 16 + 36 * red + 6 * green + blue,
    }
}

/// Returns the block character for a brightness from 0 to 1.
pub(super) fn shade(fraction: f64) -> char {
    const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
    SHADES[((fraction * 5.0) as usize).min(4)]
}

/// Returns the brightness of a color, from 0 to 1.
pub(super) fn brightness([red, green, blue]: Rgb) -> f64 {
    (0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue)) / 255.0
}

#[cfg(test)]
mod tests {
    use super::{Axis, ColourMap, Limits, nearest_xterm_index};

    /// Compares with xterm's table of colors.
    #[test]
    fn nearest_of_256_colours_equals_xterms() {
        let table = [([0, 0, 0], 16), ([255, 255, 255], 231), ([255, 0, 0], 196), ([95, 135, 175], 67)];
        for (colour, wanted) in table.into_iter().chain([([8; 3], 232), ([128; 3], 244), ([238; 3], 255)]) {
            assert_eq!(nearest_xterm_index(colour), wanted, "{colour:?}");
        }
    }

    /// The colors are those of matplotlib 3.11, whose tables have 256 of them: `colormaps[name](fraction, bytes=True)`.
    #[test]
    fn colour_maps_are_close_to_matplotlibs() {
        let table = [
            ("viridis", [[68, 1, 84], [58, 82, 139], [32, 144, 140], [253, 231, 36]]),
            ("magma", [[0, 0, 3], [80, 18, 123], [182, 54, 121], [251, 252, 191]]),
            ("inferno", [[0, 0, 3], [87, 15, 109], [187, 55, 84], [252, 254, 164]]),
            ("plasma", [[12, 7, 134], [126, 3, 167], [203, 71, 119], [239, 248, 33]]),
            ("RdBu", [[103, 0, 31], [229, 131, 104], [246, 246, 246], [5, 48, 97]]),
            ("gray", [[0, 0, 0], [64, 64, 64], [128, 128, 128], [255, 255, 255]]),
            ("viridis_r", [[253, 231, 36], [91, 200, 98], [32, 143, 140], [68, 1, 84]]),
        ];
        for (name, wanted) in table {
            let map = ColourMap::of_name(name).unwrap();
            // That of d3 is a spline between the same 11 colors.
            let most = if name == "RdBu" { 9 } else { 2 };
            for (fraction, wanted) in [0.0, 0.25, 0.5, 1.0].into_iter().zip(wanted) {
                let found: [u8; 3] = map.colour(fraction);
                let is_close = found.iter().zip(wanted).all(|(a, b): (&u8, u8)| a.abs_diff(b) <= most);
                assert!(is_close, "{name} at {fraction}: {found:?} {wanted:?}");
            }
        }
        assert!(ColourMap::of_name("jet").is_err());
    }

    /// matplotlib's `LogNorm(1, 1000)` of 1, 10 and 1000 is 0, 1/3 and 1.
    #[test]
    fn fractions_of_logarithms_equal_matplotlibs() {
        let limits = Limits { low: 1.0, high: 1000.0 };
        for (number, wanted) in [(1.0, 0.0), (10.0, 1.0 / 3.0), (1000.0, 1.0), (1e9, 1.0)] {
            assert!((Axis::Log.fraction(number, limits) - wanted).abs() < 1e-12, "{number}");
        }
        assert!(Axis::Log.has(1e-300) && !Axis::Log.has(0.0) && !Axis::Log.has(-1.0));
    }

    #[test]
    fn outliers_do_not_change_robust_limits() {
        let numbers: Vec<f64> = (0..1000).map(f64::from).chain([1e300]).collect();
        let whole = Limits { low: 0.0, high: 1e300 };
        assert_eq!(Limits::robust(numbers, whole), Limits { low: 10.0, high: 990.0 });
        assert_eq!(Limits::robust(vec![0.0; 3], whole), whole);
    }
}
