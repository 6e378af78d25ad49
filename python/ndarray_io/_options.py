"""Options, as the native part takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Compression = Literal["stored", "deflate", "zstd"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    allow_objects: bool = False
    threads: int | None = None
    limits: Mapping[str, int] | None = None
    password: bytes | None = None


@dataclass(frozen=True, slots=True)
class Writing:
    """How files are written."""

    sync: bool = False
    create_new: bool = False
    threads: int | None = None
    compression: tuple[str, int | None] | None = None


PLAIN = Reading()
"""The usual options: arrays without Python objects."""
