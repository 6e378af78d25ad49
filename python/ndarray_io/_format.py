"""The functions of :mod:`numpy.lib.format`, on the library."""

from __future__ import annotations

import os
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._dtypes import descr_of, dtype_of, make
from ._options import Reading, Writing
from ._save import save_to, warn_of_version

Version = tuple[int, int]

_PREFIX = b"\x93NUMPY"
_MOST = 10_000
"""NumPy's limit for the length of a header."""


def _read(file: Any, count: int, what: str) -> bytes:
    """Reads this number of bytes; file objects may return fewer at a time."""
    parts: list[bytes] = []
    missing = count
    while missing:
        part = file.read(missing)
        if not part:
            raise ValueError(f"EOF: reading {what}, expected {count} bytes got {count - missing}")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _check_version(version: Version | None) -> int | None:
    if version is None:
        return None
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"we only support format version (1,0), (2,0), and (3,0), not {version}")
    return version[0]


def read_magic(fp: IO[bytes]) -> Version:
    """Reads the magic bytes and the version."""
    magic = _read(fp, 8, "magic string")
    if not magic.startswith(_PREFIX):
        raise ValueError(f"the magic string is not correct; expected {_PREFIX!r}, got {magic[:6]!r}")
    return (magic[6], magic[7])


def _read_header(fp: IO[bytes], version: Version, most: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    text = _PREFIX + bytes(version)
    parsed = _native.parse(text, most)
    while isinstance(parsed, int):
        text += _read(fp, parsed - len(text), "array header")
        parsed = _native.parse(text, most)
    shape, is_fortran, descr, _ = parsed
    return tuple(shape), is_fortran, dtype_of(descr)


def read_array_header_1_0(
    fp: IO[bytes], max_header_size: int = _MOST
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Reads the header after the magic bytes of a file of version 1.0."""
    return _read_header(fp, (1, 0), max_header_size)


def read_array_header_2_0(
    fp: IO[bytes], max_header_size: int = _MOST
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Reads the header after the magic bytes of a file of version 2.0."""
    return _read_header(fp, (2, 0), max_header_size)


def read_array(
    fp: IO[bytes],
    allow_pickle: bool = False,
    pickle_kwargs: dict[str, Any] | None = None,
    *,
    max_header_size: int = _MOST,
) -> npt.NDArray[Any]:
    """Reads the array at the position of a file object; Python objects as data."""
    if allow_pickle:
        # As in NumPy: a file whose pickles are trusted may have any header.
        max_header_size = 1 << 32
    reading = Reading(allow_pickle, limits={"header": max_header_size})
    array: npt.NDArray[Any] = _native.load_stream(fp, make, reading)
    return array


def write_array(
    fp: IO[bytes],
    array: npt.ArrayLike,
    version: Version | None = None,
    allow_pickle: bool = True,
    pickle_kwargs: dict[str, Any] | None = None,
) -> None:
    """Writes an array at the position of a file object."""
    wanted = _check_version(version)
    save_to(fp, array, allow_pickle, Writing(version=wanted))


def open_memmap(
    filename: str | os.PathLike[str],
    mode: Literal["r+", "r", "w+", "c"] = "r+",
    dtype: npt.DTypeLike | None = None,
    shape: int | tuple[int, ...] | None = None,
    fortran_order: bool = False,
    version: Version | None = None,
    *,
    max_header_size: int = _MOST,
) -> np.memmap[Any, Any]:
    """Maps an array in a file, or makes a file of zeros and maps it."""
    if hasattr(filename, "read"):
        raise ValueError("Filename must be a string or a path-like object.  Memmap cannot use existing file handles.")
    path = os.fspath(filename)
    if "w" in mode:
        wanted = _check_version(version)
        made = np.dtype(dtype)
        if made.hasobject:
            raise ValueError("Array can't be memory-mapped: Python objects in dtype.")
        dims = (shape,) if isinstance(shape, int) else tuple(shape or ())
        descr = descr_of(made)
        if version is None:
            warn_of_version(descr, dims)
        head = _native.header(descr, fortran_order, dims, Writing(version=wanted))
        with open(path, mode + "b") as file:
            file.write(head)
            offset = file.tell()
        mode = "r+"
    else:
        with open(path, "rb") as file:
            found = read_magic(file)
            _check_version(found)
            dims, fortran_order, made = _read_header(file, found, max_header_size)
            if made.hasobject:
                raise ValueError("Array can't be memory-mapped: Python objects in dtype.")
            offset = file.tell()
    order: Literal["F", "C"] = "F" if fortran_order else "C"
    return np.memmap(path, dtype=made, shape=dims, order=order, mode=mode, offset=offset)


