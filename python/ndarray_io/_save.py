"""Writing files."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from . import _native
from ._dtypes import descr_of, dtype_of, make
from ._errors import FormatError, MemberError
from ._options import Compression, Reading, Writing, local

PathOrFile = str | os.PathLike[str] | IO[bytes]


def given(array: npt.ArrayLike, allow_pickle: bool) -> Any:
    """Returns an array as the native part takes it: with its dtype, or as the bytes of a file of NPY with a pickle."""
    made = np.asanyarray(array)
    if not _is_pickled(made):
        if isinstance(made, np.ma.MaskedArray):
            raise NotImplementedError("a masked array would be saved without its mask: save its data and its mask")
        plain = made.view(np.ndarray) if type(made) is not np.ndarray else made
        descr = descr_of(plain.dtype)
        warn_of_version(descr, plain.shape)
        return (plain, descr)
    if not allow_pickle:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")
    return _with_pickle(made, None)


def warn_of_version(descr: str, shape: tuple[int, ...]) -> None:
    """Warns, as NumPy does, if the header needs a version that old readers do not know."""
    if descr.isascii() and len(descr) < 60_000:
        return
    version = _native.header(descr, False, shape, Writing())[6]
    if version > 1:
        oldest = "1.9.0" if version == 2 else "1.17"
        text = f"Stored array in format {version}.0. It can only be read by NumPy >= {oldest}"
        warnings.warn(text, UserWarning, stacklevel=4)


def _is_pickled(array: npt.NDArray[Any]) -> bool:
    """Whether NumPy saves an array as a pickle: of objects, and of text of variable width."""
    return array.dtype.hasobject or array.dtype.kind == "T"


def _with_pickle(array: npt.NDArray[Any], version: int | None) -> bytes:
    """Returns the file of an array of objects as NumPy writes it: a header and a pickle."""
    order = array.flags.f_contiguous and not array.flags.c_contiguous
    descr = descr_of(array.dtype) if array.dtype.kind != "T" else "'|O'"
    if array.dtype.kind == "T":
        text = "Custom dtypes are saved as python objects using the pickle protocol."
        warnings.warn(text, UserWarning, stacklevel=4)
    return _native.header(descr, order, array.shape, Writing(version=version)) + pickle.dumps(array, protocol=4)


def _is_path(file: PathOrFile) -> bool:
    return not hasattr(file, "write")


def _named(file: Any, suffix: str) -> str:
    path = os.fsdecode(file)
    return path if path.endswith(suffix) else path + suffix


def save(
    file: PathOrFile,
    arr: npt.ArrayLike,
    allow_pickle: bool = True,
    *,
    sync: bool = False,
    create_new: bool = False,
    threads: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> None:
    """Saves an array to a file in NumPy's format.

    A file with this name is replaced in one step: a reader gets the old array or the new one, and if something fails, the old one stays.
    ``sync`` waits until it is on the disk; with ``create_new``, an existing file is an error. A URL of a store (s3://, gs://, az://) is
    uploaded to, with its ``storage_options``, and is complete at once as well.
    """
    writing = Writing(sync, create_new, threads, store=storage_options)
    if _is_path(file):
        path, made = _named(file, ".npy"), np.asanyarray(arr)
        if _is_pickled(made) and allow_pickle:
            _native.save_bytes(path, _with_pickle(made, None), writing)
        else:
            _native.save(path, given(made, allow_pickle), writing, False)
    else:
        if sync or create_new:
            raise ValueError("sync and create_new are for files that are named")
        save_to(cast(IO[bytes], file), arr, allow_pickle, writing)


def save_to(file: IO[bytes], arr: npt.ArrayLike, allow_pickle: bool, writing: Writing) -> None:
    """Writes an array to a file object."""
    made = np.asanyarray(arr)
    if _is_pickled(made) and allow_pickle:
        file.write(_with_pickle(made, writing.version))
    else:
        _native.save_stream(file, given(made, allow_pickle), writing)


def write_ra(
    file: str | os.PathLike[str],
    arr: npt.ArrayLike,
    *,
    sync: bool = False,
    create_new: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> None:
    """Writes an array to an RA file; the options are those of :func:`save`."""
    _native.save(os.fspath(file), given(arr, False), Writing(sync, create_new, store=storage_options), True)


def read_ra(file: str | os.PathLike[str], *, limits: Mapping[str, int] | None = None) -> npt.NDArray[Any]:
    """Reads an RA file."""
    path = local(os.fsdecode(file))
    with open(path, "rb") as opened:
        if opened.read(8) not in (b"rawarray", b"yarrawar"):
            raise FormatError(f"{path}: expected an RA file")
    array: npt.NDArray[Any] = _native.load(path, make, Reading(limits=limits))
    return array


def _arrays(args: Sequence[Any], kwds: Mapping[str, Any], allow_pickle: bool) -> list[tuple[str, Any]]:
    named = dict(kwds)
    for number, array in enumerate(args):
        name = f"arr_{number}"
        if name in named:
            raise ValueError(f"Cannot use un-named variables and keyword {name}")
        named[name] = array
    return [(name, given(array, allow_pickle)) for name, array in named.items()]


def savez(file: PathOrFile, *args: npt.ArrayLike, allow_pickle: bool = True, **kwds: npt.ArrayLike) -> None:
    """Saves several arrays to an archive, as :func:`numpy.savez`: every keyword is the name of an array."""
    _write(file, _arrays(args, kwds, allow_pickle), Writing(compression=("stored", None)))


def savez_compressed(
    file: PathOrFile, *args: npt.ArrayLike, allow_pickle: bool = True, **kwds: npt.ArrayLike
) -> None:
    """Saves several arrays to an archive, compressed with Deflate, as :func:`numpy.savez_compressed`.

    Several threads compress it, and parts of the arrays can be read without decompressing the rest.
    """
    _write(file, _arrays(args, kwds, allow_pickle), Writing(compression=("deflate", None)))


def write_npz(
    file: PathOrFile,
    arrays: Mapping[str, npt.ArrayLike],
    *,
    compression: Compression = "stored",
    level: int | None = None,
    threads: int | None = None,
    sync: bool = False,
    create_new: bool = False,
    allow_pickle: bool = True,
    storage_options: Mapping[str, str] | None = None,
) -> None:
    """Writes a mapping of names to arrays as an archive; equal arrays make equal bytes, unless they are of Python objects.

    ``zstd`` is faster than ``deflate`` and smaller, but NumPy reads it only with Python 3.14 or later.
    """
    writing = Writing(sync, create_new, threads, (compression, level), store=storage_options)
    _write(file, _arrays((), arrays, allow_pickle), writing)


def _write(file: PathOrFile, arrays: list[tuple[str, Any]], writing: Writing) -> None:
    if _is_path(file):
        _native.save_archive(_named(file, ".npz"), arrays, writing)
    else:
        _native.save_archive_stream(file, arrays, writing)


def apply_changes(
    path: str,
    changes: Mapping[str, npt.NDArray[Any] | None],
    compression: Compression,
    level: int | None,
    sync: bool,
) -> None:
    """Makes changes of an archive: arrays to add or to replace, and ``None`` for members to remove."""
    archive = _native.open(path, Reading())
    if not isinstance(archive, _native.Archive):
        raise ValueError(f"{path}: not an archive")
    old = {name.removesuffix(".npy") for name in archive.file_names()}
    del archive
    removed = [name for name, array in changes.items() if array is None]
    missing = [name for name in removed if name not in old]
    if missing:
        raise MemberError(f"{missing[0]} is not a file in the archive")
    arrays = [(name, given(array, True)) for name, array in changes.items() if array is not None]
    added = [item for item in arrays if item[0] not in old]
    replaced = [item for item in arrays if item[0] in old]
    _native.update(path, added, replaced, removed, Writing(sync, compression=(compression, level)))


def concatenate(
    files: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    axis: int = 0,
    *,
    new_axis: bool = False,
    sync: bool = False,
) -> None:
    """Joins arrays in files along an axis, or along a new one, in bounded memory. They must have the same dtype."""
    if isinstance(files, (str, bytes, os.PathLike)):
        raise TypeError("expected a list of files")
    paths = [local(os.fsdecode(file)) for file in files]
    if axis < 0 and paths:
        first = _native.open(paths[0], Reading())
        if isinstance(first, _native.Array):
            axis += len(first.shape) + new_axis
        if axis < 0:
            raise ValueError(f"axis {axis} is out of bounds")
    _native.concatenate(paths, local(os.fsdecode(out)), axis, new_axis, Writing(sync))


def convert(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["safe", "same_kind", "unsafe"] = "same_kind",
    order: Literal["C", "F"] | None = None,
    sync: bool = False,
) -> None:
    """Converts a file to another dtype or order, or between NPY and RA (by the names), in bounded memory.

    ``casting`` has the meaning that it has in NumPy.
    """
    wanted = None if dtype is None else (descr_of(np.dtype(dtype)), casting)
    paths = (local(os.fspath(source)), local(os.fspath(out)))
    formats = ("ra" if paths[0].endswith(".ra") else "npy", "ra" if paths[1].endswith(".ra") else "npy")
    if formats == ("ra", "ra"):
        raise ValueError("an RA file is converted to NPY first")
    _native.convert(*paths, wanted, order, formats, Writing(sync))


class Appender:
    """Rows that are appended to a file: see :func:`append`."""

    def __init__(self, native: _native.Appender) -> None:
        self._native = native
        #: The dtype of the rows.
        self.dtype: np.dtype[Any] = dtype_of(native.descr)

    def push(self, rows: npt.ArrayLike) -> None:
        """Appends one row, or several along a first axis (the last in Fortran order).

        Elements of another dtype are cast if NumPy's rule ``same_kind`` allows it.
        """
        array = np.asarray(rows)
        if array.dtype != self.dtype:
            array = array.astype(self.dtype, casting="same_kind")
        self._native.push((array, self._native.descr))

    def commit(self) -> None:
        """Makes the rows so far part of the array: readers see them, and they survive a crash of this program."""
        self._native.commit()

    def __enter__(self) -> Appender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._native.finish()
        else:
            self._native.roll_back()


def append(
    file: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    row: int | Sequence[int] | None = None,
    uncommitted: Literal["refuse", "recover", "discard"] = "refuse",
    sync: bool = False,
) -> Appender:
    """Opens a file to append rows; with ``dtype`` and the shape of a ``row``, it is created if there is none.

    A context manager: when it ends, the rows are part of the array; if it ends with an exception, those since the last ``commit`` are removed. The file is
    locked until then, so that nothing else that uses this library changes it. Rows that a program had written before it was killed are an error,
    are kept or are removed, as ``uncommitted`` says. With ``sync``, a commit waits until the rows are on the disk.
    """
    if (dtype is None) != (row is None):
        raise TypeError("a new file needs both dtype and row, the shape of a row")
    new = None
    if dtype is not None and row is not None:
        new = (descr_of(np.dtype(dtype)), [row] if isinstance(row, int) else list(row))
    return Appender(_native.append(local(os.fspath(file)), new, uncommitted, Writing(sync)))
