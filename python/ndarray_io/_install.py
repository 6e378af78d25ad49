"""Puts this package in NumPy's place, for libraries that call NumPy's functions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np
import numpy.lib.format
import numpy.lib.npyio

from . import _format

_ARCHIVES = ("load", "save", "savez", "savez_compressed")
_FORMAT = (
    "read_magic",
    "read_array_header_1_0",
    "read_array_header_2_0",
    "read_array",
    "write_array",
    "open_memmap",
)


# Contexts of several threads may overlap: the last one that ends takes the functions back.
_lock = threading.Lock()
_installed = 0
_undo: AbstractContextManager[None] | None = None


@contextmanager
def install() -> Iterator[None]:
    """Puts functions of this package in NumPy's place, for as long as the context lasts; all threads see it.

    They are ``load``, ``save``, ``savez`` and ``savez_compressed``, and of ``numpy.lib.format`` ``read_magic``, ``read_array_header_1_0``,
    ``read_array_header_2_0``, ``read_array``, ``write_array`` and ``open_memmap``; and the class ``numpy.lib.npyio.NpzFile``.
    """
    global _installed, _undo
    with _lock:
        _installed += 1
        if _installed == 1:
            _undo = replaced(lambda function: function)
            _undo.__enter__()
    try:
        yield
    finally:
        with _lock:
            _installed -= 1
            if _installed == 0 and _undo is not None:
                _undo.__exit__(None, None, None)


@contextmanager
def replaced(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """As :func:`install`; each function is wrapped, which tests use to count calls."""
    import ndarray_io as ours

    with ExitStack() as stack:

        def put(module: Any, name: str, function: Any) -> None:
            stack.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, function)

        for name in _ARCHIVES:
            put(np, name, wrap(getattr(ours, name)))
        # Programs ask whether what they have loaded is an instance of it.
        put(numpy.lib.npyio, "NpzFile", ours.NpzFile)
        for name in _FORMAT:
            put(numpy.lib.format, name, wrap(getattr(_format, name)))
        yield
