"""Stacks as Dask writes them, each beside the whole array: FOLDER."""

import pathlib
import shutil
import sys

import dask.array as da
import numpy as np


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    numbers = np.arange(120) * 1.5 - 7
    stacks = {
        "axis0": (numbers.reshape(10, 4, 3), ((3, 3, 3, 1), (2, 2), (3,)), 0),
        "axis1": (numbers[:70].reshape(10, 7), ((5, 5), (3, 3, 1)), 1),
        "negative_axis": (numbers[:24].reshape(4, 6), ((4,), (2, 4)), -1),
        "big": (np.arange(20, dtype=">i4").reshape(5, 4), ((2, 2, 1), (4,)), 0),
        "text": (np.array([["a", "bcd"], ["λ", ""]] * 2), ((1, 3), (2,)), 0),
        "records": (np.array([(1, 2.5), (-3, 4)], dtype=[("a", "<i4"), ("b", ">f8")]), ((1, 1),), 0),
        "dates": (np.arange(5).astype("<M8[s]"), ((2, 2, 1),), 0),
        "zero": (numbers[:12].reshape(6, 2), ((2, 0, 4), (2,)), 0),
        "empty": (np.zeros((0, 3), "<f4"), ((0,), (3,)), 0),
        "long": (numbers[:11].reshape(1, 11), ((1,), (4, 4, 3)), 1),
    }
    for name, (array, chunks, axis) in stacks.items():
        da.to_npy_stack(str(folder / name), da.from_array(array, chunks=chunks), axis=axis)
        np.save(folder / f"{name}.npy", array)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
