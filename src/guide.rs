//! The guide: one page for each topic.
//!
//! The pages are the files of `docs/` in the repository. Their examples are compiled with the tests.
//!
//! | to learn about | read |
//! |---|---|
//! | the formats | [`npy`], [`npz_and_ra`] |
//! | which Rust type holds which dtype | [`dtypes`] |
//! | structs as elements | [`records`] |
//! | `.npz` files | [`archives`] |
//! | slices, appending, conversions in bounded memory | [`large_arrays`] |
//! | what other processes see while a file is changed | [`changes`] |
//! | arrays of Python objects | [`objects`] |
//! | errors and remedies | [`errors`] |
//! | untrusted files and unsafe code | [`safety`] |
//! | fast reading and writing | [`performance`] |
//! | Dask, Zarr and MPI | [`scaling`] |
//! | how compressed members are read in parts | [`block_index`] |
//! | where the library differs from NumPy | [`numpy_differences`] |

/// Turns a page into a module.
///
/// Links between files of the repository become links between modules, because the first definition of a link
/// takes precedence.
macro_rules! page {
    ($name:ident, $file:literal) => {
        #[doc = concat!(
                            "[npy.md]: crate::guide::npy\n",
                            "[npz-and-ra.md]: crate::guide::npz_and_ra\n",
                            "[dtypes.md]: crate::guide::dtypes\n",
                            "[records.md]: crate::guide::records\n",
                            "[archives.md]: crate::guide::archives\n",
                            "[large-arrays.md]: crate::guide::large_arrays\n",
                            "[changes.md]: crate::guide::changes\n",
                            "[objects.md]: crate::guide::objects\n",
                            "[errors.md]: crate::guide::errors\n",
                            "[safety.md]: crate::guide::safety\n",
                            "[performance.md]: crate::guide::performance\n",
                            "[scaling.md]: crate::guide::scaling\n",
                            "[block-index.md]: crate::guide::block_index\n",
                            "[numpy-differences.md]: crate::guide::numpy_differences\n",
                            "[pairs.md]: https://github.com/ndarray-io/ndarray-io/blob/main/docs/pairs.md\n",
                        )]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $name {}
    };
}

page!(npy, "npy.md");
page!(npz_and_ra, "npz-and-ra.md");
page!(dtypes, "dtypes.md");
page!(records, "records.md");
page!(archives, "archives.md");
page!(large_arrays, "large-arrays.md");
page!(changes, "changes.md");
page!(objects, "objects.md");
page!(errors, "errors.md");
page!(safety, "safety.md");
page!(performance, "performance.md");
page!(scaling, "scaling.md");
page!(block_index, "block-index.md");
page!(numpy_differences, "numpy-differences.md");

/// The examples of a page that is not part of the guide are compiled with the tests, too.
#[cfg(doctest)]
#[doc = include_str!("../MIGRATING.md")]
mod migrating {}
