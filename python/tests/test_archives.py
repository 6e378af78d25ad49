"""Archives, compared with NumPy and with Python's `zipfile`."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib
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


def test_keywords_become_members() -> None:
    arrays: dict[str, Any] = {"compression": np.arange(3), "threads": np.arange(4), "self": np.arange(5)}
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


def test_other_member_is_bytes_as_in_numpy() -> None:
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


def _encrypted(data: bytes, password: bytes) -> tuple[bytes, bytes]:
    """Encrypts as PKWARE's APPNOTE says (6.1): the 12 bytes before the data, and the data."""

    def update(keys: list[int], byte: int) -> None:
        table = zlib.crc32
        keys[0] = ~table(bytes([byte]), ~keys[0] & 0xFFFFFFFF) & 0xFFFFFFFF
        keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = ~table(bytes([keys[1] >> 24]), ~keys[2] & 0xFFFFFFFF) & 0xFFFFFFFF

    keys = [0x12345678, 0x23456789, 0x34567890]
    for byte in password:
        update(keys, byte)
    made = bytearray()
    for byte in bytes(11) + bytes([zlib.crc32(data) >> 24]) + data:
        key = keys[2] | 2
        made.append(byte ^ (((key * (key ^ 1)) >> 8) & 0xFF))
        update(keys, byte)
    return bytes(made[:12]), bytes(made[12:])


def test_encrypted_member_is_read_and_not_mapped() -> None:
    file = io.BytesIO()
    np.save(file, np.arange(20.0))
    content = file.getvalue()
    head, data = _encrypted(content, b"secret")
    fields = (20, 1, 0, 0, 33, zlib.crc32(content), len(head + data), len(content), 5, 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", *fields) + b"a.npy"
    central = b"PK\x01\x02" + struct.pack("<H", 20) + struct.pack("<HHHHHIIIHH", *fields) + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"a.npy"
    start = len(local + head + data)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), start, 0)
    Path("x.npz").write_bytes(local + head + data + central + end)
    with zipfile.ZipFile("x.npz") as archive:
        assert archive.read("a.npy", pwd=b"secret") == content  # Python reads it as well
    opened = nio.load("x.npz", password="secret")
    assert opened["a"].tolist() == list(range(20))
    assert opened.open("a")[3:5].tolist() == [3, 4]
    with pytest.raises(ValueError, match="encrypted"):
        opened.mmap("a")
    with pytest.raises(ValueError, match="password"):
        nio.load("x.npz")["a"]
    with pytest.raises(TypeError, match="password"):
        pickle.dumps(opened)


def test_refused_map_leaves_the_file_unchanged() -> None:
    np.save("x.npy", np.arange(1000.0))
    np.savez("x.npz", a=np.arange(10.0))
    files = {name: Path(name).read_bytes() for name in ("x.npy", "x.npz")}
    lazy, archive = nio.open("x.npy"), nio.load("x.npz")
    for mode in ("w+", "w", "a"):
        for call in (lazy.mmap, lambda mode: archive.mmap("a", mode), lambda mode: nio.load("x.npy", mmap_mode=mode)):
            with pytest.raises(ValueError, match="mode"):
                call(mode)
    with pytest.raises(ValueError, match="checksum"):
        archive.mmap("a", "r+")
    archive.mmap("a", "c")[0] = 5
    assert files == {name: Path(name).read_bytes() for name in files}
    nio.save("x.npy", np.arange(3, dtype="u1"))  # another array has taken its place
    with pytest.raises(nio.FormatError, match="changed"):
        lazy.mmap("r+")
    assert Path("x.npy").stat().st_size == 128 + 3
    Path("short.npy").write_bytes(files["x.npy"][:500])
    with pytest.raises(nio.FormatError, match="truncated"):
        nio.load("short.npy", mmap_mode="r+")
    assert Path("short.npy").stat().st_size == 500


def test_set_and_deleted_member_is_not_added() -> None:
    np.savez("x.npz", a=np.arange(3))
    with nio.open("x.npz").update() as update:
        update["new"] = np.zeros(1)
        del update["new"]
        update["a.npy"] = np.ones(2)  # the same member as "a"
    with zipfile.ZipFile("x.npz") as archive:
        assert archive.namelist() == ["a.npy"]
    assert np.load("x.npz")["a"].tolist() == [1, 1]
