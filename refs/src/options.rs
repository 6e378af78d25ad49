//! [`RefOptions`]: how an array becomes an array of chunks.

use ndarray_io::ReadOptions;

#[cfg(doc)]
use crate::References;

/// Options for the references to an array.
///
/// ```
/// use ndarray_io_refs::RefOptions;
/// let options = RefOptions::new().chunk(1000).dims(["time", "y", "x"]);
/// ```
#[derive(Clone, Debug)]
pub struct RefOptions {
    pub(crate) name: Option<String>,
    pub(crate) location: Option<String>,
    pub(crate) member: Option<String>,
    pub(crate) chunk: Option<usize>,
    pub(crate) inline_limit: u64,
    pub(crate) dims: Option<Vec<String>>,
    pub(crate) read: ReadOptions,
}

impl Default for RefOptions {
    fn default() -> Self {
        Self {
            name: None,
            location: None,
            member: None,
            chunk: None,
            inline_limit: 1 << 20,
            dims: None,
            read: ReadOptions::new(),
        }
    }
}

impl RefOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the headers of files are read, as for an RA file with unknown flags.
    ///
    /// ```
    /// use ndarray_io::ReadOptions;
    /// use ndarray_io_refs::RefOptions;
    ///
    /// let options = RefOptions::new().read_options(ReadOptions::new().ra_bytes_are_bools(true));
    /// ```
    #[must_use]
    pub fn read_options(mut self, read: ReadOptions) -> Self {
        self.read = read;
        self
    }

    /// Sets the name of the array.
    ///
    /// By default, it is the stem of the file or the name of the member.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets where readers find the file: a URL, or a path that is valid for them.
    ///
    /// By default, it is the given path, or the URL of an object in a store; `add_source` requires it. For a stack, it is the location of the folder.
    /// [`References::concatenate_at`] expects a location for each file, and rejects this option.
    #[must_use]
    pub fn location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// Selects a single member of an archive.
    ///
    /// By default, all members that are arrays are added.
    #[must_use]
    pub fn member(mut self, name: impl Into<String>) -> Self {
        self.member = Some(name.into());
        self
    }

    /// Sets the length of a chunk along the slowest axis.
    ///
    /// By default, chunks are about 32 MiB. If a single index is larger, it is also divided along the next
    /// axes. A length of 0 is rejected when an array is added.
    #[must_use]
    pub fn chunk(mut self, length: usize) -> Self {
        self.chunk = Some(length);
        self
    }

    /// Sets the maximum size of a padded last chunk that is embedded in the references, in bytes.
    ///
    /// The default is 1 MiB. Values above 64 MiB are treated as 64 MiB.
    #[must_use]
    pub fn inline_limit(mut self, bytes: u64) -> Self {
        self.inline_limit = bytes;
        self
    }

    /// Sets the names of the dimensions.
    ///
    /// By default, they are `<array>_dim_0` and so on, so that arrays of different shapes fit into one xarray
    /// dataset.
    #[must_use]
    pub fn dims<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.dims = Some(names.into_iter().map(Into::into).collect());
        self
    }
}
