//! Places of elements: how many there are, the first ones, and the smallest box that has all of them.

use serde_json::{Value, json};

/// The places of some elements of an array.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) count: u64,
    /// For each axis, the first and the last index.
    range: Option<Vec<(usize, usize)>>,
    /// The first ones.
    pub(crate) indices: Vec<Vec<usize>>,
    limit: usize,
}

impl Places {
    /// Creates a set that lists up to `limit` indices.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(crate) fn add(&mut self, index: Vec<usize>) {
        self.count += 1;
        match &mut self.range {
            Some(range) => {
                for ((first, last), at) in range.iter_mut().zip(&index) {
                    (*first, *last) = ((*first).min(*at), (*last).max(*at));
                }
            }
            None => self.range = Some(index.iter().map(|at| (*at, *at)).collect()),
        }
        if self.indices.len() < self.limit {
            self.indices.push(index);
        }
    }

    /// Says how many are not listed, if some are.
    pub(crate) fn rest_text(&self) -> Option<String> {
        let listed = self.indices.len() as u64;
        let has_more = self.count > listed && listed > 0;
        has_more.then(|| format!("… and {} more; --limit lists them", self.count - listed))
    }

    /// Returns the box, if there are several: `, all in [0:3, 2:5]`.
    pub(crate) fn box_text(&self) -> String {
        match &self.range {
            Some(range) if self.count > 1 => {
                let bounds: Vec<String> =
                    range.iter().map(|(first, last)| format!("{first}:{}", last + 1)).collect();
                format!(", all in [{}]", bounds.join(", "))
            }
            _ => String::new(),
        }
    }

    pub(crate) fn box_json(&self) -> Value {
        let bounds = |range: &Vec<(usize, usize)>| {
            range.iter().map(|(first, last)| json!([first, last + 1])).collect()
        };
        self.range.as_ref().map_or(Value::Null, bounds)
    }
}

pub(crate) fn index_text(index: &[usize]) -> String {
    let texts: Vec<String> = index.iter().map(usize::to_string).collect();
    format!("[{}]", texts.join(", "))
}
