"""Whether NumPy finds in the files of the example `large_arrays` what it wrote."""

import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
assert np.array_equal(np.load(folder / "simple.npy"), np.add.outer(np.arange(3) * 10, np.arange(4)))
particles = np.load(folder / "particles.npy")
momentum = np.dtype([("x", "<f8"), ("y", "<f8")], align=True)
assert particles.dtype == np.dtype([("id", "<u4"), ("position", "<f4", (3,)), ("momentum", momentum)], align=True)
assert np.array_equal(particles["momentum"]["y"], -np.arange(5.0)) and np.all(particles["position"][2] == 2)
steps = np.arange(1001.0)
log = np.load(folder / "log.npy")
assert np.array_equal(log[:, 0], steps) and np.allclose(log[:1000, 1], np.sin(steps[:1000]))
columns = np.load(folder / "columns.npy")
assert np.array_equal(columns, log) and columns.flags.f_contiguous
shared = np.load(folder / "shared.npy", mmap_mode="r")
assert np.array_equal(shared, np.repeat(np.arange(4, dtype="f4"), 100)[:, None] + np.zeros((1, 100), "f4"))
np.save(folder / "again.npy", log)
assert (folder / "again.npy").read_bytes() == (folder / "log.npy").read_bytes()
print("NumPy finds what was written")
