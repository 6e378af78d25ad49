//! Finds the fields of a record by name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{Field, Title};

/// An index of the names and titles of a record's fields, once there are many of them.
#[derive(Clone, Default)]
pub(super) struct NameIndex(Option<Arc<Index>>);

/// The index repeats what the fields say.
impl fmt::Debug for NameIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// The number of the first field with each name, and with each title.
#[derive(Clone, Default)]
struct Index {
    names: HashMap<String, usize>,
    titles: HashMap<String, usize>,
}

impl NameIndex {
    /// Adds the last of the fields.
    pub(super) fn add_last(&mut self, fields: &[Field]) {
        /// Below this count, a linear search is fast and needs no memory.
        const MIN_INDEXED_FIELDS: usize = 16;
        let first = match self.0 {
            Some(_) => fields.len() - 1,
            None => 0,
        };
        if fields.len() < MIN_INDEXED_FIELDS {
            return;
        }
        let index = Arc::make_mut(self.0.get_or_insert_default());
        for (number, field) in fields.iter().enumerate().skip(first) {
            index.names.entry(field.name().to_owned()).or_insert(number);
            if let Some(Title::Text(title)) = field.title() {
                index.titles.entry(title.clone()).or_insert(number);
            }
        }
    }

    /// Returns the number of the first field with this name.
    pub(super) fn index_of_name(&self, name: &str, fields: &[Field]) -> Option<usize> {
        match &self.0 {
            Some(index) => index.names.get(name).copied(),
            None => fields.iter().position(|field| field.name() == name),
        }
    }

    /// Returns the number of the first field with this title.
    pub(super) fn index_of_title(&self, title: &str, fields: &[Field]) -> Option<usize> {
        let has_title = |field: &Field| matches!(field.title(), Some(Title::Text(found)) if found == title);
        match &self.0 {
            Some(index) => index.titles.get(title).copied(),
            None => fields.iter().position(has_title),
        }
    }
}
