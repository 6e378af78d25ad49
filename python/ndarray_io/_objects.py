"""Objects of classes that are not plain data: as data, not executed."""

from __future__ import annotations

import functools
import zoneinfo
from typing import Any


@functools.cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def zone(name: str) -> zoneinfo.ZoneInfo | None:
    """Returns a time zone; ``None`` if this machine has none of the name, which comes from a file."""
    return zoneinfo.ZoneInfo(name) if name in _zones() else None


class Global:
    """A class or function that a pickle names. It has not been imported."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __repr__(self) -> str:
        return f"Global({str(self)!r})"

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Global):
            return NotImplemented
        return (self.module, self.name) == (other.module, other.name)

    def __hash__(self) -> int:
        return hash((self.module, self.name))


class Call:
    """An object of a class that is not plain data: what :mod:`pickle` would call to make it. Nothing of it has been called."""

    __slots__ = ("callable", "args", "kwargs", "state", "items", "pairs")

    def __init__(self) -> None:
        #: What is called: a :class:`Global`, or an object that another call makes.
        self.callable: Any = None
        #: The arguments.
        self.args: Any = ()
        #: The arguments by name.
        self.kwargs: Any = {}
        #: The state that the object is given afterwards: its attributes.
        self.state: Any = None
        #: What is appended to it, as to a list.
        self.items: list[Any] = []
        #: What is set in it, as in a dict: keys and values.
        self.pairs: list[tuple[Any, Any]] = []

    @property
    def name(self) -> str:
        """The name of what is called."""
        return str(self.callable)

    def __repr__(self) -> str:
        return f"<Call of {self.name}>"
