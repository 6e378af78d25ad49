"""How fast Dask computes from what ndio has written, beside its own copies of the same data: NDIO FOLDER [GIB].

Two workers, each a process, sum an array: from a stack of Dask's and one of ndio's, from a Zarr store of Dask's (not compressed) and from
references into the NPY file. The runners take turns; what counts is the ratio of the shortest times. `docs/scaling.md` has the results.
"""

import json
import pathlib
import subprocess
import sys
import time
import warnings

import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

warnings.filterwarnings("ignore")
ROUNDS = 7


def main():
    ndio, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    gib = float(sys.argv[3]) if len(sys.argv) > 3 else 4.0
    folder.mkdir(parents=True, exist_ok=True)
    columns = 1 << 14
    rows = int(gib * (1 << 30)) // (8 * columns)
    chunk = rows // 64
    path = folder / "x.npy"
    array = np.lib.format.open_memmap(path, "w+", "f8", (rows, columns))
    for row in range(0, rows, chunk):
        array[row : row + chunk] = np.arange(row, min(rows, row + chunk))[:, None] + np.arange(columns) / columns
    wanted = float(rows) * columns * (rows - 1) / 2 + rows * (columns - 1) / 2
    array.flush()
    del array

    def took(*words):
        start = time.perf_counter()
        subprocess.run([str(ndio), *map(str, words)], check=True)
        return time.perf_counter() - start

    made = {"stack": took("convert", path, folder / "ours", "--to", "npy-stack", "--chunk", chunk)}
    made["references"] = took("refs", path, "--chunk", chunk, "-o", folder / "refs.json")
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1")
    with cluster, Client(cluster):
        whole = da.from_npy_stack(str(folder / "ours"))
        start = time.perf_counter()
        da.to_npy_stack(str(folder / "theirs"), whole)
        made["stack by Dask"] = time.perf_counter() - start
        store = zarr.create_array(str(folder / "theirs.zarr"), shape=whole.shape, chunks=whole.chunksize, dtype="f8", compressors=None)
        start = time.perf_counter()
        whole.to_zarr(store)
        made["Zarr by Dask"] = time.perf_counter() - start
        group = zarr.open_group("reference://", mode="r", storage_options={"fo": str(folder / "refs.json")})
        runners = {
            "Dask's stack": da.from_npy_stack(str(folder / "theirs")),
            "our stack": da.from_npy_stack(str(folder / "ours")),
            "Dask's Zarr": da.from_zarr(str(folder / "theirs.zarr")),
            "our references": da.from_zarr(group["x"]),
        }
        times = {name: [] for name in runners}
        for _ in range(ROUNDS):
            for name, runner in runners.items():
                start = time.perf_counter()
                found = float(runner.sum().compute())
                times[name].append(time.perf_counter() - start)
                assert abs(found - wanted) <= 1e-9 * abs(wanted), (name, found, wanted)
    for name, seconds in made.items():
        print(f"made: {name:15} {seconds:7.2f} s")
    for name, seconds in times.items():
        print(f"sum:  {name:15} {min(seconds):7.2f} s at least, {sorted(seconds)[len(seconds) // 2]:.2f} s in the middle")
    ratios = {
        "stack": min(times["our stack"]) / min(times["Dask's stack"]),
        "references": min(times["our references"]) / min(times["Dask's Zarr"]),
    }
    print(json.dumps({"gib": gib, **{name: round(ratio, 3) for name, ratio in ratios.items()}}))


if __name__ == "__main__":
    main()
