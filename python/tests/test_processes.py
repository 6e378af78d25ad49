"""Threads, forks, signals and references."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ndarray_io as nio


def test_threads_read_one_archive_at_once() -> None:
    arrays = {f"a{number}": np.full(20_000, number) for number in range(50)}
    nio.savez_compressed("x.npz", **arrays)
    archive = nio.load("x.npz")
    lazy = {name: archive.open(name) for name in archive}
    barrier = threading.Barrier(16)

    def read(number: int) -> int:
        barrier.wait()
        wrong = 0
        for name in sorted(arrays, key=lambda name: hash((name, number))):
            wrong += not np.array_equal(archive[name], arrays[name])
            wrong += not np.array_equal(lazy[name][number : number + 100 : 7], arrays[name][number : number + 100 : 7])
        return wrong

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(read, range(16))) == 0


def test_threads_that_save_one_file_leave_one_of_its_arrays() -> None:
    def save(number: int) -> None:
        for _ in range(20):
            nio.save("x.npy", np.full(10_000, number))

    def look(_: int) -> bool:
        return all(len(set(nio.load("x.npy").tolist())) == 1 for _ in range(50))

    nio.save("x.npy", np.full(10_000, 0))
    with ThreadPoolExecutor(8) as pool:
        saved = [pool.submit(save, number) for number in range(4)]
        assert all(pool.map(look, range(4)))
        for future in saved:
            future.result()
    assert sorted(path.name for path in Path().iterdir()) == ["x.npy"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_opened_files_are_read_in_a_forked_process() -> None:
    nio.savez_compressed("x.npz", a=np.arange(300_000))
    archive = nio.load("x.npz")
    lazy = archive.open("a")
    assert lazy[5] == 5
    code = (
        "import os, sys, ndarray_io as nio\n"
        "archive = nio.load('x.npz'); lazy = archive.open('a'); whole = archive['a']\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    ok = lazy[200_000:200_003].tolist() == [200_000, 200_001, 200_002] and (archive['a'] == whole).all()\n"
        "    os._exit(0 if ok else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def _sum_of_part(lazy: object) -> int:
    return int(lazy[10:20].sum())  # type: ignore[index]


def test_lazy_arrays_are_sent_to_spawned_processes() -> None:
    np.save("x.npy", np.arange(100))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_sum_of_part, [nio.open(Path("x.npy").absolute())] * 3) == [145] * 3


# A process in the background of a shell ignores SIGINT, and so do those that it starts.
HANDLER = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

SLOW = HANDLER + """
import os, signal, threading
import numpy as np, ndarray_io as nio
class Slow:
    'A file object from which little comes at a time.'
    def __init__(self):
        self.first = nio._native.header("'<f8'", False, [10_000_000], nio._options.Writing())
        self.count = 0
    def read(self, count):
        if self.first:
            part, self.first = self.first[:count], self.first[count:]
            return part
        self.count += 1
        if self.count == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return bytes(min(count, 1000))
slow = Slow()
try:
    nio.load(slow)
except KeyboardInterrupt:
    print("interrupted", slow.count <= 21, threading.active_count())
"""


def test_interrupt_ends_a_long_read_and_its_thread() -> None:
    done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True)
    assert done.stdout.strip() == "interrupted True 1", done.stderr


INTERRUPTED_SAVE = HANDLER + """
import os, signal, threading, sys
import numpy as np, ndarray_io as nio
nio.save("x.npy", np.arange(3))
big = np.random.default_rng(0).integers(0, 1 << 60, 8_000_000)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        nio.savez_compressed("x.npz", big=big)
except KeyboardInterrupt:
    print("interrupted", sorted(name for name in os.listdir() if name.startswith(("x", "."))))
"""


def test_interrupted_save_leaves_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_SAVE], capture_output=True, text=True)
    assert done.stdout.strip() in (
        "interrupted ['x.npy']",
        "interrupted ['x.npy', 'x.npz']",  # the one before was complete
    ), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_and_references_return_after_many_calls() -> None:
    nio.save("x.npy", np.arange(10))
    nio.savez("x.npz", a=np.arange(10))
    np.save("o.npy", np.array([{"a": [1, (2, 3)]}, None]))
    lazy, archive = nio.open("x.npy"), nio.load("x.npz")
    dtype, array = np.dtype([("a", "i4")]), np.zeros(3, [("a", "i4")])

    def calls(count: int) -> None:
        for _ in range(count):
            nio.load("x.npy")
            lazy[2:5]
            lazy[[1, 3]]
            archive["a"]
            nio.load("o.npy", allow_pickle=True)
            nio.save("y.npy", array)
            with pytest.raises(FileNotFoundError):
                nio.load("missing.npy")

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    calls(500)
    gc.collect()
    before = (sys.getrefcount(dtype), sys.getrefcount(array), sys.getrefcount(None), len(gc.get_objects()))
    memory, handles = resident(), len(os.listdir("/proc/self/fd"))
    calls(int(os.environ.get("NDARRAY_IO_CALLS", "3000")))
    gc.collect()
    after = (sys.getrefcount(dtype), sys.getrefcount(array), sys.getrefcount(None), len(gc.get_objects()))
    assert all(abs(one - two) < 50 for one, two in zip(before, after, strict=True)), (before, after)
    assert len(os.listdir("/proc/self/fd")) == handles
    assert resident() - memory < 4 << 20


SUBINTERPRETER = """
import ndarray_io
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
raised = None
try:
    raised = interpreters.run_string(interpreters.create(), "import ndarray_io")
except Exception as error:
    raised = error
print("ImportError" in str(raised) or "ImportError" in repr(raised))
"""


def test_subinterpreter_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", SUBINTERPRETER], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_interpreter_ends_while_a_thread_reads() -> None:
    code = (
        "import threading, numpy as np, ndarray_io as nio\n"
        "np.save('x.npy', np.zeros(3_000_000))\n"
        "def read():\n"
        "    while True: nio.load('x.npy')\n"
        "threading.Thread(target=read, daemon=True).start()\n"
        "nio.load('x.npy')\n"
    )
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


