"""NumPy's files faster, safer, and in part."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Mapping
from typing import IO, Any, Literal


import numpy.typing as npt

from . import _native
from ._archives import NpzFile, Update
from ._arrays import LazyArray
from ._dtypes import make as _make
from ._errors import (
    Cancelled,
    ConflictError,
    ExistsError,
    FileError,
    FormatError,
    LimitError,
    MemberError,
    MismatchError,
    NotFoundError,
    UsageError,
)
from ._install import install
from ._objects import Call, Global
from ._options import PLAIN, Reading, local
from ._refs import refs
from ._save import (
    Appender,
    append,
    concatenate,
    convert,
    read_ra,
    save,
    savez,
    savez_compressed,
    write_npz,
    write_ra,
)

__all__ = [
    "Appender",
    "Call",
    "Cancelled",
    "ConflictError",
    "ExistsError",
    "FileError",
    "FormatError",
    "Global",
    "LazyArray",
    "LimitError",
    "MemberError",
    "MismatchError",
    "NotFoundError",
    "NpzFile",
    "Update",
    "UsageError",
    "__version__",
    "aload",
    "append",
    "asave",
    "concatenate",
    "convert",
    "install",
    "load",
    "open",
    "read_ra",
    "refs",
    "save",
    "savez",
    "savez_compressed",
    "scan",
    "write_npz",
    "write_ra",
]

__version__: str = _native.__version__

File = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]


def load(
    file: File,
    mmap_mode: Literal["r", "r+", "c"] | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Literal["ASCII", "latin1", "bytes"] = "ASCII",
    *,
    max_header_size: int | None = None,
    threads: int | None = None,
    limits: Mapping[str, int] | None = None,
    password: str | bytes | None = None,
    storage_options: Mapping[str, str] | None = None,
    verify: bool = True,
    objects: Mapping[str, Callable[..., Any]] | None = None,
) -> Any:
    """Loads an array, or opens an archive, as :func:`numpy.load`.

    With ``allow_pickle``, Python objects are read as data: plain values, dates, decimals and arrays are what they are, and any other object is a
    :class:`Call` that says what :mod:`pickle` would have called. Nothing is executed, except what ``objects`` lists: a mapping of names, as
    :func:`scan` shows them (``"package.Class"``, ``"builtins.range"``), to the classes or functions that make such objects, with all that
    these call. Values, dates, decimals and dtypes are made without it.

    Bools other than 0 and 1 and text with invalid code points are an error; with ``verify=False``, they are taken as they are, as
    NumPy does. Checksums are always verified.

    ``threads`` limits how many threads read, and ``limits`` what a file may ask for: ``header``, ``payload``, ``objects``, ``object_height``,
    ``expansion``. ``password`` is that of encrypted members. A URL (s3://, gs://, az://, https://) is read with
    range requests; ``storage_options`` are those of its store, such as ``aws_endpoint``, beside the environment's. ``encoding`` says what a
    ``str`` of Python 2 is; with the default, one that is not ASCII is bytes. ``fix_imports`` has no effect, as names are not looked up.
    """
    if encoding not in ("ASCII", "latin1", "bytes"):
        raise ValueError("encoding must be 'ASCII', 'latin1', or 'bytes'")
    if max_header_size is not None:
        limits = {**(limits or {}), "header": max_header_size}
    reading = PLAIN
    chosen = (allow_pickle, threads, limits, password, storage_options, verify, objects, encoding)
    if chosen != (False, None, None, None, None, True, None, "ASCII"):
        old_text = None if encoding == "ASCII" else encoding
        reading = Reading(
            bool(allow_pickle), threads, limits, _encoded(password), not verify, old_text, objects, storage_options
        )
    if isinstance(file, (bytes, bytearray, memoryview)):
        file = io.BytesIO(file)
    if hasattr(file, "read"):
        return _load_stream(file, mmap_mode, reading)
    path = os.fsdecode(file)
    if mmap_mode:
        opened = open_with(path, reading)
        return opened if isinstance(opened, NpzFile) else opened.mmap(mmap_mode)
    loaded = _native.load(path, _make, reading)
    return NpzFile(loaded, path, reading) if isinstance(loaded, _native.Archive) else loaded


def _archive_in(file: Any, reading: Reading) -> _native.Archive:
    """Opens an archive that follows other bytes in a file object: its positions count from the first byte of the file, or from its own."""
    start = file.tell()
    try:
        native = _native.open_source(file, reading, 0, True)
    except FormatError:
        if start == 0:
            raise
        native = _native.open_source(file, reading, start, True)
    assert isinstance(native, _native.Archive)
    return native


def _encoded(password: str | bytes | None) -> bytes | None:
    return password.encode() if isinstance(password, str) else password


def _load_stream(file: Any, mmap_mode: str | None, reading: Reading) -> Any:
    if not hasattr(file, "seek"):
        return _native.load_stream(file, _make, reading)
    first = file.read(4)
    if not first:
        raise EOFError("No data left in file")
    file.seek(-len(first), 1)
    if first.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return NpzFile(_archive_in(file, reading), None)
    if mmap_mode:
        raise ValueError("a file object cannot be mapped: pass its path")
    if reading.allow_objects and not first.startswith(b"\x93NUM"):
        return _native.load_pickle(bytes(file.read()), _make, reading)
    return _native.load_stream(file, _make, reading)


def open(
    file: File,
    *,
    threads: int | None = None,
    limits: Mapping[str, int] | None = None,
    password: str | bytes | None = None,
    storage_options: Mapping[str, str] | None = None,
    verify: bool = True,
) -> Any:
    """Opens a file without reading its elements.

    Returns a :class:`LazyArray` for a file of one array (NPY, RA) or a folder of files that are one (a stack of Dask), and an :class:`NpzFile` for an
    archive. The options are those of :func:`load`.
    """
    reading = Reading(False, threads, limits, _encoded(password), not verify, store=storage_options)
    if isinstance(file, (bytes, bytearray, memoryview)) or hasattr(file, "read"):
        native = _native.open_source(bytes(file) if not hasattr(file, "read") else file, reading)
        return NpzFile(native, None) if isinstance(native, _native.Archive) else LazyArray(native, None, None)
    return open_with(os.fsdecode(file), reading)


def scan(file: str | os.PathLike[str]) -> list[tuple[str | None, str, bool]]:
    """Lists what :mod:`pickle` would look up to load the Python objects of a file: the member, the name, and whether the name is usual in data.

    What could not be looked at is in the list, too: as a name that begins with ``not looked at`` and is not usual. So an empty list
    means that there are no objects. A name that is usual in data does not mean that the file is harmless.
    """
    return _native.scan(local(os.fsdecode(file)))


def open_with(path: str, reading: Reading) -> LazyArray | NpzFile:
    """Opens a file by its path, with options."""

    def opened() -> _native.Array | _native.Archive:
        return _native.open(path, reading)

    native = opened()
    if isinstance(native, _native.Archive):
        return NpzFile(native, path, reading)

    def reopen() -> _native.Array:
        again = opened()
        if not isinstance(again, _native.Array):
            raise FormatError(f"{path}: it is an archive now")
        return again

    return LazyArray(native, path, reopen, reading)


async def aload(file: File, **options: Any) -> Any:
    """Awaits :func:`load` on another thread; the options are those of it."""
    return await asyncio.to_thread(load, file, **options)


async def asave(file: Any, arr: npt.ArrayLike, **options: Any) -> None:
    """Awaits :func:`save` on another thread; the options are those of it."""
    await asyncio.to_thread(save, file, arr, **options)
