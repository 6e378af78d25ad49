"""Archives as mappings, and changes of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import LazyArray, MapMode, mapped, reopened
from ._dtypes import make
from ._errors import MemberError
from ._options import PLAIN, Reading

if TYPE_CHECKING:
    from ._options import Compression


class NpzFile(Mapping[str, Any]):
    """An archive: a mapping of names to arrays, which are read when they are asked for.

    Threads can read it at the same time, and if it was opened by its path, processes that were forked can go on using it. Like NumPy's class of this
    name, it is a context manager and has ``files``, ``f`` and ``close``.
    """

    def __init__(self, native: _native.Archive, source: str | None, reading: Reading = PLAIN) -> None:
        self._reading = reading
        self._native: _native.Archive | None = native
        self._source = source
        self._file_names = native.file_names()
        #: The names of the members, without ``.npy``.
        self.files: list[str] = [name.removesuffix(".npy") for name in self._file_names]
        # The last of several members with the same name counts, as in Python's `zipfile`.
        self._indices = {name: index for index, name in enumerate(self._file_names)}
        for index, name in enumerate(self.files):
            if name not in self._indices or self._file_names[self._indices[name]] != name:
                self._indices[name] = index

    @property
    def f(self) -> _Attributes:
        """The arrays as attributes."""
        return _Attributes(self)

    @property
    def fid(self) -> _File | None:
        """For programs that look at the file of NumPy's class: its name, and a way to close it. ``None`` if the caller has opened the file."""
        return None if self._source is None else _File(self)

    def _open(self) -> _native.Archive:
        if self._native is None:
            raise ValueError("I/O operation on a closed archive")
        return self._native

    def _index(self, name: str) -> int:
        index = self._indices.get(name)
        if index is None:
            raise MemberError(f"{name} is not a file in the archive")
        return index

    def __getitem__(self, name: str) -> Any:
        native = self._open()
        index = self._index(name)
        if not native.holds_array(index):
            return native.raw(index)
        return native.read(index, make)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, name: object) -> bool:
        return name in self._indices

    def __repr__(self) -> str:
        source = self._source or "object"
        names = ", ".join(self.files[:5]) + ("..." if len(self.files) > 5 else "")
        return f"NpzFile {source!r} with keys: {names}"

    def open(self, name: str) -> LazyArray:
        """Opens an array for reading parts of it."""
        native, index = self._open(), self._index(name)
        return LazyArray(native.open(index), None, None)

    def mmap(self, name: str, mode: MapMode = "r") -> np.memmap[Any, Any]:
        """Maps an array, which must be stored without compression in a file of this machine. It can be changed only in memory (``mode="c"``)."""
        native, index = self._open(), self._index(name)
        if self._source is None:
            raise ValueError("only an array in a file of this machine can be mapped")
        array = native.open(index)
        return mapped(self._source, mode, array.shape, array.descr, self._file_names[index])

    def verify(self) -> list[tuple[str, str]]:
        """Checks everything in the archive; returns what was noticed that is not an error, with the names of the members."""
        return [(self._file_names[index], remark) for index, remark in self._open().verify()]

    def update(
        self,
        *,
        compression: Compression = "stored",
        level: int | None = None,
        sync: bool = False,
    ) -> Update:
        """Returns a context manager that changes the archive: its changes are made together when it ends without an error."""
        if self._source is None or "://" in self._source:
            raise ValueError("only an archive in a file of this machine can be changed")
        return Update(self._source, compression, level, sync)

    def close(self) -> None:
        """Closes the archive."""
        self._native = None

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._source is None:
            raise TypeError("only an archive that was opened by its path can be pickled")
        return reopened, (self._source, self._reading.for_pickle())


class _File:
    """The file of an archive, as far as programs use that of NumPy's class."""

    def __init__(self, archive: NpzFile) -> None:
        self._archive = archive
        self.name = archive._source

    def close(self) -> None:
        """Closes the archive."""
        self._archive.close()


class _Attributes:
    """The arrays of an archive as attributes."""

    def __init__(self, archive: NpzFile) -> None:
        self._archive = archive

    def __getattr__(self, name: str) -> Any:
        try:
            return self._archive[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return list(self._archive)


class Update:
    """Changes of an archive, which are made together when the context ends without an error: members are set, replaced and deleted as in a dict.

    An array has the values in the archive that it has when the context ends.
    """

    def __init__(self, path: str | os.PathLike[str], compression: Compression, level: int | None, sync: bool) -> None:
        self._path = os.fspath(path)
        self._options = (compression, level, sync)
        self._changes: dict[str, npt.NDArray[Any] | None] = {}

    def __setitem__(self, name: str, array: npt.ArrayLike) -> None:
        self._changes[name.removesuffix(".npy")] = np.asanyarray(array)

    def __delitem__(self, name: str) -> None:
        name = name.removesuffix(".npy")
        if self._changes.get(name) is not None and name not in self._old():
            del self._changes[name]  # it was set before, and has never been in the file
        else:
            self._changes[name] = None

    def _old(self) -> set[str]:
        archive = _native.open(self._path, PLAIN)
        names = archive.file_names() if isinstance(archive, _native.Archive) else []
        return {name.removesuffix(".npy") for name in names}

    def __enter__(self) -> Update:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from ._save import apply_changes

        changes, self._changes = self._changes, {}
        if kind is None:
            apply_changes(self._path, changes, *self._options)
