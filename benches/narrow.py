"""Conversions between `f4` and the numbers of `ml_dtypes`, by NumPy and by the program, in turn: PROGRAM [FOLDER].

Both read a file of 32 million elements and write another one. The least of 5 times counts; the folder should be in memory.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np

COUNT = 32_000_000


def main(program, folder):
    floats, raw, made = folder / "f.npy", folder / "n.npy", folder / "made.npy"
    values = np.random.default_rng(0).standard_normal(COUNT).astype("f4")
    np.save(floats, values)
    for name in ["bfloat16", "float8_e4m3fn", "int4"]:
        dtype = np.dtype(getattr(ml_dtypes, name))
        void = f"V{dtype.itemsize}"
        with np.errstate(all="ignore"):
            np.save(raw, values.astype(dtype).view(void))
        calls = [
            lambda: np.save(made, np.load(raw).view(dtype).astype("f4")),
            lambda: subprocess.run([program, "convert", "--force", raw, made, "--as", name, "--dtype", "f4"], check=True),
            lambda: np.save(made, np.load(floats).astype(dtype).view(void)),
            lambda: subprocess.run([program, "convert", "--force", floats, made, "--dtype", name, "--casting", "unsafe"], check=True),
        ]
        times = [[] for _ in calls]
        for _ in range(5):
            for call, all_times in zip(calls, times):
                start = time.perf_counter()
                call()
                all_times.append(time.perf_counter() - start)
        least = [min(all_times) for all_times in times]
        print(f"{name:14} to f4: NumPy {least[0]:.3f} s, ndio {least[1]:.3f} s; from f4: NumPy {least[2]:.3f} s, ndio {least[3]:.3f} s", flush=True)


with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
    main(sys.argv[1], pathlib.Path(folder))
