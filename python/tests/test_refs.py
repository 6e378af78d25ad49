"""References for readers of Zarr: the ranges are where NumPy has put the elements."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ndarray_io as nio


def _chunk(reference: list[Any], dtype: str) -> npt.NDArray[Any]:
    path, start, length = reference
    return np.frombuffer(Path(path).read_bytes()[start : start + length], dtype)


def test_chunks_are_ranges_of_files() -> None:
    first, second = np.arange(12, dtype="<i2").reshape(6, 2), np.arange(20, 28, dtype="<i2").reshape(4, 2)
    np.save("first.npy", first)
    np.savez("second.npz", second=second)
    found = nio.refs({"a": "first.npy"}, chunk=2, dims=["t", "x"])["refs"]
    assert json.loads(found["a/.zarray"])["shape"] == [6, 2] and json.loads(found["a/.zarray"])["chunks"] == [2, 2]
    assert json.loads(found["a/.zattrs"])["_ARRAY_DIMENSIONS"] == ["t", "x"]
    for number in range(3):
        assert _chunk(found[f"a/{number}.0"], "<i2").tolist() == first[2 * number : 2 * number + 2].ravel().tolist()
    both = nio.refs(["first.npy", "second.npz"])["refs"]
    assert _chunk(both["first/0.0"], "<i2").tolist() == first.ravel().tolist()
    assert _chunk(both["second/0.0"], "<i2").tolist() == second.ravel().tolist()
    third = nio.refs("first.npy", name="b", zarr_format=3)["refs"]
    assert json.loads(third["b/zarr.json"])["shape"] == [6, 2] and "b/c/0/0" in third


def test_joined_files_are_one_array() -> None:
    for number in range(3):
        np.save(f"{number}.npy", np.full((2, 3), number, "<f4"))
    found = nio.refs([f"{number}.npy" for number in range(3)], axis=0, name="all", chunk=2)["refs"]
    assert json.loads(found["all/.zarray"])["shape"] == [6, 3]
    assert [_chunk(found[f"all/{number}.0"], "<f4")[0] for number in range(3)] == [0, 1, 2]


def test_readers_find_files_by_prefix_or_absolute_path() -> None:
    os.mkdir("folder")
    np.save("folder/x.npy", np.arange(3))
    assert nio.refs("folder/x.npy")["refs"]["x/0"][0] == os.path.abspath("folder/x.npy")
    assert nio.refs("folder/x.npy", prefix="s3://bucket/a/")["refs"]["x/0"][0] == "s3://bucket/a/x.npy"


def test_invalid_references_are_errors() -> None:
    np.savez_compressed("c.npz", x=np.zeros(1000))
    np.save("x.npy", np.arange(3))
    os.mkdir("other")
    np.save("other/x.npy", np.arange(4))
    for call in (
        lambda: nio.refs("c.npz"),
        lambda: nio.refs(["x.npy", "other/x.npy"]),
        lambda: nio.refs(["x.npy", "other/x.npy"], name="x"),
        lambda: nio.refs({"a": "x.npy"}, axis=0),
        lambda: nio.refs("x.npy", zarr_format=4),  # type: ignore[arg-type]
        lambda: nio.refs([]),
        lambda: nio.refs({"a": "x.npy", "b": "other/x.npy"}, prefix="s3://bucket"),
        lambda: nio.refs(["https://example.org/x.npy", "https://example.org/y.npy"], axis=0),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(FileNotFoundError):
        nio.refs("missing.npy")


def test_changed_chunk_length_is_a_warning() -> None:
    np.save("x.npy", np.zeros((5, 1 << 17)))
    with pytest.warns(UserWarning, match="chunk"):
        nio.refs("x.npy", chunk=2, inline_limit=0)
