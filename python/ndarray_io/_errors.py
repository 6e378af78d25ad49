"""Exceptions: subclasses of what NumPy raises, with what to do about them."""

from __future__ import annotations

import os
from typing import Any


class _Details:
    """What the library knows of an error beside its text."""

    #: The kind of error, as the variants of ``ErrorKind`` in the Rust library.
    kind: str = ""
    #: What to do about it; ``None`` if there is nothing to say.
    help: str | None = None
    #: The member of an archive that the error is about.
    member: str | None = None

    def __str__(self) -> str:
        text = str(self.args[0]) if getattr(self, "args", ()) else ""  # type: ignore[attr-defined]
        return f"{text}\n{self.help}" if self.help else text


class FormatError(_Details, ValueError):
    """The file is malformed, truncated or damaged."""


class MismatchError(_Details, ValueError):
    """The file has something else than what was asked for."""


class LimitError(_Details, ValueError):
    """The file asks for more than the limits allow."""


class UsageError(_Details, ValueError):
    """The call cannot be done."""


class MemberError(_Details, KeyError):
    """The archive has no such member."""


class ConflictError(_Details, OSError):
    """Another process changes the file, or it already exists."""


class FileError(_Details, OSError):
    """Reading or writing failed."""


class ExistsError(ConflictError, FileExistsError):
    """The file exists already."""


class NotFoundError(FileError, FileNotFoundError):
    """There is no such object in the store."""


class Cancelled(_Details, OSError):
    """The work was cancelled."""


_CLASSES: dict[str, type[Any]] = {
    "key": MemberError,
    "cancelled": Cancelled,
    "limit": LimitError,
    "conflict": ConflictError,
    "exists": ExistsError,
    "not_found": NotFoundError,
    "io": FileError,
    "format": FormatError,
    "mismatch": MismatchError,
    "usage": UsageError,
}


def make(
    name: str,
    kind: str,
    text: str,
    help: str | None,
    errno: int | None,
    path: os.PathLike[str] | None,
    member: str | None,
) -> BaseException:
    """Makes the exception for an error of the native part."""
    if errno is not None:
        # The class follows from the number: FileNotFoundError and so on.
        return OSError(errno, os.strerror(errno), None if path is None else os.fspath(path))
    error = _CLASSES[name](text)
    error.kind, error.help, error.member = kind, help, member
    return error  # type: ignore[no-any-return]
