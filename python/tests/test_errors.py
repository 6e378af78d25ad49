"""Errors: the classes that NumPy raises, the text and what to do."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

import ndarray_io as nio


def test_missing_file_is_file_not_found() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        nio.load("missing.npy")
    assert (caught.value.errno, caught.value.filename) == (2, "missing.npy")
    for call in (nio.open, nio.scan, nio.read_ra):
        with pytest.raises(FileNotFoundError):
            call("missing.npy")
    with pytest.raises(FileNotFoundError):
        nio.save("no/folder/x.npy", np.zeros(1))
    with pytest.raises(IsADirectoryError) if Path("/").is_dir() else pytest.raises(OSError):
        Path("folder.npy").mkdir()
        nio.save("folder.npy", np.zeros(1))


@pytest.mark.parametrize("cut", [0, 5, 9, 60, 127, 130, 207])
def test_truncated_file_is_an_error_that_names_it(cut: int) -> None:
    np.save("x.npy", np.arange(10))
    Path("x.npy").write_bytes(Path("x.npy").read_bytes()[:cut])
    with pytest.raises((ValueError, EOFError)):
        np.load("x.npy")
    with pytest.raises(EOFError if cut == 0 else ValueError, match="x.npy"):
        nio.load("x.npy")


def test_damaged_header_is_an_error_or_another_array() -> None:
    np.save("x.npy", np.arange(10))
    whole = Path("x.npy").read_bytes()
    for at in range(80):
        for value in (0, 0x27, 0x39, 0xFF):
            Path("x.npy").write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            try:
                array = nio.load("x.npy", allow_pickle=True)
            except (ValueError, nio.FileError):
                continue
            assert isinstance(array, (np.ndarray, int, str, bytes, type(None), nio.NpzFile, list, dict, tuple))


def test_errors_have_kind_and_help() -> None:
    Path("x.npy").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(nio.FormatError, match="HDF5") as caught:
        nio.load("x.npy")
    assert caught.value.kind == "BadMagic"
    np.save("o.npy", np.array([None]))
    with pytest.raises(nio.MismatchError) as refused:
        nio.load("o.npy")
    assert refused.value.help is not None and "allow_pickle=True" in refused.value.help
    assert "NpyReader" not in str(refused.value)


def test_exceptions_are_subclasses_of_numpys() -> None:
    assert issubclass(nio.FormatError, ValueError)
    assert issubclass(nio.MismatchError, ValueError)
    assert issubclass(nio.LimitError, ValueError)
    assert issubclass(nio.UsageError, ValueError)
    assert issubclass(nio.MemberError, KeyError)
    assert issubclass(nio.ConflictError, OSError)


def test_text_instead_of_bytes_from_a_file_object_is_a_type_error() -> None:
    class Text:
        def read(self, count: int) -> str:
            return "x" * count

    with pytest.raises(TypeError, match="expected bytes"):
        nio.load(Text())  # type: ignore[arg-type]


def test_exception_of_a_file_object_is_raised_as_it_is() -> None:
    class Broken:
        def read(self, count: int) -> bytes:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        nio.load(Broken())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["npy", "npz", "compressed"])
def test_interrupt_in_a_file_object_is_never_lost(kind: str) -> None:
    """Raises KeyboardInterrupt in each call of the file object in turn."""
    inner = io.BytesIO()
    if kind == "npy":
        np.save(inner, np.arange(1000))
    else:
        (np.savez if kind == "npz" else np.savez_compressed)(inner, a=np.arange(1000))

    class Interrupted(io.BytesIO):
        left = 0

        def count(self) -> None:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        def read(self, count: int | None = -1, /) -> bytes:
            self.count()
            return super().read(count)

        def seek(self, offset: int, whence: int = 0, /) -> int:
            self.count()
            return super().seek(offset, whence)

    def loaded(file: Interrupted) -> None:
        array = nio.load(file)
        if kind != "npy":
            array = array["a"]
        assert array.sum() == 499_500

    for at in range(1, 100):
        file = Interrupted(inner.getvalue())
        file.left = at
        try:
            loaded(file)
        except KeyboardInterrupt:
            continue
        assert file.left > 0, f"the interrupt in call {at} was lost"
        break
    else:
        pytest.fail("there were more calls than expected")
    assert at > 2


def test_file_object_that_reads_its_own_archive_is_an_error() -> None:
    inner = io.BytesIO()
    np.savez(inner, a=np.arange(10), b=np.arange(10))

    class Hooked(io.BytesIO):
        archive: nio.NpzFile | None = None

        def read(self, count: int | None = -1, /) -> bytes:
            if self.archive is not None:
                self.archive["b"]
            return super().read(count)

    file = Hooked(inner.getvalue())
    file.archive = nio.load(file)
    with pytest.raises(RuntimeError, match="method of the file object"):
        file.archive["a"]


def test_writing_stops_after_an_error() -> None:
    calls = []

    class Full:
        def write(self, data: bytes) -> int:
            calls.append(len(data))
            raise OSError(28, "no space")

    with pytest.raises(OSError, match="no space"):
        nio.savez(Full(), a=np.arange(10))  # type: ignore[arg-type]
    assert len(calls) == 1


def test_array_is_not_moved_while_it_is_read_into() -> None:
    array = np.zeros(1000)

    class Resizing:
        def __init__(self) -> None:
            self.refused = False

        def write(self, data: bytes) -> int:
            try:
                array.resize(10_000_000, refcheck=False)
            except ValueError:
                self.refused = True
            return len(data)

    file = Resizing()
    nio.save(file, array)  # type: ignore[arg-type]
    assert file.refused
