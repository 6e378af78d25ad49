"""Arrays of every dtype that NumPy can save without pickles, and a folder for each test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

SCALARS = [
    "?", "i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">i8", "<f2", "<f4", ">f4", "<f8", ">f8", "g", "<c8", ">c16", "G",
    "S5", "<U3", ">U3", "V7", "<M8[ns]", ">M8[D]", "<m8[us]", "<m8[25s]",
]  # fmt: skip


def _elements(dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    if dtype.kind == "b":
        return np.arange(count) % 3 == 0
    if dtype.kind in "iufc":
        return (np.arange(count) - (0 if dtype.kind == "u" else count // 2)).astype(dtype)
    if dtype.kind in "Mm":
        return np.arange(count).astype(dtype)
    if dtype.kind in "SU":
        suffix = "é" if dtype.kind == "U" else ""
        return np.array([f"{number}{suffix}"[: number % 4] for number in range(count)]).astype(dtype)
    return np.frombuffer(bytes(range(256)) * (1 + count * dtype.itemsize // 256), "u1")[: count * dtype.itemsize].view(dtype)


def arrays() -> list[tuple[str, npt.NDArray[Any]]]:
    """Returns arrays of many dtypes, shapes and strides, with names."""
    made: list[tuple[str, npt.NDArray[Any]]] = []
    for code in SCALARS:
        dtype = np.dtype(code)
        made.append((f"{code} 2-D", _elements(dtype, 12).reshape(3, 4)))
        made.append((f"{code} Fortran", np.asfortranarray(_elements(dtype, 12).reshape(3, 4))))
        made.append((f"{code} strided", _elements(dtype, 60).reshape(3, 4, 5)[::-1, ::2, 1:4]))
        made.append((f"{code} empty", np.zeros((0, 3), dtype)))
        made.append((f"{code} scalar", _elements(dtype, 1).reshape(())))
        made.append((f"{code} broadcast", np.broadcast_to(_elements(dtype, 3), (4, 3))))
    record = np.dtype([("a", "<i4"), ("b", ">f8"), ("é", "<U2"), ("sub", "<f4", (2, 3)), ("inner", [("x", "u1")])])
    made.append(("records", np.array([(number, number / 3, "éü"[: number % 3], number, (number,)) for number in range(5)], record)))
    made.append(("aligned records", np.zeros(4, np.dtype([("x", "u1"), ("y", "f8")], align=True))))
    made.append(("records with gaps", np.zeros(4, np.dtype({"names": ["x", "y"], "formats": ["u1", "<f8"], "offsets": [3, 16], "itemsize": 40}))))
    made.append(("a column of records", np.zeros(4, [("x", "u1"), ("y", "f8")])["y"]))
    return made


ARRAYS = arrays()


@pytest.fixture(params=[array for _, array in ARRAYS], ids=[name for name, _ in ARRAYS])
def array(request: pytest.FixtureRequest) -> npt.NDArray[Any]:
    made: npt.NDArray[Any] = request.param
    return made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(one: Any, two: Any) -> bool:
    """Whether two arrays are the same in dtype, shape, order and bytes; of records, the bytes between fields may differ."""
    return (
        type(one) is type(two)
        and one.dtype == two.dtype
        and one.shape == two.shape
        and one.flags.f_contiguous == two.flags.f_contiguous
        and (one.tobytes() == two.tobytes() if one.dtype.names is None else repr(one.tolist()) == repr(two.tolist()))
    )
