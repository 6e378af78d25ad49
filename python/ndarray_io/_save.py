"""Writing files."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._dtypes import descr_of
from ._options import Compression, Reading, Writing

PathOrFile = str | os.PathLike[str] | IO[bytes]


def given(array: npt.ArrayLike, allow_pickle: bool) -> Any:
    """Returns an array as the native part takes it: with its dtype, or as a pickle."""
    made = np.asanyarray(array)
    if not made.dtype.hasobject and not _needs_pickle(made.dtype):
        plain = made.view(np.ndarray) if type(made) is not np.ndarray else made
        descr = descr_of(plain.dtype)
        warn_of_version(descr, plain.shape)
        return (plain, descr)
    if not allow_pickle:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")
    return pickle.dumps(np.asarray(made), protocol=4)


def warn_of_version(descr: str, shape: tuple[int, ...]) -> None:
    """Warns, as NumPy does, if the header needs a version that old readers do not know."""
    if descr.isascii() and len(descr) < 60_000:
        return
    version = _native.header(descr, False, shape, Writing())[6]
    if version > 1:
        oldest = "1.9.0" if version == 2 else "1.17"
        text = f"Stored array in format {version}.0. It can only be read by NumPy >= {oldest}"
        warnings.warn(text, UserWarning, stacklevel=4)


def _needs_pickle(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy saves arrays of a dtype as pickles, although its elements are no objects: text of variable width."""
    return dtype.kind == "T"


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
) -> None:
    """Saves an array to a file in NumPy's format.

    A file with this name is replaced in one step: whoever reads it meanwhile has the old array or the new one, and if something fails, the old one stays.
    ``sync`` waits until it is on the disk; with ``create_new``, an existing file is an error.
    """
    writing = Writing(sync, create_new, threads)
    array = given(arr, allow_pickle)
    if _is_path(file):
        _native.save(_named(file, ".npy"), array, writing, False)
    else:
        _native.save_stream(file, array, writing)


def write_ra(
    file: str | os.PathLike[str], arr: npt.ArrayLike, *, sync: bool = False, create_new: bool = False
) -> None:
    """Writes an array to an RA file."""
    _native.save(os.fspath(file), given(arr, False), Writing(sync, create_new), True)


def read_ra(file: str | os.PathLike[str], *, limits: Mapping[str, int] | None = None) -> npt.NDArray[Any]:
    """Reads an RA file."""
    from ._dtypes import make

    array = _native.load(os.fspath(file), make, Reading(limits=limits))
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{os.fspath(file)}: not an RA file")
    return array


def _arrays(args: Sequence[Any], kwds: Mapping[str, Any], allow_pickle: bool) -> list[tuple[str, Any]]:
    named = dict(kwds)
    for number, array in enumerate(args):
        name = f"arr_{number}"
        if name in named:
            raise ValueError(f"Cannot use un-named variables and keyword {name}")
        named[name] = array
    return [(name, given(array, allow_pickle)) for name, array in named.items()]


def savez(file: PathOrFile, /, *args: npt.ArrayLike, allow_pickle: bool = True, **kwds: npt.ArrayLike) -> None:
    """Saves several arrays to an archive, as :func:`numpy.savez`: every keyword is the name of an array."""
    _write(file, _arrays(args, kwds, allow_pickle), Writing(compression=("stored", None)))


def savez_compressed(
    file: PathOrFile, /, *args: npt.ArrayLike, allow_pickle: bool = True, **kwds: npt.ArrayLike
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
) -> None:
    """Writes a mapping of names to arrays as an archive; equal arrays make equal bytes.

    ``zstd`` is faster than ``deflate`` and smaller, but NumPy reads it only with Python 3.14 or later.
    """
    writing = Writing(sync, create_new, threads, (compression, level))
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
    paths = [os.fspath(file) for file in files]
    _native.concatenate(paths, os.fspath(out), axis, new_axis, Writing(sync))
