"""A loader for training: random crops from compressed archives, read by threads, beside `np.load`.

    python python/examples/crops.py
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

import ndarray_io as nio


class Crops:
    """Random crops of volumes, each of which is the member `volume` of an archive."""

    def __init__(self, files: list[str], size: tuple[int, ...], seed: int = 0) -> None:
        # Opened once: a lazy array is safe to share between threads.
        self.volumes = [nio.open(file).open("volume") for file in files]
        self.size = size
        self.random = np.random.default_rng(seed)

    def batches(self, count: int, batch: int, threads: int) -> Iterator[npt.NDArray[Any]]:
        """Yields batches; the next ones are read in the meantime."""
        with ThreadPoolExecutor(threads) as pool:
            places = [self._place() for _ in range(count * batch)]
            crops = pool.map(self._read, places)
            for _ in range(count):
                yield np.stack([next(crops) for _ in range(batch)])

    def _place(self) -> tuple[int, tuple[slice, ...]]:
        which = int(self.random.integers(len(self.volumes)))
        shape = self.volumes[which].shape
        starts = [int(self.random.integers(0, length - size + 1)) for length, size in zip(shape, self.size, strict=True)]
        return which, tuple(slice(start, start + size) for start, size in zip(starts, self.size, strict=True))

    def _read(self, place: tuple[int, tuple[slice, ...]]) -> npt.NDArray[Any]:
        which, slices = place
        crop: npt.NDArray[Any] = self.volumes[which][slices]
        return crop


def main() -> None:
    os.chdir(tempfile.mkdtemp())
    random = np.random.default_rng(1)
    for number in range(2):
        # Smooth, as images are, so that it compresses.
        volume = np.cumsum(random.integers(-2, 3, (128, 256, 256)), axis=2).astype("<i2")
        nio.write_npz(f"{number}.npz", {"volume": volume}, compression="deflate")
    size, crop_bytes = (16, 64, 64), 16 * 64 * 64 * 2
    for threads in (1, 2):
        crops = Crops(["0.npz", "1.npz"], size)
        begin, count = time.perf_counter(), 0
        for batch in crops.batches(20, 8, threads):
            count += len(batch)
        taken = time.perf_counter() - begin
        print(f"{threads} threads: {count / taken:.0f} crops/s, {count * crop_bytes / taken / 1e9:.3f} GB/s")
    begin, count = time.perf_counter(), 0
    for number in range(6):
        whole = np.load(f"{number % 2}.npz")["volume"]  # NumPy decompresses all of it for each crop
        count += len(whole[:16, :64, :64][None])
    taken = time.perf_counter() - begin
    print(f"np.load: {count / taken:.1f} crops/s, {count * crop_bytes / taken / 1e9:.4f} GB/s")


if __name__ == "__main__":
    main()
