"""Each rank reads rows of the file that the MPI example has written, as mpi4py and NumPy see it: FILE ROWS COLUMNS."""

import sys

import numpy as np
from mpi4py import MPI

path, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
world = MPI.COMM_WORLD
array = np.load(path, mmap_mode="r")
assert array.shape == (rows, columns) and array.dtype == np.dtype("f8"), (array.shape, array.dtype)
mine = slice(world.rank * rows // world.size, (world.rank + 1) * rows // world.size)
wanted = 1000.0 * np.arange(mine.start, mine.stop)[:, None] + np.arange(columns)
assert np.array_equal(array[mine], wanted), world.rank

# The same by MPI's own parallel reading, at the place that the header says.
file = MPI.File.Open(world, path, MPI.MODE_RDONLY)
read = np.empty_like(wanted)
file.Read_at_all(array.offset + mine.start * columns * 8, read)
file.Close()
assert np.array_equal(read, wanted), world.rank
count = world.allreduce(read.size)
if world.rank == 0:
    print(f"{world.size} ranks of mpi4py have read {count} elements")
assert count == rows * columns
