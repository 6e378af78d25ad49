"""Options, as the native part takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_LIMITS = ("header", "payload", "objects", "object_height", "expansion")

Compression = Literal["stored", "deflate", "zstd"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    allow_objects: bool = False
    threads: int | None = None
    limits: Mapping[str, int] | None = None
    password: bytes | None = None

    def for_pickle(self) -> Reading:
        """Returns the options for another process. A password is not sent along."""
        if self.password is not None:
            raise TypeError("what was opened with a password cannot be pickled")
        return self

    def __post_init__(self) -> None:
        for name in self.limits or ():
            if name not in _LIMITS:
                raise TypeError(f"there is no limit {name!r}: expected {', '.join(_LIMITS)}")


@dataclass(frozen=True, slots=True)
class Writing:
    """How files are written."""

    sync: bool = False
    create_new: bool = False
    threads: int | None = None
    compression: tuple[str, int | None] | None = None
    version: int | None = None


PLAIN = Reading()
"""The usual options: arrays without Python objects."""
