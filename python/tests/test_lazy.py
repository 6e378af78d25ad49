"""Parts of arrays, compared with NumPy's indexing of the whole array."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import same

import ndarray_io as nio

CASES = int(os.environ.get("NDARRAY_IO_CASES", "5000"))


def _file(order: str) -> tuple[Any, npt.NDArray[Any]]:
    whole = np.arange(7 * 9 * 5).reshape(7, 9, 5)
    np.save(f"{order}.npy", np.asfortranarray(whole) if order == "F" else whole)
    return nio.open(f"{order}.npy"), np.load(f"{order}.npy")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "index",
    [
        0, -1, slice(None), slice(2, 8, 3), slice(None, None, -1), slice(8, 2, -2), (slice(None), 3), (3, slice(5, 1, -1)), (..., 3),
        (None, 2), (slice(2, 4), None), [1, 2, 5], (slice(None), [3, 8, 8, 0]), ([[]],), (slice(None), (0, 1)), range(2), (2, [1, 1]), (np.array([[0, 1], [2, 3]]),),
        np.arange(7) % 3 == 0, (slice(1, 9, 2), np.arange(9) % 4 == 1), slice(5, 5), (slice(5, 5), 3), np.array([], int), (), ...,
        ([6, 0, 3], slice(1, 5)), (0, slice(None), [1, 2]), ([1, 2], slice(None), 0), (0, ..., [1, 1, 4]), ([[0, 1], [1, 0]], slice(1, 3), 2), (3, 4), (3, 4, 2), (0, ..., 0), (..., [0, 4]), ([-1, -7],), np.zeros(7, bool), (np.uint8(3), np.int64(-2)),
    ],
    ids=repr,
)  # fmt: skip
def test_part_equals_numpys(order: str, index: Any) -> None:
    lazy, whole = _file(order)
    part, numpys = lazy[index], whole[index]
    assert type(part) is type(numpys)
    assert np.shape(part) == np.shape(numpys)
    assert np.array_equal(part, numpys)


@pytest.mark.parametrize("index", [7, -8, (0, 9), [7], [-8], (0, 0, 0, 0), (..., ...), np.zeros(6, bool), "a", 1.5, [0.5]], ids=repr)
def test_bad_index_is_an_index_error_as_in_numpy(index: Any) -> None:
    lazy, whole = _file("C")
    with pytest.raises((IndexError, TypeError)):
        whole[index]
    with pytest.raises((IndexError, TypeError)):
        lazy[index]


def test_random_parts_equal_numpys() -> None:
    """Compares random indices of random arrays; an index that NumPy refuses must be refused."""
    random = np.random.default_rng(CASES)

    def axis_index(length: int) -> Any:
        kind = random.integers(0, 6)
        if kind == 0:
            return int(random.integers(-length - 1, length + 1))
        if kind == 1 and length:
            return [int(one) for one in random.integers(-length, length, random.integers(0, 6))]
        if kind == 2:
            return random.random(length) < 0.5
        ends = [None if random.random() < 0.3 else int(random.integers(-length - 3, length + 4)) for _ in range(2)]
        step = int(random.choice([-3, -2, -1, 1, 1, 1, 2, 5]))
        return slice(ends[0], ends[1], step)

    refused = lists = 0
    for number in range(CASES):
        if number % 50 == 0:
            shape = tuple(int(one) for one in random.integers(0, 7, random.integers(1, 5)))
            dtype = random.choice(np.array(["<i2", ">f8", "S3", "<c8", "?"]))
            whole = random.integers(0, 2, shape).astype(dtype)
            order = random.choice(np.array(["C", "F"]))
            np.save("x.npy", np.asfortranarray(whole) if order == "F" else whole)
            lazy = nio.open("x.npy")
        index: list[Any] = []
        has_list = False
        for length in shape[: random.integers(0, len(shape) + 1)]:
            one = axis_index(length)
            if isinstance(one, (list, np.ndarray)) and has_list:
                one = slice(None, None, 10**30)
            has_list |= isinstance(one, (list, np.ndarray))
            index.append(one)
        if random.random() < 0.2:
            index.insert(int(random.integers(0, len(index) + 1)), Ellipsis)
        lists += has_list
        try:
            numpys = whole[tuple(index)]
        except (IndexError, DeprecationWarning):  # a warning where nothing is chosen, in NumPy 2.0
            refused += 1
            with pytest.raises(IndexError):
                lazy[tuple(index)]
            continue
        part = lazy[tuple(index)]
        assert np.shape(part) == np.shape(numpys), (shape, index)
        assert part.dtype == numpys.dtype
        assert part.tobytes() == np.asarray(numpys).tobytes(), (shape, index)
    assert refused > CASES // 50 and lists > CASES // 10


def test_lazy_array_is_an_array_to_numpy() -> None:
    lazy, whole = _file("C")
    assert (lazy.shape, lazy.dtype, lazy.ndim, lazy.size, lazy.nbytes) == (
        whole.shape, whole.dtype, whole.ndim, whole.size, whole.nbytes,
    )  # fmt: skip
    assert np.array_equal(np.asarray(lazy), whole)
    assert np.asarray(lazy, dtype="f4").dtype == np.dtype("f4")
    assert np.sum(lazy) == whole.sum()
    assert len(lazy) == 7
    assert all(np.array_equal(one, two) for one, two in zip(lazy, whole, strict=True))
    blocks = list(lazy.blocks(memory=2 * 9 * 5 * 8))
    assert [len(block) for block in blocks] == [2, 2, 2, 1]
    assert np.array_equal(np.concatenate(blocks), whole)
    with pytest.raises(ValueError, match="mmap"):
        np.array(lazy, copy=False)


def test_lazy_array_can_be_pickled_by_its_path() -> None:
    lazy, whole = _file("F")
    assert np.array_equal(pickle.loads(pickle.dumps(lazy))[...], whole)
    with pytest.raises(TypeError):
        pickle.dumps(nio.open(Path("F.npy").read_bytes()))


def test_replaced_file_stays_open_as_it_was() -> None:
    np.save("x.npy", np.arange(3))
    lazy = nio.open("x.npy")
    assert not lazy.refresh()
    nio.save("x.npy", np.arange(5))
    assert lazy.shape == (3,) and np.array_equal(lazy[...], [0, 1, 2])  # the file that was opened


def test_file_with_another_array_is_not_taken_for_a_longer_one() -> None:
    np.save("x.npy", np.arange(3))
    lazy = nio.open("x.npy")
    with open("x.npy", "r+b") as file:  # in place
        np.save(file, np.arange(100.0))
    with pytest.raises(nio.FormatError, match="another array"):
        lazy.refresh()


def test_dtype_of_a_loaded_array_is_its_own() -> None:
    np.save("x.npy", np.zeros(2, [("a", "i4"), ("b", "f8")]))
    nio.load("x.npy").dtype.names = ("c", "d")
    assert nio.load("x.npy").dtype.names == ("a", "b")


def test_options_are_kept_by_pickles() -> None:
    np.savez("x.npz", a=np.array([None, 1]))
    archive = nio.load("x.npz", allow_pickle=True)
    assert pickle.loads(pickle.dumps(archive))["a"].tolist() == [None, 1]


def test_parts_of_members_and_streams_are_read() -> None:
    whole = np.arange(600_000).reshape(3000, 200)
    nio.savez_compressed("x.npz", whole=whole)
    np.savez("stored.npz", whole=whole)
    for name in ("x.npz", "stored.npz"):
        part = nio.load(name).open("whole")
        assert part.shape == whole.shape
        assert np.array_equal(part[1000:2000:7, 5], whole[1000:2000:7, 5])
    with open("stored.npz", "rb") as file:
        assert np.array_equal(nio.open(file).open("whole")[5:7], whole[5:7])
    assert same(np.asarray(nio.load("stored.npz").mmap("whole")), whole)
    with pytest.raises(ValueError, match="compressed"):
        nio.load("x.npz").mmap("whole")


def test_folder_of_dask_is_one_array() -> None:
    os.mkdir("stack")
    with open("stack/info", "wb") as file:
        pickle.dump({"chunks": ((2, 3), (4,)), "dtype": np.dtype("<f8"), "axis": 0}, file)
    whole = np.arange(20.0).reshape(5, 4)
    np.save("stack/0.npy", whole[:2])
    np.save("stack/1.npy", whole[2:])
    assert np.array_equal(nio.open("stack")[1:4, ::2], whole[1:4, ::2])
    assert np.array_equal(nio.load("stack"), whole)


def test_invalid_elements_are_refused_or_taken_as_numpy_takes_them() -> None:
    for array in (np.array([0, 1, 2], "u1").view("?"), np.array([0x41, 0xD800, 0x110000], "<u4").view("<U1")):
        np.save("x.npy", array)
        np.savez_compressed("x.npz", x=array)
        for call in (
            lambda: nio.load("x.npy"),
            lambda: nio.load("x.npz")["x"],
            lambda: nio.open("x.npy")[1:],
            lambda: nio.open("x.npy")[[2, 0]],
            lambda: nio.load(io.BytesIO(Path("x.npy").read_bytes())),
        ):
            with pytest.raises(nio.FormatError, match="expected a"):
                call()
        wanted = np.load("x.npy").tobytes()
        assert nio.load("x.npy", verify=False).tobytes() == wanted
        assert nio.load("x.npz", verify=False)["x"].tobytes() == wanted
        assert nio.open("x.npy", verify=False)[[2, 0]].tobytes() == np.load("x.npy")[[2, 0]].tobytes()
        assert nio.load(io.BytesIO(Path("x.npy").read_bytes()), verify=False).tobytes() == wanted


def test_checksum_is_verified_in_any_case() -> None:
    np.savez("x.npz", x=np.arange(10.0))
    data = bytearray(Path("x.npz").read_bytes())
    data[data.index(np.float64(5).tobytes())] ^= 1
    Path("x.npz").write_bytes(data)
    with pytest.raises(nio.FormatError):
        nio.load("x.npz", verify=False)["x"]
