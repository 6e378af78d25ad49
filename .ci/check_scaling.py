"""Stacks and references against those that they are for: Dask, zarr-python, xarray.

    check_scaling.py NDIO STACK_EXAMPLE

Two workers of Dask, each a process, compute from what ndio has written; every value is compared with NumPy's.
"""

import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import warnings

import dask.array as da
import numpy as np
import xarray as xr
import zarr

warnings.filterwarnings("ignore")
NDIO, EXAMPLE = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])
count = 0


def ndio(*words, code=0):
    force = ["--force"] if words[0] in ["convert", "cat", "stack", "refs"] else []  # the same names again and again
    done = subprocess.run([NDIO, *map(str, words), *force], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def same(found, wanted, what):
    global count
    count += 1
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, (what, found.shape, wanted.shape)
    assert found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("="), (what, found.dtype, wanted.dtype)
    assert found.astype(wanted.dtype).tobytes() == wanted.tobytes(), what


def arrays():
    """Arrays by name: orders, byte orders, kinds, odd lengths."""
    random = np.random.default_rng(7)
    yield "c", random.random((10, 4, 3))
    yield "f", np.asfortranarray(random.random((7, 12)))
    yield "big", np.arange(60, dtype=">i4").reshape(15, 4)
    yield "prime", random.random((1009, 3)).astype("<f4")
    yield "long", random.random((1, 1000))
    yield "tall", np.asfortranarray(random.random((1000, 1)))
    yield "bools", random.random((6, 5)) > 0.5
    yield "complex", random.random((6, 2)) + 1j
    yield "bigger", (random.random((6, 2)) + 1j).astype(">c8")
    yield "bigtext", np.array(["a", "bc"], dtype=">U3")
    yield "half", random.random(8).astype("<f2")
    yield "text", np.array([["a", "λb"], ["", "cd"]] * 3)
    yield "bytes", np.array([b"ab", b"", b"c"])
    yield "dates", np.arange(12).astype("<M8[h]").reshape(6, 2)
    yield "spans", np.arange(6).astype("<m8[25s]")
    yield "raw", np.arange(12, dtype="<u4").view("V4")
    yield "empty", np.zeros((0, 3), "<f4")


def stacks(folder):
    cases = [(name, array, axis) for name, array in arrays() for axis in range(array.ndim)]
    cases.append(("records", np.array([(1, 2.5), (3, 4.5), (5, 6.5)], dtype=[("a", "<i4"), ("b", ">f8")]), 0))
    for name, array, axis in cases:
        path, stack = folder / f"{name}.npy", folder / f"{name}-{axis}"
        np.save(path, array)
        length = max(1, array.shape[axis] // 3)
        # What ndio writes, Dask reads.
        ndio("convert", path, stack, "--to", "npy-stack", "--axis", axis, "--chunk", length)
        read = da.from_npy_stack(str(stack))
        assert read.chunks[axis][0] in (length, 0), (name, read.chunks)
        assert read.dtype == array.dtype, (name, read.dtype)
        same(read.compute(scheduler="sync"), array, f"stack {name} along {axis}, read by Dask")
        # And back.
        ndio("convert", stack, folder / "back.npy")
        same(np.load(folder / "back.npy"), array, f"stack {name} along {axis}, and back")
        # What Dask writes, ndio reads.
        other = folder / f"{name}-{axis}-dask"
        chunks = [length if at == axis else -1 for at in range(array.ndim)]
        da.to_npy_stack(str(other), da.from_array(array, chunks=chunks), axis=axis)
        ndio("convert", other, folder / "back.npy")
        same(np.load(folder / "back.npy"), array, f"Dask's stack {name} along {axis}")
        ndio("verify", other, stack)
        # A stack without `info` is what its parts are.
        if axis == 0:
            (other / "info").unlink()
            ndio("convert", other, folder / "back.npy")
            same(np.load(folder / "back.npy"), array, f"Dask's stack {name} without info")
    # Parts of length 0, parts of other orders and byte orders.
    odd = da.from_array(np.arange(12.0).reshape(6, 2), chunks=((2, 0, 4), (2,)))
    da.to_npy_stack(str(folder / "odd"), odd)
    part = np.load(folder / "odd/2.npy")
    np.save(folder / "odd/2.npy", np.asfortranarray(part.astype(">f8")))
    ndio("convert", folder / "odd", folder / "back.npy")
    same(np.load(folder / "back.npy"), odd.compute(scheduler="sync"), "an odd stack")
    # A stack that grows.
    for day in range(3):
        subprocess.run([EXAMPLE, str(folder / "days")], check=True, stdout=subprocess.DEVNULL)
        read = da.from_npy_stack(str(folder / "days"))
        assert read.chunks == ((24, 23, 22)[: day + 1], (3,)), read.chunks
        same(read[-1].compute(scheduler="sync"), 100.0 * day + np.arange(0, 30, 10) + 23 - day, "a day")


def opened(refs):
    return zarr.open_group("reference://", mode="r", storage_options={"fo": str(refs)})


def dataset(refs):
    backend = {"storage_options": {"fo": str(refs)}}
    return xr.open_dataset("reference://", engine="zarr", consolidated=False, backend_kwargs=backend, chunks={}, decode_cf=False)


def references(folder):
    named = dict(arrays())
    paths = {}
    for name, array in named.items():
        paths[name] = folder / f"{name}.npy"
        np.save(paths[name], array)
    named["scalar"] = np.array(2.5)
    np.save(folder / "scalar.npy", named["scalar"])
    paths["scalar"] = folder / "scalar.npy"
    np.savez(folder / "archive.npz", first=named["c"], second=named["f"])
    ndio("convert", paths["c"], folder / "ra.ra")
    named["ra"] = named["c"]
    for version in (2, 3):
        for chunk in (None, 1, 2, 7, 100):
            flags = [] if chunk is None else ["--chunk", chunk]
            refs = folder / "refs.json"
            ndio("refs", *paths.values(), folder / "archive.npz", folder / "ra.ra", *flags, "--zarr-format", version, "-o", refs)
            group = opened(refs)
            for name, array in {**named, "first": named["c"], "second": named["f"]}.items():
                same(group[name][...], array, f"references {name}, chunks of {chunk}, Zarr {version}")
            values = dataset(refs)
            assert values["c"].dims == ("c_dim_0", "c_dim_1", "c_dim_2"), values["c"].dims
            same(values["prime"].values, named["prime"], "xarray")
            same(values["complex"].values, named["complex"], "xarray")
    # Zeros are not missing values.
    np.save(folder / "zeros.npy", np.zeros((4, 2), "<i4"))
    for version in (2, 3):
        ndio("refs", folder / "zeros.npy", "--dims", "t,x", "--zarr-format", version, "-o", refs)
        read = xr.open_dataset("reference://", engine="zarr", consolidated=False, backend_kwargs={"storage_options": {"fo": str(refs)}})
        assert read["zeros"].dims == ("t", "x") and read["zeros"].dtype == np.dtype("<i4"), read
        same(read["zeros"].values, np.zeros((4, 2), "<i4"), "zeros")
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i4"), ("b", ">f8")])
    np.save(folder / "records.npy", records)
    ndio("refs", folder / "records.npy", "-o", refs)
    same(opened(refs)["records"][...], records, "records")
    # A length that no chunk divides: said, or in the references.
    done = subprocess.run([NDIO, "refs", paths["prime"], "--chunk", "100", "--inline-limit", "0", "--force", "-o", refs], capture_output=True, text=True)
    assert "chunks of 1 along axis 0; 100" in done.stderr, done.stderr
    same(opened(refs)["prime"][...], named["prime"], "a prime length, in chunks of 1")
    # Several files as one array, along any axis; the last may be shorter.
    for axis in range(3):
        parts = [folder / f"part{number}.npy" for number in range(3)]
        for number, part in enumerate(parts):
            np.save(part, named["c"] + number)
        ndio("refs", *parts, "--concat", axis - 3, "--name", "whole", "-o", refs)
        same(opened(refs)["whole"][...], np.concatenate([named["c"] + number for number in range(3)], axis), "concatenated")
    np.save(parts[2], named["c"][:3])
    ndio("refs", *parts, "--concat", "0", "--name", "whole", "-o", refs)
    same(opened(refs)["whole"][...], np.concatenate([named["c"], named["c"] + 1, named["c"][:3]]), "a shorter last one")
    np.save(folder / "none.npy", named["c"][:0])
    ndio("refs", parts[0], parts[2], folder / "none.npy", "--concat", "0", "--chunk", 4, "--name", "whole", "-o", refs)
    same(opened(refs)["whole"][...], np.concatenate([named["c"], named["c"][:3]]), "an empty last one")
    np.save(parts[1], named["c"][:3])
    said = ndio("refs", *parts, "--concat", "0", "--name", "whole", "-o", refs, code=2)
    assert "part0.npy" in said and "part1.npy" in said, said
    # A stack of Dask's.
    da.to_npy_stack(str(folder / "stack"), da.from_array(named["big"], chunks=(4, 4)))
    ndio("refs", folder / "stack", "--chunk", 2, "-o", refs)
    same(opened(refs)["stack"][...], named["big"], "a stack by references")


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Serves ranges, and counts requests and bytes."""

    log = []

    def do_GET(self):
        path = self.translate_path(self.path)
        size = os.path.getsize(path)
        first, last = self.headers.get("Range", f"bytes=0-{size - 1}").removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last), size - 1)
        self.log.append(last - first + 1)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        with open(path, "rb") as file:
            file.seek(first)
            self.wfile.write(file.read(last - first + 1))

    def log_message(self, *_):
        pass


def served(folder):
    """By HTTP, each chunk costs one request of its bytes and no more."""
    array = np.random.default_rng(3).random((64, 1000))
    np.save(folder / "served.npy", array)
    handler = functools.partial(Ranges, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = os.getcwd()
    os.chdir(folder)
    ndio("refs", "served.npy", "--chunk", 8, "--prefix", f"http://127.0.0.1:{server.server_port}/", "-o", "served.json")
    os.chdir(here)
    group = zarr.open_group("reference://", mode="r", storage_options={"fo": str(folder / "served.json"), "remote_protocol": "http", "remote_options": {"asynchronous": True}})
    same(group["served"][16:24], array[16:24], "by HTTP")
    assert Ranges.log == [64000], Ranges.log
    same(group["served"][...], array, "all of it by HTTP")
    assert sum(Ranges.log) == 64000 + array.nbytes and len(Ranges.log) <= 9, Ranges.log
    server.shutdown()
    print(f"by HTTP: {len(Ranges.log)} requests for 9 chunks, {sum(Ranges.log)} bytes for {64000 + array.nbytes}")


def distributed(folder):
    """Two processes of Dask compute from a stack and from references."""
    from distributed import Client, LocalCluster

    array = np.random.default_rng(5).random((400, 500))
    np.save(folder / "shared.npy", array)
    ndio("convert", folder / "shared.npy", folder / "shared", "--to", "npy-stack", "--chunk", 50)
    ndio("refs", folder / "shared.npy", "--chunk", 50, "-o", folder / "shared.json")
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1")
    with cluster, Client(cluster):
        workers = da.from_npy_stack(str(folder / "shared")).map_blocks(lambda _: np.array([[os.getpid()]]), dtype=int, chunks=(1, 1))
        assert len(set(workers.compute().ravel())) == 2, "two processes read"
        same(da.from_npy_stack(str(folder / "shared")).sum(axis=0).compute(), da.from_array(array, chunks=(50, 500)).sum(axis=0).compute(), "a sum of a stack")
        same(dataset(folder / "shared.json")["shared"].data.compute(), array, "references on two workers")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for check in (stacks, references, served, distributed):
            own = folder / check.__name__
            own.mkdir()
            check(own)
    print(f"Dask, zarr-python and xarray: {count} arrays are equal")


if __name__ == "__main__":
    main()
