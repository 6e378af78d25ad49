//! The guide: one page for each topic.
//!
//! The pages are the files of `docs/` in the repository. Their examples are compiled with the tests.
//!
//! | to learn about | read |
//! |---|---|
//! | the first quarter of an hour: from Python to Rust and back | [`tutorial`] |
//! | complete programs for common tasks | [`cookbook`] |
//! | what to call instead of NumPy's functions | [`from_python`] |
//! | questions that are asked often | [`faq`] |
//! | the formats | [`npy`], [`npz_and_ra`] |
//! | which Rust type holds which dtype | [`dtypes`] |
//! | structs as elements | [`records`] |
//! | `.npz` files | [`archives`] |
//! | slices, appending, conversions in bounded memory | [`large_arrays`] |
//! | concurrent access and crashes | [`concurrency`] |
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
                            "[tutorial.md]: crate::guide::tutorial\n",
                            "[cookbook.md]: crate::guide::cookbook\n",
                            "[from-python.md]: crate::guide::from_python\n",
                            "[faq.md]: crate::guide::faq\n",
                            "[npy.md]: crate::guide::npy\n",
                            "[npz-and-ra.md]: crate::guide::npz_and_ra\n",
                            "[dtypes.md]: crate::guide::dtypes\n",
                            "[records.md]: crate::guide::records\n",
                            "[archives.md]: crate::guide::archives\n",
                            "[large-arrays.md]: crate::guide::large_arrays\n",
                            "[concurrency.md]: crate::guide::concurrency\n",
                            "[objects.md]: crate::guide::objects\n",
                            "[errors.md]: crate::guide::errors\n",
                            "[safety.md]: crate::guide::safety\n",
                            "[performance.md]: crate::guide::performance\n",
                            "[scaling.md]: crate::guide::scaling\n",
                            "[block-index.md]: crate::guide::block_index\n",
                            "[numpy-differences.md]: crate::guide::numpy_differences\n",
                            "[pairs.md]: https://github.com/ndarray-io/ndarray-io/blob/main/docs/internals/pairs.md\n",
                        )]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $name {}
    };
}

page!(tutorial, "tutorial.md");
page!(cookbook, "cookbook.md");
page!(from_python, "from-python.md");
page!(faq, "faq.md");
page!(npy, "npy.md");
page!(npz_and_ra, "npz-and-ra.md");
page!(dtypes, "dtypes.md");
page!(records, "records.md");
page!(archives, "archives.md");
page!(large_arrays, "large-arrays.md");
page!(concurrency, "concurrency.md");
page!(objects, "objects.md");
page!(errors, "errors.md");
page!(safety, "safety.md");
page!(performance, "performance.md");
page!(scaling, "scaling.md");
page!(block_index, "internals/block-index.md");
page!(numpy_differences, "numpy-differences.md");

/// The examples of a page that is not part of the guide are compiled with the tests, too.
#[cfg(doctest)]
#[doc = include_str!("../MIGRATING.md")]
mod migrating {}
