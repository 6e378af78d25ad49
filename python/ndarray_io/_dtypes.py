"""Dtypes as headers of NPY spell them, and new arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

_known: dict[str, np.dtype[Any]] = {}


def dtype_of(descr: str) -> np.dtype[Any]:
    """Returns the dtype for the text of a header."""
    dtype = _known.get(descr)
    if dtype is None:
        made: np.dtype[Any] = np.lib.format.descr_to_dtype(ast.literal_eval(descr))
        dtype = made
        # A dtype with fields can be changed (its names), so each array has one of its own.
        if len(_known) < 1000 and dtype.fields is None and dtype.subdtype is None:
            _known[descr] = dtype
    return dtype


def descr_of(dtype: np.dtype[Any]) -> str:
    """Returns the text of a header for a dtype."""
    if dtype.fields is None and dtype.subdtype is None and dtype.metadata is None:
        return f"'{dtype.str}'"
    return repr(np.lib.format.dtype_to_descr(dtype))


def make(shape: Sequence[int], descr: str, fortran_order: bool, items: list[Any] | None) -> npt.NDArray[Any]:
    """Makes a new array; of objects, with these items, in the order of the file."""
    order: Literal["F", "C"] = "F" if fortran_order else "C"
    if fortran_order and descr.startswith("("):
        raise ValueError(f"elements that are arrays ({descr}) cannot be in Fortran order")
    if items is None:
        dtype = dtype_of(descr)
        if dtype.itemsize == 0:
            return np.ndarray(tuple(shape), dtype, order=order)  # `numpy.empty` makes text wider
        return np.empty(shape, dtype, order=order)
    array = np.empty(shape, dtype_of(descr), order=order)
    fill(array, items)
    return array


def fill(array: npt.NDArray[Any], items: list[Any]) -> None:
    """Puts items into a contiguous array of objects, in the order of its memory."""
    flat = array.reshape(-1, order="C" if array.flags.c_contiguous else "F")
    if array.dtype.names is not None:
        flat[:] = items  # tuples of the fields
    else:
        # Unlike `flat[:] = items`, this does not look into items that are sequences themselves.
        flat[:] = np.fromiter(items, dtype=object, count=len(items))
