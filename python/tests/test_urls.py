"""Files on a web server: only what is asked for is fetched."""

from __future__ import annotations

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


def test_what_a_url_does_not_have_is_refused_before_anything_is_sent() -> None:
    for call in (
        lambda: nio.save("s3://bucket/x.npy", np.arange(3), create_new=True),
        lambda: nio.save("s3://bucket/x.npy", np.arange(3), sync=True),
        lambda: nio.write_ra("s3://bucket/x.ra", np.arange(3)),
    ):
        with pytest.raises(ValueError, match="URL"):
            call()


def test_missing_object_is_an_error_with_its_url(server: str) -> None:
    with pytest.raises(OSError, match="missing.npy"):
        nio.load(f"{server}/missing.npy", storage_options={"allow_http": "true"})
