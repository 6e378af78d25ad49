"""Options, as the native part takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

_LIMITS = ("header", "payload", "objects", "object_height", "expansion")

Compression = Literal["stored", "deflate", "zstd"]


def local(path: str) -> str:
    """Returns a path, or raises an error for a URL."""
    if "://" in path:
        raise ValueError(f"{path}: expected a file of this machine: save, load, open and refs take URLs")
    return path


def _store(options: Mapping[str, str] | None) -> dict[str, str] | None:
    if options is None:
        return None
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in dict(options).items()):
        raise TypeError("storage_options is a mapping of text to text, such as {'allow_http': 'true'}")
    return dict(options)


def _check_threads(threads: int | None) -> None:
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ValueError(f"threads is a number from 1, not {threads!r}")


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read."""

    allow_objects: bool = False
    threads: int | None = None
    limits: Mapping[str, int] | None = None
    password: bytes | None = None
    allow_invalid: bool = False
    old_text: str | None = None
    listed: Mapping[str, Callable[..., Any]] | None = None
    store: Mapping[str, str] | None = None

    def for_pickle(self) -> Reading:
        """Returns the options for another process. A password is not sent along."""
        if self.password is not None or self.store is not None:
            raise TypeError("what was opened with a password or with options of a store cannot be pickled: they may be secret")
        return self

    def __post_init__(self) -> None:
        _check_threads(self.threads)
        for name, value in (self.limits or {}).items():
            if name not in _LIMITS:
                raise TypeError(f"unknown limit {name!r}: expected {', '.join(_LIMITS)}")
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"the limit {name!r} is a number from 0, not {value!r}")
        if self.limits is not None:
            object.__setattr__(self, "limits", dict(self.limits))
        if self.listed is not None:
            if not isinstance(self.listed, Mapping):
                raise TypeError("objects is a mapping of names, such as 'package.Class', to what makes such an object")
            if self.listed and not self.allow_objects:
                raise ValueError("objects= is for files of Python objects, which need allow_pickle=True")
            for name, made_by in self.listed.items():
                if not isinstance(name, str) or not callable(made_by):
                    raise TypeError("objects is a mapping of names, such as 'package.Class', to what makes such an object")
            object.__setattr__(self, "listed", dict(self.listed))
        object.__setattr__(self, "store", _store(self.store))
        if self.password is not None and not isinstance(self.password, bytes):
            raise TypeError("the password is text or bytes")


@dataclass(frozen=True, slots=True)
class Writing:
    """How files are written."""

    sync: bool = False
    create_new: bool = False
    threads: int | None = None
    compression: tuple[str, int | None] | None = None
    version: int | None = None
    store: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        _check_threads(self.threads)
        object.__setattr__(self, "store", _store(self.store))
        level = None if self.compression is None else self.compression[1]
        if level is not None and (not isinstance(level, int) or level < 0):
            raise ValueError(f"the level is a number from 0, not {level!r}")


PLAIN = Reading()
"""The usual options: arrays without Python objects."""
