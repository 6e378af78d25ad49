//! [`FileKind`]: what a file is that is not of the expected format.

use std::fmt;

/// A kind of file that is known by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "full"), allow(dead_code))] // some are of features
pub(crate) enum FileKind {
    /// An NPY file.
    Npy,
    /// An RA file.
    Ra,
    /// A ZIP archive, as NPZ files are.
    Zip,
    /// An archive of PyTorch: a pickle and raw bytes.
    Torch,
    /// A pickle of protocol 2 or later.
    Pickle,
    /// A file that is compressed by gzip.
    Gzip,
    /// A file that is compressed by Zstandard.
    Zstd,
    /// A file that is compressed by XZ.
    Xz,
    /// A file that is compressed by bzip2.
    Bzip2,
    /// A file that is compressed by LZ4.
    Lz4,
    /// An HDF5 file, such as MATLAB's since version 7.3.
    Hdf5,
    /// A MAT-file of MATLAB 5 to 7.
    Matlab,
    /// An Apache Parquet file.
    Parquet,
    /// An Apache Arrow IPC file.
    Arrow,
    /// A safetensors file.
    Safetensors,
    /// A picture: PNG, JPEG or TIFF.
    Picture,
    /// A pointer of Git LFS, in place of the file.
    GitLfs,
    /// A web page or another XML document, which may be what a server answered in place of the file.
    Html,
    /// JSON, as far as the first bytes tell.
    Json,
    /// Text in ASCII.
    Text,
}

impl FileKind {
    /// Returns the id of the remedy for such a file.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Npy => "file-npy",
            Self::Ra => "file-ra",
            Self::Zip => "file-zip",
            Self::Torch => "file-torch",
            Self::Pickle => "file-pickle",
            Self::Gzip => "file-gzip",
            Self::Zstd => "file-zstd",
            Self::Xz => "file-xz",
            Self::Bzip2 => "file-bzip2",
            Self::Lz4 => "file-lz4",
            Self::Hdf5 => "file-hdf5",
            Self::Matlab => "file-matlab",
            Self::Parquet => "file-parquet",
            Self::Arrow => "file-arrow",
            Self::Safetensors => "file-safetensors",
            Self::Picture => "file-picture",
            Self::GitLfs => "file-git-lfs",
            Self::Html => "file-html",
            Self::Json => "file-json",
            Self::Text => "file-text",
        }
    }

    /// How many bytes are looked at.
    pub(crate) const PREFIX_LEN: usize = 16;

    /// Returns the kind of a file by its first bytes, of which nearly all kinds need at most 10.
    pub(crate) fn of(first: &[u8]) -> Option<Self> {
        const BEGINNINGS: [(&[u8], FileKind); 25] = [
            (b"\x93NUMPY", FileKind::Npy),
            (b"rawarray", FileKind::Ra),
            (b"yarrawar", FileKind::Ra),
            (b"PK\x03\x04", FileKind::Zip),
            (b"PK\x05\x06", FileKind::Zip),
            (b"\x1f\x8b", FileKind::Gzip),
            (b"\x28\xb5\x2f\xfd", FileKind::Zstd),
            (b"\xfd7zXZ\0", FileKind::Xz),
            (b"BZh", FileKind::Bzip2),
            (b"\x04\x22\x4d\x18", FileKind::Lz4),
            (b"\x89HDF\r\n\x1a\n", FileKind::Hdf5),
            (b"MATLAB 5.0", FileKind::Matlab),
            (b"MATLAB 7.3", FileKind::Hdf5),
            (b"PAR1", FileKind::Parquet),
            (b"ARROW1", FileKind::Arrow),
            (b"\x89PNG", FileKind::Picture),
            (b"\xff\xd8\xff", FileKind::Picture),
            (b"II*\0", FileKind::Picture),
            (b"MM\0*", FileKind::Picture),
            (b"version ht", FileKind::GitLfs),
            (b"<!", FileKind::Html),
            (b"<html", FileKind::Html),
            (b"<?xml", FileKind::Html),
            (b"{", FileKind::Json),
            (b"[", FileKind::Json),
        ];
        if let Some((_, kind)) = BEGINNINGS.iter().find(|(beginning, _)| first.starts_with(beginning)) {
            return Some(*kind);
        }
        match first {
            [0x80, 2..=5, ..] => Some(Self::Pickle),
            // The length of the header, which is JSON, comes first.
            [_, _, _, _, _, 0, 0, 0, b'{', ..] => Some(Self::Safetensors),
            [_, ..] if first.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
                Some(Self::Text)
            }
            _ => None,
        }
    }

    /// Returns what to do with such a file.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Npy => "read it with read_npy or NpyFile",
            Self::Ra => "read it with ra::read_ra or NpyFile",
            Self::Zip => "if it is an NPZ archive, read it with read_npz or NpzFile",
            Self::Torch => {
                "read its pickle with NpzFile::read_raw and object::Pickle, which says which members are the elements; or save arrays in \
                 Python, of a state dict: np.savez(path, **{name: tensor.numpy() for name, tensor in torch.load(file, map_location='cpu').items()})"
            }
            Self::Pickle => "read it with object::Pickle (feature `object`), as data",
            Self::Gzip => "decompress it first, with gunzip or a reader such as flate2::read::MultiGzDecoder",
            Self::Zstd => "decompress it first, with unzstd or a reader such as zstd::Decoder",
            Self::Xz => "decompress it first, with unxz",
            Self::Bzip2 => {
                "decompress it first, with bunzip2 or a reader such as bzip2::read::MultiBzDecoder"
            }
            Self::Lz4 => "decompress it first, with unlz4 or a reader such as lz4_flex::frame::FrameDecoder",
            Self::Hdf5 => "save its arrays as NPY in Python: np.save(path, h5py.File(file)[name][...])",
            Self::Matlab => "save its arrays as NPY in Python: np.save(path, scipy.io.loadmat(file)[name])",
            Self::Parquet => {
                "save its columns as NPY in Python: np.save(path, pandas.read_parquet(file)[name])"
            }
            Self::Arrow => {
                "save its columns as NPY in Python: np.save(path, pandas.read_feather(file)[name])"
            }
            Self::Safetensors => "read it with the crate `ndarray-io-formats`",
            Self::Picture => "decode it with the crate `image`",
            Self::GitLfs => "fetch the file itself: git lfs pull",
            Self::Html => "look at what it says: a download may have failed",
            Self::Json => "read it with the crate `serde_json`",
            Self::Text => "convert a table of numbers with the program: ndio convert FILE OUT.npy --from csv",
        }
    }
}

