"""Rows that are appended: the files equal those that NumPy saves for the whole array."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import ARRAYS, same

import ndarray_io as nio


@pytest.mark.parametrize("array", [a for _, a in ARRAYS if a.ndim], ids=[name for name, a in ARRAYS if a.ndim])
def test_appended_rows_make_numpys_file(array: npt.NDArray[Any]) -> None:
    whole = np.ascontiguousarray(array)
    np.save("numpy.npy", whole)
    for _ in range(2):
        half = len(whole) // 2
        with nio.append("x.npy", dtype=whole.dtype, row=whole.shape[1:]) as log:
            log.push(array[:half])
        with nio.append("x.npy") as log:
            for row in array[half:]:
                log.push(row)
        assert Path("x.npy").read_bytes() == Path("numpy.npy").read_bytes()
        Path("x.npy").unlink()


def test_columns_are_appended_in_fortran_order() -> None:
    whole = np.asfortranarray(np.arange(12).reshape(3, 4))
    np.save("x.npy", whole[:, :2])
    with nio.append("x.npy") as log:
        log.push(whole[:, 2])
        log.push(whole[:, 3:])
    assert same(np.load("x.npy"), whole)


def test_exception_removes_the_rows_since_the_commit() -> None:
    with pytest.raises(ZeroDivisionError), nio.append("x.npy", dtype="f8", row=2) as log:
        log.push([1, 2])
        log.commit()
        assert np.load("x.npy").tolist() == [[1, 2]]
        log.push([3, 4])
        raise ZeroDivisionError
    assert np.load("x.npy").tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="finished"):
        log.push([5, 6])


def test_rows_of_another_dtype_are_cast_by_same_kind() -> None:
    with nio.append("x.npy", dtype="<f4", row=()) as log:
        log.push(1)
        log.push([2.5, 3.5])
        with pytest.raises(TypeError, match="same_kind"):
            log.push(1j)
        with pytest.raises(ValueError, match="shape"):
            log.push([[1, 2]])
    assert same(np.load("x.npy"), np.array([1, 2.5, 3.5], "<f4"))
    with pytest.raises(ValueError, match="<f4"):
        nio.append("x.npy", dtype="f8", row=())
    with pytest.raises(TypeError, match="row"):
        nio.append("y.npy", dtype="f8")


def test_file_is_locked_until_the_end() -> None:
    with nio.append("x.npy", dtype="i4", row=()) as log:
        log.push([1])
        with pytest.raises(nio.ConflictError, match="lock"):
            nio.append("x.npy")
        with pytest.raises(nio.ConflictError):
            nio.save("x.npy", np.arange(3))
    nio.save("x.npy", np.arange(3))


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_rows_of_a_killed_program_are_recovered() -> None:
    code = (
        "import os, signal, numpy as np, ndarray_io as nio\n"
        "log = nio.append('x.npy', dtype='i8', row=1000)\n"
        "log.push(np.zeros((10, 1000), int)); log.commit()\n"
        "log.push(np.ones((300, 1000), int))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert np.load("x.npy").shape == (10, 1000)
    with pytest.raises(nio.ConflictError, match="300"):
        nio.append("x.npy")
    with nio.append("x.npy", uncommitted="recover"):
        pass
    recovered = np.load("x.npy")
    assert recovered.shape == (310, 1000)
    assert recovered[:10].max() == 0 and recovered[10:].min() == 1
    assert os.listdir() == ["x.npy"]


def test_reader_sees_rows_after_refresh() -> None:
    with nio.append("x.npy", dtype="i8", row=()) as log:
        log.push([1, 2])
        log.commit()
        lazy = nio.open("x.npy")
        log.push([3])
        assert lazy.shape == (2,) and not lazy.refresh()
        log.commit()
        assert lazy.refresh() and lazy[:].tolist() == [1, 2, 3]


def test_converted_file_equals_numpys() -> None:
    whole = np.arange(12.0).reshape(3, 4)
    np.save("x.npy", whole)
    nio.convert("x.npy", "y.npy", dtype=">f4", order="F")
    np.save("numpy.npy", np.asfortranarray(whole.astype(">f4")))
    assert Path("y.npy").read_bytes() == Path("numpy.npy").read_bytes()
    with pytest.raises(nio.MismatchError):
        nio.convert("x.npy", "z.npy", dtype="i4")
    assert not Path("z.npy").exists()
    nio.convert("x.npy", "z.npy", dtype="i4", casting="unsafe")
    assert same(np.load("z.npy"), whole.astype("i4"))
    nio.convert("x.npy", "x.ra")
    nio.convert("x.ra", "back.npy")
    assert np.array_equal(np.load("back.npy"), whole)


def test_files_are_loaded_and_saved_from_tasks() -> None:
    async def both() -> Any:
        await asyncio.gather(*(nio.asave(f"{number}.npy", np.full(3, number)) for number in range(5)))
        return await asyncio.gather(*(nio.aload(f"{number}.npy") for number in range(5)))

    assert [int(array.sum()) for array in asyncio.run(both())] == [0, 3, 6, 9, 12]
