"""Lazy arrays: what is read is what is asked for."""

from __future__ import annotations

import builtins
import math
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._dtypes import dtype_of, make
from ._errors import FormatError
from ._options import PLAIN, Reading

MapMode = Literal["r", "r+", "c"]

Listed = tuple[int, npt.NDArray[Any], bool]
"""An axis, its listed indices, and whether the axes of these come first in the result."""

_MODES: dict[str, MapMode] = {"readonly": "r", "copyonwrite": "c", "readwrite": "r+", "r": "r", "c": "c", "r+": "r+"}


def mapped(path: str, mode: str, shape: tuple[int, ...], descr: str, member: str | None = None) -> np.memmap[Any, Any]:
    """Maps an array of a file, which is opened once: its header is read from the file that is mapped."""
    if mode not in _MODES:
        raise ValueError(f"expected mode 'r', 'r+' or 'c', found {mode!r}")
    if member is not None and _MODES[mode] == "r+":
        raise ValueError("a member of an archive cannot be changed in a map, since its checksum would be wrong: update() replaces it")
    if not os.path.isfile(path):  # a URL, a folder
        raise ValueError("only an array in a file of this machine can be mapped")
    with builtins.open(path, "r+b" if _MODES[mode] == "r+" else "rb") as file:
        native = _native.open_source(file, PLAIN)
        if isinstance(native, _native.Archive):
            names = native.file_names()
            if member not in names:
                raise FormatError(f"{path}: the file has changed since it was opened")
            index = len(names) - 1 - names[::-1].index(member)
            _, _, method, is_encrypted = native.facts(index)
            if method != "stored" or is_encrypted:
                how = "encrypted" if is_encrypted else f"compressed ({method})"
                raise ValueError(f"member {member!r} is {how} and cannot be mapped")
            native = native.open(index)
        if native.descr != descr or native.shape != shape:
            raise FormatError(f"{path}: the file has changed since it was opened")
        dtype, offset = dtype_of(descr), native.offset_in_file()
        if dtype.hasobject:
            raise ValueError("Python objects cannot be mapped")
        if offset + math.prod(shape) * dtype.itemsize > os.fstat(file.fileno()).st_size:
            raise FormatError(f"{path}: truncated: there are fewer elements than the header says")
        order: Literal["F", "C"] = "F" if native.fortran_order else "C"
        return np.memmap(file, dtype=dtype, mode=_MODES[mode], offset=offset, shape=shape, order=order)


