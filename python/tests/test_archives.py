"""Archives, compared with NumPy and with Python's `zipfile`."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import ARRAYS, same

import ndarray_io as nio

NAMED = {f"{number}_{name.replace(' ', '_')}": array for number, (name, array) in enumerate(ARRAYS)}


@pytest.mark.parametrize("save", [nio.savez, nio.savez_compressed])
def test_saved_archive_is_read_by_numpy(save: Any) -> None:
    save("x.npz", **NAMED)
    assert zipfile.ZipFile("x.npz").testzip() is None
    with np.load("x.npz") as archive:
        assert archive.files == list(NAMED)
        for name, array in NAMED.items():
            np.save("one.npy", array)
            assert same(archive[name], np.load("one.npy")), name


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archive_of_numpy_is_read(save: Any) -> None:
    save("x.npz", **NAMED)
    with np.load("x.npz") as numpys, nio.load("x.npz") as ours:
        assert ours.files == numpys.files
        assert all(same(ours[name], numpys[name]) for name in NAMED)
        assert list(ours) == list(numpys) and len(ours) == len(numpys)
    with pytest.raises(ValueError, match="closed"):
        ours["a"]


def test_every_keyword_is_a_member() -> None:
    arrays: dict[str, Any] = {"file": np.arange(2), "compression": np.arange(3), "threads": np.arange(4), "self": np.arange(5)}
    nio.savez("x.npz", np.zeros(1), **arrays)
    with np.load("x.npz") as archive:
        assert sorted(archive.files) == sorted([*arrays, "arr_0"])
    with pytest.raises(ValueError, match="arr_0"):
        nio.savez("y.npz", np.zeros(1), arr_0=np.zeros(1))
    assert not Path("y.npz").exists()


def test_equal_arrays_make_equal_bytes() -> None:
    big = np.arange(1_000_000) % 1000
    for threads in (1, 4):
        nio.write_npz(f"{threads}.npz", {"big": big}, compression="deflate", threads=threads)
    assert Path("1.npz").read_bytes() == Path("4.npz").read_bytes()
    file = io.BytesIO()
    nio.write_npz(file, {"big": big}, compression="deflate", threads=4)
    assert np.array_equal(np.load(io.BytesIO(file.getvalue()))["big"], big)
    assert np.array_equal(nio.load(io.BytesIO(file.getvalue()))["big"], big)


def test_levels_are_checked() -> None:
    for compression, level in (("deflate", 10), ("zstd", 0), ("stored", 1), ("lzma", None)):
        with pytest.raises(ValueError):
            nio.write_npz("x.npz", {"a": np.zeros(1)}, compression=compression, level=level)  # type: ignore[arg-type]
        assert not Path("x.npz").exists()
    sizes = []
    for level in (1, 9):
        nio.write_npz("x.npz", {"a": np.arange(100_000) % 977}, compression="deflate", level=level)
        sizes.append(Path("x.npz").stat().st_size)
    assert sizes[0] > sizes[1]
    nio.write_npz("z.npz", {"a": np.arange(100_000)}, compression="zstd")
    assert zipfile.ZipFile("z.npz").infolist()[0].compress_type == 93
    assert np.array_equal(nio.load("z.npz")["a"], np.arange(100_000))


def test_member_that_is_no_array_is_bytes_as_in_numpy() -> None:
    np.savez("x.npz", a=np.arange(3))
    with zipfile.ZipFile("x.npz", "a") as archive:
        archive.writestr("note.txt", "a note")
    numpys, ours = np.load("x.npz"), nio.load("x.npz")
    assert ours.files == numpys.files == ["a", "note.txt"]
    assert ours["note.txt"] == numpys["note.txt"] == b"a note"
    assert same(ours.f.a, numpys.f.a)
    assert "a" in ours and "a.npy" in ours and "b" not in ours
    numpys.close()
    with pytest.raises(KeyError, match="b is not a file in the archive"):
        ours["b"]
    with pytest.raises(AttributeError):
        ours.f.b


def test_changes_of_an_archive_are_made_together() -> None:
    np.savez("x.npz", a=np.arange(3), b=np.arange(4), c=np.arange(5))
    with nio.open("x.npz").update() as update:
        update["a"] = np.ones(2)
        update["new"] = [1.5, 2.5]
        del update["b"]
    with np.load("x.npz") as archive:
        assert sorted(archive.files) == ["a", "c", "new"]
        assert archive["a"].tolist() == [1, 1] and archive["new"].tolist() == [1.5, 2.5]
        assert archive["c"].tolist() == [0, 1, 2, 3, 4]
    before = Path("x.npz").read_bytes()
    with pytest.raises(RuntimeError), nio.open("x.npz").update() as update:
        update["a"] = np.zeros(9)
        raise RuntimeError
    with pytest.raises(nio.MemberError), nio.open("x.npz").update() as update:
        update["a"] = np.zeros(9)
        del update["missing"]
    assert Path("x.npz").read_bytes() == before


def test_archive_can_be_pickled_by_its_path() -> None:
    np.savez("x.npz", a=np.arange(3))
    assert pickle.loads(pickle.dumps(nio.load("x.npz")))["a"].tolist() == [0, 1, 2]


def test_damaged_member_is_an_error() -> None:
    np.savez("x.npz", a=np.arange(1000))
    data = bytearray(Path("x.npz").read_bytes())
    data[500] ^= 1
    Path("x.npz").write_bytes(data)
    with pytest.raises(nio.FormatError, match="a.npy") as caught:
        nio.load("x.npz")["a"]
    assert caught.value.member == "a.npy"
    with pytest.raises(nio.FormatError):
        nio.open("x.npz").verify()


def test_map_of_a_member_changes_nothing_else() -> None:
    np.savez("x.npz", a=np.arange(6.0).reshape(2, 3), b=np.arange(3))
    mapped: npt.NDArray[Any] = nio.load("x.npz").mmap("a")
    assert isinstance(mapped, np.memmap) and not mapped.flags.writeable
    assert np.array_equal(mapped, np.arange(6.0).reshape(2, 3))