/// The name of the kind, as in "found a gzip file".
impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npy => "an NPY file",
            Self::Ra => "an RA file",
            Self::Zip => "a ZIP archive",
            Self::Torch => "an archive of PyTorch",
            Self::Pickle => "a Python pickle",
            Self::Gzip => "a gzip file",
            Self::Zstd => "a Zstandard file",
            Self::Xz => "an XZ file",
            Self::Bzip2 => "a bzip2 file",
            Self::Lz4 => "an LZ4 file",
            Self::Hdf5 => "an HDF5 file",
            Self::Matlab => "a MATLAB file",
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow file",
            Self::Safetensors => "a safetensors file",
            Self::Picture => "a picture",
            Self::GitLfs => "a pointer of Git LFS",
            Self::Html => "HTML or XML",
            Self::Json => "JSON",
            Self::Text => "text",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FileKind;

    /// The beginnings are of files that the programs named here wrote.
    #[test]
    fn file_kind_is_recognized_by_first_bytes() {
        for (first, kind) in [
            (&b"PK\x03\x04\x14\0\0\0"[..], Some(FileKind::Zip)), // zipfile
            (b"PK\x05\x06\0\0\0\0", Some(FileKind::Zip)),        // zipfile, without members
            (b"\x1f\x8b\x08\0", Some(FileKind::Gzip)),           // gzip
            (b"\x89HDF\r\n\x1a\n\0\0", Some(FileKind::Hdf5)),    // h5py
            (b"MATLAB 5.0 MAT-file", Some(FileKind::Matlab)),    // scipy.io.savemat
            (b"\x40\0\0\0\0\0\0\0{\"x\":", Some(FileKind::Safetensors)), // safetensors.numpy.save
            (b"version https://", Some(FileKind::GitLfs)),       // git lfs
            (b"\x80\x04\x95\x09", Some(FileKind::Pickle)),       // pickle.dumps
            (b"cos\nsystem", Some(FileKind::Text)),
            (b"1,2\n3,4\n", Some(FileKind::Text)),
            (b"\x92NUMPY", None),
            (b"", None),
        ] {
            assert_eq!(FileKind::of(first), kind, "{first:?}");
        }
    }
}
