"""`ndio stats`, `count`, `show --where` and `ls` beside pandas and NumPy, from the same files, in alternating rounds: PROGRAM.

The files are in the page cache. Each time is of a process from its start; NumPy's and pandas' processes have been started and have imported
what they need.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas

ROUNDS = 7
PROGRAM = pathlib.Path(sys.argv[1]).resolve()


def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def race(name, ndio, peer):
    def run():
        subprocess.run([PROGRAM, *ndio], check=True, stdout=subprocess.DEVNULL)

    rounds = [(timed(run), timed(peer)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(column) for column in zip(*rounds))
    print(f"{name:60} {ours * 1e3:9.1f} ms {theirs * 1e3:9.1f} ms  {theirs / ours:6.2f} ×")


def main():
    print(f"numpy {np.__version__}, pandas {pandas.__version__}, {os.cpu_count()} cores; ndio, the other, their ratio")
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for rows, columns in [(100_000, 8), (1_000_000, 20)]:
            path = folder / f"t{rows}.npy"
            np.save(path, random.normal(size=(rows, columns)))
            race(f"stats --by-column -p 25,50,75, {rows} x {columns} f8", ["stats", path, "--by-column", "-p", "25,50,75"], lambda: pandas.DataFrame(np.load(path)).describe())
        for name, array in {
            "5 labels, 20 M u1": random.integers(0, 5, 20_000_000, dtype="u1"),
            "1000 values, 10 M i8": random.integers(0, 1000, 10_000_000),
            "5 M distinct of 10 M f8": random.integers(0, 5_000_000, 10_000_000).astype("f8"),
        }.items():
            path = folder / "c.npy"
            np.save(path, array)
            race(f"count, {name}", ["count", path], lambda: np.unique(np.load(path), return_counts=True))
        records = np.zeros(2_000_000, [("id", "i4"), ("energy", "f8"), ("x", "f4"), ("ok", "?")])
        records["energy"], records["ok"] = random.normal(size=2_000_000), random.random(2_000_000) < 0.5
        path = folder / "r.npy"
        np.save(path, records)

        def masked():
            loaded = np.load(path)
            return loaded[(loaded["energy"] > 2) & loaded["ok"]][:5]

        race("show --where, 2 M records", ["show", path, "--where", "energy > 2 and ok", "--rows", "5"], masked)
        path = folder / "w.npy"
        np.save(path, random.normal(size=20_000_000))
        race("find, 20 M f8", ["find", path, "> 5"], lambda: np.argwhere(np.load(path) > 5))
        race("calc of a new file, 20 M f8", ["calc", "x * 2 + 1", path, "-o", folder / "o.npy", "--force"], lambda: np.save(folder / "p.npy", np.load(path) * 2 + 1))
        many = folder / "many"
        many.mkdir()
        for number in range(10_000):
            np.save(many / f"{number}.npy", np.zeros(8))
        race("ls of 10,000 files", ["ls", many], lambda: [np.load(file, mmap_mode="r").shape for file in many.iterdir()])


main()
