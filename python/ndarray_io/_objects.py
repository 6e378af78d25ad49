"""Objects of classes that are not plain data: as data, not executed."""

from __future__ import annotations

import copyreg
import functools
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
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

    __slots__ = ("callable", "args", "kwargs", "is_new", "state", "items", "pairs")

    def __init__(self) -> None:
        #: What is called: a :class:`Global`, or an object that another call makes.
        self.callable: Any = None
        #: The arguments.
        self.args: Any = ()
        #: The arguments by name.
        self.kwargs: Any = {}
        #: Whether the class's ``__new__`` would be called, without ``__init__``.
        self.is_new: bool = False
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


def construct(class_: Callable[..., Any], is_new: bool, args: Any, kwargs: Any) -> Any:
    """Makes an object of a class that the caller has listed, as :mod:`pickle` does."""
    if type(args) is not tuple or not (kwargs is None or type(kwargs) is dict):
        raise ValueError(f"the arguments for {class_!r} are not a tuple and a dict")
    if is_new and isinstance(class_, type):
        return class_.__new__(class_, *args, **(kwargs or {}))
    return class_(*args, **(kwargs or {}))


def new_object(class_: type, *args: Any) -> Any:
    """Makes an object as ``copyreg.__newobj__`` does, of a class that the caller has listed."""
    if not isinstance(class_, type):
        raise ValueError(f"expected a class, found {class_!r}")
    return class_.__new__(class_, *args)


_PLAIN = (object, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)


def plain_type(name: str) -> type | None:
    """Returns a plain type of Python, which is harmless as an argument, such as that of a ``defaultdict``."""
    return next((one for one in _PLAIN if one.__name__ == name), None)


_BASES = {
    Global("builtins", base.__name__): base
    for base in _PLAIN
}


def reconstruct(class_: type, base: Any, state: Any) -> Any:
    """Makes an object as pickles before protocol 2 do, of a class that the caller has listed."""
    known: Any = _BASES.get(base) if isinstance(base, Global) else base
    if not isinstance(class_, type) or not isinstance(known, type) or not issubclass(class_, known):
        raise ValueError(f"expected an object of a class and its base, found {class_!r} and {base!r}")
    make: Any = copyreg._reconstructor  # type: ignore[attr-defined]
    return make(class_, known, state)


def complete(
    made: Any, has_state: bool, state: Any, items: Sequence[Any], pairs: Sequence[tuple[Any, Any]]
) -> None:
    """Gives an object its items, pairs and state, as :mod:`pickle` does."""
    if items:
        if hasattr(made, "extend"):
            made.extend(items)
        else:
            for item in items:
                made.append(item)
    for key, value in pairs:
        made[key] = value
    if not has_state:
        return
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    slots: Any = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    for part in (state, slots):
        if part is not None and type(part) is not dict:
            raise ValueError(f"the state of {type(made).__name__} is not a dict")
    if state:
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(made, name, value)
