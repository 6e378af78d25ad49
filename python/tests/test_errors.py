"""Errors: the classes that NumPy raises, the text and what to do."""

from __future__ import annotations

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
def test_every_truncated_file_is_a_value_error_that_names_it(cut: int) -> None:
    np.save("x.npy", np.arange(10))
    Path("x.npy").write_bytes(Path("x.npy").read_bytes()[:cut])
    with pytest.raises((ValueError, EOFError)):
        np.load("x.npy")
    with pytest.raises((ValueError, EOFError), match="x.npy|No data left"):
        nio.load("x.npy")


def test_every_damaged_byte_of_a_header_is_an_error_or_another_array() -> None:
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
