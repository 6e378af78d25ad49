//! Colors and shades for numbers.

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
    pub(super) fn robust(sample: &[f64], whole: Self) -> Self {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        match (sorted.get(last / 100), sorted.get(last - last / 100)) {
            (Some(low), Some(high)) if low < high => Self { low: *low, high: *high },
            _ => whole,
        }
    }

    /// Scales a number to 0..1.
    pub(super) fn fraction(self, number: f64) -> f64 {
        // Halve first, because the difference of two floats may overflow.
        let fraction = (number / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        if fraction.is_nan() { 0.5 } else { fraction.clamp(0.0, 1.0) }
    }
}

/// The color of a number from 0 to 1: viridis, in Matt Zucker's polynomial approximation.
pub(super) fn viridis(fraction: f64) -> Rgb {
    const COEFFICIENTS: [[f64; 3]; 7] = [
        [0.277_727_327_223_417_7, 0.005_407_344_544_966_578, 0.334_099_805_335_306_1],
        [0.105_093_043_108_577_4, 1.404_613_529_898_575, 1.384_590_162_594_685],
        [-0.330_861_828_725_556_3, 0.214_847_559_468_213, 0.095_095_163_028_236_59],
        [-4.634_230_498_983_486, -5.799_100_973_351_585, -19.332_440_956_279_87],
        [6.228_269_936_347_081, 14.179_933_366_805_09, 56.690_552_600_681_05],
        [4.776_384_997_670_288, -13.745_145_377_746_01, -65.353_032_633_372_34],
        [-5.435_455_855_934_631, 4.645_852_612_178_535, 26.312_435_249_583_2],
    ];
    let channel = |index: usize| {
        let level = COEFFICIENTS.iter().rev().fold(0.0, |sum, term| sum * fraction + term[index]);
        (level * 255.0).round() as u8 // the cast saturates
    };
    [channel(0), channel(1), channel(2)]
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
    use super::{Limits, nearest_xterm_index, viridis};

    /// Compares with xterm's table of colors.
    #[test]
    fn nearest_of_256_colours_equals_xterms() {
        let table = [([0, 0, 0], 16), ([255, 255, 255], 231), ([255, 0, 0], 196), ([95, 135, 175], 67)];
        for (colour, wanted) in table.into_iter().chain([([8; 3], 232), ([128; 3], 244), ([238; 3], 255)]) {
            assert_eq!(nearest_xterm_index(colour), wanted, "{colour:?}");
        }
    }

    /// The colors in matplotlib's table are (68, 1, 84), (33, 145, 140) and (253, 231, 37).
    #[test]
    fn viridis_is_close_to_matplotlibs_table() {
        for (fraction, wanted) in [(0.0, [68, 1, 84]), (0.5, [33, 145, 140]), (1.0, [253, 231, 37])] {
            let found: [u8; 3] = viridis(fraction);
            assert!(
                found.iter().zip(wanted).all(|(a, b): (&u8, u8)| a.abs_diff(b) < 6),
                "{found:?} {wanted:?}"
            );
        }
    }

    #[test]
    fn outliers_do_not_change_robust_limits() {
        let numbers: Vec<f64> = (0..1000).map(f64::from).chain([1e300]).collect();
        let whole = Limits { low: 0.0, high: 1e300 };
        assert_eq!(Limits::robust(&numbers, whole), Limits { low: 10.0, high: 990.0 });
        assert_eq!(Limits::robust(&[0.0, 0.0, 0.0], whole), whole);
    }
}
