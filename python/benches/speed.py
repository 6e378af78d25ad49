"""Compares this package with NumPy, in alternating rounds: the median of the ratios, and the times.

    python python/benches/speed.py [FOLDER]
"""

from __future__ import annotations

import functools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ndarray_io as nio

MIB = 1 << 20

#: The size of the blocks that this package compresses.
BLOCK = 1 << 20


def compare(name: str, ours: Callable[[], Any], numpys: Callable[[], Any], rounds: int, repeat: int = 1) -> None:
    """Prints how long ours takes, as a part of NumPy's time."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for which, call in enumerate((ours, numpys) if number % 2 else (numpys, ours)):
            which = which if number % 2 else 1 - which
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            taken = (time.perf_counter() - start) / repeat
            if number:  # the first round warms up
                times[which].append(taken)
    ratio = statistics.median(a / b for a, b in zip(*times, strict=True))
    mine, theirs = (statistics.median(one) * 1e3 for one in times)
    print(f"| {name} | {mine:.3f} ms | {theirs:.3f} ms | {ratio:.3f} |", flush=True)


def main() -> None:
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    random = np.random.default_rng(0)
    small, large = np.arange(3.0), random.random(128 * MIB // 8)
    values = (random.integers(0, 1000, 128 * MIB // 8) * 8).astype("<i8")  # as measured values: they compress
    np.save("small.npy", small)
    np.save("large.npy", large)
    np.savez("many.npz", **{f"member_{number}": small for number in range(10_000)})
    np.savez("stored.npz", large=large)
    np.savez_compressed("numpy.npz", values=values)
    nio.savez_compressed("ours.npz", values=values)
    print(f"{os.cpu_count()} cores, NumPy {np.__version__}, {time.strftime('%Y-%m-%d')}\n")
    print("| | `ndarray_io` | NumPy | ratio |\n|---|---|---|---|")
    compare("load 24 bytes", lambda: nio.load("small.npy"), lambda: np.load("small.npy"), 15, 1000)
    compare("save 24 bytes", lambda: nio.save("s.npy", small), lambda: np.save("n.npy", small), 15, 300)
    compare("load 128 MiB", lambda: nio.load("large.npy"), lambda: np.load("large.npy"), 9)
    compare("save 128 MiB, over a file", lambda: nio.save("s.npy", large), lambda: np.save("n.npy", large), 5)

    def all_of(load: Callable[[str], Any], file: str) -> None:
        with load(file) as archive:
            for name in archive.files:
                archive[name]

    compare("10,000 members of 24 bytes", lambda: all_of(nio.load, "many.npz"), lambda: all_of(np.load, "many.npz"), 5)
    compare("stored archive of 128 MiB", lambda: all_of(nio.load, "stored.npz"), lambda: all_of(np.load, "stored.npz"), 7)
    compare("compressed by NumPy, 128 MiB", lambda: all_of(nio.load, "numpy.npz"), lambda: all_of(np.load, "numpy.npz"), 3)
    compare("compressed by this package, 128 MiB", lambda: all_of(nio.load, "ours.npz"), lambda: all_of(np.load, "ours.npz"), 3)
    compare(
        "1 % of a compressed member, from our file",
        lambda: nio.load("ours.npz").open("values")[5_000_000:5_167_772],
        lambda: np.load("ours.npz")["values"][5_000_000:5_167_772],
        3,
    )
    compare(
        "savez_compressed, 128 MiB",
        lambda: nio.savez_compressed("s.npz", values=values),
        lambda: np.savez_compressed("n.npz", values=values),
        2,
    )
    sizes = [Path(name).stat().st_size / MIB for name in ("s.npz", "n.npz")]
    print(f"\nCompressed: {sizes[0]:.1f} MiB, by NumPy {sizes[1]:.1f} MiB.")
    crops(values, [int(start) for start in random.integers(0, len(values) - CROP, 150)])


CROP = 100_000


def first_of_crop(reader: Any, start: int) -> int:
    return int(np.asarray(reader[start : start + CROP])[0])


def crops(values: npt.NDArray[Any], starts: list[int]) -> None:
    """Prints how many random parts of a compressed array can be read in a second, beside `blosc2` with chunks of the same size."""
    # Opened anew for each row: after very many parts, this package keeps the decompressed member in a file.
    readers: dict[str, Callable[[], Any]] = {"this package, Deflate": lambda: nio.load("ours.npz").open("values")}
    try:
        import blosc2
    except ImportError:
        print("(`blosc2` is not installed.)")
    else:
        for codec in ("ZLIB", "LZ4", "ZSTD"):
            chosen = {"codec": blosc2.Codec[codec], "clevel": 6, "nthreads": 1}
            chunks = (BLOCK // values.itemsize,)
            blosc2.asarray(values, chunks=chunks, cparams=chosen, urlpath=f"{codec}.b2nd", mode="w")
            readers[f"blosc2, {codec}"] = functools.partial(blosc2.open, f"{codec}.b2nd", mode="r", dparams={"nthreads": 1})
    print("\n| crops of 0.8 MB a second | 1 thread | 2 threads | 4 threads |\n|---|---|---|---|")
    for name, opened in readers.items():
        row = []
        # Objects of blosc2 are not for several threads at a time.
        for threads in (1,) if name.startswith("blosc2") else (1, 2, 4):
            reader = opened()
            with ThreadPoolExecutor(threads) as pool:
                read = functools.partial(first_of_crop, reader)
                begin = time.perf_counter()
                assert list(pool.map(read, starts)) == [values[start] for start in starts]
                row.append(f"{len(starts) / (time.perf_counter() - begin):.0f}")
        print(f"| {name} | {' | '.join(row + ['–'] * (3 - len(row)))} |", flush=True)


if __name__ == "__main__":
    main()
