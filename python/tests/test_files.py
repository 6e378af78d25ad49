"""Files of one array, compared with NumPy: the bytes that are written, the arrays that are read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import same

import ndarray_io as nio


def test_saved_file_equals_numpys(array: npt.NDArray[Any]) -> None:
    np.save("numpy.npy", array)
    nio.save("ours.npy", array)
    assert Path("ours.npy").read_bytes() == Path("numpy.npy").read_bytes()


def test_loaded_array_equals_numpys(array: npt.NDArray[Any]) -> None:
    np.save("x.npy", array)
    assert same(nio.load("x.npy"), np.load("x.npy"))


def test_file_object_is_read_up_to_the_next_array(array: npt.NDArray[Any]) -> None:
    file, numpys = io.BytesIO(), io.BytesIO()
    for save, into in ((nio.save, file), (np.save, numpys)):
        save(into, array)  # type: ignore[operator]
        save(into, np.arange(3))  # type: ignore[operator]
    assert file.getvalue() == numpys.getvalue()
    file.seek(0)
    numpys.seek(0)
    assert same(nio.load(file), np.load(numpys))
    assert file.tell() == numpys.tell()
    assert same(nio.load(file), np.arange(3))
    with pytest.raises(EOFError):
        nio.load(file)


def test_bytes_are_loaded(array: npt.NDArray[Any]) -> None:
    file = io.BytesIO()
    np.save(file, array)
    assert same(nio.load(file.getvalue()), np.load(io.BytesIO(file.getvalue())))
    assert same(nio.load(memoryview(file.getvalue())), np.load(io.BytesIO(file.getvalue())))


def test_map_equals_numpys() -> None:
    np.save("x.npy", np.asfortranarray(np.arange(12.0).reshape(3, 4)))
    mapped, numpys = nio.load("x.npy", mmap_mode="r"), np.load("x.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    assert mapped.offset == numpys.offset and mapped.mode == numpys.mode
    assert same(mapped, numpys)
    nio.load("x.npy", mmap_mode="r+")[1, 2] = -1
    assert np.load("x.npy")[1, 2] == -1


def test_bytearrays_and_archives_at_a_position_are_read() -> None:
    class Arrays(io.BytesIO):
        def read(self, count: int | None = -1, /) -> bytes:
            return bytearray(super().read(count))  # type: ignore[return-value]

    file = Arrays()
    file.write(b"before")
    np.savez(file, a=np.arange(5))
    file.seek(6)
    assert nio.load(file)["a"].tolist() == np.arange(5).tolist()
    alone = io.BytesIO()
    np.savez(alone, a=np.arange(5))
    moved = Arrays(b"before" + alone.getvalue())
    moved.seek(6)
    assert nio.load(moved)["a"].tolist() == np.arange(5).tolist()
    plain = Arrays()
    np.save(plain, np.arange(5))
    plain.seek(0)
    assert same(nio.load(plain), np.arange(5))


def test_text_of_no_width_is_read() -> None:
    for code in ("S0", "U0", "V0"):
        array = np.zeros(3, [("a", code), ("b", "i4")])["a"]
        np.save("x.npy", array)
        assert nio.load("x.npy").dtype == np.load("x.npy").dtype
        assert nio.load("x.npy").tolist() == np.load("x.npy").tolist()


def test_options_are_checked() -> None:
    np.save("x.npy", np.arange(3))
    for wrong in ({"threads": 0}, {"threads": 1.5}, {"limits": {"header": -1}}):
        with pytest.raises(ValueError, match="number from"):
            nio.load("x.npy", **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="named"):
        nio.save(io.BytesIO(), np.arange(3), create_new=True)
    with pytest.raises(nio.FormatError, match="RA"):
        nio.read_ra("x.npy")


def test_overlapping_installs_end_with_the_last() -> None:
    numpys = np.load
    one, two = nio.install(), nio.install()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert np.load is nio.load
    two.__exit__(None, None, None)
    assert np.load is numpys


def test_stream_without_seek_is_read() -> None:
    class OnlyRead:
        def __init__(self, inner: io.BytesIO) -> None:
            self.inner = inner

        def read(self, count: int) -> bytes:
            return self.inner.read(min(count, 7))  # as a socket: fewer bytes than asked for

    file = io.BytesIO()
    np.save(file, np.arange(100))
    file.seek(0)
    assert same(nio.load(OnlyRead(file)), np.arange(100))


def test_name_gets_npy_as_in_numpy() -> None:
    nio.save("x", np.arange(2))
    nio.save(Path("y"), np.arange(2))
    assert sorted(path.name for path in Path().iterdir()) == ["x.npy", "y.npy"]


def test_large_header_is_version_2_and_warns() -> None:
    dtype = np.dtype([("f" * 100 + str(number), "u1") for number in range(1000)])
    with pytest.warns(UserWarning, match="2.0"):
        nio.save("x.npy", np.zeros(1, dtype))
    with pytest.warns(UserWarning, match="2.0"):
        np.save("numpy.npy", np.zeros(1, dtype))
    assert Path("x.npy").read_bytes() == Path("numpy.npy").read_bytes()


def test_ra_round_trip_has_the_bytes_of_its_format() -> None:
    nio.write_ra("x.ra", np.arange(6, dtype="<f4").reshape(2, 3))
    data = Path("x.ra").read_bytes()
    # From the format's page: magic, flags, eltype (3: float), elbyte, size, ndims, dims; the first axis changes fastest.
    words = np.frombuffer(data[: 8 * 8], "<u8").tolist()
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    assert data[:8] == b"rawarray"
    assert words[1:] == [0, 3, 4, 24, 2, 2, 3]
    assert data[64:] == array.tobytes(order="F")
    assert same(nio.read_ra("x.ra"), np.asfortranarray(array))


def test_existing_file_stays_if_saving_fails() -> None:
    nio.save("x.npy", np.arange(3))
    with pytest.raises(ValueError):
        nio.save("x.npy", np.array([object()]), allow_pickle=False)
    with pytest.raises(nio.ConflictError, match="already exists"):
        nio.save("x.npy", np.arange(4), create_new=True)
    assert same(np.load("x.npy"), np.arange(3))


def test_joined_file_equals_numpys() -> None:
    for name, count in (("a", 2), ("b", 0), ("c", 5)):
        np.save(f"{name}.npy", np.arange(count * 3.0).reshape(count, 3))
    nio.concatenate(["a.npy", "b.npy", "c.npy"], "all.npy")
    assert same(np.load("all.npy"), np.concatenate([np.load(f"{name}.npy") for name in "abc"]))
    nio.concatenate(["a.npy", "a.npy"], "two.npy", 1, new_axis=True)
    assert same(np.load("two.npy"), np.stack([np.load("a.npy")] * 2, axis=1))


def test_limits_and_max_header_size_are_obeyed() -> None:
    np.save("x.npy", np.zeros(1000))
    with pytest.raises(nio.LimitError, match="8000"):
        nio.load("x.npy", limits={"payload": 7999})
    with pytest.raises(ValueError):
        nio.load("x.npy", max_header_size=10)
    with pytest.raises(TypeError, match="unknown limit 'size'"):
        nio.load("x.npy", limits={"size": 1})
    assert nio.load("x.npy", limits={"payload": 8000}).shape == (1000,)


def test_installed_functions_are_used_and_taken_back() -> None:
    numpys = np.load, np.save
    with nio.install():
        assert np.load is nio.load
        np.save("x.npy", np.arange(3))
        assert isinstance(np.lib.format.open_memmap("x.npy"), np.memmap)
    assert (np.load, np.save) == numpys
    assert same(np.load("x.npy"), np.arange(3))
