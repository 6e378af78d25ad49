"""What the generators share: counting cases, and running the program."""

import fractions
import subprocess

import numpy as np


# Whether NumPy is this version, or a later one.
IS_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


class Tally:
    def __init__(self):
        self.cases, self.hits, self.unexplained = 0, {}, []

    def case(self, explained, what, parts=(), compare=None, to_add="a row of rows.py, with its condition"):
        """`explained`: True if both agree, the name of a row, or None. `what` says what was asked and found.

        A difference without a row is made small: `compare` returns the same two of a case that has only some of these parts.
        """
        self.cases += 1
        if explained is None:
            if compare and len(self.unexplained) < 5:
                smaller, of_smaller = compare(smallest(parts, lambda kept: compare(kept)[0] is None))
                what = of_smaller if smaller is None else what
            self.unexplained.append(f"{what:.900}\n    if NumPy is right, mend the library; if not, add {to_add}")
        elif explained is not True:
            self.hits[explained] = self.hits.get(explained, 0) + 1


def smallest(parts, differs):
    """Leaves out what can be left out, from halves to single parts, while it `differs`."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts):
            fewer = parts[:at] + parts[at + size :]
            if differs(fewer):
                parts = fewer
            else:
                at += size
        size //= 2
    return parts


def nearest(value, dtype):
    """What exact arithmetic makes of a finite number as one of this dtype, or None if it is out of range."""
    value = fractions.Fraction(value)
    if dtype.kind in "iu":
        limits, whole = np.iinfo(dtype), int(value)
        return whole if limits.min <= whole <= limits.max else None
    limits, two = np.finfo(dtype), fractions.Fraction(2)
    exponent = abs(value).numerator.bit_length() - value.denominator.bit_length()
    exponent = max(exponent - (two**exponent > abs(value)), int(limits.minexp))
    unit = two ** (exponent - int(limits.nmant))
    rounded = round(value / unit) * unit  # ties to even
    return float(rounded) if abs(rounded) <= fractions.Fraction(float(limits.max)) else None


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
