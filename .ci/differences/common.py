"""What the generators share: counting cases, and running the program."""

import subprocess

import numpy as np


# Whether NumPy is this version, or a later one.
IS_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


class Tally:
    def __init__(self):
        self.cases, self.hits, self.unexplained = 0, {}, []

    def case(self, explained, what):
        """`explained`: True if both agree, the name of a row, or None."""
        self.cases += 1
        if explained is None:
            self.unexplained.append(what)
        elif explained is not True:
            self.hits[explained] = self.hits.get(explained, 0) + 1


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert "panicked" not in done.stderr, (arguments, done.stderr)
    return done


def shown(value):
    if not isinstance(value, np.ndarray):
        return repr(value)
    return f"{value.dtype.str} {(value.view('i8') if value.dtype.kind in 'mM' else value).tolist()}"


def same(one, other):
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tobytes() == other.tobytes() or one.dtype.kind in "fc" and np.array_equal(one, other, equal_nan=True)
