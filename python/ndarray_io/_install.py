"""Puts this package in NumPy's place, for libraries that call NumPy's functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def install() -> Iterator[None]:
    """Puts ``load``, ``save``, ``savez`` and ``savez_compressed`` in NumPy's place, for as long as the context lasts.

    All threads see it.
    """
    import ndarray_io as ours

    names = ("load", "save", "savez", "savez_compressed")
    old: dict[str, Any] = {name: getattr(np, name) for name in names}
    try:
        for name in names:
            setattr(np, name, getattr(ours, name))
        yield
    finally:
        for name, function in old.items():
            setattr(np, name, function)