class LazyArray:
    """An array in a file, of which only the parts that are asked for are read.

    It has NumPy's indices, of which one may be an integer array or a mask along one axis. The result is a new array in memory. Anything else (arithmetic,
    comparison, methods) is for the arrays that are read.
    """

    def __init__(
        self,
        native: _native.Array,
        source: str | None,
        reopen: Callable[[], _native.Array] | None,
        reading: Reading = PLAIN,
    ) -> None:
        self._reading = reading
        self._native = native
        self._source = source
        self._reopen = reopen
        self._descr = native.descr
        self.shape: tuple[int, ...] = native.shape
        self.dtype: np.dtype[Any] = dtype_of(self._descr)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def fortran_order(self) -> bool:
        """Whether the elements are stored in Fortran order."""
        return self._native.fortran_order

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        source = f" of {self._source}" if self._source else ""
        return f"<LazyArray{source}: shape {self.shape}, dtype {self.dtype}>"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be used without reading it; mmap() maps it")
        whole = self[...]
        return whole if dtype is None else np.asarray(whole, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        """Iterates along the first axis; several indices are read at a time."""
        for block in self.blocks():
            yield from block

    def blocks(self, memory: int = 16 << 20) -> Iterator[npt.NDArray[Any]]:
        """Iterates over blocks along the first axis, each of about this number of bytes."""
        if not self.shape:
            raise TypeError("iteration over an array without axes")
        row = max(self.nbytes // max(self.shape[0], 1), 1)
        step = max(memory // row, 1)
        for start in range(0, self.shape[0], step):
            yield self[start : start + step]

    def __contains__(self, value: object) -> bool:
        blocks = self.blocks() if self.shape else iter([self[...]])
        return any(bool(np.any(block == value)) for block in blocks)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str) or isinstance(index, list) and index and isinstance(index[0], str):
            return self[...][index]  # fields
        parts, listed, new_axes = _parse(index, self.shape)
        if any(part is None for part in parts) or 0 in self.shape or listed is not None and not listed[1].size:
            return self._empty(index)
        if listed is not None:
            return self._take(parts, listed, new_axes)
        shape = [_length(part) for part in parts if isinstance(part, tuple)]
        whole = all(
            isinstance(part, tuple) and part == (0, length - 1, 1)
            for part, length in zip(parts, self.shape, strict=True)
        )
        array = make(shape, self._descr, self.fortran_order, None)
        self._native.read_into(array, None if whole else parts)
        if new_axes:
            array = array[new_axes]
        return array[()] if not shape and not new_axes and not _has_ellipsis(index) else array

    def _empty(self, index: Any) -> Any:
        """Returns a selection without elements: NumPy says what its shape is."""
        one = np.empty((), self.dtype)
        return np.broadcast_to(one, self.shape)[index].copy()

    def _take(self, parts: list[Any], listed: Listed, new_axes: Any) -> npt.NDArray[Any]:
        axis, indices, is_first = listed
        if new_axes:
            raise IndexError("new axes and listed indices are not supported together: add the axes afterwards")
        flat = indices.reshape(-1)
        rest: list[Any] = [
            slice(None) if at == axis else _as_slice(part) for at, part in enumerate(parts)
        ]
        span = int(flat.max()) - int(flat.min()) + 1
        others = [part for at, part in enumerate(parts) if at != axis]
        is_all = all(
            isinstance(part, tuple) and part == (0, length - 1, 1)
            for part, length in zip(others, (n for at, n in enumerate(self.shape) if at != axis), strict=True)
        )
        at = axis - sum(isinstance(one, int) for one in rest[:axis])

        def between(low: int, high: int) -> npt.NDArray[Any]:
            part: npt.NDArray[Any] = self[(*rest[:axis], slice(low, high), *rest[axis + 1 :])]
            return part

        wanted = math.prod(_length(part) for part in others if isinstance(part, tuple))
        if not is_all and span <= 4 * len(flat):
            # Nearly all of a range: it is read as one.
            low = int(flat.min())
            taken = np.take(between(low, low + span), flat - low, axis=at)
        elif not is_all and 4 * wanted * self.shape[axis] < self.size:
            # A small part of each index: more would be read than is asked for.
            taken = np.concatenate([between(number, number + 1) for number in flat.tolist()], axis=at)
        else:
            shape = list(self.shape)
            shape[axis] = len(flat)
            taken = make(shape, self._descr, self.fortran_order, None)
            self._native.take_into(taken, axis, flat.tolist())
            if not is_all:
                taken = taken[tuple(rest)]
        taken = taken.reshape(taken.shape[:at] + indices.shape + taken.shape[at + 1 :])
        axes = range(indices.ndim)
        return np.moveaxis(taken, [at + axis for axis in axes], list(axes)) if is_first else taken

    def mmap(self, mode: MapMode = "r") -> np.memmap[Any, Any]:
        """Maps the elements, which must be stored in a file of this machine as they are."""
        if self._source is None:
            raise ValueError("only an array in a file of this machine can be mapped")
        return mapped(self._source, mode, self.shape, self._descr)

    def refresh(self) -> bool:
        """Looks for rows that were appended since the array was opened; returns whether there are any."""
        if self._reopen is None or not self._native.has_grown():
            return False
        native, old = self._reopen(), self.shape
        axis = -1 if native.fortran_order else 0
        is_same = native.descr == self._descr and native.fortran_order == self.fortran_order
        if not is_same or len(native.shape) != len(old) or _without(native.shape, axis) != _without(old, axis):
            raise FormatError(f"{self._source}: it has another array now")
        self._native, self.shape = native, native.shape
        return self.shape != old

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reopen is None or self._source is None:
            raise TypeError("only an array that was opened by its path can be pickled")
        return reopened, (self._source, self._reading.for_pickle())


def reopened(path: str, reading: Reading) -> Any:
    """Opens a file again, in another process."""
    from . import open_with

    return open_with(path, reading)


def _without(shape: tuple[int, ...], axis: int) -> list[int]:
    rest = list(shape)
    del rest[axis]
    return rest


def _has_ellipsis(index: Any) -> bool:
    return index is Ellipsis or isinstance(index, tuple) and any(part is Ellipsis for part in index)


def _length(part: tuple[int, int, int]) -> int:
    first, last, step = part
    return (last - first) // step + 1


def _as_slice(part: Any) -> Any:
    if isinstance(part, int):
        return part
    first, last, step = part
    end = last + (1 if step > 0 else -1)
    return slice(first, None if end < 0 else end, step)


def _parse(
    index: Any, shape: tuple[int, ...]
) -> tuple[list[int | tuple[int, int, int] | None], Listed | None, Any]:
    """Returns what is selected of each axis, the axis with listed indices, and where new axes come, as an index of the result."""
    items = index if isinstance(index, tuple) else (index,)
    used = sum(_axes_of(item) for item in items)
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)
    parts: list[int | tuple[int, int, int] | None] = []
    listed: Listed | None = None
    new_axes: list[Any] = []
    for item in items:
        axis = len(parts)
        if item is Ellipsis:
            for length in shape[axis : axis + len(shape) - used]:
                parts.append(_range(slice(None), length))
                new_axes.append(slice(None))
        elif item is None:
            new_axes.append(None)
        elif isinstance(item, slice):
            parts.append(_range(item, shape[axis]))
            new_axes.append(slice(None))
        elif _is_listed(item):
            if listed is not None:
                raise IndexError("only one axis can have listed indices: read one of them, and index the result")
            listed = (axis, _listed(item, shape[axis], axis), False)
            parts.append(_range(slice(None), shape[axis]) or 0)
            new_axes.append(slice(None))
        elif isinstance(item, (bool, np.bool_)):
            raise IndexError("True and False cannot be indices: a mask has an entry for each index of an axis")
        else:
            try:
                number = operator.index(item)
            except TypeError:
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid indices"
                ) from None
            parts.append(_position(number, shape[axis], axis))
    if listed is not None:
        # As in NumPy, an integer beside listed indices is a listed one: if they are not adjacent, their axes come first.
        places = [at for at, item in enumerate(items) if _is_listed(item) or not _keeps_axis(item)]
        if places[-1] - places[0] + 1 != len(places):
            listed = (*listed[:2], True)
    return parts, listed, tuple(new_axes) if None in new_axes else None


def _keeps_axis(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, slice)


def _is_listed(item: Any) -> bool:
    return isinstance(item, (list, tuple, range, np.ndarray)) and not (isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype != bool)


def _axes_of(item: Any) -> int:
    return 0 if item is None or item is Ellipsis else 1


def _range(item: slice, length: int) -> tuple[int, int, int] | None:
    positions = range(length)[item]
    if len(positions) == 1:
        return (positions[0], positions[0], 1)  # the step can be any integer
    return (positions[0], positions[-1], positions.step) if positions else None


def _position(index: int, length: int, axis: int) -> int:
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
    return index % length if length else index


def _listed(item: Any, length: int, axis: int) -> npt.NDArray[Any]:
    array = np.asarray(item)
    if array.dtype == bool:
        if array.shape not in ((length,), (0,)):  # NumPy takes an empty mask for any axis
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is {length} "
                f"but size of corresponding boolean axis is {array.size}"
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return array.astype(np.intp)
    if array.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    low, high = int(array.min()), int(array.max())
    for index in (low, high):
        _position(index, length, axis)
    array = array.astype(np.intp)
    return np.where(array < 0, array + length, array)
