//! Statistics as they are shown: `Serialize` for programs, `print` for people.

use std::io::{self, Write};

use ndarray_io_compute::stats::{Bound, Stats, TextStats, time_text};
use ndarray_io_compute::{Summary as Found, summarize};
use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, escape_for_terminal};
use crate::progress::Progress;
use crate::source::Source;

/// What is shown of the statistics of an array.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Summary {
    Numbers {
        count: u64,
        min: Option<Value>,
        max: Option<Value>,
        mean: Option<f64>,
        std: Option<f64>,
        nan: u64,
        inf: u64,
        zero: u64,
    },
    Complex {
        count: u64,
        nan: u64,
        inf: u64,
        zero: u64,
        #[serde(flatten)]
        finite: Option<ComplexRange>,
    },
    Times {
        count: u64,
        nat: u64,
        #[serde(flatten)]
        range: Option<TimeRange>,
    },
    Texts {
        count: u64,
        empty: u64,
        longest: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<String>,
    },
    Fields {
        fields: Vec<FieldSummary>,
    },
    /// The dtype has no statistics, for this reason.
    Nothing {
        error: String,
    },
    /// The elements could not be read.
    Failed {
        error: String,
    },
}

/// Statistics of complex numbers; the range is that of their magnitudes.
#[derive(Serialize)]
pub(crate) struct ComplexRange {
    pub(crate) magnitude: [f64; 2],
    pub(crate) mean: [f64; 2],
    pub(crate) std: f64,
}

/// Statistics of times, as texts.
#[derive(Serialize)]
pub(crate) struct TimeRange {
    pub(crate) min: Option<String>,
    pub(crate) max: Option<String>,
    pub(crate) mean: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct FieldSummary {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) summary: Summary,
}

/// Formats a number as in JSON: the shortest decimal form that is read as the same number.
fn json_number(number: &impl Serialize) -> String {
    serde_json::to_string(number).unwrap_or_default()
}

/// Returns a minimum or a maximum with the digits that distinguish it.
fn bound_value(bound: Bound) -> Value {
    match bound {
        Bound::Float(number) => number.into(),
        Bound::Single(number) => number.to_string().parse::<f64>().unwrap_or(f64::NAN).into(),
        // Integers have at most 64 bits.
        Bound::Int(number) => i64::try_from(number).map_or_else(|_| (number as u64).into(), Value::from),
    }
}

/// Computes the statistics of an array.
pub(crate) fn compute(source: &Source) -> Result<Found, Failure> {
    let (mut progress, all) = (Progress::new(), source.byte_len());
    let found = summarize(source, &crate::reading::options(), &mut |bytes| progress.add(bytes, all))?;
    Ok(match found {
        Found::Nothing(reason) if reason.ends_with("its format is not known") => {
            Found::Nothing(reason.replace("its format is not known", "--long-double states its format"))
        }
        found => found,
    })
}

impl From<Stats> for Summary {
    fn from(stats: Stats) -> Self {
        let is_any = stats.finite_count() > 0;
        Self::Numbers {
            count: stats.count,
            min: is_any.then(|| bound_value(stats.min)),
            max: is_any.then(|| bound_value(stats.max)),
            mean: is_any.then_some(stats.mean),
            std: is_any.then(|| stats.std()),
            nan: stats.nan,
            inf: stats.inf,
            zero: stats.zero,
        }
    }
}

impl From<Found> for Summary {
    fn from(found: Found) -> Self {
        match found {
            Found::Numbers(stats) => stats.into(),
            Found::Nothing(error) => Self::Nothing { error },
            Found::Fields(fields) => {
                let field = |(name, found): (String, Found)| FieldSummary { name, summary: found.into() };
                Self::Fields { fields: fields.into_iter().map(field).collect() }
            }
            Found::Complex(parts) => {
                let [real, imaginary, size] = *parts;
                let finite = (size.finite_count() > 0).then(|| ComplexRange {
                    magnitude: [size.min.to_f64(), size.max.to_f64()],
                    mean: [real.mean, imaginary.mean],
                    std: real.std().hypot(imaginary.std()),
                });
                Self::Complex { count: size.count, nan: size.nan, inf: size.inf, zero: size.zero, finite }
            }
            Found::Texts(TextStats { count, empty, longest, range, .. }) => {
                let (min, max) = range.unzip();
                Self::Texts { count, empty, longest, min, max }
            }
            Found::Times { ticks, dtype, nat } => {
                let text = |ticks: f64| time_text(ticks as i64, &dtype);
                let exact = |bound: Bound| match bound {
                    Bound::Int(number) => time_text(number as i64, &dtype),
                    bound => text(bound.to_f64()),
                };
                let range = (ticks.count > 0).then(|| {
                    // An `f64` has fewer digits than a tick count: keep the rounded mean between minimum and
                    // maximum.
                    let (low, high) = (ticks.min.to_f64(), ticks.max.to_f64());
                    let mean = match ticks.min == ticks.max {
                        true => exact(ticks.min),
                        false => text(ticks.mean.clamp(low, high)),
                    };
                    TimeRange { min: exact(ticks.min), max: exact(ticks.max), mean }
                });
                Self::Times { count: ticks.count + nat, nat, range }
            }
            _ => Self::Nothing { error: "there are no statistics for it".into() },
        }
    }
}

impl Summary {
    /// Whether the elements could not be read.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Failed { .. } => true,
            Self::Fields { fields } => fields.iter().any(|field| field.summary.has_failed()),
            Self::Numbers { .. } | Self::Complex { .. } | Self::Times { .. } => false,
            Self::Texts { .. } | Self::Nothing { .. } => false,
        }
    }

    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Nothing { error } | Self::Failed { error } => writeln!(out, "  stats   {error}"),
            Self::Fields { fields } => fields.iter().try_for_each(|field| {
                writeln!(out, "  field   {}", escape_for_terminal(&field.name))?;
                field.summary.print(out)
            }),
            Self::Numbers { min, max, mean, std, nan, inf, zero, .. } => {
                if let (Some(min), Some(max)) = (min, max) {
                    writeln!(out, "  range   {} to {}", json_number(min), json_number(max))?;
                    writeln!(
                        out,
                        "  mean    {}, standard deviation {}",
                        json_number(mean),
                        json_number(std)
                    )?;
                }
                print_counts([*nan, *inf, *zero], out)
            }
            Self::Complex { nan, inf, zero, finite, .. } => {
                if let Some(ComplexRange { magnitude: [low, high], mean: [re, im], std }) = finite {
                    writeln!(out, "  range   {} to {} in magnitude", json_number(low), json_number(high))?;
                    writeln!(out, "  mean    {re:?}{im:+?}i, standard deviation {}", json_number(std))?;
                }
                print_counts([*nan, *inf, *zero], out)
            }
            Self::Texts { count, empty, longest, min, max } => {
                if let (Some(min), Some(max)) = (min, max) {
                    let (min, max) = (escape_for_terminal(min), escape_for_terminal(max));
                    writeln!(out, "  range   '{min}' to '{max}', the longest has {longest} characters")?;
                }
                writeln!(out, "  counts  {count} texts, {empty} of them empty")
            }
            Self::Times { nat, range, .. } => {
                if let Some(TimeRange { min: Some(min), max: Some(max), mean }) = range {
                    writeln!(out, "  range   {min} to {max}")?;
                    writeln!(out, "  mean    {}", mean.as_deref().unwrap_or_default())?;
                }
                writeln!(out, "  counts  {nat} NaT")
            }
        }
    }
}

fn print_counts([nan, inf, zero]: [u64; 3], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  counts  {nan} NaN, {inf} infinite, {zero} zero")
}
