//! Statistics as they are shown: `Serialize` for programs, `print` for people.

use std::io::{self, Write};

use serde::Serialize;

use super::numbers::Bound;
use crate::failure::escape_for_terminal;

/// What is shown of the statistics of an array.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Summary {
    Numbers {
        count: u64,
        min: Option<Bound>,
        max: Option<Bound>,
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

impl Summary {
    /// Whether the elements could not be read.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Failed { .. } => true,
            Self::Fields { fields } => fields.iter().any(|field| field.summary.has_failed()),
            Self::Numbers { .. } | Self::Complex { .. } | Self::Times { .. } | Self::Nothing { .. } => false,
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
