"""Lazy arrays: what is read is what is asked for."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native
from ._dtypes import dtype_of, make

if TYPE_CHECKING:
    Index = int | slice | EllipsisType | npt.NDArray[Any] | list[int] | list[bool]

MapMode = Literal["r", "r+", "c"]


class LazyArray:
    """An array in a file, of which only the parts that are asked for are read.

    It has NumPy's indices, of which one may be an integer array or a mask along one axis. The result is a new array in memory.
    """

    def __init__(self, native: _native.Array, source: str | None, reopen: Callable[[], _native.Array] | None) -> None:
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
        """Iterates over blocks along the first axis, of about so many bytes."""
        if not self.shape:
            raise TypeError("iteration over an array without axes")
        row = max(self.nbytes // max(self.shape[0], 1), 1)
        step = max(memory // row, 1)
        for start in range(0, self.shape[0], step):
            yield self[start : start + step]

    def __getitem__(self, index: Any) -> Any:
        parts, listed, new_axes = _parse(index, self.shape)
        if any(part is None for part in parts) or 0 in self.shape or listed is not None and not len(listed[1]):
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

    def _take(self, parts: list[Any], listed: tuple[int, npt.NDArray[Any]], new_axes: Any) -> npt.NDArray[Any]:
        axis, indices = listed
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
        if not is_all and span <= 4 * len(flat):
            # Nearly all of a range: it is read as one.
            low = int(flat.min())
            bounds: list[Any] = list(rest)
            bounds[axis] = slice(low, low + span)
            part = self[tuple(bounds)]
            at = axis - sum(isinstance(one, int) for one in rest[:axis])
            taken = np.take(part, flat - low, axis=at)
        else:
            shape = list(self.shape)
            shape[axis] = len(flat)
            taken = make(shape, self._descr, self.fortran_order, None)
            self._native.take_into(taken, axis, flat.tolist())
            at = axis - sum(isinstance(one, int) for one in rest[:axis])
            if not is_all:
                taken = taken[tuple(rest)]
        return taken.reshape(taken.shape[:at] + indices.shape + taken.shape[at + 1 :])

    def mmap(self, mode: MapMode = "r") -> np.memmap[Any, Any]:
        """Maps the elements, which must be stored in a file of this machine as they are."""
        if self._source is None or not os.path.isfile(self._source):
            raise ValueError("only an array in a file of this machine can be mapped")
        if self.dtype.hasobject:
            raise ValueError("Python objects cannot be mapped")
        order: Literal["F", "C"] = "F" if self.fortran_order else "C"
        offset = self._native.offset_in_file()
        return np.memmap(self._source, dtype=self.dtype, mode=mode, offset=offset, shape=self.shape, order=order)

    def refresh(self) -> bool:
        """Looks for rows that were appended since the array was opened; returns whether there are any."""
        if self._reopen is None or not self._native.has_grown():
            return False
        old = self.shape
        self._native = self._reopen()
        self.shape = self._native.shape
        return self.shape != old

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reopen is None or self._source is None:
            raise TypeError("only an array that was opened by its path can be pickled")
        from . import open as reopen

        return reopen, (self._source,)


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
) -> tuple[list[int | tuple[int, int, int] | None], tuple[int, npt.NDArray[Any]] | None, Any]:
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
    listed: tuple[int, npt.NDArray[Any]] | None = None
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
            listed = (axis, _listed(item, shape[axis], axis))
            parts.append(_range(slice(None), shape[axis]) or 0)
            new_axes.append(slice(None))
        elif isinstance(item, (bool, np.bool_)):
            raise IndexError("True and False are no indices here: a mask has an entry for each index of an axis")
        else:
            parts.append(_position(operator.index(item), shape[axis], axis))
    return parts, listed, tuple(new_axes) if None in new_axes else None


def _is_listed(item: Any) -> bool:
    return isinstance(item, (list, np.ndarray)) and not (isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype != bool)


def _axes_of(item: Any) -> int:
    return 0 if item is None or item is Ellipsis else 1


def _range(item: slice, length: int) -> tuple[int, int, int] | None:
    positions = range(length)[item]
    return (positions[0], positions[-1], positions.step) if len(positions) else None


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
