//! Several arrays: archives of files, and folders of them.

#[cfg(feature = "dask")]
pub mod dask;
#[cfg(feature = "npz")]
pub mod npz;
