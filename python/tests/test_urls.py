"""Files on a web server: only what is asked for is fetched."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import ndarray_io as nio

FETCHED: list[int] = []


class Ranges(BaseHTTPRequestHandler):
    """A server of the current folder that knows ranges, which Python's own does not."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, with_body: bool) -> None:
        file = Path(self.path[1:])
        if not file.exists():
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = file.read_bytes()
        size, wanted = len(data), self.headers.get("Range")
        if wanted is not None:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(size - int(last), 0)
            end = min(int(last) + 1 if first and last else size, size)
            data = data[start:end]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{size}"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if with_body:
            FETCHED.append(len(data))
            self.wfile.write(data)

    def do_PUT(self) -> None:
        data, file = self.rfile.read(int(self.headers["Content-Length"])), Path(self.path[1:])
        if self.headers.get("If-None-Match") == "*" and file.exists():
            self.send_response(412)
        else:
            file.write_bytes(data)
            self.send_response(200)
            self.send_header("ETag", f'"{len(data)}"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    FETCHED.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_part_of_a_file_is_fetched_alone(server: str) -> None:
    whole = np.arange(2_000_000).reshape(1000, 2000)
    np.save("x.npy", whole)
    lazy = nio.open(f"{server}/x.npy", storage_options={"allow_http": "true"})
    assert lazy.shape == whole.shape
    assert np.array_equal(lazy[500:502, ::100], whole[500:502, ::100])
    assert sum(FETCHED) < 500_000, "of 16 MB"
    assert np.array_equal(nio.load(f"{server}/x.npy", storage_options={"allow_http": "true"}), whole)
    FETCHED.clear()
    assert np.array_equal(lazy[[3, 900, 500], :5], whole[[3, 900, 500], :5])
    assert sum(FETCHED) < 200_000
    with pytest.raises(ValueError, match="this machine"):
        lazy.mmap()


def test_members_of_an_archive_are_fetched_alone(server: str) -> None:
    np.savez("x.npz", a=np.arange(1_000_000), b=np.arange(5))
    archive = nio.load(f"{server}/x.npz", storage_options={"allow_http": "true"})
    assert archive.files == ["a", "b"]
    assert archive["b"].tolist() == [0, 1, 2, 3, 4]
    assert archive.open("a")[700_000:700_003].tolist() == [700_000, 700_001, 700_002]
    assert sum(FETCHED) < 1_000_000, "of 8 MB"


@pytest.fixture
def store(server: str) -> dict[str, str]:
    """The options of a store on the server, whose objects are the files of the current folder."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region": "x"}
    Path("bucket").mkdir()
    return {"aws_endpoint": server, "allow_http": "true", **keys}


def test_uploads_equal_files_of_numpy(store: dict[str, str]) -> None:
    plain, objects = np.arange(12.0).reshape(3, 4), np.array([{"a": 1}, None], object)
    nio.save("s3://bucket/plain.npy", plain, storage_options=store, sync=True)
    nio.save("s3://bucket/objects.npy", objects, storage_options=store)
    nio.write_ra("s3://bucket/plain.ra", plain, storage_options=store)
    nio.write_npz("s3://bucket/all.npz", {"a": plain, "o": objects}, compression="deflate", storage_options=store)
    for name, array in (("plain", plain), ("objects", objects)):
        np.save(f"{name}.npy", array)
        assert Path(f"bucket/{name}.npy").read_bytes() == Path(f"{name}.npy").read_bytes()
    assert np.array_equal(nio.read_ra("bucket/plain.ra"), plain)
    archive = np.load("bucket/all.npz", allow_pickle=True)
    assert np.array_equal(archive["a"], plain) and archive["o"].tolist() == objects.tolist()
    assert np.array_equal(nio.load("s3://bucket/all.npz", storage_options=store)["a"], plain)


def test_objects_of_a_store_are_loaded_as_data(store: dict[str, str]) -> None:
    objects = np.array([{"a": 1}, None], object)
    nio.save("s3://bucket/objects.npy", objects, storage_options=store)
    Path("bucket/x.pkl").write_bytes(pickle.dumps([1, "a"]))
    read = nio.load("s3://bucket/objects.npy", allow_pickle=True, storage_options=store)
    assert read.tolist() == objects.tolist()
    assert nio.load("s3://bucket/x.pkl", allow_pickle=True, storage_options=store) == [1, "a"]
    with pytest.raises(ValueError, match="allow_pickle"):
        nio.load("s3://bucket/objects.npy", storage_options=store)
    nio.save("s3://bucket/plain.npy", np.arange(3), storage_options=store)
    assert nio.load("s3://bucket/plain.npy", allow_pickle=True, storage_options=store).tolist() == [0, 1, 2]


def test_functions_for_files_of_this_machine_refuse_urls(store: dict[str, str]) -> None:
    nio.write_npz("s3://bucket/x.npz", {"a": np.arange(3)}, storage_options=store)
    archive = nio.load("s3://bucket/x.npz", storage_options=store)
    for call in (
        archive.update,
        lambda: archive.mmap("a"),
        lambda: nio.scan("s3://bucket/x.npy"),
        lambda: nio.append("s3://bucket/x.npy"),
        lambda: nio.concatenate(["s3://bucket/x.npy"], "y.npy"),
        lambda: nio.convert("s3://bucket/x.npy", "y.npy"),
        lambda: nio.read_ra("s3://bucket/x.ra"),
    ):
        with pytest.raises(ValueError, match="this machine"):
            call()
    with pytest.raises(TypeError, match="text"):
        nio.load("s3://bucket/x.npz", storage_options={"allow_http": True})  # type: ignore[dict-item]


def test_existing_object_is_kept_or_replaced(store: dict[str, str]) -> None:
    nio.save("s3://bucket/x.npy", np.arange(3), storage_options=store, create_new=True)
    with pytest.raises(FileExistsError, match="exists"):
        nio.save("s3://bucket/x.npy", np.arange(4), storage_options=store, create_new=True)
    assert np.load("bucket/x.npy").tolist() == [0, 1, 2]
    nio.save("s3://bucket/x.npy", np.arange(4), storage_options=store)
    assert np.load("bucket/x.npy").tolist() == [0, 1, 2, 3]


def test_array_that_cannot_be_written_leaves_no_object(store: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        nio.write_npz("s3://bucket/x.npz", {"a\0": np.arange(3)}, storage_options=store)
    assert os.listdir("bucket") == []


def test_references_are_to_ranges_of_the_object(server: str) -> None:
    np.save("x.npy", np.arange(6, dtype="<i4"))
    url = f"{server}/x.npy"
    found = nio.refs({"a": url}, chunk=2, storage_options={"allow_http": "true"})["refs"]
    assert [found[f"a/{number}"] for number in range(3)] == [[url, 128, 8], [url, 136, 8], [url, 144, 8]]


def test_missing_object_is_an_error_with_its_url(server: str) -> None:
    with pytest.raises(FileNotFoundError, match="missing.npy"):
        nio.load(f"{server}/missing.npy", storage_options={"allow_http": "true"})
