"""References that let readers of Zarr open files in place."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._options import Reading

PathOrUrl = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Chunking:
    """How arrays become chunks, as the native part takes it."""

    member: str | None
    axis: int | None
    chunk: int | None
    dims: Sequence[str] | None
    inline_limit: int | None
    zarr_format: int


def refs(
    files: PathOrUrl | Sequence[PathOrUrl] | Mapping[str, PathOrUrl],
    *,
    name: str | None = None,
    member: str | None = None,
    axis: int | None = None,
    chunk: int | None = None,
    dims: Sequence[str] | None = None,
    prefix: str | None = None,
    inline_limit: int | None = None,
    zarr_format: Literal[2, 3] = 2,
    storage_options: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Returns references in kerchunk's format, with which readers of Zarr (zarr-python, xarray, Dask) read files in place.

    The files are NPY, RA, stored archives or stacks, in folders or stores. A mapping names the arrays; else they have the names of their files or
    members. With ``axis``, all files, which are on this machine, are one array, joined along it. ``chunk`` is the length of a chunk along the slowest axis (about 32 MiB
    otherwise), ``dims`` are the names of the dimensions. Readers find local files at their absolute paths, or by their names below ``prefix``. A short last chunk of up to
    ``inline_limit`` bytes (1 MiB) is within the references. What could not be chunked as asked is a warning.
    """
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format is 2 or 3, not {zarr_format!r}")
    if chunk is not None and chunk < 1 or inline_limit is not None and inline_limit < 0:
        raise ValueError("chunk is a number from 1, and inline_limit one from 0")
    if isinstance(dims, str):
        raise TypeError("dims is a list of names")
    named: list[tuple[str | None, PathOrUrl]]
    if isinstance(files, Mapping):
        if name is not None or axis is not None:
            raise ValueError("a mapping names the arrays: name and axis are for lists of files")
        named = list(files.items())
    else:
        listed = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        if name is not None and axis is None and len(listed) > 1:
            raise ValueError("one name cannot be that of several arrays: pass a mapping, or an axis")
        if axis is not None and axis < 0:
            raise ValueError("expected an axis from 0")
        named = [(name, file) for file in listed]
    if not named:
        raise ValueError("expected at least one file")
    located = [(one, *_located(file, prefix)) for one, file in named]
    places: dict[str, str] = {}
    for _, path, location in located:
        if places.setdefault(location, os.path.abspath(path)) != os.path.abspath(path):
            raise ValueError(f"two files would be at {location}: pass their folders' references one by one")
    if axis is not None and any("://" in path for _, path, _ in located):
        raise ValueError("files are joined along an axis on this machine: pass paths, and a prefix")
    chunking = Chunking(member, axis, chunk, dims, inline_limit, zarr_format)
    text, notes = _native.refs(located, chunking, Reading(store=storage_options))
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    references: dict[str, Any] = json.loads(text)
    return references


def _located(file: PathOrUrl, prefix: str | None) -> tuple[str, str]:
    """Returns the path of a file, and where readers find it."""
    path = os.fsdecode(file)
    if "://" in path:
        return path, path.split("?")[0]
    if prefix is None:
        return path, os.path.abspath(path)
    return path, prefix.rstrip("/") + "/" + os.path.basename(path.rstrip("/"))
